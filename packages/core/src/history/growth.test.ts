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
  let paused: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => paused.push(resolve));
  const { entries } = await memory.stats();
  const parts = { kv, signal: new CommitSignal(), pause };
  const how = { pollMs: 2000, until: [] };
  const waiting = Array.from({ length: WAITING }, () => waitForGrowth(parts, entries, how));
  const round = async (): Promise<void> => {
    await expect.poll(() => paused.length).toBe(WAITING);
    const these = paused;
    paused = [];
    for (const wake of these) wake();
  };
  // Pauses double: by now looks of half a second ago do.
  for (let at = 0; at < 7; at += 1) await round();
  await expect.poll(() => paused.length).toBe(WAITING);
  kv.reset();
  await round();
  await expect.poll(() => paused.length).toBe(WAITING);
  expect(kv.counts().snapshots).toBeLessThan(WAITING / 10);
  await memory.write({ type: "note", text: "news" });
  // A look from before the commit serves for a while; sooner or later everybody has seen a later one.
  const all = Promise.all(waiting).then(() => "heard");
  const turn = setInterval(() => {
    for (const wake of paused.splice(0)) wake();
  }, 5);
  expect(await all).toBe("heard");
  clearInterval(turn);
});
