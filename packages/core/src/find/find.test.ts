/** `find`: refusals, order and pages, what is read, budgets, walks, late finds. */
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import type { ErrorCode } from "../errors.js";
import { LIMITS } from "../limits.js";
import { GUEST } from "../scope/access.js";
import { type CountingKv, countingKv, openTestStore, refusalOf } from "../testing/index.js";

async function texts(memory: Cortex, query: Options<"find">): Promise<readonly string[]> {
  return (await memory.find(query)).hits.map(({ text }) => text);
}

/** What a query may go by, each of which would have bounded it. */
const FILTERS = "type, tags, kinds, slot, session, frame, where, text, near, from";

describe("refusals", () => {
  const cases: readonly (readonly [string, object, ErrorCode, string])[] = [
    ["no bound", { type: "fact" }, "ERR_UNBOUNDED", "limit"],
    ["nothing to go by", { limit: 1 }, "ERR_TOO_BROAD", FILTERS],
    [
      "a condition no index serves",
      { limit: 1, where: { gt: ["head.importance", 5] } },
      "ERR_TOO_BROAD",
      FILTERS,
    ],
    [
      "an index under or",
      { limit: 1, where: { or: [{ hasTag: "a" }, { gt: ["head.importance", 5] }] } },
      "ERR_TOO_BROAD",
      FILTERS,
    ],
    ["an index under not", { limit: 1, where: { not: { hasTag: "a" } } }, "ERR_TOO_BROAD", FILTERS],
    [
      "made before a time, which bounds nothing",
      { limit: 1, where: { lt: ["head.createdAt", 5] } },
      "ERR_TOO_BROAD",
      FILTERS,
    ],
    ["an unknown option", { limit: 1, typ: "fact" }, "ERR_UNKNOWN_FIELD", "typ"],
    ["an unknown type", { limit: 1, type: "rumour" }, "ERR_UNKNOWN_TYPE", "type"],
    ["no type", { limit: 1, type: [] }, "ERR_INVALID", "type"],
    ["no kind", { limit: 1, kinds: [] }, "ERR_INVALID", "kinds"],
    ["a blank tag", { limit: 1, tags: [""] }, "ERR_INVALID", "tags[0]"],
    ["a blank slot", { limit: 1, slot: "--" }, "ERR_INVALID", "slot"],
    ["a frame of no verb", { limit: 1, frame: { verb: "x" } }, "ERR_INVALID", "frame.verb"],
    ["a limit of 0", { type: "fact", limit: 0 }, "ERR_INVALID", "limit"],
    ["a limit too large", { type: "fact", limit: LIMITS.listLimit + 1 }, "ERR_INVALID", "limit"],
    ["no budget", { type: "fact", budgetTokens: 0 }, "ERR_INVALID", "budgetTokens"],
    ["a negative offset", { type: "fact", limit: 1, offset: -1 }, "ERR_INVALID", "offset"],
    ["an unknown form", { type: "fact", limit: 1, form: "tiny" }, "ERR_INVALID", "form"],
    ["no states", { type: "fact", limit: 1, lifecycles: [] }, "ERR_INVALID", "lifecycles"],
    [
      "forgotten ones",
      { type: "fact", limit: 1, lifecycles: ["erased"] },
      "ERR_INVALID",
      "lifecycles[0]",
    ],
    ["a flag that is none", { type: "fact", limit: 1, explain: 1 }, "ERR_INVALID", "explain"],
    ["a walk from nowhere", { limit: 1, follow: {} }, "ERR_INVALID", "from"],
    [
      "an unknown way to follow",
      { limit: 1, from: "x", follow: { hops: 2 } },
      "ERR_UNKNOWN_FIELD",
      "follow.hops",
    ],
    [
      "a walk of no hops",
      { limit: 1, from: "x", follow: { maxHops: 0 } },
      "ERR_INVALID",
      "follow.maxHops",
    ],
    ["no clause", { type: "fact", limit: 1, orderBy: [] }, "ERR_INVALID", "orderBy"],
    [
      "an unknown order",
      { type: "fact", limit: 1, orderBy: [{ field: "size" }] },
      "ERR_UNKNOWN_FIELD",
      "orderBy[0].field",
    ],
    [
      "an order by a list",
      { type: "fact", limit: 1, orderBy: [{ field: "head.siblings" }] },
      "ERR_INVALID",
      "orderBy[0].field",
    ],
    [
      "an order by text",
      { type: "fact", limit: 1, orderBy: [{ field: "head.kind" }] },
      "ERR_INVALID",
      "orderBy[0].field",
    ],
    [
      "an unknown direction",
      { type: "fact", limit: 1, orderBy: [{ field: "hop", direction: "up" }] },
      "ERR_INVALID",
      "orderBy[0].direction",
    ],
    [
      "hops without a walk",
      { type: "fact", limit: 1, orderBy: [{ field: "hop" }] },
      "ERR_INVALID",
      "orderBy[0].field",
    ],
    [
      "distances from nothing",
      { type: "fact", limit: 1, orderBy: [{ field: "near.distance" }] },
      "ERR_INVALID",
      "orderBy[0].field",
    ],
    [
      "scores of no words",
      { type: "fact", limit: 1, orderBy: [{ field: "text.score" }] },
      "ERR_INVALID",
      "orderBy[0].field",
    ],
    ["near without an embedder", { limit: 1, near: { text: "x" } }, "ERR_NO_EMBEDDER", "embedder"],
    ["near in the past", { limit: 1, near: { text: "x" }, asOf: 0 }, "ERR_AS_OF", "near"],
    ["near two things", { limit: 1, near: { text: "x", uri: "y" } }, "ERR_INVALID", "near"],
    ["near and world time", { limit: 1, near: { text: "x" }, validAt: 0 }, "ERR_INVALID", "near"],
    ["words and world time", { limit: 1, text: "x", validAt: 0 }, "ERR_INVALID", "text"],
    ["no cursor", { type: "fact", limit: 1, cursor: "00" }, "ERR_INVALID", "cursor"],
    [
      "a cursor and an offset",
      { type: "fact", limit: 1, cursor: "00", offset: 1 },
      "ERR_INVALID",
      "offset",
    ],
    ["a position ahead", { type: "fact", limit: 1, asOf: 99 }, "ERR_AS_OF", "asOf"],
    [
      "late in the past",
      { type: "fact", limit: 1, asOf: 0, lateBinding: true },
      "ERR_INVALID",
      "lateBinding",
    ],
    [
      "too many late hits",
      { type: "fact", limit: LIMITS.findLateHits + 1, lateBinding: true },
      "ERR_INVALID",
      "limit",
    ],
    [
      "a guest's late find",
      { type: "fact", limit: 1, lateBinding: true, access: GUEST },
      "ERR_DENIED",
      "access",
    ],
    [
      "a guest who asks how",
      { type: "fact", limit: 1, explain: true, access: GUEST },
      "ERR_DENIED",
      "access",
    ],
  ];

  test.each(cases)("%s", async (_, query, code, field) => {
    await using store = await openTestStore();
    const error = await refusalOf(store.memory, () => store.memory.find(query as Options<"find">));
    expect(error.code).toBe(code);
    expect(error.details.field).toBe(field);
    expect(error.message).toMatch(/expected .*got /s);
  });

  test("what is no object at all", async () => {
    await using store = await openTestStore();
    for (const query of [null, 5, [], "fact"]) {
      const call = () => store.memory.find(query as unknown as Options<"find">);
      const error = await refusalOf(store.memory, call);
      expect(error.code).toBe("ERR_INVALID");
      expect(error.message).toContain("options: expected an object");
    }
  });
});

