/**
 * What does the Postgres backend cost beside the same work done by hand? A server is started in a
 * folder of its own, with its usual settings and `synchronous_commit` on. Contests of writing start from a
 * store of `--base` memories, as those of the question `write` do: a process that has just started compiles
 * its code, which takes it three times as long. Each figure has its alternative in the same run, in turns with it: one insert of the rows that a batch wrote, a
 * transaction of one row, pgbench's simple update by as many clients, a select by primary key. Since
 * pgbench is a program in C that computes nothing, the same rows are also written by one Node process on
 * as many connections, one statement a write: what is left between the two is Node and its driver.
 *
 * Without a PostgreSQL server on the machine nothing is measured, and a note says so.
 */
import { open } from "@cortex-memory/core";
import pg from "pg";
import { median, timeMs } from "../lib/clock.mjs";
import { engineRow } from "../lib/passes.mjs";
import { startDatabase, whyNoDatabase } from "../lib/postgres-database.mjs";
import { asWrite, startWorkload, writeBatch } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 * @typedef {import("../lib/postgres-database.mjs").Database} Database
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {{ readonly ours: number[], readonly theirs: number[] }} Pair
 * @typedef {{ readonly memory: Cortex, readonly plain: import("pg").Client, readonly database: Database,
 *   readonly workload: ReturnType<typeof startWorkload>, readonly calls: number }} Bench
 */

const MEMORIES = 100_000;
const MEMORIES_QUICK = 300;
const ACTORS = 64;
/** Turns of our writers and pgbench's, and seconds that pgbench takes for one. */
const TURNS = 3;
const TURN_SECONDS = 4;
const SYNC = "synchronous_commit on";
/**
 * The rows that an actor's last commit wrote, as the server knows them: those of the transaction that wrote the last row of
 * the journal. The head row may have been taken since, by a change of caches.
 */
const newestOf = (/** @type {string} */ actor) => `SELECT key, value FROM cortex_rows
  WHERE actor = 'main/${actor}'
    AND xmin = (SELECT xmin FROM cortex_rows WHERE actor = 'main/${actor}' AND key < '\\x02' ORDER BY key DESC LIMIT 1)`;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const why = whyNoDatabase();
  if (why !== undefined) return { rows: [], figures: {}, notes: [`postgres: ${why}.`] };
  const database = await startDatabase();
  try {
    return await measure(settings, database);
  } finally {
    await database.stop();
  }
}

/**
 * @param {Settings} settings
 * @param {Database} database
 */
async function measure(settings, database) {
  const memories = settings.quick ? MEMORIES_QUICK : Math.min(MEMORIES, settings.size);
  const workload = startWorkload(settings.seed);
  const memory = await open(database.url, { actor: "ada" });
  const plain = new pg.Client({ connectionString: database.url });
  await plain.connect();
  await plain.query("CREATE TABLE plain_rows (id bigserial PRIMARY KEY, key bytea, value bytea)");
  const bench = { memory, plain, database, workload, calls: settings.quick ? 5 : 200 };
  settings.progress(`postgres: filling to ${settings.base}`);
  await fill(settings, bench, settings.base);
  const batch = await batches(settings, bench);
  const single = await singles(bench);
  settings.progress("postgres: 64 actors");
  const many = await manyActors(settings, bench);
  settings.progress(`postgres: filling to ${memories}`);
  const ids = await fill(settings, bench, memories);
  await plain.query("VACUUM ANALYZE");
  const get = await gets(bench, ids);
  const reads = await questions(bench);
  const bytes = await plain.query(
    "SELECT sum(pg_total_relation_size(inhrelid)) AS bytes FROM pg_inherits WHERE inhparent = 'cortex_rows'::regclass",
  );
  const entries = (await memory.root()).seq + 1;
  settings.progress("postgres: rebuild");
  const rebuild = (entries * 1000) / (await timeMs(() => memory.rebuild()));
  await plain.end();
  await memory.close();
  const perMemory = Number(bytes.rows[0].bytes) / (entries + many.writes);
  return report(memories, { batch, single, many, get, reads, perMemory, rebuild });
}

/**
 * A batch beside one insert of the rows that it wrote.
 * @param {Settings} settings
 * @param {Bench} bench
 * @returns {Promise<Pair>}
 */
