/**
 * `--data` as the address of a running server: commands work on it as on a folder, those that cannot
 * say so, and nothing is made on this machine by a slip. The server is a process of its own, and what
 * scripts would do is done by the built binary.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { importJournal, open, restoreBackup } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATIONS } from "../src/operations.js";
import { makePlace, type Place } from "./cortex-process.js";
import { connect } from "./mcp-client.js";
import { type ServeProcess, startServe } from "./serve-process.js";

const TOKEN = "0123456789abcdef0123456789abcdef";

let place: Place;
let server: ServeProcess;
let cwd: string;
beforeAll(async () => {
  place = makePlace();
  cwd = join(place.folder, "empty");
  server = await startServe(place.data, [], { CORTEX_TOKEN: TOKEN });
});
afterAll(async () => {
  await server.stop();
  place.remove();
});

interface Said {
  readonly exit: number;
  readonly json: Record<string, unknown>;
}

/** Runs a command on the server, inside the test; the answer, or the failure. */
async function there(
  args: readonly string[],
  env: Record<string, string> = { CORTEX_TOKEN: TOKEN },
): Promise<Said> {
  const words = [...args, "--data", server.url, "--actor", "ada", "--json"];
  const { exit, out, err } = await place.bare(words, { env, cwd });
  return { exit, json: JSON.parse(exit === 0 ? out : err) as Record<string, unknown> };
}

/** The same, of a command that must succeed. */
async function done(args: readonly string[]): Promise<Record<string, unknown>> {
  const { exit, json } = await there(args);
  expect(exit, JSON.stringify(json)).toBe(0);
  return json;
}

describe("commands", () => {
  test("on graphs as a whole, and forgetting by a name, with a list first", async () => {
    const made = await done(["graph", "create", "Team notes", "--id", "team"]);
    expect(made).toMatchObject({ id: "team", name: "Team notes", seq: 1 });
    expect(await done(["graph", "config", "team", "--archive"])).toMatchObject({ archived: true });
    expect(await done(["graph", "ls", "--all"])).toMatchObject({
      graphs: expect.arrayContaining([expect.objectContaining({ id: "team" })]),
    });
    expect(await done(["graph", "symlinks", "team"])).toEqual({ outbound: [], inbound: [] });
    expect(await done(["graph", "rm", "team", "asked"])).toMatchObject({ id: "team", entries: 3 });
    expect((await there(["graph", "rm", "team", "asked"])).json).toMatchObject({
      error: { code: "ERR_NOT_FOUND" },
    });
    expect(
      (await there(["graph", "ls"], { CORTEX_TOKEN: "wrong-token-wrong-token-wrong-tok" })).exit,
    ).toBe(1);
    await done(["write", "note", "a passing thought", "--tag", "passing"]);
    const planned = await done(["forget", "--tag", "passing", "--reason", "asked", "--dry-run"]);
    expect(planned).toMatchObject({ dryRun: true, erased: [], memories: [{ type: "note" }] });
    expect((await done(["forget", "--tag", "passing", "--reason", "asked"])).erased).toHaveLength(
      1,
    );
    expect((await there(["forget", "--reason", "asked"])).json).toMatchObject({
      error: { code: "ERR_INVALID" },
    });
  });

  test("write, read, link, search and prove", async () => {
    const home = ["--external-id", "home"];
    const written = await done(["write", "fact", "Ada lives in Porto", "--slot", "city", ...home]);
    await done(["write", "constraint", "No red-eye flights", "--external-id", "rule"]);
    expect((await done(["get", "home"])).id).toBe(written.id);
    await done(["update", "home", "Ada lives in Braga"]);
    expect((await done(["history", "home"])).versions).toHaveLength(2);
    await done(["edge", "add", "rule", "related_to", "home"]);
    expect((await done(["edge", "ls", "rule"])).edges).toHaveLength(1);
    expect((await done(["traverse", "rule"])).hits).toHaveLength(1);
    for (const args of [
      ["find", "--type", "fact", "--limit", "5"],
      ["search", "Braga"],
      ["recall", "where does Ada live?"],
    ]) {
      const { hits } = await done(args);
      expect((hits as readonly { readonly id: string }[])[0]?.id, args[0]).toBe(written.id);
    }
    expect((await done(["context"])).pinned).toMatchObject([{ type: "constraint" }]);
    const { seq, checkpoint } = await done(["snapshot", "first"]);
    expect((await done(["root"])).seq).toBe(seq);
    writeFileSync(join(cwd, "checkpoint.txt"), String(checkpoint));
    writeFileSync(join(cwd, "proof.json"), JSON.stringify(await done(["prove", "home"])));
    const verified = await done(["verify", "proof.json", "--checkpoint", "checkpoint.txt"]);
    expect(verified).toMatchObject({ ok: true, anchored: true });
    await using memory = await open(place.data, { actor: "ada", create: false });
    expect((await memory.get("home"))?.text).toBe("Ada lives in Braga");
  });

  test("look after the store", async () => {
    for (const args of [["check"], ["rebuild", "--verify-only"]]) {
      expect(await done(args), args[0]).toMatchObject({ ok: true });
    }
    const { root } = await done(["root"]);
    await done(["forget", "rule", "--reason", "asked by Ada"]);
    expect((await done(["vacuum"])).root).toBe((await done(["root"])).root);
    expect((await done(["root"])).root).not.toBe(root);
    expect(await done(["stats"])).toMatchObject({ data: server.url, actor: "ada" });
    const { entries } = await done(["log", "--limit", "3"]);
    expect(entries).toHaveLength(3);
  });

  test("bring files here: whole, private, and never over another", async () => {
    for (const [command, file] of [
      ["export", "journal.cortex"],
      ["backup", "monday.cortex"],
    ] as const) {
      const report = await done([command, file]);
      expect(statSync(join(cwd, file)).mode & 0o777).toBe(0o600);
      const again = await there([command, file]);
      expect([again.exit, again.json]).toMatchObject([1, { error: { code: "ERR_EXISTS" } }]);
      const path = join(cwd, file);
      const copy =
        command === "export"
          ? await importJournal("memory:", path, { actor: "ada" })
          : await restoreBackup("memory:", [path], { actor: "ada" });
      expect(copy.entries).toBe(report.entries);
    }
    await done(["erasures", "erasures.json"]);
    expect(readFileSync(join(cwd, "erasures.json"), "utf8")).toContain('"erased"');
    expect(readdirSync(cwd).filter((name) => name.includes("partial"))).toEqual([]);
  });

  test("the built binary does all that in a pipe", () => {
    const env = { CORTEX_DATA: server.url, CORTEX_ACTOR: "ada", CORTEX_TOKEN: TOKEN };
    const line = `cortex prove home | cortex verify - --json && cortex export - > out.cortex
      cortex import out.cortex --data ./copy --json`;
    const { exit, out, err } = place.shell(line, { env, cwd });
    expect(exit, err).toBe(0);
    expect(out).toContain('"ok": true');
    expect(existsSync(join(cwd, "copy", "ada"))).toBe(true);
  });
});

