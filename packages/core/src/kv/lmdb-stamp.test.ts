/** Stamps of stores: every commit breaks one, nothing else does. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openLmdbKv } from "./lmdb-backend.js";
import { holdsStamp, onlyStoreIn, storeNames, takeStamp } from "./lmdb-stamp.js";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cortex-stamp-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const byte = (value: number): Uint8Array => Uint8Array.of(value);

function taken(folder: string): string {
  const stamp = takeStamp(folder);
  if (stamp === undefined) throw new Error("there is no store to stamp");
  return stamp;
}

describe.each([true, false])("relaxed: %s", (relaxed) => {
  test("every commit breaks the stamp, of caches as well; reading and reopening do not", async () => {
    const folder = temporaryFolder();
    let kv = await openLmdbKv(folder, { relaxed });
    cleanups.push(() => kv.close());
    await kv.commit({ expectHead: undefined, head: byte(1), puts: [], deletes: [] });
    let stamp = taken(folder);
    for (let round = 1; round <= 20; round += 1) {
      const puts = [{ key: byte(0x20), value: byte(round) }];
      await kv.commit({ expectHead: byte(round), head: byte(round + 1), puts, deletes: [] });
      expect(holdsStamp(folder, stamp)).toBe(false);
      stamp = taken(folder);
      await kv.commitCaches({
        expect: [],
        puts: [{ key: byte(0x80), value: byte(round) }],
        deletes: [],
      });
      expect(holdsStamp(folder, stamp)).toBe(false);
      stamp = taken(folder);
    }
    const snapshot = await kv.snapshot();
    await snapshot.getMany([byte(0x20)]);
    snapshot.close();
    expect(holdsStamp(folder, stamp)).toBe(true);
    await kv.close();
    expect(holdsStamp(folder, stamp)).toBe(true);
    kv = await openLmdbKv(folder, { relaxed });
    expect(holdsStamp(folder, stamp)).toBe(true);
    expect(taken(folder)).toBe(stamp);
  });
});

test("a commit that lost its race leaves the stamp as it was", async () => {
  const folder = temporaryFolder();
  const kv = await openLmdbKv(folder, { relaxed: true });
  cleanups.push(() => kv.close());
  await kv.commit({ expectHead: undefined, head: byte(1), puts: [], deletes: [] });
  const stamp = taken(folder);
  const late = { expectHead: byte(9), head: byte(2), puts: [], deletes: [] };
  expect(await kv.commit(late)).toMatchObject({ ok: false });
  expect(holdsStamp(folder, stamp)).toBe(true);
});

test("a store that moves to its next file breaks the stamp", async () => {
  const folder = temporaryFolder();
  const kv = await openLmdbKv(folder, { relaxed: true });
  cleanups.push(() => kv.close());
  await kv.commit({ expectHead: undefined, head: byte(1), puts: [], deletes: [] });
  const stamp = taken(folder);
  const next = await kv.nextGeneration();
  await next.kv.commit({ expectHead: undefined, head: byte(1), puts: [], deletes: [] });
  expect(holdsStamp(folder, stamp)).toBe(true);
  expect((await next.promote(byte(1), Uint8Array.of(0xff, 1))).ok).toBe(true);
  expect(holdsStamp(folder, stamp)).toBe(false);
  expect(holdsStamp(folder, taken(folder))).toBe(true);
});

test("a store that was removed and made anew is another one, although it looks the same", async () => {
  const folder = temporaryFolder();
  const make = async (): Promise<string> => {
    const kv = await openLmdbKv(join(folder, "graph"), { relaxed: true });
    await kv.commit({ expectHead: undefined, head: byte(1), puts: [], deletes: [] });
    await kv.close();
    return taken(join(folder, "graph"));
  };
  const first = await make();
  rmSync(join(folder, "graph"), { recursive: true });
  expect(holdsStamp(join(folder, "graph"), first)).toBe(false);
  expect(takeStamp(join(folder, "graph"))).toBeUndefined();
  // Only the time of its birth tells such a file from the one before.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await make()).not.toBe(first);
});

test("folders are named in order; where there is none there are no names", async () => {
  const folder = temporaryFolder();
  for (const name of ["b", "a"]) {
    const kv = await openLmdbKv(join(folder, name), { relaxed: true });
    await kv.close();
  }
  expect(storeNames(folder)).toEqual(["a", "b"]);
  expect(storeNames(join(folder, "nothing"))).toEqual([]);
});

test("the only store of a folder is known again without listing, until one is made or goes", () => {
  const folder = temporaryFolder();
  const only = onlyStoreIn(folder);
  // What changed a while ago is remembered; what changed just now is looked at each time.
  const isLongAgo = [false, true];
  let hour = 0;
  const asked = (): (string | undefined)[] =>
    isLongAgo.flatMap((isOld) => {
      hour += 1;
      if (isOld) utimesSync(folder, hour * 3600, hour * 3600);
      return [only(), only()];
    });
  const told = (name: string | undefined): unknown[] => [name, name, name, name];
  expect(asked()).toEqual(told(undefined));
  mkdirSync(join(folder, ".catalogue"));
  mkdirSync(join(folder, "a"));
  expect(asked()).toEqual(told("a"));
  mkdirSync(join(folder, "b"));
  expect(asked()).toEqual(told(undefined));
  rmSync(join(folder, "a"), { recursive: true });
  expect(asked()).toEqual(told("b"));
  rmSync(folder, { recursive: true });
  expect(only()).toBeUndefined();
});
