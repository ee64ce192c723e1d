/**
 * Which graphs hold a lineage, and which of them holds its head.
 *
 * A lineage lives in one graph at a time. Writing it in another graph moves it there: the new version is
 * committed in the other graph under the next number, and then the memory that was left is hidden, with a reason
 * that says so. A process that dies between the two leaves both visible; the higher version is the head, and the
 * next write of the lineage, or `check` with `repair`, hides the other. So the history of a lineage is that of
 * all its places, and its head is where the highest version is. Stores of earlier releases may hold the id of a
 * memory of one graph as a name in another; the same rule tells the head.
 *
 * Graphs may also use one name for different things, each for its own: whoever wrote them did not write
 * a lineage that moved. Such a name is read by naming the graph, and never hidden by anybody.
 *
 * Looking up takes the short way first: what this process wrote itself, then the only graph there is, or what the
 * catalogue says as it stands; each is checked in the graph. Only what is visible in neither is looked for in every
 * graph that the catalogue has not read to its end. Nothing is ever committed for a look.
 */
import { decode } from "../codec/cbor.js";
import { readIntegerOr, readList } from "../codec/cbor-value.js";
import { parseUlid, ulidText } from "../codec/ulid.js";
import { findIds, memoryId, parseRef } from "../engine/engine.js";
import { CortexError, describe, invalid, isCortexError } from "../errors.js";
import { highestVersion } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import { prefixRange } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { allVersions } from "../memory/read.js";
import type { OpenedGraph } from "../open.js";
import type { Lifecycle, MemoryType } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import type { Catalogue } from "./catalogue.js";
import {
  lineageHash,
  lineageKey,
  memoryRowKey,
  numberAtEnd,
  originHash,
  originKey,
} from "./catalogue-rows.js";
import { checkGraphId } from "./context.js";
import type { GraphStores } from "./stores.js";
import { Turns } from "./turns.js";

/** Lineages of this process whose graph is remembered. */
const HINTS = 100_000;
/** More graphs than hold one lineage. */
const HOLDERS = 10_000;
/** Graphs that are asked one by one; of more than these the catalogue reads the rest first. */
const ASKED_MAX = 8;

/** A graph's name that is an id of memgraph's in small letters; see `graphName`. */
export const ULID_NAME = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** What lineages are looked up with. */
interface LineageParts {
  readonly catalogue: Catalogue;
  readonly stores: GraphStores;
  /** What names of this hub's graphs begin with. */
  readonly prefix: string;
  /** The only graph there is, where a glance tells. */
  readonly only: () => string | undefined;
}

/** Where something that was imported is here. */
interface OriginPlace {
  readonly graph: string;
  /** The id of the memory or the edge. */
  readonly id: string;
  /** Of a node, its version; 0 for an edge. */
  readonly version: number;
}

/** A graph that holds a lineage, or held it before it moved. */
export interface LineagePlace {
  readonly graph: string;
  /** The memory that it is there. */
  readonly id: string;
  readonly highest: number;
  /** The number of its first version: above 1 where the lineage came from another graph. */
  readonly first: number;
  readonly type: MemoryType;
  readonly lifecycle: Lifecycle;
  /** Whether it is hidden because the lineage moved on. */
  readonly isLeft: boolean;
  /** When it last changed. */
  readonly at: number;
}

const LEFT = "moved to graph ";

/** Why a memory is hidden whose lineage lives in another graph now. */
export function leftFor(graph: string): string {
  return LEFT + graph;
}

/** Whether a memory is hidden because its lineage moved on. */
export function isLeft(head: {
  readonly tombstone?: { readonly reason: string } | undefined;
}): boolean {
  return head.tombstone?.reason.startsWith(LEFT) === true;
}

/** See the file header. */
export class Lineages {
  readonly #parts: LineageParts;
  readonly #hints = new Map<string, string>();
  readonly #shown = new Map<string, string>();
  readonly #turns = new Turns();

  constructor(parts: LineageParts) {
    this.#parts = parts;
  }

