/**
 * How records become what callers get back: memories, edges and references as plain objects, and memories as lines of
 * a prompt.
 *
 * In objects times are integer milliseconds, ids and URIs are text, and what is absent is not there.
 *
 * In a prompt a memory is one line, with its id, its date and its status, inside the fence that `remember` drops; none
 * can end its line, its quotes or the fence. What came from outside, through a tool, a document or somebody else's
 * channel, stands in quotes with its source, so that a model can tell what the owner and the agent said from what was
 * merely read. The same memories in the same order give the same bytes: no clock, no locale.
 */
import { ulidText } from "../codec/ulid.js";
import type { Form } from "../contract/hits.js";
import type { Edge, Memory, MemoryRef } from "../contract/shapes.js";
import { bodyOf, type FoundMemory, type Read } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import type { EdgeRecord } from "../records/edge-record.js";
import { fence } from "../records/fence.js";
import { countTokens, renderFull } from "../records/forms.js";
import {
  type Head,
  type MemoryRecord,
  primaryText,
  shownHead,
  shownVersion,
  type Version,
} from "../records/memory-record.js";
import type { MemoryType } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { TRUST } from "../trust/gate.js";
import { quoted, withheld } from "../trust/scan.js";
import { edgeId, memoryId } from "./engine.js";

/** A memory as callers see it; `body` may be another version than the current one. */
export function shapeMemory(
  actor: string,
  found: FoundMemory,
  body: Read<MemoryRecord> = found.body,
): Memory {
  return shapeParts(actor, {
    id: found.id,
    head: found.head.record.head,
    at: found.head.header.at,
    seq: found.row.seq,
    version: bodyOf(body),
    versionSeq: body.header.seq,
  });
}

/**
 * An open version of a memory as a memory of its own: with the kind, the tags and the freshness that
 * came with it, where it is not the one that the head goes by.
 */
export function shapeOpen(actor: string, found: FoundMemory, body: Read<MemoryRecord>): Memory {
  const memory = shapeMemory(actor, found, body);
  if (memory.version === memory.head.version) return memory;
  const { kind: _kind, freshnessAt: _freshnessAt, ...head } = memory.head;
  const { kind, tags, freshnessAt } = body.record.head;
  const own = {
    tags,
    ...(kind === undefined ? {} : { kind }),
    ...(freshnessAt === undefined ? {} : { freshnessAt }),
  };
  return { ...memory, head: { ...head, ...own } };
}

/** What a memory is shaped from: a head, a version, and the entries that left them so. */
interface MemoryParts {
  readonly id: Bytes;
  readonly head: Head;
  /** When the head was left so, and by which entry. */
  readonly at: number;
  readonly seq: number;
  readonly version: Version;
  /** The entry that brought the version. */
  readonly versionSeq: number;
}

/** A memory from its parts. */
export function shapeParts(actor: string, parts: MemoryParts): Memory {
  const { id, head, version } = parts;
  const idText = memoryId(id);
  return {
    id: idText,
    uri: buildUri({ actor, type: head.type, id, version: version.number }, idText),
    type: head.type,
    version: version.number,
    text: primaryText(head.type, version.data) || version.forms.short,
    data: version.data,
    head: shownHead(head, parts.at),
    versionRecord: shownVersion(version, parts.versionSeq),
    seq: parts.seq,
    // The record was read as one: its data is that of its type.
  } as Memory;
}

/** A memory in brief. */
export function shapeRef(
  actor: string,
  id: Bytes,
  type: MemoryType,
  version: Pick<Version, "number" | "forms">,
): MemoryRef {
  return {
    id: memoryId(id),
    uri: buildUri({ actor, type, id, version: version.number }),
    text: version.forms.short,
  };
}

/** An edge as callers see it; set member by member, because a walk shapes many. */
export function shapeEdge(edge: EdgeRecord, seq: number): Edge {
  const { to, weight, reason, strength, ordinal, metadata, validFrom, validTo } = edge;
  const isHere = to instanceof Uint8Array;
  const shaped: { -readonly [member in keyof Edge]: Edge[member] } = {
    id: edgeId(edge.id),
    from: memoryId(edge.from),
    kind: edge.kind,
    to: isHere ? ulidText(to) : to.name,
    n: edge.n,
    source: edge.source,
    createdAt: edge.createdAt,
    createdBy: edge.createdBy,
    seq,
  };
  if (!isHere && to.graph !== "") shaped.toGraph = to.graph;
  if (weight !== undefined) shaped.weight = weight;
  if (reason !== undefined) shaped.reason = reason;
  if (strength !== undefined) shaped.strength = strength;
  if (ordinal !== undefined) shaped.ordinal = ordinal;
  if (metadata !== undefined) shaped.metadata = metadata;
  if (validFrom !== undefined) shaped.validFrom = validFrom;
  if (validTo !== undefined) shaped.validTo = validTo;
  if (edge.tombstone !== undefined) shaped.tombstone = edge.tombstone;
  if (edge.origin !== undefined) shaped.origin = edge.origin;
  return shaped;
}

/** What a memory says, in full. */
export function sentenceOf({ head, body }: FoundMemory): string {
  return primaryText(head.record.head.type, bodyOf(body).data);
}

/** What a memory says, in a form. */
export function formText({ head, body }: FoundMemory, form: Form): string {
  const { forms, data, flags } = bodyOf(body);
  // What looks like an order to whoever reads it is on record, and is not read out.
  if (flags !== undefined) return withheld(flags);
  return form === "full" ? renderFull(head.record.head.type, data) : forms[form];
}

/** The line of a memory. */
export function promptLine(memory: FoundMemory, form: Form): string {
  const { source, status } = memory.head.record.head;
  const { validFrom, createdAt, provenance } = bodyOf(memory.body);
  const text = quoted(formText(memory, form), { flags: [] });
  const outside = [source, provenance.source].find((one) => TRUST[one].quoted);
  const marks = [ulidText(memory.id), dayOf(validFrom ?? createdAt), status];
  if (outside === undefined) return `- [${marks.join(" ")}] ${text}`;
  return `- [${marks.join(" ")}, from ${outside}] ${JSON.stringify(text)}`;
}

/** The day of a time, in UTC; a time beyond the calendar is given in milliseconds. */
function dayOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : (date.toISOString().split("T")[0] ?? "");
}

/** A heading and the lines below it. */
interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

/** The prompt of sections; those without lines are left out, and nothing at all is no text. */
export function promptText(sections: readonly Section[]): string {
  const shown = sections.filter(({ lines }) => lines.length > 0);
  if (shown.length === 0) return "";
  return fence(shown.flatMap(({ title, lines }) => [`${title}:`, ...lines]).join("\n"));
}

/** The tokens that sections cost beside their lines. */
export function frameTokens(titles: readonly string[]): number {
  return countTokens(fence(titles.map((title) => `${title}:\n`).join("")));
}

/** The tokens of a line, its end included. */
export function lineTokens(line: string): number {
  return countTokens(`${line}\n`);
}
