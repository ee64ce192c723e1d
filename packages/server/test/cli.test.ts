/**
 * What each command does with arguments, flags, bodies and stores, run inside the test. What only a
 * process has (streams, terminals, folders, exit codes) is tested on the built binary next door.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { runCli } from "../src/cli/run.js";
import { defineOperation } from "../src/operations/define.js";
import { OPERATIONS } from "../src/operations.js";
import { type Ended, makeHost, makePlace, type Place } from "./cortex-process.js";

let place: Place;
beforeAll(() => {
  place = makePlace();
});
afterAll(() => place.remove());

/** A test about the files of a store, which one in a database has not. */
function testOfFiles(name: string, body: () => Promise<void>): void {
  if (!process.env.CORTEX_TEST_POSTGRES) test(name, body);
}

const failure = (text: string): { readonly code: string; readonly message: string } =>
  (JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } })
    .error;

test("every command that is used wrongly shows the way to its own help", async () => {
  const commands = OPERATIONS.flatMap(({ cli }) => [cli.command, cli.alias ?? []].flat());
  for (const command of new Set(commands)) {
    const { exit, err } = await place.bare([...command.split(" "), "--no-such-flag"]);
    expect([command, exit, err]).toEqual([
      command,
      2,
      expect.stringContaining(`try: cortex ${command} --help`),
    ]);
  }
});

