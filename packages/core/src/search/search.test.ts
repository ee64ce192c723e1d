/**
 * `search` and `searchBatch` as callers use them: what is found by what, filters, the past, guests,
 * limits and refusals. That scores are right is shown in `test/text-index.test.ts`.
 */
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { LIMITS } from "../limits.js";
import { GUEST } from "../scope/access.js";
import { openTestStore, refusalOf } from "../testing/fixtures.js";

async function found(
  memory: Cortex,
  text: string,
  options: Options<"search"> = {},
): Promise<string[]> {
  return (await memory.search(text, options)).hits.map((hit) => hit.text);
}

describe("what is searched", () => {
  test("text in ordinary spelling, by any of its words", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "The auth-service runs on port 8080" });
    for (const query of [
      "auth-service",
      "what runs?",
      "running",
      "PORT 8080",
      'port "unbalanced',
    ]) {
      expect(await found(memory, query)).toEqual(["The auth-service runs on port 8080"]);
    }
    expect(await found(memory, "absent")).toEqual([]);
  });

  test("tags, kinds, slots and summaries too, and what structured fields render to", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", kind: "recipe", text: "Flour and water", summary: "Bread" });
    await memory.write({ type: "fact", text: "Ada lives in Porto", slot: "home city" });
    await memory.write({ type: "fact", text: "It rains", tags: ["topic:weather"] });
    const data = { topic: "peanuts", polarity: "avoid" as const, rationale: "an allergy" };
    await memory.write({ type: "preference", data });
    expect(await found(memory, "recipe")).toEqual(["Flour and water"]);
    expect(await found(memory, "bread")).toEqual(["Flour and water"]);
    expect(await found(memory, "city")).toEqual(["Ada lives in Porto"]);
    expect(await found(memory, "topic:weather")).toEqual(["It rains"]);
    expect(await found(memory, "allergy")).toHaveLength(1);
  });

  test("turns by speaker and content, not by being turns", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.remember([{ role: "user", speaker: "Grace", content: "We sail at dawn" }], {
      session: "s",
    });
    expect(await found(memory, "dawn")).toEqual(["We sail at dawn"]);
    expect(await found(memory, "grace")).toEqual(["We sail at dawn"]);
    expect(await found(memory, "turn")).toEqual([]);
    expect(await found(memory, "user")).toEqual([]);
  });

  test("both sides of a conflict that is not settled", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "note", text: "the harbour office" });
    await memory.update(id, { text: "opens on Monday" });
    await memory.update(id, { text: "opens on Friday", basedOnVersion: 1 });
    expect(await found(memory, "monday")).toHaveLength(1);
    expect(await found(memory, "friday")).toHaveLength(1);
    expect(await found(memory, "harbour")).toEqual([]);
    await memory.update(id, { text: "opens on Friday", basedOnVersion: 3 });
    expect(await found(memory, "monday")).toEqual([]);
  });

  test("a text without words finds nothing and is no mistake", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "Something" });
    for (const query of ["", "   ", "?!", "*", '""', "👋", "\u0000", "\ud800"]) {
      expect(await memory.search(query)).toMatchObject({ hits: [], seq: 1 });
    }
  });

  test("operators of other engines are words or nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "cats and dogs" });
    for (const query of ["cats OR birds", "cats NOT dogs", "cat*", "text:cats", "(cats", "-dogs"]) {
      expect(await found(memory, query)).toEqual(["cats and dogs"]);
    }
  });

  test("a phrase must be there as it stands", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "No red-eye flights for Ada" });
    await memory.write({ type: "fact", text: "An eye for red wine and flights" });
    expect(await found(memory, "red eye")).toHaveLength(2);
    expect(await found(memory, '"red eye"')).toEqual(["No red-eye flights for Ada"]);
    expect(await found(memory, '"for red" flights')).toEqual(["An eye for red wine and flights"]);
    expect(await found(memory, '"eye red"')).toEqual([]);
  });

  test("another language is another index, from the next search on", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "Die Häuser am Hafen" });
    expect(await found(memory, "Haus")).toEqual([]);
    await memory.configure({ language: "german" });
    expect(await found(memory, "Haus")).toEqual(["Die Häuser am Hafen"]);
    expect((await memory.config()).language).toBe("german");
    await memory.configure({ language: null });
    expect(await found(memory, "Haus")).toEqual([]);
    const refused = await refusalOf(memory, () =>
      memory.configure({ language: "elvish" as never }),
    );
    expect(refused).toMatchObject({ code: "ERR_INVALID", details: { field: "language" } });
  });
});

