/**
 * Moves from the command line: files that are whole and private, both readings of `restore`, what a
 * restore warns of, stdin and stdout as files, and an upgrade.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { decodeHeadRow, encodeHeadRow } from "../../core/src/history/head-row.js";
import { HEAD_KEY } from "../../core/src/kv/kv.js";
import { openLmdbKv } from "../../core/src/kv/lmdb-backend.js";
import { runCli } from "../src/cli/run.js";
import { type Ended, makeHost, makePlace, type Place, type Start } from "./cortex-process.js";

let place: Place;
beforeEach(async () => {
  place = makePlace();
  await using memory = await open(place.data);
  await memory.write({ type: "fact", externalId: "home", text: "Ada lives in Porto" });
  await memory.write({ type: "fact", externalId: "secret", text: "a secret of hers" });
});
afterEach(() => place.remove());

const at = (name: string): string => join(place.folder, name);

/** Runs a command on another store than the place's. */
const on = (data: string, args: readonly string[], start: Start = {}): Promise<Ended> =>
  place.bare([...args, "--data", at(data)], start);

async function answer(data: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const { exit, out, err } = await on(data, [...args, "--json"]);
  if (exit !== 0) throw new Error(`${args.join(" ")} exited with ${exit}: ${err}`);
  return JSON.parse(out) as Record<string, unknown>;
}

async function refusal(data: string, args: readonly string[]): Promise<string> {
  const { exit, out, err } = await on(data, [...args, "--json"]);
  expect([exit, out]).toEqual([1, ""]);
  const { error } = JSON.parse(err) as { error: { code: string; message: string } };
  return `${error.code} ${error.message}`;
}

const files = (): readonly string[] =>
  readdirSync(place.folder).filter((name) => /partial|\.cortex$|\.json$/.test(name));

describe("export and import", () => {
  test("give the same store elsewhere; the file is private and alone", async () => {
    const root = await place.json(["root"]);
    const exported = await place.json(["export", at("j.cortex")]);
    expect(exported).toEqual({ ...root, entries: 3, from: 0, erased: 0 });
    expect([files(), statSync(at("j.cortex")).mode & 0o777]).toEqual([["j.cortex"], 0o600]);
    expect(await answer("copy", ["import", at("j.cortex")])).toMatchObject({ ...root, entries: 3 });
    expect(await answer("copy", ["get", "home"])).toEqual(await place.json(["get", "home"]));
    expect(await answer("copy", ["check"])).toMatchObject({ ok: true });
  });

  test("a file that is there is not overwritten, nor a store that is there", async () => {
    await place.json(["export", at("j.cortex")]);
    const before = readFileSync(at("j.cortex"));
    expect(await refusal("data", ["export", at("j.cortex")])).toMatch(/^ERR_EXISTS /);
    expect(readFileSync(at("j.cortex"))).toEqual(before);
    expect(await refusal("data", ["import", at("j.cortex")])).toMatch(
      /^ERR_EXISTS .*an export needs a store that is empty; for a file of another program, say which with --from/,
    );
    writeFileSync(at("mem0.json"), '{"results":[]}');
    expect(await refusal("other", ["import", at("mem0.json")])).toMatch(
      /^ERR_EXPORT_MALFORMED .*does not begin as Cortex's exports do; for a file of another program, .* --from/,
    );
    expect(await place.json(["root"])).toMatchObject({ seq: 2 });
  });

  test("relative paths are of the working folder, and memory: only checks", async () => {
    const cwd = at("home");
    expect((await place.cortex(["export", "j.cortex"], { cwd })).exit).toBe(0);
    expect(existsSync(join(cwd, "j.cortex"))).toBe(true);
    const checked = await place.bare(["import", "j.cortex", "--data", "memory:"], { cwd });
    expect([checked.exit, checked.out]).toMatchObject([0, expect.stringContaining("imported 3")]);
  });

  test("another actor, a cut file and a missing one are refused", async () => {
    await place.json(["export", at("j.cortex")]);
    const whole = readFileSync(at("j.cortex"));
    writeFileSync(at("cut.cortex"), whole.subarray(0, whole.length - 10));
    expect(await refusal("a", ["import", at("j.cortex"), "--actor", "ada"])).toMatch(
      /^ERR_ACTOR_MISMATCH .*"default", expected ada/,
    );
    expect(await refusal("b", ["import", at("cut.cortex")])).toMatch(/^ERR_EXPORT_MALFORMED /);
    expect(await refusal("c", ["import", at("none.cortex")])).toMatch(
      /^ERR_STORAGE .*none\.cortex/,
    );
    expect(await refusal("b", ["get", "home"])).toMatch(/^ERR_FORMAT_UNKNOWN .*empty/);
    expect(await answer("b", ["import", at("j.cortex")])).toMatchObject({ entries: 3 });
  });

  test("a trusted checkpoint is demanded of the file", async () => {
    await place.json(["export", at("j.cortex")]);
    await place.json(["note", "n", "later"]);
    writeFileSync(at("seen.txt"), (await place.cortex(["checkpoint"])).out);
    const trusting = [at("j.cortex"), "--checkpoint", at("seen.txt")];
    expect(await refusal("old", ["import", ...trusting])).toMatch(/^ERR_ROLLED_BACK /);
    expect(await refusal("older", ["restore", ...trusting])).toMatch(/^ERR_ROLLED_BACK /);
    await place.json(["export", at("k.cortex")]);
    const full = [at("k.cortex"), "--checkpoint", at("seen.txt")];
    expect(await answer("new", ["import", ...full])).toMatchObject({ entries: 4 });
  });

  test("- is stdout, with the answer on stderr, and stdin", async () => {
    const { exit, out, err, bytes } = await place.cortex(["export", "-", "--json"]);
    expect([exit, out, JSON.parse(err)]).toMatchObject([0, "", { entries: 3, seq: 2 }]);
    const people = await place.cortex(["backup", "-"]);
    expect([people.out, people.err]).toMatchObject(["", expect.stringContaining("✓ backed up")]);
    const input = bytes ?? "";
    const read = await on("piped", ["import", "-"], { input });
    expect([read.exit, read.out]).toMatchObject([0, expect.stringContaining("✓ imported 3")]);
    const restored = await on("again", ["restore", "-"], { input });
    expect([restored.exit, restored.out]).toMatchObject([0, expect.stringContaining("✓ restored")]);
  });

  test("a terminal is no file for an export", async () => {
    const { host, ended } = makeHost(["export", "-", "--data", place.data], {
      home: place.home,
      cwd: place.folder,
    });
    const ran = ended(await runCli({ ...host, out: { ...host.out, isTerminal: true } }));
    expect([ran.exit, ran.err]).toMatchObject([2, expect.stringContaining("is a terminal")]);
    expect(ran.bytes).toHaveLength(0);
  });
});

