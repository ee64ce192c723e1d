/**
 * The writer: one commit for all who wait, operations that run as often as they must and count once,
 * failures that stay alone, races that are lost and won again, and time that neither goes back nor
 * leaps. Every store is checked in full at the end.
 */
import { describe, expect, test } from "vitest";
import { CortexError, isCortexError } from "../errors.js";
import { idKey, journalKey, KEYSPACE, textKey } from "../kv/keyspace.js";
import { around, type Kv } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { LIMITS } from "../limits.js";
import {
  appendPlain,
  type BareStore,
  bareWriter,
  exactRows,
  openBareStore,
} from "../testing/bare-journal.js";
import { countingKv } from "../testing/counting-kv.js";
import { checkClasses } from "./commit.js";
import { CommitSignal } from "./growth.js";
import type { WriteOperation, WriteTx } from "./writer.js";

/** An operation that appends one entry and says how often it ran. */
function plain(
  ...kinds: readonly string[]
): WriteOperation<number> & { readonly runs: () => number } {
  let runs = 0;
  return {
    runs: () => runs,
    run: (tx) => {
      runs += 1;
      return appendPlain(tx, ...kinds);
    },
  };
}

/** The kinds that the last configuration allows: what of all the plain entries stands. */
async function standing({ memory }: BareStore): Promise<readonly string[]> {
  return (await memory.config()).kindWhitelist;
}

/** The same store, of which no row is at hand. */
function farAway(inner: Kv): Kv {
  return around(inner, {
    async snapshot(options) {
      const snapshot = await inner.snapshot(options);
      return {
        getMany: (keys) => snapshot.getMany(keys),
        ranges: (ranges) => snapshot.ranges(ranges),
        close: () => snapshot.close(),
      };
    },
  });
}

async function entriesOf({ memory }: BareStore): Promise<number> {
  return (await memory.stats()).entries;
}

describe("group commit", () => {
  test("operations of one turn are one commit, in order; each is told the end of the group", async () => {
    await using store = await openBareStore();
    const kv = countingKv(store.handle());
    const writer = store.writer({ kv });
    const written = await Promise.all(["a", "b", "c"].map((kind) => writer.submit(plain(kind))));
    expect(kv.counts().commits).toBe(1);
    expect(written).toEqual([1, 2, 3].map((value) => ({ value, seq: 3 })));
    expect(await standing(store)).toEqual(["c"]);
  });

  test("one that comes while a commit is under way shares the next", async () => {
    await using store = await openBareStore();
    const inner = store.handle();
    const late: Promise<unknown>[] = [];
    let commits = 0;
    const kv = around(inner, {
      commit: (change) => {
        commits += 1;
        if (commits === 1) late.push(writer.submit(plain("b")), writer.submit(plain("c")));
        return inner.commit(change);
      },
    });
    const writer = store.writer({ kv });
    expect(await writer.submit(plain("a"))).toEqual({ value: 1, seq: 1 });
    expect(await Promise.all(late)).toEqual([
      { value: 2, seq: 3 },
      { value: 3, seq: 3 },
    ]);
    expect(commits).toBe(2);
  });

  test("a group is closed by its number of operations, and by their bytes", async () => {
    await using store = await openBareStore();
    const kv = countingKv(store.handle());
    const writer = store.writer({ kv });
    const many = Array.from({ length: LIMITS.groupOperations + 1 }, () => plain());
    await Promise.all(many.map((operation) => writer.submit(operation)));
    expect(kv.counts().commits).toBe(2);
    kv.reset();
    const half = LIMITS.groupBytes / 2;
    const large = [half, half, half, 2 * LIMITS.groupBytes, 1].map((bytes) => ({
      ...plain(),
      bytes,
    }));
    await Promise.all(large.map((operation) => writer.submit(operation)));
    // Two halves, the third alone, the one that is too large for any group alone, the last.
    expect(kv.counts().commits).toBe(4);
    expect(await entriesOf(store)).toBe(1 + many.length + large.length);
  });

  test("an operation that appends nothing commits nothing, and is told where the journal ends", async () => {
    await using store = await openBareStore();
    const kv = countingKv(store.handle());
    const writer = store.writer({ kv });
    expect(await writer.submit({ run: () => "looked" })).toEqual({ value: "looked", seq: 0 });
    expect(kv.counts().commits).toBe(0);
  });

  test("entries of one batch say so; alone, or in an ordinary operation, they do not", async () => {
    await using store = await openBareStore();
    const writer = store.writer();
    const two = (tx: WriteTx) => [appendPlain(tx, "x"), appendPlain(tx, "y")];
    await Promise.all([
      writer.submit({ run: two }),
      writer.submit({ batch: true, run: two }),
      writer.submit({ ...plain("z"), batch: true }),
    ]);
    const { entries } = await store.memory.log({ from: 1, limit: 10 });
    const spans = entries.map(({ batch }) => batch);
    const batch = { first: 3, length: 2 };
    expect(spans).toEqual([undefined, undefined, batch, batch, undefined]);
  });
});

