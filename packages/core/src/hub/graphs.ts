/**
 * The graphs of a hub as a whole: what callers see of one, and the verbs that make, read, list,
 * configure and remove them. The configuration of a graph is journaled in the graph itself; the catalogue only
 * repeats it.
 */

import * as z from "zod";
import { checkCall } from "../admission/standing.js";
import { applyConfig, checkPatch, configure } from "../config/config.js";
import type { ConfigChange, ConfigPatch, ConflictPolicy, GraphConfig } from "../contract/config.js";
import { textField, whole } from "../contract/fields.js";
import { VERBS } from "../contract/index.js";
import { cursor, idempotencyKey, limitUpTo } from "../contract/memory.js";
import { checkInput } from "../contract/refusal.js";
import type { Cortex } from "../cortex.js";
import { checkOptions, checkPrincipal, type Engine } from "../engine/engine.js";
import { keyError, requestMark, underMark } from "../engine/idempotency.js";
import { CortexError, describe, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { JsonObject } from "../records/fields.js";
import { type Access, OWNER, speakerOf } from "../scope/access.js";
import { checkSaid } from "../trust/gate.js";
import type { GraphProblem, Graphs } from "./catalogue.js";
import type { GraphRow } from "./catalogue-rows.js";
import {
  CHANCE_CHARS,
  checkGraphId,
  graphIdFor,
  type HubContext,
  inGraph,
  keyedBytes,
  noGraph,
} from "./context.js";
import { type SymlinkManifest, symlinks } from "./walk.js";

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
  /** When it was made; of an imported graph, by the program it came from. */
  readonly createdAt: number;
  /** Of an imported graph: what that program knew it by. */
  readonly origin?: NonNullable<GraphConfig["origin"]>;
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
  /** Set for a graph of another program: what it was known by there, and when it was made. */
  readonly origin?: NonNullable<GraphConfig["origin"]>;
}

/** Which graphs to list. */
export interface GraphFilter {
  readonly includeArchived?: boolean;
  /** How many, at most; all of them when not given. */
  readonly limit?: number | undefined;
  /** Where the page before ended. */
  readonly cursor?: string | undefined;
  readonly access?: Access | undefined;
}

/** Graphs, oldest first. */
export interface GraphList {
  readonly graphs: readonly GraphInfo[];
  /** Give it back to read on; absent at the end. */
  readonly cursor?: string;
  /** Folders that look like graphs and cannot be read. */
  readonly problems: readonly GraphProblem[];
}

const GRAPH_FIELDS = ["name", "id", "conflictPolicy", "kindWhitelist", "metadata", "by", "origin"];

const ORIGIN = z.strictObject({
  id: textField({ maxBytes: LIMITS.externalIdBytes }),
  createdAt: whole(0),
  nanos: whole(0, 999_999).optional(),
});

