/** Proving on the facade and checking with the verifier: what is shown, to whom, and for how long. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { signerOf } from "../codec/node-crypto.js";
import { toBase64 } from "../codec/text.js";
import type { Cortex } from "../cortex.js";
import type { Proof } from "../journal/proof.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { type Access, GUEST } from "../scope/access.js";
import { issueScope } from "../scope/scope.js";
import { countingKv } from "../testing/counting-kv.js";
import { seededRandom } from "../testing/seeded-random.js";
import { edgeKeyOf, proofPath, type Verified, verify, verifyCheckpoint } from "../verify.js";

const NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

function fresh(seed = 1, actor = "ada"): Promise<Cortex> {
  let now = 1_767_225_600_000;
  return open("memory:", { actor, clock: () => (now += 3), random: seededRandom(seed).bytes });
}

/** What a proof shows, which must hold against the store's own checkpoint. */
async function shown(memory: Cortex, proof: Proof): Promise<Verified> {
  const { checkpoint } = await memory.checkpoint();
  const result = verify(proof, checkpoint);
  if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
  expect(result).toMatchObject({ anchored: true, anchoredBy: "checkpoint" });
  return result;
}

describe("memories", () => {
  test("are shown as get shows them, for every type and shape of data", async () => {
    await using memory = await fresh();
    const path = new URL("../../test/vectors/forms.json", import.meta.url);
    const all = JSON.parse(readFileSync(path, "utf8")) as {
      type: "fact";
      text?: string;
      data?: object;
    }[];
    // Turns, which the vectors give in a form of their own, come with `remember`.
    const forms = all.filter(({ text, data }) => text !== undefined || data !== undefined);
    expect(forms.length).toBeGreaterThan(80);
    const ids: string[] = [];
    for (const [at, { type, text, data }] of forms.entries()) {
      const input = { type, externalId: `x${at}`, ...(text === undefined ? {} : { text }) };
      const given = data === undefined ? {} : { data };
      const { id } = await memory.write({ ...input, ...given } as Parameters<Cortex["write"]>[0]);
      ids.push(id);
    }
    const said = { role: "user", speaker: "Ada", content: "hello" } as const;
    await memory.remember([said, { ...said, content: "" }], { session: "s" });
    ids.push(...(await memory.list({ session: "s" })).memories.map(({ id }) => id));
    const { memories } = await shown(memory, await memory.prove(ids));
    expect(memories).toHaveLength(new Set(ids).size);
    expect(new Set(memories.map(({ type }) => type)).size).toBeGreaterThan(8);
    for (const { id, type, version, text, data } of memories) {
      const got = await memory.get(id);
      expect({ id, type, version, text, data }).toEqual({
        id: got?.id,
        type: got?.type,
        version: got?.version,
        text: got?.text,
        data: got?.data,
      });
    }
  });

  test("carry their whole head, and their time when the entry is shown too", async () => {
    await using memory = await fresh();
    const made = await memory.write({
      type: "preference",
      text: "Ada likes window seats",
      tags: ["travel", "seats"],
      importance: 8,
      visibility: "public",
      externalId: "pref-1",
      source: "agent",
      frames: [{ verb: "find", object: "service", ref: "flights" }],
    });
    await memory.updateHead(made.id, { importance: 9, freshnessAt: 1_767_225_600_000 });
    const got = await memory.get(made.id);
    const proof = await memory.prove({ memories: ["pref-1"], seqs: [got?.seq ?? 0] });
    const { memories, entries } = await shown(memory, proof);
    const { version: _, ...head } = got?.head ?? { version: 0 };
    expect(memories[0]).toMatchObject({ id: made.id, seq: got?.seq, head });
    expect(entries).toMatchObject([{ seq: got?.seq, kind: "update_head", by: "ada" }]);
    const bare = await shown(memory, await memory.prove([made.id]));
    expect(bare.memories[0]?.seq).toBeUndefined();
  });

  test("are shown with their version when only the head changed, tombstoned ones too", async () => {
    await using memory = await fresh();
    const { id } = await memory.write({ type: "fact", text: "one" });
    await memory.update(id, { text: "two" });
    await memory.updateHead(id, { tags: ["a"] });
    await memory.tombstone(id, "wrong");
    const { memories } = await shown(memory, await memory.prove([id]));
    expect(memories).toMatchObject([
      {
        status: "present",
        version: 2,
        text: "two",
        head: { lifecycle: "tombstoned", tags: ["a"], tombstone: { reason: "wrong", by: "ada" } },
      },
    ]);
  });

  test("are shown with the version they are at after a revert and in a conflict", async () => {
    await using memory = await fresh();
    const { id } = await memory.write({ type: "fact", text: "one" });
    const showsCurrent = async (): Promise<void> => {
      const { memories } = await shown(memory, await memory.prove([id]));
      const got = await memory.get(id);
      expect(memories).toMatchObject([{ text: got?.text, version: got?.version }]);
      expect(memories[0]?.head?.siblings).toEqual(got?.head.siblings);
    };
    const { seq } = await memory.update(id, { text: "two" });
    await memory.revert(seq);
    await showsCurrent();
    await memory.updateHead(id, { importance: 3 });
    await showsCurrent();
    await memory.configure({ conflictPolicy: "manual" });
    await memory.update(id, { text: "rival", basedOnVersion: 2 });
    await showsCurrent();
    await memory.tombstone(id, "unsettled");
    await showsCurrent();
  });

  test("that are absent or forgotten are proved as such", async () => {
    await using memory = await fresh();
    const nothing = await shown(memory, await memory.prove([NOBODY]));
    expect(nothing.memories).toEqual([{ id: NOBODY, status: "absent" }]);
    const ids: string[] = [];
    for (let i = 0; i < 9; i += 1) {
      ids.push((await memory.write({ type: "fact", text: `fact ${i}` })).id);
    }
    const [gone = ""] = ids;
    await memory.forget(gone, "asked");
    const { memories } = await shown(memory, await memory.prove([...ids, NOBODY, gone]));
    expect(memories.map(({ status }) => status).toSorted()).toEqual([
      "absent",
      "erased",
      ...Array<string>(8).fill("present"),
    ]);
    expect(memories.find(({ id }) => id === gone)).toEqual({
      id: gone,
      status: "erased",
      type: "fact",
    });
  });

  test("have a way to the root that can be seen: every hash follows from the two before", async () => {
    await using memory = await fresh(5);
    const ids: string[] = [];
    for (let at = 0; at < 40; at++) {
      ids.push((await memory.write({ type: "note", kind: "k", text: `note ${at}` })).id);
    }
    const { root } = await memory.root();
    const proof = await memory.prove([...ids.slice(0, 5), NOBODY]);
    for (const id of ids.slice(0, 5)) {
      const way = proofPath(JSON.stringify(proof), id);
      expect(way?.root).toBe(root);
      expect(way?.steps.length).toBeGreaterThan(1);
      expect(way?.steps.at(-1)?.hash).toBe(way?.memories);
      // Each step names two hashes of 32 bytes, and no two memories share a leaf.
      for (const { other, hash } of way?.steps ?? [])
        expect(other + hash).toMatch(/^[0-9a-f]{128}$/);
    }
    expect(new Set(ids.slice(0, 5).map((id) => proofPath(proof, id)?.leaf)).size).toBe(5);
    expect(proofPath(proof, ids[9] ?? "")).toBeUndefined();
    expect(proofPath(proof, NOBODY)).toBeUndefined();
    expect(proofPath("no proof", ids[0] ?? "")).toBeUndefined();
  });

  test("pinned to a version that is gone are refused; so are unknown names, and a proof of nothing", async () => {
    await using memory = await fresh();
    const made = await memory.write({ type: "fact", text: "one" });
    await shown(memory, await memory.prove([made.uri]));
    await memory.update(made.id, { text: "two" });
    await expect(memory.prove([made.uri])).rejects.toMatchObject({ code: "ERR_CONFLICT" });
    await expect(memory.prove(["no-such-name"])).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    await expect(memory.prove([])).rejects.toMatchObject({
      code: "ERR_INVALID",
      details: { field: "memories, edges, seqs, since" },
    });
  });
});

