/**
 * Nobody but the owner speaks for the owner: every writing tool of every profile, memgraph's among them,
 * is called by an agent with a claim above its door, and refused; a host that speaks for the user says
 * yes over MCP. Which fields hold claims is read off the tools themselves.
 */
import { type Cortex, type Hub, openHub } from "@cortex-memory/core";
import { throughDoor } from "@cortex-memory/core/doors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tool, ToolContext } from "../src/mcp/define.js";
import { toolsOf } from "../src/mcp/tools.js";

type Schema = { readonly [keyword: string]: unknown };

let hub: Hub;

beforeAll(async () => {
  hub = await openHub("memory:");
  await hub.createGraph({ name: "Ada", id: "ada" });
});

afterAll(() => hub.close());

function contextOf(access: ToolContext["access"]): ToolContext {
  const log = (line: string): void => {
    throw new Error(line);
  };
  return { access, location: "memory:", settings: [], hub: async () => hub, log };
}

const AGENT = contextOf(throughDoor("mcp", "mcp:test"));

function run(tool: Tool, input: object, context = AGENT) {
  return hub.use("ada", (memory: Cortex) => tool.run(memory, input, context));
}

function named(name: string): Tool {
  const tool = toolsOf("full", true).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return tool;
}

/** A value that fits a schema, as small as can be. */
function sampleOf(schema: Schema): unknown {
  const [first] = (schema.anyOf ?? schema.oneOf ?? []) as readonly Schema[];
  if (first !== undefined) return sampleOf(first);
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (schema.type) {
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "array":
      return [sampleOf((schema.items ?? {}) as Schema)];
    case "object":
      return plainInput(schema);
    default:
      return "ada";
  }
}

function plainInput(schema: Schema): { readonly [field: string]: unknown } {
  const properties = (schema.properties ?? {}) as { readonly [name: string]: Schema };
  const required = (schema.required ?? []) as readonly string[];
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]));
}

/** What claims more than an agent may, by the field that says it. */
const RAISES: { readonly [field: string]: unknown } = {
  source: "user_input",
  status: "confirmed",
  by: "ada",
  provenance: { source: "user_input" },
};

/** Inputs of a tool, each with one claim above the door. */
function raised(tool: Tool): readonly (readonly [string, object])[] {
  const schema = tool.inputSchema() as Schema;
  const properties = Object.keys((schema.properties ?? {}) as object);
  const plain = plainInput(schema);
  return Object.entries(RAISES)
    .filter(([field]) => properties.includes(field))
    .map(([field, value]) => [field, { ...plain, [field]: value }] as const);
}

const WRITING = toolsOf("full", true).filter(({ effect }) => effect !== "read");

describe("an agent", () => {
  test.each(WRITING.filter((tool) => raised(tool).length > 0))(
    "claims nothing above its door through $name",
    async (tool) => {
      for (const [field, input] of raised(tool)) {
        const { isError, text } = await run(tool, input);
        expect([field, isError, text]).toEqual([field, true, expect.stringContaining("ERR_TRUST")]);
        expect(text).toContain("MCP speaks as agent");
      }
    },
  );

  test("nor in an item of a batch or a subgraph", async () => {
    const items = [
      { write: { type: "identity", text: "I am Bob", source: "user_input" } },
      { write: { type: "identity", text: "I am Bob", status: "confirmed" } },
      { write: { type: "identity", text: "I am Bob", by: "ada" } },
    ];
    for (const item of items) {
      const { text } = await run(named("memory_batch"), { items: [item] });
      expect(text).toContain("ERR_TRUST");
    }
  });

  test("writes as an agent through memgraph's tools", async () => {
    const put = { graph_id: "ada", kind: "k", content: "a node" };
    const { structured } = await run(named("memgraph_put_node"), put);
    expect(structured?.created_by).toBe("unknown");
    const lineage = String(structured?.lineage_id);
    const memory = await hub.use("ada", (graph) => graph.get(lineage));
    expect(memory?.head.source).toBe("agent");
    expect(memory?.versionRecord.createdBy).toBe("mcp:test");
  });

  test("names authors through memgraph's tools only below its own name, and is shown the name it gave", async () => {
    const node = { kind: "k", content: "c", created_by: "bob" };
    const put = await run(named("memgraph_put_node"), { graph_id: "ada", ...node });
    const { lineage_id } = put.structured as { readonly lineage_id: string };
    const many = await run(named("memgraph_put_subgraph"), {
      graph_id: "ada",
      nodes: [node],
      edges: [
        { from_lineage: lineage_id, to_lineage: lineage_id, kind: "cites", created_by: "bob" },
        { from_lineage: lineage_id, to_lineage: lineage_id, kind: "cites" },
      ],
    });
    const { nodes } = many.structured as { readonly nodes: readonly { lineage_id: string }[] };
    for (const lineage of [lineage_id, nodes[0]?.lineage_id ?? ""]) {
      const shown = await run(named("memgraph_get_node"), { lineage_id: lineage });
      expect(shown.structured?.created_by).toBe("bob");
      const memory = await hub.use("ada", (graph) => graph.get(lineage));
      expect(memory?.versionRecord.createdBy).toBe("mcp:test/bob");
    }
    const walk = await run(named("memgraph_traverse"), { from_lineage: lineage_id });
    const { edges } = walk.structured as { readonly edges: readonly { created_by: string }[] };
    expect(edges.map(({ created_by }) => created_by)).toEqual(["bob", ""]);
    const { edges: kept } = await hub.use("ada", (graph) => graph.edgesOut(lineage_id));
    expect(kept.map(({ createdBy }) => createdBy)).toEqual(["mcp:test/bob", "mcp:test"]);
  });
});

