/**
 * `batch`: many writes, updates and links in one commit, with refs between them.
 *
 * Atomic by default: one failing item fails the batch, and nothing is written. Best effort on
 * request: a failing item leaves nothing and names its error, the others stand. Reads of the past
 * never see half a batch.
 */

import { type CborValue, encode } from "../codec/cbor.js";
import {
  type BatchEnd,
  type BatchItem,
  type BatchItemResult,
  type BatchLink,
  type BatchResult,
  batchLink,
} from "../contract/batch.js";
import type { Asked } from "../contract/index.js";
import { type UpdateRequest, update, type WriteRequest, write } from "../contract/memory.js";
import { checkInput } from "../contract/refusal.js";
import type { EdgeResult, Ref, WriteResult } from "../contract/shapes.js";
import { checkObject, type Engine, memoryId, parseRef, refKeys } from "../engine/engine.js";
import {
  askResults,
  edgeResultOf,
  firstEntries,
  idempotencyKeys,
  markFirst,
  requestMark,
  writeResultOf,
} from "../engine/idempotency.js";
import { CortexError, describe, invalid, isCortexError, shortName } from "../errors.js";
import { Unread } from "../history/write-view.js";
import type { WriteOperation, WriteTx } from "../history/writer.js";
import { type Entry, partContext, partRecord } from "../journal/entry.js";
import { keyString, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { applyEdge, edgeOperation, prepareEdge } from "../links/edges.js";
import { updateOperation } from "../memory/update.js";
import { type PreparedUpsert, prepareUpsert } from "../memory/upsert.js";
import { runWrite, writeLeaf, writeNeeds } from "../memory/write.js";
import { type PreparedWrite, prepareWrite } from "../memory/write-input.js";
import type { Data } from "../records/data.js";
import { edgeTreeKey } from "../records/edge-record.js";
import { decodeMemoryRecord } from "../records/memory-record.js";
import { checkSaid } from "../trust/gate.js";

type Step = WriteStep | OtherStep;

/** A write: data alone, for a thousand of them live until the commit. */
interface WriteStep {
  readonly verb: "write";
  readonly needs: Pick<WriteOperation<unknown>, "hints" | "fresh" | "ranges" | "bytes">;
  /** The name by which later items mean its memory. */
  readonly ref: string | undefined;
  readonly prepared: PreparedWrite;
  readonly upsert: PreparedUpsert | undefined;
}

/** An update or a link. */
interface OtherStep {
  readonly verb: "update" | "link";
  readonly needs: Pick<WriteOperation<unknown>, "hints" | "fresh" | "ranges" | "leaves" | "bytes">;
  readonly ref: string | undefined;
  apply(tx: WriteTx, run: BatchRun): WriteResult | EdgeResult;
  /** Whether an entry of an earlier call under the same key is the one that this item wrote then. */
  wrote(entry: Entry, run: BatchRun): boolean;
}

/** What items of a running batch share. */
interface BatchRun {
  readonly engine: Engine;
  /** Ids by the refs that were declared. */
  readonly refs: Map<string, string>;
  /** Ids of memories that the batch itself brought; noted where there are links. */
  readonly newIds: Set<string> | undefined;
}

function beginRun(engine: Engine, steps: readonly (Step | Failure)[]): BatchRun {
  const hasLinks = steps.some((step) => !isFailure(step) && step.verb === "link");
  return { engine, refs: new Map(), newIds: hasLinks ? new Set() : undefined };
}

/** Does many changes in one commit. */
export async function batch(
  engine: Engine,
  { items, atomic = true, idempotencyKey, loose: isLoose = false }: Asked<"batch">,
): Promise<BatchResult> {
  const keyed = idempotencyKey !== undefined;
  for (const [at, item] of items.entries()) checkItem(item, at, isLoose);
  const steps = items.map((item, at) => prepareStep(engine, item, at, { atomic, keyed, isLoose }));
  const bytes = steps.reduce(
    (sum, step) => sum + (isFailure(step) ? 0 : (step.needs.bytes ?? 512)),
    0,
  );
  if (bytes > LIMITS.batchBytes) {
    throw invalid("items", `at most ${LIMITS.batchBytes} bytes in all`, bytes, "ERR_TOO_LARGE");
  }
  const { request } = requestMark(engine, idempotencyKey, { operation: "batch", request: items });
  const { value } = await engine.writer.submit({
    ...gatherNeeds(engine, steps, request),
    batch: true,
    bytes,
    run: (tx) => {
      const entries = firstEntries(tx, request);
      if (entries !== undefined) {
        const results = repeatSteps(engine, tx, steps, entries);
        return { results, seq: entries.at(-1)?.header.seq ?? tx.nextSeq() - 1 };
      }
      const results = applySteps(tx, steps, { engine, atomic, isLoose, request });
      return { results, seq: tx.nextSeq() - 1 };
    },
  });
  return value;
}

function gatherNeeds(
  engine: Engine,
  steps: readonly (Step | Failure)[],
  request: Uint8Array | undefined,
): Pick<WriteOperation<unknown>, "hints" | "fresh" | "ranges" | "leaves"> {
  const hints: Bytes[] = request === undefined ? [] : idempotencyKeys(request);
  const ranges: KvRange[] = [];
  let isFresh = true;
  for (const step of steps) {
    if (isFailure(step)) continue;
    isFresh &&= step.needs.fresh !== undefined;
    for (const key of step.needs.hints ?? []) hints.push(key);
    for (const range of step.needs.ranges ?? []) ranges.push(range);
  }
  return {
    hints,
    // Each of them is new, or none is presumed to be.
    ...(isFresh ? { fresh: hints } : {}),
    ranges,
    leaves: () =>
      steps.flatMap((step) => {
        if (isFailure(step)) return [];
        return step.verb === "write"
          ? [writeLeaf(engine, step.prepared)]
          : (step.needs.leaves?.() ?? []);
      }),
  };
}

/** An item that was refused before anything was read. */
interface Failure {
  readonly failed: CortexError;
}

function isFailure(step: Step | Failure): step is Failure {
  return "failed" in step;
}

function prepareStep(
  engine: Engine,
  item: BatchItem,
  at: number,
  how: StepHow & { readonly atomic: boolean },
): Step | Failure {
  try {
    return stepOf(engine, item, how);
  } catch (error) {
    if (!isCortexError(error)) throw error;
    const named = atItem(error, at);
    if (how.atomic) throw named;
    return { failed: named };
  }
}

interface StepHow {
  /** The batch has a key of its own. */
  readonly keyed: boolean;
  /** Items may say more than doors let them say. */
  readonly isLoose: boolean;
}

/**
 * Refuses what is no item at all, and with it the batch, best effort or not: of such a thing nobody could
 * say what became of it.
 */
function checkItem(item: BatchItem, at: number, isLoose: boolean): void {
  try {
    checkForm(item, isLoose);
  } catch (error) {
    throw isCortexError(error) ? atItem(error, at) : error;
  }
}

function checkForm(item: BatchItem, isLoose: boolean): void {
  const verbs: string[] = [];
  let others = 0;
  for (const name of Object.keys(checkObject(item, "item"))) {
    if (name === "write" || name === "update" || name === "link") verbs.push(name);
    else if (name !== "ref" && !(isLoose && name === "upsert")) others += 1;
  }
  const [verb] = verbs;
  if (verb === undefined || verbs.length > 1 || others > 0) {
    const got = Object.keys(item).map(shortName).join(", ");
    throw invalid("item", "exactly one of write, update, link, and perhaps ref", got);
  }
  const { [verb]: asked, ref } = item as { readonly [name: string]: unknown };
  checkObject(asked, verb);
  if (ref === undefined || (typeof ref === "string" && ref !== "")) return;
  throw invalid("ref", "a name that is not empty", ref, "ERR_REF");
}

function stepOf(engine: Engine, item: BatchItem, { keyed, isLoose }: StepHow): Step {
  if (engine.speaker !== undefined) {
    for (const said of Object.values(item)) checkSaid(engine.speaker, said);
  }
  if ("link" in item) return linkStep(engine, item.link, isLoose);
  return "write" in item ? writeStep(engine, item, keyed) : updateStep(engine, item, keyed);
}

type WriteItem = Extract<BatchItem, { readonly write: unknown }>;
type UpdateItem = Extract<BatchItem, { readonly update: unknown }>;

function writeStep(engine: Engine, item: WriteItem, keyed: boolean): WriteStep {
  const { write: given, upsert: going, ref } = item;
  const input = checkInput(write.input, given) as WriteRequest;
  const prepared = prepareWrite(engine, input, going);
  refuseTwoKeys(keyed, input.idempotencyKey);
  const upsert = prepareUpsert(engine, input, going);
  return { verb: "write", needs: writeNeeds(prepared, upsert), ref, prepared, upsert };
}

function applyStep(tx: WriteTx, step: Step, run: BatchRun): WriteResult | EdgeResult {
  if (step.verb !== "write") return step.apply(tx, run);
  return runWrite(run.engine, tx, step.prepared, step);
}

function wroteEntry(step: Step, entry: Entry, run: BatchRun): boolean {
  if (step.verb !== "write") return step.wrote(entry, run);
  const { head: asked, data } = step.prepared;
  const bytes = entry.parts[0];
  if (entry.header.kind === "reinforce") return asked.fingerprint !== undefined;
  if (entry.header.kind !== "write" || bytes === undefined) return entry.header.kind === "write";
  const { head, version } = decodeMemoryRecord(partRecord(bytes), partContext(entry.header, 0));
  const same = head.type === asked.type && head.externalId === asked.externalId;
  return same && version !== undefined && sameData(version.data, data);
}

function sameData(a: Data, b: Data): boolean {
  const [first, second] = [a, b].map((data) => keyString(encode(data as unknown as CborValue)));
  return first === second;
}

function updateStep(engine: Engine, { update: given, ref }: UpdateItem, keyed: boolean): OtherStep {
  const { id, ...input } = checkInput(update.input, given) as UpdateRequest & { readonly id: Ref };
  refuseTwoKeys(keyed, input.idempotencyKey);
  const operation = updateOperation(engine, id, input);
  const parsed = parseRef(engine, id, "id");
  return {
    verb: "update",
    needs: operation,
    ref,
    apply: (tx) => operation.run(tx),
    wrote: ({ header }) => {
      const subject = header.parts[0]?.subject.subarray(1);
      if (header.kind !== "update" || subject === undefined) return false;
      return parsed.id === undefined || keyString(subject) === keyString(parsed.id);
    },
  };
}

/** An entry can carry one key: the batch's, or the item's. */
function refuseTwoKeys(keyed: boolean, key: unknown): void {
  if (!keyed || key === undefined) return;
  throw invalid("idempotencyKey", "one key for the batch or one for each item", "both");
}

function linkStep(engine: Engine, given: BatchLink, isLoose: boolean): OtherStep {
  const { loose, ...rest } = checkObject(given, "link");
  const link = checkInput(batchLink, isLoose ? rest : given);
  const ends = [link.from, link.to];
  const known = ends.flatMap((end) => (typeof end === "string" ? [end] : []));
  const prepare = (nameOf: (end: BatchEnd, field: string) => Ref) => {
    const named = { from: nameOf(link.from, "from"), to: nameOf(link.to, "to") };
    return prepareEdge(engine, { ...link, ...named, loose });
  };
  const prepareIn = ({ refs }: BatchRun) => prepare((end, field) => endOf(end, refs, field));
  // Checked now with any id in the place of a ref, so that a bad link is refused before anything runs.
  const prepared = prepare((end) => (typeof end === "string" ? end : SOME_ID));
  return {
    verb: "link",
    ref: undefined,
    needs:
      known.length === ends.length
        ? edgeOperation(engine, prepared)
        : {
            hints: [
              ...known.flatMap((end) => refKeys(parseRef(engine, end, "from"))),
              ...(prepared.open ? [textKey("edgeKind", prepared.kind)] : []),
            ],
          },
    apply: (tx, run) => applyEdge(engine, tx, prepareIn(run), run.newIds),
    wrote: ({ header }, run) => {
      const subject = header.parts[0]?.subject.subarray(1);
      if (header.kind !== "add_edge" || subject === undefined) return false;
      const edge = prepareIn(run);
      const isNamed = edge.from.id === undefined || edge.to.id === undefined;
      if (isNamed || edge.loose !== undefined) return true;
      const identity = { from: edge.from.id, kind: edge.kind, to: edge.to.id, n: 0 };
      return keyString(edgeTreeKey(engine.sha256, identity)) === keyString(subject);
    },
  };
}

/** Stands for a memory whose id is not known yet. */
const SOME_ID = "00000000000000000000000001";

function endOf(end: BatchEnd, refs: ReadonlyMap<string, string>, field: string): Ref {
  if (typeof end === "string") return end;
  const id = refs.get(end.ref);
  if (id !== undefined) return id;
  throw new CortexError(
    "ERR_REF",
    `${field}: expected the ref of an earlier item, got ${describe(end.ref)}`,
    { field, got: describe(end.ref) },
  );
}

interface ApplyHow {
  readonly engine: Engine;
  readonly atomic: boolean;
  readonly isLoose: boolean;
  readonly request: Uint8Array | undefined;
}

function applySteps(
  tx: WriteTx,
  steps: readonly (Step | Failure)[],
  { engine, atomic, isLoose, request }: ApplyHow,
): readonly BatchItemResult[] {
  const run = beginRun(engine, steps);
  const marked = markFirst(tx, request);
  return inLockstep(steps, (step, at, isTrial): BatchItemResult => {
    if (isFailure(step)) return { ok: false, error: step.failed };
    if (!isLoose && step.ref !== undefined && run.refs.has(step.ref)) {
      const error = atItem(
        invalid("ref", "a name of its own for each item", step.ref, "ERR_REF"),
        at,
      );
      if (atomic) throw error;
      return { ok: false, error };
    }
    // What fails as a whole, or is a trial, is taken back as a whole: items need not be able to be.
    const outcome =
      atomic || isTrial
        ? { value: applyWhole(marked, step, run, at) }
        : marked.attempt(() => applyStep(marked, step, run));
    if ("error" in outcome) return { ok: false, error: atItem(outcome.error, at) };
    const { value } = outcome;
    if (isLoose && "conflicts" in value && value.conflicts.length > 0) {
      const error = atItem(rivalError(value), at);
      if (atomic) throw error;
      return { ok: false, error, written: value };
    }
    noteIds(run, step, value.id);
    return { ok: true, ...value };
  });
}
function applyWhole(tx: WriteTx, step: Step, run: BatchRun, at: number): WriteResult | EdgeResult {
  try {
    return applyStep(tx, step, run);
  } catch (error) {
    throw isCortexError(error) ? atItem(error, at) : error;
  }
}

function rivalError({ version, conflicts }: WriteResult): CortexError {
  return new CortexError(
    "ERR_CONFLICT",
    `basedOnVersion: expected an open version; version ${version} has ${conflicts.length} rivals`,
    { field: "basedOnVersion" },
  );
}

function noteIds({ refs, newIds }: BatchRun, step: Step, id: string): void {
  if (step.ref !== undefined) refs.set(step.ref, id);
  if (newIds === undefined || step.verb !== "write") return;
  if (memoryId(step.prepared.id) === id) newIds.add(id);
}

/**
 * Runs every item. One that needs unread rows stops the batch from succeeding, but the rest is tried
 * all the same, only to learn what it needs: so a batch takes as many reads as its deepest item, not
 * as many as it has items. The writer takes everything back and runs the batch again.
 */
function inLockstep<T>(
  steps: readonly (Step | Failure)[],
  run: (step: Step | Failure, at: number, isTrial: boolean) => T,
): T[] {
  const results: T[] = [];
  const keys: Bytes[] = [];
  const ranges: KvRange[] = [];
  let stuck = false;
  for (const [at, step] of steps.entries()) {
    try {
      results.push(run(step, at, stuck));
    } catch (error) {
      if (error instanceof Unread) {
        stuck = true;
        for (const key of error.keys) keys.push(key);
        for (const range of error.ranges) ranges.push(range);
      } else if (!stuck) throw error;
    }
  }
  if (stuck) throw new Unread(keys, ranges);
  return results;
}

/** The results of the first call, read from the entries it left. */
function repeatSteps(
  engine: Engine,
  tx: WriteTx,
  steps: readonly (Step | Failure)[],
  entries: readonly Entry[],
): readonly BatchItemResult[] {
  askResults(tx, entries);
  const run = beginRun(engine, steps);
  const rest = entries.filter(({ header }) => header.kind !== "register_edge_kind");
  let next = 0;
  return inLockstep(steps, (step, at): BatchItemResult => {
    if (isFailure(step)) return { ok: false, error: step.failed };
    const entry = rest[next];
    if (entry === undefined || !wroteEntry(step, entry, run)) return repeatIdle(tx, step, at, run);
    next += 1;
    const isEdge = entry.header.kind === "add_edge";
    const result = isEdge ? edgeResultOf(entry) : writeResultOf(engine, tx, entry);
    if (result === undefined) {
      const error = new CortexError("ERR_ERASED", "link: an end of the edge was forgotten");
      return { ok: false, error: atItem(error, at) };
    }
    noteIds(run, step, result.id);
    return { ok: true, ...result };
  });
}

/** An item that left no entry: a link that was there already, or one that failed. */
function repeatIdle(tx: WriteTx, step: Step, at: number, run: BatchRun): BatchItemResult {
  const before = tx.nextSeq();
  const outcome = tx.attempt(() => {
    const result = applyStep(tx, step, run);
    if (tx.nextSeq() === before) return result;
    throw new CortexError(
      "ERR_IDEMPOTENCY",
      "idempotencyKey: the item failed in the first call; expected a new key to try it again",
      { field: "idempotencyKey" },
    );
  });
  if ("error" in outcome) return { ok: false, error: atItem(outcome.error, at) };
  return { ok: true, ...outcome.value };
}

/** The same failure, naming the item it happened in. */
function atItem(error: CortexError, at: number): CortexError {
  const details = {
    ...error.details,
    field: `items[${at}].${error.details.field ?? ""}`.replace(/\.$/, ""),
  };
  return new CortexError(error.code, `items[${at}]: ${error.message}`, details, error);
}
