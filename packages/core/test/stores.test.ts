/**
 * Stores as they come: of every form that a release ever wrote, of a form that is newer than this one,
 * copied while they are written, in a folder that takes no writes, on a disk that machines share. Each opens
 * and is sound, or is refused by a code that says what to do, and nothing is touched.
 *
 * The stores of `stores/` were written by `tools/make-store.mjs` when their form was new.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { examineStore } from "../src/doors.js";
import { decodeHeadRow, encodeHeadRow, FOLD_VERSION, FORMAT } from "../src/history/head-row.js";
import { open, openHub, upgrade } from "../src/index.js";
import { HEAD_KEY } from "../src/kv/kv.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { seededRandom } from "../src/testing/index.js";
import { lacksSmallDisk, mountSmallDisk } from "../src/testing/lacking.js";
import { verifyCheckpoint } from "../src/verify.js";
import { atCleanUp, cleanUp, seedOfRun, temporaryFolder } from "./other-process.js";

const KEPT = fileURLToPath(new URL("stores", import.meta.url));
const FORMS = readdirSync(KEPT).flatMap((name) => /^(.*)\.mdb\.gz$/.exec(name)?.[1] ?? []);
const CURRENT = `${FORMAT}-${FOLD_VERSION}`;

afterEach(cleanUp);

interface Kept {
  readonly root: string;
  readonly seq: number;
  readonly checkpoint: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly slot: readonly [string, string];
}

const keptOf = (form: string): Kept => JSON.parse(readFileSync(join(KEPT, `${form}.json`), "utf8"));
const fileIn = (folder: string): string => join(folder, "ada", "g000001.mdb");

/** A folder with a store that was kept. */
function unpacked(form: string): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "ada"));
  writeFileSync(fileIn(folder), gunzipSync(readFileSync(join(KEPT, `${form}.mdb.gz`))));
  return folder;
}

/** Makes a store say that it is of another form. */
async function reform(folder: string, format: number, foldVersion: number): Promise<void> {
  const kv = await openLmdbKv(join(folder, "ada"));
  const snapshot = await kv.snapshot();
  const [expectHead] = await snapshot.getMany([HEAD_KEY]);
  snapshot.close();
  const head = encodeHeadRow({ ...decodeHeadRow(expectHead), format, foldVersion });
  expect(await kv.commit({ expectHead, head, puts: [], deletes: [] })).toEqual({ ok: true });
  await kv.close();
}

/** The store holds what it held when it was kept, and takes another write. */
async function expectKept(folder: string, { root, seq, texts, slot, checkpoint }: Kept) {
  await using memory = await open(folder, { actor: "ada", create: false });
  expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
  const now = await memory.root();
  if (now.seq === seq) expect(now.root).toBe(root);
  const [sealed] = await memory.snapshots();
  expect(sealed).toMatchObject({ seq });
  expect(verifyCheckpoint(checkpoint).ok).toBe(true);
  for (const [name, text] of Object.entries(texts)) {
    expect((await memory.get(name))?.text).toBe(text);
  }
  expect((await memory.find({ slot: slot[0], limit: 5 })).hits).toMatchObject([{ text: slot[1] }]);
  expect((await memory.session("chat")).turns).toHaveLength(2);
  expect((await memory.search("Porto", { limit: 5 })).hits.length).toBeGreaterThan(0);
  expect(await memory.get("forgotten")).toBeUndefined();
  expect((await memory.rebuild()).ok).toBe(true);
  expect((await memory.write({ type: "note", text: "of today" })).seq).toBe(now.seq + 1);
}

describe("the form of a store", () => {
  test("a store of the form that this release writes is kept", () => {
    expect(FORMS, "run tools/make-store.mjs").toContain(CURRENT);
  });

  test.each(FORMS)("%s opens, or names the upgrade, which keeps all of it", async (form) => {
    const folder = unpacked(form);
    if (form !== CURRENT) {
      await expect(open(folder, { actor: "ada" })).rejects.toMatchObject({
        code: "ERR_FORMAT_OLDER",
        message: expect.stringContaining("cortex upgrade"),
      });
      await upgrade(folder, { actor: "ada" });
    }
    await expectKept(folder, keptOf(form));
  });

  test("an older fold is refused with the upgrade named, and upgraded", async () => {
    const folder = unpacked(CURRENT);
    await reform(folder, FORMAT, FOLD_VERSION - 1);
    await expect(open(folder, { actor: "ada" })).rejects.toMatchObject({
      code: "ERR_FORMAT_OLDER",
      message: expect.stringContaining("cortex upgrade"),
    });
    expect(await upgrade(folder, { actor: "ada" })).toMatchObject({ needed: true });
    await expectKept(folder, keptOf(CURRENT));
  });

  test.each([
    { what: "format", format: FORMAT + 1, fold: FOLD_VERSION },
    { what: "fold", format: FORMAT, fold: FOLD_VERSION + 1 },
  ])("a newer $what is refused with what to do, and not touched", async ({ format, fold }) => {
    const folder = unpacked(CURRENT);
    await reform(folder, format, fold);
    const before = readFileSync(fileIn(folder));
    const refused = {
      code: "ERR_FORMAT_NEWER",
      message: expect.stringContaining("open it with that release or a later one"),
    };
    await expect(open(folder, { actor: "ada" })).rejects.toMatchObject(refused);
    await expect(upgrade(folder, { actor: "ada" })).rejects.toMatchObject(refused);
    await using hub = await openHub(folder);
    await expect(hub.use("ada", (memory) => memory.stats())).rejects.toMatchObject(refused);
    expect(readFileSync(fileIn(folder)).equals(before)).toBe(true);
  });
});

