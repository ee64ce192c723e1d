/**
 * Sources that lie, fork or roll back: each is refused with a code and a seq, and the replica is, byte
 * for byte, what it was; an honest source is followed on afterwards.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toHex } from "../src/codec/keys.js";
import { sha256Node } from "../src/codec/node-crypto.js";
import type { JournalPage } from "../src/contract/entry.js";
import { type Cortex, isCortexError, restoreBackup } from "../src/index.js";
import { formatCheckpoint, parseCheckpoint } from "../src/journal/checkpoint.js";
import { decodeEntry, encodeEntry, encodeHeader, SUBJECT } from "../src/journal/entry.js";
import type { Kv } from "../src/kv/kv.js";
import { pullPage } from "../src/replica/follow.js";
import { ReplicaWriter } from "../src/replica/replica-writer.js";
import { backedUp, emptyKv, graphOver, headOf, inPieces, rowsOf } from "./moves-support.js";
import { cleanUp } from "./other-process.js";
import { catchUp, type GraphSource, lying, sharedRows, twinOf } from "./replica-support.js";

afterEach(cleanUp);

let source: Cortex;
let sourceKv: Kv;
let kv: Kv;
/** Entries of the source that the replica has already. */
let followed: number;

beforeEach(async () => {
  sourceKv = await emptyKv("memory");
  kv = await emptyKv("memory");
  source = await graphOver(sourceKv);
  await source.write({ type: "fact", slot: "home city", text: "Ada lives in Porto" });
  await source.write({ type: "fact", text: "Ada likes trains", externalId: "trains" });
  followed = (await catchUp(source, kv)).seq + 1;
  await source.update("trains", { text: "Ada likes night trains" });
  await source.batch([
    { write: { type: "note", text: "first of two" } },
    { write: { type: "note", text: "second of two" } },
  ]);
  await source.write({ type: "fact", slot: "home city", text: "Ada lives in Braga" });
});

/** Follows what must be refused; the failure, once it is shown that nothing was changed. */
async function refused(by: GraphSource, into: Kv = kv): Promise<string> {
  const before = await rowsOf(into);
  const failure = await catchUp(by, into).then(
    () => "not refused",
    (error: unknown) => error,
  );
  expect(await rowsOf(into)).toEqual(before);
  if (!isCortexError(failure)) throw failure;
  const { code, message, details } = failure;
  return `${code} at ${details.seq}: ${message}`;
}

/** What comes of a lie is refused; the truth is followed afterwards. */
async function refusedLie(lie: (page: JournalPage) => JournalPage): Promise<string> {
  const failure = await refused(lying(source, lie));
  await catchUp(source, kv);
  expect(await sharedRows(kv)).toEqual(await sharedRows(sourceKv));
  return failure;
}

/** A page with one entry changed. */
function withEntry(
  page: JournalPage,
  at: number,
  change: (entry: ReturnType<typeof decodeEntry>) => Parameters<typeof encodeEntry>[0],
): JournalPage {
  const entries = page.entries.map((text, index) => {
    if (index !== at) return text;
    const entry = decodeEntry(Uint8Array.from(Buffer.from(text, "base64")));
    return Buffer.from(encodeEntry(change(entry))).toString("base64");
  });
  return { ...page, entries };
}

