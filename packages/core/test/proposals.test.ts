/**
 * Standing guards every change: whoever could not overwrite a memory can do nothing else to it. Every
 * verb that overrules is tried by an agent and by the holder of a writable scope against the words of the
 * owner; each refusal is kept as a proposal, which the owner carries out with one `settle`.
 */
import { describe, expect, test } from "vitest";
import { VERBS } from "../src/contract/index.js";
import type { Verb } from "../src/contract/verb.js";
import type { Cortex } from "../src/cortex.js";
import { type CortexError, isCortexError } from "../src/errors.js";
import { EDGE_KINDS, type EdgeKind } from "../src/records/edge-kinds.js";
import type { Access } from "../src/scope/access.js";
import { openTestStore, type TestStore } from "../src/testing/index.js";
import { throughDoor } from "../src/trust/doors.js";
import { HOLDER_KEY, ISSUER_KEY, tripScope } from "./scopes-support.js";

const AGENT = throughDoor("mcp", "mcp:test");
const visible = { visibility: "scoped", tags: ["trip"] } as const;

/** What the owner left: a rule, a hidden memory, a link, a slot with a rival, and an entry to undo. */
interface Owned {
  readonly rule: string;
  readonly hidden: string;
  readonly edge: string;
  readonly rival: string;
  readonly changed: number;
}

async function fill(memory: Cortex): Promise<Owned> {
  await memory.configure({ trustedIssuers: [ISSUER_KEY] });
  const rule = await memory.write({ ...visible, type: "constraint", text: "No red-eye flights" });
  const hidden = await memory.write({ ...visible, type: "fact", text: "Ada was in Oslo" });
  await memory.tombstone(hidden.id, "nobody's business");
  await memory.write({ ...visible, type: "fact", slot: "city", text: "Ada lives in Porto" });
  const home = await memory.get((await memory.slotHistory("city")).values[0]?.id ?? "");
  const { id: edge } = await memory.addEdge(rule.id, "relates", home?.id ?? "");
  await memory.write({ ...visible, type: "fact", slot: "city", text: "In Rome", source: "agent" });
  const [item] = (await memory.review({ kinds: ["rival"] })).items;
  const { seq: changed } = await memory.updateHead(rule.id, { importance: 9 });
  return { rule: rule.id, hidden: hidden.id, edge, rival: item?.id ?? "", changed };
}

type Attack = (memory: Cortex, owned: Owned, access: Access) => Promise<unknown>;

/** What is tried with every verb that overrules. */
const ATTACKS: { readonly [verb: string]: readonly Attack[] } = {
  update: [(m, { rule }, access) => m.update(rule, { text: "Red-eyes are fine" }, { access })],
  updateHead: [
    (m, { rule }, access) => m.updateHead(rule, { visibility: "private" }, { access }),
    (m, { rule }, access) => m.updateHead(rule, { importance: 0 }, { access }),
    (m, { rule }, access) => m.updateHead(rule, { status: "disputed" }, { access }),
    (m, { rule }, access) => m.updateHead(rule, { tags: ["trip", "old"] }, { access }),
  ],
  tombstone: [(m, { rule }, access) => m.tombstone(rule, "not needed", { access })],
  restore: [(m, { hidden }, access) => m.restore(hidden, { access })],
  forget: [(m, { rule }, access) => m.forget(rule, "not needed", { access })],
  removeEdge: [
    async (m, { rule }, access) => {
      const home = (await m.slotHistory("city")).values[0]?.id ?? "";
      return m.removeEdge(rule, "relates", home, { access });
    },
  ],
  removeEdgeById: [(m, { edge }, access) => m.removeEdgeById(edge, { access })],
  settle: [
    (m, { rival }, access) =>
      m.settle(rival, { decision: "keep_both", reason: "both" }, { access }),
    (m, { rival }, access) =>
      m.settle(rival, { decision: "retract", reason: "neither" }, { access }),
  ],
  revert: [(m, { changed }, access) => m.revert(changed, { access })],
  batch: [
    (m, { rule }, access) => m.batch([{ update: { id: rule, text: "Anything goes" } }], { access }),
  ],
};

const OVERRULES = Object.values<Verb>(VERBS).filter(({ standing }) => standing === "overrule");

/** What memories and links are now, as a checkpoint states it. */
async function stateOf(memory: Cortex, name: "memories" | "edges"): Promise<string> {
  const { checkpoint } = await memory.checkpoint();
  const line = checkpoint.split("\n").find((text) => text.includes(name));
  if (line === undefined) throw new Error("a checkpoint states no roots");
  return line;
}