async function batches({ rounds, batchItems }, { memory, plain, workload }) {
  const pair = /** @type {Pair} */ ({ ours: [], theirs: [] });
  for (let round = 0; round < rounds.batch; round += 1) {
    const items = workload.take(batchItems);
    pair.ours.push(await timeMs(() => writeBatch(memory, items)));
    const { rows } = await plain.query(newestOf("ada"));
    pair.theirs.push(await timeMs(() => insertRows(plain, rows)));
  }
  return pair;
}

/**
 * One statement and one transaction, as somebody would write it by hand.
 * @param {import("pg").Client} plain
 * @param {readonly { readonly key: Buffer, readonly value: Buffer }[]} rows
 */
async function insertRows(plain, rows) {
  await plain.query(
    "INSERT INTO plain_rows (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])",
    [rows.map(({ key }) => key), rows.map(({ value }) => value)],
  );
}

/**
 * An awaited write beside a transaction of one row.
 * @param {Bench} bench
 * @returns {Promise<Pair>}
 */
async function singles({ memory, plain, workload, calls }) {
  const row = { key: Buffer.alloc(17, 1), value: Buffer.alloc(600, 2) };
  const pair = /** @type {Pair} */ ({ ours: [], theirs: [] });
  for (const item of workload.take(calls)) {
    pair.ours.push(await timeMs(() => memory.write(asWrite(item))));
    pair.theirs.push(await timeMs(() => insertRows(plain, [row])));
  }
  return pair;
}

/**
 * Writers on as many actors beside pgbench's simple update with as many clients, in turns.
 * @param {Settings} settings
 * @param {Bench} bench
 */
async function manyActors(settings, { database, plain, workload, calls }) {
  const each = Math.max(2, calls >> 2);
  const memories = await Promise.all(
    Array.from({ length: ACTORS }, (_, at) =>
      open(`${database.url}?pool=80`, { actor: `actor-${at}` }),
    ),
  );
  const round = (/** @type {number} */ writes) => {
    const items = workload.take(ACTORS * writes);
    return timeMs(() =>
      Promise.all(
        memories.map(async (memory, at) => {
          for (const item of items.slice(at * writes, (at + 1) * writes))
            await memory.write(asWrite(item));
        }),
      ),
    );
  };
  // The first writes give birth to a store and open connections, as pgbench's first step fills its tables.
  const first = each >> 1;
  await round(first);
  await database.fillPgbench();
  const pair = /** @type {Pair} */ ({ ours: [], theirs: [] });
  for (let turn = 0; turn < TURNS; turn += 1) {
    pair.ours.push((ACTORS * each * 1000) / (await round(each)));
    pair.theirs.push(await database.pgbench(ACTORS, settings.quick ? 1 : TURN_SECONDS));
  }
  await Promise.all(memories.map((memory) => memory.close()));
  const inNode = await manyByHand(database, plain, each);
  return { ...pair, inNode, writes: ACTORS * (first + TURNS * each) };
}

/** A head that is compared and the rows behind it, in one statement and so in one transaction. */
const BY_HAND = `WITH head AS (
    UPDATE hand_heads SET head = $2 WHERE actor = $1 AND head = $3 RETURNING actor)
  INSERT INTO hand_rows (actor, key, value)
  SELECT head.actor, $2::bytea || row.key, row.value FROM head, unnest($4::bytea[], $5::bytea[]) AS row(key, value)`;

/**
 * The rows of one write, written by hand from one Node process over as many connections: writes a second.
 * @param {Database} database
 * @param {import("pg").Client} plain
 * @param {number} each
 */
async function manyByHand(database, plain, each) {
  const { rows } = await plain.query(newestOf(`actor-${ACTORS - 1}`));
  const keys = rows.map(({ key }) => key);
  const values = rows.map(({ value }) => value);
  await plain.query("CREATE TABLE hand_heads (actor text PRIMARY KEY, head bytea)");
  await plain.query(
    "CREATE TABLE hand_rows (actor text, key bytea, value bytea, PRIMARY KEY (actor, key))",
  );
  const numbered = (/** @type {number} */ at) => Buffer.from([at >> 8, at & 255]);
  const clients = await Promise.all(
    Array.from({ length: ACTORS }, async (_, at) => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      await client.query("INSERT INTO hand_heads VALUES ($1, $2)", [`actor-${at}`, numbered(0)]);
      return client;
    }),
  );
  const round = (/** @type {number} */ from, /** @type {number} */ to) =>
    Promise.all(
      clients.map(async (client, at) => {
        for (let n = from; n < to; n += 1) {
          const given = [`actor-${at}`, numbered(n), numbered(n - 1), keys, values];
          const { rowCount } = await client.query({ name: "write", text: BY_HAND, values: given });
          if (rowCount !== rows.length) throw new Error(`${rowCount} rows were written`);
        }
      }),
    );
  await round(1, each);
  const ms = await timeMs(() => round(each, 2 * each));
  await Promise.all(clients.map((client) => client.end()));
  return (ACTORS * each * 1000) / ms;
}

