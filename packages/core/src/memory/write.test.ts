/** `write`: every type, every field, restatement, slots, replacement, and what is refused. */
import { describe, expect, test } from "vitest";
import type { WriteInput } from "../contract/memory.js";
import { isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { DATA_SCHEMAS } from "../records/data.js";
import { MEMORY_TYPES, type MemoryType, namesOf } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import { openTestStore } from "../testing/index.js";

/** What each type holds when it is given in fields, and how it reads then. */
const STRUCTURED: { readonly [T in MemoryType]: { data: object; text: string } } = {
  identity: {
    data: { name: "Ada", did: "did:key:z6Mk", roles: ["engineer"], publicKeys: ["AAEC"] },
    text: "Ada",
  },
  fact: { data: { predicate: "lives in", object: "Porto", asOf: 5 }, text: "ada lives in Porto" },
  preference: { data: { topic: "peanuts", polarity: "avoid", strength: 1 }, text: "avoid peanuts" },
  belief: {
    data: { statement: "The bus is late", stance: "suspect", evidenceFor: ["sign"] },
    text: "The bus is late",
  },
  event: {
    data: { kind: "payment", outcome: "success", cost: { asset: "EUR", amount: "12.50" } },
    text: "payment success",
  },
  goal: {
    data: { statement: "Learn to sail", status: "paused", budget: { maxConcurrent: 1 } },
    text: "Learn to sail",
  },
  constraint: {
    data: { statement: "No red-eye flights", polarity: "dont", strength: "firm" },
    text: "No red-eye flights",
  },
  capability: { data: { capability: "speaks French", verified: true }, text: "ada speaks French" },
  pattern: { data: { statement: "Mails on Mondays", strength: 0.5 }, text: "Mails on Mondays" },
  note: { data: { content: "Call back", metadata: { from: { desk: 4 } } }, text: "Call back" },
  artifact: {
    data: { uri: "file:///plan.pdf", mediaType: "application/pdf", sizeBytes: 9 },
    text: "file:///plan.pdf",
  },
};

describe("types", () => {
  for (const type of namesOf(MEMORY_TYPES)) {
    test(`${type} by text alone`, async () => {
      await using store = await openTestStore();
      const { memory } = store;
      const written = await memory.write({ type, text: "One sentence is enough" });
      const found = await memory.get(written.id);
      expect(found).toMatchObject({ type, version: 1, text: "One sentence is enough" });
      expect(found?.versionRecord.forms.short).not.toBe("");
    });

    test(`${type} by structure`, async () => {
      await using store = await openTestStore();
      const { memory } = store;
      const { data, text } = STRUCTURED[type];
      const { id } = await memory.write({ type, data: data as never });
      const found = await memory.get(id);
      expect(found?.data).toMatchObject(data);
      expect(found?.text).toBe(text);
    });
  }

  test("fields may stand beside the others, and text refines them", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({
      type: "preference",
      text: "Ada stays away from peanuts",
      topic: "peanuts",
      polarity: "avoid",
      data: { strength: 0.9 },
    });
    expect((await memory.get(id))?.data).toEqual({
      statement: "Ada stays away from peanuts",
      topic: "peanuts",
      polarity: "avoid",
      strength: 0.9,
    });
  });

  test("the subject of a sentence is the actor unless it is named", async () => {
    await using store = await openTestStore({ actor: "grace" });
    const { memory } = store;
    const own = await memory.write({ type: "fact", text: "Lives in Porto" });
    const other = await memory.write({ type: "fact", text: "Lives here", subject: "bob" });
    expect((await memory.get(own.id))?.data).toMatchObject({ subject: "grace" });
    expect((await memory.get(other.id))?.data).toMatchObject({ subject: "bob" });
  });
});