describe("order and pages", () => {
  test("newest first by arrival, whichever index is read", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const ids: string[] = [];
    for (let at = 0; at < 40; at += 1) {
      const tags = at % 2 === 0 ? ["even"] : [];
      ids.push((await memory.write({ type: "note", text: `n${at}`, tags })).id);
    }
    // Tags that come later change where the rows of the tag stand, not the order of answers.
    for (const at of [3, 30, 5]) await memory.updateHead(ids[at] ?? "", { tags: ["even", "new"] });
    const expected = Array.from({ length: 40 }, (_, at) => 39 - at)
      .filter((at) => at % 2 === 0 || at === 3 || at === 5)
      .map((at) => `n${at}`);
    for (const query of [
      { tags: ["even"] },
      { type: "note", where: { hasTag: "even" } },
      { where: { and: [{ gte: ["head.createdAt", 0] }, { hasTag: "even" }] } },
    ] as const) {
      for (const limit of [1, 2, 7, 100]) {
        const found: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await memory.find({
            ...query,
            limit,
            ...(cursor === undefined ? {} : { cursor }),
          });
          found.push(...page.hits.map(({ text }) => text));
          cursor = page.cursor;
          if (cursor === undefined) break;
        }
        expect(found).toEqual(expected);
      }
    }
    expect(await texts(memory, { tags: ["new"], limit: 9 })).toEqual(["n30", "n5", "n3"]);
  });

  test("writes between pages neither shift nor repeat what follows", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 12; at += 1) {
      await memory.write({ type: "note", text: `n${at}`, importance: at % 4 });
    }
    for (const orderBy of [undefined, [{ field: "head.importance" }], [{ field: "salience" }]]) {
      const query: Options<"find"> = {
        type: "note",
        limit: 5,
        ...(orderBy === undefined ? {} : { orderBy }),
      };
      const whole = await texts(memory, { ...query, limit: 100 });
      const first = await memory.find(query);
      const late = await memory.write({ type: "note", text: "late", importance: 3 });
      const [hidden] = first.hits;
      await memory.tombstone(hidden?.id ?? "", "seen already");
      const rest = await memory.find({ ...query, limit: 100, cursor: first.cursor ?? "" });
      expect([...first.hits, ...rest.hits].map(({ text }) => text)).toEqual(whole);
      expect(rest.cursor).toBeUndefined();
      await memory.tombstone(late.id, "done with");
    }
  });

  test("a cursor of another query is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 4; at += 1)
      await memory.write({ type: "note", text: `n${at}`, tags: ["t"] });
    const { cursor = "" } = await memory.find({ type: "note", limit: 1 });
    const sorted = await memory.find({ type: "note", limit: 1, orderBy: [{ field: "salience" }] });
    for (const query of [
      { tags: ["t"], limit: 1, cursor },
      { type: "note", limit: 1, cursor: `${cursor}00` },
      { type: "note", limit: 1, cursor: cursor.slice(2) },
      { type: "note", limit: 1, cursor: sorted.cursor ?? "" },
    ] as const) {
      const error = await refusalOf(memory, () => memory.find(query));
      expect(error.details.field).toBe("cursor");
    }
    expect(await texts(memory, { type: "note", limit: 3, cursor })).toEqual(["n2", "n1", "n0"]);
  });

  test("every order, both ways; what has no value comes last", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    // Goals at rest: those being pursued are pinned, and a floor makes them alike.
    const rest = { status: "paused" } as const;
    const late = { ...rest, horizonEnd: 30 };
    await memory.write({ type: "goal", text: "a", importance: 1, data: late });
    await memory.write({ type: "goal", text: "b", importance: 9, data: rest });
    const soon = { ...rest, horizonEnd: 10 };
    await memory.write({ type: "goal", text: "c", importance: 5, data: soon });
    const by = (field: string, direction?: "asc" | "desc") =>
      texts(memory, {
        type: "goal",
        limit: 9,
        orderBy: [{ field, ...(direction === undefined ? {} : { direction }) }],
      });
    expect(await by("head.importance")).toEqual(["b", "c", "a"]);
    expect(await by("head.importance", "asc")).toEqual(["a", "c", "b"]);
    expect(await by("salience")).toEqual(["b", "c", "a"]);
    expect(await by("data.horizonEnd")).toEqual(["a", "c", "b"]);
    expect(await by("data.horizonEnd", "asc")).toEqual(["c", "a", "b"]);
    expect(await by("version.createdAt", "asc")).toEqual(["a", "b", "c"]);
    expect(await by("head.createdAt")).toEqual(["c", "b", "a"]);
    expect(await by("arrival", "asc")).toEqual(["a", "b", "c"]);
    const worded = { type: "goal", limit: 2, orderBy: ["data.horizonEnd:asc"] } as const;
    expect(await texts(memory, worded)).toEqual(["c", "a"]);
    // A clause in words and the same one as an object are one query: its pages go on.
    const { cursor = "" } = await memory.find(worded);
    const orderBy = [{ field: "data.horizonEnd", direction: "asc" }] as const;
    expect(await texts(memory, { ...worded, orderBy, cursor })).toEqual(["b"]);
    const { id } = await memory.write({ type: "goal", text: "d" });
    await memory.updateHead(id, { importance: 0 });
    expect(await by("head.updatedAt")).toEqual(["d", "c", "b", "a"]);
  });

  test("total: said when everything was read, counted on request", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 90; at += 1) {
      const visibility = at % 3 === 0 ? "public" : "private";
      await memory.write({ type: "note", text: `n${at}`, visibility });
    }
    expect((await memory.find({ type: "note", limit: 2 })).total).toBeUndefined();
    expect((await memory.find({ type: "note", limit: 2, countTotal: true })).total).toBe(90);
    expect((await memory.find({ type: "note", limit: 100 })).total).toBe(90);
    const guest = await memory.find({ type: "note", limit: 2, countTotal: true, access: GUEST });
    expect(guest.total).toBe(30);
    const next = await memory.find({
      type: "note",
      limit: 2,
      countTotal: true,
      access: GUEST,
      cursor: guest.cursor ?? "",
    });
    expect(next.total).toBe(30);
    expect(next.hits.map(({ text }) => text)).toEqual(["n81", "n78"]);
  });
});

