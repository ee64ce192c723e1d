/**
 * What every verb of a hub works with: names of graphs, and how a name leads to an open graph.
 *
 * Names: `actorFor` gives two texts two names and the same text the same name, always and everywhere,
 * without a table; the name begins with what a person can recognise. A tenant is the part of a name before
 * its first dot, and only a name with that part belongs to the tenant. A name is never erased: what should
 * be forgettable must not be recognisable in it, and `readable: false` leaves the readable part out.
 *
 * The policy column of the hub says what an access means for each of its verbs, as `contract/` says it for
 * those of a graph. A scope is one graph's word: the hub takes none, and its holder goes through `use` to
 * the graph it is about.
 */
import { domainHash } from "../codec/hash.js";
import { sha256Node } from "../codec/node-crypto.js";
import { isWellFormed, utf8 } from "../codec/text.js";
import { ulidText } from "../codec/ulid.js";
import type { Policy } from "../contract/verb.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError, describe, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { OpenedGraph } from "../open.js";
import { checkActorName } from "../records/uri.js";
import { type Access, admit, OWNER } from "../scope/access.js";
import type { Catalogue } from "./catalogue.js";
import type { Lineages } from "./lineages.js";
import type { GraphStores, Places } from "./stores.js";

/** How a name is made. */
interface ActorForOptions {
  /** The tenant whose name it is to be. */
  readonly tenant?: string;
  /** False leaves out everything of the text that a person could recognise. */
  readonly readable?: boolean;
}

/** Characters of the readable part. */
const READABLE_CHARS = 24;
/** Characters of the chance part of a graph's id. */
export const CHANCE_CHARS = 10;

/** A safe actor name for any text, such as a user id of yours; see the file header. */
export function actorFor(externalId: string, options: ActorForOptions = {}): string {
  if (typeof externalId !== "string" || externalId === "") {
    throw invalid("externalId", "a text that is not empty", externalId);
  }
  if (!isWellFormed(externalId)) {
    throw invalid("externalId", "well-formed text", "a lone surrogate", "ERR_ILL_FORMED");
  }
  checkOptions(options, ["tenant", "readable"]);
  // 128 bits of the hash: no two texts that anybody can find share a name.
  const hash = domainHash(sha256Node, "actorName", utf8(externalId)).slice(0, 16);
  const text = options.readable === false ? "" : externalId;
  return nameOf(text, ulidText(hash).toLowerCase(), tenantPrefix(options.tenant));
}

/** A new id for a graph of this name; names need not be unique, ids are. */
export function graphIdFor(
  name: string,
  random: (bytes: number) => Uint8Array,
  prefix: string,
): string {
  return nameOf(name, ulidText(random(16)).slice(-CHANCE_CHARS).toLowerCase(), prefix);
}

/** In place of chance, for the id of a graph that is made under an idempotency key: the same for the same caller. */
export function keyedBytes(key: string, by = ""): Uint8Array {
  return domainHash(sha256Node, "idempotencyKey", utf8(`graph ${by} ${key}`)).slice(0, 16);
}

/** What the names of a tenant begin with; nothing when there is no tenant. */
export function tenantPrefix(tenant: string | undefined): string {
  if (tenant === undefined) return "";
  if (typeof tenant !== "string" || !/^[a-z0-9][a-z0-9_-]{0,31}$/.test(tenant)) {
    const expected = "1 to 32 of a-z, 0-9, underscore and hyphen, starting with a letter or digit";
    throw invalid("tenant", expected, tenant, "ERR_BAD_NAME");
  }
  checkActorName(`${tenant}.a`, "tenant");
  return `${tenant}.`;
}

/** The ids that memgraph gives to graphs. */
const ULID_TEXT = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The name that an id of a graph means: a ULID, as memgraph gives them, that name in small letters. */
export function graphName(id: string): string {
  return ULID_TEXT.test(id) ? id.toLowerCase() : id;
}

/** Checks what names a graph, and gives its name; one of another tenant is refused. */
export function checkGraphId(id: unknown, prefix: string, field = "graph"): string {
  const name = checkActorName(typeof id === "string" ? graphName(id) : id, field);
  if (name.startsWith(prefix)) return name;
  throw invalid(field, `a name that starts with ${prefix}`, describe(id), "ERR_BAD_NAME");
}

/** Whether a name can be that of a graph of this tenant. */
export function isGraphId(name: string, prefix: string): boolean {
  try {
    return checkGraphId(name, prefix) === name;
  } catch {
    return false;
  }
}

/** The name that a graph of another program gets here: the same in every import. */
export function importedName(id: string): string {
  const name = graphName(id);
  return isGraphId(name, "") ? name : actorFor(id);
}

function nameOf(text: string, unique: string, prefix: string): string {
  const room = Math.min(READABLE_CHARS, LIMITS.actorChars - prefix.length - unique.length - 1);
  const readable = text
    .slice(0, 4 * READABLE_CHARS)
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, Math.max(0, room))
    .replaceAll(/^-+|-+$/g, "");
  return checkActorName(`${prefix}${readable === "" ? "" : `${readable}-`}${unique}`);
}

/** An open hub with everything injected. */
export interface HubContext {
  readonly places: Places;
  readonly stores: GraphStores;
  readonly catalogue: Catalogue;
  readonly lineages: Lineages;
  /** What the names of its graphs begin with; empty unless it is a tenant's. */
  readonly prefix: string;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Called whenever a graph of this process has committed, with its name. */
  readonly onCommit: (listener: (graph: string) => void) => () => void;
  /** Aborted when the hub begins to close. */
  readonly closing: AbortSignal;
}

/** Runs `body` in a graph that must be there: `ERR_NOT_FOUND` when it is not. */
export async function inGraph<T>(
  hub: HubContext,
  graph: unknown,
  body: (opened: OpenedGraph) => Promise<T>,
): Promise<T> {
  const name = checkGraphId(graph, hub.prefix);
  const done = await hub.stores.use(name, async (opened) => ({ value: await body(opened) }));
  if (done === undefined) throw noGraph(name);
  return done.value;
}

/** Runs `body` in a graph, if it is there. */
export function ifGraph<T>(
  hub: HubContext,
  graph: unknown,
  body: (opened: OpenedGraph) => Promise<T>,
): Promise<T | undefined> {
  return hub.stores.use(checkGraphId(graph, hub.prefix), body);
}

/** The failure of a call that wants to change something in a graph that is not there. */
export function noGraph(graph: string): CortexError {
  return new CortexError(
    "ERR_NOT_FOUND",
    `graph: expected a graph, got ${describe(graph)}, which names none`,
    { field: "graph", subject: graph },
  );
}

/** What an access means for each verb of a hub. */
export const HUB_POLICIES = {
  createGraph: "owner",
  getGraph: "owner",
  listGraphs: "owner",
  configureGraph: "owner",
  remove: "owner",
  for: "owner",
  traverse: "filtered",
  symlinks: "owner",
  subscribe: "owner",
  check: "owner",
  rebuild: "owner",
} as const satisfies Record<string, Policy>;

/** Refuses a caller whom the policy of a verb over several graphs does not admit, and every scope. */
export function admitToGraphs(access: Access | undefined, policy: Policy, verb: string): void {
  admit(access === undefined ? OWNER : access, policy, verb);
  if (access?.kind !== "scope") return;
  const message = `${verb}: expected no scope, as a scope is honoured by its own graph alone`;
  throw new CortexError("ERR_DENIED", message, { field: "access" });
}