describe("fields", () => {
  test("head and version come back as given", async () => {
    await using store = await openTestStore({ principal: "door" });
    const { memory } = store;
    const validTo = store.clock.read() + 500;
    const frames = [
      { verb: "build", object: "plan", ref: "trip" },
      { verb: "find", object: "asset", ref: "ticket é" },
    ] as const;
    const { id } = await memory.write({
      type: "fact",
      text: "The ferry leaves at nine",
      tags: ["travel", "café"],
      frames,
      visibility: "public",
      importance: 9,
      kind: "schedule",
      status: "disputed",
      freshnessAt: 77,
      source: "document",
      slot: "Ferry Time",
      externalId: "crm/42",
      confidence: 0.25,
      provenance: {
        source: "tool_output",
        attestations: ["cortex://bob/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#2"],
        session: "chat-1",
        turn: 3,
      },
      validFrom: -5,
      validTo,
      expiresAt: validTo + 400,
      forms: { short: "Ferry at nine", medium: "The ferry leaves at nine sharp" },
      by: "alice",
    });
    const found = await memory.get(id);
    expect(found?.head).toMatchObject({
      lifecycle: "active",
      status: "disputed",
      visibility: "public",
      importance: 9,
      source: "document",
      tags: ["travel", "café"],
      frames,
      version: 1,
      siblings: [],
      slot: "ferry_time",
      kind: "schedule",
      externalId: "crm/42",
      freshnessAt: 77,
    });
    expect(found?.versionRecord).toMatchObject({
      number: 1,
      createdBy: "alice",
      confidence: 0.25,
      supersedes: [],
      validFrom: -5,
      validTo,
      expiresAt: validTo + 400,
      forms: { short: "Ferry at nine", medium: "The ferry leaves at nine sharp" },
      provenance: {
        source: "tool_output",
        derivedFrom: [],
        attestations: ["cortex://bob/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#2"],
        session: "chat-1",
        turn: 3,
      },
    });
    expect(found?.head.createdAt).toBe(found?.versionRecord.createdAt);
  });

  test("defaults: private, importance 5, user input, full confidence, no tags", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "note", text: "plain" });
    const found = await memory.get(id);
    expect(found?.head).toMatchObject({
      visibility: "private",
      importance: 5,
      source: "user_input",
      status: "asserted",
      tags: [],
      frames: [],
    });
    expect(found?.versionRecord).toMatchObject({ confidence: 1, createdBy: "ada" });
    for (const name of ["slot", "kind", "externalId", "freshnessAt", "tombstone"]) {
      expect(found?.head).not.toHaveProperty(name);
    }
    for (const name of ["validFrom", "validTo", "expiresAt"]) {
      expect(found?.versionRecord).not.toHaveProperty(name);
    }
  });

  test("the result names the memory, its version, its entry and nothing else", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const written = await memory.write({ type: "goal", text: "Learn to sail" });
    expect(written).toEqual({
      id: written.id,
      uri: `cortex://ada/Goal/${written.id}#1`,
      version: 1,
      seq: 1,
      replaced: [],
      conflicts: [],
      similar: [],
      reinforced: false,
    });
    expect(parseUri(written.uri)).toMatchObject({ actor: "ada", type: "goal", version: 1 });
    expect((await memory.stats()).seq).toBe(1);
  });

  test("repeated tags and frames count once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const frame = { verb: "find", object: "model", ref: "x" } as const;
    const { id } = await memory.write({
      type: "note",
      text: "n",
      tags: ["a", "b", "a"],
      frames: [frame, { ...frame }],
    });
    const found = await memory.get(id);
    expect(found?.head.tags).toEqual(["a", "b"]);
    expect(found?.head.frames).toEqual([frame]);
  });

  test("a caller may bring the id; every limit may be reached", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const input: WriteInput = {
      type: "note",
      id: id.toLowerCase(),
      text: "é".repeat(LIMITS.contentBytes / 2),
      tags: Array.from({ length: LIMITS.tags }, (_, at) => String(at).padEnd(LIMITS.tagBytes, "t")),
      kind: "k".repeat(LIMITS.kindBytes),
      externalId: "e".repeat(LIMITS.externalIdBytes),
      slot: "s".repeat(LIMITS.slotBytes),
      by: "p".repeat(LIMITS.principalBytes),
    };
    const written = await memory.write(input);
    expect(written.id).toBe(id);
    const found = await memory.get(input.externalId ?? "");
    expect(found?.text).toBe(input.text);
    expect(found?.head.tags).toEqual(input.tags);
  });

  test("what the caller changes afterwards does not reach the memory", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const metadata = { list: [1, 2] };
    const tags = ["a"];
    const pending = memory.write({ type: "note", text: "n", metadata, tags });
    metadata.list.push(3);
    const { id } = await pending;
    expect((await memory.get(id))?.data).toMatchObject({ metadata: { list: [1, 2] } });
  });

  test("text is kept to the byte, whatever it holds", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const texts = [
      "\ufeffstart",
      "e\u0301 is not \u00e9",
      "tab\there\nand\r\nthere",
      "👩‍🚀 \u0000 end",
    ];
    for (const text of texts) {
      const { id } = await memory.write({ type: "note", text });
      expect((await memory.get(id))?.text).toBe(text);
    }
  });
});

