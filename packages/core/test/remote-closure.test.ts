/**
 * The client of a server as users install it: what `dist/remote/index.js` imports, directly or not, and
 * that it runs in a realm that has what browsers and edge runtimes have, and nothing of Node: no module,
 * no Buffer, no process. It sees the built output, so `npm test` builds first.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { closureOf, HASHES, realmProgram } from "./import-closure.js";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ENTRY = join(PACKAGE, "dist", "remote", "index.js");
const require = createRequire(import.meta.url);
const run = promisify(execFile);

/** Runs in a child process: links the closure by hand in a context with the web's globals alone. */
const PROGRAM = `${realmProgram(
  "{ TextEncoder, TextDecoder, URL, URLSearchParams, AbortController, AbortSignal, fetch, setTimeout, clearTimeout, performance, crypto }",
)}
const [url] = rest;
const { openRemote } = main.namespace;
const memory = await openRemote(url, { actor: "ada" });
const got = await memory.get("home");
const refused = await memory.list().catch(({ code, message }) => ({ code, message }));
console.log(JSON.stringify({ seen, got, refused, trusted: memory.trusted() }));
`;

describe("the built client", () => {
  test("reaches pure files and the hash library, and nothing else", () => {
    const files = closureOf(ENTRY).map((file) => relative(PACKAGE, file));
    const own = files.filter((file) => file.startsWith("dist/")).map((file) => file.slice(5));
    const allowed =
      /^(verify|errors|limits|records\/(types|uri|edge-kinds|edge-record|memory-record)|contract\/(gather|following)|scope\/request-signature|(codec|merkle|remote)\/[a-z0-9-]+|journal\/(entry|checkpoint|proof|proof-path|export-format|erasure-list))\.js$/;
    expect(own.filter((file) => !allowed.test(file))).toEqual([]);
    expect(own.filter((file) => file.endsWith("-node.js"))).toEqual([]);
    expect(own).toContain("remote/client.js");
    const others = files.filter((file) => !file.startsWith("dist/"));
    expect(others.filter((file) => !file.includes(HASHES))).toEqual([]);
  });

  test("runs where there is no Node", async () => {
    const asked: string[] = [];
    const problem = { code: "ERR_DENIED", detail: "list: not for you", status: 403 };
    const vector = join(PACKAGE, "test", "vectors", "proofs", "golden-one-of-two.json");
    const { trusted } = JSON.parse(readFileSync(vector, "utf8")) as { readonly trusted: string };
    const answers = new Map<string, object>([
      ["/v1/actors/ada/checkpoint", { checkpoint: trusted }],
      ["/v1/actors/ada/get", { text: "Ada lives in Porto" }],
    ]);
    const server = createServer(({ url = "" }, answer) => {
      asked.push(url);
      const known = answers.get(url);
      const type = known === undefined ? "application/problem+json" : "application/json";
      answer.writeHead(known === undefined ? problem.status : 200, { "Content-Type": type });
      answer.end(JSON.stringify(known ?? problem));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const hashes = dirname(require.resolve(`${HASHES}sha2.js`));
      const flags = ["--experimental-vm-modules", "--no-warnings", "--input-type=module"];
      const args = [...flags, "--eval", PROGRAM, "--", ENTRY, hashes, url];
      const { stdout } = await run(process.execPath, args);
      expect(JSON.parse(stdout)).toEqual({
        seen: "undefinedundefinedundefined",
        got: { text: "Ada lives in Porto" },
        refused: { code: "ERR_DENIED", message: "list: not for you" },
        trusted,
      });
      expect(asked).toEqual(["checkpoint", "get", "list"].map((name) => `/v1/actors/ada/${name}`));
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
