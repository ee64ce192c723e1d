/**
 * The benchmark as a program: a quick run of its questions, and the shape of what it says. It runs
 * on the built output, so `npm test` builds first. Whether the figures are good is left to a full
 * run on a quiet machine.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const requireAll = process.env.CORTEX_REQUIRE_ALL === "1";

interface Row {
  readonly question: string;
  readonly what: string;
  readonly store: string;
  readonly sync: string;
  readonly memories: number;
  readonly value: number;
  readonly unit: string;
  readonly runs: readonly number[];
  readonly overRaw?: number;
  readonly overSqlite?: number;
}

interface Bar {
  readonly name: string;
  readonly question: string;
  readonly figure?: number;
  readonly verdict: string;
  readonly fullSize: boolean;
}

interface Report {
  readonly date: string;
  readonly commit: string;
  readonly machine: Readonly<Record<string, unknown>>;
  readonly limits: { readonly syncsPerSecond: number; readonly hashesPerSecond: number };
  readonly rows: readonly Row[];
  readonly bars: readonly Bar[];
  readonly notes: readonly string[];
}

/** One figure of two builds. */
interface Compared {
  readonly name: string;
  readonly what: string;
  readonly unit: string;
  readonly memories?: number;
  readonly against: number;
  readonly ours: number;
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  readonly verdict: string;
  readonly rounds: readonly { readonly against: number; readonly ours: number }[];
  readonly byProcessor?: Omit<Compared, "byProcessor">;
}

interface AgainstReport extends Pick<Report, "commit"> {
  readonly dirty: boolean;
  readonly against: { readonly commit: string; readonly dirty: boolean };
  readonly figures: readonly Compared[];
}

type CompareRounds = (
  rounds: readonly object[],
  sizes: { readonly size: number; readonly base: number },
) => readonly Compared[];

/** What two builds are compared by. */
const FIGURES = ["write", "batch", "filling", "get", "find", "search", "recall", "rest", "version"];

function bench(...args: readonly string[]) {
  const command = [join(root, "bench", "main.mjs"), ...args];
  return spawnSync(process.execPath, command, { cwd: root, encoding: "utf8" });
}

