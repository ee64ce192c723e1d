/** Adding, removing and reading edges: identity, names, order and the past. */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { LIMITS } from "../limits.js";
import { openTestStore, refusalOf } from "../testing/index.js";

/** Notes named a, b, c, …; the names are external ids too. */
async function notes(memory: Cortex, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, at) => String.fromCharCode(97 + at));
  const { results } = await memory.batch(
    names.map((name) => ({ write: { type: "note", text: name, externalId: name } })),
  );
  return results.map((result) => (result.ok ? result.id : ""));
}

describe("adding and removing", () => {
  test("an edge carries what it was given and is seen from both ends", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const added = await memory.addEdge(a, "uses", b, {
      weight: 0.5,
      reason: "needs it daily",
      strength: 4,
      ordinal: -3,
      metadata: { where: ["desk", 2] },
      source: "observed",
      validFrom: 10,
      validTo: Date.UTC(2090, 0, 1),
      by: "bob",
    });
    expect(added).toMatchObject({ changed: true, seq: 3 });
    const edge = await memory.getEdge(a, "uses", b);
    expect(edge).toEqual(added.edge);
    expect(edge).toMatchObject({
      id: added.id,
      from: a,
      kind: "uses",
      to: b,
      n: 0,
      weight: 0.5,
      reason: "needs it daily",
      strength: 4,
      ordinal: -3,
      metadata: { where: ["desk", 2] },
      source: "observed",
      validFrom: 10,
      validTo: Date.UTC(2090, 0, 1),
      createdBy: "bob",
      seq: 3,
    });
    expect((await memory.edgesOut(a)).edges).toEqual([edge]);
    expect((await memory.edgesIn(b)).edges).toEqual([edge]);
    expect((await memory.edgesIn(a)).edges).toEqual([]);
    expect(await memory.getEdge(b, "uses", a)).toBeUndefined();
    expect((await memory.stats()).edges).toEqual({ live: 1, removed: 0, openKinds: 0 });
  });

  test("adding a live edge changes nothing that it says", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const first = await memory.addEdge(a, "uses", b, { weight: 1, reason: "r", strength: 2 });
    const more = { weight: 2, reason: "another", strength: 5, ordinal: 3 };
    const again = await memory.link(a, "uses", b, more);
    expect(again).toMatchObject({ id: first.id, changed: false, edge: first.edge });
    expect((await memory.stats()).seq).toBe(first.seq);
  });

  test("removal is soft, revival keeps the id and takes the new fields", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const first = await memory.addEdge(a, "uses", b, { weight: 1, reason: "old" });
    const removed = await memory.removeEdge(a, "uses", b, { reason: "sold", by: "bob" });
    expect(removed).toMatchObject({ changed: true, seq: first.seq + 1 });
    const gone = await memory.getEdge(a, "uses", b);
    expect(gone).toMatchObject({ id: first.id, reason: "old", weight: 1 });
    expect(gone?.tombstone).toMatchObject({ reason: "sold", by: "bob" });
    expect((await memory.edgesOut(a)).edges).toEqual([]);
    expect((await memory.edgesIn(b)).edges).toEqual([]);
    expect((await memory.edgesOut(a, { includeTombstoned: true })).edges).toEqual([gone]);
    expect((await memory.stats()).edges).toMatchObject({ live: 0, removed: 1 });
    const again = await memory.removeEdge(a, "uses", b);
    expect(again).toMatchObject({ changed: false, edge: gone });
    const back = await memory.addEdge(a, "uses", b, { weight: 3 });
    expect(back).toMatchObject({ id: first.id, changed: true });
    expect(back.edge).not.toHaveProperty("reason");
    expect(back.edge).not.toHaveProperty("tombstone");
    expect((await memory.edgesOut(a)).edges).toEqual([back.edge]);
    expect((await memory.stats()).edges).toMatchObject({ live: 1, removed: 0 });
  });

  test("removing what is not there changes nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const { seq } = await memory.stats();
    expect(await memory.removeEdge(a, "uses", b)).toEqual({ changed: false, seq });
    expect(await memory.removeEdge(a, "never heard of", b)).toEqual({ changed: false, seq });
    expect(await memory.removeEdge(a, "uses", "nobody")).toEqual({ changed: false, seq });
    expect(await memory.getEdge(a, "uses", "nobody")).toBeUndefined();
    expect(await memory.getEdge(a, "never heard of", b)).toBeUndefined();
  });

  test("by id", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const { id } = await memory.addEdge(a, "likes", b);
    expect(await memory.removeEdgeById(id, { reason: "r" })).toMatchObject({
      changed: true,
      edge: { tombstone: { reason: "r" } },
    });
    expect((await memory.removeEdgeById(id)).changed).toBe(false);
    expect(await refusalOf(memory, () => memory.removeEdgeById(a))).toMatchObject({
      code: "ERR_NOT_FOUND",
    });
    expect(await refusalOf(memory, () => memory.removeEdgeById("x"))).toMatchObject({
      code: "ERR_BAD_ID",
    });
  });

  test("an edge to itself, and ends nobody knows, are refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const nobody = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (const to of [a, "a", `cortex://ada/Note/${a}#1`]) {
      expect(await refusalOf(memory, () => memory.addEdge(a, "uses", to))).toMatchObject({
        code: "ERR_SELF_EDGE",
        details: { field: "to" },
      });
    }
    for (const [from, to, field] of [
      [a, nobody, "to"],
      [nobody, b, "from"],
      ["zz", b, "from"],
    ] as const) {
      const error = await refusalOf(memory, () => memory.addEdge(from, "uses", to));
      expect(error).toMatchObject({ code: "ERR_UNKNOWN_ENDPOINT", details: { field } });
      expect(error.message).toMatch(`${field}: expected`);
    }
    const swapped = await refusalOf(memory, () => memory.addEdge(a, "causes", nobody));
    expect(swapped.details.field).toBe("to");
  });

  test("both ends may be hidden or archived", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    await memory.tombstone(a, "r");
    expect((await memory.addEdge(a, "uses", b)).changed).toBe(true);
  });
});

