/**
 * What the tests of moves share: empty stores of every backend, exports as bytes, files taken apart
 * and put together again.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect } from "vitest";
import { hasherNode, sha256Node } from "../src/codec/node-crypto.js";
import { type Cortex, open } from "../src/index.js";
import {
  decodeExportHeader,
  type ExportHeader,
  encodeExportHeader,
  FRAME,
  type Frame,
  frameWriter,
  readFrames,
} from "../src/journal/export-format.js";
import { HEAD_KEY, type Kv, type KvRow } from "../src/kv/kv.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { readAddress } from "../src/kv/postgres-address.js";
import { isPostgresLocation, openKv } from "../src/open.js";
import { seededRandom } from "../src/testing/index.js";
import { atCleanUp, temporaryStore } from "./other-process.js";

export { exactRows as rowsOf } from "../src/testing/bare-journal.js";

/** The backends that can move; the second is the database, where tests are run on one. */
export const BACKENDS = ["memory", "lmdb"] as const;

/** A backend that can move. */
export type Backend = (typeof BACKENDS)[number];

/** An empty store of a backend, closed when the test is over. */
export async function emptyKv(backend: Backend): Promise<Kv> {
  const kv =
    backend === "memory"
      ? openMemoryKv(new MemoryStore())
      : await openKv(temporaryStore(), "ada", { relaxedDurability: true });
  atCleanUp(() => kv.close());
  return kv;
}

/** How many generations of a store are kept: files of a folder, or in a database those that have a head row. */
export async function generationsOf(location: string): Promise<number> {
  if (!isPostgresLocation(location)) {
    return readdirSync(join(location, "ada")).filter((name) => !name.endsWith("-lock")).length;
  }
  const [row] = await ask(location, "SELECT count(*) FROM cortex_heads WHERE actor = $1");
  return Number(row?.count);
}

/**
 * Lets six hours pass since anybody touched what dead processes left in a database: until then it might be
 * somebody's. In a folder it is known to be nobody's at once.
 */
export async function letLeftoversAge(location: string): Promise<void> {
  if (!isPostgresLocation(location)) return;
  const back = "SET touched_at = touched_at - interval '7 hours'";
  await ask(location, `UPDATE cortex_heads ${back} WHERE actor = $1 AND slot <> 0`);
}

async function ask(
  location: string,
  text: string,
): Promise<readonly { readonly count?: string }[]> {
  const { url, hub } = readAddress(location);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, [`${hub}/ada`])).rows;
  } finally {
    await client.end();
  }
}

/** A graph over a store, with a clock and a randomness that repeat. */
export async function graphOver(kv: Kv, seed = 1): Promise<Cortex> {
  let now = Date.UTC(2030, 0, 1);
  const clock = (): number => {
    now += 1000;
    return now;
  };
  return open("memory:", { actor: "ada", kv, clock, random: seededRandom(seed).bytes });
}

/** Everything that was written to a sink. */
export async function bytesOf<T>(
  write: (sink: (chunk: Uint8Array) => void) => Promise<T>,
): Promise<{ readonly bytes: Uint8Array; readonly report: T }> {
  const chunks: Uint8Array[] = [];
  const report = await write((chunk) => void chunks.push(chunk));
  return { bytes: Uint8Array.from(Buffer.concat(chunks)), report };
}

/** Bytes as a source that gives them in pieces. */
export async function* inPieces(bytes: Uint8Array, length = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

/** A file taken apart: its frames but the trailer. */
export async function framesOf(file: Uint8Array): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(inPieces(file), hasherNode())) frames.push(frame);
  return frames.slice(0, -1);
}

/** A file put together again, with a sum that is right for what it holds. */
export function fileOf(frames: readonly Frame[]): Uint8Array {
  const writer = frameWriter(hasherNode());
  const chunks = frames.flatMap(({ tag, payload }) => writer.add(tag, payload) ?? []);
  const entries = frames.filter(({ tag }) => tag === FRAME.entry).length;
  const { root } = headerOf(frames);
  return Uint8Array.from(Buffer.concat([...chunks, writer.end({ entries, root })]));
}

/** What the header of a file says. */
export function headerOf(frames: readonly Frame[]): ExportHeader {
  const header = frames.find(({ tag }) => tag === FRAME.header);
  if (header === undefined) throw new Error("the file has no header");
  return decodeExportHeader(header.payload);
}

/** The frames with another header. */
export function withHeader(frames: readonly Frame[], change: Partial<ExportHeader>): Frame[] {
  const payload = encodeExportHeader({ ...headerOf(frames), ...change });
  return frames.map((frame) => (frame.tag === FRAME.header ? { tag: frame.tag, payload } : frame));
}

/** The hash that tests compare with. */
export const sha256: (data: Uint8Array) => Uint8Array = sha256Node;

/** A little of everything: versions, slots, edges, a session, a goal, undos, forgets, snapshots. */
export async function furnish(
  memory: Cortex,
): Promise<{ readonly forgotten: string; readonly kept: string }> {
  const kept = await memory.write({ type: "fact", slot: "home city", text: "Ada lives in Lyon" });
  await memory.write({ type: "fact", slot: "home city", text: "Ada lives in Porto" });
  const rule = await memory.write({
    type: "constraint",
    text: "No red-eye flights",
    tags: ["trip"],
  });
  await memory.update(rule.id, { text: "No flights before six" });
  await memory.revert((await memory.update(rule.id, { text: "No flights at all" })).seq);
  await memory.snapshot("before");
  await memory.remember(
    [
      { role: "user", content: "I moved to Porto." },
      { role: "assistant", content: "Noted." },
    ],
    { session: "chat" },
  );
  const goal = await memory.write({ type: "goal", text: "Book the trip", externalId: "goal-1" });
  await memory.setGoalState(goal.id, { failureStreak: 1, intentsTodayCount: 2, spentToday: "3.5" });
  await memory.revert((await memory.update(goal.id, { text: "Book no trip" })).seq);
  await memory.link(goal.id, "depends on", rule.id, { reason: "it limits the choice" });
  await memory.tombstone(kept.id, "old");
  await memory.forget(rule.id, "asked for");
  await memory.snapshot("after");
  return { forgotten: rule.id, kept: kept.id };
}

/** The export of a graph. */
export const exported = (memory: Cortex) => bytesOf((sink) => memory.exportJournal(sink));
/** A backup of a graph. */
export const backedUp = (memory: Cortex, since?: number) =>
  bytesOf((sink) => memory.backup(sink, since === undefined ? {} : { since }));

/** The head row of a store. */
export async function headOf(kv: Kv): Promise<Uint8Array | undefined> {
  const snapshot = await kv.snapshot();
  try {
    return (await snapshot.getMany([HEAD_KEY]))[0];
  } finally {
    snapshot.close();
  }
}

/** Puts rows, or another head, past every rule. */
export async function put(kv: Kv, puts: readonly KvRow[], head?: Uint8Array): Promise<void> {
  const expectHead = await headOf(kv);
  const next = head ?? expectHead;
  if (next === undefined) throw new Error("the store is empty");
  expect(await kv.commit({ expectHead, head: next, puts, deletes: [] })).toEqual({ ok: true });
}
