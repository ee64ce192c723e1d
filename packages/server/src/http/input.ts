/**
 * From a request to the input of an operation: a JSON body, or parameters, and the headers that stand
 * for a field.
 *
 * Promise: a body is JSON and says so, is well-formed UTF-8 and an object, and is never held beyond the
 * limit. What a value may be is decided by the operation's own schema; text is read by the rules of the
 * command line, so that a time or a list is written the same way everywhere.
 */

import { CortexError } from "@cortex-memory/core";
import { describe } from "@cortex-memory/core/contract";
import type { Operation } from "../operations/define.js";
import { type Field, fieldsOf, jsonOf, parseValue } from "../operations/text-input.js";
import { HttpFailure } from "./problem.js";
import type { Route } from "./routes.js";

/** The input of an operation, not yet checked. */
export type Input = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The JSON body of a memgraph request, whose metadata keeps every member; no body at all is an empty object. */
export async function readJsonBody(request: Request, limitBytes: number): Promise<Input> {
  return parseJsonBody(request, await readBytes(request, limitBytes), "keep");
}

/** The JSON in the bytes of a body. */
export function parseJsonBody(
  request: Request,
  bytes: Uint8Array,
  prototypes: "keep" | "refuse" = "refuse",
): Input {
  if (bytes.length === 0) return {};
  checkMediaType(request);
  const text = decode(bytes);
  if (prototypes === "refuse" && MAY_NAME_PROTOTYPE.test(text)) refusePrototypes(text);
  const value = jsonOf(text, "body");
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Input;
  throw new HttpFailure("malformed", `body: expected a JSON object, got ${describe(value)}`);
}

/** A member that JavaScript objects have anyway: copying would drop it, and nothing is dropped here. */
const PROTOTYPE = "__proto__";

/** A text in which it may stand: as it is, or with any of its characters escaped. */
const MAY_NAME_PROTOTYPE = /__proto__|\\u00(?:5f|7[02]|6f|74)/i;

function refusePrototypes(text: string): void {
  let isNamed = false;
  const look = (key: string, value: unknown): unknown => {
    isNamed ||= key === PROTOTYPE;
    return value;
  };
  try {
    JSON.parse(text, look);
  } catch {
    // What is not JSON is refused by its reader, with the reason.
  }
  if (!isNamed) return;
  const message = `body: expected no member called ${PROTOTYPE}`;
  throw new CortexError("ERR_UNKNOWN_FIELD", message, { field: PROTOTYPE });
}

/** Anything but JSON is refused: a form or plain text is what a foreign page can send unasked. */
function checkMediaType(request: Request): void {
  const given = request.headers.get("content-type") ?? "";
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith("charset="))?.slice("charset=".length);
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset);
  const encoding = request.headers.get("content-encoding") ?? "identity";
  if (type === "application/json" && isUtf8 && encoding === "identity") return;
  throw new HttpFailure(
    "mediaType",
    "content-type: expected application/json in UTF-8, not encoded otherwise",
    { Accept: "application/json" },
  );
}

/** The bytes of a body, never more than the limit. */
export async function readBytes(request: Request, limitBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  const tooLarge = (): HttpFailure =>
    new HttpFailure("tooLarge", `body: expected at most ${limitBytes} bytes`, {
      Connection: "close",
    });
  if (declared !== null) {
    if (Number(declared) > limitBytes) throw tooLarge();
    // The parser of the server holds the sender to the length it declared.
    return new Uint8Array(await received(request.arrayBuffer()));
  }
  if (request.headers.get("transfer-encoding") === null || request.body === null) {
    return new Uint8Array();
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await received(reader.read());
    if (done) return Buffer.concat(chunks);
    size += value.byteLength;
    if (size > limitBytes) {
      await reader.cancel();
      throw tooLarge();
    }
    chunks.push(value);
  }
}

/** A body that breaks off is nobody's fault but the sender's, who is mostly gone by then. */
async function received<T>(part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch {
    throw new HttpFailure("malformed", "body: expected all of it, got a part", {
      Connection: "close",
    });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    const message = "body: expected well-formed UTF-8";
    throw new CortexError("ERR_ILL_FORMED", message, { field: "body" }, error);
  }
}

/** The parameters of a request as input. Lists are repeated, objects are JSON. */
export function readParameters(route: Route, parameters: URLSearchParams): Input {
  const known = fieldsFor(route);
  const input: Record<string, unknown> = {};
  for (const name of new Set(parameters.keys())) {
    const field = known.get(name);
    if (field === undefined) {
      const expected = [...known.keys()].join(", ") || "no parameter";
      throw new CortexError("ERR_UNKNOWN_FIELD", `${describe(name)}: expected one of ${expected}`, {
        field: name.slice(0, 64),
        expected,
      });
    }
    input[name] = parameterValue(field, parameters.getAll(name));
  }
  return input;
}

function parameterValue(field: Field, texts: readonly string[]): unknown {
  const [text = ""] = texts;
  if (field.syntax === "list") return parseValue(field, texts, field.name);
  if (texts.length > 1) {
    throw new HttpFailure(
      "malformed",
      `${field.name}: expected it once, got it ${texts.length} times`,
    );
  }
  if (field.syntax !== "switch") return parseValue(field, text, field.name);
  if (text === "true" || text === "false") return text === "true";
  throw new HttpFailure(
    "malformed",
    `${field.name}: expected true or false, got ${describe(text)}`,
  );
}

const fieldMaps = new WeakMap<Operation, ReadonlyMap<string, Field>>();

function fieldsFor({ operation, fields }: Route): ReadonlyMap<string, Field> {
  const known = fieldMaps.get(operation);
  if (known !== undefined) return known;
  const own = fieldsOf(operation).filter(({ name }) => fields.includes(name));
  const map = new Map(own.map((field) => [field.name, field]));
  fieldMaps.set(operation, map);
  return map;
}

/** The fields that headers stand for, where the operation has them and the body does not say. */
export function readHeaders(route: Route, headers: Headers, input: Input): Input {
  const found: Record<string, unknown> = {};
  const key = route.fields.includes("idempotencyKey") ? keyIn(headers) : undefined;
  if (key !== undefined) found.idempotencyKey = key;
  const match = headers.get("if-match");
  if (match !== null && match !== "*" && route.fields.includes("basedOnVersion")) {
    found.basedOnVersion = versionIn(match);
  }
  for (const [name, value] of Object.entries(found)) {
    if (input[name] === undefined || input[name] === value) continue;
    throw new HttpFailure("differing", `${name}: the header and the body differ`);
  }
  return { ...input, ...found };
}

/** The idempotency key of a request. The draft standard writes it as a quoted string; most clients do not. */
export function keyIn(headers: Headers): string | undefined {
  const key = headers.get("idempotency-key") ?? undefined;
  return key !== undefined && /^"[^"]*"$/.test(key) ? key.slice(1, -1) : key;
}

/** The form of an entity tag of ours: a version, and perhaps the entry that touched the memory last. */
export const ENTITY_TAG = '(W/)?"([1-9][0-9]{0,8})(-[0-9]{1,15})?"';
const VERSION_TAG = new RegExp(`^${ENTITY_TAG}$`);

/** The version that an entity tag of ours names. */
function versionIn(match: string): number {
  const [, , version] = VERSION_TAG.exec(match) ?? [];
  if (version !== undefined) return Number(version);
  throw new HttpFailure("malformed", `if-match: expected one entity tag, got ${describe(match)}`);
}
