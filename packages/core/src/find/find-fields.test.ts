/** The closed list of fields: whatever a caller gets back can be asked for, in every type. */
import { describe, expect, test } from "vitest";
import { DATA_SCHEMAS, MEMORY_TYPES } from "../contract/entry.js";
import type { Predicate } from "../contract/find.js";
import type { Memory, MemoryType } from "../index.js";
import { turnData } from "../records/data.js";
import { namesOf } from "../records/types.js";
import { openTestStore } from "../testing/index.js";
import { allFields, fieldOf } from "./find-fields.js";

/** Data that uses every field of its type. */
const WHOLE: { readonly [T in MemoryType]: object } = {
  identity: {
    statement: "Ada is an engineer",
    name: "Ada",
    did: "did:key:ada",
    wallets: ["w1"],
    roles: ["engineer", "pilot"],
    publicKeys: ["AAAA"],
    agentName: "aide",
    expertiseDomains: ["bridges"],
    metadata: { k: "v" },
  },
  fact: {
    statement: "Ada lives in Porto",
    subject: "ada",
    predicate: "lives in",
    object: { city: "Porto", floors: [1, 2] },
    source: "a letter",
    asOf: 1_800_000_000_000,
    metadata: { k: "v" },
  },
  preference: {
    statement: "avoids red-eyes",
    topic: "red-eyes",
    value: 3,
    polarity: "avoid",
    strength: 0.8,
    rationale: "sleep",
    metadata: { k: "v" },
  },
  belief: {
    statement: "the bridge holds",
    subject: "ada",
    stance: "suspect",
    evidenceFor: ["a test"],
    evidenceAgainst: ["a crack"],
    metadata: { k: "v" },
  },
  event: {
    statement: "Ada paid the toll",
    kind: "payment",
    intentRef: "i-1",
    counterparty: "toll office",
    outcome: "success",
    cost: { asset: "EUR", amount: "12.50" },
    durationMs: 90_000,
    artifacts: ["receipt"],
    summary: "paid",
    metadata: { k: "v" },
  },
  goal: {
    statement: "cross the bridge",
    horizonEnd: 1_900_000_000_000,
    successCriteria: ["on the other side"],
    status: "paused",
    subgoals: ["find it"],
    verbHint: "find",
    objects: [{ kind: "plan", ref: "trip", value: { km: 7 } }],
    constraints: [{ type: "budget", hard: true, statement: "be cheap", data: 5 }],
    budget: { dailyMax: "10", totalMax: "100", maxIntentsPerDay: 3, maxConcurrent: 1 },
    persistent: true,
    createdBy: "ada",
    metadata: { k: "v" },
  },
  constraint: {
    statement: "no red-eyes",
    polarity: "dont",
    trigger: "booking",
    strength: "firm",
    source: "learned",
    metadata: { k: "v" },
  },
  capability: {
    statement: "Ada can weld",
    subject: "ada",
    capability: "weld",
    parameters: { metals: ["steel"] },
    verified: true,
    lastObserved: 1_800_000_000_001,
    metadata: { k: "v" },
  },
  pattern: {
    statement: "rain, then fog",
    derivedFrom: ["m1"],
    strength: 0.4,
    coverage: 9,
    metadata: { k: "v" },
  },
  note: { content: "a note", summary: "n", metadata: { ticket: { open: true, rank: 4 } } },
  artifact: {
    uri: "https://example.org/a.pdf",
    title: "Plan",
    mediaType: "application/pdf",
    digest: "sha256-x",
    sizeBytes: 1234,
    description: "the plan",
    metadata: { k: "v" },
  },
};

/** Every path to a scalar, lists walked through, with one of its values. */
function scalarsOf(value: unknown, path: string): ReadonlyMap<string, string | number | boolean> {
  const found = new Map<string, string | number | boolean>();
  if (Array.isArray(value)) {
    for (const item of value) for (const [at, one] of scalarsOf(item, path)) found.set(at, one);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      for (const [at, one] of scalarsOf(member, `${path}.${name}`)) found.set(at, one);
    }
  } else if (value !== undefined && value !== null) {
    found.set(path, value as string | number | boolean);
  }
  return found;
}

