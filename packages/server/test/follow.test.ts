/**
 * `cortex log --follow`: entries as they come, one JSON document a line for scripts, and an end by
 * interrupt or by a count that is no failure.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { open } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../src/cli/run.js";
import { OPERATIONS } from "../src/operations.js";
import { MAIN, makeHost, makePlace, type Place } from "./cortex-process.js";

let place: Place;
const started: ChildProcess[] = [];

beforeAll(async () => {
  place = makePlace();
  await using memory = await open(place.data);
  const { id } = await memory.write({ type: "fact", text: "Ada lives in Porto", externalId: "a" });
  await memory.write({ type: "note", text: "a secret", externalId: "b" });
  await memory.link("b", "uses", id);
  await memory.forget("b", "asked");
});
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
  place.remove();
});

const follow = ["log", "--follow"];

describe("inside the test", () => {
  test("under --json one document a line, each what the library delivers", async () => {
    const args = [...follow, "--from", "0", "--limit", "5", "--json"];
    const { exit, out, err } = await place.cortex(args);
    expect([exit, err]).toEqual([0, `cortex: ${place.shown}, actor default\n`]);
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    await using memory = await open(place.data);
    const expected: unknown[] = [];
    for await (const event of memory.subscribe({ from: 0 })) {
      expected.push(event);
      if (expected.length === 5) break;
    }
    expect(events).toEqual(expected);
    const shape = OPERATIONS.find(({ name }) => name === "subscribe")?.output;
    for (const event of events) expect(shape?.safeParse(event).success).toBe(true);
  });

  test("for people a line an entry, as log shows it", async () => {
    const { out } = await place.cortex([...follow, "--from", "0", "--limit", "5"]);
    const { out: logged } = await place.cortex(["log"]);
    expect(out).toBe(logged);
    expect(out).toContain("[erased]");
    expect(out).not.toContain("secret");
  });

  test("kinds narrow it; what only following has is refused without it", async () => {
    const kinds = ["--kind", "add_edge", "--kind", "forget"];
    const { out } = await place.cortex([...follow, "--from", "0", "--limit", "2", ...kinds]);
    expect(out.match(/add_edge|forget/g)).toEqual(["add_edge", "forget"]);
    const { exit, err } = await place.cortex(["log", ...kinds]);
    expect([exit, err]).toMatchObject([2, expect.stringContaining("--kind: cannot be used")]);
    const beyond = await place.cortex([...follow, "--from", "99", "--json"]);
    expect([beyond.exit, beyond.out, JSON.parse(beyond.err)]).toMatchObject([
      1,
      "",
      { error: { code: "ERR_ROLLED_BACK" } },
    ]);
  });

  test("an interrupt ends it while it waits", async () => {
    const args = [...follow, "--data", place.data];
    const { host, ended } = makeHost(args, { home: place.home, cwd: place.home });
    let isOff = false;
    const exit = await runCli({
      ...host,
      onInterrupt: (stop) => {
        setImmediate(stop);
        return () => {
          isOff = true;
        };
      },
    });
    expect(ended(exit)).toMatchObject({ exit: 0, out: "" });
    expect(isOff).toBe(true);
  });

  test("no other door is offered it as an answer", async () => {
    const row = OPERATIONS.find(({ name }) => name === "subscribe");
    await using memory = await open("memory:");
    await expect(row?.run(memory, {}, {} as never)).rejects.toMatchObject({
      code: "ERR_UNSUPPORTED",
    });
    expect(() => row?.stream?.(memory, { from: -1 }, {} as never)).toThrow(
      expect.objectContaining({ code: "ERR_INVALID" }),
    );
  });
});

describe("as a process", () => {
  function start(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [MAIN, ...args, "--data", place.data], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, HOME: place.home },
    });
    started.push(child);
    return child;
  }

  test.each(["SIGINT", "SIGTERM"] as const)("prints what others write, until %s", async (name) => {
    const child = start([...follow, "--json", "--from", "0"]);
    if (child.stdout === null) throw new Error("a pipe was asked for");
    const ended = once(child, "close") as Promise<[number | null, string | null]>;
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<{ readonly seq: number }> =>
      JSON.parse(String((await lines.next()).value)) as { readonly seq: number };
    for (let seq = 0; seq < 5; seq += 1) expect((await next()).seq).toBe(seq);
    const { seq } = await place.json(["note", "n", `written meanwhile ${name}`]);
    let last = -1;
    while (last !== seq) last = (await next()).seq;
    child.kill(name);
    expect(await ended).toEqual([0, null]);
    expect((await lines.next()).done).toBe(true);
  });
});
