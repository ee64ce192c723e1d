/**
 * `subscribe`: what happens in the graphs of a hub, as it happens.
 *
 * Promises: an event is delivered after the commit that brought it is durable, outside any lock,
 * whichever process wrote it; the events of one graph come in the order of its journal, each once. The
 * reader pulls and may do what it likes between two events, writing included. Commits of this process
 * are heard at once; those of others are found by looking, every `pollMs` at the latest. A graph that
 * is made later is followed from its first entry. To go on after a break, give back the positions.
 *
 * Events are new versions of memories, edges, removed edges, graphs. A change of a head alone is no event, and
 * neither is a forget. `subscribe` of a Cortex delivers every entry.
 */

import { type Following, followingOf } from "../contract/following.js";
import type { Memory } from "../contract/shapes.js";
import { checkOptions, type Engine, memoryId } from "../engine/engine.js";
import { shapeEdge, shapeParts } from "../engine/shapes.js";
import { invalid, isCortexError } from "../errors.js";
import { Reader } from "../history/reader.js";
import {
  decodeEntry,
  type Entry,
  type PartRef,
  partContext,
  partRecord,
  SUBJECT,
} from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import { decodeEdgeRecord, type EdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord, type Version } from "../records/memory-record.js";
import type { GraphRow } from "./catalogue-rows.js";
import { checkGraphId, type HubContext } from "./context.js";
import { type GraphInfo, shapeGraph } from "./graphs.js";
import type { HubEdge } from "./walk.js";

/** What every event says. */
interface EventPlace {
  readonly graphId: string;
  /** The entry of the graph's journal that it tells of. */
  readonly seq: number;
  readonly at: number;
}

/** Something that happened in a graph. */
export type HubEvent = EventPlace &
  (
    | { readonly type: "memory"; readonly memory: Memory }
    | { readonly type: "edge"; readonly edge: HubEdge }
    | { readonly type: "edgeRemoved"; readonly edge: HubEdge }
    /** A graph was made or configured; it is shown as it is now. */
    | { readonly type: "graph"; readonly graph: GraphInfo }
  );

/** What to follow, and how. */
export interface HubSubscribeOptions {
  /** Only these graphs. */
  readonly graphs?: readonly string[];
  /** The next seq to deliver, by graph; graphs it does not name are followed from their first entry. */
  readonly from?: { readonly [graphId: string]: number };
  /** Tells only of graphs that are made or configured, and looks for that once in a while. */
  readonly graphsAlone?: boolean;
  /** The longest pause between two looks at what other processes wrote; 500 by default. */
  readonly pollMs?: number;
  /** Ends the subscription when it is aborted. */
  readonly signal?: AbortSignal;
}

/** Events as they come: an async iterable that ends, and can be ended. */
export interface HubSubscription extends Following<HubEvent> {
  /** Where each graph stands: give it to `from` to go on later. */
  positions(): { readonly [graphId: string]: number };
}

const POLL_MS = 500;
const POLL_MS_MIN = 10;
const POLL_MS_MAX = 60_000;
/** Entries of one graph that are read together. */
const PAGE_ENTRIES = 500;

/** Follows the graphs of a hub; resolves once everything written from now on will be delivered. */
export async function subscribe(
  hub: HubContext,
  options: HubSubscribeOptions = {},
): Promise<HubSubscription> {
  checkOptions(options, ["graphs", "from", "graphsAlone", "pollMs", "signal", "access"]);
  const plan = checkPlan(hub, options);
  const dirty = new Set<string>();
  const positions = new Map(Object.entries(options.from ?? {}));
  let wake = (): void => {};
  const unlisten = hub.onCommit((graph) => {
    dirty.add(graph);
    // Most commits change no graph as a whole: whoever asks for that alone is not woken by each of them.
    if (!plan.graphsAlone || !positions.has(graph)) wake();
  });
  const stop = new AbortController();
  const until = AbortSignal.any([
    stop.signal,
    hub.closing,
    ...(options.signal === undefined ? [] : [options.signal]),
  ]);
  const numbers = new Map<string, number>();
  try {
    const { rows } = await hub.catalogue.graphs();
    for (const [name, row] of rows) numbers.set(name, row.number);
    if (options.from === undefined) for (const [name, row] of rows) positions.set(name, row.size);
  } catch (error) {
    unlisten();
    throw error;
  }
  const feed: Feed = {
    hub,
    plan,
    positions,
    numbers,
    dirty,
    until,
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
  };
  until.addEventListener("abort", () => wake(), { once: true });
  const following = followingOf(follow(feed, unlisten), () => {
    stop.abort();
    unlisten();
  });
  return Object.assign(following, { positions: () => Object.fromEntries(positions) });
}

