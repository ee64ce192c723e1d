/** `attest`, by its table: what it counts, what it teaches, what it skips and what it refuses. */
import { describe, expect, test } from "vitest";
import { LIMITS } from "../limits.js";
import { open } from "../open.js";
import { COLD_WEIGHTS } from "../salience/salience.js";
import { GUEST } from "../scope/access.js";
import { openTestStore, refusalOf, type TestStore } from "../testing/fixtures.js";

const UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

async function threeFacts({ memory }: TestStore): Promise<readonly { id: string; uri: string }[]> {
  const { results } = await memory.batch(
    ["one", "two", "three"].map((text) => ({ write: { type: "fact", text, importance: 7 } })),
  );
  return results.map((result) => ("uri" in result ? result : { id: "", uri: "" }));
}

async function countersOf({ memory }: TestStore, id = ""): Promise<object | undefined> {
  return (await memory.inspect(id))?.counters;
}

describe("the table", () => {
  test.each([
    ["success", undefined, { cited: 1, accessed: 1 }, 2, "toward"],
    ["success", "went well", { cited: 1, accessed: 1 }, 2, "toward"],
    ["failure", "factual_error", { cited: 0, accessed: 0 }, 0, "away"],
    ["failure", "wrong_assumption", { cited: 0, accessed: 0 }, 0, "away"],
    ["failure", "no network", { cited: 0, accessed: 0 }, 0, "none"],
    ["failure", undefined, { cited: 0, accessed: 0 }, 0, "none"],
  ] as const)("%s, %s", async (outcome, reason, counts, delta, direction) => {
    await using store = await openTestStore();
    const [a, b, c] = await threeFacts(store);
    const cited = [a?.id ?? "", b?.uri ?? ""];
    const intent = { intentId: "t", ...(reason === undefined ? {} : { reason }) };
    const result = await store.memory.attest({ ...intent, outcome, cited });
    expect(result).toMatchObject({
      learnSeq: result.seq + 1,
      affected: [a?.id, b?.id],
      skipped: [],
      citationsDelta: delta,
      previousWeights: COLD_WEIGHTS,
      weightsUpdated: direction !== "none",
    });
    expect(await countersOf(store, a?.id)).toMatchObject({
      ...counts,
      lastUsedAt: expect.any(Number),
    });
    expect(await countersOf(store, b?.id)).toMatchObject(counts);
    expect(await countersOf(store, c?.id)).toMatchObject({ accessed: 0, cited: 0, lastUsedAt: 0 });
    // A fresh memory is recent: toward it means more recency, away from it less.
    const moved = result.weights.recency - COLD_WEIGHTS.recency;
    expect(Math.sign(moved)).toBe(direction === "toward" ? 1 : direction === "away" ? -1 : 0);
    expect(result.weights.similarity).toBe(COLD_WEIGHTS.similarity);
  });

  test("a failure that blames takes back what a success gave, and stops at 0", async () => {
    await using store = await openTestStore();
    const [a] = await threeFacts(store);
    const say = (outcome: "success" | "failure") =>
      store.memory.attest({
        intentId: "t",
        outcome,
        cited: [a?.id ?? ""],
        ...(outcome === "failure" ? { reason: "factual_error" } : {}),
      });
    expect(await say("success")).toMatchObject({ citationsDelta: 1 });
    expect(await say("failure")).toMatchObject({ citationsDelta: -1 });
    expect(await say("failure")).toMatchObject({ citationsDelta: 0, affected: [a?.id] });
    expect(await countersOf(store, a?.id)).toMatchObject({ accessed: 1, cited: 0 });
  });

  test("one commit, one batch: the past never shows half of it", async () => {
    await using store = await openTestStore();
    const [a] = await threeFacts(store);
    const before = (await store.memory.stats()).seq;
    const { seq, learnSeq } = await store.memory.attest({
      intentId: "t",
      outcome: "success",
      cited: [a?.id ?? ""],
    });
    const { entries } = await store.memory.log({ from: seq });
    expect(entries.map(({ kind, batch }) => ({ kind, batch }))).toEqual([
      { kind: "attest", batch: { first: seq, length: 2 } },
      { kind: "learn_weights", batch: { first: seq, length: 2 } },
    ]);
    expect((await store.memory.weights({ asOf: seq })).seq).toBe(before);
    expect(await store.memory.weights({ asOf: seq })).toMatchObject({ learned: false });
    expect(await store.memory.weights({ asOf: learnSeq })).toMatchObject({ learned: true });
    expect((await store.memory.changes(before)).changes.map(({ kind }) => kind)).toEqual([
      "attest",
      "learn_weights",
    ]);
  });
});

