/**
 * An import that is killed in the middle, as a process of its own: what was committed is whole, and
 * the next run brings in the rest and nothing twice.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, utimesSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { open } from "@cortex-memory/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MAIN, makePlace, type Place } from "./cortex-process.js";
import { edgeRow, graphRow, makeLines, makeMemgraph, nodeRow } from "./foreign-files.js";

/** Four commits of a thousand: the first is waited for, and the kill comes in one of the others. */
const NOTES = 4000;
/** Every tenth note is linked to the one before. */
const LINKED = Array.from({ length: NOTES / 10 - 1 }, (_, at) => 10 * (at + 1));
const GRAPH = "01KRAB0000000000000000000A";

let place: Place;
beforeEach(() => {
  place = makePlace();
  mkdirSync(join(place.folder, "temporary"));
});
afterEach(() => place.remove());

function jsonlFile(path: string): void {
  const numbers = Array.from({ length: NOTES }, (_, at) => at);
  makeLines(path, [
    ...numbers.map((at) => ({ type: "note", externalId: `n${at}`, text: `note ${at}` })),
    ...LINKED.map((at) => ({ link: { from: `n${at}`, kind: "related_to", to: `n${at - 1}` } })),
  ]);
}

function memgraphFile(path: string): void {
  const numbers = Array.from({ length: NOTES }, (_, at) => at);
  makeMemgraph(path, {
    graphs: [graphRow(GRAPH)],
    nodes: numbers.map((at) => nodeRow(GRAPH, `n${at}`, 1)),
    edges: LINKED.map((at) => edgeRow(`e${at}`, GRAPH, [`n${at}`, `n${at - 1}`])),
  });
}

/** How many entries a store of another process has by now. */
async function entriesOf(actor: string): Promise<number> {
  if (!existsSync(join(place.data, actor))) return 0;
  try {
    await using memory = await open(place.data, { actor, create: false });
    return (await memory.stats()).entries;
  } catch {
    // It is being made this very moment.
    return 0;
  }
}

test("an import that is told to end takes its copy of the file along, and an old one of a killed import", async () => {
  const file = join(place.folder, "foreign.file");
  memgraphFile(file);
  const temporary = join(place.folder, "temporary");
  const [gone, fresh] = ["cortex-import-999999999-gone", "cortex-import-999999999-fresh"];
  for (const name of [gone, fresh, "cortex-import-other"]) mkdirSync(join(temporary, name));
  const longAgo = new Date(Date.now() - 2 * 24 * 60 * 60 * 1000);
  for (const name of [gone, "cortex-import-other"]) {
    utimesSync(join(temporary, name), longAgo, longAgo);
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const child = spawn(
      process.execPath,
      [MAIN, "import", file, "--from", "memgraph", "--data", place.data],
      { stdio: "ignore", env: { ...process.env, HOME: place.home, TMPDIR: temporary } },
    );
    const ended = once(child, "exit");
    const copies = () => readdirSync(temporary).filter((name) => name.includes(`-${child.pid}-`));
    while (copies().length === 0 && child.exitCode === null) await wait(5);
    child.kill(signal);
    await ended;
    expect(readdirSync(temporary).sort()).toEqual([fresh, "cortex-import-other"]);
  }
});

test.each([
  ["jsonl", "default", jsonlFile],
  ["memgraph", GRAPH.toLowerCase(), memgraphFile],
] as const)(
  "an import from %s that is killed goes on with the next run",
  async (from, actor, make) => {
    const file = join(place.folder, "foreign.file");
    make(file);
    const args = ["import", file, "--from", from, "--data", place.data];
    const child = spawn(process.execPath, [MAIN, ...args], {
      stdio: "ignore",
      env: { ...process.env, HOME: place.home, TMPDIR: join(place.folder, "temporary") },
    });
    // On a busy machine too, whoever kills it must not come too late.
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const ended = once(child, "exit");
    while ((await entriesOf(actor)) <= 1000 && child.exitCode === null) await wait(20);
    child.kill("SIGKILL");
    expect(await ended).toEqual([null, "SIGKILL"]);

    const report = await place.json(["import", file, "--from", from]);
    const { added, unchanged } = report.memories as { added: number; unchanged: number };
    expect(unchanged).toBeGreaterThanOrEqual(1000);
    expect(unchanged % 1000).toBe(0);
    expect(added).toBeGreaterThan(0);
    expect(added + unchanged).toBe(NOTES);
    const links = report.links as { added: number; unchanged: number };
    expect(links.added + links.unchanged).toBe(LINKED.length);
    expect(await place.json(["import", file, "--from", from])).toMatchObject({
      memories: { added: 0, updated: 0, unchanged: NOTES },
      links: { added: 0, unchanged: LINKED.length },
    });
    await using memory = await open(place.data, { actor, create: false });
    expect((await memory.check()).ok).toBe(true);
    expect((await memory.get(`n${NOTES - 1}`))?.version).toBe(1);
  },
);
