/**
 * How often a write asks the store. Over a network every round of reads is a round trip, so the
 * number of rounds is a promise: it does not depend on how much a batch holds, nor on whether the
 * writer has been at work before.
 *
 * A round is everything that is asked at one moment: a `getMany` and a `ranges` on their way together
 * are one. Three suffice for a memory that is named by its id: its row, its records, the row of what
 * it said. Whoever is named by something else (an external id, the slot) has to be found first, which
 * is a fourth; so are the words of more than one rival version.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../src/index.js";
import type { Kv, KvSnapshot } from "../src/kv/kv.js";
import { countingKv, type KvCounts, openTestStore } from "../src/testing/index.js";

/** What was asked since the last time. */
interface Taken extends KvCounts {
  readonly rounds: number;
}

/** A store that counts rounds. */
function countingRounds(inner: Kv): { readonly kv: Kv; readonly take: () => Taken } {
  const kv = countingKv(inner);
  let rounds = 0;
  let open = 0;
  const inRound = async <T>(read: () => Promise<T>): Promise<T> => {
    if (open === 0) rounds += 1;
    open += 1;
    try {
      return await read();
    } finally {
      open -= 1;
    }
  };
  const snapshot = async (): Promise<KvSnapshot> => {
    const reads = await kv.snapshot();
    return {
      getMany: (keys) => inRound(() => reads.getMany(keys)),
      ranges: (ranges) => inRound(() => reads.ranges(ranges)),
      close: () => reads.close(),
    };
  };
  const take = () => {
    const taken = { rounds, ...kv.counts() };
    rounds = 0;
    kv.reset();
    return taken;
  };
  return { kv: { ...kv, snapshot }, take };
}

interface Ids {
  readonly facts: readonly string[];
  readonly goals: readonly string[];
  readonly edge: string;
}

/** Facts f0…, goals g0… in slots s0…, some links, a configuration, a session. */
async function fill(memory: Cortex): Promise<Ids> {
  const facts = await memory.batch(
    Array.from({ length: 600 }, (_, at) => ({
      write: { type: "fact", text: `fact ${at}`, externalId: `f${at}`, tags: ["t", `t${at % 5}`] },
    })),
  );
  const goals = await memory.batch(
    Array.from({ length: 150 }, (_, at) => ({
      write: { type: "goal", text: `goal ${at}`, externalId: `g${at}`, slot: `s${at}` },
    })),
  );
  const { id } = await memory.addEdge("f590", "uses", "f591");
  await memory.addEdge("f592", "uses", "f593");
  await memory.addEdge("f594", "own kind", "f595");
  await memory.removeEdge("f592", "uses", "f593");
  await memory.configure({ conflictPolicy: "manual" });
  await memory.remember([{ role: "user", content: "hello" }], { session: "s" });
  await memory.tombstone("f580", "r");
  await memory.setGoalState("g100", {} as never);
  const idsOf = (results: typeof facts.results) =>
    results.map((result) => (result.ok ? result.id : ""));
  return { facts: idsOf(facts.results), goals: idsOf(goals.results), edge: id };
}

type Op = (memory: Cortex, ids: Ids, size: number) => Promise<unknown>;
type Row = readonly [name: string, rounds: number, op: Op];

const f = (ids: Ids, at: number) => ids.facts[at] ?? "";
const g = (ids: Ids, at: number) => ids.goals[at] ?? "";

