/**
 * Two stores that differ only in what the holder of a scope may not see. Both get the same visible
 * history, at the same times and with the same chance. One of them also gets hidden things in between:
 * private memories that hold the same words, drafts of what is shared later, memories that were shared
 * once, hidden edges and turns, tombstones, attestations, refused calls.
 */
import type { Cortex } from "../src/cortex.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { open } from "../src/open.js";
import type { Access } from "../src/scope/access.js";
import { issueScope, type ScopeInput } from "../src/scope/scope.js";
import { seededRandom, TEST_EPOCH_MS } from "../src/testing/index.js";
import { hashEmbedder } from "../src/vector/embedder.js";
import { HOLDER_KEY, ISSUER, ISSUER_KEY } from "./scopes-support.js";

/** Between two steps. */
export const SECONDS = 1000;

/** A store whose time and chance depend on the step alone, so that hidden steps move neither. */
export interface Twin {
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

/** A claim that is made in secret, for holders to make as well. */
export const SECRET_CLAIM = "The gate code is kept by Grace";

/** Names that are taken in the one store by what is hidden, and free in the other. */
export function hiddenNames(seed: number) {
  const n = 100 * seed;
  return {
    externalId: `x${n}`,
    asked: `ask${n + 7}`,
    tag: `hidden${n + 1}`,
    kind: "hush",
    slot: `s${n + 1}`,
    session: `private-${n + 2}`,
    key: `key-${n + 10}`,
  } as const;
}

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
  async (m, n) => {
    const source = n % 2 === 0 ? "agent" : "user_input";
    await m.write({
      type: "fact",
      text: SECRET_CLAIM,
      tags: ["trip"],
      source,
      idempotencyKey: `key-${n}`,
    });
  },
];

/** A scope over what both stores show. */
export function twinScope(more: Partial<ScopeInput> = {}): Promise<string> {
  return issueScope(
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
}

/** The access of whoever holds such a scope. */
export async function accessOf(memory: Cortex, more: Partial<ScopeInput> = {}): Promise<Access> {
  return memory.scopeAccess(await twinScope(more), { signedBy: HOLDER_KEY });
}

/** The same visible history twice; the second one with hidden things in between. */
export async function twins(
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
