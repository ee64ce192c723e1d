/** `get`, `resolve`, `history`: every way to name a memory, every version, every time. */
import { describe, expect, test } from "vitest";
import { openTestStore, refusalOf } from "../testing/index.js";

describe("get", () => {
  test("by id in either case, by URI and by external id", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id, uri } = await memory.write({ type: "fact", text: "x", externalId: "e" });
    for (const ref of [id, id.toLowerCase(), uri, "e"]) {
      expect(await memory.get(ref)).toMatchObject({ id, uri, text: "x", seq: 1 });
    }
  });

  test("what is not there is undefined", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id, uri } = await memory.write({ type: "fact", text: "x" });
    expect(await memory.get("01ARZ3NDEKTSV4RRFFQ69G5FAV")).toBeUndefined();
    expect(await memory.get("nobody")).toBeUndefined();
    expect(await memory.get(id, { version: 2 })).toBeUndefined();
    expect(await memory.get(`${uri.slice(0, -1)}7`)).toBeUndefined();
    expect(await memory.resolve(`${uri.slice(0, -1)}7`)).toBeUndefined();
  });

  test("by version: the body of then under the head of now", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "1", tags: ["a"] });
    await memory.updateHead(id, { tags: ["b"] });
    await memory.update(id, { text: "2" });
    await memory.tombstone(id, "r");
    await memory.restore(id);
    await memory.update(id, { text: "3" });
    for (const version of [1, 2, 3]) {
      const found = await memory.get(id, { version });
      expect(found).toMatchObject({
        version,
        text: String(version),
        uri: `cortex://ada/Fact/${id}#${version}`,
        head: { version: 3, tags: ["b"] },
      });
      expect(found?.versionRecord.number).toBe(version);
    }
    expect((await memory.get(`cortex://ada/Fact/${id}#2`))?.text).toBe("2");
  });

  test("asOf: a seq, a Date or an ISO time, head fields included", async () => {
    await using store = await openTestStore({ stepMs: 1000 });
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "1", tags: ["a"] });
    await memory.update(id, { text: "2" });
    await memory.updateHead(id, { tags: ["b"], importance: 9 });
    await memory.tombstone(id, "r");
    const times = (await memory.log()).entries.map(({ at }) => at);
    const at = (asOf: number | Date | string) => memory.get(id, { asOf });
    expect(await at(0)).toBeUndefined();
    expect(await at(1)).toMatchObject({ version: 1, head: { version: 1, tags: ["a"] }, seq: 1 });
    expect(await at(2)).toMatchObject({ version: 2, text: "2", head: { tags: ["a"] } });
    expect(await at(3)).toMatchObject({ version: 2, head: { tags: ["b"], importance: 9 } });
    expect(await at(4)).toMatchObject({ head: { lifecycle: "tombstoned" } });
    for (const [seq, time] of times.entries()) {
      const expected = await at(seq);
      expect(await at(new Date(time))).toEqual(expected);
      expect(await at(new Date(time + 999).toISOString())).toEqual(expected);
    }
    expect(await memory.get(id, { asOf: 1, version: 2 })).toBeUndefined();
    expect((await memory.get(id, { asOf: 3, version: 1 }))?.text).toBe("1");
  });

  test("validAt: the version whose time it was", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "Lyon", validFrom: 100 });
    await memory.update(id, { text: "Porto", validFrom: 200, validTo: 300 });
    await memory.update(id, { text: "Rome", validFrom: 400 });
    const at = async (validAt: number) => (await memory.get(id, { validAt }))?.text;
    expect(await at(99)).toBeUndefined();
    expect(await at(100)).toBe("Lyon");
    expect(await at(199)).toBe("Lyon");
    expect(await at(200)).toBe("Porto");
    expect(await at(299)).toBe("Porto");
    expect(await at(300)).toBeUndefined();
    expect(await at(400)).toBe("Rome");
    expect(await memory.get(id, { validAt: 400, asOf: 2 })).toBeUndefined();
  });

  test("validAt: a value that was replaced ends where the next begins", async () => {
    await using store = await openTestStore({ stepMs: 10 });
    const { memory } = store;
    const lyon = await memory.write({ type: "fact", slot: "city", text: "Lyon" });
    const porto = await memory.write({ type: "fact", slot: "city", text: "Porto" });
    const born = (await memory.get(lyon.id))?.head.createdAt ?? 0;
    const moved = (await memory.get(porto.id))?.head.createdAt ?? 0;
    expect(await memory.get(lyon.id, { validAt: born - 1 })).toBeUndefined();
    expect((await memory.get(lyon.id, { validAt: born }))?.text).toBe("Lyon");
    expect((await memory.get(lyon.id, { validAt: moved - 1 }))?.text).toBe("Lyon");
    expect(await memory.get(lyon.id, { validAt: moved })).toBeUndefined();
    expect((await memory.get(porto.id, { validAt: moved }))?.text).toBe("Porto");
    const then = await memory.list({ slot: "city", validAt: moved - 1 });
    expect(then.memories.map(({ text }) => text)).toEqual(["Lyon"]);
    const now = await memory.list({ slot: "city", validAt: moved });
    expect(now.memories.map(({ text }) => text)).toEqual(["Porto"]);
  });
});

describe("resolve", () => {
  test("takes pinned URIs of this actor and the right type, nothing else", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id, uri } = await memory.write({ type: "fact", text: "x" });
    await memory.update(id, { text: "y" });
    expect(await memory.resolve(uri)).toMatchObject({ version: 1, text: "x" });
    expect(await memory.resolve(uri.replace("Fact", "Goal"))).toBeUndefined();
    expect(await memory.resolve(uri, { asOf: 0 })).toBeUndefined();
    for (const bad of [id, `${uri.slice(0, -1)}latest`, `${uri}x`, `${uri} `, "", 5, null]) {
      const error = await refusalOf(memory, () => memory.resolve(bad as string));
      expect(error.code).toBe("ERR_BAD_URI");
    }
    const elsewhere = uri.replace("ada", "bob");
    expect(await refusalOf(memory, () => memory.resolve(elsewhere))).toMatchObject({
      code: "ERR_ACTOR_MISMATCH",
    });
  });
});

describe("history", () => {
  test("newest first, with every body, up to the position asked for", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "1" });
    for (let at = 2; at <= 12; at += 1) await memory.update(id, { text: String(at) });
    const items = (await memory.history(id)) ?? [];
    expect(items.map(({ version }) => version)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(items.map(({ text }) => text)).toEqual(items.map(({ version }) => String(version)));
    expect(items.map(({ versionRecord }) => versionRecord.seq)).toEqual(
      items.map(({ version }) => version),
    );
    expect(items.filter(({ current }) => current).map(({ version }) => version)).toEqual([12]);
    const past = (await memory.history(id, { asOf: 3 })) ?? [];
    expect(past.map(({ version, current }) => [version, current])).toEqual([
      [3, true],
      [2, false],
      [1, false],
    ]);
    expect(await memory.history(id, { asOf: 0 })).toBeUndefined();
  });

  test("changes of the head leave no version behind", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "1" });
    await memory.updateHead(id, { tags: ["t"] });
    await memory.tombstone(id, "r");
    expect((await memory.history(id))?.map(({ version }) => version)).toEqual([1]);
  });
});
