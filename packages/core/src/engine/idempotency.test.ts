/** Idempotency keys: a retry returns the first result, another request is refused. */
import { describe, expect, test } from "vitest";
import type { BatchItem } from "../contract/batch.js";
import type { WriteInput } from "../contract/memory.js";
import type { Cortex } from "../cortex.js";
import type { Access } from "../scope/access.js";
import { OWNER } from "../scope/access.js";
import { openTestStore, refusalOf } from "../testing/index.js";
import { loweredTo, throughDoor } from "../trust/doors.js";

describe("write and update", () => {
  test("the same request returns the first result, whatever happened since", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", slot: "city", text: "Lyon" });
    await memory.write({ type: "fact", slot: "ended", text: "old", validTo: 4e12 });
    const input = {
      type: "fact",
      slot: "city",
      text: "Porto",
      supersedes: [],
      idempotencyKey: "k1",
    } as const;
    const first = await memory.write(input);
    expect(first.replaced).toHaveLength(1);
    const { seq } = await memory.stats();
    expect(await memory.write(input)).toEqual(first);
    // The order of members and members that are absent do not make another request.
    const { type, ...rest } = input;
    expect(await memory.write({ ...rest, tags: undefined as never, type })).toEqual(first);
    expect((await memory.stats()).seq).toBe(seq);
    await memory.update(first.id, { text: "Rome" });
    await memory.write({ type: "fact", slot: "city", text: "Oslo" });
    await memory.tombstone(first.id, "r");
    expect(await memory.write(input)).toEqual(first);
    const ended = { type: "fact", slot: "ended", text: "new", idempotencyKey: "k2" } as const;
    const second = await memory.write(ended);
    expect(second.replaced).toMatchObject([{ text: "old" }]);
    expect(await memory.write(ended)).toEqual(second);
  });

  test("without a key the same request is a new one", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "note", text: "n" });
    const b = await memory.write({ type: "note", text: "n" });
    expect(a.id).not.toBe(b.id);
  });

  test("a restatement under a key stays a restatement", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "fact", text: "x" });
    const input = { type: "fact", text: "X", idempotencyKey: "k" } as const;
    const first = await memory.write(input);
    expect(first.reinforced).toBe(true);
    expect(await memory.write(input)).toEqual(first);
    const [seen] = (await memory.list({ type: "fact" })).memories;
    expect((await memory.inspect(seen?.id ?? ""))?.counters?.reinforced).toBe(1);
  });

  test("an update is repeated with its conflicts", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ conflictPolicy: "manual" });
    const { id } = await memory.write({ type: "fact", text: "1" });
    await memory.update(id, { text: "2" });
    await memory.update(id, { text: "3", basedOnVersion: 1 });
    const input = { text: "4", basedOnVersion: 1, idempotencyKey: "k" };
    const first = await memory.update(id, input);
    expect(first).toMatchObject({ version: 4, conflicts: [{ text: "3" }, { text: "2" }] });
    expect(await memory.update(id, input)).toEqual(first);
    await memory.update(id, { text: "5" });
    expect(await memory.update(id, input)).toEqual(first);
    expect(await memory.history(id)).toHaveLength(5);
  });

  test("another request under the same key is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const first = await memory.write({ type: "note", text: "a", idempotencyKey: "k" });
    const others = [
      () => memory.write({ type: "note", text: "b", idempotencyKey: "k" }),
      () => memory.write({ type: "note", text: "a", tags: ["t"], idempotencyKey: "k" }),
      () => memory.update(first.id, { text: "a", idempotencyKey: "k" }),
      () => memory.batch([{ write: { type: "note", text: "a" } }], { idempotencyKey: "k" }),
    ];
    for (const call of others) {
      expect(await refusalOf(memory, call)).toMatchObject({
        code: "ERR_IDEMPOTENCY",
        details: { field: "idempotencyKey", seq: first.seq },
      });
    }
  });

  test("retries at the same moment write once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const input = { type: "note", text: "a", idempotencyKey: "k" } as const;
    const results = await Promise.all(Array.from({ length: 10 }, () => memory.write(input)));
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect((await memory.stats()).entries).toBe(2);
  });

  test("a key that failed may be used again", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const input = { type: "note", text: "a", corrects: "x", idempotencyKey: "k" } as const;
    expect((await refusalOf(memory, () => memory.write(input))).code).toBe("ERR_NOT_FOUND");
    await memory.write({ type: "note", text: "x", externalId: "x" });
    expect((await memory.write(input)).version).toBe(1);
  });

  test("keys outlive the process, and what was forgotten stays forgotten", async () => {
    await using store = await openTestStore({ backend: "lmdb" });
    const input = { type: "fact", text: "secret", idempotencyKey: "k" } as const;
    const first = await store.memory.write(input);
    const memory = await store.reopen();
    expect(await memory.write(input)).toEqual(first);
    await memory.forget(first.id, "asked");
    const again = await (await store.reopen()).write(input);
    expect(again).toMatchObject({ id: first.id, uri: first.uri, version: 1, seq: first.seq });
    expect(await store.memory.get(first.id)).toBeUndefined();
    const other = await refusalOf(store.memory, () =>
      store.memory.write({ ...input, text: "other" }),
    );
    expect(other.code).toBe("ERR_IDEMPOTENCY");
  });
});

