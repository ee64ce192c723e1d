/** Near duplicates in the review: which pairs are listed, to whom, at what cost, and how they end. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import type { ReviewItem } from "../contract/review.js";
import type { Cortex } from "../cortex.js";
import { GUEST } from "../scope/access.js";
import { openCountedStore, openTestStore, refusalOf } from "../testing/index.js";
import { restates, sayingOf } from "../text/alike.js";
import { Analyser } from "../text/analyse.js";

const SEED = 20_261_115;

/** Every pair, page by page. */
async function pairs(memory: Cortex, options: Options<"review"> = {}): Promise<ReviewItem[]> {
  const items: ReviewItem[] = [];
  let cursor: string | undefined;
  do {
    const page = await memory.review({
      kinds: ["duplicate"],
      ...options,
      ...(cursor === undefined ? {} : { cursor }),
    });
    expect(page.items.length).toBeLessThanOrEqual(options.limit ?? 50);
    items.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return items;
}

const namesOf = (items: readonly ReviewItem[]): readonly string[] =>
  items.map(({ sides }) => sides.map(({ id }) => id).join(" "));

const SEATS = "Ada prefers window seats";
const MORE_SEATS = "Ada always prefers a window seat";

/** Two memories that say nearly the same, and their item. */
async function twoSeats(memory: Cortex) {
  const few = await memory.write({ type: "fact", text: SEATS });
  const many = await memory.write({ type: "fact", text: MORE_SEATS });
  const [item] = await pairs(memory);
  return { few, many, item: item?.id ?? "" };
}

describe("what is listed", () => {
  test("two memories that say nearly the same, once, with why; only when asked for", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const many = await memory.write({ type: "fact", text: MORE_SEATS });
    await memory.write({ type: "fact", text: "Grace paints rivers in the evening" });
    const few = await memory.write({ type: "fact", text: SEATS });
    expect(await pairs(memory)).toMatchObject([
      {
        id: `duplicate-${few.id}-${many.id}-v1.1`,
        kind: "duplicate",
        why: "one says what the other says: 4 of its 5 words",
        sides: [
          { id: few.id, text: SEATS, source: "user_input" },
          { id: many.id, text: MORE_SEATS },
        ],
      },
    ]);
    expect((await memory.review()).items).toEqual([]);
    await memory.maintain();
    expect(namesOf(await pairs(memory))).toEqual([`${few.id} ${many.id}`]);
    const again = await store.reopen();
    expect(namesOf(await pairs(again))).toEqual([`${few.id} ${many.id}`]);
  });

  test("they come last, and a cursor leads from the other kinds to them", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await twoSeats(memory);
    await memory.write({ type: "fact", text: "doubtful by nature and taste", status: "disputed" });
    const kinds = ["duplicate", "disputed"] as const;
    const first = await memory.review({ kinds, limit: 1 });
    expect(first.items.map(({ kind }) => kind)).toEqual(["disputed"]);
    const second = await memory.review({ kinds, limit: 1, cursor: first.cursor ?? "" });
    expect(second.items.map(({ kind }) => kind)).toEqual(["duplicate"]);
  });

  test("a changed value is none, nor another slot, time, type or sense", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const fact = { type: "fact" } as const;
    for (const text of ["User deploys on Fridays", "User now deploys on Mondays"]) {
      await memory.write({ ...fact, text });
    }
    for (const text of ["Ada is allergic to hazel nuts", "Ada is not allergic to hazel nuts"]) {
      await memory.write({ ...fact, text });
    }
    await memory.write({ ...fact, slot: "home seat", text: SEATS });
    await memory.write({ ...fact, slot: "work seat", text: MORE_SEATS });
    await memory.write({ ...fact, text: "Ada lived on the old farm", validTo: 5000 });
    await memory.write({ ...fact, text: "Ada once lived on the old farm" });
    await memory.write({ ...fact, text: "Ben plays the cello at night" });
    await memory.write({ type: "belief", text: "Ben always plays the cello at night" });
    await memory.write({ type: "belief", text: "Cats sleep all the day" });
    const doubt = { type: "belief", data: { stance: "doubt" } } as const;
    await memory.write({ ...doubt, text: "Cats nearly sleep all the day" });
    expect(await pairs(memory)).toEqual([]);
  });

  test("turns, events and notes are never listed", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const type of ["event", "note"] as const) {
      await memory.write({ type, text: SEATS });
      await memory.write({ type, text: MORE_SEATS });
    }
    const turns = [SEATS, MORE_SEATS].map((content) => ({ role: "user" as const, content }));
    await memory.remember(turns, { session: "s" });
    expect(await pairs(memory)).toEqual([]);
    // The words are found: one claim beside them is no pair, two are.
    await memory.write({ type: "fact", text: SEATS });
    expect(await pairs(memory)).toEqual([]);
    await memory.write({ type: "fact", text: MORE_SEATS });
    expect(await pairs(memory)).toHaveLength(1);
  });

  test("what is joined already is not asked about, and is again when parted", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { few, many } = await twoSeats(memory);
    for (const kind of ["contradicts", "corrects", "refines", "supports", "distinct_from"]) {
      await memory.addEdge(many.id, kind, few.id);
      expect(await pairs(memory)).toEqual([]);
      await memory.removeEdge(many.id, kind, few.id);
      expect(await pairs(memory)).toHaveLength(1);
    }
    await memory.addEdge(many.id, "same_topic", few.id);
    expect(await pairs(memory)).toHaveLength(1);
    // Said by another source in the same words: evidence, not a duplicate.
    await memory.write({ type: "fact", text: SEATS, source: "agent" });
    expect(namesOf(await pairs(memory)).filter((name) => name.includes(few.id))).toHaveLength(1);
  });

  test("a contradiction that was settled by keeping both is settled here too", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { few, many } = await twoSeats(memory);
    await memory.addEdge(few.id, "contradicts", many.id);
    const [item] = (await memory.review()).items;
    const done = await memory.settle(item?.id ?? "", { decision: "keep_both", reason: "two" });
    expect(await pairs(memory)).toEqual([]);
    await memory.revert(done.seq);
    await memory.removeEdge(few.id, "contradicts", many.id);
    expect(await pairs(memory)).toHaveLength(1);
  });

  test("to a guest, a pair with a side that is not public does not exist", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const open = { type: "fact", visibility: "public" } as const;
    const few = await memory.write({ ...open, text: SEATS });
    await memory.write({ type: "fact", text: MORE_SEATS });
    expect(await pairs(memory)).toHaveLength(1);
    expect(await pairs(memory, { access: GUEST })).toEqual([]);
    const most = await memory.write({ ...open, text: "Ada nearly always prefers window seats" });
    expect(namesOf(await pairs(memory, { access: GUEST }))).toEqual([`${few.id} ${most.id}`]);
  });

  test("cursors that nobody gave are refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const cursor of ["duplicate.zz", `duplicate.${"0".repeat(79)}`, "duplicates."]) {
      const call = () => memory.review({ kinds: ["duplicate"], cursor });
      expect((await refusalOf(memory, call)).code).toBe("ERR_INVALID");
    }
  });
});

