/**
 * What a tool is: one row of the tables that the MCP door renders; and what stands behind one connection or
 * request: an open store, who is asking, and which tools are shown.
 *
 * Promise: a row names the facade verbs it calls, so that its hints follow from the facade's own
 * policies; `run` is the one way to perform it. It checks the arguments against the row's schema,
 * with the failures every door gives, and answers with structured content and a short text for a
 * model, within the budget of tokens that the caller set. Schemas are announced without what a model would
 * pay tokens for and learn nothing from; checking is done by the schema they were made from.
 *
 * Who speaks through this door is an agent, under the name that its client gave, so that a history shows
 * which of two agents said what. A caller that came with a name of its own (the holder of a scope, a
 * host that speaks for the user) keeps it.
 *
 * Left to others: the protocol (`sdk-*.ts`), who opens the store (the command line for stdio, the HTTP server
 * for `/mcp`), and everything about values (core).
 */

import {
  type Access,
  type Cortex,
  CortexError,
  type Hub,
  isCortexError,
} from "@cortex-memory/core";
import {
  breakMarks,
  cutToTokens,
  GIVEN_ROLES,
  ISO_PATTERN,
  listOf,
  namesIn,
  type OnPlan,
  refusalOf,
  renamed,
  unwrapped,
  VERBS,
  type VerbName,
} from "@cortex-memory/core/contract";
import { DOORS, throughDoor } from "@cortex-memory/core/doors";
import * as z from "zod";
import type { Profile, Setting } from "../config.js";
import { ERROR_STATUS, FAMILIES, INTERNAL_CODE } from "../error-status.js";
import type { HubVerb } from "../memgraph/call.js";
import { metaOf } from "../operations/fields.js";
import { mendedAndChecked } from "./mend.js";

/** What a call knows beside its arguments. */
export interface ToolContext {
  readonly access: Access;
  /** Where the store is, as people would write it. */
  readonly location: string;
  readonly settings: readonly Setting[];
  /** The graphs of the deployment, opened when first asked for; absent where there is no hub. */
  readonly hub?: () => Promise<Hub>;
  /** Told how a read was carried out, at a door that logs what was slow. */
  readonly onPlan?: OnPlan;
  /** Faults of the program itself go here, never to the client. */
  readonly log: (line: string) => void;
}

/** What a tool answers. */
export interface ToolAnswer {
  readonly text: string;
  readonly structured?: { readonly [member: string]: unknown };
  readonly isError?: true;
  /** True where the text is the JSON of `structured`, which then need not be made again. */
  readonly isJson?: true;
}

/** What a tool does to the store. */
export type Effect = "read" | "write" | "destroy";

/** A row of the tables. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The facade verbs it calls. */
  readonly verbs: readonly (VerbName | HubVerb)[];
  readonly effect: Effect;
  /** Whether repeating the same call changes nothing more. */
  readonly idempotent: boolean;
  readonly input: z.ZodObject;
  /** As announced, made when first asked for. */
  readonly inputSchema: () => JsonSchema;
  readonly outputSchema: () => JsonSchema;
  /** Performs it; failures are answers too. */
  run(memory: Cortex, input: unknown, context: ToolContext): Promise<ToolAnswer>;
}

/** Everything that is said about a tool. */
interface ToolSpec<I extends z.ZodObject, O extends z.ZodObject>
  extends Pick<Tool, "name" | "title" | "description" | "effect" | "idempotent"> {
  readonly verbs: readonly VerbName[];
  readonly input: I;
  readonly output: O;
  readonly call: (
    memory: Cortex,
    input: z.output<I>,
    context: ToolContext,
  ) => Promise<z.input<O> | undefined>;
  /** The answer for a model, in at most this many tokens. */
  readonly text: (output: z.input<O>, budgetTokens: number) => string;
  /** Fields that the verbs call otherwise than the tool does: its own name for each. */
  readonly words?: { readonly [field: string]: keyof I["shape"] & string };
  /** What is missing when `call` answers `undefined`. */
  readonly absent?: (input: z.output<I>) => string;
}

/** The budget of a text when the caller sets none. */
export const BUDGET_TOKENS = 1000;

/** The budget of a call that sets none: the usual one, or what the caller's scope allows. */
export function usualBudget(access: Access): number {
  const cap = access.kind === "scope" ? access.scope.budgetTokens : undefined;
  return Math.min(BUDGET_TOKENS, cap ?? BUDGET_TOKENS);
}

/** The argument that sets the budget. */
export const budgetTokens = z
  .int()
  .min(50)
  .max(20_000)
  .describe(`size of the answer; ${BUDGET_TOKENS}`)
  .exactOptional();

