/** The tables of the MCP door are complete, consistent with the facade, and the same for every caller. */

import { ERROR_CODES, GUEST, OWNER, open } from "@cortex-memory/core";
import { VERBS, type VerbName } from "@cortex-memory/core/contract";
import { throughDoor } from "@cortex-memory/core/doors";
import { Tiktoken } from "js-tiktoken/lite";
import o200kBase from "js-tiktoken/ranks/o200k_base";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { CLIENTS, clientBlock, isInNpxCache } from "../cli/clients.js";
import { ERROR_STATUS } from "../error-status.js";
import { GROUPS } from "../operations/define.js";
import { OPERATIONS } from "../operations.js";
import { day, fit } from "./briefs.js";
import {
  AGENT_ACCESS,
  announced,
  clientPrincipal,
  defineTool,
  namedAccess,
  type ToolContext,
} from "./define.js";
import { instructionsFor } from "./instructions.js";
import { mended } from "./mend.js";
import { promptsFor } from "./resources.js";
import { isRemote, toolName, toolsOf } from "./tools.js";
import { STANDARD_TOOLS } from "./tools-standard.js";

const logged: string[] = [];
const context: ToolContext = {
  access: throughDoor("mcp", "mcp:test"),
  location: "memory:",
  settings: [],
  log: (line) => {
    logged.push(line);
  },
};

/** The twelve tools that the standard profile is to have, and the verb that each one waits for. */
const PROMISED: { readonly [tool: string]: string } = {
  memory_start: "context",
  memory_recall: "recall",
  memory_remember: "write",
  memory_save_turns: "remember",
  memory_get: "inspect",
  memory_find: "find",
  memory_revise: "update",
  memory_retire: "tombstone",
  memory_link: "addEdge",
  memory_explore: "traverse",
  memory_feedback: "attest",
  memory_review: "review",
};

// By o200k_base, the encoding of recent OpenAI models; the house's own count is coarser.
const encoding = new Tiktoken(o200kBase);
const tokensOf = (text: string): number => encoding.encode(text).length;

describe("the standard profile", () => {
  test("has the tools that were promised, as far as the facade has their verbs", () => {
    const due = Object.entries(PROMISED).filter(([, verb]) => verb in VERBS);
    const names = STANDARD_TOOLS.map(({ name }) => name);
    expect(names.toSorted()).toEqual(due.map(([tool]) => tool).sort());
    expect(names.filter((name) => !(name in PROMISED))).toEqual([]);
  });

  test.each(STANDARD_TOOLS)(
    "$name calls verbs of the facade and says what it does to the store",
    (tool) => {
      expect(tool.verbs.length).toBeGreaterThan(0);
      expect(tool.verbs.filter((verb) => !(verb in VERBS))).toEqual([]);
      const writes = tool.verbs.some((verb) => VERBS[verb as VerbName].policy === "write");
      expect(tool.effect).toBe(writes ? "write" : "read");
      expect(tool.description).toMatch(/^[A-Z].*\.$/s);
    },
  );

  test("announces itself in at most 3,000 tokens, and a person's words in none", () => {
    const told = STANDARD_TOOLS.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: inputSchema(),
    }));
    expect(tokensOf(JSON.stringify(told))).toBeLessThanOrEqual(3000);
    expect(tokensOf(instructionsFor(STANDARD_TOOLS))).toBeLessThanOrEqual(300);
  });

  test("advice and prompts about tools that are not there are left out", () => {
    expect(instructionsFor([])).not.toMatch(/memory_/);
    expect(promptsFor([])).toEqual([]);
    const recalling = ["memory_start", "memory_recall", "memory_remember"].map((name) => ({
      name,
    }));
    expect(instructionsFor(recalling)).toContain("memory_recall");
    expect(promptsFor(recalling).map(({ name }) => name)).toEqual([
      "remember_this",
      "what_do_you_know",
      "start_task",
    ]);
  });
});

