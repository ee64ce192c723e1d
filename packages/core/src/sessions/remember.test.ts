/** `remember`: verbatim, in order, safe to repeat, and never fed by itself. */
import { describe, expect, test } from "vitest";
import type { TurnInput } from "../contract/sessions.js";
import { LIMITS } from "../limits.js";
import { fence } from "../records/fence.js";
import { openTestStore, refusalOf, seededRandom } from "../testing/index.js";

const turn = (content: string, more: Partial<TurnInput> = {}): TurnInput => ({
  role: "user",
  content,
  ...more,
});

describe("remember", () => {
  test("turns come back as they were said, in order", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const said: readonly TurnInput[] = [
      { role: "user", content: "I moved to Porto.", speaker: "Ada", at: 1_700_000_000_000 },
      { role: "assistant", content: "  Noted.\n" },
      { role: "tool_call", content: '{"q":1}', toolName: "search" },
      { role: "tool_result", content: "" },
      { role: "system", content: "é👩‍🚀" },
    ];
    const result = await memory.remember(said, { session: "chat-1" });
    expect(result.session).toBe("chat-1");
    expect(result.turns.map(({ index, added }) => [index, added])).toEqual(
      said.map((_, index) => [index, true]),
    );
    expect(result.seq).toBe((await memory.stats()).seq);
    const back = await memory.session("chat-1");
    expect(back.turns).toMatchObject(said);
    expect(back.turns.map(({ id, uri }) => ({ id, uri }))).toEqual(
      result.turns.map(({ id, uri }) => ({ id, uri })),
    );
    const first = await memory.get(result.turns[0]?.id ?? "");
    expect(first).toMatchObject({
      type: "note",
      text: "I moved to Porto.",
      head: { kind: "turn", visibility: "private", source: "user_input" },
      versionRecord: { validFrom: 1_700_000_000_000 },
    });
    expect((await memory.list({ kind: "turn" })).memories).toHaveLength(5);
  });

  test("source, visibility and principal hold for every turn", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const options = { session: "s", source: "channel", visibility: "public", by: "bot" } as const;
    const { turns } = await memory.remember([turn("a"), turn("b")], options);
    for (const { id } of turns) {
      expect(await memory.get(id)).toMatchObject({
        head: { source: "channel", visibility: "public" },
        versionRecord: { createdBy: "bot", provenance: { source: "channel" } },
      });
    }
  });

  test("the same places again change nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const said = ["a", "b", "c"].map((content, index) => turn(content, { index }));
    const first = await memory.remember(said, { session: "s" });
    const { seq } = await memory.stats();
    const again = await memory.remember(said, { session: "s" });
    expect(again.turns).toEqual(first.turns.map((one) => ({ ...one, added: false })));
    expect((await memory.stats()).seq).toBe(seq);
    const more = await memory.remember([...said, turn("d", { index: 3 })], { session: "s" });
    expect(more.turns.map(({ added }) => added)).toEqual([false, false, false, true]);
    expect((await memory.session("s")).turns.map(({ content }) => content)).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
    const twice = await memory.remember([turn("e", { index: 9 }), turn("e", { index: 9 })], {
      session: "s",
    });
    expect(twice.turns.map(({ added }) => added)).toEqual([true, false]);
  });

  test("an id makes a turn the same turn, wherever it stands in the call", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const said = ["a", "b", "c"].map((content, at) => turn(content, { id: `m${at}` }));
    const first = await memory.remember(said, { session: "s" });
    expect(first.turns.map(({ index, added }) => [index, added])).toEqual([
      [0, true],
      [1, true],
      [2, true],
    ]);
    const { seq } = await memory.stats();
    const again = await memory.remember([...said].reverse(), { session: "s" });
    expect(again.turns).toEqual(first.turns.map((one) => ({ ...one, added: false })).reverse());
    expect((await memory.stats()).seq).toBe(seq);
    // Another conversation may count its messages alike.
    const other = await memory.remember([turn("x", { id: "m0" })], { session: "t" });
    expect(other.turns).toMatchObject([{ index: 0, added: true }]);
    const back = await memory.session("s");
    expect(back.turns.map(({ messageId }) => messageId)).toEqual(["m0", "m1", "m2"]);
    expect((await memory.get("s#m1"))?.text).toBe("b");
  });

  test("a turn that was corrected since is still the same turn", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const said = [turn("my number is 12", { id: "m1" }), turn("ok", { role: "assistant" })];
    const { turns } = await memory.remember(said.slice(0, 1), { session: "s" });
    await memory.update(turns[0]?.id ?? "", { text: "my number is 13" });
    const again = await memory.remember(said.slice(0, 1), { session: "s" });
    expect(again.turns).toMatchObject([{ added: false }]);
  });

  const others: readonly (readonly [string, TurnInput, TurnInput])[] = [
    ["id, other words", turn("a", { id: "m" }), turn("b", { id: "m" })],
    ["id, other role", turn("a", { id: "m" }), turn("a", { id: "m", role: "assistant" })],
    [
      "id, other speaker",
      turn("a", { id: "m", speaker: "A" }),
      turn("a", { id: "m", speaker: "B" }),
    ],
    ["id, other place", turn("a", { id: "m", index: 0 }), turn("a", { id: "m", index: 4 })],
    ["place, other words", turn("a", { index: 0 }), turn("b", { index: 0 })],
    ["place, other id", turn("a", { index: 0, id: "m" }), turn("a", { index: 0, id: "n" })],
  ];
  for (const [name, one, other] of others) {
    test(`the same ${name}: refused, in one call and in two`, async () => {
      await using store = await openTestStore();
      const { memory } = store;
      const conflict = { code: "ERR_CONFLICT" };
      const both = () => memory.remember([one, other], { session: "s" });
      expect(await refusalOf(memory, both)).toMatchObject(conflict);
      await memory.remember([one], { session: "s" });
      const later = () => memory.remember([other], { session: "s" });
      const error = await refusalOf(memory, later);
      expect(error).toMatchObject(conflict);
      expect(error.message).toMatch(/turns\[0\]\.(id|index): expected .* got /);
    });
  }

  test("without places, turns go on after the last", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.remember([turn("a"), turn("b", { index: 7 })], { session: "s" });
    const { turns } = await memory.remember([turn("c"), turn("d")], { session: "s" });
    expect(turns.map(({ index }) => index)).toEqual([8, 9]);
    expect((await memory.remember([turn("x")], { session: "s2" })).turns[0]?.index).toBe(0);
  });

  test("a hidden turn keeps its place: repeating does not bring its words back", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const said = [turn("keep", { index: 0 }), turn("secret", { index: 1 })];
    const { turns } = await memory.remember(said, { session: "s" });
    await memory.tombstone(turns[1]?.id ?? "", "asked by Ada");
    const again = await memory.remember(said, { session: "s" });
    expect(again.turns.map(({ added }) => added)).toEqual([false, false]);
    const next = await memory.remember([turn("next")], { session: "s" });
    expect(next.turns[0]?.index).toBe(2);
    expect((await memory.session("s")).turns.map(({ content }) => content)).toEqual([
      "keep",
      "next",
    ]);
  });

  test("a session that nobody named is one for the process, and the answer says so", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.remember([turn("a")]);
    expect(first).toMatchObject({ madeSession: true, session: expect.stringMatching(/^process-/) });
    const second = await memory.remember([turn("b")]);
    expect(second.session).toBe(first.session);
    expect((await memory.session(first.session)).turns).toHaveLength(2);
    expect(await memory.remember([turn("a")], { session: "s" })).not.toHaveProperty("madeSession");
  });

  test("parts become one text: texts are kept, others named; metadata comes back", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const content = [
      { type: "text", text: "Look at this:" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "tool-call", toolName: "search", args: {} },
      { type: "text", text: "Nice?" },
    ];
    const metadata = { channel: "web", n: 3 };
    const said = [
      { role: "user", content, metadata },
      { role: "tool", content: "42", toolName: "search" },
      { role: "system", content: "Be brief." },
    ] as const;
    await memory.remember(said, { session: "s" });
    const { turns } = await memory.session("s");
    expect(turns).toMatchObject([
      { content: "Look at this:\n[image_url]\n[tool-call: search]\nNice?", metadata },
      { role: "tool_result", content: "42", toolName: "search" },
      { role: "system", content: "Be brief." },
    ]);
    expect((await memory.remember(said, { session: "s" })).turns).toMatchObject([
      { added: false },
      { added: false },
      { added: false },
    ]);
  });

  test("many calls at once leave one order without gaps", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => memory.remember([turn(`t${at}`)], { session: "s" })),
    );
    const { turns } = await memory.session("s");
    expect(turns.map(({ index }) => index)).toEqual(Array.from({ length: 20 }, (_, at) => at));
  });

  test("fenced text is dropped, wherever it stands", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const rendered = fence("- Ada lives in Porto");
    const kept = await memory.remember(
      [turn(`Hi.\n${rendered}\nBook it.`), turn(rendered), turn(`a ${rendered} b ${rendered}`)],
      { session: "s" },
    );
    expect(kept).toMatchObject({ dropped: 1, turns: [{ index: 0 }, { index: 1 }] });
    const { turns } = await memory.session("s");
    expect(turns.map(({ content }) => content)).toEqual(["Hi.\n\nBook it.", "a  b"]);
  });
});

