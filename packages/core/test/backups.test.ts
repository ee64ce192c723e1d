/**
 * Backups and what they must not bring back, and upgrading what an older release wrote.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { ErasureDocument } from "../src/contract/entry.js";
import { decodeHeadRow, encodeHeadRow } from "../src/history/head-row.js";
import { type Cortex, importJournal, open, restoreBackup, upgrade } from "../src/index.js";
import { isPostgresLocation, openKv } from "../src/open.js";
import {
  backedUp,
  emptyKv,
  furnish,
  generationsOf,
  graphOver,
  headOf,
  inPieces,
  put,
  rowsOf,
} from "./moves-support.js";
import { cleanUp, temporaryFolder, temporaryStore } from "./other-process.js";

afterEach(cleanUp);

describe("backups", () => {
  interface Kept {
    readonly memory: Cortex;
    readonly full: Uint8Array;
    readonly increment: Uint8Array;
    readonly erasures: ErasureDocument;
    readonly forgotten: string;
    readonly checkpoint: string;
  }

  /** A full backup, then a forget and more, then an increment. */
  async function kept(): Promise<Kept> {
    const memory = await graphOver(await emptyKv("memory"));
    await furnish(memory);
    const secret = await memory.write({ type: "fact", text: "a secret", externalId: "s-1" });
    const other = await memory.write({ type: "fact", text: "another" });
    await memory.link(other.id, "supports", secret.id, { reason: "secret as well" });
    await memory.update(secret.id, { text: "a better secret" });
    const full = await backedUp(memory);
    await memory.forget(secret.id, "asked for");
    await memory.write({ type: "fact", text: "later" });
    const { checkpoint } = await memory.snapshot("later");
    const increment = await backedUp(memory, full.report.seq);
    expect(increment.report).toMatchObject({ entries: 2, from: full.report.seq + 1 });
    const erasures = await memory.erasures();
    const files = { full: full.bytes, increment: increment.bytes };
    return { memory, ...files, erasures, forgotten: secret.id, checkpoint };
  }

  async function restored(
    files: readonly Uint8Array[],
    options: Parameters<typeof restoreBackup>[2] = {},
  ) {
    const kv = await emptyKv("memory");
    const sources = files.map((file) => inPieces(file));
    const report = await restoreBackup("memory:", sources, { actor: "ada", kv, ...options });
    return { report, kv, memory: await graphOver(kv, 2) };
  }

  test("a full backup and its increment give the store back under a new epoch", async () => {
    const { memory, full, increment, forgotten } = await kept();
    const back = await restored([full, increment]);
    expect(back.report).toMatchObject({ epoch: 1, ...(await memory.root()) });
    expect(back.report.warning).toMatch(/no list of erasures was given/);
    expect(back.report.erasedAgain).toBe(3);
    expect(await back.memory.get(forgotten)).toBeUndefined();
    expect(await back.memory.check()).toMatchObject({ ok: true });
    expect(await back.memory.stats()).toMatchObject({ epoch: 1 });
    expect(await back.memory.snapshots()).toEqual(await memory.snapshots());
    await back.memory.write({ type: "fact", text: "goes on" });
    expect(await back.memory.rebuild()).toMatchObject({ ok: true, differences: [] });
    expect(await back.memory.vacuum()).toMatchObject({ passes: 1 });
    expect(await back.memory.stats()).toMatchObject({ epoch: 1 });
    const twice = await restored([(await backedUp(back.memory)).bytes]);
    expect(twice.report.epoch).toBe(2);
  });

  test("an old backup alone brings a forgotten memory back, and says so", async () => {
    const { full, forgotten } = await kept();
    const { report, memory } = await restored([full]);
    expect(report.warning).toMatch(/is back/);
    expect((await memory.get(forgotten))?.text).toBe("a better secret");
  });

  test("an old backup with the list of erasures does not", async () => {
    const { full, erasures, forgotten } = await kept();
    for (const list of [erasures, JSON.stringify(erasures)]) {
      const { report, memory, kv } = await restored([full], { erasures: list });
      expect(report.warning).toBeUndefined();
      expect(report.erasedAgain).toBe(3);
      expect(await memory.get(forgotten)).toBeUndefined();
      expect(await memory.get("s-1")).toBeUndefined();
      expect(await memory.history(forgotten)).toBeUndefined();
      expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
      const text = (await rowsOf(kv)).join("\n");
      for (const word of ["a secret", "a better secret", "secret as well"]) {
        expect(text.includes(Buffer.from(word).toString("hex"))).toBe(false);
      }
      expect((await memory.erasures()).erased).toEqual(
        erasures.erased.filter(([seq]) => seq <= report.seq),
      );
      // The place of the forgotten memory can be taken again, and its neighbour lives on.
      await memory.write({ type: "fact", text: "a new one", externalId: "s-1" });
      expect((await memory.list({ type: "fact" })).memories.length).toBeGreaterThan(1);
      expect(await memory.check()).toMatchObject({ ok: true });
    }
  });

  test("a list that is older than the backup still warns", async () => {
    const { memory, erasures } = await kept();
    await memory.write({ type: "fact", text: "after the list" });
    const { report } = await restored([(await backedUp(memory)).bytes], { erasures });
    expect(report.warning).toMatch(/ends at seq/);
  });

  test("lists that cannot be are refused", async () => {
    const { full, erasures } = await kept();
    const refused = async (change: object, code: string): Promise<void> => {
      const list = { ...erasures, ...change } as ErasureDocument;
      await expect(restored([full], { erasures: list })).rejects.toMatchObject({ code });
    };
    await refused({ actor: "bob" }, "ERR_ACTOR_MISMATCH");
    await refused({ storeId: "00".repeat(16) }, "ERR_FORK");
    await refused(
      {
        erased: [
          [3, 0],
          [2, 0],
        ],
      },
      "ERR_INVALID",
    );
    await refused({ erased: [[3, -1]] }, "ERR_INVALID");
    await refused({ cortex: "something" }, "ERR_INVALID");
    // The first state of a memory that lives on.
    await refused({ erased: [[1, 0]] }, "ERR_EXPORT_MALFORMED");
    await expect(restored([full], { erasures: "{" })).rejects.toMatchObject({
      code: "ERR_INVALID",
    });
  });

  test("a fork, a gap and a repeated stretch are told apart", async () => {
    const { memory, full, increment } = await kept();
    const side = await restored([full]);
    for (let n = 0; n < 4; n += 1) await side.memory.write({ type: "note", text: `other ${n}` });
    const { seq } = await memory.root();
    const rejected = (files: readonly Uint8Array[]) => expect(restored(files)).rejects;
    const gone = (await backedUp(side.memory, side.report.seq + 1)).bytes;
    await rejected([full, gone]).toMatchObject({ code: "ERR_JOURNAL_GAP" });
    await rejected([increment]).toMatchObject({ code: "ERR_JOURNAL_GAP", details: { seq: 0 } });
    await rejected([full, full]).toMatchObject({ code: "ERR_EXPORT_MALFORMED" });
    // Goes on where the increment ends, but in the history of the other store.
    const forked = (await backedUp(side.memory, seq)).bytes;
    await rejected([full, increment, forked]).toMatchObject({ code: "ERR_FORK", details: { seq } });
    const stranger = await graphOver(await emptyKv("memory"), 9);
    for (let n = 0; n < 40; n += 1) await stranger.write({ type: "note", text: `n ${n}` });
    const foreign = (await backedUp(stranger, side.report.seq)).bytes;
    await rejected([full, foreign]).toMatchObject({ code: "ERR_FORK", details: { seq: 0 } });
  });

  test("a history that ends before a trusted checkpoint, or goes another way, is refused", async () => {
    const { full, increment, checkpoint } = await kept();
    await restored([full, increment], { checkpoint });
    await expect(restored([full], { checkpoint })).rejects.toMatchObject({
      code: "ERR_ROLLED_BACK",
    });
    const side = await restored([full]);
    for (let n = 0; n < 4; n += 1) await side.memory.write({ type: "note", text: `n ${n}` });
    const { bytes } = await backedUp(side.memory);
    await expect(restored([bytes], { checkpoint })).rejects.toMatchObject({ code: "ERR_FORK" });
    const kv = await emptyKv("memory");
    const imported = importJournal("memory:", inPieces(full), { actor: "ada", kv, checkpoint });
    await expect(imported).rejects.toMatchObject({ code: "ERR_ROLLED_BACK" });
    await expect(restored([full], { checkpoint: "x" })).rejects.toMatchObject({
      code: "ERR_CHECKPOINT_MALFORMED",
    });
  });

  test("`since` must be a seq of the journal", async () => {
    const memory = await graphOver(await emptyKv("memory"));
    for (const since of [-1, 1, 0.5, Number.NaN]) {
      await expect(backedUp(memory, since)).rejects.toMatchObject({ code: "ERR_INVALID" });
    }
    expect((await backedUp(memory, 0)).report).toMatchObject({ entries: 0, from: 1, seq: 0 });
  });

  test("where it goes stays in this process: it may be named, and what is no target is refused", async () => {
    const memory = await graphOver(await emptyKv("memory"));
    const chunks: Uint8Array[] = [];
    const target = (chunk: Uint8Array): void => void chunks.push(chunk);
    const call = memory.backup.bind(memory) as (input: object) => Promise<unknown>;
    const report = await call({ target, onProgress: () => undefined });
    expect(report).toMatchObject({ entries: 1, from: 0 });
    expect(chunks.length).toBeGreaterThan(0);
    for (const none of [undefined, "", 5]) {
      await expect(memory.exportJournal(none as never)).rejects.toMatchObject({
        code: "ERR_INVALID",
        details: { field: "target" },
      });
    }
    await expect(memory.backup(target, { onProgress: 5 as never })).rejects.toMatchObject({
      details: { field: "onProgress" },
    });
    await memory.close();
  });
});

