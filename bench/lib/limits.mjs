/**
 * What the machine gives at most, without any program of ours above it: waits for the disk and hashes a second. They are
 * measured for a moment at the start of every run and stand above its table, so that a figure can be held against them.
 */
import { hash } from "node:crypto";
import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

const WRITTEN_BYTES = 4096;
/** Where they go, in turn: a file that does not grow, because growing is one more thing to wait for. */
const PLACES = 256;
/** What an inner node of a tree is hashed from. */
const NODE_BYTES = 64;
const HASHES_A_LOOK = 1000;

/**
 * How often a second 4 KB of a file can be written and waited for.
 * @param {string} folder
 * @param {number} forMs how long it is tried
 */
export function syncsPerSecond(folder, forMs) {
  const path = join(folder, "limits.bin");
  const descriptor = openSync(path, "w");
  try {
    const bytes = new Uint8Array(WRITTEN_BYTES).fill(1);
    writeSync(descriptor, new Uint8Array(PLACES * WRITTEN_BYTES));
    fsyncSync(descriptor);
    let place = 0;
    return perSecond(forMs, 1, () => {
      writeSync(descriptor, bytes, 0, WRITTEN_BYTES, place * WRITTEN_BYTES);
      fdatasyncSync(descriptor);
      place = (place + 1) % PLACES;
    });
  } finally {
    closeSync(descriptor);
    rmSync(path);
  }
}

/**
 * How many SHA-256 of so many bytes one thread makes a second, by Node's one-shot function, which we use.
 * @param {number} bytes
 * @param {number} forMs how long it is tried
 */
export function hashesPerSecond(bytes, forMs) {
  const input = new Uint8Array(bytes).fill(7);
  return perSecond(forMs, HASHES_A_LOOK, () => {
    for (let made = 0; made < HASHES_A_LOOK; made += 1) hash("sha256", input, "binary");
  });
}

/**
 * @param {number} forMs
 * @param {number} times how often one call does it
 * @param {() => void} body
 */
function perSecond(forMs, times, body) {
  const startMs = performance.now();
  let done = 0;
  let spentMs = 0;
  while (spentMs < forMs) {
    body();
    done += times;
    spentMs = performance.now() - startMs;
  }
  return (1000 * done) / spentMs;
}

/**
 * Both, as every run states them.
 * @param {string} folder
 * @param {boolean} quick
 */
export function measureLimits(folder, quick) {
  const forMs = quick ? 10 : 300;
  return {
    syncsPerSecond: syncsPerSecond(folder, forMs),
    hashesPerSecond: hashesPerSecond(NODE_BYTES, forMs),
  };
}
