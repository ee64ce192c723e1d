/**
 * The facade as its users know it, as tests of the interface alone: they run on a store at hand and on a
 * client of a server, and neither may tell.
 */
import { type CortexApi, CortexError } from "@cortex-memory/core";
import { verify } from "@cortex-memory/core/verify";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** An empty graph for one test. */
export interface Opened {
  readonly memory: CortexApi;
  close(): Promise<void>;
}

/** The code that a call fails with. */
export async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (error instanceof CortexError) return error.code;
    throw error;
  }
  throw new Error("expected a failure, got an answer");
}

/** Registers the tests for one way of opening a graph. */
export function facadeSuite(name: string, openEmpty: () => Promise<Opened>): void {
  describe(`the facade ${name}`, () => {
    let opened: Opened;
    let memory: CortexApi;
    beforeEach(async () => {
      opened = await openEmpty();
      memory = opened.memory;
      await memory.write({ type: "fact", text: "Ada lives in Porto", externalId: "home" });
    });
    afterEach(() => opened.close());
    memoryTests(() => memory);
    manyTests(() => memory);
    linkTests(() => memory);
    readingTests(() => memory);
    stateTests(() => memory);
    journalTests(() => memory);
    refusalTests(() => memory);
  });
}

function memoryTests(graph: () => CortexApi): void {
  test("a memory is written, read, revised, hidden, restored and forgotten", async () => {
    const memory = graph();
    const written = await memory.write(
      { type: "fact", text: "Ada likes tea", slot: "drink", tags: ["taste"] },
      { similar: true },
    );
    expect(written).toMatchObject({ version: 1, seq: 2 });
    const revised = await memory.update(written.id, { text: "Ada likes green tea" });
    expect(revised.version).toBe(2);
    await memory.updateHead(written.id, { importance: 9 });
    const read = await memory.get(written.id);
    expect(read).toMatchObject({ text: "Ada likes green tea", head: { importance: 9 } });
    expect(await memory.get(written.id, { asOf: 2 })).toMatchObject({ text: "Ada likes tea" });
    expect(await memory.resolve(revised.uri)).toMatchObject({ version: 2 });
    expect((await memory.history(written.id))?.map(({ version }) => version)).toEqual([2, 1]);
    await memory.tombstone(written.id, "no longer");
    expect((await memory.list({ tag: "taste" })).memories).toEqual([]);
    await memory.restore(written.id);
    expect((await memory.list({ tag: "taste" })).memories).toHaveLength(1);
    await memory.forget(written.id, "asked to");
    expect(await codeOf(() => memory.update(written.id, { text: "again" }))).toBe("ERR_ERASED");
  });

  test("what is not there is a value", async () => {
    const memory = graph();
    expect(await memory.get("nobody")).toBeUndefined();
    expect(await memory.history("nobody")).toBeUndefined();
    expect(await memory.inspect("nobody")).toBeUndefined();
    expect(await memory.getEdge("home", "relates", "nobody")).toBeUndefined();
    expect(await memory.goalState("home")).toBeUndefined();
    expect(await memory.contextRecord("no-task", "no-step")).toBeUndefined();
    expect(await memory.resolve("cortex://default/Fact/01JADA000000000000000000H0#1")).toBe(
      undefined,
    );
  });

  test("the same key gives the first answer again, and another request under it is refused", async () => {
    const memory = graph();
    const input = { type: "event", text: "Ada took a train", idempotencyKey: "trip" } as const;
    const first = await memory.write(input);
    expect(await memory.write(input)).toMatchObject({ id: first.id, seq: first.seq });
    const other = { ...input, text: "Ada took a plane" };
    expect(await codeOf(() => memory.write(other))).toBe("ERR_IDEMPOTENCY");
  });
}

