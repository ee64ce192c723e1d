/**
 * An answer to the holder of a scope is a function of what that holder may see: two stores that differ
 * only in the rest give the same bytes, in every operation that a holder may call.
 *
 * Both stores get the same visible history, at the same times and with the same chance. One of them also
 * gets hidden things in between: private memories that hold the same words, drafts of what is shared later,
 * memories that were shared once, hidden edges and turns, tombstones, attestations, refused calls. Then
 * every verb of the contract that is open to holders is called on both, with many inputs.
 */
import { describe, expect, test } from "vitest";
import { VERBS } from "../src/contract/index.js";
import type { Cortex } from "../src/cortex.js";
import { isCortexError } from "../src/errors.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { open } from "../src/open.js";
import { type Access, GUEST } from "../src/scope/access.js";
import { issueScope, type ScopeInput } from "../src/scope/scope.js";
import { seededRandom, TEST_EPOCH_MS } from "../src/testing/index.js";
import { hashEmbedder } from "../src/vector/embedder.js";
import { HOLDER_KEY, ISSUER, ISSUER_KEY } from "./scopes-support.js";

const SECONDS = 1000;

/** A store whose time and chance depend on the step alone, so that hidden steps move neither. */
interface Twin {
  readonly memory: Cortex;
  /** Runs a step at its own time, with its own chance. */
  step<T>(number: number, run: (memory: Cortex) => Promise<T>): Promise<T>;
}

async function openTwin(): Promise<Twin> {
  let now = TEST_EPOCH_MS;
  let random = seededRandom(1);
  const memory = await open("memory:", {
    actor: "ada",
    kv: openMemoryKv(),
    clock: () => now,
    random: (bytes) => random.bytes(bytes),
    embedder: hashEmbedder({ dimensions: 16 }),
  });
  return {
    memory,
    step(number, run) {
      now = TEST_EPOCH_MS + number * SECONDS;
      random = seededRandom(1000 + 2 * number);
      return run(memory);
    },
  };
}

const SHOWN = { tags: ["trip"], visibility: "scoped" } as const;

/** What both stores hold, in the same order; what one step makes, later ones name. */
const VISIBLE: readonly ((memory: Cortex, isBusy: boolean) => Promise<unknown>)[] = [
  (m) => m.configure({ trustedIssuers: [ISSUER_KEY] }),
  (m) =>
    m.write({ ...SHOWN, type: "fact", text: "Flight to Porto leaves Friday", externalId: "a" }),
  (m) =>
    m.write({ ...SHOWN, type: "fact", text: "Hotel in Porto near the river", externalId: "b" }),
  (m) => m.write({ ...SHOWN, type: "constraint", text: "No red-eye flights", externalId: "rule" }),
  (m) =>
    m.write({ ...SHOWN, type: "fact", slot: "home city", text: "Lives in Lyon", externalId: "h1" }),
  (m) =>
    m.write({
      ...SHOWN,
      type: "fact",
      slot: "home city",
      text: "Lives in Porto",
      externalId: "h2",
    }),
  (m) =>
    m.write({
      type: "note",
      kind: "page",
      text: "Porto guide",
      visibility: "public",
      externalId: "p",
    }),
  (m) => m.addEdge("a", "relates_to", "b", { reason: "same trip" }),
  (m) => m.addEdge("b", "supports", "p"),
  (m) =>
    m.remember(
      [
        { role: "user", content: "We fly to Porto on Friday", index: 0, speaker: "Ada" },
        { role: "assistant", content: "The hotel is booked", index: 1 },
      ],
      { session: "chat", visibility: "scoped" },
    ),
  (m) => m.update("b", { text: "Hotel in Porto near the old river" }),
  (m) => m.write({ ...SHOWN, type: "goal", text: "See the river in Porto", externalId: "g" }),
  (m) => m.updateHead("g", { status: "disputed" }),
  // Private in both until here; what it said before differs.
  (m, isBusy) => {
    const text = isBusy ? "secretword draft about Porto, long before" : "kept to myself";
    return m.write({ type: "note", text, externalId: "draft" });
  },
  (m) => m.update("draft", { text: "Ready to share, about Porto" }),
  (m) => m.updateHead("draft", { visibility: "scoped", tags: ["trip"] }),
  async (m) => {
    const uri = (await m.get("a"))?.uri ?? "";
    await m.write({
      ...SHOWN,
      type: "note",
      text: "Derived from the flight",
      provenance: { derivedFrom: [uri] },
      externalId: "d",
    });
  },
  (m) => m.addEdge("d", "references", "rule"),
  (m) => m.removeEdge("d", "references", "rule"),
  (m) => m.embedPending(),
];

