/**
 * Random histories of all write verbs, judged by a plain model, on every backend.
 *
 * Each history is played on the memory backend and followed by the model step by step: every answer,
 * every failure and its code. Then LMDB and Postgres play the same steps and must answer the same, hold
 * the same rows to the byte, and answer reads like the model, now and at earlier positions. In the end
 * the journal alone must reproduce the store, and the full check must find nothing.
 *
 * CORTEX_SEEDS=n plays n histories instead of the default few; CORTEX_SEED sets the first seed.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RecordedItem } from "../src/contract/entry.js";
import { type Cortex, CortexError, type Edge, type Memory, open } from "../src/index.js";
import { classOfKey } from "../src/kv/keyspace.js";
import type { Kv } from "../src/kv/kv.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { type SeededRandom, seededRandom } from "../src/testing/index.js";
import { applyToModel } from "../src/testing/model.js";
import { shownContext, shownRecord, useOf } from "../src/testing/model-learning.js";
import {
  listedIds,
  type ModelList,
  seenAfter,
  shownCounts,
  shownEdges,
  shownHistory,
  shownMemory,
  shownTurns,
  shownWalk,
} from "../src/testing/model-reads.js";
import {
  bornModel,
  type ModelOperation,
  type ModelState,
  shownEdge,
} from "../src/testing/model-state.js";
import { cleanUp, temporaryFolder } from "./other-process.js";
import { type PgliteServer, startPglite } from "./pglite-server.js";
import { BAD_CALLS, nextStep, perform, START, type Step, WORDS } from "./simulation-plan.js";

const FIRST_SEED = Number(process.env.CORTEX_SEED ?? 1);
const SEEDS = Number(process.env.CORTEX_SEEDS ?? 24);
const STEPS = 50;
/** A server plays every so many-th history; PGlite is slow and plays one. */
const DATABASE = process.env.CORTEX_TEST_POSTGRES ?? "";
const DATABASE_EVERY = DATABASE === "" ? 24 : 2;

let server: Pick<PgliteServer, "url" | "stop">;

beforeAll(async () => {
  server = DATABASE === "" ? await startPglite() : { url: DATABASE, stop: async () => {} };
});
afterEach(cleanUp);
afterAll(() => server.stop());

/** A store with its clock and randomness in the hands of the test. */
interface Played {
  readonly name: string;
  readonly kv: Kv;
  readonly memory: Cortex;
  setClock(now: number): void;
}

async function openPlayed(name: string, kv: Kv, seed: number): Promise<Played> {
  let now = START;
  const random = seededRandom(seed).bytes;
  const memory = await open("memory:", {
    actor: "ada",
    kv,
    clock: () => now,
    random,
    rateLimits: false,
  });
  return {
    name,
    kv,
    memory,
    setClock: (time) => {
      now = time;
    },
  };
}

type Outcome = { readonly value: unknown } | { readonly error: CortexError };

async function playStep(played: Played, step: Step): Promise<Outcome[]> {
  played.setClock(step.now);
  const settled = await Promise.allSettled(step.calls.map((call) => perform(played.memory, call)));
  return settled.map((one) => {
    if (one.status === "fulfilled") return { value: one.value };
    const error: unknown = one.reason;
    if (!(error instanceof CortexError)) throw error;
    return { error };
  });
}

/** The same value with sorted keys and nothing undefined, to compare and to print. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Compares by content, and shows the difference when there is one. */
function same(actual: unknown, expected: unknown, what: string): void {
  if (plain(actual) === plain(expected)) return;
  expect(JSON.parse(plain(actual) ?? "null"), what).toEqual(JSON.parse(plain(expected) ?? "null"));
}

/** What a result says, without what the model leaves out. */
function comparable(call: ModelOperation, value: unknown): unknown {
  const { seq, ...rest } = value as { seq: number; results?: unknown[] };
  switch (call.verb) {
    case "batch":
      return { results: rest.results?.map(comparableItem) };
    case "attest":
    case "lateFind":
    case "compact":
      return comparableUse(value);
    case "remember":
    case "setGoalState":
    case "deleteGoalState":
    case "configure":
      // Their seq is the end of the group they were committed in.
      return JSON.parse(JSON.stringify(rest, (key, part) => (key === "uri" ? undefined : part)));
    default:
      return comparableItem(value);
  }
}