describe("batch", () => {
  const items: readonly BatchItem[] = [
    { write: { type: "note", text: "one" }, ref: "one" },
    { write: { type: "fact", text: "two" }, ref: "two" },
    { link: { from: { ref: "one" }, kind: "my kind", to: { ref: "two" } } },
    { link: { from: { ref: "one" }, kind: "my kind", to: { ref: "two" } } },
    { link: { from: "x", kind: "uses", to: { ref: "one" } } },
    { update: { id: "x", text: "x2" } },
    { write: { type: "fact", text: "TWO." } },
  ];

  test("a retry returns every result of the first call, links and all", async () => {
    await using store = await openTestStore({ backend: "lmdb" });
    await store.memory.write({ type: "note", text: "x", externalId: "x" });
    const first = await store.memory.batch(items, { idempotencyKey: "k" });
    expect(first.results.every(({ ok }) => ok)).toBe(true);
    const memory = await store.reopen();
    const { seq } = await memory.stats();
    const again = await memory.batch(items, { idempotencyKey: "k" });
    expect(again.results).toEqual(first.results);
    expect((await memory.stats()).seq).toBe(seq);
    const shorter = items.slice(0, 5);
    expect(
      await refusalOf(memory, () => memory.batch(shorter, { idempotencyKey: "k" })),
    ).toMatchObject({ code: "ERR_IDEMPOTENCY" });
  });

  test("a batch of one", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const one = [{ write: { type: "note", text: "n" } }] as const;
    const first = await memory.batch(one, { idempotencyKey: "k" });
    expect((await memory.batch(one, { idempotencyKey: "k" })).results).toEqual(first.results);
    expect((await memory.stats()).entries).toBe(2);
  });

  test("best effort: what failed fails again, and is not done behind the caller's back", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.write({ type: "note", text: "x", externalId: "x" });
    const mixed: readonly BatchItem[] = [
      { write: { type: "note", text: "taken", externalId: "x" } },
      { write: { type: "note", text: "good" } },
      { update: { id: "later", text: "u" } },
      { write: { type: "nothing" as never, text: "t" } },
      { link: { from: "x", kind: "uses", to: "x" } },
      { write: { type: "note", text: "also good" } },
    ];
    const options = { atomic: false, idempotencyKey: "k" };
    const first = await memory.batch(mixed, options);
    const codes = (results: typeof first.results) =>
      results.map((result) => (result.ok ? result.id : result.error.code));
    const expected = codes(first.results);
    expect(expected.filter((code) => code.startsWith("ERR_"))).toEqual([
      "ERR_EXISTS",
      "ERR_NOT_FOUND",
      "ERR_UNKNOWN_TYPE",
      "ERR_SELF_EDGE",
    ]);
    const { seq } = await memory.stats();
    expect(codes((await memory.batch(mixed, options)).results)).toEqual(expected);
    expect((await memory.stats()).seq).toBe(seq);
    await memory.write({ type: "note", text: "now it is there", externalId: "later" });
    const third = codes((await memory.batch(mixed, options)).results);
    expect(third[1]).toBe(expected[1]);
    expect(third[2]).toBe("ERR_IDEMPOTENCY");
    expect((await memory.get("later"))?.text).toBe("now it is there");
  });

  test("items have keys of their own, shared with the single verbs", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const write = { type: "note", text: "n", idempotencyKey: "item" } as const;
    const { results } = await memory.batch([
      { write: { type: "note", text: "first" } },
      { write },
      { write: { type: "note", text: "last" } },
    ]);
    const [, item] = results;
    expect(await memory.write(write)).toEqual({ ...item, ok: undefined } as never);
    const again = await memory.batch([{ write }, { write: { type: "note", text: "more" } }]);
    expect(again.results[0]).toEqual(item);
    expect((await memory.stats()).entries).toBe(5);
    const error = await refusalOf(memory, () =>
      memory.batch([{ write: { ...write, text: "other" } }]),
    );
    expect(error).toMatchObject({
      code: "ERR_IDEMPOTENCY",
      details: { field: "items[0].idempotencyKey" },
    });
  });

  test("what no record holds is refused by its name, with a key and without", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "a fact" });
    const patches: readonly (readonly [object, string])[] = [
      [{ data: { object: { deep: [1e300] } } }, "data.object.deep[0]"],
      [{ object: { n: 2 ** 53 } }, "object.n"],
      [{ metadata: { text: "\ud800" } }, "metadata.text"],
    ];
    for (const [patch, field] of patches) {
      const write = { type: "fact", text: "another fact", ...patch } as WriteInput;
      for (const key of [{}, { idempotencyKey: `k ${field}` }]) {
        const error = await refusalOf(memory, () => memory.update(id, { ...patch, ...key }));
        const said = [error.details.field, error.message.startsWith(`${field}: `)];
        expect(said).toEqual([field, true]);
        for (const item of [{ update: { id, ...patch } }, { write }]) {
          const one = await refusalOf(memory, () => memory.batch([item], key));
          expect(one.details.field).toBe(`items[0].${field}`);
        }
      }
    }
  });

  test("what no record holds leaves the other items of a batch standing, and again when it is repeated", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const [at, metadata] of [{ n: 2 ** 53 }, { b: -1e300, a: "\ud800" }].entries()) {
      const bad = { write: { type: "note", text: "bad", metadata } } as const;
      const items = [bad, { write: { type: "note", text: `good ${at}` } }] as const;
      const plain = await memory.batch(items, { atomic: false });
      expect(plain.results).toMatchObject([
        {
          ok: false,
          error: { details: { field: expect.stringMatching(/^items\[0\]\.metadata/) } },
        },
        { ok: true },
      ]);
      const key = { atomic: false, idempotencyKey: `k${at}` } as const;
      const first = await memory.batch(items, key);
      expect(first.results.map(({ ok }) => ok)).toEqual([false, true]);
      // The order of members makes no other request, but another number does.
      const turned = Object.fromEntries(Object.entries(metadata).reverse());
      const same = [{ write: { metadata: turned, text: "bad", type: "note" } }, items[1]] as const;
      expect((await memory.batch(same, key)).seq).toBe(first.seq);
      const other = [{ write: { ...bad.write, metadata: { n: 2 ** 54 } } }, items[1]] as const;
      const error = await refusalOf(memory, () => memory.batch(other, key));
      expect(error.code).toBe("ERR_IDEMPOTENCY");
    }
  });

  test("one key cannot stand for two things at once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const write = { type: "note", text: "n", idempotencyKey: "item" } as const;
    const both = await refusalOf(memory, () => memory.batch([{ write }], { idempotencyKey: "k" }));
    expect(both.code).toBe("ERR_INVALID");
    const twice = await refusalOf(memory, () => memory.batch([{ write }, { write }]));
    expect(twice.code).toBe("ERR_IDEMPOTENCY");
  });
});

