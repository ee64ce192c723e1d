/**
 * Embedding in processes of its own, over a real server: a process that is killed leaves what it has
 * committed and the next goes on from there; two at once leave rows that agree.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { open } from "../src/index.js";
import { openKv } from "../src/open.js";
import { type EmbeddingsServer, startEmbeddingsServer } from "./embeddings-server.js";
import { cleanUp, isUnbuilt, type Program, startProgram, temporaryStore } from "./other-process.js";
import { readVectorRows, wordEmbedder } from "./vector-support.js";

const UNBUILT = isUnbuilt();

const DIMENSIONS = 16;
/** Texts that a page of the journal may hold: what a killed process may have asked for in vain. */
const PAGE = 256;

let server: EmbeddingsServer;

beforeEach(async () => {
  server = await startEmbeddingsServer(wordEmbedder(DIMENSIONS));
});

afterEach(async () => {
  await cleanUp();
  await server.close();
});

async function start(task: Readonly<Record<string, unknown>>): Promise<Program> {
  const program = startProgram("embedder.mjs");
  await program.until("ready");
  program.send({ endpoint: server.endpoint, dimensions: DIMENSIONS, ...task });
  return program;
}

async function rowsIn(folder: string): ReturnType<typeof readVectorRows> {
  const kv = await openKv(folder, "ada", { create: false });
  try {
    return await readVectorRows(kv);
  } finally {
    await kv.close();
  }
}

describe("embedding in other processes", () => {
  test.skipIf(UNBUILT)(
    "a process that is killed is followed by one that asks only for the rest",
    async () => {
      const folder = temporaryStore();
      const memory = await open(folder, { actor: "ada" });
      const texts = Array.from({ length: 600 }, (_, at) => `text number ${at}`);
      const { results } = await memory.batch(
        texts.map((text) => ({ write: { type: "note" as const, text } })),
      );
      await memory.close();
      const textOf = new Map(
        results.map((result, at) => [
          result.ok && "id" in result ? result.id : "",
          texts[at] ?? "",
        ]),
      );
      // The first page is answered; in the middle of the second the server falls silent.
      server.behave(...Array.from({ length: 11 }, () => "well" as const), "silence");
      const first = await start({ folder });
      await first.until("cursor");
      while (server.seen.length < 12) await new Promise((resolve) => setTimeout(resolve, 5));
      await first.kill();
      const left = await rowsIn(folder);
      const done = new Set([...left.owners.values()].flat().map((id) => textOf.get(id as never)));
      expect(done.size).toBeGreaterThan(0);
      expect(done.size).toBeLessThan(texts.length);

      const askedBefore = server.seen.length;
      const second = await start({ folder });
      await second.finish();
      const asked = server.seen.slice(askedBefore).flatMap(({ input }) => input);
      expect(asked.filter((text) => done.has(text))).toEqual([]);
      expect(asked).toHaveLength(texts.length - done.size);
      const all = server.seen.flatMap(({ input }) => input);
      expect(all.length).toBeLessThanOrEqual(texts.length + PAGE);
      const { owners, vectors } = await rowsIn(folder);
      expect([...owners.values()].map((ids) => ids.length)).toEqual([600]);
      expect(vectors).toBe(600);
    },
  );

  test.skipIf(UNBUILT)("two processes at once embed everything, and their rows agree", async () => {
    const folder = temporaryStore();
    const programs = [
      await start({ folder, write: 150, name: "one" }),
      await start({ folder, write: 150, name: "two" }),
    ];
    for (const program of programs) await program.until("wrote");
    for (const program of programs) program.send("go");
    const reports = await Promise.all(
      programs.map(async (program) => {
        const lines = await program.finish();
        const line = lines.find((text) => text.startsWith("done ")) ?? "done {}";
        return JSON.parse(line.slice(5)) as { readonly lag?: number };
      }),
    );
    expect(reports.map(({ lag }) => lag)).toEqual([0, 0]);
    const { owners, vectors, cursors } = await rowsIn(folder);
    expect([...owners.values()].map((ids) => ids.length)).toEqual([300]);
    expect(vectors).toBe(300);
    expect([...cursors.values()]).toMatchObject([{ seq: 301, memories: 300 }]);
    expect(new Set(server.seen.flatMap(({ input }) => input)).size).toBe(300);
  });
});
