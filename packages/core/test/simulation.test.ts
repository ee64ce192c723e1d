/**
 * Random histories of all write verbs, judged by a plain model, on every backend.
 *
 * Each history is played on the memory backend and followed by the model step by step: every answer,
 * every failure and its code. Then LMDB and Postgres play the same steps and must answer the same, hold
 * the same rows to the byte, and answer reads like the model, now and at earlier positions. In the end
 * the journal alone must reproduce the store, and the full check must find nothing.
 *
 * CORTEX_SEEDS=n plays n histories instead of the default few; CORTEX_SEED sets the first seed.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Cortex, CortexError, open } from "../src/index.js";
import type { Kv } from "../src/kv/kv.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { seededRandom } from "../src/testing/index.js";
import { rounds } from "../src/testing/lacking.js";
import { applyToModel } from "../src/testing/model.js";
import { bornModel, type ModelState } from "../src/testing/model-state.js";
import {
  comparable,
  comparePresent,
  compareReads,
  drawnIds,
  dump,
  same,
} from "../src/testing/simulation-compare.js";
import { BAD_CALLS, nextStep, perform, START, type Step } from "../src/testing/simulation-plan.js";
import { cleanUp, temporaryFolder } from "./other-process.js";
import { type PgliteServer, startPglite } from "./pglite-server.js";

const FIRST_SEED = Number(process.env.CORTEX_SEED ?? 1);
const SEEDS = Number(process.env.CORTEX_SEEDS ?? rounds(12, 24));
const STEPS = 50;
/** A server plays every so many-th history; PGlite is slow and plays one. */
const DATABASE = process.env.CORTEX_TEST_POSTGRES ?? "";
const DATABASE_EVERY = DATABASE === "" ? 24 : 2;

let server: Pick<PgliteServer, "url" | "stop">;

beforeAll(async () => {
  server = DATABASE === "" ? await startPglite() : { url: DATABASE, stop: async () => {} };
});
afterEach(cleanUp);
afterAll(() => server.stop());

/** A store with its clock and randomness in the hands of the test. */
interface Played {
  readonly name: string;
  readonly kv: Kv;
  readonly memory: Cortex;
  setClock(now: number): void;
}

async function openPlayed(name: string, kv: Kv, seed: number): Promise<Played> {
  let now = START;
  const random = seededRandom(seed).bytes;
  const memory = await open("memory:", {
    actor: "ada",
    kv,
    clock: () => now,
    random,
    rateLimits: false,
  });
  return {
    name,
    kv,
    memory,
    setClock: (time) => {
      now = time;
    },
  };
}

type Outcome = { readonly value: unknown } | { readonly error: CortexError };

async function playStep(played: Played, step: Step): Promise<Outcome[]> {
  played.setClock(step.now);
  const settled = await Promise.allSettled(step.calls.map((call) => perform(played.memory, call)));
  return settled.map((one) => {
    if (one.status === "fulfilled") return { value: one.value };
    const error: unknown = one.reason;
    if (!(error instanceof CortexError)) throw error;
    return { error };
  });
}

/** What the model said at every position, the last one at the end. */
type Past = ModelState[];

/** Follows one step with the model; `past` grows by one state for every entry. */
function followStep(past: Past, step: Step, outcomes: readonly Outcome[]): void {
  for (const [at, call] of step.calls.entries()) {
    const outcome = outcomes[at] as Outcome;
    const before = past.at(-1) as ModelState;
    const what = `${JSON.stringify(call)} at seq ${before.size}`;
    if ("bad" in call) {
      same("error" in outcome ? outcome.error.code : outcome, BAD_CALLS[call.bad]?.code, what);
      continue;
    }
    const ids = "error" in outcome ? [] : drawnIds(call, outcome.value);
    const { state, outcome: expected } = applyToModel(before, call, { now: step.now, ids });
    if ("error" in outcome) same({ error: outcome.error.code }, expected, what);
    else {
      const value = expected.value === undefined ? expected : comparable(call, expected.value);
      same(comparable(call, outcome.value), value, what);
    }
    // Positions inside an operation show what was before it.
    for (let seq = before.size; seq < state.size - 1; seq += 1) past.push(before);
    if (state.size > before.size) past.push(state);
  }
}

interface Play {
  readonly steps: readonly Step[];
  readonly outcomes: readonly (readonly Outcome[])[];
  readonly past: Past;
}

/** Makes up a history while playing it. */
async function playAndFollow(played: Played, seed: number): Promise<Play> {
  const random = seededRandom(seed);
  const past: Past = [bornModel("ada", START)];
  const steps: Step[] = [];
  const outcomes: Outcome[][] = [];
  for (let at = 0; at < STEPS; at += 1) {
    const step = nextStep(random, past.at(-1) as ModelState);
    const found = await playStep(played, step);
    followStep(past, step, found);
    steps.push(step);
    outcomes.push(found);
    const { entries } = await played.memory.stats();
    expect(entries, `entries after ${JSON.stringify(step)}`).toBe(past.length);
  }
  return { steps, outcomes, past };
}

async function judge(played: Played, past: Past, seed: number): Promise<void> {
  const random = seededRandom(seed);
  await compareReads(played, past, random);
  await comparePresent(played, past.at(-1) as ModelState);
  for (let at = 0; at < 5; at += 1) {
    await compareReads(played, past, random, random.below(past.length));
  }
  const { memory } = played;
  expect(await memory.rebuild({ verifyOnly: true })).toMatchObject({ ok: true, differences: [] });
  expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
}

/** Plays the same history on another backend and expects the same of everything. */
async function playAgain(played: Played, play: Play, rows: readonly string[]): Promise<void> {
  for (const [at, step] of play.steps.entries()) {
    same(await playStep(played, step), play.outcomes[at], `${played.name}: step ${at}`);
  }
  same(await dump(played.kv), rows, `${played.name}: rows`);
}

describe("random histories", () => {
  for (let at = 0; at < SEEDS; at += 1) {
    const seed = FIRST_SEED + at;
    test(`seed ${seed}`, async () => {
      const reference = await openPlayed("memory", openMemoryKv(), seed);
      const play = await playAndFollow(reference, seed);
      await judge(reference, play.past, seed);
      const rows = await dump(reference.kv);
      const others = [await openPlayed("lmdb", await openLmdbKv(temporaryFolder()), seed)];
      if (at % DATABASE_EVERY === 0) {
        const location = hubIn(server.url);
        others.push(await openPlayed("postgres", await openPostgresKv(location, "ada"), seed));
      }
      for (const other of others) {
        await playAgain(other, play, rows);
        // PGlite is slow: that its rows are the same must do.
        if (DATABASE !== "" || other.name !== "postgres") await judge(other, play.past, seed);
        expect(await other.memory.root()).toEqual(await reference.memory.root());
        await other.memory.close();
      }
      expect((await reference.memory.rebuild()).ok).toBe(true);
      expect(await dump(reference.kv)).toEqual(rows);
      await reference.memory.close();
    });
  }
});
