/**
 * `batch`: many writes, updates and links in one commit, with refs between them.
 *
 * Atomic by default: one failing item fails the batch, and nothing is written. Best effort on
 * request: a failing item leaves nothing and names its error, the others stand. Reads of the past
 * never see half a batch.
 */
import { CortexError, describe, invalid, isCortexError } from "../errors.js";
import type { Operation, WriteTx } from "../history/writer.js";
import { LIMITS } from "../limits.js";
import { applyEdge, type EdgeInput, type EdgeResult, edgeOperation, prepareEdge } from "./edges.js";
import { type Engine, type Ref, refKeys } from "./engine.js";
import { firstResult, idempotencyKeys } from "./idempotency.js";
import type { WriteResult } from "./shapes.js";
import { type UpdateInput, updateOperation } from "./update.js";
import { applyWrite, writeNeeds } from "./write.js";
import { prepareWrite, requestMark, type WriteInput } from "./write-input.js";

/** An end of a link in a batch: a memory, or the ref of an earlier item. */
export type BatchEnd = Ref | { readonly ref: string };

/** A link in a batch. */
export interface BatchLink extends EdgeInput {
  readonly from: BatchEnd;
  readonly kind: string;
  readonly to: BatchEnd;
}

/** One item of a batch. */
export type BatchItem =
  | { readonly write: WriteInput; readonly ref?: string }
  | { readonly update: { readonly id: Ref } & UpdateInput; readonly ref?: string }
  | { readonly link: BatchLink };

/** How a batch is done. */
export interface BatchOptions {
  /** False lets the good items stand when others fail. */
  readonly atomic?: boolean;
  readonly idempotencyKey?: string;
}

/** What became of one item. */
export type BatchItemResult =
  | ({ readonly ok: true } & WriteResult)
  | ({ readonly ok: true } & EdgeResult)
  | { readonly ok: false; readonly error: CortexError };

/** What became of a batch. */
export interface BatchResult {
  readonly results: readonly BatchItemResult[];
  readonly seq: number;
}

interface Step {
  readonly needs: Pick<Operation<unknown>, "hints" | "ranges" | "leaves" | "bytes">;
  readonly ref?: string;
  apply(tx: WriteTx, refs: ReadonlyMap<string, string>): WriteResult | EdgeResult;
}

/** Does many changes in one commit. */
export async function batch(
  engine: Engine,
  items: readonly BatchItem[],
  options: BatchOptions = {},
): Promise<BatchResult> {
  if (!Array.isArray(items) || items.length === 0 || items.length > LIMITS.batchItems) {
    throw invalid("items", `a list of 1 to ${LIMITS.batchItems} items`, items);
  }
  const atomic = options.atomic !== false;
  const steps = items.map((item, at) => prepareStep(engine, item, at, atomic));
  const bytes = steps.reduce(
    (sum, step) => sum + (isFailure(step) ? 0 : (step.needs.bytes ?? 512)),
    0,
  );
  if (bytes > LIMITS.batchBytes) {
    throw invalid("items", `at most ${LIMITS.batchBytes} bytes in all`, bytes, "ERR_TOO_LARGE");
  }
  const { request } = requestMark(engine, options.idempotencyKey, "batch", items);
  const { value, seq } = await engine.writer.submit({
    ...gatherNeeds(steps, request),
    batch: true,
    bytes,
    run: (tx) => firstResult(engine, tx, request, repeat) ?? applySteps(tx, steps, atomic, request),
  });
  return { results: value, seq };
}

function repeat(results: readonly WriteResult[]): readonly BatchItemResult[] {
  return results.map((result) => ({ ok: true, ...result }));
}

function gatherNeeds(
  steps: readonly (Step | Failure)[],
  request: Uint8Array | undefined,
): Required<Pick<Operation<unknown>, "hints" | "ranges" | "leaves">> {
  const needs = steps.flatMap((step) => (isFailure(step) ? [] : [step.needs]));
  return {
    hints: [
      ...needs.flatMap(({ hints }) => hints ?? []),
      ...(request === undefined ? [] : idempotencyKeys(request)),
    ],
    ranges: needs.flatMap(({ ranges }) => ranges ?? []),
    leaves: needs.flatMap(({ leaves }) => leaves ?? []),
  };
}

