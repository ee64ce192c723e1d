/** The values a slot has had, and what may stand in it. */
import { describe, expect, test } from "vitest";
import { GUEST } from "../scope/access.js";
import { openTestStore, refusalOf } from "../testing/index.js";

describe("the history of a slot", () => {
  test("newest first, each with the time for which it held, in the past as well", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const cities = ["Lyon", "Porto", "Rome", "Oslo"];
    const seqs: number[] = [];
    for (const city of cities) {
      const { seq } = await memory.write({ type: "fact", slot: "Home City", text: `in ${city}` });
      seqs.push(seq);
    }
    const { slot, values, more, seq } = await memory.slotHistory("home-city");
    expect([slot, more, seq]).toEqual(["home_city", false, seqs[3]]);
    expect(values.map(({ text }) => text)).toEqual(["in Oslo", "in Rome", "in Porto", "in Lyon"]);
    expect(values.map(({ current }) => current)).toEqual([true, false, false, false]);
    for (const [at, value] of values.entries()) {
      if (at === 0) expect(value.to).toBeUndefined();
      else expect(value.to).toBe(values[at - 1]?.from);
    }
    const then = await memory.slotHistory("home city", { asOf: seqs[1] ?? 0 });
    expect(then.values.map(({ text }) => text)).toEqual(["in Porto", "in Lyon"]);
    const two = await memory.slotHistory("home city", { limit: 2 });
    expect([two.values.length, two.more]).toEqual([2, true]);
  });

  test("holds no rivals and nothing hidden, and tells a guest what is public", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const open = { type: "fact", slot: "home", visibility: "public" } as const;
    await memory.write({ ...open, text: "in Lyon" });
    await memory.write({ type: "fact", slot: "home", text: "in Porto" });
    await memory.write({ ...open, text: "in Rome", source: "channel" });
    const texts = async (options = {}) =>
      (await memory.slotHistory("home", options)).values.map(({ text }) => text);
    expect(await texts()).toEqual(["in Porto", "in Lyon"]);
    expect(await texts({ access: GUEST })).toEqual(["in Lyon"]);
    const [lyon] = (await memory.slotHistory("home", { access: GUEST })).values;
    await memory.tombstone(lyon?.id ?? "", "wrong");
    expect(await texts()).toEqual(["in Porto"]);
    expect(await texts({ access: GUEST })).toEqual([]);
    expect((await memory.slotHistory("nobody used it")).values).toEqual([]);
    expect((await refusalOf(memory, () => memory.slotHistory("…"))).code).toBe("ERR_INVALID");
  });
});

describe("standing", () => {
  test("equals replace each other; nobody replaces upwards", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const steps = [
      ["document", "one", true],
      ["channel", "two", true],
      ["agent", "three", true],
      ["extraction", "four", true],
      ["tool_output", "five", false],
      ["user_input", "six", true],
      ["agent", "seven", false],
      ["document", "eight", false],
      ["user_input", "nine", true],
    ] as const;
    let holder = "";
    for (const [source, text, takes] of steps) {
      const done = await memory.write({ type: "fact", slot: "s", text, source });
      if (takes) holder = text;
      expect([text, done.conflicts.length]).toEqual([text, takes ? 0 : 1]);
      const live = (await memory.list({ slot: "s" })).memories.map((one) => one.text);
      expect(live).toEqual([holder]);
    }
  });

  test("the owner takes up a rival's claim: it becomes the value, and the owner's", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const porto = await memory.write({ type: "fact", slot: "home", text: "in Porto" });
    const rome = await memory.write({
      type: "fact",
      slot: "home",
      text: "in Rome",
      source: "agent",
    });
    const said = await memory.write({ type: "fact", slot: "home", text: "in Rome" });
    expect([said.id, said.reinforced]).toEqual([rome.id, true]);
    expect(said.replaced.map(({ id }) => id)).toEqual([porto.id]);
    expect((await memory.get(rome.id))?.head).toMatchObject({
      slot: "home",
      source: "user_input",
      status: "asserted",
    });
    expect((await memory.review()).items).toEqual([]);
  });

  test("a retry under a key returns the first result, rivals and lifts included", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({ type: "fact", slot: "home", text: "in Porto" });
    const rival = { type: "fact", slot: "home", text: "in Rome", source: "agent" } as const;
    const first = await memory.write({ ...rival, idempotencyKey: "k" });
    await memory.update(own.id, { text: "in Porto, by the river" });
    expect(await memory.write({ ...rival, idempotencyKey: "k" })).toEqual(first);
    const lift = { type: "fact", slot: "home", text: "in Rome", idempotencyKey: "l" } as const;
    const lifted = await memory.write(lift);
    expect(await memory.write(lift)).toEqual(lifted);
  });

  test("of several that say the same, the oldest is repeated, backed and lifted, whatever their ids", async () => {
    const claim = { type: "fact", text: "Cy is away" } as const;
    const [high, low] = ["01ZZZZZZZZZZZZZZZZZZZZZZZZ", "01AAAAAAAAAAAAAAAAAAAAAAAA"];
    const writers = ["agent", "channel", "user_input"] as const;
    const told: unknown[] = [];
    for (const inBatch of [false, true]) {
      for (const source of writers) {
        await using store = await openTestStore();
        const { memory } = store;
        const own = { ...claim, source: "agent" } as const;
        // An external id makes a memory of its own; the second one came by a slow clock.
        const older = { ...own, id: high, externalId: "older" };
        const younger = { ...own, id: low, externalId: "younger" };
        const again = { ...claim, source, idempotencyKey: "k" };
        if (inBatch) await memory.batch([{ write: older }, { write: younger }]);
        else {
          await memory.write(older);
          await memory.write(younger);
        }
        const done = await memory.write(again);
        expect(await memory.write(again)).toEqual(done);
        const { edges } = await memory.edgesOut(done.id, { kinds: ["supports"] });
        const { counters } = (await memory.inspect(high)) ?? {};
        told.push([source, done.id === high, edges.map(({ to }) => to), counters?.reinforced]);
        expect((await memory.edgesIn(low)).edges).toEqual([]);
        expect((await memory.inspect(low))?.counters?.reinforced).toBe(0);
      }
    }
    const each = [
      ["agent", true, [], 1],
      ["channel", false, [high], 0],
      ["user_input", true, [], 1],
    ];
    expect(told).toEqual([...each, ...each]);
  });
});
