/**
 * The graph and its memories as resources. `cortex://<actor>` is the graph: the types, kinds, tags,
 * slots and links in use. Another URI names a memory, and reading it gives its words and the record.
 *
 * `cortex://<actor>/<Type>/<ulid>#<n>` pins a version, as everywhere. Without `#<n>` the URI means the
 * memory as it is now, which is what a client subscribes to. To a caller, what it may not see does not
 * exist.
 */
import { type Cortex, type Memory, type MemoryType, parseUri } from "@cortex-memory/core";
import { MEMORY_TYPES, quoted } from "@cortex-memory/core/contract";
import { quotedAnswer } from "./briefs.js";
import type { Door } from "./door.js";

/** One rendering of a resource. */
export interface ResourceContent {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

/** The template of memory URIs. */
export const MEMORY_TEMPLATE = {
  name: "memory",
  uriTemplate: "cortex://{actor}/{type}/{id}",
  title: "A memory",
  description:
    "One memory: its text, and the whole record as JSON. With #n after the id, that version; without, the current one.",
} as const;

/** The resource of a graph. */
export function graphResource({ actor }: Pick<Cortex, "actor">) {
  return {
    name: actor,
    uri: `cortex://${actor}`,
    title: `The memory of ${actor}`,
    description: "Types, kinds, tags, slots and links in use, with counts.",
    mimeType: "application/json",
  } as const;
}

/** Reads the resource of a graph. */
export async function readGraph({
  memory,
  access,
}: Pick<Door, "memory" | "access">): Promise<readonly ResourceContent[]> {
  const { uri, mimeType } = graphResource(memory);
  return [
    {
      uri,
      mimeType,
      text: JSON.stringify(quotedAnswer(await memory.describeSchema({ access }), [])),
    },
  ];
}

/** What can stand for a variable of the template. */
export function completions(memory: Cortex, variable: "actor" | "type", start: string): string[] {
  const all =
    variable === "actor"
      ? [memory.actor]
      : Object.values(MEMORY_TYPES).map(({ uriName }) => uriName as string);
  return all.filter((one) => one.toLowerCase().startsWith(start.toLowerCase()));
}

/** The URI of a memory as it is now. */
export function currentUri(actor: string, type: MemoryType, id: string): string {
  return `cortex://${actor}/${MEMORY_TYPES[type].uriName}/${id}`;
}

/** Reads a memory by its URI; `undefined` when there is nothing there for this caller. */
export async function readMemory(
  { memory, access }: Pick<Door, "memory" | "access">,
  uri: string,
): Promise<readonly ResourceContent[] | undefined> {
  const found = uri.includes("#")
    ? await memory.resolve(uri, { access })
    : await currentMemory(memory, uri, access);
  if (found === undefined) return undefined;
  const { flags = [] } = found.versionRecord;
  return [
    { uri, mimeType: "text/plain", text: quoted(found.text, { flags }) },
    { uri, mimeType: "application/json", text: JSON.stringify(quotedAnswer(found, [])) },
  ];
}

/** The memory as it is now, read by the rules of a pinned URI: strict to the last byte. */
async function currentMemory(
  memory: Cortex,
  uri: string,
  access: Door["access"],
): Promise<Memory | undefined> {
  const { actor, type } = parseUri(`${uri}#1`);
  if (actor !== memory.actor) return undefined;
  const found = await memory.get(uri.slice(uri.lastIndexOf("/") + 1), { access });
  return found?.type === type ? found : undefined;
}
