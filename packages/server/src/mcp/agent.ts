/**
 * Who speaks through this door: an agent, under the name that its client gave, so that a history shows
 * which of two agents said what. A caller that came with a name of its own (the holder of a scope, a
 * host that speaks for the user) keeps it.
 */
import { type Access, DOORS, throughDoor } from "@cortex-memory/core";

/** The access of an agent that came without a scope. */
export const AGENT_ACCESS = throughDoor("mcp");

/** Characters of a client's name that a principal keeps: the name is never erased from a journal. */
const NAME_CHARS = 48;

/** The principal of a client, such as `mcp:claude-code`; `mcp` alone for one without a plain name. */
export function clientPrincipal(name: unknown): string {
  const text = typeof name === "string" ? name : "";
  const plain = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "");
  return plain === "" ? "mcp" : `mcp:${plain.slice(0, NAME_CHARS)}`;
}

/** The access of a call by a client of this name. */
export function namedAccess(access: Access, clientName: unknown): Access {
  const { speaker } = access.kind === "owner" ? access : {};
  const isNameless = speaker?.door === DOORS.mcp.words && speaker.principal === undefined;
  return isNameless ? throughDoor("mcp", clientPrincipal(clientName)) : access;
}