/** Checks what a caller says about a graph to be; the patch that configures it. */
function checkGraphInput(input: GraphInput): ConfigChange {
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

/** Who asks for a change of a graph, and the key under which asking again changes nothing more. */
export interface ChangeOptions {
  readonly access?: Access | undefined;
  readonly idempotencyKey?: string | undefined;
}

const KEYED = z.strictObject({ idempotencyKey: idempotencyKey.optional() });

/** The engine of a graph whose next write is done once under a key; the same engine without one. */
function underKey(
  engine: Engine,
  key: string | undefined,
  asked: {
    readonly operation: string;
    readonly request: unknown;
    readonly by?: string | undefined;
  },
): Engine {
  const { request } = requestMark(engine, key, asked);
  return request === undefined ? engine : underMark(engine, request);
}

/** Configures a graph that was born just now; `ERR_EXISTS` when somebody else was faster. */
async function furnishGraph(engine: Engine, patch: ConfigChange, input: GraphInput): Promise<void> {
  const by = checkPrincipal(input.by, engine.principal);
  const {
    id,
    createdAt,
    nanos = 0,
  } = input.origin === undefined ? {} : checkInput(ORIGIN, input.origin);
  const origin =
    id === undefined || createdAt === undefined
      ? undefined
      : { id, createdAt, ...(nanos === 0 ? {} : { nanos }) };
  await engine.writer.submit({
    again: { tell: () => undefined },
    run: (tx): void => {
      if (tx.nextSeq() > 1) throw graphExists(engine.actor);
      applyConfig(tx, patch, by, origin);
    },
  });
}

/** The failure of making a graph that is there. */
function graphExists(id: string): CortexError {
  return new CortexError(
    "ERR_EXISTS",
    `id: expected a new graph, got ${describe(id)}, which is one already`,
    { field: "id", subject: id },
  );
}

/** A graph as callers see it. */
export function shapeGraph(
  id: string,
  { config, createdAt, size }: Pick<GraphRow, "config" | "createdAt" | "size">,
): GraphInfo {
  return {
    id,
    name: config.name ?? id,
    conflictPolicy: config.conflictPolicy,
    kindWhitelist: config.kindWhitelist,
    metadata: config.metadata ?? {},
    archived: config.archived === true,
    createdAt: config.origin?.createdAt ?? createdAt,
    ...(config.origin === undefined ? {} : { origin: config.origin }),
    seq: size - 1,
  };
}

/** Where a graph stands in a list: by age, then by id. */
interface GraphPlace extends Pick<GraphInfo, "id" | "createdAt"> {
  readonly origin?: { readonly nanos?: number };
}

function byAge(a: GraphPlace, b: GraphPlace): number {
  const older = a.createdAt - b.createdAt || (a.origin?.nanos ?? 0) - (b.origin?.nanos ?? 0);
  if (older !== 0) return older;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/** A place as text: it holds also when the graph that stood there is gone. */
function showPlace({ createdAt, origin, id }: GraphPlace): string {
  return `${createdAt}-${origin?.nanos ?? 0}-${id}`;
}

function readPlace(cursor: string): GraphPlace {
  const [, createdAt, nanos, id = ""] = /^(\d{1,16})-(\d{1,6})-(.+)$/.exec(cursor) ?? [];
  if (id === "") throw invalid("cursor", "the cursor of a page of graphs", cursor);
  return { id, createdAt: Number(createdAt), origin: { nanos: Number(nanos) } };
}

/** Runs `body` in a graph, made first where `create` says so; else `ERR_NOT_FOUND` without one. */
export async function useGraph<T>(
  hub: HubContext,
  graph: string,
  body: (memory: Cortex) => Promise<T>,
  options: { readonly create?: boolean },
): Promise<T> {
  checkOptions(options, ["create"]);
  if (options.create !== true) return inGraph(hub, graph, ({ memory }) => body(memory));
  return hub.stores.create(checkGraphId(graph, hub.prefix), ({ memory }) => body(memory));
}

/**
 * Makes a graph; `ERR_EXISTS` when there is one of this id. Under a key the id comes from the key, so that
 * asking again finds the graph that the first call made, and gets it as it is by now.
 */
export async function createGraph(
  hub: HubContext,
  asked: GraphInput,
  options: ChangeOptions = {},
): Promise<GraphInfo> {
  checkOptions(options, ["access", "idempotencyKey"]);
  const { access = OWNER, ...keyed } = options;
  const { idempotencyKey: key } = checkInput(KEYED, keyed);
  const speaker = speakerOf(access);
  if (speaker !== undefined) checkSaid(speaker, asked);
  const by = asked?.by ?? speaker?.principal;
  const input = by === undefined ? asked : { ...asked, by };
  const patch = checkGraphInput(input);
  const id =
    input.id === undefined
      ? graphIdFor(
          input.name,
          key === undefined ? hub.random : () => keyedBytes(key, by),
          hub.prefix,
        )
      : checkGraphId(input.id, hub.prefix, "id");
  if (key === undefined && (await hub.places.stamp(id)) !== undefined) throw graphExists(id);
  if (key !== undefined && input.id === undefined) await refuseOtherName(hub, id);
  await hub.stores.create(id, ({ engine }) =>
    furnishGraph(
      underKey(engine, key, { operation: "createGraph", request: asked, by }),
      patch,
      input,
    ),
  );
  return fresh(hub, id);
}

/** Refuses a key under which a graph of another name was made: its id ends alike and begins otherwise. */
async function refuseOtherName(hub: HubContext, id: string): Promise<void> {
  const { rows } = await hub.catalogue.graphs();
  const end = id.slice(-CHANCE_CHARS);
  if ([...rows.keys()].some((other) => other !== id && other.endsWith(end))) {
    throw keyError("expected the request it was first used for, got another one");
  }
}

/** One graph; `undefined` when there is none of this id. */
export async function getGraph(hub: HubContext, id: string): Promise<GraphInfo | undefined> {
  const name = checkGraphId(id, hub.prefix, "id");
  const row = await hub.catalogue.graph(name);
  return row === undefined ? undefined : shapeGraph(name, row);
}

/** How graphs are listed. */
const graphFilter = z.strictObject({
  includeArchived: z.boolean().optional(),
  limit: limitUpTo(LIMITS.listLimit),
  cursor,
});

/** Every graph, oldest first, in pages where a limit is given; archived ones on request. */
export async function listGraphs(
  hub: HubContext,
  { access: _, ...filter }: GraphFilter = {},
): Promise<GraphList> {
  const { includeArchived = false, limit, cursor: ended } = checkInput(graphFilter, filter);
  const after = ended === undefined ? undefined : readPlace(ended);
  const asked = { includeArchived, limit, after };
  return (await nextPage(hub, asked)) ?? pageOf(await hub.catalogue.graphs(), asked);
}

/** A page of graphs that is asked for. */
interface GraphPage {
  readonly includeArchived: boolean;
  readonly limit: number | undefined;
  readonly after: GraphPlace | undefined;
}

/**
 * A page behind another one: from the list that the one before was cut from, if what it shows is as it was. Looking at
 * all graphs for each page would make a list of many take minutes. `undefined` where all have to be looked at: something
 * has changed, or the list ends here, and graphs that were made since stand at its end.
 */
async function nextPage(hub: HubContext, asked: GraphPage): Promise<GraphList | undefined> {
  const last = asked.after === undefined ? undefined : hub.catalogue.lastGraphs();
  if (last === undefined) return undefined;
  const page = pageOf(last, asked);
  if (page.cursor === undefined) return undefined;
  // Those that are left out, being archived, stand between the others: they may be no more.
  const whole = pageOf(last, { ...asked, includeArchived: true, limit: undefined }).graphs;
  const end = whole.findIndex(({ id }) => id === page.graphs.at(-1)?.id) + 1;
  const rows = whole.slice(0, end).flatMap(({ id }): (readonly [string, GraphRow])[] => {
    const row = last.rows.get(id);
    return row === undefined ? [] : [[id, row]];
  });
  return (await hub.catalogue.haveChanged(new Map(rows))) ? undefined : page;
}

/** Graphs of one look at a hub, oldest first. */
const sorted = new WeakMap<Graphs["rows"], readonly GraphInfo[]>();

function pageOf(
  { rows, problems }: Graphs,
  { includeArchived, limit, after }: GraphPage,
): GraphList {
  const all = sorted.get(rows) ?? [...rows].map(([id, row]) => shapeGraph(id, row)).sort(byAge);
  sorted.set(rows, all);
  const shown = all
    .filter((one) => includeArchived || !one.archived)
    .filter((one) => after === undefined || byAge(one, after) > 0);
  const graphs = limit === undefined ? shown : shown.slice(0, limit);
  const last = graphs.at(-1);
  const isCut = last !== undefined && graphs.length < shown.length;
  return { graphs, ...(isCut ? { cursor: showPlace(last) } : {}), problems };
}

/** Changes the configuration of a graph; what the patch leaves out stays. */
export async function configureGraph(
  hub: HubContext,
  id: string,
  patch: ConfigPatch,
  options: ConfigureOptions = {},
): Promise<GraphInfo> {
  checkOptions(options, ["by", "access", "idempotencyKey", "replacesMetadata"]);
  const { by: said, access = OWNER, replacesMetadata, ...keyed } = options;
  const { idempotencyKey: key } = checkInput(KEYED, keyed);
  const speaker = speakerOf(access);
  checkCall(VERBS.configure, said === undefined ? {} : { by: said }, speaker);
  const change = checkPatch(patch);
  const name = checkGraphId(id, hub.prefix, "id");
  const gone = replacesMetadata === true ? await membersOf(hub, name) : {};
  const metadata = change.metadata == null ? change.metadata : { ...gone, ...change.metadata };
  const { seq, ...config } = await inGraph(hub, name, ({ engine }) => {
    const by = checkPrincipal(said, engine.principal);
    const asked = { operation: "configureGraph", request: patch, by: said ?? speaker?.principal };
    const whole = { ...change, ...(metadata === undefined ? {} : { metadata }) };
    return configure(underKey(engine, key, asked), { ...whole, by, access: OWNER });
  });
  const now = await fresh(hub, name);
  if (key === undefined) return now;
  // What the first call made of it, whatever was changed since.
  return shapeGraph(name, { config, createdAt: now.createdAt, size: seq + 1 });
}

/** How a graph is configured. */
export interface ConfigureOptions extends ChangeOptions {
  readonly by?: string;
  /** True lets metadata that is given take the place of all that was there; else members are set one by one. */
  readonly replacesMetadata?: boolean;
}

/** The metadata of a graph with nothing in its members, which takes them away. */
async function membersOf(
  hub: HubContext,
  name: string,
): Promise<{ readonly [member: string]: null }> {
  const before = (await getGraph(hub, name))?.metadata ?? {};
  return Object.fromEntries(Object.keys(before).map((member) => [member, null]));
}

/** A graph that was removed, and what it was tied to. */
export interface RemovedGraph {
  readonly id: string;
  /** What people called it; the id where nobody said, or where it could not be read. */
  readonly name: string;
  readonly reason: string;
  /** Entries that its journal had; absent where it could not be read. */
  readonly entries?: number;
  /** Edges of other graphs that lead into it stay where they are, and lead nowhere from now on. */
  readonly symlinks: SymlinkManifest;
}

const removalInput = z.strictObject({
  reason: textField({ maxBytes: LIMITS.reasonBytes, control: true }),
});

/** Removes a graph with everything in it; `undefined` when there is none of this id. */
export async function removeGraph(
  hub: HubContext,
  asked: string,
  why: string,
  options: { readonly access?: Access | undefined } = {},
): Promise<RemovedGraph | undefined> {
  const id = checkGraphId(asked, hub.prefix, "id");
  const { reason } = checkInput(removalInput, { reason: why });
  checkOptions(options, ["access"]);
  const verb = { ...VERBS.configure, name: "remove" };
  checkCall(verb, {}, speakerOf(options.access ?? OWNER));
  const ties = await symlinks(hub, id);
  const row = await hub.catalogue.knownRow(id);
  const removal = await hub.stores.end(id, async () => {
    const removed = await hub.places.remove(id);
    await hub.catalogue.erase(id);
    await removed?.end();
    return removed;
  });
  if (removal === undefined) return undefined;
  const known = row === undefined ? {} : { entries: row.size, name: row.config.name ?? id };
  return { id, name: id, reason, ...known, symlinks: ties };
}

/** Ends the removals that others began: whatever a process was killed in, the next one finishes. */
export async function finishRemovals({ places, catalogue }: HubContext): Promise<void> {
  const begun = await places.unfinished();
  for (const removal of begun) {
    // A new graph of the same name is looked at anew, which is no loss.
    await catalogue.erase(removal.name);
    await removal.end();
  }
}

async function fresh(hub: HubContext, id: string): Promise<GraphInfo> {
  const row = await hub.catalogue.refresh(id, "stamp");
  if (row === undefined) throw noGraph(id);
  return shapeGraph(id, row);
}