describe("history that is sent again", () => {
  const words = (text: string) => [...text].map((content) => turn(content));
  /** What a session holds after calls, one letter a turn. */
  async function after(...calls: readonly string[]): Promise<string> {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    for (const call of calls) await memory.remember(words(call), { session: "s" });
    const { turns } = await memory.session("s");
    return turns.map(({ content }) => content).join("");
  }

  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ["the same two turns", ["ab", "ab"], "ab"],
    ["the whole history and more", ["ab", "abc", "abcd"], "abcd"],
    ["a window of the last turns and more", ["abcde", "cdefg"], "abcdefg"],
    ["one turn, then it and more", ["a", "ab"], "ab"],
    ["a single turn again is a new one", ["a", "a"], "aa"],
    ["a single turn again after others is a new one", ["ab", "b"], "abb"],
    ["one turn that ends the session is not enough", ["ab", "bc"], "abbc"],
    ["the same answer twice in a row", ["xx", "xxy"], "xxy"],
    ["the longest run counts", ["abab", "ababc"], "ababc"],
    ["a run in the middle is no end", ["abc", "ab"], "abcab"],
    ["nothing in common", ["ab", "cd"], "abcd"],
    ["a longer history than is stored, from its end on", ["cd", "abcd"], "cdabcd"],
  ];
  for (const [name, calls, expected] of cases) {
    test(name, async () => expect(await after(...calls)).toBe(expected));
  }

  test("agrees with the rule on generated conversations", async () => {
    const random = seededRandom(77);
    for (let round = 0; round < 12; round += 1) {
      let expected = "";
      const calls: string[] = [];
      for (let call = 0; call < 5; call += 1) {
        const start = random.below(expected.length + 1);
        const again = random.below(3) > 0 ? expected.slice(start) : "";
        const given =
          again +
          Array.from({ length: 1 + random.below(3) }, () => random.pick(["a", "b"])).join("");
        calls.push(given);
        expected += given.slice(runLength(expected, given));
      }
      expect(await after(...calls), calls.join(" ")).toBe(expected);
    }
  });

  test("turns cut into pieces and hidden ones count as what was said", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const long = "é".repeat(LIMITS.contentBytes);
    const said = [turn("a"), turn(long), turn("secret")];
    const { turns } = await memory.remember(said, { session: "s" });
    await memory.tombstone(turns[2]?.id ?? "", "asked by Ada");
    const { seq } = await memory.stats();
    const again = await memory.remember(said, { session: "s" });
    expect(again.turns).toEqual(turns.map((one) => ({ ...one, added: false })));
    expect((await memory.stats()).seq).toBe(seq);
  });

  test("two processes that send the same leave it once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const said = words("abc");
    await Promise.all([0, 1, 2].map(() => memory.remember(said, { session: "s" })));
    expect((await memory.session("s")).turns).toHaveLength(3);
  });
});

