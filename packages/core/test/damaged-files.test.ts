/**
 * Damage to the file of a store: cut short, pages zeroed, single bits turned.
 *
 * A file that is too short for its own pages is refused before anything maps it, whatever its length. A
 * page that is gone is found without the engine and named. And wherever a single bit is turned, nobody
 * gets wrong words: the pages tell, a read refuses, or `check` finds what no longer shows. Bits are turned
 * for a process of its own, which a damaged file may end; here none does.
 */
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { examineStore, quarantinedStores } from "../src/doors.js";
import { open, openHub } from "../src/index.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { assertWhole, walkPages } from "../src/kv/lmdb-pages.js";
import { memgraph } from "../src/memgraph/index.js";
import { seededRandom } from "../src/testing/index.js";
import { cleanUp, isUnbuilt, seedOfRun, startProgram, temporaryFolder } from "./other-process.js";

const SEED = seedOfRun("damaged files");
const PAGE = 4096;

afterEach(cleanUp);

/** A closed store with long and short values, links, changes and things forgotten; its texts by name. */
async function filled(folder: string): Promise<Readonly<Record<string, string>>> {
  const random = seededRandom(7).bytes;
  let now = Date.UTC(2030, 0, 1);
  const clock = (): number => ++now;
  await using memory = await open(folder, { actor: "ada", clock, random });
  const good: Record<string, string> = {};
  const write = async (name: string, text: string): Promise<void> => {
    await memory.write({ type: "note", externalId: name, text, tags: [`tag ${name.length}`] });
    good[name] = text;
  };
  for (let n = 0; n < 40; n += 1) await write(`note-${n}`, `Note ${n} of the house by the river`);
  await write("long", "a long value ".repeat(900));
  await memory.update("note-3", { text: "changed" });
  good["note-3"] = "changed";
  await memory.link("note-1", "supports", "note-2", { reason: "because" });
  await memory.write({ type: "note", externalId: "gone", text: "to be forgotten" });
  await memory.forget("gone", "asked to");
  return good;
}

const fileIn = (folder: string): string => join(folder, "ada", "g000001.mdb");

/** A copy of a store's file alone, in a folder of its own. */
function copied(folder: string): string {
  const copy = temporaryFolder();
  mkdirSync(join(copy, "ada"));
  copyFileSync(fileIn(folder), fileIn(copy));
  return copy;
}

describe("a file that is cut short", () => {
  test("every length is refused before the file is mapped, and nothing is written", async () => {
    const folder = temporaryFolder();
    await filled(folder);
    const { length } = readFileSync(fileIn(folder));
    const random = seededRandom(SEED);
    const lengths = new Set([0, 1, 23, 24, 100, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE]);
    for (let page = 2; page < length / PAGE; page += 7) lengths.add(page * PAGE);
    for (let n = 0; n < 10; n += 1) lengths.add(random.below(length));
    const copy = copied(folder);
    for (const cut of [...lengths].sort((a, b) => b - a)) {
      truncateSync(fileIn(copy), cut);
      if (isWhole(fileIn(copy))) {
        // The last page was free.
        await using memory = await open(copy, { actor: "ada" });
        expect(await memory.check()).toMatchObject({ ok: true });
        continue;
      }
      for (const create of [true, false]) {
        const opened = open(copy, { actor: "ada", create });
        // A few bytes are not yet anything that could be told to be ours.
        const code = cut > 0 && cut < 28 ? "ERR_FORMAT_UNKNOWN" : "ERR_CORRUPT";
        await expect(opened, `seed ${SEED}, ${cut} bytes`).rejects.toMatchObject({ code });
      }
      expect((await examineStore(copy, "ada")).length, `${cut} bytes`).toBeGreaterThan(0);
      expect(readFileSync(fileIn(copy)).length).toBe(cut);
    }
  });

  function isWhole(path: string): boolean {
    try {
      return assertWhole(path) > 0;
    } catch {
      return false;
    }
  }

  test("pages at the end that are free need not be there", async () => {
    const folder = temporaryFolder();
    const kv = await openLmdbKv(join(folder, "ada"));
    const rows = Array.from({ length: 400 }, (_, n) => ({
      key: Uint8Array.of(9, n >> 8, n & 255),
      value: new Uint8Array(900).fill(n),
    }));
    const head = Uint8Array.of(1);
    await kv.commit({ expectHead: undefined, head, puts: rows, deletes: [] });
    // What is deleted is free only once nobody can read it any more.
    const deletes = rows.map(({ key }) => key);
    await kv.commit({ expectHead: head, head: Uint8Array.of(2), puts: [], deletes });
    for (let n = 2; n < 8; n += 1) {
      const [before, after] = [Uint8Array.of(n), Uint8Array.of(n + 1)];
      await kv.commit({ expectHead: before, head: after, puts: [], deletes: [] });
    }
    await kv.close();
    const path = fileIn(folder);
    const whole = readFileSync(path).length;
    let shortest = whole;
    for (let cut = whole - PAGE; cut >= 2 * PAGE; cut -= PAGE) {
      truncateSync(path, cut);
      try {
        assertWhole(path);
        shortest = cut;
      } catch (error) {
        expect(error).toMatchObject({ code: "ERR_CORRUPT" });
        break;
      }
    }
    expect(shortest).toBeLessThan(whole);
  });
});

