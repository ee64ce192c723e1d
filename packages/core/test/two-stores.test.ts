/**
 * An answer to the holder of a scope is a function of what that holder may see: two stores that differ
 * only in the rest (`twin-stores.ts`) give the same bytes, in every operation that a holder may call.
 * Every verb of the contract that is open to holders is called on both, with many inputs.
 */
import { describe, expect, test } from "vitest";
import { VERBS } from "../src/contract/index.js";
import type { Cortex } from "../src/cortex.js";
import { isCortexError } from "../src/errors.js";
import { type Access, GUEST } from "../src/scope/access.js";
import { TEST_EPOCH_MS } from "../src/testing/index.js";
import { accessOf, hiddenNames, SECONDS, SECRET_CLAIM, type Twin, twins } from "./twin-stores.js";

type Ask = (memory: Cortex, access: Access) => Promise<unknown>;

const REFS = ["a", "b", "rule", "h1", "p", "g", "draft", "d", "nobody"];
const TEXTS = [
  "Porto",
  "secretword",
  "hotel river",
  "Where is the hotel in Porto?",
  "home city",
  '"near the"',
  "secretreason flight",
  "",
];
/** The seeds in use, by who asks, and the names that only the other store has. */
const SEEDS = { scope: 1, guest: 2 } as const;
const HIDDEN_NAMES = Object.values(SEEDS).map(hiddenNames);
const POSITION = TEST_EPOCH_MS + 105 * SECONDS;

/** For every verb that is open to holders, ways to ask it. */
const READS: { readonly [verb: string]: readonly Ask[] } = {
  get: [
    ...REFS.map(
      (ref): Ask =>
        (m, access) =>
          m.get(ref, { access }),
    ),
    ...[1, 2, 3].map(
      (version): Ask =>
        (m, access) =>
          m.get("draft", { version, access }),
    ),
    (m, access) => m.get("b", { asOf: POSITION, access }),
    (m, access) => m.get("draft", { asOf: POSITION, access }),
    (m, access) => m.get("draft", { validAt: POSITION, access }),
    ...HIDDEN_NAMES.flatMap(({ externalId, asked }): Ask[] => [
      (m, access) => m.get(externalId, { access }),
      (m, access) => m.get(asked, { access }),
    ]),
  ],
  resolve: [async (m, access) => m.resolve((await m.get("b"))?.uri ?? "", { access })],
  history: REFS.map(
    (ref): Ask =>
      (m, access) =>
        m.history(ref, { access }),
  ),
  list: [
    (m, access) => m.list({ access }),
    (m, access) => m.list({ type: "fact", limit: 1, access }),
    (m, access) => paged((cursor) => m.list({ limit: 2, access, ...cursor })),
    (m, access) =>
      paged((cursor) => m.list({ tag: "trip", order: "oldest", limit: 3, access, ...cursor })),
    (m, access) => m.list({ lifecycles: ["active", "archived", "tombstoned"], access }),
    (m, access) => m.list({ tag: "trip", asOf: POSITION, access }),
    (m, access) =>
      paged((cursor) => m.list({ tag: "trip", asOf: POSITION, limit: 2, access, ...cursor })),
    (m, access) => m.list({ kind: "hush", access }),
    (m, access) => m.list({ session: "chat", access }),
  ],
  slotHistory: [
    (m, access) => m.slotHistory("home city", { access }),
    ...HIDDEN_NAMES.map(
      ({ slot }): Ask =>
        (m, access) =>
          m.slotHistory(slot, { access }),
    ),
  ],
  session: [
    (m, access) => m.session("chat", { access }),
    ...HIDDEN_NAMES.map(
      ({ session }): Ask =>
        (m, access) =>
          m.session(session, { access }),
    ),
  ],
  sessions: [
    (m, access) => m.sessions({ access }),
    (m, access) => m.sessions({ asOf: POSITION, prefix: "ch", access }),
  ],
  search: [
    ...TEXTS.map(
      (text): Ask =>
        (m, access) =>
          m.search(text, { access }),
    ),
    (m, access) => m.search("Porto", { limit: 2, access }),
    (m, access) => m.search("Porto", { asOf: POSITION, access }),
    (m, access) => m.search("Porto", { asOf: TEST_EPOCH_MS + 10_000 * SECONDS, access }),
    (m, access) => m.search("Porto", { lifecycles: ["active", "archived", "tombstoned"], access }),
  ],
  searchBatch: [(m, access) => m.searchBatch(TEXTS, { access })],
  recall: [
    ...TEXTS.filter((text) => text !== "").map(
      (text): Ask =>
        (m, access) =>
          m.recall(text, { access }),
    ),
    (m, access) => m.recall("What did Ada say about Porto?", { history: true, access }),
    (m, access) => m.recall("Porto hotel", { asOf: POSITION, access }),
  ],
  find: [
    (m, access) => m.find({ tags: ["trip"], access }),
    (m, access) => m.find({ tags: ["trip"], countTotal: true, explain: true, access } as never),
    (m, access) => m.find({ type: "fact", order: [{ by: "salience" }], access } as never),
    (m, access) => paged((cursor) => m.find({ tags: ["trip"], limit: 2, access, ...cursor })),
    (m, access) =>
      paged((cursor) =>
        m.find({ tags: ["trip"], order: "importance", limit: 2, access, ...cursor } as never),
      ),
    (m, access) => m.find({ text: "Porto hotel", access } as never),
    (m, access) => m.find({ near: { text: "Porto hotel" }, limit: 3, access }),
    (m, access) => m.find({ tags: ["trip"], asOf: POSITION, access }),
    (m, access) => m.find({ access } as never),
    (m, access) => m.find({ from: "a", access } as never),
  ],
  describeSchema: [(m, access) => m.describeSchema({ access })],
  listTags: [(m, access) => m.listTags({ access })],
  context: [
    (m, access) => m.context({ access }),
    (m, access) => m.context({ question: "Porto", access } as never),
  ],
  getEdge: [
    (m, access) => m.getEdge("a", "relates_to", "b", { access }),
    (m, access) => m.getEdge("d", "references", "rule", { access }),
  ],
  edgesOut: REFS.map(
    (ref): Ask =>
      (m, access) =>
        m.edgesOut(ref, { includeTombstoned: true, access }),
  ),
  edgesIn: REFS.map(
    (ref): Ask =>
      (m, access) =>
        m.edgesIn(ref, { access }),
  ),
  traverse: [
    ...REFS.map(
      (ref): Ask =>
        (m, access) =>
          m.traverse(ref, { direction: "both", maxHops: 3, access }),
    ),
    (m, access) => m.traverse("a", { direction: "both", asOf: POSITION, access }),
  ],
  linksFrom: REFS.map(
    (ref): Ask =>
      (m, access) =>
        m.linksFrom(ref, { access }),
  ),
  backlinksTo: REFS.map(
    (ref): Ask =>
      (m, access) =>
        m.backlinksTo(ref, { access }),
  ),
  inspect: REFS.map(
    (ref): Ask =>
      (m, access) =>
        m.inspect(ref, { access }),
  ),
  review: [
    (m, access) => m.review({ access }),
    (m, access) => m.review({ kinds: ["duplicate"], access }),
    (m, access) => paged((cursor) => m.review({ limit: 1, access, ...cursor })),
  ],
  prove: [(m, access) => m.prove(["a"], { access })],
};