/** Makes a row; one whose effect contradicts the policies of its verbs fails at load. */
export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(
  spec: ToolSpec<I, O>,
): Tool {
  const { input, output, call, text, absent, words, ...row } = spec;
  const writes = spec.verbs.some((verb) => VERBS[verb].policy === "write");
  if (writes && spec.effect === "read")
    throw new Error(`tool ${spec.name} only says that it reads`);
  return {
    ...row,
    input,
    inputSchema: announcedLater(input),
    outputSchema: announcedLater(output),
    async run(memory, given, context) {
      try {
        const { asked, result: parsed } = mendedAndChecked(input, given);
        if (!parsed.success) throw refusalOf(input, parsed.error, asked);
        const answer = await call(memory, parsed.data, context);
        if (answer === undefined) {
          throw new CortexError("ERR_NOT_FOUND", absent?.(parsed.data) ?? "nothing there");
        }
        const budget = budgetOf(parsed.data);
        return { structured: answer, text: cutToTokens(text(answer, budget), budget) };
      } catch (error) {
        return failure(error, spec, context.log);
      }
    },
  };
}

function budgetOf(input: { readonly [field: string]: unknown }): number {
  return typeof input.budgetTokens === "number" ? input.budgetTokens : BUDGET_TOKENS;
}

/** What is known of the tool that failed. */
interface Failing {
  readonly name: string;
  readonly input: z.ZodObject;
  readonly words?: { readonly [field: string]: string };
}

