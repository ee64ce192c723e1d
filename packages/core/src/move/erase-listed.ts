/**
 * Erasing what a list names, on the way of entries into a store that is being built: a listed part is neither
 * folded nor kept.
 *
 * A memory whose every part is gone that way has no rows, exactly as if the journal had reached us after its
 * forget; so a memory that starts with an erased part must not go on with one that is not.
 */
import type { CheckedRow } from "../history/replay.js";
import { encodeEntry, SUBJECT } from "../journal/entry.js";
import type { ErasureList } from "../journal/erasure-list.js";
import { malformed } from "../journal/export-format.js";
import { keyString } from "../kv/keyspace.js";

/** What erasing has to remember from one entry to the next. */
export interface Gate {
  /** Parts that were there and were erased because the list names them. */
  applied: number;
  /** Memories of which a part is erased: all others must be as well. */
  readonly gone: Set<string>;
}

/** Nothing erased yet. */
export function startGate(): Gate {
  return { applied: 0, gone: new Set() };
}

/** An entry without the parts that a list names. */
export function eraseListed(list: ErasureList, gate: Gate, checked: CheckedRow): CheckedRow {
  const { entry } = checked;
  const { seq, parts: refs } = entry.header;
  let dropped = 0;
  const left = entry.parts.map((part, at) => {
    const ref = refs[at];
    if (ref === undefined || ref.hash === null) return part;
    const isGone = part === undefined || list.has(seq, at);
    if (ref.subject[0] === SUBJECT.memory)
      checkWhole(gate, keyString(ref.subject), isGone, checked);
    if (isGone && part !== undefined) dropped += 1;
    return isGone ? undefined : part;
  });
  if (dropped === 0) return checked;
  gate.applied += dropped;
  return { entry: { ...entry, parts: left }, row: encodeEntry({ ...entry, parts: left }) };
}

/** Refuses a list that names some parts of a memory and not the others. */
function checkWhole(gate: Gate, subject: string, isGone: boolean, { entry }: CheckedRow): void {
  if (isGone) gate.gone.add(subject);
  // What stays of a forgotten memory is the record of its forget.
  else if (gate.gone.has(subject) && entry.header.kind !== "forget") {
    const { seq } = entry.header;
    throw malformed(`entry ${seq} goes on with a memory whose earlier parts are erased`, seq);
  }
}