/** The rule of the design, letter by letter. */
function runLength(stored: string, given: string): number {
  for (let length = Math.min(stored.length, given.length); length > 0; length -= 1) {
    if (!stored.endsWith(given.slice(0, length))) continue;
    const isWhole = length === stored.length && given.length > length;
    return length >= 2 || isWhole ? length : 0;
  }
  return 0;
}

test("a call that holds nothing but recalled text changes nothing", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const { entries } = await memory.stats();
  const kept = await memory.remember([turn(fence("- x")), turn(fence("- y"))], { session: "s" });
  expect(kept).toMatchObject({ dropped: 2, turns: [] });
  expect((await memory.stats()).entries).toBe(entries);
  expect((await memory.remember([turn("")], { session: "s" })).turns).toHaveLength(1);
});

describe("order", () => {
  test("precedes leads through the whole session", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { turns } = await memory.remember(
      ["a", "b", "c"].map((text) => turn(text)),
      {
        session: "s",
      },
    );
    await memory.remember([turn("d")], { session: "s" });
    const walk = await memory.traverse(turns[0]?.id ?? "", { kinds: ["precedes"], maxHops: 6 });
    expect(walk.hits.map(({ memory: { text }, hop }) => `${text}${hop}`)).toEqual([
      "b1",
      "c2",
      "d3",
    ]);
    const back = await memory.traverse(turns[2]?.id ?? "", { kinds: ["follows"], maxHops: 6 });
    expect(back.hits.map(({ memory: { text } }) => text)).toEqual(["b", "a"]);
  });

  test("turns that come late are put between their neighbours", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.remember([turn("a", { index: 0 }), turn("e", { index: 4 })], { session: "s" });
    const late = [turn("c", { index: 2 }), turn("b", { index: 1 }), turn("f")];
    await memory.remember(late, { session: "s" });
    const { turns } = await memory.session("s");
    expect(turns.map(({ content }) => content).join("")).toBe("abcef");
    for (const [at, { id }] of turns.entries()) {
      const next = turns[at + 1];
      if (next === undefined) continue;
      expect(await memory.getEdge(id, "precedes", next.id)).toMatchObject({ source: "derived" });
    }
    const ahead = await memory.edgesIn(turns[4]?.id ?? "", { kinds: ["precedes"] });
    expect(ahead.edges.map(({ from }) => from)).toEqual([turns[3]?.id]);
  });
});