  /** Whether a lineage was in a graph when this process last heard of it. */
  wasIn(graph: string, lineage: string): boolean {
    return this.#hints.get(lineage) === graph;
  }

  /**
   * Does work that writes lineages into a graph. Those that may move there wait for whoever writes them elsewhere in this
   * process; `graph` is given where they most likely are already.
   */
  writing<T>(
    lineages: readonly string[],
    graph: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    return this.only() === undefined ? this.#turns.take(lineages, graph, work) : work();
  }

  /** Remembers where a lineage is. */
  note(lineage: string, graph: string): void {
    this.#hints.delete(lineage);
    this.#hints.set(lineage, graph);
    if (this.#hints.size <= HINTS) return;
    const [oldest] = this.#hints.keys();
    if (oldest !== undefined) this.#hints.delete(oldest);
  }

  /**
   * The graph that holds the head of a lineage, or the one that a URI names; `undefined` when none does.
   * A caller who knows the graph gives it, and it is taken at its word.
   */
  async graphOf(ref: string, graph?: string): Promise<string | undefined> {
    if (typeof ref !== "string" || ref === "") throw invalid("lineageId", "a text", ref);
    const { prefix } = this.#parts;
    const named = graph === undefined ? undefined : checkGraphId(graph, prefix);
    if (!ref.startsWith("cortex://")) return named ?? this.#homeOf(ref);
    const { actor } = parseUri(ref, "nodeId");
    return actor.startsWith(prefix) && (named ?? actor) === actor ? actor : undefined;
  }

  /**
   * What the id that another program gave to a node or an edge stands for here: the memory and its
   * version, or the edge; `undefined` when it is none that came with an import.
   */
  async originOf(what: "node" | "edge", id: string): Promise<OriginPlace | undefined> {
    const hash = originHash(what, id);
    const known = await this.#originAt(hash);
    if (known !== undefined) return known;
    await this.#parts.catalogue.caughtUp();
    return this.#originAt(hash);
  }

  async #originAt(hash: Bytes): Promise<OriginPlace | undefined> {
    const { catalogue } = this.#parts;
    return catalogue.read(async (snapshot) => {
      const [rows = []] = await snapshot.ranges([prefixRange(originKey(hash), HOLDERS)]);
      const names = await catalogue.namesOf(
        snapshot,
        rows.map(({ key }) => numberAtEnd(key)),
      );
      const places = rows.flatMap(({ value }, at): OriginPlace[] => {
        const graph = names[at];
        const [own, version] = readList(decode(value));
        if (graph === undefined || !(own instanceof Uint8Array)) return [];
        return [{ graph, id: ulidText(own), version: readIntegerOr(version, 0) }];
      });
      return places[0];
    });
  }

  /** The id that a graph goes by outside: the one it came with, or its own name. */
  async shownName(graph: string): Promise<string> {
    const known = this.#shown.get(graph);
    if (known !== undefined) return known;
    const row = await this.#parts.catalogue.graph(graph);
    // One that is not here was named by its id alone, and ids of this form are written large.
    const unknown = ULID_NAME.test(graph) ? graph.toUpperCase() : graph;
    const name = row === undefined ? unknown : (row.config.origin?.id ?? graph);
    // What a graph came with is said by its first configuration, and never again.
    if (row !== undefined && row.size > 1) this.#shown.set(graph, name);
    return name;
  }

  /**
   * The graph that most likely holds a lineage: where this process last heard of it, or the only one that the
   * catalogue names. Whoever finds it visible there is right; whoever does not asks `graphOf`.
   */
  async likelyIn(lineage: string): Promise<string | undefined> {
    return this.#hints.get(lineage) ?? this.onlyIn(lineage);
  }

  /** The only graph of which it is known here that it holds a lineage, or held it; where there is one graph, that. */
  async onlyIn(lineage: string): Promise<string | undefined> {
    return this.#parts.only() ?? this.#onlyListed(lineage);
  }

