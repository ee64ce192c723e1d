/**
 * A snapshot as a caller other than the owner reads it: rows of memories that it may not see are not
 * there, nor is anything that names one. So a verb that counts, ranks, pages or walks cannot tell what
 * is hidden, and a new verb cannot either.
 *
 * Of a memory that was shared later than it was written, its states and versions before that are not there.
 * Weights that the whole graph has taught are not there: they depend on what was attested of memories that are
 * hidden. The journal is, because records are read from it by pointers, which only rows that are seen give out;
 * the text index and the vectors are, and those who use them ask `seen` about each document.
 */
import { readU32 } from "../codec/keys.js";
import { getU64, idKey, KEYSPACE, keyString } from "../kv/keyspace.js";
import type { Bytes, KvRange, KvRow, KvSnapshot, KvSoon } from "../kv/kv.js";
import { decodeEdgeRow } from "./pointers.js";
import type { Seen, SeenSince } from "./seen-view.js";

/** A snapshot that hides, and what it shows. */
interface SeenSnapshot extends KvSnapshot {
  readonly seen: Seen;
}

/** What a caller sees in a snapshot; `undefined` where it sees everything. */
export function seenIn(snapshot: KvSnapshot): Seen | undefined {
  return (snapshot as Partial<SeenSnapshot>).seen;
}

/** Most rows that one read of a range asks for on its way through hidden ones. */
const PAGE_MOST = 4096;

/** The snapshot without what is hidden. */
export function hiding(seen: Seen): SeenSnapshot {
  const { whole } = seen;
  return {
    seen,
    async getMany(keys) {
      const values = await whole.getMany(keys);
      const rows = keys.map((key, at) => ({ key, value: values[at] ?? NONE }));
      const shown = await shownRows(seen, rows);
      return values.map((value, at) => (shown[at] === true ? value : undefined));
    },
    ranges: (ranges) => Promise.all(ranges.map((range) => shownRange(seen, range))),
    ...(whole.soon === undefined ? {} : { soon: (what: KvSoon) => whole.soon?.(what) }),
    close: () => whole.close(),
  };
}

const NONE: Bytes = new Uint8Array(0);

/** The rows of a range that are shown: as many as were asked for, as long as there are any. */
async function shownRange(seen: Seen, range: KvRange): Promise<KvRow[]> {
  const first = (range.reverse === true ? range.lt : range.gte)[0];
  // A range lies within one prefix; rows of most are shown whatever they say.
  if (first !== undefined && !FILTERED.has(first))
    return (await seen.whole.ranges([range]))[0] ?? [];
  const kept: KvRow[] = [];
  let { gte, lt } = range;
  for (let limit = range.limit; ; limit = Math.min(2 * limit, Math.max(limit, PAGE_MOST))) {
    const [rows = []] = await seen.whole.ranges([{ ...range, gte, lt, limit }]);
    const shown = await shownRows(seen, rows);
    for (const [at, row] of rows.entries()) if (shown[at] === true) kept.push(row);
    if (kept.length >= range.limit) return kept.slice(0, range.limit);
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return kept;
    if (range.reverse === true) lt = last.key;
    else gte = Buffer.concat([last.key, Uint8Array.of(0)]);
  }
}

/** The ranges whose rows are looked at one by one; what `shownRows` says of each. */
const FILTERED: ReadonlySet<number> = new Set(
  (
    [
      "memory",
      "history",
      "version",
      "externalId",
      "fingerprint",
      "counter",
      "goalState",
      "attachment",
      "index",
      "indexClosed",
      "indexBegun",
      "edge",
      "edgeOut",
      "edgeIn",
      "edgeOutClosed",
      "edgeInClosed",
      "contested",
      "weights",
      "weightsFormer",
      "vectorMemory",
      "vectorOwner",
    ] as const
  ).map((name) => KEYSPACE[name].byte),
);

/** Which rows are shown. */
async function shownRows(seen: Seen, rows: readonly KvRow[]): Promise<readonly boolean[]> {
  const isSeen = (id: Bytes): boolean => seen.get(keyString(id)) !== undefined;
  const since = await sinceOf(seen, rows);
  const contestedEnds = await endsOfContested(seen, rows);
  return rows.map(({ key, value }, at) => {
    switch (key[0]) {
      case KEYSPACE.memory.byte:
      case KEYSPACE.counter.byte:
      case KEYSPACE.goalState.byte:
      case KEYSPACE.attachment.byte:
        return isSeen(key.subarray(1, 17));
      case KEYSPACE.history.byte:
        return (since[at]?.seq ?? Number.POSITIVE_INFINITY) <= getU64(key, 17);
      case KEYSPACE.version.byte:
        return (since[at]?.version ?? Number.POSITIVE_INFINITY) < readU32(key, 17);
      case KEYSPACE.externalId.byte:
        return isSeen(value);
      case KEYSPACE.index.byte:
      case KEYSPACE.indexClosed.byte:
        return isSeen(key.subarray(-16));
      case KEYSPACE.indexBegun.byte:
        return isSeen(key.subarray(-24, -8));
      case KEYSPACE.edge.byte:
        return value.length > 0 && endsOf(value).every(isSeen);
      case KEYSPACE.edgeOut.byte:
      case KEYSPACE.edgeIn.byte:
        return isSeen(key.subarray(1, 17)) && isSeen(key.subarray(20, 36));
      case KEYSPACE.edgeOutClosed.byte:
      case KEYSPACE.edgeInClosed.byte:
        return isSeen(key.subarray(1, 17)) && isSeen(key.subarray(28, 44));
      case KEYSPACE.contested.byte:
        return contestedEnds[at]?.every(isSeen) === true;
      case KEYSPACE.vectorMemory.byte:
        return key.length < 25 || isSeen(key.subarray(-16));
      case KEYSPACE.vectorOwner.byte:
        return isSeen(key.subarray(-16));
      case KEYSPACE.fingerprint.byte:
      case KEYSPACE.weights.byte:
      case KEYSPACE.weightsFormer.byte:
        return false;
      default:
        return true;
    }
  });
}

function endsOf(value: Bytes): readonly Bytes[] {
  const { from, far } = decodeEdgeRow(value);
  return [from, far];
}

/** Since when the memories of rows about their past are seen. */
async function sinceOf(
  seen: Seen,
  rows: readonly KvRow[],
): Promise<readonly (SeenSince | undefined)[]> {
  const isPast = ({ key }: KvRow): boolean =>
    key[0] === KEYSPACE.history.byte || key[0] === KEYSPACE.version.byte;
  if (!rows.some(isPast)) return [];
  const ids = new Map(rows.filter(isPast).map(({ key }) => [keyString(key.subarray(1, 17)), key]));
  const found = await seen.since([...ids.values()].map((key) => key.subarray(1, 17)));
  const byName = new Map([...ids.keys()].map((name, at) => [name, found[at]]));
  return rows.map(({ key }) => byName.get(keyString(key.subarray(1, 17))));
}

async function endsOfContested(
  seen: Seen,
  rows: readonly KvRow[],
): Promise<readonly (readonly Bytes[] | undefined)[]> {
  if (!rows.some(({ key }) => key[0] === KEYSPACE.contested.byte)) return [];
  const values = await seen.whole.getMany(
    rows.map(({ key }) => idKey("edge", key.subarray(1, 17))),
  );
  return values.map((value) => (value === undefined ? undefined : endsOf(value)));
}
