/**
 * What a write meets in the store, and what its source may do about each: who makes the same claim
 * already, who holds its slot, whom it means to replace; and, once it is written, who says nearly the
 * same.
 *
 * Promise: a slot never has two live values. A source takes the place only of what it may replace
 * (`trust/gate.ts`); beside the words of a higher standing its own are kept as a *rival*: active,
 * `provisional`, without the slot, joined to what they dispute by `contradicts`, and listed for review.
 * A claim that another source of no lower standing makes already is independent evidence: it is kept
 * without the slot and `supports` the one that was there.
 *
 * Reads and decides; entries are built by `write.ts`.
 */

import type { MemoryRef } from "../contract/shapes.js";
import { type Engine, type Located, type LocatedWithHead, locateLiving } from "../engine/engine.js";
import { askMoves, askRecords } from "../engine/read-ahead.js";
import { shapeRef } from "../engine/shapes.js";
import { splitIds } from "../history/fold-state.js";
import { decodeMemoryRow } from "../history/pointers.js";
import { bodyOf } from "../history/reader.js";
import type { WriteTx } from "../history/writer.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { primaryText } from "../records/memory-record.js";
import { type Access, OWNER } from "../scope/access.js";
import { OVERLAP_MIN, overlap, tellingWords, WORDS_MIN } from "../text/alike.js";
import { sharingWords } from "../text/text-evidence.js";
import { mayChangeWord, outranks } from "../trust/gate.js";
import { shownMemories } from "./read.js";
import type { PreparedWrite } from "./write-input.js";

/** Of the memories that make one claim, how many a write looks at: one for each source, and some to spare. */
const CLAIMANTS_MAX = 16;

/** A memory that was to be replaced and stays, and by what it was to be replaced. */
interface NotReplaced extends LocatedWithHead {
  readonly by: "slot" | "supersedes";
}

/** What a write does. */
export interface Verdict {
  /** The claim was made by this source before: nothing new is stored. */
  readonly repeats?: LocatedWithHead;
  /** A source of lower standing made the claim before: that memory becomes the writer's. */
  readonly takesOver?: LocatedWithHead;
  /** A memory of another source that this one backs. */
  readonly supports?: LocatedWithHead;
  /** Former holders of the slot that give way. */
  readonly slot: readonly LocatedWithHead[];
  /** Memories named in `supersedes` that give way. */
  readonly named: readonly LocatedWithHead[];
  /** Memories that the source may not replace, and that say something else. */
  readonly rivals: readonly NotReplaced[];
  /** Everything that was to be replaced and stays. */
  readonly stays: readonly NotReplaced[];
  /** False when the slot stays with another memory. */
  readonly takesSlot: boolean;
  /** The write is for a time to come: it takes the slot then, from whoever has it just before. */
  readonly waits?: { readonly from: number; readonly after?: LocatedWithHead };
}

/** The verdict on a write that meets nothing. */
export const UNOPPOSED: Verdict = {
  slot: [],
  named: [],
  rivals: [],
  stays: [],
  takesSlot: true,
};

const NO_IDS: readonly Bytes[] = [];

/** The ids of live memories that make the claim with this mark. */
export function claimantIds(tx: WriteTx, fingerprint: Uint8Array | undefined): readonly Bytes[] {
  const row = fingerprint && tx.view.get(idKey("fingerprint", fingerprint));
  return row === undefined ? NO_IDS : splitIds(row).slice(0, CLAIMANTS_MAX);
}

/** The memories that a write meets. */
export interface Met {
  /** Those that make its claim. */
  readonly claimants: readonly Bytes[];
  /** Those in its slot. */
  readonly holders: readonly Bytes[];
}

