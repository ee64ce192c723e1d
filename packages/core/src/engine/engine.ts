/**
 * What every verb works with, how a caller's reference becomes a memory, and how a store begins.
 *
 * A verb is a plain function of the engine; `cortex.ts` binds them to one object. References are accepted in
 * three forms everywhere: an id, a URI of this actor, an external id. A store begins with the entry that says
 * whose it is; of a store that is there already, that entry is compared with the actor who was asked for.
 */

import { encode } from "../codec/cbor.js";
import type { Hasher, Sha256 } from "../codec/hash.js";
import type { VerifyEd25519 } from "../codec/node-crypto.js";
import { isWellFormed, utf8Length } from "../codec/text.js";
import { isZeroUlid, newUlid, parseUlid, ulidText } from "../codec/ulid.js";
import type { EdgeId, MemoryId } from "../contract/shapes.js";
import { CortexError, describe, invalid, shortName } from "../errors.js";
import type { CommitSignal, Pause } from "../history/growth.js";
import { FORMAT } from "../history/head-row.js";
import { decodeMemoryRow, type MemoryRow } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { LeafRef } from "../history/trees.js";
import type { Writer, WriteTx } from "../history/writer.js";
import { decodeGenesis, type Genesis, HASH_SUITE, SUBJECT } from "../journal/entry.js";
import { idKey, journalKey, textKey } from "../kv/keyspace.js";
import type { Bytes, Kv, KvGeneration, KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Model } from "../model/model.js";
import { checkText } from "../records/fields.js";
import type { Head } from "../records/memory-record.js";
import type { Source, Visibility } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import type { Speaker } from "../scope/access.js";
import type { TextIndex } from "../text/text-index.js";
import type { CheckedEmbedder } from "../vector/embedder.js";
import type { VectorIndex } from "../vector/vector-index.js";
import type { RateLimiter } from "./rate-limits.js";
import { ask, memoryLeaf } from "./read-ahead.js";
import type { Vocabulary } from "./vocabulary.js";

/** An open store with everything injected. */
export interface Engine {
  readonly kv: Kv;
  readonly writer: Pick<Writer, "submit" | "invalidate">;
  readonly sha256: Sha256;
  readonly verifySignature: VerifyEd25519;
  /** The same hash over bytes that come in pieces. */
  readonly hasher: () => Hasher;
  /** Fires after every commit of this process that brought entries. */
  readonly signal: CommitSignal;
  /** Aborted when the store begins to close: whoever waits for something stops waiting. */
  readonly closing: AbortSignal;
  readonly pause: Pause;
  /** What is in use how often, kept from call to call. */
  readonly vocabulary: Vocabulary;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** A store to build in and throw away, fit for so many entries. */
  readonly scratch: (entries: number) => Promise<KvGeneration>;
  readonly limiter: RateLimiter;
  /** What callers do: work in the background gives way to it. */
  readonly activity: Activity;
  /** Memories by their words. */
  readonly text: TextIndex;
  /** Vectors of memories, and questions asked by them. */
  readonly vectors: VectorIndex;
  /** Turns texts into vectors; absent unless the store was opened with one. */
  readonly embedder?: CheckedEmbedder;
  /** Distils turns and finds links; absent unless the store was opened with one. */
  readonly model?: Model;
  readonly actor: string;
  /** The principal that entries name when a call names none. */
  readonly principal: string;
  /** The session of turns that name none: one for as long as the store is open in this process. */
  readonly sessionOfProcess: () => string;
  /** In whose name the caller speaks; absent for the owner in person. */
  readonly speaker?: Speaker;
  /** What a write gets that does not say; absent for the owner's usual ones. */
  readonly defaults?: WriteDefaults;
}

/** What callers of a process do. All its stores share one, because they share its thread. */
export interface Activity {
  /** Calls of verbs so far. */
  calls: number;
}

/** What the writes of a holder of a scope get unless they say otherwise. */
interface WriteDefaults {
  readonly visibility: Visibility;
  /** Keeps the holder's idempotency keys apart from everybody else's. */
  readonly realm: string;
}

/** The engine as somebody gets it who speaks in another name than the owner's. */
export function spokenBy(engine: Engine, speaker: Speaker): Engine {
  return { ...engine, speaker, principal: speaker.principal ?? engine.principal };
}

/** Whose words a call brings that names no source. */
export function ownSource({ speaker }: Pick<Engine, "speaker">): Source {
  return speaker?.source ?? "user_input";
}

/** The text of a memory's id. */
export function memoryId(id: Bytes): MemoryId {
  return ulidText(id) as MemoryId;
}

