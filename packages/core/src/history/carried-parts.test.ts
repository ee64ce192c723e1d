/**
 * Parts that a revert carries again, as a replay meets them: the parts that were there before are taken,
 * and journals that pass something else off as one are refused with the entry they lie in.
 */
import { expect, test } from "vitest";
import { sha256Node } from "../codec/node-crypto.js";
import type { Cortex } from "../cortex.js";
import {
  decodeEntry,
  type Entry,
  encodeEntry,
  encodeHeader,
  partContext,
  partHash,
  partRecord,
  SALT_BYTES,
} from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import type { Kv } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import {
  decodeMemoryRecord,
  encodeMemoryRecord,
  type MemoryRecord,
} from "../records/memory-record.js";
import { leavesOf } from "../testing/leaves.js";
import { replay } from "./replay.js";

const REVERT_SEQ = 3;

/** The journal of a memory that was updated and taken back, each by somebody else. */
async function journal(): Promise<{ readonly kv: Kv; readonly rows: readonly Uint8Array[] }> {
  const kv = openMemoryKv();
  let now = 1000;
  const clock = () => {
    now += 1;
    return now;
  };
  const memory: Cortex = await open("memory:", { actor: "ada", kv, clock });
  const { id } = await memory.write({ type: "fact", text: "one", by: "bob" });
  const { seq } = await memory.update(id, { text: "two", by: "cy" });
  expect((await memory.revert(seq, { by: "dee" })).seq).toBe(REVERT_SEQ);
  const snapshot = await kv.snapshot();
  const range = { gte: journalKey(0), lt: journalKey(REVERT_SEQ + 1), limit: 10 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return { kv, rows: rows.map(({ value }) => value) };
}

async function replayed(rows: readonly Uint8Array[]): Promise<Kv> {
  const kv = openMemoryKv();
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield* rows;
  };
  await replay(kv, source(), { sha256: sha256Node });
  return kv;
}

/** The entry with another part in the place of its first, its header made to fit. */
function withPart({ header, parts }: Entry, part: Uint8Array): Uint8Array {
  const [ref, ...rest] = header.parts;
  if (ref === undefined) throw new Error("the entry has no parts");
  const forged = { ...ref, hash: partHash(sha256Node, part) };
  const headerBytes = encodeHeader({ ...header, parts: [forged, ...rest] }, undefined);
  return encodeEntry({ headerBytes, parts: [part, ...parts.slice(1)] });
}

/** The revert with its record changed, and the journal that ends with it. */
async function forged(
  change: (record: MemoryRecord) => MemoryRecord,
): Promise<readonly Uint8Array[]> {
  const { rows } = await journal();
  const entry = decodeEntry(rows[REVERT_SEQ] ?? new Uint8Array(0));
  const part = entry.parts[0] ?? new Uint8Array(0);
  const context = partContext(entry.header, 0);
  const record = change(decodeMemoryRecord(partRecord(part), context));
  const bytes = encodeMemoryRecord(record, context);
  const next = Uint8Array.from([...part.subarray(0, SALT_BYTES), ...bytes]);
  return [...rows.slice(0, REVERT_SEQ), withPart(entry, next)];
}

test("the parts of before give the same store, and the leaf that their first entry has", async () => {
  const { kv, rows } = await journal();
  const [, first, , last] = rows.map(decodeEntry);
  expect(last?.header.parts[0]?.hash).toEqual(first?.header.parts[0]?.hash);
  expect(last?.header.parts[0]?.first).toEqual({ at: first?.header.at, by: "bob" });
  expect(last?.parts).toEqual(first?.parts);
  expect(await leavesOf(await replayed(rows))).toEqual(await leavesOf(kv));
});

test("a record is read with the time and the principal of its first entry", async () => {
  const { rows } = await journal();
  const kv = await replayed(rows);
  await using memory = await open("memory:", { actor: "ada", kv });
  const [found] = (await memory.list()).memories;
  const [birth] = (await memory.log({ from: 1, limit: 1 })).entries;
  expect(found?.versionRecord).toMatchObject({ createdBy: "bob", createdAt: birth?.at, seq: 1 });
  expect(found?.head.createdAt).toBe(birth?.at);
  expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
});

test("other words under the number of a version are refused", async () => {
  const other = await forged(({ head, version }) => ({
    head,
    version: version && { ...version, data: { statement: "three" } as never },
  }));
  await expect(replayed(other)).rejects.toMatchObject({
    code: "ERR_CORRUPT",
    message: expect.stringContaining("version 1 of a memory is written a second time"),
    details: { seq: REVERT_SEQ },
  });
});

test("so is a version that the memory never had", async () => {
  const versionPart = new Uint8Array(32);
  const none = await forged(({ head }) => ({ head: { ...head, version: 0 }, versionPart }));
  await expect(replayed(none)).rejects.toMatchObject({
    code: "ERR_CORRUPT",
    message: expect.stringContaining("version 0, which it never had"),
    details: { seq: REVERT_SEQ },
  });
});
