/**
 * Upkeep over random stores: the dry run is the run, nothing is left after enough runs, what an owner
 * wrote survives, and undoing every change gives back what was there. And a store in which ten thousand
 * memories contradict each other, which must not hold it up.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MaintainReport } from "../src/contract/entry.js";
import type { Cortex, Memory, Options, WriteInput } from "../src/index.js";
import { countingKv } from "../src/testing/counting-kv.js";
import { openTestStore } from "../src/testing/fixtures.js";

const SEED = 20_300_924;
const DAY_MS = 24 * 60 * 60 * 1000;

const SOURCES = ["user_input", "agent", "extraction", "imported", "document"] as const;
const TEXTS = [
  "The office is in Lisbon",
  "Office is in Lisbon",
  "The office is in Porto",
  "today we met Ada Lovelace",
  "a letter by Ada Lovelace came",
  "Deploys on Fridays",
  "Deploys on the Fridays",
] as const;

/** One thing that happens to a store. */
type Event =
  | { readonly do: "write"; readonly input: WriteInput; readonly expiresInDays?: number }
  | {
      readonly do: "link";
      readonly kind: "supports" | "contradicts";
      readonly ends: readonly [number, number];
    }
  | { readonly do: "chorus"; readonly text: string }
  | { readonly do: "tombstone"; readonly at: number }
  | { readonly do: "days"; readonly days: number };

const written: fc.Arbitrary<Event> = fc
  .record({
    type: fc.constantFrom("fact" as const, "note" as const, "belief" as const),
    text: fc.constantFrom(...TEXTS),
    source: fc.constantFrom(...SOURCES),
    slot: fc.constantFrom(undefined, undefined, "place"),
    kind: fc.constantFrom(undefined, "scrap"),
    importance: fc.integer({ min: 0, max: 10 }),
    expiresInDays: fc.constantFrom(undefined, undefined, 3, 400),
  })
  .map(({ expiresInDays, type, slot, kind, ...rest }) => ({
    do: "write",
    input: {
      ...rest,
      type,
      ...(slot === undefined || type === "note" ? {} : { slot }),
      ...(kind === undefined ? {} : { kind }),
    },
    ...(expiresInDays === undefined ? {} : { expiresInDays }),
  }));

const place = fc.nat({ max: 1000 });
const events: fc.Arbitrary<readonly Event[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: written },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("link" as const),
        kind: fc.constantFrom("supports" as const, "supports" as const, "contradicts" as const),
        ends: fc.tuple(place, place),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("chorus" as const),
        text: fc.constantFrom(...TEXTS),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("tombstone" as const), at: place }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("days" as const),
        days: fc.integer({ min: 1, max: 30 }),
      }),
    },
  ),
  { minLength: 5, maxLength: 40 },
);

type Store = Awaited<ReturnType<typeof openTestStore>>;

async function play({ memory, clock }: Store, plan: readonly Event[]): Promise<void> {
  const ids: string[] = [];
  const idAt = (at: number): string | undefined => ids[at % Math.max(1, ids.length)];
  for (const event of plan) {
    switch (event.do) {
      case "write": {
        const days = event.expiresInDays;
        const expiry = days === undefined ? {} : { expiresAt: clock.last() + days * DAY_MS };
        const { id } = await memory.write({ ...event.input, ...expiry });
        if (!ids.includes(id)) ids.push(id);
        break;
      }
      case "link": {
        const [from, to] = event.ends.map(idAt);
        if (from !== undefined && to !== undefined && from !== to) {
          await memory.addEdge(from, event.kind, to);
        }
        break;
      }
      case "chorus":
        for (const source of ["agent", "extraction", "imported"] as const) {
          const { id } = await memory.write({
            type: "fact",
            text: event.text,
            source,
            by: `${source}-1`,
          });
          if (!ids.includes(id)) ids.push(id);
        }
        break;
      case "tombstone": {
        const id = idAt(event.at);
        if (id !== undefined) await memory.tombstone(id, "not wanted");
        break;
      }
      case "days":
        clock.advance(event.days * DAY_MS);
    }
  }
}

