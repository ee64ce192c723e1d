/**
 * Operations on the store itself: configuration and counts.
 */
import { LANGUAGES } from "@cortex-memory/core";
import * as z from "zod";
import { showConfig, showStats } from "../render/store.js";
import { defineOperation } from "./define.js";
import { by, listOf } from "./fields.js";
import { configShape, statsShape } from "./shapes.js";

const configOperation = defineOperation({
  name: "config",
  verbs: ["config"],
  kind: "read",
  summary: "Show the settings in force and the graph's configuration",
  help: "Settings say where they came from: a flag, a variable, a folder or the default.",
  example: "cortex config",
  input: z.strictObject({}),
  output: configShape,
  call: async (memory, _, { access, settings }) => ({
    settings,
    graph: await memory.config({ access }),
  }),
  cli: { command: "config", group: "store", store: "optional", human: showConfig },
});

const configureOperation = defineOperation({
  name: "configure",
  verbs: ["configure"],
  kind: "write",
  summary: "Change the graph's configuration",
  help: `With --set key=value, which may be repeated; lists are separated by commas. The configuration is
journaled in the graph: conflictPolicy is lww or manual, kindWhitelist names the kinds allowed,
language says by which endings words are searched, trustedIssuers whose scopes are honoured,
ttlDays after how many days memories of a kind expire: ttlDays={"scrap":7}.`,
  example: "cortex config --set conflictPolicy=manual",
  input: z.strictObject({
    conflictPolicy: z
      .enum(["lww", "manual"])
      .describe("a stale write is refused (lww), or kept as a rival (manual)")
      .exactOptional(),
    kindWhitelist: listOf(z.string())
      .describe("the kinds allowed; an empty list allows every kind")
      .exactOptional(),
    language: z
      .enum(LANGUAGES)
      .describe("the language of the texts, for searching; none keeps words as they are")
      .exactOptional(),
    trustedIssuers: listOf(z.string())
      .describe("the public keys whose scopes are honoured; an empty list trusts nobody")
      .exactOptional(),
    ttlDays: z
      .record(z.string(), z.int().min(1).nullable())
      .describe("days after which memories of a kind expire, kind by kind; null removes one")
      .exactOptional(),
    by,
  }),
  output: configShape,
  call: async (memory, { by: principal, ...patch }, { access, settings }) => {
    const options = { access, ...(principal === undefined ? {} : { by: principal }) };
    const { seq, ...graph } = await memory.configure(patch, options);
    return { settings, graph, seq };
  },
  cli: {
    command: "config",
    group: "store",
    assign: "set",
    when: "set",
    store: "create",
    human: showConfig,
  },
});

const statsOperation = defineOperation({
  name: "stats",
  verbs: ["stats"],
  kind: "read",
  summary: "Show where the store is and how much it holds",
  help: "Counts of memories, edges and entries, the size in bytes, and the formats.",
  example: "cortex stats",
  input: z.strictObject({}),
  output: statsShape,
  call: async (memory, _, { access, location }) => ({
    data: location,
    ...(await memory.stats({ access })),
  }),
  cli: { command: "stats", group: "store", human: showStats },
});

/** The operations on the store itself. */
export const STORE_OPERATIONS = [configOperation, configureOperation, statsOperation];