interface Plan {
  readonly graphs: ReadonlySet<string> | undefined;
  readonly graphsAlone: boolean;
  readonly pollMs: number;
}

interface Feed {
  readonly hub: HubContext;
  readonly plan: Plan;
  /** The next seq to deliver, by graph. */
  readonly positions: Map<string, number>;
  /** The number of each graph in the catalogue: another one means that it was removed and made anew. */
  readonly numbers: Map<string, number>;
  /** Graphs that this process has committed to since they were looked at. */
  readonly dirty: Set<string>;
  readonly until: AbortSignal;
  readonly wait: (ms: number) => Promise<void>;
}

async function* follow(feed: Feed, unlisten: () => void): AsyncGenerator<HubEvent, undefined> {
  const { dirty, until, plan } = feed;
  try {
    // The first look is at everything: others may have written since the start.
    let rows = await allRows(feed);
    while (!until.aborted) {
      for (const [graph, row] of rows) {
        yield* graphEvents(feed, graph, row);
        if (until.aborted) return;
      }
      if (dirty.size === 0 || plan.graphsAlone) await feed.wait(plan.pollMs);
      rows = until.aborted ? [] : await nextRows(feed);
    }
  } catch (error) {
    // A hub that closes while it is looked at ends its subscriptions, which is no failure of theirs.
    if (!until.aborted || !isCortexError(error, "ERR_CLOSED")) throw error;
  } finally {
    unlisten();
  }
}

type Rows = readonly (readonly [string, GraphRow])[];

async function allRows({ hub, plan }: Feed): Promise<Rows> {
  const { rows } = await hub.catalogue.graphs();
  return [...rows].filter(([name]) => plan.graphs?.has(name) ?? true);
}

/** What this process wrote, if it wrote anything; else everything. */
async function nextRows(feed: Feed): Promise<Rows> {
  const names = [...feed.dirty];
  feed.dirty.clear();
  if (names.length === 0 || feed.plan.graphsAlone) return allRows(feed);
  const wanted = names.filter((name) => feed.plan.graphs?.has(name) ?? true);
  const rows = await Promise.all(wanted.map((name) => feed.hub.catalogue.graph(name)));
  return wanted.flatMap((name, at) => {
    const row = rows[at];
    return row === undefined ? [] : [[name, row] as const];
  });
}

/** The events of one graph from where it stands to the end that the row names. */
async function* graphEvents(
  feed: Feed,
  graph: string,
  row: GraphRow,
): AsyncGenerator<HubEvent, undefined> {
  const isNew = (feed.numbers.get(graph) ?? row.number) !== row.number;
  feed.numbers.set(graph, row.number);
  let next = isNew ? 0 : (feed.positions.get(graph) ?? 0);
  while (next < row.size && !feed.until.aborted) {
    const page = await feed.hub.stores.use(graph, ({ engine }) =>
      readEvents(engine, next, Math.min(row.size, next + PAGE_ENTRIES), {
        info: shapeGraph(graph, row),
        graphsAlone: feed.plan.graphsAlone,
      }),
    );
    if (page === undefined) return;
    for (const [at, event] of page.events.entries()) {
      if (feed.until.aborted) return;
      // Whoever has the last event of an entry has all of it.
      const isLast = page.events[at + 1]?.seq !== event.seq;
      feed.positions.set(graph, isLast ? event.seq + 1 : event.seq);
      yield event;
    }
    next = page.next;
    feed.positions.set(graph, next);
  }
}

async function readEvents(
  engine: Engine,
  from: number,
  to: number,
  { info, graphsAlone }: { readonly info: GraphInfo; readonly graphsAlone: boolean },
): Promise<{ readonly events: readonly HubEvent[]; readonly next: number }> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [rows = []] = await reader.ranges([
      { gte: journalKey(from), lt: journalKey(to), limit: PAGE_ENTRIES },
    ]);
    const whole = rows.map(({ value }) => decodeEntry(value));
    const entries = graphsAlone ? whole.filter(isAboutGraph) : whole;
    const edges = entries.flatMap(edgesIn);
    const [names, back] = await Promise.all([
      namesOfEnds(reader, edges),
      versionsBack(reader, entries),
    ]);
    // A graph that is made and configured in one go has become one graph.
    const lastGraph = entries.findLast(isAboutGraph)?.header.seq;
    const events = entries.flatMap((entry): HubEvent[] => {
      const { seq, at } = entry.header;
      const place = { graphId: engine.actor, seq, at };
      const graph: HubEvent[] =
        seq === lastGraph ? [{ ...place, type: "graph", graph: { ...info, seq: to - 1 } }] : [];
      const memories = memoriesIn(engine.actor, entry, back).map(
        (memory): HubEvent => ({ ...place, type: "memory", memory }),
      );
      const links = edgesIn(entry).map((record): HubEvent => {
        const edge = shapeEdge(record, seq);
        const ends = { from: names(edge.from), to: names(edge.to) };
        const type = record.tombstone === undefined ? "edge" : "edgeRemoved";
        return { ...place, type, edge: { graphId: engine.actor, edge, ...ends } };
      });
      return [...graph, ...memories, ...links];
    });
    return { events, next: from + whole.length };
  });
}