/** Every verb that writes one thing, and how many rounds it may take. */
const SINGLE: readonly Row[] = [
  ["write", 3, (m) => m.write({ type: "note", text: "new" })],
  ["write a new fact", 3, (m) => m.write({ type: "fact", text: "something new", tags: ["t"] })],
  ["write under a key", 3, (m) => m.write({ type: "note", text: "n", idempotencyKey: "k" })],
  ["write under a key again", 3, (m) => m.write({ type: "note", text: "n", idempotencyKey: "k" })],
  ["restate", 3, (m) => m.write({ type: "fact", text: "FACT 3." })],
  ["write into a new slot", 3, (m) => m.write({ type: "fact", text: "x", slot: "new" })],
  ["change a slot", 4, (m) => m.write({ type: "fact", text: "y", slot: "s1" })],
  [
    "supersede by id",
    3,
    (m, ids) => m.write({ type: "fact", text: "z1", supersedes: [f(ids, 1)] }),
  ],
  ["supersede by name", 4, (m) => m.write({ type: "fact", text: "z2", supersedes: ["f2"] })],
  ["correct", 3, (m, ids) => m.write({ type: "fact", text: "z3", corrects: f(ids, 4) })],
  ["update", 3, (m, ids) => m.update(f(ids, 10), { text: "u1" })],
  ["update again", 3, (m, ids) => m.update(f(ids, 10), { text: "u2" })],
  ["update by name", 4, (m) => m.update("f11", { text: "u3" })],
  ["update as a rival", 3, (m, ids) => m.update(f(ids, 10), { text: "u4", basedOnVersion: 1 })],
  [
    "update as a rival of many",
    4,
    (m, ids) => m.update(f(ids, 10), { text: "u5", basedOnVersion: 1 }),
  ],
  ["update the head", 2, (m, ids) => m.updateHead(f(ids, 12), { tags: ["other"] })],
  ["update the head again", 2, (m, ids) => m.updateHead(f(ids, 12), { tags: [] })],
  ["update after the head", 3, (m, ids) => m.update(f(ids, 12), { text: "u6" })],
  ["tombstone", 3, (m, ids) => m.tombstone(f(ids, 12), "r")],
  ["restore", 3, (m, ids) => m.restore(f(ids, 12))],
  ["tombstone by name", 4, (m) => m.tombstone("f13", "r")],
  ["tombstone in a slot", 3, (m, ids) => m.tombstone(g(ids, 10), "r")],
  ["restore into a slot", 3, (m, ids) => m.restore(g(ids, 10))],
  ["restore what is there", 3, (m, ids) => m.restore(g(ids, 10))],
  ["link", 3, (m, ids) => m.addEdge(f(ids, 20), "uses", f(ids, 30))],
  ["link again", 3, (m, ids) => m.addEdge(f(ids, 20), "uses", f(ids, 30))],
  ["link by name", 3, (m) => m.addEdge("f21", "uses", "f31")],
  ["link by a new kind", 3, (m, ids) => m.addEdge(f(ids, 22), "a new kind", f(ids, 32))],
  ["link by a kind of one's own", 3, (m) => m.addEdge("f23", "own kind", "f33")],
  ["revive", 3, (m) => m.addEdge("f592", "uses", "f593")],
  ["unlink", 3, (m, ids) => m.removeEdge(f(ids, 20), "uses", f(ids, 30))],
  ["unlink by name", 3, (m) => m.removeEdge("f21", "uses", "f31")],
  ["unlink by id", 3, (m, ids) => m.removeEdgeById(ids.edge)],
  ["set a goal's state", 3, (m, ids) => m.setGoalState(g(ids, 20), {} as never)],
  ["set a goal's state by name", 3, (m) => m.setGoalState("g21", {} as never)],
  ["delete a goal's state", 3, (m) => m.deleteGoalState("g100")],
  ["configure", 3, (m) => m.configure({ conflictPolicy: "lww" })],
];

function times<T>(size: number, make: (at: number) => T): T[] {
  return Array.from({ length: size }, (_, at) => make(at));
}

let serial = 0;
/** Text nobody has written yet. */
const fresh = () => `fresh ${++serial}`;
const turns = (size: number, from?: number) =>
  times(size, (at) => ({
    role: "user" as const,
    content: from === undefined ? fresh() : `turn ${from + at}`,
    ...(from === undefined ? {} : { index: from + at }),
  }));