test("a folder in the place of the lock file is refused by name", async () => {
  const folder = temporaryFolder();
  await filled(folder);
  rmSync(`${fileIn(folder)}-lock`);
  mkdirSync(`${fileIn(folder)}-lock`);
  const refused = { code: "ERR_STORAGE", message: expect.stringContaining("g000001.mdb-lock") };
  await expect(open(folder, { actor: "ada" })).rejects.toMatchObject(refused);
});

test("a page of zeros is found and named, wherever it was; a free one is no trouble", async () => {
  const folder = temporaryFolder();
  await filled(folder);
  const good = readFileSync(fileIn(folder));
  const used = (await walkPages(fileIn(folder))).pages;
  const zeros = Buffer.alloc(PAGE);
  let found = 0;
  const path = fileIn(copied(folder));
  for (let page = 2; page < good.length / PAGE; page += 1) {
    const file = openSync(path, "r+");
    writeSync(file, zeros, 0, PAGE, page * PAGE);
    const { problems } = await walkPages(path);
    if (problems.length > 0) {
      found += 1;
      expect(problems.join("\n")).toContain(`page ${page}`);
    }
    writeSync(file, good, page * PAGE, PAGE, page * PAGE);
    closeSync(file);
  }
  // The later pages of a long value hold bytes alone: what they say is for the hash of the entry.
  const later = Math.floor("a long value ".repeat(900).length / PAGE);
  expect(found).toBeGreaterThanOrEqual(used - later - 1);
  expect(found).toBeLessThanOrEqual(used);
});

