/**
 * Moves of a store while a second process reads and writes it, and while the moving process is
 * killed: nothing is lost, nothing is seen in part, and the store opens and is sound. In folders, or in
 * the database that tests are run on.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { decodeHeadRow, encodeHeadRow } from "../src/history/head-row.js";
import { type Cortex, copyHub, importJournal, isCortexError, open, upgrade } from "../src/index.js";
import { HEAD_KEY } from "../src/kv/kv.js";
import { isPostgresLocation, openKv } from "../src/open.js";
import { type SeededRandom, seededRandom } from "../src/testing/index.js";
import { rounds } from "../src/testing/lacking.js";
import { generationsOf, letLeftoversAge } from "./moves-support.js";
import {
  cleanUp,
  copyOfFolder,
  isUnbuilt,
  type Program,
  seedOfRun,
  startProgram,
  temporaryFolder,
  temporaryStore,
} from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

const SEED = seedOfRun("moves");
const ENTRIES = 300;
/** Kills of each kind of move in one run. */
const KILLS = rounds(2, 3);

/** A store with some history, closed, and its export: made once, copied for every case. */
const prepared = mkdtempSync(join(tmpdir(), "cortex-test-"));
const EXPORT = join(prepared, "export.cortex");
let root = "";
let seq = 0;
beforeAll(async () => {
  ({ root, seq } = await furnish(prepared));
});
afterAll(() => rmSync(prepared, { recursive: true, force: true }));

/** A place with a copy of the prepared store. */
async function furnished(): Promise<string> {
  if ((process.env.CORTEX_TEST_POSTGRES ?? "") === "") return copyOfFolder(prepared);
  const location = temporaryStore();
  expect(await copyHub(prepared, location)).toMatchObject({ ok: true, copied: 1 });
  return location;
}

async function furnish(folder: string): Promise<{ readonly root: string; readonly seq: number }> {
  await using memory = await open(folder, { actor: "ada", relaxedDurability: true });
  const notes = Array.from({ length: ENTRIES }, (_, n) => ({
    write: { type: "note" as const, text: `note ${n}`, externalId: `first-${n}`, tags: ["first"] },
  }));
  await memory.batch(notes);
  for (let n = 0; n < 20; n += 1) await memory.forget(`first-${n * 7}`, "asked for");
  await memory.snapshot("furnished");
  await memory.exportJournal(EXPORT);
  return await memory.root();
}

/** Makes a store look as if an older release had written it. */
async function age(folder: string): Promise<void> {
  const kv = await openKv(folder, "ada", {});
  const snapshot = await kv.snapshot();
  const [expectHead] = await snapshot.getMany([HEAD_KEY]);
  snapshot.close();
  const head = encodeHeadRow({ ...decodeHeadRow(expectHead), foldVersion: 0 });
  expect(await kv.commit({ expectHead, head, puts: [], deletes: [] })).toEqual({ ok: true });
  await kv.close();
}

/** Where an upgrade puts its backup: beside a store in a database there is no place. */
const backupFile = (): string => join(temporaryFolder(), "before.cortex");

/** Takes away what dead processes left in a database, which is done by the next move. */
async function sweep(location: string): Promise<void> {
  if (!isPostgresLocation(location)) return;
  await letLeftoversAge(location);
  await using memory = await open(location, { actor: "ada" });
  await memory.vacuum();
}

async function neighbourOf(folder: string, seed: number): Promise<Program> {
  const program = startProgram("moves-neighbour.mjs");
  await program.until("ready");
  program.send({ folder, name: "pair", seed });
  return program;
}

/** Stops a neighbour and holds the store to everything it was told was written. */
async function judge(program: Program, memory: Cortex): Promise<number> {
  program.send("stop");
  await program.until("done");
  await program.finish();
  expect(program.lines.filter((line) => line.startsWith("half"))).toEqual([]);
  const written = program.lines.filter((line) => line.startsWith("wrote")).length;
  for (let n = 0; n < written; n += 1) {
    expect((await memory.get(`pair-${n}-l`))?.text, `pair ${n}`).toBe(`pair-${n} left`);
    expect(await memory.getEdge(`pair-${n}-l`, "references", `pair-${n}-r`)).toBeDefined();
  }
  expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
  return written;
}

