/**
 * Operations that move a whole store: out to a file, in from one, up to this release, in from a file of another program.
 * What a name of a file stands for is the door's affair; the bytes and every check are core's.
 */
import {
  CortexError,
  eraseAgain,
  importJournal,
  isCortexError,
  repair,
  restoreBackup,
  type UpgradeOptions,
  upgrade,
} from "@cortex-memory/core";
import { by, type ErasureDocument, listOf, VERBS } from "@cortex-memory/core/contract";
import * as z from "zod";
import { isDatabaseAddress } from "../config.js";
import type { Program } from "../import/foreign.js";
import {
  showErasures,
  showExported,
  showForeign,
  showImported,
  showUpgrade,
} from "../render/store.js";
import { showRepaired } from "../render/upkeep.js";
import { defineOperation, takenFrom } from "./define.js";
import { checkpointText } from "./journal.js";

const seq = z.int();
const position = { entries: z.int(), seq, root: z.string() };

/** What was read in from a file. */
export const importedShape = z.object({
  ...position,
  epoch: z.int(),
  erasedAgain: z.int(),
});

/** What was restored, and what to be warned of. */
const restoredShape = importedShape.extend({ warning: z.string().exactOptional() });

/** How much a list of erasures names. */
export const erasuresShape = z.object({ entries: z.int(), seq, erased: z.int() });

const form = z.object({ format: z.int(), foldVersion: z.int() });

/** What a repair did, or would do. */
export const repairShape = z.object({
  ok: z.boolean(),
  needed: z.boolean(),
  dryRun: z.boolean(),
  problems: listOf(z.string()),
  entries: z.int(),
  taken: z.int(),
  missing: z.int(),
  lost: listOf(seq),
  aside: z.string().exactOptional(),
});

/** What an upgrade did, or would do. */
export const upgradeShape = z.object({
  needed: z.boolean(),
  from: form,
  to: form,
  steps: listOf(z.string()),
  backup: z.string().exactOptional(),
  upgraded: z.object(position).exactOptional(),
});

const trusted = z
  .string()
  .meta({
    description: "a file with a checkpoint seen before: the history must reach it and agree",
    file: true,
  })
  .exactOptional();

const newFile = z.string().describe("a new file; - writes to stdout");
/** Exports and backups are bytes of a format of their own. */
const BYTES = "application/octet-stream";
const ON_THE_MACHINE = "it works on files of the server's machine; run the command there";
const fileOut = { field: "file", label: "FILE|-" } as const;

/** What is told when writing a file is broken off. */
const UNFINISHED = "The store is as it was, and no file was finished.";
/** What is told when an import is broken off. */
const NOT_IMPORTED =
  "No store was put in place; the same command starts anew, or goes on where the store is to be in a database.";
/** What is told when building a store anew is broken off. */
const UNCHANGED = "The store is as it was; the same command starts anew.";
/** What is told when building a store is broken off. */
const NOT_BUILT = "No store was put in place; the same command starts anew.";

const exportOperation = defineOperation({
  ...takenFrom("exportJournal"),
  name: "export",
  help: `Import reads it anywhere: same actor, same root. The file is private (mode 0600) and appears when it is
complete; one that is there already is not overwritten. With \`-\` the answer goes to stderr.`,
  example: "cortex export journal.cortex",
  input: z.strictObject({ file: newFile }),
  output: VERBS.exportJournal.output,
  call: (memory, { file }, { access, files, onProgress }) =>
    memory.exportJournal(files.target(file), { access, onProgress }),
  cli: {
    command: "export",
    group: "store",
    broken: UNFINISHED,
    arguments: [fileOut],
    human: showExported("exported"),
  },
  http: { sends: "file", mediaType: BYTES },
});

/** Whoever meant a file of another program, and left out which, is refused for what an export needs. */
function namingFrom(error: unknown): unknown {
  const isMeant =
    isCortexError(error) &&
    (error.code === "ERR_EXISTS" || error.code === "ERR_EXPORT_MALFORMED") &&
    error.details.seq === undefined;
  if (!isMeant) return error;
  const message = `${error.message}; for a file of another program, say which with --from`;
  return new CortexError(error.code, message, error.details, error.cause);
}