describe("kinds", () => {
  test("an inverse name is the same edge with its ends swapped", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const { edge } = await memory.addEdge(a, "causes", b);
    expect(edge).toMatchObject({ kind: "caused_by", from: b, to: a });
    expect((await memory.addEdge(b, "caused_by", a)).changed).toBe(false);
    expect(await memory.getEdge(a, "causes", b)).toEqual(edge);
    expect(await memory.getEdge(a, "caused_by", b)).toBeUndefined();
    expect((await memory.edgesOut(a, { kinds: ["causes"] })).edges).toEqual([edge]);
    expect((await memory.edgesOut(a, { kinds: ["caused_by"] })).edges).toEqual([]);
    expect((await memory.edgesOut(b, { kinds: ["caused_by"] })).edges).toEqual([edge]);
    expect((await memory.edgesIn(b, { kinds: ["causes"] })).edges).toEqual([edge]);
    const walked = await memory.traverse(a, { kinds: ["causes"] });
    expect(walked.hits.map(({ id }) => id)).toEqual([b]);
    expect((await memory.traverse(b, { kinds: ["causes"] })).hits).toEqual([]);
    expect((await memory.removeEdge(a, "causes", b)).changed).toBe(true);
    const follows = await memory.addEdge(a, "follows", b);
    expect(follows.edge).toMatchObject({ kind: "precedes", from: b, to: a });
  });

  test("spellings of a kind are one kind, built in or one's own", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    for (const spellings of [
      ["related to", "related_to", "Related-To", " RELATED TO "],
      ["works on", "works_on", "Works-On!"],
      ["reported by", "reported_by", "Reported By"],
    ]) {
      const [first = "", ...others] = spellings;
      const { edge } = await memory.addEdge(a, first, b);
      expect(edge.kind).toBe(spellings[1]);
      for (const other of others) {
        expect(await memory.addEdge(a, other, b)).toMatchObject({ id: edge.id, changed: false });
        expect((await memory.getEdge(a, other, b))?.id).toBe(edge.id);
        for (const kinds of [[other]]) {
          expect((await memory.edgesOut(a, { kinds })).edges).toEqual([edge]);
          expect((await memory.traverse(a, { kinds })).hits).toHaveLength(1);
          expect(await memory.linksFrom(a, { kinds })).toHaveLength(1);
          const follow = { kinds };
          expect((await memory.find({ from: a, follow, limit: 9 })).hits).toHaveLength(1);
        }
      }
      expect((await memory.removeEdge(a, others[0] ?? "", b)).changed).toBe(true);
    }
    expect((await memory.stats()).edges).toEqual({ live: 0, removed: 3, openKinds: 1 });
  });

  test("a kind of one's own is registered once and outlives the process", async () => {
    await using store = await openTestStore({ backend: "lmdb" });
    const { memory } = store;
    const [a = "", b = "", c = ""] = await notes(memory, 3);
    const before = (await memory.stats()).entries;
    await memory.addEdge(a, "mentors: é", b);
    await memory.addEdge(b, "mentors: é", c);
    await memory.addEdge(a, "Mentors: é", c);
    const { entries } = await memory.log({ from: before });
    expect(entries.map(({ kind }) => kind)).toEqual([
      "register_edge_kind",
      "add_edge",
      "add_edge",
      "add_edge",
    ]);
    const again = await store.reopen();
    expect((await again.stats()).edges).toMatchObject({ live: 3, openKinds: 1 });
    expect(await again.getEdge(a, "mentors: é", b)).toMatchObject({ kind: "mentors_é" });
    expect((await again.edgesOut(a, { kinds: ["mentors: é"] })).edges).toHaveLength(2);
    expect((await again.addEdge(b, "Mentors: é", a)).changed).toBe(true);
    expect((await again.stats()).edges.openKinds).toBe(1);
    expect(await again.linksFrom(b)).toMatchObject([
      { kind: "mentors_é", group: "open" },
      { kind: "mentors_é", group: "open" },
    ]);
  });

  test("kinds that only the store mints, and names that deceive, are refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const bad = ["transition", "tombstones", "", "  ", "Transition", "x\ny", 5, null];
    for (const kind of [...bad, "k".repeat(LIMITS.edgeKindBytes + 1)]) {
      const error = await refusalOf(memory, () => memory.addEdge(a, kind as string, b));
      expect(error).toMatchObject({ code: "ERR_EDGE_KIND", details: { field: "kind" } });
    }
    expect(await refusalOf(memory, () => memory.addEdge(a, "\ud800", b))).toMatchObject({
      code: "ERR_ILL_FORMED",
    });
  });

  test("a graph has a thousand kinds of its own and no more", async () => {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    await memory.batch(
      Array.from({ length: LIMITS.edgeKinds }, (_, at) => ({
        link: { from: a, kind: `kind ${at}`, to: b },
      })),
    );
    const error = await refusalOf(memory, () => memory.addEdge(a, "one more", b));
    expect(error.code).toBe("ERR_EDGE_KIND");
    expect((await memory.addEdge(b, "kind 7", a)).changed).toBe(true);
  });
});

