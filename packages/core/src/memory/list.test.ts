/** `list`: by each index, in order, page by page, at every position and in every state. */
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { GUEST } from "../scope/access.js";
import { type CountingKv, countingKv, openCountedStore, openTestStore } from "../testing/index.js";

async function texts(memory: Cortex, options: Options<"list">): Promise<readonly string[]> {
  return (await memory.list(options)).memories.map(({ text }) => text);
}

/** Every page of a list, one after the other. */
async function pages(memory: Cortex, options: Options<"list">): Promise<readonly string[][]> {
  const found: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await memory.list(cursor === undefined ? options : { ...options, cursor });
    found.push(page.memories.map(({ text }) => text));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

describe("indexes", () => {
  test("type, types, tag, kind, slot, session, frame; none lists everything", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const frame = { verb: "build", object: "plan", ref: "trip" } as const;
    await memory.write({ type: "fact", text: "fact", tags: ["a", "b"] });
    await memory.write({ type: "goal", text: "goal", tags: ["a"], frames: [frame] });
    await memory.write({ type: "note", text: "note", kind: "memo" });
    await memory.write({ type: "belief", text: "belief", slot: "Weather!" });
    await memory.remember([{ role: "user", content: "turn" }], { session: "s" });
    expect(await texts(memory, { type: "fact" })).toEqual(["fact"]);
    expect(await texts(memory, { type: ["fact", "goal", "fact"] })).toEqual(["goal", "fact"]);
    expect(await texts(memory, { tag: "a" })).toEqual(["goal", "fact"]);
    expect(await texts(memory, { tag: "b" })).toEqual(["fact"]);
    expect(await texts(memory, { tag: "A" })).toEqual([]);
    expect(await texts(memory, { kind: "memo" })).toEqual(["note"]);
    expect(await texts(memory, { slot: "weather" })).toEqual(["belief"]);
    expect(await texts(memory, { session: "s" })).toEqual(["turn"]);
    expect(await texts(memory, { frame })).toEqual(["goal"]);
    expect(await texts(memory, { frame: { ...frame, ref: "tri" } })).toEqual([]);
    const all = ["turn", "belief", "note", "goal", "fact"];
    expect(await texts(memory, {})).toEqual(all);
    expect(await texts(memory, { order: "oldest" })).toEqual([...all].reverse());
    expect((await memory.list()).seq).toBe((await memory.stats()).seq);
  });

  test("a tag that begins another does not match it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const tag of ["a", "ab", "a\u00e9", "b"]) {
      await memory.write({ type: "note", text: tag, tags: [tag] });
    }
    expect(await texts(memory, { tag: "a" })).toEqual(["a"]);
    expect(await texts(memory, { tag: "ab" })).toEqual(["ab"]);
  });
});

describe("paging", () => {
  test("thousands of memories, nothing lost and nothing twice, in both orders", async () => {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    const size = 2500;
    const types = ["fact", "goal", "note"] as const;
    await memory.batch(
      Array.from({ length: size }, (_, at) => ({
        write: {
          type: types[at % 3] ?? "note",
          text: `m${at}`,
          tags: [at % 2 === 0 ? "even" : "odd"],
        },
      })),
    );
    const all = Array.from({ length: size }, (_, at) => `m${at}`);
    const cases: readonly (readonly [Options<"list">, (at: number) => boolean])[] = [
      [{}, () => true],
      [{ tag: "even" }, (at) => at % 2 === 0],
      [{ type: "goal" }, (at) => at % 3 === 1],
      [{ type: ["fact", "note"] }, (at) => at % 3 !== 1],
    ];
    for (const [options, keep] of cases) {
      const expected = all.filter((_, at) => keep(at));
      for (const limit of [97, 10_000]) {
        const oldest = await pages(memory, { ...options, order: "oldest", limit });
        expect(oldest.flat()).toEqual(expected);
        expect(Math.max(...oldest.map((page) => page.length))).toBe(
          Math.min(limit, expected.length),
        );
        const newest = await pages(memory, { ...options, limit });
        expect(newest.flat()).toEqual([...expected].reverse());
      }
    }
  });

  test("a page that ends exactly at the end", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 4; at += 1) await memory.write({ type: "note", text: `n${at}` });
    const found = await pages(memory, { limit: 2, order: "oldest" });
    expect(found.flat()).toEqual(["n0", "n1", "n2", "n3"]);
  });

  test("writes between pages neither shift nor repeat what follows", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 10; at += 1) await memory.write({ type: "note", text: `n${at}` });
    const first = await memory.list({ limit: 4 });
    await memory.write({ type: "note", text: "late" });
    const rest = await memory.list({ limit: 10, cursor: first.cursor ?? "" });
    expect([...first.memories, ...rest.memories].map(({ text }) => text)).toEqual(
      Array.from({ length: 10 }, (_, at) => `n${9 - at}`),
    );
  });

  test("turns page in the order of their places", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const turns = Array.from({ length: 25 }, (_, at) => ({
      role: "user" as const,
      content: `t${at}`,
    }));
    await memory.remember(turns, { session: "s" });
    const found = await pages(memory, { session: "s", order: "oldest", limit: 4 });
    expect(found.flat()).toEqual(turns.map(({ content }) => content));
  });
});