/** The text of an edge's id. */
export function edgeId(id: Bytes): EdgeId {
  return ulidText(id) as EdgeId;
}

/** A fresh id over the injected clock and randomness. */
export function freshId(engine: Engine, at = engine.clock()): Bytes {
  return newUlid(at, engine.random);
}

/** A reference taken apart: what it may be, before anything is looked up. */
export interface ParsedRef {
  readonly text: string;
  readonly id?: Bytes;
  readonly externalId?: string;
  /** The version a URI pins. */
  readonly version?: number;
}

/** Takes a reference apart; text that cannot be one is refused. */
export function parseRef(engine: Pick<Engine, "actor">, ref: unknown, field: string): ParsedRef {
  if (typeof ref !== "string" || ref === "") {
    throw invalid(field, "an id, a URI or an external id", ref, "ERR_BAD_ID");
  }
  if (!isWellFormed(ref)) {
    throw invalid(field, "well-formed text", "a string with a lone surrogate", "ERR_ILL_FORMED");
  }
  if (ref.startsWith("cortex://")) {
    const uri = parseUri(ref, field);
    if (uri.actor !== engine.actor) {
      throw invalid(field, `a URI of actor ${engine.actor}`, uri.actor, "ERR_ACTOR_MISMATCH");
    }
    return { text: ref, id: uri.id, version: uri.version };
  }
  const id = parseUlid(ref);
  if (id !== undefined && isZeroUlid(id))
    throw invalid(field, "an id other than zero", ref, "ERR_BAD_ID");
  if (id !== undefined) return { text: ref, id, externalId: ref };
  if (utf8Length(ref) > LIMITS.externalIdBytes) {
    throw invalid(field, `at most ${LIMITS.externalIdBytes} bytes`, ref, "ERR_BAD_ID");
  }
  return { text: ref, externalId: ref };
}

/** The rows that looking a reference up may need. */
export function refKeys(ref: ParsedRef): Bytes[] {
  const keys: Bytes[] = [];
  if (ref.id !== undefined) keys.push(idKey("memory", ref.id));
  if (ref.externalId !== undefined) keys.push(textKey("externalId", ref.externalId));
  return keys;
}

/** A memory found by reference inside a write. */
export interface Located {
  readonly id: Bytes;
  readonly row: MemoryRow;
}

/** A memory found inside a write, with its Head. */
export interface LocatedWithHead extends Located {
  readonly head: Head;
}

/** What else to read when references are looked up. */
export interface Also {
  readonly keys: readonly Bytes[];
  readonly leaves: readonly LeafRef[];
  readonly ranges?: readonly KvRange[];
}

/** Looks a reference up in a write; `undefined` when there is no such memory. */
export function locate(tx: WriteTx, ref: ParsedRef): Located | undefined {
  return locateAll(tx, [ref])[0];
}

/**
 * Looks references up in a write, all in the same reads. `also` says what else is wanted once the
 * ids are known; unless it is given, that the memories will change.
 */
export function locateAll(
  tx: WriteTx,
  refs: readonly ParsedRef[],
  also?: (ids: readonly (Bytes | undefined)[]) => Also,
): (Located | undefined)[] {
  ask(
    tx,
    refs.flatMap((ref) => (isLoaded(tx, ref) ? [] : refKeys(ref))),
  );
  const ids = refs.map((ref) => {
    if (ref.id !== undefined && tx.view.get(idKey("memory", ref.id)) !== undefined) return ref.id;
    const { externalId } = ref;
    return externalId === undefined ? undefined : tx.view.get(textKey("externalId", externalId));
  });
  const named = ids.flatMap((id) => id ?? []);
  const rows = named.map((id) => idKey("memory", id));
  if (!rows.every((key) => tx.view.has(key))) {
    const more = also?.(ids) ?? { keys: [], leaves: named.map((id) => memoryLeaf(tx, id)) };
    ask(tx, [...rows, ...more.keys], { leaves: more.leaves, ranges: more.ranges ?? [] });
  }
  return ids.map((id) => {
    const row = id === undefined ? undefined : tx.view.get(idKey("memory", id));
    return id === undefined || row === undefined ? undefined : { id, row: decodeMemoryRow(row) };
  });
}

/** Whether the id in a reference is known to be a memory's: then it is no external id. */
function isLoaded(tx: WriteTx, { id }: ParsedRef): boolean {
  if (id === undefined) return false;
  const key = idKey("memory", id);
  return tx.view.has(key) && tx.view.get(key) !== undefined;
}