describe("the answer", () => {
  test("hits say what they are, with the words that answered", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id, uri } = await memory.write({
      type: "note",
      kind: "plan",
      text: "Sail to the islands at dawn",
      tags: ["travel"],
    });
    const { hits, seq } = await memory.search("islands");
    expect(hits).toEqual([
      {
        id,
        uri,
        type: "note",
        kind: "plan",
        tags: ["travel"],
        lifecycle: "active",
        text: "Sail to the islands at dawn",
        score: expect.any(Number),
        snippet: "Sail to the [islands] at dawn",
      },
    ]);
    expect(seq).toBe(1);
    expect((await memory.search("islands", { snippets: false })).hits[0]).not.toHaveProperty(
      "snippet",
    );
  });

  test("equal hits come in the order of their last change, the newest first", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const ids: string[] = [];
    for (const name of ["a", "b", "c"]) {
      ids.push((await memory.write({ type: "fact", text: `same ${name}` })).id);
    }
    expect(await found(memory, "same")).toEqual(["same c", "same b", "same a"]);
    await memory.updateHead(ids[0] ?? "", { importance: 7 });
    expect(await found(memory, "same")).toEqual(["same a", "same c", "same b"]);
    expect(await found(memory, "same", { limit: 2 })).toEqual(["same a", "same c"]);
  });
});

describe("filters", () => {
  async function filled(memory: Cortex): Promise<void> {
    const items = Array.from({ length: 300 }, (_, at) => ({
      write: {
        type: at % 3 === 0 ? ("fact" as const) : ("note" as const),
        text: `ship number ${at}`,
        tags: [`t${at % 7}`, at % 2 === 0 ? "even" : "odd"],
        ...(at % 3 === 0 ? {} : { kind: `k${at % 5}` }),
        ...(at % 11 === 0 ? { freshnessAt: 1 } : {}),
      },
    }));
    await memory.batch(items);
  }

  test("types, any of the kinds, all of the tags, freshness: narrowed, not ranked anew", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await filled(memory);
    const all = (await memory.search("ship", { limit: 1000 })).hits;
    expect(all).toHaveLength(300);
    const byHand = (keep: (at: number) => boolean) =>
      all.filter((hit) => keep(Number(hit.text.split(" ")[2])));
    const cases: [Options<"search">, (at: number) => boolean][] = [
      [{ types: ["fact"] }, (at) => at % 3 === 0],
      [{ kinds: ["k1", "k2"] }, (at) => at % 3 !== 0 && (at % 5 === 1 || at % 5 === 2)],
      [{ tags: ["t3", "even"] }, (at) => at % 7 === 3 && at % 2 === 0],
      [{ freshOnly: true }, (at) => at % 11 !== 0],
      [
        { types: ["note"], tags: ["t6"], freshOnly: true },
        (at) => at % 3 !== 0 && at % 7 === 6 && at % 11 !== 0,
      ],
      [{ types: [] }, () => false],
    ];
    for (const [options, keep] of cases) {
      expect((await memory.search("ship", { ...options, limit: 1000 })).hits).toEqual(byHand(keep));
      expect((await memory.search("ship", { ...options, limit: 3 })).hits).toEqual(
        byHand(keep).slice(0, 3),
      );
    }
  });

  test("the hidden, the archived and the past are there for those who ask", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", slot: "home", text: "Ada lives in Lyon" });
    await memory.write({ type: "fact", slot: "home", text: "Ada lives in Porto" });
    const hidden = await memory.write({ type: "fact", text: "Ada lives nowhere" });
    const { seq } = await memory.tombstone(hidden.id, "wrong");
    expect(await found(memory, "lives")).toEqual(["Ada lives in Porto"]);
    expect(await found(memory, "lives", { lifecycles: ["archived"] })).toEqual([
      "Ada lives in Lyon",
    ]);
    expect(await found(memory, "lives", { lifecycles: ["active", "tombstoned"] })).toHaveLength(2);
    expect(await found(memory, "lives", { asOf: first.seq })).toEqual(["Ada lives in Lyon"]);
    expect(await found(memory, "lives", { asOf: seq - 1 })).toHaveLength(2);
    await memory.forget(first.id, "asked");
    expect(await found(memory, "lives", { asOf: first.seq })).toEqual([]);
  });

  test("a guest sees the owner's hits, less what it may not see", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 120; at += 1) {
      const visibility = at % 4 === 0 ? ("public" as const) : ("private" as const);
      await memory.write({ type: "fact", text: `open sea ${at}`, visibility });
    }
    const own = (await memory.search("sea", { limit: 1000 })).hits;
    const guest = (await memory.search("sea", { limit: 1000, access: GUEST })).hits;
    expect(own).toHaveLength(120);
    const open = own.filter(({ text }) => Number(text.split(" ")[2]) % 4 === 0);
    expect(guest.map(({ id }) => id)).toEqual(open.map(({ id }) => id));
    const few = (await memory.search("sea", { limit: 5, access: GUEST })).hits;
    expect(few).toEqual(guest.slice(0, 5));
    const batch = await memory.searchBatch(["sea", "open"], { limit: 100, access: GUEST });
    expect(batch).toMatchObject({ uniqueHits: 20, perQueryHits: [20, 20] });
    expect(batch.hits.every(({ text }) => Number(text.split(" ")[2]) % 4 === 0)).toBe(true);
    // What was made private since is not to be had by asking for the past.
    const { seq } = await memory.stats();
    const { seq: position } = await memory.search("sea", { access: GUEST });
    for (const { id } of guest) await memory.updateHead(id, { visibility: "private" });
    expect((await memory.search("sea", { asOf: position, access: GUEST })).hits).toEqual([]);
    expect((await memory.search("sea", { asOf: seq, limit: 1000 })).hits).toHaveLength(120);
  });
});

