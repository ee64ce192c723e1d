/**
 * What the vectors are about: one small store that holds everything worth proving, and a liar who
 * has copied its name. Also the shape of a vector and the twists that several of them use.
 */
import { sha256Pure as sha256 } from "../../packages/core/src/codec/sha256-pure.js";
import { encodeProof, type ProofDocument } from "../../packages/core/src/journal/proof.js";
import { idOf, type VectorStore, vectorStore } from "./store.js";

/** A vector: input and answer. Values are texts, so that a file reads from top to bottom. */
export interface Vector {
  /** Folder and name, without the ending. */
  readonly name: string;
  readonly description: string;
  /** The text under test, for a vector of checkpoints. */
  readonly checkpoint?: string;
  /** The proof under test, in base64. */
  readonly proof?: string;
  readonly trusted?: string;
  /** For a checkpoint: a proof, in base64, that it extends the trusted one. */
  readonly consistency?: string;
  /** The public key of a signed checkpoint, in base64. */
  readonly publicKey?: string;
  /** `anchored`, `unanchored`, or the code of the refusal. */
  readonly answer: string;
}

/** Ids of the vectors, ascending. */
export const IDS = {
  city: idOf(1),
  food: idOf(2),
  rule: idOf(3),
  gone: idOf(4),
  nobody: idOf(9),
} as const;

/** The store most vectors are about. */
export interface World {
  readonly store: VectorStore;
  readonly checkpoint: string;
  /** Keys of a live and of a removed edge, and of one that nobody made; ascending. */
  readonly edges: {
    readonly live: Uint8Array;
    readonly removed: Uint8Array;
    readonly none: Uint8Array;
  };
  /** An earlier position. */
  readonly older: { readonly checkpoint: string; readonly size: number };
}

/** Nine entries: four memories, of which one has a new Head and one was forgotten; two edges. */
export function world(): World {
  const store = vectorStore("ada", 7);
  store.write(IDS.city, "fact", "Ada lives in Porto");
  store.write(IDS.food, "fact", "Ada likes olives");
  store.write(IDS.rule, "constraint", "No red-eye flights");
  const older = { checkpoint: store.checkpoint(), size: store.statement().size };
  store.write(IDS.gone, "fact", "Something Ada asked to forget");
  store.changeHead(IDS.food, 9);
  const live = store.link(21, IDS.city, IDS.food);
  const removed = store.link(22, IDS.rule, IDS.food, "no longer true");
  store.forget(IDS.gone);
  const none = store.edgeKey(IDS.gone, IDS.city);
  return { store, checkpoint: store.checkpoint(), edges: { live, removed, none }, older };
}

/** A liar's store: same name, same first entry, as many entries, another history. */
export function liar(): VectorStore {
  const store = vectorStore("ada", 7);
  for (const [n, text] of ["Ada lives in Paris", "a", "b", "c", "d", "e", "f", "g"].entries()) {
    store.write(idOf(n + 1), "fact", text);
  }
  return store;
}

/** Bytes as a vector holds them. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** A document as a vector holds it. */
export function sealed(document: ProofDocument): string {
  return base64(encodeProof(document));
}

/** Bytes with one bit turned. */
export function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
}

/** A checkpoint's text with a sum that fits again: what a liar sends. */
export function resummed(text: string): string {
  const body = text.slice(0, text.indexOf("sum "));
  return `${body}sum ${base64(sha256(Buffer.from(body)))}\n`;
}
