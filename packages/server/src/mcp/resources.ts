/**
 * The graph and its memories as resources. `cortex://<actor>` is the graph: the types, kinds, tags,
 * slots and links in use. Another URI names a memory, and reading it gives its words and the record.
 *
 * `cortex://<actor>/<Type>/<ulid>#<n>` pins a version, as everywhere. Without `#<n>` the URI means the
 * memory as it is now, which is what a client subscribes to. To a caller, what it may not see does not
 * exist.
 *
 * Graphs and lineages as the resources that memgraph's clients know: `memgraph://<graph>` is a graph,
 * `memgraph://<graph>/<lineage>` the current node of a lineage, each as the JSON that its call answers.
 *
 * From the journal to the URIs of what changed: what subscribers of resources are told. Entries of
 * other processes are heard as well. Only the owner may follow a journal, so only the owner's
 * connections announce that resources can be subscribed to.
 *
 * Prompts that a person picks in a client: the first words of a conversation that uses memory well.
 */

import {
  type Cortex,
  CortexError,
  type Hub,
  isCortexError,
  type Memory,
  type MemoryType,
  parseUri,
} from "@cortex-memory/core";
import { MEMORY_TYPES, quoted } from "@cortex-memory/core/contract";
import * as z from "zod";
import { quotedAnswer } from "./briefs.js";
import type { Door, Tool } from "./define.js";

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
function currentUri(actor: string, type: MemoryType, id: string): string {
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

/** Following that can be ended. */
export interface Following {
  end(): Promise<void>;
}

/** Tells the URI of every memory that a commit touched, and the graph's, until ended or until the store closes. */
export function followChanges(
  memory: Cortex,
  onChanged: (uri: string) => void,
  log: (line: string) => void,
): Following {
  const events = memory.subscribe();
  const done = (async () => {
    for await (const { memories } of events) {
      for (const { id, type } of memories) {
        if (type !== undefined) onChanged(currentUri(memory.actor, type, id));
      }
      if (memories.length > 0) onChanged(graphResource(memory).uri);
    }
  })().catch((error: unknown) => {
    log(`following the journal ended: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    async end() {
      await events.return();
      await done;
    },
  };
}

const JSON_TYPE = "application/json";

/** The template of graphs; every graph is also listed. */
export const GRAPH_TEMPLATE = {
  name: "memgraph_graph",
  uriTemplate: "memgraph://{graph_id}",
  title: "A graph",
  description: "One graph: its name, policy, kinds and links, as JSON.",
  mimeType: JSON_TYPE,
} as const;

/** The template of lineages. */
export const LINEAGE_TEMPLATE = {
  name: "memgraph_lineage",
  uriTemplate: "memgraph://{graph_id}/{lineage_id}",
  title: "A lineage",
  description: "The current node of a lineage, as JSON.",
  mimeType: JSON_TYPE,
} as const;

type HubDoor = Pick<Door, "access"> & { readonly hub: () => Promise<Hub> };

/** Every graph, as a resource; to the holder of a scope, whose own graph is another resource, none. */
export async function listGraphResources({ hub, access }: HubDoor) {
  if (access.kind !== "owner") return [];
  const { shownGraphId } = await import("../memgraph/shapes.js");
  const { graphs } = await (await hub()).listGraphs({ access });
  return graphs.map((graph) => ({
    uri: `memgraph://${encodeURIComponent(shownGraphId(graph))}`,
    name: quoted(graph.name),
    mimeType: JSON_TYPE as string,
  }));
}

/** Reads a graph; `undefined` when there is none. */
export function readGraphResource(door: HubDoor, uri: string, graphId: string) {
  return contentOf(door, uri, "getGraph", { graph_id: decoded(graphId) });
}

/** Reads the current node of a lineage; `undefined` when there is none. */
export function readLineageResource(door: HubDoor, uri: string, lineage: string) {
  return contentOf(door, uri, "getNode", { lineage_id: decoded(lineage) });
}

/** A part of an address as it was before it was encoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    const message = "uri: expected percent signs that encode UTF-8, got others";
    throw new CortexError("ERR_BAD_URI", message, { field: "uri" }, error);
  }
}

/** What a call answers, as the content of a resource. */
async function contentOf(
  { hub, access }: HubDoor,
  uri: string,
  call: "getGraph" | "getNode",
  input: object,
): Promise<readonly ResourceContent[] | undefined> {
  try {
    // Loaded for those who ask: an agent without graphs has no use for memgraph's table.
    const { callDoor } = await import("../memgraph/call.js");
    const { MEMGRAPH_CALLS } = await import("../memgraph/table.js");
    const { json } = await MEMGRAPH_CALLS[call].run(callDoor(await hub(), access), input);
    return [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(quotedAnswer(json, [])) }];
  } catch (error) {
    if (isCortexError(error, "ERR_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Tells when a graph is made or configured, until ended or until the hub closes. */
export function followGraphs(
  { hub }: HubDoor,
  onChanged: () => void,
  log: (line: string) => void,
): Following {
  const stop = new AbortController();
  const done = (async () => {
    const events = await (await hub()).subscribe({ signal: stop.signal, graphsAlone: true });
    for await (const { type } of events) if (type === "graph") onChanged();
  })().catch((error: unknown) => {
    log(`following the graphs ended: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    async end() {
      stop.abort();
      await done;
    },
  };
}

/** A prompt of the server. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: z.ZodObject;
  /** The words of the user, with the arguments in them. */
  text(args: { readonly [name: string]: unknown }): string;
}

/** A prompt and the tools that it tells the model to use. */
interface PromptRow {
  readonly needs: readonly string[];
  readonly prompt: Prompt;
}

const words = (description: string) => z.string().describe(description);

const ROWS: readonly PromptRow[] = [
  {
    needs: ["memory_remember"],
    prompt: {
      name: "remember_this",
      title: "Remember this",
      description: "Store what you say as lasting memories, one fact each.",
      args: z.strictObject({ text: words("what to remember") }),
      text: ({ text }) =>
        `Please remember the following. Split it into single facts, give a slot to each one that can change, store each with memory_remember, and tell me in one line each what was stored, replaced or known already.\n\n${text}`,
    },
  },
  {
    needs: ["memory_recall"],
    prompt: {
      name: "what_do_you_know",
      title: "What do you know about …",
      description: "What memory holds about a topic, with dates and sources.",
      args: z.strictObject({ topic: words("a person, a project, a subject") }),
      text: ({ topic }) =>
        `What do you know about the following? Ask memory_recall, in two or three phrasings, answer only from what it returns, give dates and sources, and say what is uncertain or missing.\n\n${topic}`,
    },
  },
  {
    needs: ["memory_start", "memory_recall"],
    prompt: {
      name: "start_task",
      title: "Start a task",
      description: "Begin with what memory says about you, your rules and earlier work.",
      args: z.strictObject({ task: words("what is to be done") }),
      text: ({ task }) =>
        `Before you begin: call memory_start, then memory_recall for what matters to this task. Tell me in a few lines which rules, goals and earlier results apply. Then begin.\n\n${task}`,
    },
  },
];

/** The prompts for a set of tools: one that asks for a tool that is not there is left out. */
export function promptsFor(tools: readonly Pick<Tool, "name">[]): readonly Prompt[] {
  const names = new Set(tools.map(({ name }) => name));
  return ROWS.filter(({ needs }) => needs.every((name) => names.has(name))).map(
    ({ prompt }) => prompt,
  );
}