/** Decides what a write does with what it meets. */
export function judge(tx: WriteTx, prepared: PreparedWrite, met: Met): Verdict {
  const { supersedes, head } = prepared;
  const { claimants: sameClaim, holders: holderIds } = met;
  if (sameClaim.length === 0 && holderIds.length === 0 && supersedes.length === 0) return UNOPPOSED;
  const named = supersedes.map((ref, at) => locateLiving(tx, ref, `supersedes[${at}]`));
  const [said, inSlot] = readGroups(tx, [sameClaim, holderIds]);
  const turn = turnOf(tx, prepared, inSlot);
  // The same words about another time are another claim.
  const claimants = byAge(said).filter(
    (one) => isSame(turn.before, one) || !inSlot.some((other) => isSame(other, one)),
  );
  const others = withHeads(tx, uniqueActive(named, holderIds));
  // A write that names itself or amends another is more than a restatement.
  const isPlain =
    head.externalId === undefined && supersedes.length === 0 && prepared.corrects === undefined;
  const same = isPlain ? claimants.find((one) => one.head.source === head.source) : undefined;
  if (same !== undefined) return { ...UNOPPOSED, repeats: same };
  const lower = isPlain ? claimants.filter((one) => outranks(head.source, one.head.source)) : [];
  const takesOver = lower.find((one) => one.head.slot !== undefined) ?? lower[0];
  const backed = isPlain && takesOver === undefined ? claimants : [];
  const holders = turn.met(said).filter((one) => !isSame(takesOver, one));
  const verdict = divide(head, { holders, named: others, claimants, backed });
  const { from, before: after } = turn;
  return {
    ...verdict,
    ...(from <= tx.at
      ? {}
      : {
          slot: verdict.slot.filter((one) => turn.startOf(one) === from),
          waits: { from, ...(after === undefined || !verdict.takesSlot ? {} : { after }) },
        }),
    // A caller may not see who holds the slot; it is taken all the same.
    takesSlot: verdict.takesSlot && inSlot.length === holderIds.length,
    ...(takesOver === undefined ? {} : { takesOver }),
  };
}

/** Where a write stands among the values of its slot. */
interface Turn {
  /** From when on it is to answer: now, or a time to come. */
  readonly from: number;
  /** Who answers just before. */
  readonly before: LocatedWithHead | undefined;
  readonly startOf: (one: LocatedWithHead) => number;
  /** The holders that it takes the slot from; `said` are those that make its claim, at whatever time. */
  readonly met: (said: readonly LocatedWithHead[]) => readonly LocatedWithHead[];
}

/** A value of today meets all that have begun, and a plan that says the same; one to come, its own moment. */
function turnOf(tx: WriteTx, { version }: PreparedWrite, inSlot: readonly LocatedWithHead[]): Turn {
  const from = Math.max(tx.at, version.validFrom ?? tx.at);
  const startOf = (one: LocatedWithHead): number => {
    const { validFrom, createdAt } = tx.fold.records.version(one.row);
    return validFrom ?? createdAt;
  };
  // A value of today that says it began later than now, as older stores may hold, has its turn.
  const began = (one: LocatedWithHead) => (one.head.waits === true ? startOf(one) : 0);
  const before = inSlot
    .filter((one) => began(one) <= from)
    .reduce<LocatedWithHead | undefined>(
      (last, one) => (last === undefined || began(one) >= began(last) ? one : last),
      undefined,
    );
  const isMet = (one: LocatedWithHead, said: readonly LocatedWithHead[]): boolean => {
    if (from > tx.at) return isSame(before, one) || began(one) === from;
    return began(one) <= tx.at || said.some((other) => isSame(other, one));
  };
  return { from, before, startOf, met: (said) => inSlot.filter((one) => isMet(one, said)) };
}

/** The memories that a write meets. */
interface MetMemories {
  readonly holders: readonly LocatedWithHead[];
  readonly named: readonly LocatedWithHead[];
  /** All that make the same claim, the oldest first. */
  readonly claimants: readonly LocatedWithHead[];
  /** Those of them that a plain restatement backs. */
  readonly backed: readonly LocatedWithHead[];
}

/** Divides what a write meets into what gives way, what is backed and what is disputed. */
function divide(head: PreparedWrite["head"], met: MetMemories): Verdict {
  const { holders, named, claimants, backed } = met;
  const claimsTheSame = (one: LocatedWithHead) => claimants.some((other) => isSame(other, one));
  const givesWay = (one: LocatedWithHead) => mayChangeWord(head.source, one.head);
  const backedHolders = holders.filter((one) => backed.some((other) => isSame(other, one)));
  const slot = holders.filter((one) => givesWay(one) && !backedHolders.includes(one));
  const stays = [
    ...holders.filter((one) => !givesWay(one)).map((one) => ({ ...one, by: "slot" as const })),
    ...named.filter((one) => !givesWay(one)).map((one) => ({ ...one, by: "supersedes" as const })),
  ];
  const supports = backedHolders[0] ?? backed[0] ?? stays.find(claimsTheSame);
  return {
    slot,
    named: named.filter(givesWay),
    rivals: stays.filter((one) => !claimsTheSame(one)),
    stays,
    takesSlot: slot.length === holders.length,
    ...(supports === undefined ? {} : { supports }),
  };
}

