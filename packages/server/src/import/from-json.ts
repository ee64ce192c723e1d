/**
 * Files of JSON that other programs write, each read as memories and links: generic JSONL, the file of the
 * MCP reference memory server, and an export of mem0. What has no id of its own gets one that is made of what
 * it says, so that a second run adds nothing.
 *
 * Left to others: cutting a file into elements (`lines.ts`), what the store has already (`memories.ts`).
 */
import { createHash } from "node:crypto";
import type { WriteInput } from "@cortex-memory/core";
import { jsonElements, jsonLines, openElements } from "./lines.js";
import {
  type ForeignFile,
  type LinkRecord,
  type MemoryRecord,
  objectIn,
  textIn,
  textsIn,
  timeIn,
  wrong,
} from "./records.js";

/** Members of a line that are times. */
const TIMES = ["validFrom", "validTo", "expiresAt", "freshnessAt"] as const;
const LINK_FIELDS = ["from", "kind", "to", "reason", "ordinal", "metadata", "validFrom", "by"];

/**
 * Opens generic JSONL: one memory per line, with the fields of `write`, or one link as
 * `{ "link": { "from", "kind", "to" } }`. Times are milliseconds or ISO texts.
 *
 * A line without `externalId` and `id` is known again by what it says: its external id is made of the
 * line's own content, so that two equal lines are one memory.
 */
export function openJsonl(path: string): ForeignFile {
  return openElements(path, { elements: jsonLines, memories: lineMemory, links: lineLink });
}

function lineMemory(value: unknown, at: string): readonly MemoryRecord[] {
  const line = objectIn(value, "line");
  if ("link" in line) return [];
  const given = withTimes(line);
  const { type, externalId, id } = given;
  // With an external id it is a memory of its own, also where another one makes the same claim.
  const ref = textIn(externalId ?? id ?? ownName(line), "externalId");
  const input = { ...given, externalId: ref, type: textIn(type, "type") } as WriteInput;
  return [{ at, ref, input }];
}

function lineLink(value: unknown, at: string): readonly LinkRecord[] {
  const line = objectIn(value, "line");
  if (!("link" in line)) return [];
  const link = objectIn(line.link, "link");
  const unknown = [
    ...Object.keys(line).filter((name) => name !== "link"),
    ...Object.keys(link).filter((name) => !LINK_FIELDS.includes(name)),
  ][0];
  if (unknown !== undefined) throw wrong(unknown, `one of ${LINK_FIELDS.join(", ")}`, unknown);
  const { validFrom, ...rest } = link;
  return [
    {
      ...rest,
      at,
      from: textIn(link.from, "link.from"),
      kind: textIn(link.kind, "link.kind"),
      to: textIn(link.to, "link.to"),
      ...(validFrom === undefined ? {} : { validFrom: timeIn(validFrom, "link.validFrom") }),
    },
  ];
}

function withTimes(line: { readonly [name: string]: unknown }): {
  readonly [name: string]: unknown;
} {
  const times = TIMES.filter((name) => line[name] !== undefined);
  return {
    ...line,
    ...Object.fromEntries(times.map((name) => [name, timeIn(line[name], name)])),
  };
}

