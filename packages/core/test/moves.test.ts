/**
 * Moves of a store, in one process: out to a file and back, files that somebody changed, writing the
 * store anew.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { importJournal, isCortexError, open, restoreBackup } from "../src/index.js";
import { decodeEntry, encodeEntry } from "../src/journal/entry.js";
import { FRAME } from "../src/journal/export-format.js";
import { textKey } from "../src/kv/keyspace.js";
import {
  BACKENDS,
  bytesOf,
  emptyKv,
  exported,
  fileOf,
  framesOf,
  furnish,
  graphOver,
  headerOf,
  headOf,
  inPieces,
  put,
  rowsOf,
  withHeader,
} from "./moves-support.js";
import { cleanUp, temporaryFolder, temporaryStore } from "./other-process.js";

afterEach(cleanUp);

/** Imports into an empty store in memory and says what came of it. */
async function refusal(
  file: Uint8Array,
  options: { readonly actor?: string; readonly pieceBytes?: number } = {},
): Promise<{ readonly code: string; readonly seq: number | undefined; readonly message: string }> {
  const kv = await emptyKv("memory");
  try {
    const { actor = "ada", pieceBytes = 1000 } = options;
    await importJournal("memory:", inPieces(file, pieceBytes), { actor, kv });
  } catch (error) {
    expect(await headOf(kv), "a refused import left something").toBeUndefined();
    if (!isCortexError(error)) throw error;
    return { code: error.code, seq: error.details.seq, message: error.message };
  }
  return { code: "accepted", seq: undefined, message: "" };
}