/** Uses without scores and weights, which are compared apart: they are no whole numbers. */
function comparableUse(value: unknown): unknown {
  const { ids, hits, kept, compacted, ...rest } = value as {
    readonly [name: string]: unknown;
    readonly ids?: readonly string[];
    readonly hits?: readonly { readonly id: string }[];
    readonly kept?: readonly unknown[];
    readonly compacted?: readonly unknown[];
  };
  const uri = (item: unknown) => (typeof item === "string" ? item : (item as { uri: string }).uri);
  const found = ids ?? hits?.map(({ id }) => id);
  const { seq, learnSeq, affected, skipped, citationsDelta, weightsUpdated, lateSeq } = rest;
  return {
    ...(found === undefined
      ? { seq, learnSeq, affected, skipped, citationsDelta, weightsUpdated }
      : { found: [...found].sort(), lateSeq }),
    ...(kept === undefined ? {} : { kept: kept.map(uri), compacted: compacted?.map(uri) }),
  };
}

function comparableItem(value: unknown): unknown {
  const item = value as { edge?: Edge; id?: string; replaced?: object[]; conflicts?: object[] };
  if ("error" in item) return { ok: false, error: (item.error as { code: string }).code };
  if ("changed" in item) {
    const { id: _, edge, seq, ...rest } = item as typeof item & { changed: boolean; seq: number };
    // Nothing was written: the seq is that of whatever was found.
    const place = rest.changed ? { seq } : {};
    if (edge === undefined || edge.tombstone !== undefined) return { ...rest, ...place };
    return { ...rest, ...place, edge: withoutId(edge) };
  }
  const { similar: _, ...rest } = item as { similar?: unknown };
  const short = (refs: object[] | undefined) => refs?.map((ref) => ({ ...ref, text: undefined }));
  return { ...rest, replaced: short(item.replaced), conflicts: short(item.conflicts) };
}

function withoutId({ id: _, ...edge }: Edge): object {
  return edge;
}

/** The ids that the engine drew for new memories, in order. */
function drawnIds(call: ModelOperation, value: unknown): string[] {
  type Item = { readonly id: string; readonly reinforced?: boolean };
  if (call.verb === "write") return (value as Item).reinforced ? [] : [(value as Item).id];
  if (call.verb === "remember") {
    return (value as { readonly turns: readonly Item[] }).turns.map(({ id }) => id);
  }
  if (call.verb !== "batch") return [];
  return (value as { readonly results: readonly Item[] }).results.flatMap((item) =>
    item.reinforced === false && item.id !== undefined ? [item.id] : [],
  );
}

/** What the model said at every position, the last one at the end. */
type Past = ModelState[];

/** Follows one step with the model; `past` grows by one state for every entry. */
function followStep(past: Past, step: Step, outcomes: readonly Outcome[]): void {
  for (const [at, call] of step.calls.entries()) {
    const outcome = outcomes[at] as Outcome;
    const before = past.at(-1) as ModelState;
    const what = `${JSON.stringify(call)} at seq ${before.size}`;
    if ("bad" in call) {
      same("error" in outcome ? outcome.error.code : outcome, BAD_CALLS[call.bad]?.code, what);
      continue;
    }
    const ids = "error" in outcome ? [] : drawnIds(call, outcome.value);
    const { state, outcome: expected } = applyToModel(before, call, { now: step.now, ids });
    if ("error" in outcome) same({ error: outcome.error.code }, expected, what);
    else {
      const value = expected.value === undefined ? expected : comparable(call, expected.value);
      same(comparable(call, outcome.value), value, what);
    }
    // Positions inside an operation show what was before it.
    for (let seq = before.size; seq < state.size - 1; seq += 1) past.push(before);
    if (state.size > before.size) past.push(state);
  }
}

