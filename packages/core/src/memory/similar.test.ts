/** What a write names as similar, and that a long text costs no more to compare than a short one. */
import { expect, test } from "vitest";
import { KEYSPACE } from "../kv/keyspace.js";
import type { Kv, KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { openTestStore } from "../testing/index.js";

/** A store that counts what is read of the words of the text index. */
function wordReads(): { readonly wrap: (kv: Kv) => Kv; readonly take: () => number } {
  let reads = 0;
  const counted = (snapshot: KvSnapshot): KvSnapshot => ({
    getMany(keys) {
      reads += keys.filter((key) => key[0] === KEYSPACE.textWords.byte).length;
      return snapshot.getMany(keys);
    },
    ranges: (ranges) => snapshot.ranges(ranges),
    close: () => snapshot.close(),
  });
  return {
    wrap: (kv) =>
      new Proxy(kv, {
        get(inner, name) {
          const value: unknown = Reflect.get(inner, name);
          if (name === "snapshot") return async () => counted(await inner.snapshot());
          return typeof value === "function" ? value.bind(inner) : value;
        },
      }),
    take: () => {
      const taken = reads;
      reads = 0;
      return taken;
    },
  };
}

/** So many different words of a kind. */
const words = (count: number, kind: string): string =>
  Array.from({ length: count }, (_, at) => `${kind}${at.toString(36)}x`).join(" ");

test("of 64 KiB no more words are looked up than of a few sentences", async () => {
  const meter = wordReads();
  await using store = await openTestStore({ check: false, wrap: meter.wrap });
  const { memory } = store;
  const { results } = await memory.batch([
    { write: { type: "fact", text: words(200, "k") } },
    { write: { type: "fact", text: words(12, "p") } },
    ...Array.from({ length: 500 }, (_, at) => ({
      write: { type: "fact" as const, text: `Pier ${at} of the harbour` },
    })),
  ]);
  expect(results.every(({ ok }) => ok)).toBe(true);
  await memory.maintain();
  const { segments } = (await memory.stats()).text;
  expect(segments).toBeGreaterThan(0);
  const readsOf = async (text: string): Promise<number> => {
    meter.take();
    await memory.write({ type: "fact", text }, { similar: true });
    return meter.take();
  };
  const short = await readsOf(words(12, "s"));
  expect(short).toBe(12 * segments);
  const long = words(9000, "l");
  expect(Buffer.byteLength(long)).toBeGreaterThan(0.8 * LIMITS.contentBytes);
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(LIMITS.contentBytes);
  expect(await readsOf(long)).toBeLessThanOrEqual(48 * segments);
});

test("a long text is found by a long one that shares six words in ten, however many are new", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const shared = words(700, "k");
  const first = await memory.write({ type: "fact", text: `${shared} ${words(100, "a")}` });
  // Words that nobody else holds are the rarest, and lead nowhere.
  const text = `${words(200, "b")} ${shared}`;
  const near = await memory.write({ type: "fact", text }, { similar: true });
  expect(near.similar.map(({ id }) => id)).toEqual([first.id]);
  const far = await memory.write(
    { type: "fact", text: `${words(900, "c")} ${words(300, "k")}` },
    { similar: true },
  );
  expect(far.similar).toEqual([]);
});

test("the nearest three are named, nearest first; turns and what was replaced are not", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const base = "Ada deploys the billing service every Friday afternoon";
  const texts = [
    base.replace("every", "each"),
    `${base} in spring`,
    base.replace("Friday", "Monday"),
  ];
  const ids = [];
  for (const text of texts) ids.push((await memory.write({ type: "fact", text })).id);
  await memory.remember([{ role: "user", content: base }], { session: "s" });
  const old = await memory.write({ type: "fact", slot: "deploy", text: `${base} too` });
  const { similar, replaced } = await memory.write(
    { type: "fact", slot: "deploy", text: base },
    { similar: true },
  );
  expect(replaced.map(({ id }) => id)).toEqual([old.id]);
  expect(similar).toHaveLength(3);
  expect(new Set(similar.map(({ id }) => id))).toEqual(new Set(ids));
  const quoted = await memory.write({ type: "fact", text: `"${base}" indeed` }, { similar: true });
  expect(quoted.similar).toHaveLength(3);
});
