/**
 * Stores that several questions look at. The first question of an invocation that wants one makes
 * it and leaves it in the folder of the run; the others open what is there. Whoever changes a store
 * takes a copy of it, so that every question finds the same.
 *
 * Clock and randomness are seeded, so that a seed gives the same ids, trees and proof sizes each time.
 *
 * Two histories: `writes`, where every entry is a new memory, and `changes`, where memories are also
 * updated, tagged anew and hidden, so that the past differs from the present.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { asWrite, seededNumbers, startWorkload, TAG_COUNT, writeBatch } from "./workload.mjs";

/** The size that the questions about a prepared store ask for. */
export const PREPARED_MEMORIES = 100_000;

/** When the prepared histories begin: long enough ago that they end before now. */
const PREPARED_FROM = Date.UTC(2025, 0, 1);
/**
 * How the clock of a prepared history goes on: a millisecond in so many looks, and a pause after so
 * many. Times shape the tree, because ids start with them. Of six clocks that were tried, two runs of
 * the system's own among them, this one gave the largest proofs: 37.9 KB for a hundred memories,
 * against 36.8 by the system's clock and 35.0 to 35.6 by the others.
 */
const CLOCK = { looksPerMs: 32, looksPerPause: 1000, pauseMs: 20, pauseMsMore: 60 };

/** Of a hundred entries of the history `changes`; the rest are writes. */
const CHANGES = { updates: 20, tags: 10, tombstones: 10 };

/**
 * @typedef {import("./settings.mjs").Settings} Settings
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {"writes" | "changes"} History
 *
 * What a question needs to know. `middle` is the seq in the middle of the history; `ids` are the
 * memories that are live at its end, `early` those of them that were there in the middle.
 * @typedef {{
 *   readonly path: string,
 *   readonly entries: number,
 *   readonly middle: number,
 *   readonly ids: readonly string[],
 *   readonly early: readonly string[],
 * }} Prepared
 */

/**
 * The prepared store of one history, made now if no question made it before.
 * @param {Settings} settings
 * @param {History} [history]
 * @returns {Promise<Prepared>}
 */
export async function preparedStore(settings, history = "writes") {
  const entries = Math.min(settings.size, PREPARED_MEMORIES);
  const path = join(settings.folder, `prepared-${history}-${entries}`);
  const listFile = `${path}.json`;
  if (!existsSync(listFile)) {
    settings.progress(`preparing a store: ${entries} entries, ${history}`);
    const engine = await open(path, { relaxedDurability: true, ...repeatable(settings.seed) });
    try {
      const grown = await grow(engine, settings, history, entries);
      // Written last: a list stands for a store that is complete.
      writeFileSync(listFile, JSON.stringify(grown));
    } finally {
      await engine.close();
    }
  }
  return { path, entries, ...JSON.parse(readFileSync(listFile, "utf8")) };
}

/**
 * A copy of a prepared store, to be written to.
 * @param {Settings} settings
 * @param {Prepared} prepared
 * @param {string} name
 */
export async function copyPrepared(settings, { path }, name) {
  const copy = join(settings.folder, name);
  await cp(path, copy, { recursive: true });
  return copy;
}

/**
 * The one data file of a store that is closed.
 * @param {string} path
 */
export function dataFileOf(path) {
  const folder = join(path, "default");
  const [name, ...others] = readdirSync(folder).filter((file) => file.endsWith(".mdb"));
  if (name === undefined || others.length > 0) throw new Error(`not one data file in ${folder}`);
  return join(folder, name);
}

/**
 * The export of the prepared store `writes`, made now if no question made it before.
 * @param {Settings} settings
 */
export async function preparedExport(settings) {
  const store = await preparedStore(settings);
  const file = join(settings.folder, "prepared-export", `${store.entries}.cortex`);
  if (!existsSync(file)) {
    await mkdir(join(settings.folder, "prepared-export"), { recursive: true });
    const engine = await open(store.path);
    await engine.exportJournal(file).finally(() => engine.close());
  }
  return { file, entries: store.entries };
}

