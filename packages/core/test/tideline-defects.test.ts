/**
 * The defects that the slot-and-trust design this store grew out of is known for, each as a test that
 * shows it does not happen here. Numbers are those of the list.
 *
 * Elsewhere: 1 in `extract.test.ts`, 15 and more on 9 in `src/upkeep/maintain-memories.test.ts`, 17 in
 * `relink.test.ts`, the processes of 18 in `two-processes.test.ts`, the words of 16 in the server's
 * `src/mcp/tools.test.ts`; more on 5, 6 and 13 in `src/recall/recall.test.ts`.
 */
import { describe, expect, test } from "vitest";
import { type Cortex, open } from "../src/index.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { countingKv } from "../src/testing/counting-kv.js";
import { openTestStore, refusalOf } from "../src/testing/index.js";

/** An edge to a hit: its kind and its strength. */
type EdgeOf = readonly [kind: string, strength: number];

/** The texts of the live values of a slot. */
async function liveIn(memory: Cortex, slot: string): Promise<readonly string[]> {
  return (await memory.list({ slot })).memories.map(({ text }) => text);
}

describe("values and slots", () => {
  test("1, the write side: a value change is never taken for a restatement, however alike", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const pairs = [
      ["User deploys on Fridays", "User now deploys on Mondays"],
      ["The limit is 15 files", "The limit is 16 files"],
      ["Uses C++ at work", "Uses C# at work"],
      ["Ada is allergic to nuts", "Ada is not allergic to nuts"],
      ["Temperature was -5", "Temperature was 5"],
    ] as const;
    for (const [at, [before, after]] of pairs.entries()) {
      const slot = `value ${at}`;
      const old = await memory.write({ type: "fact", slot, text: before });
      const now = await memory.write({ type: "fact", slot, text: after });
      expect(now.reinforced).toBe(false);
      expect(now.replaced.map(({ id }) => id)).toEqual([old.id]);
      expect(await liveIn(memory, slot)).toEqual([after]);
      const loose = await memory.write({ type: "belief", text: before });
      const other = await memory.write({ type: "belief", text: after });
      expect(other.id).not.toBe(loose.id);
    }
  });

  test("2: slot and explicit supersedes together leave one live value", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const lyon = await memory.write({ type: "fact", slot: "home", text: "lives in Lyon" });
    const loose = await memory.write({ type: "fact", text: "has a flat in Lyon" });
    const porto = await memory.write({
      type: "fact",
      slot: "home",
      text: "lives in Porto",
      supersedes: [loose.id],
    });
    expect(porto.replaced.map(({ id }) => id).sort()).toEqual([lyon.id, loose.id].sort());
    expect(await liveIn(memory, "home")).toEqual(["lives in Porto"]);
    const rome = await memory.write({
      type: "fact",
      slot: "home",
      text: "lives in Rome",
      supersedes: [porto.id],
    });
    expect(rome.replaced.map(({ id }) => id)).toEqual([porto.id]);
    expect(await liveIn(memory, "home")).toEqual(["lives in Rome"]);
  });

  test("3: an untrusted write to a trusted slot leaves one value in it, and a rival beside it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({ type: "fact", slot: "home", text: "lives in Porto" });
    for (const source of ["document", "agent", "extraction"] as const) {
      const rival = await memory.write({
        type: "fact",
        slot: "home",
        text: `by ${source}`,
        source,
      });
      expect(rival.replaced).toEqual([]);
      expect(rival.conflicts.map(({ id }) => id)).toEqual([own.id]);
      const stored = await memory.get(rival.id);
      expect(stored?.head).toMatchObject({ lifecycle: "active", status: "provisional", source });
      expect(stored?.head.slot).toBeUndefined();
      expect((await memory.getEdge(rival.id, "contradicts", own.id))?.metadata).toMatchObject({
        rival: "home",
      });
    }
    expect(await liveIn(memory, "home")).toEqual(["lives in Porto"]);
    expect((await memory.review({ kinds: ["rival"] })).items).toHaveLength(3);
  });

  test("3: nor does naming the trusted memory in supersedes archive it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({ type: "preference", text: "prefers aisle seats" });
    const rival = await memory.write({
      type: "fact",
      text: "window seats from now on",
      source: "document",
      supersedes: [own.id],
    });
    expect((await memory.get(own.id))?.head.lifecycle).toBe("active");
    expect(await memory.getEdge(rival.id, "supersedes", own.id)).toBeUndefined();
    expect(rival.conflicts.map(({ id }) => id)).toEqual([own.id]);
  });

  test("4: what was replaced through supersedes does not come back beside its successor", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "a" });
    const b = await memory.write({ type: "fact", text: "b", supersedes: [a.id] });
    const direct = await refusalOf(memory, () => memory.restore(a.id));
    expect([direct.code, direct.details.subject]).toEqual(["ERR_CONFLICT", b.id]);
    const c = await memory.write({ type: "fact", text: "c", supersedes: [b.id] });
    const later = await refusalOf(memory, () => memory.restore(a.id));
    expect([later.code, later.details.subject]).toEqual(["ERR_CONFLICT", c.id]);
    const swapped = await memory.restore(a.id, { swap: true });
    expect(swapped.replaced.map(({ id }) => id)).toEqual([c.id]);
    const states = await Promise.all([a, b, c].map(({ id }) => memory.get(id)));
    expect(states.map((one) => one?.head.lifecycle)).toEqual(["active", "archived", "archived"]);
    expect((await memory.getEdge(a.id, "supersedes", c.id))?.tombstone).toBeUndefined();
    expect((await refusalOf(memory, () => memory.restore(c.id))).details.subject).toBe(a.id);
    await memory.revert(swapped.seq);
    expect((await memory.get(c.id))?.head.lifecycle).toBe("active");
    expect((await memory.get(a.id))?.head.lifecycle).toBe("archived");
  });

  test("4: nor one that was replaced in its slot, unless they are swapped", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const lyon = await memory.write({ type: "fact", slot: "home", text: "lives in Lyon" });
    const porto = await memory.write({ type: "fact", slot: "home", text: "lives in Porto" });
    expect((await refusalOf(memory, () => memory.restore(lyon.id))).details.subject).toBe(porto.id);
    await memory.restore(lyon.id, { swap: true });
    expect(await liveIn(memory, "home")).toEqual(["lives in Lyon"]);
    const { values } = await memory.slotHistory("Home");
    expect(values.map(({ text, current }) => [text, current])).toEqual([
      ["lives in Lyon", true],
      ["lives in Porto", false],
    ]);
  });

  test("10: an owner who restates an extracted fact makes it the owner's", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const text = "deploys on Fridays";
    const found = await memory.write({
      type: "fact",
      slot: "deploy day",
      text,
      source: "extraction",
    });
    const said = await memory.write({
      type: "fact",
      slot: "deploy day",
      text: "Deploys on Fridays.",
    });
    expect([said.id, said.reinforced, said.version]).toEqual([found.id, true, 2]);
    const now = await memory.get(found.id);
    expect(now?.head).toMatchObject({ source: "user_input", slot: "deploy_day" });
    const sources = (await memory.history(found.id))?.map(
      (one) => one.versionRecord.provenance.source,
    );
    expect(sources).toEqual(["user_input", "extraction"]);
    const later = await memory.write({
      type: "fact",
      slot: "deploy day",
      text: "deploys on Mondays",
      source: "extraction",
    });
    expect(later.conflicts.map(({ id }) => id)).toEqual([found.id]);
    expect(await liveIn(memory, "deploy day")).toEqual([text]);
    await memory.revert(said.seq);
    expect((await memory.get(found.id))?.head.source).toBe("extraction");
  });

  test("10: an agent that restates the owner backs the owner's memory and owns nothing of it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({ type: "fact", slot: "home", text: "lives in Porto" });
    const echo = await memory.write({
      type: "fact",
      slot: "home",
      text: "Lives in Porto",
      source: "agent",
    });
    expect(echo.id).not.toBe(own.id);
    expect(echo.conflicts).toEqual([]);
    expect(await memory.getEdge(echo.id, "supports", own.id)).toMatchObject({ source: "derived" });
    const again = await memory.write({
      type: "fact",
      slot: "home",
      text: "lives in Porto",
      source: "agent",
    });
    expect([again.id, again.reinforced]).toEqual([echo.id, true]);
    expect((await memory.get(own.id))?.head.source).toBe("user_input");
    expect(await liveIn(memory, "home")).toEqual(["lives in Porto"]);
  });

  test("13: a value that begins later is neither recalled now nor listed as valid", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    const start = clock.last() + 1_000_000;
    const { id } = await memory.write({ type: "fact", text: "works in Oslo", validFrom: start });
    const at = async (validAt: number) =>
      (await memory.list({ type: "fact", validAt })).memories.map((one) => one.id);
    expect(await at(clock.last())).toEqual([]);
    expect(await at(start)).toEqual([id]);
    expect(await memory.get(id, { validAt: clock.last() })).toBeUndefined();
    const recalled = async (now: number) =>
      (await memory.recall("who works in Oslo?", { now })).hits.map((hit) => hit.id);
    expect(await recalled(clock.last())).toEqual([]);
    expect(await recalled(start)).toEqual([id]);
  });

  test("16: a correction without a slot archives nothing by itself", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const before = await memory.write({ type: "fact", text: "the release is on Friday" });
    const after = await memory.write({
      type: "fact",
      text: "the release is on Monday",
      corrects: before.id,
    });
    expect(after.replaced).toEqual([]);
    expect((await memory.get(before.id))?.head.lifecycle).toBe("active");
    expect(await memory.getEdge(after.id, "corrects", before.id)).toBeDefined();
    const plain = await memory.write({ type: "fact", text: "the release is on Tuesday" });
    expect(plain.replaced).toEqual([]);
    expect((await memory.list({ type: "fact" })).memories).toHaveLength(3);
  });
});

