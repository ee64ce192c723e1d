/**
 * Operations of the server's own actor are found by their path, all else by the router, and a server with origins that
 * may call asks the router for everything. All of them answer the same, and are guarded, counted and logged the same.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./http-server.js";

const TOKEN = "a-token-of-some-length-for-tests";
let direct: TestServer;
let routed: TestServer;
let guarded: TestServer;
beforeAll(async () => {
  direct = await startTestServer();
  routed = await startTestServer({
    location: direct.location,
    settings: { corsOrigins: "http://page.example" },
  });
  guarded = await startTestServer({
    settings: { token: TOKEN, ratePerSecond: "1", rateBurst: "2" },
  });
  await direct.post("/v1/write", { type: "fact", text: "Ada lives in Porto", externalId: "home" });
});
afterAll(async () => {
  await routed.close();
  await direct.close();
  await guarded.close();
});

/** Method, target, more of the head, body. */
type Sent = readonly [string, string, string?, string?];

const JSON_TYPE = "Content-Type: application/json\r\n";
const SENT: readonly Sent[] = [
  ["GET", "/v1/get?id=home"],
  ["GET", "/v1/get?id=h%6Fme"],
  ["GET", "/v1/%67et?id=home"],
  ["GET", "/v1/get/?id=home"],
  ["GET", "/v1/get?id=home&id=home"],
  ["GET", "/v1/get?id=home&bogus=1"],
  ["GET", "/v1/get?id=nobody"],
  ["GET", "/v1/get"],
  ["GET", "/v1/get?id=home", 'If-None-Match: "1-1"\r\n'],
  ["GET", "/v1/get?id=home", "If-None-Match: *\r\n"],
  ["GET", "/v1/get?id=home", "Cortex-Speaks-As: nobody\r\n"],
  ["GET", "/v1/get?id=home", "Authorization: Bearer something\r\n"],
  ["GET", "/v1/get?id=home", "Sec-Fetch-Site: cross-site\r\n"],
  ["HEAD", "/v1/get?id=home"],
  ["DELETE", "/v1/get?id=home"],
  ["PUT", "/v1/get?id=home"],
  ["POST", "/v1/get", JSON_TYPE, '{"id":"home"}'],
  ["POST", "/v1/get?id=home", JSON_TYPE, '{"id":"home"}'],
  ["POST", "/v1/get", "", "id=home"],
  ["POST", "/v1/get", JSON_TYPE, "{"],
  ["GET", "/v1/write"],
  ["GET", "/v1/list?limit=1"],
  ["GET", "/v1/actors/default/get?id=home"],
  ["GET", "/v1/actors/nobody/get?id=home"],
  ["GET", "/v1/nothing"],
  ["GET", "/v1/../v1/get?id=home"],
];

/** What a server says to bytes, without what is its own: the time, the port, and what pages of origins are told. */
async function told(
  server: TestServer,
  [method, target, head = "", body = ""]: Sent,
): Promise<string> {
  const text = await server.raw(
    `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nX-Request-Id: same\r\n` +
      `Connection: close\r\nContent-Length: ${body.length}\r\n${head}\r\n${body}`,
  );
  return text
    .split("\r\n")
    .filter((line) => !/^(Date|Vary|Access-Control-[a-z-]+):/i.test(line))
    .map((line) => line.replace(/^[A-Za-z-]+:/, (name) => name.toLowerCase()))
    .sort()
    .join("\n");
}

describe("an operation that is found by its path", () => {
  for (const sent of SENT) {
    test(`answers what the router's answers: ${sent.join(" ").replaceAll("\r\n", " ").trim()}`, async () => {
      expect(await told(direct, sent)).toBe(await told(routed, sent));
    });
  }

  test("is logged and counted as the router's are", async () => {
    const own = ({ status, operation, method, code }: Readonly<Record<string, unknown>>) => [
      method,
      status,
      operation,
      code,
    ];
    const [here, there] = [direct, routed].map((server) => server.logged().map(own));
    for (const line of there ?? []) expect(here).toContainEqual(line);
    const counted = async (server: TestServer) =>
      (await server.get("/metrics")).text
        .split("\n")
        .filter((line) => /^cortex_http_requests_total\{operation="(get|list)"/.test(line));
    expect(await counted(direct)).toEqual(await counted(routed));
  });

  test("is guarded and limited", async () => {
    expect((await guarded.get("/v1/get?id=home")).status).toBe(401);
    const bearer = { Authorization: `Bearer ${TOKEN}` };
    const all = [];
    for (let at = 0; at < 4; at += 1)
      all.push((await guarded.get("/v1/get?id=home", bearer)).status);
    expect(all).toContain(429);
  });
});
