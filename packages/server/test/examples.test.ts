/**
 * The examples, driven by scripted models the way their frameworks drive them: on a store at hand, and
 * on a client of a server. A script decides by what it is shown, so that it goes wrong if that is wrong.
 */
import { type CortexApi, open } from "@cortex-memory/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { memoryTools } from "../../../examples/ai-sdk-tools.js";
import { CortexStore, type StoreOperation } from "../../../examples/langgraph-store.js";
import { CortexMemoryStorage, type Message } from "../../../examples/mastra-storage.js";
import { codeOf } from "./facade-suite.js";
import { startTestServer } from "./http-server.js";

const PLACES: readonly [string, () => Promise<[CortexApi, () => Promise<void>]>][] = [
  [
    "a store at hand",
    async () => {
      const memory = await open("memory:");
      return [memory, () => memory.close()];
    },
  ],
  [
    "a client of a server",
    async () => {
      const server = await startTestServer();
      const memory = await open(server.url as `http://${string}`, { actor: "ada" });
      return [
        memory,
        async () => {
          await memory.close();
          await server.close();
        },
      ];
    },
  ],
];

describe.each(PLACES)("on %s", (_, openPlace) => {
  let memory: CortexApi;
  let close: () => Promise<void>;
  beforeEach(async () => {
    [memory, close] = await openPlace();
  });
  afterEach(() => close());

  test("an agent with the tools of the AI SDK recalls, keeps, corrects and gives feedback", async () => {
    const seen = await converse(memoryTools(memory), [
      () => ({ tool: "remember", input: { fact: "Ada lives in Porto", slot: "home city" } }),
      () => ({ tool: "remember", input: { fact: "Ada lives in Braga", slot: "home city" } }),
      () => ({ tool: "recall", input: { question: "Where does Ada live?" } }),
      (last) => ({
        tool: "correct",
        input: { id: idIn(last), fact: "Ada lives in central Braga" },
      }),
      () => ({ tool: "recall", input: { question: "Where does Ada live?" } }),
      (last) => ({ tool: "feedback", input: { task: "t1", ids: [idIn(last)], helped: true } }),
      () => ({ tool: "correct", input: { id: "nobody", fact: "x" } }),
      () => ({ tool: "recall", input: { question: "quantum chromodynamics of penguins" } }),
    ]);
    expect(seen[1]).toMatchObject({ replaced: ["Ada lives in Porto"] });
    expect(seen[2]).toMatchObject({ known: true, text: expect.stringContaining("Braga") });
    expect(seen[2]).not.toMatchObject({ text: expect.stringContaining("Porto") });
    expect(seen[3]).toMatchObject({ version: 2 });
    expect(seen[4]).toMatchObject({ text: expect.stringContaining("central Braga") });
    expect(seen[5]).toMatchObject({ noted: true });
    expect(seen[6]).toMatchObject({ error: "ERR_NOT_FOUND" });
    expect(seen[7]).toEqual({ known: false, text: "Nothing reliable is known about this." });
  });

  test("a tool refuses what its schema does not allow", async () => {
    const run = converse(memoryTools(memory), [() => ({ tool: "remember", input: { fact: 7 } })]);
    await expect(run).rejects.toThrow("fact");
  });

  test("a graph of LangGraph keeps what its nodes learn across threads", async () => {
    const store = new CortexStore(memory);
    /** A node that answers from memory, or learns; the model is a script of what users say. */
    const node = async (user: string, said: string): Promise<string> => {
      const learned = /^I like (.*)$/.exec(said)?.[1];
      if (learned !== undefined) {
        const key = `taste-${learned}`;
        await store.put(["users", user], key, { text: `likes ${learned}`, rank: learned.length });
        return "Noted.";
      }
      const [best] = await store.search(["users", user], { query: said, limit: 1 });
      return best === undefined ? "I do not know." : String(best.value.text);
    };
    expect(await node("ada", "do you know my tea?")).toBe("I do not know.");
    expect(await node("ada", "I like green tea")).toBe("Noted.");
    expect(await node("ada", "I like long trains")).toBe("Noted.");
    expect(await node("grace", "I like black tea")).toBe("Noted.");
    expect(await node("ada", "do you know my tea?")).toBe("likes green tea");
    expect(await node("grace", "which trains?")).toBe("I do not know.");
  });

  test("the store of LangGraph has its whole interface", async () => {
    const store = new CortexStore(memory);
    await store.put(["a", "b"], "k", { n: 1, tag: "x" });
    const first = await store.get(["a", "b"], "k");
    await store.put(["a", "b"], "k", { n: 2, tag: "x" });
    const second = await store.get(["a", "b"], "k");
    expect(second).toMatchObject({ namespace: ["a", "b"], key: "k", value: { n: 2, tag: "x" } });
    expect(second?.createdAt).toEqual(first?.createdAt);
    await store.put(["a", "b/c"], "k", { n: 3, tag: "y" });
    await store.put(["z"], "k", { n: 4 }, false);
    const keysOf = async (prefix: string[], filter = {}): Promise<unknown[]> =>
      (await store.search(prefix, { filter })).map(({ value }) => value.n);
    expect(await keysOf([])).toEqual([2, 3, 4]);
    expect(await keysOf(["a"])).toEqual([2, 3]);
    expect(await keysOf(["a", "b"])).toEqual([2]);
    expect(await keysOf(["a"], { tag: "y" })).toEqual([3]);
    expect(await keysOf(["a"], { n: { $gt: 1, $lte: 2 } })).toEqual([2]);
    expect(await codeOf(() => keysOf(["a"], { n: { $near: 1 } }))).toBe("ERR_PREDICATE");
    expect(await store.search(["a"], { limit: 1, offset: 1 })).toMatchObject([{ value: { n: 3 } }]);
    expect(await store.listNamespaces()).toEqual([["a", "b"], ["a", "b/c"], ["z"]]);
    expect(await store.listNamespaces({ prefix: ["a"], maxDepth: 1 })).toEqual([["a"]]);
    expect(await store.listNamespaces({ suffix: ["b"] })).toEqual([["a", "b"]]);
    const operations: StoreOperation[] = [
      { namespace: ["a", "b"], key: "k" },
      { namespace: ["a", "b"], key: "k", value: null },
      { namespace: ["a", "b"], key: "k" },
      { namespacePrefix: ["a"] },
      { matchConditions: [{ matchType: "prefix", path: ["*"] }], limit: 5, offset: 1 },
    ];
    const results = await store.batch(operations);
    expect(results[0]).toMatchObject({ value: { n: 2 } });
    expect(results[2]).toBeNull();
    expect(results[3]).toHaveLength(1);
    expect(results[4]).toEqual([["z"]]);
    expect(await codeOf(() => store.get([], "k"))).toBe("ERR_INVALID");
  });

  test("an agent of Mastra has its history before it, and its working memory", async () => {
    const storage = new CortexMemoryStorage(memory);
    const at = clock();
    await storage.saveThread({ thread: { ...threadOf("t1", at()), title: "Trips" } });
    await storage.updateResource({ resourceId: "ada", workingMemory: "# Ada\n- city: unknown" });
    /** One step of an agent: what was said before, a scripted model, and what is said now. */
    const step = async (said: string): Promise<string> => {
      const { messages } = await storage.listMessages({ threadId: "t1", perPage: false });
      const { workingMemory = "" } = (await storage.getResourceById({ resourceId: "ada" })) ?? {};
      const { answer, note } = scripted(said, messages.map(textIn), workingMemory);
      if (note !== undefined) {
        await storage.updateResource({ resourceId: "ada", workingMemory: note });
      }
      const turn = messages.length;
      const made = [
        messageOf(`m${turn}`, "user", said, at()),
        messageOf(`m${turn + 1}`, "assistant", answer, at()),
      ];
      await storage.saveMessages({ messages: made });
      return answer;
    };
    expect(await step("I live in Porto")).toBe("Noted.");
    expect(await step("what did I say first?")).toBe("I live in Porto");
    expect(await step("where do I live?")).toBe("# Ada\n- city: Porto");
  });

  test("the storage of Mastra keeps, pages, changes and deletes", async () => {
    const storage = new CortexMemoryStorage(memory);
    const at = clock();
    for (const id of ["t1", "t2", "t3"]) await storage.saveThread({ thread: threadOf(id, at()) });
    expect(await storage.getThreadById({ threadId: "t1" })).toMatchObject({ resourceId: "ada" });
    expect(await storage.getThreadById({ threadId: "t1", resourceId: "eve" })).toBeNull();
    await storage.updateThread({ id: "t2", metadata: { done: true } });
    const renamed = await storage.updateThread({ id: "t2", title: "Second" });
    expect(renamed).toMatchObject({ title: "Second", metadata: { done: true } });
    expect(await codeOf(() => storage.updateThread({ id: "none" }))).toBe("ERR_NOT_FOUND");
    const listed = await storage.listThreads({ filter: { resourceId: "ada" }, perPage: 2 });
    expect(listed.threads.map(({ id }) => id)).toEqual(["t3", "t2"]);
    expect(listed).toMatchObject({ total: 3, page: 0, perPage: 2, hasMore: true });
    const done = await storage.listThreads({ filter: { metadata: { done: true } } });
    expect(done.threads.map(({ id }) => id)).toEqual(["t2"]);
    const messages = ["one", "two", "three"].map((text) => messageOf(text, "user", text, at()));
    await storage.saveMessages({ messages });
    const page = await storage.listMessages({ threadId: "t1", perPage: 2, page: 1 });
    expect(page.messages).toEqual([messages[2]]);
    const [, middle] = messages;
    const dateRange = {
      start: middle?.createdAt ?? new Date(),
      end: middle?.createdAt ?? new Date(),
    };
    const ranged = await storage.listMessages({ threadId: ["t1", "t2"], filter: { dateRange } });
    expect(ranged.messages).toEqual([middle]);
    const include = [{ id: "two", withPreviousMessages: 1 }];
    const near = await storage.listMessages({ threadId: "t1", perPage: 1, page: 2, include });
    expect(near.messages).toEqual(messages);
    const before = await storage.getThreadById({ threadId: "t1" });
    expect(before?.updatedAt.getTime()).not.toBe(before?.createdAt.getTime());
    await storage.updateMessages({ messages: [{ id: "two", content: { metadata: { seen: 1 } } }] });
    const { messages: byId } = await storage.listMessagesById({ messageIds: ["two", "none"] });
    expect(byId).toMatchObject([{ content: { metadata: { seen: 1 }, parts: [{ text: "two" }] } }]);
    await storage.deleteMessages(["one"]);
    await storage.deleteThread({ threadId: "t1" });
    expect(await storage.getThreadById({ threadId: "t1" })).toBeNull();
    expect((await storage.listMessages({ threadId: "t1" })).total).toBe(0);
    expect((await memory.search("three")).hits).toEqual([]);
  });
});

