/**
 * Near, through the worker, the rows and the index: it equals looking at every text by hand, follows
 * every change, and shows nothing that is hidden, forgotten or not accepted.
 */
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { memoryId } from "../src/engine/engine.js";
import { Reader } from "../src/history/reader.js";
import { isCortexError } from "../src/index.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import type { OpenedGraph } from "../src/open.js";
import { seededRandom } from "../src/testing/seeded-random.js";
import { cleanUp } from "./other-process.js";
import { graphWith, type Hit, idOf, nearByHand, nearText, wordEmbedder } from "./vector-support.js";

afterEach(cleanUp);

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_304);

async function codeOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "none";
  } catch (error) {
    if (!isCortexError(error)) throw error;
    return error.code;
  }
}

async function write(graph: OpenedGraph, text: string): Promise<string> {
  return (await graph.memory.write({ type: "note", text })).id;
}

const WORDS = "red green blue boat house river moon coffee bread train night garden".split(" ");

const sentence = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 5 });
const at = fc.nat(50);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("write" as const), text: sentence }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("update" as const), text: sentence, at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tombstone" as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restore" as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("forget" as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("embed" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("ask" as const), text: sentence }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A store beside a plain list of what it should hold. */
class Play {
  readonly graph: OpenedGraph;
  readonly #texts = new Map<string, string>();
  readonly #hidden = new Map<string, string>();

  constructor(graph: OpenedGraph) {
    this.graph = graph;
  }

  async step(one: Step): Promise<void> {
    const { memory } = this.graph;
    switch (one.do) {
      case "write": {
        const text = one.text.join(" ");
        this.#texts.set(await write(this.graph, text), text);
        return;
      }
      case "embed":
        await memory.embedPending();
        return;
      case "ask":
        await memory.embedPending();
        return this.#ask(one.text.join(" "));
      default:
        return this.#change(one);
    }
  }

  async #change(one: Extract<Step, { readonly at: number }>): Promise<void> {
    const { memory } = this.graph;
    const from = one.do === "restore" ? this.#hidden : this.#texts;
    const [id, text] = [...from][one.at % Math.max(1, from.size)] ?? [];
    if (id === undefined || text === undefined) return;
    switch (one.do) {
      case "update":
        this.#texts.set(id, one.text.join(" "));
        await memory.update(id, { text: one.text.join(" ") });
        return;
      case "tombstone":
        this.#texts.delete(id);
        this.#hidden.set(id, text);
        await memory.tombstone(id, "gone");
        return;
      case "restore":
        this.#hidden.delete(id);
        this.#texts.set(id, text);
        await memory.restore(id);
        return;
      case "forget":
        this.#texts.delete(id);
        await memory.forget(id, "asked");
        return;
    }
  }

  async #ask(query: string): Promise<void> {
    const found = await nearText(this.graph, query, 5);
    const expected = await nearByHand(wordEmbedder(16), this.#texts, query, 5);
    const rounded = (hits: readonly Hit[]) => hits.map(({ distance }) => distance.toFixed(5));
    expect(rounded(found)).toEqual(rounded(expected));
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    for (const { id } of found) expect(this.#texts.has(id)).toBe(true);
  }
}

describe(`near (seed ${SEED})`, () => {
  test("equals looking at every text by hand, after any changes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const play = new Play(await graphWith(wordEmbedder(16)));
        for (const one of steps) await play.step(one);
        await play.step({ do: "ask", text: ["boat"] });
        await play.graph.memory.close();
      }),
      { seed: SEED, numRuns: 25 },
    );
  });

  test("ties are in the order of ids", async () => {
    const graph = await graphWith(wordEmbedder());
    const ids = [];
    for (let at = 0; at < 5; at += 1) ids.push(await write(graph, "the same words"));
    await graph.memory.embedPending();
    const found = await nearText(graph, "the same words", 3);
    expect(found.map(({ id }) => id)).toEqual(ids.toSorted().slice(0, 3));
    expect(found[0]?.distance).toBeCloseTo(0, 6);
  });

  test("also when many texts are equally far", async () => {
    const flat = {
      model: "flat@1",
      dimensions: 2,
      embed: async (texts: readonly string[]) => texts.map(() => Float32Array.of(1, 1)),
    };
    const graph = await graphWith(flat);
    const ids = [];
    for (let at = 0; at < 90; at += 1) ids.push(await write(graph, `text ${at}`));
    await graph.memory.embedPending();
    const found = await nearText(graph, "anything", 5);
    expect(found.map(({ id }) => id)).toEqual(ids.toSorted().slice(0, 5));
  });

  test("archived memories come only where the caller judges, hidden ones never", async () => {
    const graph = await graphWith(wordEmbedder());
    const { memory } = graph;
    const lyon = await memory.write({ type: "fact", slot: "home city", text: "lives in Lyon" });
    const porto = await memory.write({ type: "fact", slot: "home city", text: "lives in Porto" });
    const secret = await memory.write({ type: "fact", text: "lives in hiding" });
    await memory.embedPending();
    await memory.tombstone(secret.id, "never mind");
    const all = async (ids: readonly Uint8Array[]) => ids.map(() => true);
    const idsOf = async (accept?: typeof all) =>
      (await nearText(graph, "lives in", 9, accept)).map(({ id }) => id).sort();
    expect(await idsOf()).toEqual([porto.id]);
    expect(await idsOf(all)).toEqual([lyon.id, porto.id].sort());
    expect(await idsOf(async (ids) => ids.map((id) => memoryId(id) === lyon.id))).toEqual([
      lyon.id,
    ]);
  });

  test("a reader's own position counts, not what was loaded since", async () => {
    const graph = await graphWith(wordEmbedder());
    const { engine, memory } = graph;
    const first = await write(graph, "red boat");
    await memory.embedPending();
    const before = await Reader.with(engine.kv, undefined, async (reader) => {
      const second = await write(graph, "red boat again");
      await memory.embedPending();
      await nearText(graph, "red boat", 5);
      const vector = await engine.vectors.embedQuery("red boat");
      const found = await engine.vectors.near(reader, vector, 5);
      return { found: found.map(({ id }) => memoryId(id)), second };
    });
    expect(before.found).toEqual([first]);
    expect((await nearText(graph, "red boat", 5)).map(({ id }) => id)).toContain(before.second);
  });

  test("knows the present only, and says what a vector should be", async () => {
    const graph = await graphWith(wordEmbedder(8));
    const { engine } = graph;
    await write(graph, "red boat");
    const near = (asOf: number | undefined, vector: Float32Array) =>
      codeOf(() =>
        Reader.with(engine.kv, asOf, (reader) => engine.vectors.near(reader, vector, 1)),
      );
    expect(await near(0, new Float32Array(8).fill(1))).toBe("ERR_AS_OF");
    expect(await near(undefined, new Float32Array(7).fill(1))).toBe("ERR_INVALID");
    expect(await near(undefined, new Float32Array(8))).toBe("ERR_INVALID");
    expect(await near(undefined, new Float32Array(8).fill(Number.NaN))).toBe("ERR_INVALID");
    expect(await near(undefined, new Float32Array(8).fill(1))).toBe("none");
  });

  test("without an embedder says so, and vectors of before stay where they are", async () => {
    const kv = openMemoryKv();
    const graph = await graphWith(undefined, kv);
    const { engine, memory } = graph;
    expect(engine.vectors.isConfigured).toBe(false);
    expect(await codeOf(() => nearText(graph, "x", 1))).toBe("ERR_NO_EMBEDDER");
    expect(await codeOf(() => memory.embedPending())).toBe("ERR_NO_EMBEDDER");
    await expect(memory.embedPending()).rejects.toThrow(/open\(\) an embedder/);
    expect(await engine.vectors.status()).toBeUndefined();
    const { id } = await memory.write({ type: "note", text: "x" });
    const vector = await Reader.with(kv, undefined, (reader) =>
      engine.vectors.vectorOf(reader, idOf(id)),
    );
    expect(vector).toBeUndefined();
  });

  test("gives the vector of a memory, and asks for a question's vector once", async () => {
    const embedder = wordEmbedder();
    const graph = await graphWith(embedder);
    const id = await write(graph, "red boat");
    const vectorOf = () =>
      Reader.with(graph.engine.kv, undefined, (reader) =>
        graph.engine.vectors.vectorOf(reader, idOf(id)),
      );
    expect(await vectorOf()).toBeUndefined();
    await graph.memory.embedPending();
    expect(await vectorOf()).toEqual(await graph.engine.vectors.embedQuery("red boat"));
    const before = embedder.asked.length;
    for (let at = 0; at < 64; at += 1) await graph.engine.vectors.embedQuery(`question ${at}`);
    for (let at = 0; at < 64; at += 1) await graph.engine.vectors.embedQuery(`question ${at}`);
    expect(embedder.asked.length - before).toBe(64);
    await graph.engine.vectors.embedQuery("red boat");
    expect(embedder.asked.length - before).toBe(65);
  });
});