describe("a page that was tampered with", () => {
  test("a header that says something else", async () => {
    const failure = await refusedLie((page) =>
      withEntry(page, 0, (entry) => ({
        ...entry,
        headerBytes: encodeHeader({ ...entry.header, by: "mallory" }, entry.header.batch),
      })),
    );
    expect(failure).toMatch(/^ERR_ROOT_MISMATCH at 6: .* does not lead to its own checkpoint/);
  });

  test("a header in a page before the last one", async () => {
    const first = async (wanted?: object): Promise<JournalPage> =>
      withEntry(await source.journalPage({ ...wanted, limit: 1 }), 0, (entry) => ({
        ...entry,
        headerBytes: encodeHeader({ ...entry.header, at: entry.header.at + 1 }, undefined),
      }));
    const subscribe: GraphSource["subscribe"] = (options) => source.subscribe(options);
    expect(await refused({ journalPage: first, subscribe })).toMatch(/^ERR_ROOT_MISMATCH at 3: /);
  });

  test("a part with other bytes", async () => {
    const failure = await refusedLie((page) =>
      withEntry(page, 0, (entry) => ({
        ...entry,
        parts: entry.parts.map((part) => {
          const bytes = part?.slice();
          bytes?.set([(bytes.at(-1) ?? 0) ^ 1], bytes.length - 1);
          return bytes;
        }),
      })),
    );
    expect(failure).toMatch(/^ERR_CORRUPT at 3: .* does not have the hash its header names/);
  });

  test("an entry that was dropped, first, between and last", async () => {
    const without = (page: JournalPage, at: number): JournalPage => ({
      ...page,
      entries: page.entries.filter((_, index) => index !== at),
    });
    expect(await refused(lying(source, (page) => without(page, 0)))).toMatch(
      /^ERR_JOURNAL_GAP at 3: .*expected entry 3, got entry 4/,
    );
    expect(await refused(lying(source, (page) => without(page, 2)))).toMatch(
      /^ERR_JOURNAL_GAP at 5: /,
    );
    expect(await refused(lying(source, (page) => without(page, 3)))).toMatch(
      /^ERR_ROOT_MISMATCH at 5: /,
    );
    expect(await refusedLie((page) => ({ ...page, entries: [] }))).toMatch(
      /^ERR_ROOT_MISMATCH at 2: /,
    );
  });

  test("entries in another order, and one that comes twice", async () => {
    expect(await refusedLie((page) => ({ ...page, entries: [...page.entries].reverse() }))).toMatch(
      /^ERR_JOURNAL_GAP at 3: /,
    );
    expect(
      await refused(
        lying(source, (page) => ({ ...page, entries: page.entries.slice(0, 1) })),
        await emptyKv("memory"),
      ),
    ).toMatch(/^ERR_ROOT_MISMATCH at 0: /);
  });

  test("half a batch", async () => {
    expect(await refusedLie((page) => ({ ...page, entries: page.entries.slice(0, 2) }))).toMatch(
      /^ERR_ROOT_MISMATCH at 4: .*whole batches/,
    );
  });

  test("another checkpoint, or a proof that does not hold", async () => {
    const { checkpoint } = await source.checkpoint();
    await source.write({ type: "fact", text: "later" });
    expect(await refusedLie((page) => ({ ...page, checkpoint }))).toMatch(
      /^ERR_ROOT_MISMATCH at 7: /,
    );
    const short = (page: JournalPage): JournalPage => ({
      ...page,
      consistency: page.consistency.map(() => toHex(new Uint8Array(32))),
    });
    await source.write({ type: "fact", text: "and later" });
    const small: GraphSource = {
      journalPage: async (wanted) => short(await source.journalPage({ ...wanted, limit: 1 })),
      subscribe: (options) => source.subscribe(options),
    };
    await source.write({ type: "fact", text: "and the last" });
    expect(await refused(small)).toMatch(/^ERR_ROOT_MISMATCH at 8: .*does not lead there/);
  });

  test("a checkpoint whose state is not what its entries give", async () => {
    const failure = await refusedLie((page) => {
      const { roots, ...stated } = parseCheckpoint(sha256Node, page.checkpoint);
      const trees = { ...roots.trees, memories: sha256Node(roots.trees.memories) };
      const checkpoint = formatCheckpoint(sha256Node, { ...stated, roots: { ...roots, trees } });
      return { ...page, checkpoint };
    });
    expect(failure).toMatch(/^ERR_ROOT_MISMATCH at 6: /);
  });

  test.each<[string, Partial<Record<keyof JournalPage, unknown>>]>([
    ["from", { from: -1 }],
    ["fromRoot", { fromRoot: "ab" }],
    ["entries", { entries: [7] }],
    ["consistency", { consistency: ["zz"] }],
    ["checkpoint", { checkpoint: null }],
    ["epoch", { epoch: "0" }],
  ])("one whose %s is none", async (field, change) => {
    const lie = (page: JournalPage): JournalPage => ({ ...page, ...change }) as JournalPage;
    expect(await refused(lying(source, lie))).toMatch(
      new RegExp(`^ERR_EXPORT_MALFORMED at undefined: page\\.${field}`),
    );
  });

  test("bytes that are no entry", async () => {
    expect(await refusedLie((page) => ({ ...page, entries: ["AAAA", "AAAA"] }))).toMatch(
      /^ERR_CORRUPT at 3: /,
    );
  });
});

