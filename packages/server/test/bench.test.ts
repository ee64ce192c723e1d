/** `cortex bench`: it measures what it says, names the machine, and leaves nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharesOf } from "../src/cli/bench.js";
import { packageVersion } from "../src/version.js";
import { MAIN, makePlace, type Place } from "./cortex-process.js";

let place: Place;
let temporary: string;
beforeAll(() => {
  place = makePlace();
  temporary = join(place.folder, "temporary");
  mkdirSync(temporary);
});
afterAll(() => place.remove());

const STEPS = ["write", "write at once", "batch", "get", "search", "recall"];

interface Step {
  readonly name: string;
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

test("the built binary measures every step, and removes its store", () => {
  const env = { TMPDIR: temporary };
  const { exit, out, err } = place.process(["bench", "--size", "200", "--json"], { env });
  expect([exit, err]).toEqual([0, ""]);
  const report = JSON.parse(out) as Record<string, unknown> & { readonly steps: readonly Step[] };
  expect(report).toMatchObject({
    version: packageVersion(),
    machine: { cores: cpus().length, node: process.versions.node },
    size: 200,
    durable: true,
    folder: temporary,
  });
  expect(report.storeBytes).toBeGreaterThan(100_000);
  expect(report.steps.map(({ name }) => name)).toEqual(STEPS);
  for (const { name, count, perSecond, p50Ms, p95Ms, p99Ms, maxMs } of report.steps) {
    expect(count, name).toBeGreaterThan(0);
    expect(perSecond, name).toBeGreaterThan(0);
    const times = [p50Ms, p95Ms, p99Ms, maxMs];
    expect(times, name).toEqual([...times].sort((one, other) => one - other));
    expect(p50Ms, name).toBeGreaterThan(0);
  }
  const written = report.steps.slice(0, 3).map(({ count }) => count);
  expect(written.reduce((sum, count) => sum + count)).toBe(200);
  expect(readdirSync(temporary)).toEqual([]);
});

test("people get a table with units, and what was measured where", async () => {
  const { exit, out } = await place.bare(["bench", "--size", "200"]);
  expect(exit).toBe(0);
  const [first, second, third] = out.split("\n");
  expect(first).toContain(`cortex ${packageVersion()}, Node ${process.versions.node}`);
  expect(second).toMatch(/\d+ cores, \d+ GiB; (writes wait for the disk of|.* is in memory)/);
  expect(third).toMatch(/^200 memories of .*, \d+\.\d MiB/);
  expect(out).toMatch(/^what +count +a second +p50 ms +p95 ms +p99 ms +max ms$/m);
  for (const name of STEPS) expect(out).toMatch(new RegExp(`^${name} +[\\d,]+ +[\\d,]+ +\\d`, "m"));
});

test("interrupted, it removes its store as well", async () => {
  const child = spawn(process.execPath, [MAIN, "bench", "--size", "1000000"], {
    env: { PATH: process.env.PATH, HOME: place.home, TMPDIR: temporary },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  // The first line of progress says that it is at work.
  await once(child.stderr, "data");
  expect(readdirSync(temporary)).toHaveLength(1);
  child.kill("SIGTERM");
  expect((await ended)[0]).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
});

test.each([
  [["bench", "--data", "./somewhere"], "--data: expected none"],
  [["bench", "--size", "many"], '--size: expected a whole number, 200 to 1000000, got "many"'],
  [["bench", "--size", "199"], "--size: expected a whole number"],
  [["bench", "--size", "1000001"], "--size: expected a whole number"],
])("%j is used wrongly", async (args, message) => {
  const { exit, err } = await place.bare(args);
  expect(exit).toBe(2);
  expect(err).toContain(message);
});

test("however many memories, every way of writing gets some, and none is lost", () => {
  for (const size of [200, 201, 5000, 1_000_000]) {
    const { single, together, batched } = sharesOf(size);
    expect(single + together + batched).toBe(size);
    expect(Math.min(single, together, batched)).toBeGreaterThan(0);
  }
});
