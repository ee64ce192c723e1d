/**
 * What a guest gets from every verb: reads answer as if only public memories existed, writes and the
 * owner's verbs are refused, and nothing about the rest can be counted.
 */
import { describe, expect, test } from "vitest";
import { VERBS, type VerbName } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { openTestStore, refusalOf, TEST_EPOCH_MS, type TestStore } from "../testing/index.js";
import { GUEST, OWNER } from "./access.js";

const guest = { access: GUEST } as const;

interface World {
  readonly memory: Cortex;
  readonly open: readonly string[];
  readonly hidden: readonly string[];
}

/** Twelve linked memories, every third one public, with versions, turns and a public past. */
async function world(store: TestStore): Promise<World> {
  const { memory } = store;
  const visibilities = ["public", "private", "scoped"] as const;
  const { results } = await memory.batch(
    Array.from({ length: 12 }, (_, at) => ({
      write: {
        type: at % 2 === 0 ? "fact" : "note",
        text: `m${at}`,
        externalId: `m${at}`,
        visibility: visibilities[at % 3] ?? "private",
        tags: ["all"],
        kind: "k",
        frames: [{ verb: "find", object: "asset", ref: "r" }],
      } as const,
    })),
  );
  const ids = results.map((result) => (result.ok ? result.id : ""));
  for (const [at, id] of ids.entries()) {
    await memory.update(id, { text: `m${at} again` });
    for (const step of [1, 3, 6]) {
      const to = ids[(at + step) % ids.length] ?? "";
      await memory.addEdge(id, step === 3 ? "uses" : "blocks", to);
    }
  }
  await memory.remember([{ role: "user", content: "open" }], {
    session: "s",
    visibility: "public",
  });
  await memory.remember([{ role: "user", content: "closed" }], { session: "s" });
  return {
    memory,
    open: ids.filter((_, at) => at % 3 === 0),
    hidden: ids.filter((_, at) => at % 3 !== 0),
  };
}

/** A value without the numbers of entries, which only the owner is told. */
function unnumbered(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (name, one) => (name === "seq" ? undefined : one)));
}

