/**
 * What a call of memgraph's is: one row of the table, said once for both of its doors.
 *
 * Promise: `run` is the one way to perform it. Optional members that are null or empty count as not given; the
 * rest is checked against the row's schema, with the failures every door gives, and answers with memgraph's JSON.
 * How a request becomes an input, and an answer a response, is left to the doors: `mcp/tools-memgraph.ts` and
 * `http/memgraph-routes.ts`.
 */

import { type Access, type Hub, isCortexError } from "@cortex-memory/core";
import { refusalOf, renamed, unwrapped } from "@cortex-memory/core/contract";
import type { HUB_POLICIES } from "@cortex-memory/core/doors";
import {
  graphName,
  importedName,
  type MEMGRAPH_POLICIES,
  type Memgraph,
  memgraph,
} from "@cortex-memory/core/memgraph";
import type * as z from "zod";

/** A JSON object. */
export type Json = { readonly [member: string]: unknown };

/** What a call is asked with beside its input. */
export interface CallDoor {
  readonly hub: Hub;
  readonly store: Memgraph;
  readonly access: Access;
  /** Under which a repeated call gives the first answer. */
  readonly idempotencyKey?: string;
}

/** What a call answers; with `error`, what went wrong although there is an answer. */
interface Answer {
  readonly json: Json;
  readonly error?: string;
}

/** How REST spells a call. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below `/v1`, with its parts as the router writes them. */
  readonly path: string;
  /** Which field each part of the path is; `id` is the graph unless it says otherwise. */
  readonly parts?: { readonly [part: string]: string };
  /** The parameters after the path; where there is a body, the rest of the input is that. */
  readonly query?: { readonly [name: string]: Parameter };
  /** Fields of a body that need not be given, with what they are then. */
  readonly otherwise?: { readonly [field: string]: string };
  /** 200 unless told otherwise; 204 has no body. */
  readonly status?: 201 | 204;
  /** What else may be answered, by status. */
  readonly also?: { readonly [status: number]: z.ZodType };
  /** The shape of the answer where it is not the call's, and how the answer becomes it. */
  readonly shown?: { readonly shape: z.ZodObject; readonly of: (json: Json) => Json };
}

/** The field that a part of a path is. */
export function fieldOf({ parts }: Route, part: string): string {
  return parts?.[part] ?? "graph_id";
}

/** Whether it writes, and may be asked again under an idempotency key. */
export function takesKey({ method }: Route): boolean {
  return method !== "GET";
}

/** Whether what is asked comes in a body. */
export function hasBody({ method }: Route): boolean {
  return method === "POST" || method === "PATCH";
}

/** A parameter of a request. */
export interface Parameter {
  readonly field: string;
  readonly help: string;
  /** True refuses what cannot be read; otherwise it counts as not given. */
  readonly isStrict?: boolean;
}

/** A verb of the hub, or a call of memgraph's, by a name that the facade's verb of the same name has not. */
export type HubVerb =
  | `hub.${keyof typeof HUB_POLICIES}`
  | `memgraph.${keyof typeof MEMGRAPH_POLICIES}`;

/** A row of the table. */
export interface MemgraphCall {
  /** One line, for people and for models. */
  readonly summary: string;
  readonly verbs: readonly HubVerb[];
  readonly effect: "read" | "write";
  /** Whether repeating the same call changes nothing more. */
  readonly idempotent: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  /** The name of its tool; absent where MCP has none. */
  readonly tool?: string;
  /** How REST spells it; absent where it has no such route. */
  readonly route?: Route;
  /** Performs it; `meant` tells what an input stands for that is not right as it came. */
  run(door: CallDoor, input: unknown, meant?: (input: unknown) => unknown): Promise<Answer>;
}

interface CallSpec<I extends z.ZodObject, O extends z.ZodObject>
  extends Pick<MemgraphCall, "summary" | "verbs" | "tool" | "route"> {
  readonly effect?: "read" | "write";
  readonly idempotent?: boolean;
  readonly input: I;
  readonly output: O;
  /** `input` names a graph by its name here, `asked` by the id that was given. */
  readonly call: (
    door: CallDoor,
    input: z.output<I>,
    asked: z.output<I>,
  ) => Promise<z.input<O> | { readonly json: z.input<O>; readonly error: string }>;
}