describe("restore", () => {
  test("given an id, brings a memory back", async () => {
    await place.json(["tombstone", "home", "moved"]);
    await place.json(["restore", "home"]);
    expect(await place.json(["get", "home"])).toMatchObject({ head: { lifecycle: "active" } });
  });

  test("given an id while a file of that name is no backup, still means the memory", async () => {
    writeFileSync(join(place.home, "home"), "not a backup\n");
    await place.json(["tombstone", "home", "moved"]);
    expect((await place.cortex(["restore", "home"], { cwd: place.home })).exit).toBe(0);
    expect(await place.json(["get", "home"])).toMatchObject({ head: { lifecycle: "active" } });
  });

  test("given an id that no file could have as its name, means the memory", async () => {
    const id = "x".repeat(256);
    await place.json(["note", "n", "long", "--external-id", id]);
    await place.json(["tombstone", id, "old"]);
    expect(await place.json(["restore", id])).toMatchObject({ version: 1 });
  });

  test("given a full backup and increments, builds a store under a new epoch", async () => {
    const full = await place.json(["backup", at("full.cortex")]);
    await place.json(["note", "n", "tuesday", "--external-id", "tuesday"]);
    const since = ["--since", String(full.seq)];
    const increment = await place.json(["backup", at("tuesday.cortex"), ...since]);
    expect(increment).toMatchObject({ entries: 1, from: 3, seq: 3 });
    await place.json(["erasures", at("erasures.json")]);
    const sources = [at("full.cortex"), at("tuesday.cortex")];
    const args = ["restore", ...sources, "--erasures", at("erasures.json")];
    const { exit, out, err } = await on("restored", [...args, "--json"]);
    expect([exit, err]).toEqual([0, `cortex: ${at("restored")}, actor default\n`]);
    expect(JSON.parse(out)).toEqual({
      ...(await place.json(["root"])),
      entries: 4,
      epoch: 1,
      erasedAgain: 0,
    });
    expect(await answer("restored", ["get", "tuesday"])).toMatchObject({ text: "tuesday" });
    expect(await refusal("restored", args)).toMatch(/^ERR_EXISTS /);
  });

  test("without a list of erasures warns loudly, for people and for scripts", async () => {
    await place.json(["backup", at("full.cortex")]);
    await place.json(["forget", "secret", "asked"]);
    const people = await on("loud", ["restore", at("full.cortex")]);
    expect(people.exit).toBe(0);
    expect(people.err).toMatch(/^WARNING: no list of erasures was given: .* is back/m);
    const script = await on("quiet", ["restore", at("full.cortex"), "--json"]);
    expect(script.err).toMatch(/^WARNING: no list/m);
    expect(JSON.parse(script.out)).toMatchObject({ warning: expect.stringContaining("is back") });
    expect(await answer("loud", ["get", "secret"])).toMatchObject({ text: "a secret of hers" });
  });

  test("with the list, what was forgotten since stays forgotten", async () => {
    await place.json(["backup", at("full.cortex")]);
    await place.json(["forget", "secret", "asked"]);
    await place.json(["erasures", at("erasures.json")]);
    const list = ["--erasures", at("erasures.json")];
    const { exit, out, err } = await on("clean", ["restore", at("full.cortex"), ...list]);
    expect([exit, err]).toEqual([0, `cortex: ${at("clean")}, actor default\n`]);
    expect(out).toContain("1 part erased again");
    expect(await refusal("clean", ["get", "secret"])).toMatch(/^ERR_NOT_FOUND /);
    expect(await answer("clean", ["check"])).toMatchObject({ ok: true });
  });

  test("of a disk that was set back: erase-again erases what the list names, and warns where it is old", async () => {
    await place.json(["erasures", at("old.json")]);
    await place.json(["backup", at("full.cortex")]);
    await place.json(["note", "n", "later"]);
    await place.json(["forget", "secret", "asked"]);
    await place.json(["erasures", at("erasures.json")]);
    await on("disk", ["restore", at("full.cortex")]);
    const { root, seq } = await answer("disk", ["root"]);
    const { exit, out, err } = await on("disk", ["erase-again", at("erasures.json")]);
    expect([exit, err]).toEqual([0, `cortex: ${at("disk")}, actor default\n`]);
    expect(out).toContain("erased again in 3 entries, 1 part erased again");
    expect(await refusal("disk", ["get", "secret"])).toMatch(/^ERR_NOT_FOUND /);
    expect(await answer("disk", ["root"])).toEqual({ root, seq });
    expect(await answer("disk", ["check"])).toMatchObject({ ok: true });
    expect(await refusal("nowhere", ["erase-again", at("erasures.json")])).toMatch(/^ERR_/);
    await answer("disk", ["note", "n", "behind the list"]);
    const late = await on("disk", ["erase-again", at("old.json")]);
    expect(late.err).toMatch(
      /^WARNING: the list of erasures ends at seq 2, before the store does/m,
    );
  });

  test("says that a word is neither a memory nor a backup", async () => {
    const lost = "; nor is full.cortex a backup file";
    expect(await refusal("data", ["restore", "full.cortex"])).toContain(lost);
    expect(await refusal("nowhere", ["restore", "full.cortex"])).toContain(lost);
    expect(existsSync(at("nowhere"))).toBe(false);
    const several = ["restore", at("full.cortex"), at("more.cortex")];
    expect(await refusal("nowhere", several)).toMatch(/^ERR_STORAGE cannot read .*full\.cortex/);
  });

  test("refuses flags of the other reading, and explains both", async () => {
    await place.json(["backup", at("full.cortex")]);
    const mixed = await on("mixed", ["restore", at("full.cortex"), "--by", "me"]);
    expect([mixed.exit, mixed.err]).toMatchObject([2, expect.stringContaining("--by: cannot be")]);
    const none = await place.cortex(["restore"]);
    expect(none.exit).toBe(2);
    const { out } = await place.bare(["restore", "--help"]);
    expect(out).toContain("Usage: cortex restore [options] <ID|FILE...>");
    const all = (await place.bare(["--help"])).out.replace(/\s+/g, " ");
    expect(all).toContain("archived; given backup files, build a new store from them");
    const flat = out.replace(/\s+/g, " ");
    expect(flat).toContain("Bring back what was hidden or archived.");
    expect(flat).toContain("Given backup files, build a new store from them.");
    expect(flat).toContain("$ cortex restore monday.cortex --erasures erasures.json");
  });
});

