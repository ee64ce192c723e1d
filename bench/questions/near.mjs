/**
 * How quickly, and how well, does the store answer by meaning? Vectors of 384 numbers in clusters, as
 * texts about the same things have them, inserted through the embedder's own pass: an embedder inside
 * the process makes each vector from its text, so no model is measured.
 *
 * A question is a snapshot, the search, and the look at every memory that comes out of it. Its recall
 * is counted against the plain way, every vector compared, in the same run. Beside it stand the time of that
 * plain way over the same rows in memory, and what embedding and loading cost.
 */
import { rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ulidText } from "../../packages/core/dist/codec/ulid.js";
import { Reader } from "../../packages/core/dist/history/reader.js";
import { openGraph } from "../../packages/core/dist/open.js";
import { distance, Nearest, unitVector } from "../../packages/core/dist/vector/distance.js";
import { processorMs, timeMs } from "../lib/clock.mjs";
import { callRows, engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { seededNumbers } from "../lib/workload.mjs";

const NEAR_MEMORIES = 100_000;
const DIMENSIONS = 384;
const PER_CLUSTER = 100;
/** How far texts lie around the middle of their cluster, in each direction. */
const SPREAD = 0.05;
const K = 10;
const QUESTIONS = 200;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, NEAR_MEMORIES);
  const path = join(settings.folder, "near");
  await mkdir(path, { recursive: true });
  const space = clusteredSpace(settings.seed, Math.ceil(memories / PER_CLUSTER));
  const embedder = space.embedder();
  const about = { question: "near", sync: NO_SYNC, memories };
  const first = await openGraph(path, { embedder });
  const texts = new Map();
  try {
    settings.progress(`near: writing ${memories}`);
    await fill(first.memory, memories, settings.batchItems, texts);
    settings.progress("near: embedding");
    const embedMs = await timeMs(() => first.memory.embedPending());
    settings.progress("near: loading");
    const questions = Math.min(QUESTIONS, settings.reads);
    const loadMs = await timeMs(() => ask(first.engine, space.question(0)));
    const vectors = Array.from({ length: memories }, (_, at) => space.vector(at));
    const plain = await timeEach(asked(space, 1, 5), async (query) => nearestOf(vectors, query));
    const runs = [];
    const recalls = [];
    const busy = [];
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`near: run ${run + 1} of ${settings.runs}`);
      const queries = asked(space, 10 + run * questions, questions);
      const found = /** @type {(readonly string[])[]} */ ([]);
      const busyBefore = processorMs();
      const times = await timeEach(queries, async (query) => {
        found.push(await ask(first.engine, query));
      });
      busy.push((processorMs() - busyBefore) / queries.length);
      runs.push(times);
      recalls.push(recallOf(found, queries, vectors, texts));
    }
    const rows = callRows(about, `the ${K} nearest`, runs);
    const once = (/** @type {string} */ what, /** @type {number} */ ms) =>
      engineRow(about, what, "ms", [ms]);
    return {
      rows: [
        ...rows,
        engineRow(about, `the ${K} nearest, by processor time`, "ms", busy),
        engineRow(about, `recall of the ${K} nearest`, "%", recalls),
        { ...callRows(about, `the ${K} nearest`, [plain])[0], store: "every vector compared" },
        engineRow(about, "embedding", "memories/s", [(1000 * memories) / embedMs]),
        once("first question, vectors loaded", loadMs),
      ],
      figures: {
        nearMs: { value: rows[0].value, memories },
        nearRecall: { value: Math.min(...recalls), memories },
      },
      notes: [],
    };
  } finally {
    await first.memory.close();
    rmSync(path, { recursive: true, force: true });
  }
}

/** @typedef {import("../../packages/core/dist/open.js").OpenedGraph["engine"]} Engine */
/** @typedef {ReturnType<typeof clusteredSpace>} Space */

/**
 * The ids nearest to a question.
 * @param {Engine} engine
 * @param {Float32Array} query
 * @returns {Promise<readonly string[]>}
 */
