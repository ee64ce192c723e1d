/**
 * Kill -9 of the writer, at any moment, fifteen times, thirty in a long run; `CORTEX_STORES=40` makes it two hundred.
 *
 * Each round a process opens the store and writes until its group is killed; then the store is opened
 * again and held to its word: every acknowledged operation is there with its content, an operation
 * that was not acknowledged is there wholly or not at all, what is there is an exact prefix of what
 * was submitted, and the full check finds nothing. The same store goes on into the next round.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { type Cortex, open } from "../src/index.js";
import { type SeededRandom, seededRandom } from "../src/testing/index.js";
import { rounds } from "../src/testing/lacking.js";
import { generationsOf, letLeftoversAge } from "./moves-support.js";
import {
  cleanUp,
  isUnbuilt,
  type Program,
  seedOfRun,
  startProgram,
  temporaryStore,
} from "./other-process.js";

const UNBUILT = isUnbuilt();

/** One operation, as the program announced it. */
type Tried = { readonly n: number } & (
  | { readonly verb: "write"; readonly name: string; readonly text: string }
  | { readonly verb: "batch"; readonly names: readonly string[]; readonly text: string }
  | { readonly verb: "update"; readonly name: string; readonly text: string }
  | { readonly verb: "link"; readonly from: string; readonly to: string; readonly kind: string }
  | { readonly verb: "tombstone"; readonly name: string }
  | { readonly verb: "remember"; readonly session: string; readonly turns: readonly string[] }
);

const STORES = Number(process.env.CORTEX_STORES ?? rounds(3, 6));
const ROUNDS_PER_STORE = 5;
/** In this round the store is rebuilt while it is written, once to its end in every other store. */
const REBUILDING_ROUND = 3;
const SEED = seedOfRun("crash");

const spares: Program[] = [];

/** A program that has loaded everything and waits; the next one starts loading meanwhile. */
async function writerProgram(): Promise<Program> {
  while (spares.length < 2) spares.push(startProgram("crash-writer.mjs"));
  const program = spares.shift() as Program;
  await program.until("ready");
  return program;
}

afterAll(cleanUp);

interface Round {
  readonly tried: readonly Tried[];
  readonly acknowledged: ReadonlySet<number>;
  readonly rebuilds: number;
}

/** Lets a process write into the store and kills it at a random moment. */
async function writeAndKill(
  folder: string,
  random: SeededRandom,
  what: { readonly round: number; readonly rebuild: boolean; readonly toItsEnd: boolean },
): Promise<Round> {
  const program = await writerProgram();
  program.send({ folder, seed: random.u32(), round: what.round, rebuild: what.rebuild });
  await randomMoment(program, random, what);
  await program.kill();
  const said = (word: string): string[] =>
    program.lines.filter((line) => line.startsWith(`${word} `));
  expect(program.lines).not.toContain("rebuilt badly");
  return {
    tried: said("try").map((line) => JSON.parse(line.slice(4)) as Tried),
    acknowledged: new Set(said("ack").map((line) => (JSON.parse(line.slice(4)) as Tried).n)),
    rebuilds: program.lines.filter((line) => line === "rebuilt").length,
  };
}

/** Some kills fall into opening and birth, some anywhere in a rebuild, the others in the writing. */
async function randomMoment(
  program: Program,
  random: SeededRandom,
  { rebuild, toItsEnd }: { readonly rebuild: boolean; readonly toItsEnd: boolean },
): Promise<void> {
  if (!toItsEnd && random.chance(15)) {
    await sleep(random.below(60));
    return;
  }
  await program.until("open");
  // Half of the rebuilding processes end one rebuild and are killed in the next.
  if (toItsEnd) await program.until("rebuilt");
  for (let left = random.below(rebuild ? 12 : 120); left > 0; left -= 1) await program.next();
  await sleep(random.below(rebuild ? 40 : 4));
}

/** Whether an operation is in the store; one that is there in part or with other content throws. */
async function isThere(memory: Cortex, tried: Tried): Promise<boolean> {
  switch (tried.verb) {
    case "write": {
      const versions = await memory.history(tried.name);
      if (versions !== undefined) expect(versions.at(-1)?.text).toBe(tried.text);
      return versions !== undefined;
    }
    case "batch":
      return isBatchThere(memory, tried);
    case "update": {
      const versions = (await memory.history(tried.name)) ?? [];
      return versions.some(({ text }) => text === tried.text);
    }
    case "link":
      return (await memory.getEdge(tried.from, tried.kind, tried.to)) !== undefined;
    case "tombstone":
      return (await memory.get(tried.name))?.head.lifecycle === "tombstoned";
    case "remember": {
      const { turns } = await memory.session(tried.session);
      const first = turns.findIndex(({ content }) => content === tried.turns[0]);
      const found = turns.slice(first, first + tried.turns.length).map(({ content }) => content);
      if (first >= 0) expect(found).toEqual(tried.turns);
      return first >= 0;
    }
  }
}

