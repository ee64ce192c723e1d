/**
 * The planner of `find`: which index to read.
 *
 * Every condition that must hold for a hit, and that an index can serve, is a path to the hits: a tag,
 * the types, the kinds, a slot, a session, a frame, ids, external ids, a stretch of the journal. One
 * path is read; all conditions are then tested on what it yields, so any choice gives the same answer.
 *
 * There are no stored counts. A probe reads the newest keys of every path in one batch: a range that
 * ends tells its size, one that goes on tells how densely it is filled, because rows stand in the order
 * of the journal. Where the order of the answer needs every candidate, the probe goes on in growing
 * steps until the smallest path is counted or the probe has cost what it may.
 */

import { utf8Length } from "../codec/text.js";
import { parseUlid } from "../codec/ulid.js";
import { frameTerm } from "../history/fold-state.js";
import { lastSeqAt, type Reader } from "../history/reader.js";
import {
  afterPrefix,
  getU64,
  INDEX,
  indexPrefix,
  memberOffset,
  seqValue,
  textKey,
} from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { firstPages, liveRange, type SeqBounds, type Term } from "../memory/members.js";
import { MEMORY_TYPES, type MemoryType } from "../records/types.js";
import type { Checked, Literal } from "./predicate.js";

/** A way to all hits of a query. */
export type Path =
  | { readonly kind: "index" | "session"; readonly name: string; readonly terms: readonly Term[] }
  | { readonly kind: "ids"; readonly name: string; readonly ids: readonly Bytes[] }
  | { readonly kind: "text"; readonly name: string }
  | {
      readonly kind: "journal";
      readonly name: string;
      readonly first: number;
      readonly last: number;
    };

/** A path with what the probe learned of it. */
export interface Probed {
  readonly path: Path;
  /** About how many candidates it yields. */
  readonly estimate: number;
  /** Whether the estimate is a count. */
  readonly counted: boolean;
  /** Keys that the probe read. */
  readonly keysRead: number;
}

/** What the conditions of a query say about where its hits stand. */
export interface Paths {
  readonly paths: readonly Path[];
  /** Between which seqs a hit came to any index. */
  readonly bounds: SeqBounds;
}

/** The conditions that all must hold: the children of nested `and`s. */
export function conjunctsOf(node: Checked): readonly Checked[] {
  return node.op === "and" ? node.children.flatMap(conjunctsOf) : [node];
}

/** The paths that a query's conditions open at the reader's position. */
export async function pathsOf(
  reader: Reader,
  where: Checked,
  lifecycles: readonly number[],
): Promise<Paths> {
  const conjuncts = conjunctsOf(where);
  const paths: Path[] = [];
  for (const node of conjuncts) {
    const path = await pathOf(reader, node, lifecycles);
    if (path !== undefined) paths.push(path);
  }
  const times = timeBounds(conjuncts);
  const seqs = await seqBounds(reader, times);
  if (seqs.journal !== undefined) paths.push(seqs.journal);
  return { paths: unique(paths), bounds: seqs.bounds };
}

/**
 * What a query of the present reads first along each of its paths, so that it comes with the opening of
 * the snapshot: the first page, and where there is a choice the keys that it is made by.
 */
export function firstRanges(
  where: Checked,
  lifecycles: readonly number[],
  pageItems: number,
  isSought: boolean,
): readonly KvRange[] {
  const conjuncts = conjunctsOf(where);
  const times = timeBounds(conjuncts);
  if (Object.values(times).some((time) => time !== undefined)) return [];
  const paths = unique(conjuncts.flatMap((node) => knownPath(node, lifecycles) ?? []));
  const limits =
    paths.length > 1 || isSought
      ? [{ limit: pageItems }, { limit: PROBE_KEYS, keysOnly: true }]
      : [{ limit: pageItems }];
  return paths.flatMap((path) => {
    if (path.kind !== "index") return [];
    return limits.flatMap((limit) => firstPages(path.terms, { reverse: true, ...limit }));
  });
}

function unique(paths: readonly Path[]): readonly Path[] {
  return [...new Map(paths.map((path) => [path.name, path])).values()];
}

async function pathOf(
  reader: Reader,
  node: Checked,
  lifecycles: readonly number[],
): Promise<Path | undefined> {
  if ((node.op === "eq" || node.op === "in") && node.field.name === "head.externalId") {
    const literals = "literals" in node ? node.literals : [node.literal];
    const ids = await namedIds(reader, literals.flatMap(textOf));
    return { kind: "ids", name: "external ids", ids };
  }
  return knownPath(node, lifecycles);
}

