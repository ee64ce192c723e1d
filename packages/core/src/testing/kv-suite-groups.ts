/**
 * The part of the storage suite that depends on what a backend claims (reopening, a second handle,
 * generations, states that are not held), and random histories judged by a plain `Map`.
 */
import assert from "node:assert/strict";
import {
  type Bytes,
  HEAD_KEY,
  isStateGone,
  type Kv,
  type KvRange,
  type KvRow,
  type KvSnapshot,
} from "../kv/kv.js";
import type { KvCase, KvSubject } from "./kv-suite.js";
import {
  bytes,
  everything,
  hex,
  read,
  row,
  settledSnapshot,
  shown,
  write,
} from "./kv-suite-basics.js";
import { type SeededRandom, seededRandom } from "./seeded-random.js";

const MOVED = bytes(0xff, 1);

/** Snapshots that need not hold their state. */
export const briefCases: readonly KvCase[] = [
  {
    name: "a brief snapshot that is read again gives the state of its first read, or says that it has gone",
    async run({ kv }) {
      await write(kv, [row(bytes(5), "a"), row(bytes(6), "a")]);
      const calm = await kv.snapshot({ brief: true });
      assert.equal(hex((await calm.getMany([bytes(5)]))[0]), hex(row(bytes(5), "a").value));
      const [rows = []] = await calm.ranges([{ gte: bytes(6), lt: bytes(7), limit: 2 }]);
      assert.deepEqual(shown(rows), shown([row(bytes(6), "a")]));
      calm.close();
      for (const isCaches of [false, true]) {
        const snapshot = await kv.snapshot({ brief: true });
        const [first] = await snapshot.getMany([bytes(5)]);
        if (isCaches)
          await kv.commitCaches({ expect: [], puts: [row(bytes(6), "c")], deletes: [] });
        else await write(kv, [row(bytes(6), "b")]);
        const second = await snapshot
          .getMany([bytes(6), bytes(5)])
          .catch((error: unknown) => error);
        snapshot.close();
        if (isStateGone(second)) continue;
        assert.ok(Array.isArray(second), String(second));
        const before = isCaches ? "b" : "a";
        assert.deepEqual(second.map(hex), [hex(row(bytes(6), before).value), hex(first)]);
      }
    },
  },
];

/** What survives closing and opening again. */
export const reopenCases: readonly KvCase[] = [
  {
    name: "reopen: every resolved commit is there, and a lost one is not",
    async run({ kv, reopen }) {
      assert.ok(reopen);
      const big = seededRandom(5).bytes(300_000);
      await write(kv, [
        row(bytes(5), "kept"),
        row(bytes(6), "dropped"),
        { key: bytes(7), value: big },
      ]);
      const head = await write(kv, [row(bytes(1, 1), "entry")], [bytes(6)]);
      const late = { expectHead: bytes(0), head: bytes(2), puts: [row(bytes(8), "no")] };
      assert.equal((await kv.commit({ ...late, deletes: [] })).ok, false);
      const before = await everything(kv);
      const again = await reopen();
      assert.deepEqual(await everything(again), before);
      assert.deepEqual(await read(again, HEAD_KEY, bytes(7)), [hex(head), hex(big)]);
      await write(again, [row(bytes(1, 2), "next entry")]);
      assert.equal((await everything(again)).length, before.length + 1);
    },
  },
  {
    name: "reopen: a promoted generation is the store",
    async run({ kv, reopen }) {
      assert.ok(reopen);
      if (!kv.manifest.generations) return;
      const head = await write(kv, [row(bytes(5), "old")]);
      const next = await kv.nextGeneration();
      const copy = { expectHead: undefined, head, puts: [row(bytes(5), "new")], deletes: [] };
      assert.deepEqual(await next.kv.commit(copy), { ok: true });
      assert.deepEqual(await next.promote(head, MOVED), { ok: true });
      assert.deepEqual(await everything(await reopen()), shown([row(bytes(5), "new")]));
    },
  },
];