/** Every memory as far as it says something: without numbers that only count changes. */
async function contents(memory: Cortex): Promise<ReadonlyMap<string, object>> {
  const lifecycles = ["active", "archived", "tombstoned"] as const;
  const page = await memory.list({ lifecycles, limit: 1000 });
  return new Map(page.memories.map((one) => [one.id, said(one)]));
}

function said({ text, data, head, versionRecord }: Memory): object {
  const { confidence, validFrom, validTo, expiresAt, provenance } = versionRecord;
  const { lifecycle, status, importance, tags, slot, kind, source, visibility } = head;
  const state = { lifecycle, status, importance, tags, slot, kind, source, visibility };
  return { text, data, confidence, validFrom, validTo, expiresAt, provenance, ...state };
}

const planOf = ({ changes }: MaintainReport): readonly object[] =>
  changes.map(({ step, memories, reason }) => ({ step, memories, reason }));

/** What a change does to whom: what was taken back is not to be done again. */
function marksOf({ step, memories }: MaintainReport["changes"][number]): readonly string[] {
  const [first, ...others] = memories;
  if (step === "merge") return others.map((id) => `${step} ${id}`);
  return [step === "relate" ? `${step} ${memories.join(" ")}` : `${step} ${first}`];
}

/** What the plans were made of, to know that the property was not about nothing. */
const met = new Map<string, number>();

/** A dry run and a run with everything asked for, which must tell the same. */
async function maintainOnce(memory: Cortex, maxChanges: number): Promise<MaintainReport> {
  const options: Options<"maintain"> = {
    archiveExpired: true,
    merge: true,
    relate: true,
    maxChanges,
  };
  const { root } = await memory.root();
  const before = await contents(memory);
  const dry = await memory.maintain({ ...options, dryRun: true });
  expect((await memory.root()).root).toEqual(root);
  const report = await memory.maintain(options);
  expect(planOf(report)).toEqual(planOf(dry));
  expect(report.changes.length).toBeLessThanOrEqual(maxChanges);
  for (const { step, memories } of report.changes) {
    met.set(step, (met.get(step) ?? 0) + 1);
    await expectFair(memory, before, step, memories);
  }
  return report;
}

/** Runs until a run finds nothing to do. */
async function maintainTillDone(memory: Cortex, maxChanges: number): Promise<void> {
  for (let run = 0; run < 100; run += 1) {
    const { changes, steps } = await maintainOnce(memory, maxChanges);
    const open = steps.filter(({ step, left }) => left > 0 && step !== "text flush");
    if (changes.length === 0 && open.length === 0) return;
  }
  throw new Error("upkeep found something to do a hundred times");
}

/** What is archived has expired, or stands as the same words of the same source in another memory. */
async function expectFair(
  memory: Cortex,
  before: ReadonlyMap<string, object>,
  step: string,
  memories: readonly string[],
): Promise<void> {
  const [first = "", ...others] = memories;
  if (step === "expire") {
    const { expiresAt, kind } = before.get(first) as { expiresAt?: number; kind?: string };
    expect(expiresAt !== undefined || kind === "scrap").toBe(true);
  }
  if (step !== "merge") return;
  const kept = await memory.get(first);
  expect(kept?.head.lifecycle).toBe("active");
  for (const id of others) {
    const gone = await memory.get(id);
    expect(gone?.head).toMatchObject({ lifecycle: "archived", source: kept?.head.source });
    const words = [kept, gone].map((one) => one?.text.toLowerCase().replace(/\bthe /g, ""));
    expect(words[0]).toBe(words[1]);
  }
}

describe("random stores", () => {
  test("the dry run is the run, it comes to an end, and undo gives everything back", async () => {
    console.log(`maintain: seed ${SEED}`);
    await fc.assert(
      fc.asyncProperty(events, fc.constantFrom(1, 3, 1000), async (plan, maxChanges) => {
        await using store = await openTestStore();
        const { memory } = store;
        await memory.configure({ ttlDays: { scrap: 20 } });
        await play(store, plan);
        const before = await contents(memory);
        const links = (await memory.stats()).edges.live;
        const { changes } = await maintainOnce(memory, maxChanges);
        for (const { seq = 0 } of [...changes].reverse()) await memory.revert(seq);
        expect(await contents(memory)).toEqual(before);
        expect((await memory.stats()).edges.live).toBe(links);
        const undone = new Set(changes.flatMap(marksOf));
        const again = await maintainOnce(memory, 1000);
        expect(again.changes.flatMap(marksOf).filter((mark) => undone.has(mark))).toEqual([]);
        await maintainTillDone(memory, maxChanges);
      }),
      { seed: SEED, numRuns: 50 },
    );
    for (const step of ["expire", "confirm", "merge", "relate"]) {
      expect(met.get(step) ?? 0, step).toBeGreaterThan(0);
    }
  });
});