describe(`near among many (seed ${SEED})`, () => {
  const COUNT = 9000;

  async function withMany(): Promise<{
    readonly graph: OpenedGraph;
    readonly texts: ReadonlyMap<string, string>;
    readonly near: Near;
  }> {
    const random = seededRandom(SEED);
    const graph = await graphWith(wordEmbedder(24));
    const texts = new Map<string, string>();
    for (let at = 0; at < COUNT; at += 1000) {
      const batch = Array.from({ length: 1000 }, (_, n) => {
        const words = Array.from({ length: 4 }, () => random.pick(WORDS));
        return `${words.join(" ")} ${at + n}`;
      });
      const { results } = await graph.memory.batch(
        batch.map((text) => ({ write: { type: "note" as const, text } })),
      );
      for (const [n, result] of results.entries()) {
        if (result.ok && "id" in result) texts.set(result.id, batch[n] ?? "");
      }
    }
    await graph.memory.embedPending();
    const { vectors } = graph.engine;
    const near: Near = (query, k, accept) =>
      Reader.with(graph.engine.kv, undefined, async (reader) => {
        const found = await vectors.near(reader, await vectors.embedQuery(query), k, accept);
        return found.map(({ id, distance }) => ({ id: memoryId(id), distance }));
      });
    return { graph, texts, near };
  }

  type Near = (
    query: string,
    k: number,
    accept?: (ids: readonly Uint8Array[]) => Promise<readonly boolean[]>,
  ) => Promise<readonly { readonly id: string; readonly distance: number }[]>;

  test("finds nearly what looking at every text finds, also behind a filter and after changes", async () => {
    const made = await withMany();
    const queries = WORDS.slice(0, 2);
    let hits = 0;
    for (const query of queries) {
      const exact = await nearByHand(wordEmbedder(24), made.texts, `${query} night`, 10);
      const found = await made.near(`${query} night`, 10);
      const known = new Map(exact.map(({ id, distance }) => [id, distance]));
      hits += found.filter(({ id, distance }) => known.get(id) === distance).length;
      expect(found.map(({ distance }) => distance)).toEqual(
        found.map(({ distance }) => distance).toSorted((a, b) => a - b),
      );
    }
    expect(hits / (10 * queries.length)).toBeGreaterThanOrEqual(0.97);
    // A filter that lets three through finds the three, and changes are followed.
    const { graph, texts, near } = made;
    const far = await nearByHand(wordEmbedder(24), texts, "moon river", texts.size);
    const three = far.slice(-3).map(({ id }) => id);
    const only = async (ids: readonly Uint8Array[]) =>
      ids.map((id) => three.includes(memoryId(id)));
    expect((await near("moon river", 10, only)).map(({ id }) => id)).toEqual(three);
    const [first = "", second = "", third = ""] = three;
    await graph.memory.forget(first, "asked");
    await graph.memory.update(second, { text: "moon river" });
    await graph.memory.tombstone(third, "asked");
    await graph.memory.embedPending();
    expect((await near("moon river", 10, only)).map(({ id }) => id)).toEqual([second]);
    expect((await near("moon river", 1))[0]).toMatchObject({ id: second });
  });
});
