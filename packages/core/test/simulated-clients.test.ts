/**
 * Several clients on one store, with crashes, faults, jobs and moves, against the plain model: a bounded
 * number of runs with new seeds, each printed. `npm run simulate` plays as many as one likes.
 *
 * CORTEX_SEED sets the first seed, to play the runs of a failed test again.
 */
import { describe, expect, test } from "vitest";
import { faultyKv, type KvFault } from "../src/testing/faulty-kv.js";
import { openTestStore } from "../src/testing/index.js";
import {
  faultAtEveryCall,
  reproduction,
  type SimulationFailure,
  type SimulationOptions,
  shrink,
  simulate,
} from "../src/testing/simulation.js";

const FIRST = Number(process.env.CORTEX_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Plays a run; a failure says how it is repeated. */
async function play(options: SimulationOptions): ReturnType<typeof simulate> {
  try {
    return await simulate(options);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nrepeat it: ${reproduction(options)}`);
  }
}

describe("simulated clients", () => {
  test("new runs, each from one seed", async () => {
    const totals = { unanswered: 0, crashes: 0, faults: 0, moves: 0 };
    for (let seed = FIRST; seed < FIRST + 2; seed += 1) {
      console.log(`simulation: ${reproduction({ seed, steps: 16 })}`);
      const report = await play({ seed, steps: 16 });
      for (const name of ["unanswered", "crashes", "faults", "moves"] as const) {
        totals[name] += report[name];
      }
    }
    expect(totals.crashes + totals.faults + totals.moves).toBeGreaterThan(0);
  });

  test("a run in which rivals stand in different tiers of a context", async () => {
    const skip = [0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 18, 20, 25, 26, 28, 29];
    const without = ["faults", "jobs", "upkeep"] as const;
    expect((await play({ seed: 2_115_917_311, steps: 30, skip, without })).crashes).toBe(2);
  });

  test("a run in which one of two calls under one key is never answered", async () => {
    expect((await play({ seed: 1_992_537_455, steps: 1 })).crashes).toBeGreaterThan(0);
  });

  test("a run in which what a slow clock wrote last has the lowest id", async () => {
    const without = ["faults", "jobs", "upkeep"] as const;
    expect((await play({ seed: 1_992_537_637, steps: 2, without })).entries).toBeGreaterThan(12);
  });

  test("a run in which a call is both stale and wrong about the version it did not see", async () => {
    const skip = [0, 5, 6, 7, 12, 13, 16, 17, 18, 19, 22, 24, 25, 27];
    const without = ["faults", "jobs", "moves", "reads", "upkeep"] as const;
    const { acknowledged } = await play({ seed: 18_555_759, steps: 29, skip, without });
    expect(acknowledged).toBeGreaterThan(20);
  });

  test("a fault at one call after another", async () => {
    const seed = FIRST + 100;
    console.log(`fault at every call: npm run simulate -- --seed ${seed} --steps 4 --every-call`);
    const { runs, calls } = await faultAtEveryCall({ seed, steps: 4 }, 83);
    expect(runs).toBeGreaterThan(calls / 83);
  });

  test("the same seed is the same run", async () => {
    const options = { seed: 17, steps: 5 };
    expect(await play(options)).toEqual(await play(options));
  });

  test("a disk that lies is noticed, and the run is shortened to one line", async () => {
    const options: SimulationOptions = {
      seed: 5,
      steps: 4,
      without: ["crashes", "faults", "jobs", "upkeep"],
      faultAt: { call: 40, fault: "lies" },
    };
    const failure = await simulate(options).then(
      () => undefined,
      (error: unknown) => error as SimulationFailure,
    );
    expect(failure?.message).toMatch(/step \d+: /);
    const shorter = await shrink(options, failure as SimulationFailure);
    expect(shorter.steps).toBeLessThanOrEqual(options.steps);
    await expect(simulate(shorter)).rejects.toThrow(/step/);
    expect(reproduction(shorter)).toMatch(
      /^npm run simulate -- --seed 5 --steps \d+ .*--fault-at 40:lies$/,
    );
  });
});

test("a check that was kept from its end fails, and calls no store damaged", async () => {
  let fault: KvFault | undefined;
  const wrap = (kv: Parameters<typeof faultyKv>[0]) => faultyKv(kv, async () => fault);
  await using store = await openTestStore({ wrap });
  await store.memory.write({ type: "note", text: "sound" });
  fault = "lost";
  await expect(store.memory.check()).rejects.toMatchObject({ code: "ERR_UNREACHABLE" });
  // What the disk refuses to give is a verdict about it.
  fault = "fails";
  const { ok, problems } = await store.memory.check().catch(() => ({ ok: false, problems: [] }));
  expect({ ok, problems }).not.toMatchObject({ ok: true });
  fault = undefined;
  expect(await store.memory.check()).toMatchObject({ ok: true });
});