describe("edges", () => {
  test("8: a directed kind reads one way: A blocks B never says that B blocks A", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "a" });
    const b = await memory.write({ type: "fact", text: "b" });
    for (const kind of ["part_of", "enables", "blocks", "located_at", "uses", "works_on"]) {
      await memory.addEdge(a.id, kind, b.id);
      expect(await memory.getEdge(b.id, kind, a.id)).toBeUndefined();
      const out = await memory.edgesOut(b.id, { kinds: [kind] });
      expect(out.edges).toEqual([]);
      const reached = async (id: string) =>
        (await memory.traverse(id, { kinds: [kind], direction: "out" })).hits.map((hit) => hit.id);
      expect(await reached(a.id)).toContain(b.id);
      expect(await reached(b.id)).not.toContain(a.id);
    }
  });

  test("9: reading confirms nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "preference", text: "likes tea", source: "agent" });
    const before = await memory.get(id);
    for (let read = 0; read < 5; read += 1) {
      await memory.get(id);
      await memory.recall("what does Ada like?");
      await memory.search("tea");
      await memory.find({ type: "preference", limit: 5 });
    }
    const { changes } = await memory.maintain();
    expect(changes).toEqual([]);
    expect(await memory.get(id)).toEqual(before);
    expect(before?.head.status).toBe("provisional");
    expect((await memory.inspect(id))?.counters).toMatchObject({ reinforced: 0, accessed: 0 });
  });

  test("11: a reason and a strength given later are kept, and nothing that was said is lost", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", text: "a" });
    const b = await memory.write({ type: "fact", text: "b" });
    await memory.addEdge(a.id, "causes", b.id);
    const filled = await memory.addEdge(a.id, "causes", b.id, {
      reason: "the log says so",
      strength: 4,
    });
    expect([filled.changed, filled.edge.reason, filled.edge.strength]).toEqual([
      true,
      "the log says so",
      4,
    ]);
    const again = await memory.addEdge(a.id, "causes", b.id, { reason: "another", strength: 1 });
    expect([again.changed, again.edge.reason, again.edge.strength]).toEqual([
      false,
      "the log says so",
      4,
    ]);
    await memory.addEdge(a.id, "uses", b.id);
    const agent = await memory.addEdge(a.id, "uses", b.id, { reason: "guess", source: "agent" });
    expect([agent.changed, agent.edge.reason]).toEqual([false, undefined]);
  });

  test("12: forgetting leaves no edge that points at nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", slot: "home", text: "lives in Lyon" });
    const b = await memory.write({ type: "fact", slot: "home", text: "lives in Porto" });
    const c = await memory.write({
      type: "fact",
      slot: "home",
      text: "in Rome",
      source: "document",
    });
    await memory.addEdge(b.id, "related_to", c.id);
    await memory.forget(b.id, "asked");
    for (const { id } of [a, c]) {
      expect((await memory.edgesOut(id, { includeTombstoned: true })).edges).toEqual([]);
      expect((await memory.edgesIn(id, { includeTombstoned: true })).edges).toEqual([]);
    }
    expect((await memory.review({ kinds: ["rival", "contradiction"] })).items).toEqual([]);
  });

  test("12: what was made from a forgotten memory is named, and goes along when asked", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const mail = await memory.write({ type: "note", text: "a letter from Porto" });
    const provenance = { derivedFrom: [mail.uri] };
    const gist = await memory.write({ type: "fact", text: "Porto wrote", provenance });
    const later = await memory.write({
      type: "fact",
      text: "Porto is in touch",
      provenance: { derivedFrom: [gist.uri] },
    });
    const one = await memory.forget(mail.id, "asked");
    expect(one.derived).toEqual([gist.id]);
    expect((await memory.get(gist.id))?.text).toBe("Porto wrote");
    const all = await memory.forget(gist.id, "asked", { cascade: true });
    expect([...all.erased].sort()).toEqual([gist.id, later.id].sort());
    expect(await memory.get(gist.id)).toBeUndefined();
    const left = await memory.search("Porto", { lifecycles: ["active", "archived", "tombstoned"] });
    expect(left.hits).toEqual([]);
  });

  test("17, the store side: same_topic is capped per memory, not per call", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const hub = await memory.write({ type: "fact", text: "hub" });
    const others = await Promise.all(
      Array.from({ length: 13 }, (_, at) => memory.write({ type: "fact", text: `spoke ${at}` })),
    );
    for (const [at, { id }] of others.slice(0, 12).entries()) {
      const [from, to] = at % 2 === 0 ? [hub.id, id] : [id, hub.id];
      await memory.addEdge(from, "same_topic", to);
    }
    const last = others[12]?.id ?? "";
    for (const [from, to] of [
      [hub.id, last],
      [last, hub.id],
    ] as const) {
      const refusal = await refusalOf(memory, () => memory.addEdge(from, "same_topic", to));
      expect([refusal.code, refusal.details.subject]).toEqual(["ERR_EDGE_KIND", hub.id]);
    }
    await memory.removeEdge(hub.id, "same_topic", others[0]?.id ?? "");
    expect((await memory.addEdge(hub.id, "same_topic", last)).changed).toBe(true);
  });

  test("19: an edge is looked at again when an end of it changes", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = await memory.write({ type: "fact", slot: "sky", text: "the sky is green" });
    const b = await memory.write({ type: "fact", text: "the sky is blue" });
    await memory.addEdge(b.id, "contradicts", a.id, { reason: "one sky" });
    const open = async () => (await memory.review({ kinds: ["contradiction"] })).items.length;
    expect(await open()).toBe(1);
    const c = await memory.write({ type: "fact", slot: "sky", text: "the sky is grey" });
    expect(await open()).toBe(0);
    await memory.restore(a.id, { swap: true });
    expect(await open()).toBe(1);
    expect((await memory.get(c.id))?.head.lifecycle).toBe("archived");
    await memory.removeEdge(b.id, "contradicts", a.id);
    const gone = await memory.getEdge(b.id, "contradicts", a.id);
    expect(gone?.tombstone?.at).toBeTypeOf("number");
    expect(gone?.reason).toBe("one sky");
    expect(await open()).toBe(0);
  });

  test("19: edges say when, by whom and from where, and a settled contradiction is closed", async () => {
    await using store = await openTestStore({ principal: "cli" });
    const { memory, clock } = store;
    const a = await memory.write({ type: "fact", text: "the sky is green" });
    const b = await memory.write({ type: "fact", text: "the sky is blue" });
    const { edge } = await memory.addEdge(a.id, "contradicts", b.id, {
      source: "agent",
      strength: 5,
    });
    expect(edge).toMatchObject({ source: "agent", createdBy: "cli", strength: 5 });
    expect(edge.createdAt).toBeLessThanOrEqual(clock.last());
    const [item] = (await memory.review()).items;
    await memory.settle(item?.id ?? "", { decision: "keep_one", keep: b.id, reason: "looked up" });
    const closed = await memory.getEdge(a.id, "contradicts", b.id);
    expect(closed?.validTo).toBeTypeOf("number");
    expect(closed?.metadata).toMatchObject({ settled: "keep_one", reason: "looked up" });
    expect((await memory.review()).items).toEqual([]);
  });
});

