/** Entries that come along with the rows of memories: guessed from a table that stores of one pool share. */
import { expect, test } from "vitest";
import { idKey, journalKey } from "../kv/keyspace.js";
import { around, type Bytes, type Kv } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { NumberTable } from "../kv/postgres-numbers.js";
import { guessEntries } from "./presumption.js";

const MEMORY = idKey("memory", new Uint8Array(16).fill(7));
/** A row whose fourth number, the entry, is 42. */
const ROW = Uint8Array.of(0x84, 1, 1, 1, 0x18, 42);

/** A store that remembers in a table, and what it was told will be read soon. */
async function storeWith(
  shared: NumberTable | undefined,
): Promise<{ readonly kv: Kv; readonly named: Bytes[] }> {
  const named: Bytes[] = [];
  const inner = openMemoryKv();
  const told = around(inner, {
    ...(shared === undefined ? {} : { shared }),
    async snapshot() {
      const snapshot = await inner.snapshot();
      return {
        getMany: (keys) => snapshot.getMany(keys),
        ranges: (ranges) => snapshot.ranges(ranges),
        soon: ({ keys = [] }) => void named.push(...keys),
        close: () => snapshot.close(),
      };
    },
  });
  const kv = guessEntries(told);
  await kv.commit({
    expectHead: undefined,
    head: Uint8Array.of(1),
    puts: [{ key: MEMORY, value: ROW }],
    deletes: [],
  });
  return { kv, named };
}

async function read(kv: Kv): Promise<void> {
  const snapshot = await kv.snapshot();
  await snapshot.getMany([MEMORY]);
  snapshot.close();
}

test("stores that share a table guess from what any of them wrote, and others know nothing of it", async () => {
  const shared = new NumberTable();
  await storeWith(shared);
  const beside = await storeWith(shared);
  await read(beside.kv);
  expect(beside.named).toEqual([journalKey(42)]);
  const apart = await storeWith(undefined);
  await read(apart.kv);
  expect(apart.named).toEqual([]);
});

test("a table forgets a mark for another of the same place, and says nothing of one that it never had", () => {
  const table = new NumberTable();
  expect(table.of(5)).toBeUndefined();
  table.keep(5, 100);
  expect(table.of(5)).toBe(100);
  table.keep(5 + 2 ** 17, 200);
  expect(table.of(5)).toBeUndefined();
  expect(table.of(5 + 2 ** 17)).toBe(200);
  expect(new NumberTable().of(5 + 2 ** 17)).toBeUndefined();
});