describe("an operation", () => {
  /** Two that want rows nobody loaded; how often they ran. */
  async function wantingRows(store: BareStore, kv: Kv): Promise<number> {
    const writer = store.writer({ kv });
    let runs = 0;
    const reads = (first: number): WriteOperation<number> => ({
      run: (tx) => {
        runs += 1;
        appendPlain(tx, "half done");
        for (let at = first; at < first + 3; at += 1) {
          const key = journalKey(1000 + at);
          tx.view.need([key]);
          expect(tx.view.get(key)).toBe(undefined);
          expect(tx.view.range({ gte: key, lt: journalKey(1001 + at), limit: 1 })).toEqual([]);
        }
        return appendPlain(tx, "done");
      },
    });
    const written = await Promise.all([writer.submit(reads(0)), writer.submit(reads(10))]);
    expect(written.map(({ value }) => value)).toEqual([2, 4]);
    expect(await entriesOf(store)).toBe(5);
    return runs;
  }

  test("that needs rows nobody loaded runs again with all of them, and counts once", async () => {
    await using store = await openBareStore();
    const kv = countingKv(farAway(store.handle()));
    expect(await wantingRows(store, kv)).toBeGreaterThan(2);
    // What a later one will need is learned while the first one waits: rounds, not a round for each.
    expect(kv.counts().batches).toBeLessThanOrEqual(10);
  });

  test("reads what it needs while it runs, where rows are at hand", async () => {
    await using store = await openBareStore();
    const kv = countingKv(store.handle());
    expect(await wantingRows(store, kv)).toBe(2);
    expect(kv.counts()).toMatchObject({ snapshots: 1, batches: 1, ranges: 6 });
  });

  test("may need more rows than a call may have arguments", async () => {
    await using store = await openBareStore();
    const keys = Array.from({ length: 150_000 }, (_, at) => journalKey(at + 10));
    const run = (tx: WriteTx): number => {
      tx.view.need(keys);
      return appendPlain(tx);
    };
    expect((await store.writer().submit({ run })).seq).toBe(1);
  });

  test("may try a step: one that is refused is taken back, and the operation goes on", async () => {
    await using store = await openBareStore();
    const { value } = await store.writer().submit({
      run: (tx) => {
        appendPlain(tx, "before");
        const failed = tx.attempt(() => {
          appendPlain(tx, "tried");
          throw new CortexError("ERR_CONFLICT", "not so");
        });
        return { failed, next: tx.nextSeq(), last: appendPlain(tx, "after") };
      },
    });
    expect(value).toMatchObject({ failed: { error: { code: "ERR_CONFLICT" } }, next: 2, last: 2 });
    expect(await standing(store)).toEqual(["after"]);
  });

  test("whose step fails otherwise fails whole", async () => {
    await using store = await openBareStore();
    const broken = store.writer().submit({
      run: (tx) => {
        appendPlain(tx, "before");
        tx.attempt(() => {
          throw new RangeError("a broken assumption");
        });
      },
    });
    await expect(broken).rejects.toThrow("a broken assumption");
    expect(await entriesOf(store)).toBe(1);
  });
});

describe("a failure", () => {
  test.each([
    ["a refusal", () => new CortexError("ERR_CONFLICT", "no")],
    ["a broken assumption", () => new TypeError("not a function")],
  ])("by %s leaves nothing and does not disturb its neighbours", async (_, errorOf) => {
    await using store = await openBareStore();
    await using other = await openBareStore();
    const fails: WriteOperation<number> = {
      run: (tx) => {
        for (let n = 0; n < 5; n += 1) appendPlain(tx, `lost ${n}`);
        throw errorOf();
      },
    };
    const writer = store.writer();
    const asked = [plain("a"), fails, plain("b"), fails, plain("c")];
    const settled = await Promise.allSettled(asked.map((one) => writer.submit(one)));
    expect(settled.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    const values = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.value] : []));
    expect(values).toEqual([1, 2, 3]);
    // Byte for byte as if they had never been asked for.
    const calm = other.writer();
    await Promise.all(["a", "b", "c"].map((kind) => calm.submit(plain(kind))));
    expect(await exactRows(store.handle())).toEqual(await exactRows(other.handle()));
  });

  test("of the storage rejects the group, and the next one goes through", async () => {
    await using store = await openBareStore();
    const inner = store.handle();
    let isFull = true;
    const kv = around(inner, {
      commit: (change) =>
        isFull ? Promise.reject(new CortexError("ERR_DISK_FULL", "full")) : inner.commit(change),
    });
    const writer = store.writer({ kv });
    const before = await exactRows(inner);
    const group = ["a", "b"].map((kind) => writer.submit(plain(kind)));
    for (const one of await Promise.allSettled(group)) {
      expect(one).toMatchObject({ status: "rejected", reason: { code: "ERR_DISK_FULL" } });
    }
    expect(await exactRows(inner)).toEqual(before);
    isFull = false;
    expect(await writer.submit(plain("c"))).toEqual({ value: 1, seq: 1 });
  });
});

