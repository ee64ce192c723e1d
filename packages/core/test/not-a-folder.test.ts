/**
 * A place that cannot be a folder of stores, because it is a file or lies below one, is
 * refused as trouble with storage that names the place, by every way of opening it and never as a fault of
 * the program.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isCortexError, open, openHub } from "../src/index.js";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cortex-places-"));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const WAYS: { readonly [way: string]: (place: string) => Promise<unknown> } = {
  open: (place) => open(place, { actor: "ada" }),
  "open without creating": (place) => open(place, { actor: "ada", create: false }),
  hub: async (place) => {
    await using hub = await openHub(place);
    return hub.listGraphs();
  },
};

async function expectRefused(place: string): Promise<void> {
  for (const [way, attempt] of Object.entries(WAYS)) {
    const error: unknown = await attempt(place).catch((failure: unknown) => failure);
    const said = isCortexError(error) ? [way, error.code] : [way, error];
    expect(said).toEqual([way, expect.stringMatching(/^ERR_(STORAGE|NOT_FOUND)$/)]);
    expect(String(error)).toContain(place);
  }
}

test("a file", async () => {
  const file = join(root, "file");
  writeFileSync(file, "not a folder");
  await expectRefused(file);
});

test("a place below a file", async () => {
  const file = join(root, "file");
  writeFileSync(file, "not a folder");
  await expectRefused(join(file, "below"));
});

test("an actor's place that is a file", async () => {
  const place = join(root, "stores");
  mkdirSync(place);
  writeFileSync(join(place, "ada"), "not a folder");
  for (const create of [true, false]) {
    const error: unknown = await open(place, { actor: "ada", create }).catch((one: unknown) => one);
    expect([create, isCortexError(error) ? error.code : error]).toEqual([
      create,
      expect.stringMatching(/^ERR_/),
    ]);
  }
});
