/**
 * The embedder's pass over the journal: what it asks for and what it does not ask for again, what it
 * does when the embedder fails or refuses, how it shares a store, and that forgotten means gone.
 */
import { afterEach, describe, expect, test } from "vitest";
import { toHex } from "../src/codec/keys.js";
import { sha256Node } from "../src/codec/node-crypto.js";
import { embedJob } from "../src/embedding/embed.js";
import { CortexError, isCortexError } from "../src/index.js";
import { around, type Kv } from "../src/kv/kv.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { encodeVector, modelTag, textHash } from "../src/records/vector-rows.js";
import { settle } from "../src/testing/manual-time.js";
import { checkEmbedder } from "../src/vector/embedder.js";
import { dropOtherModels } from "../src/vector/vector-changes.js";
import { cleanUp } from "./other-process.js";
import {
  type CountingEmbedder,
  graphWith,
  nearText,
  readVectorRows,
  rowsHolding,
  wordEmbedder,
} from "./vector-support.js";

afterEach(cleanUp);

const refusal = (): CortexError =>
  new CortexError("ERR_EMBEDDER", "no such text", { field: "input" });

/** The same store, with another way to change caches; closing it leaves the store open. */
function withCaches(kv: Kv, commitCaches: Kv["commitCaches"]): Kv {
  return around(kv, { commitCaches, close: async () => {} });
}

