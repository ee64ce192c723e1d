/**
 * What `find` must answer, computed the slow way: every memory there ever was is read by its id, every
 * condition is tested on the object that callers get, and arrivals are read off the journal. Nothing here
 * uses an index, and nothing of `find/`.
 */

import type { Scalar } from "../src/contract/entry.js";
import type { OrderClause } from "../src/contract/find.js";
import type {
  AsOf,
  Cortex,
  Memory,
  MemoryId,
  Options,
  Predicate,
  WriteInput,
} from "../src/index.js";
import { isCortexError } from "../src/index.js";
import type { SeededRandom } from "../src/testing/index.js";

/** A query whose orders are clauses. */
export type FindQuery = Omit<Options<"find">, "orderBy"> & {
  readonly orderBy?: readonly OrderClause[];
};

/** The words that histories and queries are made of: few, so that they meet. */
export const WORDS = {
  types: ["fact", "preference", "event", "goal", "constraint", "belief", "note"],
  tags: ["red", "green", "blue"],
  kinds: ["memo", "plan"],
  slots: ["home_city", "job"],
  sessions: ["s1", "s2"],
  subjects: ["ada", "bob", "éve", "\u{1f600}"],
  frames: [
    { verb: "find", object: "plan", ref: "trip" },
    { verb: "build", object: "service", ref: "api" },
  ],
  edgeKinds: ["supports", "causes", "likes"],
} as const;

/** Does random things to a store; returns every id that was ever written. */
export async function makeHistory(
  memory: Cortex,
  random: SeededRandom,
  steps: number,
): Promise<readonly MemoryId[]> {
  const ids: MemoryId[] = [];
  for (let step = 0; step < steps; step += 1) {
    try {
      ids.push(...(await doSomething(memory, random, ids, step)));
    } catch (error) {
      // A change of what is hidden or gone is refused, which is as good a step as any.
      if (!isCortexError(error)) throw error;
    }
  }
  return [...new Set(ids)];
}

async function doSomething(
  memory: Cortex,
  random: SeededRandom,
  ids: readonly MemoryId[],
  step: number,
): Promise<readonly MemoryId[]> {
  const dice = random.below(100);
  if (ids.length < 4 || dice < 45) return [(await memory.write(someWrite(random, step))).id];
  if (dice < 48) {
    const items = [0, 1, 2].map((at) => ({ write: someWrite(random, step * 10 + at) }));
    const { results } = await memory.batch(items);
    return results.flatMap((one) => (one.ok && "uri" in one ? [one.id] : []));
  }
  const id = random.pick(ids);
  if (dice < 55) await memory.updateHead(id, { tags: someTags(random) });
  else if (dice < 60) await memory.updateHead(id, { importance: random.below(11) });
  else if (dice < 64) await memory.updateHead(id, { visibility: random.pick(VISIBILITIES) });
  else if (dice < 70)
    await memory.update(id, { text: `said anew ${step}`, validFrom: someTime(random) });
  else if (dice < 78) await memory.tombstone(id, "not needed");
  else if (dice < 86) await memory.restore(id);
  else if (dice < 88) await memory.forget(id, "asked for");
  else if (dice < 95) await memory.link(id, random.pick(WORDS.edgeKinds), random.pick(ids));
  else {
    const turns = [{ role: "user" as const, content: `turn ${step}` }];
    const said = await memory.remember(turns, { session: random.pick(WORDS.sessions) });
    return said.turns.map((turn) => turn.id);
  }
  return [];
}

const VISIBILITIES = ["public", "public", "scoped", "private"] as const;

/** A time around those that the clock of a test store gives. */
function someTime(random: SeededRandom): number {
  return Date.UTC(2030, 0, 1) + random.below(2000);
}

function someTags(random: SeededRandom): readonly string[] {
  return WORDS.tags.filter(() => random.chance(45));
}