describe("the list of erasures", () => {
  test("is private, and replaced only by a list that says more of the same store", async () => {
    const list = at("erasures.json");
    expect(await place.json(["erasures", list])).toEqual({ entries: 3, seq: 2, erased: 0 });
    await place.json(["forget", "secret", "asked"]);
    expect(await place.json(["erasures", list])).toEqual({ entries: 4, seq: 3, erased: 1 });
    expect([files(), statSync(list).mode & 0o777]).toEqual([["erasures.json"], 0o600]);
    expect(readFileSync(list, "utf8")).not.toContain("secret");
    await answer("other", ["note", "n", "x"]);
    expect(await refusal("other", ["erasures", list])).toMatch(/^ERR_EXISTS .*would lose/);
    writeFileSync(at("notes.txt"), "mine");
    expect(await refusal("data", ["erasures", at("notes.txt")])).toMatch(/^ERR_EXISTS /);
    expect(readFileSync(at("notes.txt"), "utf8")).toBe("mine");
  });

  test("may go to stdout, and fails with a code where nothing can be written", async () => {
    const { out, err, bytes } = await place.cortex(["erasures", "-", "--json"]);
    const document = JSON.parse(Buffer.from(bytes ?? "").toString()) as unknown;
    expect([out, document]).toMatchObject(["", { cortex: "erasures", size: 3, erased: [] }]);
    expect(JSON.parse(err)).toEqual({ entries: 3, seq: 2, erased: 0 });
    const lost = join(at("no-such-folder"), "erasures.json");
    expect(await refusal("data", ["erasures", lost])).toMatch(/^ERR_STORAGE cannot write/);
  });
});

