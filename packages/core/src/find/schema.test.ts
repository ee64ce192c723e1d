/**
 * What a graph says it is made of: the same as counting by hand, for the owner and for a guest, after
 * any history, whether counted afresh or kept from call to call.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Schema } from "../contract/find.js";
import type { Memory } from "../contract/shapes.js";
import type { Cortex } from "../cortex.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { LIMITS } from "../limits.js";
import { open } from "../open.js";
import type { Lifecycle } from "../records/types.js";
import { type Access, GUEST, OWNER } from "../scope/access.js";
import {
  type CountingKv,
  countingKv,
  openTestStore,
  refusalOf,
  seededRandom,
} from "../testing/index.js";

const STATES: readonly Exclude<Lifecycle, "erased">[] = ["active", "archived", "tombstoned"];

async function all(memory: Cortex, access: Access): Promise<Memory[]> {
  const limit = LIMITS.listLimit;
  return [...(await memory.list({ lifecycles: STATES, limit, access })).memories];
}

function ranked(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [...counts].sort(([a, m], [b, n]) => n - m || order(a, b));
}

/** Every count by hand, from lists of whole memories. */
async function oracle(memory: Cortex, access: Access): Promise<Partial<Schema>> {
  const seen = await all(memory, access);
  const active = seen.filter(({ head }) => head.lifecycle === "active");
  const edges = await Promise.all(
    seen.map(({ id }) => memory.edgesOut(id, { access, limit: LIMITS.listLimit })),
  );
  const tags = active.flatMap(({ head }) => head.tags);
  const split = tags.flatMap((tag) => {
    const at = tag.indexOf(":");
    return at > 0 && at < tag.length - 1 ? [[tag.slice(0, at), tag.slice(at + 1)] as const] : [];
  });
  const named = <N extends string>(name: N, words: readonly string[]) =>
    ranked(words).map(([word, count]) => ({ [name]: word, count }) as never);
  return {
    nodeCount: active.length,
    types: named(
      "type",
      active.map(({ type }) => type),
    ),
    tags: named("tag", tags),
    tagPrefixes: ranked(split.map(([prefix]) => prefix)).map(([prefix, count]) => ({
      prefix,
      count,
      values: ranked(split.filter(([p]) => p === prefix).map(([, value]) => value))
        .slice(0, 10)
        .map(([value]) => value),
    })),
    slots: named(
      "slot",
      active.flatMap(({ head }) => head.slot ?? []),
    ),
    edgeKinds: named("kind", [
      ...new Map(edges.flatMap((list) => list.edges.map(({ id, kind }) => [id, kind]))).values(),
    ]),
    kinds: ranked(active.flatMap(({ head }) => head.kind ?? [])).map(([kind, count]) => ({
      kind,
      count,
      examples: expect.any(Array) as never,
    })),
  };
}

const step = fc.record({
  act: fc.constantFrom(
    "write",
    "write",
    "write",
    "slot",
    "tags",
    "visibility",
    "kind",
    "text",
    "hide",
    "restore",
    "link",
    "link",
    "own",
    "unlink",
    "unlink",
    "batch",
    "forget",
    "look",
    "look",
  ),
  a: fc.nat(30),
  b: fc.nat(30),
});
type Step = { readonly act: string; readonly a: number; readonly b: number };

const TAGS = ["plain", "topic:a", "topic:b", "who:ada", ":odd", "odd:", "a:b:c", "Ünï:😀"];
const tagsFor = (n: number): string[] => TAGS.filter((_, at) => (n >> (at % 5)) % 2 === 1);

/** What a step may meet that was drawn without looking. */
const REFUSALS = [
  "ERR_TOMBSTONED",
  "ERR_ERASED",
  "ERR_SELF_EDGE",
  "ERR_UNKNOWN_ENDPOINT",
  "ERR_CONFLICT",
  "ERR_NOT_FOUND",
];

/** Does one step; what the store refuses, for instance a second restore, is no step. */
async function act(memory: Cortex, ids: string[], { act: what, a, b }: Step): Promise<void> {
  // Few memories, so that much happens to each.
  const pool = ids.slice(-4);
  const [one, two] = [pool[a % 4], pool[b % 4]];
  const visibility = b % 2 === 0 ? "public" : "private";
  const fresh = { text: `says ${a} ${b}`, tags: tagsFor(a), visibility } as const;
  if (what === "write") {
    const kind = b % 3 === 0 ? {} : { kind: `k${a % 4}` };
    ids.push((await memory.write({ type: "note", ...fresh, ...kind })).id);
  } else if (what === "slot") {
    ids.push((await memory.write({ type: "fact", slot: `slot ${a % 3}`, ...fresh })).id);
  } else if (what === "batch") {
    const { results } = await memory.batch([
      { write: { type: "goal", ...fresh }, ref: "x" },
      { write: { type: "belief", ...fresh, kind: "k1" }, ref: "y" },
      { link: { from: { ref: "x" }, kind: "uses", to: { ref: "y" } } },
    ]);
    for (const result of results) if (result.ok && "uri" in result) ids.push(String(result.id));
  } else if (one !== undefined && two !== undefined) {
    if (what === "tags") await memory.updateHead(one, { tags: tagsFor(b) });
    if (what === "visibility") await memory.updateHead(one, { visibility });
    if (what === "kind") await memory.updateHead(one, { kind: `k${b % 4}` } as never);
    if (what === "text") await memory.update(one, { text: `now says ${a} ${b}` });
    if (what === "hide") await memory.tombstone(one, "r");
    if (what === "restore") await memory.restore(one);
    if (what === "link") await memory.link(one, a > 15 ? "uses" : "blocks", two);
    if (what === "own") await memory.link(one, `own ${b % 2}`, two);
    if (what === "unlink") await memory.removeEdge(one, a > 15 ? "uses" : "blocks", two);
    if (what === "forget") await memory.forget(one, "asked");
  }
}