const importOperation = defineOperation({
  name: "import",
  verbs: [],
  place: "importJournal",
  kind: "write",
  summary: "Build a new store from an export",
  help: `The store must not be there yet, and the actor must be the file's. Every hash, snapshot and root is
checked; until all of it is, there is no store. With --data memory: it only checks the file. A text of
"User: …" lines is taken for a transcript, as with --from transcript.`,
  example: "cortex import journal.cortex --data ./copy",
  input: z.strictObject({
    file: z.string().describe("the export; - reads stdin"),
    checkpoint: trusted,
  }),
  output: importedShape,
  call: (_memory, { file, checkpoint }, { location, actor, files, onProgress }) =>
    importJournal(location, files.source(file), {
      actor,
      onProgress,
      ...(checkpoint === undefined ? {} : { checkpoint: checkpointText(checkpoint) }),
    }).catch((error: unknown) => {
      throw namingFrom(error);
    }),
  cli: {
    command: "import",
    group: "store",
    broken: NOT_IMPORTED,
    store: "fresh",
    arguments: [{ field: "file", label: "FILE|-" }],
    human: showImported("imported"),
  },
  http: { unavailable: ON_THE_MACHINE },
});

const backupOperation = defineOperation({
  ...takenFrom("backup"),
  help: `All of it, or with --since what came after a backup before: give the seq that one answered. Keep the list
that erasures writes apart from the backups, and renew it after every forget.`,
  example: "cortex backup monday.cortex",
  input: z.strictObject({ file: newFile, ...VERBS.backup.options }),
  output: VERBS.backup.output,
  call: (memory, { file, since }, { access, files, onProgress }) =>
    memory.backup(files.target(file), { since, access, onProgress }),
  cli: {
    command: "backup",
    group: "store",
    broken: UNFINISHED,
    arguments: [fileOut],
    human: showExported("backed up"),
  },
  http: { sends: "file", mediaType: BYTES },
});

const erasuresOperation = defineOperation({
  ...takenFrom("erasures"),
  summary: "Write the list of what was forgotten, for restores",
  help: `It names places in the journal and no content. Restore takes it, so that an old backup does not bring
forgotten memories back. The file is replaced if it is an older list of the same store.`,
  example: "cortex erasures erasures.json",
  input: z.strictObject({ file: z.string().describe("the list; - writes to stdout") }),
  output: erasuresShape,
  call: async (memory, { file }, { access, files }) => {
    const list = await memory.erasures({ access });
    await files.save(file, `${JSON.stringify(list)}\n`, (before) => isOlderList(before, list));
    return { entries: list.size, seq: list.size - 1, erased: list.erased.length };
  },
  cli: { command: "erasures", group: "store", arguments: [fileOut], human: showErasures },
  http: { sends: "file", mediaType: "application/json" },
});

/** Whether a list says everything that an older text says, so that the text is no loss. */
function isOlderList(before: string, list: ErasureDocument): boolean {
  let old: Partial<ErasureDocument> | null;
  try {
    old = JSON.parse(before) as Partial<ErasureDocument> | null;
  } catch {
    return false;
  }
  if (old?.cortex !== "erasures" || old.storeId !== list.storeId) return false;
  if (old.actor !== list.actor || !Array.isArray(old.erased)) return false;
  const known = new Set(list.erased.map(String));
  return old.erased.every((place) => known.has(String(place)));
}

const restoreOperation = defineOperation({
  name: "restoreBackup",
  verbs: [],
  place: "restoreBackup",
  kind: "write",
  summary: "Given backup files, build a new store from them",
  help: `When the first argument is a file that a backup made, or \`-\`, the store at --data, which must not be there
yet, is built from a full backup and its increments, in order. Give the newest list of erasures with --erasures:
without it, what was forgotten since the backup comes back, and a warning says so.`,
  example: "cortex restore monday.cortex --erasures erasures.json --data ./restored",
  input: z.strictObject({
    files: listOf(z.string()).describe("a full backup, then its increments; - reads stdin"),
    erasures: z
      .string()
      .meta({ description: "the file with the newest list of erasures", file: true })
      .exactOptional(),
    checkpoint: trusted,
  }),
  output: restoredShape,
  call: (_memory, { files: names, erasures, checkpoint }, { location, actor, ...door }) =>
    restoreBackup(
      location,
      names.map((name) => door.files.source(name)),
      {
        actor,
        onProgress: door.onProgress,
        ...(erasures === undefined ? {} : { erasures }),
        ...(checkpoint === undefined ? {} : { checkpoint: checkpointText(checkpoint) }),
      },
    ),
  cli: {
    command: "restore",
    group: "store",
    whenBackups: true,
    store: "fresh",
    broken: NOT_BUILT,
    arguments: [{ field: "files", label: "FILE", rest: true }],
    human: showImported("restored"),
  },
  http: { unavailable: ON_THE_MACHINE },
});

