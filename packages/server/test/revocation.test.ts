/**
 * Two processes: one serves, the other, the built command, revokes a scope on the same folder. The server
 * refuses the scope on the next request, however it is presented, although it honoured it a moment before.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { ALONE, type Got, readAll } from "./http-server.js";
import { toolCall } from "./mcp-client.js";
import { type ServeProcess, startServe } from "./serve-process.js";

const TOKEN = "an-admin-token-of-some-length";

let place: Place;
let server: ServeProcess;
let issuer = "";
beforeAll(async () => {
  place = makePlace();
  server = await startServe(place.data, [], { CORTEX_TOKEN: TOKEN });
  issuer = String((await command(["keygen", "issuer.key"])).publicKey);
  await command(["config", "--set", `trustedIssuers=${issuer}`]);
  const marked = ["--tag", "trip", "--visibility", "scoped"];
  await command([
    "write",
    "fact",
    "The flight leaves on Friday",
    "--external-id",
    "flight",
    ...marked,
  ]);
});
afterAll(async () => {
  await server.stop();
  place.remove();
});

/** Runs a command on the folder that the server serves, inside this process. */
async function command(args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const { exit, out, err } = await place.bare([...args, "--data", place.data, "--json"]);
  expect(exit, err).toBe(0);
  return JSON.parse(out) as Record<string, unknown>;
}

async function issued(name: string): Promise<string> {
  const args = ["scope", "issue", "issuer.key", "--bearer", name, "--tag", "trip", "--hours", "1"];
  return String((await command(args)).scope);
}

async function read(presented: string): Promise<Got> {
  const headers = { ...ALONE, Authorization: `Bearer ${presented}` };
  return readAll(await fetch(`${server.url}/v1/get?id=flight`, { headers }));
}

async function readByTool(presented: string): Promise<Got> {
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      ...ALONE,
      Authorization: `Bearer ${presented}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify(toolCall(1, "memory_get", { id: "flight" })),
  });
  return readAll(response);
}

test("a scope that another process revoked is refused on the next request", async () => {
  const [taken, kept] = [await issued("taken"), await issued("kept")];
  const posted = await server.post("/v1/post-scope", { scope: taken });
  const { handle } = (await posted.json()) as { readonly handle: string };
  for (const presented of [taken, kept, handle]) {
    expect((await read(presented)).json.text).toBe("The flight leaves on Friday");
  }
  expect((await readByTool(taken)).text).toContain("The flight leaves on Friday");
  const revoke = ["scope", "revoke", "-", "--reason", "the trip is over", "--data", place.data];
  expect(place.process(revoke, { input: taken }).exit).toBe(0);
  for (const presented of [taken, handle]) {
    const refused = await read(presented);
    expect([refused.status, refused.json.code]).toEqual([401, "ERR_SCOPE_REVOKED"]);
    expect(refused.text).not.toContain("Friday");
  }
  const tool = await readByTool(taken);
  expect([tool.status, tool.json.code]).toEqual([401, "ERR_SCOPE_REVOKED"]);
  expect((await read(kept)).status).toBe(200);
});

test("an issuer that another process no longer trusts is refused on the next request", async () => {
  const scope = await issued("later");
  expect((await read(scope)).status).toBe(200);
  await command(["config", "--set", "trustedIssuers="]);
  const refused = await read(scope);
  expect([refused.status, refused.json.code]).toEqual([401, "ERR_SCOPE_ISSUER"]);
  await command(["config", "--set", `trustedIssuers=${issuer}`]);
  expect((await read(scope)).status).toBe(200);
});