describe("several searches at once", () => {
  test("hits are fused by rank, each once, with the searches that found it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const text of ["red ship", "red car", "green ship", "blue sky"]) {
      await memory.write({ type: "fact", text });
    }
    const answer = await memory.searchBatch(["red", { text: "ship" }, "absent"]);
    expect(answer).toMatchObject({ queryCount: 3, uniqueHits: 3, perQueryHits: [2, 2, 0], seq: 4 });
    expect(answer.hits.map(({ text }) => text)).toEqual(["red ship", "red car", "green ship"]);
    expect(answer.hits[0]).toMatchObject({ queriesMatched: [0, 1], type: "fact" });
    // Second for "red", which "red car" leads; second for "ship", which "green ship" leads.
    expect(answer.hits[0]?.score).toBeCloseTo(1 / 62 + 1 / 62, 12);
    expect(answer.hits[1]?.score).toBeCloseTo(1 / 61, 12);
    const one = await memory.searchBatch([{ text: "red", limit: 1 }, "ship"], { limit: 1 });
    expect(one).toMatchObject({ perQueryHits: [1, 2], uniqueHits: 3 });
    expect(one.hits).toHaveLength(1);
  });

  test("limits are clamped, numbers of searches are not", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.batch(
      Array.from({ length: 130 }, (_, at) => ({ write: { type: "fact", text: `ship ${at}` } })),
    );
    expect((await memory.searchBatch(["ship"])).perQueryHits).toEqual([20]);
    expect((await memory.searchBatch([{ text: "ship", limit: 0 }])).perQueryHits).toEqual([20]);
    expect((await memory.searchBatch([{ text: "ship", limit: 900 }])).perQueryHits).toEqual([50]);
    const queries = Array.from({ length: 4 }, (_, at) => ({ text: `ship ${at}`, limit: 50 }));
    expect((await memory.searchBatch(queries)).hits).toHaveLength(20);
    expect((await memory.searchBatch(queries, { limit: 1000 })).hits.length).toBeLessThanOrEqual(
      100,
    );
    for (const [wrong, code] of [
      [[], "ERR_INVALID"],
      [Array.from({ length: 9 }, () => "ship"), "ERR_TOO_LARGE"],
      ["ship" as never, "ERR_INVALID"],
    ] as const) {
      const refused = await refusalOf(memory, () => memory.searchBatch(wrong));
      expect(refused).toMatchObject({ code, details: { field: "queries" } });
    }
  });
});