describe("restatement", () => {
  test("case, spacing and a final full stop make no difference", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", text: "Ada lives in Porto" });
    for (const text of ["ada LIVES in porto.", "  Ada  lives\nin Porto ", "Ada lives in Porto"]) {
      const again = await memory.write({ type: "fact", text });
      expect(again).toMatchObject({ id: first.id, version: 1, reinforced: true, replaced: [] });
    }
    const seen = await memory.inspect(first.id);
    expect(seen?.counters?.reinforced).toBe(3);
    expect(seen?.counters?.lastUsedAt).toBeGreaterThan(seen?.memory.head.createdAt ?? 0);
    expect((await memory.list({ type: "fact" })).memories).toHaveLength(1);
    expect(seen?.memory.text).toBe("Ada lives in Porto");
  });

  const apart: readonly (readonly [string, WriteInput, WriteInput])[] = [
    ["symbols", { type: "fact", text: "Knows C++" }, { type: "fact", text: "Knows C#" }],
    [
      "signs",
      { type: "fact", text: "It is -5 outside" },
      { type: "fact", text: "It is 5 outside" },
    ],
    ["the type", { type: "fact", text: "Likes tea" }, { type: "belief", text: "Likes tea" }],
    ["the source", { type: "fact", text: "x" }, { type: "fact", text: "x", source: "agent" }],
    ["the slot", { type: "fact", text: "x" }, { type: "fact", text: "x", slot: "y" }],
    [
      "the stance",
      { type: "belief", text: "It rains" },
      { type: "belief", text: "It rains", stance: "doubt" },
    ],
    ["notes", { type: "note", text: "same" }, { type: "note", text: "same" }],
    ["events", { type: "event", text: "same" }, { type: "event", text: "same" }],
    ["artifacts", { type: "artifact", text: "same" }, { type: "artifact", text: "same" }],
    ["an external id", { type: "fact", text: "x" }, { type: "fact", text: "x", externalId: "e" }],
  ];
  for (const [name, one, other] of apart) {
    test(`${name} keep two memories apart`, async () => {
      await using store = await openTestStore();
      const { memory } = store;
      const first = await memory.write(one);
      const second = await memory.write(other);
      expect(second.reinforced).toBe(false);
      expect(second.id).not.toBe(first.id);
    });
  }

  test("slots are compared by their normal form", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", slot: "Home City", text: "Porto" });
    const again = await memory.write({ type: "fact", slot: "home-city", text: "porto." });
    expect(again).toMatchObject({ id: first.id, reinforced: true });
  });

  test("only live memories are reinforced", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", text: "x is y" });
    await memory.tombstone(first.id, "wrong");
    const second = await memory.write({ type: "fact", text: "x is y" });
    expect(second).toMatchObject({ reinforced: false });
    expect(second.id).not.toBe(first.id);
  });

  test("an update moves what counts as said", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", text: "x is y" });
    await memory.update(first.id, { text: "x is z" });
    expect(await memory.write({ type: "fact", text: "X is Z." })).toMatchObject({
      id: first.id,
      version: 2,
      reinforced: true,
    });
    expect((await memory.write({ type: "fact", text: "x is y" })).reinforced).toBe(false);
  });
});