describe("the full profile", () => {
  const names = toolsOf("full").map(({ name }) => name);

  test("has every operation that needs no file and no closed store, once", () => {
    expect(new Set(names).size).toBe(names.length);
    const missing = OPERATIONS.filter(isRemote).filter((one) => !names.includes(toolName(one)));
    expect(missing).toEqual([]);
    const local = OPERATIONS.filter((one) => !isRemote(one)).map(({ name }) => name);
    expect(local).toEqual(
      expect.arrayContaining(["import", "export", "backup", "restoreBackup", "upgrade"]),
    );
    expect(names.filter((name) => local.some((one) => toolName({ name: one }) === name))).toEqual(
      [],
    );
  });

  test("announces itself, memgraph's tools and all, in less than 40,000 tokens", () => {
    const told = toolsOf("full", true).map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: tool.description,
      inputSchema: tool.inputSchema(),
      outputSchema: tool.outputSchema(),
      annotations: { title: tool.title, readOnlyHint: tool.effect === "read" },
    }));
    // Two more hints of each tool are words of twelve tokens at most.
    expect(tokensOf(JSON.stringify(told)) + told.length * 24).toBeLessThan(40_000);
  });

  test("lists its tools in the groups of the command line, each in one place", () => {
    const rest = toolsOf("full").slice(STANDARD_TOOLS.length);
    const groups = rest.map(({ title }) => title.split(": ")[0] ?? "");
    const places = groups.filter((group, at) => group !== groups[at - 1]);
    expect(places).toEqual(Object.values(GROUPS).filter((group) => groups.includes(group)));
  });

  test("an answer is announced in outline, and fits what is answered", () => {
    const tool = toolsOf("full").find(({ name }) => name === "memory_list");
    expect(tool?.outputSchema()).toMatchObject({
      properties: { memories: { items: { properties: { id: { type: "string" } } } } },
    });
    expect(JSON.stringify(tool?.outputSchema())).not.toContain("createdAt");
  });

  test("takes effects from the table", () => {
    for (const operation of OPERATIONS.filter(isRemote)) {
      const tool = toolsOf("full").find(({ name }) => name === toolName(operation));
      const isShadowed = STANDARD_TOOLS.some(({ name }) => name === tool?.name);
      if (isShadowed) continue;
      const expected = operation.name === "forget" ? "destroy" : operation.kind;
      expect([tool?.name, tool?.effect]).toEqual([toolName(operation), expected]);
    }
  });
});