async function isBatchThere(
  memory: Cortex,
  { names, text }: Extract<Tried, { readonly verb: "batch" }>,
): Promise<boolean> {
  const [first = "", ...others] = names;
  const there = await Promise.all(names.map((name) => memory.history(name)));
  const edges = await Promise.all(others.map((name) => memory.getEdge(first, "references", name)));
  const count = [...there, ...edges].filter((found) => found !== undefined).length;
  expect([0, names.length + others.length], `half a batch: ${first}`).toContain(count);
  if (count === 0) return false;
  const texts = there.map((versions) => versions?.at(-1)?.text);
  expect(texts).toEqual(names.map((_, at) => `${text} ${at}`));
  return true;
}

/** Checks what a killed round left, and returns the operations that are there. */
async function judge(memory: Cortex, round: Round): Promise<readonly Tried[]> {
  const there: boolean[] = [];
  for (const tried of round.tried) there.push(await isThere(memory, tried));
  const count = there.lastIndexOf(true) + 1;
  const holes = there.slice(0, count).flatMap((found, at) => (found ? [] : [round.tried[at]]));
  expect(holes, "operations that are missing although later ones are there").toEqual([]);
  for (const n of round.acknowledged) expect(n, "an acknowledged operation").toBeLessThan(count);
  return round.tried.slice(0, count);
}

describe("kill -9", () => {
  const totals = { tried: 0, acknowledged: 0, kept: 0, rebuilds: 0, beforeFirst: 0 };

  for (let store = 0; store < STORES; store += 1) {
    test.skipIf(UNBUILT)(`store ${store}: ${ROUNDS_PER_STORE} rounds`, async () => {
      const seed = SEED + store;
      const random = seededRandom(seed);
      const folder = temporaryStore();
      const kept: Tried[] = [];
      for (let round = 0; round < ROUNDS_PER_STORE; round += 1) {
        const rebuild = round === REBUILDING_ROUND;
        const toItsEnd = rebuild && store % 2 === 0;
        const killed = await writeAndKill(folder, random, { round, rebuild, toItsEnd });
        await using memory = await open(folder, { actor: "ada" });
        expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
        kept.push(...(await judge(memory, killed)));
        totals.tried += killed.tried.length;
        totals.acknowledged += killed.acknowledged.size;
        totals.rebuilds += killed.rebuilds;
        totals.beforeFirst += killed.acknowledged.size === 0 ? 1 : 0;
      }
      totals.kept += kept.length;
      await using memory = await open(folder, { actor: "ada" });
      for (const tried of kept) expect(await isThere(memory, tried), `lost: ${tried.n}`).toBe(true);
      await letLeftoversAge(folder);
      expect((await memory.rebuild()).ok).toBe(true);
      expect(await generationsOf(folder), "leftovers of killed rebuilds").toBe(1);
    });
  }

  test.skipIf(UNBUILT)("the rounds were worth their while", () => {
    console.log(`crash: ${JSON.stringify(totals)}`);
    expect(totals.acknowledged).toBeGreaterThan(STORES * ROUNDS_PER_STORE);
    expect(totals.kept).toBeGreaterThanOrEqual(totals.acknowledged);
    expect(totals.tried).toBeGreaterThan(totals.kept);
    expect(totals.rebuilds).toBeGreaterThanOrEqual(STORES / 2);
  });
});

test.skipIf(UNBUILT)(
  "a call under a key that was killed after its commit and before its answer is done once",
  async () => {
    const folder = temporaryStore();
    const key = { idempotencyKey: "request-7" };
    const turns = [{ role: "user", content: "ok" }];
    const calls: readonly (readonly [verb: string, ...args: unknown[]])[] = [
      ["write", { type: "event", text: "Ada took a train", externalId: "train", ...key }],
      ["remember", turns, { session: "chat", idempotencyKey: "request-8" }],
    ];
    for (const [verb, ...args] of calls) {
      const first = startProgram("keyed-caller.mjs");
      first.send({ folder, verb, args, dies: true });
      expect(await first.next(), verb).toBeUndefined();
      const entries = await entriesOf(folder);
      const again = startProgram("keyed-caller.mjs");
      again.send({ folder, verb, args, dies: false });
      const [answer = ""] = await again.finish();
      expect(answer, verb).toMatch(/^done /);
      expect(await entriesOf(folder), verb).toBe(entries);
    }
    await using memory = await open(folder, { actor: "ada" });
    expect((await memory.session("chat")).turns).toHaveLength(1);
    expect((await memory.list({ type: "event" })).memories).toHaveLength(1);
  },
);

async function entriesOf(folder: string): Promise<number> {
  await using memory = await open(folder, { actor: "ada" });
  return (await memory.stats()).entries;
}
