/**
 * The slots that a question may name: every stretch of its words that could be the name of one, looked up in the index.
 *
 * Promise: gives the rows of each name, the first few, in the order of the names. Most names are no slots, and a store
 * may have none: where a read waits for nobody the names are gone through in the order of their keys, and those that
 * lie before the next slot there is are passed by.
 */
import type { Reader } from "../history/reader.js";
import { INDEX, indexPrefix, prefixRange } from "../kv/keyspace.js";
import { compareBytes, type KvRange, type KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { LIFECYCLES, type Lifecycle } from "../records/types.js";
import { nameWords, stretches } from "../text/names.js";

/** Memories of one slot that are looked at. */
const EACH = 4;

/** Where the memories stand that hold a slot which a question names. */
export function slotRanges(
  question: string,
  lifecycles: readonly Lifecycle[],
  isCommon: (word: string) => boolean,
): readonly KvRange[] {
  const names = stretches(nameWords(question), isCommon).slice(0, LIMITS.queryWords);
  return names.flatMap((name) =>
    lifecycles.map((lifecycle) => {
      const slot = Buffer.from(name.replaceAll(" ", "_"), "utf8");
      const { code } = LIFECYCLES[lifecycle];
      return prefixRange(indexPrefix("index", INDEX.slot, code, slot), EACH);
    }),
  );
}

/** The rows of ranges that do not overlap, most of them empty; of a range given twice those of one alone. */
export async function fewRows(
  reader: Pick<Reader, "isAtHand" | "ranges">,
  ranges: readonly KvRange[],
): Promise<readonly (readonly KvRow[])[]> {
  // A round trip takes longer than all the looks, and whoever sees a part reads by rules of their own.
  if (!reader.isAtHand || ranges.length < 2) return reader.ranges(ranges);
  const order = ranges.map((_, at) => at);
  order.sort((a, b) => compareBytes(at(ranges, a).gte, at(ranges, b).gte));
  const end = at(ranges, order.at(-1) ?? 0).lt;
  const found: (readonly KvRow[])[] = ranges.map(() => []);
  let next = at(ranges, order[0] ?? 0).gte;
  for (const place of order) {
    const range = at(ranges, place);
    if (compareBytes(range.lt, next) <= 0) continue;
    const [rows = []] = await reader.ranges([{ ...range, lt: end }]);
    const beyond = rows.findIndex(({ key }) => compareBytes(key, range.lt) >= 0);
    found[place] = beyond < 0 ? rows : rows.slice(0, beyond);
    if (beyond >= 0) next = rows[beyond]?.key ?? next;
    else if (rows.length < range.limit) next = end;
  }
  return found;
}

function at(ranges: readonly KvRange[], place: number): KvRange {
  return ranges[place] as KvRange;
}
