/**
 * Upkeep of memories: what is confirmed, archived, merged and related, and above all what is not. The
 * defects are those of a system this one learned from; each is shown not to happen here.
 */
import { describe, expect, test } from "vitest";
import type { Options } from "../contract/index.js";
import type { WriteInput } from "../contract/memory.js";
import type { MemoryId } from "../contract/shapes.js";
import type { MaintainReport } from "../contract/upkeep.js";
import type { Cortex } from "../cortex.js";
import type { Source } from "../records/types.js";
import { openTestStore, type TestStore } from "../testing/fixtures.js";
import { refusalOf } from "../testing/index.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const EVERYTHING: Options<"maintain"> = { archiveExpired: true, merge: true, relate: true };

/** A claim made by each of the sources, in their order, each by a principal of its own; the ids likewise. */
async function said(
  memory: Cortex,
  input: WriteInput,
  ...sources: readonly Source[]
): Promise<MemoryId[]> {
  const ids: MemoryId[] = [];
  for (const source of sources) {
    ids.push((await memory.write({ ...input, source, by: `${source}-1` })).id);
  }
  return ids;
}

const FACT: WriteInput = { type: "fact", text: "The office is in Lisbon" };

async function statusOf(memory: Cortex, id: MemoryId | undefined): Promise<string | undefined> {
  return id === undefined ? undefined : (await memory.get(id))?.head.status;
}

async function lifecycleOf(memory: Cortex, id: MemoryId): Promise<string | undefined> {
  return (await memory.get(id))?.head.lifecycle;
}

/** The plan of a report, without what only a run has. */
function planOf({ changes }: MaintainReport): readonly object[] {
  return changes.map(({ step, memories, reason }) => ({ step, memories, reason }));
}

/** Dry run, run, and the promise that both tell the same. */
async function runTwice(store: TestStore, options: Options<"maintain">): Promise<MaintainReport> {
  const before = await store.memory.root();
  const dry = await store.memory.maintain({ ...options, dryRun: true });
  expect(await store.memory.root()).toEqual(before);
  const report = await store.memory.maintain(options);
  expect(planOf(report)).toEqual(planOf(dry));
  return report;
}

