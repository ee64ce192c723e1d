/**
 * An export of mem0: a list of memories as its `get_all` gives them, bare or as `results`, with the
 * `relations` of its graph where it has them; also one memory per line.
 *
 * A memory becomes a note of kind `memory` under its id, with its categories as tags. Whose it is and
 * when it was changed stays in metadata under `mem0_` names. Relations name things that mem0 keeps no
 * memory of: each such thing becomes a note of kind `entity`, and the relation a link between two.
 */
import { createHash } from "node:crypto";
import { jsonElements, openElements } from "./lines.js";
import {
  type ForeignFile,
  type LinkRecord,
  type MemoryRecord,
  objectIn,
  textIn,
  textsIn,
  timeIn,
} from "./records.js";

const RELATIONS = "relations";
const SECTIONS = ["results", "memories", RELATIONS];

/** Members that are kept in metadata, each behind `mem0_`. */
const KEPT = ["user_id", "agent_id", "app_id", "run_id", "actor_id", "role", "updated_at"] as const;

/** Opens an export of mem0. */
export function openMem0(path: string): ForeignFile {
  const named = new Set<string>();
  return openElements(path, {
    elements: () => jsonElements(path, SECTIONS),
    memories: (value, at, section) =>
      section === RELATIONS ? entitiesOf(at, value, named) : [memoryOf(at, value)],
    links: (value, at, section) => (section === RELATIONS ? [linkOf(at, value)] : []),
  });
}

/** The ends of a relation that were not met before. */
function entitiesOf(at: string, value: unknown, named: Set<string>): readonly MemoryRecord[] {
  const { from, to } = endsOf(value);
  const fresh = [...new Set([from, to])].filter((name) => !named.has(name));
  for (const name of fresh) named.add(name);
  return fresh.map((name) => entityOf(at, name));
}

function memoryOf(at: string, value: unknown): MemoryRecord {
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

/** A thing that relations name; mem0 tells such things apart by their names alone. */
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
  return `mem0-entity:${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}

function linkOf(at: string, value: unknown): LinkRecord {
  const { from, kind, to } = endsOf(value);
  return { at, from: entityId(from), kind, to: entityId(to) };
}