describe("counts", () => {
  test("kept, counted afresh and counted by hand are the same after any history", async () => {
    const seed = 20_300_101;
    console.log(`fast-check seed ${seed}`);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const store = new MemoryStore();
        const random = seededRandom(7).bytes;
        const openAgain = () => open("memory:", { kv: openMemoryKv(store), random });
        await using memory = await openAgain();
        const ids: string[] = [];
        for (const one of [...steps, { act: "look", a: 0, b: 0 }]) {
          await act(memory, ids, one).catch((error: { readonly code?: string }) => {
            if (!REFUSALS.includes(error.code ?? "")) throw error;
          });
          if (one.act !== "look") continue;
          await using fresh = await openAgain();
          for (const access of [OWNER, GUEST]) {
            const schema = await memory.describeSchema({ access });
            expect(schema).toEqual(await fresh.describeSchema({ access }));
            expect(schema).toMatchObject(await oracle(fresh, access));
          }
          expect((await memory.describeSchema()).nodeCount).toBe(
            (await memory.stats()).memories.active,
          );
        }
      }),
      { seed, numRuns: 60 },
    );
  });

  test("the next count reads the entries since, and an unchanged journal nothing at all", async () => {
    const counters: CountingKv[] = [];
    await using store = await openTestStore({
      check: false,
      wrap: (kv) => {
        const counting = countingKv(kv);
        counters.push(counting);
        return counting;
      },
    });
    const { memory } = store;
    const kv = counters[0] as CountingKv;
    await memory.batch(
      Array.from({ length: 3000 }, (_, at) => ({
        write: { type: "note", text: `n ${at}`, tags: [`t${at % 7}`], kind: "k" } as const,
      })),
    );
    const rowsOf = async (call: () => Promise<unknown>): Promise<number> => {
      kv.reset();
      await call();
      return kv.counts().rows;
    };
    expect(await rowsOf(() => memory.listTags())).toBeGreaterThanOrEqual(9000);
    expect(await rowsOf(() => memory.listTags())).toBe(0);
    const { id } = await memory.write({ type: "note", text: "one more", tags: ["t0"] });
    expect(await rowsOf(() => memory.listTags())).toBe(1);
    expect((await memory.listTags({ prefix: "t0" })).tags).toEqual([{ tag: "t0", count: 430 }]);
    await memory.tombstone(id, "r");
    expect(await rowsOf(() => memory.listTags())).toBeLessThan(10);
    await memory.forget(id, "asked");
    expect(await rowsOf(() => memory.listTags())).toBeGreaterThanOrEqual(9000);
    expect((await memory.listTags({ prefix: "t0" })).tags).toEqual([{ tag: "t0", count: 429 }]);
  });

  test("calls at the same time get whole answers", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        if (at % 2 === 0) await memory.write({ type: "note", text: `n ${at}`, tags: ["t"] });
        const { nodeCount, tags } = await memory.describeSchema();
        return nodeCount === (tags[0]?.count ?? 0);
      }),
    );
    expect(answers).toEqual(Array(40).fill(true));
  });
});

describe("what a guest counts", () => {
  test("live edges between public memories; a tombstoned one takes its edges along", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const write = async (text: string, visibility: "public" | "private") =>
      (await memory.write({ type: "note", text, tags: [text], visibility })).id;
    const a = await write("a", "public");
    const b = await write("b", "public");
    const hidden = await write("hidden", "private");
    await memory.link(a, "uses", b);
    await memory.link(b, "uses", a);
    await memory.link(a, "blocks", b);
    await memory.link(a, "uses", hidden);
    await memory.link(hidden, "refines", b);
    await memory.removeEdge(a, "blocks", b);
    const before = await memory.describeSchema({ access: GUEST });
    await memory.tombstone(b, "r");
    const seen = await memory.describeSchema({ access: GUEST });
    expect(before.edgeKinds).toEqual([{ kind: "uses", count: 2 }]);
    expect(seen.edgeKinds).toEqual([]);
    expect([seen.nodeCount, seen.tags, seen.types]).toEqual([
      1,
      [{ tag: "a", count: 1 }],
      [{ type: "note", count: 1 }],
    ]);
    expect((await memory.listTags({ access: GUEST })).tags).toEqual([{ tag: "a", count: 1 }]);
    expect((await memory.describeSchema()).edgeKinds).toEqual([
      { kind: "uses", count: 3 },
      { kind: "refines", count: 1 },
    ]);
  });
});