describe("what is cited", () => {
  test("the same memory under three names counts once; what is not there is skipped", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const home = await memory.write({ type: "fact", text: "home", externalId: "home" });
    const hidden = await memory.write({ type: "fact", text: "hidden" });
    const gone = await memory.write({ type: "fact", text: "gone" });
    await memory.tombstone(hidden.id, "why");
    await memory.forget(gone.id, "why");
    const asGoal = home.uri.replace("/Fact/", "/Goal/");
    const later = home.uri.replace("#1", "#2");
    const strange = [
      "",
      "cortex://ada/Fact/x#latest",
      home.uri.replace("ada", "bob"),
      asGoal,
      later,
    ];
    const cited = [home.id, home.uri, "home", hidden.id, gone.uri, UNKNOWN, "nobody", ...strange];
    const result = await memory.attest({ intentId: "t", outcome: "success", cited });
    expect(result.affected).toEqual([home.id]);
    expect(result.skipped).toEqual([hidden.id, gone.uri, UNKNOWN, "nobody", ...strange]);
    expect(result.citationsDelta).toBe(1);
    expect((await memory.inspect(home.id))?.counters).toMatchObject({ accessed: 1, cited: 1 });
  });

  test("an archived memory is still one that was used", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const old = await memory.write({ type: "fact", slot: "city", text: "Lyon" });
    await memory.write({ type: "fact", slot: "city", text: "Porto" });
    const cited = [old.uri];
    expect(await memory.attest({ intentId: "t", outcome: "success", cited })).toMatchObject({
      affected: [old.id],
      skipped: [],
    });
  });

  test("when all is skipped the attestation stands, and teaches nothing", async () => {
    await using store = await openTestStore();
    const result = await store.memory.attest({
      intentId: "t",
      outcome: "success",
      cited: ["nobody"],
    });
    expect(result).toMatchObject({ affected: [], skipped: ["nobody"], weightsUpdated: false });
    expect(await store.memory.weights()).toMatchObject({ learned: false, weights: COLD_WEIGHTS });
    expect((await store.memory.stats()).entries).toBe(3);
  });
});

describe("what was learned", () => {
  test("is the same after reopening and after a rebuild", async () => {
    await using store = await openTestStore({ backend: "lmdb" });
    const [a, b] = await threeFacts(store);
    for (const [n, id] of [a?.id ?? "", b?.id ?? ""].entries()) {
      await store.memory.attest({ intentId: `t${n}`, outcome: "success", cited: [id] });
    }
    await store.memory.attest({ intentId: "t", outcome: "failure", reason: "x", cited: ["none"] });
    const before = await store.memory.weights();
    const counters = await countersOf(store, a?.id);
    expect(before.learned).toBe(true);
    await store.reopen();
    expect(await store.memory.weights()).toEqual(before);
    expect((await store.memory.rebuild()).ok).toBe(true);
    expect(await store.memory.weights()).toEqual(before);
    expect(await countersOf(store, a?.id)).toEqual(counters);
  });

  test("is there for every position of the past", async () => {
    await using store = await openTestStore();
    const [a] = await threeFacts(store);
    const then: { seq: number; weights: object }[] = [];
    for (let n = 0; n < 6; n += 1) {
      const outcome = n % 3 === 2 ? "failure" : "success";
      const reason = n % 3 === 2 ? { reason: "factual_error" } : {};
      const cited = [a?.id ?? ""];
      const result = await store.memory.attest({ intentId: `t${n}`, outcome, cited, ...reason });
      then.push({ seq: result.learnSeq, weights: result.weights });
    }
    for (const { seq, weights } of then) {
      expect((await store.memory.weights({ asOf: seq })).weights).toEqual(weights);
    }
  });

  test("shows in inspect, factor by factor, and not to guests", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const rule = await memory.write({
      type: "constraint",
      text: "No red-eyes",
      visibility: "public",
    });
    await memory.attest({ intentId: "t", outcome: "success", cited: [rule.id] });
    const { salience } = (await memory.inspect(rule.id)) ?? {};
    expect(salience).toMatchObject({
      pinned: true,
      score: 0.7,
      factors: { importance: 0.5, citations: Math.log1p(1) / Math.log1p(1000) },
      weights: (await memory.weights()).weights,
    });
    expect(salience?.factors.recency).toBeGreaterThan(0.999);
    const then = await memory.inspect(rule.id, { asOf: 1 });
    expect(then?.salience).toMatchObject({ factors: { citations: 0 }, weights: COLD_WEIGHTS });
    const guest = await memory.inspect(rule.id, { access: GUEST });
    expect(guest?.memory.id).toBe(rule.id);
    expect(guest).not.toHaveProperty("salience");
  });

  test("a change of the memory is a use of it", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const { id } = await memory.write({ type: "fact", text: "one" });
    clock.advance(30 * 24 * 3600 * 1000);
    const idle = (await memory.inspect(id))?.salience?.factors.recency ?? 0;
    expect(idle).toBeCloseTo(Math.exp(-1 / 3), 3);
    await memory.updateHead(id, { importance: 6 });
    expect((await memory.inspect(id))?.salience?.factors.recency).toBeGreaterThan(0.999);
  });
});

