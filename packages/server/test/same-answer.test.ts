/**
 * Every door gives the library's answer: what the command line prints equals what the facade returns, in
 * the declared shape, and a refused call fails with the same code. The examples of the table run.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cortex, isCortexError, issueScope, open, signerOf } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashEmbedder } from "../../core/src/vector/embedder.js";
import { type EmbeddingsServer, startEmbeddingsServer } from "../../core/test/embeddings-server.js";
import { type ModelServer, startModelServer } from "../../core/test/model-server.js";
import { OPERATIONS } from "../src/operations.js";
import { type Ended, makePlace, type Place, type Start } from "./cortex-process.js";
import { startTestServer, type TestServer } from "./http-server.js";

let place: Place;
/** A scope that the seeded store honours. */
let scope = "";
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
  await memory.attest({ intentId: "trip-0", outcome: "success", cited: ["home"] });
  const inContext = ["home", "rule"];
  await memory.compactContext({ intentId: "trip-0", stepId: "step-1", inContext });
  const issuer = signerOf(new Uint8Array(32).fill(9));
  const key = Buffer.from(issuer.publicKey).toString("base64");
  await memory.configure({ trustedIssuers: [key] });
  scope = await issueScope(
    {
      actor: "default",
      include: { tags: ["trip"] },
      grantedTo: "bearer:helper",
      issuedAt: 0,
      expiresAt: Date.UTC(2100, 0, 1),
    },
    issuer,
  );
  await memory.write({ type: "fact", externalId: "rumour", text: "Ada lives in Rome" });
  await memory.link("rumour", "contradicts", "home", { reason: "one home" });
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
  {
    // Of the present the salience would differ by the milliseconds between two calls.
    operation: "inspect",
    args: ["inspect", "rule", "--as-of", "7"],
    library: (m) => m.inspect("rule", { asOf: 7 }),
  },
  {
    operation: "context",
    args: ["context", "--now", "2030-01-01T00:00:00Z", "--budget", "200", "--form", "short"],
    library: (m) => m.context({ nowMs: Date.UTC(2030, 0, 1), budgetTokens: 200, form: "short" }),
  },
  { operation: "weights", args: ["weights"], library: (m) => m.weights() },
  {
    operation: "search",
    args: ["search", "Porto flights", "--type", "fact", "--type", "constraint", "--limit", "5"],
    library: (m) => m.search("Porto flights", { types: ["fact", "constraint"], limit: 5 }),
  },
  {
    operation: "searchBatch",
    args: ["search-batch", "Porto", "red-eye", "--limit", "3"],
    library: (m) => m.searchBatch(["Porto", "red-eye"], { limit: 3 }),
  },
  {
    operation: "contextRecord",
    args: ["context-record", "trip-0", "step-1"],
    library: (m) => m.contextRecord("trip-0", "step-1"),
  },
  {
    operation: "review",
    args: ["review", "ls", "--kind", "contradiction", "--kind", "duplicate", "--limit", "5"],
    library: (m) => m.review({ kinds: ["contradiction", "duplicate"], limit: 5 }),
  },
  {
    operation: "slotHistory",
    args: ["slot", "home city"],
    library: (m) => m.slotHistory("home city"),
  },
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
    operation: "sessions",
    args: ["sessions", "chat", "--limit", "3"],
    library: (m) => m.sessions({ prefix: "chat", limit: 3 }),
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
  { operation: "describeSchema", args: ["schema"], library: (m) => m.describeSchema() },
  { operation: "listTags", args: ["tags"], library: (m) => m.listTags() },
  {
    operation: "maintain",
    args: ["maintain", "--dry-run"],
    library: (m) => m.maintain({ dryRun: true }),
  },
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
    { args: ["context", "--verb", "find"], library: (m) => m.context({ verb: "find" }) },
    {
      args: ["compact", "t", "s", "nobody"],
      library: (m) => m.compactContext({ intentId: "t", stepId: "s", inContext: ["nobody"] }),
    },
    {
      args: ["compact", "t", "s", "home", "--budget", "1"],
      library: (m) =>
        m.compactContext({ intentId: "t", stepId: "s", inContext: ["home"], budgetTokens: 1 }),
    },
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
    const told = JSON.parse(err) as { readonly error: { code: string; message: string } };
    expect(told.error.code).toBe(error.code);
    expect(afterName(told.error.message)).toBe(afterName(error.message));
  });

  /** What is said of a field, which a command line calls by its flag or by the label of its argument. */
  function afterName(message: string): string {
    return message.replace(/^[\w|.-]+(?=: )/, "");
  }
});

/** Runs inside the test what a shell makes of a line; a pipe between two commands, in the shell. */
async function runExample(line: string, env: NonNullable<Start["env"]>): Promise<Ended> {
  if (/cortex .*\| cortex/.test(line)) return place.shell(line, { env });
  const { args, input } = place.parse(line, { env });
  return place.bare(args, { env, input });
}

describe("examples", () => {
  let embeddings: EmbeddingsServer;
  let chat: ModelServer;
  let source: TestServer;
  beforeAll(async () => {
    source = await startTestServer();
    await source.post("/v1/write", { type: "fact", text: "Ada lives in Porto" });
    embeddings = await startEmbeddingsServer(hashEmbedder({ dimensions: 8 }));
    chat = await startModelServer(() => ({ facts: [], relationships: [] }));
    const entity = { type: "entity", name: "Ada", entityType: "person", observations: ["lives"] };
    writeFileSync(join(place.folder, "empty", "memory.jsonl"), `${JSON.stringify(entity)}\n`);
  });
  afterAll(() => Promise.all([embeddings.close(), chat.close(), source.close()]));

  /** The settings of the operations that ask a service. */
  const settingsOf = (name: string): NonNullable<Start["env"]> => {
    if (name === "embedPending") {
      return {
        CORTEX_EMBEDDER_ENDPOINT: embeddings.endpoint,
        CORTEX_EMBEDDER_MODEL: "tiny",
        CORTEX_EMBEDDER_DIMENSIONS: "8",
      };
    }
    if (name !== "extract" && name !== "relink") return {};
    return { CORTEX_MODEL_ENDPOINT: chat.endpoint, CORTEX_MODEL_NAME: "tiny" };
  };

  /** The line with places of this machine in it; what goes on for ever ends when it is level. */
  const lineOf = (name: string, example: string): string => {
    const local = example
      .replace("https://memory.example.org", source.url)
      .replace(
        "./memory postgres://cortex@db.internal/cortex",
        `'${place.data}' ${join(place.folder, "elsewhere")}`,
      );
    return `${local}${name === "follow" ? " --once" : ""} --json`;
  };

  // Files can be mended; a database mends itself.
  const rows = OPERATIONS.filter(
    ({ name }) => name !== "repair" || !process.env.CORTEX_TEST_POSTGRES,
  );
  // One after the other on one store: each may rely on the rows before it.
  test.each(rows)("$name: $example", async ({ name, example, output }) => {
    const memory = await open(place.data);
    const edge = await memory.getEdge("rule", "related_to", "home");
    const [item] = (await memory.review({ kinds: ["contradiction"] })).items;
    await memory.close();
    const own = { CORTEX_DATA: place.data, SCOPE: scope, EDGE: edge?.id, ITEM: item?.id };
    const env = { ...own, ...settingsOf(name) };
    const { exit, out, err } = await runExample(lineOf(name, example), env);
    expect(exit, `${err}${out}`).toBe(0);
    const answer: unknown = JSON.parse(out);
    expect(output.parse(answer), "the shape leaves nothing out").toEqual(answer);
  });
});
