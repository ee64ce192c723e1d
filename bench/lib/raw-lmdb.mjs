/**
 * The raw skeleton: the same keys and bytes in the same tables of the same storage engine, opened
 * with the same settings, one `transactionSync` per commit, and nothing else. No validation, no
 * encoding, no hashing, no comparing of heads: what is left is the price of the storage itself.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "lmdb";

/** @typedef {import("./recording.mjs").Change} Change */

const HEAD_KEY = Uint8Array.of(0x00);
/** Rows of the journal have a table of their own and are appended to it. */
const JOURNAL_BYTE = 0x01;
const APPEND = /** @type {const} */ ({ append: true });

/**
 * Keys and values as they are. With these codecs the library puts 8% faster than with its own
 * binary ones, and the skeleton should not be slower than it has to.
 */
const PLAIN = {
  encoding: /** @type {const} */ ("binary"),
  encoder: {
    encode: (/** @type {Uint8Array} */ value) => value,
    decode: copied,
  },
  keyEncoder: {
    writeKey(
      /** @type {Uint8Array} */ key,
      /** @type {Uint8Array} */ target,
      /** @type {number} */ start,
    ) {
      target.set(key, start);
      return start + key.length;
    },
    readKey: (
      /** @type {Uint8Array} */ source,
      /** @type {number} */ start,
      /** @type {number} */ end,
    ) => copied(source.subarray(start, end)),
  },
  cache: false,
};

/**
 * A copy of what lies in the library's one volatile buffer, whose `length` is an own property.
 * @param {Uint8Array} bytes
 */
function copied(bytes) {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes.subarray(0, bytes.length));
  return copy;
}

/**
 * Opens a raw store in a file.
 * @param {string} path
 * @param {{ readonly relaxed?: boolean }} [options] relaxed: commits do not wait for the disk
 */
export function openRaw(path, { relaxed = false } = {}) {
  const root = open({
    ...PLAIN,
    path,
    noSubdir: true,
    overlappingSync: false,
    noSync: relaxed,
    maxDbs: 4,
    maxReaders: 254,
    mapSize: 16 * 1024 * 1024,
  });
  const state = root.openDB("state", PLAIN);
  const journal = root.openDB("journal", PLAIN);
  let lastKey = Buffer.alloc(0);

  const apply = (/** @type {Change} */ { head, puts, deletes }) => {
    state.putSync(HEAD_KEY, head);
    for (const key of deletes) (key[0] === JOURNAL_BYTE ? journal : state).removeSync(key);
    for (const { key, value } of puts) {
      if (key[0] !== JOURNAL_BYTE) {
        state.putSync(key, value);
      } else if (lastKey.compare(key) < 0) {
        journal.putSync(key, value, APPEND);
        lastKey = Buffer.from(key);
      } else {
        journal.putSync(key, value);
      }
    }
  };

  return {
    syncMode: relaxed ? "one fsync at the end" : "fsync on every commit",
    /** One commit; durable unless the store was opened relaxed. */
    commit(/** @type {Change} */ change) {
      root.transactionSync(() => apply(change));
    },
    /** Reads keys in one read transaction of their own; returns how many bytes it found. */
    read(/** @type {readonly Uint8Array[]} */ keys) {
      root.resetReadTxn();
      const transaction = root.useReadTransaction();
      let bytes = 0;
      for (const key of keys) {
        const table = key[0] === JOURNAL_BYTE ? journal : state;
        bytes += table.get(key, { transaction })?.length ?? 0;
      }
      transaction.done();
      return bytes;
    },
    /** Waits until everything committed is on the disk. */
    sync() {
      const descriptor = openSync(path, "r");
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
    close: () => root.close(),
  };
}
