/** Which old states are a store that was set back, and which are only older than what was seen since. */
import { expect, test } from "vitest";
import { HEAD_KEY, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { guardPosition } from "./guarded-reads.js";
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
