/**
 * The client, against a real server on this machine that answers a handful of operations from a real
 * store: how it opens, that every verb goes by its row, that what cannot be sent is not, that closing
 * waits, and that a server which changes its history is not believed again.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { WriteInput } from "../contract/memory.js";
import type { Cortex } from "../cortex.js";
import { CortexError, type ErrorCode, isCortexError } from "../errors.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import {
  type Asked,
  json,
  type Loopback,
  problem,
  type Reply,
  startLoopback,
} from "../testing/loopback.js";
import { openRemote, type RemoteCortex } from "./client.js";
import type { RemoteOptions } from "./settings.js";

/** The inputs of the operations of these tests, as they come. */
interface Input {
  readonly id: string;
  readonly reason: string;
  readonly items: Parameters<Cortex["batch"]>[0];
  readonly atomic: boolean;
  readonly since?: string;
  readonly similar?: boolean;
}

/** The operations that these tests need, done by the store itself. */
const OPERATIONS: { readonly [path: string]: (memory: Cortex, input: Input) => Promise<unknown> } =
  {
    checkpoint: (memory) => memory.checkpoint(),
    root: (memory) => memory.root(),
    prove: (memory, { since }) => memory.prove({}, since === undefined ? {} : { since }),
    stats: async (memory) => ({ ...(await memory.stats()), data: "where the store is" }),
    list: (memory) => memory.list(),
    snapshot: (memory, { reason }) => memory.snapshot(reason),
    write: (memory, { similar: _, ...input }) => memory.write(input as unknown as WriteInput),
    configure: (memory) => memory.configure({}),
    get: async (memory, { id }) => {
      const found = await memory.get(id);
      if (found !== undefined) return found;
      throw new CortexError("ERR_NOT_FOUND", "there is no such memory");
    },
    batch: async (memory, { items, atomic }) => {
      const { results, seq } = await memory.batch(items, { atomic });
      const shown = results.map((one) =>
        one.ok ? one : { ok: false, error: { code: one.error.code, message: one.error.message } },
      );
      return { results: shown, seq };
    },
  };

const STATUS: { readonly [code: string]: number } = { ERR_NOT_FOUND: 404, ERR_INVALID: 400 };

function problemOf(error: unknown): Reply {
  if (!isCortexError(error)) return problem(500, { code: "ERR_INTERNAL", requestId: "1" });
  const { code, message, details } = error;
  return problem(STATUS[code] ?? 409, { code, detail: message, ...details });
}

/** Answers an operation as a server would. */
async function perform({ path, body }: Asked, memory: Cortex | undefined): Promise<Reply> {
  const operation = OPERATIONS[path.replace(/^\/v1\/(actors\/[^/]+\/)?/, "")];
  if (operation === undefined) return { status: 404, body: "nothing here" };
  if (memory === undefined) {
    return problem(404, { code: "ERR_NOT_FOUND", detail: "there is no store", field: "data" });
  }
  try {
    return json((await operation(memory, JSON.parse(body) as Input)) ?? null);
  } catch (error) {
    return problemOf(error);
  }
}

let data: MemoryStore;
let memory: Cortex;
let server: Loopback;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  data = new MemoryStore();
  memory = await open("memory:", { actor: "ada", kv: openMemoryKv(data) });
  server = await startLoopback((asked) => perform(asked, memory));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await server.close();
  expect((await memory.check()).ok).toBe(true);
  await memory.close();
});

async function dial(options: RemoteOptions = {}): Promise<RemoteCortex> {
  const remote = await openRemote(server.url, { retries: 0, ...options });
  opened.push(remote);
  return remote;
}

async function codeOf(work: () => unknown): Promise<ErrorCode | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof CortexError) return error.code;
    throw error;
  }
}

const paths = (): readonly string[] => server.asked.map(({ path }) => path);