function someWrite(random: SeededRandom, step: number): WriteInput {
  const type = random.pick(WORDS.types);
  const subject = random.pick(WORDS.subjects);
  const data: { readonly [name: string]: object } = {
    fact: { subject, asOf: someTime(random) },
    preference: { topic: subject, polarity: "avoid", strength: random.below(11) / 10 },
    event: {
      kind: random.pick(["payment", "observation"]),
      cost: { asset: "EUR", amount: random.pick(["9", "10.50", "10.5", "120"]) },
    },
    goal: { horizonEnd: someTime(random), persistent: random.chance(50) },
    constraint: { strength: random.pick(["soft", "hard"]), trigger: subject },
    belief: { subject, stance: random.pick(["believe", "doubt"]) },
    note: { metadata: { rank: random.below(5), who: { name: subject }, open: random.chance(50) } },
  };
  // Values of a slot that are still to come have tests of their own.
  const isSlotted = type !== "note" && random.chance(20);
  const slotted = isSlotted ? { slot: random.pick(WORDS.slots) } : {};
  return {
    type,
    text: `${random.pick(WORDS.subjects)} said ${step}`,
    tags: someTags(random),
    visibility: random.pick(VISIBILITIES),
    importance: random.below(11),
    confidence: random.below(11) / 10,
    data: data[type] as { readonly [field: string]: unknown },
    ...(random.chance(25) ? { kind: random.pick(WORDS.kinds) } : {}),
    ...slotted,
    ...(random.chance(25) ? { frames: [random.pick(WORDS.frames)] } : {}),
    ...(random.chance(20) ? { externalId: `x${step}` } : {}),
    ...(random.chance(30) && !("slot" in slotted) ? { validFrom: someTime(random) } : {}),
    ...(random.chance(10) ? { expiresAt: someTime(random) } : {}),
  };
}

/** When each memory entered the state it was in at a position: made, archived, hidden, restored. */
export async function arrivals(memory: Cortex, at: number): Promise<ReadonlyMap<string, number>> {
  const states = new Map<string, { readonly lifecycle: string; readonly seq: number }>();
  let from = 0;
  while (from < at) {
    const page = await memory.changes(from, at, { limit: 1000 });
    for (const { seq, memories } of page.changes) {
      for (const { id, lifecycle } of memories) {
        // What hangs on a memory, such as its reinforcement, does not say a state.
        if (lifecycle === undefined || states.get(id)?.lifecycle === lifecycle) continue;
        states.set(id, { lifecycle, seq });
      }
    }
    from = page.next ?? at;
  }
  return new Map([...states].map(([id, { seq }]) => [id, seq]));
}

/** The ids that a query must give, in order. */
export async function expectedIds(
  memory: Cortex,
  all: readonly MemoryId[],
  query: FindQuery,
): Promise<readonly string[]> {
  const access = query.access === undefined ? {} : { access: query.access };
  const when = query.asOf === undefined ? {} : { asOf: query.asOf };
  const position = await positionOf(memory, query.asOf);
  const hops = await hopsOf(memory, query);
  const shown: Memory[] = [];
  for (const id of all) {
    const validAt = query.validAt === undefined ? {} : { validAt: query.validAt };
    const found = await memory.get(id, { ...access, ...when, ...validAt });
    if (found !== undefined && satisfies(found, query, memory.actor, hops)) shown.push(found);
  }
  const came = await arrivals(memory, position);
  return shown
    .sort((a, b) => compareHits(a, b, { query, came, hops, actor: memory.actor }))
    .map(({ id }) => id);
}

async function positionOf(memory: Cortex, asOf: AsOf | undefined): Promise<number> {
  return (await memory.list({ limit: 1, ...(asOf === undefined ? {} : { asOf }) })).seq;
}

/** Hops by edges that are read one memory at a time; hidden memories are walked through. */
async function hopsOf(
  memory: Cortex,
  query: FindQuery,
): Promise<ReadonlyMap<string, number> | undefined> {
  const { from, follow = {}, asOf, access } = query;
  if (from === undefined) return undefined;
  const when = {
    ...(asOf === undefined ? {} : { asOf }),
    ...(access === undefined ? {} : { access }),
  };
  const kinds = follow.kinds === undefined ? {} : { kinds: follow.kinds };
  const hops = new Map<string, number>([[from, 0]]);
  let frontier: readonly string[] = (await memory.get(from, when)) === undefined ? [] : [from];
  for (let hop = 1; hop <= (follow.maxHops ?? 1); hop += 1) {
    const met: string[] = [];
    for (const id of frontier) {
      const out = (await memory.edgesOut(id, { ...when, ...kinds })).edges.map(({ to }) => to);
      const into = (await memory.edgesIn(id, { ...when, ...kinds })).edges.map((one) => one.from);
      const direction = follow.direction ?? "out";
      if (direction !== "in") met.push(...out);
      if (direction !== "out") met.push(...into);
    }
    frontier = [...new Set(met)].filter((id) => !hops.has(id));
    for (const id of frontier) hops.set(id, hop);
  }
  hops.delete(from);
  return hops;
}