describe("refused", () => {
  for (const [name, key, code] of [
    ["an empty key", "", "ERR_INVALID"],
    ["a blank key", "  ", "ERR_INVALID"],
    ["a key that is no text", 5, "ERR_INVALID"],
    ["a long key", "k".repeat(257), "ERR_TOO_LARGE"],
    ["a lone surrogate", "\ud800", "ERR_ILL_FORMED"],
  ] as const) {
    test(name, async () => {
      await using store = await openTestStore();
      const { memory } = store;
      const idempotencyKey = key as string;
      const note = { type: "note", text: "n" } as const;
      for (const call of [
        () => memory.write({ ...note, idempotencyKey }),
        () => memory.update("x", { text: "n", idempotencyKey }),
        () => memory.batch([{ write: note }], { idempotencyKey }),
      ]) {
        expect(await refusalOf(memory, call)).toMatchObject({
          code,
          details: { field: "idempotencyKey" },
        });
      }
    });
  }
});

describe("who uses a key", () => {
  const lowered = (text: string): Access => loweredTo(text, OWNER) ?? OWNER;
  const others: { readonly [who: string]: Access } = {
    "an agent": throughDoor("mcp", "mcp:test"),
    "an agent without a name": throughDoor("mcp"),
    "an agent under the owner's name": lowered("agent ada"),
    "a page that a token passes on": lowered("document"),
  };
  const idempotencyKey = "k";
  const calls: { readonly [verb: string]: (m: Cortex, access: Access) => Promise<unknown> } = {
    write: (m, access) => m.write({ type: "fact", text: "x", idempotencyKey }, { access }),
    batch: (m, access) =>
      m.batch([{ write: { type: "event", text: "x" } }], { idempotencyKey, access }),
    update: (m, access) => m.update("mine", { text: "x", idempotencyKey }, { access }),
    updateHead: (m, access) => m.updateHead("mine", { importance: 1, idempotencyKey }, { access }),
    snapshot: (m, access) => m.snapshot("x", { idempotencyKey, access }),
    addEdge: (m, access) => m.addEdge("mine", "relates", "theirs", { idempotencyKey, access }),
  };

  test.each(Object.keys(others))("%s has keys of its own", async (who) => {
    const access = others[who] ?? OWNER;
    for (const [verb, call] of Object.entries(calls)) {
      for (const [first, second] of [
        [OWNER, access],
        [access, OWNER],
      ] as const) {
        await using store = await openTestStore({ actor: "ada" });
        const { memory } = store;
        for (const externalId of ["mine", "theirs"]) {
          await memory.write({ type: "fact", text: externalId, externalId, source: "channel" });
        }
        await call(memory, first);
        // What the other one asks under the same word is another request, not one that is refused.
        const own = { type: "event", text: "y", idempotencyKey } as const;
        await memory.write(own, { access: second });
        const { seq } = await memory.stats();
        await call(memory, first);
        await memory.write(own, { access: second });
        expect([verb, (await memory.stats()).seq]).toEqual([verb, seq]);
      }
    }
  });

  test("what an agent wrote first is not the answer to the owner", async () => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const said = { type: "preference", text: "Likes tea", idempotencyKey } as const;
    await memory.write(said, { access: throughDoor("mcp", "mcp:test") });
    const { id } = await memory.write(said);
    expect((await memory.get(id))?.head).toMatchObject({ source: "user_input" });
  });
});