describe("opening", () => {
  test("looks at the server once, and learns whose memory it is", async () => {
    const remote = await dial();
    expect(paths()).toEqual(["/v1/checkpoint"]);
    expect(remote.actor).toBe("ada");
    expect(remote.trusted()).toBe((await memory.checkpoint()).checkpoint);
  });

  test("an actor is part of every path", async () => {
    const remote = await dial({ actor: "ada" });
    await remote.stats();
    expect(paths()).toEqual(["/v1/actors/ada/checkpoint", "/v1/actors/ada/stats"]);
  });

  test("a holder of a scope is not asked for what only the owner may know", async () => {
    const remote = await dial({ scope: "handle" });
    expect(paths()).toEqual([]);
    expect([remote.actor, remote.trusted()]).toEqual(["default", undefined]);
  });

  test("a store that is not there is made, unless told not to", async () => {
    let store: Cortex | undefined;
    server.answer(async (asked) => {
      if (store === undefined && asked.path === "/v1/configure") store = memory;
      return perform(asked, store);
    });
    expect(await codeOf(() => dial({ create: false }))).toBe("ERR_NOT_FOUND");
    expect(store).toBeUndefined();
    const remote = await dial();
    expect((await remote.stats()).entries).toBe(1);
    expect(paths().filter((path) => path === "/v1/configure")).toHaveLength(1);
  });

  test.each<[string, Reply, ErrorCode]>([
    ["another server", { status: 404, body: "nothing here" }, "ERR_STORAGE"],
    [
      "Cortex at another path",
      problem(404, { code: "ERR_NOT_FOUND", detail: "x" }),
      "ERR_UNSUPPORTED",
    ],
    [
      "a page instead of an answer",
      { headers: { "Content-Type": "text/html" }, body: "hi" },
      "ERR_STORAGE",
    ],
    ["half an answer", { half: '{"checkpoint":"' }, "ERR_STORAGE"],
    ["an answer that is no checkpoint", json({ checkpoint: "x" }), "ERR_CHECKPOINT_MALFORMED"],
    ["somebody who does not let you in", problem(401, { code: "ERR_DENIED" }), "ERR_DENIED"],
  ])("%s fails here", async (_, reply, code) => {
    server.answer(() => reply);
    expect(await codeOf(() => dial())).toBe(code);
  });

  test("a checkpoint from before has to be one of the server's past", async () => {
    const { checkpoint } = await memory.checkpoint();
    await memory.write({ type: "note", text: "since" });
    const remote = await dial({ checkpoint });
    expect(remote.trusted()).toBe((await memory.checkpoint()).checkpoint);
    expect(paths()).toEqual(["/v1/prove"]);
    await using stranger = await open("memory:", { actor: "ada" });
    const other = (await stranger.checkpoint()).checkpoint;
    expect(await codeOf(() => dial({ checkpoint: other }))).toBe("ERR_FORK");
  });
});

describe("a verb", () => {
  test("goes by its row: arguments become the input, the answer becomes the verb's", async () => {
    const remote = await dial();
    const { id } = await remote.write({ type: "note", text: "there", externalId: "x" });
    expect(await remote.get("x")).toMatchObject({ id, text: "there" });
    expect(JSON.parse(server.asked.at(-1)?.body ?? "")).toEqual({ id: "x" });
    // Where the store is on the server is not told; the rest of the answer is.
    expect(await remote.stats()).toEqual(await memory.stats());
    const failed = await remote.batch(
      [{ write: { type: "note", text: "a" } }, { update: { id: "nobody", text: "b" } }],
      { atomic: false },
    );
    const [, second] = failed.results;
    expect(second?.ok === false && second.error).toBeInstanceOf(CortexError);
    expect(second).toMatchObject({ ok: false, error: { code: "ERR_NOT_FOUND" } });
  });

  test("that may miss gives nothing for nothing, and fails where something else is missing", async () => {
    const remote = await dial();
    expect(await remote.get("nobody")).toBeUndefined();
    server.answer(() => problem(404, { code: "ERR_NOT_FOUND", detail: "none", field: "near.uri" }));
    expect(await codeOf(() => remote.get("nobody"))).toBe("ERR_NOT_FOUND");
    server.answer(() => problem(404, { code: "ERR_NOT_FOUND", detail: "none", field: "data" }));
    expect(await remote.get("nobody")).toBeUndefined();
    expect(await codeOf(() => remote.list())).toBe("ERR_NOT_FOUND");
  });

  test("whose arguments cannot be sent is refused, and nothing is sent", async () => {
    const remote = await dial();
    const before = server.asked.length;
    const guest = { kind: "guest" } as const;
    for (const [work, code] of [
      [() => remote.list({ access: guest }), "ERR_UNSUPPORTED"],
      [() => remote.recall("x", { countTokens: () => 1 }), "ERR_UNSUPPORTED"],
      [() => remote.list({ limit: Number.NaN }), "ERR_INVALID"],
      [() => remote.get("x", { id: "y" } as never), "ERR_UNKNOWN_FIELD"],
      [() => remote.get("x", "y" as never), "ERR_INVALID"],
      [() => remote.exportJournal("a path"), "ERR_UNSUPPORTED"],
      [() => remote.subscribe({ from: -1 }), "ERR_INVALID"],
    ] as const) {
      expect(await codeOf(work)).toBe(code);
    }
    expect(server.asked).toHaveLength(before);
    expect((await memory.stats()).entries).toBe(1);
  });

  test("that reads is asked for again; one that writes, or leaves an entry, is not", async () => {
    const remote = await dial({ retries: 2 });
    let failures = 0;
    server.answer((asked) => {
      failures += 1;
      return failures < 3 ? "cut" : perform(asked, memory);
    });
    expect(await remote.get("nobody")).toBeUndefined();
    expect(failures).toBe(3);
    for (const work of [
      () => remote.write({ type: "note", text: "perhaps" }),
      () => remote.recall("x", { audit: true }),
      () => remote.find({ type: "note", limit: 1, lateBinding: true }),
    ]) {
      failures = 0;
      expect(await codeOf(work)).toBe("ERR_STORAGE");
      expect(failures).toBe(1);
    }
  });

  test("whose answer was lost may have been done: the failure says so, and it was", async () => {
    const remote = await dial({ retries: 3 });
    server.answer(async (asked) => {
      await perform(asked, memory);
      return "cut" as const;
    });
    const lost = remote.write({ type: "note", text: "once" });
    await expect(lost).rejects.toThrow("whether it was done is not known");
    expect((await memory.list()).memories.map(({ text }) => text)).toEqual(["once"]);
  });
});

