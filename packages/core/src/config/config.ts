/**
 * The configuration of a graph, journaled in the graph it configures: how conflicts are settled,
 * which kinds are allowed, what people call it, and what its owner noted about it. Without a
 * configuration the last writer wins and every kind is allowed. A field that was never set takes no
 * byte, so a configuration of an earlier release reads as it always did.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { checkObject, checkOptions, checkPrincipal, type Engine } from "../engine/engine.js";
import { ask } from "../engine/read-ahead.js";
import { CortexError, invalid } from "../errors.js";
import { decodePointer } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { WriteTx } from "../history/writer.js";
import { partRecord, SUBJECT, splitEntry } from "../journal/entry.js";
import { CONFIG_KEY, journalKey } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { checkMetadata, checkText, type JsonObject } from "../records/fields.js";
import { checkKind } from "../records/frames.js";
import { keyOf } from "../scope/public-key.js";
import { isLanguage, LANGUAGE_DEFAULT, LANGUAGES, type Language } from "../text/languages.js";

/** How a stale write is settled: the last writer wins, or both versions stay until someone decides. */
export type ConflictPolicy = "lww" | "manual";

/** The configuration of a graph. */
export interface GraphConfig {
  readonly conflictPolicy: ConflictPolicy;
  /** Empty allows every kind. */
  readonly kindWhitelist: readonly string[];
  /** What people call the graph; need not be unique. */
  readonly name?: string;
  /** Anything its owner wants to keep about it. */
  readonly metadata?: JsonObject;
  /** Left out of lists of graphs; it can be read and written as before. */
  readonly archived?: true;
  /** Which endings the words of a search do without; english when not set. */
  readonly language?: Language;
  /** Public keys in base64 whose scopes are honoured here; none when not set. */
  readonly trustedIssuers?: readonly string[];
  /** Days after which memories of a kind expire; upkeep archives them only when it is told to. */
  readonly ttlDays?: { readonly [kind: string]: number };
}

/** A change of the configuration: what is left out stays, `null` takes away. */
export interface ConfigPatch {
  readonly conflictPolicy?: ConflictPolicy;
  readonly kindWhitelist?: readonly string[];
  readonly name?: string | null;
  /** Member by member: a value sets one, `null` removes one. */
  readonly metadata?: { readonly [member: string]: unknown } | null;
  readonly archived?: boolean;
  readonly language?: Language | null;
  /** The whole list; an empty one trusts nobody. */
  readonly trustedIssuers?: readonly string[];
  /** Kind by kind: a number of days sets one, `null` removes one. */
  readonly ttlDays?: { readonly [kind: string]: number | null } | null;
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
  return Reader.with(engine.kv, undefined, readConfig);
}

/** The configuration as a reader sees it; of the past, what is in force now. */
export async function readConfig(reader: Reader): Promise<GraphConfig> {
  const [row] = await reader.getMany([CONFIG_KEY]);
  if (row === undefined) return DEFAULT_CONFIG;
  const [found] = await reader.records([decodePointer(row)], (bytes) => decodeConfig(bytes));
  return found?.record ?? DEFAULT_CONFIG;
}

/** The language whose words the graph is searched by, as a reader sees it. */
export async function languageOf(reader: Reader): Promise<Language> {
  return (await readConfig(reader)).language ?? LANGUAGE_DEFAULT;
}

/** Changes the configuration; what the patch leaves out stays. */
export async function setConfig(
  engine: Engine,
  patch: ConfigPatch,
  options: { readonly by?: string } = {},
): Promise<GraphConfig & { readonly seq: number }> {
  const checked = checkPatch(patch);
  checkOptions(options, ["by", "access"]);
  const by = checkPrincipal(options.by, engine.principal);
  const { value, seq } = await engine.writer.submit({
    run: (tx) => applyConfig(tx, checked, by),
  });
  return { ...value, seq };
}

/** Changes the configuration inside a commit; the patch is one that `checkPatch` gave. */
export function applyConfig(tx: WriteTx, patch: ConfigPatch, by: string): GraphConfig {
  const next = patched(configOf(tx), patch);
  tx.append({
    kind: "config",
    by,
    parts: [{ subject: Uint8Array.of(SUBJECT.config), record: encodeConfig(next) }],
  });
  return next;
}

const PATCH_FIELDS = [
  "conflictPolicy",
  "kindWhitelist",
  "name",
  "metadata",
  "archived",
  "language",
  "trustedIssuers",
  "ttlDays",
] as const;

/** Refuses what is no change of a configuration; gives it as it is to be applied. */
export function checkPatch(patch: ConfigPatch): ConfigPatch {
  const given = checkObject(patch, "config");
  const known = PATCH_FIELDS.join(", ");
  const unknown = Object.keys(given).find((name) => !PATCH_FIELDS.some((one) => one === name));
  if (unknown !== undefined) {
    const message = `${unknown}: expected one of ${known}, got an unknown field`;
    throw new CortexError("ERR_UNKNOWN_FIELD", message, { field: unknown });
  }
  if (PATCH_FIELDS.every((name) => patch[name] === undefined)) {
    throw new CortexError("ERR_NO_CHANGE", `config: expected at least one of ${known}`, {
      field: "config",
    });
  }
  const { conflictPolicy, kindWhitelist, name, metadata, archived } = patch;
  if (conflictPolicy !== undefined && conflictPolicy !== "lww" && conflictPolicy !== "manual") {
    throw invalid("conflictPolicy", "lww or manual", conflictPolicy);
  }
  if (name !== undefined && name !== null) {
    checkText(name, "name", { maxBytes: LIMITS.labelBytes });
  }
  if (archived !== undefined && typeof archived !== "boolean") {
    throw invalid("archived", "true or false", archived);
  }
  const { language } = patch;
  if (language !== undefined && language !== null && !isLanguage(language)) {
    throw invalid("language", `one of ${LANGUAGES.join(", ")}`, language);
  }
  const { trustedIssuers } = patch;
  checkTtlDays(patch.ttlDays);
  return {
    ...patch,
    ...(trustedIssuers === undefined ? {} : { trustedIssuers: checkIssuers(trustedIssuers) }),
    ...(kindWhitelist === undefined ? {} : { kindWhitelist: checkWhitelist(kindWhitelist) }),
    ...(metadata === undefined || metadata === null
      ? {}
      : { metadata: checkMetadata(metadata, "metadata") }),
  };
}