describe("upgrade", () => {
  async function olderStore(): Promise<{ readonly folder: string; readonly root: string }> {
    const folder = temporaryStore();
    const memory = await open(folder, { actor: "ada" });
    await furnish(memory);
    const { root } = await memory.root();
    await memory.close();
    const kv = await openKv(folder, "ada", {});
    const head = decodeHeadRow(await headOf(kv));
    await put(kv, [], encodeHeadRow({ ...head, foldVersion: 0 }));
    await kv.close();
    return { folder, root };
  }

  test("a store of this release needs none", async () => {
    const folder = temporaryStore();
    await (await open(folder, { actor: "ada" })).close();
    const form = { format: 1, foldVersion: 1 };
    const nothing = { needed: false, from: form, to: form, steps: [] };
    expect(await upgrade(folder, { actor: "ada", dryRun: true })).toEqual(nothing);
    expect(await upgrade(folder, { actor: "ada" })).toEqual(nothing);
    await expect(upgrade(folder, { actor: "bob" })).rejects.toMatchObject({
      code: "ERR_FORMAT_UNKNOWN",
    });
    await expect(open(folder, { actor: "bob", create: false })).rejects.toMatchObject({
      code: "ERR_FORMAT_UNKNOWN",
    });
  });

  test("an older fold is refused by open, shown by a dry run, and upgraded after a backup", async () => {
    const { folder, root } = await olderStore();
    const opened = open(folder, { actor: "ada" });
    await expect(opened).rejects.toMatchObject({ code: "ERR_FORMAT_OLDER" });
    await expect(open(folder, { actor: "ada" })).rejects.toThrow("cortex upgrade");
    const before = await generationsOf(folder);
    const backup = join(temporaryFolder(), "before.cortex");
    // Beside the store there is no place for a file, where that is in a database.
    const place = isPostgresLocation(folder) ? { backup } : {};
    if (isPostgresLocation(folder)) {
      await expect(upgrade(folder, { actor: "ada" })).rejects.toMatchObject({
        code: "ERR_INVALID",
        details: { field: "backup" },
      });
    }
    const plan = await upgrade(folder, { actor: "ada", dryRun: true, ...place });
    expect(plan).toMatchObject({ needed: true, from: { foldVersion: 0 }, to: { foldVersion: 1 } });
    expect(plan.steps).toHaveLength(3);
    expect(await generationsOf(folder)).toBe(before);
    expect(existsSync(plan.backup ?? "")).toBe(false);
    await expect(open(folder, { actor: "ada" })).rejects.toMatchObject({
      code: "ERR_FORMAT_OLDER",
    });
    const report = await upgrade(folder, { actor: "ada", ...place });
    await using memory = await open(folder, { actor: "ada" });
    expect(await memory.root()).toMatchObject({ root: report.upgraded?.root });
    const { entries } = await memory.log({ from: report.upgraded?.seq ?? 0 });
    expect(entries).toMatchObject([{ kind: "migration", by: "ada" }]);
    expect(await memory.check()).toMatchObject({ ok: true });
    expect(await memory.stats()).toMatchObject({ foldVersion: 1 });
    // The backup is of the store as it was.
    const kept = readFileSync(report.backup ?? "");
    const kv = await emptyKv("memory");
    const back = await importJournal("memory:", inPieces(kept), { actor: "ada", kv });
    expect(back.root).toBe(root);
    expect((await (await graphOver(kv, 3)).snapshots()).length).toBe(2);
    expect(await upgrade(folder, { actor: "ada" })).toMatchObject({ needed: false });
  });

  test("a newer store is not touched", async () => {
    const { folder } = await olderStore();
    const kv = await openKv(folder, "ada", {});
    const head = encodeHeadRow({ ...decodeHeadRow(undefined), foldVersion: 2, size: 5 });
    await put(kv, [], head);
    await kv.close();
    await expect(upgrade(folder, { actor: "ada" })).rejects.toMatchObject({
      code: "ERR_FORMAT_NEWER",
    });
  });
});