describe("against every pair there is", () => {
  const VOCABULARY = "amber birch cedar dune ember fjord glade".split(" ");
  const sentence = fc
    .tuple(fc.subarray(VOCABULARY, { minLength: 3 }), fc.boolean())
    .map(([words, article]) => `${article ? "The " : ""}${words.join(" ")}`);

  test("pages of any size list each pair once, before and after the index is written", async () => {
    console.log(`duplicates: seed ${SEED}`);
    const analyser = await Analyser.load("english");
    let listed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(sentence, { minLength: 8, maxLength: 20 }),
        fc.integer({ min: 1, max: 5 }),
        async (texts, limit) => {
          await using store = await openTestStore();
          const { memory } = store;
          const ids = new Map<string, string>();
          for (const text of texts) ids.set(text, (await memory.write({ type: "fact", text })).id);
          const said = texts.map((text) => {
            const saying = sayingOf(analyser, text);
            return { id: ids.get(text) ?? "", saying, length: saying.words.length };
          });
          const expected = said.flatMap((a) =>
            said
              .filter((b) => a.length < b.length || (a.length === b.length && a.id < b.id))
              .filter((b) => restates(a.saying, b.saying))
              .map((b) => `${a.id} ${b.id}`),
          );
          listed += expected.length;
          const inTail = namesOf(await pairs(memory, { limit }));
          expect([...inTail].sort()).toEqual([...expected].sort());
          await memory.maintain();
          expect(namesOf(await pairs(memory, { limit: 50 }))).toEqual(inTail);
        },
      ),
      { seed: SEED, numRuns: 40 },
    );
    expect(listed).toBeGreaterThan(100);
  });
});

