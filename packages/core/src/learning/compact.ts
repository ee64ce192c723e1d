/**
 * `compactContext`: makes room in a context window without losing the thread. What carries the task
 * stays in full, the rest in brief, and one entry remembers which was which; `contextRecord` reads it
 * back with the texts as they can be read now.
 *
 * Promise: nothing is dropped. What does not fit the budget even so is refused with the numbers, and nothing is
 * written. The record names memories by URI and holds no content: what was forgotten since is marked as
 * forgotten. The same task and step replace the record before.
 *
 * The seed of a compiler run that depends on a memory: the same intent, actor, root and digests give
 * the same seed, anything else another. Pure.
 */

import { HASH_BYTES } from "../codec/hash.js";
import { concatBytes, fromHex, toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { utf8 } from "../codec/text.js";
import type { Asked } from "../contract/index.js";
import type {
  CompactItem,
  CompactResult,
  RecordedContext,
  RecordedItem,
} from "../contract/learning.js";
import { type Engine, findIds } from "../engine/engine.js";
import { salienceOf } from "../engine/salience-reader.js";
import { formText } from "../engine/shapes.js";
import { CortexError, invalid } from "../errors.js";
import { decodePointer } from "../history/pointers.js";
import { bodyOf, type FoundMemory, Reader } from "../history/reader.js";
import type { Again } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { versionOf } from "../memory/read.js";
import { countTokens } from "../records/forms.js";
import { buildUri, parseUri } from "../records/uri.js";
import {
  type ContextRecord,
  contextName,
  decodeContextRecord,
  encodeContextRecord,
} from "../salience/salience.js";
import { type Cited, isNamedBy, parseCitations } from "./attest.js";

/** Compacts a context and journals what became of it. */
export async function compactContext(
  engine: Engine,
  input: Asked<"compactContext">,
): Promise<CompactResult> {
  const asked = checkCompact(engine, input);
  const { items, skipped } = await Reader.with(engine.kv, undefined, (reader) =>
    scoredItems(engine, reader, asked),
  );
  const kept = items.filter((one) => one.isKept);
  const compacted = items.filter((one) => !one.isKept);
  const tokens = items.reduce((sum, { text }) => sum + countTokens(text), 0);
  if (tokens > asked.budgetTokens) throw overBudget(tokens, asked.budgetTokens, kept.length);
  const record: ContextRecord = {
    name: asked.name,
    budgetTokens: asked.budgetTokens,
    kept: kept.map(({ uri }) => uri),
    compacted: compacted.map(({ uri, salience }) => ({ uri, salience })),
  };
  const { value } = await engine.writer.submit({
    again: compactedAgain([...asked.inContext, ...asked.loadBearing]),
    run: (tx): Compacted => {
      const seq = tx.append({
        kind: "context",
        by: asked.by,
        parts: [{ subject: Uint8Array.of(SUBJECT.store), record: encodeContextRecord(record) }],
      });
      return { kept, compacted, skipped, tokens, seq };
    },
  });
  return Reader.with(engine.kv, undefined, async (reader) => ({
    kept: await withTexts(reader, value.kept, "medium"),
    compacted: await withTexts(reader, value.compacted, "short"),
    skipped: value.skipped,
    tokens: value.tokens,
    recordUri: recordUri(engine, asked.name),
    seq: value.seq,
  }));
}

/** A context that was made smaller, in the write that records it. */
interface Compacted extends Pick<CompactResult, "skipped" | "tokens" | "seq"> {
  readonly kept: readonly ScoredUri[];
  readonly compacted: readonly ScoredUri[];
}

interface ScoredUri {
  readonly uri: string;
  readonly salience: number;
  /** Not there when a call is repeated: then it is read again. */
  readonly text?: string;
}

/** How it is told again: what was skipped by its place among the citations, which name it. */
function compactedAgain(cited: readonly Cited[]): Again<Compacted> {
  const scores = (items: readonly ScoredUri[]) =>
    items.map(({ uri, salience }) => ({ uri, salience }));
  return {
    keep: ({ kept, compacted, skipped, tokens, seq }) => ({
      kept: scores(kept),
      compacted: scores(compacted),
      skippedAt: skipped.map((text) => cited.findIndex((one) => one.text === text)),
      tokens,
      seq,
    }),
    tell: (_tx, _first, kept) => {
      const { skippedAt, ...rest } = kept as unknown as Compacted & {
        readonly skippedAt: readonly number[];
      };
      return { ...rest, skipped: skippedAt.flatMap((at) => cited[at]?.text ?? []) };
    },
  };
}

/** Items with their texts; one that was forgotten since has none and is left out. */
async function withTexts(
  reader: Reader,
  items: readonly ScoredUri[],
  form: "medium" | "short",
): Promise<readonly CompactItem[]> {
  const unread = items.filter(({ text }) => text === undefined).map(({ uri }) => uri);
  const read = new Map(
    (await readItems(reader, unread, form)).map(({ uri, text }) => [uri, text] as const),
  );
  return items.flatMap(({ uri, salience, text = read.get(uri) }) =>
    text === undefined ? [] : [{ uri, text, salience }],
  );
}

interface CheckedCompact {
  readonly inContext: readonly Cited[];
  readonly loadBearing: readonly Cited[];
  readonly budgetTokens: number;
  readonly name: Bytes;
  readonly by: string;
}

function checkCompact(engine: Engine, input: Asked<"compactContext">): CheckedCompact {
  const { inContext, loadBearing = [], intentId, stepId } = input;
  return {
    inContext: parseCitations(engine, inContext, "inContext"),
    loadBearing: parseCitations(engine, loadBearing, "loadBearing"),
    budgetTokens: input.budgetTokens ?? LIMITS.compactTokensDefault,
    name: contextName(engine.sha256, intentId, stepId),
    by: input.by ?? engine.principal,
  };
}

interface Scored extends CompactItem {
  readonly isKept: boolean;
}

async function scoredItems(
  engine: Engine,
  reader: Reader,
  { inContext, loadBearing }: CheckedCompact,
): Promise<{ readonly items: readonly Scored[]; readonly skipped: readonly string[] }> {
  const [all, bearing] = [
    await namedMemories(reader, inContext),
    await namedMemories(reader, loadBearing),
  ];
  const names = new Set(all.found.map(({ id }) => keyString(id)));
  const bearingNames = new Set(bearing.found.map(({ id }) => keyString(id)));
  const stray = [...bearingNames].some((name) => !names.has(name));
  if (stray) throw invalid("loadBearing", "memories that are in inContext", "one that is not");
  if (all.found.length === 0) {
    throw invalid("inContext", "at least one memory that is there", "none");
  }
  const scores = await salienceOf(reader, all.found, { nowMs: engine.clock() });
  const items = all.found.map((memory, at): Scored => {
    const name = keyString(memory.id);
    const isKept = scores[at]?.pinned === true || bearingNames.has(name);
    return {
      uri: uriOf(engine, memory),
      text: formText(memory, isKept ? "medium" : "short"),
      salience: scores[at]?.score ?? 0,
      isKept,
    };
  });
  return { items, skipped: [...new Set([...all.skipped, ...bearing.skipped])] };
}

/** The memories that citations name, each once and in their order, and the texts that name none. */
async function namedMemories(
  reader: Reader,
  cited: readonly Cited[],
): Promise<{ readonly found: readonly FoundMemory[]; readonly skipped: readonly string[] }> {
  const named = cited.flatMap((one) => (one.ref === undefined ? [] : [{ one, ref: one.ref }]));
  const ids = await findIds(
    reader,
    named.map(({ ref }) => ref),
  );
  const known = ids.map((id) => id ?? new Uint8Array(16));
  const rows = await reader.memoryRows(known);
  const memories = await reader.memories(known, rows);
  const found = new Map<string, FoundMemory>();
  const good = new Set<Cited>();
  for (const [at, { one }] of named.entries()) {
    const memory = memories[at];
    if (memory === undefined || !isNamedBy(memory.row, one)) continue;
    good.add(one);
    found.set(keyString(memory.id), memory);
  }
  return {
    found: [...found.values()],
    skipped: cited.filter((one) => !good.has(one)).map(({ text }) => text),
  };
}

function uriOf({ actor }: Engine, { id, head, body }: FoundMemory): string {
  return buildUri({ actor, type: head.record.head.type, id, version: bodyOf(body).number });
}

/** What a record is known by outside: no memory's URI, and not to be mistaken for one. */
function recordUri({ actor }: Engine, name: Bytes): string {
  return `cortex://${actor}/context/${toHex(name)}`;
}

function overBudget(tokens: number, budgetTokens: number, kept: number): CortexError {
  return new CortexError(
    "ERR_BUDGET",
    `budgetTokens: expected at least ${tokens}, got ${budgetTokens}; ` +
      `${kept} memories stay in full, and nothing is dropped`,
    { field: "budgetTokens", expected: `at least ${tokens}`, got: String(budgetTokens) },
  );
}

/** The record of a task's step; `undefined` when there is none. */
export async function contextRecord(
  engine: Engine,
  { intentId, stepId }: Asked<"contextRecord">,
): Promise<RecordedContext | undefined> {
  const name = contextName(engine.sha256, intentId, stepId);
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [row] = await reader.getMany([idKey("contextRecord", name)]);
    if (row === undefined) return undefined;
    const [read] = await reader.records([decodePointer(row)], decodeContextRecord);
    if (read === undefined) return undefined;
    const { record, header } = read;
    const kept = await readItems(reader, record.kept, "medium");
    const compacted = await readItems(
      reader,
      record.compacted.map(({ uri }) => uri),
      "short",
    );
    return {
      recordUri: recordUri(engine, name),
      kept,
      compacted: compacted.map((item, at) => ({
        ...item,
        salience: record.compacted[at]?.salience ?? 0,
      })),
      budgetTokens: record.budgetTokens,
      at: header.at,
      by: header.by,
      recordSeq: header.seq,
      seq: reader.seq,
    };
  });
}

