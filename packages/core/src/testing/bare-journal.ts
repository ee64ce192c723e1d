/**
 * A store for tests of what lies below the facade: a writer of its own beside an open graph, the plainest
 * entry, and every row of the store to compare.
 *
 * Promise: nothing here goes past the rules of the store. Whatever a test wrote through such a writer is
 * looked at by the full check of the graph when the store is disposed of.
 */
import { encode } from "../codec/cbor.js";
import { sha256Node } from "../codec/node-crypto.js";
import type { Cortex } from "../cortex.js";
import { Writer, type WriterParts, type WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { KEYSPACE, type KeyPrefix } from "../kv/keyspace.js";
import { HEAD_KEY, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { TEST_EPOCH_MS } from "./fixtures.js";
import { seededRandom } from "./seeded-random.js";

/** A store that was born, and writers for it. */
export interface BareStore extends AsyncDisposable {
  /** The graph over the same store. */
  readonly memory: Cortex;
  /** Another handle on the store: behaves like another process on one disk. */
  handle(): Kv;
  /** A writer over a handle, or over one of its own. */
  writer(parts?: Partial<WriterParts>): Writer;
}

/** Opens an empty store: its journal holds the genesis. */
export async function openBareStore(): Promise<BareStore> {
  const data = new MemoryStore();
  const handle = (): Kv => openMemoryKv(data);
  const memory = await open("memory:", {
    actor: "ada",
    kv: handle(),
    clock: () => TEST_EPOCH_MS,
    random: seededRandom(1).bytes,
  });
  return {
    memory,
    handle,
    writer: (parts = {}) => bareWriter({ kv: handle(), ...parts }),
    async [Symbol.asyncDispose]() {
      try {
        const report = await memory.check();
        if (!report.ok) throw new Error(`the store is not sound: ${JSON.stringify(report)}`);
      } finally {
        await memory.close();
      }
    },
  };
}

/** A writer whose time stands still, which never pauses and whose salts are the same in every test. */
export function bareWriter(parts: Partial<WriterParts> & Pick<WriterParts, "kv">): Writer {
  return new Writer({
    sha256: sha256Node,
    clock: () => TEST_EPOCH_MS,
    random: (bytes) => new Uint8Array(bytes),
    pause: async () => undefined,
    ...parts,
  });
}

/** Appends the plainest entry that changes something: a configuration with a whitelist of kinds. */
export function appendPlain(tx: WriteTx, ...kinds: readonly string[]): number {
  const config = { conflictPolicy: "lww", kindWhitelist: kinds };
  return tx.append({
    kind: "config",
    by: "ada",
    parts: [{ subject: Uint8Array.of(SUBJECT.config), record: encode(config) }],
  });
}

/** Every row of a store but caches, as text, the head row first. */
export async function exactRows(kv: Pick<Kv, "snapshot">): Promise<readonly string[]> {
  const snapshot = await kv.snapshot();
  try {
    const [head] = await snapshot.getMany([HEAD_KEY]);
    const rows = [`head ${hex(head ?? new Uint8Array(0))}`];
    for (const prefix of Object.values(KEYSPACE) as readonly KeyPrefix[]) {
      if (prefix.class === "cache" || prefix.class === "head") continue;
      const range = { gte: Uint8Array.of(prefix.byte), lt: Uint8Array.of(prefix.byte + 1) };
      const [found = []] = await snapshot.ranges([{ ...range, limit: 1_000_000 }]);
      for (const { key, value } of found) rows.push(`${prefix.name} ${hex(key)} ${hex(value)}`);
    }
    return rows;
  } finally {
    snapshot.close();
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
