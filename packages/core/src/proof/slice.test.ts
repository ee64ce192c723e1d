/**
 * A slice is verified whole: whatever of the document is changed, added, left out, doubled or moved is
 * refused and named. The tampering is generated from the document itself, so a new member is covered
 * from its first day.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { openTestStore } from "../testing/index.js";
import { verifySlice } from "../verify.js";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Memories that together have every member a memory can have. */
async function filled(memory: Cortex): Promise<readonly string[]> {
  const long = "a long text that no form holds whole ".repeat(40);
  const { id: plain, uri } = await memory.write({
    type: "fact",
    text: "Ada lives in Porto",
    tags: ["a", "b"],
    slot: "home city",
    externalId: "home",
    confidence: 0.5,
    validFrom: 1000,
    frames: [{ verb: "find", object: "agent", ref: "ada" }],
  });
  const { id: note } = await memory.write({
    type: "note",
    kind: "page",
    text: long,
    importance: 7,
    visibility: "scoped",
    metadata: { deep: { list: [1, "two", null], yes: true } },
    provenance: { derivedFrom: [uri], source: "document" },
    source: "document",
  });
  await memory.update(note, { text: `${long} again` });
  await memory.updateHead(note, { tags: ["later"] });
  const { id: gone } = await memory.write({ type: "note", text: "hidden since" });
  await memory.tombstone(gone, "a reason");
  const [turn] = (await memory.remember([{ role: "user", content: "hello" }], { session: "s" }))
    .turns;
  const { id: undone, seq } = await memory.write({ type: "note", text: "first words" });
  const changed = await memory.update(undone, { text: "second words" });
  await memory.revert(changed.seq);
  expect(seq).toBeGreaterThan(0);
  const later = 4_000_000_000_000;
  const { id: waiting } = await memory.write({
    type: "fact",
    text: "Ada lives in Lyon",
    slot: "home city",
    validFrom: later,
    validTo: later + 2,
    expiresAt: later + 3,
    freshnessAt: later + 1,
  });
  return [plain, note, gone, (turn as { id: string }).id, undone, waiting];
}

const LIFECYCLES = ["active", "archived", "tombstoned"] as const;

/** Every way to spoil a value at one place, each with what it is called. */
function* spoiled(value: Json, path: string): Generator<readonly [string, Json | undefined]> {
  yield [`${path} left out`, undefined];
  if (Array.isArray(value)) {
    yield [`${path} with an item more`, [...value, value[0] ?? "x"]];
    if (value.length > 1) yield [`${path} the other way round`, value.toReversed()];
    for (const [at, item] of value.entries()) {
      yield [`${path} without [${at}]`, value.toSpliced(at, 1)];
      for (const [name, other] of spoiled(item, `${path}[${at}]`)) {
        if (other !== undefined) yield [name, value.with(at, other)];
      }
    }
  } else if (typeof value === "object" && value !== null) {
    yield [`${path} with a member more`, { ...value, extra: 1 }];
    for (const [member, item] of Object.entries(value)) {
      for (const [name, other] of spoiled(item, `${path}.${member}`)) {
        const { [member]: _, ...rest } = value;
        yield [name, other === undefined ? rest : { ...rest, [member]: other }];
      }
    }
  } else if (typeof value === "string") {
    yield [`${path} changed`, `${value}x`];
    yield [`${path} emptied`, value === "" ? "x" : ""];
  } else if (typeof value === "number") {
    yield [`${path} one more`, value + 1];
    yield [`${path} as text`, String(value)];
  } else {
    yield [`${path} changed`, value !== true];
  }
}

describe("a slice", () => {
  test("holds as it was given, as an object and as JSON, with and without a trusted checkpoint", async () => {
    await using store = await openTestStore();
    const ids = await filled(store.memory);
    const slice = await store.memory.share({ ids, lifecycles: LIFECYCLES });
    expect(slice.memories).toHaveLength(ids.length);
    expect(verifySlice(slice)).toMatchObject({ ok: true, anchored: false });
    const text = JSON.stringify(slice);
    expect(verifySlice(text, slice.checkpoint)).toMatchObject({ ok: true, anchored: true });
    const none = await store.memory.share({ tags: ["nobody has it"] });
    expect(verifySlice(none)).toMatchObject({ ok: true, memories: [] });
  });

  test("holds for facts without a sentence, whose text is made of whatever their fields hold", async () => {
    await using store = await openTestStore();
    const objects = [["a", "b"], [], null, { b: [1], a: null }, 7, false, ""];
    for (const object of objects) {
      await store.memory.write({ type: "fact", data: { predicate: "has", object } });
    }
    const slice = await store.memory.share({ types: ["fact"] });
    expect(slice.memories).toHaveLength(objects.length);
    expect(verifySlice(slice)).toMatchObject({ ok: true });
  });

  test("is refused by name whatever of it is spoiled", async () => {
    await using store = await openTestStore();
    const ids = await filled(store.memory);
    const slice = await store.memory.share({ ids, lifecycles: LIFECYCLES });
    const document = JSON.parse(JSON.stringify(slice)) as Json;
    const passed: string[] = [];
    const unnamed: string[] = [];
    let tried = 0;
    for (const [name, other] of spoiled(document, "slice")) {
      if (other === undefined) continue;
      tried += 1;
      const result = verifySlice(other, slice.checkpoint);
      if (result.ok) passed.push(name);
      else if (!/^ERR_(PROOF|CHECKPOINT)_/.test(result.code)) unnamed.push(name);
    }
    expect(tried).toBeGreaterThan(300);
    expect([passed, unnamed]).toEqual([[], []]);
  });

  test("names the member that was changed", async () => {
    await using store = await openTestStore();
    await filled(store.memory);
    const slice = await store.memory.share({ types: ["fact"] });
    const [one] = slice.memories;
    const said = (memory: object, more: object = {}): string => {
      const result = verifySlice({ ...slice, memories: [memory], ...more });
      return result.ok ? "holds" : result.message;
    };
    expect(said({ ...one, text: "Ada lives in Lyon" })).toContain("memories[0].text");
    expect(said({ ...one, head: { ...one?.head, status: "confirmed" } })).toContain("head.status");
    expect(said({ ...one }, { seq: 0 })).toContain("seq");
    expect(said({ ...one }, { checkpoint: `${slice.checkpoint}\n` })).toContain("checkpoint");
    expect(said({ ...one }, { promise: "true" })).toContain("promise");
    const other = await store.memory.share({ types: ["note"] });
    const swapped = verifySlice({ ...slice, memories: other.memories.slice(0, 1) });
    expect(swapped).toMatchObject({ ok: false, code: "ERR_PROOF_INVALID" });
    const empty = await store.memory.share({ tags: ["nobody has it"] });
    const claimed = verifySlice({ ...empty, memories: slice.memories });
    expect(claimed).toMatchObject({ ok: false, code: "ERR_PROOF_INVALID" });
    const bare = await store.memory.prove([one?.id ?? ""]);
    const unproved = verifySlice({ ...slice, proof: bare });
    expect(unproved).toMatchObject({ ok: false, message: expect.stringContaining("entry") });
  });
});