describe("progress", () => {
  /** Runs a command with a clock that every look finds ten seconds later. */
  async function slowly(args: readonly string[], data = place.data): Promise<Ended> {
    const around = { home: place.home, cwd: place.folder };
    const { host, ended } = makeHost([...args, "--data", data], around);
    let nowMs = 0;
    return ended(await runCli({ ...host, nowMs: () => (nowMs += 10_000) }));
  }

  test("is reported by every move that takes long", async () => {
    const runs: readonly (readonly [readonly string[], string?])[] = [
      [["vacuum"]],
      [["export", at("j.cortex")]],
      [["import", at("j.cortex")], at("copy")],
      [["backup", at("b.cortex")]],
      [["restore", at("b.cortex")], at("restored")],
      [["check"]],
      [["rebuild"]],
    ];
    for (const [args, data] of runs) {
      const { exit, err } = await slowly(args, data);
      expect([exit, err]).toMatchObject([
        0,
        expect.stringContaining(`${args[0]}: 3 of 3 entries (100%)`),
      ]);
    }
  });
});

describe("vacuum and upgrade", () => {
  test("vacuum keeps the root, and the forgotten words leave the file", async () => {
    await place.json(["forget", "secret", "asked"]);
    const root = await place.json(["root"]);
    expect(await place.json(["vacuum"])).toMatchObject({ ...root, entries: 4, passes: 1 });
    const folder = join(place.data, "default");
    const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    expect(bytes.join("")).toContain("Ada lives in Porto");
    expect(bytes.join("")).not.toContain("a secret of hers");
    expect((await place.cortex(["vacuum"])).out).toMatch(/✓ 4 entries written anew: [\d,]+ bytes/);
  });

  test("upgrade leaves a store of this release as it is, and makes none", async () => {
    const root = await place.json(["root"]);
    for (const args of [["upgrade", "--dry-run"], ["upgrade"]]) {
      const form = { format: 1, foldVersion: 1 };
      expect(await place.json(args)).toEqual({ needed: false, from: form, to: form, steps: [] });
      expect((await place.cortex(args)).out).toContain("✓ nothing to do");
    }
    expect(await place.json(["root"])).toEqual(root);
    expect(await refusal("nowhere", ["upgrade"])).toMatch(/^ERR_NOT_FOUND .*no store/);
    expect(existsSync(at("nowhere"))).toBe(false);
  });

  /** Gives the store the head row of an older release. */
  async function makeOlder(): Promise<void> {
    const kv = await openLmdbKv(join(place.data, "default"));
    const snapshot = await kv.snapshot();
    const [expectHead] = await snapshot.getMany([HEAD_KEY]);
    snapshot.close();
    const head = encodeHeadRow({ ...decodeHeadRow(expectHead), foldVersion: 0 });
    await kv.commit({ expectHead, head, puts: [], deletes: [] });
    await kv.close();
  }

  test("upgrade plans, then backs up, builds again and journals it", async () => {
    await makeOlder();
    expect(await refusal("data", ["get", "home"])).toMatch(/^ERR_FORMAT_OLDER .*cortex upgrade/);
    const plan = await place.cortex(["upgrade", "--dry-run"]);
    expect([plan.exit, plan.out]).toMatchObject([0, expect.stringContaining("would upgrade from")]);
    expect(await refusal("data", ["get", "home"])).toMatch(/^ERR_FORMAT_OLDER /);
    const backup = ["--backup", at("before.cortex"), "--by", "operator"];
    const { out, exit, err } = await place.cortex(["upgrade", ...backup]);
    expect(exit, err).toBe(0);
    expect(out).toMatch(/✓ upgraded from format 1, fold 0 to format 1, fold 1 seq 3\n {2}back up/);
    expect((await place.json(["log", "--from", "3"])).entries).toMatchObject([
      { kind: "migration", by: "operator" },
    ]);
    expect(await place.json(["check"])).toMatchObject({ ok: true });
    expect(await answer("before", ["restore", at("before.cortex")])).toMatchObject({ entries: 3 });
  });
});