describe("writing and reading", () => {
  test("write gives id, uri, version and seq; get gives the memory", async () => {
    const written = await place.json([
      "write",
      "fact",
      "Ada lives in Porto",
      "--slot",
      "home city",
    ]);
    expect(written).toMatchObject({ version: 1, seq: 1, reinforced: false });
    expect(written.uri).toBe(`cortex://default/Fact/${String(written.id)}#1`);
    expect(await place.json(["get", String(written.uri)])).toMatchObject({
      id: written.id,
      uri: written.uri,
      type: "fact",
      version: 1,
      text: "Ada lives in Porto",
      data: { statement: "Ada lives in Porto" },
      head: { slot: "home_city", lifecycle: "active" },
    });
  });

  test("a write may be JSON with loose data fields, and flags win over it", async () => {
    const body = JSON.stringify({
      subject: "Ada",
      predicate: "speaks",
      object: "Portuguese",
      tags: ["a"],
      importance: 3,
    });
    const flags = ["--tag", "x", "--tag", "y", "--external-id", "speaks", "--visibility", "public"];
    await place.json(["write", "fact", body, ...flags]);
    expect(await place.json(["get", "speaks"])).toMatchObject({
      data: { subject: "Ada", predicate: "speaks", object: "Portuguese" },
      head: { tags: ["x", "y"], importance: 3, visibility: "public" },
    });
  });

  test("- reads stdin: a sentence, JSON, and the text of a note", async () => {
    const sentence = await place.json(["write", "belief", "-"], { input: "It will rain\n" });
    expect((await place.json(["get", String(sentence.id)])).text).toBe("It will rain");
    const object = await place.json(["write", "belief", "-"], { input: '{"text":"It may snow"}' });
    expect((await place.json(["get", String(object.id)])).text).toBe("It may snow");
    const note = await place.json(["note", "idea", "-"], { input: "line one\nline two\n" });
    expect(await place.json(["get", String(note.id)])).toMatchObject({
      text: "line one\nline two",
      head: { kind: "idea" },
    });
  });

  test("update, history, versions and the past", async () => {
    const { id } = await place.json(["note", "plan", "first", "--external-id", "plan"]);
    const second = await place.json(["update", "plan", "second", "--based-on-version", "1"]);
    expect(second).toMatchObject({ id, version: 2 });
    expect((await place.json(["get", "plan", "--version", "1"])).text).toBe("first");
    const before = String(Number(second.seq) - 1);
    expect((await place.json(["get", "plan", "--as-of", before])).text).toBe("first");
    const now = new Date(Date.now() + 60_000).toISOString();
    expect((await place.json(["get", "plan", "--as-of", now])).text).toBe("second");
    expect((await place.json(["history", "plan"])).versions).toMatchObject([
      { version: 2, text: "second" },
      { version: 1, text: "first" },
    ]);
    const stale = await place.cortex([
      "update",
      "plan",
      "third",
      "--based-on-version",
      "1",
      "--json",
    ]);
    expect([stale.exit, failure(stale.err).code]).toEqual([1, "ERR_CONFLICT"]);
  });

  test("tombstone takes its reason either way, and restore brings back", async () => {
    await place.json(["note", "plan", "to hide", "--external-id", "hide"]);
    await place.json(["tombstone", "hide", "--reason", "wrong"]);
    expect(await place.json(["get", "hide"])).toMatchObject({
      head: { lifecycle: "tombstoned", tombstone: { reason: "wrong" } },
    });
    await place.json(["restore", "hide"]);
    await place.json(["tombstone", "hide", "old"]);
    expect(await place.json(["inspect", "hide"])).toMatchObject({
      memory: { head: { tombstone: { reason: "old" } } },
    });
    expect((await place.cortex(["tombstone", "hide"])).exit).toBe(2);
  });

  test("links: add, list, walk, remove by ends and by id", async () => {
    for (const name of ["a", "b", "c"])
      await place.json(["note", "n", name, "--external-id", name]);
    const { id } = await place.json([
      "edge",
      "add",
      "a",
      "supports",
      "b",
      "--reason",
      "seen twice",
    ]);
    await place.json(["link", "b", "my own kind", "c"]);
    expect((await place.json(["edge", "ls", "b"])).edges).toHaveLength(2);
    expect((await place.json(["edge", "ls", "b", "--direction", "in"])).edges).toMatchObject([
      { id, kind: "supports", reason: "seen twice" },
    ]);
    expect((await place.json(["edge", "ls", "b", "--kind", "supports"])).edges).toHaveLength(1);
    const walk = await place.json(["traverse", "a", "--max-hops", "2"]);
    expect([walk.edges, walk.hits]).toMatchObject([{ length: 2 }, { length: 2 }]);
    expect(await place.json(["edge", "rm", "b", "my own kind", "c"])).toMatchObject({
      changed: true,
    });
    expect(await place.json(["edge", "rm", "--id", String(id)])).toMatchObject({ changed: true });
    expect((await place.json(["edge", "ls", "b"])).edges).toEqual([]);
    expect((await place.json(["edge", "ls", "b", "--include-tombstoned"])).edges).toHaveLength(2);
    expect((await place.cortex(["edge", "rm", "a", "--id", String(id)])).exit).toBe(2);
  });

  test("remember takes an array, lines, a file and plain text; session reads them back", async () => {
    const turns = [
      { role: "user", content: "one", index: 0 },
      { role: "assistant", content: "two", index: 1 },
    ];
    const file = join(place.folder, "chat.jsonl");
    writeFileSync(file, turns.map((turn) => JSON.stringify(turn)).join("\n"));
    await place.json(["remember", file, "--session", "s"]);
    const again = await place.json(["remember", "-", "--session", "s"], {
      input: JSON.stringify(turns),
    });
    expect(again.turns).toMatchObject([{ added: false }, { added: false }]);
    await place.json(["remember", "--session", "s"], { input: "three\n" });
    expect((await place.json(["session", "s"])).turns).toMatchObject([
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "three", index: 2 },
    ]);
    expect((await place.cortex(["remember", file])).out).toContain("go on with --session");
    expect(
      (await place.cortex(["remember", join(place.folder, "none"), "--session", "s"])).exit,
    ).toBe(2);
  });

  test("a batch may fail in part, and the exit code stays that of the whole", async () => {
    const items = [{ write: { type: "note", text: "good" } }, { write: { type: "nope" } }];
    const input = JSON.stringify(items);
    const whole = await place.cortex(["batch", "-", "--json"], { input });
    expect([whole.exit, failure(whole.err).code]).toEqual([1, "ERR_UNKNOWN_TYPE"]);
    expect((await place.json(["batch", "-", "--no-atomic"], { input })).results).toMatchObject([
      { ok: true },
      { ok: false, error: { code: "ERR_UNKNOWN_TYPE" } },
    ]);
  });
});

