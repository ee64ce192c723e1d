/**
 * Changes that were refused because the caller lacks the standing to make them: they are kept as proposals, and
 * carried out when the owner accepts them.
 *
 * Promises: a caller whose change is refused because of whose word it would overrule learns under which item of
 * the review the proposal is kept. A proposal is an entry, so it survives a rebuild and a replay, and a part of
 * the memory it is about, so it goes when that is forgotten. Of one speaker, one proposal for each memory and
 * verb is open; asking for the same again writes nothing, and a flood is limited. `settle` makes the proposed
 * change, as the word of whoever settles, and closes the proposal in the same commit: so the change is made
 * once, exactly as the item listed it, and to the memory that the item shows.
 */
import { revert } from "../changes/revert.js";
import { utf8 } from "../codec/text.js";
import { parseUlid } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type { Settlement } from "../contract/review.js";
import type { Verb } from "../contract/verb.js";
import { subject } from "../engine/drafts.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { ask, askEntries } from "../engine/read-ahead.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import { decodeMemoryRow, decodePointer } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { WriteOperation, WriteTx } from "../history/writer.js";
import { partRecord, SUBJECT } from "../journal/entry.js";
import { idKey } from "../kv/keyspace.js";
import { type Bytes, sameBytes } from "../kv/kv.js";
import { addEdge, removeEdge, removeEdgeById } from "../links/edges.js";
import { forget } from "../memory/forget.js";
import { restore } from "../memory/restore.js";
import { tombstone, update, updateHead } from "../memory/update.js";
import { write } from "../memory/write.js";
import { encodeClosing, encodeProposal, MARK_BYTES, proposalName } from "../records/frames.js";
import { openProposal, proposalItem, wishMark } from "../review/proposals.js";
import { parseItemId } from "../review/review.js";
import { changedSince, noLongerOpen, settle as settleQuestion } from "../review/settle.js";
import type { Speaker } from "../scope/access.js";
import { overruledMemory, refused, voiceOf } from "../trust/gate.js";
import { speaksForOwner } from "./standing.js";

/** The verbs whose refusal is a wish that can be carried out later. */
const PERFORM = {
  write,
  update,
  updateHead,
  tombstone,
  restore,
  forget,
  addEdge,
  link: addEdge,
  removeEdge,
  removeEdgeById,
  revert,
  settle: settleQuestion,
} as const;

type Proposable = keyof typeof PERFORM;

function isProposable(verb: string): verb is Proposable {
  return Object.hasOwn(PERFORM, verb);
}

/** Members of a call that are not part of a wish: whose word it is, is for whoever says yes. */
const NOT_WISHED: ReadonlySet<string> = new Set([
  "access",
  "by",
  "source",
  "provenance",
  "idempotencyKey",
  "memory",
]);

/** Runs a call of somebody who may be refused, and keeps what it was refused as a proposal. */
export async function keepingWishes<T>(
  engine: Engine,
  {
    verb,
    asked,
    speaker,
  }: { readonly verb: Verb; readonly asked: object; readonly speaker: Speaker },
  run: () => Promise<T>,
): Promise<T> {
  try {
    const answer = await run();
    return verb.name === "batch" ? await itemWishes(engine, { asked, speaker }, answer) : answer;
  } catch (error) {
    const [name, input] = verb.name === "batch" ? batchWish(asked, error) : [verb.name, asked];
    throw await kept(engine, { verb: name, asked: input, speaker }, error);
  }
}

/** The failures of items in the answer of a batch, each with its wish kept. */
async function itemWishes<T>(
  engine: Engine,
  { asked, speaker }: { readonly asked: object; readonly speaker: Speaker },
  answer: T,
): Promise<T> {
  const { results } = answer as { readonly results: readonly { readonly error?: unknown }[] };
  if (!results.some(({ error }) => overruledMemory(error) !== undefined)) return answer;
  const named: object[] = [];
  for (const result of results) {
    const { error } = result;
    const [verb, input] = batchWish(asked, error);
    const wish = { verb, asked: input, speaker };
    named.push(
      error === undefined ? result : { ...result, error: await kept(engine, wish, error) },
    );
  }
  return { ...answer, results: named };
}

