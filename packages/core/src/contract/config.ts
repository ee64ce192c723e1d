/**
 * The verbs on the configuration of a graph: reading what holds in it, and changing that.
 */
import * as z from "zod";
import { describe } from "../errors.js";
import { LIMITS } from "../limits.js";
import { complain, type JsonObject, jsonObjectField } from "../records/fields.js";
import { keyOf } from "../scope/request-signature.js";
import { anyObject, listOf, listUpTo, type ShapeOf, textField, whole } from "./fields.js";
import { by, idempotencyKey, kind } from "./memory.js";
import { seqShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** Every language a graph may be configured for; `none` keeps words as they are. */
export const LANGUAGES = [
  "none",
  "arabic",
  "armenian",
  "basque",
  "catalan",
  "czech",
  "danish",
  "dutch",
  "english",
  "finnish",
  "french",
  "german",
  "hungarian",
  "irish",
  "italian",
  "norwegian",
  "porter",
  "portuguese",
  "romanian",
  "russian",
  "slovene",
  "spanish",
  "swedish",
  "tamil",
  "turkish",
] as const;

/** A language of the list. */
export type Language = (typeof LANGUAGES)[number];

const conflictPolicy = z.enum(["lww", "manual"]);

/** How a stale write is settled: the last writer wins, or both versions stay until someone decides. */
export type ConflictPolicy = z.output<typeof conflictPolicy>;

/** The configuration of a graph, in an answer. */
export const graphConfigShape = z.object({
  conflictPolicy,
  /** Empty allows every kind. */
  kindWhitelist: listOf(z.string()),
  /** What people call the graph; need not be unique. */
  name: z.string().exactOptional(),
  /** Anything its owner wants to keep about it. */
  metadata: anyObject.exactOptional(),
  /** Left out of lists of graphs; it can be read and written as before. */
  archived: z.literal(true).exactOptional(),
  /** Which endings the words of a search do without; english when not set. */
  language: z.enum(LANGUAGES).exactOptional(),
  /** Public keys in base64 whose scopes are honoured here; none when not set. */
  trustedIssuers: listOf(z.string()).exactOptional(),
  /** Days after which memories of a kind expire; upkeep archives them only when it is told to. */
  ttlDays: z.record(z.string(), z.int()).exactOptional(),
  /** Of an imported graph: what another program knew it by, and when it was made there. */
  origin: z
    .object({ id: z.string(), createdAt: z.int(), nanos: z.int().exactOptional() })
    .exactOptional(),
});

/** The configuration of a graph. */
export interface GraphConfig extends Omit<ShapeOf<typeof graphConfigShape>, "metadata"> {
  /** Anything its owner wants to keep about it. */
  readonly metadata?: JsonObject;
}

const publicKey = z
  .string()
  .check((payload) => {
    if (keyOf(payload.value) !== undefined) return;
    const expected = "a public key of 32 bytes in base64";
    complain(payload, { code: "ERR_INVALID", expected, got: describe(payload.value) }, []);
  })
  // Of the last character before the padding, two bits say nothing and are zero.
  .meta({ pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$" });

/** A change of the configuration: what is left out stays, `null` takes away. */
export const configFields = {
  conflictPolicy: conflictPolicy
    .describe("a stale write is refused (lww), or kept as a rival (manual)")
    .optional(),
  kindWhitelist: listUpTo(kind)
    .describe("the kinds allowed; an empty list allows every kind")
    .optional(),
  name: textField({ maxBytes: LIMITS.labelBytes })
    .nullable()
    .describe("what people call the graph; null takes it away")
    .optional(),
  metadata: jsonObjectField
    .nullable()
    .describe("anything to keep about the graph, member by member; null removes one")
    .optional(),
  archived: z.boolean().describe("leave it out of lists of graphs").optional(),
  language: z
    .enum(LANGUAGES)
    .nullable()
    .describe("the language of the texts, for searching; none keeps words as they are")
    .optional(),
  trustedIssuers: listUpTo(publicKey, LIMITS.trustedIssuers)
    .describe("the public keys whose scopes are honoured; an empty list trusts nobody")
    .optional(),
  ttlDays: z
    .record(kind, whole(1, LIMITS.ttlDays).nullable())
    .nullable()
    .describe("days after which memories of a kind expire, kind by kind; null removes one")
    .optional(),
};

/** A change of the configuration, as callers give it. */
export type ConfigPatch = z.input<z.ZodObject<typeof configFields>>;

/** A change of the configuration, checked. */
export type ConfigChange = z.output<z.ZodObject<typeof configFields>>;

/** Reads the configuration. */
export const config = verb("config", {
  summary: "Show the graph's configuration",
  kind: "read",
  policy: "owner",
  args: {},
  options: {},
  output: z.object({ graph: graphConfigShape }),
  member: "graph",
  answer: type<GraphConfig>(),
});

/** Changes the configuration. */
export const configure = verb("configure", {
  summary: "Change the graph's configuration",
  kind: "write",
  policy: "owner",
  standing: "owner",
  retry: "key",
  args: {},
  options: { ...configFields, by, idempotencyKey },
  together: [{ atLeastOne: Object.keys(configFields) }],
  output: graphConfigShape.extend({ seq: seqShape }),
  answer: type<GraphConfig & { readonly seq: number }>(),
});