describe("confirm", () => {
  test("two voices besides its own confirm a claim, in one entry with its reason", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [claim, ...voices] = await said(memory, FACT, "agent", "extraction", "imported");
    expect(await statusOf(memory, claim)).toBe("asserted");
    const { changes, seq } = await runTwice(store, {});
    expect(changes).toEqual([
      {
        step: "confirm",
        memories: [claim, ...voices],
        reason: "said by 3 independent voices: agent, extraction, imported",
        seq,
      },
    ]);
    expect(await statusOf(memory, claim)).toBe("confirmed");
    const { entries } = await memory.log({ from: seq });
    expect(entries).toMatchObject([{ kind: "maintain", by: "maintain" }]);
    expect((await memory.maintain()).changes).toEqual([]);
    await memory.revert(seq);
    expect(await statusOf(memory, claim)).toBe("asserted");
    // What was taken back is not done again.
    expect((await memory.maintain()).changes).toEqual([]);
  });

  test("one voice more is not enough, nor the same voice again", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await said(memory, FACT, "agent", "extraction", "extraction", "agent");
    expect((await runTwice(store, {})).changes).toEqual([]);
  });

  test("principals tell voices apart, where the owner joined them", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const claim = await memory.write({ ...FACT, by: "a" });
    const others = ["b", "c", "c"].map((by, at) =>
      memory.write({ type: "fact", text: `Badge ${at} opens the door in Lisbon`, by }),
    );
    const ids = (await Promise.all(others)).map(({ id }) => id);
    for (const id of ids.slice(1)) await memory.addEdge(id, "supports", claim.id);
    expect((await memory.maintain()).changes).toEqual([]);
    await memory.addEdge(ids[0] ?? "", "supports", claim.id);
    const { changes } = await runTwice(store, {});
    expect(changes.map(({ memories }) => memories[0])).toEqual([claim.id]);
  });

  // What one principal may call itself; each row is one voice, however many names are in it.
  test.each([
    { who: "the owner's program", by: ["ada", "ada", "ada", "ada", "ada"] },
    { who: "parts of one program", by: ["bot", "bot/a", "bot/b", "bot/c/d", "bot/ada"] },
    { who: "clients of MCP", by: ["mcp:a", "mcp:b", "mcp:ada", "mcp:a/ada", "mcp:c/owner"] },
    {
      who: "the holder of a key",
      by: ["", "/a", "/b", "/ada", "/c/d"].map((part) => `key:${"k".repeat(44)}${part}`),
    },
    { who: "the holder of a bearer scope", by: ["bearer:n", "bearer:n/a", "bearer:n/b"] },
  ])("$who is one voice under every name of source, session and part", async ({ by }) => {
    await using store = await openTestStore({ actor: "ada" });
    const { memory } = store;
    const sources = ["agent", "observed", "extraction", "imported", "user_input"] as const;
    const names = sources.slice(0, by.length);
    for (const [at, source] of names.entries()) {
      const provenance = { session: `session-${at}` };
      await memory.write({ ...FACT, source, provenance, by: by[at] });
    }
    expect((await runTwice(store, {})).changes).toEqual([]);
  });

  test("what files say of their authors makes no more voices", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const claim = await memory.write({ ...FACT, source: "agent", by: "a" });
    for (const [at, by] of ["ann", "ben", "cyd"].entries()) {
      const { id } = await memory.write({
        type: "fact",
        text: `Page ${at} says where the office is`,
        source: "imported",
        by,
      });
      await memory.addEdge(id, "supports", claim.id);
    }
    expect((await runTwice(store, {})).changes).toEqual([]);
  });

  test("three principals are three voices in one batch and one millisecond, whatever ids they get", async () => {
    for (let trial = 0; trial < 20; trial += 1) {
      await using store = await openTestStore({ seed: 7000 + trial });
      const { memory } = store;
      const sources = ["agent", "extraction", "observed"] as const;
      const { results } = await memory.batch(
        sources.map((source, at) => ({ write: { ...FACT, source, by: `voice-${at}` } })),
      );
      const ids = results.flatMap((result) => ("id" in result ? [result.id] : []));
      const { changes } = await memory.maintain();
      expect(changes.map(({ step, memories }) => [step, memories[0]])).toEqual([
        ["confirm", ids[0]],
      ]);
    }
  });

  test("an agent cannot join other words to its claim and call that evidence", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [claim] = await said(memory, FACT, "agent");
    const others = await said(memory, { type: "fact", text: "Rain falls" }, "extraction");
    others.push(...(await said(memory, { type: "fact", text: "Snow falls" }, "imported")));
    for (const id of others) {
      await memory.addEdge(id, "supports", claim ?? "", { source: "agent" });
    }
    expect((await runTwice(store, {})).changes).toEqual([]);
  });

  test("words from outside confirm nothing, and neither do echoes", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [claim] = await said(memory, FACT, "agent", "document", "tool_output", "channel");
    await memory.write({ ...FACT, source: "derived" });
    await memory.write({ ...FACT, source: "dream" });
    expect((await runTwice(store, {})).changes).toEqual([]);
    const derivedFrom = [(await memory.get(claim ?? ""))?.uri ?? ""];
    await memory.write({ ...FACT, source: "extraction", provenance: { derivedFrom } });
    await memory.write({ ...FACT, source: "imported" });
    expect((await runTwice(store, {})).changes).toEqual([]);
  });

  test("what only the owner may say stays provisional, however many others say it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const wish: WriteInput = { type: "preference", text: "Prefers tea in the morning" };
    const [claim] = await said(memory, wish, "agent", "extraction", "imported", "observed");
    expect((await runTwice(store, {})).changes).toEqual([]);
    expect(await statusOf(memory, claim)).toBe("provisional");
  });

  test("a contradicted claim waits for the review; settled, it is confirmed", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [claim] = await said(memory, FACT, "agent", "extraction", "imported");
    const other = await memory.write({ type: "fact", text: "The office is in Porto" });
    await memory.addEdge(other.id, "contradicts", claim ?? "");
    expect((await runTwice(store, {})).changes).toEqual([]);
    const [item] = (await memory.review()).items;
    await memory.settle(item?.id ?? "", { decision: "keep_both", reason: "two offices" });
    const { changes } = await runTwice(store, {});
    expect(changes.map(({ memories }) => memories[0])).toEqual([claim]);
  });

  test("defect 9, reading confirms: no amount of reading, finding or citing does", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [claim = ""] = await said(memory, { ...FACT, slot: "office" }, "agent", "extraction");
    for (let time = 0; time < 30; time += 1) {
      await memory.recall("Where is the office?");
      await memory.get(claim);
      await memory.find({ type: "fact", lateBinding: true, limit: 10 });
      store.clock.advance(10_000);
      await memory.attest({ intentId: `task-${time}`, outcome: "success", cited: [claim] });
      await memory.write({ ...FACT, slot: "office", source: "agent" });
      expect((await memory.maintain()).changes).toEqual([]);
    }
    expect((await memory.inspect(claim))?.salience?.factors.access).toBeGreaterThan(0.5);
    expect(await statusOf(memory, claim as MemoryId)).toBe("asserted");
  });
});