type Tools = ReturnType<typeof memoryTools>;
type ToolCall = { readonly tool: keyof Tools; readonly input: unknown };

/** What the AI SDK does with a model that calls tools: checks the input, executes, shows the result. */
async function converse(
  tools: Tools,
  script: readonly ((last: unknown) => ToolCall)[],
): Promise<readonly unknown[]> {
  const results: unknown[] = [];
  for (const decide of script) {
    const call = decide(results.at(-1));
    const { inputSchema, execute } = tools[call.tool];
    results.push(await execute(inputSchema.parse(call.input) as never));
  }
  return results;
}

/** The id that a model would take out of a result it was shown. */
function idIn(shown: unknown): string {
  const { id, ids = [] } = shown as { readonly id?: string; readonly ids?: readonly string[] };
  return id ?? ids[0] ?? "none";
}

/** Times one second apart. */
function clock(): () => Date {
  let ms = Date.UTC(2030, 0, 1);
  return () => {
    ms += 1000;
    return new Date(ms);
  };
}

function threadOf(id: string, at: Date) {
  return { id, resourceId: "ada", createdAt: at, updatedAt: at };
}

function messageOf(id: string, role: string, text: string, createdAt: Date): Message {
  const content = { format: 2, parts: [{ type: "text", text }] };
  return { id, threadId: "t1", resourceId: "ada", role, type: "v2", content, createdAt };
}

function textIn({ content }: Message): string {
  const { parts } = content as { readonly parts: readonly { readonly text: string }[] };
  return parts.map(({ text }) => text).join("");
}

/** The model: it answers from what it is shown and from nothing else. */
function scripted(
  said: string,
  before: readonly string[],
  workingMemory: string,
): { readonly answer: string; readonly note?: string } {
  const city = /^I live in (.*)$/.exec(said)?.[1];
  if (city !== undefined) {
    return { answer: "Noted.", note: workingMemory.replace(/city: .*/, `city: ${city}`) };
  }
  return { answer: said.includes("first") ? (before[0] ?? "nothing") : workingMemory };
}