/** The item that a failure of a batch names, as a call of its own verb. */
function batchWish(asked: object, error: unknown): readonly [string, object] {
  const { items } = asked as { readonly items: readonly { readonly [verb: string]: unknown }[] };
  const field = isCortexError(error) ? error.details.field : undefined;
  const [, at] = /^items\[(\d+)\]/.exec(field ?? "") ?? [];
  const item = at === undefined ? undefined : items[Number(at)];
  const found = Object.entries(item ?? {}).find(([name]) => isProposable(name));
  if (found === undefined) return ["batch", {}];
  const { upsert } = item ?? {};
  const [name, input] = found as [string, object];
  return [name, upsert === undefined ? input : { ...input, upsert }];
}

interface Wish {
  readonly verb: string;
  readonly asked: object;
  readonly speaker: Speaker;
}

/** A refusal, with the item under which its wish is kept; any other failure as it is. */
async function kept(engine: Engine, wish: Wish, error: unknown): Promise<unknown> {
  const id = overruledMemory(error);
  if (id === undefined || !isCortexError(error) || !isProposable(wish.verb)) return error;
  const items: string[] = [];
  try {
    for (const [about, asked] of await wishesIn(engine, wish, id)) {
      const item = await propose(engine, { ...wish, asked }, about);
      if (item !== undefined) items.push(item);
    }
  } catch (failure) {
    if (!isCortexError(failure, "ERR_RATE_LIMITED")) throw failure;
    const what = items.length === 0 ? "it is not" : "not all of it is";
    return withWishes(error, items, `too many wishes at once, so ${what} kept`);
  }
  return withWishes(error, items);
}

/** A refusal that says where the wish is kept. */
function withWishes(error: CortexError, items: readonly string[], more?: string): CortexError {
  const [proposal] = items;
  const others = items.length > 1 ? ` and ${items.length - 1} more` : "";
  const where =
    proposal === undefined
      ? []
      : [`the wish is kept as ${proposal}${others} in the review, for the owner to settle`];
  const said = [error.message, ...where, ...(more === undefined ? [] : [more])];
  if (said.length === 1) return error;
  const details = proposal === undefined ? error.details : { ...error.details, proposal };
  return new CortexError(error.code, said.join("; "), details, error);
}

/**
 * What is wished, memory by memory. A tag, a slot or a session may hold others by the time the owner says
 * yes, and what is derived from a memory is not shown with it: so a wish to forget is kept for each.
 */
async function wishesIn(
  engine: Engine,
  { verb, asked }: Wish,
  id: Bytes,
): Promise<readonly (readonly [about: Bytes, asked: object])[]> {
  if (verb !== "forget") return [[id, asked]];
  const { memories = [] } = await forget(engine, { ...(asked as Asked<"forget">), dryRun: true });
  const others = memories.flatMap((memory) => parseUlid(memory.id) ?? []);
  const all = [id, ...others.filter((other) => !sameBytes(other, id))];
  return all.map((about) => [about, forgetOnly(asked, about)]);
}

/** A wish to forget, of one memory. */
function forgetOnly(asked: object, id: Bytes): object {
  const { reason } = asked as Asked<"forget">;
  return { id: memoryId(id), reason };
}

/** Keeps a wish; the item it is listed as, or `undefined` when its memory is not there any more. */
async function propose(engine: Engine, wish: Wish, id: Bytes): Promise<string | undefined> {
  const { verb, asked, speaker } = wish;
  const by = speaker.principal ?? engine.principal;
  const voice = voiceOf(by);
  const mark = engine.sha256(utf8(`proposal ${verb} ${voice}`)).slice(0, MARK_BYTES);
  const wished = Object.entries(asked).filter(
    ([field, value]) => !NOT_WISHED.has(field) && value !== undefined,
  );
  const input = Object.fromEntries(wished);
  const record = encodeProposal({ verb, input, source: speaker.source, mark });
  const name = proposalName(id, mark);
  const keys = [idKey("memory", id), idKey("proposal", name)];
  let isLimited = false;
  const { value } = await engine.writer.submit({
    hints: keys,
    bytes: record.length + 512,
    run: (tx) => {
      ask(tx, keys);
      const row = tx.view.get(idKey("memory", id));
      if (row === undefined || decodeMemoryRow(row).lifecycle === "erased") return undefined;
      const item = proposalItem(name, wishMark(engine.sha256, record));
      if (sameBytes(openRecord(tx, name), record)) return item;
      if (!isLimited) engine.limiter.pass("propose", [{ gate: "proposals", key: voice }]);
      isLimited = true;
      tx.append({
        kind: "propose",
        by,
        parts: [{ subject: subject(SUBJECT.attachment, id), record }],
      });
      return item;
    },
  });
  return value;
}

