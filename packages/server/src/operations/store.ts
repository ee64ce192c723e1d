/**
 * Operations on the store itself: configuration and counts.
 */
import { shownLocation } from "../config.js";
import { showConfig, showStats } from "../render/store.js";
import { defineOperation, takenFrom } from "./define.js";
import { configShape, statsShape } from "./shapes.js";

const configOperation = defineOperation({
  ...takenFrom("config"),
  summary: "Show the settings in force and the graph's configuration",
  help: "Settings say where they came from: a flag, a variable, a folder or the default.",
  example: "cortex config",
  output: configShape,
  call: async (memory, _, { access, settings }) => ({
    settings,
    graph: await memory.config({ access }),
  }),
  cli: { command: "config", group: "store", store: "optional", human: showConfig },
});

const configureOperation = defineOperation({
  ...takenFrom("configure"),
  help: `With --set key=value, which may be repeated; lists are separated by commas. The configuration is
journaled in the graph: conflictPolicy is lww or manual, kindWhitelist names the kinds allowed,
language says by which endings words are searched, trustedIssuers whose scopes are honoured,
ttlDays after how many days memories of a kind expire: ttlDays={"scrap":7}.`,
  example: "cortex config --set conflictPolicy=manual",
  output: configShape,
  call: async (memory, patch, { access, settings }) => {
    const { seq, ...graph } = await memory.configure(patch, { access });
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
  ...takenFrom("stats"),
  summary: "Show where the store is and how much it holds",
  help: "Counts of memories, edges and entries, the size in bytes, and the formats.",
  example: "cortex stats",
  output: statsShape,
  call: async (memory, _, { access, location }) => ({
    data: shownLocation(location),
    ...(await memory.stats({ access })),
  }),
  cli: { command: "stats", group: "store", human: showStats },
});

/** The operations on the store itself. */
export const STORE_OPERATIONS = [configOperation, configureOperation, statsOperation];