describe("the store", () => {
  test("root, check, rebuild, log and stats", async () => {
    const root = await place.json(["root"]);
    expect(root.root).toMatch(/^[0-9a-f]{64}$/);
    expect(await place.json(["check"])).toMatchObject({ ok: true, problems: [], seq: root.seq });
    expect(await place.json(["rebuild", "--verify-only"])).toMatchObject({
      ok: true,
      root: root.root,
    });
    expect(await place.json(["rebuild"])).toMatchObject({ ok: true, ...root });
    expect(await place.json(["log", "--from", "1", "--limit", "2"])).toMatchObject({
      entries: [{ seq: 1, kind: "write" }, { seq: 2 }],
      next: 3,
    });
    expect(await place.json(["stats"])).toMatchObject({ data: place.shown, actor: "default" });
  });

  test("config shows settings with their origin, and --set changes the graph", async () => {
    expect(await place.json(["config", "--set", "conflictPolicy=manual"])).toMatchObject({
      graph: { conflictPolicy: "manual", kindWhitelist: [] },
    });
    await place.json(["config", "--set", "kindWhitelist=a,b", "--set", "conflictPolicy=lww"]);
    const shown = await place.json(["config"]);
    // First of all, so that the tests behind this one are free again.
    await place.json(["config", "--set", "kindWhitelist="]);
    expect(shown).toMatchObject({ graph: { conflictPolicy: "lww", kindWhitelist: ["a", "b"] } });
    expect(shown.settings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "data", value: place.shown, from: "--data" }),
        expect.objectContaining({ name: "actor", value: "default", from: "default" }),
      ]),
    );
    expect((await place.cortex(["config", "--set", "nope=1"])).exit).toBe(2);
    expect((await place.cortex(["config", "--set", "conflictPolicy=maybe"])).exit).toBe(2);
  });

  testOfFiles(
    "a damaged store fails its check: ok is false, exit 1, and the answer is on stdout",
    async () => {
      const other = makePlace();
      try {
        for (let at = 0; at < 20; at++) await other.json(["note", "n", `text number ${at}`]);
        const folder = join(other.data, "default");
        const file = join(
          folder,
          readdirSync(folder).find((name) => /^g\d+\.mdb$/.test(name)) ?? "",
        );
        const bytes = readFileSync(file);
        const wanted = Buffer.from("text number 7");
        for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
          bytes[at] = 0x54;
        }
        writeFileSync(file, bytes);
        const { exit, out } = await other.cortex(["check", "--json"]);
        expect(exit).toBe(1);
        expect(JSON.parse(out)).toMatchObject({ ok: false });
      } finally {
        other.remove();
      }
    },
  );

  test("reading never makes a store", async () => {
    const fresh = makePlace();
    try {
      for (const args of [["get", "x"], ["check"], ["rebuild"], ["update", "x", "y"]]) {
        const { exit, err } = await fresh.cortex([...args, "--json"]);
        expect([exit, failure(err).code]).toEqual([1, "ERR_NOT_FOUND"]);
      }
      expect(await fresh.json(["config"])).toMatchObject({ graph: { conflictPolicy: "lww" } });
      expect(existsSync(fresh.data)).toBe(false);
    } finally {
      fresh.remove();
    }
  });
});

describe("proofs", () => {
  const keep = (name: string, text: string): string => {
    const path = join(place.folder, name);
    writeFileSync(path, text);
    return path;
  };

  test("what prove prints, verify accepts; anchored by a checkpoint that was kept", async () => {
    await place.json(["note", "n", "to be proved", "--external-id", "proved"]);
    const trusted = keep("trusted.txt", (await place.cortex(["checkpoint"])).out);
    const proof = keep("proof.json", (await place.cortex(["prove", "proved"])).out);
    const loose = await place.bare(["verify", proof, "--json"]);
    expect([loose.exit, loose.err]).toEqual([0, ""]);
    expect(JSON.parse(loose.out)).toMatchObject({
      ok: true,
      anchored: false,
      memories: [{ status: "present", text: "to be proved" }],
    });
    const firm = await place.bare(["verify", proof, "--checkpoint", trusted]);
    expect([firm.exit, firm.out]).toMatchObject([0, expect.stringContaining("anchored by")]);
    expect((await place.bare(["verify", trusted, "--json"])).exit).toBe(0);
  });

  test("a slice and a snapshot are accepted as their JSON", async () => {
    const slice = JSON.stringify(await place.json(["share", "--id", "proved"]));
    const sealed = await place.json(["snapshot", "first"]);
    const trusted = keep("sealed.json", JSON.stringify(sealed));
    const { exit, out } = await place.bare(["verify", "-", "--checkpoint", trusted, "--json"], {
      input: slice,
    });
    expect([exit, JSON.parse(out)]).toMatchObject([0, { ok: true, anchored: true }]);
    const forged = slice.replaceAll("to be proved", "to be forged");
    const refusal = await place.bare(["verify", "-"], { input: forged });
    expect([refusal.exit, refusal.out]).toMatchObject([1, expect.stringContaining("memories[0].")]);
    expect((await place.json(["snapshots", "--seq", String(sealed.seq)])).snapshots).toEqual([
      sealed,
    ]);
    await place.json(["note", "n", "later"]);
    const since = (await place.cortex(["prove", "proved", "--since", trusted])).out;
    const later = await place.bare(["verify", "-", "--checkpoint", trusted, "--json"], {
      input: since,
    });
    expect(JSON.parse(later.out)).toMatchObject({ ok: true, anchoredBy: "consistency" });
  });

  test("what does not hold is ok: false and exit 1", async () => {
    const good = await place.json(["prove", "proved"]);
    const bytes = Buffer.from(String(good.bytes), "base64");
    bytes[bytes.length - 5] = (bytes.at(-5) ?? 0) ^ 1;
    const bad = JSON.stringify({ ...good, bytes: bytes.toString("base64") });
    const { exit, out } = await place.bare(["verify", "-", "--json"], { input: bad });
    expect([exit, JSON.parse(out)]).toMatchObject([1, { ok: false, anchored: false }]);
    const text = await place.bare(["verify", "-"], { input: "neither proof nor checkpoint" });
    expect([text.exit, text.out]).toMatchObject([1, expect.stringContaining("does not hold")]);
    expect((await place.bare(["verify", join(place.folder, "none")])).exit).toBe(2);
  });
});

