/**
 * Searching in memgraph's words, beside the engine that it searches with: expressions are generated from
 * FTS5's grammar, and broken at random; what SQLite accepts must find the same nodes here, and what it
 * refuses must be legal.
 */
import { openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";

const SEED = 20_261_116;
const QUERIES = 150;
const NODES = 40;
/** Words whose stems are themselves, and beginnings of others. */
const WORDS = ["alpha", "alphorn", "bravo", "brick", "delta", "echo", "golf", "hotel", "kilo"];

/** Small numbers that are the same in every run. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const next = numbersFrom(SEED);
const pick = <T>(items: readonly T[]): T => items[next(items.length)] as T;
const some = (most: number): string =>
  Array.from({ length: next(most + 1) }, () => pick(WORDS)).join(" ");

function phrase(): string {
  switch (next(6)) {
    case 0:
      return `"${pick(WORDS)} ${pick(WORDS)}"`;
    case 1:
      return `${pick(["al", "alp", "br", "bri", "delta", "x"])}*`;
    case 2:
      return `${pick(WORDS)} + ${pick(WORDS)}`;
    case 3:
      return `^${pick(WORDS)}`;
    default:
      return pick(WORDS);
  }
}

function expression(depth: number): string {
  const inner = (): string => (depth > 0 ? expression(depth - 1) : phrase());
  switch (next(9)) {
    case 0:
      return `${inner()} AND ${inner()}`;
    case 1:
      return `${inner()} OR ${inner()}`;
    case 2:
      return `${inner()} NOT ${inner()}`;
    case 3:
      return `(${inner()})`;
    case 4:
      return `${pick(["content", "summary", "tags", "{content tags}", "- content", "kind"])} : ${phrase()}`;
    case 5:
      return `NEAR(${pick(WORDS)} ${pick(WORDS)}${pick(["", ", 2", ", 0"])})`;
    case 6:
      return `${phrase()} ${phrase()}`;
    default:
      return phrase();
  }
}

/** One character of a text gone, doubled or another one. */
function broken(text: string): string {
  const at = next(text.length);
  return text.slice(0, at) + pick(["", '"', "(", ")", "*", "-", "?", "NOT "]) + text.slice(at + 1);
}

/** Words with endings, by families, and some that are split differently by people. */
const INFLECTED = [
  ...["connect", "connects", "connected", "connecting", "connection", "connections"],
  ...["run", "runs", "running", "runner", "happy", "happily", "happiness", "token", "tokens"],
  ...["caching", "cached", "caches", "policy", "policies", "stored", "storing", "storage"],
  ...["C++", "C", "don't", "don", "auth-service", "Größe", "naïve", "naive", "plain"],
] as const;

/** A string of an expression: bare where it may be. */
const stringOf = (word: string): string => (/^\w+$/.test(word) ? word : `"${word}"`);

function inflected(depth: number): string {
  const word = stringOf(pick(INFLECTED));
  const inner = (): string => (depth > 0 ? inflected(depth - 1) : stringOf(pick(INFLECTED)));
  switch (next(8)) {
    case 0:
      return `${inner()} AND ${inner()}`;
    case 1:
      return `(${inner()} OR ${inner()})`;
    case 2:
      return `(${inner()}) NOT ${inner()}`;
    case 3:
      return `${word} ""`;
    case 4:
      return `"${pick(INFLECTED)} ${pick(INFLECTED)}"`;
    default:
      return `${word}${next(4) > 0 ? "*" : ` OR ${word}`}`;
  }
}

test("words with endings and their beginnings find whatever SQLite finds", async () => {
  await using hub = await openHub("memory:");
  await hub.createGraph({ id: "g", name: "G" });
  const store = memgraph(hub);
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE VIRTUAL TABLE f USING fts5(content, n UNINDEXED, tokenize='porter unicode61')");
  const insert = db.prepare("INSERT INTO f VALUES (?, ?)");
  const nodes = Array.from({ length: 50 }, (_, at) => {
    const content = Array.from({ length: 3 }, () => pick(INFLECTED)).join(" ");
    insert.run(content, `n${at}`);
    return { kind: "k", lineageId: `n${at}`, content };
  });
  await store.putSubgraph("g", { nodes });
  const select = db.prepare("SELECT n FROM f WHERE f MATCH ?");
  const fixed = [
    "connections*",
    "running*",
    "tokens*",
    "happy*",
    'policy ""',
    "C NOT plain",
    "don*",
  ];
  const texts = [...fixed, ...Array.from({ length: 120 }, () => inflected(1))];
  let found = 0;
  for (const text of texts) {
    const expected = select.all(text).map((row) => String((row as { readonly n: unknown }).n));
    const { hits } = await store.search("g", { text, limit: 100 });
    const ours = new Set(hits.map(({ node }) => node.lineageId));
    expect([text, expected.filter((name) => !ours.has(name))]).toEqual([text, []]);
    // A beginning as it is written may find more; nothing else does.
    if (!text.includes("*")) expect([text, ours.size]).toEqual([text, expected.length]);
    found += expected.length;
  }
  expect(found).toBeGreaterThan(texts.length);
});

test(`${QUERIES} expressions find what SQLite finds (seed ${SEED})`, async () => {
  await using hub = await openHub("memory:");
  await hub.createGraph({ id: "g", name: "G" });
  const store = memgraph(hub);
  const db = new DatabaseSync(":memory:");
  db.exec(
    "CREATE VIRTUAL TABLE f USING fts5(content, summary, tags, n UNINDEXED, tokenize='porter unicode61')",
  );
  const insert = db.prepare("INSERT INTO f VALUES (?, ?, ?, ?)");
  const nodes = Array.from({ length: NODES }, (_, at) => ({
    kind: "k",
    lineageId: `n${at}`,
    content: some(8),
    summary: some(2),
    tags: [...new Set(some(2).split(" "))].filter((tag) => tag !== ""),
  }));
  await store.putSubgraph("g", { nodes });
  for (const { content, summary, tags, lineageId } of nodes) {
    insert.run(content, summary, tags.join(" "), lineageId);
  }
  const select = db.prepare("SELECT n FROM f WHERE f MATCH ?");
  const seen = { accepted: 0, refused: 0 };
  for (let at = 0; at < QUERIES; at += 1) {
    const whole = expression(2);
    const text = at % 4 === 0 ? broken(whole) : whole;
    let expected: readonly string[] | undefined;
    try {
      expected = select.all(text).map((row) => String((row as { readonly n: unknown }).n));
    } catch {
      // SQLite refuses the text; here it is words.
    }
    const { hits } = await store.search("g", { text, limit: NODES });
    if (expected === undefined) seen.refused += 1;
    else seen.accepted += 1;
    // Plain words need not all be there.
    if (expected === undefined || !/["*()+^:]|AND|OR|NOT/.test(text)) continue;
    const found = hits.map(({ node }) => node.lineageId).sort();
    expect([text, found]).toEqual([text, [...expected].sort()]);
  }
  expect(seen.accepted).toBeGreaterThan(QUERIES / 2);
  expect(seen.refused).toBeGreaterThan(QUERIES / 20);
});