describe("slots", () => {
  test("another value archives the one before, closes it and says how they hang together", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const lyon = await memory.write({ type: "fact", slot: "home city", text: "Lives in Lyon" });
    const porto = await memory.write({ type: "fact", slot: "home city", text: "Lives in Porto" });
    expect(porto.replaced).toEqual([
      { id: lyon.id, uri: `cortex://ada/Fact/${lyon.id}#2`, text: "Lives in Lyon" },
    ]);
    const old = await memory.get(lyon.id);
    const now = await memory.get(porto.id);
    expect(old?.head).toMatchObject({ lifecycle: "archived", version: 2 });
    expect(old?.text).toBe("Lives in Lyon");
    expect(old?.versionRecord).toMatchObject({
      validFrom: old?.head.createdAt,
      validTo: now?.head.createdAt,
    });
    const { edges } = await memory.edgesOut(porto.id);
    expect(edges.map(({ kind, to, source }) => [kind, to, source])).toEqual([
      ["contradicts", lyon.id, "derived"],
      ["transition", lyon.id, "derived"],
    ]);
    expect((await memory.list({ slot: "Home City" })).memories.map(({ id }) => id)).toEqual([
      porto.id,
    ]);
    expect((await memory.log({ from: 2 })).entries).toHaveLength(1);
  });

  test("a value that is over when it is written is archived at once and replaced by nobody", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", slot: "s", text: "one", validTo: 5 });
    const second = await memory.write({ type: "fact", slot: "s", text: "two" });
    expect(second.replaced).toEqual([]);
    const old = await memory.get(first.id);
    expect(old).toMatchObject({ version: 1, head: { lifecycle: "archived", slot: "s" } });
    expect(old?.versionRecord.validTo).toBe(5);
  });

  test("a value that has ended since is archived as it is", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const validTo = clock.read() + 500;
    const first = await memory.write({ type: "fact", slot: "s", text: "one", validTo });
    clock.advance(1000);
    const second = await memory.write({ type: "fact", slot: "s", text: "two" });
    expect(second.replaced).toMatchObject([{ id: first.id, uri: first.uri }]);
    const old = await memory.get(first.id);
    expect(old).toMatchObject({ version: 1, head: { lifecycle: "archived" } });
    expect(old?.versionRecord.validTo).toBe(validTo);
  });

  test("values of several types share a slot, and there is never more than one", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const types = ["fact", "preference", "note", "fact", "belief"] as const;
    for (const [at, type] of types.entries()) {
      await memory.write({ type, slot: "mood", text: `value ${at}` });
      expect((await memory.list({ slot: "mood" })).memories).toHaveLength(1);
    }
    const all = await memory.list({ slot: "mood", lifecycles: ["active", "archived"] });
    expect(all.memories.map(({ text }) => text)).toEqual(
      types.map((_, at) => `value ${at}`).reverse(),
    );
  });

  test("an update inside a slot leaves the slot with one value", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "fact", slot: "s", text: "one" });
    await memory.update(first.id, { text: "two" });
    const third = await memory.write({ type: "fact", slot: "s", text: "three" });
    expect(third.replaced).toMatchObject([{ id: first.id, text: "two" }]);
  });
});

describe("replacement and derivation", () => {
  test("supersedes archives what it names, whatever way it is named", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "a" });
    const b = await memory.write({ type: "note", text: "b", externalId: "b" });
    const c = await memory.write({ type: "fact", text: "c" });
    const next = await memory.write({
      type: "fact",
      text: "all of it",
      supersedes: [a.id, "b", c.uri, a.uri],
    });
    expect(next.replaced.map(({ id }) => id)).toEqual([a.id, b.id, c.id]);
    for (const { id } of [a, b, c]) {
      const old = await memory.get(id);
      expect(old?.head.lifecycle).toBe("archived");
      expect(old?.versionRecord.validTo).toBeDefined();
    }
    const { edges } = await memory.edgesOut(next.id);
    expect(new Set(edges.map(({ kind, to }) => `${kind} ${to}`))).toEqual(
      new Set([a, b, c].map(({ id }) => `supersedes ${id}`)),
    );
  });

  test("naming the holder of the slot as superseded leaves one value", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", slot: "s", text: "a" });
    const b = await memory.write({ type: "fact", slot: "s", text: "b", supersedes: [a.id] });
    expect(b.replaced.map(({ id }) => id)).toEqual([a.id]);
    const { edges } = await memory.edgesOut(b.id);
    expect(edges.map(({ kind }) => kind)).toEqual(["supersedes", "contradicts", "transition"]);
    expect((await memory.list({ slot: "s" })).memories).toHaveLength(1);
  });

  test("corrects amends without replacing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "The talk is on Monday" });
    const b = await memory.write({ type: "fact", text: "It starts at nine", corrects: a.id });
    expect(b.replaced).toEqual([]);
    expect((await memory.get(a.id))?.head.lifecycle).toBe("active");
    expect(await memory.getEdge(b.id, "corrects", a.id)).toMatchObject({ source: "derived" });
  });

  test("derivedFrom makes an edge for each memory of this graph, and keeps every URI", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "note", text: "a" });
    const gone = "cortex://ada/Note/01ARZ3NDEKTSV4RRFFQ69G5FAV#1";
    const other = "cortex://bob/Note/01ARZ3NDEKTSV4RRFFQ69G5FAV#1";
    const derivedFrom = [a.uri, gone, other];
    const b = await memory.write({ type: "fact", text: "b", provenance: { derivedFrom } });
    expect((await memory.get(b.id))?.versionRecord.provenance.derivedFrom).toEqual(derivedFrom);
    const { edges } = await memory.edgesOut(b.id);
    expect(edges.map(({ kind, to }) => [kind, to])).toEqual([["derived_from", a.id]]);
  });
});