interface Play {
  readonly steps: readonly Step[];
  readonly outcomes: readonly (readonly Outcome[])[];
  readonly past: Past;
}

/** Makes up a history while playing it. */
async function playAndFollow(played: Played, seed: number): Promise<Play> {
  const random = seededRandom(seed);
  const past: Past = [bornModel("ada", START)];
  const steps: Step[] = [];
  const outcomes: Outcome[][] = [];
  for (let at = 0; at < STEPS; at += 1) {
    const step = nextStep(random, past.at(-1) as ModelState);
    const found = await playStep(played, step);
    followStep(past, step, found);
    steps.push(step);
    outcomes.push(found);
    const { entries } = await played.memory.stats();
    expect(entries, `entries after ${JSON.stringify(step)}`).toBe(past.length);
  }
  return { steps, outcomes, past };
}

function shortMemory(memory: Memory | undefined): unknown {
  if (memory === undefined) return undefined;
  const { data: _, versionRecord, ...rest } = memory;
  return { ...rest, versionRecord: shortVersion(versionRecord) };
}

function shortVersion(record: Memory["versionRecord"]): object {
  const { forms: _, provenance: __, ...rest } = record;
  return rest;
}

const LIFECYCLES = ["active", "archived", "tombstoned"] as const;

const LISTS: readonly ModelList[] = [
  {},
  { order: "oldest" },
  { lifecycles: [...LIFECYCLES] },
  ...[...new Set(WORDS.types)].map((type) => ({ type })),
  ...WORDS.tags.flatMap((tag) => [{ tag }, { tag, lifecycles: ["archived"], order: "oldest" }]),
  ...[...WORDS.kinds, "turn"].map((kind) => ({ kind })),
  { slot: "home_city" },
  { slot: "job", lifecycles: [...LIFECYCLES] },
  ...WORDS.sessions.flatMap((session) => [{ session }, { session, lifecycles: ["tombstoned"] }]),
  ...WORDS.frames.map((frame) => ({ frame })),
] as readonly ModelList[];

/** Compares everything that can be read with the model; `asOf` reads the past. */
async function compareReads(
  played: Played,
  past: Past,
  random: SeededRandom,
  asOf?: number,
): Promise<void> {
  const now = past.at(-1) as ModelState;
  const state = seenAfter(past.at(asOf ?? -1) as ModelState, now.erased);
  const then = asOf === undefined ? {} : { asOf };
  const where = `${played.name}${asOf === undefined ? "" : ` as of ${asOf}`}`;
  const ids = [...now.memories.keys(), ...now.erased.keys()];
  // The past is looked at through a sample: it is asked for at several positions.
  const some = asOf === undefined ? ids : random.shuffled(ids).slice(0, 12);
  for (const id of some) await compareMemory(played.memory, state, id, { then, where });
  for (const id of some) await compareEdges(played.memory, state, id, { then, where, random });
  const lists = asOf === undefined ? LISTS : random.shuffled(LISTS).slice(0, 8);
  for (const list of lists) {
    const limit = random.pick([3, 50]);
    const found = await listed(played.memory, { ...list, ...then, limit } as never);
    same(found, listedIds(state, list), `${where}: list ${JSON.stringify(list)} by ${limit}`);
  }
  await compareLearning(played.memory, state, { then, where });
  for (const session of WORDS.sessions) {
    const { turns } = await played.memory.session(session, then);
    const short = turns.map(({ id, index, role, content, seq }) => ({
      id,
      index,
      role,
      content,
      seq,
    }));
    same(short, shownTurns(state, session), `${where}: session ${session}`);
  }
}

