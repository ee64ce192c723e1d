/**
 * Who is measured, decided before anything is run: for each program what it is, how it keeps what it
 * is told, and which of the workloads it has a call for. A workload that a program has no call for is a
 * dash in the table, never an emulation of ours.
 *
 * `sync` says when a write has been acknowledged: "durable" is on the disk, "relaxed" is in the
 * system's memory (a power cut loses it), "none" is in the process.
 */

/**
 * One memory to be; its level, from 0 to 9, is what a filter asks for.
 * @typedef {import("../lib/workload.mjs").Item & { readonly level: number }} Item
 */

/**
 * An open store of some program. `write` gives back the id that `get` takes.
 * @typedef {{
 *   readonly pid?: number | undefined,
 *   write(item: Item): Promise<string> | string,
 *   batch?(items: readonly Item[]): Promise<string[]> | string[],
 *   remember?(session: string, turns: readonly import("../../eval/sets.mjs").Turn[]): Promise<readonly string[]>,
 *   titled?(title: string, text: string): Promise<string>,
 *   get?(id: string): unknown,
 *   page?(tag: string, limit: number): unknown,
 *   filter?(how: Filter): Promise<readonly unknown[]> | readonly unknown[],
 *   search?(words: readonly string[], limit: number): unknown,
 *   recall?(question: string, limit: number): unknown,
 *   link?(from: string, to: string): unknown,
 *   near?(id: string): unknown,
 *   update?(id: string, item: Item): unknown,
 *   history?(id: string): unknown,
 *   settle?(): Promise<void>,
 *   close(): Promise<void> | void,
 * }} Store
 */

/**
 * What has a tag and at least a level.
 * @typedef {{ readonly tag: string, readonly leastLevel: number, readonly limit: number }} Filter
 */

/**
 * @typedef {{
 *   readonly name: string,
 *   readonly door: "library" | "MCP",
 *   readonly what: string,
 *   readonly sync: "durable" | "relaxed" | "none",
 *   readonly how: string,
 *   readonly file: string,
 *   readonly package?: string,
 *   readonly node22?: boolean,
 *   readonly postgres?: boolean,
 *   readonly shared: boolean,
 *   readonly beside?: string,
 *   readonly product?: boolean,
 *   readonly otherwise?: Readonly<Record<string, string>>,
 * }} Peer
 * beside: which of ours does its job, through the same door and on the same kind of store; product: people take it as an agent's
 * memory; otherwise: workloads that it does by not quite the same job as the others, and by which: comparisons mark them;
 * file: the adapter; package: whose installed size counts; postgres: it is given the address of a new database in
 * place of a folder; shared: two processes may open one store
 */

/** @type {readonly Peer[]} */
export const PEERS = [
  {
    name: "cortex",
    door: "library",
    what: "memory graph with history and proofs",
    sync: "durable",
    how: "LMDB, fdatasync",
    file: "ours.mjs",
    package: "@cortex-memory/core",
    shared: true,
  },
  {
    name: "hand-rolled SQLite",
    door: "library",
    what: "a table, FTS5, triggers, links and versions",
    sync: "durable",
    how: "WAL, synchronous=FULL",
    file: "hand-rolled.mjs",
    shared: true,
    beside: "cortex",
  },
  {
    name: "mem0 oss",
    door: "library",
    what: "vectors and history in two SQLite files; no model asked (infer: false)",
    sync: "durable",
    how: "rollback journal, synchronous=FULL",
    file: "mem0.mjs",
    package: "mem0ai",
    shared: true,
    beside: "cortex",
    product: true,
    otherwise: {
      batch: "one after another, each embedded: it has no call for many",
      write: "embedded on the way of the write",
      "writes at once": "embedded on the way of the write",
      recall: "by meaning alone",
    },
  },
  {
    name: "Mastra libsql",
    door: "library",
    what: "threads and messages in libSQL",
    sync: "relaxed",
    how: "WAL, synchronous=NORMAL",
    file: "mastra.mjs",
    package: "@mastra/libsql",
    node22: true,
    shared: true,
    beside: "cortex",
    product: true,
    otherwise: { page: "the messages of a thread" },
  },
  {
    name: "LangGraph store",
    door: "library",
    what: "InMemoryStore: namespaces of JSON, search by vectors",
    sync: "none",
    how: "in the process",
    file: "langgraph.mjs",
    package: "@langchain/langgraph",
    shared: false,
    beside: "cortex",
    product: true,
    otherwise: { recall: "by meaning alone", batch: "all at once: it has no call for many" },
  },
  {
    name: "minisearch",
    door: "library",
    what: "full-text index in the process",
    sync: "none",
    how: "in the process",
    file: "minisearch.mjs",
    package: "minisearch",
    shared: false,
    beside: "cortex",
  },
  {
    name: "cortex on Postgres",
    door: "library",
    what: "the same store in a database",
    sync: "durable",
    how: "PostgreSQL, synchronous_commit=on",
    file: "ours-postgres.mjs",
    postgres: true,
    shared: true,
  },
  {
    name: "LangGraph on Postgres",
    door: "library",
    what: "PostgresStore: a table of JSON, without vectors",
    sync: "durable",
    how: "PostgreSQL, synchronous_commit=on",
    file: "langgraph-postgres.mjs",
    package: "@langchain/langgraph-checkpoint-postgres",
    postgres: true,
    shared: true,
    beside: "cortex on Postgres",
    product: true,
  },
  {
    name: "cortex mcp",
    door: "MCP",
    what: "the same store through its MCP server",
    sync: "durable",
    how: "LMDB, fdatasync",
    file: "ours-mcp.mjs",
    package: "@cortex-memory/server",
    shared: true,
  },
  {
    name: "server-memory",
    door: "MCP",
    what: "the reference knowledge graph: one file of JSON lines",
    sync: "relaxed",
    how: "whole file written and renamed, no fsync",
    file: "server-memory.mjs",
    package: "@modelcontextprotocol/server-memory",
    shared: true,
    beside: "cortex mcp",
    product: true,
    otherwise: { search: "one word, through all entities" },
  },
  {
    name: "mcp-memory-libsql",
    door: "MCP",
    what: "entities and relations in libSQL",
    sync: "durable",
    how: "rollback journal, synchronous=FULL",
    file: "memory-libsql.mjs",
    package: "mcp-memory-libsql",
    shared: true,
    beside: "cortex mcp",
    product: true,
    otherwise: {
      batch: "50 in a call",
      get: "a search for its name: it has no call for one entity",
      search: "one word",
    },
  },
];