describe("a race", () => {
  /** A handle whose first commits come too late: somebody else commits right before each of them. */
  function beaten(store: BareStore, times: number) {
    const inner = store.handle();
    const rival = store.writer();
    let tried = 0;
    const kv = around(inner, {
      commit: async (change) => {
        tried += 1;
        if (tried <= times) await rival.submit(plain(`rival ${tried}`));
        return inner.commit(change);
      },
    });
    return { kv, tried: () => tried };
  }

  test("that is lost is run again over what the winner left; both are there", async () => {
    await using store = await openBareStore();
    const { kv, tried } = beaten(store, 3);
    const operation = plain("mine");
    expect(await store.writer({ kv }).submit(operation)).toEqual({ value: 4, seq: 4 });
    expect(tried()).toBe(4);
    expect(operation.runs()).toBe(4);
    expect(await standing(store)).toEqual(["mine"]);
    expect(await entriesOf(store)).toBe(5);
  });

  test("that is lost every time is given up, and nothing of it is there", async () => {
    await using store = await openBareStore();
    const { kv, tried } = beaten(store, Number.POSITIVE_INFINITY);
    const lost = store.writer({ kv }).submit(plain("mine"));
    await expect(lost).rejects.toMatchObject({ code: "ERR_CONTENDED" });
    expect(tried()).toBe(LIMITS.commitAttempts);
    expect(await entriesOf(store)).toBe(1 + LIMITS.commitAttempts);
    expect(await standing(store)).toEqual([`rival ${LIMITS.commitAttempts}`]);
  });

  test("whoever lost before it won lets others have their turn, if more is waiting", async () => {
    await using store = await openBareStore();
    const pauses: number[] = [];
    const pause = async (ms: number): Promise<void> => void pauses.push(ms);
    const { kv } = beaten(store, 1);
    const writer = store.writer({ kv, pause });
    // Two groups: the first one loses and wins while the second one waits.
    await Promise.all([
      writer.submit({ ...plain("a"), bytes: LIMITS.groupBytes }),
      writer.submit(plain("b")),
    ]);
    expect(pauses).toHaveLength(1);
    const alone = store.writer({ kv: beaten(store, 1).kv, pause });
    await alone.submit(plain("c"));
    const calm = store.writer({ pause });
    await Promise.all([
      calm.submit({ ...plain("d"), bytes: LIMITS.groupBytes }),
      calm.submit(plain("e")),
    ]);
    expect(pauses).toHaveLength(1);
  });

  test("two writers that take turns never lose an entry, whatever they have cached", async () => {
    await using store = await openBareStore();
    const [one, two] = [store.writer(), store.writer()];
    const values: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      values.push((await one.submit(plain("one"))).value);
      values.push((await two.submit(plain("two"))).value);
      const both = [one.submit(plain("1")), two.submit(plain("2"))];
      values.push(...(await Promise.all(both)).map(({ value }) => value));
    }
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 80 }, (_, at) => at + 1));
  });
});