/** What a bundle holds, tier by tier, and the weights it was scored by. */
async function compareLearning(
  memory: Cortex,
  state: ModelState,
  { then, where }: Place,
): Promise<void> {
  for (const frame of WORDS.frames) {
    const { verb, object, ref } = frame;
    const options = {
      verb,
      objects: { [object]: ref },
      budgetTokens: 4000,
      nowMs: state.at,
      ...then,
    };
    const { pinned, outcomes, frameRelevant, trimmed } = await memory.context(options);
    expect(trimmed, `${where}: a bundle without a tight budget`).toBe(0);
    const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id).sort();
    const found = {
      pinned: ids(pinned),
      outcomes: ids(outcomes),
      frameRelevant: ids(frameRelevant),
    };
    same(found, shownContext(state, frame), `${where}: context of ${ref}`);
  }
  const { recency, access, citations, importance, similarity } = (await memory.weights(then))
    .weights;
  const weights = [recency, access, citations, importance];
  for (const [at, weight] of state.weights.entries()) {
    expect(weights[at], `${where}: weight ${at}`).toBeCloseTo(weight, 9);
  }
  expect(similarity).toBe(0.1);
}

async function listed(
  memory: Cortex,
  options: NonNullable<Parameters<Cortex["list"]>[0]>,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await memory.list({ ...options, ...(cursor === undefined ? {} : { cursor }) });
    ids.push(...page.memories.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}

interface Place {
  readonly then: { readonly asOf?: number };
  readonly where: string;
}

async function compareMemory(
  memory: Cortex,
  state: ModelState,
  id: string,
  { then, where }: Place,
): Promise<void> {
  const expected = state.memories.get(id);
  const what = `${where}: ${id}`;
  const found = await memory.get(id, then);
  same(shortMemory(found), expected && shownMemory(state, expected), `get ${what}`);
  const versions = await memory.history(id, then);
  const short = versions?.map(({ data: _, versionRecord, ...rest }) => ({
    ...rest,
    versionRecord: shortVersion(versionRecord),
  }));
  same(short, expected && shownHistory(state, expected), `history ${what}`);
  const [first] = expected?.versions ?? [];
  if (expected !== undefined && first !== undefined) {
    const pinned = await memory.get(id, { ...then, version: 1 });
    same(shortMemory(pinned), shownMemory(state, expected, first), `get ${what}, version 1`);
  }
}

async function compareEdges(
  memory: Cortex,
  state: ModelState,
  id: string,
  place: Place & { readonly random: SeededRandom },
): Promise<void> {
  const { then, where, random } = place;
  for (const side of ["out", "in"] as const) {
    const list = random.pick([
      {},
      { includeTombstoned: true },
      { kinds: ["supports", "likes"] },
      { order: "ordinal" as const },
    ]);
    const read =
      side === "out"
        ? memory.edgesOut(id, { ...list, ...then })
        : memory.edgesIn(id, { ...list, ...then });
    const what = `${where}: edges ${side} of ${id}, ${JSON.stringify(list)}`;
    const expected = shownEdges(state, id, side, list);
    same((await read).edges.map(withoutId), state.memories.has(id) ? expected : [], what);
  }
  const walk = random.pick([
    { direction: "both" as const, maxHops: 3 },
    { direction: "out" as const, maxHops: 6, maxNodes: 4 },
    { direction: "in" as const, minHops: 2, maxHops: 3, includeTombstoned: true },
    { direction: "both" as const, maxHops: 2, kinds: ["caused_by", "precedes", "owes"] },
  ]);
  const { hits, edges, truncated } = await memory.traverse(id, { ...walk, ...then });
  const short = {
    hits: hits.map((hit) => ({ id: hit.id, hop: hit.hop })),
    edges: edges.map(withoutId),
    truncated,
  };
  same(short, shownWalk(state, id, walk), `${where}: walk from ${id}, ${JSON.stringify(walk)}`);
}

/** What is only read of the present. */
async function comparePresent(played: Played, state: ModelState): Promise<void> {
  const { memory } = played;
  const { entries, seq, lastAt, memories, edges } = await memory.stats();
  same({ entries, seq, lastAt, memories, edges }, shownCounts(state), `${played.name}: counts`);
  const goals = await memory.goalStates();
  const expected = [...state.goalStates].map(([id, own]) => ({ id, state: own }));
  same(
    goals,
    expected.sort((a, b) => (a.id < b.id ? -1 : 1)),
    `${played.name}: goal states`,
  );
  for (const edge of state.edges.values()) {
    const found = await memory.getEdge(edge.from, edge.kind, edge.to);
    same(found && withoutId(found), shownEdge(state, edge), `${played.name}: one edge`);
  }
  for (const { id } of state.memories.values()) {
    const { counters } = (await memory.inspect(id)) ?? {};
    same(counters, useOf(state, id), `${played.name}: counters of ${id}`);
  }
  for (const step of WORDS.steps) await compareRecord(memory, state, step);
}

async function compareRecord(memory: Cortex, state: ModelState, step: string): Promise<void> {
  const found = await memory.contextRecord("task", step);
  const item = ({ uri, text, lifecycle }: RecordedItem) => ({ uri, lifecycle, said: text });
  const short = found && {
    recordSeq: found.recordSeq,
    kept: found.kept.map(item),
    compacted: found.compacted.map(item),
  };
  const worded = (value: unknown): string | undefined =>
    // Forms put a few words before a goal or a doubt: what was said stands at the end of them.
    JSON.stringify(value, (key, said) => (key === "said" ? undefined : said));
  same(worded(short), worded(shownRecord(state, step)), `record of ${step}`);
  const expected = shownRecord(state, step) as typeof short;
  const texts = (one: typeof short) => [...(one?.kept ?? []), ...(one?.compacted ?? [])];
  for (const [at, { said }] of texts(short).entries()) {
    const own = texts(expected)[at]?.said;
    if (own === undefined) expect(said).toBeUndefined();
    else expect(said?.toLowerCase()).toContain(own.toLowerCase().slice(1));
  }
}

/** Every row of a store that its journal fixes, as text. */
async function dump(kv: Kv): Promise<string[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff, 0xff), limit: 1_000_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  return rows
    .filter(({ key }) => classOfKey(key) !== "cache")
    .map(({ key, value }) => `${hex(key)} = ${hex(value)}`);
}