describe("what a page costs", () => {
  test("does not grow with the store, nor does the usual review look for duplicates", async () => {
    const readsIn = async (facts: number): Promise<readonly number[]> => {
      await using store = await openCountedStore({ check: false });
      const kv = store.calls;
      const { memory } = store;
      await memory.batch(
        Array.from({ length: facts }, (_, at) => ({
          write: {
            type: "fact" as const,
            text: `Harbour ${at >> 1} keeps crane c${at >> 1}${at % 2 === 0 ? "" : " busy"}`,
          },
        })),
      );
      await memory.maintain();
      const counted = async (options: Options<"review">): Promise<number> => {
        await memory.review(options);
        kv.reset();
        const { items } = await memory.review(options);
        expect(items).toHaveLength(options.kinds === undefined ? 0 : 50);
        const { keys = 0, rows = 0 } = kv.counts() ?? {};
        return keys + rows;
      };
      return [await counted({ kinds: ["duplicate"], limit: 50 }), await counted({})];
    };
    const [small, large] = [await readsIn(600), await readsIn(3000)];
    expect(large[0]).toBeLessThanOrEqual((small[0] ?? 0) * 1.2);
    expect(large[1]).toBeLessThan(50);
  });

  test("is bounded where nothing is found: a page is given short, with a cursor", async () => {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    // Every word is common, so every sentence takes a search of its own.
    const words = "amber birch cedar dune ember fjord glade heath inlet juniper kelp lime".split(
      " ",
    );
    const texts = words.flatMap((a, i) =>
      words
        .slice(i + 1)
        .flatMap((b, j) =>
          words
            .slice(i + j + 2)
            .flatMap((c, k) => words.slice(i + j + k + 3).map((d) => `${a} ${b} ${c} ${d}`)),
        ),
    );
    expect(texts).toHaveLength(495);
    await memory.batch(texts.map((text) => ({ write: { type: "fact" as const, text } })));
    const first = await memory.review({ kinds: ["duplicate"] });
    expect(first.items).toEqual([]);
    expect(first.cursor).toBeDefined();
    expect(await pairs(memory)).toEqual([]);
  });
});

