/** The operators of FTS5 as memgraph's users type them: what is an expression, and what it finds. */
import { expect, test } from "vitest";
import { openTestHub } from "../testing/index.js";
import { Fts5Words } from "./fts5-words.js";
import { memgraph } from "./index.js";
import { expressionOf, matcherOf } from "./operators.js";

/** Texts of nodes, by name: content, then summary, then tags. */
const NODES = {
  a: ["alpha bravo charlie", "", ""],
  b: ["alphabet soup, running hot", "alpha in brief", ""],
  c: ["bravo only", "", "alpha"],
  d: ["charlie delta echo foxtrot golf hotel india juliet kilo lima mike november bravo", "", ""],
  e: ["Größe der Alphorn-Bläser", "", "topic:horn"],
} as const;

type Name = keyof typeof NODES;

/** As FTS5 answers them. */
const FINDS: readonly (readonly [string, string])[] = [
  ["alph*", "abce"],
  ['"alpha bravo"', "a"],
  ['"bravo alpha"', ""],
  ["alpha NOT bravo", "b"],
  ["bravo NOT alpha", "d"],
  ["alpha AND bravo", "ac"],
  ["alpha OR delta", "abcd"],
  ["alpha bravo NOT charlie", "c"],
  ["charlie NOT alpha OR soup", "bd"],
  ["soup OR bravo AND charlie", "abd"],
  ["(alpha OR charlie) AND bravo", "acd"],
  ["NEAR(charlie bravo)", "a"],
  ["NEAR(charlie bravo, 20)", "ad"],
  ["NEAR(bravo charlie, 0)", "a"],
  ["NEAR(alpha charlie, 0)", ""],
  ["content : alpha", "a"],
  ["tags:alpha OR summary:alpha", "bc"],
  ["{summary tags} : alpha", "bc"],
  ["- content : alpha", "bc"],
  ["content : (alpha OR soup)", "ab"],
  ["^ bravo", "c"],
  ["^alpha", "abc"],
  ["alpha + bravo", "a"],
  ['"alpha" + bra*', "a"],
  ["run AND soup", "b"],
  ["der AND alphorn", "e"],
  ["groß*", "e"],
  ["node_id:alpha", ""],
  ['alpha AND ""', ""],
];

/** FTS5 refuses them, or they are words and nothing else: any text is legal all the same. */
const PLAIN = [
  "alpha bravo",
  "auth-service",
  "topic:auth",
  "what runs?",
  'an "unbalanced quote',
  "NOT alpha",
  "alpha NOT",
  "alpha AND",
  "OR",
  "AND AND AND",
  "(alpha",
  "alpha)",
  "alpha (bravo)",
  "(alpha) bravo",
  "* alpha",
  "NEAR(alpha, many)",
  "FAR(alpha bravo)",
  "{content nothing} : alpha",
  "a.b",
  "100%",
  "",
  "   ",
  "\u0000",
  `${"(".repeat(1000)}alpha${")".repeat(1000)}`,
];

test("what FTS5 would have accepted finds what it found there", async () => {
  await using test = await openTestHub();
  await test.hub.createGraph({ id: "g", name: "G" });
  const store = memgraph(test.hub);
  for (const [lineageId, [content, summary, tag]] of Object.entries(NODES)) {
    const tags = tag === "" ? [] : [tag];
    await store.putNode("g", { kind: "fact", lineageId, content, summary, tags });
  }
  for (const [text, names] of FINDS) {
    const { hits } = await store.search("g", { text });
    const found = hits.map(({ node }) => node.lineageId).sort();
    expect([text, found.join("")]).toEqual([text, names]);
  }
  const { hits, perQueryHits, uniqueHits } = await store.searchBatch("g", [
    { text: "alph*" },
    { text: "alpha NOT bravo" },
    { text: "soup" },
  ]);
  expect(perQueryHits).toEqual([4, 1, 1]);
  expect(uniqueHits).toBe(4);
  expect(hits[0]).toMatchObject({ node: { lineageId: "b" }, queriesMatched: [0, 1, 2] });
  expect((await store.search("g", { text: "alph*", limit: 2 })).hits).toHaveLength(2);
  expect((await store.search("g", { text: "alph*" })).hits[0]?.snippet).toContain("[");
  for (const text of PLAIN) await store.search("g", { text });
});

test("any other text is no expression", () => {
  for (const text of PLAIN) expect([text, expressionOf(text)]).toEqual([text, undefined]);
});

test("words that must not be there are not searched for", async () => {
  const expression = expressionOf("alpha NOT (bravo OR char*)");
  if (expression === undefined) throw new Error("it is an expression");
  const { words, hasPrefix } = matcherOf(expression, await Fts5Words.load());
  expect({ words, hasPrefix }).toEqual({ words: ["alpha"], hasPrefix: false });
});

/** Kept so that a name of the table above cannot be misspelled. */
test("the table names nodes that are there", () => {
  const names = new Set(FINDS.flatMap(([, found]) => [...found]));
  expect([...names].every((name): name is Name => Object.hasOwn(NODES, name))).toBe(true);
});
