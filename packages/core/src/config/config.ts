/**
 * The configuration of a graph, journaled in the graph it configures: how conflicts are settled,
 * which kinds are allowed, what people call it, and what its owner noted about it. Without a
 * configuration the last writer wins and every kind is allowed. A field that was never set takes no
 * byte, so a configuration of an earlier release reads as it always did.
 */
import * as z from "zod";
import { type CborValue, decode, encode } from "../codec/cbor.js";
import {
  type ConfigChange,
  configFields,
  type GraphConfig,
  type Language,
} from "../contract/config.js";
import type { Asked } from "../contract/index.js";
import { checkInput } from "../contract/refusal.js";
import { checkObject, type Engine } from "../engine/engine.js";
import { ask } from "../engine/read-ahead.js";
import { CortexError, invalid } from "../errors.js";
import { decodePointer, type PartPointer } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { WriteTx } from "../history/writer.js";
import { partRecord, SUBJECT, splitEntry } from "../journal/entry.js";
import { CONFIG_KEY, journalKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { checkMetadata, type JsonObject } from "../records/fields.js";
import { isLanguage, LANGUAGE_DEFAULT } from "../text/languages.js";

/** What holds until something else is configured. */
const DEFAULT_CONFIG: GraphConfig = { conflictPolicy: "lww", kindWhitelist: [] };

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
export async function config(engine: Engine): Promise<GraphConfig> {
  return Reader.with(engine.kv, undefined, readConfig);
}

/** The configuration as a reader sees it; of the past, what is in force now. */
export async function readConfig(reader: Reader): Promise<GraphConfig> {
  const [row] = await reader.getMany([CONFIG_KEY]);
  return configAt(reader, row === undefined ? undefined : decodePointer(row));
}

async function configAt(reader: Reader, at: PartPointer | undefined): Promise<GraphConfig> {
  if (at === undefined) return DEFAULT_CONFIG;
  const [found] = await reader.records([at], (bytes) => decodeConfig(bytes));
  return found?.record ?? DEFAULT_CONFIG;
}

/** Reads the language whose words a graph is searched by. */
interface LanguageReader {
  /** As a reader sees it. */
  of(reader: Reader): Promise<Language>;
  /** The rows that it will most likely read. */
  soon(): readonly Bytes[];
}

/** Reads the language of a store; knows which entry said it last, so that it need not ask twice. */
export function languageReader(): LanguageReader {
  let entry: readonly Bytes[] = [];
  return {
    async of(reader) {
      const [row] = await reader.getMany([CONFIG_KEY]);
      const at = row === undefined ? undefined : decodePointer(row);
      entry = at === undefined ? [] : [journalKey(at.seq)];
      return (await configAt(reader, at)).language ?? LANGUAGE_DEFAULT;
    },
    soon: () => [CONFIG_KEY, ...entry],
  };
}

/** Changes the configuration; what the patch leaves out stays. */
export async function configure(
  engine: Engine,
  { by = engine.principal, access: _, ...change }: Asked<"configure">,
): Promise<GraphConfig & { readonly seq: number }> {
  refuseNoChange(change);
  const { value } = await engine.writer.submit({
    again: {
      tell: (_tx, { header: { seq }, parts: [part] }) => ({
        ...(part === undefined ? DEFAULT_CONFIG : decodeConfig(partRecord(part))),
        seq,
      }),
    },
    run: (tx) => ({ ...applyConfig(tx, change, by), seq: tx.nextSeq() - 1 }),
  });
  return value;
}

/** Changes the configuration inside a commit; where an imported graph came from is said when it is made. */
export function applyConfig(
  tx: WriteTx,
  change: ConfigChange,
  by: string,
  origin?: GraphConfig["origin"],
): GraphConfig {
  const changed = patched(configOf(tx), change);
  const next = origin === undefined ? changed : imported(changed, change, origin);
  tx.append({
    kind: "config",
    by,
    parts: [{ subject: Uint8Array.of(SUBJECT.config), record: encodeConfig(next) }],
  });
  return next;
}

const CHANGE = z.strictObject(configFields);

/** Refuses what is no change of a configuration; gives it as it is to be applied. */
export function checkPatch(patch: unknown): ConfigChange {
  const change = checkInput(CHANGE, checkObject(patch, "config"));
  refuseNoChange(change);
  return change;
}

function refuseNoChange(change: ConfigChange): void {
  if (Object.values(change).some((value) => value !== undefined)) return;
  const known = Object.keys(configFields).join(", ");
  throw new CortexError("ERR_NO_CHANGE", `config: expected at least one of ${known}`, {
    field: "config",
  });
}

function patched(before: GraphConfig, patch: ConfigChange): GraphConfig {
  const { conflictPolicy = before.conflictPolicy } = patch;
  const kindWhitelist = [...new Set(patch.kindWhitelist ?? before.kindWhitelist)];
  const name = patch.name === undefined ? before.name : patch.name;
  const metadata = patchedMetadata(before.metadata, patch.metadata);
  const archived = patch.archived ?? before.archived;
  const language = patch.language === undefined ? before.language : patch.language;
  const trustedIssuers = [...new Set(patch.trustedIssuers ?? before.trustedIssuers ?? [])];
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
    ...(before.origin === undefined ? {} : { origin: before.origin }),
  };
}

/** A graph that comes from elsewhere: its metadata is no change of anything, so a member that is null stays null. */
function imported(
  changed: GraphConfig,
  { metadata }: ConfigChange,
  origin: NonNullable<GraphConfig["origin"]>,
): GraphConfig {
  return {
    ...changed,
    ...(metadata === undefined || metadata === null ? {} : { metadata }),
    origin,
  };
}

function patchedTtlDays(
  before: GraphConfig["ttlDays"],
  patch: ConfigChange["ttlDays"],
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
  patch: ConfigChange["metadata"],
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
    ...(value.origin === undefined
      ? {}
      : { origin: value.origin as unknown as NonNullable<GraphConfig["origin"]> }),
  };
}