describe("running a tool", () => {
  const tool = (name: string) => {
    const found = toolsOf("full").find((one) => one.name === name);
    if (found === undefined) throw new Error(`no tool ${name}`);
    return found;
  };

  test("writes as an agent, in single calls and in batches", async () => {
    await using memory = await open("memory:");
    const items = [
      { write: { type: "fact", text: "From a batch" }, ref: "a" },
      { write: { type: "fact", text: "Read in a page", source: "document" }, ref: "b" },
      { link: { from: { ref: "a" }, kind: "supports", to: { ref: "b" } } },
    ];
    const { structured } = await tool("memory_batch").run(memory, { items }, context);
    const results = structured?.results as readonly {
      readonly id: string;
      readonly edge?: unknown;
    }[];
    const sources = [];
    for (const { id, edge } of results) {
      if (edge === undefined) sources.push((await memory.get(id))?.head.source);
    }
    expect(sources).toEqual(["agent", "document"]);
    expect(results[2]).toMatchObject({ edge: { source: "agent" } });
    const id = results[1]?.id;
    const revised = { id, basedOnVersion: 1, text: "Revised" };
    expect((await tool("memory_revise").run(memory, revised, context)).isError).toBeUndefined();
    const { versionRecord } = (await memory.get(id ?? "")) ?? {};
    expect(versionRecord).toMatchObject({ provenance: { source: "agent" }, createdBy: "mcp:test" });
    const update = { id, basedOnVersion: 2, text: "Updated" };
    expect((await tool("memory_update").run(memory, update, context)).isError).toBeUndefined();
    expect((await memory.get(id ?? ""))?.versionRecord.provenance.source).toBe("agent");
  });

  test("a version that was undone is not told as what was true before", async () => {
    await using memory = await open("memory:");
    const { id } = await memory.write({ type: "fact", text: "One" });
    await memory.update(id, { text: "Two" });
    await memory.revert((await memory.update(id, { text: "Three" })).seq);
    const { text, structured } = await tool("memory_get").run(memory, { id }, context);
    expect(structured).toMatchObject({
      version: 2,
      versions: [
        { version: 3, undone: true, text: "Three" },
        { version: 1, text: "One" },
      ],
    });
    expect(text).toMatch(/ {2}undone \(3, .*\): Three\n {2}was \(1, .*\): One/);
  });

  test("defect 16: what memory_remember says of replacing is what it does", async () => {
    await using memory = await open("memory:");
    const { description, run } = tool("memory_remember");
    expect(description).toContain("Give a slot for anything with one current value");
    expect(description).not.toMatch(/correct|supersede|automatic/i);
    const replacedBy = async (text: string, slot?: string) => {
      const input = { text, ...(slot === undefined ? {} : { slot }) };
      const { structured } = await run(memory, input, context);
      return (structured as { readonly replaced: readonly unknown[] }).replaced.length;
    };
    expect(await replacedBy("The release is on Friday")).toBe(0);
    expect(await replacedBy("The release is on Monday, not on Friday")).toBe(0);
    expect(await replacedBy("Ships on Friday", "release day")).toBe(0);
    expect(await replacedBy("Ships on Monday", "release day")).toBe(1);
    expect((await memory.list({ type: "fact" })).memories).toHaveLength(3);
  });

  test("to a guest, what is not public does not exist, and writing is denied", async () => {
    await using memory = await open("memory:");
    const hidden = await memory.write({ type: "fact", text: "Private", tags: ["t"] });
    const shown = await memory.write({
      type: "fact",
      text: "Public",
      tags: ["t"],
      visibility: "public",
    });
    await memory.link(shown.id, "related_to", hidden.id);
    const guest = { ...context, access: GUEST };
    const run = (name: string, args: unknown) => tool(name).run(memory, args, guest);
    expect(JSON.parse((await run("memory_get", { id: hidden.id })).text)).toMatchObject({
      code: "ERR_NOT_FOUND",
      message: `id: no memory ${hidden.id}`,
    });
    expect((await run("memory_get", { id: shown.id })).structured).toMatchObject({ links: [] });
    expect((await run("memory_find", { tags: ["t"] })).structured).toMatchObject({
      memories: [{ id: shown.id }],
    });
    expect((await run("memory_explore", { id: shown.id })).structured).toMatchObject({
      memories: [],
      links: [],
    });
    expect((await run("memory_start", {})).structured).toMatchObject({ memories: 1, tags: ["t"] });
    for (const [name, args] of [
      ["memory_remember", { text: "x" }],
      ["memory_retire", { id: shown.id, reason: "x" }],
      ["memory_forget", { id: shown.id, reason: "x" }],
      ["memory_stats", {}],
    ] as const) {
      expect(JSON.parse((await run(name, args)).text)).toMatchObject({ code: "ERR_DENIED" });
    }
  });

  test("tells nothing of a fault of ours but that it happened, and logs it", async () => {
    const broken = defineTool({
      name: "memory_broken",
      title: "Broken",
      description: "Breaks.",
      verbs: ["get"],
      effect: "read",
      idempotent: true,
      input: z.strictObject({}),
      output: z.object({}),
      call: () => Promise.reject(new Error("the secret reason")),
      text: () => "",
    });
    await using memory = await open("memory:");
    const { isError, text } = await broken.run(memory, {}, context);
    expect(isError).toBe(true);
    expect(JSON.parse(text)).toMatchObject({ code: "ERR_INTERNAL" });
    expect(text).not.toContain("secret");
    expect(logged.join("\n")).toContain("the secret reason");
  });

  test("a row that contradicts the facade fails at load", () => {
    const spec = {
      name: "memory_wrong",
      title: "Wrong",
      description: "Says that it reads.",
      verbs: ["write"],
      effect: "read",
      idempotent: true,
      input: z.strictObject({}),
      output: z.object({}),
      call: () => Promise.resolve(undefined),
      text: () => "",
    } as const;
    expect(() => defineTool(spec)).toThrow("memory_wrong");
  });
});

