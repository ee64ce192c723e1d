/** `traverse`, `linksFrom`, `backlinksTo`, `inspect`: bounded, reproducible, and filtered. */
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { GUEST } from "../scope/access.js";
import { openTestStore } from "../testing/index.js";

/** Public notes by name, joined as `a>b` says, by kind `uses` unless `a>b:kind`. */
async function graph(memory: Cortex, edges: string): Promise<void> {
  const links = edges.split(" ").map((text) => {
    const [ends = "", kind = "uses"] = text.split(":");
    const [from = "", to = ""] = ends.split(">");
    return { from, kind, to };
  });
  const names = [...new Set(links.flatMap(({ from, to }) => [from, to]))].sort();
  await memory.batch([
    ...names.map((name) => ({
      write: { type: "note", text: name, externalId: name, visibility: "public" } as const,
    })),
    ...links.map((link) => ({ link })),
  ]);
}

async function walked(
  memory: Cortex,
  start: string,
  options: Options<"traverse"> = {},
): Promise<string> {
  const { hits } = await memory.traverse(start, options);
  return hits.map(({ memory: { text }, hop }) => `${text}${hop}`).join(" ");
}

describe("traverse", () => {
  test("shortest hops, the start left out, cycles once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b b>c c>a a>d d>c c>e");
    expect(await walked(memory, "a")).toBe("b1 d1");
    expect(await walked(memory, "a", { maxHops: 2 })).toBe("b1 d1 c2");
    expect(await walked(memory, "a", { maxHops: 6 })).toBe("b1 d1 c2 e3");
    expect(await walked(memory, "a", { minHops: 2, maxHops: 3 })).toBe("c2 e3");
    expect(await walked(memory, "a", { minHops: 3 })).toBe("e3");
    const { edges, truncated, clamped } = await memory.traverse("a", { maxHops: 6 });
    expect(edges).toHaveLength(6);
    expect({ truncated, clamped }).toEqual({ truncated: false, clamped: false });
  });

  test("direction and kinds", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b b>c:blocks x>a y>x:blocks a>z:mentors");
    expect(await walked(memory, "a", { direction: "in", maxHops: 2 })).toBe("x1 y2");
    expect(await walked(memory, "a", { direction: "both" })).toBe("b1 z1 x1");
    expect(await walked(memory, "a", { direction: "out", maxHops: 2 })).toBe("b1 z1 c2");
    expect(await walked(memory, "a", { maxHops: 3, kinds: ["uses"] })).toBe("b1");
    expect(await walked(memory, "a", { kinds: ["mentors"] })).toBe("z1");
    expect(await walked(memory, "a", { kinds: ["unheard of"] })).toBe("");
  });

  test("six hops at most, and the answer says when that bit", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b b>c c>d d>e e>f f>g g>h h>i");
    const far = await memory.traverse("a", { maxHops: 50 });
    expect(far).toMatchObject({ maxHops: 6, clamped: true, truncated: false });
    expect(far.hits.map(({ hop }) => hop)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await memory.traverse("a", { maxHops: 6 })).toMatchObject({
      maxHops: 6,
      clamped: false,
    });
    expect((await memory.traverse("a", { minHops: 7, maxHops: 9 })).hits).toEqual([]);
  });

  test("the node cap is exact, and counts only what is returned", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b a>c a>d a>e b>f b>g c>h c>i");
    for (const maxNodes of [1, 3, 7]) {
      const found = await memory.traverse("a", { maxHops: 2, maxNodes });
      expect(found.hits).toHaveLength(maxNodes);
      expect(found.truncated).toBe(true);
    }
    const whole = await memory.traverse("a", { maxHops: 2, maxNodes: 8 });
    expect(whole.hits).toHaveLength(8);
    expect(whole.truncated).toBe(false);
    const second = await memory.traverse("a", { minHops: 2, maxHops: 2, maxNodes: 3 });
    expect(second.hits.map(({ memory: { text } }) => text)).toEqual(["f", "g", "h"]);
    expect(second.truncated).toBe(true);
  });

  test("removed edges are not walked unless asked for; the past walks what was there", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b b>c");
    const { seq } = await memory.stats();
    await memory.removeEdge("a", "uses", "b");
    expect(await walked(memory, "a", { maxHops: 2 })).toBe("");
    expect(await walked(memory, "a", { maxHops: 2, includeTombstoned: true })).toBe("b1 c2");
    expect(await walked(memory, "a", { maxHops: 2, asOf: seq })).toBe("b1 c2");
    await memory.update("c", { text: "changed" });
    await memory.addEdge("a", "uses", "b");
    expect(await walked(memory, "a", { maxHops: 2 })).toBe("b1 changed2");
    expect(await walked(memory, "a", { maxHops: 2, asOf: seq })).toBe("b1 c2");
    expect(await walked(memory, "a", { maxHops: 2, asOf: seq + 1 })).toBe("");
    expect(await walked(memory, "a", { maxHops: 2, asOf: 0 })).toBe("");
  });

  test("hidden memories are passed through, not shown", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b b>c");
    await memory.tombstone("b", "r");
    expect(await walked(memory, "a", { maxHops: 2 })).toBe("c2");
    expect(await walked(memory, "a", { maxHops: 2, includeTombstoned: true })).toBe("b1 c2");
  });

  test("a guest never enters a memory it may not see", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b b>c a>d d>c d>e");
    await memory.updateHead("b", { visibility: "private" });
    await memory.updateHead("e", { visibility: "scoped" });
    const guest = { access: GUEST, maxHops: 6 } as const;
    expect(await walked(memory, "a", guest)).toBe("d1 c2");
    const { edges } = await memory.traverse("a", guest);
    expect(edges).toHaveLength(2);
    expect(await walked(memory, "b", guest)).toBe("");
    await memory.updateHead("d", { visibility: "private" });
    expect(await walked(memory, "a", guest)).toBe("");
    expect(await walked(memory, "a", { maxHops: 6 })).toBe("b1 d1 c2 e2");
  });

  test("an unknown start leads nowhere", async () => {
    await using store = await openTestStore();
    expect(await store.memory.traverse("nobody")).toEqual({
      hits: [],
      edges: [],
      truncated: false,
      clamped: false,
      maxHops: 1,
      seq: 0,
    });
  });
});