describe("shape", () => {
  test("examples: the summary, else the text; three, newest first, cut between characters", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const write = (text: string, summary?: string) =>
      memory.write({
        type: "note",
        kind: "k",
        text,
        visibility: text.startsWith("secret") ? "private" : "public",
        ...(summary === undefined ? {} : { data: { content: text, summary } }),
      });
    await write("first");
    await write("second", "in short");
    await write("é".repeat(100));
    await write("secret");
    const owner = await memory.describeSchema();
    expect(owner.kinds).toEqual([
      { kind: "k", count: 4, examples: ["secret", `${"é".repeat(80)}…`, "in short"] },
    ]);
    const guest = await memory.describeSchema({ access: GUEST });
    expect(guest.kinds).toEqual([
      { kind: "k", count: 3, examples: [`${"é".repeat(80)}…`, "in short", "first"] },
    ]);
    expect(JSON.stringify(guest)).not.toContain("secret");
  });

  test("long lists are cut, and what is left out is told", async () => {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    await memory.batch(
      Array.from({ length: 120 }, (_, at) => ({
        write: { type: "fact", slot: `s${at}`, text: `v ${at}`, tags: [`t:${at}`] } as const,
      })),
    );
    const schema = await memory.describeSchema();
    expect(schema.tags).toHaveLength(50);
    expect(schema.slots).toHaveLength(100);
    expect(schema.distinct).toEqual({ kinds: 0, tagPrefixes: 1, tags: 120, slots: 120 });
    expect(schema.tagPrefixes).toMatchObject([{ prefix: "t", count: 120 }]);
    expect(schema.tagPrefixes[0]?.values).toHaveLength(10);
    expect((await memory.listTags()).tags).toHaveLength(100);
    expect((await memory.listTags({ limit: 500 })).tags).toHaveLength(120);
  });

  test("an empty graph has nothing, and names itself", async () => {
    await using store = await openTestStore();
    expect(await store.memory.describeSchema()).toEqual({
      graphId: "ada",
      nodeCount: 0,
      types: [],
      kinds: [],
      tagPrefixes: [],
      tags: [],
      slots: [],
      edgeKinds: [],
      distinct: { kinds: 0, tagPrefixes: 0, tags: 0, slots: 0 },
      seq: 0,
    });
  });

  test("a prefix tells capitals from small letters, and takes signs as they are", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const tags = ["Topic:a", "topic:b", "100%", "100_", "100\\"];
    await memory.write({ type: "note", text: "n", tags });
    const list = async (prefix: string) => (await memory.listTags({ prefix })).tags;
    expect(await list("topic")).toEqual([{ tag: "topic:b", count: 1 }]);
    expect(await list("T")).toEqual([{ tag: "Topic:a", count: 1 }]);
    expect(await list("100%")).toEqual([{ tag: "100%", count: 1 }]);
    expect(await list("100_")).toEqual([{ tag: "100_", count: 1 }]);
    expect(await list("1__")).toEqual([]);
    expect(await list("")).toHaveLength(5);
  });

  test("what is no option is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const refused = async (call: () => Promise<unknown>) => (await refusalOf(memory, call)).code;
    expect(await refused(() => memory.listTags({ prefix: 5 } as never))).toBe("ERR_INVALID");
    expect(await refused(() => memory.listTags({ prefix: "\ud800" }))).toBe("ERR_ILL_FORMED");
    expect(await refused(() => memory.listTags({ limit: 0 }))).toBe("ERR_INVALID");
    expect(await refused(() => memory.listTags({ tag: "x" } as never))).toBe("ERR_UNKNOWN_FIELD");
    expect(await refused(() => memory.describeSchema({ asOf: 1 } as never))).toBe(
      "ERR_UNKNOWN_FIELD",
    );
  });
});

test("open versions count each by itself when asked to", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  await memory.configure({ conflictPolicy: "manual" });
  for (const kind of ["old", "left", "right"]) {
    const input = {
      type: "note",
      text: `a ${kind} one`,
      externalId: "a",
      kind,
      tags: [kind],
    } as const;
    await memory.write(input, { upsert: { basedOnVersion: 1 } });
  }
  expect(await memory.describeSchema()).toMatchObject({ nodeCount: 1, kinds: [{ kind: "right" }] });
  expect(await memory.describeSchema({ siblings: true })).toMatchObject({
    nodeCount: 2,
    kinds: [
      { kind: "left", count: 1, examples: [] },
      { kind: "right", count: 1, examples: [] },
    ],
  });
  const tagsOf = async (siblings: boolean) =>
    (await memory.listTags({ siblings })).tags.map(({ tag }) => tag);
  expect([await tagsOf(false), await tagsOf(true)]).toEqual([["right"], ["left", "right"]]);
});
