/**
 * Standing: what whoever speaks may do to what others said. Two checks, both below every door and above
 * every verb, so that no verb can forget them and a new one is held to them from its first day.
 *
 * - What a call *claims* (source, status, author) is compared with its speaker before the verb runs.
 * - What an entry *changes* is compared with whose word it is, in the commit it would join: nobody
 *   rewrites, hides, brings back, weakens, moves or shows what a higher standing said, says that
 *   something took its place, raises a status or brings back what somebody else hid; nor removes the
 *   links by which the store keeps such things apart.
 *
 * Whoever speaks as the owner passes both. A change that is refused is kept by `proposals.ts`.
 */
import type { Verb } from "../contract/verb.js";
import { type Engine, spokenBy } from "../engine/engine.js";
import { decodeEdgeRow, decodeMemoryRow } from "../history/pointers.js";
import type { Draft, RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { decodeEdgeRecord, type EdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord, type Head, type MemoryRecord } from "../records/memory-record.js";
import type { Speaker } from "../scope/access.js";
import {
  checkSaid,
  mayChangeWord,
  mayReplace,
  overruled,
  refused,
  SURENESS,
  standingOf,
  wordOf,
} from "../trust/gate.js";

/** Whether somebody speaks as the owner does, or in person. */
export function speaksForOwner(speaker: Speaker | undefined): boolean {
  return speaker === undefined || standingOf(speaker.source) === "owner";
}

/** Refuses a call that its speaker has no standing for, or that claims more than the speaker may. */
export function checkCall(verb: Verb, asked: object, speaker: Speaker | undefined): void {
  if (speaker === undefined || verb.kind !== "write") return;
  if (verb.standing === "owner" && !speaksForOwner(speaker)) {
    const own = `${speaker.door} speaks as ${speaker.source}`;
    throw refused(verb.name, `expected whoever speaks for the owner; ${own}`, {
      expected: "user_input",
      got: speaker.source,
    });
  }
  checkSaid(speaker, asked);
}

/** Engines by whom they were made for: a door speaks in few names, and every call of it comes here. */
const HELD = new WeakMap<Engine, WeakMap<Speaker, Engine>>();

/** The engine of whoever speaks: in their name and, unless they speak as the owner, held to their standing. */
export function heldToStanding(engine: Engine, speaker: Speaker): Engine {
  if (speaksForOwner(speaker) && speaker.principal === undefined) return engine;
  const known = HELD.get(engine) ?? new WeakMap<Speaker, Engine>();
  const held = known.get(speaker) ?? newlyHeld(engine, speaker);
  HELD.set(engine, known.set(speaker, held));
  return held;
}

function newlyHeld(engine: Engine, speaker: Speaker): Engine {
  const spoken = spokenBy(engine, speaker);
  if (speaksForOwner(speaker)) return spoken;
  const { writer } = engine;
  return {
    ...spoken,
    writer: {
      submit: (operation) =>
        writer.submit({ ...operation, run: (tx) => operation.run(heldTx(tx, speaker)) }),
      invalidate: () => writer.invalidate(),
    },
  };
}

function heldTx(tx: WriteTx, speaker: Speaker): WriteTx {
  return {
    ...tx,
    append: (draft) => {
      for (const part of draft.parts) checkPart({ tx, speaker, draft }, part);
      return tx.append(draft);
    },
  };
}

/** An entry that somebody is about to append. */
interface Change {
  readonly tx: WriteTx;
  readonly speaker: Speaker;
  readonly draft: Draft;
}

function checkPart(change: Change, part: RecordDraft): void {
  const { tx, draft } = change;
  const context = part.again?.first ?? { at: tx.at, by: draft.by };
  const { record } = part;
  if (part.subject[0] === SUBJECT.memory) {
    const after =
      record === null
        ? undefined
        : ((part.decoded ?? decodeMemoryRecord(record, context)) as MemoryRecord);
    checkMemory(change, part.subject.subarray(1), after?.head);
  } else if (part.subject[0] === SUBJECT.edge && record !== null) {
    checkEdge(change, (part.decoded ?? decodeEdgeRecord(record, context)) as EdgeRecord);
  }
}

/** The Head of a memory before the entry; absent for a new one, and for one that was forgotten. */
function headBefore(tx: WriteTx, id: Bytes): Head | undefined {
  const row = tx.view.get(idKey("memory", id));
  if (row === undefined) return undefined;
  const decoded = decodeMemoryRow(row);
  return decoded.lifecycle === "erased" ? undefined : tx.fold.records.head(decoded);
}

function checkMemory({ tx, speaker, draft }: Change, id: Bytes, after: Head | undefined): void {
  const before = headBefore(tx, id);
  if (before === undefined) return;
  const { source, door } = speaker;
  const refuse = (what: string): never => {
    const holder = wordOf(before);
    const expected = `the standing of ${holder} ${what}`;
    const got = `${source}, as which ${door} speaks`;
    throw overruled("id", `expected ${expected}, got ${got}`, { expected, got: source, id });
  };
  if (!mayChangeWord(source, before)) refuse("to change this memory");
  if (after === undefined || after.lifecycle === "erased") return;
  const isShown = after.lifecycle === "active" && before.lifecycle !== "active";
  if (isShown && !mayBringBack(before, speaker)) refuse("to bring back what somebody else hid");
  const isLifted = SURENESS[after.status] > SURENESS[before.status];
  // Whoever may decide between two memories, or says on its own what a lower standing said, makes it surer.
  const decides = draft.kind === "settle" || draft.kind === "reinforce";
  if (isLifted && !decides) refuse(`to call this memory ${after.status}`);
}

/** Whether a hidden memory is somebody's to bring back: who hid it may, and nobody what was retracted. */
function mayBringBack({ tombstone, status }: Head, speaker: Speaker): boolean {
  return status !== "retracted" && (tombstone === undefined || isOwn(tombstone.by, speaker));
}

function isOwn(by: string, { principal }: Speaker): boolean {
  return principal !== undefined && (by === principal || by.startsWith(`${principal}/`));
}

function checkEdge(change: Change, after: EdgeRecord): void {
  const { tx, speaker } = change;
  const row = tx.view.get(idKey("edge", after.id));
  checkSuccession(change, after);
  if (row === undefined) return;
  const before = tx.fold.records.edge(decodeEdgeRow(row));
  const refuse = (what: string): never => {
    const got = `${speaker.source}, as which ${speaker.door} speaks`;
    const details = { expected: before.source, got: speaker.source, id: after.from };
    throw overruled("edge", `expected ${what}, got ${got}`, details);
  };
  if (!mayReplace(speaker.source, before.source)) {
    refuse(`the standing of ${before.source} to change what it linked`);
  }
  const isBack = before.tombstone !== undefined && after.tombstone === undefined;
  if (isBack && !isOwn(before.tombstone?.by ?? "", speaker)) {
    refuse("the one who removed this link, or the owner");
  }
  const isEnded = after.tombstone !== undefined || after.validTo !== undefined;
  if (isEnded && keepsApart(before) && !mayEnd(change, after)) {
    refuse("the standing of both ends to end this link");
  }
}

/** What says that one memory took the place of another, so that the other does not come back beside it. */
const SUCCESSION = "supersedes";

/** Refuses to say what takes the place of a memory to whoever could not overwrite that. */
function checkSuccession({ tx, speaker }: Change, { kind, to, tombstone }: EdgeRecord): void {
  if (kind !== SUCCESSION || tombstone !== undefined || !(to instanceof Uint8Array)) return;
  const head = headBefore(tx, to);
  if (head === undefined || mayChangeWord(speaker.source, head)) return;
  const expected = `the standing of ${wordOf(head)} to say what takes the place of this memory`;
  const got = `${speaker.source}, as which ${speaker.door} speaks`;
  const details = { expected, got: speaker.source, id: to };
  throw overruled("to", `expected ${expected}, got ${got}`, details);
}

/** Whether the store itself drew a link, or it says that two memories cannot both hold. */
function keepsApart({ source, kind }: EdgeRecord): boolean {
  return source === "derived" || kind === "contradicts";
}

/** A link is ended by whoever may change both its ends, or takes one of them back in the same entry. */
function mayEnd({ tx, speaker, draft }: Change, { from, to }: EdgeRecord): boolean {
  const ends = [from, ...(to instanceof Uint8Array ? [to] : [])];
  const isTakenBack = ends.some((end) =>
    draft.parts.some(({ subject, decoded }) => {
      const isEnd =
        subject[0] === SUBJECT.memory && keyString(subject.subarray(1)) === keyString(end);
      return (
        isEnd && decoded !== undefined && "head" in decoded && decoded.head.lifecycle === "archived"
      );
    }),
  );
  if (isTakenBack) return true;
  return ends.every((end) => {
    const head = headBefore(tx, end);
    return head === undefined || mayChangeWord(speaker.source, head);
  });
}
