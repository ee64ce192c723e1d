/**
 * `attest`: says how a task ended and which memories it used, so that the counters of those memories
 * and the weights of salience learn from it; and `weights`, which shows what was learned.
 *
 * Promise: two entries in one commit, always: what was attested, one part for each memory cited and
 * owned by it, and what became of the weights, even when that is nothing. A success counts a use and
 * a citation and pulls the weights toward the memories cited; a failure that blames them takes a
 * citation away and pushes the weights off; any other failure notes the use and teaches nothing.
 * Whatever is refused, rate limits included, leaves nothing behind. A citation that names nothing, or a
 * memory that is hidden or gone, is no failure: it is listed as skipped.
 */

import type { Asked } from "../contract/index.js";
import type { AttestResult, WeightsAt } from "../contract/learning.js";
import { subject } from "../engine/drafts.js";
import {
  type Engine,
  type Located,
  locateAll,
  memoryId,
  type ParsedRef,
  parseRef,
  refKeys,
} from "../engine/engine.js";
import { ask, askEntries } from "../engine/read-ahead.js";
import { weightsAt } from "../engine/salience-reader.js";
import { CortexError, isCortexError } from "../errors.js";
import {
  decodeCounter,
  decodePointer,
  highestVersion,
  type MemoryRow,
} from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { Again, WriteTx } from "../history/writer.js";
import { partRecord, SUBJECT, splitEntry } from "../journal/entry.js";
import { idKey, journalKey, keyString, WEIGHTS_KEY } from "../kv/keyspace.js";
import type { JsonObject } from "../records/fields.js";
import type { MemoryType } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import {
  type AttestRecord,
  attestRecord,
  COLD_WEIGHTS,
  decodeLearnRecord,
  directionOf,
  encodeAttestRecord,
  encodeLearnRecord,
  type Factors,
  factorsOf,
  learn,
  type Weights,
} from "../salience/salience.js";

/** Attests the outcome of a task. */
export async function attest(
  engine: Engine,
  { intentId, outcome, reason, cited, access, by = engine.principal }: Asked<"attest">,
): Promise<AttestResult> {
  const checked = {
    record: attestRecord(outcome, intentId, reason),
    cited: parseCitations(engine, cited, "cited"),
    by,
  };
  engine.limiter.pass("attest", [
    { gate: "attestPerIntent", key: `${engine.actor} ${intentId}` },
    // Whoever opened the store: a name given with the call must not open a bucket of its own.
    { gate: "attestPerPrincipal", key: engine.principal },
  ]);
  const { value } = await engine.writer.submit({
    hints: [WEIGHTS_KEY, ...checked.cited.flatMap(({ ref }) => (ref ? refKeys(ref) : []))],
    batch: true,
    again: attestedAgain(checked.cited),
    run: (tx) => applyAttest(tx, checked),
  });
  // What the whole graph has learned comes from memories of all kinds.
  const unknown = { previousWeights: COLD_WEIGHTS, weights: COLD_WEIGHTS, weightsUpdated: false };
  return access.kind === "owner" ? value : { ...value, ...unknown };
}

/** How an attestation is told again: what was skipped by its place among the citations, which name it. */
function attestedAgain(cited: readonly Cited[]): Again<AttestResult> {
  return {
    keep: ({ skipped, ...rest }) => ({
      ...(rest as unknown as JsonObject),
      skippedAt: cited.flatMap(({ text }, at) => (skipped.includes(text) ? [at] : [])),
    }),
    tell: (_tx, _first, kept) => {
      const { skippedAt, ...rest } = kept as unknown as AttestResult & {
        readonly skippedAt: readonly number[];
      };
      return { ...rest, skipped: skippedAt.flatMap((at) => cited[at]?.text ?? []) };
    },
  };
}

interface CheckedAttest {
  readonly record: AttestRecord;
  readonly cited: readonly Cited[];
  readonly by: string;
}

