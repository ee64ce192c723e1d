/**
 * `npm run call-faults`: makes one system call of a run fail, the first of its kind, then the second, and
 * so on until the run ends before it comes; then opens what is left. The kernel answers `EIO`, `ENOSPC`, or
 * that it wrote a part, as strace's injection lets it. The process may fail or end: what it acknowledged must
 * be there, and the store must be sound and take the next write.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail, progress, readFlags } from "./arguments.mjs";
import { canTrace, runWorkload, toldBy, Verifier } from "./system-calls.mjs";

/** Every call that puts something on the disk, and how it may fail. */
const CALL_FAULTS = [
  { call: "pwrite64", how: "error=EIO" },
  { call: "pwrite64", how: "error=ENOSPC" },
  { call: "pwrite64", how: "retval=100" },
  { call: "writev", how: "error=EIO" },
  { call: "writev", how: "retval=4096" },
  { call: "fdatasync", how: "error=EIO" },
  { call: "fsync", how: "error=EIO" },
  { call: "ftruncate", how: "error=ENOSPC" },
  { call: "rename", how: "error=EIO" },
  { call: "mkdir", how: "error=ENOSPC" },
];

/**
 * Makes calls fail; `numbers` are those of each kind that do, all when not given.
 * @returns {Promise<{ runs: number, ends: Record<string, number>, failures: string[] }>}
 */
async function failCalls({ faults = CALL_FAULTS, numbers, onRun = () => {} }) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "cortex-calls-")));
  const verifier = new Verifier();
  const ends = {};
  const failures = [];
  let runs = 0;
  try {
    for (const { call, how } of faults) {
      for (let at = 0; numbers === undefined || at < numbers.length; at += 1) {
        const number = numbers?.[at] ?? at + 1;
        onRun(`${call} ${how}, number ${number}`);
        const { isDone, end, problems } = await failOne(folder, verifier, { call, how, number });
        if (isDone) break;
        runs += 1;
        ends[end] = (ends[end] ?? 0) + 1;
        if (problems.length > 0)
          failures.push(
            `${call} ${how}, number ${number} (ended by ${end}): ${problems.join("; ")}`,
          );
      }
    }
    return { runs, ends, failures };
  } finally {
    await verifier.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function failOne(folder, verifier, { call, how, number }) {
  const own = join(folder, "run");
  const trace = join(folder, "trace");
  mkdirSync(own);
  try {
    // Writes to pipes are how a run tells what it did: only those to its own files fail.
    const inFiles = call === "write" ? ["-P", join(own, "out.backup")] : [];
    const injected = `inject=${call}:${how}:when=${number}`;
    const { lines, end } = await runWorkload(own, trace, [
      ...inFiles,
      "-e",
      `trace=${call}`,
      "-e",
      injected,
    ]);
    const isDone = !readFileSync(trace, "latin1").includes("(INJECTED)");
    if (isDone) return { isDone, end, problems: [] };
    return { isDone, end, problems: await verifier.problemsOf(own, toldBy(lines)) };
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

async function main() {
  const flags = readFlags(
    "Makes every system call of a run fail, one after another, and opens what is left.",
    [
      { name: "call", kind: "text", standard: "", help: "only calls of this name" },
      {
        name: "numbers",
        kind: "text",
        standard: "",
        help: "only the calls of these numbers: 15,16",
      },
    ],
  );
  if (!canTrace()) fail("strace is missing or may not trace; it makes calls fail");
  const faults = CALL_FAULTS.filter(({ call }) => flags.call === "" || call === flags.call);
  if (faults.length === 0)
    fail(`--call: expected one of ${[...new Set(CALL_FAULTS.map(({ call }) => call))].join(", ")}`);
  const tell = progress();
  const { runs, ends, failures } = await failCalls({
    faults,
    ...(flags.numbers === "" ? {} : { numbers: String(flags.numbers).split(",").map(Number) }),
    onRun: tell,
  });
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  process.stdout.write(
    `${runs} runs with a failed call, ${failures.length} not sound; how they ended: ${JSON.stringify(ends)}\n`,
  );
  process.exitCode = failures.length === 0 ? 0 : 1;
}

await main();
