/**
 * How a graph that is gone leaves the catalogue: with every row about it, and with the bytes that
 * freed pages of the file would keep.
 *
 * Promises: a graph is gone when its number names no graph any more, so nobody has to say which one is
 * meant, and whoever is interrupted can be followed by anybody. First the rows go, in commits of their
 * own; the row of the number goes last. Then the catalogue is written anew beside itself and put in its
 * place, because a page that the engine freed keeps its bytes until it is used again.
 */
import { withSnapshot } from "../history/build-beside.js";
import { scan } from "../history/reader.js";
import {
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvGeneration,
  type KvRow,
  type KvSnapshot,
  MOVED_HEAD_BYTE,
} from "../kv/kv.js";
import {
  allRows,
  CATALOGUE,
  decodeCount,
  decodeGraphRow,
  graphKey,
  numberKey,
  numberOf,
} from "./catalogue-rows.js";

/** What a catalogue asks of its store. */
export type CatalogueKv = Pick<Kv, "snapshot" | "commit" | "commitCaches" | "nextGeneration">;

/** It may take longer than a snapshot lives that nobody reads from. */
const LONG = { untilIdle: true } as const;
/** Rows removed or copied in one commit. */
const ROWS_AT_ONCE = 10_000;
/** How often the rewriting starts over because somebody wrote meanwhile. */
const REWRITES = 5;

/** Erases whatever is known of graphs that are gone; see the file header. */
export async function eraseGone(kv: CatalogueKv): Promise<void> {
  const gone = await withSnapshot(kv, numbersGone);
  if (gone.size > 0) {
    const keys = await withSnapshot(kv, (snapshot) => keysAbout(snapshot, gone), LONG);
    for (let at = 0; at < keys.length; at += ROWS_AT_ONCE) {
      await kv.commitCaches({ expect: [], puts: [], deletes: keys.slice(at, at + ROWS_AT_ONCE) });
    }
    await kv.commitCaches({ expect: [], puts: [], deletes: [...gone].map(numberKey) });
  }
  await rewrite(kv);
}

/** Numbers that name no graph, or one that has another number by now. */
async function numbersGone(snapshot: KvSnapshot): Promise<ReadonlySet<number>> {
  const named: { readonly number: number; readonly name: string }[] = [];
  for await (const { key, value } of scan(snapshot, Uint8Array.of(CATALOGUE.number))) {
    named.push({ number: decodeCount(key.subarray(1)), name: Buffer.from(value).toString("utf8") });
  }
  const rows = await snapshot.getMany(named.map(({ name }) => graphKey(name)));
  return new Set(
    named.flatMap(({ number }, at) => {
      const row = rows[at];
      return row !== undefined && decodeGraphRow(row).number === number ? [] : [number];
    }),
  );
}

async function keysAbout(snapshot: KvSnapshot, gone: ReadonlySet<number>): Promise<Bytes[]> {
  const keys: Bytes[] = [];
  for await (const { key, value } of allRows(snapshot)) {
    const number = numberOf(key, value);
    if (number !== undefined && gone.has(number)) keys.push(key);
  }
  return keys;
}

/** Puts a copy in the place of the catalogue; where writers never rest, its free pages stay as they are. */
async function rewrite(kv: CatalogueKv): Promise<void> {
  for (let attempt = 0; attempt < REWRITES; attempt += 1) {
    const generation = await kv.nextGeneration();
    try {
      await generation.hold?.();
      const head = await withSnapshot(kv, (snapshot) => copyInto(generation, snapshot), LONG);
      if ((await generation.promote(head, Uint8Array.of(MOVED_HEAD_BYTE))).ok) return;
    } finally {
      await generation.abandon();
    }
  }
}

async function copyInto({ kv }: KvGeneration, snapshot: KvSnapshot): Promise<Bytes> {
  const [head] = await snapshot.getMany([HEAD_KEY]);
  if (head === undefined) throw new Error("an open catalogue has no head");
  let rows: KvRow[] = [];
  let expectHead: Bytes | undefined;
  const put = async (): Promise<void> => {
    await kv.commit({ expectHead, head, puts: rows, deletes: [] });
    expectHead = head;
    rows = [];
  };
  for await (const row of allRows(snapshot)) {
    rows.push(row);
    if (rows.length === ROWS_AT_ONCE) await put();
  }
  await put();
  return head;
}
