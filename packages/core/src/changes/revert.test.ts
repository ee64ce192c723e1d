/** Undoing an entry: everything has the leaf it had, and what was undone stays where it can be found. */
import { describe, expect, test } from "vitest";
import type { Kv } from "../kv/kv.js";
import { open } from "../open.js";
import { openTestStore, refusalOf, type TestStore } from "../testing/index.js";
import { changedLeaves, type Leaves, leavesOf } from "../testing/leaves.js";
import { hashEmbedder } from "../vector/embedder.js";
import { verify } from "../verify.js";

/** A store whose leaves can be looked at. */
async function opened(): Promise<TestStore & { leaves(): Promise<Leaves> }> {
  let own: Kv | undefined;
  const store = await openTestStore({
    wrap: (kv) => {
      own = kv;
      return kv;
    },
  });
  return Object.assign(store, {
    leaves: async (): Promise<Leaves> => {
      if (own === undefined) throw new Error("the store is not open");
      return leavesOf(own);
    },
  });
}

describe("an update that is undone", () => {
  test("gives back the leaf, the version and its URI; the undone one keeps its own", async () => {
    await using store = await opened();
    const { memory } = store;
    const first = await memory.write({ type: "fact", text: "one", by: "bob" });
    const [was, leaves] = [await memory.get(first.id), await store.leaves()];
    const second = await memory.update(first.id, { text: "two", by: "cy" });
    expect(changedLeaves(leaves, await store.leaves())).toHaveLength(1);
    const undone = await memory.revert(second.seq, { by: "dee" });
    expect(undone).toMatchObject({ reverted: second.seq, memories: [first.id], edges: 0 });
    const after = await store.leaves();
    expect([changedLeaves(leaves, after), after.memories]).toEqual([[], leaves.memories]);
    const now = await memory.get(first.id);
    expect(now?.head.updatedAt).toBeGreaterThan(was?.head.updatedAt ?? Number.NaN);
    const { seq, head } = now ?? {};
    expect(now).toEqual({ ...was, seq, head: { ...was?.head, updatedAt: head?.updatedAt } });
    expect(now?.versionRecord).toMatchObject({ number: 1, createdBy: "bob", seq: first.seq });
    expect((await memory.resolve(second.uri))?.text).toBe("two");
    expect((await memory.resolve(first.uri))?.text).toBe("one");
    const { changes } = await memory.changes(second.seq);
    expect(changes).toMatchObject([
      { kind: "revert", by: "dee", memories: [{ version: 1, text: "one" }] },
    ]);
  });

  test("numbers are not given twice, and history says what was undone", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id, uri } = await memory.write({ type: "fact", text: "one" });
    const second = await memory.update(id, { text: "two" });
    await memory.revert(second.seq);
    const stale = () => memory.update(id, { text: "three", basedOnVersion: 2 });
    expect((await refusalOf(memory, stale)).code).toBe("ERR_CONFLICT");
    const third = await memory.update(id, { text: "three", basedOnVersion: 1 });
    expect(third.version).toBe(3);
    await memory.updateHead(id, { importance: 7 });
    const brief = (await memory.history(id))?.map(
      ({ version, current, undone, versionRecord }) => ({
        version,
        current,
        undone,
        supersedes: versionRecord.supersedes,
      }),
    );
    expect(brief).toEqual([
      { version: 3, current: true, undone: undefined, supersedes: [1] },
      { version: 2, current: false, undone: true, supersedes: [1] },
      { version: 1, current: false, undone: undefined, supersedes: [] },
    ]);
    expect((await memory.resolve(second.uri))?.text).toBe("two");
    const used = { intentId: "t", outcome: "success" } as const;
    const beyond = `${uri.split("#")[0]}#4`;
    const attested = await memory.attest({ ...used, cited: [second.uri, beyond] });
    expect(attested).toMatchObject({ affected: [id], skipped: [beyond] });
    expect((await memory.revert(third.seq + 1)).memories).toEqual([id]);
    expect(await memory.get(id)).toMatchObject({ version: 3, head: { importance: 5 } });
    await memory.revert((await memory.stats()).seq);
    expect(await memory.get(id)).toMatchObject({ version: 3, head: { importance: 7 } });
  });

  test("is redone by undoing the undo, leaf by leaf", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id, seq: birth } = await memory.write({ type: "fact", text: "one" });
    const { seq } = await memory.update(id, { text: "two" });
    const leaves = await store.leaves();
    const undone = await memory.revert(seq);
    const back = await memory.revert(undone.seq);
    expect(changedLeaves(leaves, await store.leaves())).toEqual([]);
    expect(await memory.get(id)).toMatchObject({ text: "two", version: 2 });
    expect((await memory.history(id))?.map((item) => item.undone)).toEqual([undefined, undefined]);
    expect((await memory.update(id, { text: "three" })).version).toBe(3);
    const early = await refusalOf(memory, () => memory.revert(back.seq));
    expect([early.code, early.details.seq]).toEqual(["ERR_CONFLICT", back.seq + 1]);
    expect((await refusalOf(memory, () => memory.revert(birth))).code).toBe("ERR_CONFLICT");
  });

  test("within one millisecond, by the same principal, is read the same way", async () => {
    await using store = await openTestStore({ stepMs: 0 });
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "one" });
    const was = await memory.get(id);
    const { seq } = await memory.update(id, { text: "two" });
    const undone = await memory.revert(seq);
    expect(await memory.get(id)).toEqual({ ...was, seq: undone.seq });
    expect((await memory.search("one")).hits.map((hit) => hit.id)).toEqual([id]);
  });
});

