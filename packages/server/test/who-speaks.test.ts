/**
 * In whose name a request speaks, over HTTP and MCP of one real server: a host with its token settles and
 * confirms where the agent's own token cannot, and `Cortex-Speaks-As` lowers a caller and never raises
 * one. The routes and tools are read off the tables, so a new one is in here from its first day.
 */
import { issueScope, signerOf } from "@cortex-memory/core";
import { VERBS, type Verb, type VerbName } from "@cortex-memory/core/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type * as z from "zod";
import { routesOf } from "../src/http/routes.js";
import { OPERATIONS } from "../src/operations.js";
import { plainInput } from "./bad-inputs.js";
import { type Got, startTestServer, type TestServer } from "./http-server.js";

const ADMIN = { Authorization: "Bearer the-admin-token-of-this-test" };
const HOST = { Authorization: "Bearer the-token-of-a-host-that-asks" };
const AS_AGENT = { "Cortex-Speaks-As": "agent helper" };

type Headers = { readonly [name: string]: string };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    settings: {
      token: ADMIN.Authorization.slice("Bearer ".length),
      hostToken: HOST.Authorization.slice("Bearer ".length),
    },
  });
});
afterAll(() => server.close());

const post = (path: string, body: unknown, headers: Headers): Promise<Got> =>
  server.post(`/v1/${path}`, body, headers);

/** What a tool answers over HTTP; of a refusal, its code is in the text. */
async function tool(name: string, args: object, headers: Headers): Promise<string> {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: args },
  };
  const accept = {
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-06-18",
  };
  const { text } = await server.post("/mcp?profile=full", body, { ...accept, ...headers });
  const told = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as {
    readonly result?: { readonly content: readonly { readonly text: string }[] };
  };
  return told.result?.content[0]?.text ?? text;
}

const idIn = (text: string): string => /[0-9A-HJKMNP-TV-Z]{26}/.exec(text)?.[0] ?? "";
const statusOf = async (id: string): Promise<unknown> => {
  const { head } = (await server.get(`/v1/get?id=${id}`, ADMIN)).json as {
    readonly head: { readonly status: string };
  };
  return head.status;
};

describe("a host that asked the user", () => {
  const yes = (id: string) => ({
    item: `provisional-${id}`,
    decision: "keep_one",
    reason: "she said so",
  });

  test("confirms over MCP what an agent said, which the agent's own token does not", async () => {
    const id = idIn(await tool("memory_remember", { type: "preference", text: "Tea" }, ADMIN));
    expect(await statusOf(id)).toBe("provisional");
    expect(await tool("memory_review", yes(id), ADMIN)).toContain("ERR_TRUST");
    expect(await tool("memory_settle", yes(id), ADMIN)).toContain("ERR_TRUST");
    const lowered = { ...HOST, ...AS_AGENT };
    expect(await tool("memory_review", yes(id), lowered)).toContain("ERR_TRUST");
    expect(await statusOf(id)).toBe("provisional");
    expect(await tool("memory_review", yes(id), HOST)).toMatch(/^Settled/);
    expect(await statusOf(id)).toBe("confirmed");
  });

  test("confirms over REST, and carries out what an agent proposed", async () => {
    const id = idIn(await tool("memory_remember", { type: "constraint", text: "No eggs" }, ADMIN));
    expect((await post("settle", yes(id), { ...HOST, ...AS_AGENT })).status).toBe(403);
    expect((await post("settle", yes(id), HOST)).status).toBe(200);
    expect(await statusOf(id)).toBe("confirmed");
    const refused = await tool("memory_retire", { id, reason: "eggs are fine" }, ADMIN);
    const [item] = /proposal(?:-\w{26}){3}/.exec(refused) ?? [];
    const decision = { item, decision: "keep_one", reason: "she agreed" };
    expect((await post("settle", decision, { ...ADMIN, ...AS_AGENT })).json.code).toBe("ERR_TRUST");
    expect((await post("settle", decision, HOST)).status).toBe(200);
    const { head } = (await server.get(`/v1/get?id=${id}`, HOST)).json;
    expect(head).toMatchObject({ lifecycle: "tombstoned" });
  });

  test("states the user's own word over both", async () => {
    const said = { type: "identity", text: "Ada is a pilot", status: "confirmed" };
    expect((await post("write", said, HOST)).status).toBe(200);
    const id = idIn(await tool("memory_write", { ...said, text: "Ada is tall" }, HOST));
    expect(await statusOf(id)).toBe("confirmed");
    expect(await tool("memory_write", { ...said, text: "I am Bob" }, ADMIN)).toContain("ERR_TRUST");
  });
});

/** Routes that write, and the verb behind each. */
const WRITING = routesOf(OPERATIONS).flatMap(({ name, operation, unavailable, file }) => {
  const verb = (VERBS as { readonly [verb: string]: Verb | undefined })[operation.name];
  const isAsked = unavailable === undefined && file === undefined && operation.kind === "write";
  return isAsked && verb !== undefined ? [{ name, operation, verb }] : [];
});

