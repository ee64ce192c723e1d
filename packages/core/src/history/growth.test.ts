/** Many who wait for one journal look at its head together, and each hears of what another process wrote. */
import { expect, test } from "vitest";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { countingKv } from "../testing/counting-kv.js";
import { CommitSignal, waitForGrowth } from "./growth.js";

test("five hundred who wait share their looks, and all hear of another's commit", async () => {
  const WAITING = 500;
  const store = new MemoryStore();
  await using memory = await open("memory:", { actor: "ada", kv: openMemoryKv(store) });
  const kv = countingKv(openMemoryKv(store));
  const paused: (() => void)[] = [];
  const looked: (() => void)[] = [];
  // Who waits for the next poll can be woken; a look gets old where nobody gives a signal.
  const pause = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => (signal === undefined ? looked : paused).push(resolve));
  const { entries } = await memory.stats();
  const parts = { kv, signal: new CommitSignal(), pause };
  const how = { pollMs: 500, until: [] };
  const waiting = Array.from({ length: WAITING }, () => waitForGrowth(parts, entries, how));
  const round = async (): Promise<void> => {
    await expect.poll(() => paused.length).toBe(WAITING);
    for (const forget of looked.splice(0)) forget();
    for (const wake of paused.splice(0)) wake();
  };
  await expect.poll(() => paused.length).toBe(WAITING);
  expect(kv.counts().snapshots).toBe(2);
  kv.reset();
  for (let at = 1; at <= 5; at += 1) {
    await round();
    await expect.poll(() => paused.length).toBe(WAITING);
    expect(kv.counts().snapshots).toBe(at);
  }
  await memory.write({ type: "note", text: "news" });
  await round();
  await Promise.all(waiting);
  expect(kv.counts().snapshots).toBe(6);
  for (const forget of looked.splice(0)) forget();
});
