/** Edges, symlinks and walks beyond the numbered cases. */
import { describe, expect, test } from "vitest";
import { GUEST } from "../scope/access.js";
import { type CountingKv, countingKv, openTestHub, type TestHub } from "../testing/index.js";
import type { GraphEdgeInput } from "./edges.js";

async function world(backend: "memory" | "lmdb"): Promise<TestHub> {
  const test = await openTestHub({ backend });
  for (const id of ["g", "h"]) await test.hub.createGraph({ name: id, id });
  return test;
}

async function nodes({ store }: TestHub, graph: string, ...lineages: string[]): Promise<void> {
  for (const lineageId of lineages) await store.putNode(graph, { kind: "n", lineageId });
}

async function edge(
  { store }: TestHub,
  from: string,
  to: string,
  more: Partial<GraphEdgeInput> = {},
  graph = "g",
): Promise<string> {
  const input = { fromLineage: from, toLineage: to, kind: "cites", ...more };
  return (await store.putEdge(graph, input)).edge.id;
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("an edge reads back as it was given: kind, ends, metadata, ordinal, author", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b");
    // Names the store would read as another kind, may not be minted by callers, or look built in.
    const kinds = ["causes", "relates_to", "transition", "Blocks", "=odd", "part_of", "any Text!"];
    for (const [ordinal, kind] of kinds.entries()) {
      await edge(test, "a", "b", { kind, ordinal, metadata: { kind }, createdBy: "ada" });
    }
    const { edges } = await test.store.outgoing("a");
    expect(edges.map(({ kind }) => kind)).toEqual(kinds);
    expect(edges[0]).toMatchObject({
      graphId: "g",
      fromLineage: "a",
      toGraph: "g",
      toLineage: "b",
      ordinal: 0,
      metadata: { kind: "causes" },
      createdBy: "ada",
    });
    expect((await test.store.incoming("b")).edges).toEqual(edges);
    for (const kind of kinds) {
      const filtered = await test.store.outgoing("a", { edgeKinds: [kind] });
      expect(filtered.edges.map((one) => one.kind)).toEqual([kind]);
    }
    expect((await test.store.outgoing("a", { edgeKinds: ["nobody"] })).edges).toEqual([]);
  });

  test("edges with an ordinal come first, ascending, then the others by age", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b");
    for (const ordinal of [undefined, 5, undefined, -1, 5]) {
      await edge(test, "a", "b", ordinal === undefined ? {} : { ordinal });
    }
    const { edges } = await test.store.outgoing("a");
    expect(edges.map(({ ordinal }) => ordinal)).toEqual([-1, 5, 5, undefined, undefined]);
    const ages = edges.slice(-2).map(({ createdAt }) => createdAt);
    expect(ages).toEqual([...ages].sort());
  });

  test("repeated edges are edges of their own, and so they are removed", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b");
    const ids = [
      await edge(test, "a", "b"),
      await edge(test, "a", "b"),
      await edge(test, "a", "a"),
    ];
    expect(new Set(ids).size).toBe(3);
    expect(await test.store.deleteEdge(ids[0] ?? "", { reason: "wrong" })).toMatchObject({
      ok: true,
    });
    const left = async (): Promise<readonly string[]> =>
      (await test.store.outgoing("a")).edges.map(({ id }) => id);
    expect(await left()).toEqual([ids[1], ids[2]]);
    for (const gone of [
      ids[0] ?? "",
      "01ARZ3NDEKTSV4RRFFQ69G5FAV@g",
      "01ARZ3NDEKTSV4RRFFQ69G5FAV@nobody",
    ]) {
      await expect(test.store.deleteEdge(gone)).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    }
    for (const [bad, code] of [
      ["", "ERR_INVALID"],
      [5, "ERR_INVALID"],
      ["x", "ERR_NOT_FOUND"],
      ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "ERR_NOT_FOUND"],
      ["01ARZ3NDEKTSV4RRFFQ69G5FAV@No Graph", "ERR_NOT_FOUND"],
    ]) {
      await expect(test.store.deleteEdge(bad as string)).rejects.toMatchObject({ code });
    }
    // A number is never used twice.
    ids.push(await edge(test, "a", "b"));
    expect(new Set(ids).size).toBe(4);
    expect(await left()).toEqual([ids[1], ids[2], ids[3]]);
  });

  test("a far end may come later, or never", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a");
    await edge(test, "a", "later");
    await edge(test, "a", "far", { toGraph: "h" });
    await edge(test, "a", "nowhere", { toGraph: "not-made" });
    const walk = { maxDepth: 2, followSymlinks: true };
    const before = await test.store.traverse("a", walk);
    expect(before.nodes.map(({ lineageId }) => lineageId)).toEqual(["a"]);
    expect(before.edges).toHaveLength(3);
    expect(before.dangling).toEqual([
      { graphId: "g", lineageId: "later" },
      { graphId: "h", lineageId: "far" },
      { graphId: "not-made", lineageId: "nowhere" },
    ]);
    const manifest = await test.store.symlinks("g", { dangling: true });
    expect(manifest.outbound).toEqual([
      { graphId: "h", edgeCount: 1, exists: true },
      { graphId: "not-made", edgeCount: 1, exists: false },
    ]);
    expect(manifest.dangling?.map(({ toLineage }) => toLineage).sort()).toEqual(["far", "nowhere"]);
    expect((await test.store.incoming("later", { graph: "g" })).edges).toHaveLength(1);
    await nodes(test, "g", "later");
    await nodes(test, "h", "far");
    const after = await test.store.traverse("a", walk);
    expect(after.nodes.map(({ lineageId }) => lineageId)).toEqual(["a", "later", "far"]);
    expect(after.dangling).toHaveLength(1);
    expect((await test.store.incoming("later")).edges).toHaveLength(1);
    expect((await test.store.incoming("far")).edges).toMatchObject([
      { graphId: "g", toGraph: "h" },
    ]);
  });

  test("an edge that cannot be is refused", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b");
    const refused: readonly (readonly [object, string])[] = [
      [{ fromLineage: "nobody" }, "ERR_UNKNOWN_ENDPOINT"],
      [{ fromLineage: "" }, "ERR_INVALID"],
      [{ toLineage: "" }, "ERR_INVALID"],
      [{ kind: "" }, "ERR_INVALID"],
      [{ toGraph: "Not Safe" }, "ERR_BAD_NAME"],
      [{ ordinal: 1.5 }, "ERR_INVALID"],
      [{ metadata: [] }, "ERR_INVALID"],
      [{ weight: 1 }, "ERR_UNKNOWN_FIELD"],
    ];
    for (const [more, code] of refused) {
      await expect(edge(test, "a", "b", more), JSON.stringify(more)).rejects.toMatchObject({
        code,
      });
    }
    await expect(edge(test, "a", "b", {}, "nobody")).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
    expect((await test.store.outgoing("a")).edges).toEqual([]);
    expect((await test.store.outgoing("nobody")).edges).toEqual([]);
  });

  test("a walk crosses graphs both ways, and back", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b");
    await nodes(test, "h", "x", "y");
    await edge(test, "a", "x", { toGraph: "h" });
    await edge(test, "x", "y", {}, "h");
    await edge(test, "y", "b", { toGraph: "g" }, "h");
    const walk = async (from: string, direction: "outgoing" | "incoming" | "both") => {
      const found = await test.store.traverse(from, {
        direction,
        maxDepth: 3,
        followSymlinks: true,
      });
      return found.nodes.map(({ lineageId }) => lineageId).join("");
    };
    expect(await walk("a", "outgoing")).toBe("axyb");
    expect(await walk("b", "incoming")).toBe("byxa");
    expect(await walk("x", "both")).toBe("xyab");
    const home = await test.store.traverse("b", { direction: "incoming", maxDepth: 3 });
    expect(home).toMatchObject({ edges: [], nodes: [{ lineageId: "b" }] });
  });

  test("the bound on nodes is exact and includes the seed", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b", "c", "d");
    for (const to of ["b", "c", "d"]) await edge(test, "a", to);
    for (let maxNodes = 1; maxNodes <= 5; maxNodes += 1) {
      const walk = await test.store.traverse("a", { maxNodes });
      expect(walk.nodes).toHaveLength(Math.min(maxNodes, 4));
      expect(walk.truncated).toBe(maxNodes < 4);
      expect(walk.edges).toHaveLength(walk.nodes.length - 1);
    }
    const deep = await test.store.traverse("a", { maxDepth: 7, maxNodes: 0 });
    expect(deep).toMatchObject({ clamped: true, truncated: false });
    const wide = await test.store.traverse("a", { maxNodes: 10_001 });
    expect([wide.nodes.length, wide.truncated]).toEqual([4, false]);
    for (const bad of [{ direction: "sideways" }, { maxDepth: 1.5 }, { maxNodes: 1.5 }]) {
      await expect(test.store.traverse("a", bad as never)).rejects.toMatchObject({
        code: "ERR_INVALID",
      });
    }
  });

  test("a walk through the past sees the edges and the nodes of then, in every graph", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a");
    await nodes(test, "h", "x");
    const id = await edge(test, "a", "x", { toGraph: "h" });
    const then = new Date(test.clock.last());
    test.clock.advance(1000);
    await test.store.deleteEdge(id);
    await test.store.putNode("h", { kind: "n", lineageId: "x", content: "new" });
    const walk = (from: string, direction: "outgoing" | "incoming", asOf?: Date) =>
      test.store.traverse(from, {
        direction,
        followSymlinks: true,
        ...(asOf === undefined ? {} : { asOf }),
      });
    expect((await walk("a", "outgoing")).edges).toEqual([]);
    expect((await walk("x", "incoming")).edges).toEqual([]);
    const past = await walk("a", "outgoing", then);
    expect(past.nodes.map(({ lineageId, content }) => lineageId + content)).toEqual(["a", "x"]);
    expect((await walk("x", "incoming", then)).nodes.map((node) => node.lineageId)).toEqual([
      "x",
      "a",
    ]);
    const before = await walk("a", "outgoing", new Date(1));
    expect(before.nodes).toEqual([]);
  });

  test("a guest walks what is public and never leaves the graph", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a", "b", "c");
    await nodes(test, "h", "x");
    for (const to of ["b", "c"]) await edge(test, "a", to);
    await edge(test, "a", "x", { toGraph: "h" });
    await edge(test, "a", "dangling");
    for (const [graph, lineage] of [
      ["g", "a"],
      ["g", "b"],
      ["h", "x"],
    ] as const) {
      await test.hub.use(graph, (memory) => memory.updateHead(lineage, { visibility: "public" }));
    }
    const options = { followSymlinks: true, access: GUEST };
    const walk = await test.store.traverse("a", options);
    expect(walk.nodes.map(({ lineageId }) => lineageId)).toEqual(["a", "b"]);
    expect(walk.edges.map(({ toLineage }) => toLineage)).toEqual(["b"]);
    expect(walk.dangling).toEqual([]);
    expect(await test.store.traverse("c", options)).toMatchObject({ nodes: [], edges: [] });
    expect((await test.store.outgoing("a", { access: GUEST })).edges).toHaveLength(1);
    expect((await test.store.incoming("b", { access: GUEST })).edges).toHaveLength(1);
  });

  test("forgetting takes the edges of a lineage out of every manifest", async () => {
    await using test = await world(backend);
    await nodes(test, "g", "a");
    await nodes(test, "h", "x");
    await edge(test, "a", "x", { toGraph: "h" });
    await test.hub.use("g", (memory) => memory.forget("a", "asked"));
    expect((await test.hub.symlinks("g")).outbound).toEqual([]);
    expect((await test.hub.symlinks("h")).inbound).toEqual([]);
    expect((await test.store.incoming("x")).edges).toEqual([]);
  });
});

