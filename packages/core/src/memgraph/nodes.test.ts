/** Nodes: what becomes of versions, lineages and rivals beyond the numbered cases. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Hub } from "../hub/hub.js";
import { around, type Kv } from "../kv/kv.js";
import { open } from "../open.js";
import { GUEST } from "../scope/access.js";
import { openTestHub, type TestHub } from "../testing/index.js";
import { type Memgraph, memgraph } from "./index.js";
import type { NodeInput, NodeResult } from "./nodes.js";

async function graph(
  { hub }: TestHub,
  id = "g",
  policy: "lww" | "manual" = "lww",
): Promise<string> {
  return (await hub.createGraph({ name: id, id, conflictPolicy: policy })).id;
}

function put(world: TestHub, input: Partial<NodeInput> = {}, id = "g"): Promise<NodeResult> {
  return world.store.putNode(id, { kind: "fact", content: "c", ...input });
}

/** Something that is waited for until it is told. */
function signal(): { readonly told: Promise<void>; tell(): void } {
  let tell = (): void => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { told, tell: () => tell() };
}

type Lineages = Hub["lineages"];

/** The same graphs as another process has them, without what this one knows and waits for; `more` comes between. */
function inAnotherProcess({ hub }: TestHub, more: Partial<Lineages> = {}): Memgraph {
  const bound = <T extends object>(whole: T, own: Partial<T>): T =>
    new Proxy(whole, {
      get: (_, name) => {
        if (Object.hasOwn(own, name)) return own[name as keyof T];
        const member: unknown = Reflect.get(whole, name, whole);
        return typeof member === "function" ? member.bind(whole) : member;
      },
    });
  const lineages = bound(hub.lineages, {
    wasIn: () => false,
    writing: (_lineages, _graph, work) => work(),
    ...more,
  });
  return memgraph(bound(hub, { lineages }));
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("kind, tags, metadata and freshness belong to the version that came with them", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    const first = await put(world, {
      lineageId: "a lineage, any text: 日本",
      kind: "draft",
      tags: ["b", "a"],
      metadata: { n: 1 },
      freshnessAt: 7,
      createdBy: "ada",
    });
    const second = await put(world, { lineageId: first.node.lineageId, kind: "final" });
    expect(first.created && !second.created).toBe(true);
    const [now, then] = await world.store.history(first.node.lineageId);
    expect(now).toMatchObject({ version: 2, kind: "final", tags: [], isStale: false });
    expect(now?.metadata ?? now?.freshnessAt).toBeUndefined();
    expect(then).toMatchObject({
      version: 1,
      kind: "draft",
      tags: ["b", "a"],
      metadata: { n: 1 },
      freshnessAt: 7,
      createdBy: "ada",
      supersededBy: second.node.id,
      isCurrent: false,
      isStale: false,
    });
    expect((await world.store.listNodes("g", { kinds: ["draft"] })).total).toBe(0);
    expect((await world.store.listNodes("g", { kinds: ["final"] })).total).toBe(1);
    // A head that changes without a version shows on the current node alone.
    await world.hub.use("g", (memory) => memory.updateHead(now?.lineageId ?? "", { tags: ["z"] }));
    expect((await world.store.history(first.node.lineageId)).map(({ tags }) => tags)).toEqual([
      ["z"],
      ["b", "a"],
    ]);
  });

  test("stale is what is current and past its time, and it is always returned", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    const past = await put(world, { freshnessAt: world.clock.last() - 1000 });
    const future = await put(world, { freshnessAt: world.clock.last() + 100_000 });
    expect([past.node.isStale, future.node.isStale]).toEqual([true, false]);
    const { nodes } = await world.store.listNodes("g", { compact: true });
    expect(nodes.map(({ isStale }) => isStale)).toEqual([false, true]);
    const fresh = await world.store.search("g", { text: "c", freshOnly: true });
    expect(fresh.hits.map(({ node }) => node.id)).toEqual([future.node.id]);
  });

  test("a version that was undone supersedes nothing, and was there while it stood", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store, clock } = world;
    await graph(world);
    const { node: first } = await put(world, { lineageId: "a", content: "one" });
    clock.advance(1000);
    const { node: second, seq } = await put(world, { lineageId: "a", content: "two" });
    clock.advance(1000);
    await hub.use("g", (memory) => memory.revert(seq));
    const nodeIds = async () =>
      (await store.history("a")).map(({ id, supersededBy }) => [id, supersededBy]);
    expect(await store.getNode("a")).toEqual(first);
    expect(await nodeIds()).toEqual([
      [second.id, undefined],
      [first.id, undefined],
    ]);
    clock.advance(1000);
    const { node: third } = await put(world, {
      lineageId: "a",
      content: "three",
      basedOnVersion: 1,
    });
    expect([third.version, third.conflicts]).toEqual([3, []]);
    expect(await nodeIds()).toEqual([
      [third.id, undefined],
      [second.id, undefined],
      [first.id, third.id],
    ]);
    for (const node of await store.history("a")) expect(await store.getNode(node.id)).toEqual(node);
    const times = [first.createdAt - 1, first.createdAt, second.createdAt + 500];
    const later = [second.createdAt + 1500, third.createdAt];
    const contents = [...times, ...later].map(
      async (atTime) => (await store.getNode("a", { atTime }))?.content,
    );
    expect(await Promise.all(contents)).toEqual([undefined, "one", "two", "one", "three"]);
  });

  test("a lineage that is written in another graph moves there with its history", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    for (const id of ["g", "h"]) await graph(world, id);
    // One with a name of its own, and one that goes by the id of its memory.
    const made = await put(world, { content: "0" }, "g");
    for (const lineageId of ["mine", made.node.lineageId]) {
      await put(world, { lineageId, content: "one" }, "g");
      const { node: second } = await put(world, { lineageId, content: "two" }, "g");
      const moved = await put(world, { lineageId, content: "three" }, "h");
      expect(moved.node).toMatchObject({ graphId: "h", version: second.version + 1 });
      expect(await store.getNode(lineageId)).toEqual(moved.node);
      const old = await store.getNode(second.id);
      expect(old).toMatchObject({ graphId: "g", isCurrent: false, supersededBy: moved.node.id });
      expect(old?.lifecycle).toBeUndefined();
      expect(await store.getNode(lineageId, { atVersion: second.version })).toEqual(old);
      expect(await store.getNode(lineageId, { atTime: second.createdAt })).toEqual(old);
      const back = await put(world, { lineageId, content: "four" }, "g");
      expect(back.node).toMatchObject({ graphId: "g", version: second.version + 2 });
      const versions = await store.history(lineageId);
      const contents = versions.map(({ graphId, content }) => graphId + content);
      expect(contents.slice(0, 4)).toEqual(["gfour", "hthree", "gtwo", "gone"]);
      expect(versions.map(({ isCurrent }) => isCurrent).indexOf(true)).toBe(0);
      expect(versions.slice(1).map(({ supersededBy }) => supersededBy)).toEqual(
        versions.slice(0, -1).map(({ id }) => id),
      );
      expect((await store.search("h", { text: "three" })).hits).toEqual([]);
    }
    expect((await store.listNodes("h")).total).toBe(0);
    expect((await store.listNodes("g")).total).toBe(2);
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true });
    const both = await Promise.all([
      put(world, { lineageId: "contested" }, "g"),
      put(world, { lineageId: "contested" }, "h"),
    ]);
    expect(both.map(({ node }) => node.lineageId)).toEqual(["contested", "contested"]);
    const totals = await Promise.all(["g", "h"].map((id) => store.listNodes(id)));
    expect(totals.reduce((sum, { total }) => sum + total, 0)).toBe(3);
    expect(await store.history("contested")).toHaveLength(2);
  });

  test("a move that was cut short has its head, is told by check, and mended by repair or the next write", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    for (const id of ["g", "h"]) await graph(world, id);
    for (const lineageId of ["a", "b"]) {
      await put(world, { lineageId, content: "one" }, "g");
      // As the first of the two commits leaves it.
      await hub.use("h", (memory) =>
        memory.write(
          { type: "note", kind: "n", data: { content: "two" }, externalId: lineageId },
          { upsert: { after: 1 } },
        ),
      );
    }
    // As stores of before hold it: the id of a memory of one graph is a name in another.
    const { node: pair } = await put(world, { content: "g" }, "g");
    world.clock.advance(1000);
    const note = { type: "note", kind: "n", data: { content: "h" } } as const;
    await hub.use("h", (memory) => memory.write({ ...note, externalId: pair.lineageId }));
    // Names that graphs use each for its own are nobody else's.
    for (const id of ["g", "h"]) {
      await hub.use(id, (memory) => memory.write({ ...note, externalId: "own" }));
    }
    const fresh = await put(world, { lineageId: "b", content: "three" }, "h");
    expect(fresh.node).toMatchObject({ graphId: "h", version: 3 });
    const { ok, problems } = await hub.check();
    expect(ok).toBe(false);
    expect(problems.map(({ message }) => message.split(" is ")[0]).sort()).toEqual(
      ['lineage "a"', `lineage "${pair.lineageId}"`].sort(),
    );
    expect(await hub.check({ repair: true })).toMatchObject({ ok: true });
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true, problems: [] });
    for (const lineageId of ["a", "b", pair.lineageId]) {
      expect(await store.getNode(lineageId)).toMatchObject({ graphId: "h", isCurrent: true });
      expect((await store.history(lineageId)).filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
    }
    const { nodes } = await store.listNodes("g");
    expect(nodes.map(({ lineageId }) => lineageId)).toEqual(["own"]);
    expect((await put(world, { lineageId: "own" }, "g")).node).toMatchObject({ version: 2 });
    expect((await store.getNode("own", { graph: "h" }))?.version).toBe(1);
  });

  test("a lineage that was forgotten is gone from every answer, and its name is free again", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    await graph(world, "g");
    await graph(world, "h");
    const { node } = await put(world, { lineageId: "gone" }, "g");
    await hub.use("g", (memory) => memory.forget("gone", "asked"));
    expect(await store.getNode("gone")).toBeUndefined();
    expect(await store.getNode(node.id)).toBeUndefined();
    expect(await store.history("gone", { graph: "g" })).toEqual([]);
    world.clock.advance(120_000);
    expect((await put(world, { lineageId: "gone" }, "h")).node).toMatchObject({ graphId: "h" });
    expect(await store.getNode("gone")).toMatchObject({ graphId: "h" });
  });

  test("a hidden lineage is read and not listed; writing to it is refused", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    await put(world, { lineageId: "hidden" });
    await world.hub.use("g", (memory) => memory.tombstone("hidden", "wrong"));
    expect(await world.store.getNode("hidden")).toMatchObject({ lifecycle: "tombstoned" });
    expect((await world.store.listNodes("g")).total).toBe(0);
    await expect(put(world, { lineageId: "hidden" })).rejects.toMatchObject({
      code: "ERR_TOMBSTONED",
    });
  });

  test("a lineage that moves the moment it is made is visible where it went", async () => {
    const stores: Kv[] = [];
    let commitIn = (_: Kv, commit: () => ReturnType<Kv["commit"]>) => commit();
    const wrapGraph = (kv: Kv): Kv => {
      stores.push(kv);
      return around(kv, { commit: (change) => commitIn(kv, () => kv.commit(change)) });
    };
    await using world = await openTestHub({ backend, wrapGraph });
    for (const id of ["one", "two"]) await graph(world, id);
    const [one, two] = stores;
    const [isMoved, isMade] = [signal(), signal()];
    let moving: Promise<NodeResult> | undefined;
    commitIn = async (kv, commit) => {
      // What it leaves is hidden only after its maker has looked around.
      if (kv === one && moving !== undefined) await isMade.told;
      const result = await commit();
      if (kv === two) isMoved.tell();
      if (kv === one && moving === undefined) {
        const other = inAnotherProcess(world);
        moving = other.putNode("two", { kind: "fact", content: "w", lineageId: "w" });
        await isMoved.told;
      }
      return result;
    };
    await put(world, { lineageId: "w" }, "one");
    isMade.tell();
    await moving;
    const lists = await Promise.all(["one", "two"].map((id) => world.store.listNodes(id)));
    expect(lists.map(({ total }) => total)).toEqual([0, 1]);
    expect((await world.store.history("w")).map(({ version }) => version)).toEqual([2, 1]);
  });

  test("a lineage that is taken away in the moment it is written is followed", async () => {
    await using world = await openTestHub({ backend });
    for (const id of ["one", "two"]) await graph(world, id);
    for (const id of ["one", "two", "one"]) await put(world, { lineageId: "w" }, id);
    let moves = 0;
    const other = inAnotherProcess(world, {
      placeIn: async (...where) => {
        const found = await world.hub.lineages.placeIn(...where);
        moves += 1;
        if (moves === 1) await put(world, { lineageId: "w", content: "between" }, "two");
        return found;
      },
    });
    const { node } = await other.putNode("one", { kind: "fact", content: "last", lineageId: "w" });
    expect([node.version, node.graphId, node.content]).toEqual([5, "one", "last"]);
    const nodes = await world.store.history("w");
    expect(nodes.map(({ version, content }) => [version, content])).toEqual([
      [5, "last"],
      [4, "between"],
      [3, "c"],
      [2, "c"],
      [1, "c"],
    ]);
    expect(nodes.map(({ isCurrent }) => isCurrent)).toEqual([true, false, false, false, false]);
    // What somebody hid by hand is not written to, here or elsewhere.
    await world.hub.use("one", (memory) => memory.tombstone("w", "no more"));
    await expect(put(world, { lineageId: "w" }, "one")).rejects.toMatchObject({
      code: "ERR_TOMBSTONED",
    });
  });

  test("calls that come at once write a lineage into several graphs one after another", async () => {
    await using world = await openTestHub({ backend });
    const graphs = ["one", "two", "three"];
    for (const id of graphs) await graph(world, id);
    const contents = Array.from({ length: 45 }, (_, at) => `content ${at}`);
    await Promise.all(
      contents.map((content, at) => {
        const id = graphs[(at * 7 + Math.floor(at / 4)) % 3] ?? "";
        const node = { kind: "fact", content, lineageId: `lineage ${at % 3}` };
        if (at % 5 > 0) return world.store.putNode(id, node);
        return world.store.putSubgraph(id, { nodes: [node, { kind: "fact", content: "beside" }] });
      }),
    );
    const histories = await Promise.all([0, 1, 2].map((n) => world.store.history(`lineage ${n}`)));
    for (const nodes of histories) {
      expect(nodes.map(({ version }) => version)).toEqual(nodes.map((_, at) => 15 - at));
      expect(nodes.map(({ isCurrent }) => isCurrent)).toEqual(nodes.map((_, at) => at === 0));
    }
    expect(
      histories
        .flat()
        .map(({ content }) => content)
        .sort(),
    ).toEqual([...contents].sort());
    const lists = await Promise.all(graphs.map((id) => world.store.listNodes(id)));
    const named = lists.flatMap(({ nodes }) => nodes).filter(({ content }) => content !== "beside");
    expect(named.map(({ lineageId }) => lineageId).sort()).toEqual(
      [0, 1, 2].map((n) => `lineage ${n}`),
    );
    expect((await world.hub.check({ graphs: true })).ok).toBe(true);
  });

  test("what is no node is refused", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    await world.hub.use("g", (memory) =>
      memory.write({ type: "fact", text: "a fact", externalId: "fact" }),
    );
    const refused: readonly (readonly [object, string])[] = [
      [{ kind: "" }, "ERR_INVALID"],
      [{ kind: undefined }, "ERR_INVALID"],
      [{ lineageId: "" }, "ERR_BAD_ID"],
      [{ lineageId: "cortex://g/Note/x#1" }, "ERR_BAD_URI"],
      [{ lineageId: "x".repeat(257) }, "ERR_BAD_ID"],
      [{ lineageId: "fact" }, "ERR_INVALID"],
      [{ basedOnVersion: 1.5 }, "ERR_INVALID"],
      [{ metadata: "x" }, "ERR_INVALID"],
      [{ content: 5 }, "ERR_INVALID"],
      [{ content: "x".repeat(8 * 1024 * 1024 + 1) }, "ERR_TOO_LARGE"],
      [{ colour: "red" }, "ERR_UNKNOWN_FIELD"],
    ];
    for (const [input, code] of refused) {
      await expect(put(world, input), JSON.stringify(input).slice(0, 60)).rejects.toMatchObject({
        code,
      });
    }
    expect((await world.store.listNodes("g", { kinds: ["fact"] })).total).toBe(1);
  });

  test("a list is newest first, has a total, and pages by offset", async () => {
    await using world = await openTestHub({ backend });
    await graph(world);
    for (const lineageId of ["a", "b", "c", "d"]) await put(world, { lineageId });
    // Writing again brings a lineage to the front.
    await put(world, { lineageId: "b" });
    const page = async (filter: object): Promise<unknown> => {
      const { nodes, total, nextOffset } = await world.store.listNodes("g", filter);
      return [nodes.map(({ lineageId }) => lineageId).join(""), total, nextOffset];
    };
    expect(await page({})).toEqual(["bdca", 4, undefined]);
    expect(await page({ limit: 0, offset: 1 })).toEqual(["dca", 4, undefined]);
    expect(await page({ limit: 2 })).toEqual(["bd", 4, 2]);
    expect(await page({ limit: 2, offset: 2 })).toEqual(["ca", 4, undefined]);
    expect(await page({ limit: 2, offset: 9 })).toEqual(["", 4, undefined]);
    expect(await world.store.listNodes("nobody")).toMatchObject({ nodes: [], total: 0 });
  });

  test("rivals are listed one by one, each under its own kind and tags", async () => {
    await using world = await openTestHub({ backend });
    await graph(world, "g", "manual");
    await put(world, { lineageId: "a", tags: ["base"] });
    await put(world, { lineageId: "a", kind: "left", tags: ["l"], basedOnVersion: 1 });
    await put(world, { lineageId: "a", kind: "right", tags: ["r"], basedOnVersion: 1 });
    const versions = async (filter: object): Promise<readonly number[]> =>
      (await world.store.listNodes("g", filter)).nodes.map(({ version }) => version);
    expect(await versions({})).toEqual([3, 2]);
    expect(await versions({ kinds: ["left"] })).toEqual([2]);
    expect(await versions({ tags: ["r"] })).toEqual([3]);
    expect(await versions({ tags: ["base"] })).toEqual([]);
    const schema = await world.store.describeSchema("g");
    expect(schema).toMatchObject({ nodeCount: 2 });
    expect(schema.kinds.map(({ kind, examples }) => `${kind} ${examples.length}`).sort()).toEqual([
      "left 1",
      "right 1",
    ]);
    expect((await world.store.listTags("g")).tags).toEqual([
      { tag: "l", count: 1 },
      { tag: "r", count: 1 },
    ]);
  });

  test("a conflict is listed and settled only by somebody who saw all of it", async () => {
    await using world = await openTestHub({ backend });
    const { store } = world;
    await graph(world, "g", "manual");
    await put(world, { lineageId: "a", content: "base" });
    await put(world, { lineageId: "a", content: "left", tags: ["l"], basedOnVersion: 1 });
    await put(world, { lineageId: "a", content: "right", basedOnVersion: 1 });
    const { conflicts } = await store.conflicts("g");
    expect(conflicts).toMatchObject([
      { graphId: "g", lineageId: "a", nodes: [{ content: "right" }, { content: "left" }] },
    ]);
    await expect(store.resolve("a", { versions: [3], keep: 3 })).rejects.toMatchObject({
      code: "ERR_CONFLICT",
    });
    const settled = await store.resolve("a", { versions: [2, 3], keep: 2, by: "ada" });
    expect(settled.node).toMatchObject({
      version: 4,
      content: "left",
      tags: ["l"],
      createdBy: "ada",
      conflicts: [],
    });
    expect((await store.conflicts("g")).conflicts).toEqual([]);
    for (const bad of [
      { versions: [4] },
      { versions: [4], keep: 3 },
      { versions: "4", keep: 4 },
      { versions: [4], keep: 4, node: { kind: "fact" } },
    ]) {
      await expect(store.resolve("a", bad as never)).rejects.toMatchObject({ code: "ERR_INVALID" });
    }
    const own = await store.resolve("a", {
      versions: [4],
      node: { kind: "fact", content: "both" },
    });
    expect(own.node).toMatchObject({ version: 5, content: "both" });
    await expect(store.resolve("nobody", { versions: [1], keep: 1 })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
  });

  test("a guest sees what is public: in reads, lists, counts and conflicts", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    await graph(world, "g", "manual");
    const open = await put(world, { lineageId: "open", content: "shared word", tags: ["t"] });
    await put(world, { lineageId: "shut", content: "secret word", tags: ["t", "u"] });
    await put(world, { lineageId: "shut", content: "secret word", basedOnVersion: 9 });
    await hub.use("g", (memory) => memory.updateHead("open", { visibility: "public" }));
    const access = { access: GUEST };
    expect(await store.getNode("open", access)).toMatchObject({ id: open.node.id });
    expect(await store.getNode("shut", access)).toBeUndefined();
    expect(await store.history("shut", access)).toEqual([]);
    expect(await store.listNodes("g", access)).toMatchObject({ total: 1 });
    expect((await store.conflicts("g", access)).conflicts).toEqual([]);
    const found = await store.search("g", { text: "word" }, access);
    expect(found.hits.map(({ node }) => node.lineageId)).toEqual(["open"]);
    expect(await store.describeSchema("g", access)).toMatchObject({ nodeCount: 1 });
    expect((await store.listTags("g", access)).tags).toEqual([{ tag: "t", count: 1 }]);
  });
});

