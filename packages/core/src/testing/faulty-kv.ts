/**
 * A store that fails when a test says so, and where a test says so: before every call it asks a gate,
 * which may let the call wait, fail it, or lose its answer.
 *
 * Promise: behaves exactly like the store inside except for the faults the gate names, and a fault is
 * one that a real backend can have: a call that failed did nothing; a full disk refuses what writes and
 * still reads; a lost answer is one of a call that was done. Stores under construction pass the same gate.
 */
import { CortexError } from "../errors.js";
import { around, type Kv, type KvGeneration, type KvSnapshot } from "../kv/kv.js";

/** What a call wants: rows, a change, or a change with entries of the journal. */
export type KvCall = "read" | "write" | "commit";

/**
 * What befalls a call: it fails and did nothing; the disk is full, if it writes; it was done and the
 * answer is lost; it was done and nobody is there any more to be told. A disk that `lies` leaves a row
 * of a commit out and says that all is well: no store can live with that, and a test must notice it.
 */
export const KV_FAULTS = ["fails", "full", "lost", "vanishes", "lies"] as const;

/** See `KV_FAULTS`. */
export type KvFault = (typeof KV_FAULTS)[number];

/** Asked before every call: resolves when the call may go on, with what befalls it. */
export type KvGate = (call: KvCall) => Promise<KvFault | undefined>;

/** Wraps a store; closing the wrapper closes it. */
export function faultyKv(inner: Kv, gate: KvGate): Kv {
  const through = async <T>(
    call: KvCall,
    run: () => Promise<T>,
    lie: () => Promise<T> = run,
  ): Promise<T> => {
    const fault = await gate(call);
    if (fault === "lies") return lie();
    if (fault === undefined || (fault === "full" && call === "read")) return run();
    if (fault === "fails") throw new CortexError("ERR_STORAGE", "the storage failed, as asked");
    if (fault === "full") throw new CortexError("ERR_DISK_FULL", "the disk is full, as asked");
    await run();
    if (fault === "vanishes") return new Promise<never>(() => undefined);
    throw new CortexError("ERR_UNREACHABLE", "the answer was lost, as asked");
  };
  const reading = (snapshot: KvSnapshot): KvSnapshot => ({
    getMany: (keys) => through("read", () => snapshot.getMany(keys)),
    ranges: (ranges) => through("read", () => snapshot.ranges(ranges)),
    close: () => snapshot.close(),
  });
  const building = (generation: KvGeneration): KvGeneration => {
    const { hold } = generation;
    return {
      kv: faultyKv(generation.kv, gate),
      promote: (expectHead, movedHead) =>
        through("write", () => generation.promote(expectHead, movedHead)),
      abandon: () => generation.abandon(),
      ...(hold === undefined ? {} : { hold: () => through("write", hold) }),
    };
  };
  return around(inner, {
    // Taking a snapshot of a local store costs nothing and fails in its first read.
    snapshot: async (options) => reading(await inner.snapshot(options)),
    commit: (change) =>
      through(
        "commit",
        () => inner.commit(change),
        () => inner.commit({ ...change, puts: change.puts.slice(0, -1) }),
      ),
    commitCaches: (change) => through("write", () => inner.commitCaches(change)),
    nextGeneration: async () => building(await through("write", () => inner.nextGeneration())),
    sizeBytes: () => through("read", () => inner.sizeBytes()),
  });
}
