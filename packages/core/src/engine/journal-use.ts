/**
 * The entry that says which memories were used: those of a late find, or those that an audited recall
 * gave out. Every memory gets a part of its own, which goes when the memory is forgotten; the question
 * itself is kept as a salted hash, so that whoever knows a question can check that it was asked, and
 * nobody can read what was.
 */
import { encode } from "../codec/cbor.js";
import { domainHash } from "../codec/hash.js";
import { concatBytes } from "../codec/keys.js";
import { utf8 } from "../codec/text.js";
import { decodeMemoryRow } from "../history/pointers.js";
import { SALT_BYTES, SUBJECT } from "../journal/entry.js";
import { idKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { subject } from "./drafts.js";
import type { Engine } from "./engine.js";
import { ask } from "./read-ahead.js";

/** Journals what was used; returns the seq, or `undefined` when there is nothing left to journal. */
export async function journalUse(
  engine: Engine,
  kind: "find_late" | "recall_audit",
  ids: readonly Bytes[],
  question: string,
  by: string,
): Promise<number | undefined> {
  if (ids.length === 0) return undefined;
  const salt = engine.random(SALT_BYTES);
  const mark = concatBytes(salt, domainHash(engine.sha256, "query", salt, utf8(question)));
  const record = encode([kind, mark]);
  const keys = ids.flatMap((id) => [idKey("memory", id), idKey("counter", id)]);
  const { value } = await engine.writer.submit({
    hints: keys,
    bytes: 256 * ids.length,
    run: (tx) => {
      ask(tx, keys);
      // Somebody may have forgotten a memory since it was read: nothing may hang on it again.
      const living = ids.filter((id) => {
        const row = tx.view.get(idKey("memory", id));
        return row !== undefined && decodeMemoryRow(row).lifecycle !== "erased";
      });
      if (living.length === 0) return undefined;
      const parts = living.map((id) => ({ subject: subject(SUBJECT.attachment, id), record }));
      return tx.append({ kind, by, parts });
    },
  });
  return value;
}
