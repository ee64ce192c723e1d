/**
 * Every door gives the library's answer: what the command line prints equals what the facade returns, in
 * the declared shape, and a refused call fails with the same code. The examples of the table run.
 */
import { type Cortex, isCortexError, open } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATIONS } from "../src/operations.js";
import { type Ended, makePlace, type Place, type Start } from "./cortex-process.js";

let place: Place;
beforeAll(async () => {
  place = makePlace();
  await using memory = await open(place.data);
  await seed(memory);
});
afterAll(() => place.remove());

const HOME = "01JADA000000000000000000H0";

/** What the examples speak of. */
async function seed(memory: Cortex): Promise<void> {
  await memory.write({ type: "note", kind: "draft", text: "never touched again" });
  await memory.write({ type: "fact", id: HOME, externalId: "home", text: "Ada lives in Porto" });
  await memory.write({ type: "constraint", externalId: "rule", text: "No red-eye flights" });
  await memory.write({ type: "goal", externalId: "trip", text: "Get Ada to the talk" });
  await memory.write({ type: "note", externalId: "secret", text: "a secret" });
  await memory.setGoalState("trip", { failureStreak: 0, intentsTodayCount: 1, spentToday: "3" });
  await memory.link("rule", "related_to", "home", { reason: "one trip", strength: 2 });
  await memory.remember([{ role: "user", content: "hello", at: 5, speaker: "Ada" }], {
    session: "chat-0",
  });
}

/** The answer as scripts see it. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

interface Pair {
  readonly operation: string;
  readonly args: readonly string[];
  readonly library: (memory: Cortex) => Promise<unknown>;
}

const READS: readonly Pair[] = [
  { operation: "get", args: ["get", "home"], library: (m) => m.get("home") },
  {
    operation: "resolve",
    args: ["resolve", `cortex://default/Fact/${HOME}#1`],
    library: (m) => m.resolve(`cortex://default/Fact/${HOME}#1`),
  },
  {
    operation: "history",
    args: ["history", "home"],
    library: async (m) => ({ versions: await m.history("home") }),
  },
  { operation: "inspect", args: ["inspect", "rule"], library: (m) => m.inspect("rule") },
  {
    operation: "list",
    args: ["list", "--type", "fact", "--type", "goal", "--order", "oldest"],
    library: (m) => m.list({ type: ["fact", "goal"], order: "oldest" }),
  },
  {
    operation: "session",
    args: ["session", "chat-0"],
    library: (m) => m.session("chat-0"),
  },
  {
    operation: "getEdge",
    args: ["edge", "get", "rule", "related_to", "home"],
    library: (m) => m.getEdge("rule", "related_to", "home"),
  },
  {
    operation: "edges",
    args: ["edge", "ls", "home", "--direction", "in"],
    library: (m) => m.edgesIn("home"),
  },
  {
    operation: "traverse",
    args: ["traverse", "rule", "--direction", "both", "--max-hops", "9"],
    library: (m) => m.traverse("rule", { direction: "both", maxHops: 9 }),
  },
  {
    operation: "linksFrom",
    args: ["links", "rule"],
    library: async (m) => ({ links: await m.linksFrom("rule") }),
  },
  {
    operation: "backlinksTo",
    args: ["backlinks", "home"],
    library: async (m) => ({ links: await m.backlinksTo("home") }),
  },
  {
    operation: "goalStates",
    args: ["goal", "ls"],
    library: async (m) => ({ goals: await m.goalStates() }),
  },
  {
    operation: "goalState",
    args: ["goal", "get", "trip"],
    library: async (m) => ({ id: (await m.get("trip"))?.id, state: await m.goalState("trip") }),
  },
  { operation: "log", args: ["log", "--limit", "3"], library: (m) => m.log({ limit: 3 }) },
  { operation: "changes", args: ["changes", "0", "6"], library: (m) => m.changes(0, 6) },
  { operation: "root", args: ["root"], library: (m) => m.root() },
  { operation: "checkpoint", args: ["checkpoint"], library: (m) => m.checkpoint() },
  {
    operation: "prove",
    args: ["prove", "home", "rule", "--seq", "1"],
    library: (m) => m.prove({ memories: ["home", "rule"], seqs: [1] }),
  },
  {
    operation: "share",
    args: ["share", "--type", "fact"],
    library: (m) => m.share({ types: ["fact"] }),
  },
  { operation: "check", args: ["check"], library: (m) => m.check() },
];

describe("reads", () => {
  test.each(READS)("$operation", async ({ operation, args, library }) => {
    await using memory = await open(place.data);
    const expected = plain(await library(memory));
    expect(await place.json(args)).toEqual(expected);
    const row = OPERATIONS.find(({ name }) => name === operation);
    expect(row?.output.parse(expected), "the shape leaves nothing out").toEqual(expected);
  });
});

describe("refusals", () => {
  const REFUSED: readonly Omit<Pair, "operation">[] = [
    { args: ["update", "nobody", "x"], library: (m) => m.update("nobody", { text: "x" }) },
    { args: ["tombstone", "nobody", "why"], library: (m) => m.tombstone("nobody", "why") },
    { args: ["update", "home", "{}"], library: (m) => m.update("home", {}) },
    {
      args: ["edge", "add", "home", "related_to", "home"],
      library: (m) => m.addEdge("home", "related_to", "home"),
    },
    {
      args: ["edge", "add", "home", "related_to", "nobody"],
      library: (m) => m.addEdge("home", "related_to", "nobody"),
    },
    {
      args: ["write", "fact", "x", "--external-id", "home"],
      library: (m) => m.write({ type: "fact", text: "x", externalId: "home" }),
    },
    { args: ["write", "fact"], library: (m) => m.write({ type: "fact" }) },
    { args: ["goal", "set", "home", "{}"], library: (m) => m.setGoalState("home", {} as never) },
  ];

  test.each(REFUSED)("$args", async ({ args, library }) => {
    await using memory = await open(place.data);
    const error = await library(memory).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!isCortexError(error)) throw new Error("the library did not refuse");
    const { exit, err } = await place.cortex([...args, "--json"]);
    expect(exit).toBe(1);
    expect(JSON.parse(err)).toEqual({ error: { code: error.code, message: error.message } });
  });
});

/** Runs inside the test what a shell makes of a line; a pipe between two commands, in the shell. */
async function runExample(line: string, env: NonNullable<Start["env"]>): Promise<Ended> {
  if (/cortex .*\| cortex/.test(line)) return place.shell(line, { env });
  const { args, input } = place.parse(line, { env });
  return place.bare(args, { env, input });
}

describe("examples", () => {
  // One after the other on one store: each may rely on the rows before it.
  test.each(OPERATIONS)("$name: $example", async ({ example, output }) => {
    const memory = await open(place.data);
    const edge = await memory.getEdge("rule", "related_to", "home");
    await memory.close();
    const env = { CORTEX_DATA: place.data, EDGE: edge?.id };
    const { exit, out, err } = await runExample(`${example} --json`, env);
    expect(exit, err).toBe(0);
    const answer: unknown = JSON.parse(out);
    expect(output.parse(answer), "the shape leaves nothing out").toEqual(answer);
  });
});