describe("what cannot be done through an address", () => {
  const placed = OPERATIONS.filter(
    ({ place: where }) => where !== undefined && where !== "openHub",
  );

  test.each(placed)("$name says so, and makes nothing here", async ({ example, cli }) => {
    // What the last --data on a line says counts, and files that examples name were made above.
    const { exit, json } = await there(place.parse(example, { cwd }).args);
    const { code, message } = json.error as { readonly code: string; readonly message: string };
    expect([exit, code], message).toEqual([1, "ERR_UNSUPPORTED"]);
    expect(message).toContain(`${cli.command} cannot be done through the address of a server`);
    expect(readdirSync(cwd).filter((one) => one.startsWith("http"))).toEqual([]);
  });

  test.each([["serve"], ["demo"], ["bench"]])("%s is used wrongly", async (command) => {
    const { exit, err } = await place.bare([command, "--data", server.url], { cwd });
    expect(exit).toBe(2);
    expect(err).toMatch(/--data: expected (none|a folder)/);
  });
});

describe("the token", () => {
  test("comes from a file that nobody else can read", async () => {
    const file = join(place.folder, "token");
    writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
    expect((await there(["get", "home"], { CORTEX_TOKEN_FILE: file })).exit).toBe(0);
    chmodSync(file, 0o644);
    const read = await there(["get", "home"], { CORTEX_TOKEN_FILE: file });
    expect([read.exit, JSON.stringify(read.json)]).toEqual([2, expect.stringContaining("0600")]);
  });

  test("a wrong one, none, and a server that is not there are failures", async () => {
    for (const env of [{ CORTEX_TOKEN: "another-token-altogether" }, {}]) {
      const { exit, json } = await there(["get", "home"], env as Record<string, string>);
      expect([exit, json]).toMatchObject([1, { error: { code: "ERR_DENIED" } }]);
      expect(JSON.stringify(json)).not.toContain("another-token");
    }
    const nobody = ["get", "home", "--data", "http://127.0.0.1:1", "--json"];
    const { exit, err } = await place.bare(nobody, { cwd });
    expect([exit, JSON.parse(err)]).toMatchObject([1, { error: { code: "ERR_STORAGE" } }]);
  });
});

test("help says that an address will do", async () => {
  const { out } = await place.bare(["get", "--help"]);
  expect(out.replaceAll(/\s+/g, " ")).toMatch(/--data <DIR\|URL> the store: a folder, the address/);
});

test("an agent over stdio works on the server's store", async () => {
  const free = await startServe(place.data);
  const { client, call } = await connect({
    args: ["--data", free.url, "--actor", "ada", "--profile", "full"],
    home: place.home,
  });
  try {
    const { answer } = await call("memory_remember", { text: "Ada likes tea" });
    await using memory = await open(place.data, { actor: "ada" });
    expect((await memory.get(String(answer.id)))?.text).toBe("Ada likes tea");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("memory_forget");
    expect(tools.filter(({ name }) => name.startsWith("memgraph_"))).toEqual([]);
  } finally {
    await client.close();
    await free.stop();
  }
});
