/**
 * A settlement that is undone leaves no trace but its two entries: every memory and every edge that
 * was there has the leaf it had, whatever was decided about whatever was open, and so again after the
 * undo is undone. Before and after, the store is what its journal gives.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import {
  DECISIONS,
  type Decision,
  REVIEW_KINDS,
  type ReviewItem,
  type ReviewKind,
} from "../contract/review.js";
import type { Memory } from "../contract/shapes.js";
import type { Cortex } from "../cortex.js";
import { isCortexError } from "../errors.js";
import type { Kv } from "../kv/kv.js";
import { openTestStore, type TestStore } from "../testing/index.js";
import { changedLeaves, leavesOf } from "../testing/leaves.js";

const SEED = 62_026;

/** A store and its storage. */
async function opened(): Promise<{ readonly store: TestStore; readonly kv: Kv }> {
  const own: Kv[] = [];
  const store = await openTestStore({
    wrap: (kv) => {
      own.push(kv);
      return kv;
    },
  });
  const [kv] = own;
  if (kv === undefined) throw new Error("the store was not opened");
  return { store, kv };
}

/** Questions about what is there; a proposal is a call that waits, and is over once it was made. */
type Question = Exclude<ReviewKind, "proposal">;
const QUESTIONS = REVIEW_KINDS.filter((kind): kind is Question => kind !== "proposal");

/** Makes one item of each kind; what it does before and beside is there to be left alone. */
const OPEN: Readonly<Record<Question, (memory: Cortex) => Promise<unknown>>> = {
  contradiction: async (memory) => {
    const a = await memory.write({ type: "fact", text: "the door is red", tags: ["t"] });
    const b = await memory.write({ type: "fact", text: "the door is blue", slot: "door" });
    await memory.updateHead(b.id, { importance: 9 });
    await memory.addEdge(a.id, "contradicts", b.id, { reason: "one door" });
  },
  rival: async (memory) => {
    await memory.write({ type: "fact", slot: "home", text: "lives in Porto", by: "bob" });
    await memory.write({ type: "fact", slot: "home", text: "lives in Rome", source: "agent" });
  },
  siblings: async (memory) => {
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "fact", text: "one" });
    await memory.update(id, { text: "two" });
    await memory.update(id, { text: "three", basedOnVersion: 1 });
  },
  disputed: (memory) => memory.write({ type: "fact", text: "doubtful", status: "disputed" }),
  provisional: async (memory) => {
    const { id } = await memory.write({ type: "preference", text: "likes tea", source: "agent" });
    await memory.updateHead(id, { tags: ["drinks"] });
  },
  duplicate: async (memory) => {
    await memory.write({ type: "fact", text: "The archive closes at seven on Fridays" });
    await memory.write({ type: "fact", text: "The big archive closes at seven on Fridays" });
  },
};

/** Which decisions cannot be taken: two that stay need two, and one that stays has to be named. */
function isRefused({ kind }: ReviewItem, { decision, keep }: Options<"settle">): boolean {
  const isPair = ["contradiction", "rival", "duplicate"].includes(kind);
  if (decision === "keep_both") return !isPair;
  return decision === "keep_one" && keep === undefined && (isPair || kind === "siblings");
}

function inputFor(
  item: ReviewItem,
  decision: Decision,
  side: number | undefined,
): Options<"settle"> {
  const kept = side === undefined ? undefined : item.sides[side % item.sides.length];
  const keep = item.kind === "siblings" ? kept?.uri : kept?.id;
  return {
    decision,
    reason: "because",
    ...(keep === undefined || item.sides.length < 2 ? {} : { keep }),
    ...(decision === "merge" ? { text: "what both agree on" } : {}),
  };
}

async function itemsOf(memory: Cortex): Promise<readonly ReviewItem[]> {
  const { items } = await memory.review({ kinds: QUESTIONS });
  return items;
}

/** Everything that can be read of memories and edges, but for the last entry that touched them. */
async function stateOf(memory: Cortex): Promise<unknown> {
  const { memories } = await memory.list({
    lifecycles: ["active", "archived", "tombstoned"],
    limit: 1000,
    order: "oldest",
  });
  const edges = await Promise.all(memories.map(({ id }) => memory.edgesOut(id)));
  const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1);
  return {
    memories: memories.map(untouched).sort(byId),
    edges: edges.flatMap((list) => list.edges.map(({ seq: _, ...edge }) => edge)).sort(byId),
    // What is open again has come last: the order is of its own.
    open: [...(await itemsOf(memory))].sort(byId),
  };
}

function untouched({ seq: _, head, ...memory }: Memory) {
  const { updatedAt: __, ...rest } = head;
  return { ...memory, head: rest };
}

/**
 * Settles, undoes, redoes and undoes again, and expects every leaf in its place each time. False when
 * nothing was settled.
 */
