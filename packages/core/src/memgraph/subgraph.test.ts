/** Bulk writes beyond the numbered cases: one commit, and all or nothing on request. */
import { describe, expect, test } from "vitest";
import { openTestHub, type TestHub } from "../testing/index.js";

const NODE = { kind: "fact", content: "c" };

async function entries({ hub }: TestHub, graph: string): Promise<number> {
  return (await hub.getGraph(graph))?.seq ?? -1;
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("atomic: the first failure names its item and leaves nothing", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    await hub.createGraph({
      name: "g",
      id: "g",
      kindWhitelist: ["fact"],
      conflictPolicy: "manual",
    });
    await store.putNode("g", { ...NODE, lineageId: "old" });
    await store.putNode("g", { ...NODE, lineageId: "old" });
    const before = await entries(world, "g");
    const refused: readonly (readonly [object, string, string])[] = [
      [{ nodes: [NODE, { kind: "other" }] }, "ERR_KIND_NOT_ALLOWED", "nodes[1]: "],
      [
        { nodes: [NODE], edges: [{ fromRef: "x", toRef: "x", kind: "is" }] },
        "ERR_REF",
        "edges[0]: ref not found: x",
      ],
      [{ nodes: [{ ...NODE, lineageId: "old", basedOnVersion: 1 }] }, "ERR_CONFLICT", "nodes[0]: "],
      [
        { nodes: [NODE], edges: [{ fromLineage: "nobody", toLineage: "old", kind: "is" }] },
        "ERR_UNKNOWN_ENDPOINT",
        "edges[0]: ",
      ],
    ];
    for (const [input, code, start] of refused) {
      const failure = await store.putSubgraph("g", input, { atomic: true }).catch((error) => error);
      expect(failure).toMatchObject({ code });
      expect(failure.message.startsWith(start)).toBe(true);
    }
    expect(await entries(world, "g")).toBe(before);
    const done = await store.putSubgraph(
      "g",
      {
        nodes: [{ ...NODE, ref: "a" }],
        edges: [{ fromRef: "a", toLineage: "old", kind: "cites" }],
      },
      { atomic: true },
    );
    expect(done.nodes[0]).toMatchObject({ ref: "a", created: true, version: 1 });
    expect(done.edges[0]?.error).toBeUndefined();
  });

  test("what stands is one batch, which the past never splits", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    await hub.createGraph({ name: "g", id: "g" });
    const nodes = Array.from({ length: 50 }, (_, at) => ({ ...NODE, ref: `r${at}` }));
    const edges = Array.from({ length: 100 }, (_, at) => ({
      fromRef: `r${at % 50}`,
      toRef: `r${(at + 1) % 50}`,
      kind: "next",
    }));
    const { seq } = await store.putSubgraph("g", { nodes, edges });
    const log = await hub.use("g", (memory) => memory.log({ from: 2, limit: 200 }));
    expect(new Set(log.entries.map(({ batch }) => batch?.first))).toEqual(new Set([2]));
    expect(log.entries.at(-1)?.seq).toBe(seq);
    const half = await hub.use("g", (memory) => memory.list({ asOf: seq - 1 }));
    expect(half.memories).toEqual([]);
    expect((await store.listNodes("g")).total).toBe(50);
  });

  test("a repeated ref means the last success; lineages of other graphs move", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    for (const id of ["g", "h"]) await hub.createGraph({ name: id, id });
    await store.putNode("h", { ...NODE, lineageId: "theirs" });
    const { nodes, edges } = await store.putSubgraph("g", {
      nodes: [
        { ...NODE, ref: "a", lineageId: "one" },
        { ...NODE, ref: "a", lineageId: "two" },
        { ...NODE, lineageId: "theirs" },
        { ...NODE, lineageId: "new", ref: "n" },
        { ...NODE, lineageId: "new" },
      ],
      edges: [
        { fromRef: "a", toLineage: "theirs", toGraph: "h", kind: "cites" },
        { fromLineage: "new", toRef: "n", kind: "is" },
      ],
    });
    expect(nodes.map(({ lineageId, version, created }) => [lineageId, version, created])).toEqual([
      ["one", 1, false],
      ["two", 1, false],
      ["theirs", 2, false],
      ["new", 1, false],
      ["new", 2, false],
    ]);
    expect(await store.getNode("theirs")).toMatchObject({ graphId: "g", version: 2 });
    expect((await store.listNodes("h")).total).toBe(0);
    expect(edges.every(({ error }) => error === undefined)).toBe(true);
    expect((await store.outgoing("two")).edges).toMatchObject([
      { toGraph: "h", toLineage: "theirs" },
    ]);
    expect((await store.outgoing("one")).edges).toEqual([]);
  });

  test("an item that is no item fails alone, a call that is no call fails whole", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    await hub.createGraph({ name: "g", id: "g" });
    const { nodes } = await store.putSubgraph("g", {
      nodes: [5, { kind: 5 }, { ...NODE, colour: 1 }, NODE] as never,
    });
    expect(
      nodes.map(({ created, error }) => created || error?.startsWith("memgraph: invalid")),
    ).toEqual([true, true, true, true]);
    expect(nodes.map(({ created }) => created)).toEqual([false, false, false, true]);
    for (const [input, options] of [
      [{ nodes: "x" }, {}],
      [{ nodes: [NODE], more: 1 }, {}],
      [{ nodes: [NODE] }, { safe: true }],
    ] as const) {
      await expect(store.putSubgraph("g", input as never, options as never)).rejects.toMatchObject({
        code: expect.stringMatching(/^ERR_(INVALID|UNKNOWN_FIELD)$/),
      });
    }
    await expect(store.putSubgraph("nobody", { nodes: [NODE] })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
  });
});
