/**
 * What a write meets in the store, and what its source may do about each: who makes the same claim
 * already, who holds its slot, whom it means to replace.
 *
 * Promise: a slot never has two live values. A source takes the place only of what it may replace
 * (`trust/gate.ts`); beside the words of a higher standing its own are kept as a *rival*: active,
 * `provisional`, without the slot, joined to what they dispute by `contradicts`, and listed for review.
 * A claim that another source of no lower standing makes already is independent evidence: it is kept
 * without the slot and `supports` the one that was there.
 *
 * Reads the view and decides; entries are built by `write.ts`.
 */

import { type Located, locateLiving } from "../engine/engine.js";
import { askMoves, askRecords } from "../engine/read-ahead.js";
import { splitIds } from "../history/fold-state.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { WriteTx } from "../history/writer.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { Head } from "../records/memory-record.js";
import { mayReplace, outranks } from "../trust/gate.js";
import type { PreparedWrite } from "./write-input.js";

/** Of those that make one claim, how many a write looks at: one for each source, and some to spare. */
const SAYERS_MAX = 16;

/** A memory found in a write, with its Head. */
export interface Stated extends Located {
  readonly head: Head;
}

/** Why a memory that was to be replaced stays: it is disputed instead, or merely backed. */
export interface Kept extends Stated {
  readonly by: "slot" | "supersedes";
}

/** What a write does. */
export interface Verdict {
  /** The claim was made by this source before: nothing new is stored. */
  readonly repeats?: Stated;
  /** A lower standing made the claim before: that memory becomes this source's. */
  readonly lifts?: Stated;
  /** A memory of another source that this one backs. */
  readonly supports?: Stated;
  /** Former holders of the slot that give way. */
  readonly slot: readonly Stated[];
  /** Memories named in `supersedes` that give way. */
  readonly named: readonly Stated[];
  /** Memories that the source may not replace, and that say something else. */
  readonly rivals: readonly Kept[];
  /** Everything that was to be replaced and stays. */
  readonly stays: readonly Stated[];
  /** False when the slot stays with somebody else. */
  readonly takesSlot: boolean;
}

/** The verdict on a write that meets nothing. */
export const UNOPPOSED: Verdict = {
  slot: [],
  named: [],
  rivals: [],
  stays: [],
  takesSlot: true,
};

/** The ids of live memories that make the claim with this mark. */
export function sayerIds(tx: WriteTx, fingerprint: Uint8Array | undefined): readonly Bytes[] {
  if (fingerprint === undefined) return [];
  return splitIds(tx.view.get(idKey("fingerprint", fingerprint))).slice(0, SAYERS_MAX);
}

/** Decides what a write does with what it meets. `holders` are the ids in its slot. */
export function judge(tx: WriteTx, prepared: PreparedWrite, holders: readonly Bytes[]): Verdict {
  const { supersedes, head } = prepared;
  const said = sayerIds(tx, head.fingerprint);
  if (said.length === 0 && holders.length === 0 && supersedes.length === 0) return UNOPPOSED;
  const named = supersedes.map((ref, at) => locateLiving(tx, ref, `supersedes[${at}]`));
  const [sayers, inSlot] = statedAll(tx, [said, holders]);
  const others = stated(tx, uniqueActive(named, holders));
  // A write that names itself or amends another is more than a restatement.
  const plain =
    head.externalId === undefined && supersedes.length === 0 && prepared.corrects === undefined;
  const same = plain ? sayers.find((one) => one.head.source === head.source) : undefined;
  if (same !== undefined) return { ...UNOPPOSED, repeats: same };
  const lower = plain ? sayers.filter((one) => outranks(head.source, one.head.source)) : [];
  const lifts = lower.find((one) => one.head.slot !== undefined) ?? lower[0];
  const backed = plain && lifts === undefined ? sayers : [];
  const rest = inSlot.filter((one) => !isOneOf(lifts, one));
  const verdict = divide(head, { holders: rest, named: others, sayers, backed });
  return {
    ...verdict,
    // A caller may not see who holds the slot; it is taken all the same.
    takesSlot: verdict.takesSlot && inSlot.length === holders.length,
    ...(lifts === undefined ? {} : { lifts }),
  };
}

interface Meeting {
  readonly holders: readonly Stated[];
  readonly named: readonly Stated[];
  /** Everybody who makes the same claim. */
  readonly sayers: readonly Stated[];
  /** Those of them that a plain restatement backs. */
  readonly backed: readonly Stated[];
}

/** Divides what a write meets into what gives way, what is backed and what is disputed. */
function divide(head: PreparedWrite["head"], meeting: Meeting): Verdict {
  const { holders, named, sayers, backed } = meeting;
  const says = (one: Stated): boolean => sayers.some((sayer) => isOneOf(sayer, one));
  const gives = (one: Stated): boolean => mayReplace(head.source, one.head.source);
  const echoed = holders.filter((one) => backed.some((sayer) => isOneOf(sayer, one)));
  const slot = holders.filter((one) => gives(one) && !echoed.includes(one));
  const stay = [
    ...holders.filter((one) => !gives(one)).map((one) => ({ ...one, by: "slot" as const })),
    ...named.filter((one) => !gives(one)).map((one) => ({ ...one, by: "supersedes" as const })),
  ];
  const supports = echoed[0] ?? backed[0] ?? stay.find(says);
  return {
    slot,
    named: named.filter(gives),
    rivals: stay.filter((one) => !says(one)),
    stays: stay,
    takesSlot: slot.length === holders.length,
    ...(supports === undefined ? {} : { supports }),
  };
}

function isOneOf(one: Stated | undefined, other: Stated): boolean {
  return one !== undefined && keyString(one.id) === keyString(other.id);
}

/** Active memories, each once, that do not hold the slot anyway. */
function uniqueActive(named: readonly Located[], holders: readonly Bytes[]): readonly Located[] {
  const seen = new Set(holders.map(keyString));
  return named.filter(({ id, row }) => {
    const name = keyString(id);
    if (row.lifecycle !== "active" || seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function statedAll<T extends readonly (readonly Bytes[])[]>(
  tx: WriteTx,
  groups: readonly [...T],
): { [at in keyof T]: readonly Stated[] } {
  const located = groups.map((ids) =>
    ids.flatMap((id): Located[] => {
      const row = tx.view.get(idKey("memory", id));
      return row === undefined ? [] : [{ id, row: decodeMemoryRow(row) }];
    }),
  );
  // Everybody's records in one read.
  askRecords(tx, located.flat());
  return located.map((group) => stated(tx, group)) as { [at in keyof T]: readonly Stated[] };
}

function stated(tx: WriteTx, found: readonly Located[]): readonly Stated[] {
  if (found.length === 0) return [];
  askRecords(tx, found);
  return found.map((one) => ({ ...one, head: tx.fold.records.head(one.row) }));
}

/** Asks for the rows that memories leave when they give way. */
export function askGivingWay(tx: WriteTx, verdict: Verdict): void {
  const moving = [...verdict.slot, ...verdict.named];
  if (verdict.lifts !== undefined) moving.push(verdict.lifts);
  if (moving.length > 0) askMoves(tx, moving);
}