/** A failure as an answer: code, message and what to do about it. Faults of ours tell nothing more. */
export function failure(
  error: unknown,
  tool: Failing,
  log: ToolContext["log"],
): ToolAnswer & { readonly isError: true } {
  if (isCortexError(error)) {
    const own = renamed(error, namesIn(tool.words));
    return failed(own.code, own.message, adviceOn(own, tool));
  }
  log(`${tool.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return failed(INTERNAL_CODE, "a fault of cortex itself", "The server's log says more.");
}

/** What a model should do next: where another call would do, what that call has to say. */
function adviceOn({ code, details }: CortexError, { name, input }: Failing): string {
  const { family } = ERROR_STATUS[code];
  if (family === "missing")
    return `${FAMILIES.missing} Look for it, and give the id of what was found.`;
  if (family !== "input") return FAMILIES[family];
  const [field = ""] = /^\w+/.exec(details.field ?? "") ?? [];
  const schema = Object.hasOwn(input.shape, field) ? input.shape[field] : undefined;
  if (schema === undefined) return `Correct what the message names and call ${name} again.`;
  if (details.field !== field && details.expected !== undefined)
    return `Call ${name} again with ${details.field}: ${details.expected}.`;
  const { description = "" } = metaOf(schema);
  const about = description === "" ? "" : ` (${description})`;
  return `Call ${name} again with ${field}: ${formOf(schema)}${about}.`;
}

/** The form of a field in words, with an example where a form alone would not do. */
function formOf(schema: z.core.$ZodType): string {
  const { time, position } = metaOf(schema);
  if (time === true) return TIME_EXAMPLE;
  if (position === true) return `a number, or ${TIME_EXAMPLE}`;
  const { def } = unwrapped(schema)._zod as { readonly def: z.core.$ZodTypeDef };
  switch (def.type) {
    case "array":
      return `a list, each ${formOf((def as z.core.$ZodArrayDef).element)}`;
    case "enum":
      return `one of ${Object.values((def as z.core.$ZodEnumDef).entries).join(", ")}`;
    case "union":
      return [...new Set((def as z.core.$ZodUnionDef).options.map(formOf))].join(", or ");
    case "boolean":
      return "true or false";
    case "number":
      return "a number";
    case "string":
      return "a text";
    default:
      return "an object";
  }
}

const TIME_EXAMPLE = "a date such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z";

function failed(code: string, message: string, advice: string) {
  return {
    isError: true,
    text: JSON.stringify({ code, message: breakMarks(message), advice }),
  } as const;
}

/** A reference to a memory. */
export const memoryRef = z.string().describe("id, URI or external id");

/** One turn of a conversation. */
export const turnFields = {
  role: z.enum(GIVEN_ROLES),
  content: z.union([
    z.string(),
    listOf(z.looseObject({ type: z.string(), text: z.string().exactOptional() })),
  ]),
  speaker: z.string().exactOptional(),
};

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
  if (!isNameless) return access;
  const principal = clientPrincipal(clientName);
  const names = NAMED.get(access) ?? new Map<string, Access>();
  const named = names.get(principal) ?? { kind: "owner", speaker: { ...speaker, principal } };
  if (names.size >= NAMED_MAX) names.clear();
  NAMED.set(access, names.set(principal, named));
  return named;
}

/** Accesses of clients by their names, one for all calls: what is made for a speaker is made once. */
const NAMED = new WeakMap<Access, Map<string, Access>>();
const NAMED_MAX = 100;

/** An open store and who is asking. */
export interface Door {
  readonly memory: Cortex;
  readonly access: Access;
  /** Where the store is, as people would write it. */
  readonly location: string;
  readonly settings: readonly Setting[];
  readonly profile: Profile;
  /** The graphs of the deployment, opened when first asked for; absent where there is no hub. */
  readonly hub?: () => Promise<Hub>;
  /** Faults of the program itself, for the operator. */
  readonly log: (line: string) => void;
  /** Waited for before a tool is run, so that calls that arrived together go on together. */
  readonly beforeRun?: () => Promise<void>;
  /** Told how a read was carried out. */
  readonly onPlan?: OnPlan;
  /** Told of every tool that is being run, for whoever has to wait for the end of it. */
  readonly onRun?: (run: Promise<unknown>) => void;
}

/** A JSON Schema. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What our schemas say about themselves for other doors, and what JSON Schema knows by itself. */
const LEFT_OUT = ["readOnly", "code", "file", "form", "standard", "time"] as const;

/** The JSON Schema of an object schema. Answers stay open: members may be added later. */
export function announced(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const own: { [keyword: string]: unknown } = jsonSchema;
      if (own.time === true) own.type = ["integer", "string"];
      for (const keyword of LEFT_OUT) delete own[keyword];
      // The forms of a choice belong to the schema, which other doors show as well: what is spared is a copy.
      const forms = ((own.anyOf as (typeof own)[] | undefined) ?? []).map((form) => ({ ...form }));
      if (own.anyOf !== undefined) own.anyOf = forms;
      for (const form of [own, ...forms]) spare(form);
      // The forms of what a verb checks by itself stand in its refusal, for whoever needs them.
      if (zodSchema._zod.def.type === "custom") delete own.oneOf;
      // Every name is a string.
      if (zodSchema._zod.def.type === "record") delete own.propertyNames;
    },
  });
  return json;
}

/**
 * Leaves out bounds that every number and every text keeps, and patterns: models know a time by its format, give
 * no name that is empty, and write no marks into names. Words of a vocabulary are not told twice, and an object is
 * open that does not say otherwise.
 */
function spare(form: { [keyword: string]: unknown }): void {
  const { enum: vocabulary, description } = form;
  const isTwice = Array.isArray(vocabulary) && String(description).endsWith(vocabulary.join(", "));
  if (isTwice) delete form.description;
  if (form.minLength === 1) delete form.minLength;
  if (JSON.stringify(form.additionalProperties) === "{}") delete form.additionalProperties;
  if (Math.abs(Number(form.minimum)) >= TIME_MAX_MS) delete form.minimum;
  if (Number(form.maximum) >= TIME_MAX_MS) delete form.maximum;
  if (form.pattern === undefined || form.type !== "string") return;
  if (form.pattern === ISO_PATTERN) form.format = "date-time";
  delete form.pattern;
}

/** The furthest time from 1970, in milliseconds: a bound that far is none. */
const TIME_MAX_MS = 8.64e15;

/**
 * An answer in outline: its members and theirs, and of what lies deeper only that it is there. Whoever reads
 * an answer sees the rest; whoever reads the list of tools pays for every word of it.
 */
export function outlined(json: JsonSchema, levels = OUTLINE_LEVELS): JsonSchema {
  const { properties, required, additionalProperties, items, anyOf, ...own } = json as Nested;
  if (levels === 0) return own;
  const inside = (one: JsonSchema): JsonSchema => outlined(one, levels - 1);
  return {
    ...own,
    ...(properties === undefined ? {} : { properties: mapped(properties, inside) }),
    ...(required === undefined ? {} : { required }),
    // A list and a choice are no levels of their own.
    ...(items === undefined ? {} : { items: outlined(items, levels) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((one) => outlined(one, levels)) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
  };
}

const OUTLINE_LEVELS = 2;

interface Nested extends JsonSchema {
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

function mapped<T, U>(
  members: { readonly [name: string]: T },
  of: (value: T) => U,
): { readonly [name: string]: U } {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, of(value)]));
}

/** The announced form of a schema, made when first asked for: a server starts sooner without it. */
export function announcedLater(
  schema: z.ZodType,
  told: (json: JsonSchema) => JsonSchema = (json) => json,
): () => JsonSchema {
  let made: JsonSchema | undefined;
  return () => {
    made ??= told(announced(schema));
    return made;
  };
}
