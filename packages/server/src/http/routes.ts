/**
 * The table of operations as routes: the paths that an operation has, and how a request at one of them
 * becomes its input. One rule, no list of its own.
 *
 * Every operation is `POST /v1/<name>` with its input as a JSON body, for the server's own actor, and
 * `POST /v1/actors/<actor>/<name>` for another; `<name>` is the operation's name in small letters with
 * dashes. One that only reads answers `GET` as well, with the fields of its input as parameters, and one
 * that goes on answering answers `GET` alone, as a stream of events. What cannot be asked for over HTTP has
 * a reason in its row, and its path answers with that reason.
 *
 * Promise: a body is JSON and says so, is well-formed UTF-8 and an object, and is never held beyond the
 * limit. What a value may be is decided by the operation's own schema; text is read by the rules of the
 * command line, so that a time or a list is written the same way everywhere. Some headers stand for a field.
 */

import { CortexError } from "@cortex-memory/core";
import { describe, kebab } from "@cortex-memory/core/contract";
import type { HttpSpec, Operation } from "../operations/define.js";
import { type Field, fieldsOf, jsonOf, parseValue } from "../operations/text-input.js";
import { HttpFailure } from "./respond.js";

/** Where every version of this interface starts. */
export const BASE = "/v1";

/** First words of paths that belong to routes outside the table. */
const TAKEN_PATHS: readonly string[] = ["actors", "stream", "info", "graphs", "nodes", "edges"];

/** One operation as HTTP sees it. */
export interface Route {
  readonly operation: Operation;
  /** The last part of its path. */
  readonly name: string;
  readonly methods: readonly ("GET" | "POST")[];
  /** Fields that have a parameter or member; the file that a response is has none. */
  readonly fields: readonly string[];
  /** The field whose file is the response. */
  readonly file?: { readonly field: string; readonly mediaType: string };
  /** Why it cannot be asked for. */
  readonly unavailable?: string;
}

/** The routes of a table of operations; a name that is taken fails at load. */
export function routesOf(operations: readonly Operation[]): readonly Route[] {
  const routes = operations.map(routeOf);
  const names = [...TAKEN_PATHS, ...routes.map(({ name }) => name)];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two routes are called ${twice}`);
  return routes;
}

function routeOf(operation: Operation): Route {
  const http: HttpSpec = operation.http ?? { path: kebab(operation.name) };
  const base = { operation, name: "path" in http ? http.path : kebab(operation.name) };
  const fields = fieldsOf(operation).map(({ name }) => name);
  if ("unavailable" in http) {
    return { ...base, methods: ["POST"], fields: [], unavailable: http.unavailable };
  }
  const methods = methodsOf(operation);
  if (!("sends" in http)) return { ...base, methods, fields };
  return {
    ...base,
    methods,
    fields: fields.filter((name) => name !== http.sends),
    file: { field: http.sends, mediaType: http.mediaType },
  };
}

function methodsOf({ kind, stream }: Operation): Route["methods"] {
  if (stream !== undefined) return ["GET"];
  return kind === "read" ? ["GET", "POST"] : ["POST"];
}

/** The paths of a route: for the server's own actor, and for any. */
export function pathsOf({ name }: Pick<Route, "name">): readonly [string, string] {
  return [`${BASE}/${name}`, `${BASE}/actors/:actor/${name}`];
}

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

/** The values of every parameter of an address. */
type Parameters = ReadonlyMap<string, readonly string[]>;

/** A query in which every character stands for itself, but for `&` and `=` between them. */
const PLAIN_QUERY = /^[\w.~:,@/&=-]*$/;

/** The parameters of a query. A plain one is read without the parser of the web standard, which takes longer. */
export function parametersIn(query: string): Parameters {
  const found = new Map<string, string[]>();
  const add = (value: string, name: string): void => {
    const before = found.get(name);
    if (before === undefined) found.set(name, [value]);
    else before.push(value);
  };
  if (!PLAIN_QUERY.test(query)) {
    new URLSearchParams(query).forEach(add);
    return found;
  }
  for (const part of query.split("&")) {
    const at = part.indexOf("=");
    if (at >= 0) add(part.slice(at + 1), part.slice(0, at));
    else if (part !== "") add("", part);
  }
  return found;
}

/** The parameters of a request as input. Lists are repeated, objects are JSON. */
export function readParameters(route: Route, parameters: Parameters): Input {
  const known = fieldsFor(route);
  const input: Record<string, unknown> = {};
  for (const [name, texts] of parameters) {
    const field = known.get(name);
    if (field === undefined) {
      const expected = [...known.keys()].join(", ") || "no parameter";
      throw new CortexError("ERR_UNKNOWN_FIELD", `${describe(name)}: expected one of ${expected}`, {
        field: name.slice(0, 64),
        expected,
      });
    }
    input[name] = parameterValue(field, texts);
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

/** Longer paths are no slip of a finger. */
const SLIP_CHARS = 120;

/** The path that was probably meant: the one with the fewest letters to change, if they are few. */
export function nearestPath(path: string, routes: readonly string[]): string | undefined {
  if (path.length > SLIP_CHARS) return undefined;
  const near = [...new Set(routes)]
    .filter((route) => !route.includes("*"))
    .map((route) => filledFrom(route, path))
    .map((route) => ({ route, slips: slipsBetween(path.toLowerCase(), route.toLowerCase()) }))
    .sort((a, b) => a.slips - b.slips);
  const [first] = near;
  return first === undefined || first.slips > Math.max(3, path.length / 3)
    ? undefined
    : first.route;
}

/** A route with the parts that it leaves open taken from a path. */
function filledFrom(route: string, path: string): string {
  const given = path.split("/");
  return route
    .split("/")
    .map((part, at) => (part.startsWith(":") ? (given[at] ?? part) : part))
    .join("/");
}

/** How many letters have to be added, left out or changed to make one text of the other. */
function slipsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (const [to, wanted] of [...other].entries()) {
      const changed = (row[to] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