test("a lineage that two graphs hold is read by naming the graph", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  for (const actor of ["ada", "bob"]) {
    const memory = await open(world.location, {
      actor,
      clock: world.clock.read,
      relaxedDurability: true,
    });
    await memory.write({ type: "note", text: `profile of ${actor}`, externalId: "profile" });
    await memory.close();
  }
  await expect(world.store.getNode("profile")).rejects.toMatchObject({
    code: "ERR_INVALID",
    details: { field: "graph" },
  });
  const read = await world.store.getNode("profile", { graph: "bob" });
  expect(read).toMatchObject({ content: "profile of bob" });
  expect((await world.store.putNode("bob", { kind: "n", lineageId: "profile" })).node.version).toBe(
    2,
  );
});

interface Row {
  readonly version: number;
  supersededBy: number | undefined;
}

/** The decision table, told by itself: the current versions and what each write does to them. */
function modelWrite(rows: Row[], policy: "lww" | "manual", basedOn: number | undefined): boolean {
  const heads = rows.filter(({ supersededBy }) => supersededBy === undefined);
  const version = Math.max(0, ...heads.map((row) => row.version)) + 1;
  const isKnown = basedOn === undefined || heads.some((row) => row.version === basedOn);
  const isRival = heads.length > 0 && !isKnown && policy === "manual";
  if (!isRival) for (const head of heads) head.supersededBy = version;
  rows.push({ version, supersededBy: undefined });
  return isRival;
}

