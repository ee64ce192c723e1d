/**
 * Which old states are a store that was set back, and which are only older than what was seen since; and how often
 * an entry is hashed.
 */
import { expect, test } from "vitest";
import { sha256Node } from "../codec/node-crypto.js";
import { encodeEntry, encodeHeader, partHash } from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import { HEAD_KEY, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { guardPosition, verified } from "./guarded-reads.js";
import { encodeHeadRow, UNBORN } from "./head-row.js";

async function grow(kv: Kv, from: number, to: number, epoch = 0): Promise<void> {
  const head = (size: number) =>
    size === 0 ? undefined : encodeHeadRow({ ...UNBORN, size, epoch: size === to ? epoch : 0 });
  const next = head(to);
  if (next === undefined) throw new Error("a store does not become unborn");
  const change = { expectHead: head(from), head: next, puts: [], deletes: [] };
  expect(await kv.commit(change)).toEqual({ ok: true });
}

async function look(kv: Kv): Promise<void> {
  const snapshot = await kv.snapshot();
  await snapshot.getMany([HEAD_KEY]).finally(() => snapshot.close());
}

test("a read that takes longer than the writes beside it sees an older state, which is no set-back", async () => {
  const store = new MemoryStore();
  const kv = guardPosition(openMemoryKv(store));
  await grow(kv, 0, 5);
  const slow = await kv.snapshot();
  await grow(kv, 5, 7);
  await look(kv);
  await expect(slow.getMany([HEAD_KEY])).resolves.toHaveLength(1);
  await look(kv);
});

test("a state older than what was seen before it was asked for is a set-back, in every later call", async () => {
  const store = new MemoryStore();
  const plain = openMemoryKv(store);
  const kv = guardPosition(plain);
  await grow(kv, 0, 5);
  await grow(plain, 5, 3);
  await expect(look(kv)).rejects.toMatchObject({ code: "ERR_ROLLED_BACK" });
  await grow(plain, 3, 9);
  await expect(look(kv)).rejects.toMatchObject({ code: "ERR_ROLLED_BACK" });
  await expect(grow(kv, 9, 10)).rejects.toMatchObject({ code: "ERR_ROLLED_BACK" });
});

test("a shorter journal of a later epoch is a restore of ours", async () => {
  const store = new MemoryStore();
  const plain = openMemoryKv(store);
  const kv = guardPosition(plain);
  await grow(kv, 0, 5);
  await grow(plain, 5, 3, 1);
  await look(kv);
  await look(kv);
});

/** Makes a store that long: entries from `from` on are new, by somebody, at a time. */
async function extend(kv: Kv, from: number, to: number, by: string, at: number): Promise<void> {
  const snapshot = await kv.snapshot();
  const [expectHead] = await snapshot.getMany([HEAD_KEY]).finally(() => snapshot.close());
  const puts = Array.from({ length: to - from }, (_, nth) => {
    const seq = from + nth;
    const headerBytes = encodeHeader({ seq, kind: "write", at, by, parts: [] }, undefined);
    return { key: journalKey(seq), value: encodeEntry({ headerBytes, parts: [] }) };
  });
  const head = encodeHeadRow({ ...UNBORN, size: to, at });
  expect(await kv.commit({ expectHead, head, puts, deletes: [] })).toEqual({ ok: true });
}

const TOLD = { code: "ERR_ROLLED_BACK", message: expect.stringContaining("others have written") };

test("a store that others have made longer is the same one, however often", async () => {
  const store = new MemoryStore();
  const plain = openMemoryKv(store);
  const kv = guardPosition(plain);
  await extend(kv, 0, 3, "us", 1);
  for (let at = 3; at < 30; at += 3) {
    await extend(plain, at, at + 2, "others", at);
    await look(kv);
    await extend(kv, at + 2, at + 3, "us", at);
  }
  await look(kv);
});

test("one that was set back and grew again is told by the entry that was the last, of whoever", async () => {
  for (const [who, isOwn] of [
    ["us", true],
    ["others", false],
  ] as const) {
    for (const size of [5, 6, 40]) {
      const store = new MemoryStore();
      const plain = openMemoryKv(store);
      const kv = guardPosition(plain);
      await extend(isOwn ? kv : plain, 0, 5, who, 1);
      await look(kv);
      // Clocks may stand still: an entry of our own is known by more than its time, once the store is longer.
      await extend(plain, 3, size, "somebody else", isOwn && size > 5 ? 1 : 2);
      await look(kv).catch(() => undefined);
      await expect(look(kv), `${who}, ${size}`).rejects.toMatchObject(TOLD);
      await expect(extend(kv, size, size + 1, "us", 3)).rejects.toMatchObject(TOLD);
    }
  }
});

test("a commit waits until it is known what it builds on", async () => {
  const store = new MemoryStore();
  const plain = openMemoryKv(store);
  const kv = guardPosition(plain);
  await extend(kv, 0, 5, "us", 1);
  await extend(plain, 3, 9, "others", 2);
  await expect(extend(kv, 9, 10, "us", 3)).rejects.toMatchObject(TOLD);
});

test("a store that was there and is not begun is a set-back as well", async () => {
  const store = new MemoryStore();
  const kv = guardPosition(openMemoryKv(store));
  await look(kv);
  await extend(kv, 0, 5, "us", 1);
  store.state = new MemoryStore().state;
  const told = { code: "ERR_ROLLED_BACK", message: expect.stringContaining("not begun") };
  await expect(look(kv)).rejects.toMatchObject(told);
  await expect(extend(kv, 0, 1, "us", 1)).rejects.toMatchObject(told);
});

test("an entry that was verified is not hashed again because others were read, wherever they lie", async () => {
  const part = new Uint8Array(20).fill(7);
  const hash = partHash(sha256Node, part);
  // Far apart, by powers of two and not: none takes the place of another.
  const seqs = [0, 1, 7, 8, 65_535, 65_536, 131_072, 65_537, 1 << 20, 2 ** 32, 2 ** 32 + 8];
  const puts = seqs.map((seq) => {
    const parts = [{ subject: Uint8Array.of(1), hash }];
    const header = { seq, kind: "write" as const, at: 0, by: "", parts };
    const headerBytes = encodeHeader(header, undefined);
    return { key: journalKey(seq), value: encodeEntry({ headerBytes, parts: [part] }) };
  });
  const inner = openMemoryKv(new MemoryStore());
  const head = encodeHeadRow({ ...UNBORN, size: 1 });
  await inner.commit({ expectHead: undefined, head, puts, deletes: [] });
  let hashed = 0;
  const kv = verified(inner, (...pieces) => {
    hashed += 1;
    return sha256Node(...pieces);
  });
  const readAll = async (): Promise<number> => {
    const before = hashed;
    const snapshot = await kv.snapshot();
    await snapshot.getMany(seqs.map(journalKey)).finally(() => snapshot.close());
    return hashed - before;
  };
  const each = await readAll();
  expect(each).toBeGreaterThanOrEqual(seqs.length);
  const later = (await readAll()) + (await readAll()) + (await readAll());
  // Of 33 reads two are the sixteenth.
  expect(later).toBe((2 * each) / seqs.length);
});