describe("recall", () => {
  test("5: history is walkable: a question about the past finds what was replaced", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const lyon = await memory.write({ type: "fact", slot: "home", text: "Ada lives in Lyon" });
    const porto = await memory.write({ type: "fact", slot: "home", text: "Ada lives in Porto" });
    const ids = async (question: string) =>
      (await memory.recall(question)).hits.map((hit) => hit.id);
    expect(await ids("where does Ada live?")).toEqual([porto.id]);
    expect(await ids("where did Ada live before?")).toContain(lyon.id);
    // The value before is found from the one after, though it shares no word with the question.
    const shed = await memory.write({ type: "fact", text: "keeps bees in a shed" });
    const hive = await memory.write({
      type: "fact",
      text: "the apiary stands behind the mill",
      supersedes: [shed.id],
    });
    const now = await ids("where is the apiary?");
    expect(now[0]).toBe(hive.id);
    expect(now).not.toContain(shed.id);
    const before = (await memory.recall("where was the apiary before?")).hits;
    expect(before.find(({ id }) => id === shed.id)?.why.via).toEqual({
      from: hive.id,
      kind: "supersedes",
    });
    const walk = await memory.traverse(porto.id, { kinds: ["transition"] });
    expect(walk.hits.map((hit) => hit.id)).toContain(lyon.id);
  });

  test("6: the walk remembers trust, whatever words the question has", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const own = await memory.write({
      type: "fact",
      text: "The build fails when the cache is cold",
    });
    const page = await memory.write({
      type: "fact",
      text: "The build fails when the moon is full",
      source: "document",
    });
    const cause = await memory.write({ type: "event", text: "The cache was emptied on Monday" });
    await memory.addEdge(own.id, "caused_by", cause.id, { reason: "seen in the log" });
    await memory.addEdge(page.id, "caused_by", cause.id, { source: "document" });
    for (const question of ["why does the build fail", "the build fails because of what?"]) {
      const order = (await memory.recall(question)).hits.map((hit) => hit.id);
      expect(order.indexOf(own.id)).toBe(0);
      expect(order.indexOf(page.id)).toBeGreaterThan(0);
    }
  });

  test("7: kind and strength count: what blocks a hit comes before what shares its topic", async () => {
    const neighbours = async (first: EdgeOf, second: EdgeOf): Promise<readonly string[]> => {
      await using store = await openTestStore();
      const { memory } = store;
      const hit = await memory.write({
        type: "fact",
        text: "The release train leaves on Thursday",
      });
      const one = await memory.write({ type: "fact", text: "Paint dries slowly in winter" });
      const two = await memory.write({ type: "fact", text: "Legal has not signed the terms" });
      for (const [{ id }, [kind, strength]] of [
        [one, first],
        [two, second],
      ] as const) {
        await memory.addEdge(id, kind, hit.id, { strength });
      }
      const { hits } = await memory.recall("when does the release train leave?");
      const order = hits.map(({ id }) => id);
      expect(order[0]).toBe(hit.id);
      expect(order).toHaveLength(3);
      return order.slice(1).map((id) => (id === one.id ? "first" : "second"));
    };
    expect(await neighbours(["same_topic", 3], ["blocks", 3])).toEqual(["second", "first"]);
    expect(await neighbours(["blocks", 3], ["same_topic", 3])).toEqual(["first", "second"]);
    expect(await neighbours(["blocks", 1], ["blocks", 5])).toEqual(["second", "first"]);
    expect(await neighbours(["blocks", 5], ["blocks", 1])).toEqual(["first", "second"]);
  });
});

