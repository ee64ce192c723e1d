/**
 * The rows of the catalogue: keys, values, and nothing else.
 *
 * The catalogue is a store of its own and its keys have nothing to do with those of a graph. A graph
 * has a number in it, given once: rows about a graph end in its number, and when the store behind a
 * name turns out to be another one, it gets a new number and the rows of the old one mean nothing any
 * more. What people write never stands here in the clear, except for what a graph's configuration
 * says: lineage ids and far ends are kept as hashes, because a forget in a graph must not leave them
 * readable beside it.
 */
import { domainHash } from "../codec/hash.js";
import { keyOf } from "../codec/keys.js";
import { sha256Node } from "../codec/node-crypto.js";
import { utf8 } from "../codec/text.js";
import type { GraphConfig } from "../contract/config.js";
import { scan } from "../history/reader.js";
import type { Bytes, KvRow, KvSnapshot } from "../kv/kv.js";

/** The first byte of every key, by what the row is about. 0x00 and 0x01 belong to the backends. */
export const CATALOGUE = {
  /** A graph by its name: see `GraphRow`. */
  graph: 0x10,
  /** The name behind a number. */
  number: 0x11,
  /** The number the next graph gets. */
  nextNumber: 0x12,
  /** (memory id 16, number 4) → hash of its external id, or empty; then those of its origins. */
  memory: 0x20,
  /** (hash of an external id 16, number 4) → memory id. */
  lineage: 0x21,
  /** (hash of another program's id 16, number 4) → [memory id, version], or [edge id]. */
  origin: 0x23,
  /** (number 4, edge key 32) → [hash of the name 16, graph, live]: an edge to a name, in the graph itself if that is empty. */
  symlink: 0x40,
  /** (hash of the name 16, number 4, edge key 32) → the key of its far end 16: the same edge, from its other end. */
  inbound: 0x41,
  /** (number 4, graph) → how many live edges lead there. */
  outCount: 0x42,
  /** (graph, number 4) → the same count, from its other end. */
  inCount: 0x43,
  /** (number 4, edge key 32): the edge has an ordinal, which its record alone tells. */
  ordinal: 0x44,
  /** (number 4, edge key 32) → hash of the id that another program gave the edge. */
  edgeOrigin: 0x45,
} as const;

/** What the catalogue knows about a graph. */
export interface GraphRow {
  readonly number: number;
  /** Tells a store from another one of the same name: its id, and its epoch. */
  readonly store: string;
  /** The stamp under which `config` and `size` were read. */
  readonly stamp: string;
  readonly createdAt: number;
  /** Entries of the journal then. */
  readonly size: number;
  readonly config: GraphConfig;
  /** Up to where the journal is in the other rows, and the stamp under which that was all. */
  readonly cursor: number;
  readonly cursorStamp: string;
}

/** The key of a graph's row. */
export function graphKey(name: string): Bytes {
  return keyOf(CATALOGUE.graph).text(name).end();
}

/** The key of the name behind a number. */
export function numberKey(number: number): Bytes {
  return keyOf(CATALOGUE.number).u32(number).end();
}

/** The key of the number that the next graph gets. */
export const NEXT_NUMBER_KEY: Bytes = Uint8Array.of(CATALOGUE.nextNumber);

/** The key of a memory's row; without a number, what the rows of one id have in common. */
export function memoryRowKey(id: Bytes, number?: number): Bytes {
  const key = keyOf(CATALOGUE.memory).raw(id);
  return (number === undefined ? key : key.u32(number)).end();
}

/** Stands for an external id. */
export function lineageHash(externalId: string): Bytes {
  return domainHash(sha256Node, "lineage", utf8(externalId)).slice(0, 16);
}

/** The key of an external id's row; without a number, what the rows of one id have in common. */
export function lineageKey(hash: Bytes, number?: number): Bytes {
  const key = keyOf(CATALOGUE.lineage).raw(hash);
  return (number === undefined ? key : key.u32(number)).end();
}

/** Stands for the id that another program gave to a node or an edge. */
export function originHash(what: "node" | "edge", id: string): Bytes {
  return domainHash(sha256Node, "lineage", utf8(`${what}\u0000${id}`)).slice(0, 16);
}

/** The key of an origin's row; without a number, what the rows of one id have in common. */
export function originKey(hash: Bytes, number?: number): Bytes {
  const key = keyOf(CATALOGUE.origin).raw(hash);
  return (number === undefined ? key : key.u32(number)).end();
}

/** The key of the origin of an edge. */
export function edgeOriginKey(number: number, edgeKey: Bytes): Bytes {
  return keyOf(CATALOGUE.edgeOrigin).u32(number).raw(edgeKey).end();
}