describe("long content", () => {
  test("200 KB of several bytes a character is cut and joined exactly", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const random = seededRandom(5);
    const letters = ["a", "é", "語", "👩‍🚀", "\n", "e\u0301"];
    let content = "";
    while (content.length < 120_000) content += random.pick(letters);
    expect(Buffer.byteLength(content)).toBeGreaterThan(200 * 1024);
    const said = [turn("before"), turn(content, { speaker: "Ada" }), turn("after")];
    const { turns } = await memory.remember(said, { session: "s" });
    const back = await memory.session("s");
    expect(back.turns).toHaveLength(3);
    expect(back.turns[1]?.content === content).toBe(true);
    expect(back.turns).toMatchObject([{ index: 0 }, { index: 1, speaker: "Ada" }, { index: 2 }]);
    const pieces = await memory.list({ session: "s", order: "oldest" });
    expect(pieces.memories.length).toBeGreaterThan(5);
    for (const { text } of pieces.memories) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.contentBytes);
    }
    const walk = await memory.traverse(turns[0]?.id ?? "", { kinds: ["precedes"], maxHops: 6 });
    expect(walk.hits.at(-1)?.memory.text).toBe("after");
    expect((await memory.session("s", { fromIndex: 1, limit: 1 })).turns).toMatchObject([
      { index: 1, content },
    ]);
  });

  test("content of exactly one memory is not cut", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.remember([turn("x".repeat(LIMITS.contentBytes))], { session: "s" });
    expect((await memory.list({ session: "s" })).memories).toHaveLength(1);
    await memory.remember([turn("x".repeat(LIMITS.contentBytes + 1))], { session: "s" });
    expect((await memory.list({ session: "s" })).memories).toHaveLength(3);
  });
});