/**
 * Whoever has been active for longest comes first, so that all who repeat, back or lift a claim mean one
 * memory. Ids say less: those of one millisecond are drawn, and another process may have a slow clock.
 */
function byAge(found: readonly LocatedWithHead[]): readonly LocatedWithHead[] {
  if (found.length < 2) return found;
  const since = ({ row }: LocatedWithHead) => Math.min(row.seq, ...row.since);
  return [...found].sort((one, other) => since(one) - since(other));
}

function isSame(one: Located | undefined, other: Located): boolean {
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

/** The memories of several lists of ids; the records of all of them come in one read. */
function readGroups<T extends readonly (readonly Bytes[])[]>(
  tx: WriteTx,
  groups: readonly [...T],
): { [at in keyof T]: readonly LocatedWithHead[] } {
  const located = groups.map((ids) =>
    ids.flatMap((id): Located[] => {
      const row = tx.view.get(idKey("memory", id));
      return row === undefined ? [] : [{ id, row: decodeMemoryRow(row) }];
    }),
  );
  askRecords(tx, located.flat());
  return located.map((group) => withHeads(tx, group)) as {
    [at in keyof T]: readonly LocatedWithHead[];
  };
}

function withHeads(tx: WriteTx, found: readonly Located[]): readonly LocatedWithHead[] {
  if (found.length === 0) return [];
  askRecords(tx, found);
  return found.map((one) => ({ ...one, head: tx.fold.records.head(one.row) }));
}

/** Asks for the rows that memories leave when they give way. */
export function askGivingWay(tx: WriteTx, verdict: Verdict): void {
  const moving = [...verdict.slot, ...verdict.named];
  if (verdict.takesOver !== undefined) moving.push(verdict.takesOver);
  if (moving.length > 0) askMoves(tx, moving);
}

/** How many are named, and how many of the best hits are compared. */
const NAMED_MAX = 3;
const COMPARED_MAX = 12;

/** What to compare with. */
interface SimilarQuery {
  readonly text: string;
  /** The memory that says it. */
  readonly self: Bytes;
  /** Others that are left out. */
  readonly except: readonly Bytes[];
}

/**
 * Live memories that say nearly what a memory says, the nearest first, so that whoever wrote can update
 * one instead of piling up. Exact restatements never come this far.
 *
 * Nearly the same means that at least six words in ten of the two sentences together are common to
 * both (`text/alike.ts`). A change of a value is often that near, which is why `similar` is a hint and
 * never a reason to drop or to merge anything. Only the rarest words are looked for, a dozen of them, so
 * a long text costs no more than a short one.
 */
export async function similarTo(
  engine: Engine,
  { text, self, except }: SimilarQuery,
  access: Access = OWNER,
): Promise<readonly MemoryRef[]> {
  return engine.text.searching(engine.kv, undefined, async (reader) => {
    const analyser = await engine.text.analyserAt(reader);
    const words = tellingWords(analyser, text);
    if (words.size < WORDS_MIN) return [];
    const left = new Set([self, ...except].map(keyString));
    const limit = COMPARED_MAX + left.size;
    const near = await sharingWords(engine.text, reader, { words, limit, own: 1 });
    const ids = near.filter((id) => !left.has(keyString(id))).slice(0, COMPARED_MAX);
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    const shown = await shownMemories(reader, access, found);
    return shown
      .flatMap((memory) => {
        if (memory === undefined || memory.row.lifecycle !== "active") return [];
        const { head } = memory.head.record;
        if (head.turn !== undefined) return [];
        const version = bodyOf(memory.body);
        const said = tellingWords(analyser, primaryText(head.type, version.data));
        const common = overlap(words, said);
        const ref = shapeRef(engine.actor, memory.id, head.type, version);
        return common < OVERLAP_MIN ? [] : [{ common, ref }];
      })
      .sort((a, b) => b.common - a.common)
      .slice(0, NAMED_MAX)
      .map(({ ref }) => ref);
  });
}