/** The key of an edge to a name; without an edge key, of all such edges of the graph. */
export function symlinkKey(number: number, edgeKey?: Bytes): Bytes {
  const key = keyOf(CATALOGUE.symlink).u32(number);
  return (edgeKey === undefined ? key : key.raw(edgeKey)).end();
}

/** The key of an edge from the name that it leads to; without a number, of all that lead there. */
export function inboundKey(name: Bytes, number?: number, edgeKey?: Bytes): Bytes {
  const key = keyOf(CATALOGUE.inbound).raw(name);
  if (number === undefined || edgeKey === undefined) return key.end();
  return key.u32(number).raw(edgeKey).end();
}

/** The key of a count of edges from a graph to another; without the other, of all counts. */
export function outCountKey(number: number, graph?: string): Bytes {
  const key = keyOf(CATALOGUE.outCount).u32(number);
  return (graph === undefined ? key : key.text(graph)).end();
}

/** The same count from its other end; without a number, of all that lead to the graph. */
export function inCountKey(graph: string, number?: number): Bytes {
  const key = keyOf(CATALOGUE.inCount).text(graph);
  return (number === undefined ? key : key.u32(number)).end();
}

/** The key that says that an edge has an ordinal; without an edge, of all that have one. */
export function ordinalKey(number: number, edgeKey?: Bytes): Bytes {
  const key = keyOf(CATALOGUE.ordinal).u32(number);
  return (edgeKey === undefined ? key : key.raw(edgeKey)).end();
}

/** The bytes of a graph's row: JSON, because a list decodes thousands and Node does that natively. */
export function encodeGraphRow(row: GraphRow): Bytes {
  const { number, store, stamp, createdAt, size, config, cursor, cursorStamp } = row;
  const fields = [number, store, stamp, createdAt, size, config, cursor, cursorStamp];
  return Buffer.from(JSON.stringify(fields), "utf8");
}

/** Reads a graph's row; nobody but `encodeGraphRow` writes one. */
export function decodeGraphRow(bytes: Bytes): GraphRow {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const fields = JSON.parse(text) as readonly [
    GraphRow["number"],
    GraphRow["store"],
    GraphRow["stamp"],
    GraphRow["createdAt"],
    GraphRow["size"],
    GraphRow["config"],
    GraphRow["cursor"],
    GraphRow["cursorStamp"],
  ];
  const [number, store, stamp, createdAt, size, config, cursor, cursorStamp] = fields;
  return { number, store, stamp, createdAt, size, config, cursor, cursorStamp };
}

/**
 * The number of the graph that a row is about. `undefined` for rows that name graphs instead of being
 * about one.
 */
export function numberOf(key: Bytes, value: Bytes): number | undefined {
  switch (key[0]) {
    case CATALOGUE.graph:
      return decodeGraphRow(value).number;
    case CATALOGUE.number:
    case CATALOGUE.nextNumber:
      return undefined;
    default:
      return decodeCount(key.subarray(...numberPlace(key)));
  }
}

/** Where the number stands in a key. */
export function numberPlace(key: Bytes): readonly [number, number] {
  switch (key[0]) {
    case CATALOGUE.graph:
      return [key.length, key.length];
    case CATALOGUE.symlink:
    case CATALOGUE.outCount:
    case CATALOGUE.ordinal:
    case CATALOGUE.edgeOrigin:
      return [1, 5];
    case CATALOGUE.inbound:
      return [17, 21];
    default:
      return [key.length - 4, key.length];
  }
}

/** Every row of a catalogue, in order of keys; those of an older form stand between the same bounds. */
export async function* allRows(snapshot: KvSnapshot): AsyncGenerator<KvRow> {
  for (let prefix: number = CATALOGUE.graph; prefix <= CATALOGUE.edgeOrigin; prefix += 1) {
    yield* scan(snapshot, Uint8Array.of(prefix));
  }
}

/** The bytes of a number: four, big-endian. */
export function encodeCount(count: number): Bytes {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(count);
  return bytes;
}

/** Reads a number; an absent one is 0. */
export function decodeCount(bytes: Bytes | undefined): number {
  if (bytes === undefined) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
}

/** The number at the end of a key. */
export function numberAtEnd(key: Bytes): number {
  return decodeCount(key.subarray(key.length - 4));
}

/** A text component of a key: every byte stands one higher, a zero ends it. */
export function textInKey(component: Bytes): string {
  const shifted = component.subarray(0, component.length - 1);
  return Buffer.from(shifted.map((byte) => byte - 1)).toString("utf8");
}
