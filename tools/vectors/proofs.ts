/** The vectors of proofs: golden ones, and ones named by how they lie. */
import { concatBytes } from "../../packages/core/src/codec/keys.js";
import { sha256Pure as sha256 } from "../../packages/core/src/codec/sha256-pure.js";
import { formatCheckpoint } from "../../packages/core/src/journal/checkpoint.js";
import { partHash, SUBJECT } from "../../packages/core/src/journal/entry.js";
import {
  encodeProof,
  type ProofDocument,
  type ProofEdge,
  type ProofMemory,
  type ProofTree,
} from "../../packages/core/src/journal/proof.js";
import { memoryStateKey } from "../../packages/core/src/merkle/state-keys.js";
import {
  decodeStateProof,
  encodeStateProof,
  type StateLeaf,
} from "../../packages/core/src/merkle/state-proof.js";
import { buildUri } from "../../packages/core/src/records/uri.js";
import {
  attestRecord,
  COLD_WEIGHTS,
  contextName,
  encodeAttestRecord,
  encodeContextRecord,
  encodeLearnRecord,
  learn,
} from "../../packages/core/src/salience/salience.js";
import { idOf, vectorStore } from "./store.js";
import { base64, flipped, IDS, liar, sealed, type Vector, type World, world } from "./world.js";

type Shown = Omit<ProofDocument, "checkpoint">;

/** Proofs that hold. */
export function goldenProofs(): readonly Vector[] {
  const { store, checkpoint, edges, older } = world();
  const golden = (name: string, description: string, shown: Shown): Vector => ({
    name: `proofs/golden-${name}`,
    description,
    proof: sealed({ checkpoint, ...shown }),
    trusted: checkpoint,
    answer: "anchored",
  });
  const city = { memories: store.memories(IDS.city) };
  const { trusted: _, ...untrusted } = golden(
    "without-trust",
    "It holds together, and nothing says that the checkpoint is anybody's.",
    city,
  );
  return [
    golden("one-memory", "A memory and its sentence.", city),
    golden("head-change", "The last entry changed the Head alone; the Version is shown too.", {
      memories: store.memories(IDS.food),
    }),
    golden("absent-memory", "An id nobody has.", { memories: store.memories(IDS.nobody) }),
    golden("forgotten-memory", "What stays of a forgotten memory.", {
      memories: store.memories(IDS.gone),
    }),
    golden("many-memories", "All of the above at once, their paths shared.", {
      memories: store.memories(...Object.values(IDS)),
    }),
    golden("edges", "A live edge, a removed one, and one that nobody made.", {
      edges: store.edges(edges.live, edges.removed, edges.none),
    }),
    golden("entries", "The first entry, one in the middle, the last.", {
      entries: [0, 4, 8].map(store.entry),
    }),
    golden("memory-with-its-entry", "A memory, and the entry that left it so.", {
      memories: store.memories(IDS.rule),
      entries: [store.entry(3)],
    }),
    {
      ...golden("since", "The trusted checkpoint is older; the journal is shown to extend it.", {
        ...city,
        since: store.since(older.size),
      }),
      trusted: older.checkpoint,
    },
    { ...untrusted, answer: "unanchored" },
    emptyStore(),
    oneOfTwo(),
    learned(),
  ];
}

function emptyStore(): Vector {
  const store = vectorStore("ada", 9);
  const checkpoint = store.checkpoint();
  return {
    name: "proofs/golden-empty-store",
    description: "Absence from a tree without any key.",
    proof: sealed({ checkpoint, memories: store.memories(IDS.city) }),
    trusted: checkpoint,
    answer: "anchored",
  };
}

function oneOfTwo(): Vector {
  const store = vectorStore("ada", 9);
  store.write(idOf(1), "fact", "Ada lives in Porto");
  store.write(idOf(200), "fact", "Ada likes olives");
  const checkpoint = store.checkpoint();
  return {
    name: "proofs/golden-one-of-two",
    description: "One of two memories: the shortest path, checked by hand in the documentation.",
    proof: sealed({ checkpoint, memories: store.memories(idOf(1)) }),
    trusted: checkpoint,
    answer: "anchored",
  };
}

