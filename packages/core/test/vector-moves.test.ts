/**
 * Vectors outlive everything that is made again: rebuild, vacuum, upgrade, reopening. The embedder is
 * not asked again; what was forgotten does not come along, not even in freed pages or in files.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { decodeHeadRow, encodeHeadRow } from "../src/history/head-row.js";
import { open, upgrade } from "../src/index.js";
import { KEYSPACE } from "../src/kv/keyspace.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { type OpenedGraph, openKv } from "../src/open.js";
import { encodeVector } from "../src/records/vector-rows.js";
import { checkEmbedder } from "../src/vector/embedder.js";
import { BACKENDS, emptyKv, headOf, put } from "./moves-support.js";
import { cleanUp, temporaryFolder, temporaryStore } from "./other-process.js";
import { graphWith, nearText, readVectorRows, rowsUnder, wordEmbedder } from "./vector-support.js";

afterEach(cleanUp);

const texts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `text number ${at} of the ${at % 7} kind`);

async function fill({ memory }: OpenedGraph, count: number): Promise<readonly string[]> {
  const { results } = await memory.batch(
    texts(count).map((text) => ({ write: { type: "note" as const, text } })),
  );
  await memory.embedPending();
  return results.map((result) => (result.ok && "id" in result ? String(result.id) : ""));
}

describe.each(BACKENDS)("on %s", (backend) => {
  test("rebuild and vacuum keep vectors and ask for none", async () => {
    const embedder = wordEmbedder();
    const kv = await emptyKv(backend);
    const graph = await graphWith(embedder, kv);
    const { memory } = graph;
    const [first = "", second = ""] = await fill(graph, 60);
    await memory.forget(first, "asked");
    await memory.update(second, { text: "something else" });
    await memory.embedPending();
    const before = await readVectorRows(kv);
    const near = await nearText(graph, "text number 33", 10);
    embedder.asked.length = 0;
    await memory.rebuild();
    expect(await readVectorRows(kv)).toEqual(before);
    await memory.vacuum();
    expect(await readVectorRows(kv)).toEqual(before);
    expect(await memory.embedPending()).toMatchObject({ texts: 0, lag: 0 });
    expect(await nearText(graph, "text number 33", 10)).toEqual(near);
    const again = await graphWith(embedder, kv, 2);
    expect(await nearText(again, "text number 33", 10)).toEqual(near);
    // The question, once for each process: nothing else was asked.
    expect(embedder.asked).toEqual(["text number 33"]);
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("vectors that a dead process left of a forgotten memory stay behind", async () => {
    for (const move of ["rebuild", "vacuum"] as const) {
      const kv = await emptyKv(backend);
      const graph = await graphWith(wordEmbedder(), kv);
      const [first = ""] = await fill(graph, 20);
      // Two memories that say the same: the one that stays keeps the vector.
      const twins = await Promise.all(
        [0, 1].map(() => graph.memory.write({ type: "note", text: "twins" })),
      );
      await graph.memory.embedPending();
      const prefixes = [
        KEYSPACE.vector,
        KEYSPACE.vectorMemory,
        KEYSPACE.vectorOwner,
        KEYSPACE.cursor,
      ];
      const kept = (await Promise.all(prefixes.map(({ byte }) => rowsUnder(kv, byte)))).flat();
      await graph.memory.forget(first, "asked");
      await graph.memory.forget(twins[0]?.id ?? "", "asked");
      expect((await readVectorRows(kv)).vectors).toBe(20);
      await put(kv, kept);
      expect((await readVectorRows(kv)).vectors).toBe(21);
      await graph.memory[move]();
      const { vectors, owners } = await readVectorRows(kv);
      expect(vectors, move).toBe(20);
      expect([...owners.values()].flat()).toHaveLength(20);
      expect([...owners.values()].flat()).not.toContain(first);
    }
  });
});

test("upgrade keeps vectors", async () => {
  const folder = temporaryStore();
  const embedder = wordEmbedder();
  const memory = await open(folder, { actor: "ada", embedder });
  for (const text of texts(20)) await memory.write({ type: "note", text });
  await memory.embedPending();
  await memory.close();
  const old = await openKv(folder, "ada", {});
  const before = await readVectorRows(old);
  await put(old, [], encodeHeadRow({ ...decodeHeadRow(await headOf(old)), foldVersion: 0 }));
  await old.close();
  const backup = join(temporaryFolder(), "before.cortex");
  expect(await upgrade(folder, { actor: "ada", backup })).toMatchObject({ needed: true });
  const kv = await openKv(folder, "ada", {});
  expect(await readVectorRows(kv)).toEqual(before);
  await kv.close();
  await using again = await open(folder, { actor: "ada", embedder });
  expect(await again.embedPending()).toMatchObject({ texts: 0, lag: 0 });
  expect(embedder.asked).toHaveLength(20);
});

test("the store's files hold no byte of a forgotten vector after a vacuum", async () => {
  const folder = join(temporaryFolder(), "store");
  const memory = await open(folder, { actor: "ada", embedder: wordEmbedder() });
  for (const text of texts(20)) await memory.write({ type: "note", text });
  const { id } = await memory.write({ type: "note", text: "a very particular secret" });
  await memory.embedPending();
  await memory.recall("a very particular secret");
  const [vector = new Float32Array(0)] = await checkEmbedder(wordEmbedder()).embed([
    "a very particular secret",
  ]);
  const holders = (): readonly string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path).includes(Buffer.from(encodeVector(vector))));
  expect(holders()).toHaveLength(1);
  await memory.forget(id, "asked");
  await memory.vacuum();
  expect(holders()).toEqual([]);
  await memory.close();
});

test("graphs that an earlier release kept beside a store go when it is opened to write", async () => {
  const folder = join(temporaryFolder(), "store");
  await (await open(folder, { actor: "ada" })).close();
  const caches = join(folder, "ada", "caches");
  mkdirSync(caches);
  writeFileSync(join(caches, "0123456789abcdef-0123456789abcdef.graph"), "vectors");
  const reading = await openLmdbKv(join(folder, "ada"), { readOnly: true });
  await reading.close();
  expect(readdirSync(caches)).toHaveLength(1);
  await (await open(folder, { actor: "ada" })).close();
  expect(existsSync(caches)).toBe(false);
});
