/**
 * `cortex copy` as a process of its own: a folder into a database and back into a folder, with the same roots; killed in
 * the middle, the same command goes on, and no graph is there by halves.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { open, openHub } from "@cortex-memory/core";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { hubIn } from "../../core/src/testing/fixtures.js";
import { startPglite } from "../../core/test/pglite-server.js";
import { startPostgres, whyNoPostgres } from "../../core/test/postgres-server.js";
import { MAIN, makePlace, type Place } from "./cortex-process.js";

const GRAPHS = ["ada", "bob", "cyd", "dan", "eve"] as const;
const NOTES = 500;

let server: { readonly url: string; stop(): Promise<void> };
let place: Place;
beforeAll(async () => {
  server = await (whyNoPostgres() === undefined ? startPostgres() : startPglite());
});
afterAll(() => server?.stop());
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

/** A folder with several graphs, something forgotten and a snapshot in each. */
async function fill(folder: string): Promise<void> {
  for (const actor of GRAPHS) {
    await using memory = await open(folder, { actor, relaxedDurability: true });
    const { results } = await memory.batch(
      Array.from({ length: NOTES }, (_, at) => ({
        write: { type: "note" as const, text: `${actor} writes note ${at}` },
      })),
    );
    await memory.snapshot("before");
    const [first] = results;
    if (first?.ok === true) await memory.forget(first.id, "asked");
  }
}

async function rootsOf(location: string): Promise<Readonly<Record<string, string>>> {
  await using hub = await openHub(location, { create: false });
  const { graphs, problems } = await hub.listGraphs();
  expect(problems).toEqual([]);
  const roots: Record<string, string> = {};
  for (const { id } of graphs) roots[id] = await hub.use(id, async (m) => (await m.root()).root);
  return roots;
}

async function copied(from: string, to: string): Promise<Record<string, unknown>> {
  const { exit, out, err } = await place.apart(["copy", from, to, "--json"]);
  expect([exit, err.includes("ERR_")]).toEqual([0, false]);
  return JSON.parse(out) as Record<string, unknown>;
}

test("a folder goes into a database and back, with a kill -9 on each way: the same roots", async () => {
  const [first, last] = [join(place.folder, "first"), join(place.folder, "last")];
  const database = hubIn(server.url);
  await fill(first);
  const roots = await rootsOf(first);
  expect(Object.keys(roots).sort()).toEqual([...GRAPHS]);
  for (const [from, to, there] of [
    [first, database, () => graphsInDatabase(database)],
    [database, last, () => graphsInFolder(last)],
  ] as const) {
    await killed(from, to, there);
    const left = await rootsOf(to);
    const kept = Object.keys(left);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(GRAPHS.length);
    for (const graph of kept) expect(left[graph]).toBe(roots[graph]);
    expect(await copied(from, to)).toMatchObject({
      ...{ ok: true, failed: [], same: kept.length, copied: GRAPHS.length - kept.length },
    });
    expect(await rootsOf(to)).toEqual(roots);
    expect(await copied(from, to)).toMatchObject({ copied: 0, same: GRAPHS.length, entries: 0 });
  }
  await using hub = await openHub(last);
  expect(await hub.use("eve", (memory) => memory.check())).toMatchObject({ ok: true });
});

/** Runs a copy and ends it by force when one graph is there and others are not. */
async function killed(from: string, to: string, there: () => Promise<number>): Promise<void> {
  const child = spawn(process.execPath, [MAIN, "copy", from, to], {
    stdio: "ignore",
    env: { ...process.env, HOME: place.home },
  });
  // On a busy machine too, whoever kills it must not come too late.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const ended = once(child, "exit");
  while ((await there()) < 1 && child.exitCode === null) await wait(5);
  child.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
}

async function graphsInDatabase(location: string): Promise<number> {
  const url = new URL(location);
  const hub = url.searchParams.get("hub");
  url.search = "";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    const { rows } = await client.query(
      "SELECT count(*)::int AS count FROM cortex_heads WHERE actor = ANY ($1) AND slot = 0 AND head IS NOT NULL",
      [GRAPHS.map((graph) => `${hub}/${graph}`)],
    );
    return rows[0].count;
  } catch {
    // The tables are being made this very moment.
    return 0;
  } finally {
    await client.end();
  }
}

async function graphsInFolder(folder: string): Promise<number> {
  let count = 0;
  for (const actor of GRAPHS) {
    try {
      await using memory = await open(folder, { actor, create: false });
      if ((await memory.stats()).entries > NOTES) count += 1;
    } catch {
      // Not there yet, or in the making.
    }
  }
  return count;
}
