/**
 * A store as small as the format allows: entries, one log tree, two state trees, all in memory. The
 * vectors are made with it rather than with the engine, so that they change with the format and with
 * nothing else. It shares the record codecs and the trees with the engine, not a line of its verbs.
 */
import { encode, fields } from "../../packages/core/src/codec/cbor.js";
import { logLeafHash } from "../../packages/core/src/codec/hash.js";
import { concatBytes, toHex } from "../../packages/core/src/codec/keys.js";
import { sha256Pure as sha256 } from "../../packages/core/src/codec/sha256-pure.js";
import { formatCheckpoint, type Statement } from "../../packages/core/src/journal/checkpoint.js";
import { partHash, SUBJECT } from "../../packages/core/src/journal/entry.js";
import type {
  ProofEdge,
  ProofEntry,
  ProofMemory,
  ProofSince,
  ProofTree,
} from "../../packages/core/src/journal/proof.js";
import {
  appendLeaves,
  consistencyProof,
  inclusionProof,
  logRoot,
} from "../../packages/core/src/merkle/log-tree.js";
import { edgeStateKey, memoryStateKey } from "../../packages/core/src/merkle/state-keys.js";
import { encodeStateProof } from "../../packages/core/src/merkle/state-proof.js";
import { proveState } from "../../packages/core/src/merkle/state-prove.js";
import {
  encodeErasedRecord,
  encodeMemoryRecord,
  type Head,
  type MemoryRecord,
} from "../../packages/core/src/records/memory-record.js";
import { type SeededRandom, seededRandom } from "../../packages/core/src/testing/seeded-random.js";
import { stateStore } from "../../packages/core/test/state-reference.js";

/** When the first entry was written. */
export const FIRST_AT = 1_767_225_600_000;

/** How long after one entry the next one comes. */
const STEP_MS = 60_000;

/** The types of memory that the vectors use. */
type SentenceType = "fact" | "constraint";

/** The id number `n` of the vectors: made in the first second of the store, told apart at the end. */
export function idOf(n: number): Uint8Array {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setBigUint64(0, BigInt(FIRST_AT + n) << 16n);
  id[15] = n;
  return id;
}

/** The entries of a store and their tree. */
function journalOf(actor: string, random: SeededRandom) {
  const tiles = new Map<string, Uint8Array>();
  const readTile = (level: number, index: number) => tiles.get(`${level}/${index}`);
  const headers: Uint8Array[] = [];
  const leaf = (seq: number): Uint8Array => logLeafHash(sha256, headers[seq] ?? new Uint8Array(0));
  return {
    size: (): number => headers.length,
    /** The time of the next entry. */
    at: (): number => FIRST_AT + STEP_MS * headers.length,
    root: (): Uint8Array => logRoot(sha256, headers.length, readTile),
    genesis: (): Uint8Array => leaf(0),

    /** Appends an entry of one part; gives the part, salted. */
    append(kind: string, subject: Uint8Array, record: Uint8Array): Uint8Array {
      const part = concatBytes(random.bytes(16), record);
      const seq = headers.length;
      const at = FIRST_AT + STEP_MS * seq;
      headers.push(encode(fields([seq, kind, at, actor, [[subject, partHash(sha256, part)]]])));
      const { tiles: changed } = appendLeaves(sha256, seq, readTile, [leaf(seq)]);
      for (const { level, index, bytes } of changed) tiles.set(`${level}/${index}`, bytes);
      return part;
    },

    /** What a proof shows of an entry. */
    entry: (seq: number): ProofEntry => ({
      seq,
      header: headers[seq] ?? new Uint8Array(0),
      path: inclusionProof(sha256, headers.length, seq, readTile),
    }),

    /** That the first `size` entries were there before. */
    since: (size: number): ProofSince => ({
      size,
      root: logRoot(sha256, size, readTile),
      path: consistencyProof(sha256, size, headers.length, readTile),
    }),
  };
}

/** A state tree, and what a proof shows of its items. */
function treeOf<T extends { readonly part?: Uint8Array }>(significantBytes: 16 | 32) {
  const { update, readPage, entryOf } = stateStore({ significantBytes, pageBits: 4 });
  const items = new Map<string, T>();
  const openLeaf = (start: Uint8Array) => {
    const leaf = entryOf(start);
    if (leaf === undefined) throw new Error("the tree has a leaf that was never put there");
    return leaf;
  };
  return {
    root: (): Uint8Array => update([]).root,
    get: (key: Uint8Array): T | undefined => items.get(toHex(key)),
    put(key: Uint8Array, item: T & { readonly part: Uint8Array }): void {
      update([{ key, value: partHash(sha256, item.part) }]);
      items.set(toHex(key), item);
    },
    prove(keys: readonly Uint8Array[], absent: (at: number) => T): ProofTree<T> {
      const proof = proveState({ sha256, significantBytes, keys, readPage, openLeaf });
      const known = keys
        .filter((key) => items.has(toHex(key)))
        .map((key) => openLeaf(key.subarray(0, significantBytes)));
      return {
        state: encodeStateProof(proof, known),
        items: keys.map((key, at) => items.get(toHex(key)) ?? absent(at)),
      };
    },
  };
}