describe("the benchmark", () => {
  const folder = mkdtempSync(join(tmpdir(), "cortex-bench-test-"));
  const file = join(folder, "report.json");
  const stores = join(folder, "stores");

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("says how it is asked, and what it does not know with it", () => {
    const help = bench("--help");
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toMatch(/^Usage: /);
    expect(help.stdout).toContain("memgraph");
    const wrong = bench("--helpful");
    expect(wrong).toMatchObject({ status: 2, stdout: "" });
    expect(wrong.stderr).toContain("--helpful");
    expect(wrong.stderr).toContain(help.stdout.trim());
  });

  test("prints a table and writes JSON for a quick run, and leaves no store behind", (ctx) => {
    const ran = bench("write", "read", "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    expect(readdirSync(stores)).toEqual([]);

    expect(Date.parse(report.date)).toBeGreaterThan(0);
    expect(report.commit).toMatch(/^([0-9a-f]{40}|unknown)$/);
    const known = ["cpu", "cores", "memoryGb", "node", "kernel", "filesystem", "load"];
    expect(Object.keys(report.machine)).toEqual(known);

    checkRows(report, ran.stdout);
    checkBars(report);

    const missing = report.notes.find((note) => note.includes("SQLite is missing"));
    const compared = report.rows.filter(({ store }) => store.startsWith("SQLite"));
    expect(compared.length === 0).toBe(missing !== undefined);
    if (missing !== undefined && !requireAll) return ctx.skip(missing);
    expect(missing).toBeUndefined();
  });

  // Each history is made once, however many questions look at it.
  test.each([
    {
      about: "proofs and the past",
      asked: ["trees", "prove", "verify", "asof", "verified"],
      histories: 2,
    },
    {
      about: "finding, erasure and moves",
      asked: ["find", "context", "forget", "export", "import"],
      histories: 1,
    },
  ])("answers the questions about $about from one store", ({ asked, histories }) => {
    const ran = bench(...asked, "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    expect(readdirSync(stores)).toEqual([]);
    checkRows(report, ran.stdout);
    expect(new Set(report.rows.map(({ question }) => question))).toEqual(new Set(asked));
    expect(new Set(report.bars.map(({ question }) => question))).toEqual(new Set(asked));
    for (const { name, verdict, fullSize } of report.bars) {
      const unknown = process.platform !== "linux" && name.endsWith("Flat");
      expect(verdict === "not measured", name).toBe(unknown);
      expect(fullSize).toBe(false);
    }
    expect(ran.stderr.match(/^preparing a store: .*$/gm)).toHaveLength(histories);
  });

  test("puts load on a server of its own, and stops it", () => {
    const ran = bench("http", "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    expect(readdirSync(stores)).toEqual([]);
    checkRows(report, ran.stdout);
    // Two figures of a read, of a read from a bare server, and of a write.
    expect(report.rows).toHaveLength(6);
    expect(report.bars.map(({ question }) => question)).toEqual(["http", "http", "http"]);
    expect(report.bars.filter(({ verdict }) => verdict === "not measured")).toEqual([]);
  });

  test.each(["page", "near", "search", "recall", "growth"])("answers the question %s", (asked) => {
    const ran = bench(asked, "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    expect(readdirSync(stores)).toEqual([]);
    checkRows(report, ran.stdout);
    expect(report.bars.filter(({ verdict }) => verdict === "not measured")).toEqual([]);
    // What is found does not depend on the pace of the machine.
    const found = report.bars.find(({ name }) => name === "nearRecall");
    expect(found?.verdict ?? "pass").toBe("pass");
  });

  test("says what the machine gives at most: disk, processor, and the storage engine alone", () => {
    const ran = bench("limits", "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    expect(readdirSync(stores)).toEqual([]);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    checkRows(report, ran.stdout);
    const of = report.rows.map(({ store }) => store);
    expect(new Set(of)).toEqual(new Set(["disk", "processor", "raw lmdb"]));
    expect(report.rows.every(({ value }) => value > 0)).toBe(true);
    // Every run states the first two, whatever it asks.
    expect(report.limits.syncsPerSecond).toBeGreaterThan(0);
    expect(report.limits.hashesPerSecond).toBeGreaterThan(0);
    expect(ran.stdout).toMatch(/^limits +[\d,.]+ waits for the disk/m);
  });

  test("runs other programs beside this one, and leaves out those that are not installed", () => {
    const ran = bench("peers", "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    expect(readdirSync(stores)).toEqual([]);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    checkRows(report, ran.stdout);
    const whats = (store: string) =>
      report.rows.filter((row) => row.store === store).map(({ what }) => what);
    const both = [
      "batch",
      "write",
      "writes at once",
      "get",
      "page",
      "filter",
      "search",
      "near",
      "history",
    ];
    expect(whats("hand-rolled SQLite")).toEqual(expect.arrayContaining(both));
    expect(whats("cortex")).toEqual(
      expect.arrayContaining([...both, "recall", "anonymous memory", "installed"]),
    );
    expect(whats("cortex mcp")).toEqual(
      expect.arrayContaining(["write", "get", "recall", "history"]),
    );
    for (const name of ["mem0 oss", "server-memory"]) {
      const isLeftOut = report.notes.some((note) => note.startsWith(`${name} is left out`));
      expect(whats(name).length > 0, name).toBe(!isLeftOut);
    }
  });

  test("counts what two writers and a kill lose: nothing here", () => {
    const ran = bench("losses", "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    for (const store of ["cortex", "hand-rolled SQLite", "cortex mcp"]) {
      const lost = report.rows.filter((row) => row.store === store);
      expect(lost.map(({ what, value }) => [what, value])).toEqual([
        ["two processes: refused", 0],
        ["two processes: lost", 0],
        ["two processes: torn", 0],
        ["killed while writing: lost", 0],
        ["killed while writing: torn", 0],
      ]);
    }
  });

  test("brings notes in from files of other programs", () => {
    const ran = bench("importers", "--quick", "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    const report = JSON.parse(readFileSync(file, "utf8")) as Report;
    expect(readdirSync(stores)).toEqual([]);
    checkRows(report, ran.stdout);
    expect(new Set(report.rows.map(({ question }) => question))).toEqual(new Set(["importers"]));
    // Without a SQLite binding there is no memgraph database to read, and a note says so.
    const programs = report.notes.some((note) => note.includes("no SQLite binding"))
      ? ["jsonl"]
      : ["jsonl", "memgraph"];
    const measured = report.bars.filter(({ verdict }) => verdict !== "not measured");
    const rates = measured.map(({ name }) => name).filter((name) => name.endsWith("PerSecond"));
    expect(rates).toEqual(programs.map((program) => `${program} importersPerSecond`));
  });

  test("compares this build with another one, in one run", () => {
    // Against itself, because that is the one build there is for certain.
    const small = ["--quick", "--runs", "1", "--size", "200", "--base", "50"];
    const ran = bench("--against", root, ...small, "--json", file, "--folder", stores);
    expect(ran.status, ran.stderr).toBe(0);
    expect(readdirSync(stores)).toEqual([]);
    const report = JSON.parse(readFileSync(file, "utf8")) as AgainstReport;
    expect(report.against).toEqual({ commit: report.commit, dirty: report.dirty });
    expect(report.figures.map(({ name }) => name)).toEqual(FIGURES);
    for (const { name, what, against, ours, ratio, ...rest } of report.figures) {
      expect(Math.min(against, ours), name).toBeGreaterThan(0);
      // One round, so that the ratio is that of the two figures; above 1 is better.
      const isTime = rest.unit === "ms";
      expect(ratio, name).toBeCloseTo(isTime ? against / ours : ours / against, 6);
      expect(rest).toMatchObject({ lowest: ratio, highest: ratio, verdict: "too few rounds" });
      expect(rest.rounds, name).toEqual([{ against, ours }]);
      expect(ran.stdout).toContain(what);
    }
    expect(ran.stdout).toMatch(/^figure +memories +unit +against +ours +ratio +spread +verdict/m);
  });

  test("calls a difference level when the rounds differ by as much", async () => {
    const { compareRounds } = (await import(
      new URL("../bench/lib/against-report.mjs", import.meta.url).href
    )) as { readonly compareRounds: CompareRounds };
    // Milliseconds of one operation, against and ours, round by round.
    const verdicts = (...rounds: readonly (readonly [number, number])[]) => {
      const slice = (ms: number) => [{ operations: 10, ms: 10 * ms, processorMs: 20 * ms }];
      const made = rounds.map(([against, ours]) =>
        Object.fromEntries(FIGURES.map((name) => [name, [slice(against), slice(ours)]])),
      );
      const figures = compareRounds(made, { size: 7, base: 5 });
      for (const { ratio, byProcessor } of figures) expect(byProcessor?.ratio).toBe(ratio);
      expect(figures.map(({ memories }) => memories)).toEqual([
        5,
        5,
        undefined,
        7,
        7,
        7,
        7,
        7,
        undefined,
      ]);
      return [...new Set(figures.map(({ verdict }) => verdict))];
    };
    expect(verdicts([4, 2], [4, 2], [4, 2])).toEqual(["better"]);
    expect(verdicts([2, 4], [2, 4], [2, 3.9])).toEqual(["worse"]);
    expect(verdicts([4, 4], [4, 5], [4, 3])).toEqual(["level"]);
    // All of them on one side, but no farther from 1 than from each other.
    expect(verdicts([100, 90], [100, 95], [100, 99])).toEqual(["level"]);
    // Very close to each other, but as close to 1 as two copies of one build.
    expect(verdicts([100, 98], [100, 98], [100, 98])).toEqual(["level"]);
    // Five rounds that lie as far apart as these three say more than three.
    const three = [
      [4, 3],
      [4, 3.2],
      [4, 3.3],
    ] as const;
    expect(verdicts(...three)).toEqual(["level"]);
    expect(verdicts(...three, [4, 3.1], [4, 3.2])).toEqual(["better"]);
    expect(verdicts([4, 2], [4, 2])).toEqual(["too few rounds"]);
  });

  test("explains itself when asked for nothing, or for something unknown", () => {
    const unbuilt = bench("--against", folder);
    expect([unbuilt.status, unbuilt.stdout]).toEqual([2, ""]);
    expect(unbuilt.stderr).toMatch(/^--against: expected a checkout that is built, got /);
    for (const args of [[], ["swim"], ["write", "--size", "many"], ["write", "--against", root]]) {
      const ran = bench(...args);
      expect(ran.status).toBe(2);
      expect(ran.stdout).toBe("");
      expect(ran.stderr).toMatch(/Usage: npm run bench -- QUESTION|not a number: many/);
    }
  });
});

/** Every row says what it is about and is printed. */
function checkRows({ rows }: Report, printed: string): void {
  for (const row of rows) {
    // How fast is not asked here; a share made of two timings may even come out below nothing.
    expect(Number.isFinite(row.value), `${row.what}, ${row.store}`).toBe(true);
    expect(row.runs.length).toBeGreaterThan(0);
    expect([row.sync, row.unit, row.question].every((text) => text.length > 0)).toBe(true);
    expect(row.memories).toBeGreaterThan(0);
    expect(printed).toContain(row.what);
  }
}

/** Every bar of the two questions is judged, and a small store never counts as a full one. */
function checkBars({ bars, rows }: Report): void {
  expect(new Set(bars.map(({ question }) => question))).toEqual(new Set(["write", "read"]));
  for (const { name, figure, verdict, fullSize } of bars) {
    expect(["pass", "fail", "not measured"], name).toContain(verdict);
    expect(figure === undefined).toBe(verdict === "not measured");
    expect(fullSize).toBe(false);
  }
  const against = (what: string, store: string) =>
    rows.find((row) => row.what.startsWith(what) && row.store.startsWith(store));
  for (const what of ["batch of", "64 concurrent writes", "one awaited write", "get of random"]) {
    const [engine, raw] = [against(what, "engine"), against(what, "raw lmdb")];
    if (engine === undefined || raw === undefined) throw new Error(`no rows for ${what}`);
    // One run, so that the ratio is that of the two rows themselves.
    expect(engine.overRaw).toBeCloseTo(engine.value / raw.value, 6);
    const sqlite = against(what, "SQLite");
    if (sqlite !== undefined) expect(engine.overSqlite).toBeCloseTo(engine.value / sqlite.value, 6);
  }
}