describe("a process that ends in one of its stores", () => {
  /** A folder of two stores, and a process that was aborted in the second of them. */
  async function aborted(damage: (path: string) => void): Promise<string> {
    const folder = temporaryFolder();
    for (const actor of ["ada", "bob"]) {
      await using memory = await open(folder, { actor });
      await memory.write({ type: "note", externalId: "n", text: `of ${actor}` });
    }
    const program = startProgram("dies-in-store.mjs");
    program.send({ folder, actors: ["ada", "bob"] });
    await program.until("in");
    damage(join(folder, "bob", "g000001.mdb"));
    program.send({});
    while ((await program.next()) !== undefined);
    await program.kill();
    return folder;
  }

  test.skipIf(isUnbuilt())(
    "a damaged one is refused from the next start on, the others are served, and it heals",
    async () => {
      const folder = await aborted((path) => {
        const file = readFileSync(path);
        writeFileSync(path, file.fill(0, 2 * PAGE));
      });
      expect(await quarantinedStores(folder)).toEqual([]);
      await using hub = await openHub(folder);
      expect(await quarantinedStores(folder)).toEqual([
        { store: "bob", problem: expect.stringContaining("page ") },
      ]);
      const refused = { code: "ERR_CORRUPT", message: expect.stringContaining("under quarantine") };
      await expect(hub.use("bob", (memory) => memory.stats())).rejects.toMatchObject(refused);
      await expect(open(folder, { actor: "bob" })).rejects.toMatchObject(refused);
      expect(await hub.use("ada", async (memory) => (await memory.get("n"))?.text)).toBe("of ada");
      // Somebody brings another file: it is looked at again.
      rmSync(join(folder, "bob"), { recursive: true });
      await using again = await open(folder, { actor: "bob" });
      expect((await again.stats()).entries).toBe(1);
      expect(await quarantinedStores(folder)).toEqual([]);
    },
  );

  test.skipIf(isUnbuilt())(
    "a sound one is served: whoever was killed says nothing of it",
    async () => {
      const folder = await aborted(() => undefined);
      await using hub = await openHub(folder);
      expect(await quarantinedStores(folder)).toEqual([]);
      expect(await hub.use("bob", async (memory) => (await memory.get("n"))?.text)).toBe("of bob");
    },
  );

  /** The stores that this process names in a folder, as they stand in its file. */
  function named(folder: string): readonly string[] {
    const [file = ""] = readdirSync(folder).filter((name) => name.startsWith(".in-use-"));
    return readFileSync(join(folder, file), "latin1").trim().split(/ +/);
  }

  test("the store in use is always among the two that are named, in whatever order they are used", async () => {
    const folder = temporaryFolder();
    const random = seededRandom(SEED);
    const graphs = ["ada", "bob", "eve"];
    await using hub = await openHub(folder, { create: true });
    for (const graph of graphs) {
      await hub.use(graph, (memory) => memory.write({ type: "note", text: graph }), {
        create: true,
      });
    }
    for (let at = 0; at < 60; at += 1) {
      const graph = graphs[(random.bytes(1)[0] ?? 0) % graphs.length] ?? "";
      if (at % 2 === 0) await hub.listGraphs();
      const names = await hub.use(graph, async (memory) => {
        await memory.root();
        return named(folder);
      });
      expect(names, `call ${at}`).toContain(graph);
      expect(names.length, `call ${at}`).toBeLessThanOrEqual(2);
    }
  });

  test("of the stores that a process named, each that is damaged is refused, and no other", async () => {
    const folder = temporaryFolder();
    for (const actor of ["ada", "bob", "eve"]) {
      await using memory = await open(folder, { actor });
      await memory.write({ type: "note", externalId: "n", text: `of ${actor}` });
    }
    for (const actor of ["bob", "eve"]) {
      const path = join(folder, actor, "g000001.mdb");
      writeFileSync(path, readFileSync(path).fill(0, 2 * PAGE));
    }
    const left = ["eve", "ada", "bob"].map((name) => name.padEnd(128)).join("");
    writeFileSync(join(folder, ".in-use-999999999-0badcafe"), left);
    await using hub = await openHub(folder);
    const refused = (await quarantinedStores(folder)).map(({ store }) => store);
    expect(refused).toEqual(["bob", "eve"]);
    expect(await hub.use("ada", async (memory) => (await memory.get("n"))?.text)).toBe("of ada");
  });

  test("also where that cannot be written down, and whatever else has such a name", async () => {
    const folder = temporaryFolder();
    for (const actor of ["ada", "bob"]) {
      await using memory = await open(folder, { actor });
      await memory.write({ type: "note", externalId: "n", text: `of ${actor}` });
    }
    const path = join(folder, "bob", "g000001.mdb");
    const whole = readFileSync(path);
    writeFileSync(path, Buffer.from(whole).fill(0, 2 * PAGE));
    writeFileSync(join(folder, ".quarantine"), "");
    mkdirSync(join(folder, ".in-use-999999998-0badcafe"));
    writeFileSync(join(folder, ".in-use-999999999-0badcafe"), "bob");
    await using hub = await openHub(folder);
    expect((await quarantinedStores(folder)).map(({ store }) => store)).toEqual(["bob"]);
    const read = (actor: string) => hub.use(actor, async (memory) => (await memory.get("n"))?.text);
    await expect(read("bob")).rejects.toMatchObject({ code: "ERR_CORRUPT" });
    expect(await read("ada")).toBe("of ada");
    rmSync(path);
    writeFileSync(path, whole);
    expect(await read("bob")).toBe("of bob");
    expect(await quarantinedStores(folder)).toEqual([]);
  });

  test("a damaged catalogue is made again", async () => {
    const folder = temporaryFolder();
    {
      await using hub = await openHub(folder);
      await hub.createGraph({ id: "one", name: "One" });
      expect((await hub.listGraphs()).graphs).toHaveLength(1);
    }
    writeFileSync(join(folder, ".catalogue", "g000001.mdb"), "");
    await using hub = await openHub(folder);
    expect((await hub.listGraphs()).graphs.map(({ id }) => id)).toEqual(["one"]);
  });
});