const eraseAgainOperation = defineOperation({
  name: "eraseAgain",
  verbs: [],
  place: "eraseAgain",
  kind: "write",
  summary: "Erase again what a list names, in a store that was set back",
  help: `For a database or a disk that was restored to an earlier point, which brings back what was forgotten after
it. Give the newest list that erasures wrote, and do it before anybody writes: the list names places of the journal, and
what is written after the point stands in the same places. The root stays the same; the store goes on under the next epoch.`,
  example: "cortex erase-again erasures.json",
  input: z.strictObject({
    file: z.string().meta({ description: "the newest list of erasures", file: true }),
  }),
  output: restoredShape,
  call: (_memory, { file }, { location, actor, onProgress }) =>
    eraseAgain(location, file, { actor, onProgress }),
  cli: {
    command: "erase-again",
    group: "store",
    store: "closed",
    broken: UNCHANGED,
    arguments: [{ field: "file", label: "FILE" }],
    human: showImported("erased again in"),
  },
  http: { unavailable: ON_THE_MACHINE },
});

const repairOperation = defineOperation({
  name: "repair",
  verbs: [],
  place: "repair",
  kind: "write",
  summary: "Build a damaged store again, with what it lost from a backup or another copy",
  help: `Stop whatever has the store open first. Everything derived is built from the journal; entries that the
journal lost are taken from --from (a backup and its increments, an export, or the folder of a copy or replica), each
compared with the hashes of the store itself. The damaged folder is kept under another name. Where an entry cannot be
had, nothing is changed, and the command names it and exits with 1. --dry-run says what would be done. Where it cannot
be read any more whether the store followed another, say so with --was.`,
  example: "cortex repair --dry-run",
  input: z.strictObject({
    from: listOf(z.string()).describe("where lost entries may be had").exactOptional(),
    dryRun: z.boolean().describe("say what would be done; change nothing").exactOptional(),
    was: z
      .enum(["store", "replica"])
      .describe("what it was, where that is lost: a store of its own, or a replica")
      .exactOptional(),
  }),
  output: repairShape,
  call: (_memory, input, { location, actor, onProgress }) =>
    repair(location, { ...input, actor, onProgress }),
  cli: {
    command: "repair",
    group: "store",
    store: "closed",
    broken: NOT_BUILT,
    human: showRepaired,
  },
  http: { unavailable: ON_THE_MACHINE },
});

const upgradeOperation = defineOperation({
  name: "upgrade",
  verbs: [],
  place: "upgrade",
  kind: "write",
  summary: "Bring a store that an older release wrote to this one's form",
  help: `Makes a backup first, beside the store unless --backup says otherwise (a store in a database needs it), builds
everything derived again and journals the change. A store of this form is left as it is. --dry-run says what would be done.`,
  example: "cortex upgrade --dry-run",
  input: z.strictObject({
    dryRun: z.boolean().describe("say what would be done; change nothing").exactOptional(),
    backup: z.string().describe("the file for the backup").exactOptional(),
    by,
  }),
  output: upgradeShape,
  call: (_memory, { dryRun, backup, by: principal }, { location, actor, files, onProgress }) => {
    const options: UpgradeOptions = {
      actor,
      onProgress,
      ...(dryRun === undefined ? {} : { dryRun }),
      ...(backup === undefined ? {} : { backup: files.target(backup) }),
      ...(principal === undefined ? {} : { principal }),
    };
    return upgrade(location, options);
  },
  cli: { command: "upgrade", group: "store", store: "closed", human: showUpgrade },
  http: { unavailable: ON_THE_MACHINE },
});

/** The operations that move a store. */
export const MOVE_OPERATIONS = [
  exportOperation,
  importOperation,
  backupOperation,
  erasuresOperation,
  restoreOperation,
  eraseAgainOperation,
  repairOperation,
  upgradeOperation,
];

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
  "transcript",
] as const satisfies readonly Program[];

const importForeignOperation = defineOperation({
  name: "importForeign",
  verbs: [],
  place: "importForeign",
  kind: "write",
  summary: "Given --from, read a file of another program",
  help: `The store is made if there is none; memgraph and kb bring graphs of their own, a transcript becomes the
turns of a conversation named after its file. Ids and times are kept, a second run adds only what is new, and what
was changed here stays. A bad record stops it: what came before stays, and the next run goes on there.`,
  example: "cortex import memory.jsonl --from mcp-memory --dry-run",
  input: z.strictObject({
    file: z.string().describe("the file, or the postgres:// address of memgraph; only read"),
    from: z
      .enum(PROGRAM_NAMES)
      .describe("the program that wrote it; transcript where the text says who speaks")
      .exactOptional(),
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
    const { from = "transcript" } = input;
    return importForeign({ ...input, ...named, from, file: path, location, actor, onProgress });
  },
  cli: {
    command: "import",
    group: "store",
    when: "from",
    whenTranscript: true,
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