describe("who follows the journal", () => {
  test("is told of every commit with entries, and the next commit waits for those who ask", async () => {
    await using store = await openBareStore();
    const signal = new CommitSignal();
    const kv = countingKv(store.handle());
    const writer = store.writer({ kv, signal });
    const told: (readonly [number, number])[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const leave = signal.listen((size, before) => {
      told.push([size, before]);
      return told.length === 1 ? held : undefined;
    });
    // The first is durable and answered before anybody who listens is done.
    await writer.submit(plain("a"));
    const second = writer.submit(plain("b"));
    const third = writer.submit(plain("c"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(kv.counts().commits).toBe(1);
    release();
    await Promise.all([second, third]);
    await writer.submit({ run: () => "nothing" });
    leave();
    await writer.submit(plain("d"));
    expect(told).toEqual([
      [2, 1],
      [4, 2],
    ]);
  });
});

describe("exact rows and entries belong together", () => {
  const exact = idKey("memory", new Uint8Array(16));
  const cache = textKey("cursor", "job");
  const refused = { code: "ERR_BATCH_NO_JOURNAL" };

  test("the guard knows every class", () => {
    const touching = (key: Uint8Array) => [
      { puts: [{ key, value: new Uint8Array(0) }], deletes: [] },
      { puts: [], deletes: [key] },
    ];
    for (const commit of touching(exact)) {
      expect(() => checkClasses(commit, false)).toThrow(expect.objectContaining(refused));
      expect(() => checkClasses(commit, true)).not.toThrow();
    }
    for (const commit of touching(cache)) {
      expect(() => checkClasses(commit, true)).toThrow(expect.objectContaining(refused));
      expect(() => checkClasses(commit, false)).not.toThrow();
    }
    for (const commit of touching(journalKey(5))) {
      expect(() => checkClasses(commit, false)).toThrow(expect.objectContaining(refused));
    }
  });

  test("an operation that touches a cache with its entry is refused", async () => {
    await using store = await openBareStore();
    const writer = store.writer();
    const before = await exactRows(store.handle());
    const mixed = writer.submit({
      run: (tx) => {
        tx.fold.view.put(cache, Uint8Array.of(1));
        return appendPlain(tx);
      },
    });
    await expect(mixed).rejects.toMatchObject(refused);
    expect(await exactRows(store.handle())).toEqual(before);
    expect((await writer.submit(plain("a"))).seq).toBe(1);
  });

  test("an operation without an entry is refused, also in a group that has some", async () => {
    await using store = await openBareStore();
    const writer = store.writer();
    const silent = { run: (tx: WriteTx) => tx.fold.view.put(exact, Uint8Array.of(1)) };
    await expect(writer.submit(silent)).rejects.toMatchObject(refused);
    const settled = await Promise.allSettled([
      writer.submit(plain("a")),
      writer.submit(silent),
      writer.submit(plain("b")),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const rows = await exactRows(store.handle());
    expect(rows.filter((row) => row.startsWith(`${KEYSPACE.memory.name} `))).toEqual([]);
  });
});

describe("time", () => {
  const hours = (count: number): number => count * 60 * 60 * 1000;

  test("a clock that leaps ahead of the process's own time is refused until it is right", async () => {
    await using store = await openBareStore();
    let [clock, elapsed] = [Date.UTC(2030, 0, 2), 0];
    const writer = store.writer({ clock: () => clock, elapsed: () => elapsed });
    await writer.submit(plain("a"));
    clock += hours(23);
    expect((await writer.submit(plain("b"))).seq).toBe(2);
    clock += hours(25);
    const before = await exactRows(store.handle());
    await expect(writer.submit(plain("c"))).rejects.toMatchObject({ code: "ERR_CLOCK" });
    expect(await exactRows(store.handle())).toEqual(before);
    clock -= hours(25);
    expect((await writer.submit(plain("d"))).seq).toBe(3);
    // A process that really ran that long may say so.
    clock += hours(100);
    elapsed += hours(100);
    expect((await writer.submit(plain("e"))).seq).toBe(4);
  });

  test("without a measure of its own the writer takes any clock", async () => {
    await using store = await openBareStore();
    let clock = Date.UTC(2030, 0, 2);
    const writer = store.writer({ clock: () => clock });
    await writer.submit(plain("a"));
    clock += hours(1000);
    expect((await writer.submit(plain("b"))).seq).toBe(2);
  });

  test("a clock that goes back does not take the entries with it", async () => {
    await using store = await openBareStore();
    let clock = Date.UTC(2030, 5, 1);
    const writer = store.writer({ clock: () => clock });
    for (const kind of ["a", "b", "c"]) {
      await writer.submit(plain(kind));
      clock -= hours(1);
    }
    const { entries } = await store.memory.log({ from: 1, limit: 9 });
    expect(new Set(entries.map(({ at }) => at))).toEqual(new Set([Date.UTC(2030, 5, 1)]));
  });
});

test("closing waits for everything queued, then refuses more", async () => {
  await using store = await openBareStore();
  const writer = store.writer();
  const queued = ["a", "b"].map((kind) => writer.submit(plain(kind)));
  const closing = writer.close();
  const late = writer.submit(plain("late"));
  await expect(late).rejects.toSatisfy((error) => isCortexError(error, "ERR_CLOSED"));
  expect((await Promise.all(queued)).map(({ value }) => value)).toEqual([1, 2]);
  await closing;
  expect(await standing(store)).toEqual(["b"]);
});

test("an operation may look at a store that was never born", async () => {
  const writer = bareWriter({ kv: openMemoryKv() });
  expect(await writer.submit({ run: (tx) => tx.head.size })).toEqual({ value: 0, seq: -1 });
  await writer.close();
});
