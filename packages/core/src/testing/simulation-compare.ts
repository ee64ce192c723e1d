/**
 * How the answers of an open store are compared with the plain model: what a call answers, everything that can
 * be read now or at an earlier position, and the rows that the journal fixes.
 *
 * Promise: the first difference is thrown as a plain error that says what was asked, what came and
 * what was expected. Nothing here knows a test runner.
 */
import type { RecordedItem } from "../contract/entry.js";
import type { Edge, Memory } from "../contract/shapes.js";
import type { Cortex } from "../cortex.js";
import { classOfKey } from "../kv/keyspace.js";
import type { Kv } from "../kv/kv.js";
import { shownContext, shownRecord, useOf } from "./model-learning.js";
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
} from "./model-reads.js";
import { type ModelOperation, type ModelState, shownEdge } from "./model-state.js";
import type { SeededRandom } from "./seeded-random.js";
import { WORDS } from "./simulation-plan.js";

/** Whose memory the model is about. */
export const MODEL_ACTOR = "ada";

/** The principal of one operation, by which its entries are known in the journal. */
export function operationName(number: number): string {
  return `op-${number}`;
}

const OPERATION_NAME = /^op-\d+$/;

/** The same value with sorted keys and nothing undefined, to compare and to print. To the model, all operations have one author. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "string" && OPERATION_NAME.test(part)) return MODEL_ACTOR;
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Whether two values say the same. */
export function isSame(actual: unknown, expected: unknown): boolean {
  return plain(actual) === plain(expected);
}

/** Compares by content, and shows both when they differ. */
export function same(actual: unknown, expected: unknown, what: string): void {
  if (isSame(actual, expected)) return;
  throw new Error(`${what}\n  came:     ${plain(actual)}\n  expected: ${plain(expected)}`);
}