/**
 * Different random members of a list, the same for the same seed.
 * @template T
 * @param {readonly T[]} list
 * @param {number} count
 * @param {number} seed
 * @returns {T[]}
 */
export function pickDifferent(list, count, seed) {
  const next = seededNumbers(seed);
  const places = new Set();
  while (places.size < Math.min(count, list.length)) places.add(next(list.length));
  return [...places].map((at) => /** @type {T} */ (list[at]));
}

/**
 * A clock that goes on as it does under bulk writes, and bytes that only look random.
 * @param {number} seed
 */
function repeatable(seed) {
  const draw = seededNumbers(seed + 2);
  const byte = seededNumbers(seed + 3);
  let now = PREPARED_FROM;
  let looks = 0;
  return {
    clock: () => {
      looks += 1;
      if (looks % CLOCK.looksPerPause === 0) now += CLOCK.pauseMs + draw(CLOCK.pauseMsMore);
      else if (draw(CLOCK.looksPerMs) === 0) now += 1;
      return now;
    },
    random: (/** @type {number} */ bytes) => Uint8Array.from({ length: bytes }, () => byte(256)),
  };
}

/**
 * Fills a new store, block by block.
 * @param {Cortex} engine
 * @param {Settings} settings
 * @param {History} history
 * @param {number} entries
 */
async function grow(engine, settings, history, entries) {
  const workload = startWorkload(settings.seed);
  const next = seededNumbers(settings.seed + 1);
  /** Live memories in no particular order. */
  const ids = /** @type {string[]} */ ([]);
  const early = /** @type {Set<string>} */ (new Set());
  let middle = 0;
  for (let done = 0; done < entries; done += settings.batchItems) {
    const count = Math.min(settings.batchItems, entries - done);
    const of = (/** @type {number} */ percent) =>
      history === "writes" || done === 0 ? 0 : Math.floor((count * percent) / 100);
    const plan = {
      updates: of(CHANGES.updates),
      tags: of(CHANGES.tags),
      tombstones: of(CHANGES.tombstones),
    };
    const writes = count - plan.updates - plan.tags - plan.tombstones;
    await change(engine, { workload, next, ids, plan });
    const born = await writeBatch(engine, workload.take(writes));
    for (const id of born) ids.push(id);
    if (done + count > entries / 2) continue;
    for (const id of born) early.add(id);
    ({ seq: middle } = await engine.root());
  }
  return { middle, ids, early: ids.filter((id) => early.has(id)) };
}

/**
 * Updates some memories, gives some another tag and hides some, each memory once at most.
 * @param {Cortex} engine
 * @param {{
 *   readonly workload: ReturnType<typeof startWorkload>,
 *   readonly next: (below: number) => number,
 *   readonly ids: string[],
 *   readonly plan: {
 *     readonly updates: number,
 *     readonly tags: number,
 *     readonly tombstones: number,
 *   },
 * }} one
 */
async function change(engine, { workload, next, ids, plan }) {
  // The memories that are drawn move to the end of the list; the hidden ones leave it there.
  let undrawn = ids.length;
  const draw = () => {
    const at = next(undrawn);
    undrawn -= 1;
    const id = ids[at] ?? "";
    ids[at] = ids[undrawn] ?? "";
    ids[undrawn] = id;
    return id;
  };
  const drawn = (/** @type {number} */ count) => Array.from({ length: count }, draw);
  const hidden = drawn(plan.tombstones);
  const updates = drawn(plan.updates).map((id, at) => {
    const { text } = asWrite(workload.take(1)[0] ?? { text: `Nothing ${at}`, tag: "none" });
    return { update: { id, text } };
  });
  if (updates.length > 0) await engine.batch(updates);
  await Promise.all(
    drawn(plan.tags).map((id) => engine.updateHead(id, { tags: [`tag-${next(TAG_COUNT)}`] })),
  );
  await Promise.all(hidden.map((id) => engine.tombstone(id, "no longer of use")));
  ids.length -= hidden.length;
}