/** Two handles, as of two processes. */
export const secondCases: readonly KvCase[] = [
  {
    name: "second handle: sees each commit at its next snapshot, and the other way round",
    async run({ kv, second }) {
      assert.ok(second);
      const other = await second();
      const held = await settledSnapshot(other);
      for (let i = 0; i < 10; i++) {
        const [writer, reader] = i % 2 === 0 ? [kv, other] : [other, kv];
        await write(writer, [row(bytes(5), `round ${i}`), row(bytes(1, i), "entry")]);
        const value = hex(new TextEncoder().encode(`round ${i}`));
        assert.deepEqual(await read(reader, bytes(5)), [value]);
      }
      assert.deepEqual((await held.getMany([bytes(5)])).map(hex), ["absent"]);
      held.close();
      await other.close();
      await write(kv, [row(bytes(5), "after the other closed")]);
    },
  },
  {
    name: "second handle: concurrent increments lose nothing",
    async run({ kv, second }) {
      assert.ok(second);
      const other = await second();
      await write(kv, [{ key: bytes(5), value: bytes(0) }]);
      const increment = async (handle: Kv): Promise<void> => {
        for (let done = 0; done < 20; ) {
          const snapshot = await handle.snapshot();
          const [head, value] = await snapshot.getMany([HEAD_KEY, bytes(5)]);
          snapshot.close();
          assert.ok(head && value);
          const sum = (value[0] ?? 0) + 1;
          const puts = [{ key: bytes(5), value: bytes(sum) }];
          const change = { expectHead: head, head: bytes(3, sum), puts, deletes: [] };
          if ((await handle.commit(change)).ok) done += 1;
        }
      };
      await Promise.all([increment(kv), increment(other), increment(kv)]);
      assert.deepEqual(await read(other, bytes(5)), [hex(bytes(60))]);
      await other.close();
    },
  },
  {
    name: "second handle: follows a promotion for reads and for commits",
    async run({ kv, second }) {
      assert.ok(second);
      if (!kv.manifest.generations) return;
      const other = await second();
      const [third, fourth] = [await second(), await second()];
      const head = await write(kv, [row(bytes(5), "old"), row(bytes(6), "waste")]);
      const before = await settledSnapshot(other);
      const next = await kv.nextGeneration();
      const puts = [row(bytes(5), "new")];
      await next.kv.commit({ expectHead: undefined, head, puts, deletes: [] });
      assert.equal((await everything(other)).length, 2, "a construction is invisible");
      assert.deepEqual(await next.promote(head, MOVED), { ok: true });
      assert.deepEqual(await everything(other), shown([row(bytes(5), "new")]));
      assert.equal(
        (await before.getMany([bytes(6)])).map(hex)[0],
        hex(row(bytes(), "waste").value),
      );
      before.close();
      // The third and the fourth handle have not looked since the move: they begin with a commit.
      const change = { expectHead: head, head: bytes(9), puts: [row(bytes(1, 1), "entry")] };
      const onMoved = await third.commit({ ...change, expectHead: MOVED, deletes: [] });
      assert.equal(onMoved.ok ? "" : hex(onMoved.head), hex(head), "the moved head is nobody's");
      assert.deepEqual(await fourth.commit({ ...change, deletes: [] }), { ok: true });
      assert.deepEqual(
        await everything(kv),
        shown([row(bytes(1, 1), "entry"), row(bytes(5), "new")]),
      );
      await Promise.all([other.close(), third.close(), fourth.close()]);
    },
  },
];

async function copyOf(kv: Kv, into: Kv, head: Bytes): Promise<void> {
  const snapshot = await kv.snapshot();
  const range = { gte: bytes(0, 0), lt: bytes(0xff, 0xff), limit: 1000 };
  const [puts = []] = await snapshot.ranges([range]);
  await into.commit({ expectHead: undefined, head, puts, deletes: [] });
  snapshot.close();
}