/** Looks a reference up in a write that needs it: absent and erased are failures. */
export function locateLiving(tx: WriteTx, ref: ParsedRef, field: string): Located {
  const found = locate(tx, ref);
  if (found === undefined) {
    throw new CortexError(
      "ERR_NOT_FOUND",
      `${field}: expected a memory, got ${describe(ref.text)}, which names none`,
      {
        field,
        subject: ref.text,
      },
    );
  }
  refuseErased(found, ref, field);
  return found;
}

/** Refuses a memory that was forgotten. */
export function refuseErased(found: Located, ref: ParsedRef, field: string): void {
  if (found.row.lifecycle !== "erased") return;
  throw new CortexError(
    "ERR_ERASED",
    `${field}: expected a memory, got ${describe(ref.text)}, which was forgotten`,
    { field, subject: ref.text },
  );
}

/** The row that a reference leads to first: that of the memory, or that of the name where it can be nothing else. */
export function firstRefKey({ id, externalId = "" }: ParsedRef): Bytes {
  return id === undefined ? textKey("externalId", externalId) : idKey("memory", id);
}

/** The ids behind references at a reader's position, in one batched read; in two where an id may be a name. */
export async function findIds(
  reader: Reader,
  refs: readonly ParsedRef[],
): Promise<(Bytes | undefined)[]> {
  const rows = await reader.getMany(refs.map(firstRefKey));
  const ids = refs.map(({ id }, at) =>
    id === undefined || rows[at] === undefined ? rows[at] : id,
  );
  const unsettled = refs.flatMap(({ id, externalId }, at) =>
    id !== undefined && externalId !== undefined && ids[at] === undefined ? [at] : [],
  );
  if (unsettled.length === 0) return ids;
  const byName = await reader.getMany(
    unsettled.map((at) => textKey("externalId", refs[at]?.externalId ?? "")),
  );
  for (const [index, at] of unsettled.entries()) ids[at] = byName[index];
  return ids;
}

/** Checks the opaque principal of an entry. */
export function checkPrincipal(by: unknown, fallback: string): string {
  return by === undefined ? fallback : checkText(by, "by", { maxBytes: LIMITS.principalBytes });
}

/** Checks that a caller gave an object: no list, no number, nothing without members. */
export function checkObject<T>(value: T, field: string): T & object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw invalid(field, "an object", value);
}

/** Checks an object of options: a member nobody reads would be a wish that is not granted. */
export function checkOptions(options: unknown, known: readonly string[], field = "options"): void {
  for (const name of Object.keys(checkObject(options, field) as object)) {
    if (known.includes(name)) continue;
    throw new CortexError(
      "ERR_UNKNOWN_FIELD",
      `${shortName(name)}: expected one of the fields ${known.join(", ")}, got an unknown field`,
      { field: shortName(name), expected: `one of ${known.join(", ")}`, got: "an unknown field" },
    );
  }
}

/**
 * Writes entry 0 if the store is new, unless `create` forbids it, then checks that the store is this
 * actor's.
 */
export async function openGenesis(engine: Engine, create = true): Promise<Genesis> {
  const found = await readGenesis(engine);
  if (found === undefined && !create) {
    throw new CortexError("ERR_FORMAT_UNKNOWN", "the store is empty: nothing was ever written");
  }
  const genesis = found ?? (await writeGenesis(engine));
  if (genesis.actor !== engine.actor) {
    throw new CortexError(
      "ERR_ACTOR_MISMATCH",
      `the store belongs to actor ${genesis.actor}, expected ${engine.actor}`,
      { expected: engine.actor, got: genesis.actor },
    );
  }
  return genesis;
}

async function writeGenesis(engine: Engine): Promise<Genesis> {
  const storeId = engine.random(16);
  await engine.writer.submit({
    hints: [journalKey(0)],
    run: (tx) => {
      // Another process may have been first.
      if (tx.nextSeq() > 0) return;
      const record = encode({ format: FORMAT, actor: engine.actor, storeId, suite: HASH_SUITE });
      tx.append({
        kind: "genesis",
        by: engine.principal,
        parts: [{ subject: Uint8Array.of(SUBJECT.store), record }],
      });
    },
  });
  const genesis = await readGenesis(engine);
  if (genesis === undefined) throw new Error("a new store has no entry 0");
  return genesis;
}

async function readGenesis(engine: Engine): Promise<Genesis | undefined> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    if (reader.head.size === 0) return undefined;
    const [row] = await reader.getMany([journalKey(0)]);
    if (row === undefined) {
      throw new CortexError("ERR_JOURNAL_GAP", "journal entry 0 is missing", { seq: 0 });
    }
    return decodeGenesis(row);
  });
}