describe("what is read", () => {
  async function counted() {
    const counting: { kv?: CountingKv } = {};
    const store = await openTestStore({
      check: false,
      wrap: (kv) => {
        counting.kv = countingKv(kv);
        return counting.kv;
      },
    });
    const rows = () => (counting.kv?.counts().rows ?? 0) + (counting.kv?.counts().keys ?? 0);
    return { store, rows, reset: () => counting.kv?.reset() };
  }

  test("stays in proportion to the page, from the first to the last", async () => {
    const { store, rows, reset } = await counted();
    await using _ = store;
    const { memory } = store;
    await memory.batch(
      Array.from({ length: 3000 }, (_, at) => ({
        write: {
          type: "fact" as const,
          text: `f${at}`,
          tags: [`tag-${at % 5}`],
          importance: at % 2 === 0 ? 8 : 2,
        },
      })),
    );
    const query: Options<"find"> = {
      type: "fact",
      tags: ["tag-3"],
      where: { gt: ["head.importance", 5] },
      limit: 20,
    };
    let cursor: string | undefined;
    const seen = new Set<string>();
    do {
      reset();
      const page = await memory.find(cursor === undefined ? query : { ...query, cursor });
      if (page.cursor !== undefined) expect(page.hits).toHaveLength(20);
      expect(rows()).toBeLessThan(20 * 20);
      for (const { id } of page.hits) seen.add(id);
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen.size).toBe(300);
  });

  test("is the narrowest index, and the explanation says so", async () => {
    const { store, rows, reset } = await counted();
    await using _ = store;
    const { memory } = store;
    await memory.batch(
      Array.from({ length: 1200 }, (_, at) => ({
        write: {
          type: "fact" as const,
          text: `f${at}`,
          tags: ["all", ...(at % 100 === 0 ? ["rare"] : []), ...(at % 4 === 0 ? ["some"] : [])],
        },
      })),
    );
    for (const orderBy of [undefined, [{ field: "head.importance" }]]) {
      reset();
      const { hits, explain } = await memory.find({
        type: "fact",
        tags: ["all", "some", "rare"],
        limit: 20,
        explain: true,
        ...(orderBy === undefined ? {} : { orderBy }),
      });
      expect(hits).toHaveLength(12);
      expect(explain?.source).toBe("tag rare");
      expect(explain?.order).toBe(orderBy === undefined ? "index" : "sorted");
      expect(explain?.candidates).toBe(12);
      expect(explain?.rowsKept).toBe(12);
      const [first, ...others] = explain?.indexes ?? [];
      expect(first).toMatchObject({ name: "tag rare", estimate: 12, counted: true });
      expect(others.map(({ name }) => name)).toEqual(["type fact", "tag all", "tag some"]);
      expect(others.every(({ estimate = 0 }) => estimate > 100)).toBe(true);
      // The explanation counts what storage gave; asking for keys that are not there is not a row.
      expect(explain?.rowsRead).toBeLessThanOrEqual(rows());
      expect(explain?.rowsRead).toBeGreaterThan(40);
    }
  });

  test("ids, external ids and times are paths of their own", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const made: { readonly id: string; readonly at: number }[] = [];
    for (let at = 0; at < 50; at += 1) {
      const { id } = await memory.write({ type: "note", text: `n${at}`, externalId: `x${at}` });
      made.push({ id, at: (await memory.get(id))?.head.createdAt ?? 0 });
    }
    const asked = async (where: Options<"find">["where"]) => {
      const { hits, explain } = await memory.find({
        type: "note",
        limit: 50,
        explain: true,
        ...(where === undefined ? {} : { where }),
      });
      return { texts: hits.map(({ text }) => text), source: explain?.source };
    };
    const idOf = (at: number) => made[at]?.id ?? "";
    const timeOf = (at: number) => made[at]?.at ?? 0;
    expect(await asked({ in: ["head.id", [idOf(4), idOf(40).toLowerCase(), idOf(4)]] })).toEqual({
      texts: ["n40", "n4"],
      source: "ids",
    });
    expect(await asked({ in: ["head.externalId", ["x7", "nobody"]] })).toEqual({
      texts: ["n7"],
      source: "external ids",
    });
    expect(await asked({ gt: ["head.updatedAt", timeOf(47)] })).toEqual({
      texts: ["n49", "n48"],
      source: "journal",
    });
    await memory.updateHead(idOf(2), { importance: 9 });
    expect(await asked({ gte: ["head.updatedAt", timeOf(48)] })).toEqual({
      texts: ["n49", "n48", "n2"],
      source: "journal",
    });
    const early = await asked({ lte: ["head.updatedAt", timeOf(1)] });
    expect(early.texts).toEqual(["n1", "n0"]);
    expect(await asked({ eq: ["head.kind", "k".repeat(1000)] })).toEqual({
      texts: [],
      source: `kind ${"k".repeat(1000)}`,
    });
  });
});

