/**
 * The file of the MCP reference memory server: lines of entities, each with its observations, and
 * lines of relations between them.
 *
 * An entity becomes a note of its type as kind, under its name. Each observation becomes a note of its
 * own, because one memory should say one thing: `about` joins it to the entity, and its text begins
 * with the entity's name, so that it is found and understood alone. The file has no times.
 */
import { createHash } from "node:crypto";
import { jsonLines, openElements } from "./lines.js";
import {
  type ForeignFile,
  type LinkRecord,
  type MemoryRecord,
  objectIn,
  textIn,
  textsIn,
  wrong,
} from "./records.js";

/** The kind of an observation, and of the link to what it is about. */
const OBSERVATION = "observation";
const ABOUT = "about";

/** Opens the file of the MCP reference memory server. */
export function openMcpMemory(path: string): ForeignFile {
  return openElements(path, { elements: jsonLines, memories: memoriesOf, links: linksOf });
}

interface Entity {
  readonly name: string;
  readonly kind: string;
  /** Each text once. */
  readonly observations: readonly string[];
}

type Line = { readonly entity: Entity } | { readonly relation: Omit<LinkRecord, "at"> };

function read(value: unknown): Line {
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

function memoriesOf(value: unknown, at: string): readonly MemoryRecord[] {
  const line = read(value);
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
  const hash = createHash("sha256").update(`${name}\0${text}`).digest("hex");
  return `${OBSERVATION}:${hash.slice(0, 32)}`;
}

function linksOf(value: unknown, at: string): readonly LinkRecord[] {
  const line = read(value);
  if ("relation" in line) return [{ at, ...line.relation }];
  const { name, observations } = line.entity;
  return observations.map((text) => ({
    at,
    from: observationId(name, text),
    kind: ABOUT,
    to: name,
  }));
}
