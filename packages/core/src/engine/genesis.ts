/**
 * The first entry of a store, and the check that an existing store is the one that was asked for.
 */
import { encode } from "../codec/cbor.js";
import { CortexError } from "../errors.js";
import { FORMAT } from "../history/head-row.js";
import { Reader } from "../history/reader.js";
import { decodeGenesis, type Genesis, HASH_SUITE, SUBJECT } from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import type { Engine } from "./engine.js";

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