describe("forms and budgets", () => {
  test("a hit is the memory, or a rendering of it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const data = { topic: "peanuts", polarity: "avoid", rationale: "an allergy" } as const;
    const { id } = await memory.write({ type: "preference", data });
    const hit = async (more: Partial<Options<"find">>) =>
      (await memory.find({ type: "preference", limit: 1, ...more })).hits[0];
    const plain = await hit({});
    expect(plain?.memory).toEqual(await memory.get(id));
    expect(plain?.text).toBe(plain?.memory?.text);
    expect(plain?.tokens).toBeUndefined();
    expect((await hit({ form: "short" }))?.text).toBe("avoids peanuts");
    expect((await hit({ form: "full" }))?.text).toBe("avoids peanuts. Because: an allergy.");
    expect((await hit({ form: "short" }))?.memory).toBeUndefined();
    const budgeted = await memory.find({ type: "preference", budgetTokens: 1000 });
    expect(budgeted.hits[0]?.text).toBe("avoids peanuts. Because: an allergy.");
    expect(budgeted.tokens).toBe(budgeted.hits[0]?.tokens);
  });

  test("a budget drops the least salient, keeps the order, and keeps one at least", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const [at, importance] of [5, 1, 9, 1, 7].entries()) {
      await memory.write({ type: "note", text: `note ${at}`, importance });
    }
    // Six characters are two tokens.
    const page = (budgetTokens: number) => memory.find({ type: "note", limit: 5, budgetTokens });
    expect((await page(10)).hits.map(({ text }) => text)).toEqual(
      [4, 3, 2, 1, 0].map((n) => `note ${n}`),
    );
    const three = await page(7);
    expect(three.hits.map(({ text }) => text)).toEqual(["note 4", "note 2", "note 0"]);
    expect([three.trimmed, three.tokens]).toEqual([2, 6]);
    const one = await page(1);
    expect(one.hits.map(({ text }) => text)).toEqual(["note 2"]);
    expect([one.trimmed, one.tokens]).toEqual([4, 2]);
  });
});