describe("edges", () => {
  test("are shown by ends and by id; removed ones with why, missing ones as absent", async () => {
    await using memory = await fresh();
    const [a, b, c] = await Promise.all(
      ["a", "b", "c"].map((text) => memory.write({ type: "fact", text })),
    ).then((made) => made.map(({ id }) => id) as string[] as [string, string, string]);
    const built = await memory.link(a, "supports", b, {
      reason: "because",
      weight: 0.5,
      strength: 3,
      ordinal: 4,
      metadata: { page: 7 },
    });
    const own = await memory.link(a, "my own kind", c);
    await memory.link(c, "supports", b);
    await memory.removeEdge(c, "supports", b, { reason: "no longer" });
    const proof = await memory.prove({
      edges: [
        built.id,
        own.id,
        { from: a, kind: "supports", to: b },
        { from: a, kind: "My own  kind", to: c },
        { from: c, kind: "Supports", to: b },
        { from: b, kind: "supports", to: a },
        { from: a, kind: "never used", to: b },
        { from: a, kind: "supports", to: NOBODY },
      ],
      seqs: [built.seq],
    });
    const { edges } = await shown(memory, proof);
    const byKey = new Map(edges.map((edge) => [edge.key, edge]));
    expect(edges).toHaveLength(6);
    const { createdAt: _, createdBy: __, ...record } = built.edge;
    expect(byKey.get(edgeKeyOf({ from: a, kind: "supports", to: b }) ?? "")).toMatchObject(record);
    expect(byKey.get(edgeKeyOf({ from: a, kind: "my own kind", to: c }) ?? "")).toMatchObject({
      status: "present",
      id: own.id,
      kind: "my_own_kind",
    });
    expect(edgeKeyOf({ from: a, kind: "my_own_kind", to: c })).toBe(
      edgeKeyOf({ from: a, kind: "My own  kind", to: c }),
    );
    expect(byKey.get(edgeKeyOf({ from: c, kind: "supports", to: b }) ?? "")).toMatchObject({
      status: "present",
      tombstone: { reason: "no longer", by: "ada" },
    });
    const key = edgeKeyOf({ from: b, kind: "supports", to: a }) ?? "";
    expect(byKey.get(key)).toEqual({ key, status: "absent", from: b });
    expect(edges.filter(({ status }) => status === "absent")).toHaveLength(3);
    await expect(memory.prove({ edges: [NOBODY] })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
  });

  test("that keep their kind as it was given are found by it", async () => {
    await using memory = await fresh();
    const a = await memory.write({ type: "fact", text: "a" });
    const b = await memory.write({ type: "fact", text: "b" });
    const ends = { from: a.id, kind: "My Kind", to: b.id };
    const loose = await memory.addEdge(ends.from, ends.kind, ends.to, { loose: {} });
    const { n = 0 } = loose.edge;
    const { edges } = await shown(memory, await memory.prove({ edges: [{ ...ends, n }] }));
    const key = edgeKeyOf({ ...ends, n, exact: true });
    expect(edges).toMatchObject([{ key, status: "present", id: loose.id, kind: "My Kind" }]);
  });

  test("of a forgotten memory are absent afterwards", async () => {
    await using memory = await fresh();
    const [a, b] = [
      await memory.write({ type: "fact", text: "a" }),
      await memory.write({ type: "fact", text: "b" }),
    ];
    await memory.link(a.id, "supports", b.id);
    await memory.forget(b.id, "asked");
    const edge = { from: a.id, kind: "supports", to: b.id };
    const { edges } = await shown(memory, await memory.prove({ edges: [edge] }));
    expect(edges).toMatchObject([{ status: "absent", from: a.id }]);
  });
});

describe("entries and older checkpoints", () => {
  test("every entry is shown, and outside the journal there is none", async () => {
    await using memory = await fresh();
    for (let i = 0; i < 20; i += 1) await memory.write({ type: "fact", text: `fact ${i}` });
    const seqs = Array.from({ length: 21 }, (_, i) => i);
    const { entries } = await shown(memory, await memory.prove({ seqs: [...seqs, 3, 3] }));
    const { entries: logged } = await memory.log({ limit: 50 });
    expect(entries).toEqual(
      logged.map((entry) => ({
        ...entry,
        parts: entry.parts.map(({ erased: _, ...part }) => part),
      })),
    );
    for (const seq of [21, -1, 0.5]) {
      await expect(memory.prove({ seqs: [seq] })).rejects.toMatchObject({ code: "ERR_AS_OF" });
    }
  });

  test("since: every older checkpoint of many sizes is extended; old proofs stay good", async () => {
    await using memory = await fresh();
    const old: { checkpoint: string; proof: Proof; text: string }[] = [];
    const { id } = await memory.write({ type: "fact", text: "version 0" });
    for (let i = 1; i <= 40; i += 1) {
      const { checkpoint } = await memory.checkpoint();
      old.push({ checkpoint, proof: await memory.prove([id]), text: `version ${i - 1}` });
      await memory.update(id, { text: `version ${i}` });
    }
    await memory.forget(id, "asked");
    for (const { checkpoint, proof, text } of old) {
      const then = verify(proof, checkpoint);
      expect(then).toMatchObject({ ok: true, anchored: true, memories: [{ text }] });
      const now = await memory.prove([id], { since: checkpoint });
      expect(verify(now, checkpoint)).toMatchObject({
        ok: true,
        anchored: true,
        anchoredBy: "consistency",
        memories: [{ id, status: "erased" }],
      });
      expect(verify(await memory.prove([id]), checkpoint)).toMatchObject({
        ok: false,
        anchored: false,
        code: "ERR_CHECKPOINT_STALE",
      });
      const link = await memory.prove({}, { since: checkpoint });
      const current = (await memory.checkpoint()).checkpoint;
      expect(verifyCheckpoint(current, checkpoint, link)).toMatchObject({ anchored: true });
      expect(verifyCheckpoint(current, checkpoint)).toMatchObject({ code: "ERR_CHECKPOINT_STALE" });
      expect(verifyCheckpoint(checkpoint, current, link)).toMatchObject({ ok: false });
    }
  });

  test("since: another store's, a forked one and one ahead of the store are named", async () => {
    await using memory = await fresh(1);
    await using twin = await fresh(1);
    await using stranger = await fresh(2);
    await twin.write({ type: "fact", text: "another history" });
    await twin.write({ type: "fact", text: "and longer" });
    await memory.write({ type: "fact", text: "one" });
    const since = async (other: Cortex) => ({ since: (await other.checkpoint()).checkpoint });
    await expect(memory.prove([NOBODY], await since(stranger))).rejects.toMatchObject({
      code: "ERR_CHECKPOINT_STALE",
    });
    await expect(memory.prove([NOBODY], await since(twin))).rejects.toMatchObject({
      code: "ERR_ROLLED_BACK",
    });
    await memory.write({ type: "fact", text: "two" });
    await expect(memory.prove([NOBODY], await since(twin))).rejects.toMatchObject({
      code: "ERR_FORK",
    });
    await expect(memory.prove([NOBODY], { since: "x" })).rejects.toMatchObject({
      code: "ERR_CHECKPOINT_MALFORMED",
    });
  });
});

/** The access of a scope that shows public memories alone, and grants proofs. */
async function provingAccess(memory: Cortex): Promise<Access> {
  const signer = signerOf(new Uint8Array(32).fill(7));
  const trustedIssuers = [toBase64(signer.publicKey)];
  await memory.configure({ trustedIssuers });
  const include = { tags: ["nobody has it"] };
  const terms = { actor: "ada", include, issuedAt: 0, expiresAt: 1e14, grantedTo: "bearer:b" };
  return memory.scopeAccess(await issueScope({ ...terms, proofs: true }, signer));
}

describe("who may prove what", () => {
  test("a scope that grants proofs proves what it shows; anything else is not found, without a difference", async () => {
    await using memory = await fresh();
    const open1 = await memory.write({ type: "fact", text: "public", visibility: "public" });
    const open2 = await memory.write({ type: "fact", text: "public too", visibility: "public" });
    const secret = await memory.write({ type: "fact", text: "private" });
    const gone = await memory.write({ type: "fact", text: "gone", visibility: "public" });
    await memory.link(open1.id, "supports", open2.id);
    const hidden = await memory.link(open1.id, "supports", secret.id);
    await memory.forget(gone.id, "asked");
    await expect(memory.prove([open1.id], { access: GUEST })).rejects.toMatchObject({
      code: "ERR_DENIED",
    });
    const options = { access: await provingAccess(memory) };
    const edges = [{ from: open1.id, kind: "supports", to: open2.id }];
    const proof = await memory.prove({ memories: [open1.id], edges }, options);
    const result = await shown(memory, proof);
    expect(result.memories).toMatchObject([{ text: "public" }]);
    expect(result.edges).toMatchObject([{ status: "present" }]);
    const missing = { code: "ERR_NOT_FOUND" };
    for (const id of [secret.id, gone.id, NOBODY]) {
      const error = await memory.prove([open1.id, id], options).catch((thrown: Error) => thrown);
      expect(error).toMatchObject(missing);
      expect((error as Error).message).toBe(`memory ${id} was not found`);
    }
    const askedEdges = [
      [hidden.id],
      [{ from: open1.id, kind: "supports", to: secret.id }],
      [{ from: open2.id, kind: "supports", to: open1.id }],
    ];
    for (const asked of askedEdges) {
      await expect(memory.prove({ edges: asked }, options)).rejects.toMatchObject(missing);
    }
    await expect(memory.prove({ seqs: [0] }, options)).rejects.toMatchObject({
      code: "ERR_DENIED",
    });
  });

  test.each([
    ["nothing at all", []],
    ["no object", "x"],
    ["a number for a reference", [7]],
    ["a bad edge", { edges: [{ from: NOBODY }] }],
    ["a negative n", { edges: [{ from: NOBODY, kind: "x", to: NOBODY, n: -1 }] }],
  ])("refuses %s", async (_, what) => {
    await using memory = await fresh();
    await expect(memory.prove(what as never)).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_(INVALID|BAD_ID|EDGE_KIND)$/) as string,
    });
  });
});