/** The path of a condition that tells its terms by itself. */
function knownPath(node: Checked, lifecycles: readonly number[]): Path | undefined {
  const index = (number: number, name: string, terms: readonly (Bytes | undefined)[]): Path => ({
    kind: "index",
    name,
    terms: terms.flatMap((term) =>
      term === undefined ? [] : lifecycles.map((lifecycle) => ({ index: number, lifecycle, term })),
    ),
  });
  switch (node.op) {
    case "hasTag":
      return index(INDEX.tag, `tag ${node.tag}`, [textTerm(node.tag, LIMITS.tagBytes)]);
    case "frame": {
      const { verb, object, ref } = node.frame;
      const name = `frame ${verb} ${object} ${ref}`;
      return index(INDEX.frame, name, [frameTerm(verb, object, ref)]);
    }
    case "session": {
      const term = textTerm(node.session, LIMITS.sessionBytes);
      const { terms } = index(INDEX.session, "", [term]) as Extract<Path, { kind: "index" }>;
      return { kind: "session", name: `session ${node.session}`, terms };
    }
    case "eq":
    case "in": {
      const literals = "literals" in node ? node.literals : [node.literal];
      const values = literals.flatMap(textOf);
      const said = values.join(", ");
      switch (node.field.name) {
        case "head.type":
          return index(INDEX.type, `type ${said}`, values.map(typeTerm));
        case "head.kind":
          return index(INDEX.kind, `kind ${said}`, values.map(cut(LIMITS.kindBytes)));
        case "head.slot":
          return index(INDEX.slot, `slot ${said}`, values.map(cut(LIMITS.slotBytes)));
        case "head.tags":
          return index(INDEX.tag, `tag ${said}`, values.map(cut(LIMITS.tagBytes)));
        case "head.id":
          return { kind: "ids", name: "ids", ids: values.flatMap((id) => parseUlid(id) ?? []) };
        default:
          return undefined;
      }
    }
    default:
      return undefined;
  }
}

function textOf({ text }: Literal): readonly string[] {
  return text === undefined ? [] : [text];
}

/** The term of a text; none when it is longer than any that was ever written. */
function textTerm(text: string, maxBytes: number): Bytes | undefined {
  return text === "" || utf8Length(text) > maxBytes ? undefined : Buffer.from(text, "utf8");
}

function cut(maxBytes: number): (text: string) => Bytes | undefined {
  return (text) => textTerm(text, maxBytes);
}

function typeTerm(name: string): Bytes {
  return Uint8Array.of(MEMORY_TYPES[name as MemoryType].code);
}

async function namedIds(reader: Reader, names: readonly string[]): Promise<readonly Bytes[]> {
  const known = names.filter((name) => textTerm(name, LIMITS.externalIdBytes) !== undefined);
  const ids = await reader.getMany(known.map((name) => textKey("externalId", name)));
  return ids.flatMap((id) => id ?? []);
}

/** Times between which a hit was made, and last changed; both ends included. */
interface TimeBounds {
  createdFrom: number | undefined;
  updatedFrom: number | undefined;
  updatedTo: number | undefined;
}