describe("settling", () => {
  const reason = "seen-together-by-nobody-else";
  const decide = (memory: Cortex, item: string, input: Omit<Options<"settle">, "reason">) =>
    memory.settle(item, { ...input, reason });

  test("keep_one archives the other, says why, and hands on the slot", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const few = await memory.write({ type: "fact", slot: "seat", text: SEATS });
    const many = await memory.write({ type: "fact", text: MORE_SEATS });
    const [item] = await pairs(memory);
    const done = await decide(memory, item?.id ?? "", { decision: "keep_one", keep: many.id });
    expect(done).toMatchObject({ kept: [many.id], archived: [few.id] });
    expect((await memory.get(few.id))?.head.lifecycle).toBe("archived");
    expect((await memory.get(many.id))?.head).toMatchObject({ slot: "seat", status: "asserted" });
    expect(await memory.getEdge(many.id, "supersedes", few.id)).toMatchObject({ reason });
    expect((await memory.slotHistory("seat")).values.map(({ text }) => text)).toEqual([
      MORE_SEATS,
      SEATS,
    ]);
    expect(await pairs(memory)).toEqual([]);
  });

  test("keep_both is journaled: not listed again, not after a rebuild, until undone", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { few, many, item } = await twoSeats(memory);
    const before = [await memory.get(few.id), await memory.get(many.id)];
    const done = await decide(memory, item, { decision: "keep_both" });
    expect(done).toMatchObject({ kept: [few.id, many.id], archived: [] });
    expect([await memory.get(few.id), await memory.get(many.id)]).toEqual(before);
    expect(await memory.getEdge(few.id, "distinct_from", many.id)).toMatchObject({ reason });
    expect(await pairs(memory)).toEqual([]);
    await memory.rebuild();
    expect(await pairs(memory)).toEqual([]);
    await memory.revert(done.seq);
    expect(namesOf(await pairs(memory))).toEqual([`${few.id} ${many.id}`]);
    await decide(memory, item, { decision: "keep_both" });
    expect(await pairs(memory)).toEqual([]);
  });

  test("merge writes the agreed text; retract takes back one side, or both", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { few, many, item } = await twoSeats(memory);
    const text = "Ada prefers window seats, on long flights at least";
    const merged = await decide(memory, item, { decision: "merge", keep: few.id, text });
    expect(await memory.get(few.id)).toMatchObject({ text, version: 2 });
    expect((await memory.get(many.id))?.head.lifecycle).toBe("archived");
    await memory.revert(merged.seq);
    const one = await decide(memory, item, { decision: "retract", keep: few.id });
    expect((await memory.get(many.id))?.head).toMatchObject({ status: "retracted" });
    expect((await memory.get(few.id))?.head.lifecycle).toBe("active");
    await memory.revert(one.seq);
    await decide(memory, item, { decision: "retract" });
    expect((await memory.list({ type: "fact" })).memories).toEqual([]);
  });

  test("undone, every decision leaves both memories and the question as they were", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const few = await memory.write({ type: "fact", slot: "seat", text: SEATS, tags: ["t"] });
    const many = await memory.write({ type: "fact", text: MORE_SEATS, source: "agent" });
    const state = async () => ({
      memories: [await memory.get(few.id), await memory.get(many.id)].map((one) => ({
        text: one?.text,
        version: one?.version,
        head: { ...one?.head, updatedAt: 0 },
      })),
      edges: (await memory.edgesOut(many.id)).edges.concat((await memory.edgesOut(few.id)).edges),
      open: namesOf(await pairs(memory)),
    });
    const before = await state();
    expect(before.open).toHaveLength(1);
    const [{ id: item = "" } = {}] = await pairs(memory);
    const keeps = [few.id, many.id].map((keep) => ({ keep }));
    for (const input of [
      ...keeps.map((one) => ({ decision: "keep_one" as const, ...one })),
      ...keeps.map((one) => ({ decision: "merge" as const, text: "something else", ...one })),
      ...keeps.map((one) => ({ decision: "retract" as const, ...one })),
      { decision: "merge" as const, text: "something else" },
      { decision: "retract" as const },
      { decision: "keep_both" as const },
    ]) {
      const { seq } = await decide(memory, item, input);
      expect((await state()).open).toEqual([]);
      await memory.revert(seq);
      expect(await state()).toEqual(before);
    }
  });

  test("a source sets nothing aside above it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({ type: "fact", text: SEATS });
    const agent = await memory.write({ type: "fact", text: MORE_SEATS, source: "agent" });
    const [{ id: item = "" } = {}] = await pairs(memory);
    for (const input of [
      { decision: "keep_one", keep: agent.id },
      { decision: "merge", keep: agent.id, text: "t" },
      { decision: "merge", keep: own.id, text: "t" },
      { decision: "retract", keep: agent.id },
      { decision: "retract" },
    ] as const) {
      const call = () => decide(memory, item, { ...input, source: "agent" });
      expect((await refusalOf(memory, call)).code).toBe("ERR_TRUST");
    }
    await decide(memory, item, { decision: "keep_one", keep: own.id, source: "agent" });
    expect((await memory.get(agent.id))?.head.lifecycle).toBe("archived");
  });

  test("a pair that is none, or not any more, is not open; a bad id is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { few, many, item } = await twoSeats(memory);
    const far = await memory.write({ type: "fact", text: "Grace paints rivers" });
    const input = { decision: "keep_both" } as const;
    const codeOf = async (id: string) =>
      (await refusalOf(memory, () => decide(memory, id, input))).code;
    expect(await codeOf(`duplicate-${few.id}-${far.id}`)).toBe("ERR_CONFLICT");
    expect(await codeOf(`duplicate-${few.id}-${few.id}`)).toBe("ERR_INVALID");
    expect(await codeOf(`duplicate-${few.id}`)).toBe("ERR_INVALID");
    expect(await codeOf(`disputed-${few.id}-${many.id}`)).toBe("ERR_INVALID");
    expect(await codeOf(`${item}-${far.id}`)).toBe("ERR_INVALID");
    expect(await codeOf(`duplicate-${few.id}-${"7".repeat(26)}`)).toBe("ERR_NOT_FOUND");
    await memory.update(many.id, { text: "Ada prefers aisle seats" });
    expect(await codeOf(item)).toBe("ERR_CONFLICT");
  });

  test("forgetting either side takes the words of the settlement along", async () => {
    for (const side of ["few", "many"] as const) {
      for (const decision of ["keep_one", "keep_both", "retract"] as const) {
        await using store = await openTestStore();
        const { memory } = store;
        const { few, many, item } = await twoSeats(memory);
        const keep = decision === "keep_one" ? { keep: few.id } : {};
        await decide(memory, item, { decision, ...keep });
        const holdsReason = async () => {
          const chunks: Uint8Array[] = [];
          await memory.exportJournal((chunk) => {
            chunks.push(chunk);
          });
          return Buffer.concat(chunks).includes(reason);
        };
        expect(await holdsReason()).toBe(true);
        await memory.forget({ few, many }[side].id, "asked");
        expect(await holdsReason()).toBe(false);
        expect(await pairs(memory)).toEqual([]);
      }
    }
  });
});
