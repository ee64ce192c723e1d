/**
 * Two stores side by side: which rows differ, and making ranges of one equal to the other. Rows are
 * walked in key order, page by page, so memory does not grow with the stores.
 */
import { toHex } from "../codec/keys.js";
import { KEYSPACE, type KeyClass, type KeyPrefix } from "../kv/keyspace.js";
import {
  type Bytes,
  compareBytes,
  HEAD_KEY,
  type Kv,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  sameBytes,
} from "../kv/kv.js";
import { decodeAnyHeadRow } from "./head-row.js";
import { scan } from "./reader.js";

/** How many differences are named before the rest is counted. */
const NAMED = 20;

/** Rows that one commit of an alignment changes, at most. */
const ALIGNED_ROWS = 1000;

/**
 * Everything in which a store differs from the one its journal gives: journal, exact rows and
 * snapshots byte for byte, and the head row. Caches are nobody's truth and are left out.
 */
export async function differencesOf(
  store: KvSnapshot,
  rebuilt: KvSnapshot,
): Promise<readonly string[]> {
  const differences: string[] = [];
  let more = 0;
  for (const prefix of prefixesOf(["journal", "exact", "snapshot"])) {
    for await (const { key, left, right } of differing(store, rebuilt, prefix)) {
      if (differences.length >= NAMED) more += 1;
      else differences.push(`${prefix.name} row ${toHex(key)} ${trouble(left, right)}`);
    }
  }
  for (const { key } of (await store.ranges(unknownRanges())).flat()) {
    differences.push(`row ${toHex(key)} stands under a prefix that nothing uses`);
  }
  const [before, after] = await Promise.all([headBytesAt(store), headBytesAt(rebuilt)]);
  if (!sameBytes(before, after)) {
    const [has, says] = [before, after].map((bytes) => JSON.stringify(decodeAnyHeadRow(bytes)));
    differences.push(`head: expected ${says}, the store has ${has}`);
  }
  if (more > 0) differences.push(`and ${more} more`);
  return differences;
}

/** One row at most of every first byte that the keyspace does not know. */
function unknownRanges(): readonly KvRange[] {
  const known = new Set((Object.values(KEYSPACE) as KeyPrefix[]).map(({ byte }) => byte));
  const bytes = Array.from({ length: 255 }, (_, byte) => byte).filter((byte) => !known.has(byte));
  return bytes.map((byte) => ({ gte: Uint8Array.of(byte), lt: Uint8Array.of(byte + 1), limit: 1 }));
}

function trouble(left: Bytes | undefined, right: Bytes | undefined): string {
  if (left === undefined) return "is missing";
  return right === undefined
    ? "is there, but the journal does not say so"
    : "differs from what the journal says";
}

/** Which rows an alignment is about. */
interface Alignment {
  /** First bytes of the prefixes that are left as they are. */
  readonly skip?: readonly number[];
  /** What a row of the source shall be in the target; `undefined` leaves it behind. */
  readonly rowOf?: (row: KvRow) => KvRow | undefined;
}

/** Makes all rows of the given classes in `target` equal to those of `source`. */
export async function alignRows(
  source: KvSnapshot,
  target: Kv,
  classes: readonly KeyClass[],
  { skip = [], rowOf = (row) => row }: Alignment = {},
): Promise<void> {
  const old = await target.snapshot();
  try {
    const head = await headBytesAt(old);
    if (head === undefined) return;
    let puts: KvRow[] = [];
    let deletes: Bytes[] = [];
    const flush = async (): Promise<void> => {
      const result = await target.commit({ expectHead: head, head, puts, deletes });
      if (!result.ok) throw new Error("somebody else writes into the store that is being built");
      puts = [];
      deletes = [];
    };
    for (const prefix of prefixesOf(classes)) {
      if (skip.includes(prefix.byte)) continue;
      for await (const { key, left } of differing(source, old, prefix, rowOf)) {
        if (left === undefined) deletes.push(key);
        else puts.push({ key, value: left });
        if (puts.length + deletes.length >= ALIGNED_ROWS) await flush();
      }
    }
    if (puts.length + deletes.length > 0) await flush();
  } finally {
    old.close();
  }
}

/** The head row of a snapshot. */
export async function headBytesAt(snapshot: KvSnapshot): Promise<Bytes | undefined> {
  return (await snapshot.getMany([HEAD_KEY]))[0];
}

function prefixesOf(classes: readonly KeyClass[]): readonly KeyPrefix[] {
  return (Object.values(KEYSPACE) as KeyPrefix[]).filter((prefix) =>
    classes.includes(prefix.class),
  );
}

interface Difference {
  readonly key: Bytes;
  readonly left: Bytes | undefined;
  readonly right: Bytes | undefined;
}

/** The rows of one prefix that two stores do not have in common, in key order. */
async function* differing(
  left: KvSnapshot,
  right: KvSnapshot,
  prefix: KeyPrefix,
  leftRow: (row: KvRow) => KvRow | undefined = (row) => row,
): AsyncGenerator<Difference> {
  const start = Uint8Array.of(prefix.byte);
  const [lefts, rights] = [rowsAs(scan(left, start), leftRow), scan(right, start)];
  let [a, b] = [await nextRow(lefts), await nextRow(rights)];
  while (a !== undefined || b !== undefined) {
    const order = a === undefined ? 1 : b === undefined ? -1 : compareBytes(a.key, b.key);
    const [l, r] = [order <= 0 ? a : undefined, order >= 0 ? b : undefined];
    const key = (l ?? r)?.key;
    if (key !== undefined && !sameBytes(l?.value, r?.value)) {
      yield { key, left: l?.value, right: r?.value };
    }
    if (order <= 0) a = await nextRow(lefts);
    if (order >= 0) b = await nextRow(rights);
  }
}

async function* rowsAs(
  rows: AsyncGenerator<KvRow>,
  rowOf: (row: KvRow) => KvRow | undefined,
): AsyncGenerator<KvRow> {
  for await (const row of rows) {
    const wanted = rowOf(row);
    if (wanted !== undefined) yield wanted;
  }
}

async function nextRow(rows: AsyncGenerator<KvRow>): Promise<KvRow | undefined> {
  const next = await rows.next();
  return next.done === true ? undefined : next.value;
}
