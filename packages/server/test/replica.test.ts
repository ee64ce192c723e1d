/**
 * Replicas over HTTP, as people have them: `cortex follow` against `cortex serve`, in processes of their
 * own, killed in the middle and restarted; a replica behind the other doors; and what is refused.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { follow, open, type RemoteLocation, type ReplicaEvent } from "@cortex-memory/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OPERATIONS } from "../src/operations.js";
import { MAIN, makePlace, type Place } from "./cortex-process.js";
import { startTestServer, type TestServer } from "./http-server.js";
import { startProxy, type TestProxy } from "./proxy.js";
import { type ServeProcess, startServe } from "./serve-process.js";

let place: Place;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  place = makePlace();
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  place.remove();
});

const at = (name: string): string => join(place.folder, name);

/** Runs a command on the replica. */
const onReplica = (args: readonly string[], env: Record<string, string> = {}) =>
  place.bare([...args, "--data", at("replica"), "--json"], { env });

/** The answer of a command on the replica that must succeed. */
async function answer(args: readonly string[]): Promise<Record<string, unknown>> {
  const { exit, out, err } = await onReplica(args);
  if (exit !== 0) throw new Error(`${args.join(" ")} exited with ${exit}: ${err}`);
  return JSON.parse(out) as Record<string, unknown>;
}

const codeIn = (err: string): string =>
  (JSON.parse(err) as { readonly error: { readonly code: string } }).error.code;

describe("with a server inside the test", () => {
  let server: TestServer;
  let proxy: TestProxy;
  beforeEach(async () => {
    server = await startTestServer();
    proxy = await startProxy(server.url);
    ends.push(() => server.close());
    ends.push(() => proxy.close());
    await server.post("/v1/write", {
      type: "fact",
      text: "Ada lives in Porto",
      externalId: "home",
    });
    await server.post("/v1/write", { type: "note", text: "a secret", externalId: "secret" });
  });

  test("--once makes a replica, and goes on with it; other doors read it", async () => {
    const { root } = (await server.get("/v1/root")).json;
    const first = await onReplica(["follow", server.url, "--once"]);
    expect([first.exit, JSON.parse(first.out)]).toEqual([
      0,
      { state: "level", seq: 2, root, entries: 3 },
    ]);
    const shape = OPERATIONS.find(({ name }) => name === "follow")?.output;
    expect(shape?.safeParse(JSON.parse(first.out)).success).toBe(true);
    await server.post("/v1/forget", { id: "secret", reason: "asked" });
    const people = await place.bare(["follow", server.url, "--once", "--data", at("replica")]);
    expect(people.out).toMatch(/^✓ level, 1 entry came seq 3 {2}[0-9a-f]{64}\n$/);
    expect(await answer(["root"])).toEqual((await server.get("/v1/root")).json);
    expect((await answer(["get", "home"])).text).toBe("Ada lives in Porto");
    expect((await onReplica(["get", "secret"])).exit).toBe(1);
    expect(await answer(["check"])).toMatchObject({ ok: true });
    expect((await answer(["stats"])).replica).toMatchObject({ source: server.url, lag: 0 });
    const shown = await place.bare(["stats", "--data", at("replica")]);
    expect(shown.out).toContain(`of ${server.url}, up to date, last heard at `);
  });

  test("a write on a replica is refused by every door until it is promoted", async () => {
    await onReplica(["follow", server.url, "--once"]);
    const { exit, err } = await onReplica(["note", "n", "mine"]);
    expect([exit, codeIn(err)]).toEqual([1, "ERR_READ_ONLY"]);
    const replica = await startTestServer({ location: at("replica") });
    ends.push(() => replica.close());
    const refused = await replica.post("/v1/write", { type: "fact", text: "mine" });
    expect([refused.status, refused.json.code]).toEqual([409, "ERR_READ_ONLY"]);
    expect((await replica.get("/v1/get?id=home")).json.text).toBe("Ada lives in Porto");
    expect(await answer(["promote"])).toMatchObject({ source: server.url, seq: 2, epoch: 1 });
    expect((await replica.post("/v1/write", { type: "fact", text: "mine" })).status).toBe(200);
    expect(codeIn((await onReplica(["follow", server.url, "--once"])).err)).toBe("ERR_EXISTS");
    expect(codeIn((await onReplica(["promote"])).err)).toBe("ERR_NO_CHANGE");
  });

  test("the token of the server comes from the configuration", async () => {
    const token = "a-token-of-some-length";
    const guarded = await startTestServer({ settings: { token } });
    ends.push(() => guarded.close());
    await guarded.post(
      "/v1/write",
      { type: "fact", text: "guarded" },
      { Authorization: `Bearer ${token}` },
    );
    const args = ["follow", guarded.url, "--once"];
    expect((await onReplica(args)).exit).toBe(1);
    const { exit, out, err } = await onReplica(args, { CORTEX_TOKEN: token });
    expect([exit, JSON.parse(out)]).toMatchObject([0, { state: "level", seq: 1 }]);
    expect(out + err + JSON.stringify(await answer(["stats"]))).not.toContain(token);
  });

  test("what cannot be followed is said, and leaves no store", async () => {
    const refusals: readonly [readonly string[], string][] = [
      [["follow", "./a-folder", "--once"], "ERR_INVALID"],
      [["follow", server.url, "--once", "--actor", "nobody"], "ERR_NOT_FOUND"],
      [["follow", "http://127.0.0.1:1", "--once"], "ERR_STORAGE"],
      [["follow", "http://example.org", "--once"], "ERR_INVALID"],
    ];
    for (const [args, code] of refusals) {
      const { exit, out, err } = await onReplica(args);
      expect([exit, out, codeIn(err)], args.join(" ")).toEqual([1, "", code]);
      expect((await onReplica(["root"])).exit).toBe(1);
    }
  });

  test("a connection that breaks is tried again; a fork behind it is refused", async () => {
    const stop = new AbortController();
    const events = follow(at("replica"), proxy.url as RemoteLocation, {
      signal: stop.signal,
      pollMs: 100,
      pause: (ms, signal) =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, Math.min(ms, 20));
          signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
          });
        }),
    });
    ends.push(() => {
      stop.abort();
      return events.return(undefined);
    });
    const next = async (): Promise<ReplicaEvent> => (await events.next()).value as ReplicaEvent;
    expect(await next()).toMatchObject({ state: "level", seq: 2 });
    proxy.treat(() => "cut");
    proxy.cutAll();
    expect(await next()).toMatchObject({ state: "trouble", code: "ERR_STORAGE", seq: 2 });
    await server.post("/v1/write", { type: "fact", text: "while away" });
    proxy.treat(() => undefined);
    let event = await next();
    while (event.state === "trouble") event = await next();
    expect(event).toMatchObject({ state: "level", seq: 3, entries: 1 });
    const other = await startTestServer();
    ends.push(() => {
      // A server waits for whoever is still connected.
      proxy.cutAll();
      return other.close();
    });
    await other.post("/v1/write", { type: "fact", text: "another history" });
    proxy.aim(other.url);
    proxy.cutAll();
    const failure = await (async () => {
      for (;;) await next();
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "ERR_FORK", details: { seq: 0 } });
    expect((await answer(["root"])).seq).toBe(3);
    expect((await answer(["stats"])).replica).toMatchObject({ lastError: { code: "ERR_FORK" } });
  });
});