  async #onlyListed(lineage: string): Promise<string | undefined> {
    const [only, ...others] = await this.listedIn(lineage);
    // What this process wrote elsewhere since, the catalogue may not know yet.
    const hint = this.#hints.get(lineage) ?? only;
    return others.length === 0 && hint === only ? only : undefined;
  }

  async #homeOf(lineage: string): Promise<string | undefined> {
    const likely = await this.likelyIn(lineage);
    const place = likely === undefined ? undefined : await this.#placeIn(likely, lineage, false);
    if (place?.lifecycle === "active") {
      this.note(lineage, place.graph);
      return place.graph;
    }
    const known = await this.#placesIn(await this.listedIn(lineage), lineage);
    const isVisible = known[0]?.lifecycle === "active";
    const { places, failure } = isVisible ? { places: known } : await this.#lookAround(lineage);
    if (areApart(places, lineage)) throw ambiguous(places, lineage);
    const [home] = places;
    // A graph that cannot be read may hold it: that it is nowhere cannot be said then.
    if (home === undefined && failure !== undefined) throw failure;
    if (home?.lifecycle === "active") this.note(lineage, home.graph);
    return home?.graph;
  }

  /**
   * Every graph that holds a lineage or held it, that of its head first; but for one that is not asked about.
   * One that cannot be read keeps nobody from the others, unless it is known to hold the lineage.
   */
  async placesOf(lineage: string, besides?: string): Promise<readonly LineagePlace[]> {
    return (await this.#lookAround(lineage, besides)).places;
  }

  /** The places of a lineage, and why a graph could not be looked into, where there is one. */
  async #lookAround(
    lineage: string,
    besides?: string,
  ): Promise<{ readonly places: readonly LineagePlace[]; readonly failure?: CortexError }> {
    const { catalogue } = this.#parts;
    // What can be no lineage is refused, also where there is no other graph to look in.
    if (besides !== undefined) parseRef({ actor: besides }, lineage, "lineageId");
    if (besides !== undefined && besides === this.#parts.only()) return { places: [] };
    const names = (await catalogue.names()).filter((name) => name !== besides);
    if (names.length === 0) return { places: [] };
    const unread = await catalogue.unread(names);
    const [problem] = unread.length > ASKED_MAX ? (await catalogue.caughtUp()).problems : [];
    const listed = (await this.listedIn(lineage)).filter((name) => name !== besides);
    const places = await this.#placesIn(listed, lineage);
    const asked = unread.length > ASKED_MAX ? [] : unread.filter((name) => !listed.includes(name));
    const failures = problem === undefined ? [] : [new CortexError(problem.code, problem.message)];
    const more = await Promise.all(
      asked.map((name) =>
        this.#placeIn(name, lineage, true).catch((error: unknown) => {
          if (!isCortexError(error) || error.code === "ERR_CLOSED") throw error;
          failures.push(error);
          return undefined;
        }),
      ),
    );
    const found = [...places, ...more.flatMap((place) => place ?? [])].sort(byHead);
    const [failure] = failures;
    return { places: found, ...(failure === undefined ? {} : { failure }) };
  }

  /** What a graph holds of a lineage, or held before it moved. */
  placeIn(graph: string, lineage: string): Promise<LineagePlace | undefined> {
    return this.#placeIn(graph, lineage, true);
  }

  async #placesIn(graphs: readonly string[], lineage: string): Promise<readonly LineagePlace[]> {
    const unique = [...new Set(graphs)];
    const found = await Promise.all(unique.map((name) => this.#placeIn(name, lineage, true)));
    return found.flatMap((place) => place ?? []).sort(byHead);
  }

  #placeIn(graph: string, lineage: string, whole: boolean): Promise<LineagePlace | undefined> {
    return this.#parts.stores.use(graph, (opened) => placeIn(opened, lineage, whole));
  }

  /** The only graph there is, where a glance tells. */
  only(): string | undefined {
    return this.#parts.only();
  }

  /** The graphs that hold a lineage as far as the catalogue has come. */
  async listedIn(lineage: string): Promise<readonly string[]> {
    const [graphs = []] = await this.#listed([lineage]);
    return graphs;
  }

  /** The same of each of some lineages, each graph once, and with what this process heard of since. */
  async listedEach(lineages: readonly string[]): Promise<readonly (readonly string[])[]> {
    const listed = await this.#listed(lineages);
    return listed.map((graphs, at) => {
      const hint = this.#hints.get(lineages[at] ?? "");
      return [...new Set(hint === undefined ? graphs : [...graphs, hint])];
    });
  }

  async #listed(lineages: readonly string[]): Promise<readonly (readonly string[])[]> {
    const { catalogue } = this.#parts;
    return catalogue.read(async (snapshot) => {
      const prefixes = lineages.map(lineagePrefixes);
      const ranges = prefixes.flat().map((prefix) => prefixRange(prefix, HOLDERS));
      const rows = await snapshot.ranges(ranges);
      let next = 0;
      const numbers = prefixes.map((own) =>
        own.flatMap(() => (rows[next++] ?? []).map(({ key }) => numberAtEnd(key))),
      );
      const names = await catalogue.namesOf(snapshot, numbers.flat());
      next = 0;
      return numbers.map((own) => own.flatMap(() => names[next++] ?? []));
    });
  }

  /** Reads into the catalogue what graphs say by now, so that whoever walks knows of a lineage that moved. */
  async learn(graphs: readonly string[]): Promise<void> {
    for (const graph of new Set(graphs)) await this.#parts.catalogue.caughtUpGraph(graph);
  }
}