describe("judging and reading", () => {
  test("14: contradiction is a matter of slots, not of a score", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const kinds = async (id: string): Promise<string[]> =>
      (await memory.edgesOut(id)).edges.map(({ kind }) => kind);
    await memory.write({ type: "fact", slot: "deploy day", text: "User deploys on Fridays" });
    const change = { type: "fact", slot: "deploy day", text: "User deploys on Mondays" } as const;
    expect(await kinds((await memory.write(change)).id)).toContain("contradicts");
    await memory.write({ type: "fact", text: "Ben deploys on Fridays" });
    const other = await memory.write({ type: "fact", text: "Eve deploys on Mondays" });
    expect(await kinds(other.id)).toEqual([]);
    expect((await memory.review()).items).toEqual([]);
  });

  test("18: a write, a recall and backlinks read no more in a store ten times as large", async () => {
    const readsIn = async (memories: number): Promise<readonly number[]> => {
      const kv = countingKv(openMemoryKv());
      const memory = await open("memory:", { actor: "ada", kv });
      const kite = await memory.write({ type: "fact", text: "The red kite nests in the mill" });
      const items = Array.from({ length: memories }, (_, at) => ({
        write: { type: "note" as const, text: `Entry ${at} about something else` },
      }));
      await memory.batch(items);
      await memory.maintain();
      const counted = async (call: () => Promise<unknown>): Promise<number> => {
        await call();
        kv.reset();
        await call();
        return kv.counts().keys + kv.counts().rows;
      };
      let written = 0;
      const reads = [
        await counted(() => memory.write({ type: "fact", text: `One more, ${written++}` })),
        await counted(() => memory.recall("where does the red kite nest?")),
        await counted(() => memory.backlinksTo(kite.id)),
      ];
      await memory.close();
      return reads;
    };
    const [small, large] = [await readsIn(400), await readsIn(4000)];
    for (const [at, reads] of large.entries()) {
      expect(reads).toBeLessThanOrEqual((small[at] ?? 0) + 20);
    }
  });
});
