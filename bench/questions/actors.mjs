/**
 * What does a memory cost in a database, when many actors have a few each, and when one has them all? The
 * unit costs of the plan in `docs/postgres.md`, and how they grow between its two ends. A server is started
 * in a folder of its own. With `--size N`: N/100 actors with 100 memories each, and one actor with N/100,
 * with N/10 and with N.
 *
 * Without a PostgreSQL server on the machine nothing is measured, and a note says so.
 */
import { open } from "@cortex-memory/core";
import pg from "pg";
import { timeMs } from "../lib/clock.mjs";
import { engineRow } from "../lib/passes.mjs";
import { startDatabase, whyNoDatabase } from "../lib/postgres-database.mjs";
import { asWrite, startWorkload, writeBatch } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 * @typedef {{ readonly actors: number, readonly each: number }} Shape
 * @typedef {Readonly<Record<"write" | "get" | "find" | "search" | "open", number[]>>} Times
 */

const FEW = 100;
/** Actors that are filled at the same time. */
const LANES = 8;
const SYNC = "synchronous_commit on";

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const why = whyNoDatabase();
  if (why !== undefined) return { rows: [], figures: {}, notes: [`actors: ${why}.`] };
  const memories = settings.quick ? 400 : settings.size;
  const alone = [memories / 100, memories / 10, memories].map((each) => Math.round(each));
  const shapes = [
    { actors: Math.max(1, Math.round(memories / FEW)), each: FEW },
    ...alone.map((each) => ({ actors: 1, each })),
  ];
  const rows = [];
  for (const shape of shapes) {
    settings.progress(`actors: ${shape.actors} with ${shape.each} memories`);
    rows.push(...(await measure(settings, shape)));
  }
  return { rows, figures: {}, notes: [] };
}

/**
 * Fills a server of its own, and asks some of the actors.
 * @param {Settings} settings
 * @param {Shape} shape
 */
async function measure(settings, shape) {
  const database = await startDatabase();
  const plain = new pg.Client({ connectionString: database.url });
  try {
    await plain.connect();
    const workload = startWorkload(settings.seed);
    const fillMs = await timeMs(() => fill(database.url, workload, shape));
    await plain.query("VACUUM ANALYZE");
    const sizes = await plain.query(`SELECT
      (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'cortex_rows'::regclass) AS rows,
      (SELECT count(*) FROM cortex_rows) AS count, pg_total_relation_size('cortex_heads') AS heads`);
    const times = await ask(database.url, workload, shape, settings.quick ? 3 : 100);
    return report(shape, { fillMs, size: sizes.rows[0], times });
  } finally {
    await plain.end();
    await database.stop();
  }
}

/**
 * @param {string} url
 * @param {ReturnType<typeof startWorkload>} workload
 * @param {Shape} shape
 */
async function fill(url, workload, { actors, each }) {
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < actors; at = next++) {
      const memory = await open(url, { actor: `actor-${at}` });
      for (let have = 0; have < each; have += 1000)
        await writeBatch(memory, workload.take(Math.min(1000, each - have)));
      await memory.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(LANES, actors) }, lane));
}

/**
 * One actor after another, far apart: opened, written to, read.
 * @param {string} url
 * @param {ReturnType<typeof startWorkload>} workload
 * @param {Shape} shape
 * @param {number} calls
 * @returns {Promise<Times>}
 */
async function ask(url, workload, { actors }, calls) {
  /** @type {Times} */
  const times = { open: [], write: [], get: [], find: [], search: [] };
  for (const [at, item] of workload.take(calls).entries()) {
    const words = item.text.split(" ").slice(0, 3).join(" ");
    const before = performance.now();
    const memory = await open(url, { actor: `actor-${(at * 7919) % actors}` });
    times.open.push(performance.now() - before);
    let id = "";
    times.write.push(
      await timeMs(async () => {
        ({ id } = await memory.write(asWrite(item)));
      }),
    );
    times.get.push(await timeMs(() => memory.get(id)));
    times.find.push(await timeMs(() => memory.find({ tags: [item.tag], limit: 10 })));
    times.search.push(await timeMs(() => memory.search(words, { limit: 10 })));
    await memory.close();
  }
  return times;
}

/**
 * @param {Shape} shape
 * @param {{ fillMs: number, size: { rows: string, count: string, heads: string }, times: Times }} found
 */
function report({ actors, each }, { fillMs, size, times }) {
  const memories = actors * each;
  const about = { question: "actors", sync: SYNC, memories };
  const who = `${actors} x ${each}`;
  const row = (
    /** @type {string} */ what,
    /** @type {string} */ unit,
    /** @type {number[]} */ runs,
  ) => engineRow(about, `${who}: ${what}`, unit, runs);
  return [
    row("table and index of a memory", "bytes", [Number(size.rows) / memories]),
    row("rows of a memory", "rows", [Number(size.count) / memories]),
    row("head row of an actor", "bytes", [Number(size.heads) / actors]),
    row("filling", "memories/s", [(memories * 1000) / fillMs]),
    ...Object.entries(times).map(([what, runs]) => row(what, "ms", runs)),
  ];
}