describe("refusals", () => {
  const good = { intentId: "t", outcome: "success" as const, cited: ["x"] };

  test.each([
    ["no task", { ...good, intentId: "" }, "ERR_INVALID", "intentId"],
    [
      "a task that is too long",
      { ...good, intentId: "x".repeat(256) },
      "ERR_TOO_LARGE",
      "intentId",
    ],
    ["nothing cited", { ...good, cited: [] }, "ERR_INVALID", "cited"],
    ["no list", { ...good, cited: "x" }, "ERR_INVALID", "cited"],
    ["too many", { ...good, cited: Array(257).fill("x") }, "ERR_TOO_LARGE", "cited"],
    ["a number", { ...good, cited: ["x", 7] }, "ERR_BAD_ID", "cited[1]"],
    ["no outcome", { ...good, outcome: "maybe" }, "ERR_INVALID", "outcome"],
    ["a long reason", { ...good, reason: "x".repeat(1025) }, "ERR_TOO_LARGE", "reason"],
    ["a field of its own", { ...good, mood: "good" }, "ERR_UNKNOWN_FIELD", "mood"],
    ["nothing at all", undefined, "ERR_INVALID", "intentId"],
    // The order of the checks: the first that fails is named.
    ["all at once", { ...good, intentId: "", cited: [], outcome: 1 }, "ERR_INVALID", "intentId"],
    ["the last two", { ...good, cited: [], outcome: 1 }, "ERR_INVALID", "cited"],
  ])("%s", async (_, input, code, field) => {
    await using store = await openTestStore();
    const refusal = await refusalOf(store.memory, () => store.memory.attest(input as never));
    expect(refusal).toMatchObject({ code, details: { field } });
  });

  test("a bad outcome is found before the rate limit, which leaves no trace", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const { id } = await memory.write({ type: "fact", text: "one" });
    const say = (intentId = "t") => memory.attest({ intentId, outcome: "success", cited: [id] });
    for (let n = 0; n < 5; n += 1) await say();
    const limited = await refusalOf(memory, () => say());
    expect(limited.code).toBe("ERR_RATE_LIMITED");
    const bad = await refusalOf(memory, () => memory.attest({ ...good, outcome: "x" as never }));
    expect(bad.code).toBe("ERR_INVALID");
    expect((await memory.inspect(id))?.counters).toMatchObject({ accessed: 5, cited: 5 });
    await say("another task");
    clock.advance(1000);
    await say();
  });

  test("another name for every task does not get around the principal's limit", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const say = (n: number, by: string) =>
      memory.attest({ intentId: `t${n}`, outcome: "success", cited: ["nobody"], by });
    const all = await Promise.allSettled(
      Array.from({ length: 300 }, (_, n) => say(n, `agent ${n}`)),
    );
    const done = all.filter(({ status }) => status === "fulfilled").length;
    // The clock moves a millisecond each time it is read: a few tokens come back meanwhile.
    expect(done).toBeGreaterThanOrEqual(100);
    expect(done).toBeLessThan(150);
  });

  test("open may set other limits, or none", async () => {
    await using memory = await open("memory:", { rateLimits: false });
    for (let n = 0; n < 200; n += 1) {
      await memory.attest({ intentId: "t", outcome: "failure", cited: ["nobody"] });
    }
    expect((await memory.stats()).entries).toBe(401);
    await expect(open("memory:", { rateLimits: { attest: 1 } as never })).rejects.toMatchObject({
      code: "ERR_UNKNOWN_FIELD",
    });
  });

  test("guests attest nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    for (const call of [
      () => memory.attest(good, { access: GUEST }),
      () => memory.weights({ access: GUEST }),
    ]) {
      expect((await refusalOf(memory, call)).code).toBe("ERR_DENIED");
    }
  });
});

test("an attestation of maximum size fits", async () => {
  await using store = await openTestStore();
  const { memory } = store;
  const { results } = await memory.batch(
    Array.from({ length: LIMITS.cited }, (_, n) => ({ write: { type: "note", text: `${n}` } })),
  );
  const cited = results.map((result) => ("id" in result ? result.id : ""));
  const result = await memory.attest({
    intentId: "i".repeat(LIMITS.intentIdBytes),
    outcome: "failure",
    reason: "r".repeat(LIMITS.attestReasonBytes),
    cited,
  });
  expect(result.affected).toEqual(cited);
});
