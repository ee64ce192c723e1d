/**
 * memgraph's fifteen tools, rendered from the table of its calls. They are part of the full profile,
 * where there is a hub.
 *
 * A failure is text in memgraph's words. A stale write under policy `manual` is an error that carries
 * the node which was written all the same.
 */
import { isCortexError } from "@cortex-memory/core";
import { memgraphText } from "@cortex-memory/core/memgraph";
import { callDoor, type MemgraphCall } from "../memgraph/call.js";
import { MEMGRAPH_CALLS } from "../memgraph/table.js";
import { quotedBoth } from "./briefs.js";
import { announcedLater, failure, type Tool, type ToolAnswer } from "./define.js";
import { mended } from "./mend.js";

function toolOf(name: string, call: MemgraphCall): Tool {
  const { summary, verbs, effect, idempotent, input, output } = call;
  const meant = (given: unknown): unknown => withoutZeros(mended(input, given));
  return {
    name,
    title: name,
    description: `${summary}.`,
    verbs,
    effect,
    idempotent,
    input,
    inputSchema: announcedLater(input),
    outputSchema: announcedLater(output),
    async run(_memory, given, context): Promise<ToolAnswer> {
      try {
        if (context.hub === undefined) throw new Error("memgraph's tools need a hub");
        const door = callDoor(await context.hub(), context.access);
        const { json, error } = await call.run(door, given, meant);
        const { structured, text } = quotedBoth(json, []);
        if (error === undefined) return { text, structured, isJson: true };
        return { text: error, structured, isError: true };
      } catch (error) {
        if (!isCortexError(error)) return failure(error, { name, input }, context.log);
        return { isError: true, text: memgraphText(error) };
      }
    },
  };
}

/** Bounds whose 0 memgraph's tools cannot tell from one that is not given. */
const BOUNDS: readonly string[] = ["limit", "max_depth", "max_nodes"];

function withoutZeros(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  const said = Object.entries(given).filter(
    ([name, value]) => value !== 0 || !BOUNDS.includes(name),
  );
  return Object.fromEntries(said);
}

/** memgraph's tools, in the order in which it lists them. */
export const MEMGRAPH_TOOLS: readonly Tool[] = Object.values<MemgraphCall>(MEMGRAPH_CALLS).flatMap(
  (call) => (call.tool === undefined ? [] : [toolOf(call.tool, call)]),
);
