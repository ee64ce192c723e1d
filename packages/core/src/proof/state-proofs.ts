/**
 * Proofs out of stored rows: which rows a proof of the state trees needs, and the proof itself. The
 * algorithms are pure and live in `merkle/`; this file finds their pages and leaves in the store.
 *
 * Reading goes in rounds, each one batch: `pagesFor` names what is still missing, so that a caller
 * can put the rows of several trees, and its own, into one read. Present keys need one round; a key
 * that is absent may lead off its own path, and the leaf its search ends at has to be looked up.
 */
import type { Sha256 } from "../codec/hash.js";
import { compareBytes } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import type { TreeName } from "../history/fold-state.js";
import { decodeAdjacency, decodeMemoryRow, type PartPointer } from "../history/pointers.js";
import { SIGNIFICANT_BYTES } from "../history/trees.js";
import { decodeHeader, SUBJECT, splitEntry } from "../journal/entry.js";
import { afterPrefix, edgePrefix, idKey, journalKey, keyString, pageKey } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import { encodeStateProof, type StateLeaf } from "../merkle/state-proof.js";
import { leavesToOpen, pagesToProve, proveState } from "../merkle/state-prove.js";

/** Rows of one snapshot, each read once. */
export interface LoadedRows {
  /** Reads the rows that are not here yet, in one batch. */
  load(keys: readonly Bytes[]): Promise<void>;
  /** A row that was loaded, `undefined` when there is none; one that was not loaded is a mistake. */
  get(key: Bytes): Bytes | undefined;
  has(key: Bytes): boolean;
  readonly snapshot: KvSnapshot;
}

/** Starts with no row loaded. */
export function loadedRows(snapshot: KvSnapshot): LoadedRows {
  const rows = new Map<string, Bytes | undefined>();
  return {
    snapshot,
    has: (key) => rows.has(keyString(key)),
    get: (key) => {
      const name = keyString(key);
      if (!rows.has(name)) throw new Error("a row is used before it was loaded");
      return rows.get(name);
    },
    load: async (keys) => {
      const missing = new Map<string, Bytes>();
      for (const key of keys) {
        const name = keyString(key);
        if (!rows.has(name)) missing.set(name, key);
      }
      if (missing.size === 0) return;
      const values = await snapshot.getMany([...missing.values()]);
      for (const [at, name] of [...missing.keys()].entries()) rows.set(name, values[at]);
    },
  };
}

/** Keys to be proved against one tree. */
export interface TreeQuestion {
  readonly tree: TreeName;
  /** At least one, ascending and without repeats. */
  readonly keys: readonly Bytes[];
  /** Where the records of present keys lie, by `keyString` of the key. */
  readonly known: ReadonlyMap<string, PartPointer>;
}

/** The rows of tree pages that have to be loaded next; none when all are there. */
export function pagesFor(rows: LoadedRows, question: TreeQuestion): Bytes[] {
  const { tree, keys } = question;
  const names = pagesToProve({
    significantBytes: SIGNIFICANT_BYTES[tree],
    keys,
    known: (name) => {
      const key = pageKey(tree, name);
      if (!rows.has(key)) return "unknown";
      return rows.get(key) ?? "absent";
    },
  });
  return names.map((name) => pageKey(tree, name));
}

/**
 * The bytes of the proof of all keys of a question, for a reader who is shown the records of those
 * that are present, and so knows their leaves.
 */
export async function proveTree(
  sha256: Sha256,
  rows: LoadedRows,
  question: TreeQuestion,
): Promise<Uint8Array> {
  for (;;) {
    const missing = pagesFor(rows, question);
    if (missing.length === 0) break;
    await rows.load(missing);
  }
  const { tree, keys } = question;
  const readPage = (name: Bytes) => rows.get(pageKey(tree, name));
  const input = { significantBytes: SIGNIFICANT_BYTES[tree], keys, readPage };
  const leaves = await openLeaves(sha256, rows, question, leavesToOpen(input));
  const proof = proveState({
    ...input,
    sha256,
    openLeaf: (significant) => {
      const leaf = leaves.get(keyString(significant));
      if (leaf === undefined) throw new Error("a leaf was not opened");
      return leaf;
    },
  });
  return encodeStateProof(proof, shownLeaves(question, leaves));
}

/** The leaves of the keys that have a record, ascending. */
function shownLeaves(
  { tree, keys, known }: TreeQuestion,
  leaves: ReadonlyMap<string, StateLeaf>,
): readonly StateLeaf[] {
  return keys
    .filter((key) => known.has(keyString(key)))
    .map((key) => {
      const leaf = leaves.get(keyString(key.subarray(0, SIGNIFICANT_BYTES[tree])));
      if (leaf !== undefined) return leaf;
      throw new CortexError("ERR_CORRUPT", `the tree of ${tree} lacks a leaf that a row points at`);
    });
}