describe("where the data is", () => {
  test("a .cortex folder in the cwd, a variable, then a flag come before it", async () => {
    const cwd = join(place.folder, "project");
    mkdirSync(join(cwd, ".cortex"), { recursive: true });
    const where = async (args: readonly string[], env = {}): Promise<unknown> => {
      const { out } = await place.bare(["config", "--json", ...args], { cwd, env });
      const { settings } = JSON.parse(out) as {
        settings: { name: string; value: string; from: string }[];
      };
      const wanted = settings.filter(({ name }) => name === "data" || name === "actor");
      return wanted.map(({ value, from }) => [from, value]);
    };
    expect(await where([])).toMatchObject([
      ["./.cortex", join(cwd, ".cortex")],
      ["default", "default"],
    ]);
    const env = { CORTEX_DATA: "elsewhere", CORTEX_ACTOR: "grace" };
    expect(await where([], env)).toEqual([
      ["CORTEX_DATA", join(cwd, "elsewhere")],
      ["CORTEX_ACTOR", "grace"],
    ]);
    expect(await where(["--data", "flag", "--actor", "ada"], env)).toEqual([
      ["--data", join(cwd, "flag")],
      ["--actor", "ada"],
    ]);
  });

  test("flags of every command may stand before it as well", async () => {
    const { exit, out } = await place.bare(["--data", place.data, "--json", "root"]);
    expect([exit, JSON.parse(out)]).toMatchObject([0, { root: expect.any(String) }]);
  });

  test("actors are apart", async () => {
    await place.json(["note", "n", "hers", "--external-id", "hers", "--actor", "ada"]);
    expect((await place.cortex(["get", "hers", "--json"])).exit).toBe(1);
    expect((await place.json(["get", "hers", "--actor", "ada"])).text).toBe("hers");
  });
});

describe("long work", () => {
  const slow = defineOperation({
    name: "slow",
    verbs: ["check"],
    kind: "read",
    summary: "Takes its time",
    help: "None.",
    example: "cortex slow",
    input: z.strictObject({}),
    output: z.object({ ok: z.boolean() }),
    call: async (_memory, _input, { onProgress }) => {
      for (const done of [250, 500, 1000]) onProgress(done, 1000);
      return { ok: true };
    },
    cli: { command: "slow", group: "store", store: "optional" },
  });

  async function watch(args: readonly string[], isTerminal: boolean): Promise<Ended> {
    const { host, ended } = makeHost(args, { home: place.home, cwd: place.folder });
    let nowMs = 0;
    // Every look at this clock finds it ten seconds later.
    const slowly = { ...host, nowMs: () => (nowMs += 10_000) };
    const exit = await runCli({ ...slowly, err: { ...host.err, isTerminal } }, [slow]);
    return ended(exit);
  }

  test("draws a bar on a terminal, lines elsewhere, and nothing for scripts", async () => {
    expect((await watch(["slow"], true)).err).toMatch(/slow █+░* 25% 250\/1,000/);
    expect((await watch(["slow"], false)).err).toContain("slow: 500 of 1,000 entries (50%)");
    const script = await watch(["slow", "--json"], false);
    expect(script.err).toMatch(/^cortex: .*\n$/);
    expect(JSON.parse(script.out)).toEqual({ ok: true });
  });
});

