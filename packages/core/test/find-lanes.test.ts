/** `find` by words and by meaning, together with exact conditions. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cortex, type Embedder, GUEST, type Options, open } from "../src/index.js";
import { openTestStore, refusalOf, seededRandom } from "../src/testing/index.js";

const SEED = 8_150;

/** Invented words, so that no two share a stem and none says too little to be looked for. */
const WORDS = ["zorba", "quillo", "mepdo", "tarnix", "fulgo", "brindo"];

type FindQuery = Options<"find">;

async function texts(memory: Cortex, query: FindQuery): Promise<readonly string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await memory.find({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.hits.map(({ text }) => text));
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
}

describe("by words", () => {
  test("every word must be there; the answer is the same along every path, then and now", async () => {
    await using store = await openTestStore({ seed: SEED });
    const { memory } = store;
    const random = seededRandom(SEED);
    const notes: {
      readonly text: string;
      readonly words: readonly string[];
      readonly tag: string;
    }[] = [];
    let middle = 0;
    for (let at = 0; at < 240; at += 1) {
      const words = WORDS.filter(() => random.chance(40));
      const tag = `tag${random.below(8)}`;
      const text = [...words, `no${at}`].join(" ");
      await memory.write({ type: "note", text, tags: [tag] });
      notes.push({ text, words, tag });
      if (at === 120) middle = (await memory.stats()).seq;
    }
    const asked = fc.record({
      words: fc.subarray(WORDS, { minLength: 1, maxLength: 3 }),
      tag: fc.oneof(
        fc.constant(undefined),
        fc.nat({ max: 7 }).map((number) => `tag${number}`),
      ),
      isPast: fc.boolean(),
      limit: fc.integer({ min: 1, max: 30 }),
    });
    const paths = new Set<string | undefined>();
    const property = fc.asyncProperty(asked, async ({ words, tag, isPast, limit }) => {
      const known = isPast ? notes.slice(0, 121) : notes;
      const expected = known
        .filter((note) => words.every((word) => note.words.includes(word)))
        .filter((note) => tag === undefined || note.tag === tag)
        .map(({ text }) => text)
        .reverse();
      const query: FindQuery = {
        text: words.join(", ").toUpperCase(),
        limit,
        ...(tag === undefined ? {} : { tags: [tag] }),
        ...(isPast ? { asOf: middle } : {}),
      };
      expect(await texts(memory, query)).toEqual(expected);
      paths.add((await memory.find({ ...query, explain: true })).explain?.source.slice(0, 4));
      expect((await memory.find({ ...query, countTotal: true })).total).toBe(expected.length);
    });
    await fc.assert(property, { seed: SEED, numRuns: 120 });
    expect([...paths].sort()).toEqual(["tag ", "text"]);
  });

  test("words stand in tags, kinds and rival versions as well; quotes and marks mean nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({
      type: "note",
      text: "zorba",
      kind: "quillo",
      tags: ["mepdo"],
    });
    await memory.update(id, { text: "zorba tarnix", basedOnVersion: 1 });
    await memory.update(id, { text: "zorba fulgo", basedOnVersion: 1 });
    // Few enough that reading the type and looking through it is a path too.
    for (const text of [
      "zorba quillo mepdo",
      'fulgo "mepdo zorba"',
      "tarnix",
      "tarnix fulgo",
      "(zorba) OR quillo*",
    ]) {
      const viaText = await memory.find({ text, limit: 5 });
      expect(
        viaText.hits.map((hit) => hit.id),
        text,
      ).toEqual(text.includes("OR") ? [] : [id]);
      const viaId = await memory.find({
        text,
        limit: 5,
        where: { eq: ["head.id", id] },
        explain: true,
      });
      expect(viaId.explain?.source).toBe(text.includes("OR") ? "text" : "ids");
      expect(viaId.hits, text).toHaveLength(viaText.hits.length);
    }
    expect((await memory.find({ text: "?!", limit: 5 })).hits).toEqual([]);
    expect((await memory.find({ text: "", type: "note", limit: 5 })).hits).toEqual([]);
  });

  test("the best fit first, on request", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "zorba zorba zorba" });
    await memory.write({
      type: "note",
      text: "zorba mepdo tarnix fulgo brindo quillo and more of it",
    });
    await memory.write({ type: "note", text: "zorba mepdo" });
    const orderBy = [{ field: "text.score" }];
    const best = ["zorba zorba zorba", "zorba mepdo"];
    expect((await texts(memory, { text: '"zorba"', limit: 5, orderBy })).slice(0, 2)).toEqual(best);
    expect((await texts(memory, { text: "zorba", limit: 1, orderBy })).slice(0, 2)).toEqual(best);
    const asc = await texts(memory, {
      text: "zorba",
      limit: 5,
      orderBy: [{ field: "text.score", direction: "asc" }],
    });
    expect(asc.slice(1)).toEqual(best.toReversed());
  });
});