describe("a part that is withheld", () => {
  const without = (page: JournalPage, tag: number): JournalPage =>
    page.entries.reduce(
      (whole, _, at) =>
        withEntry(whole, at, (entry) => ({
          ...entry,
          parts: entry.parts.map((part, index) =>
            entry.header.parts[index]?.subject[0] === tag ? undefined : part,
          ),
        })),
      page,
    );

  test("of a memory that the replica has is found out as soon as both are level", async () => {
    expect(await refusedLie((page) => without(page, SUBJECT.memory))).toMatch(
      /^ERR_CORRUPT at undefined: memory .* withholds a part of it, although nobody forgot it/,
    );
  });

  test("also by a process that did not see the page without it", async () => {
    const first = await source.journalPage({ from: followed, limit: 1 });
    const begin = () =>
      ReplicaWriter.begin({ kv, sha256: sha256Node, actor: "ada", source: "a graph at hand" });
    await pullPage(await begin(), { page: async () => without(first, SUBJECT.memory) });
    // Meanwhile the memory stands as it was, and cannot be proved: its leaf is another.
    const behind = await graphOver(kv, 4);
    expect((await behind.get("trains"))?.text).toBe("Ada likes trains");
    await expect(behind.prove(["trains"])).rejects.toMatchObject({ code: "ERR_CORRUPT" });
    expect(await behind.check()).toMatchObject({ ok: true });
    const before = await rowsOf(kv);
    await expect(
      pullPage(await begin(), { page: (wanted) => source.journalPage(wanted) }),
    ).rejects.toMatchObject({ code: "ERR_CORRUPT" });
    expect(await rowsOf(kv)).toEqual(before);
  });

  test("of the store itself is refused at once", async () => {
    await source.configure({ conflictPolicy: "manual" });
    expect(await refusedLie((page) => without(page, SUBJECT.config))).toMatch(
      /^ERR_CORRUPT at 7: .*never erased/,
    );
    expect(
      await refused(
        lying(source, (page) => without(page, SUBJECT.store)),
        await emptyKv("memory"),
      ),
    ).toMatch(/^ERR_CORRUPT at 0: /);
  });
});

describe("a source with another history", () => {
  test("another store", async () => {
    const other = await graphOver(await emptyKv("memory"), 5);
    for (let n = 0; n < 9; n += 1) await other.write({ type: "fact", text: `fact ${n}` });
    expect(await refused(other)).toMatch(/^ERR_FORK at 0: the source is another store/);
  });

  test("another actor", async () => {
    const lie = (page: JournalPage): JournalPage => page;
    const failure = await catchUp(lying(source, lie), await emptyKv("memory"), {
      actor: "grace",
    }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "ERR_ACTOR_MISMATCH" });
  });

  test("a fork: the failure names the first seq that differs", async () => {
    for (let n = 0; n < 20; n += 1) await source.write({ type: "fact", text: `common ${n}` });
    const twin = await twinOf(source);
    const { seq } = await source.root();
    for (let n = 0; n < 11; n += 1) await source.write({ type: "fact", text: `one way ${n}` });
    await catchUp(source, kv);
    for (let n = 0; n < 4; n += 1) await twin.write({ type: "fact", text: `other way ${n}` });
    expect(await refused(twin), "shorter").toMatch(
      new RegExp(`^ERR_FORK at ${seq + 1}: .* part at seq ${seq + 1}; nothing was changed`),
    );
    for (let n = 0; n < 40; n += 1) await twin.write({ type: "fact", text: `far away ${n}` });
    expect(await refused(twin), "longer").toMatch(new RegExp(`^ERR_FORK at ${seq + 1}: `));
    await catchUp(source, kv);
    expect(await sharedRows(kv)).toEqual(await sharedRows(sourceKv));
  });

  test("a source that was rolled back", async () => {
    const twin = await twinOf(source);
    const { seq } = await twin.root();
    await source.write({ type: "fact", text: "lost" });
    await source.write({ type: "fact", text: "lost as well" });
    await catchUp(source, kv);
    expect(await refused(twin)).toMatch(
      new RegExp(`^ERR_ROLLED_BACK at ${seq}: the source ends at seq ${seq}, but the replica has`),
    );
  });

  test("a source that was restored: what was erased on the way nobody says", async () => {
    await catchUp(source, kv);
    const { bytes } = await backedUp(source);
    const restoredKv = await emptyKv("memory");
    await restoreBackup("memory:", [inPieces(bytes)], { actor: "ada", kv: restoredKv });
    const restored = await graphOver(restoredKv, 9);
    expect(await refused(restored)).toMatch(/^ERR_FORK at 6: .*restored from a backup.*epoch 1/);
    // A new replica of it is welcome.
    const fresh = await emptyKv("memory");
    expect(await catchUp(restored, fresh)).toMatchObject(await restored.root());
    expect(await sharedRows(fresh)).toEqual(await sharedRows(restoredKv));
  });

  test("a store with a history of its own is never made a replica, not even of itself", async () => {
    const before = await rowsOf(sourceKv);
    await expect(catchUp(source, sourceKv)).rejects.toMatchObject({ code: "ERR_EXISTS" });
    expect(await rowsOf(sourceKv)).toEqual(before);
    expect(await headOf(sourceKv)).toBeDefined();
  });

  test("what was refused is told by the stats", async () => {
    const twin = await twinOf(source);
    await catchUp(source, kv);
    await source.write({ type: "fact", text: "one way" });
    await catchUp(source, kv);
    await twin.write({ type: "fact", text: "another way" });
    await refused(twin);
    const replica = await graphOver(kv, 3);
    expect((await replica.stats()).replica?.lastError).toMatchObject({ code: "ERR_FORK" });
  });
});
