/**
 * A forged slice is refused at every door, with a name: the command line and REST are given every kind of
 * forgery that the library is given, once for each place of the document.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestStore } from "../../core/src/testing/index.js";
import { type Forgery, filled, forgeries, LIFECYCLES } from "../../core/test/forgeries.js";
import { makePlace, type Place } from "./cortex-process.js";
import { startTestServer, type TestServer } from "./http-server.js";

let place: Place;
let server: TestServer;
let slice: { readonly checkpoint: string };
let forged: readonly Forgery[];

beforeAll(async () => {
  place = makePlace();
  server = await startTestServer();
  await using store = await openTestStore();
  const ids = await filled(store.memory);
  slice = await store.memory.share({ ids, lifecycles: LIFECYCLES });
  const notes = await store.memory.share({ types: ["note"] });
  const none = await store.memory.share({ tags: ["nobody has it"] });
  // Of places that differ by their numbers alone, one will do.
  const kinds = new Map<string, Forgery>();
  for (const other of [notes, none]) {
    for (const one of forgeries(slice, other)) kinds.set(one.name.replace(/\d+/g, "n"), one);
  }
  forged = [...kinds.values()];
  expect(forged.length).toBeGreaterThan(100);
});

afterAll(async () => {
  await server.close();
  place.remove();
});

test("the slice itself holds at both", async () => {
  const document = JSON.stringify(slice);
  const { json } = await server.post("/v1/verify", { document, checkpoint: slice.checkpoint });
  expect(json).toMatchObject({ ok: true, anchored: true });
  const file = join(place.folder, "slice.json");
  writeFileSync(file, document);
  expect(await place.json(["verify", file])).toMatchObject({ ok: true, anchored: false });
});

test("REST refuses every forgery, and names what is wrong", async () => {
  const passed: string[] = [];
  for (const { name, document } of forged) {
    const asked = { document: JSON.stringify(document), checkpoint: slice.checkpoint };
    const { status, json } = await server.post("/v1/verify", asked);
    const isNamed = /^ERR_(PROOF|CHECKPOINT)_/.test(String(json.code)) && json.message !== "";
    if (status !== 200 || json.ok !== false || !isNamed) passed.push(`${name}: ${status}`);
  }
  expect(passed).toEqual([]);
});

test("the command line refuses every forgery, and exits with 1", async () => {
  const file = join(place.folder, "forged.json");
  const passed: string[] = [];
  for (const { name, document } of forged) {
    writeFileSync(file, JSON.stringify(document));
    const { exit, out } = await place.cortex(["verify", file, "--json"]);
    const { ok, code } = JSON.parse(out) as { readonly ok: boolean; readonly code?: string };
    if (exit !== 1 || ok || !/^ERR_(PROOF|CHECKPOINT)_/.test(code ?? "")) passed.push(name);
  }
  expect(passed).toEqual([]);
});