/** The part that a pointer leads to, and the hash its header has for it. */
export function partAt(
  rows: LoadedRows,
  pointer: PartPointer,
): { readonly bytes: Bytes | undefined; readonly hash: Bytes; readonly subject: Bytes } {
  const { seq, part } = pointer;
  const row = rows.get(journalKey(seq));
  if (row === undefined) {
    throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
  }
  const { headerBytes, parts } = splitEntry(row);
  const ref = decodeHeader(headerBytes).parts[part];
  if (ref === undefined || ref.hash === null) {
    throw new CortexError(
      "ERR_CORRUPT",
      `journal entry ${seq} has no part ${part}, but a row points at it`,
      { seq },
    );
  }
  return { bytes: parts[part], hash: ref.hash, subject: ref.subject };
}

/** The whole leaves behind the significant bytes of their keys, by `keyString` of those. */
async function openLeaves(
  sha256: Sha256,
  rows: LoadedRows,
  question: TreeQuestion,
  significant: readonly Bytes[],
): Promise<ReadonlyMap<string, StateLeaf>> {
  const pointers = new Map<string, PartPointer>();
  const strangers: Bytes[] = [];
  for (const start of significant) {
    const key = question.tree === "memories" ? memoryStateKey(sha256, start) : start;
    const pointer = question.known.get(keyString(key));
    if (pointer === undefined) strangers.push(start);
    else pointers.set(keyString(start), pointer);
  }
  const find = question.tree === "memories" ? findMemories : findEdges;
  for (const [name, pointer] of await find(rows, strangers)) pointers.set(name, pointer);
  await rows.load([...pointers.values()].map(({ seq }) => journalKey(seq)));
  const leaves = new Map<string, StateLeaf>();
  for (const start of significant) {
    const pointer = pointers.get(keyString(start));
    if (pointer === undefined) throw lostLeaf(question.tree);
    const key = question.tree === "memories" ? memoryStateKey(sha256, start) : start;
    leaves.set(keyString(start), { key, value: partAt(rows, pointer).hash });
  }
  return leaves;
}

async function findMemories(
  rows: LoadedRows,
  ids: readonly Bytes[],
): Promise<ReadonlyMap<string, PartPointer>> {
  await rows.load(ids.map((id) => idKey("memory", id)));
  const found = new Map<string, PartPointer>();
  for (const id of ids) {
    const row = rows.get(idKey("memory", id));
    if (row !== undefined) found.set(keyString(id), decodeMemoryRow(row));
  }
  return found;
}

/** Edges of one source that are looked at in one read, when a key has to be found among them. */
const EDGES_PER_READ = 1000;

/**
 * Edges by their tree keys. A key holds the source and a hash, so the edges of that source are
 * walked until a header names the key; only a proof of absence ever asks.
 */
async function findEdges(
  rows: LoadedRows,
  keys: readonly Bytes[],
): Promise<ReadonlyMap<string, PartPointer>> {
  const found = new Map<string, PartPointer>();
  for (const key of keys) {
    const pointer = await findEdge(rows, key);
    if (pointer !== undefined) found.set(keyString(key), pointer);
  }
  return found;
}

async function findEdge(rows: LoadedRows, key: Bytes): Promise<PartPointer | undefined> {
  const prefix = edgePrefix("edgeOut", key.subarray(0, 16));
  const lt = afterPrefix(prefix);
  for (let gte: Bytes = prefix; ; ) {
    const [page = []] = await rows.snapshot.ranges([{ gte, lt, limit: EDGES_PER_READ }]);
    const pointers = page.map(({ value }) => decodeAdjacency(value));
    await rows.load(pointers.map(({ seq }) => journalKey(seq)));
    const match = pointers.find((pointer) => {
      const { subject } = partAt(rows, pointer);
      return subject[0] === SUBJECT.edge && compareBytes(subject.subarray(1), key) === 0;
    });
    const last = page.at(-1);
    if (match !== undefined || last === undefined || page.length < EDGES_PER_READ) return match;
    gte = afterKey(last.key);
  }
}

function afterKey(key: Bytes): Bytes {
  const next = new Uint8Array(key.length + 1);
  next.set(key, 0);
  return next;
}

function lostLeaf(tree: TreeName): CortexError {
  return new CortexError("ERR_CORRUPT", `the tree of ${tree} has a leaf that no row accounts for`);
}
