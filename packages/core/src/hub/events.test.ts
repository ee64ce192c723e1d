/** Events of a hub beyond the numbered cases: other handles, order, resuming, ending. */
import { describe, expect, test } from "vitest";
import { memgraph } from "../memgraph/index.js";
import { openTestHub, type TestHub } from "../testing/index.js";
import type { HubEvent, HubSubscription } from "./events.js";

async function take(subscription: HubSubscription, count: number): Promise<readonly HubEvent[]> {
  const events: HubEvent[] = [];
  while (events.length < count) {
    const { value, done } = await subscription.next();
    if (done === true) throw new Error("the subscription ended");
    events.push(value);
  }
  return events;
}

const brief = (events: readonly HubEvent[]): readonly string[] =>
  events.map(({ type, graphId, seq }) => `${type} ${graphId} ${seq}`);

async function two(backend: "memory" | "lmdb"): Promise<TestHub> {
  const world = await openTestHub({ backend });
  for (const id of ["g", "h"]) await world.hub.createGraph({ name: id, id });
  return world;
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("memories, edges and removed edges of all graphs, each graph in its own order", async () => {
    await using world = await two(backend);
    const { hub, store } = world;
    await using events = await hub.subscribe();
    await store.putNode("g", { kind: "n", lineageId: "a", content: "first" });
    await store.putNode("h", { kind: "n", lineageId: "x" });
    const { edge } = await store.putEdge("g", {
      fromLineage: "a",
      toLineage: "x",
      toGraph: "h",
      kind: "cites",
    });
    await store.deleteEdge(edge.id);
    // A change of the head alone is no event.
    await hub.use("g", (memory) => memory.updateHead("a", { tags: ["t"] }));
    await store.putNode("g", { kind: "n", lineageId: "a", content: "second" });
    const seen = await take(events, 5);
    const ofG = seen.filter(({ graphId }) => graphId === "g");
    // An open kind is registered by an entry of its own.
    expect(brief(ofG)).toEqual(["memory g 2", "edge g 4", "edgeRemoved g 5", "memory g 7"]);
    const ends = { from: "a", to: "x", graphId: "g" };
    const [id] = edge.id.split("@");
    expect(ofG[1]).toMatchObject({ edge: { ...ends, edge: { id, kind: "cites", toGraph: "h" } } });
    expect(ofG[2]).toMatchObject({ edge: { ...ends, edge: { id } } });
    expect(ofG[3]).toMatchObject({ memory: { text: "second", version: 2, head: { version: 2 } } });
    expect(brief(seen.filter(({ graphId }) => graphId === "h"))).toEqual(["memory h 2"]);
  });

  test("a revert is an event when another version is current by it, and only then", async () => {
    await using world = await two(backend);
    const { hub, store } = world;
    await store.putNode("g", { kind: "n", lineageId: "a", content: "first" });
    await using events = await hub.subscribe({ graphs: ["g"] });
    const undo = () => hub.use("g", async (memory) => memory.revert((await memory.stats()).seq));
    const head = (tag: string) => hub.use("g", (memory) => memory.updateHead("a", { tags: [tag] }));
    // The head alone, whose part before came with a version.
    await head("t");
    await undo();
    // A version, whose part before is one of the head alone.
    await head("u");
    await store.putNode("g", { kind: "n", lineageId: "a", content: "second" });
    await undo();
    const seen = await take(events, 2);
    expect(brief(seen)).toEqual(["memory g 6", "memory g 7"]);
    expect(seen[1]).toMatchObject({
      memory: { text: "first", version: 1, head: { tags: ["u"], version: 1 } },
    });
  });

  test("a reader may write between two events, and a rival is an event as well", async () => {
    await using world = await two(backend);
    const { hub, store } = world;
    await hub.configureGraph("g", { conflictPolicy: "manual" });
    await using events = await hub.subscribe({ graphs: ["g"] });
    await store.putNode("g", { kind: "n", lineageId: "a" });
    await take(events, 1);
    await store.putNode("g", { kind: "n", lineageId: "a", basedOnVersion: 9 });
    await store.putNode("h", { kind: "n" });
    await store.putNode("g", { kind: "n" });
    const seen = await take(events, 2);
    expect(seen.every(({ graphId }) => graphId === "g")).toBe(true);
    expect(seen[0]).toMatchObject({ memory: { version: 2, head: { siblings: [1] } } });
  });

  test("positions resume where a reader stopped, entry by entry", async () => {
    await using world = await two(backend);
    const { hub, store } = world;
    const first = await hub.subscribe();
    for (const lineageId of ["a", "b", "c"]) await store.putNode("g", { kind: "n", lineageId });
    await take(first, 2);
    const from = first.positions();
    expect(from).toMatchObject({ g: 4, h: 2 });
    await first.return();
    await store.putNode("h", { kind: "n", lineageId: "x" });
    await using second = await hub.subscribe({ from });
    expect(brief(await take(second, 2))).toEqual(["memory g 4", "memory h 2"]);
    await using whole = await hub.subscribe({ from: {} });
    expect(brief(await take(whole, 6))).toEqual([
      "graph g 1",
      "memory g 2",
      "memory g 3",
      "memory g 4",
      "graph h 1",
      "memory h 2",
    ]);
  });

  test("it ends by its signal, by the end of the hub, and while it waits", async () => {
    await using world = await two(backend);
    const stop = new AbortController();
    const bySignal = await world.hub.subscribe({ signal: stop.signal });
    const waiting = bySignal.next();
    stop.abort();
    expect(await waiting).toMatchObject({ done: true });
    const byReturn = await world.hub.subscribe();
    const pending = byReturn.next();
    await byReturn.return();
    expect(await pending).toMatchObject({ done: true });
  });
});

test("what another handle writes arrives too, new graphs included", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  await using other = await world.another();
  await using events = await world.hub.subscribe({ pollMs: 10 });
  await other.createGraph({ name: "made elsewhere", id: "g" });
  await memgraph(other).putNode("g", { kind: "n", lineageId: "a" });
  const seen = await take(events, 2);
  expect(seen).toMatchObject([
    { type: "graph", graph: { id: "g", name: "made elsewhere" } },
    { type: "memory", memory: { head: { externalId: "a" } } },
  ]);
  await memgraph(other).putNode("g", { kind: "n", lineageId: "b" });
  expect(await take(events, 1)).toMatchObject([{ memory: { head: { externalId: "b" } } }]);
});

test("closing the hub ends its subscriptions", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  const other = await world.another();
  const events = await other.subscribe();
  const waiting = events.next();
  await other.close();
  expect(await waiting).toMatchObject({ done: true });
});

test("what is no subscription is refused", async () => {
  await using world = await openTestHub();
  for (const bad of [
    { pollMs: 1 },
    { graphs: "g" },
    { graphs: ["A"] },
    { from: { g: -1 } },
    { signal: 5 },
    { kinds: [] },
  ]) {
    await expect(world.hub.subscribe(bad as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_(INVALID|BAD_NAME|UNKNOWN_FIELD)$/),
    });
  }
});