describe("order", () => {
  test("by kind and other end, and by ordinal on request", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = "", c = "", d = ""] = await notes(memory, 4);
    await memory.addEdge(a, "works_on", d, { ordinal: 1 });
    await memory.addEdge(a, "uses", d, { ordinal: 3 });
    await memory.addEdge(a, "uses", b);
    await memory.addEdge(a, "uses", c, { ordinal: -2 });
    await memory.addEdge(a, "part_of", b);
    const plain = (await memory.edgesOut(a)).edges.map(({ kind, to }) => [kind, to]);
    expect(plain).toEqual([
      ["part_of", b],
      ["uses", b],
      ["uses", c],
      ["uses", d],
      ["works_on", d],
    ]);
    const ordered = (await memory.edgesOut(a, { order: "ordinal" })).edges;
    expect(ordered.map(({ ordinal }) => ordinal)).toEqual([-2, 1, 3, undefined, undefined]);
    expect(ordered.slice(3).map(({ kind }) => kind)).toEqual(["uses", "part_of"]);
    expect((await memory.edgesOut(a, { limit: 2 })).edges.map(({ kind }) => kind)).toEqual([
      "part_of",
      "uses",
    ]);
    const some = await memory.edgesOut(a, { kinds: ["works_on", "part_of", "unheard of"] });
    expect(some.edges.map(({ kind }) => kind)).toEqual(["part_of", "works_on"]);
    expect((await memory.edgesOut(a, { kinds: ["unheard of"] })).edges).toEqual([]);
    expect((await memory.edgesOut(a, { kinds: [] })).edges).toHaveLength(5);
  });

  test("what comes in is ordered by who sends it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = "", c = ""] = await notes(memory, 3);
    await memory.addEdge(c, "uses", a);
    await memory.addEdge(b, "uses", a);
    expect((await memory.edgesIn(a)).edges.map(({ from }) => from)).toEqual([b, c]);
  });
});