/** A model that reads an angle out of a text: near means a small angle between. */
const ANGLES: Embedder = {
  model: "angles@test",
  dimensions: 2,
  embed: async (given) =>
    given.map((text) => {
      const angle = (Number(/\d+/.exec(text)?.[0] ?? 0) * Math.PI) / 180;
      return Float32Array.of(Math.cos(angle), Math.sin(angle));
    }),
};

async function angled(): Promise<Cortex> {
  const memory = await open("memory:", { actor: "ada", embedder: ANGLES });
  for (let angle = 0; angle <= 170; angle += 10) {
    const visibility = angle % 20 === 0 ? "public" : "private";
    const tags = angle % 30 === 0 ? ["thirds"] : [];
    await memory.write({
      type: "note",
      text: `at ${angle}`,
      visibility,
      tags,
      externalId: `a${angle}`,
    });
  }
  await memory.embedPending();
  return memory;
}

describe("by meaning", () => {
  test("the nearest that satisfy the conditions, nearest first", async () => {
    await using memory = await angled();
    const near = { text: "around 41" };
    const page = await memory.find({ near, limit: 4 });
    expect(page.hits.map(({ text }) => text)).toEqual(["at 40", "at 50", "at 30", "at 60"]);
    expect(page.hits[0]?.distance).toBeCloseTo(1 - Math.cos(Math.PI / 180), 6);
    expect(await texts(memory, { near: { ...near, k: 6 }, limit: 2 })).toEqual([
      "at 40",
      "at 50",
      "at 30",
      "at 60",
      "at 20",
      "at 70",
    ]);
    const thirds = await memory.find({ near, tags: ["thirds"], limit: 3, explain: true });
    expect(thirds.hits.map(({ text }) => text)).toEqual(["at 30", "at 60", "at 0"]);
    expect(thirds.explain?.source).toBe("near");
    const guest = await memory.find({ near, limit: 2, access: GUEST });
    expect(guest.hits.map(({ text }) => text)).toEqual(["at 40", "at 60"]);
    const late = await memory.find({
      near: { ...near, k: 4 },
      limit: 9,
      orderBy: [{ field: "arrival" }],
    });
    expect(late.hits.map(({ text }) => text)).toEqual(["at 60", "at 50", "at 40", "at 30"]);
  });

  test("near a memory, near a vector, and what has neither", async () => {
    await using memory = await angled();
    const found = (query: FindQuery) => texts(memory, query);
    expect((await found({ near: { uri: "a90", k: 2 }, limit: 2 })).slice(0, 1)).toEqual(["at 90"]);
    expect(await found({ near: { vector: [0, 5], k: 1 }, limit: 1 })).toEqual(["at 90"]);
    await memory.write({ type: "note", text: "at 91", externalId: "new" });
    // Not embedded yet: it is near to nothing.
    expect(await found({ near: { vector: [0, 5], k: 1 }, limit: 1 })).toEqual(["at 90"]);
    const codeOf = async (near: FindQuery["near"], more: Partial<FindQuery> = {}) => {
      const query = { limit: 1, ...more, ...(near === undefined ? {} : { near }) };
      const { code, details } = await refusalOf(memory, () => memory.find(query));
      return `${code} ${details.field}`;
    };
    expect(await codeOf({ uri: "new" })).toBe("ERR_NOT_FOUND near.uri");
    expect(await codeOf({ uri: "nobody" })).toBe("ERR_NOT_FOUND near.uri");
    expect(await codeOf({ uri: "a90" }, { access: GUEST })).toBe("ERR_NOT_FOUND near.uri");
    expect(await codeOf({ vector: [1] })).toBe("ERR_INVALID near.vector");
    expect(await codeOf({ vector: [0, 0] })).toBe("ERR_INVALID near.vector");
    expect(await codeOf({ vector: [1, Number.NaN] })).toBe("ERR_INVALID near.vector");
    expect(await codeOf({ text: "x", k: 0 })).toBe("ERR_INVALID near.k");
  });

  test("hidden memories are near to nothing, whichever way is taken", async () => {
    await using memory = await angled();
    await memory.tombstone("a40", "hidden");
    const near = { text: "around 41" };
    for (const more of [
      {},
      { tags: [] },
      { where: { in: ["head.externalId", ["a40", "a50"]] } as const },
    ]) {
      const page = await memory.find({ near, limit: 1, includeTombstoned: true, ...more });
      expect(page.hits.map(({ text }) => text)).toEqual(["at 50"]);
    }
  });

  test("words and meaning together", async () => {
    await using memory = await angled();
    await memory.write({ type: "note", text: "zorba 10" });
    await memory.write({ type: "note", text: "zorba 120" });
    await memory.embedPending();
    expect(await texts(memory, { near: { text: "around 100" }, text: "zorba", limit: 5 })).toEqual([
      "zorba 120",
      "zorba 10",
    ]);
  });
});