function isAboutGraph({ header }: Entry): boolean {
  return header.kind === "genesis" || header.kind === "config";
}

function edgesIn({ header, parts }: Entry): EdgeRecord[] {
  return header.parts.flatMap(({ subject }, at) => {
    const part = parts[at];
    if (subject[0] !== SUBJECT.edge || part === undefined) return [];
    return [decodeEdgeRecord(partRecord(part), partContext(header, at))];
  });
}

/**
 * The versions that reverts made current again, by the lines of their headers. A part carried again
 * may hold a version that never ceased to be current, or lack the one that is current again.
 */
async function versionsBack(
  reader: Reader,
  entries: readonly Entry[],
): Promise<ReadonlyMap<PartRef, WrittenVersion>> {
  const reverted = entries.flatMap(({ header: { seq, kind, parts: refs }, parts }) =>
    refs.flatMap((ref, at) => {
      const isMemory = ref.subject[0] === SUBJECT.memory && parts[at] !== undefined;
      return kind === "revert" && isMemory ? [{ ref, seq, id: ref.subject.subarray(1) }] : [];
    }),
  );
  const found = await Promise.all(
    reverted.map(async ({ ref, seq, id }): Promise<(readonly [PartRef, WrittenVersion])[]> => {
      const [[was], [row]] = await Promise.all([
        reader.before(seq - 1).memoryRows([id]),
        reader.before(seq).memoryRows([id]),
      ]);
      if (row === undefined || was?.version === row.version) return [];
      const body = (await reader.memory(id, row))?.body;
      const version = body?.record.version;
      if (body === undefined || version === undefined) return [];
      return [[ref, { version, versionSeq: body.header.seq }]];
    }),
  );
  return new Map(found.flat());
}

/** A version, and the entry that brought it. */
interface WrittenVersion {
  readonly version: Version;
  readonly versionSeq: number;
}

/** The memories that an entry brought a version of. */
function memoriesIn(
  graph: string,
  { header, parts }: Entry,
  back: ReadonlyMap<PartRef, WrittenVersion>,
): Memory[] {
  const { seq, at: time } = header;
  return header.parts.flatMap((ref, at) => {
    const part = parts[at];
    if (ref.subject[0] !== SUBJECT.memory || part === undefined) return [];
    const { head, version } = decodeMemoryRecord(partRecord(part), partContext(header, at));
    const own = version === undefined ? undefined : { version, versionSeq: seq };
    const written = header.kind === "revert" ? back.get(ref) : own;
    if (written === undefined) return [];
    const id = ref.subject.subarray(1);
    return [shapeParts(graph, { id, head, at: time, seq, ...written })];
  });
}

/** What the ends of edges go by: their external id where they have one. */
async function namesOfEnds(
  reader: Reader,
  edges: readonly EdgeRecord[],
): Promise<(id: string) => string> {
  const ends = edges.flatMap(({ from, to }) => (to instanceof Uint8Array ? [from, to] : [from]));
  const unique = [...new Map(ends.map((id) => [memoryId(id) as string, id]))];
  const ids = unique.map(([, id]) => id);
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  const names = new Map(
    unique.map(([name], at) => [name, found[at]?.head.record.head.externalId ?? name]),
  );
  return (id) => names.get(id) ?? id;
}

function checkPlan(hub: HubContext, options: HubSubscribeOptions): Plan {
  const { graphs, from = {}, pollMs = POLL_MS, signal, graphsAlone = false } = options;
  if (graphs !== undefined && !Array.isArray(graphs)) {
    throw invalid("graphs", "a list of graphs", graphs);
  }
  for (const [name, seq] of Object.entries(from)) {
    checkGraphId(name, hub.prefix, "from");
    if (!Number.isSafeInteger(seq) || seq < 0) throw invalid(`from.${name}`, "a seq", seq);
  }
  if (!(typeof pollMs === "number" && pollMs >= POLL_MS_MIN && pollMs <= POLL_MS_MAX)) {
    throw invalid("pollMs", `a number from ${POLL_MS_MIN} to ${POLL_MS_MAX}`, pollMs);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid("signal", "an AbortSignal", signal);
  }
  const names = graphs?.map((name, at) => checkGraphId(name, hub.prefix, `graphs[${at}]`));
  return { graphs: names === undefined ? undefined : new Set(names), graphsAlone, pollMs };
}
