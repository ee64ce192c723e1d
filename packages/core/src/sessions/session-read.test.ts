/** `session` and `sessions`: turns read back in order, and which conversations there are, now and then. */
import { describe, expect, test } from "vitest";
import type { TurnInput } from "../contract/sessions.js";
import { LIMITS } from "../limits.js";
import { openTestStore, seededRandom } from "../testing/index.js";

const turn = (content: string, more: Partial<TurnInput> = {}): TurnInput => ({
  role: "user",
  content,
  ...more,
});

describe("session", () => {
  test("pages through thousands of turns, long ones among them", async () => {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    const size = 2500;
    const long = "é".repeat(LIMITS.contentBytes);
    await memory.remember(
      Array.from({ length: size }, (_, at) => turn(at % 500 === 7 ? long : `t${at}`)),
      { session: "s" },
    );
    const seen: number[] = [];
    let from: number | undefined = 0;
    while (from !== undefined) {
      const page = await memory.session("s", { fromIndex: from, limit: 700 });
      for (const { index, content } of page.turns) {
        seen.push(index);
        expect(content === (index % 500 === 7 ? long : `t${index}`)).toBe(true);
      }
      from = page.nextIndex;
    }
    expect(seen).toEqual(Array.from({ length: size }, (_, at) => at));
    const all = await memory.session("s");
    expect(all.turns).toHaveLength(size);
    expect(all).not.toHaveProperty("nextIndex");
  });

  test("the past shows what was there then, hidden turns included", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { turns } = await memory.remember([turn("a"), turn("b")], { session: "s" });
    const { seq } = await memory.stats();
    await memory.tombstone(turns[0]?.id ?? "", "r");
    await memory.remember([turn("c")], { session: "s" });
    await memory.update(turns[1]?.id ?? "", { text: "B" });
    const at = async (asOf?: number) => {
      const page = await memory.session("s", asOf === undefined ? {} : { asOf });
      return page.turns.map(({ content }) => content).join("");
    };
    expect(await at()).toBe("Bc");
    expect(await at(seq)).toBe("ab");
    expect(await at(seq + 1)).toBe("b");
    expect(await at(0)).toBe("");
    await memory.restore(turns[0]?.id ?? "");
    expect(await at()).toBe("aBc");
    expect(await at(seq + 1)).toBe("b");
    expect(await at(seq)).toBe("ab");
  });

  test("a session nobody held is empty", async () => {
    await using store = await openTestStore();
    expect(await store.memory.session("none")).toEqual({ session: "none", turns: [], seq: 0 });
  });

  test("names that begin alike are two sessions", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.remember([turn("a")], { session: "s" });
    await memory.remember([turn("b")], { session: "s1" });
    expect((await memory.session("s")).turns).toHaveLength(1);
  });
});

describe("sessions", () => {
  test("lists what `session` reads back, at every position of a generated history", async () => {
    const { below } = seededRandom(7);
    await using store = await openTestStore();
    const { memory } = store;
    const names = ["chat", "chat-1", "é", "work"];
    const ids: string[] = [];
    for (let step = 0; step < 40; step += 1) {
      const session = names[below(names.length)] ?? "chat";
      const id = ids[below(ids.length + 1)] ?? "";
      const roll = below(20);
      if (roll < 12 || id === "") {
        const said = turn(`turn ${step}`, step % 3 === 0 ? { at: 1000 + step } : {});
        for (const one of (await memory.remember([said], { session })).turns) ids.push(one.id);
      } else if (roll < 15) await memory.tombstone(id, "r").catch(() => undefined);
      else if (roll < 18) await memory.restore(id).catch(() => undefined);
      else await memory.update(id, { text: `other ${step}` }).catch(() => undefined);
    }
    const { seq } = await memory.root();
    for (const asOf of [
      undefined,
      ...Array.from({ length: 9 }, (_, at) => Math.floor((at * seq) / 9)),
    ]) {
      const past = asOf === undefined ? {} : { asOf };
      const listed = await memory.sessions(past);
      const counts = await Promise.all(
        names.map(async (name) => [name, (await memory.session(name, past)).turns] as const),
      );
      const held = counts.filter(([, turns]) => turns.length > 0);
      expect(listed.distinct).toBe(held.length);
      const found = new Map(listed.sessions.map((one) => [one.session, one]));
      for (const [name, turns] of held) {
        expect(found.get(name)).toMatchObject({ turns: turns.length, opening: turns[0]?.content });
        const { at } = turns.at(-1) ?? {};
        if (at !== undefined) expect(found.get(name)?.lastAt).toBe(at);
      }
    }
  });

  test("the one added to last comes first; a prefix and a limit narrow it; pieces are one turn", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const long = "a".repeat(LIMITS.contentBytes + 5);
    await memory.remember([turn(long, { at: 5 }), turn("b", { at: 9 })], { session: "first" });
    for (const session of ["x-1", "x-2"]) await memory.remember([turn("c")], { session });
    await memory.remember([turn("d", { at: 12 })], { session: "first" });
    const { sessions, distinct } = await memory.sessions();
    expect(sessions.map(({ session }) => session)).toEqual(["first", "x-2", "x-1"]);
    expect(sessions[0]).toEqual({
      session: "first",
      turns: 3,
      firstAt: 5,
      lastAt: 12,
      opening: `${"a".repeat(160)}…`,
    });
    expect(distinct).toBe(3);
    const narrowed = await memory.sessions({ prefix: "x", limit: 1 });
    expect(narrowed.sessions.map(({ session }) => session)).toEqual(["x-2"]);
    expect(narrowed.distinct).toBe(2);
    expect(await memory.sessions({ asOf: 0 })).toEqual({ sessions: [], distinct: 0, seq: 0 });
  });
});
