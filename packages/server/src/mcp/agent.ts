/**
 * Who writes through this door: an agent. Its source is `agent` unless the call says otherwise, and
 * entries name the client that wrote them, so that a history shows which of two agents said what.
 */
import type * as z from "zod";

/** The source of what is written through MCP. */
export const AGENT = "agent";

/** Characters of a client's name that a principal keeps: the name is never erased from a journal. */
const NAME_CHARS = 48;

/** The principal of a client, such as `mcp:claude-code`; `mcp` alone for one without a plain name. */
export function clientPrincipal(name: unknown): string {
  const text = typeof name === "string" ? name : "";
  const plain = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "");
  return plain === "" ? "mcp" : `mcp:${plain.slice(0, NAME_CHARS)}`;
}

type Given = { readonly [field: string]: unknown };

function isObject(value: unknown): value is Given {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The input of an operation, with an agent's source and principal where the operation takes them. */
export function asAgent(schema: z.ZodObject, input: unknown, by: string): unknown {
  if (!isObject(input)) return input;
  const { shape } = schema;
  return {
    ...("by" in shape ? { by } : {}),
    ...("source" in shape ? { source: AGENT } : {}),
    ...input,
    ...("source" in shape || !("provenance" in shape) ? {} : fromAgent(input.provenance)),
    ...("items" in shape && Array.isArray(input.items)
      ? { items: input.items.map(itemAsAgent) }
      : {}),
  };
}

function fromAgent(provenance: unknown): Given {
  if (provenance !== undefined && !isObject(provenance)) return { provenance };
  return { provenance: { source: AGENT, ...provenance } };
}

/** An item of a batch: a write, an update or a link. */
function itemAsAgent(item: unknown): unknown {
  if (!isObject(item)) return item;
  const { write, update, link } = item;
  return {
    ...item,
    ...(isObject(write) ? { write: { source: AGENT, ...write } } : {}),
    ...(isObject(update) ? { update: { ...update, ...fromAgent(update.provenance) } } : {}),
    ...(isObject(link) ? { link: { source: AGENT, ...link } } : {}),
  };
}
