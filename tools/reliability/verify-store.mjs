/**
 * A process that judges what `workload.mjs` left behind: one line of JSON in, `{ folder, acknowledged,
 * started }`, one line out, the list of what is wrong. The store must open and pass its check, everything
 * acknowledged must be there, nothing may be there in part, a file under its final name must be complete,
 * and the store must take another write.
 *
 * It is a process of its own because a damaged file may end the process that opens it.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { importJournal, restoreBackup } from "../../packages/core/dist/index.js";
import { openWorkload, PIECES, WORKLOAD_ACTOR } from "./workload.mjs";

async function problemsOf({ folder, acknowledged, started }) {
  const problems = [];
  const hub = await openWorkload(folder);
  try {
    await hub.use(
      WORKLOAD_ACTOR,
      async (memory) => {
        const report = await memory.check();
        if (!report.ok) problems.push(`check: ${JSON.stringify(report.problems)}`);
        for (const piece of PIECES) {
          problems.push(
            ...(await problemsOfPiece(piece, { hub, memory, folder, acknowledged, started })),
          );
        }
        await memory.write({ type: "note", text: "written afterwards" });
      },
      { create: true },
    );
    const { ok, ...rest } = await hub.check();
    if (!ok) problems.push(`hub: ${JSON.stringify(rest)}`);
  } finally {
    await hub.close();
  }
  return problems;
}

async function problemsOfPiece(piece, { hub, memory, folder, acknowledged, started }) {
  const { name, isThere, until, file } = piece;
  if (until !== undefined && started.includes(until)) return [];
  const isAcknowledged = acknowledged.includes(name);
  if (file !== undefined) return problemsOfFile(join(folder, file), name, isAcknowledged);
  if (isThere === undefined) return [];
  const found = await isThere({ hub, memory });
  if (found === undefined) return [`${name} is there in part`];
  return isAcknowledged && !found ? [`${name} was acknowledged and is not there`] : [];
}

/** A file that has its name is complete: it can be made a store of again. */
async function problemsOfFile(path, name, isAcknowledged) {
  if (!existsSync(path))
    return isAcknowledged ? [`${name} was acknowledged and its file is not there`] : [];
  const folder = mkdtempSync(join(tmpdir(), "cortex-verify-"));
  try {
    if (name === "backup") await restoreBackup(folder, [path], { actor: WORKLOAD_ACTOR });
    else await importJournal(folder, path, { actor: WORKLOAD_ACTOR });
    return [];
  } catch (error) {
    return [`the file of ${name} is not whole: ${error.code ?? error.message}`];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const problems = await problemsOf(JSON.parse(line)).catch((error) => [
    `it does not open: ${error.code ?? ""} ${error.message}`,
  ]);
  process.stdout.write(`${JSON.stringify(problems)}\n`);
}