describe("used wrongly: exit 2 and a helpful line", () => {
  test.each([
    [["frobnicate"], "unknown command 'frobnicate'", "cortex --help"],
    [["help", "frobnicate"], "unknown command 'frobnicate'", "cortex --help"],
    [["wirte", "fact"], "Did you mean write?", "cortex --help"],
    [["edge", "frob"], "unknown command 'frob'", "cortex edge --help"],
    [["get"], "URI|ID: expected", "cortex get --help"],
    [["get", "a", "b"], "too many arguments", "cortex get --help"],
    [["get", "a", "--nope"], "unknown option '--nope'", "cortex get --help"],
    [["get", "a", "--version", "x"], "--version: expected a number", "cortex get --help"],
    [["log", "--from", "-1"], "--from: expected a whole number of at least 0", "cortex log --help"],
    [["write", "bogus", "x"], "TYPE: expected one of identity, fact", "cortex write --help"],
    [["write", "fact", "{oops"], "use --text", "cortex write --help"],
    [
      ["write", "fact", "x", "--importance", "11"],
      "--importance: expected a whole number from 0 to 10",
      "cortex",
    ],
    [
      ["write", "fact", "x", "--source", "hearsay"],
      "--source: expected one of user_input",
      "cortex",
    ],
    [["stats", "--data", ""], "--data: expected a folder", "cortex stats --help"],
    [["edge", "rm"], "FROM: expected", "cortex edge rm --help"],
    [["stats", "--actor", "Not A Name"], "actor: the name", "cortex stats --help"],
  ])("cortex %j", async (args, message, hint) => {
    const { exit, out, err } = args.includes("--data")
      ? await place.bare(args)
      : await place.cortex(args);
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain(message);
    expect(err).toContain(`try: ${hint}`);
  });

  test("under --json it is a document as well", async () => {
    const { exit, err } = await place.cortex(["get", "a", "--nope", "--json"]);
    expect([exit, failure(err)]).toMatchObject([2, { code: "ERR_UNKNOWN_FIELD" }]);
  });

  test("help is a command too", async () => {
    const { exit, out, err } = await place.bare(["help", "get"]);
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toContain("Usage: cortex get");
  });

  test("no command at all shows the help", async () => {
    const { exit, err } = await place.bare([]);
    expect(exit).toBe(2);
    expect(err).toContain("Usage: cortex");
  });
});

describe("failures: exit 1", () => {
  test("for people on one line, for scripts as the one document on stderr", async () => {
    const people = await place.cortex(["get", "nobody"]);
    expect([people.exit, people.out]).toEqual([1, ""]);
    expect(people.err).toContain("error: id: no memory nobody ERR_NOT_FOUND");
    const scripts = await place.cortex(["get", "nobody", "--json"]);
    expect([scripts.exit, scripts.out]).toEqual([1, ""]);
    expect(JSON.parse(scripts.err)).toEqual({
      error: { code: "ERR_NOT_FOUND", message: "id: no memory nobody" },
    });
  });

  test.each([
    [["get", "cortex://default/Fact/x#latest"], "ERR_BAD_URI"],
    [["write", "fact", '{"text":"x","nope":1}'], "ERR_UNKNOWN_FIELD"],
    [["write", "fact", '{"importance":11,"text":"x"}'], "ERR_INVALID"],
    [["edge", "add", "a", "transition", "b"], "ERR_EDGE_KIND"],
    [["get", "a", "--as-of", "999999"], "ERR_AS_OF"],
    [["root", "--data", "mysql://host/db"], "ERR_UNSUPPORTED"],
  ])("cortex %j is %s", async (args, code) => {
    const { exit, err } = args.includes("--data")
      ? await place.bare([...args, "--json"])
      : await place.cortex([...args, "--json"]);
    expect([exit, failure(err).code]).toEqual([1, code]);
  });
});