describe("refusals", () => {
  test.each([
    ["a text that is none", [7 as never, {}], "ERR_INVALID", "text"],
    ["a text that is too long", ["a".repeat(LIMITS.queryBytes + 1), {}], "ERR_TOO_LARGE", "text"],
    ["an option nobody knows", ["a", { wildcard: true } as never], "ERR_UNKNOWN_FIELD", "wildcard"],
    ["a limit of none", ["a", { limit: 0 }], "ERR_INVALID", "limit"],
    ["too high a limit", ["a", { limit: LIMITS.listLimit + 1 }], "ERR_INVALID", "limit"],
    ["a type nobody knows", ["a", { types: ["fancy"] } as never], "ERR_UNKNOWN_TYPE", "types[0]"],
    ["tags that are no list", ["a", { tags: "t" } as never], "ERR_INVALID", "tags"],
    ["a tag that is no text", ["a", { tags: [1] } as never], "ERR_INVALID", "tags[0]"],
    ["the forgotten", ["a", { lifecycles: ["erased"] } as never], "ERR_INVALID", "lifecycles[0]"],
    ["no state at all", ["a", { lifecycles: [] }], "ERR_INVALID", "lifecycles"],
    ["a flag that is none", ["a", { freshOnly: 1 } as never], "ERR_INVALID", "freshOnly"],
    ["the future", ["a", { asOf: 99 }], "ERR_AS_OF", "asOf"],
  ] as [string, [string, Options<"search">], string, string][])(
    "%s",
    async (_, args, code, field) => {
      await using store = await openTestStore();
      const refused = await refusalOf(store.memory, () => store.memory.search(...args));
      expect(refused).toMatchObject({ code, details: { field } });
    },
  );

  test("a long text within the limit is searched by its first words", async () => {
    await using store = await openTestStore();
    await store.memory.write({ type: "fact", text: "word1 is here" });
    const text = Array.from({ length: 6000 }, (_, at) => `word${at}`).join(" ");
    expect(await found(store.memory, text.slice(0, LIMITS.queryBytes))).toEqual(["word1 is here"]);
  });
});

describe("open versions one by one", () => {
  test("are found by their own words, kind and tags, and hold the whole memory", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    for (const text of ["base", "moose on the left", "moose on the right"]) {
      const tags = [text.slice(-5).trim()];
      const input = { type: "note", text, externalId: "a", kind: "n", tags } as const;
      await memory.write(input, { upsert: { basedOnVersion: 1 } });
    }
    await memory.write({ type: "fact", text: "a moose is an elk" });
    const found = async (options: object, text = "moose") => {
      const { hits } = await memory.search(text, { siblings: true, ...options });
      return hits.map((hit) => hit.memory?.text).sort();
    };
    const [left, right] = ["moose on the left", "moose on the right"];
    expect(await found({})).toEqual(["a moose is an elk", left, right]);
    expect(await found({}, "left")).toEqual([left]);
    expect(await found({ tags: ["right"] })).toEqual([right]);
    expect(await found({ tags: ["left"] })).toEqual([left]);
    expect(await found({ kinds: ["fact"] })).toEqual(["a moose is an elk"]);
    expect(await found({ limit: 1, kinds: ["n"] })).toHaveLength(1);
    const { hits } = await memory.search("left", { siblings: true });
    expect(hits[0]).toMatchObject({ snippet: "moose on the [left]", memory: { version: 2 } });
    // Without asking, a memory is one hit, under the head it has.
    const plain = await memory.search("left");
    expect(plain.hits.map(({ text, memory: whole }) => [text, whole])).toEqual([
      [right, undefined],
    ]);
    const batch = await memory.searchBatch(["moose", "left"], { siblings: true });
    expect(batch).toMatchObject({ uniqueHits: 2, perQueryHits: [3, 1] });
    expect(batch.hits[0]).toMatchObject({ queriesMatched: [0, 0, 1] });
  });
});
