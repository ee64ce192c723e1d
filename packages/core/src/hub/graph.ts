/**
 * Graphs of a hub as callers see them, and how one is made. The configuration of a graph is journaled
 * in the graph itself; the catalogue only repeats it.
 */

import { applyConfig, checkPatch } from "../config/config.js";
import type { ConfigChange, ConflictPolicy, GraphConfig } from "../contract/config.js";
import { checkOptions, checkPrincipal, type Engine } from "../engine/engine.js";
import { CortexError, describe } from "../errors.js";
import type { JsonObject } from "../records/fields.js";
import type { Access } from "../scope/access.js";
import type { GraphProblem } from "./catalogue.js";
import type { GraphRow } from "./catalogue-rows.js";

/** A graph, as its owner configured it. */
export interface GraphInfo {
  /** A safe name; the actor of the graph. */
  readonly id: string;
  /** What people call it; the id where nobody said. */
  readonly name: string;
  readonly conflictPolicy: ConflictPolicy;
  /** Empty allows every kind. */
  readonly kindWhitelist: readonly string[];
  readonly metadata: JsonObject;
  readonly archived: boolean;
  readonly createdAt: number;
  /** The last entry of its journal. */
  readonly seq: number;
}

/** What a graph is to be. */
export interface GraphInput {
  /** What people call it; need not be unique. */
  readonly name: string;
  /** A safe name; made from `name` when not given. */
  readonly id?: string;
  readonly conflictPolicy?: ConflictPolicy;
  readonly kindWhitelist?: readonly string[];
  readonly metadata?: { readonly [key: string]: unknown };
  readonly by?: string;
}

/** Which graphs to list. */
export interface GraphFilter {
  readonly includeArchived?: boolean;
  readonly access?: Access;
}

/** Graphs, oldest first. */
export interface GraphList {
  readonly graphs: readonly GraphInfo[];
  /** Folders that look like graphs and cannot be read. */
  readonly problems: readonly GraphProblem[];
}

const GRAPH_FIELDS = ["name", "id", "conflictPolicy", "kindWhitelist", "metadata", "by"];

/** Checks what a caller says about a graph to be; the patch that configures it. */
export function checkGraphInput(input: GraphInput): ConfigChange {
  checkOptions(input, GRAPH_FIELDS, "graph");
  const { name, conflictPolicy, kindWhitelist, metadata } = input;
  return checkPatch({
    // Not null, which would take a name away.
    name: name ?? "",
    ...(conflictPolicy === undefined ? {} : { conflictPolicy }),
    ...(kindWhitelist === undefined ? {} : { kindWhitelist }),
    ...(metadata === undefined ? {} : { metadata }),
  });
}

/** Configures a graph that was born just now; `ERR_EXISTS` when somebody else was faster. */
export async function furnishGraph(
  engine: Engine,
  patch: ConfigChange,
  input: GraphInput,
): Promise<void> {
  const by = checkPrincipal(input.by, engine.principal);
  await engine.writer.submit({
    run: (tx): GraphConfig => {
      if (tx.nextSeq() > 1) throw graphExists(engine.actor);
      return applyConfig(tx, patch, by);
    },
  });
}

/** The failure of making a graph that is there. */
export function graphExists(id: string): CortexError {
  return new CortexError(
    "ERR_EXISTS",
    `id: expected a new graph, got ${describe(id)}, which is one already`,
    { field: "id", subject: id },
  );
}

/** A graph as callers see it. */
export function shapeGraph(id: string, { config, createdAt, size }: GraphRow): GraphInfo {
  return {
    id,
    name: config.name ?? id,
    conflictPolicy: config.conflictPolicy,
    kindWhitelist: config.kindWhitelist,
    metadata: config.metadata ?? {},
    archived: config.archived === true,
    createdAt,
    seq: size - 1,
  };
}

/** By age, then by id. */
export function byAge(a: GraphInfo, b: GraphInfo): number {
  return a.createdAt === b.createdAt ? (a.id < b.id ? -1 : 1) : a.createdAt - b.createdAt;
}
