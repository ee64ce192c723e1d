/**
 * `history`: every version of a memory, newest first, those that a revert set aside included and marked.
 *
 * Where the storage has its rows at hand, the versions of a plain memory are read where they stand and shaped one by one,
 * without a promise in between: half the time for eleven versions.
 *
 * Promise: both ways say the same, and refuse the same in the same words, because the quick one gives up on whatever is
 * unusual: the past, versions that were set aside, records that are not plain, an entry that is missing. Where versions
 * lie is left to `read.ts`.
 */
import type { Asked } from "../contract/index.js";
import type { HistoryItem } from "../contract/memory.js";
import { type Engine, findIds, memoryId, type ParsedRef, parseRef } from "../engine/engine.js";
import { shapeOpen } from "../engine/shapes.js";
import { bodyOf, type FoundMemory, Reader, showNow, showVersionNow } from "../history/reader.js";
import { textKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { INTEGER_MAX } from "../limits.js";
import { type Head, primaryText, shownVersion, type Version } from "../records/memory-record.js";
import { buildUri } from "../records/uri.js";
import {
  allVersions,
  findMemory,
  missed,
  openVersions,
  standingOf,
  versionPlaces,
  versionRanges,
} from "./read.js";

/** Every version of a memory, newest first; `undefined` when there is none the caller may see. */
export async function history(
  engine: Engine,
  { id: ref, asOf, access, memories }: Asked<"history">,
): Promise<readonly HistoryItem[] | undefined> {
  const parsed = parseRef(engine, ref, "id");
  const plain = asOf === undefined && memories !== true ? plainHistory(engine, parsed) : undefined;
  if (plain !== undefined) return plain;
  return Reader.with(engine.kv, asOf, async (reader) => {
    const [id] = await findIds(reader, [parsed]);
    const found = id === undefined ? undefined : await findMemory(reader, id);
    if (found === undefined) return missed(reader, access, parsed);
    const bodies = await allVersions(reader, found);
    const standing = new Set(standingOf(found, bodies));
    const shape = shaperOf(engine, found.id, found.head.record.head);
    const items = bodies.map((body) => {
      const item = shape(bodyOf(body), body.header.seq, !standing.has(body));
      if (memories !== true) return item;
      return { ...item, memory: shapeOpen(engine.actor, found, body) };
    });
    return items.reverse();
  });
}

/** The history of a plain memory in the present, of rows that are at hand; `undefined` says nothing. */
function plainHistory(
  engine: Engine,
  { id, externalId = "" }: ParsedRef,
): readonly HistoryItem[] | undefined {
  return engine.kv.readNow?.((rows) => {
    const known = id ?? rows.getNow(textKey("externalId", externalId));
    const lead = known === undefined ? undefined : showNow(rows, known, leadOf(engine));
    if (known === undefined || lead === undefined) return undefined;
    const [versions, closed] = versionRanges(known);
    const places = versionPlaces(
      lead.row,
      rows.rangeNow(versions),
      rows.rangeNow(closed),
      INTEGER_MAX,
    );
    const items: HistoryItem[] = [];
    for (let at = places.length - 1; at >= 0; at -= 1) {
      const place = places[at];
      const item = place === undefined ? undefined : showVersionNow(rows, place, lead.shape);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  });
}

/** What is kept of a memory that is lent; nothing where versions of it were set aside. */
function leadOf(engine: Engine) {
  return ({ id, row, head }: FoundMemory) =>
    row.highest === undefined ? { row, shape: shaperOf(engine, id, head.record.head) } : undefined;
}

/** Makes what a history says of a version; of the head it keeps the type and which versions are open. */
function shaperOf({ actor }: Engine, id: Bytes, head: Head) {
  const { type } = head;
  const open = openVersions(head);
  const idText = memoryId(id);
  return (version: Version, seq: number, undone = false): HistoryItem => ({
    uri: buildUri({ actor, type, id, version: version.number }, idText),
    version: version.number,
    current: open.includes(version.number),
    ...(undone ? { undone } : {}),
    text: primaryText(type, version.data) || version.forms.short,
    data: version.data,
    versionRecord: shownVersion(version, seq),
  });
}