describe("share", () => {
  test("gives the memories that match all of it, with a proof a delegate can check", async () => {
    await using memory = await fresh();
    for (let i = 0; i < 30; i += 1) {
      await memory.write({
        type: i % 2 === 0 ? "fact" : "note",
        text: `number ${i}`,
        tags: i % 3 === 0 ? ["third", "x"] : ["x"],
      });
    }
    const slice = await memory.share({ types: ["fact"], tags: ["x", "third"], limit: 3 });
    expect(slice.memories.map(({ text }) => text)).toEqual(["number 24", "number 18", "number 12"]);
    const result = verify(slice.proof, slice.checkpoint);
    expect(result).toMatchObject({ ok: true, anchored: true, checkpoint: { size: slice.seq + 1 } });
    const texts = result.ok ? result.memories.map(({ text }) => text) : [];
    expect(texts.toSorted()).toEqual(["number 12", "number 18", "number 24"]);
    const ids = slice.memories.map(({ id }) => id);
    const again = await memory.share({ ids, tags: ["third"] });
    expect(again.memories.map(({ id }) => id)).toEqual(ids);
    expect((await memory.share({ ids, types: ["goal"] })).memories).toEqual([]);
    await memory.remember([{ role: "user", content: "hello" }], { session: "s1" });
    expect((await memory.share({ session: "s1" })).memories).toMatchObject([{ text: "hello" }]);
  });
});

test("a proof is one snapshot and a handful of batches, however much is asked", async () => {
  const kv = countingKv(openMemoryKv());
  await using memory = await open("memory:", { actor: "ada", kv });
  const made = await memory.batch(
    Array.from({ length: 200 }, (_, i) => ({
      write: { type: "note" as const, text: `note ${i}` },
    })),
  );
  const ids = (await memory.list({ limit: 300 })).memories.map(({ id }) => id);
  expect(made.seq).toBe(200);
  await memory.link(ids[0] ?? "", "supports", ids[1] ?? "");
  const edges = [{ from: ids[0] ?? "", kind: "supports", to: ids[1] ?? "" }];
  kv.reset();
  await memory.prove({ memories: ids, edges, seqs: [0, 5, 9] });
  expect(kv.counts()).toMatchObject({ snapshots: 1, openSnapshots: 0, commits: 0 });
  expect(kv.counts().batches).toBeLessThanOrEqual(8);
});