describe("for people", () => {
  test("a history says which version was undone", async () => {
    await place.json(["note", "draft", "kept", "--external-id", "undone"]);
    const { seq } = await place.json(["update", "undone", "taken back"]);
    await place.json(["revert", String(seq)]);
    const { versions } = await place.json(["history", "undone"]);
    expect(versions).toMatchObject([
      { version: 2, current: false, undone: true },
      { version: 1, current: true },
    ]);
    const { out } = await place.cortex(["history", "undone"]);
    expect(out).toMatch(/○ 2 .*undone {2}taken back\n● 1 .*kept/);
  });

  test("answers are readable, the path is said, and control characters are not sent", async () => {
    await place.json(["note", "n", "red\u001b[31m alert", "--external-id", "esc"]);
    const { out, err } = await place.cortex(["get", "esc"]);
    expect(out).toContain("red\\u001b[31m alert");
    expect(out).not.toContain("\u001b");
    expect(err).toBe(`cortex: ${place.shown}, actor default\n`);
    expect((await place.cortex(["root", "--json"])).err).toBe(err);
  });

  test.each([
    ["write", ["write", "fact", "Seen by people"], /✓ wrote \w{26} version 1/],
    ["history", ["history", "plan"], /● 2 .*second\n○ 1 .*first/],
    ["inspect", ["inspect", "plan"], /linked from\nnone/],
    ["edge ls", ["edge", "ls", "b", "--include-tombstoned"], /─supports→ .*\[removed\]/],
    ["session", ["session", "s"], /0 user\n {4}one\n/],
    ["list", ["list", "--tag", "x"], /fact .*Portuguese/],
    ["log", ["log", "--limit", "1"], /0 .* genesis .*\nmore: --from 1/],
    ["changes", ["changes", "0", "1"], /write\n.*Ada lives in Porto/],
    ["stats", ["stats"], /journal {3}\d+ entries/],
    ["stats by type", ["stats"], /types {5}\d+ \w+, /],
    ["schema", ["schema"], /^default {2}\d+ active memories .*\n\ntypes\n +\d+ {2}\w+/],
    ["tags", ["tags"], /^1 {2}x\n1 {2}y$/m],
    ["tags by prefix", ["tags", "y"], /^1 {2}y\n$/],
    ["maintain", ["maintain"], /^✓ nothing is left to do/],
    ["maintain --dry-run", ["maintain", "--dry-run"], /^what there is to do/],
    [
      "maintain, all of it",
      ["maintain", "--dry-run", "--archive-expired", "--merge", "--relate"],
      / {2}expire: \d+ to do\n {2}confirm: \d+ to do\n {2}merge: \d+ to do\n {2}relate: \d+ to do/,
    ],
    ["config with days", ["config", "--set", 'ttlDays={"scrap":7}'], /ttlDays +scrap 7/],
    ["check", ["check"], /✓ \d+ entries checked, all in order/],
    ["config", ["config"], /conflictPolicy {2}lww/],
    ["goal ls", ["goal", "ls"], /goals: none/],
  ])("%s", async (_, args, expected) => {
    const { exit, out, err } = await place.cortex(args);
    expect(exit, err).toBe(0);
    expect(out).toMatch(expected);
  });
});

describe("the demo", () => {
  testOfFiles("keeps a store that --data names, and may be run on it again", async () => {
    const fresh = makePlace();
    try {
      const first = await fresh.json(["demo"]);
      expect(first).toMatchObject({
        kept: true,
        ok: true,
        replaced: ["Ada lives in Lyon"],
        recalled: expect.arrayContaining(["No red-eye flights"]),
        proved: true,
        provedAfterForget: true,
        traces: { vacuumed: 0 },
        past: "Ada lives in Lyon",
      });
      expect(first.traces).not.toMatchObject({ written: 0 });
      expect(first.rebuiltRoot).toBe(first.root);
      expect((await fresh.json(["session", "chat-1", "--actor", "ada"])).turns).toHaveLength(3);
      expect(await fresh.json(["demo"])).toMatchObject({ ok: true });
      expect(await fresh.json(["stats", "--actor", "ada"])).toMatchObject({
        memories: { erased: 2 },
      });
    } finally {
      fresh.remove();
    }
  });

  test("works on a store that is not kept at all", async () => {
    const { exit, out } = await place.bare(["demo", "--data", "memory:"]);
    expect([exit, out]).toMatchObject([0, expect.stringContaining("The roots match.")]);
  });
});