function manyTests(graph: () => CortexApi): void {
  test("a batch says of every item what became of it", async () => {
    const { results } = await graph().batch(
      [
        { write: { type: "fact", text: "one" }, ref: "a" },
        { update: { id: "nobody", text: "two" } },
        { link: { from: { ref: "a" }, kind: "relates", to: "home" } },
      ],
      { atomic: false },
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
    const failed = results.flatMap((one) => (one.ok ? [] : [one.error]));
    expect(failed[0]).toBeInstanceOf(CortexError);
    expect(failed[0]?.code).toBe("ERR_NOT_FOUND");
  });

  test("a conversation comes back in order", async () => {
    const memory = graph();
    const turns = ["hello", "I moved", "to Braga"].map((content, index) => ({
      role: "user" as const,
      content,
      index,
    }));
    await memory.remember(turns, { session: "chat" });
    const { turns: kept } = await memory.session("chat");
    expect(kept.map(({ content }) => content)).toEqual(["hello", "I moved", "to Braga"]);
    const { sessions } = await memory.sessions({ prefix: "chat" });
    expect(sessions).toMatchObject([{ session: "chat", turns: 3, opening: "hello" }]);
  });
}

function linkTests(graph: () => CortexApi): void {
  test("links are added, listed, walked and removed", async () => {
    const memory = graph();
    await memory.write({ type: "constraint", text: "No red-eye flights", externalId: "rule" });
    await memory.link("rule", "relates", "home", { reason: "one trip", strength: 2 });
    const added = await memory.addEdge("home", "about", "rule");
    expect((await memory.edgesOut("rule")).edges).toHaveLength(1);
    // A symmetric link is found from both ends, and in both directions.
    expect((await memory.edgesIn("rule")).edges).toHaveLength(2);
    expect(await memory.getEdge("rule", "relates", "home")).toMatchObject({ strength: 2 });
    expect(await memory.linksFrom("rule")).toHaveLength(1);
    expect(await memory.backlinksTo("rule")).toHaveLength(2);
    const walked = await memory.traverse("rule", { direction: "both", maxHops: 2 });
    expect(walked.edges.length).toBeGreaterThan(0);
    await memory.removeEdge("rule", "relates", "home", { reason: "done" });
    await memory.removeEdgeById(added.id);
    expect((await memory.edgesOut("rule")).edges).toEqual([]);
    expect((await memory.inspect("rule"))?.memory.id).toBe((await memory.get("rule"))?.id);
  });
}

function readingTests(graph: () => CortexApi): void {
  test("memories are found by words, by conditions and by a question", async () => {
    const memory = graph();
    await memory.write({
      type: "note",
      kind: "idea",
      text: "A compiler in English",
      tags: ["x:y"],
    });
    const ids = ({ hits }: { readonly hits: readonly { readonly text: string }[] }) =>
      hits.map(({ text }) => text);
    expect(ids(await memory.search("Porto"))).toEqual(["Ada lives in Porto"]);
    expect(ids(await memory.searchBatch(["Porto", "compiler"]))).toHaveLength(2);
    expect(ids(await memory.find({ type: ["note"], limit: 5 }))).toHaveLength(1);
    const recalled = await memory.recall(["where does Ada live?", "Ada's home"]);
    expect(recalled.text).toContain("Porto");
    expect((await memory.context()).seq).toBe(2);
    expect((await memory.describeSchema()).nodeCount).toBe(2);
    expect((await memory.listTags({ prefix: "x" })).tags).toEqual([{ tag: "x:y", count: 1 }]);
    expect(await codeOf(() => memory.find({ type: ["note"] }))).toBe("ERR_UNBOUNDED");
  });

  test("pages go on by their cursor, and the last has none", async () => {
    const memory = graph();
    for (const text of ["a", "b", "c"]) await memory.write({ type: "event", text });
    const first = await memory.list({ type: ["event"], limit: 2, order: "oldest" });
    expect(first.memories.map(({ text }) => text)).toEqual(["a", "b"]);
    const rest = await memory.list({
      type: ["event"],
      order: "oldest",
      ...(first.cursor === undefined ? {} : { cursor: first.cursor }),
    });
    expect(rest.memories.map(({ text }) => text)).toEqual(["c"]);
    expect(rest.cursor).toBeUndefined();
  });

  test("a slot has a history, and what contradicts it waits for a decision", async () => {
    const memory = graph();
    await memory.write({ type: "fact", text: "Ada lives in Porto now", slot: "city" });
    await memory.write({ type: "fact", text: "Ada lives in Braga now", slot: "city" });
    const { values } = await memory.slotHistory("city");
    expect(values.map(({ current }) => current)).toEqual([true, false]);
    expect((await memory.review()).items).toEqual([]);
    expect(await codeOf(() => memory.settle("none", { decision: "keep_both", reason: "no" }))).toBe(
      "ERR_INVALID",
    );
  });
}

function stateTests(graph: () => CortexApi): void {
  test("goals keep a state, tasks are attested and contexts compacted", async () => {
    const memory = graph();
    await memory.write({ type: "goal", text: "Get Ada to the talk", externalId: "trip" });
    const state = { failureStreak: 0, intentsTodayCount: 1, spentToday: "3" };
    const { id } = await memory.setGoalState("trip", state);
    expect(await memory.goalState("trip")).toEqual(state);
    expect(await memory.goalStates()).toEqual([{ id, state }]);
    await memory.deleteGoalState("trip");
    expect(await memory.goalStates()).toEqual([]);
    await memory.attest({ intentId: "t", outcome: "success", cited: ["home"] });
    expect((await memory.weights()).seq).toBeGreaterThan(0);
    await memory.compactContext({ intentId: "t", stepId: "s", inContext: ["home"] });
    expect(await memory.contextRecord("t", "s")).toMatchObject({
      compacted: [{ text: "Ada lives in Porto" }],
    });
  });

  test("the configuration is read and changed", async () => {
    const memory = graph();
    const before = await memory.config();
    expect(before.conflictPolicy).toBe("lww");
    const { seq, ...after } = await memory.configure({ conflictPolicy: "manual" });
    expect(after).toEqual({ ...before, conflictPolicy: "manual" });
    expect(seq).toBe(2);
    expect(await memory.config()).toEqual(after);
  });
}

function journalTests(graph: () => CortexApi): void {
  test("the journal is read, undone, sealed, proved and checked", async () => {
    const memory = graph();
    await memory.write({ type: "fact", text: "a slip", externalId: "slip" });
    expect((await memory.log({ from: 1 })).entries).toHaveLength(2);
    expect((await memory.changes(1)).to).toBe(2);
    await memory.revert(2);
    expect((await memory.stats()).entries).toBe(4);
    const sealed = await memory.snapshot("before the trip");
    expect(sealed).toMatchObject({ reason: "before the trip", ...(await memory.root()) });
    expect(await memory.snapshots({ limit: 1 })).toEqual([sealed]);
    const { checkpoint } = await memory.checkpoint();
    expect(checkpoint).toBe(sealed.checkpoint);
    await memory.write({ type: "event", text: "later" });
    const proof = await memory.prove(["home"], { since: checkpoint });
    expect(verify(proof, checkpoint)).toMatchObject({ ok: true, anchored: true });
    const shared = await memory.share({ types: ["fact"] });
    expect(verify(shared.proof, shared.checkpoint)).toMatchObject({ ok: true, anchored: true });
    expect(await memory.check()).toMatchObject({ ok: true });
    expect(await memory.rebuild({ verifyOnly: true })).toMatchObject({ ok: true });
    expect(await memory.maintain({ dryRun: true })).toMatchObject({ dryRun: true });
    expect((await memory.erasures()).erased).toEqual([]);
  });

  test("exports and backups go to a function, and report what they hold", async () => {
    const memory = graph();
    await memory.write({ type: "fact", text: "gone soon", externalId: "gone" });
    await memory.forget("gone", "asked to");
    const { root, seq } = await memory.root();
    let bytes = 0;
    const sink = (chunk: Uint8Array): void => {
      bytes += chunk.length;
    };
    const whole = await memory.exportJournal(sink);
    expect(whole).toMatchObject({ entries: seq + 1, from: 0, seq, root });
    expect(whole.erased).toBeGreaterThan(0);
    expect(bytes).toBeGreaterThan(500);
    const progress: number[][] = [];
    const onProgress = (done: number, total: number): void => void progress.push([done, total]);
    const rest = await memory.backup(sink, { since: 1, onProgress });
    expect(rest).toMatchObject({ entries: seq - 1, from: 2, seq, root });
    expect(progress.at(-1)).toEqual([seq - 1, seq - 1]);
  });

  test("a subscription tells what is written after it, in order, and ends when told", async () => {
    const memory = graph();
    const following = memory.subscribe();
    const first = following.next();
    const made = await memory.write({ type: "event", text: "told" });
    expect((await first).value).toMatchObject({ seq: made.seq, kind: "write" });
    const past = memory.subscribe({ from: 0, kinds: ["write"] });
    expect((await past.next()).value).toMatchObject({ seq: 1 });
    expect((await past.next()).value).toMatchObject({ seq: 2 });
    const waiting = past.next();
    await past.return();
    expect((await waiting).done).toBe(true);
    const stop = new AbortController();
    const stopped = memory.subscribe({ signal: stop.signal });
    const never = stopped.next();
    stop.abort();
    expect((await never).done).toBe(true);
    const last = following.next();
    await memory.close();
    expect((await last).done).toBe(true);
  });
}

function refusalTests(graph: () => CortexApi): void {
  const wrong = <T>(value: unknown): T => value as T;
  const refusals: readonly [string, string, (memory: CortexApi) => unknown][] = [
    ["an unknown type", "ERR_UNKNOWN_TYPE", (m) => m.write(wrong({ type: "no", text: "x" }))],
    ["an unknown field", "ERR_UNKNOWN_FIELD", (m) => m.list(wrong({ colour: "red" }))],
    ["a memory that is not there", "ERR_NOT_FOUND", (m) => m.update("nobody", { text: "x" })],
    ["a stale update", "ERR_CONFLICT", (m) => m.update("home", { text: "x", basedOnVersion: 9 })],
    ["an empty patch", "ERR_NO_CHANGE", (m) => m.updateHead("home", {})],
    ["a link to itself", "ERR_SELF_EDGE", (m) => m.link("home", "relates", "home")],
    ["a position that is not there", "ERR_AS_OF", (m) => m.get("home", { asOf: 99 })],
    ["a start beyond the end", "ERR_ROLLED_BACK", (m) => m.subscribe({ from: 99 }).next()],
    ["a start that is none", "ERR_INVALID", (m) => m.subscribe({ from: -1 })],
    ["a proof of nothing", "ERR_INVALID", (m) => m.prove([])],
    ["an infinite number", "ERR_INVALID", (m) => m.list({ limit: Number.POSITIVE_INFINITY })],
    ["a target that is none", "ERR_INVALID", (m) => m.exportJournal(wrong(7))],
    ["options that are none", "ERR_INVALID", (m) => m.list(wrong(7))],
  ];
  test.each(refusals)("%s is refused with %s", async (_, code, run) => {
    expect(await codeOf(() => run(graph()))).toBe(code);
  });

  test("closed is closed, and closing twice is fine", async () => {
    const memory = graph();
    const running = memory.write({ type: "fact", text: "on its way" });
    await memory.close();
    await memory.close();
    expect((await running).version).toBe(1);
    expect(await codeOf(() => memory.get("home"))).toBe("ERR_CLOSED");
    expect(await codeOf(() => memory.subscribe())).toBe("ERR_CLOSED");
  });
}
