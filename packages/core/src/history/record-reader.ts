/**
 * Reads records back from the journal for a fold: the Head a memory had, the record of an edge.
 *
 * Within one commit a record is decoded once; entries that are folded but not sealed yet are known
 * here already, so later entries of the same commit can build on them.
 */

import { CortexError } from "../errors.js";
import {
  decodeHeader,
  type PartContext,
  partContext,
  partRecord,
  splitEntry,
} from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import { decodeEdgeRecord, type EdgeRecord } from "../records/edge-record.js";
import {
  decodeMemoryRecord,
  type Head,
  type MemoryRecord,
  type Version,
} from "../records/memory-record.js";
import { bodyPointer, type MemoryRow, type PartPointer } from "./pointers.js";
import type { WriteView } from "./write-view.js";

/** A part as its entry holds it, to be carried again. */
export interface KnownPart {
  /** salt ‖ record */
  readonly bytes: Uint8Array;
  /** What the entry says that first held it. */
  readonly first: PartContext;
}

/** See the file header. */
export class RecordReader {
  readonly #view: WriteView;
  readonly #known = new Map<number, MemoryRecord | EdgeRecord>();
  readonly #hashes = new Map<number, Uint8Array>();
  /** What was folded, in order: what a rollback has to drop stands at the end. */
  readonly #folded: number[] = [];

  constructor(view: WriteView) {
    this.#view = view;
  }

  /** Keeps a record that was just folded. */
  remember(pointer: PartPointer, record: MemoryRecord | EdgeRecord, hash: Uint8Array | null): void {
    const name = pointerName(pointer);
    this.#known.set(name, record);
    this.#folded.push(name);
    if (hash !== null) this.#hashes.set(name, hash);
  }

  /** Forgets what an operation folded, when the operation is rolled back. */
  drop(fromSeq: number): void {
    const bound = pointerName({ seq: fromSeq, part: 0 });
    for (let name = this.#folded.at(-1); name !== undefined && name >= bound; ) {
      this.#folded.pop();
      this.#known.delete(name);
      this.#hashes.delete(name);
      name = this.#folded.at(-1);
    }
  }

  /** The Head at a memory's row. */
  head(row: MemoryRow): Head {
    return this.memory(row).head;
  }

  /** The current Version of a memory. */
  version(row: MemoryRow): Version {
    const { version } = this.memory(bodyPointer(row));
    if (version === undefined) throw lost(bodyPointer(row), "holds no version");
    return version;
  }

  /** The hash of the part that holds the current Version of a memory. */
  versionPart(row: MemoryRow): Uint8Array {
    const pointer = bodyPointer(row);
    const known = this.#hashes.get(pointerName(pointer));
    if (known !== undefined) return known;
    const entry = this.#view.get(journalKey(pointer.seq));
    if (entry === undefined) throw lost(pointer, "is missing");
    const hash = decodeHeader(splitEntry(entry).headerBytes).parts[pointer.part]?.hash;
    if (hash === undefined || hash === null) throw lost(pointer, "has no hash");
    return hash;
  }

  /** The record of a memory at a pointer. */
  memory(pointer: PartPointer): MemoryRecord {
    return this.#read(pointer, decodeMemoryRecord) as MemoryRecord;
  }

  /** The record of an edge at a pointer. */
  edge(pointer: PartPointer): EdgeRecord {
    return this.#read(pointer, decodeEdgeRecord) as EdgeRecord;
  }

  /** The part at a pointer, of an entry that is sealed. */
  part(pointer: PartPointer): KnownPart {
    const row = this.#view.get(journalKey(pointer.seq));
    if (row === undefined) throw lost(pointer, "is missing");
    const { headerBytes, parts } = splitEntry(row);
    const bytes = parts[pointer.part];
    if (bytes === undefined) throw lost(pointer, "was erased");
    return { bytes, first: partContext(decodeHeader(headerBytes), pointer.part) };
  }

  #read(
    pointer: PartPointer,
    decodeRecord: (bytes: Uint8Array, context: PartContext) => MemoryRecord | EdgeRecord,
  ): MemoryRecord | EdgeRecord {
    const name = pointerName(pointer);
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const { bytes, first } = this.part(pointer);
    const record = decodeRecord(partRecord(bytes), first);
    this.#known.set(name, record);
    return record;
  }
}

/** Parts of one entry that a number has room for; the limits keep an entry far below. */
const PARTS_MAX = 2 ** 20;

/** One number for a pointer: cheaper to make and to look up than a text. */
function pointerName(pointer: PartPointer): number {
  return pointer.seq * PARTS_MAX + pointer.part;
}

function lost(pointer: PartPointer, what: string): CortexError {
  return new CortexError(
    "ERR_CORRUPT",
    `journal entry ${pointer.seq}, part ${pointer.part} ${what}, but a row points at it`,
    { seq: pointer.seq },
  );
}