describe("externalId", () => {
  test("stands for the id wherever one is taken", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "one", externalId: "crm:1/é" });
    const other = await memory.write({ type: "goal", text: "two", externalId: "crm:2" });
    const name = "crm:1/é";
    expect((await memory.get(name))?.id).toBe(id);
    expect((await memory.update(name, { text: "uno" })).version).toBe(2);
    expect((await memory.updateHead(name, { importance: 1 })).id).toBe(id);
    expect(await memory.history(name)).toHaveLength(2);
    expect((await memory.addEdge(name, "uses", "crm:2")).changed).toBe(true);
    expect(await memory.getEdge(name, "uses", "crm:2")).toMatchObject({ from: id, to: other.id });
    expect((await memory.edgesOut(name)).edges).toHaveLength(1);
    expect((await memory.edgesIn("crm:2")).edges).toHaveLength(1);
    expect((await memory.traverse(name)).hits.map((hit) => hit.id)).toEqual([other.id]);
    expect(await memory.linksFrom(name)).toHaveLength(1);
    expect(await memory.backlinksTo("crm:2")).toHaveLength(1);
    expect((await memory.inspect(name))?.memory.id).toBe(id);
    expect((await memory.removeEdge(name, "uses", "crm:2")).changed).toBe(true);
    expect((await memory.setGoalState("crm:2", {} as never)).id).toBe(other.id);
    expect(await memory.goalState("crm:2")).toBeDefined();
    expect((await memory.deleteGoalState("crm:2")).id).toBe(other.id);
    expect((await memory.tombstone(name, "r")).id).toBe(id);
    expect((await memory.restore(name)).id).toBe(id);
    const third = await memory.write({
      type: "fact",
      text: "3",
      corrects: name,
      supersedes: [name],
    });
    expect(third.replaced.map((ref) => ref.id)).toEqual([id]);
    expect((await memory.batch([{ update: { id: "crm:2", text: "dos" } }])).results).toMatchObject([
      { ok: true, id: other.id, version: 2 },
    ]);
  });

  test("a name that was never given names nothing", async () => {
    await using store = await openTestStore();
    expect(await store.memory.get("crm:9")).toBeUndefined();
    expect(await store.memory.history("crm:9")).toBeUndefined();
  });
});

describe("every field of a type, given beside the others", () => {
  /** A value that each shape of field takes; the first that the type's own schema accepts is used. */
  const VALUES: readonly unknown[] = [
    ...["payment", "success", "avoid", "doubt", "hard", "paused", "learned", "schedule", "words"],
    ...[["one"], 0.5, 7, true, "12.50", { asset: "eur", amount: "3" }, [], {}],
    ...["text/plain", "sha256:00", "https://example.org/a", "cortex://ada/Event/x#1"],
  ];

  for (const type of namesOf(MEMORY_TYPES)) {
    for (const [name, schema] of Object.entries(DATA_SCHEMAS[type].shape)) {
      test(`${type}.${name} is kept or refused`, async () => {
        await using store = await openTestStore();
        const values = VALUES.filter((value) => schema.safeParse(value).success);
        expect(values.length).toBeGreaterThan(0);
        for (const [at, value] of values.entries()) {
          const input = { type, text: `said ${at}`, uri: `https://example.org/${at}` };
          const given = { ...input, [name]: value };
          if (type !== "artifact") delete (given as { uri?: string }).uri;
          const written = await store.memory
            .write(given as Parameters<typeof store.memory.write>[0])
            .catch((error: unknown) => error);
          if (isCortexError(written)) {
            expect(JSON.stringify(written.details)).toContain(name);
            continue;
          }
          const { id } = written as { readonly id: string };
          const memory = await store.memory.get(id);
          expect((memory?.data as Record<string, unknown> | undefined)?.[name]).toEqual(value);
        }
      });
    }
  }

  test("an event's kind is its own and the label it is filed under; another label is only that", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({ type: "event", text: "Paid the rent", kind: "payment" });
    const label = await memory.write({ type: "event", text: "Met Bo", kind: "party" });
    const both = await memory.write({
      type: "event",
      text: "Sent it",
      kind: "rent",
      data: { kind: "dispatch" },
    });
    const kinds = async (id: string) => {
      const found = await memory.get(id);
      return [found?.head.kind, (found?.data as { kind?: string } | undefined)?.kind];
    };
    expect(await kinds(own.id)).toEqual(["payment", "payment"]);
    expect(await kinds(label.id)).toEqual(["party", "observation"]);
    expect(await kinds(both.id)).toEqual(["rent", "dispatch"]);
  });
});