function timeBounds(conjuncts: readonly Checked[]): TimeBounds {
  const bounds: TimeBounds = {
    createdFrom: undefined,
    updatedFrom: undefined,
    updatedTo: undefined,
  };
  for (const node of conjuncts) {
    if (!("literal" in node) || node.literal.number === undefined) continue;
    const time = node.literal.number;
    const from =
      node.op === "gt" ? time + 1 : node.op === "gte" || node.op === "eq" ? time : undefined;
    const to =
      node.op === "lt" ? time - 1 : node.op === "lte" || node.op === "eq" ? time : undefined;
    if (node.field.name === "head.createdAt") {
      bounds.createdFrom = later(bounds.createdFrom, from);
    } else if (node.field.name === "head.updatedAt") {
      bounds.updatedFrom = later(bounds.updatedFrom, from);
      bounds.updatedTo = earlier(bounds.updatedTo, to);
    }
  }
  return bounds;
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

/**
 * Times as seqs. A memory came to its indexes when it was made or later, and not after its last change,
 * so those two times bound index rows; any bound makes the journal itself a path, since whatever changed
 * a memory is an entry that names it.
 */
async function seqBounds(
  reader: Reader,
  { createdFrom, updatedFrom, updatedTo }: TimeBounds,
): Promise<{ readonly bounds: SeqBounds; readonly journal: Path | undefined }> {
  const firstAt = async (time: number | undefined): Promise<number | undefined> =>
    time === undefined ? undefined : ((await lastSeqAt(reader, time - 1)) ?? -1) + 1;
  const fromSeq = await firstAt(createdFrom);
  const changedSeq = await firstAt(updatedFrom);
  const toSeq = updatedTo === undefined ? undefined : ((await lastSeqAt(reader, updatedTo)) ?? -1);
  const bounds = {
    ...(fromSeq === undefined ? {} : { fromSeq }),
    ...(toSeq === undefined ? {} : { toSeq }),
  };
  if (fromSeq === undefined && changedSeq === undefined && toSeq === undefined) {
    return { bounds, journal: undefined };
  }
  const first = later(fromSeq, changedSeq) ?? 0;
  const last = Math.min(reader.seq, toSeq ?? reader.seq);
  return { bounds, journal: { kind: "journal", name: "journal", first, last } };
}

/** Keys that the first step of a probe reads of every range, and how steps grow. */
const PROBE_KEYS = 32;
const PROBE_GROWTH = 4;
/** Keys that a probe may read in all, where every candidate will be read anyway. */
const PROBE_MOST = 16_384;

/** Learns how many candidates paths yield; `all` says that every candidate will be wanted. */
export async function probe(
  reader: Reader,
  { paths, bounds }: Paths,
  all: boolean,
): Promise<readonly Probed[]> {
  const found = paths.map((path) => countedPath(path));
  const open = () => found.some(({ counted }) => !counted);
  let spent = 0;
  for (let keys = PROBE_KEYS; open(); keys *= PROBE_GROWTH) {
    const plan = found.flatMap(({ path, counted }, at) =>
      counted || (path.kind !== "index" && path.kind !== "session")
        ? []
        : path.terms.flatMap((term) =>
            probeRanges(reader, term, bounds, keys).map((range) => ({ at, term, range })),
          ),
    );
    const rows = await reader.ranges(plan.map(({ range }) => range));
    for (const [at, one] of found.entries()) {
      if (one.counted) continue;
      const parts = plan.flatMap((part, index) =>
        part.at === at ? [{ ...part, rows: rows[index] ?? [] }] : [],
      );
      const read = parts.reduce((sum, part) => sum + part.rows.length, 0);
      spent += read;
      found[at] = {
        path: one.path,
        counted: parts.every((part) => part.rows.length < keys),
        estimate: parts.reduce((sum, part) => sum + sizeOf(reader, part, keys, bounds), 0),
        keysRead: one.keysRead + read,
      };
    }
    if (!all || found.some(({ counted }) => counted) || spent * PROBE_GROWTH > PROBE_MOST) break;
  }
  return found;
}

/** What is known of a path before any key was read. */
function countedPath(path: Path): Probed {
  switch (path.kind) {
    case "ids":
      return { path, estimate: path.ids.length, counted: true, keysRead: 0 };
    case "journal": {
      const estimate = Math.max(0, path.last - path.first + 1);
      return { path, estimate, counted: true, keysRead: 0 };
    }
    case "text":
      throw new Error("the text index says itself how many memories hold a word");
    default:
      return { path, estimate: 0, counted: path.terms.length === 0, keysRead: 0 };
  }
}

/** The newest live keys of a term and, in the past, those that have left it since. */
function probeRanges(
  reader: Reader,
  term: Term,
  bounds: SeqBounds,
  limit: number,
): readonly KvRange[] {
  const live = { ...liveRange(reader, term, bounds), limit, reverse: true, keysOnly: true };
  if (reader.live) return [live];
  const prefix = indexPrefix("indexClosed", term.index, term.lifecycle, term.term);
  const gte = Buffer.concat([prefix, seqValue(reader.seq + 1)]);
  return [live, { gte, lt: afterPrefix(prefix), limit, keysOnly: true }];
}

/** How many rows a range has: what was read if it ended, else what the spacing of its keys says. */
function sizeOf(
  reader: Reader,
  part: {
    readonly term: Term;
    readonly range: KvRange;
    readonly rows: readonly { readonly key: Bytes }[];
  },
  keys: number,
  { fromSeq, toSeq }: SeqBounds,
): number {
  const { rows, term, range } = part;
  const last = rows.at(-1);
  if (rows.length < keys || last === undefined) return rows.length;
  // Turns stand by their places, and closed rows by their ends: neither says how dense they are.
  if (term.index === INDEX.session || range.reverse !== true) return 2 * keys;
  const top = Math.min(reader.seq, toSeq ?? reader.seq);
  const oldest = getU64(last.key, memberOffset(term.term));
  const span = Math.max(1, top - oldest + 1);
  const whole = Math.max(span, top - (fromSeq ?? 0) + 1);
  return Math.max(keys, Math.round((rows.length * whole) / span));
}

/**
 * The path that costs least; on a tie the one that was named first. Where every candidate is wanted, the
 * cost is their number. Where `wanted` hits are, newest first, an index is read only so far: as many of
 * its candidates as hits are wanted, times those that come to one hit. Hits are at most as many as the
 * narrowest path has. Sessions and lists of ids are read whole before the first hit.
 */
export function cheapest<P extends { readonly path: Path; readonly estimate: number }>(
  probed: readonly P[],
  wanted: number | undefined,
): P | undefined {
  const hits = Math.max(1, Math.min(...probed.map(({ estimate }) => estimate)));
  const costOf = ({ path, estimate }: P): number => {
    const isLazy = path.kind !== "ids" && path.kind !== "session";
    return wanted === undefined || !isLazy
      ? estimate
      : Math.min(estimate, (wanted * estimate) / hits);
  };
  return probed.reduce<P | undefined>(
    (best, one) => (best === undefined || costOf(one) < costOf(best) ? one : best),
    undefined,
  );
}
