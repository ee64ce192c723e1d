/**
 * The tools of each profile. `standard` is what an agent needs and can hold in mind; `full` adds every
 * other operation of the table, group by group, under its own name, with the input and the answer it has
 * everywhere; `memgraph` is memgraph's fifteen and nothing else.
 *
 * Left out of `full`: what works on files of the machine or on a store that must be closed, which a
 * client of a running server cannot name, and a name that a tool of the standard profile already has.
 */
import type { Cortex } from "@cortex-memory/core";
import type { Profile } from "../config.js";
import {
  asking,
  type CallContext,
  type Files,
  GROUPS,
  type Operation,
} from "../operations/define.js";
import { OPERATIONS } from "../operations.js";
import { quotedBoth } from "./briefs.js";
import { announcedLater, failure, outlined, type Tool, type ToolContext } from "./define.js";
import { mended } from "./mend.js";
import { MEMGRAPH_TOOLS } from "./tools-memgraph.js";
import { STANDARD_TOOLS } from "./tools-standard.js";

/** Made once, because a server is made for every request over HTTP. */
let fullTools: readonly Tool[] | undefined;

/** The tools of a profile; memgraph's are among the full ones where there is a hub. */
export function toolsOf(profile: Profile, hasHub = false): readonly Tool[] {
  if (profile === "standard") return STANDARD_TOOLS;
  if (profile === "memgraph") return MEMGRAPH_TOOLS;
  fullTools ??= withOperations();
  return hasHub ? [...fullTools, ...MEMGRAPH_TOOLS] : fullTools;
}

function withOperations(): readonly Tool[] {
  const names = new Set(STANDARD_TOOLS.map(({ name }) => name));
  const rest = OPERATIONS.filter(isRemote).filter((one) => !names.has(toolName(one)));
  const groups = Object.keys(GROUPS).map((group) => rest.filter(({ cli }) => cli.group === group));
  return [...STANDARD_TOOLS, ...groups.flat().map(operationTool)];
}

/** Whether an operation has one answer, on the store that is open, without files of the machine. */
export function isRemote({ place, http, stream }: Operation): boolean {
  const needsFiles = http !== undefined && ("sends" in http || "unavailable" in http);
  return place === undefined && stream === undefined && !needsFiles;
}

/** The name of an operation as a tool: `updateHead` is `memory_update_head`. */
export function toolName({ name }: Pick<Operation, "name">): string {
  return `memory_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
}

/** The operations that destroy for good. */
const DESTROYS: ReadonlySet<string> = new Set(["forget"]);

/** The operations of which a second call with the same arguments changes nothing more. */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "tombstone",
  "restore",
  "forget",
  "addEdge",
  "removeEdge",
  "removeEdgeById",
  "setGoalState",
  "configure",
  "rebuild",
  "vacuum",
]);

function operationTool(operation: Operation): Tool {
  const { name, summary, help, verbs, kind, input, output, cli } = operation;
  return {
    name: toolName(operation),
    title: `${GROUPS[cli.group]}: ${summary}`,
    description: `${summary}. ${help.replaceAll("\n", " ")}`,
    verbs,
    effect: DESTROYS.has(name) ? "destroy" : kind,
    idempotent: kind === "read" || IDEMPOTENT.has(name),
    input,
    inputSchema: announcedLater(input),
    outputSchema: announcedLater(output, outlined),
    async run(memory, given, context) {
      try {
        const asked = mended(input, given);
        const answer = await operation.run(memory, asked, callContext(memory, context));
        return quotedBoth(answer, verbs);
      } catch (error) {
        return failure(error, { name: toolName(operation), input }, context.log);
      }
    },
  };
}

function callContext(memory: Cortex, context: ToolContext): CallContext {
  return {
    ...asking(context),
    location: context.location,
    actor: memory.actor,
    files: NO_FILES,
    settings: context.settings,
    onProgress: () => {},
  };
}

/** Operations with files are no tools. */
function noFiles(): never {
  throw new Error("a tool has no files");
}

const NO_FILES: Files = { source: noFiles, target: noFiles, secret: noFiles, save: noFiles };
