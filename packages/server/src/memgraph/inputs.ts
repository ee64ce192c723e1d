/**
 * What memgraph's clients send, as schemas, and how it reads in the words of the hub. Members that
 * memgraph does not know are refused, as it does; lengths and meanings are checked by core.
 */
import {
  type ConfigPatch,
  CortexError,
  type GraphEdgeInput,
  type GraphInput,
  type NodeInput,
} from "@cortex-memory/core";
import * as z from "zod";
import { anyObject, listOf } from "../operations/fields.js";
import { inputError } from "../operations/input-error.js";
import { ISO_EXAMPLE, isoTimeMs } from "../operations/times.js";

const text = z.string();
const texts = listOf(text);

/** A graph to be. */
export const graphInput = z.strictObject({
  name: text,
  conflict_policy: z.enum(["lww", "manual", ""]).exactOptional(),
  kind_whitelist: texts.nullable().exactOptional(),
  metadata: anyObject.nullable().exactOptional(),
});

/** A change of a graph; an empty list or object clears. */
export const graphPatch = graphInput.partial();

/** A node to be. */
export const nodeInput = z.strictObject({
  graph_id: text,
  kind: text,
  content: text.exactOptional(),
  lineage_id: text.exactOptional(),
  summary: text.exactOptional(),
  tags: texts.nullable().exactOptional(),
  metadata: anyObject.nullable().exactOptional(),
  freshness_at: text.nullable().exactOptional(),
  created_by: text.exactOptional(),
  based_on_version: z.int().nullable().exactOptional(),
});

/** An edge to be. */
export const edgeInput = z.strictObject({
  graph_id: text,
  from_lineage: text,
  to_lineage: text,
  kind: text,
  to_graph: text.exactOptional(),
  metadata: anyObject.nullable().exactOptional(),
  ordinal: z.int().nullable().exactOptional(),
  created_by: text.exactOptional(),
});

/** Holds what was sent against a schema. */
export function checked<S extends z.ZodObject>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw inputError(schema, parsed.error, input);
}

/** A time that a caller wrote. */
export function timeMs(written: string, field: string): number {
  const ms = isoTimeMs(written);
  if (ms !== undefined) return ms;
  throw new CortexError("ERR_INVALID", `${field}: expected ${ISO_EXAMPLE}`, {
    field,
    expected: ISO_EXAMPLE,
  });
}

/** A graph to be, for the hub. */
export function toGraph(input: z.output<typeof graphInput>): GraphInput {
  const { name, conflict_policy: policy, kind_whitelist: kinds, metadata } = input;
  return {
    name,
    ...(policy === undefined || policy === "" ? {} : { conflictPolicy: policy }),
    ...(kinds === undefined || kinds === null ? {} : { kindWhitelist: kinds }),
    ...(metadata === undefined || metadata === null ? {} : { metadata }),
  };
}

/** A change of a graph, for the hub; metadata is replaced as a whole, so what was there goes. */
export function toPatch(
  input: z.output<typeof graphPatch>,
  before: { readonly [member: string]: unknown },
): ConfigPatch {
  const { name, conflict_policy: policy, kind_whitelist: kinds, metadata } = input;
  const gone = Object.fromEntries(Object.keys(before).map((member) => [member, null]));
  return {
    ...(name === undefined ? {} : { name }),
    ...(policy === undefined || policy === "" ? {} : { conflictPolicy: policy }),
    ...(kinds === undefined ? {} : { kindWhitelist: kinds ?? [] }),
    ...(metadata === undefined ? {} : { metadata: { ...gone, ...metadata } }),
  };
}

/** A node to be, for the hub; `unnamed` is who writes when nobody is named. */
export function toNode(input: z.output<typeof nodeInput>, unnamed: string): NodeInput {
  const { content, summary, tags, metadata, lineage_id: lineage } = input;
  const { freshness_at: fresh, created_by: by, based_on_version: base } = input;
  return {
    kind: input.kind,
    createdBy: by === undefined || by === "" ? unnamed : by,
    ...(content === undefined ? {} : { content }),
    ...(summary === undefined || summary === "" ? {} : { summary }),
    ...(tags === undefined || tags === null ? {} : { tags }),
    ...(metadata === undefined || metadata === null ? {} : { metadata }),
    ...(lineage === undefined || lineage === "" ? {} : { lineageId: lineage }),
    ...(fresh === undefined || fresh === null || fresh === ""
      ? {}
      : { freshnessAt: timeMs(fresh, "freshness_at") }),
    ...(base === undefined || base === null ? {} : { basedOnVersion: base }),
  };
}

/** An edge to be, for the hub. */
export function toEdge(input: z.output<typeof edgeInput>, unnamed: string): GraphEdgeInput {
  const { to_graph: graph, metadata, ordinal, created_by: by } = input;
  return {
    fromLineage: input.from_lineage,
    toLineage: input.to_lineage,
    kind: input.kind,
    createdBy: by === undefined || by === "" ? unnamed : by,
    ...(graph === undefined || graph === "" ? {} : { toGraph: graph }),
    ...(metadata === undefined || metadata === null ? {} : { metadata }),
    ...(ordinal === undefined || ordinal === null ? {} : { ordinal }),
  };
}