describe("expire", () => {
  test("is asked for; archives what has expired by itself or by its kind, and nothing else", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const now = clock.last();
    const ids = {
      over: (await memory.write({ ...FACT, expiresAt: now + DAY_MS })).id,
      later: (await memory.write({ type: "fact", text: "b", expiresAt: now + 100 * DAY_MS })).id,
      scrap: (await memory.write({ type: "note", text: "c", kind: "scrap" })).id,
      kept: (await memory.write({ type: "note", text: "d", kind: "diary" })).id,
      plain: (await memory.write({ type: "fact", text: "e" })).id,
    };
    await memory.configure({ ttlDays: { scrap: 7, nothing: 1 } });
    clock.advance(7 * DAY_MS - 1000);
    await memory.write({ type: "note", text: "young", kind: "scrap" });
    clock.advance(2000);
    expect((await memory.maintain()).changes).toEqual([]);
    const report = await runTwice(store, { archiveExpired: true });
    expect(report.changes.map(({ memories }) => memories)).toEqual([[ids.over], [ids.scrap]]);
    expect(await lifecycleOf(memory, ids.over)).toBe("archived");
    expect(await lifecycleOf(memory, ids.scrap)).toBe("archived");
    for (const id of [ids.later, ids.kept, ids.plain]) {
      expect(await lifecycleOf(memory, id)).toBe("active");
    }
    // Brought back by hand it stays, though its time is as much over as before.
    await memory.restore(ids.over);
    await memory.revert(report.changes[1]?.seq ?? 0);
    expect((await runTwice(store, { archiveExpired: true })).changes).toEqual([]);
    expect(await lifecycleOf(memory, ids.scrap)).toBe("active");
  });

  test("nothing an owner wrote disappears in ten years in which nobody reads it", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const types = ["identity", "fact", "preference", "belief", "event", "goal", "constraint"];
    const more = ["capability", "pattern", "note", "artifact"];
    const ids: MemoryId[] = [];
    for (const [at, type] of [...types, ...more].entries()) {
      const input = { type, text: `Owner's word number ${at}`, importance: 0 } as WriteInput;
      ids.push((await memory.write(input)).id);
    }
    const before = await memory.root();
    for (let year = 0; year < 10; year += 1) {
      clock.advance(365 * DAY_MS);
      expect((await memory.maintain(EVERYTHING)).changes).toEqual([]);
    }
    expect(await memory.root()).toEqual(before);
    for (const id of ids) expect(await lifecycleOf(memory, id)).toBe("active");
    // Decay has lowered the rank of most of them, and of none to nothing.
    const scores = await Promise.all(ids.map(async (id) => (await memory.inspect(id))?.salience));
    const decays = scores.map((found) => found?.decay ?? 0);
    expect(Math.min(...decays)).toBeGreaterThanOrEqual(0.5);
    expect(decays.filter((decay) => decay < 1)).toHaveLength(9);
    const { hits } = await memory.recall("Owner's word number 1");
    expect(hits.map(({ id }) => id)).toContain(ids[1]);
  });

  test("what cannot be a number of days is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const days of [0, 1.5, 36_526, "7", Number.NaN]) {
      const patch = { ttlDays: { scrap: days as number } };
      expect((await refusalOf(memory, () => memory.configure(patch))).code).toBe("ERR_INVALID");
    }
    await memory.configure({ ttlDays: { scrap: 7, log: 30 } });
    await memory.configure({ ttlDays: { log: null } });
    expect((await memory.config()).ttlDays).toEqual({ scrap: 7 });
    await memory.configure({ ttlDays: null });
    expect((await memory.config()).ttlDays).toBeUndefined();
  });
});

