/**
 * `review`: what waits for a decision, page by page. Contradictions between two live memories (`contradicts`,
 * and the tension that `contrasts_with` states), each pair once whichever way round it was said, rivals
 * that a source may not put in the place of a more trusted one, versions left open by a conflict,
 * memories that are disputed, and those that are provisional; changes that somebody proposes
 * (`proposals.ts`); and, when asked for, near duplicates.
 *
 * All but the last is read from exact rows: the fold keeps the contradictions that are open and the heads that
 * are unsettled in ranges of their own, so a page costs what it shows, whatever the store holds. Duplicates are
 * looked for among all memories, through the text index, so a page may look at many and show few: that is why
 * they are asked for. An item is shown only to a caller who may see all its sides. `settle` is in `settle.ts`.
 */

import { parseUlid, ulidText } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import {
  REVIEW_KINDS,
  type ReviewItem,
  type ReviewKind,
  type ReviewPage,
  type ReviewSide,
} from "../contract/review.js";
import { RIVAL } from "../engine/drafts.js";
import type { Engine } from "../engine/engine.js";
import { shapeMemory } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { decodeAdjacency, decodeEdgeRow } from "../history/pointers.js";
import { bodyOf, type FoundMemory, type Read, Reader } from "../history/reader.js";
import {
  afterPrefix,
  EDGE_STATE,
  edgeKey,
  INDEX,
  idKey,
  KEYSPACE,
  keyString,
  REVIEW_TERM,
} from "../kv/keyspace.js";
import { type Bytes, compareBytes, sameBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { adjacent, edgeRecords } from "../links/adjacency.js";
import { openMembers, realPlace, shownPlace } from "../memory/members.js";
import { allVersions, shownMemories } from "../memory/read.js";
import { canonicalKind } from "../records/edge-kinds.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { MemoryRecord } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import type { Access } from "../scope/access.js";
import { nextDuplicates } from "./duplicates.js";
import { proposalItems } from "./proposals.js";

/** What is listed unless kinds are asked for: what can be read off its rows. */
const USUAL_KINDS: readonly ReviewKind[] = REVIEW_KINDS.filter((kind) => kind !== "duplicate");

/** The ranges behind the kinds, in order. */
const SECTIONS = [
  "contested",
  "siblings",
  "disputed",
  "provisional",
  "proposal",
  "duplicate",
] as const;
type Section = (typeof SECTIONS)[number];

/** Rows read at once, so that a small page does not crawl past what is over. */
const CHUNK_ROWS = 64;
const CONTRADICTS = canonicalKind("contradicts")?.kind.code ?? 0;

interface Place {
  readonly section: Section;
  /** The last row looked at; from the start of the section when absent. */
  readonly after?: Bytes;
}

/** What is open, page by page. */
export async function review(engine: Engine, asked: Asked<"review">): Promise<ReviewPage> {
  const { limit = LIMITS.listLimitDefault, cursor, access } = asked;
  const kinds = new Set(asked.kinds ?? USUAL_KINDS);
  const start = cursor === undefined ? undefined : parseCursor(cursor);
  if (kinds.has("duplicate")) await engine.text.ready();
  return Reader.with(engine.kv, undefined, async (reader) => {
    const items: ReviewItem[] = [];
    let looked = 0;
    const after = start?.after === undefined ? {} : { after: await realPlace(reader, start.after) };
    let place: Place | undefined = { section: start?.section ?? "contested", ...after };
    while (place !== undefined) {
      if (items.length >= limit || looked >= LIMITS.reviewRows) {
        const cursor = await showCursor(reader, place);
        return { items, cursor, seq: reader.position };
      }
      if (!sectionKinds(place.section).some((kind) => kinds.has(kind))) {
        place = nextSection(place.section);
        continue;
      }
      const room = limit - items.length;
      const page = await readSection(engine, reader, { place, access, kinds, room });
      items.push(...page.items);
      looked += page.looked;
      place = page.next ?? nextSection(place.section);
    }
    return { items, seq: reader.position };
  });
}

function sectionKinds(section: Section): readonly ReviewKind[] {
  return section === "contested" ? ["contradiction", "rival"] : [section];
}

function nextSection(section: Section): Place | undefined {
  const next = SECTIONS[SECTIONS.indexOf(section) + 1];
  return next === undefined ? undefined : { section: next };
}

async function showCursor(reader: Reader, { section, after }: Place): Promise<string> {
  const shown = await shownPlace(reader, after ?? new Uint8Array(0));
  return `${section}.${Buffer.from(shown).toString("hex")}`;
}

function parseCursor(text: string): Place {
  const [section, hex = ""] = text.split(".");
  const known = SECTIONS.find((name) => name === section);
  if (
    known === undefined ||
    !/^(?:[0-9a-f]{32}|[0-9a-f]{48}|[0-9a-f]{64}|[0-9a-f]{80})?$/.test(hex)
  ) {
    throw invalid("cursor", "a cursor that a review gave", text);
  }
  return { section: known, ...(hex === "" ? {} : { after: Buffer.from(hex, "hex") }) };
}

interface SectionRequest {
  readonly place: Place;
  readonly access: Access;
  readonly kinds: ReadonlySet<ReviewKind>;
  readonly room: number;
}

interface SectionPage {
  readonly items: readonly ReviewItem[];
  readonly looked: number;
  readonly next?: Place;
}

async function readSection(
  engine: Engine,
  reader: Reader,
  request: SectionRequest,
): Promise<SectionPage> {
  const { place, room, kinds, access } = request;
  const { section } = place;
  if (section === "duplicate") return readDuplicates(engine, reader, request);
  const size = Math.max(room, CHUNK_ROWS);
  const rows = await sectionRows(reader, { ...place, section }, size);
  const found =
    section === "contested"
      ? await contestedItems(engine, reader, rows, access)
      : section === "proposal"
        ? await proposalItems(reader, rows, {
            access,
            sha256: engine.sha256,
            sideOf: (memory) => shapeSide(engine, memory),
          })
        : await headItems(engine, reader, { section, rows, access });
  const items: ReviewItem[] = [];
  for (const [at, item] of found.entries()) {
    if (item === undefined || !kinds.has(item.kind)) continue;
    items.push(item);
    const after = rows[at];
    if (items.length < room || after === undefined) continue;
    return { items, looked: at + 1, next: { section, after } };
  }
  const last = rows.at(-1);
  return {
    items,
    looked: rows.length,
    ...(rows.length < size || last === undefined ? {} : { next: { section, after: last } }),
  };
}

/** The next few memories that others restate, a pair for each. */
async function readDuplicates(
  engine: Engine,
  reader: Reader,
  { place, room, access }: SectionRequest,
): Promise<SectionPage> {
  const step = await nextDuplicates(engine, reader, { after: place.after, room, access });
  const items = step.pairs.map(({ shorter, longer, words: [few, many] }): ReviewItem => {
    const sides = [shorter, longer].map((memory) => shapeSide(engine, memory));
    return {
      id: shownItem(`duplicate-${ulidText(shorter.id)}-${ulidText(longer.id)}`, sides),
      kind: "duplicate",
      why:
        few === many
          ? "both say the same in nearly the same words"
          : `one says what the other says: ${few} of its ${many} words`,
      sides,
    };
  });
  const { looked, next } = step;
  return {
    items,
    looked,
    ...(next === undefined ? {} : { next: { section: place.section, after: next } }),
  };
}

/** Sections that are read row by row. */
type RowSection = Exclude<Section, "duplicate">;

/** The next rows of a section: edge ids, or members of the review index. */
async function sectionRows(
  reader: Reader,
  { section, after }: Place & { readonly section: RowSection },
  limit: number,
): Promise<readonly Bytes[]> {
  if (section === "contested" || section === "proposal") {
    const prefix = Uint8Array.of(KEYSPACE[section].byte);
    const gte =
      after === undefined ? prefix : Buffer.concat([idKey(section, after), Uint8Array.of(0)]);
    const [rows = []] = await reader.ranges([{ gte, lt: afterPrefix(prefix), limit }]);
    return rows.map(({ key }) => key.subarray(1));
  }
  const term = {
    index: INDEX.review,
    lifecycle: LIFECYCLES.active.code,
    term: Uint8Array.of(REVIEW_TERM[section]),
  };
  const query = { terms: [term], pageItems: limit, reverse: false, cursor: after };
  const { members } = await (await openMembers(reader, query)).next(limit);
  return members;
}

/** Memories by id that are live and that the caller may see. */
async function liveMemories(
  reader: Reader,
  access: Access,
  ids: readonly Bytes[],
): Promise<ReadonlyMap<string, FoundMemory>> {
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  const shown = await shownMemories(reader, access, found);
  return new Map(
    shown.flatMap((memory) =>
      memory === undefined || memory.row.lifecycle !== "active"
        ? []
        : [[keyString(memory.id), memory] as const],
    ),
  );
}

/** The items of contradictions, in order; `undefined` for one that is over, or not for this caller. */
async function contestedItems(
  engine: Engine,
  reader: Reader,
  edgeIds: readonly Bytes[],
  access: Access,
): Promise<readonly (ReviewItem | undefined)[]> {
  const rows = await reader.getMany(edgeIds.map((id) => idKey("edge", id)));
  const pointers = rows.map((row) => (row === undefined ? undefined : decodeEdgeRow(row)));
  const records = await reader.edges(pointers.flatMap((pointer) => pointer ?? []));
  const edges = new Map(
    records.flatMap((read) =>
      read === undefined ? [] : [[keyString(read.record.id), read.record]],
    ),
  );
  const ends = [...edges.values()].flatMap(({ from, to }) =>
    to instanceof Uint8Array ? [from, to] : [],
  );
  const memories = await liveMemories(reader, access, ends);
  const twins = await toldAlready(reader, [...edges.values()]);
  return edgeIds.map((id) => {
    const edge = edges.get(keyString(id));
    if (edge === undefined || !(edge.to instanceof Uint8Array)) return undefined;
    if (edge.tombstone !== undefined || edge.validTo !== undefined) return undefined;
    if (twins.has(keyString(id))) return undefined;
    const from = memories.get(keyString(edge.from));
    const to = memories.get(keyString(edge.to));
    return from === undefined || to === undefined
      ? undefined
      : contestedItem(engine, edge, [from, to]);
  });
}

/** Of contradictions, those that an older store holds the other way round as well and that come second. */
async function toldAlready(
  reader: Reader,
  edges: readonly EdgeRecord[],
): Promise<ReadonlySet<string>> {
  const plain = edges.flatMap(({ id, from, kind, to, metadata }) => {
    const code = canonicalKind(kind)?.kind.code;
    if (code === undefined || !(to instanceof Uint8Array)) return [];
    if (metadata?.[RIVAL] !== undefined) return [];
    return [{ id, place: { from: to, code, far: from, n: 0 } }];
  });
  const keys = plain.map(({ place }) => edgeKey("out", place, EDGE_STATE.live));
  const rows = await reader.getMany(keys);
  const others = rows.map((row) => (row === undefined ? undefined : decodeAdjacency(row).id));
  const open = await reader.getMany(
    others.map((id, at) => idKey("contested", id ?? plain[at]?.id ?? new Uint8Array(16))),
  );
  return new Set(
    plain.flatMap(({ id }, at) => {
      const other = others[at];
      const isSecond = other !== undefined && compareBytes(other, id) < 0;
      return isSecond && open[at] !== undefined ? [keyString(id)] : [];
    }),
  );
}

function contestedItem(
  engine: Engine,
  edge: EdgeRecord,
  ends: readonly [FoundMemory, FoundMemory],
): ReviewItem {
  const claim = edge.metadata?.[RIVAL];
  const kind = claim === undefined ? "contradiction" : "rival";
  const [from, to] = ends.map((memory) => shapeSide(engine, memory)) as [ReviewSide, ReviewSide];
  const place = typeof claim === "string" ? `slot ${claim}` : "the other";
  const why =
    kind === "rival"
      ? `${from.source} may not replace what ${to.source} said; it claims ${place}`
      : `said to ${edge.kind === "contradicts" ? "contradict" : "pull in different directions"} by ${edge.source}${edge.reason === undefined ? "" : `: ${edge.reason}`}`;
  return {
    id: shownItem(`${kind}-${ulidText(edge.id)}`, [from, to]),
    kind,
    why,
    sides: [from, to],
    ...(typeof claim === "string" ? { slot: claim } : {}),
  };
}

interface HeadRows {
  readonly section: Exclude<RowSection, "contested" | "proposal">;
  readonly rows: readonly Bytes[];
  readonly access: Access;
}

/** The items of memories that are unsettled by themselves. */
async function headItems(
  engine: Engine,
  reader: Reader,
  { section, rows, access }: HeadRows,
): Promise<readonly (ReviewItem | undefined)[]> {
  const ids = rows.map((row) => row.subarray(row.length - 16));
  const memories = await liveMemories(reader, access, ids);
  const rivals = section === "provisional" ? await rivalIds(reader, ids) : new Set<string>();
  return Promise.all(
    ids.map(async (id): Promise<ReviewItem | undefined> => {
      const memory = memories.get(keyString(id));
      // A rival is listed once, with what it disputes.
      if (memory === undefined || rivals.has(keyString(id))) return undefined;
      const sides =
        section === "siblings"
          ? await openSides(engine, reader, memory)
          : [shapeSide(engine, memory)];
      return {
        id: shownItem(`${section}-${ulidText(id)}`, sides.slice(0, 1)),
        kind: section,
        why: whyOf(section, memory),
        sides,
      };
    }),
  );
}

/** Of memories, those that dispute another one that is still live. */
async function rivalIds(reader: Reader, ids: readonly Bytes[]): Promise<ReadonlySet<string>> {
  const query = { side: "out" as const, codes: [CONTRADICTS], includeTombstoned: false, limit: 64 };
  const edges = (await adjacent(reader, ids, query)).flat();
  const contested = await reader.getMany(edges.map(({ id }) => idKey("contested", id)));
  const open = edges.filter((_, at) => contested[at] !== undefined);
  const records = await edgeRecords(reader, open);
  const ends = records.flatMap(({ record }) => (record.to instanceof Uint8Array ? record.to : []));
  const rows = await reader.memoryRows(ends as readonly Bytes[]);
  const live = new Set(
    (ends as readonly Bytes[]).filter((_, at) => rows[at]?.lifecycle === "active").map(keyString),
  );
  return new Set(
    records.flatMap(({ record: { from, to, metadata } }) =>
      metadata?.[RIVAL] !== undefined && to instanceof Uint8Array && live.has(keyString(to))
        ? [keyString(from)]
        : [],
    ),
  );
}

function whyOf(section: HeadRows["section"], memory: FoundMemory): string {
  const { siblings, source } = memory.head.record.head;
  switch (section) {
    case "siblings":
      return `a stale update left ${siblings.length + 1} versions open`;
    case "disputed":
      return "marked as disputed";
    case "provisional":
      return `said by ${source}; awaits the owner's word`;
  }
}

/** The open versions of a memory, newest first. */
async function openSides(
  engine: Engine,
  reader: Reader,
  memory: FoundMemory,
): Promise<readonly ReviewSide[]> {
  const { version, siblings } = memory.head.record.head;
  const open = new Set([version, ...siblings]);
  const bodies = await allVersions(reader, memory);
  return bodies
    .filter((body) => open.has(bodyOf(body).number))
    .map((body) => shapeSide(engine, memory, body))
    .reverse();
}

function shapeSide(
  engine: Engine,
  found: FoundMemory,
  body: Read<MemoryRecord> = found.body,
): ReviewSide {
  const { id, uri, type, version, text, head, versionRecord } = shapeMemory(
    engine.actor,
    found,
    body,
  );
  const { createdAt, createdBy, validFrom, flags, provenance } = versionRecord;
  return {
    id,
    uri,
    type,
    version,
    text,
    status: head.status,
    source: provenance.source,
    createdAt,
    createdBy,
    since: validFrom ?? createdAt,
    ...(head.slot === undefined ? {} : { slot: head.slot }),
    ...(flags === undefined ? {} : { flags }),
  };
}

/**
 * The id of an item, with the versions it was shown with: whoever decides has read those, and a side that
 * somebody rewrote meanwhile is another question. Of open versions the newest says which there are.
 */
function shownItem(name: string, sides: readonly Pick<ReviewSide, "version">[]): string {
  return `${name}-v${sides.map(({ version }) => version).join(".")}`;
}

/** An item's id, taken apart. */
interface ParsedItem {
  readonly kind: ReviewKind;
  /** An edge, or a memory. */
  readonly id: Bytes;
  /** The other memory of a pair of duplicates, or the mark of a proposal. */
  readonly other?: Bytes;
  /** What a proposal was shown to wish. */
  readonly wish?: Bytes;
  /** The versions of the sides as they were shown; absent where a program names the question itself. */
  readonly versions?: string;
}

/** How many ids stand in the name of an item: an edge or a memory, a pair, a proposal with its wish. */
function idsIn(kind: ReviewKind | undefined): number {
  return kind === "proposal" ? 3 : kind === "duplicate" ? 2 : 1;
}

/** Takes the id of an item apart. */
export function parseItemId(itemId: string): ParsedItem {
  const [, whole = "", versions] = /^(.*?)(?:-v([0-9.]+))?$/.exec(itemId) ?? [];
  const [name, ...texts] = whole.split("-");
  const kind = REVIEW_KINDS.find((known) => known === name);
  const ids = texts.flatMap((text) => parseUlid(text) ?? []);
  const [id, other, wish] = ids;
  const isWhole = texts.length === ids.length && ids.length === idsIn(kind);
  if (kind !== undefined && id !== undefined && isWhole && !sameBytes(id, other)) {
    return {
      kind,
      id,
      ...(other === undefined ? {} : { other }),
      ...(wish === undefined ? {} : { wish }),
      ...(versions === undefined ? {} : { versions }),
    };
  }
  throw invalid("item", "the id of an item that a review gave", itemId);
}