describe("while a second process reads and writes", () => {
  test.skipIf(UNBUILT)(
    "vacuum and rebuild, again and again, lose nothing and come to an end",
    async () => {
      const folder = await furnished();
      await using memory = await open(folder, { actor: "ada" });
      const neighbour = await neighbourOf(folder, SEED);
      await neighbour.until("wrote 3");
      for (let n = 0; n < 2; n += 1) {
        expect((await memory.vacuum()).entries).toBeGreaterThan(seq);
        expect(await memory.rebuild()).toMatchObject({ ok: true, differences: [] });
        // The neighbour is not held up for good.
        await neighbour.until("wrote");
      }
      const written = await judge(neighbour, memory);
      console.log(`4 moves, ${written} pairs of the neighbour meanwhile`);
      expect((await memory.stats()).entries).toBe(seq + 1 + 3 * written);
      expect(await generationsOf(folder)).toBe(1);
    },
  );

  test.skipIf(UNBUILT)("two processes vacuum and one rebuilds at once: all get on", async () => {
    const folder = await furnished();
    const neighbour = await neighbourOf(folder, SEED);
    await neighbour.until("wrote 3");
    const movers = ["vacuum", "vacuum", "rebuild"].map((what) => {
      const mover = startProgram("moves-mover.mjs");
      mover.send({ folder, what });
      return mover;
    });
    await Promise.all(
      movers.map(async (mover) => {
        await mover.until("moved");
        await mover.until("moved");
      }),
    );
    await neighbour.until("wrote");
    // They are killed in the middle of the next ones.
    for (const mover of movers) await mover.kill();
    await using memory = await open(folder, { actor: "ada" });
    const written = await judge(neighbour, memory);
    expect((await memory.stats()).entries).toBe(seq + 1 + 3 * written);
    await letLeftoversAge(folder);
    await memory.vacuum();
    expect(await generationsOf(folder)).toBe(1);
  });

  test.skipIf(UNBUILT)("an import is not there until it is complete", async () => {
    const other = temporaryStore();
    const neighbour = await neighbourOf(other, SEED);
    await neighbour.until("refused");
    const report = await importJournal(other, EXPORT, { actor: "ada" });
    expect(report).toMatchObject({ root, seq });
    expect(await neighbour.until("open")).toBe(`open ${seq}`);
    await neighbour.until("wrote 3");
    await using memory = await open(other, { actor: "ada" });
    expect(await judge(neighbour, memory)).toBeGreaterThanOrEqual(3);
    expect((await memory.get("first-1"))?.text).toBe("note 1");
    const codes = neighbour.lines.filter((line) => line.startsWith("refused"));
    expect(new Set(codes)).toEqual(new Set(['refused "ERR_FORMAT_UNKNOWN"']));
  });

  test.skipIf(UNBUILT)("an upgrade is refused entry until it is complete", async () => {
    const folder = await furnished();
    await age(folder);
    const neighbour = await neighbourOf(folder, SEED);
    await neighbour.until("refused");
    const report = await upgrade(folder, { actor: "ada", backup: backupFile() });
    expect(report.upgraded).toMatchObject({ seq: seq + 1 });
    expect(await neighbour.until("open")).toBe(`open ${seq + 1}`);
    await neighbour.until("wrote 3");
    await using memory = await open(folder, { actor: "ada" });
    await judge(neighbour, memory);
    const codes = neighbour.lines.filter((line) => line.startsWith("refused"));
    expect(new Set(codes)).toEqual(new Set(['refused "ERR_FORMAT_OLDER"']));
  });
});

describe("kill -9", () => {
  /** Starts a move and kills it at some moment; says how many were completed. */
  async function killDuring(
    random: SeededRandom,
    order: { readonly folder: string; readonly what: string; readonly file?: string },
    withinMs: number,
  ): Promise<number> {
    const mover = startProgram("moves-mover.mjs");
    await mover.until("ready");
    mover.send(order);
    await mover.until("start");
    await sleep(random.below(withinMs));
    await mover.kill();
    return mover.lines.filter((line) => line === "moved").length;
  }

  test.skipIf(UNBUILT).each(["vacuum", "rebuild"])(
    "during %s, with a neighbour that goes on",
    async (what) => {
      const random = seededRandom(SEED);
      const folder = await furnished();
      const neighbour = await neighbourOf(folder, SEED);
      await neighbour.until("wrote");
      let moved = 0;
      for (let round = 0; round < KILLS; round += 1) {
        moved += await killDuring(random, { folder, what }, 400);
        // The neighbour gets on: nobody waits for the dead.
        await neighbour.until("wrote");
        await using memory = await open(folder, { actor: "ada" });
        expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
      }
      console.log(`${moved} moves were complete`);
      await using memory = await open(folder, { actor: "ada" });
      await judge(neighbour, memory);
      await letLeftoversAge(folder);
      await memory.vacuum();
      expect(await generationsOf(folder), "leftovers of the killed").toBe(1);
    },
  );

  test.skipIf(UNBUILT)("during an import: nothing, or all of it", async () => {
    const random = seededRandom(SEED + 1);
    let complete = 0;
    for (let round = 0; round < KILLS; round += 1) {
      const target = temporaryStore();
      await killDuring(random, { folder: target, what: "import", file: EXPORT }, 250);
      const before = await open(target, { actor: "ada", create: false }).then(
        (memory) => memory,
        (error: unknown) => (isCortexError(error) ? error.code : error),
      );
      if (typeof before === "object" && before !== null && "root" in before) complete += 1;
      else {
        expect(before).toBe("ERR_FORMAT_UNKNOWN");
        await importJournal(target, EXPORT, { actor: "ada" });
      }
      if (typeof before === "object" && before !== null && "close" in before) {
        await (before as Cortex).close();
      }
      await using memory = await open(target, { actor: "ada", create: false });
      expect(await memory.root()).toMatchObject({ root });
      expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
      await sweep(target);
      expect(await generationsOf(target)).toBe(1);
    }
    console.log(`${complete} of ${KILLS} imports were complete when they were killed`);
  });

  test.skipIf(UNBUILT)("during an upgrade: the old store, or the new one", async () => {
    const random = seededRandom(SEED + 2);
    let complete = 0;
    for (let round = 0; round < KILLS; round += 1) {
      const folder = await furnished();
      await age(folder);
      const file = backupFile();
      await killDuring(random, { folder, what: "upgrade", file }, 350);
      const report = await upgrade(folder, { actor: "ada", backup: file });
      if (!report.needed) complete += 1;
      await using memory = await open(folder, { actor: "ada", create: false });
      expect(await memory.root()).toMatchObject({ seq: seq + 1 });
      expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
      await sweep(folder);
      expect(await generationsOf(folder)).toBe(1);
    }
    console.log(`${complete} of ${KILLS} upgrades were complete when they were killed`);
  });
});
