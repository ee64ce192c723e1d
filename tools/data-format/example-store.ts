/**
 * The example of docs/data-format.md: a small store that uses every prefix of the keyspace.
 *
 * Promise: the same bytes on every machine. The clock stands still within an operation, randomness
 * is seeded, the storage is memory. It is written through the public verbs alone; only the text index,
 * which is too small here to write itself out, is told to. What the rows mean is left to `rows.ts`.
 */

import { sha256Node, signerOf } from "../../packages/core/src/codec/node-crypto.js";
import { toBase64 } from "../../packages/core/src/codec/text.js";
import type { Cortex } from "../../packages/core/src/cortex.js";
import { decodeHeadRow } from "../../packages/core/src/history/head-row.js";
import { readRoots, type StoreRoots } from "../../packages/core/src/history/trees.js";
import { journalKey } from "../../packages/core/src/kv/keyspace.js";
import { HEAD_KEY, type Kv, type KvRow } from "../../packages/core/src/kv/kv.js";
import { openMemoryKv } from "../../packages/core/src/kv/memory-backend.js";
import { openGraph } from "../../packages/core/src/open.js";
import { issueScope } from "../../packages/core/src/scope/scope.js";
import { seededRandom } from "../../packages/core/src/testing/seeded-random.js";
import { throughDoor } from "../../packages/core/src/trust/doors.js";
import { hashEmbedder } from "../../packages/core/src/vector/embedder.js";

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
/** The entry that undoes a settlement, with parts that are carried again. */
export const UNDO_SEQ = 26;
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
  const { memory, engine } = await openGraph("memory:", {
    actor: ACTOR,
    kv,
    clock: () => nowMs,
    random: random.bytes,
    embedder: hashEmbedder({ dimensions: 4 }),
  });
  const then = async <T>(operation: Promise<T>): Promise<T> => {
    const result = await operation;
    nowMs += STEP_MS;
    return result;
  };
  nowMs += STEP_MS;
  const forgottenRow = await tell(memory, kv, then, async () => {
    await engine.text.flush();
  });
  await engine.text.flush();
  await memory.embedPending();
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
  flush: () => Promise<void>,
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
  await flush();
  await then(memory.updateHead(goal.id, { tags: ["porto"] }));
  await then(memory.tombstone(lyon.id, "not hers any more"));
  await then(memory.forget(rule.id, "asked by Ada"));
  const task = { intentId: "find-flat", cited: [now.id, goal.id] };
  await then(memory.attest({ ...task, outcome: "success" }));
  await then(memory.attest({ ...task, outcome: "failure", reason: "wrong_assumption" }));
  await then(
    memory.compactContext({ intentId: "find-flat", stepId: "1", inContext: [now.id, goal.id] }),
  );
  // A page says something else than Ada did: it is kept beside her words, for review.
  await then(memory.write({ ...porto, text: "Ada lives in Rome", source: "document" }));
  await letIn(memory, then);
  // She believes the page, and then does not.
  const [rival] = (await memory.review({ kinds: ["rival"] })).items;
  const kept = rival?.sides.find(({ source }) => source === "document");
  if (rival === undefined || kept === undefined) throw new Error("no rival waits for review");
  const { seq } = await then(
    memory.settle(rival.id, { decision: "keep_one", keep: kept.id, reason: "it was on a page" }),
  );
  await then(memory.revert(seq));
  // An agent wishes to hide what Ada said: it is refused, and the wish is kept.
  const agent = throughDoor("mcp", "mcp:agent");
  await then(memory.tombstone(now.id, "she moved on", { access: agent }).catch(() => undefined));
  return forgottenRow;
}

/** A scope that is handed in and taken back; its key is made of the same byte, so its bytes are fixed. */
async function letIn(
  memory: Cortex,
  then: <T>(operation: Promise<T>) => Promise<T>,
): Promise<void> {
  const issuer = signerOf(new Uint8Array(32).fill(7));
  await then(memory.configure({ trustedIssuers: [toBase64(issuer.publicKey)] }));
  const scope = await issueScope(
    {
      actor: ACTOR,
      include: { tags: ["porto"] },
      grantedTo: "bearer:agent",
      issuedAt: START_MS,
      expiresAt: START_MS + 1000 * STEP_MS,
    },
    issuer,
  );
  await memory.postScope(scope);
  await then(memory.revokeScope(scope, { reason: "the flat is found" }));
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
