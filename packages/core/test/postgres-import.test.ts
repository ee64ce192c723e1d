/**
 * An import into a database that is broken off leaves what it had built, and the next one goes on behind it: after every
 * entry was held against the file, and without disturbing whoever is still at it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Cortex, importJournal, open } from "../src/index.js";
import { around, type Kv } from "../src/kv/kv.js";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { countingKv } from "../src/testing/counting-kv.js";
import { hubIn } from "../src/testing/fixtures.js";
import { exported, inPieces } from "./moves-support.js";
import { cleanUp, isUnbuilt, temporaryFolder } from "./other-process.js";
import { startPglite } from "./pglite-server.js";
import { startPostgres, whyNoPostgres } from "./postgres-server.js";

const UNBUILT = isUnbuilt();
const NOTES = 2200;

let server: { readonly url: string; stop(): Promise<void> };
beforeAll(async () => {
  server = await (whyNoPostgres() === undefined ? startPostgres() : startPglite());
});
afterAll(() => server?.stop());
afterEach(cleanUp);

interface Source {
  readonly memory: Cortex;
  /** The first note. */
  readonly first: string;
  readonly bytes: Uint8Array;
  readonly root: string;
}

/** A graph of several commits, with a snapshot among them. */
async function makeSource(): Promise<Source> {
  const memory = await open("memory:", { actor: "ada" });
  const many = (from: number, to: number) =>
    memory.batch(
      Array.from({ length: to - from }, (_, at) => ({
        write: { type: "note" as const, text: `note number ${from + at}` },
      })),
    );
  const { results } = await many(0, 600);
  await memory.snapshot("in the middle");
  await many(600, NOTES);
  const [first] = results;
  const { bytes, report } = await exported(memory);
  return { memory, first: first?.ok === true ? first.id : "", bytes, root: report.root };
}

/** A file of which the end does not come until it is let go. */
function heldBack(bytes: Uint8Array, part: number) {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const at = Math.floor(bytes.length * part);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield* inPieces(bytes.subarray(0, at));
    await held;
    yield* inPieces(bytes.subarray(at));
  }
  return { chunks: chunks(), release };
}