describe("the past", () => {
  test("before removal, before revival, and in between", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [a = "", b = ""] = await notes(memory, 2);
    const { seq } = await memory.addEdge(a, "uses", b, { weight: 1 });
    await memory.removeEdge(a, "uses", b, { reason: "r" });
    await memory.addEdge(a, "uses", b, { weight: 2 });
    await memory.removeEdge(a, "uses", b);
    const at = async (asOf: number) => {
      const edge = await memory.getEdge(a, "uses", b, { asOf });
      const out = await memory.edgesOut(a, { asOf });
      const all = await memory.edgesIn(b, { asOf, includeTombstoned: true });
      expect(out.seq).toBe(asOf);
      expect(all.edges).toEqual(edge === undefined ? [] : [edge]);
      expect(out.edges).toEqual(edge === undefined || edge.tombstone !== undefined ? [] : [edge]);
      return edge;
    };
    expect(await at(seq - 1)).toBeUndefined();
    expect(await at(seq)).toMatchObject({ weight: 1, seq });
    expect(await at(seq + 1)).toMatchObject({ weight: 1, tombstone: { reason: "r" } });
    expect(await at(seq + 2)).toMatchObject({ weight: 2, seq: seq + 2 });
    expect((await at(seq + 2))?.tombstone).toBeUndefined();
    expect((await at(seq + 3))?.tombstone).toBeDefined();
  });
});

describe("loose edges", () => {
  test("stand beside others, join a memory to itself, and lead to what is not there", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const externalId of ["a", "b"])
      await memory.write({ type: "note", text: externalId, externalId });
    const add = (to: string, toGraph?: string) =>
      memory.addEdge("a", "uses", to, { loose: { toGraph } });
    const plain = await memory.addEdge("a", "uses", "b");
    const added = [
      await add("b"),
      await add("b"),
      await add("a"),
      await add("later"),
      await add("x", "other"),
    ];
    expect(added.every(({ changed }) => changed)).toBe(true);
    expect(added.map(({ edge }) => edge.n)).toEqual([1, 2, 0, 0, 0]);
    expect(added[3]?.edge).toMatchObject({ to: "later" });
    expect(added[4]?.edge).toMatchObject({ to: "x", toGraph: "other" });
    // A number is never used twice, and the plain edge stays the one it was.
    await memory.removeEdgeById(added[1]?.id ?? "");
    expect((await add("b")).edge.n).toBe(3);
    expect((await memory.addEdge("a", "uses", "b")).id).toBe(plain.id);
    // Its own graph is no other graph.
    expect((await add("b", memory.actor)).edge.toGraph).toBeUndefined();
  });

  test("need a near end, a graph that can be one, and a kind that is stored from there", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "a", externalId: "a" });
    const refused: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => memory.addEdge("nobody", "uses", "a", { loose: {} }), "ERR_UNKNOWN_ENDPOINT"],
      [() => memory.addEdge("a", "uses", "x", { loose: { toGraph: "Not Safe" } }), "ERR_BAD_NAME"],
      [() => memory.addEdge("a", "causes", "x", { loose: {} }), "ERR_EDGE_KIND"],
    ];
    for (const [call, code] of refused) expect((await refusalOf(memory, call)).code).toBe(code);
    expect((await memory.edgesOut("a")).edges).toEqual([]);
  });
});
