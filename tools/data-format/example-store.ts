/**
 * The example of docs/data-format.md: a small store that uses every prefix of the keyspace.
 *
 * Promise: the same bytes on every machine. The clock stands still within an operation, randomness
 * is seeded, the storage is memory. It is written through the public verbs alone. What the rows mean
 * is left to `rows.ts`.
 */
import { sha256Node } from "../../packages/core/src/codec/sha256-node.js";
import type { Cortex } from "../../packages/core/src/cortex.js";
import { decodeHeadRow } from "../../packages/core/src/history/head-row.js";
import { readRoots, type StoreRoots } from "../../packages/core/src/history/roots.js";
import { journalKey } from "../../packages/core/src/kv/keyspace.js";
import { HEAD_KEY, type Kv, type KvRow } from "../../packages/core/src/kv/kv.js";
import { openMemoryKv } from "../../packages/core/src/kv/memory-backend.js";
import { open } from "../../packages/core/src/open.js";
import { seededRandom } from "../../packages/core/src/testing/seeded-random.js";

/** What the page shows of the store. */
export interface ExampleStore {
  /** Every row in key order. */
  readonly rows: readonly KvRow[];
  readonly roots: StoreRoots;
  /** The text form of its one snapshot. */
  readonly checkpoint: string;
  /** The row of the entry that `FORGOTTEN_SEQ` names, as it was before the forget. */
  readonly forgottenRow: Uint8Array;
}

/** The entry the page takes apart byte by byte: a write with a slot and a tag. */
export const WRITE_SEQ = 2;
/** The entry that moves a slot: two memories and two edges in one. */
export const SLOT_SEQ = 3;
/** The entry whose part a forget erases. */
export const FORGOTTEN_SEQ = 4;
/** The second of two turns, remembered in one batch. */
export const TURN_SEQ = 13;

const ACTOR = "ada";
const START_MS = Date.UTC(2030, 0, 1);
const STEP_MS = 60_000;
const ROWS_MAX = 10_000;
const EVALUATED = { failureStreak: 0, intentsTodayCount: 1, spentToday: "0" };

/** Builds the store. */
export async function buildExample(): Promise<ExampleStore> {
  const kv = openMemoryKv();
  let nowMs = START_MS;
  const random = seededRandom(1);
  const memory = await open("memory:", {
    actor: ACTOR,
    kv,
    clock: () => nowMs,
    random: random.bytes,
  });
  const then = async <T>(operation: Promise<T>): Promise<T> => {
    const result = await operation;
    nowMs += STEP_MS;
    return result;
  };
  nowMs += STEP_MS;
  const forgottenRow = await tell(memory, kv, then);
  const { checkpoint } = await memory.snapshot("end of the example");
  const { rows, roots } = await readAll(kv);
  const report = await memory.check();
  if (!report.ok) throw new Error(`the example store is not sound: ${JSON.stringify(report)}`);
  await memory.close();
  return { rows, roots, checkpoint, forgottenRow };
}

/** What happens in the example, one entry or batch per line. */
async function tell(
  memory: Cortex,
  kv: Kv,
  then: <T>(operation: Promise<T>) => Promise<T>,
): Promise<Uint8Array> {
  await then(memory.configure({ conflictPolicy: "manual" }));
  const lyon = await then(
    memory.write({
      type: "fact",
      slot: "home city",
      text: "Ada lives in Lyon",
      tags: ["travel"],
      externalId: "home",
      idempotencyKey: "request-1",
    }),
  );
  const porto = { type: "fact", slot: "home city", text: "Ada lives in Porto" } as const;
  const now = await then(memory.write(porto));
  const rule = await then(memory.write({ type: "constraint", text: "No red-eye flights" }));
  const forgottenRow = await readRow(kv, journalKey(FORGOTTEN_SEQ));
  await then(memory.write(porto));
  const goal = await then(
    memory.write({
      type: "goal",
      text: "Find a flat in Porto",
      frames: [{ verb: "find", object: "asset", ref: "flat" }],
    }),
  );
  await then(memory.setGoalState(goal.id, EVALUATED));
  await then(memory.link(goal.id, "because_of", now.id, { reason: "she moved" }));
  await then(memory.removeEdge(goal.id, "because_of", now.id, { reason: "not the cause" }));
  await then(memory.updateHead(goal.id, { tags: ["housing"] }));
  await then(
    memory.remember(
      [
        { role: "user", content: "I moved to Porto." },
        { role: "assistant", content: "Noted." },
      ],
      { session: "chat-1" },
    ),
  );
  await then(memory.updateHead(goal.id, { tags: ["porto"] }));
  await then(memory.tombstone(lyon.id, "not hers any more"));
  await then(memory.forget(rule.id, "asked by Ada"));
  return forgottenRow;
}

async function readAll(kv: Kv): Promise<Pick<ExampleStore, "rows" | "roots">> {
  const snapshot = await kv.snapshot();
  const lt = Uint8Array.of(0xff);
  const [rows = []] = await snapshot.ranges([{ gte: new Uint8Array(0), lt, limit: ROWS_MAX }]);
  const [headBytes] = await snapshot.getMany([HEAD_KEY]);
  const roots = await readRoots(sha256Node, snapshot, decodeHeadRow(headBytes));
  snapshot.close();
  return { rows, roots };
}

async function readRow(kv: Kv, key: Uint8Array): Promise<Uint8Array> {
  const snapshot = await kv.snapshot();
  const [value] = await snapshot.getMany([key]);
  snapshot.close();
  if (value === undefined) throw new Error("the example store lacks a row");
  return value;
}