describe("walks", () => {
  test("nearest first, filtered, clamped, and nothing from what is not seen", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const ids: string[] = [];
    for (let at = 0; at < 9; at += 1) {
      const visibility = at === 2 ? "private" : "public";
      const type = at % 2 === 0 ? "note" : "fact";
      ids.push((await memory.write({ type, text: `m${at}`, visibility })).id);
    }
    for (let at = 1; at < 9; at += 1) {
      await memory.link(ids[at - 1] ?? "", "supports", ids[at] ?? "");
    }
    await memory.link(ids[0] ?? "", "likes", ids[6] ?? "");
    const from = ids[0] ?? "";
    const walk = (more: Partial<Options<"find">>) => memory.find({ from, limit: 20, ...more });
    const far = await walk({ follow: { maxHops: 9 } });
    expect(far.clamped).toEqual({ hops: LIMITS.hops });
    expect(far.hits.map(({ text, hop }) => `${text} ${hop}`)).toEqual([
      "m1 1",
      "m6 1",
      "m2 2",
      "m7 2",
      "m3 3",
      "m8 3",
      "m4 4",
      "m5 5",
    ]);
    const notes = await walk({ follow: { maxHops: 4, minHops: 2 }, type: "note" });
    expect(notes.hits.map(({ text }) => text)).toEqual(["m2", "m8", "m4"]);
    expect(notes.clamped).toBeUndefined();
    const kind = await walk({ follow: { maxHops: 3, kinds: ["likes"] } });
    expect(kind.hits.map(({ text }) => text)).toEqual(["m6"]);
    const newest = await walk({ follow: { maxHops: 2 }, orderBy: [{ field: "arrival" }] });
    expect(newest.hits.map(({ text }) => text)).toEqual(["m7", "m6", "m2", "m1"]);
    // The chain runs through a memory that a guest may not see.
    const guest = await walk({ follow: { maxHops: 6 }, access: GUEST });
    expect(guest.hits.map(({ text }) => text)).toEqual(["m1", "m6", "m7", "m8"]);
    expect((await memory.find({ from: ids[2] ?? "", limit: 9, access: GUEST })).hits).toEqual([]);
    expect((await memory.find({ from: "nobody", limit: 9 })).hits).toEqual([]);
  });
});