describe("merge", () => {
  test("twins become one: the richest stays, with what the others had more of", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const plain = await memory.write({ ...FACT, importance: 8, tags: ["work"] });
    const inSlot = await memory.write({ ...FACT, slot: "office", confidence: 0.5, tags: ["city"] });
    const worded = await memory.write({ type: "fact", text: "Office is in Lisbon," });
    expect((await memory.maintain()).changes).toEqual([]);
    const { changes, seq } = await runTwice(store, { merge: true });
    expect(changes).toMatchObject([{ step: "merge", reason: "the same claim 3 times", seq }]);
    expect(changes[0]?.memories[0]).toBe(inSlot.id);
    const kept = await memory.get(inSlot.id);
    expect(kept?.head).toMatchObject({ importance: 8, tags: ["city", "work"], slot: "office" });
    expect(kept?.versionRecord.confidence).toBe(1);
    for (const { id } of [plain, worded]) {
      expect(await lifecycleOf(memory, id)).toBe("archived");
      expect(await memory.getEdge(inSlot.id, "supersedes", id)).toMatchObject({
        reason: "the same claim 3 times",
      });
    }
    await memory.revert(seq);
    expect((await memory.get(inSlot.id))?.head).toMatchObject({ importance: 5, tags: ["city"] });
    expect(await lifecycleOf(memory, plain.id)).toBe("active");
    expect((await memory.maintain({ merge: true })).changes).toEqual([]);
  });

  test("twins are found where every word of theirs is common", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.batch(
      Array.from({ length: 80 }, (_, at) => ({
        write: { type: "fact", text: `Trains leave from platform ${at}` } as const,
      })),
    );
    const one = await memory.write({ type: "fact", text: "Trains leave from platform" });
    const two = await memory.write({ type: "fact", text: "The trains leave from platform" });
    const { changes } = await runTwice(store, { merge: true });
    expect(changes.map(({ memories }) => memories)).toEqual([[two.id, one.id]]);
  });

  test("no value is taken for another, however alike the sentences", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const pairs = [
      ["The user deploys on Fridays", "The user deploys on Mondays"],
      ["Flies from Oslo to Rome", "Flies to Oslo from Rome"],
      ["Ada trusts Bob", "Bob trusts Ada"],
      ["The key is C++", "The key is C#"],
      ["Use plan A", "Use plan"],
      ["It was paid", "It was not paid"],
      ["Costs 5 euros", "Costs -5 euros"],
    ];
    for (const text of pairs.flat()) await memory.write({ type: "fact", text });
    await memory.write({ type: "belief", text: "The sea is rising", stance: "believe" });
    await memory.write({ type: "belief", text: "The sea is rising", stance: "doubt" });
    await memory.write({ ...FACT, slot: "office" });
    await memory.write({ ...FACT, slot: "home" });
    await memory.write({ ...FACT, expiresAt: store.clock.last() + DAY_MS, externalId: "x" });
    expect((await runTwice(store, { merge: true })).changes).toEqual([]);
  });

  test("defect 15, consolidation without a guard: trust, a cap, and an edge that says why", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    // The words of another source never give way to, nor replace, the owner's.
    const owner = await memory.write({
      type: "fact",
      text: "The office is in Lisbon",
      tags: ["a"],
    });
    for (const source of ["extraction", "agent", "document"] as const) {
      await memory.write({ type: "fact", text: "Office is in the Lisbon", source, importance: 10 });
    }
    expect((await runTwice(store, { merge: true })).changes).toEqual([]);
    expect(await lifecycleOf(memory, owner.id)).toBe("active");
    // No more at once than was asked for, and every one with its edge.
    for (let at = 0; at < 5; at += 1) {
      await memory.write({ type: "fact", text: `Shelf ${at} holds books` });
      await memory.write({ type: "fact", text: `Shelf ${at} holds the books` });
    }
    const first = await runTwice(store, { merge: true, maxChanges: 2 });
    expect(first.changes).toHaveLength(2);
    expect(first.complete).toBe(false);
    const all = [...first.changes];
    for (let run = 0; run < 5; run += 1) {
      all.push(...(await runTwice(store, { merge: true, maxChanges: 2 })).changes);
    }
    expect(all).toHaveLength(5);
    for (const { memories } of all) {
      const [keep = "", give = ""] = memories;
      expect((await memory.getEdge(keep, "supersedes", give))?.reason).toBe(
        "the same claim 2 times",
      );
    }
  });

  test("forgetting a twin takes the words of the merge along", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const one = await memory.write({ type: "fact", text: "Zanzibar has cloves" });
    const two = await memory.write({ ...FACT, text: "Zanzibar has the cloves" });
    await memory.maintain({ merge: true });
    await memory.forget(one.id, "asked");
    await memory.forget(two.id, "asked");
    expect((await memory.search("Zanzibar cloves")).hits).toEqual([]);
  });
});

