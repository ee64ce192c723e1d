/**
 * Memory URIs, `cortex://<actor>/<Type>/<ulid>#<n>`, and the names of actors and graphs.
 *
 * Promise: one memory version has one URI, byte for byte. Reading is strict to the last byte: no
 * other case, no percent-encoding, no leading zeros, nothing after the version, and never
 * `#latest`, because a URI that means something else tomorrow proves nothing. `ERR_BAD_URI` says
 * what is wrong. A name that passes `checkActorName` is safe as a folder name on every system.
 *
 * Left to others: whether the memory exists, and plain ids and external ids (the facade).
 */
import { isZeroUlid, parseUlid, ULID_BYTES, ulidText } from "../codec/ulid.js";
import { CortexError, describe } from "../errors.js";
import { LIMITS, VERSION_MAX } from "../limits.js";
import { MEMORY_TYPES, type MemoryType, typeOfUriName } from "./types.js";

/** What a memory URI names: one version of one memory of one actor. */
export interface MemoryUri {
  readonly actor: string;
  readonly type: MemoryType;
  /** The 16 bytes of the id. */
  readonly id: Uint8Array;
  /** 1 or more. */
  readonly version: number;
}

const SCHEME = "cortex://";

/** Longest text that can be a memory URI; longer input is refused unread. */
const URI_CHARS_MAX = SCHEME.length + LIMITS.actorChars + "/Preference/".length + 26 + 1 + 16;

/** The URI of a memory version. `id` is 16 bytes and not zero, `version` >= 1; `idText` is its text, where it is known. */
export function buildUri(parts: MemoryUri, idText?: string): string {
  const { actor, type, id, version } = parts;
  if (id.length !== ULID_BYTES || isZeroUlid(id)) throw new Error("a URI needs a memory id");
  if (!Number.isSafeInteger(version) || version < 1) throw new Error("a version is 1 or more");
  return prefixOf(actor, type) + (idText ?? ulidText(id)) + (version === 1 ? "#1" : `#${version}`);
}

/** What the last URI began with: mostly the next one does, too, and joining it anew is garbage of six strings. */
let lastPrefix = { actor: "", type: "", text: "" };

function prefixOf(actor: string, type: MemoryType): string {
  if (lastPrefix.actor !== actor || lastPrefix.type !== type) {
    lastPrefix = { actor, type, text: `${SCHEME}${actor}/${MEMORY_TYPES[type].uriName}/` };
  }
  return lastPrefix.text;
}

/** Reads a memory URI; anything that `buildUri` would not have written is `ERR_BAD_URI`. */
export function parseUri(text: unknown, field = "uri"): MemoryUri {
  if (typeof text !== "string") throw badUri(field, "a memory URI is a string", text);
  if (!text.startsWith(SCHEME)) throw badUri(field, `a memory URI starts with ${SCHEME}`, text);
  if (text.length > URI_CHARS_MAX) throw badUri(field, "it is too long for a memory URI", text);
  if (text.includes("%"))
    throw badUri(field, "percent-encoding has no place in a memory URI", text);
  const hash = text.indexOf("#");
  if (hash < 0) throw badUri(field, "the version is missing: it must end in # and a number", text);
  const parts = text.slice(SCHEME.length, hash).split("/");
  const [actor = "", typeName = "", idText = ""] = parts;
  if (parts.length !== 3) {
    throw badUri(field, `it needs ${SCHEME}<actor>/<Type>/<ulid>#<version>`, text);
  }
  const trouble = nameTrouble(actor);
  if (trouble !== undefined) throw badUri(field, `the actor name ${trouble}`, text);
  const type = typeOfUriName(typeName);
  if (type === undefined) {
    throw badUri(
      field,
      `${describe(typeName)} is no memory type (they are written like Fact)`,
      text,
    );
  }
  const id = parseId(idText, field, text);
  return { actor, type, id, version: parseVersion(text.slice(hash + 1), field, text) };
}

function parseId(idText: string, field: string, uri: string): Uint8Array {
  const id = parseUlid(idText);
  if (id === undefined) throw badUri(field, "the id is not a ULID of 26 characters", uri);
  if (idText !== idText.toUpperCase()) {
    throw badUri(field, "the ULID must be in upper case", uri);
  }
  if (isZeroUlid(id)) throw badUri(field, "the zero id names no memory", uri);
  return id;
}

function parseVersion(text: string, field: string, uri: string): number {
  if (text === "latest") {
    const why = "#latest is not allowed, because it would mean another version tomorrow; pin one";
    throw badUri(field, `${why}, such as #1`, uri);
  }
  if (text === "") throw badUri(field, "the version is missing after #", uri);
  if (!/^[0-9]+$/.test(text)) throw badUri(field, "the version must be digits to the end", uri);
  if (text === "0") throw badUri(field, "versions start at 1", uri);
  if (text.startsWith("0")) throw badUri(field, "the version has a leading zero", uri);
  const version = Number(text);
  if (version > VERSION_MAX) throw badUri(field, "the version is too large", uri);
  return version;
}

function badUri(field: string, why: string, got: unknown): CortexError {
  const shown = describe(got);
  return new CortexError("ERR_BAD_URI", `${field}: ${why}; got ${shown}`, { field, got: shown });
}

/** Names that Windows keeps for devices, with any extension; a store must open everywhere. */
const DEVICES = "(con|prn|aux|nul|com[1-9]|lpt[1-9])(\\.|$)";
const DEVICE_NAME = new RegExp(`^${DEVICES}`);

/** The name of an actor or a graph, as JSON Schema says what the check below asks. */
export const NAME_FORM = {
  maxLength: LIMITS.actorChars,
  pattern: `^(?!${DEVICES})[a-z0-9][a-z0-9_-]*(\\.[a-z0-9_-]+)*$`,
} as const;

/** Checks the name of an actor or a graph; `ERR_BAD_NAME` says what is wrong with it. */
export function checkActorName(name: unknown, field = "actor"): string {
  if (typeof name !== "string") throw badName(field, "must be a string", name);
  const trouble = nameTrouble(name);
  if (trouble !== undefined) throw badName(field, trouble, name);
  return name;
}

function nameTrouble(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > LIMITS.actorChars) return `is longer than ${LIMITS.actorChars} characters`;
  if (/[A-Z]/.test(name)) return "has upper-case letters; use lower case";
  if (!/^[a-z0-9._-]+$/.test(name)) return "may hold only a-z, 0-9, dot, underscore and hyphen";
  if (!/^[a-z0-9]/.test(name)) return "must start with a letter or a digit";
  if (name.includes("..")) return "may not hold two dots in a row";
  if (name.endsWith(".")) return "may not end in a dot";
  if (DEVICE_NAME.test(name)) return "is a device name on Windows";
  return undefined;
}

function badName(field: string, trouble: string, name: unknown): CortexError {
  const shown = describe(name);
  return new CortexError("ERR_BAD_NAME", `${field}: the name ${trouble}; got ${shown}`, {
    field,
    got: shown,
  });
}