describe("late finds", () => {
  test("count as use, in one entry that forgetting erases", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const ids: string[] = [];
    for (const text of ["a", "b", "c"]) ids.push((await memory.write({ type: "note", text })).id);
    const rootBefore = await memory.root();
    await memory.find({ type: "note", limit: 2 });
    expect(await memory.root()).toEqual(rootBefore);
    const late = await memory.find({ type: "note", limit: 2, lateBinding: true, by: "planner" });
    expect(late.hits.map(({ text }) => text)).toEqual(["c", "b"]);
    expect(late.lateSeq).toBe(late.seq + 1);
    const [entry] = (await memory.log({ from: late.lateSeq ?? 0 })).entries;
    expect(entry).toMatchObject({ kind: "find_late", by: "planner" });
    expect(entry?.parts.map(({ subject }) => subject)).toEqual(
      [ids[2], ids[1]].map((id) => `attachment:${id}`),
    );
    expect((await memory.inspect(ids[2] ?? ""))?.counters).toMatchObject({ accessed: 1 });
    expect((await memory.inspect(ids[0] ?? ""))?.counters).toMatchObject({ accessed: 0 });
    const [used] = (await memory.find({ type: "note", limit: 1 })).hits;
    expect(used?.score).toBeGreaterThan(late.hits[0]?.score ?? 1);
    await memory.forget(ids[2] ?? "", "asked for");
    const [after] = (await memory.log({ from: late.lateSeq ?? 0 })).entries;
    expect(after?.parts.map(({ erased }) => erased)).toEqual([true, false]);
  });

  test("of nothing, or with what a budget left out, journal no more than was given", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "first", importance: 1 });
    await memory.write({ type: "note", text: "second", importance: 9 });
    const none = await memory.find({ type: "fact", limit: 2, lateBinding: true });
    expect(none.lateSeq).toBeUndefined();
    const one = await memory.find({ type: "note", budgetTokens: 2, lateBinding: true });
    const [entry] = (await memory.log({ from: one.lateSeq ?? 0 })).entries;
    expect(entry?.parts).toHaveLength(1);
    expect((await memory.log()).entries).toHaveLength(4);
  });
});

test("removed edges are followed, and hidden memories shown, with includeTombstoned", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const [a, b, c, d] = await Promise.all(
    ["a", "b", "c", "d"].map((text) => memory.write({ type: "note", text })),
  );
  await memory.link(a?.id ?? "", "uses", b?.id ?? "");
  await memory.link(b?.id ?? "", "uses", c?.id ?? "");
  await memory.link(a?.id ?? "", "uses", d?.id ?? "");
  await memory.removeEdge(b?.id ?? "", "uses", c?.id ?? "", { reason: "not any more" });
  await memory.tombstone(d?.id ?? "", "hidden");
  const query = { from: a?.id ?? "", follow: { maxHops: 3 }, limit: 9 } as const;
  const found = async (more: object) =>
    (await memory.find({ ...query, ...more })).hits.map(({ text, hop }) => `${text} ${hop}`).sort();
  expect(await found({})).toEqual(["b 1"]);
  expect(await found({ includeTombstoned: true })).toEqual(["b 1", "c 2", "d 1"]);
  // A state that is asked for by name says nothing of edges.
  expect(await found({ lifecycles: ["active", "tombstoned"] })).toEqual(["b 1", "d 1"]);
});