/** A hub whose graphs count what is read, and its catalogue apart; `atHand` where a read waits for nobody. */
async function countedHub(): Promise<{
  readonly test: TestHub;
  readonly atHand: () => boolean;
  readonly reads: (call: () => Promise<unknown>) => Promise<Reads>;
}> {
  const graphs: CountingKv[] = [];
  const catalogues: CountingKv[] = [];
  let atHand = false;
  const counted = (list: CountingKv[]) => (kv: Parameters<typeof countingKv>[0]) => {
    atHand = kv.readNow !== undefined;
    const counting = countingKv(kv);
    list.push(counting);
    return counting;
  };
  const seams = { wrapGraph: counted(graphs), wrapCatalogue: counted(catalogues) };
  const test = await openTestHub(seams);
  const sum = (list: readonly CountingKv[], what: "snapshots" | "batches" | "keys" | "rows") =>
    list.reduce((all, one) => all + one.counts()[what], 0);
  const reads = async (call: () => Promise<unknown>): Promise<Reads> => {
    for (const counter of [...graphs, ...catalogues]) counter.reset();
    await call();
    return {
      snapshots: sum(graphs, "snapshots"),
      batches: sum(graphs, "batches"),
      rows: sum(graphs, "keys") + sum(graphs, "rows"),
      ofCatalogue: sum(catalogues, "batches"),
    };
  };
  return { test, atHand: () => atHand, reads };
}

