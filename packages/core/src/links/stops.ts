/**
 * The stops of a walk: memories of graphs, and names there that no memory has; what each is called, and under which keys
 * edges name it.
 */
import type { Sha256 } from "../codec/hash.js";
import { parseUlid } from "../codec/ulid.js";
import { memoryId } from "../engine/engine.js";
import type { FoundMemory } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { type EdgeRecord, farKey } from "../records/edge-record.js";
import type { Side } from "./adjacency.js";

/** A place that a walk comes to: a memory of a graph, or a name there that no memory has. */
export interface Stop {
  readonly graph: string;
  readonly id?: Bytes;
  readonly name?: string;
  readonly isHidden?: boolean;
  /** The whole memory, in a walk with `far`. */
  readonly found?: FoundMemory;
}

/** A key of edges in a graph: the id of a memory, or what stands for a name. */
export interface GraphKey {
  readonly graph: string;
  readonly key: Bytes;
}

interface Hashed {
  readonly sha256: Sha256;
}

/** The name that tells a stop from every other. */
export function nameOf({ graph, id, name }: Stop): string {
  return id === undefined ? `${graph} = ${name}` : `${graph} ${keyString(id)}`;
}

/** As `nameOf`, where a name that no memory has is the same in every graph. */
export function lineageName(stop: Stop): string {
  return stop.id === undefined ? `= ${stop.name}` : nameOf(stop);
}

/** A memory as a stop of its graph. */
export function stopOf(graph: string, found: FoundMemory): Stop {
  return { graph, id: found.id, found, isHidden: found.row.lifecycle === "tombstoned" };
}

/** Whether an edge leads from one graph into another, as it was put: one that was imported says so itself. */
export function crosses({ origin, to }: Pick<EdgeRecord, "origin" | "to">): boolean {
  if (origin?.toGraph !== undefined) return origin.toGraph !== origin.graph;
  return !(to instanceof Uint8Array) && to.graph !== "";
}

/** The name that a stop goes by in every graph. */
export function lineageOf({ found, id, name = "" }: Stop): string {
  if (found?.head.record.head.externalId !== undefined) return found.head.record.head.externalId;
  return id === undefined ? name : memoryId(id);
}

/** Of several places the one with the highest version first. */
export function byVersion(a: Stop, b: Stop): number {
  return (b.found?.row.version ?? 0) - (a.found?.row.version ?? 0);
}

/** What a lineage is called in the keys of edges: its external id, and the id of its memory. */
export function namesOf({ found, name = "" }: Stop): readonly string[] {
  if (found === undefined) return [name];
  const { externalId } = found.head.record.head;
  return [...new Set([memoryId(found.id), ...(externalId === undefined ? [] : [externalId])])];
}

/** The keys of edges that name a stop in a graph. */
export function farKeys({ sha256 }: Hashed, graph: string, stop: Stop): Bytes[] {
  return namesOf(stop).map((name) => farKey(sha256, { graph, name }));
}

/** A stop is reached by edges that name its memory, and by those that named it before it was there. */
export function keysOf(far: Hashed, side: Side): (stop: Stop) => readonly Bytes[] {
  return (stop) => [...idsOf(stop), ...(side === "in" ? farKeys(far, "", stop) : [])];
}

/** The key of edges that name the memory itself. */
export function idsOf({ id }: Stop): readonly Bytes[] {
  return id === undefined ? [] : [id];
}

/** The id that a name may be. */
export function idIn(name: string): { readonly id?: Bytes } {
  const id = parseUlid(name);
  return id === undefined ? {} : { id };
}