describe("ten thousand contradictions", () => {
  test("do not hold it up: runs are bounded, go on where they stopped, and confirm what is behind", async () => {
    const counters: ReturnType<typeof countingKv>[] = [];
    await using store = await openTestStore({
      check: false,
      wrap: (kv) => {
        const counting = countingKv(kv);
        counters.push(counting);
        return counting;
      },
    });
    const { memory } = store;
    const count = 142;
    const { results } = await memory.batch(
      Array.from({ length: count }, (_, at) => ({
        write: { type: "fact", text: `Claim number ${at}`, externalId: `c${at}` } as const,
      })),
    );
    expect(results).toHaveLength(count);
    const links = Array.from({ length: count }, (_, from) =>
      Array.from({ length: from }, (__, to) => ({
        link: { from: `c${from}`, kind: "contradicts", to: `c${to}` },
      })),
    ).flat();
    expect(links.length).toBeGreaterThan(10_000);
    await memory.batch(links.slice(0, 5000));
    await memory.batch(links.slice(5000, 10_000));
    await memory.batch(links.slice(10_000));
    // Backed as well as the other, and contradicted by a hundred and forty.
    for (const source of ["agent", "extraction"] as const) {
      await memory.write({ type: "fact", text: "Claim number 0", source, by: `${source}-1` });
    }
    const { edges } = await memory.edgesIn("c0", { kinds: ["supports"] });
    expect(edges).toHaveLength(2);
    const backed = { type: "fact", text: "The harbour freezes in winter" } as const;
    const claim = await memory.write({ ...backed, source: "agent", by: "a" });
    await memory.write({ ...backed, source: "extraction", by: "b" });
    await memory.write({ ...backed, source: "imported", by: "c" });
    await memory.maintain({ dryRun: true });
    counters[0]?.reset();
    const all = { merge: true, relate: true, archiveExpired: true } as const;
    // The clock moves when it is read, so a budget is a number of pieces.
    const runs: { readonly report: MaintainReport; readonly reads: number }[] = [];
    do {
      counters[0]?.reset();
      const report = await memory.maintain({ ...all, budgetMs: 60 });
      const { rows, keys } = counters[0]?.counts() ?? { rows: 0, keys: 0 };
      runs.push({ report, reads: rows + keys });
    } while (runs.at(-1)?.report.complete !== true && runs.length < 100);
    expect(runs.length).toBeGreaterThan(2);
    expect(runs.at(-1)?.report.complete).toBe(true);
    const changes = runs.flatMap(({ report }) => report.changes);
    expect(changes.map(({ memories }) => memories[0])).toEqual([claim.id]);
    expect((await memory.get("c0"))?.head.status).toBe("asserted");
    // A bounded number of rows for each entry that was followed, whatever hangs on a memory; and
    // the runs together read what one would, so each goes on where the one before stopped.
    const entries = (await memory.stats()).entries;
    const reads = runs.reduce((sum, run) => sum + run.reads, 0);
    expect(reads).toBeGreaterThan(10_000);
    expect(reads / entries).toBeLessThan(100);
    for (const run of runs) expect(run.reads).toBeLessThan(reads * 0.7);
    // What is open waits for somebody to decide it, and nothing but new entries is looked at again.
    expect((await memory.review({ kinds: ["contradiction"], limit: 50 })).items).toHaveLength(50);
    counters[0]?.reset();
    expect((await memory.maintain(all)).complete).toBe(true);
    const idle = counters[0]?.counts() ?? { rows: 0, keys: 0 };
    expect(idle.rows + idle.keys).toBeLessThan(1000);
  });
});
