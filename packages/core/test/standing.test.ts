/**
 * Who speaks: every writing verb, through every door, with every claim. The verbs, the doors and the
 * values are those of the contract and of the table of doors, so a new one is in here from its first day.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { VERBS } from "../src/contract/index.js";
import type { Verb } from "../src/contract/verb.js";
import type { Cortex } from "../src/cortex.js";
import { isCortexError } from "../src/errors.js";
import { MEMORY_TYPES, SOURCES, type Source, STATUSES, type Status } from "../src/records/types.js";
import { type Access, type Speaker, speakerOf } from "../src/scope/access.js";
import { openTestStore } from "../src/testing/index.js";
import { DOORS, type DoorRow, type FixedDoor, speakerAt, throughDoor } from "../src/trust/doors.js";
import { checkSaid, highestStatus, OWNERS_TYPES, SURENESS, TRUST } from "../src/trust/gate.js";
import { fillTrip, HOLDER_KEY, tripScope } from "./scopes-support.js";

const sources = Object.keys(SOURCES) as Source[];
const statuses = Object.keys(STATUSES) as Status[];
const fixedDoors = (Object.keys(DOORS) as (keyof typeof DOORS)[]).filter(
  (door): door is FixedDoor => door !== "scope",
);

function refusal(call: () => unknown): { readonly code: string; readonly message: string } {
  try {
    call();
  } catch (error) {
    if (isCortexError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: "none", message: "" };
}

describe("what a door lets through", () => {
  const speakers: readonly Speaker[] = [
    ...fixedDoors.map((door) => speakerAt(door, "the door's own")),
    ...sources.map((source) => ({
      door: DOORS.scope.words,
      source,
      principal: "bearer:x",
      namesAuthors: false,
    })),
  ];

  test.each(speakers)("$door as $source: every source, status, author and type", (speaker) => {
    const authors = [undefined, speaker.principal, `${speaker.principal}/part`, "ada"];
    for (const source of [undefined, ...sources]) {
      for (const status of [undefined, ...statuses]) {
        for (const by of authors) {
          for (const type of Object.keys(MEMORY_TYPES)) {
            const isAbove =
              (source !== undefined && TRUST[source].rank > TRUST[speaker.source].rank) ||
              (status !== undefined &&
                SURENESS[status] > SURENESS[highestStatus(speaker.source, type)]) ||
              (by === "ada" && !speaker.namesAuthors);
            const got = refusal(() => checkSaid(speaker, { source, status, by, type }));
            expect([source, status, by, type, got.code]).toEqual([
              source,
              status,
              by,
              type,
              isAbove ? "ERR_TRUST" : "none",
            ]);
            if (isAbove) expect(got.message).toContain(`${speaker.door} speaks as`);
          }
        }
      }
      const nested = refusal(() => checkSaid(speaker, { provenance: { source } })).code;
      expect(nested).toBe(refusal(() => checkSaid(speaker, { source })).code);
    }
  });

  test("whoever is not the owner confirms nothing, and only proposes what the owner alone can say", () => {
    for (const source of sources.filter((one) => one !== "user_input")) {
      for (const type of Object.keys(MEMORY_TYPES)) {
        const isOwners = OWNERS_TYPES.has(type as never);
        expect(highestStatus(source, type)).toBe(isOwners ? "provisional" : "asserted");
      }
    }
  });

  test("the page about trust has the same table", () => {
    const page = readFileSync(new URL("../../../docs/trust.md", import.meta.url), "utf8");
    for (const row of Object.values<DoorRow>(DOORS)) {
      const most =
        row.source === "as granted" ? "what its `maxSource` grants" : `\`${row.source}\``;
      const status =
        row.source === "as granted"
          ? "as that source may"
          : row.source === "user_input"
            ? "any"
            : "`asserted`; `provisional` for the three types";
      const other = row.namesAuthors ? "any name" : "a name below its own";
      expect(page).toContain(`| ${row.who} | ${most} | ${status} | ${row.author} | ${other} |`);
    }
  });
});

/** Writing verbs that say something, with enough of an input to pass their contract. */
const CALLS: { readonly [verb: string]: { readonly [field: string]: unknown } } = {
  write: { type: "fact", text: "Ada lives in Rome" },
  batch: { items: [{ write: { type: "fact", text: "Ada lives in Rome" } }] },
  update: { id: "x", text: "Ada lives in Rome" },
  updateHead: { id: "x", importance: 7 },
  tombstone: { id: "x", reason: "r" },
  restore: { id: "x" },
  forget: { id: "x", reason: "r" },
  setGoalState: { id: "x", state: {} },
  deleteGoalState: { id: "x" },
  addEdge: { from: "x", kind: "uses", to: "y" },
  link: { from: "x", kind: "uses", to: "y" },
  removeEdge: { from: "x", kind: "uses", to: "y" },
  removeEdgeById: { id: "01ARZ3NDEKTSV4RRFFQ69G5FAV" },
  remember: { turns: [{ role: "user", content: "hello" }], session: "s" },
  settle: { item: "provisional-01ARZ3NDEKTSV4RRFFQ69G5FAV", decision: "keep_one", reason: "r" },
  attest: { intentId: "i", outcome: "success", cited: ["x"] },
  compactContext: { intentId: "i", stepId: "s", inContext: ["x"] },
  snapshot: { reason: "r" },
  configure: { conflictPolicy: "manual" },
  revert: { seq: 1 },
  revokeScope: { scope: "00".repeat(32) },
};

