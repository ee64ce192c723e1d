/** Holding a store: commits wait while a construction takes over, and nobody waits for the dead. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { bytes, everything, read, row, write } from "../testing/kv-suite-basics.js";
import type { Kv, KvGeneration } from "./kv.js";
import { openLmdbKv } from "./lmdb-backend.js";
import { LmdbFile } from "./lmdb-file.js";
import { MemoryStore, openMemoryKv } from "./memory-backend.js";

const MOVED = Uint8Array.of(0xff);
const RELAXED = { relaxed: true, readOnly: false };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Two handles on one store. */
async function twoHandles(backend: string): Promise<{ kv: Kv; other: Kv; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "cortex-hold-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const store = new MemoryStore();
  const opened = (): Promise<Kv> | Kv =>
    backend === "memory" ? openMemoryKv(store) : openLmdbKv(folder, { relaxed: true });
  const [kv, other] = [await opened(), await opened()];
  cleanups.push(
    () => kv.close(),
    () => other.close(),
  );
  return { kv, other, folder };
}

async function held(kv: Kv, head: Uint8Array): Promise<KvGeneration> {
  const next = await kv.nextGeneration();
  await next.kv.commit({ expectHead: undefined, head, puts: [row(bytes(5), "new")], deletes: [] });
  if (next.hold === undefined) throw new Error("the backend cannot hold");
  await next.hold();
  return next;
}

/** Who holds a file, as a writer sees it. */
function holderOf(file: LmdbFile): string | undefined {
  let holder: string | undefined;
  file.write(() => {
    holder = file.hold()?.holder;
  });
  return holder;
}

/** Whether a promise is still pending after the event loop has turned many times. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(
    () => {
      settled = true;
    },
    () => {
      settled = true;
    },
  );
  for (let turn = 0; turn < 50; turn += 1) await new Promise((done) => setImmediate(done));
  return !settled;
}

describe.each(["memory", "lmdb"])("on %s", (backend) => {
  test("a commit waits for the promotion and lands in the new generation", async () => {
    const { kv, other } = await twoHandles(backend);
    const head = await write(kv, [row(bytes(5), "old")]);
    const next = await held(kv, head);
    const change = { expectHead: head, head: bytes(9), puts: [row(bytes(6), "late")], deletes: [] };
    const commits = [kv.commit(change), other.commit({ ...change, head: bytes(8) })];
    for (const commit of commits) expect(await isPending(commit)).toBe(true);
    expect(await next.promote(head, MOVED)).toEqual({ ok: true });
    const results = await Promise.all(commits);
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await read(kv, bytes(5))).toEqual(await read(other, bytes(5)));
    expect((await everything(other)).length).toBe(2);
  });

  test("abandoning lets the writers go on, and reads never wait", async () => {
    const { kv, other } = await twoHandles(backend);
    const head = await write(kv, [row(bytes(5), "old")]);
    const next = await held(kv, head);
    const change = { expectHead: head, head: bytes(9), puts: [], deletes: [bytes(5)] };
    const commit = other.commit(change);
    expect((await everything(other)).length).toBe(1);
    expect(await isPending(commit)).toBe(true);
    await next.abandon();
    expect(await commit).toEqual({ ok: true });
    expect(await everything(kv)).toEqual([]);
  });

  test("a second holder waits for the first", async () => {
    const { kv, other } = await twoHandles(backend);
    const head = await write(kv, [row(bytes(5), "old")]);
    const first = await held(kv, head);
    const second = held(other, head);
    expect(await isPending(second)).toBe(true);
    expect(await first.promote(head, MOVED)).toEqual({ ok: true });
    expect(await (await second).promote(head, MOVED)).toEqual({ ok: true });
    const change = { expectHead: head, head: bytes(9), puts: [], deletes: [] };
    expect(await kv.commit(change)).toEqual({ ok: true });
  });
});

describe("a hold that has run out", () => {
  test("is removed by the next commit, and its construction has lost", async () => {
    const { kv, other, folder } = await twoHandles("lmdb");
    const head = await write(kv, [row(bytes(5), "old")]);
    const next = await held(kv, head);
    const file = new LmdbFile(join(folder, "g000001.mdb"), RELAXED);
    cleanups.push(() => file.close());
    const holder = holderOf(file) ?? "";
    file.write(() => file.putHold(holder, 0));
    // A change of caches alone: the head stays, so nothing but the hold can tell.
    const change = { expectHead: head, head, puts: [row(bytes(0x80), "cache")], deletes: [] };
    expect(await other.commit(change)).toEqual({ ok: true });
    expect(holderOf(file)).toBeUndefined();
    expect(await next.promote(head, MOVED)).toEqual({ ok: false, head });
    expect((await everything(kv)).length).toBe(2);
    await next.hold?.();
    expect(await next.promote(head, MOVED)).toEqual({ ok: true });
  });

  test("of a dead process lets everybody go on", async () => {
    const { kv, folder } = await twoHandles("lmdb");
    const head = await write(kv, [row(bytes(5), "old")]);
    const file = new LmdbFile(join(folder, "g000001.mdb"), RELAXED);
    cleanups.push(() => file.close());
    file.write(() => file.putHold("somebody", Date.now() - 1));
    await write(kv, [row(bytes(6), "x")], []);
    file.write(() => file.putHold("somebody", Date.now() - 1));
    const next = await kv.nextGeneration();
    await next.kv.commit({ expectHead: undefined, head, puts: [], deletes: [] });
    await next.hold?.();
    expect(holderOf(file)).not.toBe("somebody");
    await next.abandon();
    expect(holderOf(file)).toBeUndefined();
  });
});