describe("refused", () => {
  const bad: readonly (readonly [string, unknown, unknown, string, string])[] = [
    ["no turns", [], { session: "s" }, "ERR_INVALID", "turns"],
    ["turns that are no list", { 0: turn("a") }, { session: "s" }, "ERR_INVALID", "turns"],
    ["a turn that is no object", ["a"], { session: "s" }, "ERR_INVALID", "turns[0]"],
    ["a blank session", [turn("a")], { session: " " }, "ERR_INVALID", "session"],
    ["a long session", [turn("a")], { session: "s".repeat(257) }, "ERR_TOO_LARGE", "session"],
    ["an unknown option", [turn("a")], { session: "s", tag: "x" }, "ERR_UNKNOWN_FIELD", "tag"],
    [
      "a bad visibility",
      [turn("a")],
      { session: "s", visibility: "all" },
      "ERR_INVALID",
      "visibility",
    ],
    ["a bad source", [turn("a")], { session: "s", source: "me" }, "ERR_INVALID", "source"],
    [
      "an unknown role",
      [{ role: "bot", content: "" }],
      { session: "s" },
      "ERR_INVALID",
      "turns[0].role",
    ],
    [
      "content that is no text",
      [{ role: "user", content: 5 }],
      { session: "s" },
      "ERR_INVALID",
      "turns[0].content",
    ],
    [
      "an unknown field",
      [turn("a"), { ...turn("b"), tags: [] }],
      { session: "s" },
      "ERR_UNKNOWN_FIELD",
      "turns[1].tags",
    ],
    [
      "a chunk of one's own",
      [{ ...turn("a"), chunk: 1, chunks: 2 }],
      { session: "s" },
      "ERR_UNKNOWN_FIELD",
      "turns[0].chunk",
    ],
    [
      "a place below 0",
      [turn("a", { index: -1 })],
      { session: "s" },
      "ERR_INVALID",
      "turns[0].index",
    ],
    [
      "half a place",
      [turn("a", { index: 0.5 })],
      { session: "s" },
      "ERR_INVALID",
      "turns[0].index",
    ],
    [
      "a time that is none",
      [turn("a", { at: Number.NaN })],
      { session: "s" },
      "ERR_INVALID",
      "turns[0].at",
    ],
    [
      "a lone surrogate",
      [turn("ok"), turn("a\ud800")],
      { session: "s" },
      "ERR_ILL_FORMED",
      "turns[1].content",
    ],
    [
      "a lone surrogate behind the first chunk",
      [turn(`${"x".repeat(LIMITS.contentBytes)}\udc00`)],
      { session: "s" },
      "ERR_ILL_FORMED",
      "turns[0].content",
    ],
    [
      "a lone surrogate in the session",
      [turn("a")],
      { session: "\ud800" },
      "ERR_ILL_FORMED",
      "session",
    ],
    [
      "a lone surrogate in the speaker",
      [turn("a", { speaker: "\ud800" })],
      { session: "s" },
      "ERR_ILL_FORMED",
      "turns[0].speaker",
    ],
  ];
  for (const [name, turns, options, code, field] of bad) {
    test(name, async () => {
      await using store = await openTestStore();
      const { memory } = store;
      const error = await refusalOf(memory, () =>
        memory.remember(turns as never, options as never),
      );
      expect(error).toMatchObject({ code, details: { field } });
      expect(error.message).toMatch(/expected .*got /s);
    });
  }
});