/** Where a claim stands in the input of a verb; nowhere for a verb that takes none. */
function placesOf(verb: Verb, claim: "source" | "status" | "by"): readonly string[] {
  const { shape } = verb.input;
  const own = claim in shape ? [claim] : [];
  return claim === "source" && "provenance" in shape ? [...own, "provenance"] : own;
}

function claiming(verb: string, place: string, value: string): object {
  const said = place === "provenance" ? { provenance: { source: value } } : { [place]: value };
  return { ...CALLS[verb], ...said };
}

const WRITING = Object.values<Verb>(VERBS).filter(({ kind }) => kind === "write");
const RAISES = { source: "user_input", status: "confirmed", by: "ada" } as const;

async function codeOf(memory: Cortex, verb: string, input: object, access: Access) {
  const call = memory[verb as "write"] as (input: object, more: object) => Promise<unknown>;
  try {
    await call.call(memory, input, { access });
    return { code: "none", message: "" };
  } catch (error) {
    if (isCortexError(error)) return { code: error.code, message: error.message };
    throw error;
  }
}

describe("every writing verb", () => {
  test("that takes a claim is tried", () => {
    const claimed = WRITING.filter((verb) =>
      (["source", "status", "by"] as const).some((claim) => placesOf(verb, claim).length > 0),
    );
    expect(claimed.map(({ name }) => name).filter((name) => !(name in CALLS))).toEqual([]);
  });

  test.each(["mcp", "import", "extraction", "scope"] as const)(
    "refuses a raise through %s, and leaves nothing",
    async (door) => {
      await using store = await openTestStore({ actor: "ada" });
      const { memory } = store;
      await fillTrip(memory);
      const scope = await tripScope(store, { writable: true });
      const access =
        door === "scope"
          ? await memory.scopeAccess(scope, { signedBy: HOLDER_KEY })
          : throughDoor(door, "the door's own");
      const speaker = speakerOf(access);
      const before = (await memory.stats()).entries;
      let tried = 0;
      for (const verb of WRITING) {
        for (const claim of ["source", "status", "by"] as const) {
          if (claim === "by" && speaker?.namesAuthors === true) continue;
          for (const place of placesOf(verb, claim)) {
            const input = claiming(verb.name, place, RAISES[claim]);
            const got = await codeOf(memory, verb.name, input, access);
            const isOwners = verb.policy === "owner" && door === "scope";
            const what = [verb.name, place, got.code];
            expect(what).toEqual([verb.name, place, isOwners ? "ERR_DENIED" : "ERR_TRUST"]);
            if (!isOwners) expect(got.message).toContain(`speaks as ${speaker?.source}`);
            tried += 1;
          }
        }
      }
      for (const item of [
        { write: { type: "identity", text: "I am Bob", source: "user_input" } },
        { write: { type: "identity", text: "I am Bob", status: "confirmed" } },
        { update: { id: "name-markerscoped", text: "x", provenance: { source: "user_input" } } },
        { link: { from: "x", kind: "uses", to: "y", source: "user_input" } },
      ]) {
        const got = await codeOf(memory, "batch", { items: [item] }, access);
        expect([item, got.code]).toEqual([item, "ERR_TRUST"]);
        tried += 1;
      }
      expect(tried).toBeGreaterThan(10);
      expect((await memory.stats()).entries).toBe(before);
    },
  );

  test.each(["library", "command", "rest", "host"] as const)(
    "takes the owner's word through %s",
    async (door) => {
      await using store = await openTestStore({ actor: "ada" });
      const { memory } = store;
      const access = throughDoor(door);
      const written = await memory.write(
        { type: "identity", text: "I am Ada", status: "confirmed", by: "somebody" },
        { access },
      );
      const { head, versionRecord } = (await memory.get(written.id)) ?? {};
      expect([head?.source, head?.status]).toEqual(["user_input", "confirmed"]);
      expect(versionRecord?.createdBy).toBe("somebody");
    },
  );

  test("what names nothing gets what the door stamps", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const access = throughDoor("mcp", "mcp:test");
    const { id } = await memory.write({ type: "identity", text: "I am Bob" }, { access });
    const { head, versionRecord } = (await memory.get(id)) ?? {};
    expect([head?.source, head?.status]).toEqual(["agent", "provisional"]);
    expect(versionRecord).toMatchObject({ createdBy: "mcp:test", provenance: { source: "agent" } });
    const { turns } = await memory.remember([{ role: "user", content: "hello" }], {
      session: "s",
      access,
    });
    expect((await memory.get(turns[0]?.id ?? ""))?.head.source).toBe("agent");
    const lower = await memory.write(
      { type: "fact", text: "The page says so", source: "document", by: "mcp:test/reader" },
      { access },
    );
    const read = await memory.get(lower.id);
    expect([read?.head.source, read?.versionRecord.createdBy]).toEqual([
      "document",
      "mcp:test/reader",
    ]);
  });

  test.each(WRITING.filter(({ standing }) => standing === "owner").map(({ name }) => name))(
    "%s is for whoever speaks for the owner",
    async (name) => {
      await using store = await openTestStore({ actor: "ada" });
      const access = throughDoor("mcp", "mcp:test");
      const got = await codeOf(store.memory, name, CALLS[name] ?? {}, access);
      expect([got.code, got.message]).toEqual(["ERR_TRUST", expect.stringContaining("MCP speaks")]);
    },
  );
});