function pathsOf(memory: Memory): ReadonlyMap<string, string | number | boolean> {
  return new Map([
    ...scalarsOf(memory.head, "head"),
    ...scalarsOf(memory.versionRecord, "version"),
    ...scalarsOf(memory.data, "data"),
    ["text", memory.text],
  ]);
}

describe("every field of every type", () => {
  test.each(namesOf(MEMORY_TYPES))("%s: each property that comes back finds it", async (type) => {
    await using store = await openTestStore();
    const { memory } = store;
    const source = await memory.write({ type: "note", text: "the origin" });
    const { id } = await memory.write({
      type,
      data: WHOLE[type] as { readonly [field: string]: unknown },
      tags: ["t"],
      frames: [{ verb: "find", object: "plan", ref: "trip" }],
      kind: "k",
      externalId: "x",
      ...(type === "note" ? {} : { slot: "s" }),
      freshnessAt: 1_800_000_000_002,
      confidence: 0.5,
      validFrom: 1,
      validTo: 2,
      expiresAt: 3,
      provenance: {
        session: "chat",
        turn: 4,
        derivedFrom: [source.uri],
        attestations: [source.uri],
      },
    });
    await memory.update(id, { confidence: 0.6 });
    await memory.tombstone(id, "to see its tombstone");
    const found = await memory.get(id);
    if (found === undefined) throw new Error("the memory is gone");
    const paths = pathsOf(found);
    const extra: readonly (readonly [string, string | boolean])[] = [
      ["head.id", id],
      ["head.type", type],
      ["head.actor", "ada"],
      ["head.tombstoned", true],
    ];
    for (const [field, value] of [...paths, ...extra]) {
      const where: Predicate = { eq: [field, value] };
      const page = await memory.find({ type, where, limit: 5, lifecycles: ["tombstoned"] });
      expect(
        page.hits.map((hit) => hit.id),
        field,
      ).toEqual([id]);
      const none = await memory.find({
        type,
        where: { ne: [field, value] },
        limit: 5,
        lifecycles: ["tombstoned"],
      });
      expect(none.hits, field).toEqual([]);
    }
    expect(paths.size).toBeGreaterThan(30);
  });

  test("the example data above uses every field there is", () => {
    for (const type of namesOf(MEMORY_TYPES)) {
      expect(Object.keys(WHOLE[type]).sort()).toEqual(Object.keys(DATA_SCHEMAS[type].shape).sort());
    }
  });

  test("the names are those of the schemas, those of turns included", () => {
    for (const type of namesOf(MEMORY_TYPES)) {
      for (const name of Object.keys(DATA_SCHEMAS[type].shape)) {
        const known = allFields().some(
          (field) => `${field.name}.`.startsWith(`data.${name}.`) && field.types.includes(type),
        );
        expect(known, `${type} ${name}`).toBe(true);
      }
    }
    for (const name of Object.keys(turnData.shape)) expect(fieldOf(`data.${name}`)).toBeDefined();
  });
});

test("a turn is found by what it holds", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  await memory.remember(
    [{ role: "tool_result", content: "42", speaker: "calc", toolName: "add", at: 5 }],
    { session: "s" },
  );
  for (const where of [
    { eq: ["data.role", "tool_result"] },
    { eq: ["data.speaker", "calc"] },
    { eq: ["data.toolName", "add"] },
    { eq: ["data.index", 0] },
    { eq: ["data.at", 5] },
    { eq: ["data.session", "s"] },
  ] as const) {
    expect((await memory.find({ session: "s", where, limit: 2 })).hits).toHaveLength(1);
  }
});

test("paths into JSON are open, those into anything else are not", () => {
  expect(fieldOf("data.metadata.a.b")?.kinds).toEqual(["json"]);
  expect(fieldOf("data.object.city")?.kinds).toEqual(["json"]);
  expect(fieldOf("data.objects.value.km")?.many).toBe(true);
  for (const name of ["data", "data.", "data.metadata.", "head", "version.data", "data.roles.x"]) {
    expect(fieldOf(name), name).toBeUndefined();
  }
});
