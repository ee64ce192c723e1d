/**
 * A store as small as the format allows: entries, one log tree, two state trees, all in memory. The
 * vectors are made with it rather than with the engine, so that they change with the format and with
 * nothing else. It shares the record codecs and the trees with the engine, not a line of its verbs.
 */
import { type CborValue, encode, fields } from "../../packages/core/src/codec/cbor.js";
import { logLeafHash } from "../../packages/core/src/codec/hash.js";
import { concatBytes, toHex } from "../../packages/core/src/codec/keys.js";
import { sha256Pure as sha256 } from "../../packages/core/src/codec/sha256-pure.js";
import { formatCheckpoint, type Statement } from "../../packages/core/src/journal/checkpoint.js";
import { partHash, SUBJECT } from "../../packages/core/src/journal/entry.js";
import type {
  ProofDocument,
  ProofEdge,
  ProofEntry,
  ProofMemory,
  ProofSince,
} from "../../packages/core/src/journal/proof.js";
import {
  encodeErasedRecord,
  encodeMemoryRecord,
  type Head,
  type MemoryRecord,
} from "../../packages/core/src/memory/record.js";
import {
  appendLeaves,
  consistencyProof,
  inclusionProof,
  logRoot,
} from "../../packages/core/src/merkle/log-tree.js";
import { edgeStateKey, memoryStateKey } from "../../packages/core/src/merkle/state-keys.js";
import { encodeStateProof } from "../../packages/core/src/merkle/state-proof.js";
import { proveState } from "../../packages/core/src/merkle/state-prove.js";
import { seededRandom } from "../../packages/core/src/testing/seeded-random.js";
import { stateStore } from "../../packages/core/test/state-reference.js";

/** When the first entry was written; each later one comes a minute after. */
export const FIRST_AT = 1_767_225_600_000;

/** A part on its way into an entry. */
interface DraftPart {
  readonly subject: Uint8Array;
  readonly record: Uint8Array;
}

/** The id number `n` of the vectors: made in the first second of the store, told apart at the end. */
export function idOf(n: number): Uint8Array {
  const id = new Uint8Array(16);
  new DataView(id.buffer).setBigUint64(0, BigInt(FIRST_AT + n) << 16n);
  id[15] = n;
  return id;
}

