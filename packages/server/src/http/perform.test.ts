/** Whoever asks in one turn goes on together, and writes that do so share a commit. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Cortex } from "@cortex-memory/core";
import { type CountingKv, countingKv, openTestStore } from "@cortex-memory/core/testing";
import { expect, test } from "vitest";
import { endOfTurn } from "./perform.js";

test("one turn is one promise, the next turn another", async () => {
  const first = endOfTurn();
  await Promise.resolve();
  expect(endOfTurn()).toBe(first);
  await first;
  const second = endOfTurn();
  expect(second).not.toBe(first);
  await second;
});

/** Writes from callbacks of their own, as sockets have them; how many commits that took. */
async function commitsOf(write: (memory: Cortex, at: number) => Promise<unknown>): Promise<number> {
  const counters: CountingKv[] = [];
  await using store = await openTestStore({
    backend: "lmdb",
    wrap: (kv) => {
      const counter = countingKv(kv);
      counters.push(counter);
      return counter;
    },
  });
  counters[0]?.reset();
  const done: Promise<unknown>[] = [];
  for (let at = 0; at < 20; at += 1) {
    setImmediate(() => done.push(write(store.memory, at)));
  }
  while (done.length < 20) await nextTurn();
  await Promise.all(done);
  return counters[0]?.counts().commits ?? 0;
}

test("writes that wait for it share a commit, those that do not have several", async () => {
  const write = (memory: Cortex, at: number) =>
    memory.write({ type: "event", text: `event ${at}` });
  expect(await commitsOf((memory, at) => endOfTurn().then(() => write(memory, at)))).toBe(1);
  expect(await commitsOf(write)).toBeGreaterThan(5);
});