describe("filtered verbs", () => {
  test("get, resolve, history and inspect: what is not public does not exist", async () => {
    await using store = await openTestStore();
    const { memory, open, hidden } = await world(store);
    for (const id of open) {
      const seen = await memory.get(id);
      expect(unnumbered(await memory.get(id, guest))).toEqual(unnumbered(seen));
      expect(unnumbered(await memory.resolve(seen?.uri ?? "", guest))).toEqual(unnumbered(seen));
      const named = await memory.get(seen?.head.externalId ?? "", guest);
      expect(unnumbered(named)).toEqual(unnumbered(seen));
      const versions = await memory.history(id);
      expect(unnumbered(await memory.history(id, guest))).toEqual(unnumbered(versions));
    }
    for (const id of hidden) {
      const uri = (await memory.get(id))?.uri ?? "";
      expect(await memory.get(id, guest)).toBeUndefined();
      expect(await memory.get(id, { ...guest, version: 1 })).toBeUndefined();
      expect(await memory.get(id, { ...guest, validAt: 1e13 })).toBeUndefined();
      expect(await memory.resolve(uri, guest)).toBeUndefined();
      expect(await memory.history(id, guest)).toBeUndefined();
      expect(await memory.inspect(id, guest)).toBeUndefined();
    }
  });

  test("list by every index: the same without the others, page by page", async () => {
    await using store = await openTestStore();
    const { memory } = await world(store);
    const queries = [
      {},
      { type: "fact" },
      { tag: "all" },
      { kind: "k" },
      { frame: { verb: "find", object: "asset", ref: "r" } },
      { session: "s" },
      { tag: "all", asOf: new Date(TEST_EPOCH_MS + 40) },
      { tag: "all", validAt: 1e13 },
      { order: "oldest" },
    ] as const;
    for (const query of queries) {
      const all = (await memory.list(query)).memories;
      const expected = all.filter(({ head }) => head.visibility === "public");
      const page = await memory.list({ ...query, ...guest });
      expect(unnumbered(page.memories)).toEqual(unnumbered(expected));
      expect(page).not.toHaveProperty("cursor");
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const next = await memory.list({
          ...query,
          ...guest,
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        });
        expect(next.memories.length).toBeLessThanOrEqual(2);
        seen.push(...next.memories.map(({ id }) => id));
        cursor = next.cursor;
      } while (cursor !== undefined);
      expect(seen).toEqual(expected.map(({ id }) => id));
    }
  });

  test("edges: only those whose both ends are public", async () => {
    await using store = await openTestStore();
    const { memory, open, hidden } = await world(store);
    for (const id of open) {
      for (const list of ["edgesOut", "edgesIn"] as const) {
        const all = (await memory[list](id)).edges;
        const expected = all.filter(({ from, to }) => open.includes(from) && open.includes(to));
        expect(unnumbered((await memory[list](id, guest)).edges)).toEqual(unnumbered(expected));
        expect(expected.length).toBeGreaterThan(0);
        expect(expected.length).toBeLessThan(all.length);
      }
      const links = await memory.linksFrom(id);
      expect(await memory.linksFrom(id, guest)).toEqual(
        links.filter(({ to }) => open.includes(to)),
      );
      const backlinks = await memory.backlinksTo(id);
      expect(await memory.backlinksTo(id, guest)).toEqual(
        backlinks.filter(({ from }) => open.includes(from)),
      );
      const seen = await memory.inspect(id, guest);
      expect(seen?.links).toEqual(await memory.linksFrom(id, guest));
      expect(seen?.backlinks).toEqual(await memory.backlinksTo(id, guest));
    }
    for (const id of hidden) {
      expect((await memory.edgesOut(id, guest)).edges).toEqual([]);
      expect((await memory.edgesIn(id, guest)).edges).toEqual([]);
      expect(await memory.linksFrom(id, guest)).toEqual([]);
      expect((await memory.traverse(id, guest)).hits).toEqual([]);
    }
    const [first = "", second = ""] = open;
    const [secret = ""] = hidden;
    expect(await memory.getEdge(first, "uses", second, guest)).toBeDefined();
    expect(await memory.getEdge(first, "blocks", secret)).toBeDefined();
    expect(await memory.getEdge(first, "blocks", secret, guest)).toBeUndefined();
  });

  test("a walk meets public memories only, and only on public ways", async () => {
    await using store = await openTestStore();
    const { memory, open } = await world(store);
    const [start = ""] = open;
    const walk = await memory.traverse(start, { ...guest, maxHops: 6 });
    expect(new Set(walk.hits.map(({ id }) => id))).toEqual(new Set(open.slice(1)));
    for (const { from, to } of walk.edges)
      expect([...open]).toEqual(expect.arrayContaining([from, to]));
    const capped = await memory.traverse(start, {
      ...guest,
      maxHops: 6,
      maxNodes: open.length - 1,
    });
    expect(capped.truncated).toBe(false);
  });

  test("a session shows its public turns", async () => {
    await using store = await openTestStore();
    const { memory } = await world(store);
    expect((await memory.session("s")).turns).toHaveLength(2);
    const page = await memory.session("s", { ...guest, limit: 1 });
    expect(page.turns.map(({ content }) => content)).toEqual(["open"]);
    expect(page).not.toHaveProperty("nextIndex");
  });

  test("the past does not give back what was made private since", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "a", tags: ["t"], visibility: "public" });
    const b = await memory.write({ type: "fact", text: "b", visibility: "public" });
    await memory.addEdge(b.id, "uses", a.id);
    await memory.remember([{ role: "user", content: "c" }], { session: "s", visibility: "public" });
    const { seq: position } = await memory.list({ access: GUEST });
    const [turn] = (await memory.session("s")).turns;
    await memory.updateHead(a.id, { visibility: "private" });
    await memory.updateHead(turn?.id ?? "", { visibility: "private" });
    const past = { access: GUEST, asOf: position } as const;
    expect(await memory.get(a.id, past)).toBeUndefined();
    expect(await memory.history(a.id, past)).toBeUndefined();
    expect(await memory.inspect(a.id, past)).toBeUndefined();
    expect((await memory.list({ tag: "t", ...past })).memories).toEqual([]);
    expect((await memory.edgesOut(b.id, past)).edges).toEqual([]);
    expect(await memory.getEdge(b.id, "uses", a.id, past)).toBeUndefined();
    expect((await memory.traverse(b.id, past)).hits).toEqual([]);
    expect((await memory.session("s", past)).turns).toEqual([]);
    expect((await memory.get(b.id, past))?.text).toBe("b");
    await memory.updateHead(a.id, { visibility: "public" });
    // It is seen from where it was shared anew, not from where it was shared once.
    expect(await memory.get(a.id, past)).toBeUndefined();
    expect((await memory.get(a.id, { access: GUEST }))?.text).toBe("a");
  });
});

