/** Walks over the graphs of a hub, told in memories: hits, names of ends, positions, edges alone. */
import { describe, expect, test } from "vitest";
import { openGraph } from "../open.js";
import { openTestHub, type TestHub } from "../testing/index.js";

async function world(backend: "memory" | "lmdb"): Promise<TestHub> {
  const made = await openTestHub({ backend });
  const { hub } = made;
  for (const id of ["g", "h"]) await hub.createGraph({ name: id, id });
  const write = (graph: string, ...names: readonly string[]) =>
    hub.use(graph, async (memory) => {
      for (const text of names) await memory.write({ type: "note", text, externalId: text });
    });
  await write("g", "a", "b");
  await write("h", "x");
  await hub.use("g", async (memory) => {
    await memory.addEdge("a", "uses", "b");
    await memory.addEdge("b", "uses", "x", { loose: { toGraph: "h" } });
    await memory.addEdge("b", "uses", "later", { loose: {}, ordinal: 1 });
  });
  await hub.use("h", (memory) => memory.addEdge("x", "uses", "a", { loose: { toGraph: "g" } }));
  return made;
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("the start is the first hit; symlinks are crossed when asked for, names are told", async () => {
    await using made = await world(backend);
    const { hub } = made;
    const walk = async (options: object) => {
      const found = await hub.traverse("g", "a", { maxHops: 3, ...options });
      const hits = found.hits.map(({ graphId, hop, memory }) => `${graphId} ${hop} ${memory.text}`);
      const edges = found.edges.map(({ graphId, from, to }) => `${graphId}: ${from} ${to}`);
      return { ...found, hits, edges };
    };
    expect(await walk({})).toMatchObject({
      hits: ["g 0 a", "g 1 b"],
      // One with an ordinal comes first.
      edges: ["g: a b", "g: b later"],
      dangling: [{ graphId: "g", name: "later" }],
      positions: { g: 6 },
    });
    expect(await walk({ symlinks: true })).toMatchObject({
      hits: ["g 0 a", "g 1 b", "h 2 x"],
      edges: ["g: a b", "g: b later", "g: b x", "h: x a"],
      positions: { g: 6, h: 3 },
    });
    expect(await walk({ symlinks: true, maxNodes: 2 })).toMatchObject({ truncated: true });
    expect(await walk({ symlinks: true, direction: "in", maxHops: 1 })).toMatchObject({
      hits: ["g 0 a", "h 1 x"],
    });
    expect(await walk({ edgesOnly: true, maxHops: 1 })).toMatchObject({
      hits: [],
      edges: ["g: a b"],
    });
    expect(await walk({ maxHops: 9 })).toMatchObject({ clamped: true });
  });

  test("an inverse name of a kind is walked the other way round", async () => {
    await using made = await world(backend);
    const { hub } = made;
    await hub.use("g", (memory) => memory.addEdge("a", "causes", "b"));
    const from = async (ref: string, kind: string) =>
      (await hub.traverse("g", ref, { kinds: [kind] })).hits.map(({ memory }) => memory.text);
    expect(await from("a", "causes")).toEqual(["a", "b"]);
    expect(await from("b", "caused_by")).toEqual(["b", "a"]);
    expect(await from("b", "causes")).toEqual(["b"]);
  });
});

test("what is no walk is refused", async () => {
  await using made = await world("memory");
  for (const [options, code] of [
    [{ direction: "sideways" }, "ERR_INVALID"],
    [{ asOf: 5 }, "ERR_INVALID"],
    [{ maxNodes: 0 }, "ERR_INVALID"],
    [{ depth: 2 }, "ERR_UNKNOWN_FIELD"],
  ] as const) {
    const call = made.hub.traverse("g", "a", options as never);
    await expect(call).rejects.toMatchObject({ code });
  }
  await expect(made.hub.traverse("Not Safe", "a")).rejects.toMatchObject({ code: "ERR_BAD_NAME" });
});

test("a walk is a call: work in the background gives way to it", async () => {
  await using made = await world("memory");
  // Calls are counted for the process, whichever store they are to.
  const { engine, memory } = await openGraph("memory:", { actor: "other" });
  const before = engine.activity.calls;
  await made.hub.traverse("g", "a");
  expect(engine.activity.calls).toBe(before + 1);
  await memory.close();
});
