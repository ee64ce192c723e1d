/**
 * A damaged store, as whoever runs the command or the server sees it: a verdict with the place, and the
 * other stores served.
 */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { afterEach, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { startTestServer } from "./http-server.js";

const PAGE = 4096;
let place: Place | undefined;

afterEach(() => {
  place?.remove();
  place = undefined;
});

/** Zeroes every page of a store's file but the two that say what it holds. */
function zeroed(data: string, actor: string): void {
  const path = join(data, actor, "g000001.mdb");
  const { length } = readFileSync(path);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(length - 2 * PAGE), 0, length - 2 * PAGE, 2 * PAGE);
  closeSync(file);
}

async function filled(data: string, actor: string): Promise<void> {
  await using memory = await open(data, { actor });
  await memory.write({ type: "note", externalId: "n", text: `of ${actor}` });
}

describe("cortex check", () => {
  test("of a damaged file is a verdict that names pages, and the process lives to say it", async () => {
    place = makePlace();
    await filled(place.data, "default");
    const sound = place.process(["check", "--data", place.data, "--json"]);
    expect(JSON.parse(sound.out)).toMatchObject({ ok: true, entries: 2, problems: [] });
    expect(sound.exit).toBe(0);
    zeroed(place.data, "default");
    for (const ended of [
      place.process(["check", "--data", place.data, "--json"]),
      await place.cortex(["check", "--json"]),
    ]) {
      expect(ended.exit).toBe(1);
      const { ok, problems } = JSON.parse(ended.out);
      expect(ok).toBe(false);
      expect(problems[0]).toMatchObject({
        code: "ERR_CORRUPT",
        message: expect.stringMatching(/^page \d+ of g000001\.mdb: /),
      });
    }
  });
});

test("a server tells of stores under quarantine and serves the others", async () => {
  const server = await startTestServer();
  try {
    await filled(server.folder, "default");
    await filled(server.folder, "bob");
    zeroed(server.folder, "bob");
    // What a process left behind that was ended in it.
    writeFileSync(join(server.folder, ".in-use-999999999-0badcafe"), "bob".padEnd(128));
    expect((await server.get("/v1/get?id=n")).json).toMatchObject({ text: "of default" });
    expect((await server.get("/readyz")).text).toBe("ok, 1 under quarantine: see the log");
    const refused = await server.get("/v1/actors/bob/stats");
    expect(refused.json).toMatchObject({ code: "ERR_CORRUPT" });
  } finally {
    await server.close();
  }
});