describe("the pieces", () => {
  test("schemas are announced without what a model need not read", () => {
    const schema = z.strictObject({
      when: z.int().meta({ description: "when", time: true }).exactOptional(),
      code: z.string().meta({ description: "a code", code: "ERR_AS_OF" }),
      name: z.string().min(1).exactOptional(),
      side: z.enum(["left", "right"]).describe("a side: left, right").exactOptional(),
      rest: z.record(z.string(), z.unknown()),
    });
    expect(announced(schema)).toEqual({
      type: "object",
      properties: {
        when: { type: ["integer", "string"], description: "when" },
        code: { type: "string", description: "a code" },
        name: { type: "string" },
        side: { type: "string", enum: ["left", "right"] },
        rest: { type: "object" },
      },
      required: ["code", "rest"],
      additionalProperties: false,
    });
    expect(mended(schema, { when: "2026-03-01", code: "2026-03-01", rest: {} })).toEqual({
      when: Date.UTC(2026, 2, 1),
      code: "2026-03-01",
      rest: {},
    });
    expect(mended(schema, { when: "soon" })).toEqual({ when: "soon" });
    expect(mended(schema, [1])).toEqual([1]);
  });

  test("a budget keeps the first items, and at least one", () => {
    const items = ["a".repeat(40), "b".repeat(40), "c".repeat(40)];
    expect(fit(items, 1000)).toEqual({ items, left: 0 });
    expect(fit(items, 22)).toEqual({ items: items.slice(0, 2), left: 1 });
    expect(fit(items, 1)).toEqual({ items: items.slice(0, 1), left: 2 });
    expect(fit([], 1)).toEqual({ items: [], left: 0 });
  });

  test("days and times of day", () => {
    expect(day(Date.UTC(2026, 2, 1))).toBe("2026-03-01");
    expect(day(Date.UTC(2026, 2, 1, 12, 30, 5))).toBe("2026-03-01T12:30Z");
    expect(day(Number.MAX_SAFE_INTEGER)).toBe("9007199254740991");
  });

  test("a client's name becomes a plain principal", () => {
    expect(clientPrincipal("claude-code")).toBe("mcp:claude-code");
    expect(clientPrincipal("  My\nClient ✨ 2 ")).toBe("mcp:My-Client-2");
    expect(clientPrincipal("x".repeat(500))).toBe(`mcp:${"x".repeat(48)}`);
    expect(clientPrincipal("✨")).toBe("mcp");
    expect(clientPrincipal(undefined)).toBe("mcp");
  });

  test("an agent gets the name of its client, and whoever came with a name keeps it", () => {
    expect(namedAccess(AGENT_ACCESS, "a client")).toEqual(throughDoor("mcp", "mcp:a-client"));
    const named = throughDoor("mcp", "mcp:first");
    for (const access of [named, throughDoor("host"), OWNER, GUEST]) {
      expect(namedAccess(access, "a client")).toBe(access);
    }
  });

  test("a block starts node by path, npx by name, and a shell for npx on Windows", () => {
    const launch = { node: "/n", script: "/s", platform: "linux", npx: false, args: ["--x"] };
    expect(clientBlock("claude", launch)).toEqual({
      mcpServers: { cortex: { command: "/n", args: ["/s", "mcp", "--x"] } },
    });
    expect(clientBlock("vscode", { ...launch, npx: true })).toEqual({
      servers: {
        cortex: {
          type: "stdio",
          command: "npx",
          args: ["-y", "@cortex-memory/server", "mcp", "--x"],
        },
      },
    });
    expect(clientBlock("cursor", { ...launch, npx: true, platform: "win32" })).toMatchObject({
      mcpServers: {
        cortex: {
          command: "cmd",
          args: ["/c", "npx", "-y", "@cortex-memory/server", "mcp", "--x"],
        },
      },
    });
    expect(Object.keys(CLIENTS)).toEqual(
      expect.arrayContaining(["claude", "cursor", "vscode", "windsurf"]),
    );
    expect(isInNpxCache("/h/.npm/_npx/ab/node_modules/x/main.js")).toBe(true);
    expect(isInNpxCache("/h/projects/npx/main.js")).toBe(false);
  });

  test("every error code has a JSON-RPC code", () => {
    const codes = Object.keys(ERROR_CODES) as (keyof typeof ERROR_STATUS)[];
    const wrong = codes.filter((code) => ![-32602, -32603].includes(ERROR_STATUS[code].mcp));
    expect(wrong).toEqual([]);
    expect(ERROR_STATUS.ERR_BAD_URI.mcp).toBe(-32602);
    expect(ERROR_STATUS.ERR_STORAGE.mcp).toBe(-32603);
  });
});