function applyAttest(tx: WriteTx, { record, cited, by }: CheckedAttest): AttestResult {
  const { found, skipped } = resolveCited(tx, cited);
  const counterKeys = found.map(({ id }) => idKey("counter", id));
  ask(tx, [WEIGHTS_KEY, ...counterKeys]);
  askEntries(
    tx,
    found.map(({ row }) => row),
  );
  const counters = () => counterKeys.map((key) => decodeCounter(tx.view.get(key)));
  const before = counters();
  const part = encodeAttestRecord(record);
  const seq = tx.append({
    kind: "attest",
    by,
    parts: found.map(({ id }) => ({ subject: subject(SUBJECT.attachment, id), record: part })),
  });
  const after = counters();
  const factors = found.map(({ row }, at): Factors => {
    const { importance } = tx.fold.records.head(row);
    const { accessed = 0, cited: citations = 0 } = after[at] ?? {};
    return factorsOf({ lastUsedAt: tx.at, accessed, cited: citations, importance }, tx.at);
  });
  const previousWeights = weightsIn(tx);
  const direction = directionOf(record.outcome, record.reason);
  const weights = learn(previousWeights, factors, direction);
  const weightsUpdated = weights !== previousWeights;
  const learned = { weights, direction: weightsUpdated ? direction : ("none" as const) };
  const learnSeq = tx.append({
    kind: "learn_weights",
    by,
    parts: [{ subject: Uint8Array.of(SUBJECT.store), record: encodeLearnRecord(learned) }],
  });
  const sum = (all: ReturnType<typeof counters>) => all.reduce((n, one) => n + one.cited, 0);
  return {
    seq,
    learnSeq,
    affected: found.map(({ id }) => memoryId(id)),
    skipped,
    citationsDelta: sum(after) - sum(before),
    previousWeights,
    weights,
    weightsUpdated,
  };
}

/** The memories that are cited, each once, and the citations that name none. */
function resolveCited(
  tx: WriteTx,
  cited: readonly Cited[],
): { readonly found: readonly Located[]; readonly skipped: readonly string[] } {
  const named = cited.flatMap(({ ref }) => ref ?? []);
  const located = locateAll(tx, named, (ids) => ({
    keys: ids.flatMap((id) => (id === undefined ? [] : [idKey("counter", id)])),
    leaves: [],
  }));
  const byRef = new Map(named.map((ref, at) => [ref, located[at]]));
  const found = new Map<string, Located>();
  const skipped: string[] = [];
  for (const one of cited) {
    const memory = one.ref === undefined ? undefined : byRef.get(one.ref);
    if (memory === undefined || !isNamedBy(memory.row, one)) skipped.push(one.text);
    else found.set(keyString(memory.id), memory);
  }
  return { found: [...found.values()], skipped };
}

/** The weights as a write sees them. */
function weightsIn(tx: WriteTx): Weights {
  const row = tx.view.get(WEIGHTS_KEY);
  if (row === undefined) return COLD_WEIGHTS;
  const { seq, part } = decodePointer(row);
  ask(tx, [journalKey(seq)]);
  const entry = tx.view.get(journalKey(seq));
  const bytes = entry === undefined ? undefined : splitEntry(entry).parts[part];
  if (bytes === undefined) {
    throw new CortexError("ERR_CORRUPT", `journal entry ${seq} holds no weights`, { seq });
  }
  return decodeLearnRecord(partRecord(bytes)).weights;
}

/** The weights in force, or those of the past. */
export async function weights(engine: Engine, { asOf }: Asked<"weights">): Promise<WeightsAt> {
  return Reader.with(engine.kv, asOf, async (reader) => {
    const found = await weightsAt(reader);
    return { weights: found, learned: found !== COLD_WEIGHTS, seq: reader.seq };
  });
}

/** One citation: what it may name, if it can name anything. */
export interface Cited {
  readonly text: string;
  readonly ref?: ParsedRef;
  /** The type that a URI names. */
  readonly type?: MemoryType;
}

/** Takes citations apart, each text once; text that cannot name a memory here has no reference. */
export function parseCitations(
  engine: Engine,
  refs: readonly string[],
  field: string,
): readonly Cited[] {
  const all = refs.map((ref, at) => parseCited(engine, ref, `${field}[${at}]`));
  return [...new Map(all.map((one) => [one.text, one])).values()];
}

function parseCited(engine: Engine, ref: string, field: string): Cited {
  try {
    const type = ref.startsWith("cortex://") ? { type: parseUri(ref, field).type } : {};
    return { text: ref, ref: parseRef(engine, ref, field), ...type };
  } catch (error) {
    if (!isCortexError(error)) throw error;
    return { text: ref };
  }
}

/** Whether a citation names the memory of a row: one that is there, of its type, and a version it had. */
export function isNamedBy(row: MemoryRow, { ref, type }: Cited): boolean {
  if (row.lifecycle === "erased" || row.lifecycle === "tombstoned") return false;
  return (type ?? row.type) === row.type && (ref?.version ?? row.version) <= highestVersion(row);
}
