/**
 * A storage engine that passes everything on to the real one and, while asked to, keeps what went
 * through: the commits of a write, the keys of a read. The raw skeleton does the same again.
 *
 * It keeps references and copies nothing, so that passing through costs next to nothing. Commits
 * that have to wait for their turn are packed into one buffer each, out of the collector's way.
 */

import { around } from "../../packages/core/dist/kv/kv.js";

/**
 * @typedef {import("../../packages/core/dist/kv/kv.js").Kv} Kv
 * @typedef {import("../../packages/core/dist/kv/kv.js").KvCommit} KvCommit
 * @typedef {import("../../packages/core/dist/kv/kv.js").KvSnapshot} KvSnapshot
 * @typedef {Pick<KvCommit, "head" | "puts" | "deletes">} Change
 */

/**
 * Wraps a storage engine. Commits of caches are kept like others, under the head that they leave alone.
 * @param {Kv} inner
 */
export function recordingKv(inner) {
  /** @type {((change: Change) => void) | undefined} */
  let keep;
  /** @type {Uint8Array[][] | undefined} */
  let reads;
  const kv = kept(inner, (change) => keep?.(change), {
    snapshot: (options) =>
      reads === undefined ? inner.snapshot(options) : recordedSnapshot(inner, reads, options),
    // While reads are kept nothing is at hand, and a snapshot is taken.
    readNow: (read, options) => (reads === undefined ? inner.readNow?.(read, options) : undefined),
  });
  return {
    kv,
    /**
     * Every commit made while `body` runs, or nothing when another taker is given.
     * @param {() => Promise<unknown>} body
     * @param {(change: Change) => void} [take]
     */
    async commitsOf(body, take) {
      const kept = /** @type {Change[]} */ ([]);
      keep = take ?? ((change) => kept.push(change));
      try {
        await body();
      } finally {
        keep = undefined;
      }
      return kept;
    },
    /** The keys that each snapshot was asked for while `body` runs, snapshot by snapshot. */
    async readsOf(/** @type {() => Promise<unknown>} */ body) {
      const kept = /** @type {Uint8Array[][]} */ ([]);
      reads = kept;
      try {
        await body();
      } finally {
        reads = undefined;
      }
      return kept;
    },
  };
}

/**
 * The same storage engine; what it committed is shown.
 * @param {Kv} inner
 * @param {(change: Change) => void} show
 * @param {Partial<Kv>} [reading] how it is read
 * @returns {Kv}
 */
function kept(inner, show, reading = {}) {
  /** @type {Uint8Array | undefined} */
  let head;
  return around(inner, {
    ...reading,
    commit(change) {
      head = change.head;
      show(change);
      return inner.commit(change);
    },
    async commitCaches({ puts, deletes, ...expected }) {
      const isDone = await inner.commitCaches({ ...expected, puts, deletes });
      if (isDone && head !== undefined) show({ head, puts, deletes });
      return isDone;
    },
    async nextGeneration() {
      const generation = await inner.nextGeneration();
      return { ...generation, kv: kept(generation.kv, show) };
    },
  });
}

/**
 * @param {Kv} inner
 * @param {Uint8Array[][]} reads
 * @param {Parameters<Kv["snapshot"]>[0]} options
 * @returns {Promise<KvSnapshot>}
 */
async function recordedSnapshot(inner, reads, options) {
  const snapshot = await inner.snapshot(options);
  const keys = /** @type {Uint8Array[]} */ ([]);
  reads.push(keys);
  return {
    getMany(wanted) {
      keys.push(...wanted);
      return snapshot.getMany(wanted);
    },
    ranges: (ranges) => snapshot.ranges(ranges),
    close: () => snapshot.close(),
  };
}

/**
 * One commit as one buffer.
 * @param {Change} change
 * @returns {Buffer}
 */
export function packChange({ head, puts, deletes }) {
  const fields = [head, ...deletes];
  for (const { key, value } of puts) fields.push(key, value);
  const bytes = fields.reduce((sum, field) => sum + 4 + field.length, 8);
  const packed = Buffer.allocUnsafeSlow(bytes);
  packed.writeUInt32LE(deletes.length, 0);
  packed.writeUInt32LE(puts.length, 4);
  let at = 8;
  for (const field of fields) {
    packed.writeUInt32LE(field.length, at);
    packed.set(field, at + 4);
    at += 4 + field.length;
  }
  return packed;
}

/**
 * The commit again; keys and values are views of the buffer.
 * @param {Buffer} packed
 * @returns {Change}
 */
export function unpackChange(packed) {
  let at = 8;
  const next = () => {
    const start = at + 4;
    at = start + packed.readUInt32LE(at);
    return new Uint8Array(packed.buffer, packed.byteOffset + start, at - start);
  };
  const head = next();
  const deletes = Array.from({ length: packed.readUInt32LE(0) }, next);
  const puts = Array.from({ length: packed.readUInt32LE(4) }, () => ({
    key: next(),
    value: next(),
  }));
  return { head, deletes, puts };
}