/** What one store has beside: after each visible step some of these. */
const HIDDEN: readonly ((
  memory: Cortex,
  n: number,
  access: Access | undefined,
) => Promise<unknown>)[] = [
  (m, n) =>
    m.write({
      type: "fact",
      text: `Porto flight river hotel secret ${n}`,
      tags: ["trip"],
      externalId: `x${n}`,
    }),
  (m, n) =>
    m.write({
      type: "note",
      text: `secretword hotel ${n}`,
      tags: [`hidden${n}`],
      kind: "hush",
      slot: `s${n}`,
    }),
  (m, n) =>
    m.remember([{ role: "user", content: `Porto secret talk ${n}`, speaker: "Ada" }], {
      session: `private-${n}`,
    }),
  (m, n) =>
    m.remember([{ role: "user", content: `aside about Porto ${n}`, index: 100 + n }], {
      session: "chat",
    }),
  async (m, n) => {
    const one = await m.write({ ...SHOWN, type: "fact", text: `Porto shared by mistake ${n}` });
    await m.tombstone(one.id, "shared by mistake: secretreason");
  },
  async (m, n) => {
    const one = await m.write({ ...SHOWN, type: "fact", text: `Porto shown for a while ${n}` });
    await m.updateHead(one.id, { visibility: "private" });
  },
  async (m, n) => {
    const one = await m.write({ type: "note", text: `linked in secret ${n}` });
    if ((await m.get("a")) === undefined) return;
    await m.addEdge(one.id, "contradicts", "a", { reason: "secretreason" });
    await m.addEdge("a", "relates_to", one.id);
    await m.attest({ intentId: `i${n}`, outcome: "success", cited: [one.id] });
  },
  async (m, n, access) => {
    if (access === undefined) return;
    const one = await m.write({ type: "note", text: `asked for ${n}`, externalId: `ask${n}` });
    await m.get(one.id, { access });
    await m.history(`ask${n}`, { access });
    await m.inspect(one.id, { access });
  },
  async (m, n) => {
    const one = await m.write({ type: "note", text: `gone Porto ${n}` });
    await m.forget(one.id, "gone");
  },
  (m, n) => m.snapshot(`secret ${n}`),
];

async function accessOf(memory: Cortex, more: Partial<ScopeInput> = {}): Promise<Access> {
  const scope = await issueScope(
    {
      actor: "ada",
      include: { tags: ["trip"], kinds: ["turn"] },
      issuedAt: TEST_EPOCH_MS,
      expiresAt: TEST_EPOCH_MS + 1e9,
      grantedTo: HOLDER_KEY,
      ...more,
    },
    ISSUER,
  );
  return memory.scopeAccess(scope, { signedBy: HOLDER_KEY });
}

/** The same visible history twice; the second one with hidden things in between. */
async function twins(
  seed: number,
): Promise<{ readonly plain: Twin; readonly busy: Twin; readonly end: number }> {
  const plain = await openTwin();
  const busy = await openTwin();
  const chance = seededRandom(seed);
  let access: Access | undefined;
  for (const [at, run] of VISIBLE.entries()) {
    const number = 10 * (at + 1);
    await plain.step(number, (m) => run(m, false));
    await busy.step(number, (m) => run(m, true));
    if (at === 0) access = await accessOf(busy.memory);
    for (const [n, hide] of HIDDEN.entries()) {
      if (at > 0 && chance.below(3) > 0) continue;
      await busy.step(number + (n + 1) / 2, (m) => hide(m, 100 * seed + 20 * at + n, access));
    }
  }
  return { plain, busy, end: 10 * (VISIBLE.length + 1) };
}

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
    (m, access) => m.get("x1", { access }),
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
    (m, access) => m.slotHistory("s1", { access }),
  ],
  session: [
    (m, access) => m.session("chat", { access }),
    (m, access) => m.session("private-1", { access }),
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
  ],
  update: [
    (m, access) => m.update("w", { text: "Flight to Porto leaves on Sunday" }, { access }),
    (m, access) => m.update("x1", { text: "t" }, { access }),
  ],
  updateHead: [
    (m, access) => m.updateHead("w", { importance: 8 }, { access }),
    (m, access) => m.updateHead("x1", { importance: 8 }, { access }),
  ],
  addEdge: [
    (m, access) => m.addEdge("w", "relates_to", "a", {}, { access }),
    (m, access) => m.addEdge("w", "relates_to", "x1", {}, { access }),
  ],
  link: [(m, access) => m.link("w", "supports", "b", {}, { access })],
  removeEdge: [
    (m, access) => m.removeEdge("w", "relates_to", "a", { access }),
    (m, access) => m.removeEdge("w", "blocks", "a", { access }),
  ],
  removeEdgeById: [(m, access) => m.removeEdgeById("01ARZ3NDEKTSV4RRFFQ69G5FAV", { access })],
  tombstone: [
    (m, access) => m.tombstone("w", "no longer", { access }),
    (m, access) => m.tombstone("x1", "r", { access }),
  ],
  restore: [(m, access) => m.restore("w", { access }), (m, access) => m.restore("x1", { access })],
  batch: [
    (m, access) =>
      m.batch([{ write: { type: "note", text: "from a batch", tags: ["trip"] } }], { access }),
  ],
  remember: [
    (m, access) =>
      m.remember([{ role: "user", content: "hello Porto", index: 0 }], { session: "mine", access }),
  ],
  attest: [
    (m, access) => m.attest({ intentId: "i", outcome: "success", cited: ["a", "x1"] }, { access }),
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

async function differences(seed: number, who: "scope" | "guest"): Promise<readonly string[]> {
  const { plain, busy, end } = await twins(seed);
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

  test.each([1, 2])("answer the holder of a scope with the same bytes, seed %i", async (seed) => {
    expect(await differences(seed, "scope")).toEqual([]);
  });

  test("answer a guest with the same bytes", async () => {
    expect(await differences(4, "guest")).toEqual([]);
  });
});
