/**
 * The configuration of a graph, journaled in the graph it configures: how conflicts are settled and
 * which kinds are allowed. Without a configuration the last writer wins and every kind is allowed.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { CortexError, invalid } from "../errors.js";
import { decodePointer } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { WriteTx } from "../history/writer.js";
import { partRecord, SUBJECT, splitEntry } from "../journal/entry.js";
import { CONFIG_KEY, journalKey } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { checkKind } from "../memory/frames.js";
import { checkObject, checkOptions, checkPrincipal, type Engine } from "./engine.js";
import { ask } from "./read-ahead.js";

/** How a stale write is settled: the last writer wins, or both versions stay until someone decides. */
export type ConflictPolicy = "lww" | "manual";

/** The configuration of a graph. */
export interface GraphConfig {
  readonly conflictPolicy: ConflictPolicy;
  /** Empty allows every kind. */
  readonly kindWhitelist: readonly string[];
}

/** What holds until something else is configured. */
export const DEFAULT_CONFIG: GraphConfig = { conflictPolicy: "lww", kindWhitelist: [] };

/** The configuration as a write sees it. */
export function configOf(tx: WriteTx): GraphConfig {
  const row = tx.view.get(CONFIG_KEY);
  if (row === undefined) return DEFAULT_CONFIG;
  const pointer = decodePointer(row);
  ask(tx, [journalKey(pointer.seq)]);
  const entry = tx.view.get(journalKey(pointer.seq));
  const part = entry === undefined ? undefined : splitEntry(entry).parts[pointer.part];
  return part === undefined ? DEFAULT_CONFIG : decodeConfig(partRecord(part));
}

/** Refuses a kind that the graph's whitelist does not hold; a memory without a kind is free. */
export function checkKindAllowed(tx: WriteTx, kind: string | undefined): void {
  if (kind === undefined) return;
  const { kindWhitelist } = configOf(tx);
  if (kindWhitelist.length === 0 || kindWhitelist.includes(kind)) return;
  throw invalid("kind", `one of ${kindWhitelist.join(", ")}`, kind, "ERR_KIND_NOT_ALLOWED");
}

/** The configuration now in force. */
export function getConfig(engine: Engine): Promise<GraphConfig> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [row] = await reader.getMany([CONFIG_KEY]);
    if (row === undefined) return DEFAULT_CONFIG;
    const [found] = await reader.records([decodePointer(row)], (bytes) => decodeConfig(bytes));
    return found?.record ?? DEFAULT_CONFIG;
  });
}

/** Changes the configuration; what the patch leaves out stays. */
export async function setConfig(
  engine: Engine,
  patch: Partial<GraphConfig>,
  options: { readonly by?: string } = {},
): Promise<GraphConfig & { readonly seq: number }> {
  const checked = checkConfig(patch);
  checkOptions(options, ["by", "access"]);
  const by = checkPrincipal(options.by, engine.principal);
  const { value, seq } = await engine.writer.submit({
    run: (tx) => {
      const next = { ...configOf(tx), ...checked };
      tx.append({
        kind: "config",
        by,
        parts: [{ subject: Uint8Array.of(SUBJECT.config), record: encodeConfig(next) }],
      });
      return next;
    },
  });
  return { ...value, seq };
}

function checkConfig(patch: Partial<GraphConfig>): Partial<GraphConfig> {
  const { conflictPolicy, kindWhitelist, ...rest } = checkObject(patch, "config");
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new CortexError(
      "ERR_UNKNOWN_FIELD",
      `${unknown}: expected conflictPolicy or kindWhitelist`,
      {
        field: unknown,
      },
    );
  }
  if (conflictPolicy === undefined && kindWhitelist === undefined) {
    throw new CortexError("ERR_NO_CHANGE", "config: expected conflictPolicy or kindWhitelist", {
      field: "config",
    });
  }
  if (conflictPolicy !== undefined && conflictPolicy !== "lww" && conflictPolicy !== "manual") {
    throw invalid("conflictPolicy", "lww or manual", conflictPolicy);
  }
  if (kindWhitelist !== undefined && !Array.isArray(kindWhitelist)) {
    throw invalid("kindWhitelist", "a list of kinds", kindWhitelist);
  }
  if (kindWhitelist !== undefined && kindWhitelist.length > LIMITS.listItems) {
    throw invalid("kindWhitelist", `at most ${LIMITS.listItems} kinds`, kindWhitelist);
  }
  const kinds = kindWhitelist?.map((kind, at) => checkKind(kind, `kindWhitelist[${at}]`));
  return {
    ...(conflictPolicy === undefined ? {} : { conflictPolicy }),
    ...(kinds === undefined ? {} : { kindWhitelist: [...new Set(kinds)] }),
  };
}

function encodeConfig(config: GraphConfig): Uint8Array {
  return encode({ conflictPolicy: config.conflictPolicy, kindWhitelist: config.kindWhitelist });
}

function decodeConfig(bytes: Uint8Array): GraphConfig {
  const value = decode(bytes) as { readonly [name: string]: CborValue };
  return {
    conflictPolicy: value.conflictPolicy === "manual" ? "manual" : "lww",
    kindWhitelist: (value.kindWhitelist ?? []) as readonly string[],
  };
}
