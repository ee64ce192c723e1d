/**
 * The operation that reads a file of another program: `cortex import FILE --from PROGRAM`.
 */
import { CortexError } from "@cortex-memory/core";
import { listOf } from "@cortex-memory/core/contract";
import * as z from "zod";
import { isDatabaseAddress } from "../config.js";
import type { Program } from "../import/foreign.js";
import { showForeign } from "../render/imports.js";
import { defineOperation } from "./define.js";

const counts = { added: z.int(), updated: z.int(), unchanged: z.int() };
const trouble = z.object({ at: z.string(), code: z.string(), message: z.string() });

/** What an import did, or would do. */
export const foreignShape = z.object({
  ok: z.boolean().describe("false when it stopped at a bad record"),
  dryRun: z.boolean(),
  memories: z.object(counts),
  links: z.object({ added: z.int(), unchanged: z.int() }),
  skipped: z.object({
    count: z.int(),
    first: listOf(z.object({ at: z.string(), reason: z.string() })),
  }),
  errors: z.object({ count: z.int(), first: listOf(trouble) }),
  partial: z.boolean().describe("true when bad records were left out"),
  report: z.string().exactOptional(),
  stopped: trouble.exactOptional(),
  graphs: listOf(
    z.object({ id: z.string(), name: z.string(), reused: z.boolean(), ...counts }),
  ).exactOptional(),
});

/** The names are written out, so that help is printed without loading any reader. */
const PROGRAM_NAMES = [
  "memgraph",
  "mcp-memory",
  "kb",
  "mem0",
  "jsonl",
] as const satisfies readonly Program[];

const importForeignOperation = defineOperation({
  name: "importForeign",
  verbs: [],
  place: "importForeign",
  kind: "write",
  summary: "Given --from, read a file of another program",
  help: `The store is made if there is none; memgraph and kb bring graphs of their own. Ids and times are kept, a
second run adds only what is new, and what was changed here stays. A bad record stops it: what came before stays,
and the next run goes on there.`,
  example: "cortex import memory.jsonl --from mcp-memory --dry-run",
  input: z.strictObject({
    file: z.string().describe("the file, or the postgres:// address of memgraph; only read"),
    from: z.enum(PROGRAM_NAMES).describe("the program that wrote it"),
    dryRun: z.boolean().describe("say what would be done; change nothing").exactOptional(),
    skipBad: z.boolean().describe("report bad records and go on behind them").exactOptional(),
    report: z.string().describe("a file to name all that is left out in").exactOptional(),
  }),
  output: foreignShape,
  call: async (_memory, { file, ...input }, { location, actor, files, onProgress }) => {
    const isDatabase = input.from === "memgraph" && isDatabaseAddress(file);
    const path = isDatabase ? file : files.source(file);
    if (typeof path !== "string") {
      const message = "file: expected a path, because the file is read twice; got stdin";
      throw new CortexError("ERR_INVALID", message, { field: "file" });
    }
    // Loaded for this command alone: others should not wait for SQLite.
    const { importForeign } = await import("../import/foreign.js");
    const report = input.report === undefined ? undefined : files.source(input.report);
    const named = typeof report === "string" ? { report } : {};
    return importForeign({ ...input, ...named, file: path, location, actor, onProgress });
  },
  cli: {
    command: "import",
    group: "store",
    when: "from",
    store: "fresh",
    unit: "records",
    broken: "What was imported is kept, in whole commits; the same command goes on from there.",
    arguments: [{ field: "file", label: "FILE" }],
    human: showForeign,
  },
  http: { unavailable: "it works on files of the server's machine; run the command there" },
});

/** The operations that read files of other programs. */
export const IMPORT_OPERATIONS = [importForeignOperation];