/** What a result says, without what the model leaves out. */
export function comparable(call: ModelOperation, value: unknown): unknown {
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
export function drawnIds(call: ModelOperation, value: unknown): string[] {
  type Item = { readonly id: string; readonly reinforced?: boolean; readonly added?: boolean };
  if (call.verb === "write") return (value as Item).reinforced ? [] : [(value as Item).id];
  if (call.verb === "remember") {
    const { turns } = value as { readonly turns: readonly Item[] };
    return turns.filter(({ added }) => added).map(({ id }) => id);
  }
  if (call.verb !== "batch") return [];
  return (value as { readonly results: readonly Item[] }).results.flatMap((item) =>
    item.reinforced === false && item.id !== undefined ? [item.id] : [],
  );
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

/** The lists that are asked for. */
export const LISTS: readonly ModelList[] = [
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

/** An open store, with a name for what is told of it. */
export interface Asked {
  readonly name: string;
  readonly memory: Cortex;
}

/** Compares everything that can be read with the model; `asOf` reads the past. */
export async function compareReads(
  played: Asked,
  past: readonly ModelState[],
  random: SeededRandom,
  asOf?: number,
): Promise<void> {
  const now = past.at(-1) as ModelState;
  const state = seenAfter(past.at(asOf ?? -1) as ModelState, now.erased);
  const asked = asOf === undefined ? {} : { asOf };
  const where = `${played.name}${asOf === undefined ? "" : ` as of ${asOf}`}`;
  const ids = [...now.memories.keys(), ...now.erased.keys()];
  // The past is looked at through a sample: it is asked for at several positions.
  const some = asOf === undefined ? ids : random.shuffled(ids).slice(0, 12);
  for (const id of some) await compareMemory(played.memory, state, id, { asked, where });
  for (const id of some) await compareEdges(played.memory, state, id, { asked, where, random });
  const lists = asOf === undefined ? LISTS : random.shuffled(LISTS).slice(0, 8);
  for (const list of lists) {
    const limit = random.pick([3, 50]);
    const found = await listed(played.memory, { ...list, ...asked, limit } as never);
    same(found, listedIds(state, list), `${where}: list ${JSON.stringify(list)} by ${limit}`);
  }
  await compareLearning(played.memory, state, { asked, where });
  for (const session of WORDS.sessions) {
    const { turns } = await played.memory.session(session, asked);
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
  { asked, where }: Place,
): Promise<void> {
  for (const frame of WORDS.frames) {
    const { verb, object, ref } = frame;
    const options = {
      verb,
      objects: { [object]: ref },
      budgetTokens: 4000,
      nowMs: state.at,
      ...asked,
    };
    const { pinned, outcomes, frameRelevant, trimmed } = await memory.context(options);
    same(trimmed, 0, `${where}: a bundle without a tight budget`);
    const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id).sort();
    const found = {
      pinned: ids(pinned),
      outcomes: ids(outcomes),
      frameRelevant: ids(frameRelevant),
    };
    same(found, shownContext(state, frame), `${where}: context of ${ref}`);
  }
  const { recency, access, citations, importance, similarity } = (await memory.weights(asked))
    .weights;
  const weights = [recency, access, citations, importance];
  for (const [at, weight] of state.weights.entries()) {
    const isClose = Math.abs((weights[at] ?? Number.NaN) - weight) < 1e-9;
    if (!isClose) same(weights[at], weight, `${where}: weight ${at}`);
  }
  same(similarity, 0.1, `${where}: weight of similarity`);
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

/** Where it is read, and how that is told. */
export interface Place {
  readonly asked: { readonly asOf?: number };
  readonly where: string;
}

/** Compares a memory and its versions with the model. */
export async function compareMemory(
  memory: Cortex,
  state: ModelState,
  id: string,
  { asked, where }: Place,
): Promise<void> {
  const expected = state.memories.get(id);
  const what = `${where}: ${id}`;
  const found = await memory.get(id, asked);
  same(shortMemory(found), expected && shownMemory(state, expected), `get ${what}`);
  const versions = await memory.history(id, asked);
  const short = versions?.map(({ data: _, versionRecord, ...rest }) => ({
    ...rest,
    versionRecord: shortVersion(versionRecord),
  }));
  same(short, expected && shownHistory(state, expected), `history ${what}`);
  const [first] = expected?.versions ?? [];
  if (expected !== undefined && first !== undefined) {
    const pinned = await memory.get(id, { ...asked, version: 1 });
    same(shortMemory(pinned), shownMemory(state, expected, first), `get ${what}, version 1`);
  }
}

/** Compares the edges of a memory, from both ends, and a walk from it with the model. */
export async function compareEdges(
  memory: Cortex,
  state: ModelState,
  id: string,
  place: Place & { readonly random: SeededRandom },
): Promise<void> {
  const { asked, where, random } = place;
  for (const side of ["out", "in"] as const) {
    const list = random.pick([
      {},
      { includeTombstoned: true },
      { kinds: ["supports", "likes"] },
      { order: "ordinal" as const },
    ]);
    const read =
      side === "out"
        ? memory.edgesOut(id, { ...list, ...asked })
        : memory.edgesIn(id, { ...list, ...asked });
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
  const { hits, edges, truncated } = await memory.traverse(id, { ...walk, ...asked });
  const short = {
    hits: hits.map((hit) => ({ id: hit.id, hop: hit.hop })),
    edges: edges.map(withoutId),
    truncated,
  };
  same(short, shownWalk(state, id, walk), `${where}: walk from ${id}, ${JSON.stringify(walk)}`);
}

/** What is only read of the present. */
export async function comparePresent(played: Asked, state: ModelState): Promise<void> {
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
    const isSaid = own !== undefined && said?.toLowerCase().includes(own.toLowerCase().slice(1));
    if (isSaid !== true) same(said, own, `record of ${step}: text ${at}`);
  }
}

/** Every row of a store that its journal fixes, as text. */
export async function dump(kv: Kv): Promise<string[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff, 0xff), limit: 1_000_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  return rows
    .filter(({ key }) => classOfKey(key) !== "cache")
    .map(({ key, value }) => `${hex(key)} = ${hex(value)}`);
}
