/** The runtime state of goals. */
import { expect, test } from "vitest";
import { maybeResetDaily } from "../records/frames.js";
import { openTestStore, refusalOf } from "../testing/index.js";

test("a state is written whole, read back complete, and taken away", async () => {
  await using store = await openTestStore({ backend: "lmdb", startMs: 0 });
  const { memory } = store;
  const { id, uri } = await memory.write({ type: "goal", text: "Sail" });
  expect(await memory.goalState(id)).toBeUndefined();
  expect(await memory.goalState("nobody")).toBeUndefined();
  const state = {
    nextEvalAt: 10,
    lastEvalAt: 5,
    lastEvalDecision: "emit_intent",
    failureStreak: 2,
    intentsTodayCount: 3,
    spentToday: "12.50",
    lastIntentId: "i-1",
    lastResetAt: 1,
  } as const;
  const set = await memory.setGoalState(uri, state, { by: "clock" });
  expect(set).toEqual({ id, seq: 2 });
  expect(await memory.goalState(id)).toEqual(state);
  expect((await memory.log({ from: 2 })).entries).toMatchObject([
    { kind: "goal_state", by: "clock" },
  ]);
  const again = await store.reopen();
  expect(await again.goalState(id)).toEqual(state);
  await again.setGoalState(id, { nextEvalAt: 20 } as never);
  expect(await again.goalState(id)).toEqual({
    nextEvalAt: 20,
    failureStreak: 0,
    intentsTodayCount: 0,
    spentToday: "0",
  });
  expect((await again.deleteGoalState(id)).seq).toBe(4);
  expect(await again.goalState(id)).toBeUndefined();
  expect((await again.deleteGoalState(id)).seq).toBe(4);
  expect((await again.get(id))?.seq).toBe(1);
});

test("states are listed in the order of ids", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const ids: string[] = [];
  for (let at = 0; at < 5; at += 1) {
    ids.push((await memory.write({ type: "goal", text: `g${at}` })).id);
  }
  for (const at of [3, 1, 4]) {
    await memory.setGoalState(ids[at] ?? "", { failureStreak: at } as never);
  }
  expect((await memory.goalStates()).map(({ id, state }) => [id, state.failureStreak])).toEqual([
    [ids[1], 1],
    [ids[3], 3],
    [ids[4], 4],
  ]);
});

test("what was counted on an earlier day reads as zero, one by one and in the list", async () => {
  const HOUR = 3_600_000;
  const now = Date.UTC(2026, 4, 4, 1);
  await using store = await openTestStore({ startMs: now, stepMs: 0 });
  const { memory } = store;
  for (const back of [0, 1, 2, 23, 24, 25, 48, 24 * 400, -2]) {
    const { id } = await memory.write({ type: "goal", text: `reset ${back} hours ago` });
    const lastResetAt = now - back * HOUR;
    const stored = { intentsTodayCount: 4, spentToday: "9", failureStreak: 2, lastResetAt };
    await memory.setGoalState(id, stored);
    const isToday = new Date(lastResetAt).toISOString() >= "2026-05-04";
    const expected = isToday
      ? stored
      : { intentsTodayCount: 0, spentToday: "0", failureStreak: 2, lastResetAt: now };
    expect(await memory.goalState(id)).toEqual(expected);
    const listed = (await memory.goalStates()).find((goal) => goal.id === id)?.state;
    expect(listed).toEqual(expected);
    expect(Object.getPrototypeOf(listed)).toBe(Object.prototype);
  }
});

test("the day's counters start over after a day", async () => {
  await using store = await openTestStore({ startMs: 0 });
  const { memory } = store;
  const { id } = await memory.write({ type: "goal", text: "g" });
  await memory.setGoalState(id, { intentsTodayCount: 4, spentToday: "9", lastResetAt: 0 } as never);
  const state = await memory.goalState(id);
  if (state === undefined) throw new Error("the state is missing");
  expect(maybeResetDaily(state, 86_399_999)).toBe(state);
  await memory.setGoalState(id, maybeResetDaily(state, 86_400_000));
  expect(await memory.goalState(id)).toMatchObject({
    intentsTodayCount: 0,
    spentToday: "0",
    lastResetAt: 86_400_000,
  });
});

test("only goals have a state, and only a sound one", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const { id } = await memory.write({ type: "goal", text: "g" });
  const fact = await memory.write({ type: "fact", text: "f" });
  const cases: readonly (readonly [string, unknown, string, string])[] = [
    [fact.id, {}, "ERR_INVALID", "id"],
    ["nobody", {}, "ERR_NOT_FOUND", "id"],
    [id, null, "ERR_INVALID", "state"],
    [id, [], "ERR_INVALID", "state"],
    [id, 5, "ERR_INVALID", "state"],
    [id, { streak: 1 }, "ERR_UNKNOWN_FIELD", "state.streak"],
    [id, { failureStreak: -1 }, "ERR_INVALID", "state.failureStreak"],
    [id, { failureStreak: Number.NaN }, "ERR_INVALID", "state.failureStreak"],
    [id, { spentToday: "1e5" }, "ERR_INVALID", "state.spentToday"],
    [id, { lastEvalDecision: "sleep" }, "ERR_INVALID", "state.lastEvalDecision"],
    [id, { lastIntentId: "\ud800" }, "ERR_ILL_FORMED", "state.lastIntentId"],
  ];
  for (const [ref, state, code, field] of cases) {
    const error = await refusalOf(memory, () => memory.setGoalState(ref, state as never));
    expect(error).toMatchObject({ code, details: { field } });
  }
});
