/**
 * `extract`: facts out of conversations, by the model that the store was opened with.
 *
 * Turns are kept verbatim by `remember`; this reads those that wait (`extract/window.ts`), shows them to
 * the model with the memories that are nearest to them, and writes what holds of its reply
 * (`extract/exchange.ts`): facts of source `extraction` with the session and turn they come from, each
 * joined by `derived_from` to its turns, and links between them. Words from outside keep their own
 * source. What a source may replace, and what becomes a rival for review, the write verbs decide.
 *
 * Promises: a window is written in one commit under a key of its own, so that it is written once even
 * if the process dies before its turns are marked as done. A reply that is refused changes nothing: its
 * turns wait, and the pause before the next try doubles. A model that cannot be asked at all ends the
 * call with `ERR_MODEL`; what was written before stays. A statement that a live memory of no lower
 * standing makes already is not written again: hearing an echo is no evidence.
 *
 * As a background job it shows turns to the model once their session has been silent for a while, or
 * holds as many as a prompt does. A refused reply fails the run after everything else that was due is
 * done; its turns wait, each thread with a pause of its own.
 */

import { batch } from "../batch/batch.js";
import { toHex } from "../codec/keys.js";
import { utf8 } from "../codec/text.js";
import type { BatchItem, BatchItemResult } from "../contract/batch.js";
import type { Asked } from "../contract/index.js";
import type { Memory, MemoryId } from "../contract/shapes.js";
import type { DropRule, ExtractedFact, ExtractFailure, ExtractReport } from "../contract/upkeep.js";
import type { Engine } from "../engine/engine.js";
import { shapeMemory } from "../engine/shapes.js";
import { CortexError, isCortexError } from "../errors.js";
import { withSnapshot } from "../history/build-beside.js";
import { bodyOf, type FoundMemory, Reader } from "../history/reader.js";
import { refuseOnReplica } from "../history/replica-mark.js";
import type { Job } from "../jobs/runner.js";
import { EXTRACT_QUEUE_KEY } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { blamesReply, type Model, modelFailure, noModel } from "../model/model.js";
import type { Source } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { OWNER } from "../scope/access.js";
import { mayReplace } from "../trust/gate.js";
import { contended } from "../vector/vector-changes.js";
import {
  extractPrompt,
  type Offer,
  type Proposal,
  type ProposedFact,
  readReply,
  sameStatement,
  tally,
} from "./exchange.js";
import {
  afterDone,
  afterFailure,
  caughtUp,
  decodeQueue,
  encodeQueue,
  isDue,
  type Queue,
  readWaiting,
  type Waiting,
  type Window,
} from "./window.js";

/** Distils the turns that wait. */
export async function extract(
  engine: Engine,
  { limit = LIMITS.extractCallsDefault, ...asked }: Asked<"extract">,
): Promise<ExtractReport> {
  // Before a model is asked, perhaps for money, what could not be written.
  await refuseOnReplica(engine.kv);
  return new Extraction(engine, { ...asked, limit, isDue: () => true }).run();
}

/** Distils the turns of sessions that have fallen silent: what the background job does. */
async function extractDue(
  engine: Engine,
  debounceMs: number,
  signal: AbortSignal,
): Promise<ExtractReport> {
  await refuseOnReplica(engine.kv);
  return new Extraction(engine, {
    limit: LIMITS.extractCallsDefault,
    signal,
    access: OWNER,
    isDue: (window, queue) => isDue(window, queue, { now: engine.clock(), debounceMs }),
  }).run();
}

/** The model of a store; a store without one refuses. */
export function modelOf({ model }: Engine): Model {
  if (model === undefined) throw noModel();
  return model;
}

/** What to distil, and how far to go. */
type Task = Asked<"extract"> & {
  readonly limit: number;
  readonly isDue: (window: Window, queue: Queue) => boolean;
};