describe("with processes", () => {
  /** `cortex follow` in a process, and what it says line by line. */
  function startFollow(url: string) {
    const args = [MAIN, "follow", url, "--data", at("replica"), "--json"];
    const child: ChildProcess = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, HOME: place.home },
    });
    ends.push(() => child.kill("SIGKILL"));
    if (child.stdout === null) throw new Error("a pipe was asked for");
    const ended = once(child, "close") as Promise<[number | null, string | null]>;
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<ReplicaEvent> => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("cortex follow ended");
      return JSON.parse(value) as ReplicaEvent;
    };
    const untilSeq = async (seq: number): Promise<ReplicaEvent> => {
      for (;;) {
        const event = await next();
        if (event.state === "level" && event.seq >= seq) return event;
      }
    };
    return { child, ended, untilSeq };
  }

  async function serve(args: readonly string[] = []): Promise<ServeProcess> {
    const server = await startServe(place.data, args);
    ends.push(() => server.stop("SIGKILL"));
    return server;
  }

  async function rootOf(server: ServeProcess): Promise<{ root: string; seq: number }> {
    const response = await fetch(`${server.url}/v1/root`);
    return (await response.json()) as { root: string; seq: number };
  }

  test("killed in the middle, a follower goes on where it was, through restarts of its source", async () => {
    await using seeded = await open(place.data);
    const notes = (name: string, length: number) =>
      Array.from({ length }, (_, n) => ({
        write: { type: "note" as const, text: `note ${name} ${n}`, externalId: `${name}${n}` },
      }));
    // More than a page holds, and it is not split; then some for the next page.
    await seeded.batch(notes("n", 1010));
    await seeded.batch(notes("m", 90));
    await seeded.close();
    const server = await serve();
    const proxy = await startProxy(server.url);
    ends.push(() => proxy.close());
    const pages = () => proxy.passed.filter(({ path }) => path.endsWith("/journal-page"));
    // The second page never comes, so the first one is there and the rest is not.
    const held = new Promise<void>((resolve) => {
      proxy.treat(({ path }) => {
        if (!path.endsWith("/journal-page") || pages().length < 2) return undefined;
        resolve();
        return "hold";
      });
    });
    const first = startFollow(proxy.url);
    await held;
    first.child.kill("SIGKILL");
    expect(await first.ended).toEqual([null, "SIGKILL"]);
    expect(await answer(["root"])).toMatchObject({ seq: 1010 });
    expect(await answer(["check"])).toMatchObject({ ok: true });
    proxy.treat(() => undefined);
    const before = pages().length;
    const second = startFollow(proxy.url);
    expect(await second.untilSeq(1100)).toMatchObject(await rootOf(server));
    expect(JSON.parse(pages()[before]?.body ?? "{}")).toMatchObject({ from: 1011 });
    // The source is restarted, and something is forgotten there meanwhile and afterwards.
    expect(await server.stop()).toBe(0);
    await place.json(["forget", "n5", "--reason", "asked"]);
    const again = await serve(["--port", String(server.port)]);
    await again.post("/v1/forget", { id: "n6", reason: "asked" });
    expect(await second.untilSeq(1102)).toMatchObject(await rootOf(again));
    second.child.kill("SIGTERM");
    expect(await second.ended).toEqual([0, null]);
    expect(await answer(["root"])).toEqual(await rootOf(again));
    expect(await answer(["check"])).toMatchObject({ ok: true });
    expect((await onReplica(["get", "n5"])).exit).toBe(1);
    // Deleting it is all it takes to be rid of a replica.
    rmSync(at("replica"), { recursive: true });
    expect(existsSync(at("replica"))).toBe(false);
  });
});