/** What a call read: of the graphs, and how often of the catalogue. */
interface Reads {
  readonly snapshots: number;
  readonly batches: number;
  readonly rows: number;
  readonly ofCatalogue: number;
}

test("a node is read by its lineage in one snapshot: name, row and entry", async () => {
  const { test, reads } = await countedHub();
  await using _ = test;
  await test.hub.createGraph({ name: "g", id: "g" });
  await nodes(test, "g", "a", "b", "a");
  const { id } = (await test.store.getNode("a")) ?? {};
  // The head of the journal comes with the first; nothing else is read, first time or not.
  const least = { snapshots: 1, batches: 3, rows: 4, ofCatalogue: 0 };
  expect(await reads(() => test.store.getNode("b"))).toEqual(least);
  expect(await reads(() => test.store.getNode("a"))).toEqual(least);
  // The id of a node names its memory.
  const byId = { snapshots: 1, batches: 2, rows: 3, ofCatalogue: 0 };
  expect(await reads(() => test.store.getNode(String(id)))).toEqual(byId);
  // Beside another graph the catalogue tells which of the two it is, until that is known.
  await test.hub.createGraph({ name: "h", id: "h" });
  await nodes(test, "h", "c");
  await test.hub.symlinks("h");
  expect(await reads(() => test.store.getNode("a"))).toEqual(least);
});