/** Claims above an agent, by the field that holds them. */
const RAISES: { readonly [field: string]: unknown } = {
  source: "user_input",
  status: "confirmed",
  by: "default",
  provenance: { source: "user_input" },
};

describe("Cortex-Speaks-As", () => {
  test.each(WRITING)("lowers $name, whichever token is sent", async ({ name, operation, verb }) => {
    const shape = operation.input.shape as { readonly [field: string]: z.ZodType };
    const plain = plainInput(shape);
    const before = (await server.get("/v1/stats", ADMIN)).json.entries;
    for (const token of [ADMIN, HOST]) {
      const headers = { ...token, ...AS_AGENT };
      for (const [field, value] of Object.entries(RAISES)) {
        if (!(field in shape)) continue;
        const { status, json } = await post(name, { ...plain, [field]: value }, headers);
        expect([field, status, json.code]).toEqual([field, 403, "ERR_TRUST"]);
      }
      if (verb.standing !== "owner") continue;
      const { json } = await post(name, plain, headers);
      expect([name, json.code]).toEqual([name, "ERR_TRUST"]);
    }
    expect((await server.get("/v1/stats", ADMIN)).json.entries).toBe(before);
  });

  test("has many routes to lower, and some are the owner's alone", () => {
    expect(WRITING.length).toBeGreaterThan(20);
    const owners = WRITING.filter(({ verb }) => verb.standing === "owner");
    expect(owners.map(({ verb }) => verb.name)).toContain("configure" satisfies VerbName);
  });

  test("stamps the source and the author that it names; without a name, not the actor's", async () => {
    for (const [said, source, by] of [
      ["document helper", "document", "helper"],
      ["agent", "agent", "agent"],
    ] as const) {
      const body = { type: "fact", text: `as ${said}` };
      const { json } = await post("write", body, { ...ADMIN, "Cortex-Speaks-As": said });
      const read = (await server.get(`/v1/get?id=${json.id}`, ADMIN)).json;
      expect(read).toMatchObject({ head: { source }, versionRecord: { createdBy: by } });
      const named = { ...body, by: "default" };
      const refused = await post("write", named, { ...ADMIN, "Cortex-Speaks-As": said });
      expect(refused.json.code).toBe("ERR_TRUST");
    }
  });

  test("lowers memgraph's routes: the name in created_by stands below the caller's", async () => {
    const node = { graph_id: "default", kind: "k", content: "c", created_by: "default" };
    const { json } = await post("nodes", node, { ...ADMIN, ...AS_AGENT });
    const read = (await server.get(`/v1/get?id=${json.lineage_id}`, ADMIN)).json;
    expect(read).toMatchObject({
      head: { source: "agent" },
      versionRecord: { createdBy: "helper/default" },
    });
  });

  test("never raises an agent at /mcp, and lowers it there as well", async () => {
    const remember = { type: "fact", text: "a page says so" };
    for (const raise of ["user_input", "user_input ada", "agent ada"]) {
      const headers = { ...ADMIN, "Cortex-Speaks-As": raise };
      expect(await tool("memory_remember", remember, headers)).toContain("ERR_TRUST");
    }
    const text = await tool("memory_remember", remember, {
      ...ADMIN,
      "Cortex-Speaks-As": "document",
    });
    const { head } = (await server.get(`/v1/get?id=${idIn(text)}`, ADMIN)).json;
    expect(head).toMatchObject({ source: "document" });
  });

  test("is refused beside a scope, and where it cannot be read", async () => {
    const issuer = signerOf(new Uint8Array(32).fill(5));
    const key = Buffer.from(issuer.publicKey).toString("base64");
    await post("configure", { trustedIssuers: [key] }, ADMIN);
    const scope = await issueScope(
      {
        actor: "default",
        include: { tags: ["trip"] },
        issuedAt: 0,
        expiresAt: Date.UTC(2100, 0, 1),
        grantedTo: "bearer:me",
        writable: true,
      },
      issuer,
    );
    const held = { Authorization: `Bearer ${scope}` };
    const note = { type: "note", text: "x", tags: ["trip"] };
    expect((await post("write", note, held)).status).toBe(200);
    for (const headers of [
      { ...held, "Cortex-Speaks-As": "user_input" },
      { ...held, "Cortex-Speaks-As": "document" },
      { ...ADMIN, "Cortex-Speaks-As": "owner" },
      { ...ADMIN, "Cortex-Speaks-As": "agent a b" },
      { ...ADMIN, "Cortex-Speaks-As": "" },
    ]) {
      expect((await post("write", note, headers)).status, JSON.stringify(headers)).toBe(400);
    }
  });
});
