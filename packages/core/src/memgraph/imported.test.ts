/** What an import writes: versions, edges and graphs as another program had them, under its ids and times. */
import { describe, expect, test } from "vitest";
import type { ImportedVersion } from "../contract/imported.js";
import { LIMITS } from "../limits.js";
import { openTestHub, type TestHub } from "../testing/index.js";
import { verify } from "../verify.js";

const SOURCE = "01KRAB0000000000000000000A";
const NAME = SOURCE.toLowerCase();
const DAY = 24 * 60 * 60 * 1000;
const BORN = Date.UTC(2025, 0, 1);

async function graph({ hub }: TestHub): Promise<void> {
  const origin = { id: SOURCE, createdAt: BORN, nanos: 5 };
  await hub.createGraph({ name: "Old", id: NAME, kindWhitelist: ["fact"], origin });
}

/** Imports the nth version of a lineage. */
async function bring(
  { hub }: TestHub,
  lineage: string,
  version: number,
  more: Partial<ImportedVersion> = {},
  kind = `kind ${version}`,
): Promise<void> {
  const imported: ImportedVersion = {
    id: `${lineage}-${version}`,
    graph: SOURCE,
    createdAt: BORN + version * DAY,
    createdBy: "",
    version,
    beside: [],
    ...more,
  };
  const data = { content: `${lineage} ${version}`, metadata: { n: version } };
  await hub.use(NAME, (memory) =>
    memory.write(
      { type: "note", kind, externalId: lineage, data, source: "imported", by: "import" },
      { upsert: { imported } },
    ),
  );
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("versions keep ids, times, author, kind and number, and are found by all of them", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    const { store, hub } = world;
    await bring(world, "a", 1, { nanos: 120 });
    await bring(world, "a", 2, { graph: "elsewhere" });
    // Version 3 was left out.
    await bring(world, "a", 4, { createdBy: "x".repeat(200) });
    const nodes = await store.history("a");
    expect(nodes).toMatchObject([
      { id: "a-4", version: 4, kind: "kind 4", createdBy: "x".repeat(200), graphId: SOURCE },
      { id: "a-2", version: 2, kind: "kind 2", supersededBy: "a-4", graphId: "elsewhere" },
      { id: "a-1", version: 1, createdBy: "", supersededBy: "a-2", nanos: 120 },
    ]);
    expect(nodes.map(({ createdAt }) => (createdAt - BORN) / DAY)).toEqual([4, 2, 1]);
    for (const node of nodes) expect(await store.getNode(node.id)).toEqual(node);
    const at = (days: number) => store.getNode("a", { atTime: BORN + days * DAY });
    expect(await at(0.5)).toBeUndefined();
    expect((await at(1))?.id).toBe("a-1");
    expect((await at(3.9))?.id).toBe("a-2");
    expect((await at(5))?.id).toBe("a-4");
    // What is written here goes on from there, and the journal knows when each arrived.
    await store.putNode(SOURCE, { kind: "fact", content: "new", lineageId: "a" });
    expect(await store.getNode("a")).toMatchObject({ version: 5, graphId: SOURCE });
    expect((await store.getNode("a-4"))?.supersededBy).toBe((await store.getNode("a"))?.id);
    expect((await at(5))?.id).toBe("a-4");
    const then = await hub.use(NAME, (memory) => memory.get("a", { asOf: 2 }));
    expect(then?.versionRecord.createdAt).toBe(BORN + DAY);
    expect(await hub.getGraph(SOURCE)).toMatchObject({
      id: NAME,
      createdAt: BORN,
      origin: { id: SOURCE, createdAt: BORN, nanos: 5 },
    });
  });

  test("rivals stay open whatever the policy, and are named by their ids", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    await bring(world, "a", 1);
    await bring(world, "a", 2);
    await bring(world, "a", 3, { beside: [2] });
    expect((await world.store.getNode("a"))?.conflicts).toEqual(["a-2"]);
    const { nodes } = await world.store.listNodes(SOURCE);
    expect(nodes.map(({ id, conflicts }) => [id, conflicts])).toEqual([
      ["a-3", ["a-2"]],
      ["a-2", ["a-3"]],
    ]);
    const { kinds } = await world.store.describeSchema(SOURCE);
    expect(kinds.map(({ kind }) => kind)).toEqual(["kind 2", "kind 3"]);
    await bring(world, "a", 4);
    expect((await world.store.getNode("a"))?.conflicts).toEqual([]);
    expect((await world.store.getNode("a-2"))?.supersededBy).toBe("a-4");
    const again = bring(world, "a", 4);
    await expect(again).rejects.toMatchObject({ code: "ERR_CONFLICT" });
  });

  test("content of any length and many tags come in, are searched, proved and read back whole", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    const content = `${"word é ".repeat(40_000)}\u0000 the last zebra`;
    const tags = Array.from({ length: 40 }, (_, at) => `t${at % 30}`);
    await bring(world, "a", 1, { content, tags });
    const node = await world.store.getNode("a");
    expect(node?.content === content).toBe(true);
    expect(node?.tags).toEqual(tags);
    expect((await world.store.search(SOURCE, { text: "zebra" })).hits).toHaveLength(1);
    expect((await world.store.listNodes(SOURCE, { tags: ["t29"] })).total).toBe(1);
    await world.hub.use(NAME, async (memory) => {
      const { checkpoint } = await memory.snapshot("here");
      const id = (await memory.get("a"))?.id ?? "";
      const checked = verify(await memory.prove([id]), checkpoint);
      expect(checked.ok && checked.memories[0]?.data?.content === content).toBe(true);
      expect((await memory.rebuild({ verifyOnly: true })).ok).toBe(true);
    });
    const most = "x".repeat(LIMITS.importedContentBytes + 1);
    await expect(bring(world, "b", 1, { content: most })).rejects.toMatchObject({
      code: "ERR_TOO_LARGE",
    });
  });

  test("what was imported can be read and put again, longer and with more tags as well", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    const { store, hub } = world;
    const tags = Array.from({ length: 42 }, (_, at) => `t${at}`);
    await bring(world, "a", 1, { content: "word é ".repeat(40_000), tags }, "fact");
    const read = await store.getNode("a");
    if (read === undefined) throw new Error("it was imported");
    const { kind, lineageId, content } = read;
    const more = { kind, content: `${content}zebra`, tags: [...read.tags, "t42", "t42"] };
    const again = { ...more, lineageId, basedOnVersion: 1 };
    const { node } = await store.putNode(SOURCE, again);
    expect(node).toMatchObject({ version: 2, tags: [...tags, "t42"] });
    expect(node.content === again.content).toBe(true);
    expect((await store.getNode("a"))?.content === again.content).toBe(true);
    expect((await store.search(SOURCE, { text: "zebra" })).hits).toHaveLength(1);
    // A new lineage, alone and among others, and one under a key: asked again it is the same, or refused.
    const { node: alone } = await store.putNode(SOURCE, more);
    expect(await store.getNode(alone.lineageId)).toEqual(alone);
    const { nodes } = await store.putSubgraph(SOURCE, { nodes: [{ ...more, ref: "r" }, again] });
    expect(nodes.map(({ version, created }) => [version, created])).toEqual([
      [1, true],
      [3, false],
    ]);
    const keyed = (text: string) =>
      store.putNode(SOURCE, { ...more, content: text }, { idempotencyKey: "k" });
    const first = await keyed(more.content);
    expect((await keyed(more.content)).node.id).toBe(first.node.id);
    const other = keyed(`${more.content}!`).catch(({ code }: { readonly code: string }) => code);
    expect(await other).toBe("ERR_IDEMPOTENCY");
    for (const [bad, field] of [
      [{ content: "x".repeat(LIMITS.importedContentBytes + 1) }, "content"],
      [{ tags: Array.from({ length: 257 }, (_, at) => `t${at}`) }, "tags"],
      [{ tags: [...tags, "x".repeat(65)] }, "tags[42]"],
    ] as const) {
      const refused = store.putNode(SOURCE, { kind, ...bad }).catch((error: unknown) => error);
      expect(await refused).toMatchObject({ details: { field } });
    }
    const report = await hub.use(NAME, (memory) => memory.rebuild({ verifyOnly: true }));
    expect(report.ok).toBe(true);
  });

  test("edges keep ids, times and ends; what is forgotten is found by no old id", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    await bring(world, "a", 1);
    await bring(world, "b", 1);
    const imported = { graph: SOURCE, toGraph: "OTHER", createdAt: BORN, createdBy: "" };
    await world.hub.use(NAME, async (memory) => {
      for (const id of ["e1", "e2"]) {
        await memory.addEdge("a", "cites", "b", { loose: { imported: { ...imported, id } } });
      }
    });
    const { edges } = await world.store.outgoing("a");
    expect(edges).toMatchObject([
      { id: "e1", graphId: SOURCE, toGraph: "OTHER", createdAt: BORN, createdBy: "" },
      { id: "e2" },
    ]);
    expect(await world.store.deleteEdge("e1")).toMatchObject({ ok: true });
    await expect(world.store.deleteEdge("e1")).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    expect((await world.store.outgoing("a")).edges.map(({ id }) => id)).toEqual(["e2"]);
    await world.hub.use(NAME, (memory) => memory.forget("a", "asked"));
    expect(await world.store.getNode("a-1")).toBeUndefined();
    await expect(world.store.deleteEdge("e2")).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    expect((await world.store.getNode("b-1"))?.lineageId).toBe("b");
  });
});