/** One call: windows one by one, until nothing is due or the limit is met. */
class Extraction {
  readonly #engine: Engine;
  readonly #model: Model;
  readonly #task: Task;
  readonly #facts: ExtractedFact[] = [];
  readonly #failures: ExtractFailure[] = [];
  readonly #dropped = new Map<DropRule, number>();
  /** Threads that this call does not come back to. */
  readonly #over = new Set<string>();
  #calls = 0;
  #turns = 0;
  #known = 0;
  #links = 0;

  constructor(engine: Engine, task: Task) {
    this.#engine = engine;
    this.#model = modelOf(engine);
    this.#task = task;
  }

  async run(): Promise<ExtractReport> {
    while (!this.#isOver()) {
      const waiting = await this.#look();
      const { windows, queue } = waiting;
      const due = windows.filter(
        (window) => !this.#over.has(window.thread) && this.#task.isDue(window, queue),
      );
      if (due.length === 0) break;
      for (const window of due) {
        if (this.#isOver()) break;
        await this.#window(window);
        this.#task.onProgress?.(this.#turns, this.#turns + waiting.turns);
      }
    }
    return this.#report();
  }

  #isOver(): boolean {
    return this.#calls >= this.#task.limit || this.#task.signal?.aborted === true;
  }

  async #look(): Promise<Waiting> {
    return Reader.with(this.#engine.kv, undefined, (reader) =>
      readWaiting(reader, this.#task.session),
    );
  }

  async #window(window: Window): Promise<void> {
    const { dryRun, signal } = this.#task;
    this.#calls += 1;
    try {
      await this.#distil(window);
    } catch (error) {
      if (signal?.aborted === true) return;
      // A model that cannot be asked answers no other window either.
      if (!blamesReply(error)) throw error;
      await this.#fail(window, error);
      return;
    }
    this.#turns += window.turns.length;
    if (dryRun === true) this.#over.add(window.thread);
    else await changeQueue(this.#engine, (queue) => afterDone(queue, window));
  }

  async #fail({ thread, session }: Window, error: CortexError): Promise<void> {
    const { code, message } = error;
    this.#over.add(thread);
    this.#failures.push({ session, code, message });
    if (this.#task.dryRun === true) return;
    const now = this.#engine.clock();
    await changeQueue(this.#engine, (queue) => afterFailure(queue, thread, now));
  }

  async #distil(window: Window): Promise<void> {
    const engine = this.#engine;
    const near = await nearestTo(engine, window.turns.map(({ content }) => content).toReversed());
    const offer = offerOf(window, near);
    const reply = await this.#model.complete(extractPrompt(offer, this.#task.signal));
    const read = readReply(reply, offer, window.source);
    if ("refused" in read) {
      throw modelFailure(this.#model.name, read.refused, undefined, "reply");
    }
    const { proposal } = read;
    const stated = await alreadyStated(engine, proposal.facts, window.source);
    this.#known += proposal.known + stated.size;
    tally(this.#dropped, proposal.dropped);
    const facts = proposal.facts.filter(({ name }) => !stated.has(name));
    if (this.#task.dryRun === true) {
      for (const fact of facts) this.#note(window, fact, "proposed");
      this.#links += proposal.links.length;
      return;
    }
    const items = itemsOf(engine, window, { ...proposal, facts }, { near, stated });
    const results = await writeWindow(engine, window, items);
    for (const [at, result] of results.entries()) {
      const fact = facts[at];
      if (fact !== undefined) this.#note(window, fact, outcomeOf(result), result);
      else if (result.ok && "changed" in result && result.changed) this.#links += 1;
    }
  }

  #note(
    { session }: Window,
    { text, type, slot }: ProposedFact,
    outcome: ExtractedFact["outcome"],
    result?: BatchItemResult,
  ): void {
    this.#facts.push({
      session,
      text,
      type,
      outcome,
      ...(slot === undefined ? {} : { slot }),
      ...(result?.ok === true && "uri" in result ? { id: result.id } : {}),
    });
  }

  async #report(): Promise<ExtractReport> {
    const { session, dryRun = false } = this.#task;
    const left = await this.#look();
    // One session's turns say nothing about those of others, which may wait before them.
    const queue = session === undefined && !dryRun ? caughtUp(left) : left.queue;
    if (queue !== left.queue) await putQueue(this.#engine, left.row, queue);
    return {
      model: this.#model.name,
      dryRun,
      calls: this.#calls,
      turns: this.#turns,
      facts: this.#facts,
      known: this.#known,
      links: this.#links,
      dropped: [...this.#dropped].map(([rule, count]) => ({ rule, count })),
      failures: this.#failures,
      waiting: left.turns,
      cursor: queue.cursor,
      seq: left.size - 1,
    };
  }
}

