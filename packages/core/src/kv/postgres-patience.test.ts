/** Tries to reach a server that went away: pauses that grow and differ, and an end. */
import { expect, test } from "vitest";
import { CortexError } from "../errors.js";
import { Patience } from "./postgres-patience.js";

const away = new CortexError("ERR_UNREACHABLE", "the server is away");

/** A machine whose time goes on by its pauses alone. */
function machineOf(chance: number) {
  let now = 1000;
  const pauses: number[] = [];
  const machine = {
    now: () => now,
    chance: () => chance,
    async pause(ms: number) {
      pauses.push(ms);
      now += ms;
    },
  };
  return { machine, pauses };
}

/** Tries until it is told that there was time enough; how often, and what it was told. */
async function tries(patience: Patience, addition?: string) {
  for (let count = 1; ; count += 1) {
    try {
      await patience.pause(away, addition);
    } catch (error) {
      return { count, error };
    }
  }
}

test("pauses grow up to a second, and so the tries within a time are few", async () => {
  const { machine, pauses } = machineOf(0.5);
  const { count, error } = await tries(new Patience(15_000, machine));
  expect(pauses.slice(0, 8)).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000]);
  expect(count).toBe(6 + 14 + 1);
  expect(error).toBe(away);
});

test("pauses differ by chance from a half to one and a half", async () => {
  const [least, most] = [machineOf(0), machineOf(1)];
  await tries(new Patience(500, least.machine));
  await tries(new Patience(500, most.machine));
  expect(least.pauses.slice(0, 4)).toEqual([10, 20, 40, 80]);
  expect(most.pauses.slice(0, 4)).toEqual([30, 60, 120, 240]);
});

test("without any time the first failure is the last, and what cannot be known yet is added", async () => {
  const { machine, pauses } = machineOf(0.5);
  const { count, error } = await tries(new Patience(0, machine), "the journal will tell");
  expect([count, pauses]).toEqual([1, []]);
  expect(error).toMatchObject({
    code: "ERR_UNREACHABLE",
    message: "the server is away; the journal will tell",
  });
});
