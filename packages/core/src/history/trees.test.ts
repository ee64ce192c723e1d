/** Which rows of the trees a commit reads: one round of them, and where leaves are very many, few of each. */
import { expect, test } from "vitest";
import { sha256Node } from "../codec/node-crypto.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { seededRandom } from "../testing/seeded-random.js";
import { LeafChanges } from "./fold-state.js";
import { missingRows, updateTrees } from "./trees.js";
import { WriteView } from "./write-view.js";

/** Links of one memory: their keys share the first half. */
function linksOf(count: number): Bytes[] {
  const random = seededRandom(7);
  const source = random.bytes(16);
  return Array.from({ length: count }, () => Buffer.concat([source, random.bytes(16)]));
}

/** Sets or removes leaves as a commit does, over rows in a map; says what was asked for. */
function commit(rows: Map<string, Bytes>, keys: readonly Bytes[], value: Bytes | undefined) {
  const view = new WriteView();
  const leaves = new LeafChanges();
  for (const key of keys) leaves.set("edges", { key, value });
  const asked: number[] = [];
  for (;;) {
    const missing = missingRows(leaves, view, 0);
    if (missing.length === 0) break;
    asked.push(missing.length);
    view.load(
      missing,
      missing.map((key) => rows.get(keyString(key))),
    );
  }
  updateTrees(sha256Node, view, leaves);
  const { puts, deletes } = view.changes();
  for (const { key, value: bytes } of puts) rows.set(keyString(key), bytes);
  for (const key of deletes) rows.delete(keyString(key));
  return asked;
}

test.each([
  ["a batch", 500, 1, 40],
  ["all links of a memory that has very many", LIMITS.batchItems + 1, 5, 6],
])("%s", (_, count, rounds, rowsEach) => {
  const rows = new Map<string, Bytes>();
  const others = linksOf(40).map((key) => Buffer.from(key).reverse());
  commit(rows, others, sha256Node(Buffer.from("other")));
  const before = new Map(rows);
  const keys = linksOf(count);
  commit(rows, keys, sha256Node(Buffer.from("there")));
  const asked = commit(rows, keys, undefined);
  expect(asked.length).toBeLessThanOrEqual(rounds);
  expect(asked.reduce((sum, one) => sum + one, 0)).toBeLessThan(rowsEach * count);
  expect(rows).toEqual(before);
});