describe("what is embedded", () => {
  test("is the full form of the current version; the same text is asked for once", async () => {
    const embedder = wordEmbedder();
    const { memory, engine } = await graphWith(embedder);
    const fact = await memory.write({ type: "fact", text: "Ada lives in Porto", tags: ["home"] });
    await memory.write({ type: "note", text: "coffee" });
    await memory.write({ type: "note", text: "coffee" });
    await memory.remember([{ role: "user", speaker: "Ada", content: "Good morning" }], {
      session: "s",
    });
    const report = await memory.embedPending();
    expect(embedder.asked).toEqual(["Ada lives in Porto", "coffee", "Ada: Good morning"]);
    expect(report).toMatchObject({ texts: 3, memories: 4, refused: 0, purged: 0, lag: 0 });
    expect(report.cursor).toBe(report.seq + 1);
    expect(report.model).toBe(embedder.model);
    const rows = await readVectorRows(engine.kv);
    expect(rows.vectors).toBe(3);
    expect([...rows.owners.values()][0]).toHaveLength(4);

    await memory.updateHead(fact.id, { importance: 9 });
    await memory.tombstone(fact.id, "gone");
    await memory.restore(fact.id);
    await memory.link(
      fact.id,
      "related_to",
      (await memory.write({ type: "note", text: "coffee" })).id,
    );
    expect(await memory.embedPending()).toMatchObject({ texts: 0, memories: 1, lag: 0 });
    expect(embedder.asked).toHaveLength(3);

    await memory.update(fact.id, { text: "Ada lives in Lyon" });
    expect(await memory.embedPending()).toMatchObject({ texts: 1, memories: 1 });
    expect(embedder.asked.at(-1)).toBe("Ada lives in Lyon");
    // The text of before is nobody's any more.
    expect((await readVectorRows(engine.kv)).vectors).toBe(3);
    expect((await memory.check()).ok).toBe(true);
  });

  test("does not touch the root, and hidden memories wait until they are restored", async () => {
    const embedder = wordEmbedder();
    const { memory } = await graphWith(embedder);
    const { id } = await memory.write({ type: "note", text: "hidden at once" });
    await memory.tombstone(id, "not yet");
    const before = await memory.root();
    await memory.embedPending();
    expect(await memory.root()).toEqual(before);
    expect(embedder.asked).toEqual([]);
    await memory.restore(id);
    await memory.embedPending();
    expect(embedder.asked).toEqual(["hidden at once"]);
  });

  test("is nothing where there is no text", async () => {
    const embedder = wordEmbedder();
    const { memory, engine } = await graphWith(embedder);
    await memory.remember([{ role: "assistant", content: "" }], { session: "s" });
    expect(await memory.embedPending()).toMatchObject({ texts: 0, memories: 0, lag: 0 });
    const { id } = await memory.write({ type: "note", text: "something" });
    await memory.embedPending();
    expect((await readVectorRows(engine.kv)).vectors).toBe(1);
    await memory.update(id, { text: "" });
    await memory.embedPending();
    expect((await readVectorRows(engine.kv)).vectors).toBe(0);
    expect(embedder.asked).toEqual(["something"]);
  });

  test("goes on where it stopped, in another process", async () => {
    const store = new MemoryStore();
    const embedder = wordEmbedder();
    const first = await graphWith(embedder, openMemoryKv(store));
    for (let at = 0; at < 600; at += 1) await first.memory.write({ type: "note", text: `n ${at}` });
    const stop = new AbortController();
    const partial = await first.memory.embedPending({
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    expect(partial.cursor).toBeLessThan(600);
    expect(partial.lag).toBe(partial.seq + 1 - partial.cursor);
    await first.memory.close();
    const second = await graphWith(embedder, openMemoryKv(store), 2);
    const progress: [number, number][] = [];
    await second.memory.embedPending({ onProgress: (...step) => void progress.push(step) });
    expect(embedder.asked.toSorted()).toEqual(
      Array.from({ length: 600 }, (_, at) => `n ${at}`).toSorted(),
    );
    expect(progress.at(-1)).toEqual([601, 601]);
    expect((await second.engine.vectors.status())?.memories).toBe(600);
    await second.memory.embedPending();
    expect(embedder.asked).toHaveLength(600);
  });
});

describe("an embedder that fails", () => {
  test("loses nothing: what it gave is kept, the rest is asked for later", async () => {
    const embedder = wordEmbedder();
    const { memory, engine } = await graphWith(embedder);
    for (let at = 0; at < 100; at += 1) await memory.write({ type: "note", text: `n ${at}` });
    embedder.failures.push(undefined, undefined, new Error("the line is dead"));
    await expect(memory.embedPending()).rejects.toMatchObject({ code: "ERR_EMBEDDER" });
    expect(embedder.asked).toHaveLength(64);
    const kept = await readVectorRows(engine.kv);
    expect([...kept.owners.values()][0]).toHaveLength(64);
    // What was kept can be found although the cursor has not moved.
    expect((await engine.vectors.status())?.cursor).toBe(0);
    expect((await nearText({ memory, engine }, "n 5", 1))[0]?.distance).toBeCloseTo(0, 6);
    embedder.asked.length = 0;
    expect(await memory.embedPending()).toMatchObject({ texts: 36, lag: 0 });
    expect(embedder.asked).toHaveLength(36);
  });

  test("leaves a text out that it refuses, after showing that it works", async () => {
    const inner = wordEmbedder();
    const picky: CountingEmbedder = {
      ...inner,
      async embed(texts) {
        if (texts.some((text) => text.includes("poison"))) throw refusal();
        return inner.embed(texts);
      },
    };
    const graph = await graphWith(picky);
    const { memory } = graph;
    for (const text of ["one", "poison", "two", "more poison"]) {
      await memory.write({ type: "note", text });
    }
    const report = await memory.embedPending();
    expect(report).toMatchObject({ texts: 2, memories: 2, refused: 2, lag: 0 });
    expect((await nearText(graph, "two", 9)).length).toBe(2);
    // A good text that turns bad loses the vector of the good one.
    const { id } = await memory.write({ type: "note", text: "fine" });
    await memory.embedPending();
    await memory.update(id, { text: "poison again" });
    expect(await memory.embedPending()).toMatchObject({ refused: 1 });
    expect((await nearText(graph, "fine", 9)).map((hit) => hit.id)).not.toContain(id);
    await readVectorRows(graph.engine.kv);
  });

  test("that refuses everything is at fault itself: no text is left out", async () => {
    const broken = { ...wordEmbedder(), embed: async () => Promise.reject(refusal()) };
    const { memory, engine } = await graphWith(broken);
    await memory.write({ type: "note", text: "one" });
    await expect(memory.embedPending()).rejects.toMatchObject({ code: "ERR_EMBEDDER" });
    expect((await engine.vectors.status())?.cursor).toBe(0);
  });
});

describe("several at once", () => {
  test("two processes embed one store; rows agree and nothing is missing", async () => {
    const store = new MemoryStore();
    const embedders = [wordEmbedder(), wordEmbedder()];
    const graphs = await Promise.all(
      embedders.map((embedder, at) => graphWith(embedder, openMemoryKv(store), at + 1)),
    );
    const [one, two] = graphs;
    if (one === undefined || two === undefined) throw new Error("no graphs");
    for (let at = 0; at < 400; at += 1) await one.memory.write({ type: "note", text: `n ${at}` });
    const reports = await Promise.all(graphs.map(({ memory }) => memory.embedPending()));
    expect(reports.map(({ lag }) => lag)).toEqual([0, 0]);
    const { owners, vectors } = await readVectorRows(one.engine.kv);
    expect([...owners.values()].map((ids) => ids.length)).toEqual([400]);
    expect(vectors).toBe(400);
    for (const graph of graphs) {
      expect((await nearText(graph, "n 123", 1))[0]?.distance).toBeCloseTo(0, 6);
    }
    // Each follows what the other embeds.
    const { id } = await two.memory.write({ type: "note", text: "only the second knows" });
    await two.memory.embedPending();
    expect((await nearText(one, "only the second knows", 1))[0]?.id).toBe(id);
  });

  test("another model has vectors of its own, and the old ones can be dropped", async () => {
    const store = new MemoryStore();
    const old = await graphWith(wordEmbedder(16, "old"), openMemoryKv(store));
    for (let at = 0; at < 30; at += 1) await old.memory.write({ type: "note", text: `n ${at}` });
    await old.memory.embedPending();
    const embedder = wordEmbedder(24, "new");
    const next = await graphWith(embedder, openMemoryKv(store), 2);
    expect(await nearText(next, "n 7", 3)).toEqual([]);
    // The job finds that all of it is to be done again.
    const job = embedJob(next.engine);
    expect(await job.pending?.()).toBe(true);
    expect((await next.memory.recall("which?")).notEmbedded).toBeGreaterThanOrEqual(30);
    expect(await job.run(new AbortController().signal)).toMatchObject({ done: 30, lag: 0 });
    expect((await next.memory.recall("which?")).notEmbedded).toBeUndefined();
    expect((await nearText(next, "n 7", 1))[0]?.distance).toBeCloseTo(0, 6);
    expect((await nearText(old, "n 7", 1))[0]?.distance).toBeCloseTo(0, 6);
    expect((await readVectorRows(next.engine.kv)).owners.size).toBe(2);

    const keep = modelTag(sha256Node, embedder);
    const { kv } = next.engine;
    expect(await dropOtherModels(kv, keep, { limit: 1000, dryRun: true })).toEqual({
      done: 0,
      left: 91,
    });
    const part = await dropOtherModels(kv, keep, { limit: 50 });
    expect(part.done).toBeGreaterThanOrEqual(50);
    expect(part.left).toBe(91 - part.done);
    await readVectorRows(kv);
    expect(await dropOtherModels(kv, keep, { limit: 1000 })).toEqual({ done: part.left, left: 0 });
    const { owners, cursors } = await readVectorRows(kv);
    expect(owners.size).toBe(1);
    expect([...cursors.values()].map(({ model }) => model)).toEqual([embedder.model]);
    expect(await nearText(old, "n 7", 1)).toEqual([]);
  });
});

describe("a question right after a write", () => {
  const quick = (): CountingEmbedder => Object.assign(wordEmbedder(), { isQuick: true });

  test("waits for the vectors of a quick embedder, once for all that ask together", async () => {
    const embedder = quick();
    const { memory } = await graphWith(embedder);
    await memory.remember([{ role: "user", content: "porto" }], { session: "a" });
    const answers = await Promise.all([memory.recall("porto"), memory.recall("porto")]);
    for (const { hits, notEmbedded } of answers) {
      expect(hits[0]?.why.lanes.vector).toBeGreaterThan(0);
      expect(notEmbedded).toBeUndefined();
    }
    expect(await memory.embedPending()).toMatchObject({ texts: 0, lag: 0 });
  });

  const bulk = Array.from({ length: 200 }, (_, at) => ({
    write: { type: "note" as const, text: `n ${at}` },
  }));

  test("does not wait for a long backlog: says how much is left, and it is done behind the answers", async () => {
    const embedder = quick();
    const { memory } = await graphWith(embedder);
    await memory.batch(bulk);
    const { seq } = await memory.stats();
    const left: (number | undefined)[] = [];
    while (left.at(-1) !== undefined || left.length === 0) {
      left.push((await memory.recall("n 7")).notEmbedded);
      await settle();
    }
    expect(left[0]).toBe(seq + 1);
    const numbers = left.map((one) => one ?? 0);
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
    const texts = embedder.asked.filter((text) => /^n \d+$/.test(text) && text !== "n 7");
    expect(new Set(texts).size).toBe(texts.length);
    expect((await memory.recall("n 7", { asOf: seq })).notEmbedded).toBeUndefined();
  });

  test("brings a long backlog on even if the store is closed right after it", async () => {
    const store = new MemoryStore();
    const lefts: number[] = [];
    for (let process = 0; process < 3; process += 1) {
      const { memory } = await graphWith(quick(), openMemoryKv(store), process + 1);
      if (process === 0) await memory.batch(bulk);
      lefts.push((await memory.recall("n 7")).notEmbedded ?? 0);
      await memory.close();
    }
    const [first = 0, second = 0, third = 0] = lefts;
    expect(second).toBeLessThan(first);
    expect(third).toBeLessThan(second);
  });

  test("waits for all of a conversation that was just remembered", async () => {
    const { memory } = await graphWith(quick());
    const turns = Array.from({ length: 100 }, (_, at) => ({
      role: "user" as const,
      content: `word${at} said`,
    }));
    await memory.remember(turns, { session: "a" });
    const { hits, notEmbedded } = await memory.recall("word99");
    expect(notEmbedded).toBeUndefined();
    expect(hits[0]).toMatchObject({ text: expect.stringContaining("word99") });
    expect(hits[0]?.why.lanes.vector).toBeGreaterThan(0);
  });

  test("does not wait for another embedder, and says that nothing is embedded", async () => {
    const slow = await graphWith(wordEmbedder());
    await slow.memory.write({ type: "note", text: "porto" });
    const { notEmbedded, hits } = await slow.memory.recall("porto");
    expect(notEmbedded).toBe((await slow.memory.stats()).seq + 1);
    expect(hits[0]?.why.lanes.vector).toBeUndefined();
  });
});

describe("what meaning is asked for", () => {
  test("is the question without the name of whoever speaks, unless nothing else is left", async () => {
    const embedder = wordEmbedder();
    const { memory } = await graphWith(embedder);
    const turns = [
      { role: "user" as const, speaker: "Carla", content: "The harbour was lovely" },
      { role: "user" as const, speaker: "Bo", content: "Which harbour, Carla?" },
    ];
    await memory.remember(turns, { session: "a" });
    await memory.embedPending();
    const asked = async (question: string): Promise<readonly string[]> => {
      const before = embedder.asked.length;
      await memory.recall(question);
      return embedder.asked.slice(before).map((text) => text.trim().replace(/\s+/g, " "));
    };
    expect(await asked("Which harbour did Carla like?")).toContain("Which harbour did like?");
    for (const question of ["Carla", "Where was Dora?", "Did Carla and Bo see a harbour?"]) {
      expect(await asked(question)).toEqual([question]);
    }
  });

  test("is answered by who replies to what is near, if it is another person", async () => {
    const shareOf = async (role: "user" | "assistant", speaker: string): Promise<number> => {
      const { memory } = await graphWith(wordEmbedder());
      const turns = [
        { role: "user" as const, speaker: "Bo", content: "harbour?" },
        { role, speaker, content: "lighthouse" },
      ];
      await memory.remember(turns, { session: "a" });
      await memory.embedPending();
      const { hits } = await memory.recall("harbour", { lanes: ["vector"] });
      const [asked, reply] = ["harbour", "lighthouse"].map(
        (word) => hits.find(({ text }) => text.includes(word))?.why.lanes.vector ?? 0,
      );
      return (reply ?? 0) / (asked ?? 1);
    };
    expect(await shareOf("user", "Ada")).toBeCloseTo(0.9, 9);
    expect(await shareOf("user", "Bo")).toBeLessThan(0.5);
    expect(await shareOf("assistant", "Ada")).toBeLessThan(0.5);
  });

  test("is answered half as well by an assistant's words as by the user's", async () => {
    const shares: number[] = [];
    for (const role of ["user", "assistant"] as const) {
      const { memory } = await graphWith(wordEmbedder());
      const turns = [
        { role: "user" as const, content: "harbour" },
        { role, content: "harbour quay" },
      ];
      await memory.remember(turns, { session: "a" });
      await memory.embedPending();
      const { hits } = await memory.recall("harbour", { lanes: ["vector"] });
      shares.push(hits.find(({ text }) => text.includes("quay"))?.why.lanes.vector ?? 0);
    }
    const [user = 0, assistant = 0] = shares;
    expect(user).toBeGreaterThan(0);
    expect(assistant).toBeCloseTo(user / 2, 9);
  });
});

describe("forget", () => {
  async function traces(kv: Kv, embedder: CountingEmbedder, text: string): Promise<number> {
    const [vector = new Float32Array(0)] = await checkEmbedder(embedder).embed([text]);
    const found = [
      ...(await rowsHolding(kv, encodeVector(vector))),
      ...(await rowsHolding(kv, textHash(sha256Node, text))),
    ];
    return new Set(found.map(({ key }) => toHex(key))).size;
  }

  test("takes the vector and its hash away, unless another memory says the same", async () => {
    const embedder = wordEmbedder();
    const { memory, engine } = await graphWith(embedder);
    const { kv } = engine;
    const secret = await memory.write({ type: "note", text: "my secret" });
    const twin = await memory.write({ type: "note", text: "my twin" });
    const other = await memory.write({ type: "note", text: "my twin" });
    await memory.embedPending();
    await memory.update(secret.id, { text: "my other secret" });
    await memory.embedPending();
    expect(await traces(kv, embedder, "my secret")).toBe(0);
    expect(await traces(kv, embedder, "my other secret")).toBe(3);
    await memory.forget(secret.id, "asked");
    expect(await traces(kv, embedder, "my other secret")).toBe(0);
    await memory.forget(twin.id, "asked");
    expect(await traces(kv, embedder, "my twin")).toBe(3);
    await memory.forget(other.id, "asked");
    expect(await traces(kv, embedder, "my twin")).toBe(0);
    expect((await readVectorRows(kv)).vectors).toBe(0);
    await memory.embedPending();
    expect((await readVectorRows(kv)).vectors).toBe(0);
  });

  test("works on the vectors of every model, and without any embedder", async () => {
    const store = new MemoryStore();
    const kv = openMemoryKv(store);
    let id = "";
    for (const salt of ["a", "b"]) {
      const { memory } = await graphWith(wordEmbedder(16, salt), openMemoryKv(store));
      if (id === "") ({ id } = await memory.write({ type: "note", text: "my secret" }));
      await memory.embedPending();
      await memory.close();
    }
    expect((await readVectorRows(kv)).vectors).toBe(2);
    const { memory } = await graphWith(undefined, openMemoryKv(store), 3);
    await memory.forget(id, "asked");
    expect((await readVectorRows(kv)).vectors).toBe(0);
  });

  test("is finished by the next pass, or by forgetting again, if the process died half-way", async () => {
    for (const finish of ["pass", "forget"] as const) {
      const store = new MemoryStore();
      const embedder = wordEmbedder();
      const kv = openMemoryKv(store);
      // The entry is committed, and then the process is gone: caches cannot be changed any more.
      let isDying = false;
      const dying = withCaches(kv, (change) =>
        isDying ? Promise.reject(new Error("the process is gone")) : kv.commitCaches(change),
      );
      const first = await graphWith(embedder, dying);
      const { id } = await first.memory.write({ type: "note", text: "my secret" });
      await first.memory.embedPending();
      isDying = true;
      await expect(first.memory.forget(id, "asked")).rejects.toThrow("the process is gone");
      expect(await traces(kv, embedder, "my secret")).toBe(3);
      const second = await graphWith(embedder, openMemoryKv(store), 2);
      expect(await nearText(second, "my secret", 5)).toEqual([]);
      if (finish === "pass")
        expect(await second.memory.embedPending()).toMatchObject({ purged: 1 });
      else await second.memory.forget(id, "asked again");
      expect(await traces(kv, embedder, "my secret")).toBe(0);
      await readVectorRows(kv);
    }
  });

  test("while its text is at the embedder leaves nothing behind", async () => {
    const inner = wordEmbedder();
    const during: (() => Promise<unknown>)[] = [];
    const slow: CountingEmbedder = {
      ...inner,
      async embed(texts) {
        const vectors = await inner.embed(texts);
        await during.shift()?.();
        return vectors;
      },
    };
    const { memory, engine } = await graphWith(slow);
    const secret = await memory.write({ type: "note", text: "my secret" });
    await memory.write({ type: "note", text: "harmless" });
    during.push(() => memory.forget(secret.id, "asked"));
    await memory.embedPending();
    expect(await traces(engine.kv, inner, "my secret")).toBe(0);
    const { owners } = await readVectorRows(engine.kv);
    expect([...owners.values()].flat()).toHaveLength(1);
    // The text that was left is not asked for twice because of the lost race.
    expect(inner.asked.filter((text) => text === "harmless")).toHaveLength(1);
  });

  test("between the last look and the commit leaves nothing behind either", async () => {
    const kv = openMemoryKv();
    const during: (() => Promise<unknown>)[] = [];
    const racing = withCaches(kv, async (change) => {
      await during.shift()?.();
      return kv.commitCaches(change);
    });
    const embedder = wordEmbedder();
    const { memory } = await graphWith(embedder, racing);
    const secret = await memory.write({ type: "note", text: "my secret" });
    await memory.write({ type: "note", text: "harmless" });
    during.push(() => memory.forget(secret.id, "asked"));
    await memory.embedPending();
    expect(await traces(kv, wordEmbedder(), "my secret")).toBe(0);
    expect([...(await readVectorRows(kv)).owners.values()].flat()).toHaveLength(1);
    expect(embedder.asked).toEqual(["my secret", "harmless"]);
  });
});

test("options nobody knows are refused, and so are callers who are not the owner", async () => {
  const { memory } = await graphWith(wordEmbedder());
  const codes = await Promise.all(
    [{ limit: 5 }, { access: { kind: "guest" } }].map((options) =>
      memory.embedPending(options as object).then(
        () => "none",
        (error: unknown) => (isCortexError(error) ? error.code : String(error)),
      ),
    ),
  );
  expect(codes).toEqual(["ERR_UNKNOWN_FIELD", "ERR_DENIED"]);
});

test("the job does whole pages while nobody calls, and a fifth of the time while calls come", async () => {
  let now = 1_000_000;
  const embedder = wordEmbedder();
  const { memory, engine } = await graphWith({
    ...embedder,
    embed: async (texts, signal) => {
      now += texts.length;
      return embedder.embed(texts, signal);
    },
  });
  const items = Array.from({ length: 1200 }, (_, at) => ({
    write: { type: "note" as const, text: `note ${at}` },
  }));
  await memory.batch(items.slice(0, 1000));
  await memory.batch(items.slice(1000));
  const passes: { readonly embedded: number; readonly restMs: number }[] = [];
  let known = 0;
  const pause = async (restMs: number): Promise<void> => {
    passes.push({ embedded: embedder.asked.length - known, restMs });
    known = embedder.asked.length;
    now += restMs;
    // Callers come after the second pass, and stay away after the fifth.
    if (passes.length >= 3 && passes.length < 6) await memory.get("nobody");
  };
  const report = await embedJob({ ...engine, clock: () => now, pause }).run(
    new AbortController().signal,
  );
  expect(report).toMatchObject({ done: 1200, lag: 0 });
  // The journal's first entry is that of the store itself; after the last pass nothing is waited for.
  expect(passes).toEqual([
    { embedded: 0, restMs: 0 },
    { embedded: 255, restMs: 0 },
    { embedded: 256, restMs: 0 },
    { embedded: 256, restMs: 4 * 256 },
    { embedded: 64, restMs: 4 * 64 },
    { embedded: 64, restMs: 4 * 64 },
    { embedded: 64, restMs: 0 },
  ]);
});