function checkWhitelist(kinds: unknown): readonly string[] {
  if (!Array.isArray(kinds)) throw invalid("kindWhitelist", "a list of kinds", kinds);
  if (kinds.length > LIMITS.listItems) {
    throw invalid("kindWhitelist", `at most ${LIMITS.listItems} kinds`, kinds);
  }
  return [...new Set(kinds.map((kind, at) => checkKind(kind, `kindWhitelist[${at}]`)))];
}

function checkIssuers(keys: unknown): readonly string[] {
  if (!Array.isArray(keys)) throw invalid("trustedIssuers", "a list of public keys", keys);
  if (keys.length > LIMITS.trustedIssuers) {
    throw invalid("trustedIssuers", `at most ${LIMITS.trustedIssuers} keys`, keys);
  }
  const wrong = keys.findIndex((key) => typeof key !== "string" || keyOf(key) === undefined);
  if (wrong < 0) return [...new Set(keys as readonly string[])];
  throw invalid(`trustedIssuers[${wrong}]`, "a public key of 32 bytes in base64", keys[wrong]);
}

function checkTtlDays(ttlDays: ConfigPatch["ttlDays"]): void {
  if (ttlDays === undefined || ttlDays === null) return;
  for (const [kind, days] of Object.entries(checkObject(ttlDays, "ttlDays"))) {
    checkKind(kind, "ttlDays");
    const isCount = days === null || (Number.isSafeInteger(days) && days >= 1);
    if (isCount && (days ?? 0) <= LIMITS.ttlDays) continue;
    throw invalid(`ttlDays.${kind}`, `1 to ${LIMITS.ttlDays} days, or null`, days);
  }
}

function patched(before: GraphConfig, patch: ConfigPatch): GraphConfig {
  const { conflictPolicy = before.conflictPolicy, kindWhitelist = before.kindWhitelist } = patch;
  const name = patch.name === undefined ? before.name : patch.name;
  const metadata = patchedMetadata(before.metadata, patch.metadata);
  const archived = patch.archived ?? before.archived;
  const language = patch.language === undefined ? before.language : patch.language;
  const trustedIssuers = patch.trustedIssuers ?? before.trustedIssuers ?? [];
  const ttlDays = patchedTtlDays(before.ttlDays, patch.ttlDays);
  return {
    conflictPolicy,
    kindWhitelist,
    ...(name === undefined || name === null ? {} : { name }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(archived === true ? { archived } : {}),
    ...(language === undefined || language === null ? {} : { language }),
    ...(trustedIssuers.length === 0 ? {} : { trustedIssuers }),
    ...(ttlDays === undefined ? {} : { ttlDays }),
  };
}

function patchedTtlDays(
  before: GraphConfig["ttlDays"],
  patch: ConfigPatch["ttlDays"],
): GraphConfig["ttlDays"] {
  if (patch === undefined) return before;
  const merged = Object.entries({ ...before, ...patch }).filter(([, days]) => days !== null);
  if (patch === null || merged.length === 0) return undefined;
  if (merged.length > LIMITS.listItems) {
    throw invalid("ttlDays", `at most ${LIMITS.listItems} kinds`, merged.length);
  }
  return Object.fromEntries(merged) as { readonly [kind: string]: number };
}

function patchedMetadata(
  before: JsonObject | undefined,
  patch: ConfigPatch["metadata"],
): JsonObject | undefined {
  if (patch === undefined) return before;
  const merged = Object.entries({ ...before, ...patch }).filter(([, value]) => value !== null);
  if (patch === null || merged.length === 0) return undefined;
  // Each patch was small enough; what they add up to may not be.
  return checkMetadata(Object.fromEntries(merged), "metadata");
}

function encodeConfig(config: GraphConfig): Uint8Array {
  return encode({ ...config } as unknown as CborValue);
}

function decodeConfig(bytes: Uint8Array): GraphConfig {
  const value = decode(bytes) as { readonly [name: string]: CborValue };
  const { name, metadata, language } = value;
  return {
    conflictPolicy: value.conflictPolicy === "manual" ? "manual" : "lww",
    kindWhitelist: (value.kindWhitelist ?? []) as readonly string[],
    ...(typeof name === "string" ? { name } : {}),
    ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
    ...(value.archived === true ? { archived: true } : {}),
    ...(isLanguage(language) ? { language } : {}),
    ...(value.trustedIssuers === undefined
      ? {}
      : { trustedIssuers: value.trustedIssuers as readonly string[] }),
    ...(value.ttlDays === undefined
      ? {}
      : { ttlDays: value.ttlDays as { readonly [kind: string]: number } }),
  };
}