async function judge(played: Played, past: Past, seed: number): Promise<void> {
  const random = seededRandom(seed);
  await compareReads(played, past, random);
  await comparePresent(played, past.at(-1) as ModelState);
  for (let at = 0; at < 5; at += 1) {
    await compareReads(played, past, random, random.below(past.length));
  }
  const { memory } = played;
  expect(await memory.rebuild({ verifyOnly: true })).toMatchObject({ ok: true, differences: [] });
  expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
}

/** Plays the same history on another backend and expects the same of everything. */
async function playAgain(played: Played, play: Play, rows: readonly string[]): Promise<void> {
  for (const [at, step] of play.steps.entries()) {
    same(await playStep(played, step), play.outcomes[at], `${played.name}: step ${at}`);
  }
  same(await dump(played.kv), rows, `${played.name}: rows`);
}

describe("random histories", () => {
  for (let at = 0; at < SEEDS; at += 1) {
    const seed = FIRST_SEED + at;
    test(`seed ${seed}`, async () => {
      const reference = await openPlayed("memory", openMemoryKv(), seed);
      const play = await playAndFollow(reference, seed);
      await judge(reference, play.past, seed);
      const rows = await dump(reference.kv);
      const others = [await openPlayed("lmdb", await openLmdbKv(temporaryFolder()), seed)];
      if (at % DATABASE_EVERY === 0) {
        const location = hubIn(server.url);
        others.push(await openPlayed("postgres", await openPostgresKv(location, "ada"), seed));
      }
      for (const other of others) {
        await playAgain(other, play, rows);
        // PGlite is slow: that its rows are the same must do.
        if (DATABASE !== "" || other.name !== "postgres") await judge(other, play.past, seed);
        expect(await other.memory.root()).toEqual(await reference.memory.root());
        await other.memory.close();
      }
      expect((await reference.memory.rebuild()).ok).toBe(true);
      expect(await dump(reference.kv)).toEqual(rows);
      await reference.memory.close();
    });
  }
});
