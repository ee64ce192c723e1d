/**
 * Which graph holds a lineage, and how a graph gets one for itself.
 *
 * A lineage belongs to one graph. Generated ids cannot clash. An id that a caller supplies is claimed
 * in the catalogue before the graph is written, by compare and commit, so that of two writers who want
 * the same one in two graphs only the first gets it; a claim whose writer died is taken over once it is
 * a minute old and the graph still lacks the lineage. Claims hold among writers that use a hub of the
 * same tenant. Whoever writes a graph directly can still give two graphs the same external id; such a
 * lineage is read by naming the graph.
 *
 * Looking up takes the short way first: what this process wrote itself, then what the catalogue says
 * as it stands. Either is checked in the graph. Only what is found in neither is looked for in a
 * catalogue that was caught up.
 */
import { decode } from "../codec/cbor.js";
import { parseUlid, ulidText } from "../codec/ulid.js";
import { findIds, parseRef } from "../engine/engine.js";
import { CortexError, describe, invalid } from "../errors.js";
import { Reader } from "../history/reader.js";
import { prefixRange } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { OpenedGraph } from "../open.js";
import { int, list } from "../records/memory-record.js";
import { parseUri } from "../records/uri.js";
import type { Catalogue } from "./catalogue.js";
import {
  type Claim,
  claimKey,
  decodeClaim,
  encodeClaim,
  lineageHash,
  lineageKey,
  memoryRowKey,
  numberAtEnd,
  originHash,
  originKey,
} from "./catalogue-rows.js";
import { noGraph } from "./context.js";
import { checkGraphId } from "./names.js";
import type { GraphStores } from "./stores.js";

/** How long a claim keeps others out although the graph has no such lineage yet. */
const CLAIM_MS = 60_000;
/** Lineages of this process whose graph is remembered. */
const HINTS = 100_000;
/** More graphs than hold one lineage. */
const HOLDERS = 10_000;

/** What lineages are looked up with. */
export interface LineageParts {
  readonly catalogue: Catalogue;
  readonly stores: GraphStores;
  readonly clock: () => number;
  /** What names of this hub's graphs begin with. */
  readonly prefix: string;
}

/** Where something that was imported is here. */
export interface OriginPlace {
  readonly graph: string;
  /** The id of the memory or the edge. */
  readonly id: string;
  /** Of a node, its version; 0 for an edge. */
  readonly version: number;
}

interface Wanted {
  readonly graph: string;
  readonly lineage: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** See the file header. */
export class Lineages {
  readonly #parts: LineageParts;
  readonly #hints = new Map<string, string>();
  readonly #shown = new Map<string, string>();
  #waiting: Wanted[] = [];
  #claiming: Promise<void> | undefined;

  constructor(parts: LineageParts) {
    this.#parts = parts;
  }