describe("links", () => {
  test("what points where, with reasons and groups", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await graph(memory, "a>b a>c:same_topic");
    await memory.addEdge("c", "caused_by", "a", { reason: "because", strength: 5 });
    const why = { group: "factual", reason: "because", strength: 5 };
    const ids = async (name: string) => (await memory.get(name))?.id;
    const [a, b, c] = [await ids("a"), await ids("b"), await ids("c")];
    expect(await memory.linksFrom("a")).toEqual([
      { kind: "uses", from: a, to: b, group: "factual" },
      { kind: "same_topic", from: a, to: c, group: "thematic" },
      { kind: "causes", from: a, to: c, ...why },
    ]);
    expect(await memory.linksFrom("c")).toEqual([
      { kind: "caused_by", from: c, to: a, ...why, inverse: true },
      { kind: "same_topic", from: c, to: a, group: "thematic" },
    ]);
    expect(await memory.backlinksTo("a")).toEqual([
      { kind: "caused_by", from: c, to: a, ...why, inverse: true },
      { kind: "same_topic", from: c, to: a, group: "thematic" },
    ]);
    await memory.removeEdge("a", "uses", "b");
    expect(await memory.linksFrom("a")).toHaveLength(2);
    expect(await memory.linksFrom("a", { asOf: 6 })).toHaveLength(3);
    expect(await memory.linksFrom("nobody")).toEqual([]);
  });
});

describe("inspect", () => {
  test("everything about one memory, at one position", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "x", externalId: "x" });
    const other = await memory.write({ type: "note", text: "n" });
    await memory.write({ type: "fact", text: "X." });
    await memory.addEdge(id, "uses", other.id);
    await memory.addEdge(other.id, "supports", id);
    await memory.update(id, { text: "y" });
    const seen = await memory.inspect("x");
    expect(seen?.memory).toEqual(await memory.get(id));
    expect(seen?.links).toEqual(await memory.linksFrom(id));
    expect(seen?.backlinks).toEqual(await memory.backlinksTo(id));
    expect(seen?.versions).toEqual(await memory.history(id));
    expect(seen?.counters).toMatchObject({ reinforced: 1 });
    expect(seen?.seq).toBe(6);
    const past = await memory.inspect(id, { asOf: 2 });
    expect(past).toMatchObject({ links: [], backlinks: [], memory: { version: 1 }, seq: 2 });
    expect(past?.versions).toHaveLength(1);
    expect(await memory.inspect("nobody")).toBeUndefined();
  });
});

test("inspect says what use made of a memory only of the present", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const fact = await memory.write({ type: "fact", text: "said twice" });
  await memory.write({ type: "fact", text: "said twice" });
  expect((await memory.inspect(fact.id))?.counters?.reinforced).toBe(1);
  expect(await memory.inspect(fact.id, { asOf: fact.seq })).not.toHaveProperty("counters");
});

test("a forget follows what is derived now, not what was taken back", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const source = await memory.write({ type: "fact", text: "the source" });
  const provenance = { derivedFrom: [source.uri] };
  const kept = await memory.write({ type: "fact", text: "kept", provenance });
  const taken = await memory.write({ type: "fact", text: "taken back", provenance });
  await memory.removeEdge(taken.id, "derived_from", source.id);
  const { erased } = await memory.forget(source.id, "asked", { cascade: true });
  expect(erased).toEqual([source.id, kept.id]);
  expect(await memory.get(taken.id)).toBeDefined();
});