/** A store of one actor; the seed fixes its id and every salt. */
export function vectorStore(actor: string, seed: number) {
  const random = seededRandom(seed);
  const storeId = random.bytes(16);
  const { append, at, entry, since, ...journal } = journalOf(actor, random);
  const memories = treeOf<ProofMemory>(16);
  const edges = treeOf<ProofEdge>(32);
  const memoryKey = (id: Uint8Array): Uint8Array => memoryStateKey(sha256, id);
  const edgeKey = (from: Uint8Array, to: Uint8Array): Uint8Array =>
    edgeStateKey(sha256, { from, kind: "supports", to, n: 0 });
  const putMemory = (kind: string, id: Uint8Array, record: MemoryRecord | Uint8Array): void => {
    const bytes =
      record instanceof Uint8Array ? record : encodeMemoryRecord(record, { at: at(), by: actor });
    const part = append(kind, concatBytes(Uint8Array.of(SUBJECT.memory), id), bytes);
    const before = memories.get(memoryKey(id));
    const version = "versionPart" in record ? { versionPart: versionPartOf(before) } : {};
    memories.put(memoryKey(id), { id, part, ...version });
  };
  const statement = (): Statement => ({
    actor,
    storeId: toHex(storeId),
    size: journal.size(),
    at: at() - STEP_MS,
    roots: {
      genesis: journal.genesis(),
      journal: journal.root(),
      trees: { edges: edges.root(), memories: memories.root() },
    },
  });
  const genesis = encode({ format: 1, actor, storeId, suite: "sha256" });
  append("genesis", Uint8Array.of(SUBJECT.store), genesis);
  return {
    append,
    entry,
    since,
    edgeKey,
    statement,
    checkpoint: (): string => formatCheckpoint(sha256, statement()),
    /** Writes a memory of one sentence. */
    write: (id: Uint8Array, type: SentenceType, sentence: string): void =>
      putMemory("write", id, sentenceRecord(type, sentence, { at: at(), by: actor })),
    /** Changes the importance of a fact: a part that holds the Head alone. */
    changeHead: (id: Uint8Array, importance: number): void =>
      putMemory("update_head", id, {
        head: { ...plainHead("fact", FIRST_AT), importance },
        versionPart: partHash(sha256, versionPartOf(memories.get(memoryKey(id)))),
      }),
    /** Leaves of a memory what a forget leaves. */
    forget: (id: Uint8Array): void => putMemory("forget", id, encodeErasedRecord("fact")),
    /** Joins two memories; gives the edge's place in the tree. */
    link(n: number, from: Uint8Array, to: Uint8Array, removed?: string): Uint8Array {
      const key = edgeKey(from, to);
      const tombstone = removed === undefined ? undefined : [removed, at(), actor];
      const rest = [...new Array<undefined>(11).fill(undefined), tombstone];
      const record = encode(fields([idOf(n), from, "supports", to, ...rest]));
      const part = append("add_edge", concatBytes(Uint8Array.of(SUBJECT.edge), key), record);
      edges.put(key, { key, part });
      return key;
    },
    /** What a proof shows of memories; the ids ascend. */
    memories: (...ids: readonly Uint8Array[]): ProofTree<ProofMemory> =>
      memories.prove(ids.map(memoryKey), (n) => ({ id: ids[n] ?? new Uint8Array(16) })),
    /** What a proof shows of edges; the keys ascend. */
    edges: (...keys: readonly Uint8Array[]): ProofTree<ProofEdge> =>
      edges.prove(keys, (n) => ({ key: keys[n] ?? new Uint8Array(32) })),
  };
}

/** A store of the vectors. */
export type VectorStore = ReturnType<typeof vectorStore>;

/** The part that holds a memory's Version. */
function versionPartOf(memory: ProofMemory | undefined): Uint8Array {
  const part = memory?.versionPart ?? memory?.part;
  if (part === undefined) throw new Error("there is no such memory");
  return part;
}

function plainHead(type: SentenceType, createdAt: number): Head {
  return {
    type,
    version: 1,
    lifecycle: "active",
    visibility: "private",
    importance: 5,
    tags: [],
    frames: [],
    status: "asserted",
    source: "user_input",
    createdAt,
    siblings: [],
  };
}

function sentenceRecord(
  type: SentenceType,
  statement: string,
  entry: { readonly at: number; readonly by: string },
): MemoryRecord {
  return {
    head: plainHead(type, entry.at),
    version: {
      number: 1,
      data:
        type === "fact"
          ? { statement, subject: entry.by }
          : { statement, strength: "firm", source: "user_declared" },
      forms: { short: statement, medium: statement },
      formsOverride: false,
      confidence: 1,
      provenance: { source: "user_input", derivedFrom: [], attestations: [] },
      createdAt: entry.at,
      createdBy: entry.by,
      supersedes: [],
    },
  };
}
