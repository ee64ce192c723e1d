/** The built binary as a process: streams, exit codes, folders, terminals. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLacking, lacksTools } from "../../core/src/testing/lacking.js";
import { MAIN, makePlace, type Place } from "./cortex-process.js";

/** On other systems the tool takes other options. */
const NO_TERMINAL =
  isLacking(process.platform === "linux", "this is no Linux") || lacksTools("script");

let place: Place;
beforeAll(() => {
  place = makePlace();
});
afterAll(() => place.remove());

/** Words that name the store of the place. */
const on = (...args: readonly string[]): readonly string[] => [...args, "--data", place.data];

describe("a script", () => {
  test("writes by argument, by stdin and by file, and the library reads the same", async () => {
    const first = place.process(on("write", "fact", "Ada lives in Porto", "--json"));
    expect(first.exit, first.err).toBe(0);
    const { id, uri } = JSON.parse(first.out) as { readonly id: string; readonly uri: string };
    const piped = place.process(on("update", id, "-", "--json"), { input: '{"text":"In Porto"}' });
    expect(JSON.parse(piped.out)).toMatchObject({ id, version: 2 });
    const chat = join(place.folder, "chat.jsonl");
    writeFileSync(chat, '{"role":"user","content":"hello"}\n');
    expect(place.process(on("remember", chat, "--session", "s")).exit).toBe(0);
    const read = place.process(on("get", uri, "--json"));
    await using memory = await open(place.data);
    expect(JSON.parse(read.out)).toEqual(JSON.parse(JSON.stringify(await memory.get(uri))));
    expect((await memory.get(id))?.text).toBe("In Porto");
    expect((await memory.session("s")).turns).toMatchObject([{ content: "hello" }]);
  });

  test("gets one document on stdout, or one on stderr and exit 1", () => {
    const good = place.process(on("root", "--json"));
    expect([good.exit, good.err]).toEqual([0, `cortex: ${place.shown}, actor default\n`]);
    expect(JSON.parse(good.out)).toMatchObject({ seq: 3 });
    const bad = place.process(on("get", "nobody", "--json"));
    expect([bad.exit, bad.out]).toEqual([1, ""]);
    expect(JSON.parse(bad.err)).toEqual({
      error: { code: "ERR_NOT_FOUND", message: "id: no memory nobody" },
    });
  });

  test("gets exit 2 for a wrong command, flag or value", () => {
    for (const args of [["frobnicate"], ["get", "a", "--nope"], ["log", "--from", "x"]]) {
      const { exit, out, err } = place.process(args);
      expect([exit, out]).toEqual([2, ""]);
      expect(err).toMatch(/^error: .+\ntry: cortex .*--help\n$/);
    }
  });

  test.skipIf(process.platform !== "linux")("is refused a folder that cannot be made", () => {
    const data = "/proc/no-such-folder";
    const args = [MAIN, "note", "n", "text", "--data", data];
    const { status, stderr } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      timeout: 20_000,
    });
    expect([status, stderr]).toEqual([1, expect.stringContaining(`cannot create ${data}/default`)]);
  });

  test("may stop reading early", () => {
    const { exit, err } = place.shell(`cortex log --json --data "${place.data}" | head -c 1`);
    expect([exit, err.includes("EPIPE")]).toEqual([0, false]);
  });

  test("may pipe commands together", () => {
    const line = `echo "to be kept" | cortex note idea - --external-id i --data "${place.data}"`;
    expect(place.shell(line).exit).toBe(0);
    expect(place.shell(`cortex get i --data "${place.data}"`).out).toContain("to be kept");
  });

  test("may pipe a whole store", () => {
    const copy = join(place.folder, "copy");
    const out = `cortex export - --data "${place.data}"`;
    const { exit, err } = place.shell(`${out} | cortex import - --data "${copy}"`);
    expect(exit, err).toBe(0);
    const roots = [place.data, copy].map((data) => place.process(["root", "--data", data]).out);
    expect(roots[1]).toBe(roots[0]);
  });
});

describe("a person", () => {
  test("gets help on stdout with exit 0", () => {
    const help = place.process(["--help"]);
    expect([help.exit, help.err]).toEqual([0, ""]);
    expect(help.out).toMatch(/^Usage: cortex /);
    for (const word of ["write TYPE", "remember [FILE|-]", "edge add|rm|get|ls", "demo"]) {
      expect(help.out).toContain(word);
    }
    const one = place.process(["edge", "add", "--help"]);
    expect([one.exit, one.err]).toEqual([0, ""]);
    expect(one.out).toContain("$ cortex edge add rule related_to home");
  });

  test("gets the version of the package", () => {
    const file = new URL("../package.json", import.meta.url);
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { readonly version: string };
    expect(place.process(["--version"])).toEqual({ exit: 0, out: `${version}\n`, err: "" });
  });

  test("with the root folder as cwd, works on the data folder of the user", () => {
    const { exit, err } = place.process(["note", "n", "x", "--json"], { cwd: "/" });
    expect(exit, err).toBe(0);
    const folder =
      process.platform === "darwin"
        ? join(place.home, "Library/Application Support/cortex")
        : join(place.home, ".local/share/cortex");
    expect(err).toContain(folder);
    expect(existsSync(join(folder, "default"))).toBe(true);
    const stats = place.process(["stats", "--json"], { cwd: "/" });
    expect(JSON.parse(stats.out)).toMatchObject({ data: folder, memories: { active: 1 } });
  });

  /** Runs the binary on a terminal of its own. */
  function onTerminal(args: string, env: { readonly [name: string]: string }): string {
    const line = `"${process.execPath}" "${MAIN}" ${args}`;
    const { stdout } = spawnSync("script", ["-qec", line, "/dev/null"], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, HOME: place.home, TERM: "xterm", ...env },
    });
    return stdout;
  }

  test.skipIf(NO_TERMINAL)("gets colour on a terminal alone, and not with NO_COLOR", () => {
    const args = `root --data "${place.data}"`;
    expect(onTerminal(args, {})).toContain("\u001b[1m");
    expect(onTerminal(args, { NO_COLOR: "1" })).not.toContain("\u001b[");
    expect(place.process(on("root")).out).not.toContain("\u001b[");
  });
});

describe("the demo", () => {
  test("works with no arguments on a fresh machine and leaves nothing behind", () => {
    const fresh = makePlace();
    try {
      const temporary = join(fresh.folder, "temporary");
      mkdirSync(temporary);
      const env = { CORTEX_DATA: fresh.data, TMPDIR: temporary };
      const { exit, out, err } = fresh.process(["demo"], { env });
      expect(exit, err).toBe(0);
      const told = [
        "replaced",
        "<<<cortex-memory",
        "holds against it",
        "still verifies against its checkpoint",
        "a new proof says: erased",
        "0 times now",
        "The roots match.",
        "Ada lives in Lyon",
        "entries checked, all in order",
      ];
      expect(told.filter((words) => !out.includes(words))).toEqual([]);
      expect(out).not.toContain("✗");
      expect(readdirSync(fresh.home)).toEqual([]);
      expect(existsSync(fresh.data)).toBe(false);
      expect(err).toContain(temporary);
      expect(readdirSync(temporary)).toEqual([]);
    } finally {
      fresh.remove();
    }
  });
});