describe.each(BACKENDS)("on %s", (backend) => {
  test("an export and its import are the same store, byte for byte", async () => {
    const source = await emptyKv(backend);
    const memory = await graphOver(source);
    await furnish(memory);
    const { bytes, report } = await exported(memory);
    const target = await emptyKv(backend);
    const progress: [number, number][] = [];
    const imported = await importJournal("memory:", inPieces(bytes, 7), {
      actor: "ada",
      kv: target,
      onProgress: (...step) => void progress.push(step),
    });
    const { root, seq } = await memory.root();
    expect(report).toMatchObject({ root, seq, entries: seq + 1, from: 0 });
    expect(report.erased).toBeGreaterThan(2);
    expect(imported).toEqual({ entries: seq + 1, seq, root, epoch: 0, erasedAgain: 0 });
    expect(progress.at(-1)).toEqual([seq + 1, seq + 1]);
    expect(await rowsOf(target)).toEqual(await rowsOf(source));
    const again = await graphOver(target, 2);
    expect(await again.root()).toEqual({ root, seq });
    expect((await again.snapshots()).length).toBe(2);
    expect(await again.check()).toMatchObject({ ok: true });
    expect((await exported(again)).bytes).toEqual(bytes);
    await again.write({ type: "fact", text: "life goes on" });
    expect(await again.check()).toMatchObject({ ok: true });
  });

  test("a store that holds a history is not imported into, nor restored over", async () => {
    const memory = await graphOver(await emptyKv(backend));
    await memory.write({ type: "fact", text: "one" });
    const { bytes } = await exported(memory);
    const taken = await emptyKv(backend);
    await graphOver(taken, 2);
    const before = await rowsOf(taken);
    const options = { actor: "ada", kv: taken };
    const code = "ERR_EXISTS";
    await expect(importJournal("memory:", inPieces(bytes), options)).rejects.toMatchObject({
      code,
    });
    await expect(restoreBackup("memory:", [inPieces(bytes)], options)).rejects.toMatchObject({
      code,
    });
    expect(await rowsOf(taken)).toEqual(before);
  });

  test("an import loses against somebody who gave birth to the store meanwhile", async () => {
    const memory = await graphOver(await emptyKv(backend));
    await furnish(memory);
    const { bytes } = await exported(memory);
    const kv = await emptyKv(backend);
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 400);
      await graphOver(kv, 2);
      yield bytes.subarray(400);
    };
    const code = "ERR_EXISTS";
    await expect(importJournal("memory:", source(), { actor: "ada", kv })).rejects.toMatchObject({
      code,
    });
    expect((await (await graphOver(kv, 2)).stats()).entries).toBe(1);
  });

  test("vacuum keeps every row, caches and snapshots too, while others write", async () => {
    const kv = await emptyKv(backend);
    const memory = await graphOver(kv);
    await furnish(memory);
    const cursor = { key: textKey("cursor", "job"), value: Uint8Array.of(1, 2, 3) };
    await put(kv, [cursor]);
    const before = await rowsOf(kv);
    const { root, seq } = await memory.root();
    const report = await memory.vacuum();
    expect(report).toMatchObject({ root, seq, entries: seq + 1, passes: 1, forgottenMeanwhile: 0 });
    expect(await rowsOf(kv)).toEqual(before);
    const snapshot = await kv.snapshot();
    expect(await snapshot.getMany([cursor.key])).toEqual([cursor.value]);
    snapshot.close();
    let writing = true;
    let written = 0;
    const writer = (async () => {
      for (; writing; written += 1) await memory.write({ type: "note", text: `note ${written}` });
    })();
    const second = await memory.vacuum();
    writing = false;
    await writer;
    expect(second.entries).toBeGreaterThanOrEqual(seq + 1);
    expect((await memory.stats()).entries).toBe(seq + 1 + written);
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("what is forgotten during a vacuum makes it start over", async () => {
    const kv = await emptyKv(backend);
    const memory = await graphOver(kv);
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      ids.push((await memory.write({ type: "note", text: `note ${n}` })).id);
    }
    let forgets: Promise<unknown> | undefined;
    const report = await memory.vacuum({
      onProgress: () => {
        forgets ??= memory.forget(ids[1] ?? "", "meanwhile");
      },
    });
    await forgets;
    expect(report).toMatchObject({ passes: 2, forgottenMeanwhile: 0, entries: 6 });
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("vacuum leaves a store alone that is not what its journal says", async () => {
    const kv = await emptyKv(backend);
    const memory = await graphOver(kv);
    await furnish(memory);
    await put(kv, [{ key: textKey("externalId", "intruder"), value: new Uint8Array(16) }]);
    await expect(memory.vacuum()).rejects.toMatchObject({ code: "ERR_CORRUPT" });
    expect((await memory.check()).problems).toHaveLength(1);
    expect((await memory.rebuild()).differences).toHaveLength(1);
    expect(await memory.vacuum()).toMatchObject({ passes: 1 });
  });

  test("a backup under writers is one whole position", async () => {
    const memory = await graphOver(await emptyKv(backend));
    await furnish(memory);
    const pending: Promise<unknown>[] = [];
    const { bytes, report } = await bytesOf((sink) =>
      memory.backup((chunk) => {
        sink(chunk);
        for (let n = 0; n < 3; n += 1) {
          const text = `written during the backup ${pending.length}`;
          pending.push(
            memory.batch([
              { write: { type: "note", text }, ref: "a" },
              { write: { type: "note", text: `${text} too` }, ref: "b" },
              { link: { from: { ref: "a" }, kind: "references", to: { ref: "b" } } },
            ]),
          );
        }
      }),
    );
    await Promise.all(pending);
    const kv = await emptyKv(backend);
    await restoreBackup("memory:", [inPieces(bytes)], { actor: "ada", kv });
    const restored = await graphOver(kv, 2);
    expect((await restored.root()).root).toBe(report.root);
    expect(await restored.check()).toMatchObject({ ok: true });
    expect((await memory.root()).seq).toBeGreaterThan(report.seq);
  });
});

describe("a file that somebody changed", () => {
  async function small(): Promise<Uint8Array> {
    const memory = await graphOver(await emptyKv("memory"));
    const one = await memory.write({ type: "fact", text: "one", tags: ["x"] });
    const two = await memory.write({ type: "note", text: "two" });
    await memory.link(one.id, "supports", two.id, { reason: "why not" });
    await memory.snapshot("here");
    const three = await memory.write({ type: "fact", text: "three", slot: "number" });
    await memory.forget(three.id, "asked for");
    return (await exported(memory)).bytes;
  }

  test("any flipped byte is refused with a named code", async () => {
    const file = await small();
    const codes = new Map<string, number>();
    for (let at = 0; at < file.length; at += 1) {
      for (const mask of [0x01, 0x80, 0xff]) {
        const changed = Uint8Array.from(file);
        changed[at] = (changed[at] ?? 0) ^ mask;
        const { code, message } = await refusal(changed);
        expect(code, `byte ${at} ^ ${mask}: ${message}`).not.toBe("accepted");
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    }
    console.log(`flips of ${file.length} bytes: ${JSON.stringify([...codes])}`);
    expect([...codes.keys()].sort()).toEqual([
      "ERR_ACTOR_MISMATCH",
      "ERR_EXPORT_MALFORMED",
      // A file that claims to start at entry 1.
      "ERR_JOURNAL_GAP",
      "ERR_ROOT_MISMATCH",
    ]);
  });

  test("any truncation is refused, and so is anything behind the end", async () => {
    const file = await small();
    for (let length = 0; length < file.length; length += 1) {
      const { code } = await refusal(file.subarray(0, length), { pieceBytes: 300 });
      expect(code, `cut at ${length}`).toBe("ERR_EXPORT_MALFORMED");
    }
    const longer = Uint8Array.from([...file, 0]);
    expect((await refusal(longer)).code).toBe("ERR_EXPORT_MALFORMED");
    expect((await refusal(Uint8Array.from([...file, ...file]))).code).toBe("ERR_EXPORT_MALFORMED");
    expect((await refusal(new TextEncoder().encode("{}"))).code).toBe("ERR_EXPORT_MALFORMED");
  });

  test("entries in another order, missing or doubled are named by their seq", async () => {
    const frames = await framesOf(await small());
    const at = frames.findIndex(({ tag }) => tag === FRAME.entry);
    const [a, b] = [frames[at + 2], frames[at + 3]];
    if (a === undefined || b === undefined) throw new Error("too few entries");
    const swapped = frames.with(at + 2, b).with(at + 3, a);
    expect(await refusal(fileOf(swapped))).toMatchObject({ code: "ERR_EXPORT_MALFORMED", seq: 2 });
    const missing = frames.toSpliced(at + 3, 1);
    expect(await refusal(fileOf(missing))).toMatchObject({ code: "ERR_EXPORT_MALFORMED", seq: 3 });
    const doubled = frames.toSpliced(at + 3, 0, a);
    expect(await refusal(fileOf(doubled))).toMatchObject({ code: "ERR_EXPORT_MALFORMED", seq: 3 });
    const shortened = frames.slice(0, -1);
    const seq = headerOf(frames).size - 1;
    expect(await refusal(fileOf(shortened))).toMatchObject({ code: "ERR_EXPORT_MALFORMED", seq });
  });

  test("a part that is missing or there against the list is named by its seq", async () => {
    const frames = await framesOf(await small());
    const at = frames.findIndex(({ tag }) => tag === FRAME.entry);
    const entry = decodeEntry(frames[at + 2]?.payload ?? new Uint8Array(0));
    const stripped = encodeEntry({ ...entry, parts: entry.parts.map(() => undefined) });
    const without = frames.with(at + 2, { tag: FRAME.entry, payload: stripped });
    expect(await refusal(fileOf(without))).toMatchObject({ code: "ERR_EXPORT_MALFORMED", seq: 2 });
    const unlisted = frames.filter(({ tag }) => tag !== FRAME.erased);
    expect(await refusal(fileOf(unlisted))).toMatchObject({ code: "ERR_EXPORT_MALFORMED", seq: 4 });
    const full = await framesOf(await small());
    const memory = await graphOver(await emptyKv("memory"));
    await memory.write({ type: "fact", text: "one" });
    const list = full.find(({ tag }) => tag === FRAME.erased);
    if (list === undefined) throw new Error("no list");
    const others = await framesOf((await exported(memory)).bytes);
    const listed = others.toSpliced(1, 0, list);
    expect((await refusal(fileOf(listed))).code).toBe("ERR_EXPORT_MALFORMED");
  });

  test("a wrong actor, a wrong root, another store and a later format are told apart", async () => {
    const file = await small();
    const frames = await framesOf(file);
    expect((await refusal(file, { actor: "bob" })).code).toBe("ERR_ACTOR_MISMATCH");
    const seq = headerOf(frames).size - 1;
    const root = new Uint8Array(32).fill(7);
    const forged = async (change: Parameters<typeof withHeader>[1]) =>
      refusal(fileOf(withHeader(frames, change)));
    expect(await forged({ root })).toMatchObject({ code: "ERR_ROOT_MISMATCH", seq });
    expect(await forged({ journalRoot: root })).toMatchObject({ code: "ERR_ROOT_MISMATCH", seq });
    expect(await forged({ fromRoot: root })).toMatchObject({ code: "ERR_EXPORT_MALFORMED" });
    expect(await forged({ storeId: "00".repeat(16) })).toMatchObject({
      code: "ERR_EXPORT_MALFORMED",
      seq: 0,
    });
    expect((await forged({ format: 9 })).code).toBe("ERR_FORMAT_NEWER");
    expect((await forged({ size: 3 })).code).toBe("ERR_EXPORT_MALFORMED");
    const newer = Uint8Array.from(file);
    newer[15] = "2".charCodeAt(0);
    expect((await refusal(newer)).code).toBe("ERR_FORMAT_NEWER");
  });
});

describe("files", () => {
  test("an export is complete or not there, and nobody else may read it", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "ada.cortex");
    const memory = await graphOver(await emptyKv("memory"));
    await furnish(memory);
    const failing = memory.exportJournal(file, {
      onProgress: () => {
        throw new Error("the disk is on fire");
      },
    });
    await expect(failing).rejects.toThrow("on fire");
    expect(readdirSync(folder)).toEqual([]);
    const report = await memory.exportJournal(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["ada.cortex"]);
    await expect(memory.backup(file)).rejects.toMatchObject({ code: "ERR_EXISTS" });
    const location = temporaryStore();
    const imported = await importJournal(location, file, { actor: "ada" });
    expect(imported.root).toBe(report.root);
    await using again = await open(location, { actor: "ada", create: false });
    expect((await again.root()).root).toBe(report.root);
    expect(await again.check()).toMatchObject({ ok: true });
    await expect(
      importJournal(location, join(folder, "none"), { actor: "bob" }),
    ).rejects.toMatchObject({ code: "ERR_STORAGE" });
  });

  test("a store is not openable before its import is complete", async () => {
    const folder = temporaryStore();
    const memory = await graphOver(await emptyKv("memory"));
    await furnish(memory);
    const { bytes } = await exported(memory);
    const seen: unknown[] = [];
    const source = async function* (): AsyncGenerator<Uint8Array> {
      for await (const piece of inPieces(bytes, 300)) {
        const opened = open(folder, { actor: "ada", create: false });
        seen.push(
          await opened.then(
            () => "open",
            (error: unknown) => isCortexError(error) && error.code,
          ),
        );
        yield piece;
      }
      throw new Error("the line is cut");
    };
    await expect(importJournal(folder, source(), { actor: "ada" })).rejects.toThrow("cut");
    expect(new Set(seen)).toEqual(new Set(["ERR_FORMAT_UNKNOWN"]));
    const report = await importJournal(folder, inPieces(bytes), { actor: "ada" });
    await using again = await open(folder, { actor: "ada", create: false });
    expect((await again.root()).root).toBe(report.root);
  });
});
