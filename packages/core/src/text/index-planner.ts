/**
 * What the text index should become next: one more segment, or some segments made into one. It only reads and
 * computes; the caller commits.
 *
 * Promise: a plan holds for the manifest it names. Whoever commits it compares that row, and asks for another plan if
 * it has changed. Between two steps no snapshot is held: the file would grow, because a held one keeps freed pages from
 * being used again.
 */
import { Reader } from "../history/reader.js";
import { TEXT_MANIFEST_KEY } from "../kv/keyspace.js";
import { type Bytes, type Kv, type KvSoon, sameBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { ManifestAt, ManifestReader, SegmentInfo } from "./manifest.js";
import type { YieldTurn } from "./segment.js";
import type { SegmentCache } from "./text-segments.js";
import type { KeptTail } from "./text-tail.js";
import {
  buildSegments,
  type Flush,
  type IndexChange,
  nextMerge,
  planFlush,
  planMerge,
  type ReadRows,
} from "./text-upkeep.js";

/** Entries that are read between two turns of the process: a few milliseconds. */
export const STEP_ENTRIES = 128;

/** What plans are made of. */
interface PlannerParts {
  readonly kv: Pick<Kv, "snapshot">;
  readonly manifests: ManifestReader;
  readonly tail: KeptTail;
  readonly cache: SegmentCache;
  /** Lets others in between two steps. */
  readonly turn: YieldTurn;
}

/** A change, and the bytes of the manifest that it was reckoned from. */
interface PlannedChange {
  readonly next: "change";
  readonly expect: Bytes | undefined;
  readonly change: IndexChange;
  /** Segments that it makes into one. */
  readonly merged: readonly SegmentInfo[];
  /** Entries that wait once it is made. */
  readonly waiting: number;
}

/** There is nothing to be done; so many entries wait. */
interface NothingToDo {
  readonly next: "nothing";
  readonly waiting: number;
}

/** What comes before a flush: forgotten memories are taken out, or all is dropped, being made of other words. */
interface SomethingFirst {
  readonly next: "purge" | "reset";
}

/** What to do next; `undefined` when somebody has changed the index meanwhile, and it has to be asked again. */
export type Plan = PlannedChange | NothingToDo | SomethingFirst | undefined;

/** See the file header. */
export class IndexPlanner {
  readonly #parts: PlannerParts;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
  }

  /** The next segment, if more than `most` entries wait. */
  async flush(most: number): Promise<Plan> {
    await this.#readAhead(most);
    const begun = await this.#reading((reader) => this.#begin(reader, most));
    if (begun === undefined || "next" in begun) return begun;
    const { at, tail, to } = begun;
    const forgotten = tail.forgotten.length;
    const built = await buildSegments(begun, this.#parts.turn);
    return this.#readingSame(at, async (reader) => {
      // Words of a memory that was forgotten meanwhile may stand in what was built.
      if (tail.forgotten.length !== forgotten) return undefined;
      const change = await planFlush(reader, begun, built, this.#parts.cache);
      const waiting = reader.head.size - to;
      return { next: "change", expect: at.bytes, change, merged: [], waiting };
    });
  }

  /** The next segments of similar size made into one. */
  async merge(): Promise<Plan> {
    const begun = await this.#reading(async (reader) => {
      const at = await this.#parts.manifests.at(reader);
      const merged = at.fits ? nextMerge(at.manifest.segments) : [];
      const waiting = reader.head.size - at.manifest.cursor;
      if (merged.length === 0)
        return { run: undefined, plan: { next: "nothing", waiting } } as const;
      return { at, merged, waiting, run: await this.#parts.cache.load(reader, merged) };
    });
    if (begun.run === undefined) return begun.plan;
    const { at, merged, run, waiting } = begun;
    const read: ReadRows = (use) => this.#readingSame(at, use);
    const change = await planMerge(read, at.manifest, run, this.#parts.turn);
    return change && { next: "change", expect: at.bytes, change, merged, waiting };
  }

  async #begin(
    reader: Reader,
    most: number,
  ): Promise<(Flush & { readonly at: ManifestAt }) | Exclude<Plan, PlannedChange>> {
    const at = await this.#parts.manifests.at(reader);
    const { manifest } = at;
    if (!at.fits) return { next: "reset" };
    const waiting = reader.head.size - manifest.cursor;
    if (waiting <= most) return { next: "nothing", waiting };
    const tail = await this.#parts.tail.at(reader, at, manifest.cursor);
    const to = Math.min(tail.end, manifest.cursor + LIMITS.textFlushEntries);
    if (tail.forgotten.some(({ seq }) => seq >= manifest.purgedTo)) return { next: "purge" };
    // What was read ahead goes with another manifest by now: once more.
    return to === manifest.cursor ? undefined : { at, manifest, tail, to };
  }

  /** Reads what the next segment takes into the tail, in steps that hold no old state of the store. */
  async #readAhead(most: number): Promise<void> {
    const { manifests, tail, turn } = this.#parts;
    const step = (reader: Reader): Promise<boolean> =>
      manifests.at(reader).then(async (at) => {
        const { cursor } = at.manifest;
        const { size } = reader.head;
        if (!at.fits || size - cursor <= most) return false;
        const to = Math.min(size, cursor + LIMITS.textFlushEntries);
        const { end } = await tail.at(reader, at, cursor);
        if (end < to) await tail.at(reader, at, Math.min(end + STEP_ENTRIES, to));
        return end + STEP_ENTRIES < to;
      });
    tail.letGo();
    while (await this.#reading(step)) await turn();
  }

  /** Reads while the index is as it was; `undefined` once somebody has changed it. */
  #readingSame<T>(
    { bytes }: ManifestAt,
    use: (reader: Reader) => Promise<T>,
  ): Promise<T | undefined> {
    return this.#reading(async (reader) => {
      const [now] = await reader.getMany([TEXT_MANIFEST_KEY]);
      return sameBytes(now, bytes) ? use(reader) : undefined;
    });
  }

  #reading<T>(use: (reader: Reader) => Promise<T>): Promise<T> {
    const { kv, tail } = this.#parts;
    const soon = (): KvSoon => ({
      keys: [TEXT_MANIFEST_KEY],
      ranges: tail.nextPages(STEP_ENTRIES),
    });
    return Reader.with(kv, undefined, use, [], soon);
  }
}