/** The record of an open proposal. */
function openRecord(tx: WriteTx, name: Bytes): Uint8Array | undefined {
  const row = tx.view.get(idKey("proposal", name));
  if (row === undefined) return undefined;
  const pointer = decodePointer(row);
  askEntries(tx, [pointer]);
  return partRecord(tx.fold.records.part(pointer).bytes);
}

/** Decides one item of the review: a question about memories, or a proposal. */
export async function settle(engine: Engine, asked: Asked<"settle">): Promise<Settlement> {
  const { kind, id, other: mark, wish: shown } = parseItemId(asked.item);
  if (kind !== "proposal" || mark === undefined || shown === undefined) {
    return settleQuestion(engine, asked);
  }
  if (!speaksForOwner(engine.speaker)) {
    const own = `${engine.speaker?.door} speaks as ${engine.speaker?.source}`;
    throw refused("item", `expected whoever speaks for the owner to settle a proposal; ${own}`);
  }
  const { decision } = asked;
  if (decision !== "keep_one" && decision !== "retract") {
    throw invalid("decision", "keep_one to do what is proposed, or retract to drop it", decision);
  }
  const name = proposalName(id, mark);
  const closing = closingEngine(engine, asked, { id, name, mark, shown });
  if (decision === "retract") {
    const { seq } = await closing.writer.submit({ run: () => undefined });
    return { item: asked.item, decision, seq, kept: [memoryId(id)], archived: [] };
  }
  const wish = await Reader.with(engine.kv, undefined, (reader) => openProposal(reader, name));
  if (wish === undefined || !isProposable(wish.verb)) throw noLongerOpen(asked.item);
  refuseOther(engine, asked.item, encodeProposal(wish), shown);
  const { verb } = wish;
  const wished = verb === "forget" ? forgetOnly(wish.input, id) : wish.input;
  // A memory that is forgotten takes its proposals along.
  const performing = verb === "forget" ? engine : closing;
  const perform = PERFORM[verb] as (
    engine: Engine,
    asked: object,
  ) => Promise<{ readonly seq: number }>;
  const by = asked.by === undefined ? {} : { by: asked.by };
  const { seq } = await perform(performing, { ...wished, ...by, access: asked.access });
  const isGone = verb === "tombstone" || verb === "forget";
  const [keptIds, archived] = isGone ? [[], [memoryId(id)]] : [[memoryId(id)], []];
  return { item: asked.item, decision, seq, kept: keptIds, archived };
}

/** Refuses a proposal that wishes something else than it did when it was listed. */
function refuseOther(engine: Engine, item: string, record: Uint8Array, shown: Bytes): void {
  if (!sameBytes(wishMark(engine.sha256, record), shown)) throw changedSince(item);
}

/** The engine with which a proposal is carried out: its first commit closes the proposal as well. */
function closingEngine(
  engine: Engine,
  { item, decision, reason, by = engine.principal }: Asked<"settle">,
  proposal: {
    readonly id: Bytes;
    readonly name: Bytes;
    readonly mark: Bytes;
    readonly shown: Bytes;
  },
): Engine {
  const key = idKey("proposal", proposal.name);
  const keys = [key, idKey("memory", proposal.id)];
  let isClosed = false;
  const close = (tx: WriteTx): void => {
    ask(tx, keys);
    const open = openRecord(tx, proposal.name);
    if (open === undefined) throw noLongerOpen(item);
    refuseOther(engine, item, open, proposal.shown);
    const record = encodeClosing(decision, reason, proposal.mark);
    const parts = [{ subject: subject(SUBJECT.attachment, proposal.id), record }];
    tx.append({ kind: "settle", by, parts });
  };
  const submit = <T>(operation: WriteOperation<T>) => {
    if (isClosed) return engine.writer.submit(operation);
    isClosed = true;
    return engine.writer.submit<T>({
      ...operation,
      batch: true,
      hints: [...(operation.hints ?? []), ...keys],
      run: (tx) => {
        close(tx);
        return operation.run(tx);
      },
    });
  };
  return { ...engine, writer: { submit, invalidate: () => engine.writer.invalidate() } };
}