/** The hashes in the headers fix the bytes of the three records. */
function learned(): Vector {
  const store = vectorStore("ada", 9);
  store.write(IDS.city, "fact", "Ada lives in Porto");
  const before = store.checkpoint();
  const factors = { recency: 1, access: 0.1, citations: 0.1, importance: 0.5 };
  const weights = learn(COLD_WEIGHTS, [factors], "toward");
  const attested = attestRecord("failure", "find-flat", "wrong_assumption");
  const owned = concatBytes(Uint8Array.of(SUBJECT.attachment), IDS.city);
  const own = Uint8Array.of(SUBJECT.store);
  store.append("attest", owned, encodeAttestRecord(attested));
  store.append("learn_weights", own, encodeLearnRecord({ weights, direction: "toward" }));
  const uri = buildUri({ actor: "ada", type: "fact", id: IDS.city, version: 1 });
  const name = contextName(sha256, "find-flat", "1");
  const compacted = [{ uri, salience: 0.388889 }];
  store.append(
    "context",
    own,
    encodeContextRecord({ name, budgetTokens: 4000, kept: [uri], compacted }),
  );
  const checkpoint = store.checkpoint();
  return {
    name: "proofs/golden-learned-entries",
    description: "What was attested, learned and compacted after the trusted checkpoint.",
    proof: sealed({ checkpoint, entries: [2, 3, 4].map(store.entry), since: store.since(2) }),
    trusted: before,
    answer: "anchored",
  };
}

/** Proofs that must not be believed. */
export function lyingProofs(): readonly Vector[] {
  const known = world();
  return [
    ...brokenBytes(known),
    ...wrongTrees(known),
    ...wrongLeaves(known),
    ...wrongSpelling(known),
    ...wrongRecords(known),
    ...wrongHistory(known),
    ...wrongTrust(known),
  ];
}

function lie(
  name: string,
  description: string,
  proof: string,
  answer: string,
  trusted?: string,
): Vector {
  return {
    name: `proofs/${name}`,
    description,
    proof,
    ...(trusted === undefined ? {} : { trusted }),
    answer,
  };
}

/** Not the one encoding of a document. */
function brokenBytes({ store, checkpoint }: World): readonly Vector[] {
  const document = { checkpoint, memories: store.memories(IDS.city, IDS.food) };
  const bytes = encodeProof(document);
  const bad = "ERR_PROOF_MALFORMED";
  const [city, food] = document.memories.items as [ProofMemory, ProofMemory];
  // Keys 0 and 1 of the map are one byte each, followed by the format and by the checkpoint's text.
  const text = bytes.subarray(4, 4 + 2 + checkpoint.length);
  const rest = bytes.subarray(4 + text.length);
  const misordered = Buffer.concat([
    bytes.subarray(0, 1),
    Uint8Array.of(1),
    text,
    Uint8Array.of(0, 1),
    rest,
  ]);
  const halves = { ...document, memories: { ...document.memories, items: [food, city] } };
  const newer = Buffer.from(bytes);
  newer[2] = 2;
  return [
    lie("truncated", "The last byte is missing.", base64(bytes.subarray(0, -1)), bad),
    lie(
      "trailing-byte",
      "One byte too many.",
      base64(Buffer.concat([bytes, Uint8Array.of(0)])),
      bad,
    ),
    lie(
      "wrong-key-order",
      "The first two keys of the map changed places.",
      base64(misordered),
      bad,
    ),
    lie("wrong-item-order", "The two memories changed places.", sealed(halves), bad),
    lie("newer-format", "Format 2, which nobody has defined.", base64(newer), bad),
    lie("not-base64", "A line break inside the base64.", `${base64(bytes).slice(0, 64)}\n`, bad),
    lie("no-proof", "An empty document.", "", bad),
  ];
}

