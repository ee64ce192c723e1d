/**
 * Names of graphs: how any text becomes a safe one, and what a tenant's names look like.
 *
 * Promises: `actorFor` gives two texts two names and the same text the same name, always and
 * everywhere, without a table; the name begins with what a person can recognise. A tenant is the part
 * of a name before its first dot, and only a name with that part belongs to the tenant.
 *
 * A name is never erased: what should be forgettable must not be recognisable in it, and
 * `readable: false` leaves the readable part out.
 */
import { domainHash } from "../codec/hash.js";
import { sha256Node } from "../codec/sha256-node.js";
import { isWellFormed, utf8 } from "../codec/text.js";
import { ulidText } from "../codec/ulid.js";
import { checkOptions } from "../engine/engine.js";
import { describe, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import { checkActorName } from "../records/uri.js";

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
