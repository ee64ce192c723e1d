/**
 * The benchmark puts a recorder between the engine and its storage: it has to pass everything on, or the engine measured is
 * another one than users open. It runs on the built output, as the benchmark does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Kv, KvCommit } from "../packages/core/src/kv/kv.js";

type Change = Pick<KvCommit, "head" | "puts" | "deletes">;

const folder = mkdtempSync(join(tmpdir(), "cortex-recording-"));

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const built = async (path: string) => await import(new URL(`../${path}`, import.meta.url).href);

test("what goes through the recorder is all that the storage has to do, the text index with it", async () => {
  const { recordingKv } = await built("bench/lib/recording.mjs");
  const { openLmdbKv } = await built("packages/core/dist/kv/lmdb-backend.js");
  const { openGraph } = await built("packages/core/dist/open.js");
  const inner: Kv = await openLmdbKv(folder);
  const recorder = recordingKv(inner);
  const { memory, engine } = await openGraph(folder, { kv: recorder.kv });
  const changes: Change[] = await recorder.commitsOf(async () => {
    await memory.write({ type: "fact", text: "The kettle is blue." });
    await engine.text.flush();
  });
  const { segments, failure } = await engine.text.status();
  expect({ segments, failure }).toEqual({ segments: 1, failure: undefined });
  const keys = new Set(changes.flatMap(({ puts }) => puts.map(({ key }) => key[0])));
  // The journal, the memory, and the manifest of the text index.
  for (const prefix of [0x01, 0x10, 0x81]) expect(keys).toContain(prefix);
  await memory.close();
});