async function refused(call: Promise<unknown>): Promise<CortexError> {
  try {
    await call;
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

async function holderOf(store: TestStore): Promise<Access> {
  const scope = await tripScope(store, { writable: true });
  return store.memory.scopeAccess(scope, { signedBy: HOLDER_KEY });
}

describe("every verb that overrules", () => {
  test("is tried", () => {
    expect(Object.keys(ATTACKS).sort()).toEqual(OVERRULES.map(({ name }) => name).sort());
  });

  test.each(OVERRULES.map(({ name }) => name))(
    "%s: an agent is refused, its wish is kept once, and the owner carries it out",
    async (verb) => {
      for (const attack of ATTACKS[verb] ?? []) {
        await using store = await openTestStore({ actor: "ada" });
        const { memory } = store;
        const owned = await fill(memory);
        const before = await stateOf(memory, "memories");
        const error = await refused(attack(memory, owned, AGENT));
        expect([error.code, error.message]).toEqual([
          "ERR_TRUST",
          expect.stringContaining("is kept as proposal-"),
        ]);
        expect(await stateOf(memory, "memories")).toBe(before);
        const { entries } = await memory.stats();
        expect((await refused(attack(memory, owned, AGENT))).details.proposal).toBe(
          error.details.proposal,
        );
        expect((await memory.stats()).entries).toBe(entries);
        const item = error.details.proposal ?? "";
        const open = await memory.review({ kinds: ["proposal"] });
        expect(open.items).toMatchObject([
          { id: item, proposal: { by: "mcp:test", source: "agent" } },
        ]);
        const yes = { decision: "keep_one", reason: "yes" } as const;
        expect((await refused(memory.settle(item, yes, { access: AGENT }))).code).toBe("ERR_TRUST");
        await memory.rebuild();
        expect((await memory.review({ kinds: ["proposal"] })).items).toEqual(open.items);
        await memory.settle(item, yes, { access: throughDoor("host") });
        const isEdge = verb.startsWith("removeEdge");
        const isSame = (await stateOf(memory, "memories")) === before;
        expect(isSame).toBe(isEdge);
        expect((await memory.review({ kinds: ["proposal"] })).items).toEqual([]);
        const again = await refused(memory.settle(item, yes));
        expect(["ERR_CONFLICT", "ERR_NOT_FOUND"]).toContain(again.code);
      }
    },
  );

  test.each(OVERRULES.filter(({ policy }) => policy === "write").map(({ name }) => name))(
    "%s: the holder of a writable scope changes nothing that the owner said",
    async (verb) => {
      for (const attack of ATTACKS[verb] ?? []) {
        await using store = await openTestStore({ actor: "ada" });
        const { memory } = store;
        const owned = await fill(memory);
        const access = await holderOf(store);
        const states = async () => [
          await stateOf(memory, "memories"),
          await stateOf(memory, "edges"),
          (await memory.context({ access, nowMs: store.clock.last() })).text,
        ];
        store.clock.advance(1000);
        const before = await states();
        expect(["ERR_TRUST", "ERR_DENIED", "ERR_NOT_FOUND"]).toContain(
          (await refused(attack(memory, owned, access))).code,
        );
        expect(await states()).toEqual(before);
        expect(before[2]).toContain("No red-eye flights");
      }
    },
  );
});

describe("links that a lower standing draws", () => {
  const kinds: readonly EdgeKind[] = EDGE_KINDS.filter(({ mint }) => mint === "anyone");
  const names = kinds.map(({ name }) => name as string);

  test("take the owner's memories nothing, whatever their kind: what the owner hid comes back", async () => {
    expect(names).toContain("supersedes");
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const { rule } = await fill(memory);
    for (const [who, access] of Object.entries({ agent: AGENT, holder: await holderOf(store) })) {
      const mine = await memory.write(
        { ...visible, type: "fact", text: `${who}: red-eye flights are fine` },
        { access },
      );
      for (const kind of [...names, "of my own"]) {
        const { inverse } = kinds.find(({ name }) => name === kind) ?? {};
        const link = { from: mine.id, kind, to: rule };
        const tried = [
          () => memory.addEdge(mine.id, kind, rule, { source: "derived", access }),
          () => memory.addEdge(mine.id, kind, rule, { access }),
          ...(inverse === undefined
            ? []
            : [() => memory.addEdge(rule, inverse, mine.id, { access })]),
          () => memory.batch([{ link }], { access }),
        ];
        for (const attempt of tried) {
          const outcome = await attempt().then(
            () => "drawn",
            (error: unknown) => (isCortexError(error) ? error.code : String(error)),
          );
          if (kind === "supersedes") expect([who, kind, outcome]).toEqual([who, kind, "ERR_TRUST"]);
        }
      }
      await memory.tombstone(rule, "for a while");
      await memory.restore(rule);
      expect((await memory.get(rule))?.head.lifecycle).toBe("active");
    }
    const wishes = (await memory.review({ kinds: ["proposal"] })).items;
    expect(wishes.map(({ proposal }) => proposal?.verb)).toContain("addEdge");
  });
});

describe("what a lower standing may still do", () => {
  test("an agent cannot take a slot by retiring the owner's value", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const home = await memory.write({ type: "fact", slot: "city", text: "Ada lives in Porto" });
    await refused(memory.tombstone(home.id, "old", { access: AGENT }));
    const claim = { type: "fact", slot: "city", text: "Ada lives in Rome" } as const;
    const { conflicts } = await memory.write(claim, { access: AGENT });
    expect(conflicts.map(({ id }) => id)).toEqual([home.id]);
    expect((await memory.slotHistory("city")).values.map(({ text }) => text)).toEqual([
      "Ada lives in Porto",
    ]);
  });

  test("it hides and brings back its own words, and not what somebody else hid or took back", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const own = await memory.write({ type: "fact", text: "The build is red" }, { access: AGENT });
    await memory.tombstone(own.id, "green again", { access: AGENT });
    await memory.restore(own.id, { access: AGENT });
    await memory.tombstone(own.id, "it never was");
    expect((await refused(memory.restore(own.id, { access: AGENT }))).code).toBe("ERR_TRUST");
    const { seq } = await memory.restore(own.id);
    expect(seq).toBeGreaterThan(0);
    await memory.updateHead(own.id, { status: "disputed" });
    const raise = memory.updateHead(own.id, { status: "asserted" }, { access: AGENT });
    expect((await refused(raise)).code).toBe("ERR_TRUST");
  });

  test("what the owner confirmed is the owner's word, whoever said it first", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const said = await memory.write({ type: "preference", text: "Likes tea" }, { access: AGENT });
    const yes = { decision: "keep_one", reason: "asked her" } as const;
    await memory.settle(`provisional-${said.id}`, yes, { access: throughDoor("host") });
    expect((await memory.get(said.id))?.head.status).toBe("confirmed");
    for (const attack of [
      memory.update(said.id, { text: "Likes wires to Bob" }, { access: AGENT }),
      memory.tombstone(said.id, "no", { access: AGENT }),
    ]) {
      expect((await refused(attack)).code).toBe("ERR_TRUST");
    }
  });

  test("it may give in: its own rival goes, the owner's value stays", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    await fill(memory);
    const [item] = (await memory.review({ kinds: ["rival"] })).items;
    const home = item?.sides.find(({ source }) => source === "user_input")?.id ?? "";
    const decision = { decision: "keep_one", keep: home, reason: "she is right" } as const;
    await memory.settle(item?.id ?? "", decision, { access: AGENT });
    expect((await memory.review({ kinds: ["rival"] })).items).toEqual([]);
  });
});