describe("time and state", () => {
  test("each lifecycle is listed on request", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", slot: "s", text: "archived" });
    await memory.write({ type: "fact", slot: "s", text: "active" });
    const { id } = await memory.write({ type: "fact", text: "tombstoned" });
    await memory.tombstone(id, "r");
    const of = (lifecycles: Options<"list">["lifecycles"]) =>
      texts(memory, { type: "fact", ...(lifecycles === undefined ? {} : { lifecycles }) });
    expect(await of(undefined)).toEqual(["active"]);
    expect(await of(["active"])).toEqual(["active"]);
    expect(await of(["archived"])).toEqual(["archived"]);
    expect(await of(["tombstoned"])).toEqual(["tombstoned"]);
    expect(await of(["tombstoned", "active", "archived"])).toEqual([
      "tombstoned",
      "active",
      "archived",
    ]);
  });

  test("asOf: every position shows what a copy of the store showed then", async () => {
    await using store = await openTestStore({ seed: 11 });
    const { memory } = store;
    const shown: (readonly string[])[] = [];
    const look = async () => {
      shown.push(await texts(memory, { tag: "t", order: "oldest" }));
    };
    await look();
    const ids: string[] = [];
    for (let step = 0; step < 40; step += 1) {
      const id = ids[(step * 7) % Math.max(1, ids.length)] ?? "";
      if (step % 4 === 0) {
        ids.push((await memory.write({ type: "note", text: `n${step}`, tags: ["t"] })).id);
      } else if (step % 4 === 1) await memory.tombstone(id, "r");
      else if (step % 4 === 2) await memory.restore(id);
      else if ((await memory.get(id))?.head.lifecycle === "active") {
        await memory.updateHead(id, { tags: step % 8 === 3 ? [] : ["t"] });
      }
      if ((await memory.stats()).entries > shown.length) await look();
    }
    expect(shown.length).toBe((await memory.stats()).entries);
    for (const [asOf, expected] of shown.entries()) {
      expect(await texts(memory, { tag: "t", order: "oldest", asOf })).toEqual(expected);
      const paged = await pages(memory, { tag: "t", order: "oldest", asOf, limit: 2 });
      expect(paged.flat()).toEqual(expected);
      const newest = await pages(memory, { tag: "t", asOf, limit: 3 });
      expect(newest.flat()).toEqual([...expected].reverse());
    }
  });

  test("asOf never lands inside a batch", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "before" });
    await memory.batch([1, 2, 3].map((at) => ({ write: { type: "note", text: `b${at}` } })));
    for (const asOf of [1, 2, 3]) {
      const page = await memory.list({ asOf });
      expect(page.memories.map(({ text }) => text)).toEqual(["before"]);
      expect(page.seq).toBe(1);
    }
    expect((await memory.list({ asOf: 4 })).memories).toHaveLength(4);
  });
});

test("a caller who may see little is answered in reads that grow, each row once", async () => {
  await using store = await openCountedStore();
  const { memory, calls } = store;
  const write = (text: string, visibility: "private" | "public") => ({
    write: { type: "note" as const, text, visibility },
  });
  await memory.batch([
    write("first", "public"),
    ...Array.from({ length: 3000 }, (_, at) => write(`hidden ${at}`, "private")),
    write("last", "public"),
  ]);
  // The first call of a caller looks at every head; what it may see is kept.
  await memory.get("nobody", { access: GUEST });
  calls.reset();
  const page = await memory.list({ limit: 2, access: GUEST });
  expect(page.memories.map(({ text }) => text)).toEqual(["last", "first"]);
  const { rows, batches } = calls.counts();
  expect(rows).toBeLessThan(3002 + 64);
  expect(batches).toBeLessThan(64);
});

test("a page of the past reads rows in proportion to the page, whatever came or left since", async () => {
  const counting: { kv?: CountingKv } = {};
  await using store = await openTestStore({
    wrap: (kv) => {
      counting.kv = countingKv(kv);
      return counting.kv;
    },
  });
  const { memory } = store;
  const write = (name: string, count: number) =>
    memory.batch(
      Array.from({ length: count }, (_, at) => ({
        write: { type: "fact" as const, text: `${name} ${at}`, tags: ["t"] },
      })),
    );
  const old = await write("old", 600);
  const { seq } = old;
  await write("new", 600);
  for (const one of old.results.slice(100)) {
    if (one.ok) await memory.tombstone(one.id, "left");
  }
  for (const options of [{ type: "fact" as const }, { tag: "t" }]) {
    for (const order of ["newest", "oldest"] as const) {
      counting.kv?.reset();
      const page = await memory.list({ ...options, order, limit: 20, asOf: seq });
      const counts = counting.kv?.counts();
      expect(page.memories).toHaveLength(20);
      expect(page.memories.every(({ text }) => text.startsWith("old"))).toBe(true);
      expect((counts?.rows ?? 0) + (counts?.keys ?? 0)).toBeLessThan(20 * 12);
    }
    const seen = (await pages(memory, { ...options, limit: 70, asOf: seq })).flat();
    expect(new Set(seen).size).toBe(600);
    expect(seen).toHaveLength(600);
  }
});