function satisfies(
  found: Memory,
  query: FindQuery,
  actor: string,
  hops: ReadonlyMap<string, number> | undefined,
): boolean {
  const { head, data } = found;
  const usual = query.validAt === undefined ? ["active"] : ["active", "archived"];
  const states: readonly string[] = query.lifecycles ?? usual;
  const types = query.type === undefined ? undefined : [query.type].flat();
  const { frame } = query;
  return (
    states.includes(head.lifecycle) &&
    (types === undefined || types.some((type) => type === found.type)) &&
    (query.tags ?? []).every((tag) => head.tags.includes(tag)) &&
    (query.kinds === undefined || query.kinds.some((kind) => kind === head.kind)) &&
    (query.slot === undefined || query.slot === head.slot) &&
    (query.session === undefined ||
      (head.kind === "turn" && "session" in data && data.session === query.session)) &&
    (frame === undefined ||
      head.frames.some((one) => JSON.stringify(one) === JSON.stringify(frame))) &&
    (hops === undefined || hops.has(found.id)) &&
    (query.where === undefined || holds(objectOf(found, actor), query.where))
  );
}

/** The object whose property paths predicates name. */
function objectOf(found: Memory, actor: string): unknown {
  const { head, versionRecord, data, text, id, type } = found;
  const tombstoned = head.lifecycle === "tombstoned";
  return { text, data, version: versionRecord, head: { ...head, id, type, actor, tombstoned } };
}

function valuesAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return value === undefined ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  return valuesAt((value as { readonly [name: string]: unknown })[name], rest);
}

function holds(object: unknown, node: Predicate): boolean {
  if ("and" in node) return node.and.every((child) => holds(object, child));
  if ("or" in node) return node.or.some((child) => holds(object, child));
  if ("not" in node) return !holds(object, node.not);
  if ("hasTag" in node) return valuesAt(object, ["head", "tags"]).includes(node.hasTag);
  const [operator, [field, literal]] = Object.entries(node)[0] as [string, [string, unknown]];
  const values = valuesAt(object, field.split("."));
  const order = (value: unknown, other: unknown) => compared(field, value, other as Scalar);
  switch (operator) {
    case "eq":
      return values.some((value) => order(value, literal) === 0);
    case "ne":
      return !values.some((value) => order(value, literal) === 0);
    case "gt":
      return values.some((value) => (order(value, literal) ?? 0) > 0);
    case "gte":
      return values.some((value) => (order(value, literal) ?? -1) >= 0);
    case "lt":
      return values.some((value) => (order(value, literal) ?? 0) < 0);
    case "lte":
      return values.some((value) => (order(value, literal) ?? 1) <= 0);
    case "in":
      return values.some((value) =>
        (literal as readonly Scalar[]).some((one) => order(value, one) === 0),
      );
    case "matches":
      return values.some(
        (value) => typeof value === "string" && new RegExp(literal as string, "u").test(value),
      );
    default:
      throw new Error(`unknown operator ${operator}`);
  }
}

/** Less, equal or more; `undefined` for values of different kinds. */
function compared(field: string, value: unknown, literal: Scalar): number | undefined {
  if (field === "data.cost.amount") return Number(value) - Number(literal);
  if (typeof value === "number" && typeof literal === "string") {
    const isTime = /At$|asOf$|horizonEnd$|validFrom$|validTo$/.test(field);
    return isTime ? value - Date.parse(literal) : undefined;
  }
  if (typeof value !== typeof literal) return undefined;
  if (typeof value === "string")
    return Buffer.compare(Buffer.from(value), Buffer.from(literal as string));
  return Number(value) - Number(literal);
}

interface Ordering {
  readonly query: FindQuery;
  readonly came: ReadonlyMap<string, number>;
  readonly hops: ReadonlyMap<string, number> | undefined;
  readonly actor: string;
}

const NEWEST: readonly OrderClause[] = [{ field: "arrival" }];

function compareHits(a: Memory, b: Memory, how: Ordering): number {
  const usual = how.query.from === undefined ? NEWEST : [{ field: "hop" }];
  const smallerId = a.id < b.id ? -1 : 1;
  for (const { field, direction } of how.query.orderBy ?? usual) {
    const [one, other] = [sortValue(a, field, how), sortValue(b, field, how)];
    if (one === undefined || other === undefined) {
      if (one === other) continue;
      return one === undefined ? 1 : -1;
    }
    const descending = direction === undefined ? field !== "hop" : direction === "desc";
    if (one !== other) return descending ? other - one : one - other;
    // What one entry brought arrived in the order of ids.
    if (field === "arrival") return descending ? -smallerId : smallerId;
  }
  return smallerId;
}

function sortValue(found: Memory, field: string, { came, hops, actor }: Ordering) {
  if (field === "hop") return hops?.get(found.id);
  if (field === "arrival") return came.get(found.id);
  const [value] = valuesAt(objectOf(found, actor), field.split("."));
  return typeof value === "number" ? value : undefined;
}
