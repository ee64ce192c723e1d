/**
 * Requests to a server, over a real one on this machine: what is sent, what is asked for again and how
 * often, and what becomes of answers that are late, broken off, somebody else's or failures by name.
 */
import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { sha256Node, signerOf, verifyEd25519Node } from "../codec/node-crypto.js";
import { CortexError } from "../errors.js";
import { verifyRequest } from "../scope/request-signature.js";
import {
  type Answering,
  json,
  type Loopback,
  problem,
  type Reply,
  startLoopback,
} from "../testing/loopback.js";
import { type RemoteOptions, readSettings } from "./settings.js";
import { type Call, pause, pauseMs, problemError, request } from "./transport.js";

const servers: Loopback[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(how: Answering): Promise<Loopback> {
  const server = await startLoopback(how);
  servers.push(server);
  return server;
}

/** A read, unless told otherwise. */
function callOf(change: Partial<Call> = {}): Call {
  const { signal } = new AbortController();
  const call = { path: "get", body: '{"id":"x"}', accept: "application/json", signal };
  return { ...call, isRepeatable: true, isLong: false, ...change };
}

/** Sends a call and reads JSON. */
function ask(
  server: Loopback,
  call: Partial<Call> = {},
  options: RemoteOptions = {},
): Promise<unknown> {
  const settings = readSettings(server.url, { retries: 0, ...options });
  return request(settings, callOf(call), (response) => response.json());
}

async function failureOf(asking: Promise<unknown>): Promise<CortexError> {
  const failure = await asking.catch((error: unknown) => error);
  if (failure instanceof CortexError) return failure;
  throw new Error(`expected a CortexError, got ${String(failure)}`);
}

/** Answers in turn; the last one from then on. */
function inTurn(...replies: readonly Reply[]): Answering {
  let next = 0;
  return () => {
    const reply = replies[Math.min(next, replies.length - 1)];
    next += 1;
    return reply ?? "cut";
  };
}

const BUSY = { status: 503, headers: { "Retry-After": "0" } };

describe("what is sent", () => {
  test("a body is a POST of JSON, parameters a GET, each with what the client bears", async () => {
    const server = await serve(() => json({ ok: true }));
    await ask(server, {}, { token: "secret", actor: "grace" });
    const parameters = new URLSearchParams({ from: "1", kinds: "a b" });
    const { body: _, ...call } = callOf({ path: "subscribe", parameters });
    const settings = readSettings(server.url, {});
    await request(settings, call, (response) => response.json());
    const [posted, got] = server.asked;
    expect(posted).toMatchObject({
      method: "POST",
      path: "/v1/actors/grace/get",
      body: '{"id":"x"}',
      headers: { authorization: "Bearer secret", "content-type": "application/json" },
    });
    expect(got).toMatchObject({ method: "GET", path: "/v1/subscribe", body: "" });
    expect(got?.query).toBe("from=1&kinds=a+b");
    expect(got?.headers.authorization).toBeUndefined();
    expect(got?.headers["content-type"]).toBeUndefined();
  });

  test("a signer signs what is sent, anew for every attempt", async () => {
    const signer = signerOf(new Uint8Array(32).fill(4));
    const server = await serve(inTurn(BUSY, json({})));
    await ask(server, {}, { scope: "handle", signer, retries: 1 });
    const signatures = server.asked.map(({ method, path, query, headers, body }) => {
      const line = {
        method,
        path,
        query,
        authorization: headers.authorization ?? "",
        body: new TextEncoder().encode(body),
      };
      const text = (name: string): string => String(headers[name]);
      const bearing = {
        signatureInput: text("signature-input"),
        signature: text("signature"),
        contentDigest: text("content-digest"),
      };
      const checks = { nowMs: Date.now(), sha256: sha256Node, verifySignature: verifyEd25519Node };
      return verifyRequest(line, bearing, checks)?.signature;
    });
    expect(signatures.every((one) => one !== undefined)).toBe(true);
    expect(new Set(signatures).size).toBe(2);
  });

  test("a redirect is not followed: it would hand on what the client bears", async () => {
    const elsewhere = await serve(() => json({}));
    const server = await serve(() => ({ status: 307, headers: { Location: elsewhere.url } }));
    const failure = await failureOf(ask(server, {}, { token: "secret" }));
    expect(failure.code).toBe("ERR_STORAGE");
    expect(elsewhere.asked).toEqual([]);
  });
});

describe("asking again", () => {
  test.each([
    ["a server that is busy", BUSY],
    ["a connection that is cut", "cut" as const],
    ["an answer that breaks off", { half: '{"text":"the beg' }],
    ["an answer that is no JSON", { headers: { "Content-Type": "application/json" }, body: "<p>" }],
    ["too many calls", problem(429, { code: "ERR_RATE_LIMITED" }, { "Retry-After": "0" })],
  ])("%s is asked again for what can be, until it answers", async (_, reply) => {
    const server = await serve(inTurn(reply, reply, json({ text: "there" })));
    expect(await ask(server, {}, { retries: 5 })).toEqual({ text: "there" });
    expect(server.asked).toHaveLength(3);
  });

  test("no more often than told, and the last failure is the answer", async () => {
    const server = await serve(
      inTurn("cut", BUSY, problem(503, { code: "ERR_CLOSED" }, BUSY.headers)),
    );
    expect((await failureOf(ask(server, {}, { retries: 4 }))).code).toBe("ERR_CLOSED");
    expect(server.asked).toHaveLength(5);
  });

  test("never for what may have been done, and the failure says that it is not known", async () => {
    for (const reply of ["cut", { half: "{" }] as const) {
      const server = await serve(inTurn(reply, json({})));
      const failure = await failureOf(ask(server, { isRepeatable: false }, { retries: 5 }));
      expect(failure.code).toBe("ERR_STORAGE");
      expect(failure.message).toContain("whether it was done is not known");
      expect(failure.cause).toBeDefined();
      expect(server.asked).toHaveLength(1);
    }
  });

  test("nor for a failure that the server means", async () => {
    for (const reply of [
      problem(404, { code: "ERR_NOT_FOUND", detail: "id: no such memory" }),
      problem(500, { code: "ERR_CORRUPT", detail: "damaged" }),
      { status: 404, headers: { "Content-Type": "text/html" }, body: "nothing here" },
    ]) {
      const server = await serve(inTurn(reply, json({})));
      await failureOf(ask(server, {}, { retries: 5 }));
      expect(server.asked).toHaveLength(1);
    }
  });

  test("pauses double, are never all the same, and have an end", () => {
    for (let attempt = 1; attempt <= 30; attempt += 1) {
      const longest = Math.min(10_000, 100 * 2 ** (attempt - 1));
      for (let draw = 0; draw < 20; draw += 1) {
        expect(pauseMs(attempt)).toBeGreaterThanOrEqual(longest / 2);
        expect(pauseMs(attempt)).toBeLessThanOrEqual(longest);
      }
    }
    expect(new Set(Array.from({ length: 20 }, () => pauseMs(5))).size).toBeGreaterThan(1);
  });
});

describe("an answer that does not come", () => {
  test("is a failure after the time given, asked again if that is allowed", async () => {
    const server = await serve(() => "hold");
    const failure = await failureOf(ask(server, {}, { timeoutMs: 40, retries: 1 }));
    expect(failure).toMatchObject({
      code: "ERR_STORAGE",
      message: "server: no answer within 40 ms",
    });
    expect(server.asked).toHaveLength(2);
    const lost = await failureOf(ask(server, { isRepeatable: false }, { timeoutMs: 40 }));
    expect(lost.message).toContain("no answer within 40 ms; whether it was done is not known");
  });

  test("the time is for the whole answer, not for its beginning", async () => {
    const server = await serve(() => ({ begun: '{"text":' }));
    const failure = await failureOf(ask(server, {}, { timeoutMs: 40 }));
    expect(failure.message).toBe("server: no answer within 40 ms");
  });

  test("a server that is not there cannot be reached, for a reason that is told", async () => {
    const gone = await startLoopback(() => "cut");
    await gone.close();
    const failure = await failureOf(ask(gone));
    const message = `server: ${new URL(gone.url).origin} cannot be reached`;
    expect(failure).toMatchObject({ code: "ERR_STORAGE", message });
    expect(failure.cause).toBeInstanceOf(Error);
  });
});

describe("failures by name", () => {
  test("a problem is the error that it was over there", async () => {
    const details = { field: "id", expected: "an id", got: "nothing", seq: 7 };
    const members = { code: "ERR_INVALID", detail: "id: expected an id, got nothing", ...details };
    const server = await serve(() => problem(400, { ...members, extra: "left out" }));
    const failure = await failureOf(ask(server));
    expect(failure).toMatchObject({ code: "ERR_INVALID", message: members.detail });
    expect(failure.details).toEqual(details);
  });

  test.each<[string, unknown, string, string]>([
    [
      "a code of a newer server",
      { code: "ERR_FROM_TOMORROW", detail: "x" },
      "ERR_UNSUPPORTED",
      "ERR_FROM_TOMORROW: x",
    ],
    [
      "a fault over there",
      { code: "ERR_INTERNAL", detail: "Failed.", requestId: "r-1" },
      "ERR_STORAGE",
      "server: Failed. Request r-1.",
    ],
    [
      "a code that is a name of every object",
      { code: "constructor" },
      "ERR_UNSUPPORTED",
      "constructor: ",
    ],
    ["a problem without words", { code: "ERR_DENIED" }, "ERR_DENIED", "the server did not say"],
    [
      "details of other kinds",
      { code: "ERR_DENIED", detail: 5, field: 5, seq: "5" },
      "ERR_DENIED",
      "the server did not say",
    ],
    ["no problem at all", null, "ERR_UNSUPPORTED", "undefined: "],
  ])("%s", (_, document, code, message) => {
    const error = problemError(document);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    expect(error.details).toEqual({});
  });

  test("a problem that is no JSON, or breaks off, is no answer", async () => {
    const type = "application/problem+json";
    for (const reply of [
      { status: 400, headers: { "Content-Type": type }, body: "{" },
      { status: 400, headers: { "Content-Type": type, "Content-Length": "9" }, body: "" },
    ]) {
      const server = await serve(() => reply);
      expect((await failureOf(ask(server))).code).toBe("ERR_STORAGE");
    }
  });

  test("what the reader of an answer refuses is not taken for a fault on the way", async () => {
    const server = await serve(() => json({}));
    const settings = readSettings(server.url, { retries: 3 });
    const refused = request(settings, callOf(), async () => {
      throw new CortexError("ERR_CORRUPT", "not what was asked for");
    });
    expect((await failureOf(refused)).code).toBe("ERR_CORRUPT");
    expect(server.asked).toHaveLength(1);
  });
});

describe("a client that closes", () => {
  test("sends nothing more", async () => {
    const server = await serve(() => json({}));
    const signal = AbortSignal.abort();
    expect((await failureOf(ask(server, { signal }, { retries: 5 }))).code).toBe("ERR_CLOSED");
    expect(server.asked).toEqual([]);
  });

  test("ends what waits for an answer, and what waits to ask again", async () => {
    for (const reply of ["hold", { status: 503, headers: { "Retry-After": "9" } }] as const) {
      const closing = new AbortController();
      const server = await serve(() => {
        setTimeout(() => closing.abort(), 20);
        return reply;
      });
      const ended = ask(server, { signal: closing.signal }, { retries: 5 });
      expect((await failureOf(ended)).code).toBe("ERR_CLOSED");
      expect(server.asked).toHaveLength(1);
    }
  });

  test("is not listened to by calls that are over", async () => {
    const server = await serve(inTurn(BUSY, json({}), "cut"));
    const { signal } = new AbortController();
    await ask(server, { signal }, { retries: 2 });
    await failureOf(ask(server, { signal }));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("a pause ends at once when it is told to, before or after it began", async () => {
    await pause(3_600_000, AbortSignal.abort());
    const stop = new AbortController();
    const waiting = pause(3_600_000, stop.signal);
    stop.abort();
    await waiting;
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    await pause(1, stop.signal);
  });
});
