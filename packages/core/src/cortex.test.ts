/** The facade and `open`: names, places, life and death of a handle. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { VERBS } from "./contract/index.js";
import { OpenCortex } from "./cortex.js";
import { isCortexError } from "./errors.js";
import { MemoryStore, openMemoryKv } from "./kv/memory-backend.js";
import { type OpenOptions, open } from "./open.js";
import { openTestStore } from "./testing/index.js";

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "cortex-open-"));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function codeOf(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (isCortexError(error)) return error.code;
    throw error;
  }
  return "none";
}

describe("open", () => {
  test("a new store is born once and knows itself", async () => {
    await using store = await openTestStore({ actor: "grace", backend: "lmdb" });
    const { genesis, actor, manifest } = store.memory;
    expect(actor).toBe("grace");
    expect(genesis).toMatchObject({ format: 1, actor: "grace", suite: "sha256" });
    expect(genesis.storeId).toMatch(/^[0-9a-f]{32}$/);
    expect(manifest.name).toMatch(/^(lmdb|postgres)$/);
    const again = await store.reopen();
    expect(again.genesis).toEqual(genesis);
    expect((await again.stats()).entries).toBe(1);
  });

  test("a folder holds one store for each actor", async () => {
    await inFolder(async (folder) => {
      {
        await using ada = await open(folder, { actor: "ada" });
        await using bob = await open(folder, { actor: "bob" });
        await ada.write({ type: "note", text: "mine", externalId: "x" });
        expect(await bob.get("x")).toBeUndefined();
      }
      await using again = await open(folder, { actor: "ada" });
      expect((await again.get("x"))?.text).toBe("mine");
      expect(existsSync(join(folder, "bob"))).toBe(true);
    });
  });

  test("a store that is not there is created, unless told not to", async () => {
    await inFolder(async (folder) => {
      expect(await codeOf(() => open(folder, { create: false }))).not.toBe("none");
      expect(existsSync(join(folder, "default"))).toBe(false);
      await using memory = await open(folder);
      expect(memory.actor).toBe("default");
    });
  });

  test("an option that nobody reads is refused, and those that are read are named", async () => {
    const options = { embeder: {} } as OpenOptions;
    await expect(open("memory:", options)).rejects.toMatchObject({
      code: "ERR_UNKNOWN_FIELD",
      message:
        "embeder: expected one of the fields actor, create, principal, relaxedDurability, clock, random, embedder, model, rateLimits, jobs, verifyReads, kv, got an unknown field",
      details: { field: "embeder" },
    });
    // What only the client of a server takes is none of a folder's.
    await inFolder(async (folder) => {
      expect(await codeOf(() => open(folder, { token: "t" } as OpenOptions))).toBe(
        "ERR_UNKNOWN_FIELD",
      );
      expect(existsSync(join(folder, "default"))).toBe(false);
    });
    expect(await codeOf(() => open("memory:", 5 as never))).toBe("ERR_INVALID");
  });

  test.each(["file:./foo", "file:///foo", "sqlite:./foo", "redis://host"])(
    "%s is no folder: refused before anything is made",
    async (location) => {
      expect(await codeOf(() => open(location))).toBe("ERR_UNSUPPORTED");
      expect(existsSync(location)).toBe(false);
    },
  );

  test("a folder whose name has a colon is opened when it is written as one", async () => {
    await inFolder(async (folder) => {
      await using memory = await open(join(folder, "a:b"));
      expect(memory.actor).toBe("default");
    });
  });

  test("memory: keeps nothing and shares nothing", async () => {
    await using a = await open("memory:");
    await a.write({ type: "note", text: "n", externalId: "x" });
    await using b = await open("memory:");
    expect(await b.get("x")).toBeUndefined();
  });

  test("another actor's store is refused, and stays as it is", async () => {
    const data = new MemoryStore();
    await (await open("memory:", { actor: "ada", kv: openMemoryKv(data) })).close();
    const other = () => open("memory:", { actor: "bob", kv: openMemoryKv(data) });
    expect(await codeOf(other)).toBe("ERR_ACTOR_MISMATCH");
    await using ada = await open("memory:", { actor: "ada", kv: openMemoryKv(data) });
    expect((await ada.stats()).entries).toBe(1);
  });

  const names = ["..", "a/b", "a\\b", "", ".", ".a", "-a", "a..b", "a.", "CON", "con", "nul.txt"];
  for (const actor of [...names, "Ada", "a b", "é", "a\u0000", "a".repeat(65), "\ud800", 5]) {
    test(`the actor ${JSON.stringify(actor)} is refused and leaves nothing behind`, async () => {
      await inFolder(async (folder) => {
        const place = join(folder, "data");
        const call = () => open(place, { actor: actor as string });
        await expect(call()).rejects.toMatchObject({
          code: "ERR_BAD_NAME",
          details: { field: "actor" },
        });
        expect(existsSync(place)).toBe(false);
      });
    });
  }

  test("names that are safe are taken as they are", async () => {
    for (const actor of ["a", "0", "a.b-c_d", "a".repeat(64), "console"]) {
      await using memory = await open("memory:", { actor });
      expect(memory.actor).toBe(actor);
    }
  });

  test("places that are none are refused", async () => {
    expect(await codeOf(() => open(""))).toBe("ERR_INVALID");
    expect(await codeOf(() => open(5 as never))).toBe("ERR_INVALID");
    expect(await codeOf(() => open("memory:", { principal: "" }))).toBe("ERR_INVALID");
    expect(await codeOf(() => open("memory:", { principal: "p".repeat(65) }))).toBe(
      "ERR_TOO_LARGE",
    );
  });
});

describe("a handle", () => {
  test("the principal of the handle signs what no call signs", async () => {
    await using store = await openTestStore({ principal: "door-7" });
    const { memory } = store;
    const { id } = await memory.write({ type: "note", text: "n" });
    expect((await memory.get(id))?.versionRecord.createdBy).toBe("door-7");
    expect((await memory.log()).entries.map(({ by }) => by)).toEqual(["door-7", "door-7"]);
  });

  test("closing waits for what is queued, and then nothing works", async () => {
    const data = new MemoryStore();
    const memory = await open("memory:", { kv: openMemoryKv(data) });
    const pending = Promise.all(
      Array.from({ length: 5 }, (_, at) => memory.write({ type: "note", text: `${at}` })),
    );
    await memory.close();
    expect(await pending).toHaveLength(5);
    await memory.close();
    expect(await codeOf(() => memory.write({ type: "note", text: "n" }))).toBe("ERR_CLOSED");
    expect(await codeOf(() => memory.list())).toBe("ERR_CLOSED");
    expect(await codeOf(() => memory.stats())).toBe("ERR_CLOSED");
    await using again = await open("memory:", { kv: openMemoryKv(data) });
    expect((await again.stats()).memories.active).toBe(5);
  });

  test("the same seed and clock give the same ids, times and entries", async () => {
    const run = async () => {
      await using store = await openTestStore({ seed: 99 });
      const { memory } = store;
      const a = await memory.write({ type: "fact", slot: "s", text: "a" });
      await memory.write({ type: "fact", slot: "s", text: "b" });
      await memory.remember([{ role: "user", content: "c" }], { session: "s" });
      return { id: a.id, log: await memory.log() };
    };
    expect(await run()).toEqual(await run());
  });

  test("two handles on one store never lose a write", async () => {
    const data = new MemoryStore();
    await using a = await open("memory:", { kv: openMemoryKv(data) });
    await using b = await open("memory:", { kv: openMemoryKv(data) });
    const { id } = await a.write({ type: "fact", text: "0" });
    await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        (at % 2 === 0 ? a : b).update(id, { text: `text ${at}` }),
      ),
    );
    expect(await a.history(id)).toHaveLength(31);
    expect(await b.history(id)).toHaveLength(31);
    expect((await a.stats()).entries).toBe(32);
  });

  test("every verb that is declared is a method, and no other is", () => {
    const own = Object.getOwnPropertyNames(OpenCortex.prototype);
    // `scopeAccess` makes an access, and asks for none.
    const others = ["constructor", "close", "call", "scopeAccess"];
    const verbs = own.filter((name) => !others.includes(name)).sort();
    expect(verbs).toEqual(Object.keys(VERBS).sort());
  });
});
