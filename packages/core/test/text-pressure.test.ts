/**
 * A writer that does nothing but write: a loop of awaited batches never lets the event loop turn by
 * itself. The text index follows all the same, the file holds no more than what is in it, and an index
 * that cannot be written slows nobody down.
 */
import { afterEach, describe, expect, test } from "vitest";
import { CommitSignal } from "../src/history/growth.js";
import { CortexError, LIMITS } from "../src/index.js";
import { around, type Kv } from "../src/kv/kv.js";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { openGraph } from "../src/open.js";
import { TextIndex } from "../src/text/text-index.js";
import { atCleanUp, cleanUp, temporaryFolder } from "./other-process.js";

afterEach(cleanUp);

const BATCH = 1000;
/** More than may lie unwritten, and more than that and a segment together. */
const [SOME, MANY] = [LIMITS.textUnflushedEntries, 2 * LIMITS.textFlushEntries].map(
  (entries) => Math.ceil(entries / BATCH) + 3,
) as [number, number];

async function writeOnly(batches: number, wrap: (kv: Kv) => Kv = (kv) => kv) {
  const kv = wrap(await openLmdbKv(temporaryFolder(), { relaxed: true }));
  const { memory, engine } = await openGraph("memory:", { actor: "ada", kv });
  atCleanUp(() => memory.close());
  for (let batch = 0; batch < batches; batch += 1) {
    const items = Array.from({ length: BATCH }, (_, at) => ({
      write: { type: "fact" as const, text: `fact ${batch * BATCH + at} about thing ${at % 17}` },
    }));
    await memory.batch(items);
  }
  return { memory, engine, kv };
}

describe("a loop of awaited writes", () => {
  test("does not outrun the index, and leaves no pages that nobody can use again", async () => {
    const { memory, engine, kv } = await writeOnly(MANY);
    const { tail, segments } = await engine.text.status();
    expect(segments).toBeGreaterThan(0);
    expect(tail).toBeLessThanOrEqual(LIMITS.textUnflushedEntries + LIMITS.textFlushEntries);
    // Pages of four states at a time are in use; a state that is held for long keeps all since.
    expect((await kv.sizeBytes()) / (BATCH * MANY)).toBeLessThan(1600);
    expect((await memory.search(`${BATCH * MANY - 1}`, { limit: 1 })).hits).toHaveLength(1);
  });

  test("lets the index follow a little with every commit, and pauses for no whole flush", async () => {
    const { engine } = await writeOnly(Math.floor(LIMITS.textUnflushedEntries / BATCH));
    // Nobody has had to wait for a flush so far, and there was one: each commit gave it some turns.
    expect((await engine.text.status()).segments).toBeGreaterThan(0);
  });

  test("lets the work of the index hold no state of the store while it waits for a turn", async () => {
    const { kv } = await writeOnly(9);
    let open = 0;
    const held: number[] = [];
    const counting = around(kv, {
      snapshot: async (options) => {
        const snapshot = await kv.snapshot(options);
        const close = snapshot.close.bind(snapshot);
        open += 1;
        return Object.assign(snapshot, {
          close: () => {
            open -= 1;
            close();
          },
        });
      },
    });
    const text = new TextIndex({
      kv: counting,
      signal: new CommitSignal(),
      language: { of: async () => "english", soon: () => [] },
      turn: async () => void held.push(open),
    });
    expect(await text.flush()).toBe(0);
    expect(held.length).toBeGreaterThan(10);
    expect(new Set(held)).toEqual(new Set([0]));
    await text.close();
  });

  test("goes on where the index cannot be written", async () => {
    let refused = 0;
    const { memory, engine } = await writeOnly(SOME, (kv) =>
      around(kv, {
        commitCaches: () => {
          refused += 1;
          return Promise.reject(new CortexError("ERR_DISK_FULL", "no room"));
        },
      }),
    );
    expect(await engine.text.status()).toMatchObject({
      segments: 0,
      failure: "ERR_DISK_FULL: no room",
    });
    expect((await memory.stats()).entries).toBe(BATCH * SOME + 1);
    expect(refused).toBeLessThan(SOME);
  });
});
