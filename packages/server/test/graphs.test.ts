/** Graphs from the command line: the folder of actors is a hub. */
import { existsSync, mkdirSync } from "node:fs";
import { openHub } from "@cortex-memory/core";
import { memgraph } from "@cortex-memory/core/memgraph";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

async function refusal(args: readonly string[]): Promise<string> {
  const { exit, err } = await place.cortex([...args, "--json"]);
  expect(exit).toBeGreaterThan(0);
  return (JSON.parse(err) as { error: { code: string } }).error.code;
}

test("made, listed with the stores of other commands, configured, and used with --actor", async () => {
  const made = await place.json([
    ...["graph", "create", "Team notes", "--id", "team", "--kind", "decision"],
    ...["--metadata", '{"owner":"ada","n":1}'],
  ]);
  expect(made).toMatchObject({
    id: "team",
    name: "Team notes",
    conflictPolicy: "lww",
    kindWhitelist: ["decision"],
    metadata: { owner: "ada", n: 1 },
    archived: false,
  });
  await place.json(["note", "decision", "We meet on Mondays", "--actor", "team"]);
  await place.json(["note", "idea", "Another store", "--actor", "ada"]);
  const listed = (await place.json(["graph", "ls"])) as { graphs: readonly object[] };
  expect(listed.graphs).toMatchObject([
    { id: "team", seq: 2 },
    { id: "ada", name: "ada", seq: 1 },
  ]);
  const changed = await place.json([
    ...["graph", "config", "team", "--conflict-policy", "manual", "--archive"],
    ...["--metadata", '{"n":null}', "--by", "root"],
  ]);
  expect(changed).toMatchObject({
    name: "Team notes",
    conflictPolicy: "manual",
    kindWhitelist: ["decision"],
    metadata: { owner: "ada" },
    archived: true,
  });
  expect(await place.json(["graph", "config", "team"])).toEqual(changed);
  expect(await place.json(["graph", "ls"])).toMatchObject({ graphs: [{ id: "ada" }] });
  const all = (await place.cortex(["graph", "ls", "--all"])).out;
  expect(all).toContain("team  Team notes [archived]  4 entries");
  expect((await place.json(["graph", "config", "team", "--unarchive"])).archived).toBe(false);
});

test("links between graphs are counted both ways, missing far ends named", async () => {
  for (const id of ["one", "two"]) await place.json(["graph", "create", id, "--id", id]);
  const hub = await openHub(place.data);
  const store = memgraph(hub);
  await store.putNode("one", { kind: "n", lineageId: "a" });
  await store.putNode("two", { kind: "n", lineageId: "x" });
  for (const toLineage of ["x", "nobody"]) {
    await store.putEdge("one", { fromLineage: "a", toLineage, toGraph: "two", kind: "cites" });
  }
  await hub.close();
  expect(await place.json(["graph", "symlinks", "one"])).toEqual({
    outbound: [{ graphId: "two", edgeCount: 2, exists: true }],
    inbound: [],
  });
  const shown = (await place.cortex(["graph", "symlinks", "one", "--dangling"])).out;
  expect(shown).toContain("→ two  2 edges");
  expect(shown).toContain("missing two/nobody");
  expect((await place.cortex(["graph", "symlinks", "two"])).out).toContain("← one  2 edges");
});

test("removed with its bytes, told with what it was tied to, and gone for every command", async () => {
  for (const id of ["one", "two"]) await place.json(["graph", "create", `Graph ${id}`, "--id", id]);
  const hub = await openHub(place.data);
  const store = memgraph(hub);
  await store.putNode("one", { kind: "n", lineageId: "a" });
  await store.putNode("two", { kind: "n", lineageId: "x" });
  await store.putEdge("one", { fromLineage: "a", toLineage: "x", toGraph: "two", kind: "cites" });
  await hub.close();
  expect(await refusal(["graph", "rm", "two"])).toBe("ERR_INVALID");
  const { out } = await place.cortex(["graph", "rm", "two", "asked", "by", "Ada"]);
  expect(out).toContain("removed two (Graph two)");
  expect(out).toContain("leads nowhere now 1 edge of one");
  expect(existsSync(`${place.data}/two`)).toBe(false);
  expect(await refusal(["graph", "rm", "two", "again"])).toBe("ERR_NOT_FOUND");
  expect(await refusal(["stats", "--actor", "two"])).toBe("ERR_NOT_FOUND");
  expect(await place.json(["graph", "ls"])).toMatchObject({ graphs: [{ id: "one" }] });
});

test("a folder that is not there stays away, an empty one has no graphs, and what cannot be is refused", async () => {
  // In a database there is always a place.
  if (!process.env.CORTEX_TEST_POSTGRES) {
    expect(await refusal(["graph", "ls"])).toBe("ERR_NOT_FOUND");
    expect(existsSync(place.data)).toBe(false);
    mkdirSync(place.data);
  }
  expect(await place.json(["graph", "ls"])).toEqual({ graphs: [], problems: [] });
  expect((await place.cortex(["graph", "ls"])).out).toContain("no graphs yet");
  await place.json(["graph", "create", "One", "--id", "one"]);
  expect(await refusal(["graph", "create", "Again", "--id", "one"])).toBe("ERR_EXISTS");
  expect(await refusal(["graph", "create", "Bad", "--id", "../bad"])).toBe("ERR_BAD_NAME");
  expect(await refusal(["graph", "create", ""])).toBe("ERR_INVALID");
  expect(await refusal(["graph", "config", "nobody"])).toBe("ERR_NOT_FOUND");
  expect(await refusal(["graph", "config", "nobody", "--name", "x"])).toBe("ERR_NOT_FOUND");
  expect(await refusal(["graph", "symlinks", "nobody"])).toBe("ERR_NOT_FOUND");
  expect(await refusal(["graph", "config", "one", "--archive", "--unarchive"])).toBe("ERR_INVALID");
  expect(await refusal(["graph", "config", "one", "--conflict-policy", "best"])).toBe(
    "ERR_INVALID",
  );
});