/** The tree does not say so. */
function wrongTrees({ store, checkpoint, edges }: World): readonly Vector[] {
  const memories = store.memories(IDS.city);
  const bad = "ERR_PROOF_INVALID";
  const withState = (state: Uint8Array): string =>
    sealed({ checkpoint, memories: { ...memories, state } });
  const { roots } = store.statement();
  const { edges: e, memories: m } = roots.trees;
  const swapped = formatCheckpoint(sha256, {
    ...store.statement(),
    roots: { ...roots, trees: { edges: m, memories: e } },
  });
  const other = liar();
  return [
    lie("flipped-bit", "One bit of a sibling's hash.", withState(flipped(memories.state, 5)), bad),
    lie(
      "flipped-bit-of-position",
      "An inner node at another position.",
      withState(flipped(memories.state, 1)),
      bad,
    ),
    lie(
      "swapped-root",
      "The roots of the two trees changed places, all sums made to fit.",
      sealed({ checkpoint: swapped, memories }),
      bad,
    ),
    lie(
      "sibling-from-another-tree",
      "The path of the same memory in a liar's tree.",
      withState(other.memories(IDS.city).state),
      bad,
    ),
    lie(
      "edges-for-memories",
      "The proof of another tree of the same store.",
      withState(store.edges(edges.live).state),
      bad,
    ),
    lie(
      "state-proof-cut-short",
      "The state proof ends within a node.",
      withState(memories.state.subarray(0, -1)),
      "ERR_PROOF_MALFORMED",
    ),
  ];
}

/** The leaves are not those of the items. */
function wrongLeaves({ store, checkpoint }: World): readonly Vector[] {
  const bad = "ERR_PROOF_INVALID";
  const city = store.memories(IDS.city);
  const { items } = store.memories(IDS.city, IDS.food);
  const [item, food] = items as [ProofMemory, ProofMemory];
  const nobody = store.memories(IDS.nobody);
  const spelled = respelled(city.state, memoryLeaves(city));
  const shown = (state: Uint8Array, one: ProofMemory): string =>
    sealed({ checkpoint, memories: { state, items: [one] } });
  return [
    lie(
      "absence-for-a-present-key",
      "A memory that is there, shown without its record; the leaf is spelled out.",
      shown(spelled, { id: IDS.city }),
      bad,
    ),
    lie(
      "presence-for-an-absent-key",
      "An id nobody has, with the record of a memory, in the place of the leaf that denies it.",
      shown(respelled(nobody.state, [], memoryLeaves(city)), { ...item, id: IDS.nobody }),
      bad,
    ),
    lie(
      "key-not-covered",
      "The proof of one memory, used for another.",
      shown(spelled, { id: IDS.rule }),
      bad,
    ),
    lie(
      "leaf-in-the-place-of-another",
      "The record of one memory, in the place of another in the tree.",
      shown(city.state, food),
      bad,
    ),
  ];
}

/** Leaves that are known are spelled out, or others are not: not the one encoding. */
function wrongSpelling({ store, checkpoint, edges }: World): readonly Vector[] {
  const bad = "ERR_PROOF_MALFORMED";
  const city = store.memories(IDS.city);
  const food = store.memories(IDS.food);
  const nobody = store.memories(IDS.nobody);
  // The search for nobody ends at the leaf of city: that is the witness of the absence.
  const witnessed = store.memories(IDS.food, IDS.nobody);
  const both = memoryLeaves(store.memories(IDS.city, IDS.food));
  const live = store.edges(edges.live);
  const shown = (state: Uint8Array, items: readonly ProofMemory[]): string =>
    sealed({ checkpoint, memories: { state, items } });
  return [
    lie(
      "known-leaf-spelled-out",
      "A memory and its record, and its leaf spelled out all the same.",
      shown(respelled(city.state, memoryLeaves(city)), city.items),
      bad,
    ),
    lie(
      "known-edge-leaf-spelled-out",
      "The same of an edge.",
      sealed({ checkpoint, edges: { ...live, state: respelled(live.state, edgeLeaves(live)) } }),
      bad,
    ),
    lie(
      "known-leaf-without-a-record",
      "The proof names a leaf, but no record says which.",
      shown(city.state, [{ id: IDS.city }]),
      bad,
    ),
    lie(
      "known-leaf-once-too-often",
      "The witness of an absence is named instead of spelled out.",
      shown(respelled(witnessed.state, memoryLeaves(witnessed), both), witnessed.items),
      bad,
    ),
    lie(
      "near-position-spelled-out",
      "A position that is counted from the node above, spelled out instead.",
      shown(withSpelledPosition(city.state), city.items),
      bad,
    ),
    lie(
      "record-without-a-leaf",
      "A memory with its record; the state proof names no leaf.",
      shown(nobody.state, food.items),
      bad,
    ),
    lie(
      "record-in-an-empty-tree",
      "A memory with its record, in a tree without any key.",
      shown(Uint8Array.of(0), city.items),
      bad,
    ),
  ];
}