const SEED = 41_208;

test(`any sequence of writes follows the decision table (seed ${SEED})`, async () => {
  const writes = fc.array(fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }), {
    minLength: 1,
    maxLength: 10,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("lww" as const, "manual" as const),
      writes,
      async (policy, all) => {
        await using world = await openTestHub();
        await graph(world, "g", policy);
        const rows: Row[] = [];
        for (const basedOnVersion of all) {
          const based = basedOnVersion === undefined ? {} : { basedOnVersion };
          const { node, conflict } = await put(world, { lineageId: "a", ...based });
          expect(conflict !== undefined).toBe(modelWrite(rows, policy, basedOnVersion));
          expect(node.version).toBe(rows.length);
        }
        const nodes = await world.store.history("a");
        const idOf = (version: number): string | undefined =>
          nodes.find((node) => node.version === version)?.id;
        const heads = rows.filter(({ supersededBy }) => supersededBy === undefined).reverse();
        for (const { version, supersededBy } of rows) {
          const node = await world.store.getNode(idOf(version) ?? "");
          expect(node).toEqual(nodes.find((one) => one.version === version));
          const next = supersededBy === undefined ? undefined : idOf(supersededBy);
          expect(node?.supersededBy).toBe(next);
          const others = heads
            .filter((row) => row.version !== version)
            .map((row) => idOf(row.version));
          expect(node?.conflicts).toEqual(supersededBy === undefined ? others : []);
        }
        expect((await world.store.getNode("a"))?.version).toBe(heads[0]?.version);
      },
    ),
    { seed: SEED, numRuns: 60 },
  );
});