describe("reading around an undo", () => {
  test("the past is what it was, for reads, for search and for time in the world", async () => {
    await using store = await opened();
    const { memory, clock } = store;
    const { id, seq: born } = await memory.write({ type: "fact", text: "amber lamp", tags: ["a"] });
    // A part of the head alone is what the undo gives back.
    const { seq: tagged } = await memory.updateHead(id, { tags: ["b"] });
    clock.advance(1000);
    const { seq: changed } = await memory.update(id, { text: "violet lamp" });
    clock.advance(1000);
    const { seq: undone } = await memory.revert(changed);
    clock.advance(1000);
    const { seq: later } = await memory.update(id, { text: "green lamp" });
    const expected = [
      { asOf: born, text: "amber lamp", version: 1, tag: "a" },
      { asOf: tagged, text: "amber lamp", version: 1, tag: "b" },
      { asOf: changed, text: "violet lamp", version: 2, tag: "b" },
      { asOf: undone, text: "amber lamp", version: 1, tag: "b" },
      { asOf: later, text: "green lamp", version: 3, tag: "b" },
    ];
    for (const { asOf, text, version, tag } of expected) {
      const found = await memory.get(id, { asOf });
      expect(found).toMatchObject({ text, version, head: { tags: [tag] } });
      for (const word of ["amber", "violet", "green"]) {
        const { hits } = await memory.search(word, { asOf });
        expect([asOf, word, hits.length]).toEqual([asOf, word, text.startsWith(word) ? 1 : 0]);
      }
      const { memories } = await memory.list({ tag, asOf });
      expect(memories.map((one) => one.text)).toEqual([text]);
    }
    // While it stood it was the truth of its time; once undone it never was.
    const during = clock.last() - 1500;
    const texts = async (asOf: number): Promise<readonly (string | undefined)[]> => [
      (await memory.get(id, { validAt: during, asOf }))?.text,
      (await memory.list({ tag: "b", validAt: during, asOf })).memories[0]?.text,
      (await memory.find({ tags: ["b"], validAt: during, asOf, limit: 1 })).hits[0]?.text,
    ];
    expect(await texts(changed)).toEqual(Array(3).fill("violet lamp"));
    expect(await texts(undone)).toEqual(Array(3).fill("amber lamp"));
    expect(await texts(later)).toEqual(Array(3).fill("amber lamp"));
  });

  test("what pins a memory is read off the version that is back", async () => {
    await using store = await opened();
    const { memory } = store;
    const rule = await memory.write({
      type: "constraint",
      text: "No flights",
      data: { strength: "hard" },
    });
    const pinned = async () => (await memory.context({})).pinned.length;
    await memory.updateHead(rule.id, { tags: ["t"] });
    const { seq } = await memory.update(rule.id, {
      text: "Few flights",
      data: { strength: "soft" },
    });
    expect(await pinned()).toBe(0);
    await memory.revert(seq);
    expect(await pinned()).toBe(1);
  });

  test("a proof of a head that is back shows its version where it was written", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "one" });
    const headOnly = await memory.updateHead(id, { importance: 6 });
    const { createdAt } = (await memory.get(id))?.head ?? {};
    const shown = async (seqs: readonly number[]) => {
      const proof = await memory.prove({ memories: [id], seqs });
      const answer = verify(proof, (await memory.checkpoint()).checkpoint);
      expect([answer.ok, answer.anchored]).toEqual([true, true]);
      return answer.ok ? answer.memories[0] : undefined;
    };
    const undone = await memory.revert((await memory.update(id, { text: "two" })).seq);
    expect(await shown([headOnly.seq, undone.seq])).toMatchObject({
      text: "one",
      version: 1,
      seq: undone.seq,
      head: { importance: 6, createdAt },
    });
    await memory.revert(undone.seq);
    expect(await shown([])).toMatchObject({ text: "two", version: 2, head: { importance: 6 } });
  });

  test("the whole part that is carried again is shown once, with its first time", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id, seq: born } = await memory.write({ type: "fact", text: "one" });
    const { createdAt } = (await memory.get(id))?.head ?? {};
    const undone = await memory.revert((await memory.update(id, { text: "two" })).seq);
    const at = (await memory.log({ from: undone.seq })).entries[0]?.at;
    for (const seqs of [[undone.seq], [born, undone.seq]]) {
      const proof = await memory.prove({ memories: [id], seqs });
      expect(verify(proof)).toMatchObject({
        ok: true,
        memories: [{ version: 1, seq: undone.seq, head: { createdAt, updatedAt: at } }],
      });
    }
  });
});