test("an edge is added with the rows of its ends and the pages on its way, and no others", async () => {
  const { test, atHand, reads } = await countedHub();
  await using _ = test;
  await test.hub.createGraph({ name: "g", id: "g" });
  const many = Array.from({ length: 120 }, (_, at) => `n${at}`);
  await test.hub.use("g", (memory) =>
    memory.batch(many.map((externalId) => ({ write: { type: "note", text: "n", externalId } }))),
  );
  for (const [at, name] of many.entries()) await edge(test, name, `n${(at * 7) % 120}`);
  const last = await reads(() => edge(test, "n3", "n90"));
  // One read for head, configuration and names; both rows and the edges beside it are at hand, or one round more.
  expect(last).toMatchObject({ snapshots: 1, batches: atHand() ? 1 : 3, ofCatalogue: 0 });
  // Pages that may be on the way and are not were 50 rows.
  expect(last.rows).toBeLessThanOrEqual(16);
});

test("a level of a walk takes the same few reads, however wide it is", async () => {
  const counters: CountingKv[] = [];
  const wrapGraph = (kv: Parameters<typeof countingKv>[0]): CountingKv => {
    const counting = countingKv(kv);
    counters.push(counting);
    return counting;
  };
  await using test = await openTestHub({ wrapGraph });
  await test.hub.createGraph({ name: "g", id: "g" });
  const batchesFor = async (width: number): Promise<number> => {
    const seed = `seed-${width}`;
    await nodes(test, "g", seed);
    for (let at = 0; at < width; at += 1) {
      await nodes(test, "g", `${seed}-${at}`);
      await edge(test, seed, `${seed}-${at}`);
    }
    // The catalogue catches up once; that is not the walk's.
    await test.store.outgoing(seed, { graph: "g" });
    for (const counter of counters) counter.reset();
    const { nodes: found } = await test.store.traverse(seed, { maxDepth: 2, graph: "g" });
    expect(found).toHaveLength(width + 1);
    return counters.reduce((sum, counter) => sum + counter.counts().batches, 0);
  };
  const few = await batchesFor(2);
  expect(await batchesFor(40)).toBe(few);
  expect(few).toBeLessThanOrEqual(20);
});