/** Building the next generation beside the store. */
export const generationCases: readonly KvCase[] = [
  {
    name: "generations: a lost promotion changes nothing, and may be tried again",
    async run({ kv }) {
      const head = await write(kv, [row(bytes(5), "a")]);
      const next = await kv.nextGeneration();
      await copyOf(kv, next.kv, head);
      const late = await write(kv, [row(bytes(6), "meanwhile")]);
      const lost = await next.promote(head, MOVED);
      assert.equal(lost.ok ? "" : hex(lost.head), hex(late));
      assert.equal((await everything(kv)).length, 2);
      const catchUp = { expectHead: head, head: late, puts: [row(bytes(6), "meanwhile")] };
      assert.deepEqual(await next.kv.commit({ ...catchUp, deletes: [] }), { ok: true });
      await write(next.kv, []);
      const held = await kv.snapshot();
      assert.deepEqual(await next.promote(late, MOVED), { ok: true });
      assert.equal((await held.getMany([bytes(6)])).length, 1);
      held.close();
      assert.equal((await everything(kv)).length, 2);
      await write(kv, [row(bytes(7), "after")]);
      assert.equal((await everything(kv)).length, 3);
      await assert.rejects(next.kv.snapshot(), { code: "ERR_CLOSED" });
      await next.abandon();
      assert.equal((await everything(kv)).length, 3);
    },
  },
  {
    name: "generations: an abandoned construction leaves the store alone",
    async run({ kv }) {
      const head = await write(kv, [row(bytes(5), "a")]);
      const next = await kv.nextGeneration();
      await next.kv.commit({ expectHead: undefined, head, puts: [], deletes: [] });
      await next.abandon();
      await next.abandon();
      await assert.rejects(next.promote(head, MOVED), { code: "ERR_CLOSED" });
      await assert.rejects(next.kv.snapshot(), { code: "ERR_CLOSED" });
      assert.deepEqual(await everything(kv), shown([row(bytes(5), "a")]));
    },
  },
  {
    name: "generations: several in a row, from an unborn store on; no construction has its own",
    async run({ kv }) {
      const first = await kv.nextGeneration();
      await first.kv.commit({ expectHead: undefined, head: bytes(4), puts: [], deletes: [] });
      await assert.rejects(first.kv.nextGeneration(), { code: "ERR_UNSUPPORTED" });
      await assert.rejects(first.promote(undefined, bytes(1)), RangeError);
      assert.deepEqual(await first.promote(undefined, MOVED), { ok: true });
      for (let i = 1; i <= 4; i++) {
        const head = await write(kv, [row(bytes(5, i), "x")]);
        const next = await kv.nextGeneration();
        await copyOf(kv, next.kv, head);
        assert.deepEqual(await next.promote(head, MOVED), { ok: true });
        assert.equal((await everything(kv)).length, i);
      }
    },
  },
  {
    name: "generations: of two constructions the later one must catch up",
    async run({ kv }) {
      const head = await write(kv, [row(bytes(5), "a")]);
      const [one, two] = [await kv.nextGeneration(), await kv.nextGeneration()];
      await one.kv.commit({ expectHead: undefined, head: bytes(7), puts: [], deletes: [] });
      await two.kv.commit({ expectHead: undefined, head: bytes(8), puts: [], deletes: [] });
      assert.deepEqual(await one.promote(head, MOVED), { ok: true });
      const lost = await two.promote(head, MOVED);
      assert.equal(lost.ok ? "" : hex(lost.head), hex(bytes(7)));
      assert.deepEqual(await two.promote(bytes(7), MOVED), { ok: true });
      assert.deepEqual(await read(kv, HEAD_KEY), [hex(bytes(8))]);
    },
  },
];

/** Random commits, lost races, snapshots and reads, judged by a copied `Map` per snapshot. */
export function historyCases(seeds: readonly number[], steps: number): KvCase[] {
  return seeds.map((seed) => ({
    name: `random history of ${steps} steps, seed ${seed}`,
    run: (subject) => playHistory(subject, seed, steps),
  }));
}

type Model = Map<string, KvRow>;

interface Play {
  kv: Kv;
  other: Kv | undefined;
  head: Bytes | undefined;
  model: Model;
  readonly held: { readonly snapshot: KvSnapshot; readonly model: Model }[];
}

