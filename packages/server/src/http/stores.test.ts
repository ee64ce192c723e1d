/** Which store a request gets; that it is open once, kept while used, closed when idle, and never under somebody's hands. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
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
const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
const make = (options: { readonly idleMs?: number; readonly maxOpen?: number } = {}): Stores =>
  new Stores({ location: folder, isFolder, ...options });

/** Whose stores are open now, the longest unused first. */
const openIn = (some: Stores): Promise<readonly string[]> =>
  some.hub.eachOpen(async ({ actor }) => actor);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cortex-stores-"));
  stores = make();
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
  expect(await openIn(stores)).toEqual(["ada", "grace"]);
});

test("a read makes no store, a name that is none is refused, and no store is needed for some", async () => {
  await expect(stores.use(get, "nobody", note)).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  await expect(stores.use(write, "../etc", note)).rejects.toMatchObject({ code: "ERR_BAD_NAME" });
  expect(await stores.use(config, "nobody", (memory) => memory.config())).toBeDefined();
  expect(await stores.use(verify, "nobody", async () => "done")).toBe("done");
  expect(await openIn(stores)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});

test("a folder without a store in it is a fault, not an absence, until something is written", async () => {
  mkdirSync(join(folder, "ada"));
  const read = (memory: Cortex) => memory.stats();
  await expect(stores.use(get, "ada", read)).rejects.toMatchObject({ code: "ERR_FORMAT_UNKNOWN" });
  await expect(stores.checkReadable("ada")).rejects.toMatchObject({ code: "ERR_FORMAT_UNKNOWN" });
  await stores.use(write, "ada", note);
  expect((await stores.use(get, "ada", read)).entries).toBe(2);
});

test("what an operation does not find stays what it is", async () => {
  await stores.use(write, "ada", note);
  const missing = stores.use(write, "ada", (memory) =>
    memory.update("nobody", { text: "x", basedOnVersion: 1 }),
  );
  await expect(missing).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
});

test("stores that are used by their actors alone leave no catalogue behind", async () => {
  await stores.use(write, "ada", note);
  await stores.close();
  expect(readdirSync(folder)).toEqual(["ada"]);
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
    while ((await openIn(stores)).length > 1) await nextTurn();
    expect(await openIn(stores)).toEqual(["busy"]);
    finish();
    expect((await work).seq).toBe(1);
    // It opens again when it is asked for.
    expect((await stores.use(get, "idle", (memory) => memory.stats())).entries).toBe(2);
  });

  test("no more than so many are kept; whoever was used last stays", async () => {
    await stores.close();
    stores = make({ maxOpen: 2 });
    for (const actor of ["a", "b"]) await stores.use(write, actor, note);
    await stores.use(get, "a", (memory) => memory.stats());
    await stores.use(write, "c", note);
    expect(await openIn(stores)).toEqual(["a", "c"]);
  });

  test("the end waits for what is being done, and takes nothing more", async () => {
    const order: string[] = [];
    let finish = (): void => {};
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const work = stores.use(write, "ada", async (memory) => {
      await new Promise<void>((resolve) => {
        finish = resolve;
        begin();
      });
      await note(memory);
      order.push("done");
    });
    await begun;
    const closed = stores.close().then(() => order.push("closed"));
    await expect(stores.use(write, "ada", note)).rejects.toMatchObject({ code: "ERR_CLOSED" });
    finish();
    await Promise.all([work, closed]);
    expect(order).toEqual(["done", "closed"]);
  });

  test("a store that cannot be opened is tried again, not remembered", async () => {
    const broken = new Stores({ location: "ftp://nowhere", isFolder: () => true });
    for (let at = 0; at < 2; at += 1) {
      await expect(broken.use(get, "ada", note)).rejects.toMatchObject({ code: "ERR_UNSUPPORTED" });
    }
    expect(await openIn(broken)).toEqual([]);
    await broken.close();
  });
});

test("stores that are not kept stay open", async () => {
  const few = { idleMs: 10, maxOpen: 1 };
  const unkept = new Stores({ location: "memory:", isFolder: () => false, ...few });
  await unkept.use(write, "a", note);
  await unkept.use(write, "b", note);
  // One that is kept shows when the time to close has come.
  const witness = make(few);
  await witness.use(write, "a", note);
  while ((await openIn(witness)).length > 0) await nextTurn();
  expect((await unkept.use(get, "a", (memory) => memory.stats())).entries).toBe(2);
  await Promise.all([unkept.close(), witness.close()]);
});