test("a file that was copied while it was written is whole, or found not to be", async () => {
  const random = seededRandom(seedOfRun("stores"));
  const folder = temporaryFolder();
  const outcomes = { whole: 0, found: 0 };
  await using memory = await open(folder, { actor: "ada", relaxedDurability: true });
  for (let copy = 0; copy < 12; copy += 1) {
    // A copy takes its time: what it takes later is of later.
    const pieces: Buffer[] = [];
    const between = copy % 4 === 0 ? 0 : random.between(1, 6);
    let at = 0;
    for (let step = 0; step <= between; step += 1) {
      const file = readFileSync(fileIn(folder));
      const to = step === between ? file.length : random.between(at, file.length);
      pieces.push(file.subarray(at, to));
      at = to;
      await memory.write({ type: "note", text: `note ${copy}.${step} ${"x".repeat(900)}` });
    }
    const target = temporaryFolder();
    mkdirSync(join(target, "ada"));
    writeFileSync(fileIn(target), Buffer.concat(pieces));
    if ((await examineStore(target, "ada")).length > 0) {
      outcomes.found += 1;
      continue;
    }
    await using copied = await open(target, { actor: "ada", create: false });
    const { ok, entries } = await copied.check();
    expect(ok).toBe(true);
    expect(entries).toBeLessThanOrEqual((await memory.stats()).entries);
    outcomes.whole += 1;
  }
  expect(outcomes.whole).toBeGreaterThanOrEqual(3);
});

test.skipIf(lacksSmallDisk())("a disk that takes no writes is refused by name", async () => {
  const folder = temporaryFolder();
  const disk = mountSmallDisk(folder, "16m");
  atCleanUp(() => disk?.unmount());
  {
    await using memory = await open(folder, { actor: "ada" });
    await memory.write({ type: "note", externalId: "n", text: "kept" });
  }
  disk?.forbidWrites();
  const refused = {
    code: "ERR_STORAGE",
    message: expect.stringContaining("cannot be written to; a store is opened for writing"),
  };
  for (const create of [true, false]) {
    await expect(open(folder, { actor: "ada", create })).rejects.toMatchObject(refused);
  }
  await expect(open(folder, { actor: "new" })).rejects.toMatchObject({ code: "ERR_STORAGE" });
  expect(await examineStore(folder, "ada")).toEqual([]);
});

describe("a disk that machines share", () => {
  const [NFS, FUSE, EXT4] = [0x6969, 0x65735546, 0xef53];

  /** The warnings that something gives. */
  async function warningsOf(run: () => Promise<unknown>): Promise<readonly string[]> {
    const heard: string[] = [];
    const listen = (warning: Error & { readonly code?: string }): void => {
      if (warning.code === "CORTEX_SHARED_DISK") heard.push(warning.message);
    };
    process.on("warning", listen);
    await run();
    // Warnings are given in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    return heard;
  }

  test("of a network: no store is created, one that is there is warned about, once", async () => {
    const folder = join(temporaryFolder(), "ada");
    await expect(openLmdbKv(folder, { diskType: NFS })).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
      message: expect.stringMatching(/network file system \(NFS\).*use a local disk/),
    });
    expect(readdirSync(folder)).toEqual([]);
    await (await openLmdbKv(folder, { diskType: EXT4 })).close();
    const opening = async () => (await openLmdbKv(folder, { diskType: NFS })).close();
    expect(await warningsOf(opening)).toEqual([expect.stringContaining("may share (NFS)")]);
    expect(await warningsOf(opening)).toEqual([]);
  });

  test("that may be this machine's own: a store is created with a warning", async () => {
    const folder = join(temporaryFolder(), "ada");
    const opening = async () => (await openLmdbKv(folder, { diskType: FUSE })).close();
    expect(await warningsOf(opening)).toEqual([expect.stringContaining("may share (FUSE)")]);
    const local = async () => (await openLmdbKv(`${folder}-2`, { diskType: EXT4 })).close();
    expect(await warningsOf(local)).toEqual([]);
  });
});