/** A store of one actor; the seed fixes its id and every salt. */
export function vectorStore(actor: string, seed: number) {
  const random = seededRandom(seed);
  const storeId = toHex(random.bytes(16));
  const trees = {
    memories: stateStore({ significantBytes: 16, pageBits: 4 }),
    edges: stateStore({ significantBytes: 32, pageBits: 4 }),
  };
  const tiles = new Map<string, Uint8Array>();
  const readTile = (level: number, index: number) => tiles.get(`${level}/${index}`);
  const headers: Uint8Array[] = [];
  const memories = new Map<string, ProofMemory>();
  const edges = new Map<string, ProofEdge>();
  const at = (): number => FIRST_AT + 60_000 * headers.length;

  const append = (kind: string, drafts: readonly DraftPart[]): readonly Uint8Array[] => {
    const parts = drafts.map(({ record }) => concatBytes(random.bytes(16), record));
    const refs = drafts.map(({ subject }, i) => [subject, partHash(sha256, parts[i] ?? subject)]);
    const seq = headers.length;
    const header = encode(fields([seq, kind, at(), actor, refs as CborValue[]]));
    const { tiles: changed } = appendLeaves(sha256, seq, readTile, [logLeafHash(sha256, header)]);
    for (const tile of changed) tiles.set(`${tile.level}/${tile.index}`, tile.bytes);
    headers.push(header);
    return parts;
  };

  const putMemory = (kind: string, id: Uint8Array, record: Uint8Array): Uint8Array => {
    const subject = concatBytes(Uint8Array.of(SUBJECT.memory), id);
    const [part = record] = append(kind, [{ subject, record }]);
    trees.memories.update([{ key: memoryStateKey(sha256, id), value: partHash(sha256, part) }]);
    return part;
  };

  const statement = (): Statement => ({
    actor,
    storeId,
    size: headers.length,
    at: at() - 60_000,
    roots: {
      genesis: logLeafHash(sha256, headers[0] ?? new Uint8Array(0)),
      journal: logRoot(sha256, headers.length, readTile),
      trees: { edges: trees.edges.update([]).root, memories: trees.memories.update([]).root },
    },
  });

  const stateProof = (name: "memories" | "edges", keys: readonly Uint8Array[]): Uint8Array => {
    const { readPage, entryOf } = trees[name];
    const significantBytes = name === "memories" ? 16 : 32;
    const openLeaf = (start: Uint8Array) => {
      const leaf = entryOf(start);
      if (leaf === undefined) throw new Error("the tree has a leaf that was never put there");
      return leaf;
    };
    const input = { sha256, significantBytes, keys, readPage, openLeaf };
    return encodeStateProof(proveState(input));
  };

  append("genesis", [
    {
      subject: Uint8Array.of(SUBJECT.store),
      record: encode({ format: 1, actor, storeId: Buffer.from(storeId, "hex"), suite: "sha256" }),
    },
  ]);

  return {
    statement,
    checkpoint: (): string => formatCheckpoint(sha256, statement()),
    stateProof,

    /** Writes a memory of one sentence. */
    write(id: Uint8Array, type: "fact" | "constraint", sentence: string): void {
      const context = { at: at(), by: actor };
      const record = sentenceRecord(type, sentence, context);
      memories.set(toHex(id), {
        id,
        part: putMemory("write", id, encodeMemoryRecord(record, context)),
      });
    },

    /** Changes the importance of a memory: a part that holds the Head alone. */
    changeHead(id: Uint8Array, importance: number): void {
      const before = memories.get(toHex(id));
      const versionPart = before?.versionPart ?? before?.part ?? new Uint8Array(0);
      const head = { ...plainHead("fact", FIRST_AT), importance };
      const record = { head, versionPart: partHash(sha256, versionPart) };
      const part = putMemory(
        "update_head",
        id,
        encodeMemoryRecord(record, { at: at(), by: actor }),
      );
      memories.set(toHex(id), { id, part, versionPart });
    },

    /** Leaves of a memory what a forget leaves. */
    forget(id: Uint8Array): void {
      memories.set(toHex(id), { id, part: putMemory("forget", id, encodeErasedRecord("fact")) });
    },

    /** Joins two memories; gives the edge's place in the tree. */
    link(n: number, from: Uint8Array, to: Uint8Array, removed?: string): Uint8Array {
      const key = edgeStateKey(sha256, { from, kind: "supports", to, n: 0 });
      const tombstone = removed === undefined ? undefined : [removed, at(), actor];
      const record = encode(
        fields([idOf(n), from, "supports", to, ...Array(11).fill(undefined), tombstone]),
      );
      const subject = concatBytes(Uint8Array.of(SUBJECT.edge), key);
      const [part = record] = append("add_edge", [{ subject, record }]);
      trees.edges.update([{ key, value: partHash(sha256, part) }]);
      edges.set(toHex(key), { key, part });
      return key;
    },

    /** The place of an edge in its tree, whether it was made or not. */
    edgeKey: (from: Uint8Array, to: Uint8Array): Uint8Array =>
      edgeStateKey(sha256, { from, kind: "supports", to, n: 0 }),

    /** What a proof shows of memories; the ids ascend. */
    memories: (...ids: readonly Uint8Array[]): NonNullable<ProofDocument["memories"]> => ({
      state: stateProof(
        "memories",
        ids.map((id) => memoryStateKey(sha256, id)),
      ),
      items: ids.map((id) => memories.get(toHex(id)) ?? { id }),
    }),

    /** What a proof shows of edges; the keys ascend. */
    edges: (...keys: readonly Uint8Array[]): NonNullable<ProofDocument["edges"]> => ({
      state: stateProof("edges", keys),
      items: keys.map((key) => edges.get(toHex(key)) ?? { key }),
    }),

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

/** A store of the vectors. */
export type VectorStore = ReturnType<typeof vectorStore>;

function plainHead(type: "fact" | "constraint", createdAt: number): Head {
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
  type: "fact" | "constraint",
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