/** Makes a row; it reads unless told otherwise. */
export function defineCall<I extends z.ZodObject, O extends z.ZodObject>(
  spec: CallSpec<I, O>,
): MemgraphCall {
  const { call, effect = "read", ...row } = spec;
  return {
    ...row,
    effect,
    idempotent: spec.idempotent ?? effect === "read",
    async run(door, input, meant = (given) => given) {
      const asked = checked(row.input, input, meant);
      try {
        const { graph_id } = asked as { readonly graph_id?: unknown };
        const named =
          typeof graph_id === "string"
            ? { ...asked, graph_id: await graphMeant(door, graph_id, effect) }
            : asked;
        const answer = await call(door, named, asked);
        return isFailed(answer) ? answer : { json: answer as Json };
      } catch (error) {
        throw isCortexError(error) ? renamed(error, memberOf(row.input)) : error;
      }
    },
  };
}

/**
 * The name of the graph that an id means: one that can be no name here is only that of an imported graph. Where none is
 * called so a read finds nothing, and a write is told what names are.
 */
async function graphMeant(
  { hub, access }: CallDoor,
  id: string,
  effect: MemgraphCall["effect"],
): Promise<string> {
  if (id === "") return id;
  const name = importedName(id);
  if (effect === "read" || name === graphName(id)) return name;
  return (await hub.getGraph(name, { access })) === undefined ? id : name;
}

/** The same of the far end of an edge to be, where it is said. */
export async function farGraph(
  door: CallDoor,
  id: string | undefined,
): Promise<string | undefined> {
  return id === undefined ? undefined : graphMeant(door, id, "write");
}

/** A name of the store's as JSON has it: `fromLineage` is `from_lineage`. */
export function fieldText(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What a call names the fields of the store's in its input: the graph, for one, is `graph_id`. */
function memberOf({ shape }: z.ZodObject): (field: string) => string {
  const member = (field: string): string => {
    const name = fieldText(field);
    return [name, `${name}_id`].find((one) => Object.hasOwn(shape, one)) ?? field;
  };
  // A failure may be about several fields together.
  return (field) => field.split(", ").map(member).join(", ");
}

/** The input as the schema takes it: checked once where it is right as it came and says nothing empty, as most is. */
function checked<I extends z.ZodObject>(
  schema: I,
  input: unknown,
  meant: (input: unknown) => unknown,
): z.output<I> {
  const first = saysAll(input) ? schema.safeParse(input) : undefined;
  if (first?.success === true) return first.data;
  const said = withoutEmpty(schema, meant(input));
  const parsed = schema.safeParse(said);
  if (!parsed.success) throw refusalOf(schema, parsed.error, said);
  return parsed.data;
}

/** Whether every member says something plain: none could stand for nothing, and none holds one that could. */
function saysAll(input: unknown): boolean {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return false;
  for (const member of Object.values(input)) {
    const isSaid =
      typeof member === "object" ? isTexts(member) : Boolean(member) || member === false;
    if (!isSaid) return false;
  }
  return true;
}

function isTexts(value: object | null): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/**
 * An input without members that are null or empty texts, where they need not be there: its own clients
 * send every field they know.
 */
function withoutEmpty(schema: z.core.$ZodType, value: unknown): unknown {
  const { def } = unwrapped(schema)._zod as { readonly def: z.core.$ZodTypeDef };
  if (def.type === "array" && Array.isArray(value)) {
    const { element } = def as z.core.$ZodArrayDef;
    return value.map((item) => withoutEmpty(element, item));
  }
  if (def.type !== "object" || typeof value !== "object" || value === null) return value;
  const { shape } = def as z.core.$ZodObjectDef;
  const kept = Object.entries(value).flatMap(([name, member]): (readonly [string, unknown])[] => {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (field === undefined) return [[name, member]];
    const isEmpty = member === null || member === "";
    if (isEmpty && field._zod.optin !== undefined) return [];
    return [[name, withoutEmpty(field, member)]];
  });
  return Object.fromEntries(kept);
}

function isFailed(answer: object): answer is Required<Answer> {
  return "error" in answer && "json" in answer;
}

/** What a call is asked with at a door. */
export function callDoor(hub: Hub, access: Access, key?: string): CallDoor {
  return { hub, store: memgraph(hub), access, ...given({ idempotencyKey: key }) };
}

/** How a call writes: for whom, and under which key, if it was asked under one. */
export function writing({
  access,
  idempotencyKey,
}: CallDoor): Pick<CallDoor, "access" | "idempotencyKey"> {
  return { access, ...given({ idempotencyKey }) };
}

/** Members that were given, under other names. */
export function given<T extends object>(
  members: T,
): { readonly [K in keyof T]: NonNullable<T[K]> } {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { readonly [K in keyof T]: NonNullable<T[K]> };
}
