/**
 * What entry 0 says: whose store this is, its random id, its format and hash suite. Pure; writing it
 * is left to `engine/genesis.ts`.
 */
import { type CborValue, decode } from "../codec/cbor.js";
import { toHex } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import { decodeEntry, type Entry, partRecord } from "./entry.js";

/** What entry 0 says for good. */
export interface Genesis {
  readonly format: number;
  readonly actor: string;
  /** 16 random bytes in hex. */
  readonly storeId: string;
  readonly suite: string;
}

/** The hash suite of format 1. */
export const HASH_SUITE = "sha256";

/** Reads the row of entry 0. */
export function decodeGenesis(row: Uint8Array): Genesis {
  return genesisOf(decodeEntry(row));
}

/** What entry 0 says, once decoded. */
export function genesisOf({ header, parts }: Entry): Genesis {
  const [part] = parts;
  if (header.kind !== "genesis" || part === undefined) {
    throw new CortexError("ERR_CORRUPT", "journal entry 0 is not a genesis", { seq: 0 });
  }
  const record = decode(partRecord(part)) as { readonly [name: string]: CborValue };
  const { format, actor, storeId, suite } = record;
  if (
    typeof format !== "number" ||
    typeof actor !== "string" ||
    !(storeId instanceof Uint8Array) ||
    suite !== HASH_SUITE
  ) {
    throw new CortexError("ERR_CORRUPT", "journal entry 0 holds no readable genesis", { seq: 0 });
  }
  return { format, actor, storeId: toHex(storeId), suite };
}
