/** Stores are opened once, kept while used, closed when idle, and never under somebody's hands. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Cortex } from "@cortex-memory/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OPERATIONS } from "../operations.js";
import { Stores } from "./stores.js";

const [write, get, config, verify] = ["write", "get", "config", "verify"].map((name) => {
  const found = OPERATIONS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}) as [
  (typeof OPERATIONS)[number],
  (typeof OPERATIONS)[number],
  (typeof OPERATIONS)[number],
  (typeof OPERATIONS)[number],
];

let folder: string;
let stores: Stores;
let now = 0;
const make = (options: { readonly idleMs?: number; readonly openMax?: number } = {}): Stores =>
  new Stores({
    location: folder,
    isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    nowMs: () => now,
    ...options,
  });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cortex-stores-"));
  stores = make();
  now = 0;
});
afterEach(async () => {
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const note = (memory: Cortex) => memory.write({ type: "note", kind: "x", text: "y" });

test("one store per actor, shared by all who ask at once", async () => {
  const seen = await Promise.all(
    Array.from({ length: 20 }, () => stores.use(write, "ada", async (memory) => memory)),
  );
  expect(new Set(seen).size).toBe(1);
  const other = await stores.use(write, "grace", async (memory) => memory);
  expect(other.actor).toBe("grace");
  expect(await stores.opened()).toHaveLength(2);
});

test("a read makes no store, a name that is none is refused, and no store is needed for some", async () => {
  await expect(stores.use(get, "nobody", note)).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  await expect(stores.use(write, "../etc", note)).rejects.toMatchObject({ code: "ERR_BAD_NAME" });
  expect(await stores.use(config, "nobody", (memory) => memory.config())).toBeDefined();
  expect(await stores.use(verify, "nobody", async () => "done")).toBe("done");
  expect(await stores.opened()).toEqual([]);
});

describe("closing", () => {
  test("an idle store is closed, one in use is not", async () => {
    await stores.close();
    stores = make({ idleMs: 20 });
    let finish = (): void => {};
    const work = stores.use(write, "busy", async (memory) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return note(memory);
    });
    await stores.use(write, "idle", note);
    now = 1000;
    while ((await stores.opened()).length > 1) await nextTurn();
    expect((await stores.opened()).map(({ actor }) => actor)).toEqual(["busy"]);
    finish();
    expect((await work).seq).toBe(1);
    // It opens again when it is asked for.
    expect((await stores.use(get, "idle", (memory) => memory.stats())).entries).toBe(2);
  });

  test("no more than so many are kept; whoever was used last stays", async () => {
    await stores.close();
    stores = make({ openMax: 2 });
    for (const actor of ["a", "b"]) await stores.use(write, actor, note);
    await stores.use(get, "a", (memory) => memory.stats());
    await stores.use(write, "c", note);
    expect((await stores.opened()).map(({ actor }) => actor)).toEqual(["a", "c"]);
  });

  test("the end waits for what is being done, and takes nothing more", async () => {
    const order: string[] = [];
    let finish = (): void => {};
    const work = stores.use(write, "ada", async (memory) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      await note(memory);
      order.push("done");
    });
    await stores.opened();
    const closed = stores.close().then(() => order.push("closed"));
    await expect(stores.use(write, "ada", note)).rejects.toMatchObject({ code: "ERR_CLOSED" });
    finish();
    await Promise.all([work, closed]);
    expect(order).toEqual(["done", "closed"]);
  });

  test("a store that cannot be opened is tried again, not remembered", async () => {
    const broken = new Stores({
      location: "ftp://nowhere",
      isFolder: () => true,
      nowMs: () => now,
    });
    for (let at = 0; at < 2; at += 1) {
      await expect(broken.use(get, "ada", note)).rejects.toMatchObject({ code: "ERR_UNSUPPORTED" });
    }
    expect(await broken.opened()).toEqual([]);
    await broken.close();
  });
});

test("stores that are not kept stay open", async () => {
  const few = { nowMs: () => now, idleMs: 10, openMax: 1 };
  const unkept = new Stores({ location: "memory:", isFolder: () => false, ...few });
  await unkept.use(write, "a", note);
  await unkept.use(write, "b", note);
  // One that is kept shows when the time to close has come.
  const witness = make({ idleMs: 10 });
  await witness.use(write, "a", note);
  now = 10_000;
  while ((await witness.opened()).length > 0) await nextTurn();
  expect((await unkept.use(get, "a", (memory) => memory.stats())).entries).toBe(2);
  await Promise.all([unkept.close(), witness.close()]);
});