/** A state proof as it would be for a reader who knows other leaves. */
function respelled(
  state: Uint8Array,
  known: readonly StateLeaf[],
  instead: readonly StateLeaf[] = [],
): Uint8Array {
  return encodeStateProof(decodeStateProof(state, known), instead);
}

/** A state proof whose second node has its position spelled out; the first one's is far. */
function withSpelledPosition(state: Uint8Array): Uint8Array {
  const second = 34;
  const [tag, skipped] = [(state[second] ?? 0) & 7, (state[second] ?? 0) >> 3];
  const position = (state[1] ?? 0) + 1 + skipped;
  const rest = state.subarray(second + 1);
  return Uint8Array.of(...state.subarray(0, second), 0xf8 | tag, position, ...rest);
}

function memoryLeaves({ items }: ProofTree<ProofMemory>): readonly StateLeaf[] {
  return items.flatMap(({ id, part }) =>
    part === undefined ? [] : [{ key: memoryStateKey(sha256, id), value: partHash(sha256, part) }],
  );
}

function edgeLeaves({ items }: ProofTree<ProofEdge>): readonly StateLeaf[] {
  return items.flatMap(({ key, part }) =>
    part === undefined ? [] : [{ key, value: partHash(sha256, part) }],
  );
}

/** The record is not the one in the tree. */
function wrongRecords({ store, checkpoint, edges }: World): readonly Vector[] {
  const bad = "ERR_PROOF_INVALID";
  const asked = store.memories(IDS.city, IDS.food, IDS.gone);
  const [city, food, gone] = asked.items as [ProofMemory, ProofMemory, ProofMemory];
  const shown = (items: readonly ProofMemory[]): string =>
    sealed({ checkpoint, memories: { ...asked, items } });
  const one = store.memories(IDS.city);
  const changed = (part: Uint8Array): string =>
    sealed({ checkpoint, memories: { ...one, items: [{ id: IDS.city, part }] } });
  const part = city.part ?? new Uint8Array(0);
  const pair = store.edges(edges.live, edges.removed);
  const [live, removed] = pair.items as [(typeof pair.items)[0], (typeof pair.items)[0]];
  const { versionPart: _, ...headAlone } = food;
  return [
    lie(
      "record-changed",
      "One letter of the sentence.",
      changed(flipped(part, part.length - 2)),
      bad,
    ),
    lie("salt-changed", "One bit of the salt.", changed(flipped(part, 0)), bad),
    lie(
      "record-swapped-between-two-memories",
      "Two memories, each with the other's record.",
      shown([{ id: city.id, ...partOf(gone) }, food, { id: gone.id, ...partOf(city) }]),
      bad,
    ),
    lie(
      "version-part-of-another-memory",
      "A changed Head, with the Version of another memory.",
      shown([city, { ...food, versionPart: part }, gone]),
      bad,
    ),
    lie(
      "version-part-missing",
      "A changed Head without its Version.",
      shown([city, headAlone, gone]),
      "ERR_PROOF_MALFORMED",
    ),
    lie(
      "version-part-too-many",
      "A memory that has its Version, and a second one.",
      shown([{ ...city, versionPart: part }, food, gone]),
      "ERR_PROOF_MALFORMED",
    ),
    lie(
      "version-of-a-forgotten-memory",
      "What stays of a forgotten memory, with a Version that is not its own.",
      shown([city, food, { ...gone, versionPart: part }]),
      bad,
    ),
    lie(
      "record-swapped-between-two-edges",
      "Two edges, each with the other's record.",
      sealed({
        checkpoint,
        edges: {
          ...pair,
          items: [
            { key: live.key, ...partOf(removed) },
            { key: removed.key, ...partOf(live) },
          ],
        },
      }),
      bad,
    ),
  ];
}