/** Every verb that takes many things, and how many rounds it may take for any number of them. */
const MANY: readonly Row[] = [
  // Two and more are compared with what was said last.
  ["remember", 4, (m, _, size) => m.remember(turns(size + 1), { session: "s" })],
  ["remember in places", 3, (m, _, size) => m.remember(turns(size, 1000), { session: "s" })],
  ["remember late", 3, (m, _, size) => m.remember(turns(size, 100), { session: "s" })],
  ["remember again", 4, (m, _, size) => m.remember(turns(size, 100), { session: "s" })],
  [
    "batch: writes",
    3,
    (m, _, size) => m.batch(times(size, () => ({ write: { type: "fact", text: fresh() } }))),
  ],
  [
    "batch: restatements",
    3,
    (m, _, size) =>
      m.batch(times(size, (at) => ({ write: { type: "fact", text: `fact ${100 + at}` } }))),
  ],
  [
    "batch: slots",
    4,
    (m, _, size) =>
      m.batch(
        times(size, (at) => ({ write: { type: "fact", text: fresh(), slot: `s${30 + at}` } })),
      ),
  ],
  [
    "batch: replacements",
    3,
    (m, ids, size) =>
      m.batch(
        times(size, (at) => ({
          write: { type: "fact", text: fresh(), supersedes: [f(ids, 500 + at)] },
        })),
      ),
  ],
  [
    "batch: updates",
    3,
    (m, ids, size) =>
      m.batch(times(size, (at) => ({ update: { id: f(ids, 150 + at), text: fresh() } }))),
  ],
  [
    "batch: updates by name",
    4,
    (m, _, size) =>
      m.batch(times(size, (at) => ({ update: { id: `f${200 + at}`, text: fresh() } }))),
  ],
  [
    "batch: links",
    3,
    (m, ids, size) =>
      m.batch(
        times(size, (at) => ({
          link: { from: f(ids, 250 + at), kind: "uses", to: f(ids, 350 + at) },
        })),
      ),
  ],
  [
    "batch: links by name",
    3,
    (m, _, size) =>
      m.batch(
        times(size, (at) => ({ link: { from: `f${300 + at}`, kind: "uses", to: `f${400 + at}` } })),
      ),
  ],
  [
    "batch: links by new kinds",
    3,
    (m, ids, size) =>
      m.batch(
        times(size, (at) => ({
          link: { from: f(ids, 250 + at), kind: fresh(), to: f(ids, 350 + at) },
        })),
      ),
  ],
  [
    "batch: a graph by refs",
    3,
    (m, _, size) =>
      m.batch([
        { write: { type: "note", text: "root" }, ref: "root" },
        ...times(size, (at) => ({
          write: { type: "note", text: `leaf ${at}` } as const,
          ref: `${at}`,
        })),
        ...times(size, (at) => ({
          link: { from: { ref: `${at}` }, kind: "part_of", to: { ref: "root" } },
        })),
      ]),
  ],
  [
    "batch: best effort",
    3,
    (m, _, size) =>
      m.batch(
        times(size, (at) => ({ update: { id: `missing ${at}`, text: "t" } })),
        { atomic: false },
      ),
  ],
];

async function measure(
  rows: readonly Row[],
  how: { readonly cold: boolean; readonly size: number },
): Promise<ReadonlyMap<string, number>> {
  let take: () => Taken = () => {
    throw new Error("no store is open");
  };
  const wrap = (inner: Kv) => {
    const counting = countingRounds(inner);
    take = counting.take;
    return counting.kv;
  };
  await using store = await openTestStore({ wrap, check: false });
  const ids = await fill(store.memory);
  const found = new Map<string, number>();
  for (const [name, , op] of rows) {
    const memory = how.cold ? await store.reopen() : store.memory;
    // What opening asked is not the operation's.
    take();
    await op(memory, ids, how.size);
    const taken = take();
    expect(taken, name).toMatchObject({ snapshots: 1, openSnapshots: 0 });
    expect(taken.batches, name).toBeGreaterThanOrEqual(taken.rounds);
    found.set(name, taken.rounds);
  }
  return found;
}

describe.each([
  ["warm", false],
  ["cold", true],
] as const)("%s", (_, cold) => {
  test("one thing at a time", async () => {
    const found = await measure(SINGLE, { cold, size: 1 });
    for (const [name, limit] of SINGLE) {
      expect.soft(found.get(name), name).toBeGreaterThan(0);
      expect.soft(found.get(name), name).toBeLessThanOrEqual(limit);
    }
  });

  test("many things at once cost no more rounds than one", async () => {
    const one = await measure(MANY, { cold, size: 1 });
    const many = await measure(MANY, { cold, size: 40 });
    for (const [name, limit] of MANY) {
      expect.soft(many.get(name), name).toBeLessThanOrEqual(limit);
      expect.soft(many.get(name), name).toBeLessThanOrEqual(Math.max(one.get(name) ?? 0, 2));
    }
  });
});
