/**
 * A walk along edges from the best hits of a question: how much each memory that it reaches has by the kind, strength and
 * source of the edge that leads there.
 *
 * Promise: bounded reads, whatever the store holds; a hub's edges say less each. Whose memories may be shown is left to the
 * caller, who walks on from those alone. The order of turns is a lane of its own and is not walked.
 */
import type { Reader } from "../history/reader.js";
import { idKey, journalKey, keyBytes, keyString } from "../kv/keyspace.js";
import type { Bytes, KvRange, KvSoon } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { type AdjacentEdge, adjacent, isValidAt, liveRanges } from "../links/adjacency.js";
import { canonicalKind, kindByCode, readingFrom, strengthMax } from "../records/edge-kinds.js";
import { TRUST } from "../trust/gate.js";

/** Memories that one walk may bring in. */
export const REACHED = 32;
/** Share of a hit's score that an edge of full trust and strength carries. */
const EDGE_SHARE = 0.6;
/** The strength of an edge that gives none. */
const EDGE_STRENGTH = 3;
/** Open kinds say something, and nobody knows what. */
const OPEN_KIND_TRUST = 0.4;
/** What one step of a walk reads of a memory, on either side. */
const STEP = { codes: [], limit: REACHED } as const;
/** Where a memory stands in its edges that leave it, and in those that reach it. */
const ENDS = ["from", "to"] as const;
const PRECEDES = canonicalKind("precedes")?.kind.code;

/** How an edge led to a memory. */
export interface EdgeStep {
  readonly from: string;
  readonly kind: string;
}

/** What one step of a walk reads of memories. */
export function edgeRanges(ids: readonly Bytes[]): readonly KvRange[] {
  return (["out", "in"] as const).flatMap((side) => liveRanges(ids, { ...STEP, side }));
}

function isWalked({ code }: AdjacentEdge): boolean {
  return code !== PRECEDES;
}

/** See the file header. */
export class EdgeWalk {
  readonly #reader: Reader;
  readonly #validAt: number;
  readonly #via: Map<string, EdgeStep>;

  /** `via` is told which edge led to a memory first. */
  constructor(reader: Reader, validAt: number, via: Map<string, EdgeStep>) {
    this.#reader = reader;
    this.#validAt = validAt;
    this.#via = via;
  }

  /** Names what the next step reads, so that it comes along with the memories that it starts from. */
  async readAhead(keys: readonly string[]): Promise<void> {
    const edges = (await this.#edgesOf(keys.map(keyBytes))).flat(2).filter(isWalked);
    this.#reader.soon(() => ({
      keys: edges.flatMap(({ seq, other }) => [journalKey(seq), idKey("memory", other)]),
    }));
  }

  /** What one edge carries from each memory of the frontier. */
  async step(frontier: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const ids = [...frontier.keys()].map(keyBytes);
    const sides = await this.#edgesOf(ids);
    const edges = ids.flatMap((id, at) => {
      const mine = sides.flatMap((found, side) =>
        (found[at] ?? []).filter(isWalked).map((edge) => ({ edge, end: ENDS[side] })),
      );
      // A hub is next to everything: each of its edges says less.
      return mine.map((one) => ({
        ...one,
        from: keyString(id),
        crowd: Math.sqrt(1 + mine.length / 4),
      }));
    });
    this.#reader.soon(() => this.#beyond(edges.map(({ edge }) => edge.other)));
    const records = await this.#reader.edges(edges.map(({ edge }) => edge));
    const gained = new Map<string, number>();
    for (const [at, { edge, end = "from", from, crowd }] of edges.entries()) {
      const record = records[at]?.record;
      if (record === undefined || !isValidAt(record, this.#validAt)) continue;
      const kind = kindByCode(edge.code);
      const said = Math.min(record.strength ?? EDGE_STRENGTH, strengthMax(record.kind));
      const strength = said / LIMITS.edgeStrengthMax;
      const trust = (kind?.walkTrust ?? OPEN_KIND_TRUST) * TRUST[record.source].rank;
      const gain = (EDGE_SHARE * (frontier.get(from) ?? 0) * trust * strength) / crowd;
      const key = keyString(edge.other);
      if (gain <= (gained.get(key) ?? 0)) continue;
      gained.set(key, gain);
      // In the words of the memory that it leads from, where the kind has a name there.
      const told = readingFrom(record.kind, end)?.kind ?? record.kind;
      if (!this.#via.has(key)) this.#via.set(key, { from, kind: told });
    }
    return gained;
  }

  /** What the next step of a walk reads of the memories that this one reaches. */
  #beyond(others: readonly Bytes[]): KvSoon {
    const ids = others.filter(({ length }) => length === 16).slice(0, REACHED);
    const rows = (["memory", "counter"] as const).flatMap((name) =>
      ids.map((id) => idKey(name, id)),
    );
    return { keys: rows, ranges: this.#reader.live ? edgeRanges(ids) : [] };
  }

  /** The live edges of memories on either side. */
  #edgesOf(ids: readonly Bytes[]): Promise<AdjacentEdge[][][]> {
    const query = { ...STEP, includeTombstoned: false };
    return Promise.all(
      (["out", "in"] as const).map((side) => adjacent(this.#reader, ids, { ...query, side })),
    );
  }
}