function partOf(item: { readonly part?: Uint8Array }): { readonly part?: Uint8Array } {
  return item.part === undefined ? {} : { part: item.part };
}

/** The journal does not say so. */
function wrongHistory({ store, checkpoint, older }: World): readonly Vector[] {
  const bad = "ERR_PROOF_INVALID";
  const entry = store.entry(4);
  const since = store.since(older.size);
  const shown = (change: Partial<typeof entry>): string =>
    sealed({ checkpoint, entries: [{ ...entry, ...change }] });
  const grown = (change: Partial<typeof since>): string =>
    sealed({ checkpoint, since: { ...since, ...change } });
  const malformed = "ERR_PROOF_MALFORMED";
  return [
    lie(
      "header-changed",
      "One bit of an entry's header.",
      shown({ header: flipped(entry.header, 9) }),
      bad,
    ),
    lie("entry-under-another-number", "Entry 4 shown as entry 5.", shown({ seq: 5 }), bad),
    lie("entry-beyond-the-end", "Entry 4 shown as entry 9 of nine.", shown({ seq: 9 }), malformed),
    lie(
      "path-too-short",
      "A path without its last hash.",
      shown({ path: entry.path.slice(1) }),
      malformed,
    ),
    lie(
      "path-of-a-liar",
      "The path of the same entry in a liar's journal.",
      shown({ path: liar().entry(4).path }),
      bad,
    ),
    lie(
      "since-another-root",
      "The older journal has another root.",
      grown({ root: flipped(since.root, 0) }),
      bad,
    ),
    lie(
      "since-another-size",
      "The older journal was one entry longer.",
      grown({ size: older.size + 1 }),
      malformed,
    ),
  ];
}

/** It holds together, but not with what the verifier trusts. */
function wrongTrust({ store, checkpoint, older }: World): readonly Vector[] {
  const stale = "ERR_CHECKPOINT_STALE";
  const memories = store.memories(IDS.city);
  const forged = liar();
  const triple = sealed({ checkpoint: forged.checkpoint(), memories: forged.memories(IDS.city) });
  const forgedSince = sealed({
    checkpoint: forged.checkpoint(),
    memories: forged.memories(IDS.city),
    since: forged.since(older.size),
  });
  const now = sealed({ checkpoint, memories });
  const signed = `${checkpoint}\n— example.org/ada AAAAAAAA\n`;
  const described = "A liar made up memory, proof and root together, under the same name";
  return [
    lie("forged-hit-proof-and-root", `${described}; nothing is trusted.`, triple, "unanchored"),
    lie("forged-hit-against-trust", `${described}.`, triple, stale, checkpoint),
    lie(
      "forged-hit-since-trust",
      `${described}, and a history.`,
      forgedSince,
      stale,
      older.checkpoint,
    ),
    lie(
      "stale-checkpoint",
      "Trusted is an older one; no proof extends it.",
      now,
      stale,
      older.checkpoint,
    ),
    lie(
      "rolled-back",
      "A proof from before the trusted checkpoint.",
      sealed(beforeTrust()),
      stale,
      checkpoint,
    ),
    lie(
      "other-origin",
      "Trusted is another store.",
      now,
      stale,
      vectorStore("bob", 7).checkpoint(),
    ),
    lie(
      "malformed-trust",
      "What is trusted is no checkpoint.",
      now,
      "ERR_CHECKPOINT_MALFORMED",
      "x",
    ),
    lie(
      "malformed-checkpoint",
      "The proof's own checkpoint has a wrong sum.",
      sealed({ checkpoint: checkpoint.replace("at 1", "at 2"), memories }),
      "ERR_CHECKPOINT_MALFORMED",
    ),
    lie(
      "signed-checkpoint-inside",
      "Signatures have no place in a proof: nothing in it vouches for them.",
      sealed({ checkpoint: signed, memories }),
      "ERR_PROOF_MALFORMED",
    ),
  ];
}

/** The proof that could have been made at the older position. */
function beforeTrust(): ProofDocument {
  const store = vectorStore("ada", 7);
  store.write(IDS.city, "fact", "Ada lives in Porto");
  return { checkpoint: store.checkpoint(), memories: store.memories(IDS.city) };
}