function ask(engine, query) {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const found = await engine.vectors.near(reader, query, K);
    if (found.length < K) throw new Error("a question found too little");
    return found.map(({ id }) => ulidText(id));
  });
}

/**
 * @param {Space} space
 * @param {number} from
 * @param {number} count
 */
function asked(space, from, count) {
  return Array.from({ length: count }, (_, at) => space.question(from + at));
}

/**
 * Writes one memory for each text of the space; `texts` gets the number of the text by id.
 * @param {import("@cortex-memory/core").Cortex} memory
 * @param {number} count
 * @param {number} batchItems
 * @param {Map<string, number>} texts
 */
async function fill(memory, count, batchItems, texts) {
  for (let done = 0; done < count; done += batchItems) {
    const items = Array.from({ length: Math.min(batchItems, count - done) }, (_, at) => ({
      write: /** @type {const} */ ({ type: "note", text: `text ${done + at}` }),
    }));
    const { results } = await memory.batch(items);
    for (const [at, result] of results.entries()) {
      if (!result.ok || !("uri" in result)) throw new Error("a memory was not written");
      texts.set(result.id, done + at);
    }
  }
}

/**
 * How many of the truly nearest were found, in per cent.
 * @param {readonly (readonly string[])[]} found ids, question by question
 * @param {readonly Float32Array[]} queries
 * @param {readonly Float32Array[]} vectors of the texts, by their numbers
 * @param {ReadonlyMap<string, number>} texts
 */
function recallOf(found, queries, vectors, texts) {
  let hits = 0;
  for (const [at, query] of queries.entries()) {
    const numbers = new Set(nearestOf(vectors, query));
    hits += (found[at] ?? []).filter((id) => numbers.has(texts.get(id) ?? -1)).length;
  }
  return (100 * hits) / (K * queries.length);
}

/**
 * The numbers of the nearest vectors, every one compared.
 * @param {readonly Float32Array[]} vectors
 * @param {Float32Array} query
 */
function nearestOf(vectors, query) {
  const nearest = new Nearest(K, vectors.length);
  for (const [number, vector] of vectors.entries()) nearest.offer(number, distance(query, vector));
  return [...nearest.inOrder()].map(({ slot }) => slot);
}

/**
 * Vectors around the middles of clusters; the same number gives the same vector.
 * @param {number} seed
 * @param {number} clusters
 */
function clusteredSpace(seed, clusters) {
  const gauss = (/** @type {(below: number) => number} */ next) => {
    const unit = () => (next(2 ** 31) + 1) / 2 ** 31;
    return Math.sqrt(-2 * Math.log(unit())) * Math.cos(2 * Math.PI * unit());
  };
  const unitOf = (/** @type {Float32Array} */ vector) => {
    const unit = unitVector(vector);
    if (unit === undefined) throw new Error("a vector without a direction");
    return unit;
  };
  const middles = Array.from({ length: clusters }, (_, at) => {
    const next = seededNumbers(seed + 1_000_003 * at);
    for (let skipped = 0; skipped < 32; skipped += 1) next(2);
    return unitOf(Float32Array.from({ length: DIMENSIONS }, () => gauss(next)));
  });
  const around = (/** @type {number} */ stream) => {
    const next = seededNumbers(seed + 7 + 13 * stream);
    // Streams of neighbouring seeds start alike.
    for (let at = 0; at < 32; at += 1) next(2);
    const middle = middles[next(clusters)] ?? new Float32Array(DIMENSIONS);
    return unitOf(middle.map((value) => value + SPREAD * gauss(next)));
  };
  const vector = (/** @type {number} */ number) => around(2 * number);
  return {
    vector,
    /** Near the texts, but none of them. */
    question: (/** @type {number} */ number) => around(2 * number + 1),
    /** An embedder that knows the vector of every text by its number. */
    embedder: () => ({
      model: `clusters@${seed}`,
      dimensions: DIMENSIONS,
      embed: async (/** @type {readonly string[]} */ texts) =>
        texts.map((text) => vector(Number(text.split(" ")[1]))),
    }),
  };
}