/** The generations of a graph that have a head row: how many entries' rows of the journal each has. */
async function generations(location: string): Promise<readonly { slot: number; rows: number }[]> {
  const url = new URL(location);
  const actor = `${url.searchParams.get("hub")}/ada`;
  url.search = "";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT h.slot, (SELECT count(*)::int FROM cortex_rows AS r WHERE r.actor = h.actor
          AND r.generation = h.generation AND substring(r.key FROM 1 FOR 1) = '\\x01') AS rows
        FROM cortex_heads AS h WHERE h.actor = $1 ORDER BY h.slot`,
      [actor],
    );
    return rows;
  } catch {
    // The tables are being made this very moment.
    return [];
  } finally {
    await client.end();
  }
}

/** A store that counts what is committed into generations that were left or are new. */
async function counted(location: string) {
  const inner = await openPostgresKv(location, "ada");
  const counts = { left: 0, fresh: 0 };
  const counting = (kv: Kv, name: "left" | "fresh"): Kv => {
    const all = countingKv(kv);
    return around(all, {
      commit(change) {
        counts[name] += 1;
        return all.commit(change);
      },
    });
  };
  const kv = around(inner, {
    async nextGeneration() {
      const generation = await inner.nextGeneration();
      return { ...generation, kv: counting(generation.kv, "fresh") };
    },
    async leftGeneration() {
      const generation = await inner.leftGeneration?.();
      return generation && { ...generation, kv: counting(generation.kv, "left") };
    },
  });
  return { kv, counts };
}

const bring = (location: string, bytes: Uint8Array, kv?: Kv) =>
  importJournal(location, inPieces(bytes), { actor: "ada", ...(kv === undefined ? {} : { kv }) });

/** Begins an import that stands still in the middle; what it has built by then is there to be gone on with. */
async function standing(location: string, { bytes }: Source) {
  const { chunks, release } = heldBack(bytes, 0.8);
  const importing = importJournal(`${location}&pool=21`, chunks, { actor: "ada" });
  importing.catch(() => undefined);
  const built = async (): Promise<number> => (await generations(location))[0]?.rows ?? 0;
  // All that it was given and that fills a commit.
  await expect.poll(built).toBeGreaterThan(1000);
  return { importing, release };
}

describe("an import that was broken off", () => {
  test("is gone on with behind what is there, and who is still at it is told that the graph is there", async () => {
    const source = await makeSource();
    const location = hubIn(server.url);
    const { importing, release } = await standing(location, source);
    const { kv, counts } = await counted(location);
    const report = await bring(location, source.bytes, kv);
    expect(report).toMatchObject({ root: source.root });
    expect(counts).toEqual({ left: expect.any(Number), fresh: 0 });
    // Of two thousand entries some hundred were left to do, and the row of the snapshot.
    expect(counts.left).toBeGreaterThan(0);
    expect(counts.left).toBeLessThanOrEqual(4);
    await kv.close();
    release();
    await expect(importing).rejects.toMatchObject({ code: "ERR_EXISTS" });
    await using memory = await open(location, { actor: "ada" });
    expect(await memory.check()).toMatchObject({ ok: true, entries: report.entries });
    expect(await memory.snapshots()).toEqual(await source.memory.snapshots());
    expect((await memory.search("2199")).hits).toHaveLength(1);
    expect(await generations(location)).toEqual([{ slot: 0, rows: report.entries }]);
    await source.memory.close();
  });

  test("does not bring back what was forgotten since: from there on it is built anew", async () => {
    const source = await makeSource();
    const location = hubIn(server.url);
    const { importing, release } = await standing(location, source);
    await source.memory.forget(source.first, "asked");
    const { bytes, report: told } = await exported(source.memory);
    const { kv, counts } = await counted(location);
    const report = await bring(location, bytes, kv);
    expect(report.root).toBe(told.root);
    expect(counts.left).toBe(0);
    expect(counts.fresh).toBeGreaterThan(2);
    await kv.close();
    release();
    await expect(importing).rejects.toMatchObject({ code: "ERR_EXISTS" });
    await using memory = await open(location, { actor: "ada" });
    expect(await memory.get(source.first)).toBeUndefined();
    expect(await memory.check()).toMatchObject({ ok: true });
    // Nor is it in rows that nobody reads any more.
    expect(await generations(location)).toEqual([{ slot: 0, rows: report.entries }]);
    await source.memory.close();
  });

  test("of another store is left alone", async () => {
    const [source, other] = [await makeSource(), await makeSource()];
    const location = hubIn(server.url);
    const { importing, release } = await standing(location, source);
    const { kv, counts } = await counted(location);
    expect(await bring(location, other.bytes, kv)).toMatchObject({ root: other.root });
    expect(counts.left).toBe(0);
    await kv.close();
    release();
    await expect(importing).rejects.toMatchObject({ code: "ERR_EXISTS" });
    for (const { memory } of [source, other]) await memory.close();
  });

  test.skipIf(UNBUILT)("by kill -9 is gone on with by the same call", async () => {
    const source = await makeSource();
    const location = hubIn(server.url);
    const file = join(temporaryFolder(), "journal.cortex");
    writeFileSync(file, source.bytes);
    const program = `const { importJournal } = await import(process.argv[1]);
      await importJournal(process.argv[2], process.argv[3], { actor: "ada" });`;
    const core = new URL("../dist/index.js", import.meta.url).href;
    const words = ["--input-type=module", "-e", program, core, `${location}&pool=21`, file];
    const child = spawn(process.execPath, words, { stdio: "ignore" });
    const ended = once(child, "exit");
    const built = async (): Promise<number> => (await generations(location))[0]?.rows ?? 0;
    while ((await built()) === 0 && child.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    child.kill("SIGKILL");
    expect(await ended).toEqual([null, "SIGKILL"]);
    await expect(open(location, { actor: "ada", create: false })).rejects.toMatchObject({
      code: "ERR_FORMAT_UNKNOWN",
    });
    const { kv, counts } = await counted(location);
    const report = await bring(location, source.bytes, kv);
    expect(report).toMatchObject({ root: source.root });
    expect(counts.fresh).toBe(0);
    await kv.close();
    await using memory = await open(location, { actor: "ada" });
    expect(await memory.check()).toMatchObject({ ok: true });
    expect(await generations(location)).toEqual([{ slot: 0, rows: report.entries }]);
    await source.memory.close();
  });
});