describe("a hub with a graph whose file is damaged at its front", () => {
  const FOREIGN = Buffer.from("SQLite format 3\0".repeat(600));
  const zeroed = (from: number, to: number) => (file: Buffer) => file.fill(0, from, to);
  /** Turns a bit of the version that a meta page names. */
  const version = (page: number) => (file: Buffer) => {
    const at = page * PAGE + 28;
    file[at] = (file[at] ?? 0) ^ 4;
    return file;
  };
  const damages: readonly (readonly [string, (file: Buffer) => Buffer])[] = [
    ...[0, 1, 28, PAGE - 1, PAGE + 255, PAGE + 256, 10 * PAGE].map(
      (cut) => [`cut to ${cut} bytes`, (file: Buffer) => file.subarray(0, cut)] as const,
    ),
    ["meta page 0 zeroed", zeroed(0, PAGE)],
    ["meta page 1 zeroed", zeroed(PAGE, 2 * PAGE)],
    ["both meta pages zeroed", zeroed(0, 2 * PAGE)],
    ["a bit turned in the version of meta page 0", version(0)],
    ["a bit turned in the version of meta page 1", version(1)],
    ["something else in its place", () => FOREIGN],
  ];

  test.each([true, false])(
    "names it, and serves the others (lock file there: %s)",
    async (kept) => {
      const folder = temporaryFolder();
      {
        await using hub = await openHub(folder);
        for (const id of ["ada", "bob"]) {
          await hub.createGraph({ id, name: id });
          await memgraph(hub).putNode(id, { lineageId: `of-${id}`, kind: "note", content: id });
        }
        await hub.listGraphs();
      }
      const whole = readFileSync(fileIn(folder));
      const problem = { id: "ada", code: expect.stringMatching(/^ERR_(CORRUPT|FORMAT_UNKNOWN)$/) };
      const refused = { code: problem.code };
      const told = new Set<number>();
      for (const [name, damage] of damages) {
        const bytes = damage(Buffer.from(whole));
        writeFileSync(fileIn(folder), bytes);
        if (!kept) rmSync(`${fileIn(folder)}-lock`, { force: true });
        await using hub = await openHub(folder);
        // As long as its meta pages stand, nobody has to open it to list it.
        const { graphs, problems } = await hub.listGraphs();
        expect([...graphs, ...problems].map(({ id }) => id).sort()).toEqual(["ada", "bob"]);
        for (const one of problems) expect(one, name).toMatchObject(problem);
        told.add(problems.length);
        const report = await hub.check({ graphs: true });
        expect(report, name).toMatchObject({ ok: false, problems: [problem] });
        await expect(hub.use("ada", (memory) => memory.stats())).rejects.toMatchObject(refused);
        const lineages = memgraph(hub);
        const lineageId = `new-${bytes.length}-${name.length}`;
        await lineages.putNode("bob", { lineageId, kind: "note", content: name });
        expect(await lineages.getNode(lineageId), name).toMatchObject({ content: name });
        expect(await lineages.getNode("of-bob")).toMatchObject({ content: "bob" });
        // What may be in the graph that nobody can read is not said to be nowhere.
        await expect(lineages.getNode("of-ada"), name).rejects.toMatchObject(refused);
        expect(readFileSync(fileIn(folder)).equals(bytes), name).toBe(true);
      }
      expect([...told].sort()).toEqual([0, 1]);
      // Gone altogether, or a folder in its place.
      for (const makes of [false, true]) {
        rmSync(fileIn(folder));
        if (makes) mkdirSync(fileIn(folder));
        await using hub = await openHub(folder);
        const isNamed = kept || makes;
        expect((await hub.listGraphs()).problems.length, `folder: ${makes}`).toBe(isNamed ? 1 : 0);
        const code = makes ? "ERR_STORAGE" : kept ? "ERR_CORRUPT" : "ERR_NOT_FOUND";
        const used = hub.use("ada", (memory) => memory.stats());
        await expect(used, `folder: ${makes}`).rejects.toMatchObject({ code });
        expect(await memgraph(hub).getNode("of-bob")).toMatchObject({ content: "bob" });
        rmSync(fileIn(folder), { recursive: true, force: true });
        writeFileSync(fileIn(folder), whole);
      }
      writeFileSync(fileIn(folder), whole);
      await using hub = await openHub(folder);
      expect(await hub.check({ graphs: true })).toMatchObject({ ok: true, problems: [] });
      expect(await memgraph(hub).getNode("of-ada")).toMatchObject({ content: "ada" });
    },
  );
});