/** A name made of what a line says, whatever the order of its members. */
function ownName(line: { readonly [name: string]: unknown }): string {
  const text = JSON.stringify(line, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return `jsonl:${fingerprint(text)}`;
}

/** The kind of an observation, and of the link to what it is about. */
const OBSERVATION = "observation";
const ABOUT = "about";

/**
 * Opens the file of the MCP reference memory server: lines of entities, each with its observations, and
 * lines of relations between them.
 *
 * An entity becomes a note of its type as kind, under its name. Each observation becomes a note of its
 * own, because one memory should say one thing: `about` joins it to the entity, and its text begins
 * with the entity's name, so that it is found and understood alone. The file has no times.
 */
export function openMcpMemory(path: string): ForeignFile {
  return openElements(path, { elements: jsonLines, memories: entityMemories, links: entityLinks });
}

interface Entity {
  readonly name: string;
  readonly kind: string;
  /** Each text once. */
  readonly observations: readonly string[];
}

type McpLine = { readonly entity: Entity } | { readonly relation: Omit<LinkRecord, "at"> };

function readLine(value: unknown): McpLine {
  const line = objectIn(value, "line");
  if (line.type === "entity") {
    return {
      entity: {
        name: textIn(line.name, "name"),
        kind: textIn(line.entityType, "entityType"),
        observations: [...new Set(textsIn(line.observations, "observations"))],
      },
    };
  }
  if (line.type === "relation") {
    return {
      relation: {
        from: textIn(line.from, "from"),
        kind: textIn(line.relationType, "relationType"),
        to: textIn(line.to, "to"),
      },
    };
  }
  throw wrong("type", "entity or relation", line.type);
}

function entityMemories(value: unknown, at: string): readonly MemoryRecord[] {
  const line = readLine(value);
  if (!("entity" in line)) return [];
  const { name, kind, observations } = line.entity;
  const entity: MemoryRecord = {
    at,
    ref: name,
    input: {
      type: "note",
      externalId: name,
      data: { content: name },
      ...(kind === "" ? {} : { kind }),
    },
  };
  return [entity, ...observations.map((text) => observationOf(at, name, text))];
}

function observationOf(at: string, name: string, text: string): MemoryRecord {
  const ref = observationId(name, text);
  const data = { content: `${name}: ${text}` };
  return {
    at,
    ref,
    input: { type: "note", externalId: ref, kind: OBSERVATION, data },
  };
}

/** The server gives observations no ids: theirs is made of the entity's name and the text. */
function observationId(name: string, text: string): string {
  return `${OBSERVATION}:${fingerprint(`${name}\0${text}`)}`;
}

function entityLinks(value: unknown, at: string): readonly LinkRecord[] {
  const line = readLine(value);
  if ("relation" in line) return [{ at, ...line.relation }];
  const { name, observations } = line.entity;
  return observations.map((text) => ({
    at,
    from: observationId(name, text),
    kind: ABOUT,
    to: name,
  }));
}

const RELATIONS = "relations";
const SECTIONS = ["results", "memories", RELATIONS];

/** Members that are kept in metadata, each behind `mem0_`. */
const KEPT = ["user_id", "agent_id", "app_id", "run_id", "actor_id", "role", "updated_at"] as const;

/**
 * Opens an export of mem0: a list of memories as its `get_all` gives them, bare or as `results`, with the
 * `relations` of its graph where it has them; also one memory per line.
 *
 * A memory becomes a note of kind `memory` under its id, with its categories as tags. Whose it is and
 * when it was changed stays in metadata under `mem0_` names. Relations name things that mem0 keeps no
 * memory of: each such thing becomes a note of kind `entity`, and the relation a link between two.
 */
export function openMem0(path: string): ForeignFile {
  const named = new Set<string>();
  return openElements(path, {
    elements: () => jsonElements(path, SECTIONS),
    memories: (value, at, section) =>
      section === RELATIONS ? entitiesOf(at, value, named) : [mem0Memory(at, value)],
    links: (value, at, section) => (section === RELATIONS ? [mem0Link(at, value)] : []),
  });
}

/** The ends of a relation that were not met before. */
function entitiesOf(at: string, value: unknown, named: Set<string>): readonly MemoryRecord[] {
  const { from, to } = endsOf(value);
  const fresh = [...new Set([from, to])].filter((name) => !named.has(name));
  for (const name of fresh) named.add(name);
  return fresh.map((name) => entityOf(at, name));
}

function mem0Memory(at: string, value: unknown): MemoryRecord {
  const record = objectIn(value, "record");
  const id = textIn(record.id, "id");
  const given = record.metadata ?? {};
  const metadata = {
    ...objectIn(given, "metadata"),
    ...Object.fromEntries(
      KEPT.map((name) => [`mem0_${name}`, record[name]] as const).filter(
        ([, member]) => member !== undefined && member !== null && member !== "",
      ),
    ),
  };
  const { created_at: created, categories } = record;
  return {
    at,
    ref: id,
    input: {
      type: "note",
      kind: "memory",
      externalId: id,
      tags: textsIn(categories ?? [], "categories"),
      data: {
        content: textIn(record.memory ?? record.text, "memory"),
        ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      },
      ...(created === undefined || created === null
        ? {}
        : { validFrom: timeIn(created, "created_at") }),
    },
  };
}

function endsOf(value: unknown): {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
} {
  const relation = objectIn(value, "relation");
  return {
    from: textIn(relation.source, "source"),
    kind: textIn(relation.relationship ?? relation.relation, "relationship"),
    to: textIn(relation.target ?? relation.destination, "target"),
  };
}

/** A thing that relations name; mem0 knows such things by their names alone. */
function entityOf(at: string, name: string): MemoryRecord {
  const ref = entityId(name);
  const data = { content: name };
  return {
    at,
    ref,
    input: { type: "note", kind: "entity", externalId: ref, data },
  };
}

function entityId(name: string): string {
  return `mem0-entity:${fingerprint(name)}`;
}

function mem0Link(at: string, value: unknown): LinkRecord {
  const { from, kind, to } = endsOf(value);
  return { at, from: entityId(from), kind, to: entityId(to) };
}

/** What a text is known by: enough of its hash that no two meet. */
function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
