/**
 * Plans of the text index hold for the index and the journal they were made from: whatever changes meanwhile, no plan
 * brings a forgotten word back, and none is committed over a change of somebody else.
 */
import { afterEach, describe, expect, test } from "vitest";
import { atCleanUp, cleanUp } from "../../test/other-process.js";
import type { Cortex } from "../cortex.js";
import type { Engine } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import { around, type Kv } from "../kv/kv.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { openGraph } from "../open.js";
import { IndexPlanner, type Plan } from "./index-planner.js";
import { ManifestReader } from "./manifest.js";
import { SegmentCache } from "./text-segments.js";
import { KeptTail } from "./text-tail.js";

afterEach(cleanUp);

/** More than one step, so that there are turns between. */
const MANY = 300;

interface Store {
  readonly memory: Cortex;
  readonly engine: Engine;
  readonly kv: Kv;
  /** False is a process that ends after its entries are written, before the index is. */
  takesCaches: boolean;
}

async function storeOf(count: number): Promise<Store> {
  const inner = openMemoryKv();
  const store = { kv: inner, takesCaches: true };
  const kv = around(inner, {
    commitCaches: (change) =>
      store.takesCaches ? inner.commitCaches(change) : Promise.reject(new Error("ended")),
  });
  const { memory, engine } = await openGraph("memory:", { actor: "ada", kv });
  atCleanUp(() => memory.close());
  await memory.batch(
    Array.from({ length: count }, (_, at) => ({
      write: { type: "fact" as const, text: `fact number${at} of many` },
    })),
  );
  return Object.assign(store, { memory, engine });
}

/** A planner that does something between two steps, once. */
function plannerOf(kv: Kv, between: (tail: () => Promise<void>) => Promise<void>): IndexPlanner {
  const manifests = new ManifestReader({ of: async () => "english", soon: () => [] });
  const tail = new KeptTail();
  const readOn = (): Promise<void> =>
    Reader.with(kv, undefined, async (reader) => {
      await tail.at(reader, await manifests.at(reader));
    });
  let isDone = false;
  let turns = 0;
  return new IndexPlanner({
    kv,
    manifests,
    tail,
    cache: new SegmentCache(),
    turn: async () => {
      turns += 1;
      // The last turns come while the segment is made of what was read.
      if (isDone || turns < MANY / 128) return;
      isDone = true;
      await between(readOn);
    },
  });
}

function wordsOf(plan: Plan): string {
  if (plan?.next !== "change") return "";
  return plan.change.puts.map(({ value }) => Buffer.from(value).toString("latin1")).join("\n");
}

describe("a plan for the next segment", () => {
  test("says what waits where that is not enough", async () => {
    const { kv } = await storeOf(MANY);
    const plan = await plannerOf(kv, async () => undefined).flush(1000);
    expect(plan).toEqual({ next: "nothing", waiting: MANY + 1 });
  });

  test("has the words of all that was written", async () => {
    const { kv } = await storeOf(MANY);
    const plan = await plannerOf(kv, async () => undefined).flush(0);
    expect(plan).toMatchObject({ next: "change", waiting: 0, merged: [] });
    expect(wordsOf(plan)).toContain("number7");
    expect(wordsOf(plan)).toContain(`number${MANY - 1}`);
  });

  test("is dropped when a memory is forgotten while it is made, and a search has seen that", async () => {
    const store = await storeOf(MANY);
    const [hit] = (await store.memory.find({ type: "fact", limit: 1 })).hits;
    const planner = plannerOf(store.kv, async (readOn) => {
      store.takesCaches = false;
      await store.memory.forget(hit?.uri ?? "", "asked to").catch(() => undefined);
      await readOn();
    });
    expect(await planner.flush(0)).toBeUndefined();
    // Asked again, it wants the forgotten taken out first.
    expect(await planner.flush(0)).toEqual({ next: "purge" });
  });

  test("is dropped when another has changed the index meanwhile", async () => {
    const { engine, kv } = await storeOf(MANY);
    const planner = plannerOf(kv, async () => void (await engine.text.flush()));
    expect(await planner.flush(0)).toBeUndefined();
    expect(await planner.flush(0)).toMatchObject({ next: "nothing" });
  });
});

describe("a plan for a merge", () => {
  test("is nothing where there are few segments", async () => {
    const { kv } = await storeOf(3);
    const plan = await plannerOf(kv, async () => undefined).merge();
    expect(plan).toEqual({ next: "nothing", waiting: 4 });
  });
});