async function undoAndRedo(
  memory: Cortex,
  kv: Kv,
  settle: () => Promise<number | undefined>,
): Promise<boolean> {
  const [state, leaves] = [await stateOf(memory), await leavesOf(kv)];
  const seq = await settle();
  if (seq === undefined) return false;
  const settled = await leavesOf(kv);
  expect(settled).not.toEqual(leaves);
  const undone = await memory.revert(seq, { by: "somebody else" });
  const back = await leavesOf(kv);
  expect(changedLeaves(leaves, back)).toEqual([]);
  expect(back.memories).toBe(leaves.memories);
  // Edges that the settlement minted have leaves of their own; without them the tree is the same.
  if (settled.leaves.size === leaves.leaves.size) expect(back.edges).toBe(leaves.edges);
  expect(await stateOf(memory)).toEqual(state);
  const redone = await memory.revert(undone.seq);
  expect(await leavesOf(kv)).toEqual(settled);
  await memory.revert(redone.seq);
  expect(await leavesOf(kv)).toEqual(back);
  expect(await memory.rebuild({ verifyOnly: true })).toMatchObject({ ok: true, differences: [] });
  return true;
}

describe("settle followed by undo restores the same leaf", () => {
  for (const kind of QUESTIONS) {
    test.each(DECISIONS)(`${kind}, %s`, async (decision) => {
      for (const side of [undefined, 0, 1]) {
        const { store, kv } = await opened();
        await using own = store;
        const { memory } = own;
        await OPEN[kind](memory);
        const item = (await itemsOf(memory)).find((one) => one.kind === kind);
        if (item === undefined) throw new Error(`no item of kind ${kind} is open`);
        const input = inputFor(item, decision, side);
        if (isRefused(item, input)) {
          await expect(memory.settle(item.id, input)).rejects.toMatchObject({
            code: "ERR_INVALID",
          });
        } else {
          const settle = async () => (await memory.settle(item.id, input)).seq;
          expect(await undoAndRedo(memory, kv, settle)).toBe(true);
        }
      }
    });
  }
});

type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

/** One thing that happens before somebody settles. */
const event = fc.record({
  verb: fc.constantFrom("write", "write", "write", "update", "update", "link", "head", "hide"),
  type: fc.constantFrom("fact", "fact", "goal", "preference"),
  text: fc.constantFrom("lives in Porto", "lives in Rome", "likes tea", "naps at noon"),
  more: fc.constantFrom({}, {}, { slot: "home" }, { slot: "home" }, { status: "disputed" }),
  source: fc.constantFrom("user_input", "user_input", "agent", "extraction", "document"),
  based: fc.constantFrom({}, { basedOnVersion: 1 }, { basedOnVersion: 9 }),
  one: fc.nat(20),
  other: fc.nat(20),
});

/** What is decided about which open item, and whether it stands. */
const ruling = fc.record({
  item: fc.nat(10),
  decision: fc.constantFrom(...DECISIONS),
  side: fc.constantFrom(undefined, 0, 1),
  stands: fc.boolean(),
});

/** Runs a call that may be refused for the state it meets; anything else fails the test. */
async function unlessRefused<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isCortexError(error)) return undefined;
    throw error;
  }
}

async function happen(memory: Cortex, ids: string[], what: Drawn<typeof event>): Promise<void> {
  const { verb, type, text, source, more, based } = what;
  const [one = "", other = ""] = [what.one, what.other].map((at) => ids[at % ids.length]);
  if (verb === "write" || ids.length < 2) {
    const { id } = await memory.write({ type, text, source, ...more } as never);
    if (!ids.includes(id)) ids.push(id);
  } else if (verb === "update") await memory.update(one, { text, ...based });
  else if (verb === "link") await memory.addEdge(one, "contradicts", other, { reason: text });
  else if (verb === "head") await memory.updateHead(one, { importance: what.other % 10 });
  else await memory.tombstone(one, "hidden");
}

/** Settles one open item; what does not stand is undone. Says which kind of item was undone. */
async function rule(
  memory: Cortex,
  kv: Kv,
  { item: at, decision, side, stands }: Drawn<typeof ruling>,
): Promise<ReviewKind | undefined> {
  const items = await itemsOf(memory);
  const item = items[at % Math.max(1, items.length)];
  if (item === undefined) return undefined;
  const settle = async () => {
    const input = inputFor(item, decision, side);
    return (await unlessRefused(() => memory.settle(item.id, input)))?.seq;
  };
  if (!stands) return (await undoAndRedo(memory, kv, settle)) ? item.kind : undefined;
  await settle();
  return undefined;
}

test("in random stores, with forgets after it", async () => {
  console.log(`settle and undo: seed ${SEED}`);
  const met = new Set<ReviewKind>();
  const events = fc.array(event, { minLength: 4, maxLength: 14 });
  const rulings = fc.array(ruling, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(events, rulings, fc.nat(20), async (before, decisions, gone) => {
      const { store, kv } = await opened();
      await using own = store;
      const { memory } = own;
      await memory.configure({ conflictPolicy: "manual" });
      const ids: string[] = [];
      for (const what of before) await unlessRefused(() => happen(memory, ids, what));
      for (const decision of decisions) {
        const kind = await rule(memory, kv, decision);
        if (kind !== undefined) met.add(kind);
      }
      await memory.forget(ids[gone % ids.length] ?? "", "asked");
      // Folding everything and then the forget is folding what the forget left.
      const rebuilt = await memory.rebuild({ verifyOnly: true });
      expect(rebuilt).toMatchObject({ ok: true, differences: [] });
    }),
    { seed: SEED, numRuns: 30 },
  );
  expect([...met].sort()).toEqual([
    "contradiction",
    "disputed",
    "provisional",
    "rival",
    "siblings",
  ]);
});
