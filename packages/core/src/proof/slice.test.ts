/**
 * A slice is verified whole: whatever of the document is changed, added, left out, doubled or moved is
 * refused and named. The tampering is generated from the document itself, so a new member is covered
 * from its first day.
 */
import { describe, expect, test } from "vitest";
import { filled, forgeries, LIFECYCLES } from "../../test/forgeries.js";
import { openTestStore } from "../testing/index.js";
import { verifySlice } from "../verify.js";

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
    const other = await store.memory.share({ types: ["note"] });
    const passed: string[] = [];
    const unnamed: string[] = [];
    let tried = 0;
    for (const { name, document } of forgeries(slice, other)) {
      tried += 1;
      const result = verifySlice(document, slice.checkpoint);
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