async function playHistory(subject: KvSubject, seed: number, steps: number): Promise<void> {
  const random = seededRandom(seed);
  const { kv } = subject;
  const other = await subject.second?.();
  const play: Play = { kv, other, head: undefined, model: new Map(), held: [] };
  const keys = Array.from({ length: 40 }, () => randomKey(random));
  for (let step = 0; step < steps; step++) {
    const dice = random.below(100);
    const handle = play.other !== undefined && random.chance(40) ? play.other : play.kv;
    if (dice < 40) await playCommit(handle, play, random, keys);
    else if (dice < 55) {
      play.held.push({ snapshot: await settledSnapshot(handle), model: new Map(play.model) });
    } else if (dice < 90) await playRead(play, random, keys);
    else if (dice < 96) random.shuffled(play.held)[0]?.snapshot.close();
    else if (dice < 98 && kv.manifest.generations) await playPromotion(handle, play);
    else if (dice === 99 && subject.reopen !== undefined) {
      for (const { snapshot } of play.held.splice(0)) snapshot.close();
      await play.other?.close();
      play.kv = await subject.reopen();
      play.other = await subject.second?.();
    }
    const open = await Promise.all(play.held.map(({ snapshot }) => isOpen(snapshot)));
    play.held.splice(0, play.held.length, ...play.held.filter((_, i) => open[i] === true));
  }
  for (const handle of [play.kv, play.other ?? play.kv]) {
    const rows = [...play.model.values()].sort((a, b) => Buffer.compare(a.key, b.key));
    assert.deepEqual(await everything(handle), shown(rows));
    assert.deepEqual(await read(handle, HEAD_KEY), [hex(play.head)]);
  }
  for (const { snapshot } of play.held) snapshot.close();
  await play.other?.close();
}

async function isOpen(snapshot: KvSnapshot): Promise<boolean> {
  return snapshot.getMany([]).then(
    () => true,
    () => false,
  );
}

function randomKey(random: SeededRandom): Bytes {
  const first = random.pick([0, 1, 1, 1, 2, 0x10, 0x21, 0xff]);
  const length = random.chance(5) ? 511 : random.between(1, 4);
  return bytes(first, ...Array.from({ length }, () => random.pick([0, 1, 2, 0x7f, 0x80, 0xff])));
}

async function playCommit(
  kv: Kv,
  play: Play,
  random: SeededRandom,
  keys: readonly Bytes[],
): Promise<void> {
  const touched = new Map(
    Array.from({ length: random.below(8) }, () => random.pick(keys)).map((key) => [hex(key), key]),
  );
  const puts: KvRow[] = [];
  const deletes: Bytes[] = [];
  for (const key of touched.values()) {
    const length = random.chance(5) ? 9000 : random.below(40);
    if (random.chance(70)) puts.push({ key, value: random.bytes(length) });
    else deletes.push(key);
  }
  const stale = random.chance(15);
  const head = bytes(1, ...random.bytes(5));
  const expectHead = stale ? bytes(2, ...random.bytes(5)) : play.head;
  const result = await kv.commit({ expectHead, head, puts, deletes });
  assert.equal(result.ok, !stale);
  if (!result.ok) {
    assert.equal(hex(result.head), hex(play.head));
    return;
  }
  play.head = head;
  for (const put of puts) play.model.set(hex(put.key), put);
  for (const key of deletes) play.model.delete(hex(key));
}

async function playRead(play: Play, random: SeededRandom, keys: readonly Bytes[]): Promise<void> {
  if (play.held.length === 0) return;
  const { snapshot, model } = random.pick(play.held);
  const asked = Array.from({ length: random.below(6) }, () => random.pick(keys));
  assert.deepEqual(
    (await snapshot.getMany(asked)).map(hex),
    asked.map((key) => hex(model.get(hex(key))?.value)),
  );
  const ranges: KvRange[] = Array.from({ length: random.between(1, 3) }, () => ({
    gte: random.chance(20) ? bytes(0, 0) : random.pick(keys),
    lt: random.chance(20) ? bytes(random.pick([1, 2, 0xff])) : random.pick(keys),
    limit: random.between(1, 12),
    reverse: random.chance(50),
    keysOnly: random.chance(20),
  }));
  const found = await snapshot.ranges(ranges);
  for (const [i, range] of ranges.entries()) {
    const inside = [...model.values()]
      .filter((r) => Buffer.compare(r.key, range.gte) >= 0 && Buffer.compare(r.key, range.lt) < 0)
      .sort((a, b) => (range.reverse === true ? -1 : 1) * Buffer.compare(a.key, b.key))
      .slice(0, range.limit)
      .map((r) => (range.keysOnly === true ? { key: r.key, value: bytes() } : r));
    assert.deepEqual(shown(found[i] ?? []), shown(inside));
  }
}

async function playPromotion(kv: Kv, play: Play): Promise<void> {
  if (play.head === undefined) return;
  const next = await kv.nextGeneration();
  const puts = [...play.model.values()];
  const change = { expectHead: undefined, head: play.head, puts, deletes: [] };
  assert.deepEqual(await next.kv.commit(change), { ok: true });
  assert.deepEqual(await next.promote(play.head, MOVED), { ok: true });
}
