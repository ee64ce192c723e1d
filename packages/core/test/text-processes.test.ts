/**
 * The text index between processes: what one writes another finds at once, whether or not anybody
 * flushes; a flush changes no answer of anybody who searches meanwhile; and a process that is killed
 * at any moment of its upkeep leaves an index that answers as the journal says.
 */
import { afterEach, describe, expect, test } from "vitest";
import { openGraph } from "../src/open.js";
import { rounds } from "../src/testing/lacking.js";
import { seededRandom } from "../src/testing/seeded-random.js";
import { atCleanUp, cleanUp, isUnbuilt, startProgram, temporaryStore } from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

type Hits = readonly (readonly [string, number])[];

async function startPeer(folder: string) {
  const program = startProgram("text-peer.mjs");
  program.send({ folder });
  await program.until("open");
  return {
    program,
    async ask<T>(verb: string, input: object = {}): Promise<T> {
      program.send({ verb, ...input });
      return JSON.parse((await program.until("done")).slice("done ".length)) as T;
    },
  };
}

async function here(folder: string) {
  const opened = await openGraph(folder, { actor: "ada" });
  atCleanUp(() => opened.memory.close());
  return opened;
}

describe("two processes", () => {
  test.skipIf(UNBUILT)(
    "what one writes, changes or forgets, the other knows at once, and nobody flushes",
    async () => {
      const folder = temporaryStore();
      const { memory } = await here(folder);
      const peer = await startPeer(folder);
      for (let i = 0; i < 20; i += 1) {
        const { id } = await memory.write({ type: "fact", text: `lighthouse number ${i}` });
        const { hits, seq } = await peer.ask<{ hits: Hits; seq: number }>("search", {
          text: `number ${i}`,
          limit: 1,
        });
        expect(hits[0]?.[0]).toBe(`lighthouse number ${i}`);
        expect(seq).toBe((await memory.stats()).seq);
        if (i % 5 === 0) await memory.update(id, { text: `beacon number ${i}` });
        if (i % 5 === 1) await memory.forget(id, "asked");
      }
      const theirs = await peer.ask<{ hits: Hits }>("search", { text: "lighthouse", limit: 50 });
      expect(theirs.hits).toHaveLength(12);
      const ours = await memory.search("lighthouse", { limit: 50 });
      expect(theirs.hits).toEqual(ours.hits.map(({ text, score }) => [text, score]));
      expect(await peer.ask("status")).toMatchObject({ segments: 0, cursor: 0 });
      await peer.program.finish();
    },
  );

  test.skipIf(UNBUILT)(
    "a flush, a merge and a forget elsewhere leave searches here as they were",
    async () => {
      const folder = temporaryStore();
      const { memory, engine } = await here(folder);
      const peer = await startPeer(folder);
      const texts = Array.from({ length: 40 }, (_, at) => `harbour ${"wave ".repeat(at % 7)}${at}`);
      await memory.batch(texts.map((text) => ({ write: { type: "fact", text } })));
      const before = (await memory.search("harbour wave", { limit: 50 })).hits;
      const searching = peer.ask<{ different: Hits[] }>("searches", {
        text: "harbour wave",
        times: 300,
      });
      for (let i = 0; i < 10; i += 1) {
        // A memory that comes and goes holds none of the words, but it is counted while it stands.
        const { id } = await memory.write({ type: "note", text: "passing" });
        await memory.forget(id, "gone again");
        await engine.text.flush();
      }
      await engine.text.merge();
      const { different } = await searching;
      // While a note stands, there is one memory more to compare with: two sets of scores, one order.
      const orders = new Set(different.map((hits) => hits.map(([text]) => text).join("|")));
      expect([...orders]).toEqual([before.map(({ text }) => text).join("|")]);
      expect(different.length).toBeLessThanOrEqual(2);
      const after = (await memory.search("harbour wave", { limit: 50 })).hits;
      expect(after).toEqual(before);
      await peer.program.finish();
    },
  );

  test.skipIf(UNBUILT)(
    "both flush and merge as fast as they can, and nothing is lost or counted twice",
    async () => {
      const folder = temporaryStore();
      const { memory, engine } = await here(folder);
      const peers = [await startPeer(folder), await startPeer(folder)];
      await Promise.all(
        peers.map(async ({ ask }, at) => {
          for (let i = 0; i < 12; i += 1) {
            const texts = Array.from({ length: 25 }, (_, n) => `shared p${at} r${i} n${n}`);
            await ask("write", { texts });
            await ask("flush");
            if (i % 4 === 3) await ask("merge");
          }
        }),
      );
      await engine.text.flush();
      expect((await memory.search("shared", { limit: 1000 })).hits).toHaveLength(600);
      expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
      expect(await engine.text.status()).toMatchObject({ documents: 600, tail: 0 });
      await Promise.all(peers.map(({ program }) => program.finish()));
    },
  );
});

describe("kill -9", () => {
  const SEED = 77;
  test.skipIf(UNBUILT)(`at any moment of upkeep, seed ${SEED}`, async () => {
    const random = seededRandom(SEED);
    const folder = temporaryStore();
    const kept: string[] = [];
    for (let round = 0; round < rounds(3, 6); round += 1) {
      const { program } = await startPeer(folder);
      program.send({ verb: "churn", prefix: `k${round}` });
      const batches = random.between(1, 6);
      for (let i = 0; i < batches; i += 1) await program.until("kept");
      await new Promise((resolve) => setTimeout(resolve, random.below(40)));
      await program.kill();
      for (const line of program.lines) {
        if (line.startsWith("kept ")) kept.push(line.slice("kept ".length));
      }
      const { memory, engine } = await openGraph(folder, { actor: "ada" });
      try {
        for (const name of kept) {
          // Sixty were written; one or none of them was forgotten before the kill.
          const { length } = (await memory.search(name, { limit: 100 })).hits;
          expect([59, 60]).toContain(length);
        }
        const before = (await memory.search("common word", { limit: 100 })).hits;
        await engine.text.flush();
        expect((await memory.search("common word", { limit: 100 })).hits).toEqual(before);
        expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
      } finally {
        await memory.close();
      }
    }
    const { memory } = await here(folder);
    const before = (await memory.search("common word", { limit: 100 })).hits;
    await memory.rebuild();
    expect((await memory.search("common word", { limit: 100 })).hits).toEqual(before);
    await memory.vacuum();
    expect((await memory.search("common word", { limit: 100 })).hits).toEqual(before);
  });
});