describe("refused verbs", () => {
  /** One harmless call of every verb that a guest may not use. */
  function calls(
    memory: Cortex,
    a: string,
    b: string,
  ): ReadonlyMap<string, () => Promise<unknown>> {
    return new Map<string, () => Promise<unknown>>([
      ["write", () => memory.write({ type: "note", text: "n" }, guest)],
      ["update", () => memory.update(a, { text: "n" }, guest)],
      ["updateHead", () => memory.updateHead(a, { tags: [] }, guest)],
      ["tombstone", () => memory.tombstone(a, "r", guest)],
      ["restore", () => memory.restore(a, guest)],
      ["batch", () => memory.batch([{ write: { type: "note", text: "n" } }], guest)],
      [
        "remember",
        () => memory.remember([{ role: "user", content: "c" }], { session: "s", ...guest }),
      ],
      ["addEdge", () => memory.addEdge(a, "uses", b, {}, guest)],
      ["link", () => memory.link(a, "uses", b, {}, guest)],
      ["removeEdge", () => memory.removeEdge(a, "uses", b, guest)],
      ["removeEdgeById", () => memory.removeEdgeById(a, guest)],
      ["goalState", () => memory.goalState(a, guest)],
      ["setGoalState", () => memory.setGoalState(a, {} as never, guest)],
      ["deleteGoalState", () => memory.deleteGoalState(a, guest)],
      ["goalStates", () => memory.goalStates(guest)],
      ["config", () => memory.config(guest)],
      ["configure", () => memory.configure({ conflictPolicy: "manual" }, guest)],
      ["log", () => memory.log(guest)],
      ["stats", () => memory.stats(guest)],
      ["subscribe", async () => memory.subscribe(guest)],
      ["maintain", () => memory.maintain(guest)],
    ]);
  }

  test("each says so, before it looks at anything", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "goal", text: "a", visibility: "public" });
    const b = await memory.write({ type: "note", text: "b", visibility: "public" });
    for (const [verb, call] of calls(memory, a.id, b.id)) {
      const error = await refusalOf(memory, call);
      expect(error, verb).toMatchObject({ code: "ERR_DENIED", details: { field: "access" } });
      expect(error.message).toMatch(new RegExp(`^${verb}: expected the owner`));
      expect(["write", "owner"]).toContain(VERBS[verb as VerbName].policy);
    }
    expect(await memory.get(a.id, { access: OWNER })).toBeDefined();
  });

  test("an access nobody defined opens nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "note", text: "n" });
    for (const access of [{ kind: "root" }, null, "owner", {}]) {
      const strange = { access } as never;
      for (const call of [
        () => memory.get(id, strange),
        () => memory.tombstone(id, "r", strange),
      ]) {
        const error = await refusalOf(memory, call);
        expect(error).toMatchObject({ code: "ERR_INVALID", details: { field: "access" } });
      }
    }
  });
});