describe("edges and births", () => {
  test("an edge has the leaf it had, with the time and the principal of its making", async () => {
    await using store = await opened();
    const { memory } = store;
    const [a, b] = [
      await memory.write({ type: "note", text: "a" }),
      await memory.write({ type: "note", text: "b" }),
    ];
    await memory.link(a.id, "supports", b.id, { reason: "said so", by: "bob" });
    const [was, leaves] = [await memory.getEdge(a.id, "supports", b.id), await store.leaves()];
    const removed = await memory.removeEdge(a.id, "supports", b.id, { reason: "no" });
    const undone = await memory.revert(removed.seq, { by: "cy" });
    const after = await store.leaves();
    expect([changedLeaves(leaves, after), after.edges]).toEqual([[], leaves.edges]);
    expect(await memory.getEdge(a.id, "supports", b.id)).toEqual({ ...was, seq: undone.seq });
    expect(was?.createdBy).toBe("bob");
    expect((await memory.edgesOut(a.id)).edges).toHaveLength(1);
    expect((await memory.edgesOut(a.id, { asOf: removed.seq })).edges).toEqual([]);
    await memory.revert(undone.seq);
    expect((await memory.getEdge(a.id, "supports", b.id))?.tombstone?.reason).toBe("no");
  });

  test("a birth is hidden, and comes back as it was", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id, seq } = await memory.write({ type: "fact", text: "one", slot: "home" });
    const leaves = await store.leaves();
    const undone = await memory.revert(seq);
    expect((await memory.get(id))?.head.tombstone?.reason).toBe(`reverted entry ${seq}`);
    await memory.revert(undone.seq);
    expect(changedLeaves(leaves, await store.leaves())).toEqual([]);
    expect((await memory.list({ slot: "home" })).memories.map((one) => one.id)).toEqual([id]);
  });

  test("nothing comes back into a slot that has another value by now", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "Lyon", slot: "home" });
    const { seq } = await memory.tombstone(id, "unsure");
    const other = await memory.write({ type: "fact", text: "Porto", slot: "home" });
    const refusal = await refusalOf(memory, () => memory.revert(seq));
    expect([refusal.code, refusal.details.subject]).toEqual(["ERR_CONFLICT", other.id]);
  });

  test("what was forgotten cannot be undone", async () => {
    await using store = await opened();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "one" });
    const { seq } = await memory.update(id, { text: "two" });
    const undone = await memory.revert(seq);
    await memory.forget(id, "asked");
    for (const entry of [seq, undone.seq, undone.seq + 1]) {
      const refusal = await refusalOf(memory, () => memory.revert(entry));
      expect([entry, refusal.code]).toEqual([entry, "ERR_ERASED"]);
    }
  });
});

test("vectors follow the version that is back", async () => {
  const embedder = hashEmbedder({ dimensions: 16 });
  await using memory = await open("memory:", { actor: "ada", embedder });
  const { id } = await memory.write({ type: "fact", text: "amber lamp" });
  await memory.embedPending();
  const { seq } = await memory.update(id, { text: "violet carpet" });
  await memory.embedPending();
  const distance = async (): Promise<number | undefined> =>
    (await memory.find({ near: { text: "amber lamp" }, limit: 1 })).hits[0]?.distance;
  expect(await distance()).toBeGreaterThan(0.1);
  await memory.revert(seq);
  await memory.embedPending();
  expect(await distance()).toBeCloseTo(0, 5);
});
