/**
 * The manifest of a snapshot: the roots at one journal position, sealed under a number. Manifests are
 * rows of class snapshot: outside the journal, outside every root, kept by a rebuild.
 *
 * A snapshot moves no head, so two processes that seal at one instant both commit, under the number
 * that both read as the next. Each draws a mark of its own, which is part of the key: both manifests
 * stay. So a number says in which order snapshots were taken and may repeat; number and mark name one.
 */
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { readBytesOf, readIntegerOr, readList, readMap, readText } from "../codec/cbor-value.js";
import { KEYSPACE, snapshotKey } from "../kv/keyspace.js";
import type { Bytes, KvRow, KvSnapshot } from "../kv/kv.js";
import type { Roots } from "../merkle/state-keys.js";
import type { Counts } from "./head-row.js";
import { scan } from "./reader.js";

/** A signature over the checkpoint text, made by whoever owns the key. */
interface ManifestSignature {
  /** The name of the key, as in the signed note. */
  readonly name: string;
  /** Four bytes that hint at the key, then the signature. */
  readonly bytes: Uint8Array;
}

/** Random bytes that tell a snapshot from others of its number. */
export const MARK_BYTES = 8;

/** A snapshot as stored. */
export interface Manifest {
  readonly number: number;
  /** `MARK_BYTES` random bytes. */
  readonly mark: Uint8Array;
  /** Number of entries covered; the last seq is one less. */
  readonly size: number;
  /** Time of the last entry covered. */
  readonly at: number;
  readonly epoch: number;
  readonly reason: string;
  /** The principal who sealed it. */
  readonly by: string;
  readonly roots: Roots;
  readonly overall: Uint8Array;
  readonly counts: Counts;
  readonly signature?: ManifestSignature;
  /** The mark of the request that sealed it, where that had an idempotency key. */
  readonly request?: Uint8Array;
}

/** The row of a manifest. */
export function manifestRow(manifest: Manifest): KvRow {
  const { roots, counts, signature } = manifest;
  const value = encode(
    fields([
      1,
      manifest.number,
      manifest.size,
      manifest.at,
      manifest.epoch,
      manifest.reason,
      [roots.genesis, roots.journal, roots.trees.edges, roots.trees.memories],
      manifest.overall,
      [
        counts.active,
        counts.archived,
        counts.tombstoned,
        counts.erased,
        counts.edgesLive,
        counts.edgesRemoved,
        counts.openEdgeKinds,
      ],
      signature === undefined ? undefined : [signature.name, signature.bytes],
      manifest.by,
      manifest.mark,
      manifest.request,
    ]),
  );
  return { key: manifestKey(manifest), value };
}

/** The key of a manifest's row: what names it in its store. */
export function manifestKey({ number, mark }: Pick<Manifest, "number" | "mark">): Bytes {
  return snapshotKey(number, mark);
}

/** Reads a manifest. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const at = readMap(decode(bytes), "manifest");
  const [genesis, journal, edges, memories] = readList(at[6]) as readonly Uint8Array[];
  const counts = readList(at[8]).map((count) => readIntegerOr(count, 0));
  const signature = at[9];
  return {
    number: readIntegerOr(at[1], 0),
    size: readIntegerOr(at[2], 0),
    at: readIntegerOr(at[3], 0),
    epoch: readIntegerOr(at[4], 0),
    reason: readText(at[5]),
    by: readText(at[10]),
    mark: readBytesOf(at[11], MARK_BYTES, "manifest: its mark"),
    roots: {
      genesis: genesis as Uint8Array,
      journal: journal as Uint8Array,
      trees: { edges: edges as Uint8Array, memories: memories as Uint8Array },
    },
    overall: at[7] as Uint8Array,
    counts: {
      active: counts[0] ?? 0,
      archived: counts[1] ?? 0,
      tombstoned: counts[2] ?? 0,
      erased: counts[3] ?? 0,
      edgesLive: counts[4] ?? 0,
      edgesRemoved: counts[5] ?? 0,
      openEdgeKinds: counts[6] ?? 0,
    },
    ...(signature === undefined ? {} : { signature: decodeSignature(signature) }),
    ...(at[12] === undefined ? {} : { request: readBytesOf(at[12], 32, "manifest: its request") }),
  };
}

function decodeSignature(value: CborValue): ManifestSignature {
  const [name, bytes] = readList(value);
  return { name: readText(name), bytes: bytes as Uint8Array };
}

/** Every manifest of a store, ascending by number, then by mark. */
export async function readManifests(snapshot: KvSnapshot): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for await (const { value } of scan(snapshot, Uint8Array.of(KEYSPACE.snapshot.byte))) {
    manifests.push(decodeManifest(value));
  }
  return manifests;
}