/**
 * Fills the store up to so many memories; gives some of their ids.
 * @param {Settings} settings
 * @param {Bench} bench
 * @param {number} memories
 */
async function fill({ batchItems }, { memory, workload }, memories) {
  const ids = /** @type {string[]} */ ([]);
  for (let have = (await memory.root()).seq; have < memories; have += batchItems) {
    ids.push(...(await writeBatch(memory, workload.take(batchItems))));
  }
  return ids.length > 0 ? ids : (await memory.list({ limit: 100 })).memories.map(({ id }) => id);
}

/**
 * A memory by its id beside a row by its primary key.
 * @param {Bench} bench
 * @param {readonly string[]} ids
 * @returns {Promise<Pair>}
 */
async function gets({ memory, plain, calls }, ids) {
  const pair = /** @type {Pair} */ ({ ours: [], theirs: [] });
  for (let at = 0; at < calls; at += 1) {
    const id = ids[(at * 7919) % ids.length] ?? "";
    pair.ours.push(await timeMs(() => memory.get(id)));
    const key = 1 + ((at * 7919) % 1000);
    pair.theirs.push(
      await timeMs(() => plain.query("SELECT * FROM plain_rows WHERE id = $1", [key])),
    );
  }
  return pair;
}

/**
 * Milliseconds of find, search and recall.
 * @param {Bench} bench
 */
async function questions({ memory, workload, calls }) {
  const times = { find: /** @type {number[]} */ ([]), search: [], recall: [] };
  for (const [at, { text, tag }] of workload.take(calls).entries()) {
    const words = text
      .split(" ")
      .slice(at % 5, (at % 5) + 3)
      .join(" ");
    times.find.push(await timeMs(() => memory.find({ tags: [tag], limit: 10 })));
    times.search.push(await timeMs(() => memory.search(words, { limit: 10 })));
    times.recall.push(await timeMs(() => memory.recall(words)));
  }
  return times;
}

/**
 * @param {number} memories
 * @param {{ batch: Pair, single: Pair, get: Pair, perMemory: number, rebuild: number,
 *   many: Pair & { inNode: number }, reads: Awaited<ReturnType<typeof questions>> }} found
 * @returns {import("../lib/settings.mjs").Answer}
 */
function report(memories, { batch, single, get, many, reads, perMemory, rebuild }) {
  const about = { question: "postgres", sync: SYNC, memories };
  const ms = (/** @type {string} */ what, /** @type {number[]} */ runs) =>
    engineRow(about, what, "ms", runs);
  const plain = (/** @type {string} */ what, /** @type {number[]} */ runs) => ({
    ...ms(what, runs),
    store: "by hand",
  });
  const figure = (/** @type {number} */ value) => ({ value, memories });
  return {
    rows: [
      ms("batch", batch.ours),
      plain("one insert of its rows", batch.theirs),
      ms("one awaited write", single.ours),
      plain("a transaction of one row", single.theirs),
      engineRow(about, `writers on ${ACTORS} actors`, "writes/s", many.ours),
      { ...engineRow(about, "pgbench -N", "transactions/s", many.theirs), store: "by hand" },
      {
        ...engineRow(about, "the same rows from one Node process", "writes/s", [many.inNode]),
        store: "by hand",
      },
      ms("get", get.ours),
      plain("select by primary key", get.theirs),
      ms("find", reads.find),
      ms("search", reads.search),
      ms("recall", reads.recall),
      engineRow(about, "rebuild", "entries/s", [rebuild]),
      engineRow(about, "table and index of a memory", "bytes", [perMemory]),
    ],
    figures: {
      postgresBatch: figure(median(batch.theirs) / median(batch.ours)),
      postgresSingle: figure(median(single.ours) / median(single.theirs)),
      postgresMany: figure(median(many.ours) / median(many.theirs)),
      postgresGet: figure(median(get.ours) / median(get.theirs)),
      postgresFindMs: figure(median(reads.find)),
      postgresSearchMs: figure(median(reads.search)),
      postgresRecallMs: figure(median(reads.recall)),
      postgresRebuild: figure(rebuild),
      postgresBytes: figure(perMemory),
    },
    notes: [],
  };
}