  /** Whether a lineage was in a graph when this process last heard of it. */
  wasIn(graph: string, lineage: string): boolean {
    return this.#hints.get(lineage) === graph;
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
   * The graph that holds a lineage, or the one that a URI names; `undefined` when none does. A caller
   * who knows the graph gives it, and it is taken at its word.
   */
  async graphOf(ref: string, graph?: string): Promise<string | undefined> {
    if (typeof ref !== "string" || ref === "") throw invalid("lineageId", "a text", ref);
    const { prefix } = this.#parts;
    const named = graph === undefined ? undefined : checkGraphId(graph, prefix);
    if (!ref.startsWith("cortex://")) return named ?? this.#lookUp(ref);
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
        const [own, version] = list(decode(value));
        if (graph === undefined || !(own instanceof Uint8Array)) return [];
        return [{ graph, id: ulidText(own), version: int(version, 0) }];
      });
      return places[0];
    });
  }

  /** The id that a graph goes by outside: the one it came with, or its own name. */
  async shownName(graph: string): Promise<string> {
    const known = this.#shown.get(graph);
    if (known !== undefined) return known;
    const row = await this.#parts.catalogue.graph(graph);
    const name = row?.config.origin?.id ?? graph;
    // What a graph came with is said by its first configuration, and never again.
    if (row !== undefined && row.size > 1) this.#shown.set(graph, name);
    return name;
  }

  /** `ERR_INVALID` when several hold it, which happens only to what was not written through a hub. */
  async #lookUp(lineage: string): Promise<string | undefined> {
    const hint = this.#hints.get(lineage);
    if (hint !== undefined && (await this.#holds(hint, lineage))) return hint;
    const known = await this.#holders(lineage);
    if (known.length > 0) return only(lineage, known);
    await this.#parts.catalogue.caughtUp();
    return only(lineage, await this.#holders(lineage));
  }

  async #holds(graph: string, lineage: string): Promise<boolean> {
    const found = await this.#parts.stores.use(graph, (opened) => idIn(opened, lineage));
    return found !== undefined;
  }

  /** Makes a lineage the graph's own, unless it is; `ERR_EXISTS` when another graph has it. */
  async claim(graph: string, lineage: string): Promise<void> {
    if (await this.#holds(graph, lineage)) return;
    const claimed = new Promise<void>((resolve, reject) => {
      this.#waiting.push({ graph, lineage, resolve, reject });
    });
    this.#claiming ??= this.#claimAll();
    await claimed;
  }

  /** Claims what waits, all in one commit, until nothing waits. */
  async #claimAll(): Promise<void> {
    // Let callers of the same turn join.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0);
      try {
        await this.#claimGroup(group);
      } catch (error) {
        for (const wanted of group) wanted.reject(error);
      }
    }
    this.#claiming = undefined;
  }

  async #claimGroup(group: readonly Wanted[]): Promise<void> {
    const { catalogue, clock, prefix } = this.#parts;
    for (;;) {
      const keys = group.map(({ lineage }) => claimKey(prefix, lineage));
      const before = await catalogue.read((snapshot) => snapshot.getMany(keys));
      const expect: { readonly key: Bytes; readonly value: Bytes | undefined }[] = [];
      const puts = new Map<string, { readonly key: Bytes; readonly value: Bytes }>();
      const granted: Wanted[] = [];
      for (const [at, wanted] of group.entries()) {
        const key = keys[at];
        const row =
          (await catalogue.knownRow(wanted.graph)) ??
          (await catalogue.refresh(wanted.graph, "stamp"));
        if (key === undefined || row === undefined) {
          wanted.reject(noGraph(wanted.graph));
          continue;
        }
        const { number } = row;
        const holder = await this.#rival(wanted, number, before[at]);
        const twin = puts.get(wanted.lineage);
        const own = encodeClaim({ number, at: clock() });
        if (holder !== undefined || (twin !== undefined && numberIn(twin.value) !== number)) {
          wanted.reject(taken(wanted, holder));
          continue;
        }
        granted.push(wanted);
        if (twin !== undefined) continue;
        expect.push({ key, value: before[at] });
        puts.set(wanted.lineage, { key, value: own });
      }
      const change = { expect, puts: [...puts.values()], deletes: [] };
      if (puts.size === 0 || (await catalogue.kv.commitCaches(change))) {
        for (const wanted of granted) wanted.resolve();
        return;
      }
    }
  }

  /** The other graph that has a lineage, or is about to. */
  async #rival(
    { graph, lineage }: Wanted,
    number: number,
    bytes: Bytes | undefined,
  ): Promise<string | undefined> {
    const { catalogue, clock } = this.#parts;
    const claim: Claim | undefined = bytes === undefined ? undefined : decodeClaim(bytes);
    if (claim !== undefined && claim.number !== number) {
      const [holder] = await catalogue.read((snapshot) =>
        catalogue.namesOf(snapshot, [claim.number]),
      );
      const isFresh = clock() - claim.at < CLAIM_MS;
      if (holder !== undefined && (isFresh || (await this.#holds(holder, lineage)))) return holder;
    }
    const holders = await this.#holders(lineage);
    return holders.find((name) => name !== graph);
  }

  /** The graphs that hold a lineage, of those the catalogue names; each is asked. */
  async #holders(lineage: string): Promise<string[]> {
    const { catalogue } = this.#parts;
    const names = await catalogue.read(async (snapshot) => {
      const ranges = lineagePrefixes(lineage).map((prefix) => prefixRange(prefix, HOLDERS));
      const rows = await snapshot.ranges(ranges);
      return catalogue.namesOf(
        snapshot,
        rows.flat().map(({ key }) => numberAtEnd(key)),
      );
    });
    const unique = [...new Set(names.flatMap((name) => name ?? []))];
    const held = await Promise.all(unique.map((name) => this.#holds(name, lineage)));
    return unique.filter((_, at) => held[at] === true).sort();
  }
}

/** The id behind a lineage in an open graph, forgotten ones included. */
async function idIn({ engine }: OpenedGraph, lineage: string): Promise<Bytes | undefined> {
  const ref = parseRef(engine, lineage, "lineageId");
  const [id] = await Reader.with(engine.kv, undefined, (reader) => findIds(reader, [ref]));
  return id;
}

function lineagePrefixes(lineage: string): Bytes[] {
  // A lineage is an external id, or the id of a memory, and may look like either.
  const id = parseUlid(lineage);
  const named = lineageKey(lineageHash(lineage));
  return id === undefined ? [named] : [memoryRowKey(id), named];
}

function numberIn(claim: Bytes): number {
  return decodeClaim(claim).number;
}

function only(lineage: string, graphs: readonly string[]): string | undefined {
  if (graphs.length <= 1) return graphs[0];
  throw new CortexError(
    "ERR_INVALID",
    `graph: expected the graph that is meant, because ${graphs.length} graphs hold ${describe(lineage)}`,
    { field: "graph", subject: lineage },
  );
}

function taken({ graph, lineage }: Wanted, holder: string | undefined): CortexError {
  return new CortexError(
    "ERR_EXISTS",
    `lineageId: expected a lineage of graph ${graph}, got ${describe(lineage)}, which belongs to ${holder ?? "another graph"}`,
    { field: "lineageId", subject: lineage },
  );
}