/** An item that was refused before anything was read. */
interface Failure {
  readonly failed: CortexError;
}

function isFailure(step: Step | Failure): step is Failure {
  return "failed" in step;
}

function prepareStep(engine: Engine, item: BatchItem, at: number, atomic: boolean): Step | Failure {
  try {
    return stepOf(engine, item);
  } catch (error) {
    if (!isCortexError(error)) throw error;
    const named = atItem(error, at);
    if (atomic) throw named;
    return { failed: named };
  }
}

function stepOf(engine: Engine, item: BatchItem): Step {
  if (typeof item !== "object" || item === null) throw invalid("item", "an object", item);
  if ("write" in item) {
    const prepared = prepareWrite(engine, item.write);
    return {
      needs: writeNeeds(engine, prepared),
      ...refOf(item.ref),
      apply: (tx) => applyWrite(engine, tx, prepared),
    };
  }
  if ("update" in item) {
    const { id, ...input } = item.update;
    const operation = updateOperation(engine, id, input);
    return { needs: operation, ...refOf(item.ref), apply: (tx) => operation.run(tx) };
  }
  if ("link" in item) return linkStep(engine, item.link);
  throw invalid("item", "one of write, update, link", describe(Object.keys(item)));
}

function refOf(ref: unknown): { readonly ref?: string } {
  if (ref === undefined) return {};
  if (typeof ref === "string" && ref !== "") return { ref };
  throw invalid("ref", "a name that is not empty", ref, "ERR_REF");
}

function linkStep(engine: Engine, link: BatchLink): Step {
  const { from, kind, to, ...input } = link;
  const plain = typeof from === "string" && typeof to === "string";
  const needs = plain
    ? edgeOperation(engine, prepareEdge(engine, { from, kind, to, input }))
    : {
        hints: [from, to].flatMap((end) => (typeof end === "string" ? refHints(engine, end) : [])),
      };
  return {
    needs,
    apply: (tx, refs) => {
      const ends = { from: endOf(from, refs, "from"), to: endOf(to, refs, "to") };
      return applyEdge(engine, tx, prepareEdge(engine, { ...ends, kind, input }));
    },
  };
}

function refHints(engine: Engine, end: Ref): readonly Uint8Array[] {
  const { from } = prepareEdge(engine, { from: end, kind: "related_to", to: end, input: {} });
  return refKeys(from);
}

function endOf(end: BatchEnd, refs: ReadonlyMap<string, string>, field: string): Ref {
  if (typeof end === "string") return end;
  const id = refs.get(end?.ref);
  if (id !== undefined) return id;
  throw new CortexError("ERR_REF", `${field}: ref not found: ${describe(end?.ref)}`, { field });
}

function applySteps(
  tx: WriteTx,
  steps: readonly (Step | Failure)[],
  atomic: boolean,
  request: Uint8Array | undefined,
): readonly BatchItemResult[] {
  const refs = new Map<string, string>();
  const marked = markFirst(tx, request);
  return steps.map((step, at): BatchItemResult => {
    if (isFailure(step)) return { ok: false, error: step.failed };
    const outcome = tx.attempt(() => {
      if (step.ref !== undefined && refs.has(step.ref)) {
        throw new CortexError("ERR_REF", `ref: ${describe(step.ref)} is declared twice`);
      }
      return step.apply(marked, refs);
    });
    if ("error" in outcome) {
      const named = atItem(outcome.error, at);
      if (atomic) throw named;
      return { ok: false, error: named };
    }
    if (step.ref !== undefined) refs.set(step.ref, outcome.value.id);
    return { ok: true, ...outcome.value };
  });
}

/** Gives the first entry of the batch the mark of the request. */
function markFirst(tx: WriteTx, request: Uint8Array | undefined): WriteTx {
  if (request === undefined) return tx;
  const first = tx.nextSeq();
  return {
    ...tx,
    append: (draft) => tx.append(tx.nextSeq() === first ? { ...draft, request } : draft),
  };
}

/** The same failure, naming the item it happened in. */
function atItem(error: CortexError, at: number): CortexError {
  const details = {
    ...error.details,
    field: `items[${at}].${error.details.field ?? ""}`.replace(/\.$/, ""),
  };
  return new CortexError(error.code, `items[${at}]: ${error.message}`, details, error);
}