function offerOf({ turns }: Window, near: readonly Memory[]): Offer {
  return {
    turns: turns.map(({ data: { role, speaker, at }, content }) => ({
      role,
      content,
      ...(speaker === undefined ? {} : { speaker }),
      ...(at === undefined ? {} : { at }),
    })),
    known: near,
  };
}

/** Live memories that are nearest to texts by their words: no turns, and nothing with a warning. */
export async function nearestTo(
  engine: Engine,
  texts: readonly string[],
  limit: number = LIMITS.extractKnown,
): Promise<readonly (Memory & { readonly slot?: string })[]> {
  return engine.text.searching(engine.kv, undefined, async (reader) => {
    // Quotes ask for phrases; here they are part of what was said.
    const text = texts.join("\n").replace(/["“”„]/g, " ");
    const found = await engine.text.rank(reader, { text, limit, accept: isFit });
    const ids = found.map(({ id }) => id);
    const memories = await reader.memories(ids, await reader.memoryRows(ids));
    return memories.flatMap((memory) => {
      if (memory === undefined) return [];
      const shaped = shapeMemory(engine.actor, memory);
      const { slot } = shaped.head;
      return [{ ...shaped, ...(slot === undefined ? {} : { slot }) }];
    });
  });
}

function isFit(found: readonly FoundMemory[]): readonly boolean[] {
  return found.map(({ head, body }) => {
    return head.record.head.turn === undefined && bodyOf(body).flags === undefined;
  });
}

/** Memories compared with a fact, to find one that states the same. */
const COMPARED = 8;

/** The facts that a live memory of no lower standing states already, with that memory. */
async function alreadyStated(
  engine: Engine,
  facts: readonly ProposedFact[],
  source: Source,
): Promise<ReadonlyMap<string, MemoryId>> {
  const stated = new Map<string, MemoryId>();
  for (const { name, text } of facts) {
    const near = await nearestTo(engine, [text], COMPARED);
    const same = near.find(
      (memory) => sameStatement(memory.text, text) && mayReplace(memory.head.source, source),
    );
    if (same !== undefined) stated.set(name, same.id);
  }
  return stated;
}

/** The writes of a window, facts first and in order, then links. */
function itemsOf(
  engine: Engine,
  window: Window,
  proposal: Pick<Proposal, "facts" | "links">,
  met: { readonly near: readonly Memory[]; readonly stated: ReadonlyMap<string, MemoryId> },
): readonly BatchItem[] {
  const { source } = window;
  const endOf = (name: string) => {
    const place = name.startsWith("k") ? Number(name.slice(1)) - 1 : -1;
    return met.near[place]?.id ?? met.stated.get(name) ?? { ref: name };
  };
  const writes = proposal.facts.map((fact): BatchItem => {
    const turns = fact.turns.flatMap((at) => window.turns[at] ?? []);
    const [first] = turns;
    const replaced = fact.replaces === undefined ? undefined : met.near[fact.replaces]?.id;
    const { slot, importance } = fact;
    return {
      ref: fact.name,
      write: {
        type: fact.type,
        text: fact.text,
        source,
        provenance: {
          source,
          session: window.session,
          derivedFrom: turns
            .slice(0, LIMITS.derivedFrom)
            .map(({ id, version }) => buildUri({ actor: engine.actor, type: "note", id, version })),
          ...(first === undefined ? {} : { turn: first.data.index }),
        },
        ...(first?.data.at === undefined ? {} : { validFrom: first.data.at }),
        ...(slot === undefined ? {} : { slot }),
        ...(importance === undefined ? {} : { importance }),
        ...(replaced === undefined ? {} : { supersedes: [replaced] }),
      },
    };
  });
  const links = proposal.links.map(({ from, to, ...link }): BatchItem => {
    return { link: { ...link, from: endOf(from), to: endOf(to), source } };
  });
  return [...writes, ...links];
}

/**
 * Writes a window once. The key names the turns, not what was made of them: had the process died after
 * the commit, another reply to the same turns would be refused here, which is as good as done.
 */
async function writeWindow(
  engine: Engine,
  { thread, turns, next }: Window,
  items: readonly BatchItem[],
): Promise<readonly BatchItemResult[]> {
  if (items.length === 0) return [];
  const first = Math.min(...turns.map(({ seq }) => seq));
  const idempotencyKey = `extract ${toHex(engine.sha256(utf8(`${thread} ${first} ${next}`)))}`;
  try {
    return (await batch(engine, { items, atomic: false, idempotencyKey, access: OWNER })).results;
  } catch (error) {
    if (isCortexError(error, "ERR_IDEMPOTENCY")) return [];
    throw error;
  }
}

function outcomeOf(result: BatchItemResult): ExtractedFact["outcome"] {
  if (!result.ok || !("replaced" in result)) return "refused";
  if (result.reinforced) return "restated";
  if (result.conflicts.length > 0) return "rival";
  return result.replaced.length > 0 ? "changed" : "new";
}

/** Changes the queue as it is now, whoever else changes it. */
async function changeQueue(engine: Engine, change: (queue: Queue) => Queue): Promise<void> {
  for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt += 1) {
    const [row] = await withSnapshot(engine.kv, (snapshot) =>
      snapshot.getMany([EXTRACT_QUEUE_KEY]),
    );
    if (await putQueue(engine, row, change(decodeQueue(row)))) return;
  }
  throw contended("the queue of turns could not be written");
}

/** Writes the queue if its row is still the one that was read. */
function putQueue(engine: Engine, row: Uint8Array | undefined, queue: Queue): Promise<boolean> {
  return engine.kv.commitCaches({
    expect: [{ key: EXTRACT_QUEUE_KEY, value: row }],
    puts: [{ key: EXTRACT_QUEUE_KEY, value: encodeQueue(queue) }],
    deletes: [],
  });
}

/** How long a session has to be silent before its turns are distilled. */
export const DEBOUNCE_MS = 45_000;

/** The job that distils turns. */
export function extractJob(engine: Engine, debounceMs: number = DEBOUNCE_MS): Job {
  /** The journal as it was when nothing was due, and until when that holds unless it grows. */
  let rest: { readonly size: number; readonly until: number } | undefined;
  /** Whether turns wait for their session to fall silent; not those that the model has failed at. */
  let areWaiting = false;
  return {
    name: "extract",
    pending: () =>
      Reader.with(engine.kv, undefined, async (reader) => {
        const { size } = reader.head;
        const now = engine.clock();
        if (rest !== undefined && rest.size === size && now < rest.until) return false;
        const { windows, queue } = await readWaiting(reader);
        areWaiting = windows.some(({ thread }) => !queue.failed.has(thread));
        if (windows.some((window) => isDue(window, queue, { now, debounceMs }))) return true;
        const times = windows.map(({ thread, lastStoredAt }) =>
          Math.max(queue.failed.get(thread)?.retryAt ?? 0, lastStoredAt + debounceMs),
        );
        rest = { size, until: Math.min(Number.MAX_SAFE_INTEGER, ...times) };
        // Entries without turns are passed in large steps, so that a store at rest is not written.
        return windows.length === 0 && size - queue.cursor > LIMITS.textTailEntries;
      }),
    isWaiting: () => areWaiting,
    async run(signal) {
      const { calls, cursor, seq, failures } = await extractDue(engine, debounceMs, signal);
      const [failure] = failures;
      if (failure === undefined) return { done: calls, cursor, lag: seq + 1 - cursor };
      throw new CortexError("ERR_MODEL", failure.message, { field: "reply" });
    },
  };
}
