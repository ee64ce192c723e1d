/**
 * A damaged store is built again: from its own journal where only derived rows are damaged, with the help
 * of a backup, an export's increments or another folder where the journal is. What nobody has is named, and
 * then nothing changes. Pages are zeroed one after the other, bits turned by a seed. A repair that ends at
 * any step leaves the damaged store or the new one, and a replica stays one.
 */
import fs, { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { examineStore } from "../src/doors.js";
import { follow, isCortexError, open, openHub, repair } from "../src/index.js";
import { seededRandom } from "../src/testing/index.js";
import { cleanUp, temporaryFolder } from "./other-process.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_301_118);
const PAGE = 4096;
const fileIn = (folder: string): string => join(folder, "ada", "g000001.mdb");

afterEach(cleanUp);

interface World {
  readonly folder: string;
  readonly backup: string;
  readonly root: string;
}

/** A closed store, and a backup of it that was made before something was forgotten. */
async function filled(): Promise<World> {
  const folder = temporaryFolder();
  const backup = join(temporaryFolder(), "full.cortex");
  const random = seededRandom(7).bytes;
  let now = Date.UTC(2030, 0, 1);
  await using memory = await open(folder, { actor: "ada", clock: () => ++now, random });
  for (let n = 0; n < 60; n += 1) {
    await memory.write({ type: "note", externalId: `note-${n}`, text: `Note ${n} by the river` });
  }
  await memory.write({ type: "note", externalId: "long", text: "a long value ".repeat(900) });
  await memory.link("note-1", "supports", "note-2", { reason: "because" });
  await memory.snapshot("sealed");
  await memory.backup(backup);
  await memory.forget("note-7", "asked to");
  return { folder, backup, root: (await memory.root()).root };
}

function copied(folder: string): string {
  const copy = temporaryFolder();
  cpSync(join(folder, "ada"), join(copy, "ada"), { recursive: true });
  return copy;
}

function turnBit(bytes: Buffer, at: number, bit: number): void {
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
}

async function expectSound(folder: string, root: string): Promise<void> {
  await using memory = await open(folder, { actor: "ada", create: false });
  expect(await memory.check()).toMatchObject({ ok: true });
  expect((await memory.root()).root).toBe(root);
  expect(await memory.get("note-7")).toBeUndefined();
}

test("a sound store is left alone", async () => {
  const { folder } = await filled();
  const before = readFileSync(fileIn(folder));
  expect(await repair(folder, { actor: "ada" })).toMatchObject({ ok: true, needed: false });
  expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
  await expect(repair(folder, { actor: "nobody" })).rejects.toMatchObject({
    code: "ERR_NOT_FOUND",
  });
});

test("zeroed pages: repaired with or without help, or named and left alone", async () => {
  const { folder, backup, root } = await filled();
  const good = readFileSync(fileIn(folder));
  const outcomes = { alone: 0, helped: 0, refused: 0 };
  for (let page = 2; page < good.length / PAGE; page += 1) {
    // Of pages in general one in four; of those with entries in the middle of the journal all.
    const held = good.subarray(page * PAGE, (page + 1) * PAGE);
    if (page % 4 !== 0 && !held.includes("Note 20 by the")) continue;
    const copy = copied(folder);
    const bytes = Buffer.from(good);
    bytes.fill(0, page * PAGE, (page + 1) * PAGE);
    writeFileSync(fileIn(copy), bytes);
    const problems = await examineStore(copy, "ada");
    if (problems.length === 0) continue;
    const alone = await repair(copy, { actor: "ada", dryRun: true });
    expect(alone).toMatchObject({ needed: true, dryRun: true, problems });
    expect(readFileSync(fileIn(copy)).equals(bytes)).toBe(true);
    const report = await repair(copy, { actor: "ada", from: alone.ok ? [] : [backup] });
    if (!report.ok) {
      outcomes.refused += 1;
      expect(readFileSync(fileIn(copy)).equals(bytes)).toBe(true);
      expect(report.aside).toBeUndefined();
      continue;
    }
    outcomes[alone.ok ? "alone" : "helped"] += 1;
    expect(report.taken > 0).toBe(!alone.ok);
    expect(alone.lost.length > 0).toBe(!alone.ok);
    await expectSound(copy, root);
    if (report.aside === undefined) throw new Error("nothing was set aside");
    expect(readFileSync(join(report.aside, "g000001.mdb")).equals(bytes)).toBe(true);
    expect(readdirSync(copy).filter((name) => name.startsWith(".repairing"))).toEqual([]);
  }
  expect(outcomes.alone).toBeGreaterThan(0);
  expect(outcomes.helped).toBeGreaterThan(0);
});

test("a bit turned in a body: from a copy's folder; alone it is named", async () => {
  const { folder, root } = await filled();
  const random = seededRandom(SEED);
  for (let round = 0; round < 3; round += 1) {
    const copy = copied(folder);
    const bytes = readFileSync(fileIn(copy));
    const at = bytes.lastIndexOf(`Note ${10 + random.below(40)} by the river`);
    turnBit(bytes, at + random.below(8), random.below(8));
    writeFileSync(fileIn(copy), bytes);
    const alone = await repair(copy, { actor: "ada" });
    // The place may have been freed: then nothing is damaged.
    if (!alone.needed) continue;
    expect(alone, `seed ${SEED}, round ${round}`).toMatchObject({ ok: false, missing: 1 });
    expect(existsSync(fileIn(copy))).toBe(true);
    const helped = await repair(copy, { actor: "ada", from: [folder] });
    expect(helped, `seed ${SEED}, round ${round}`).toMatchObject({
      ok: true,
      taken: 1,
      missing: 0,
    });
    await expectSound(copy, root);
  }
});

test("the history of another store is not taken", async () => {
  const { folder } = await filled();
  const other = temporaryFolder();
  const memory = await open(other, { actor: "ada" });
  for (let n = 0; n < 70; n += 1) await memory.write({ type: "note", text: `Other ${n}` });
  await memory.close();
  const bytes = readFileSync(fileIn(folder));
  const at = bytes.lastIndexOf("Note 30 by the river");
  turnBit(bytes, at, 0);
  writeFileSync(fileIn(folder), bytes);
  const report = await repair(folder, { actor: "ada", from: [other] });
  expect(report.needed ? report : { ok: false, taken: 0 }).toMatchObject({ ok: false, taken: 0 });
});

/** Names of the calls by which a repair changes names and waits for the disk. */
const CALLS = ["renameSync", "rmSync", "fsyncSync"] as const;

/**
 * Runs something whose process ends after a number of such calls, as far as the disk can tell: those after it
 * have no effect. Gives how many there were.
 */
async function endedAfter(calls: number, run: () => Promise<unknown>): Promise<number> {
  const mutable = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const real = CALLS.map((name) => [name, mutable[name]] as const);
  let done = 0;
  for (const [name, call] of real) {
    mutable[name] = (...args) => {
      if (done >= calls) throw new Error("the process has ended");
      done += 1;
      return call?.(...args);
    };
  }
  syncBuiltinESMExports();
  try {
    await run().catch((error: unknown) => {
      if (!String(error).includes("the process has ended")) throw error;
    });
    return done;
  } finally {
    for (const [name, call] of real) if (call !== undefined) mutable[name] = call;
    syncBuiltinESMExports();
  }
}

test("a repair that ends at any step leaves the damaged store or the new one, and can be run again", async () => {
  const { folder, backup, root } = await filled();
  const bytes = readFileSync(fileIn(folder));
  const damagedAt = bytes.lastIndexOf("Note 30 by the river");
  turnBit(bytes, damagedAt, 0);
  writeFileSync(fileIn(folder), bytes);
  const how = { actor: "ada", from: [backup] };
  const seen = new Set<string>();
  for (let calls = 0, isOver = false; !isOver; calls += 1) {
    const copy = copied(folder);
    isOver = (await endedAfter(calls, () => repair(copy, how))) < calls;
    // Whoever comes next, by the hub or without it, meets a store of that name and never a new one.
    const isListed = async (): Promise<boolean> => {
      await using hub = await openHub(copy);
      return (await hub.listGraphs()).graphs.some(({ id }) => id === "ada");
    };
    if (calls % 2 === 0) expect(await isListed(), `ended after ${calls}`).toBe(true);
    const state = await (async () => {
      await using memory = await open(copy, { actor: "ada" });
      expect((await memory.stats()).entries, `ended after ${calls}`).toBeGreaterThan(60);
      return (await memory.check()).ok ? "new" : "damaged";
    })();
    seen.add(state);
    expect((await repair(copy, how)).needed, `ended after ${calls}`).toBe(state === "damaged");
    await expectSound(copy, root);
    // Everything is this process's own, so what was left is known to be in use; the damaged one is kept.
    expect(readdirSync(copy).some((name) => name.startsWith(".damaged-ada-"))).toBe(true);
  }
  expect(seen).toEqual(new Set(["damaged", "new"]));
});

test("what a repair of a dead process left is taken away by the next, and all of it with the graph", async () => {
  const { folder, backup, root } = await filled();
  const bytes = readFileSync(fileIn(folder));
  turnBit(bytes, bytes.lastIndexOf("Note 30 by the river"), 0);
  writeFileSync(fileIn(folder), bytes);
  for (const kind of ["repairing", "repaired"]) {
    cpSync(join(folder, "ada"), join(folder, `.${kind}-ada-${process.pid}-00000000-1`), {
      recursive: true,
    });
  }
  await repair(folder, { actor: "ada", from: [backup] });
  await expectSound(folder, root);
  const kept = readdirSync(folder).filter((name) => /^\.(repair|damaged)/.test(name));
  expect(kept).toEqual([expect.stringMatching(/^\.damaged-ada-/)]);
  await using hub = await openHub(folder);
  await hub.remove("ada", "asked to");
  expect(readdirSync(folder).filter((name) => name.includes("ada"))).toEqual([]);
});

test("a replica that is repaired is a replica, also where that cannot be read any more", async () => {
  const { folder } = await filled();
  const replica = temporaryFolder();
  {
    await using memory = await open(folder, { actor: "ada" });
    for await (const _ of follow(replica, memory, { actor: "ada", once: true }));
  }
  const good = readFileSync(fileIn(replica));
  const refused = { code: "ERR_READ_ONLY" };
  const outcomes = new Set<string>();
  for (let page = 2; page < good.length / PAGE; page += 1) {
    const bytes = Buffer.from(good);
    bytes.fill(0, page * PAGE, (page + 1) * PAGE);
    writeFileSync(fileIn(replica), bytes);
    if ((await examineStore(replica, "ada")).length === 0) continue;
    const copy = copied(replica);
    const how = { actor: "ada", from: [folder] };
    const report = await repair(copy, { ...how, dryRun: true }).catch((error: unknown) => {
      if (!isCortexError(error, "ERR_CORRUPT")) throw error;
      return error.message;
    });
    if (typeof report !== "string" && !report.ok) continue;
    if (typeof report === "string") expect(report).toContain("was: expected store or replica");
    const kind = typeof report === "string" ? "asked" : "kept";
    if (outcomes.has(kind) && page % 5 !== 0) continue;
    outcomes.add(kind);
    await repair(copy, kind === "asked" ? { ...how, was: "replica" } : how);
    await using memory = await open(copy, { actor: "ada" });
    expect(await memory.check(), `page ${page}`).toMatchObject({ ok: true });
    const writing = memory.write({ type: "note", text: "of its own" });
    await expect(writing, `page ${page}`).rejects.toMatchObject(refused);
  }
  expect(outcomes).toEqual(new Set(["kept", "asked"]));
});
