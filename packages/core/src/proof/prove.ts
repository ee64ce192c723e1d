/**
 * `prove` and `share`. A proof is a document that convinces whoever trusts a checkpoint that memories, edges and
 * entries are as they are at the current position, or are not there at all. Everything in it is read from
 * one snapshot of the store, in a handful of batches however much is asked.
 *
 * A forgotten memory is proved as forgotten, an unknown id as absent. Proofs of the past are the
 * ones that were made then; they stay valid. What may be asked, and by whom, is decided in
 * `prove-question.ts`; checking a proof is `verify.ts`.
 *
 * `share` gives a slice of the graph that a delegate can check offline: the memories that match a selector, the
 * newest ids first, the proof of every one of them, and the checkpoint that the proof is for. It shows that each
 * memory is as given, to the last member: the entries that left it so are shown as well, for times, names and
 * positions stand in their headers. That no other memory matches, the proof does not show.
 */
import { equalBytes } from "../codec/keys.js";
import { normaliseSlot } from "../codec/text.js";
import { parseUlid } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import { SHARE_MAX, type SharedSlice } from "../contract/proof.js";
import type { Memory } from "../contract/shapes.js";
import { type Engine, findIds, parseRef } from "../engine/engine.js";
import { shapeMemory } from "../engine/shapes.js";
import { CortexError } from "../errors.js";
import type { MemoryRow, PartPointer } from "../history/pointers.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { type Checkpoint, formatCheckpoint, originOf } from "../journal/checkpoint.js";
import { splitEntry } from "../journal/entry.js";
import {
  type Proof,
  type ProofEdge,
  type ProofEntry,
  type ProofMemory,
  type ProofSince,
  sealProof,
} from "../journal/proof.js";
import { journalKey, keyString, tileKey } from "../kv/keyspace.js";
import { type Bytes, compareBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { list } from "../memory/list.js";
import {
  consistencyProof,
  inclusionProofs,
  logRoot,
  type TileReader,
  tilesForConsistency,
  tilesForInclusions,
  tilesForRoot,
} from "../merkle/log-tree.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import type { Head } from "../records/memory-record.js";
import type { MemoryType } from "../records/types.js";
import { OWNER } from "../scope/access.js";
import {
  checkRequest,
  type FoundSubjects,
  findSubjects,
  type ProofQuestion,
} from "./prove-question.js";
import { stateAt } from "./snapshot.js";
import {
  type LoadedRows,
  loadedRows,
  pagesFor,
  partAt,
  proveTree,
  type TreeQuestion,
} from "./state-proofs.js";

/** Proves memories, edges and entries at the current position. */
export async function prove(engine: Engine, asked: Asked<"prove">): Promise<Proof> {
  const question = checkRequest(engine, asked);
  return Reader.with(engine.kv, undefined, async (reader) => {
    const { proof } = await proveAt(engine, reader, question);
    return proof;
  });
}

/** A proof at a reader's position, which is the end of the journal, and the checkpoint it is for. */
async function proveAt(
  engine: Engine,
  reader: Reader,
  question: ProofQuestion,
): Promise<{ readonly proof: Proof; readonly checkpoint: string }> {
  const { sha256 } = engine;
  const { size } = reader.head;
  const { seqs, since } = question;
  checkPositions(engine, question, size);
  const rows = loadedRows(reader.snapshot);
  const found = await findSubjects(engine, reader, rows, question);
  const trees = treeQuestions(engine, found);
  const [{ statement }] = await Promise.all([
    stateAt(engine, reader),
    rows.load([
      ...Object.values(trees).flatMap((tree) => (tree === undefined ? [] : pagesFor(rows, tree))),
      ...found.memories.flatMap(({ row }) => pointersOf(row)).map(({ seq }) => journalKey(seq)),
      ...found.edges.flatMap(({ pointer }) => (pointer ? [journalKey(pointer.seq)] : [])),
      ...seqs.map(journalKey),
      ...tileKeys(question, size),
    ]),
  ]);
  if (since !== undefined) checkSince(engine, rows, since, originOf(statement));
  const { memories, edges } = trees;
  const checkpoint = formatCheckpoint(sha256, statement);
  const proof = sealProof({
    checkpoint,
    ...(memories === undefined
      ? {}
      : {
          memories: {
            state: await proveTree(sha256, rows, memories),
            items: found.memories.map(({ id, row }) => shownMemory(rows, id, row)),
          },
        }),
    ...(edges === undefined
      ? {}
      : {
          edges: {
            state: await proveTree(sha256, rows, edges),
            items: found.edges.map(({ key, pointer }) => shownEdge(rows, key, pointer)),
          },
        }),
    ...(seqs.length === 0 ? {} : { entries: shownEntries(engine, rows, seqs, size) }),
    ...(since === undefined ? {} : { since: shownSince(engine, rows, since, size) }),
  });
  return { proof, checkpoint };
}

/** Refuses entries that are not there, and checkpoints this store can say nothing about. */
function checkPositions(engine: Engine, { seqs, since }: ProofQuestion, size: number): void {
  const outside = seqs.find((seq) => seq >= size);
  if (outside !== undefined) {
    throw new CortexError("ERR_AS_OF", `seqs: expected 0 to ${size - 1}, got ${outside}`, {
      field: "seqs",
      seq: size - 1,
    });
  }
  if (since === undefined) return;
  if (since.actor !== engine.actor) throw otherOrigin(since);
  if (since.size > size) {
    throw new CortexError(
      "ERR_ROLLED_BACK",
      `since: the checkpoint covers ${since.size} entries, the store has ${size}`,
      { field: "since", seq: size - 1 },
    );
  }
}

function treeQuestions(
  engine: Engine,
  found: FoundSubjects,
): { readonly memories: TreeQuestion | undefined; readonly edges: TreeQuestion | undefined } {
  const question = (
    tree: TreeQuestion["tree"],
    subjects: readonly { readonly key: Bytes; readonly pointer: PartPointer | undefined }[],
  ): TreeQuestion | undefined => {
    if (subjects.length === 0) return undefined;
    const known = new Map<string, PartPointer>();
    for (const { key, pointer } of subjects) {
      if (pointer !== undefined) known.set(keyString(key), pointer);
    }
    return { tree, keys: subjects.map(({ key }) => key), known };
  };
  const memories = found.memories.map(({ id, row }) => ({
    key: memoryStateKey(engine.sha256, id),
    pointer: row,
  }));
  return { memories: question("memories", memories), edges: question("edges", found.edges) };
}

/** Where the parts of a memory lie: its state, and its Version when that was written elsewhere. */
function pointersOf(row: MemoryRow | undefined): readonly PartPointer[] {
  if (row === undefined) return [];
  return row.body === undefined ? [row] : [row, row.body];
}

function shownMemory(rows: LoadedRows, id: Bytes, row: MemoryRow | undefined): ProofMemory {
  if (row === undefined) return { id };
  const part = partBytes(rows, row);
  if (row.body === undefined) return { id, part };
  // A part that is carried again is the very part that brought the Version: it is shown once.
  const isSame = equalBytes(partAt(rows, row).hash, partAt(rows, row.body).hash);
  return isSame ? { id, part } : { id, part, versionPart: partBytes(rows, row.body) };
}

function shownEdge(rows: LoadedRows, key: Bytes, pointer: PartPointer | undefined): ProofEdge {
  return pointer === undefined ? { key } : { key, part: partBytes(rows, pointer) };
}

function partBytes(rows: LoadedRows, pointer: PartPointer): Bytes {
  const { bytes } = partAt(rows, pointer);
  if (bytes !== undefined) return bytes;
  throw new CortexError(
    "ERR_CORRUPT",
    `journal entry ${pointer.seq}, part ${pointer.part} was erased, but a row points at it`,
    { seq: pointer.seq },
  );
}

function tileKeys({ seqs, since }: ProofQuestion, size: number): Bytes[] {
  const tiles = seqs.length === 0 ? [] : tilesForInclusions(size, seqs);
  if (since !== undefined) {
    tiles.push(...tilesForRoot(since.size), ...tilesForConsistency(since.size, size));
  }
  return tiles.map(({ level, index }) => tileKey(level, index));
}

function tilesIn(rows: LoadedRows): TileReader {
  return (level, index) => rows.get(tileKey(level, index));
}

function shownEntries(
  engine: Engine,
  rows: LoadedRows,
  seqs: readonly number[],
  size: number,
): readonly ProofEntry[] {
  const paths = inclusionProofs(engine.sha256, size, seqs, tilesIn(rows));
  return seqs.map((seq, at) => {
    const row = rows.get(journalKey(seq));
    if (row === undefined) {
      throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
    }
    return { seq, header: splitEntry(row).headerBytes, path: paths[at] ?? [] };
  });
}

function shownSince(engine: Engine, rows: LoadedRows, since: Checkpoint, size: number): ProofSince {
  const path = consistencyProof(engine.sha256, since.size, size, tilesIn(rows));
  return { size: since.size, root: since.roots.journal, path };
}

/** An honest store proves only what it has: the checkpoint must be of its own history. */
function checkSince(engine: Engine, rows: LoadedRows, since: Checkpoint, origin: string): void {
  if (since.origin !== origin) throw otherOrigin(since);
  const root = logRoot(engine.sha256, since.size, tilesIn(rows));
  if (equalBytes(root, since.roots.journal)) return;
  const seq = since.size - 1;
  throw new CortexError(
    "ERR_FORK",
    `since: the checkpoint has another history than this store, up to seq ${seq} at the latest`,
    { field: "since", seq },
  );
}

function otherOrigin(since: Checkpoint): CortexError {
  return new CortexError(
    "ERR_CHECKPOINT_STALE",
    `since: the checkpoint is of another store, ${since.origin}`,
    { field: "since", got: since.origin },
  );
}

/** Gives out the memories that match, newest first, with a proof of each. */
export async function share(engine: Engine, selector: Asked<"share">): Promise<SharedSlice> {
  const { limit = LIMITS.listLimitDefault } = selector;
  const matches = matcher(selector);
  const refs = selector.ids?.map((ref, at) => parseRef(engine, ref, `ids[${at}]`));
  const candidates = refs === undefined ? await listed(engine, selector, limit, matches) : [];
  return Reader.with(engine.kv, undefined, async (reader) => {
    const ids = refs === undefined ? candidates : await findIds(reader, refs);
    const found = await readAll(reader, ids);
    // Others may have written since the list was read: what is given out matches now.
    const { session } = selector;
    const kept = found.filter(
      ({
        head: {
          record: { head },
        },
      }) => (session === undefined || head.turn?.session === session ? matches(head) : false),
    );
    const given = kept.slice(0, limit).sort((a, b) => compareBytes(b.id, a.id));
    const memories = given.map((memory) => shapeMemory(engine.actor, memory));
    const { proof, checkpoint } = await proveAt(engine, reader, {
      memories: memories.map(({ id }) => parseRef(engine, id, "id")),
      edges: [],
      seqs: entriesOf(memories),
      since: undefined,
      access: OWNER,
    });
    return { memories, proof, checkpoint, seq: reader.seq };
  });
}

/** The entries that say when and by whom memories were left as they are, each once, in their order. */
function entriesOf(memories: readonly Memory[]): readonly number[] {
  const seqs = memories.flatMap(({ seq, versionRecord }) => [seq, versionRecord.seq]);
  return [...new Set(seqs)].sort((a, b) => a - b);
}

/** What of a head a selector looks at; the session, which no caller sees in a head, apart. */
type Matched = Pick<Head, "tags" | "kind" | "slot" | "lifecycle"> & { readonly type: MemoryType };

function matcher(selector: Asked<"share">): (head: Matched) => boolean {
  const { types, tags = [], kind, lifecycles = ["active"] } = selector;
  const slot = selector.slot === undefined ? undefined : normaliseSlot(selector.slot);
  return (head) =>
    (types === undefined || types.includes(head.type)) &&
    tags.every((tag) => head.tags.includes(tag)) &&
    (kind === undefined || head.kind === kind) &&
    (slot === undefined || head.slot === slot) &&
    lifecycles.some((lifecycle) => lifecycle === head.lifecycle);
}

/** The ids that match at some position, by the narrowest index the selector names. */
async function listed(
  engine: Engine,
  selector: Asked<"share">,
  limit: number,
  matches: (head: Matched) => boolean,
): Promise<readonly Bytes[]> {
  const ids: Bytes[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list(engine, {
      ...indexOf(selector),
      ...(selector.lifecycles === undefined ? {} : { lifecycles: selector.lifecycles }),
      ...(cursor === undefined ? {} : { cursor }),
      limit: SHARE_MAX,
      access: OWNER,
    });
    for (const { id, type, head } of page.memories) {
      if (matches({ ...head, type })) ids.push(parseUlid(id) ?? new Uint8Array(0));
    }
    cursor = page.cursor;
    if (cursor === undefined || ids.length >= limit) return ids.slice(0, limit);
  }
}

function indexOf(selector: Asked<"share">): Partial<Asked<"list">> {
  const { types, tags, kind, slot, session } = selector;
  const [tag] = tags ?? [];
  if (session !== undefined) return { session };
  if (slot !== undefined) return { slot };
  if (tag !== undefined) return { tag };
  if (kind !== undefined) return { kind };
  return types === undefined ? {} : { type: types };
}

async function readAll(
  reader: Reader,
  ids: readonly (Bytes | undefined)[],
): Promise<readonly FoundMemory[]> {
  const known = ids.flatMap((id) => id ?? []);
  const unique = [...new Map(known.map((id) => [keyString(id), id])).values()];
  const rows = await reader.memoryRows(unique);
  const found = await reader.memories(unique, rows);
  return found.flatMap((memory) => memory ?? []);
}