describe("relate", () => {
  test("joins what names the same rare thing, within caps, once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const texts = ["today I met Ada Lovelace", "a letter from Ada Lovelace came", "nothing"];
    const ids: MemoryId[] = [];
    for (const text of texts) ids.push((await memory.write({ type: "note", text })).id);
    expect((await memory.maintain()).changes).toEqual([]);
    const { changes, seq } = await runTwice(store, { relate: true });
    expect(changes).toEqual([
      {
        step: "relate",
        memories: [ids[0], ids[1]],
        reason: "both name ada lovelace",
        seq,
      },
    ]);
    const [from = "", to = ""] = ids;
    expect(await memory.getEdge(from, "same_topic", to)).toMatchObject({ source: "dream" });
    await memory.removeEdge(from, "same_topic", to);
    expect((await runTwice(store, { relate: true })).changes).toEqual([]);
  });

  test("a name that many share joins nobody, and nobody gets more than a handful", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (let at = 0; at < 30; at += 1) {
      await memory.write({ type: "note", text: `Visit ${at} to see Grace Hopper` });
    }
    for (let at = 0; at < 6; at += 1) {
      await memory.write({ type: "note", text: `Page ${at} of what Alan Turing wrote` });
    }
    const { changes } = await runTwice(store, { relate: true });
    expect(new Set(changes.map(({ reason }) => reason))).toEqual(
      new Set(["both name alan turing"]),
    );
    const degrees = new Map<string, number>();
    for (const id of changes.flatMap(({ memories }) => memories)) {
      degrees.set(id, (degrees.get(id) ?? 0) + 1);
    }
    expect(Math.max(...degrees.values())).toBeLessThanOrEqual(3);
    expect(changes.length).toBeGreaterThan(3);
  });

  test("turns, and what comes from outside, are left alone", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.remember(
      [
        { role: "user", content: "I met Ada Lovelace" },
        { role: "assistant", content: "How is Ada Lovelace?" },
      ],
      { session: "s" },
    );
    await memory.write({ type: "note", text: "Ada Lovelace said so", source: "document" });
    await memory.write({ type: "note", text: "we saw Ada Lovelace" });
    expect((await runTwice(store, { relate: true })).changes).toEqual([]);
  });
});

describe("snapshots", () => {
  test("are sealed when the last one is old enough and something was written", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    await memory.write(FACT);
    const options = { snapshotEveryMs: DAY_MS };
    const stepOf = async (more: Options<"maintain"> = {}) =>
      (await memory.maintain({ ...options, ...more })).steps.at(-1);
    expect(await stepOf({ dryRun: true })).toEqual({ step: "snapshot", done: 0, left: 1 });
    expect(await stepOf()).toEqual({ step: "snapshot", done: 1, left: 0 });
    await memory.write({ type: "fact", text: "more" });
    expect(await stepOf()).toEqual({ step: "snapshot", done: 0, left: 0 });
    clock.advance(DAY_MS);
    expect(await stepOf()).toEqual({ step: "snapshot", done: 1, left: 0 });
    expect(await memory.snapshots()).toHaveLength(2);
  });
});