describe("forgetting over MCP", () => {
  const by = (source: object) => ({ reason: "she asked", ...source });

  test("a session, a slot or a tag is listed first, and goes when the call is made in earnest", async () => {
    const host = contextOf(throughDoor("host"));
    for (const [name, selector] of [
      ["session", { session: "talk" }],
      ["slot", { slot: "shoe size" }],
      ["tag", { tag: "shoes" }],
    ] as const) {
      const ids = await hub.use("ada", async (graph) => {
        const turns = [{ role: "user", content: `words about ${name}` }] as const;
        if (name === "session") {
          return (await graph.remember(turns, { session: "talk" })).turns.map(({ id }) => id);
        }
        const more = name === "slot" ? { slot: "shoe size" } : { tags: ["shoes"] };
        return [(await graph.write({ type: "fact", text: `words about ${name}`, ...more })).id];
      });
      const dry = await run(named("memory_forget"), by({ ...selector, dryRun: true }), host);
      expect([name, dry.isError, dry.structured]).toMatchObject([name, undefined, {}]);
      for (const id of ids) {
        expect(dry.text).toContain(id);
        expect(await hub.use("ada", (graph) => graph.get(id))).toBeDefined();
      }
      const done = await run(named("memory_forget"), by(selector), host);
      expect(done.structured).toMatchObject({ erased: ids });
      for (const id of ids) {
        expect(await hub.use("ada", (graph) => graph.get(id))).toBeUndefined();
      }
    }
  });

  test("needs exactly one of them, and an agent does not destroy the owner's word", async () => {
    const two = await run(named("memory_forget"), by({ slot: "a", tag: "b" }));
    expect([two.isError, two.text]).toEqual([true, expect.stringContaining("ERR_INVALID")]);
    const none = await run(named("memory_forget"), by({}));
    expect([none.isError, none.text]).toEqual([true, expect.stringContaining("ERR_INVALID")]);
    const input = { type: "fact", text: "The key is under the mat", tags: ["home"] } as const;
    const { id } = await hub.use("ada", (graph) => graph.write(input));
    for (const selector of [{ id }, { tag: "home" }]) {
      const refused = await run(named("memory_forget"), by(selector));
      expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining("ERR_TRUST")]);
    }
    expect(await hub.use("ada", (graph) => graph.get(id))).toBeDefined();
  });
});

describe("a host that speaks for the user", () => {
  test("confirms what an agent said, and carries out what it proposed", async () => {
    const host = contextOf(throughDoor("host"));
    const said = { text: "Likes tea", type: "preference" };
    const { structured } = await run(named("memory_remember"), said);
    const id = String(structured?.id);
    const yes = { item: `provisional-${id}`, decision: "keep_one", reason: "she said so" };
    expect((await run(named("memory_review"), yes)).text).toContain("ERR_TRUST");
    expect((await run(named("memory_review"), yes, host)).text).toMatch(/^Settled/);
    const refused = await run(named("memory_retire"), { id, reason: "coffee now" });
    const [proposal] = /proposal(?:-\w{26}){3}/.exec(refused.text) ?? [];
    const listed = await run(named("memory_review"), {}, host);
    expect(listed.text).toContain(`${proposal}`);
    const done = { item: proposal, decision: "keep_one", reason: "she did" };
    expect((await run(named("memory_review"), done, host)).text).toMatch(/^Settled/);
    const memory = await hub.use("ada", (graph) => graph.get(id));
    expect(memory?.head).toMatchObject({ status: "confirmed", lifecycle: "tombstoned" });
  });
});