/** What a holder who may write does; each is a step of its own on both stores. */
const WRITES: { readonly [verb: string]: readonly Ask[] } = {
  write: [
    (m, access) =>
      m.write({ type: "fact", text: "Hotel in Porto near the river", tags: ["trip"] }, { access }),
    (m, access) =>
      m.write(
        { type: "fact", text: "Flight to Porto leaves on Friday", tags: ["trip"], externalId: "w" },
        { access },
      ),
    (m, access) => m.write({ type: "fact", text: "elsewhere" }, { access }),
    (m, access) => m.write({ type: "fact", text: SECRET_CLAIM, tags: ["trip"] }, { access }),
    (m, access) =>
      m.write({ type: "fact", text: SECRET_CLAIM, tags: ["trip"], source: "document" }, { access }),
    ...HIDDEN_NAMES.flatMap(({ key }): Ask[] =>
      ["first words", "other words"].map(
        (text) => (m, access) =>
          m.write({ type: "note", text, tags: ["trip"], idempotencyKey: key }, { access }),
      ),
    ),
  ],
  update: [
    (m, access) => m.update("w", { text: "Flight to Porto leaves on Sunday" }, { access }),
    ...HIDDEN_NAMES.map(
      ({ externalId }): Ask =>
        (m, access) =>
          m.update(externalId, { text: "t" }, { access }),
    ),
  ],
  updateHead: [
    (m, access) => m.updateHead("w", { importance: 8 }, { access }),
    ...HIDDEN_NAMES.map(
      ({ externalId }): Ask =>
        (m, access) =>
          m.updateHead(externalId, { importance: 8 }, { access }),
    ),
  ],
  addEdge: [
    (m, access) => m.addEdge("w", "relates_to", "a", {}, { access }),
    ...HIDDEN_NAMES.map(
      ({ externalId }): Ask =>
        (m, access) =>
          m.addEdge("w", "relates_to", externalId, {}, { access }),
    ),
  ],
  link: [(m, access) => m.link("w", "supports", "b", {}, { access })],
  removeEdge: [
    (m, access) => m.removeEdge("w", "relates_to", "a", { access }),
    (m, access) => m.removeEdge("w", "blocks", "a", { access }),
  ],
  removeEdgeById: [(m, access) => m.removeEdgeById("01ARZ3NDEKTSV4RRFFQ69G5FAV", { access })],
  tombstone: [
    (m, access) => m.tombstone("w", "no longer", { access }),
    ...HIDDEN_NAMES.map(
      ({ externalId }): Ask =>
        (m, access) =>
          m.tombstone(externalId, "r", { access }),
    ),
  ],
  restore: [
    (m, access) => m.restore("w", { access }),
    ...HIDDEN_NAMES.map(
      ({ externalId }): Ask =>
        (m, access) =>
          m.restore(externalId, { access }),
    ),
  ],
  batch: [
    (m, access) =>
      m.batch([{ write: { type: "note", text: "from a batch", tags: ["trip"] } }], { access }),
    ...HIDDEN_NAMES.map(
      ({ externalId, key }): Ask =>
        async (m, access) => {
          const items = [
            { update: { id: externalId, text: "t" } },
            { link: { from: "w", kind: "relates_to", to: externalId } },
            { write: { type: "note", text: "k", tags: ["trip"], idempotencyKey: key } },
            { update: { id: "w", text: "stale", basedOnVersion: 7 } },
            { update: { id: "a", text: "the owner's" } },
            { write: { type: "identity", text: "Ada", tags: ["trip"], source: "user_input" } },
            { write: { type: "note", text: "stands", tags: ["trip"] } },
          ] as const;
          const { results } = await m.batch(items, { atomic: false, access });
          // A failure is one also where something was taken out of it.
          expect(results.every((one) => one.ok || isCortexError(one.error))).toBe(true);
          expect(results.at(-1)?.ok).toBe(true);
          return results;
        },
    ),
  ],
  remember: [
    (m, access) =>
      m.remember([{ role: "user", content: "hello Porto", index: 0 }], { session: "mine", access }),
  ],
  attest: [
    (m, access) =>
      m.attest({ intentId: "i", outcome: "success", cited: ["a", "x100"] }, { access }),
  ],
  settle: [
    (m, access) =>
      m.settle("disputed-nobody", { decision: "keep_both", reason: "r" } as never, { access }),
  ],
};