describe("the server's history", () => {
  /** Another store that shares the history so far, and answers from now on when told to. */
  async function forkedNow(): Promise<Cortex> {
    const copy = new MemoryStore();
    copy.state = data.state;
    const other = await open("memory:", { actor: "ada", kv: openMemoryKv(copy) });
    opened.push(other);
    return other;
  }

  test("is confirmed in passing when the last look is too old", async () => {
    const eager = await dial({ confirmEveryMs: 0 });
    const calm = await dial();
    const proofs = () => paths().filter((path) => path.endsWith("/prove")).length;
    await calm.list();
    expect(proofs()).toBe(0);
    await calm.confirm();
    await eager.list();
    await eager.list();
    expect(proofs()).toBe(3);
  });

  test("that forks is refused, and so is every call after it", async () => {
    const remote = await dial();
    const other = await forkedNow();
    await remote.write({ type: "note", text: "only here" });
    await remote.snapshot("seen");
    const seen = remote.trusted();
    await other.write({ type: "note", text: "only there" });
    await other.write({ type: "note", text: "and more" });
    server.answer((asked) => perform(asked, other));
    expect(await codeOf(() => remote.checkpoint())).toBe("ERR_FORK");
    server.answer((asked) => perform(asked, memory));
    const before = server.asked.length;
    expect(await codeOf(() => remote.get("x"))).toBe("ERR_FORK");
    expect(await codeOf(() => remote.subscribe({ from: 0 }))).toBe("ERR_FORK");
    expect(await codeOf(() => remote.exportJournal(() => {}))).toBe("ERR_FORK");
    expect(server.asked).toHaveLength(before);
    expect(remote.trusted()).toBe(seen);
    // The lost write was done on the first server: its store holds it and is sound.
    expect((await memory.list()).memories).toHaveLength(1);
  });

  test("that ends earlier than before is rolled back", async () => {
    const remote = await dial({ confirmEveryMs: 0 });
    const other = await forkedNow();
    await remote.write({ type: "note", text: "only here" });
    await remote.confirm();
    server.answer((asked) => perform(asked, other));
    expect(await codeOf(() => remote.list())).toBe("ERR_ROLLED_BACK");
  });

  test("an answer of a verb counts only if the history holds", async () => {
    const remote = await dial({ confirmEveryMs: 0 });
    await memory.write({ type: "note", text: "there", externalId: "x" });
    server.answer((asked) => (asked.path === "/v1/prove" ? { half: "{" } : perform(asked, memory)));
    expect(await codeOf(() => remote.get("x"))).toBe("ERR_STORAGE");
    server.answer((asked) => perform(asked, memory));
    expect(await remote.get("x")).toMatchObject({ text: "there" });
  });
});

describe("closing", () => {
  test("waits for what was asked, and refuses what is asked after it", async () => {
    const remote = await dial();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.answer(async (asked) => {
      await held;
      return perform(asked, memory);
    });
    const asked = remote.write({ type: "note", text: "before" });
    const closing = remote.close();
    expect(await codeOf(() => remote.get("x"))).toBe("ERR_CLOSED");
    expect(await codeOf(() => remote.subscribe({ from: 0 }))).toBe("ERR_CLOSED");
    expect(await codeOf(() => remote.confirm())).toBe("ERR_CLOSED");
    release();
    expect((await asked).version).toBe(1);
    await closing;
    await remote.close();
  });

  test("ends subscriptions", async () => {
    const remote = await dial();
    server.answer(() => ({ begun: ": hello\n\n", type: "text/event-stream" }));
    const following = remote.subscribe({ from: 0 });
    const next = following.next();
    await remote.close();
    expect((await next).done).toBe(true);
  });
});