/** The head first: what is visible before what is hidden, then the higher version, then the later. */
function byHead(a: LineagePlace, b: LineagePlace): number {
  const hidden = (place: LineagePlace): number => (place.lifecycle === "active" ? 0 : 1);
  const byTime = b.highest - a.highest || b.at - a.at;
  return hidden(a) - hidden(b) || byTime || (a.graph < b.graph ? -1 : 1);
}

/** Whether several graphs use a name each for its own: none of them has it from another. */
export function areApart(places: readonly LineagePlace[], lineage: string): boolean {
  const visible = places.filter(({ lifecycle }) => lifecycle === "active");
  if (visible.length < 2) return false;
  return visible.every(({ first, id }) => first === 1 && id !== lineage);
}

function ambiguous(places: readonly LineagePlace[], lineage: string): CortexError {
  return new CortexError(
    "ERR_INVALID",
    `graph: expected the graph that is meant, because ${places.length} graphs hold ${describe(lineage)}`,
    { field: "graph", subject: lineage },
  );
}

/** What an open graph holds of a lineage, forgotten ones included; without `whole`, of a visible one not when. */
async function placeIn(
  { engine }: OpenedGraph,
  lineage: string,
  whole: boolean,
): Promise<LineagePlace | undefined> {
  const ref = parseRef(engine, lineage, "lineageId");
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [id] = await findIds(reader, [ref]);
    const [row] = id === undefined ? [] : await reader.memoryRows([id]);
    if (id === undefined || row === undefined) return undefined;
    const { lifecycle, type } = row;
    const highest = highestVersion(row);
    const base = { graph: engine.actor, id: memoryId(id), highest, lifecycle, type };
    if (lifecycle === "active" && !whole) return { ...base, first: 1, isLeft: false, at: 0 };
    const found = await reader.memory(id, row);
    if (found === undefined) return { ...base, first: 1, isLeft: false, at: 0 };
    const { record, header } = found.head;
    const [birth] = await allVersions(reader, found);
    const first = birth?.record.version?.number ?? 1;
    return { ...base, first, isLeft: isLeft(record.head), at: header.at };
  });
}

function lineagePrefixes(lineage: string): Bytes[] {
  // A lineage is an external id, or the id of a memory, and may look like either.
  const id = parseUlid(lineage);
  const named = lineageKey(lineageHash(lineage));
  return id === undefined ? [named] : [memoryRowKey(id), named];
}