test.skipIf(isUnbuilt())("no turned bit gives wrong words, or goes unnoticed", async () => {
  const folder = temporaryFolder();
  const good = await filled(folder);
  const file = readFileSync(fileIn(folder));
  const random = seededRandom(SEED);
  const anywhere = Array.from({ length: 30 }, () => random.below(file.length));
  const places = [...anywhere, ...placesOf(file, good["note-7"] ?? ""), MAGIC, UNUSED];
  const damages = places.map((at) => ({ at, bit: random.below(8) }));
  const program = startProgram("damage-reader.mjs");
  program.send({ folder, good, damages });
  const lines = await program.finish();
  const outcomes = lines
    .filter((line) => line.startsWith("outcome "))
    .map((line) => line.split(" "));
  expect(outcomes).toHaveLength(damages.length);
  const bad = outcomes.filter(([, , word = ""]) => !OUTCOMES.includes(word));
  expect(bad.map(([, n, ...said]) => ({ ...damages[Number(n)], said: said.join(" ") }))).toEqual(
    [],
  );
  const seen = new Set(outcomes.map(([, , word]) => word));
  expect([...seen]).toEqual(expect.arrayContaining(["refused", "same"]));
  // Which of the two depends on where the bits lie.
  expect(seen.has("found") || seen.has("noticed")).toBe(true);
});

/** Where a text stands in the file: in the pages of now, and in some that are free by now. */
function placesOf(file: Buffer, text: string): readonly number[] {
  const places: number[] = [];
  for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) places.push(at);
  expect(places.length).toBeGreaterThan(0);
  return places;
}

/** A byte of the first meta page's magic number, and one that no page uses. */
const MAGIC = 16;
const UNUSED = 4000;

/** What may come of a turned bit. */
const OUTCOMES: readonly string[] = ["found", "refused", "noticed", "same"];
