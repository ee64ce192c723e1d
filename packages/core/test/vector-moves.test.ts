/**
 * Vectors outlive everything that is made again: rebuild, vacuum, upgrade, reopening. The embedder is
 * not asked again; what was forgotten does not come along, not even in freed pages or in files.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { vectorFiles } from "../src/embedding/vector-files.js";
import { memoryId } from "../src/engine/engine.js";
import { decodeHeadRow, encodeHeadRow } from "../src/history/head-row.js";
import { Reader } from "../src/history/reader.js";
import { open, upgrade } from "../src/index.js";
import { KEYSPACE } from "../src/kv/keyspace.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { type OpenedGraph, openKv } from "../src/open.js";
import { encodeVector } from "../src/records/vector-rows.js";
import { isLacking } from "../src/testing/lacking.js";
import { checkEmbedder } from "../src/vector/embedder.js";
import { type GraphMaker, loadUsearch } from "../src/vector/usearch-graph.js";
import type { VectorIndex } from "../src/vector/vector-index.js";
import { BACKENDS, emptyKv, headOf, put } from "./moves-support.js";
import { cleanUp, temporaryFolder, temporaryStore } from "./other-process.js";
import {
  graphWith,
  indexOver,
  nearText,
  readVectorRows,
  rowsUnder,
  wordEmbedder,
} from "./vector-support.js";

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

const maker = await loadUsearch();
const NO_GRAPHS = isLacking(maker !== undefined, "usearch has no binary for this machine");

describe.skipIf(NO_GRAPHS)("a kept graph", () => {
  const COUNT = 300;

  interface Kept {
    readonly graph: OpenedGraph;
    readonly folder: string;
    readonly ids: readonly string[];
    /** An index with a graph from the first vector on, and how many graphs it made or loaded. */
    index(): { readonly index: VectorIndex; readonly made: { created: number; loaded: number } };
  }

  async function keptGraph(): Promise<Kept> {
    if (maker === undefined) throw new Error("usearch is missing");
    const folder = temporaryFolder();
    const kv = await openLmdbKv(join(folder, "ada"), { relaxed: true });
    const graph = await graphWith(wordEmbedder(), kv);
    const ids = await fill(graph, COUNT);
    const index = () => {
      const made = { created: 0, loaded: 0 };
      const counting: GraphMaker = {
        create: (dimensions) => {
          made.created += 1;
          return maker.create(dimensions);
        },
        load: (dimensions, path) => {
          made.loaded += 1;
          return maker.load(dimensions, path);
        },
      };
      const files = vectorFiles(kv.manifest.cacheFolder ?? "");
      const parts = { graphs: async () => counting, files, exactUpTo: 10 };
      return { index: indexOver(graph, parts), made };
    };
    return { graph, folder: kv.manifest.cacheFolder ?? "", ids, index };
  }

  const nearIn = (kept: Kept, index: VectorIndex, query: string) =>
    Reader.with(kept.graph.engine.kv, undefined, async (reader) => {
      const found = await index.near(reader, await index.embedQuery(query), 5);
      return found.map(({ id, distance }) => ({ id: memoryId(id), distance }));
    });

  /** Grows a graph in an index of its own, which keeps it. */
  async function keep(kept: Kept): Promise<void> {
    const { index } = kept.index();
    await index.settle();
    await index.close();
    expect(
      readdirSync(kept.folder)
        .map((name) => name.replace(/^.*\./, "."))
        .sort(),
    ).toEqual([".graph", ".list"]);
  }

  test("is loaded by the next process, private, and extended by what came since", async () => {
    const kept = await keptGraph();
    await keep(kept);
    for (const name of readdirSync(kept.folder)) {
      expect(statSync(join(kept.folder, name)).mode & 0o077).toBe(0);
    }
    expect(statSync(kept.folder).mode & 0o077).toBe(0);
    const { memory } = kept.graph;
    const added = await memory.write({ type: "note", text: "an aardvark came later" });
    await memory.update(kept.ids[5] ?? "", { text: "this one was changed" });
    await memory.embedPending();
    const { index, made } = kept.index();
    expect(await nearIn(kept, index, "an aardvark came later")).toMatchObject([
      { id: added.id },
      {},
      {},
      {},
      {},
    ]);
    expect((await nearIn(kept, index, "this one was changed"))[0]?.id).toBe(kept.ids[5]);
    const plain = await nearText(kept.graph, "text number 5 of the 5 kind", 5);
    expect(await nearIn(kept, index, "text number 5 of the 5 kind")).toEqual(plain);
    expect(made).toEqual({ created: 0, loaded: 1 });
    expect((await index.status())?.loaded?.graphed).toBeGreaterThanOrEqual(COUNT);
  });

  test.each<[string, (files: { readonly list: string; readonly graph: string }) => void]>([
    [
      "the graph is cut short",
      ({ graph }) => writeFileSync(graph, readFileSync(graph).subarray(0, 999)),
    ],
    ["a byte of the graph is another", ({ graph }) => flip(graph)],
    ["a byte of the list is another", ({ list }) => flip(list)],
    ["the list is empty", ({ list }) => writeFileSync(list, "")],
    ["the list is another file", ({ list }) => writeFileSync(list, "x".repeat(5000))],
  ])("is grown anew when %s", async (_, damage) => {
    const kept = await keptGraph();
    await keep(kept);
    const [graph = "", list = ""] = readdirSync(kept.folder).sort((a, b) => b.length - a.length);
    damage({ graph: join(kept.folder, graph), list: join(kept.folder, list) });
    const { index, made } = kept.index();
    const plain = await nearText(kept.graph, "text number 5 of the 5 kind", 5);
    expect(await nearIn(kept, index, "text number 5 of the 5 kind")).toEqual(plain);
    await index.settle();
    expect(made).toEqual({ created: 1, loaded: 0 });
  });

  test("of another store or model is not taken", async () => {
    const [one, other] = [await keptGraph(), await keptGraph()];
    await keep(one);
    // The other store has forgotten something, so it takes no graph that was begun before that.
    await other.graph.memory.forget(other.ids[0] ?? "", "asked");
    const found = await vectorFiles(one.folder).find({
      tag: other.graph.engine.vectors.tag ?? new Uint8Array(8),
      dimensions: 32,
      purged: 1,
    });
    expect(found).toBeUndefined();
    expect(readdirSync(one.folder)).toEqual([]);
  });

  test("does not outlive a forget, whoever forgets, and a vacuum leaves none", async () => {
    const kept = await keptGraph();
    const { memory, engine } = kept.graph;
    await keep(kept);
    // This index has the memory in its graph when another process forgets it.
    const { index, made } = kept.index();
    await index.settle();
    expect(made.loaded).toBe(1);
    await memory.forget(kept.ids[3] ?? "", "asked");
    expect(readdirSync(kept.folder)).toEqual([]);
    await memory.batch(
      texts(COUNT).map((text) => ({ write: { type: "note", text: `more ${text}` } })),
    );
    await memory.embedPending();
    await index.settle();
    await index.close();
    expect(readdirSync(kept.folder)).toEqual([]);
    // A new graph knows nothing of it and may be kept.
    await keep(kept);
    await memory.vacuum();
    expect(readdirSync(kept.folder)).toEqual([]);
    expect((await readVectorRows(engine.kv)).vectors).toBe(2 * COUNT - 1);
  });

  test("and the store's files hold no byte of a forgotten vector after a vacuum", async () => {
    const kept = await keptGraph();
    const { memory } = kept.graph;
    const { id } = await memory.write({ type: "note", text: "a very particular secret" });
    await memory.embedPending();
    await keep(kept);
    const [vector = new Float32Array(0)] = await checkEmbedder(wordEmbedder()).embed([
      "a very particular secret",
    ]);
    const store = join(kept.folder, "..");
    const holders = (): readonly string[] =>
      readdirSync(store, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => {
          const bytes = readFileSync(path);
          return (
            bytes.includes(Buffer.from(encodeVector(vector))) || bytes.includes(halves(vector))
          );
        });
    expect(holders()).toHaveLength(2);
    await memory.forget(id, "asked");
    await memory.vacuum();
    expect(holders()).toEqual([]);
    expect(existsSync(store)).toBe(true);
  });
});

function flip(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

/** The first numbers of a vector in 16 bits, as the graph keeps them: enough to recognise it. */
function halves(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(16);
  for (let at = 0; at < 8; at += 1) bytes.writeUInt16LE(half(vector[at] ?? 0), 2 * at);
  return bytes;
}

/** A number in 16 bits, rounded to the nearest; enough for those between 2^-14 and 1. */
function half(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0;
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  const mantissa = bits & 0x7fffff;
  const rounded = (exponent << 10) + (mantissa >>> 13);
  const rest = mantissa & 0x1fff;
  const up = rest > 0x1000 || (rest === 0x1000 && (rounded & 1) === 1) ? 1 : 0;
  return ((bits >>> 16) & 0x8000) | (rounded + up);
}