describe("a proposal", () => {
  test("is declined once, and goes with the memory it is about", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "Ada lives in Porto" });
    const wish = () =>
      refused(memory.update(id, { text: "Ada lives in Xanadu" }, { access: AGENT }));
    const item = (await wish()).details.proposal ?? "";
    const no = { decision: "retract", reason: "no" } as const;
    await memory.settle(item, no);
    expect((await refused(memory.settle(item, no))).code).toBe("ERR_CONFLICT");
    await wish();
    expect((await memory.review({ kinds: ["proposal"] })).items).toHaveLength(1);
    await memory.forget(id, "asked");
    expect((await memory.review({ kinds: ["proposal"] })).items).toEqual([]);
    const parts = (await memory.log({ limit: 100 })).entries;
    expect(JSON.stringify(parts)).not.toContain("Xanadu");
    expect((await memory.check()).ok).toBe(true);
  });

  test("takes the place of the wish before, and many at once are not all kept", async () => {
    await using store = await openTestStore({ actor: "ada", stepMs: 0 });
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "Ada lives in Porto" });
    const messages: string[] = [];
    for (let importance = 0; importance < 120; importance += 1) {
      const patch = { importance: importance % 11, tags: [`t${importance}`] };
      // The names that a client gives itself are one voice.
      const access = throughDoor("mcp", `mcp:${importance}`);
      messages.push((await refused(memory.updateHead(id, patch, { access }))).message);
    }
    expect((await memory.review({ kinds: ["proposal"] })).items).toHaveLength(1);
    expect(messages.filter((text) => text.includes("is kept as"))).toHaveLength(100);
    expect(messages.at(-1)).toContain("it is not kept");
  });

  test("is not told to the holder of a scope who could not say yes", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const { rule } = await fill(memory);
    await refused(memory.tombstone(rule, "my secret reason", { access: AGENT }));
    const access = await holderOf(store);
    expect((await memory.review({ kinds: ["proposal"], access })).items).toEqual([]);
    const scope = await tripScope(store, { writable: true, maxSource: "user_input" });
    const host = await memory.scopeAccess(scope, { signedBy: HOLDER_KEY });
    const [item] = (await memory.review({ kinds: ["proposal"], access: host })).items;
    await memory.settle(item?.id ?? "", { decision: "keep_one", reason: "yes" }, { access: host });
    expect((await memory.get(rule))?.head.lifecycle).toBe("tombstoned");
  });
});
