/**
 * Every acknowledgement comes after the sync.
 *
 * A process writes under strace, with every sync made slow; the trace says what reached the kernel in
 * which order. The engine commits by writing pages, `fdatasync`, then one write of the meta page
 * through a descriptor opened with O_DSYNC, which returns when it is on the disk. So at the moment an
 * acknowledgement goes into the pipe, no file of the store may hold bytes that were written but not
 * synced, and a meta page must have been written since the operation was asked for.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { isLacking } from "../src/testing/lacking.js";
import { cleanUp, isUnbuilt, startProgram, temporaryFolder } from "./other-process.js";

const SYNC_DELAY_US = 8000;
const CALLS =
  "fdatasync,fsync,msync,sync_file_range,write,writev,pwrite64,pwritev,pwritev2,openat,rename";

afterEach(cleanUp);

function canTrace(): boolean {
  try {
    execFileSync("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const CANNOT_TRACE = isLacking(canTrace(), "strace is missing or may not trace") || isUnbuilt();

/** The trace of one run of the program, as lines in the order things happened. */
async function traceOf(relaxed: boolean): Promise<readonly string[]> {
  const folder = temporaryFolder();
  const trace = join(folder, "trace");
  const slow = `inject=fdatasync,fsync:delay_enter=${SYNC_DELAY_US}`;
  const wrap = ["strace", "-f", "-y", "-e", `trace=${CALLS}`, "-e", slow, "-o", trace];
  const program = startProgram("durable-writer.mjs", { wrap });
  program.send({ folder: join(folder, "store"), relaxed });
  await program.finish();
  return readFileSync(trace, "utf8").split("\n");
}

/** What a trace says about the acknowledgements in it. */
interface Findings {
  readonly acknowledged: number;
  /** Acknowledgements that came while written bytes were not on the disk. */
  readonly early: readonly string[];
  /** Acknowledgements of writes without any durable meta page since they were asked for. */
  readonly empty: readonly string[];
  readonly syncs: number;
}

const STORE_FILE = /\/g\d+\.mdb$/;

/** Reads a trace: which files are dirty, when each operation began, when meta pages were durable. */
function read(lines: readonly string[]): Findings {
  const dirty = new Set<string>();
  const syncedMeta = new Set<string>();
  const startedAt = new Map<string, number>();
  const unfinished = new Map<string, string>();
  const early: string[] = [];
  const empty: string[] = [];
  let lastMeta = -1;
  let acknowledged = 0;
  let syncs = 0;
  for (const [at, line] of lines.entries()) {
    const [, thread = "", text = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const begins = text.endsWith("<unfinished ...>");
    const resumes = text.startsWith("<... ");
    const call = resumes ? `${unfinished.get(thread)} ${text}` : text;
    if (begins) unfinished.set(thread, text);
    const [, name = "", descriptor = "", path = ""] =
      /^(\w+)\((?:AT_FDCWD|(\d+))<([^>]*)>/.exec(call) ?? [];
    if (name === "openat") {
      const [, opened = ""] = / = (\d+)<[^>]*>$/.exec(call) ?? [];
      if (call.includes("O_DSYNC")) syncedMeta.add(opened);
      else syncedMeta.delete(opened);
    } else if (/sync$/.test(name)) {
      if (begins) continue;
      dirty.delete(path);
      syncs += 1;
    } else if (STORE_FILE.test(path)) {
      // A write counts from its beginning, a durable one from its end.
      if (!syncedMeta.has(descriptor)) dirty.add(path);
      else if (!begins) lastMeta = at;
    }
    const [, word, n] = /^write\(1<[^>]*>, "(start|ack) (\d+)\\n"/.exec(text) ?? [];
    if (n === undefined) continue;
    if (word === "start") startedAt.set(n, at);
    else {
      acknowledged += 1;
      if (dirty.size > 0) early.push(`ack ${n}: ${[...dirty].join()}`);
      if (lastMeta < (startedAt.get(n) ?? 0)) empty.push(`ack ${n}`);
    }
  }
  return { acknowledged, early, empty, syncs };
}

describe.skipIf(CANNOT_TRACE)("the order of syncs and acknowledgements", () => {
  test("a resolved promise is on the disk", async () => {
    const found = read(await traceOf(false));
    console.log(`durable order: ${JSON.stringify(found)}`);
    expect(found.acknowledged).toBe(23);
    expect(found.early).toEqual([]);
    expect(found.empty).toEqual([]);
    // Eight at once share one commit; everything else has its own.
    expect(found.syncs).toBeGreaterThanOrEqual(15);
  });

  test("the same look at a relaxed store finds what the promise rules out", async () => {
    const found = read(await traceOf(true));
    expect(found.acknowledged).toBe(22);
    expect(found.early.length + found.empty.length).toBeGreaterThan(20);
  });
});