async function readItems(
  reader: Reader,
  uris: readonly string[],
  form: "medium" | "short",
): Promise<readonly RecordedItem[]> {
  const parsed = uris.map((uri) => parseUri(uri));
  const ids = parsed.map(({ id }) => id);
  const rows = await reader.memoryRows(ids);
  const memories = await reader.memories(ids, rows);
  return Promise.all(
    uris.map(async (uri, at): Promise<RecordedItem> => {
      const memory = memories[at];
      const version = parsed[at]?.version ?? 0;
      const body = memory === undefined ? undefined : await bodyAt(reader, memory, version);
      if (memory === undefined || body === undefined) return { uri, lifecycle: "erased" };
      const text = formText({ ...memory, body }, form);
      return { uri, text, lifecycle: memory.row.lifecycle };
    }),
  );
}

async function bodyAt(
  reader: Reader,
  memory: FoundMemory,
  version: number,
): Promise<FoundMemory["body"] | undefined> {
  return version === memory.row.version ? memory.body : versionOf(reader, memory, version);
}

/** What a seed is made from. Hashes are 32 bytes, or their 64 hex digits. */
interface SeedInput {
  /** The id of the intent. */
  readonly intent: string;
  readonly actor: string;
  /** The root over everything, as `root` gives it. */
  readonly root: string | Uint8Array;
  readonly mtxDigest: string | Uint8Array;
  readonly modelDigest: string | Uint8Array;
}

/** SHA-256 over intent id ‖ actor ‖ root ‖ mtx digest ‖ model digest: 32 bytes. */
export function deriveSeed(input: SeedInput): Uint8Array {
  const { intent, actor } = input;
  if (typeof intent !== "string" || intent === "") throw invalid("intent", "an id", intent);
  if (typeof actor !== "string" || actor === "") throw invalid("actor", "a name", actor);
  // Plain concatenation, as the reference has it; the hashes at the end have fixed lengths.
  return sha256Pure(
    concatBytes(
      utf8(intent),
      utf8(actor),
      hashOf(input.root, "root"),
      hashOf(input.mtxDigest, "mtxDigest"),
      hashOf(input.modelDigest, "modelDigest"),
    ),
  );
}

function hashOf(value: string | Uint8Array, field: string): Uint8Array {
  const bytes = typeof value === "string" ? fromHex(value) : value;
  if (bytes instanceof Uint8Array && bytes.length === HASH_BYTES) return bytes;
  throw invalid(field, `${HASH_BYTES} bytes, or their hex digits`, value);
}