async function paged<P extends { readonly cursor?: string }>(
  page: (cursor: { readonly cursor?: string }) => Promise<P>,
): Promise<readonly P[]> {
  const pages: P[] = [];
  for (let cursor: string | undefined; pages.length < 50; ) {
    const one = await page(cursor === undefined ? {} : { cursor });
    pages.push(one);
    cursor = one.cursor;
    if (cursor === undefined) break;
  }
  return pages;
}

async function outcome(run: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await run()) ?? "undefined";
  } catch (error) {
    if (!isCortexError(error)) throw error;
    return JSON.stringify({ code: error.code, message: error.message, details: error.details });
  }
}

/** Verbs that holders of this scope are refused, and so are told apart by nothing. */
const REFUSED: ReadonlySet<string> = new Set(["prove", "settle", "removeEdgeById"]);

/** Where two texts part, with a little around. */
function parting(a: string, b: string): string {
  let at = 0;
  while (a[at] === b[at] && at < a.length) at += 1;
  const from = Math.max(0, at - 60);
  return `\n    ${a.slice(from, at + 40)}\n    ${b.slice(from, at + 40)}`;
}

async function differences(who: keyof typeof SEEDS): Promise<readonly string[]> {
  const { plain, busy, end } = await twins(SEEDS[who]);
  const more = { writable: true };
  const accessTo = (twin: Twin): Promise<Access> =>
    who === "guest" ? Promise.resolve(GUEST) : accessOf(twin.memory, more);
  const [left, right] = [await accessTo(plain), await accessTo(busy)];
  const found: string[] = [];
  const answered = new Set<string>();
  let number = end;
  const compare = async (name: string, ask: Ask): Promise<void> => {
    number += 1;
    const a = await plain.step(number, (m) => outcome(() => ask(m, left)));
    const b = await busy.step(number, (m) => outcome(() => ask(m, right)));
    if (a !== b) found.push(`${name}: ${parting(a, b)}`);
    if (!a.startsWith('{"code"') && a !== "undefined") answered.add(name.replace(/\[.*/, ""));
  };
  const asked = async (table: typeof READS): Promise<void> => {
    for (const [verb, asks] of Object.entries(table)) {
      for (const [at, ask] of asks.entries()) await compare(`${verb}[${at}]`, ask);
    }
  };
  await asked(READS);
  if (who === "scope") {
    await asked(WRITES);
    const { get, list, search, recall, inspect, describeSchema } = READS;
    await asked({ get, list, search, recall, inspect, describeSchema } as typeof READS);
  }
  await plain.memory.close();
  await busy.memory.close();
  // A verb that answers with nothing but refusals would prove nothing.
  const silent = Object.keys({ ...READS, ...(who === "scope" ? WRITES : {}) }).filter(
    (verb) => who === "scope" && !answered.has(verb) && !REFUSED.has(verb),
  );
  return [...found, ...silent.map((verb) => `${verb}: never answered`)];
}

describe("two stores that differ in what a holder may not see", () => {
  test("every verb that is open to holders is asked", () => {
    const open = Object.values(VERBS)
      .filter(({ policy }) => policy === "filtered" || policy === "write")
      .map(({ name }) => name);
    expect([...Object.keys(READS), ...Object.keys(WRITES)].sort()).toEqual(open.sort());
  });

  test.each(["scope", "guest"] as const)("answer a %s with the same bytes", async (who) => {
    expect(await differences(who)).toEqual([]);
  });
});
