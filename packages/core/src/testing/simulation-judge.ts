/**
 * Judges a step of the simulation: finds the order in which operations took effect, follows it with the plain
 * model, and compares the store with the model.
 *
 * Every entry names the operation it belongs to, so the journal says the order. An operation without
 * entries must have an answer that was true at some moment between its start and its end. What must
 * hold after a step:
 * - an acknowledged operation is there, with the answer that the model gives at its place;
 * - one that nobody answered is there wholly or not at all;
 * - one that was refused left nothing;
 * - what was read is what the model held at the position the answer names, and recall showed nobody
 *   what they may not see;
 * - every memory and edge that was touched reads as in the model, from both ends of an edge;
 * - rows, indexes and roots are what the journal alone gives, and the journal extends every snapshot.
 */
import type { LogItem } from "../contract/journal.js";
import type { Cortex } from "../cortex.js";
import type { CortexError } from "../errors.js";
import type { Access } from "../scope/access.js";
import { verifyCheckpoint } from "../verify.js";
import { applyToModel } from "./model.js";
import { listedIds, type ModelList } from "./model-reads.js";
import {
  bornModel,
  type ModelOperation,
  type ModelOutcome,
  type ModelState,
} from "./model-state.js";
import type { SeededRandom } from "./seeded-random.js";
import type { SimulationReport } from "./simulation.js";
import {
  comparable,
  compareEdges,
  compareMemory,
  comparePresent,
  compareReads,
  isSame,
  MODEL_ACTOR,
  same,
} from "./simulation-compare.js";
import { BAD_CALLS, type BadCall, START } from "./simulation-plan.js";
import type { Client } from "./simulation-world.js";

/** A change of the store as a whole. */
export type Move = "rebuild" | "vacuum" | "snapshot" | "check" | "maintain";

/** Something that is read while others write. */
export type Read =
  | { readonly what: "list"; readonly list: ModelList }
  | { readonly what: "recall"; readonly query: string; readonly access: Access | undefined };

/** Something a client was asked for, and what became of it. */
export interface Asked {
  readonly client: Client;
  readonly what:
    | { readonly call: ModelOperation | BadCall; readonly by: string }
    | { readonly read: Read }
    | { readonly move: Move };
  /** Entries when it was asked. */
  readonly startSize: number;
  /** Absent while it goes on, and for ever where the client crashed; `size` is entries at the end. */
  outcome?: Outcome;
}

type Outcome = { readonly size: number } & (
  | { readonly value: unknown }
  | { readonly error: CortexError }
  | { readonly bug: unknown }
);

/** An operation that the model knows. */
interface Operation extends Asked {
  readonly what: { readonly call: ModelOperation; readonly by: string };
}

/** What a call may fail with because of the storage, whatever it asked for. */
const STORAGE_FAILURES: ReadonlySet<string> = new Set([
  "ERR_STORAGE",
  "ERR_DISK_FULL",
  "ERR_UNREACHABLE",
]);

/** See the file header. */
export class Judge {
  /** What the model said at every position, the last one at the end. */
  readonly #past: ModelState[] = [bornModel(MODEL_ACTOR, START)];
  readonly #observer: Cortex;
  readonly #report: SimulationReport;
  readonly #checkpoints: string[] = [];

  constructor(observer: Cortex, report: SimulationReport) {
    this.#observer = observer;
    this.#report = report;
  }

  /** What the model holds now. */
  get state(): ModelState {
    return this.#past.at(-1) as ModelState;
  }

  close(): Promise<void> {
    return this.#observer.close();
  }

  /** Judges everything that was asked in one step. */
  async judge(asked: readonly Asked[], random: SeededRandom): Promise<void> {
    for (const one of asked) refuseBug(one);
    const entries = await this.#entriesFrom(this.state.size);
    const operations = asked.filter(isOperation);
    this.#report.unanswered += operations.filter((one) => !isAnswered(one)).length;
    const placed = this.#follow(entries, operations);
    for (const one of operations) if (!placed.has(one)) this.#judgeWithoutEntries(one);
    for (const one of asked) {
      if ("call" in one.what && "bad" in one.what.call) judgeBad(one, one.what.call);
      else if ("read" in one.what) this.#judgeRead(one, one.what.read);
      else if ("move" in one.what) this.#judgeMove(one, one.what.move);
    }
    this.#report.entries = this.state.size;
    same((await this.#observer.stats()).entries, this.state.size, "entries of the store");
    await this.#compareTouched(entries, random);
    await this.#checkWhole();
    await this.#checkSnapshots();
  }

  async #entriesFrom(from: number): Promise<LogItem[]> {
    const entries: LogItem[] = [];
    let next: number | undefined = from;
    // Nothing new is no position to read from.
    if ((await this.#observer.stats()).entries === from) return [];
    while (next !== undefined) {
      const page = await this.#observer.log({ from: next, limit: 1000 });
      entries.push(...page.entries);
      next = page.next;
    }
    return entries;
  }

  /** Follows the journal with the model, and says which operations the entries belong to. */
  #follow(entries: readonly LogItem[], operations: readonly Operation[]): ReadonlySet<Asked> {
    const placed = new Set<Asked>();
    for (let at = 0; at < entries.length; ) {
      const { by, seq } = entries[at] as LogItem;
      const own: LogItem[] = [];
      while (entries[at]?.by === by) own.push(entries[at++] as LogItem);
      const candidates = operations.filter((one) => one.what.by === by && !placed.has(one));
      if (candidates.length === 0) throw new Error(`entry ${seq} by ${by} belongs to no operation`);
      // One that was answered says which entries are its own; one that was not would take any that fit.
      candidates.sort((a, b) => Number(isAnswered(b)) - Number(isAnswered(a)));
      placed.add(this.#place(candidates, own));
    }
    return placed;
  }

  /** The operation that entries are of: the model must write as many, with the answer that was given. */
  #place(candidates: readonly Operation[], own: readonly LogItem[]): Operation {
    const before = this.state;
    const complaints: string[] = [];
    for (const one of candidates) {
      const { call } = one.what;
      const ids = newIds(before, own);
      const { state, outcome } = applyToModel(before, call, { now: one.client.now, ids });
      const what = `${JSON.stringify(call)} at seq ${before.size}, ${told(one)}`;
      if (state.size - before.size !== own.length) {
        const missing = `${own.length} entries, expected ${state.size - before.size}`;
        complaints.push(`${what}: ${missing} (${JSON.stringify(outcome)})`);
        continue;
      }
      const complaint = answerComplaint(one, outcome);
      if (complaint !== undefined) {
        complaints.push(`${what}: ${complaint}`);
        continue;
      }
      if (isAnswered(one)) this.#report.acknowledged += 1;
      else this.#report.unansweredDone += 1;
      // Positions inside an operation show what was before it.
      for (let seq = before.size; seq < state.size - 1; seq += 1) this.#past.push(before);
      this.#past.push(state);
      return one;
    }
    throw new Error(complaints.join("\n"));
  }

  /** An operation that wrote nothing: what it answered was so at some moment while it ran. */
  #judgeWithoutEntries(one: Operation): void {
    const { outcome } = one;
    if (outcome === undefined || isStorageFailure(one)) return;
    const { call } = one.what;
    const seen: string[] = [];
    for (let size = one.startSize; size <= outcome.size; size += 1) {
      const before = this.#past[size - 1] as ModelState;
      const { state, outcome: expected } = applyToModel(before, call, {
        now: one.client.now,
        ids: [],
      });
      const complaint =
        state.size > before.size ? "the model writes entries" : answerComplaint(one, expected);
      if (complaint === undefined) {
        this.#report.acknowledged += 1;
        return;
      }
      seen.push(`at seq ${size - 1}: ${complaint}`);
    }
    throw new Error(`${JSON.stringify(call)}, ${told(one)}\n${seen.join("\n")}`);
  }

  #judgeRead(one: Asked, read: Read): void {
    const { outcome } = one;
    if (outcome === undefined || isStorageFailure(one)) return;
    if (!("value" in outcome)) throw new Error(`${JSON.stringify(read)}, ${told(one)}`);
    const states = this.#past.slice(one.startSize - 1, outcome.size);
    if (read.what === "list") {
      const { memories, seq } = outcome.value as {
        readonly memories: readonly { readonly id: string }[];
        readonly seq: number;
      };
      const isNow = seq >= one.startSize - 1 && seq < outcome.size;
      same(
        isNow,
        true,
        `the position ${seq} of a list between ${one.startSize} and ${outcome.size}`,
      );
      const ids = memories.map(({ id }) => id);
      same(ids, listedIds(this.#past[seq] as ModelState, read.list), `list as of ${seq}`);
      return;
    }
    const { hits } = outcome.value as { readonly hits: readonly { readonly id: string }[] };
    for (const { id } of hits) {
      const isVisible = states.some(({ memories }) => {
        const head = memories.get(id)?.head;
        if (head === undefined || head.lifecycle === "tombstoned") return false;
        return read.access === undefined || head.visibility === "public";
      });
      same(isVisible, true, `recall showed ${id} to ${read.access?.kind ?? "owner"}`);
    }
  }

  #judgeMove(one: Asked, move: Move): void {
    const { outcome } = one;
    if (outcome === undefined || isStorageFailure(one)) return;
    if ("error" in outcome && outcome.error.code === "ERR_CONTENDED") return;
    if (!("value" in outcome)) throw new Error(`${move}, ${told(one)}`);
    const {
      ok = true,
      checkpoint,
      problems = [],
    } = outcome.value as {
      readonly ok?: boolean;
      readonly checkpoint?: string;
      readonly problems?: readonly { readonly code: string }[];
    };
    // What cannot be read is a verdict, if the disk says so; what cannot be reached is none.
    const isUnread = one.client.isHurt && problems.every(({ code }) => code === "ERR_STORAGE");
    if (!ok && !isUnread) throw new Error(`${move} says ${JSON.stringify(outcome.value)}`);
    if (move === "snapshot" && checkpoint !== undefined) this.#checkpoints.push(checkpoint);
  }

  /** Every memory that entries are about reads as in the model, from both ends of its edges. */
  async #compareTouched(entries: readonly LogItem[], random: SeededRandom): Promise<void> {
    const touched = new Set(entries.flatMap(({ parts }) => parts.flatMap(memoryOf)));
    for (const edge of this.state.edges.values()) {
      if (edge.seq >= (entries[0]?.seq ?? Number.POSITIVE_INFINITY)) {
        touched.add(edge.from).add(edge.to);
      }
    }
    const place = { asked: {}, where: "after the step", random };
    for (const id of touched) {
      await compareMemory(this.#observer, this.state, id, place);
      await compareEdges(this.#observer, this.state, id, place);
    }
  }

  async #checkWhole(): Promise<void> {
    const { ok, problems } = await this.#observer.check();
    if (!ok) throw new Error(`check: ${JSON.stringify(problems)}`);
  }

  /** The store extends every snapshot that was ever taken, so any two of them agree. */
  async #checkSnapshots(): Promise<void> {
    for (const since of this.#checkpoints) {
      const proof = await this.#observer.prove({ seqs: [0] }, { since });
      const { checkpoint } = await this.#observer.checkpoint();
      const found = verifyCheckpoint(checkpoint, since, proof);
      if (!found.ok || !found.anchored) {
        throw new Error(`the store does not extend a snapshot: ${JSON.stringify(found)}`);
      }
    }
  }

  /** Everything that can be read, now and at earlier positions. */
  async judgeAll(random: SeededRandom): Promise<void> {
    const asked = { name: "in the end", memory: this.#observer };
    await compareReads(asked, this.#past, random);
    await comparePresent(asked, this.state);
    for (let at = 0; at < 3; at += 1) {
      await compareReads(asked, this.#past, random, random.below(this.#past.length));
    }
    const rebuilt = await this.#observer.rebuild({ verifyOnly: true });
    if (!rebuilt.ok) throw new Error(`rebuild: ${JSON.stringify(rebuilt)}`);
  }

  /** Upkeep may archive and merge, but destroys nothing, and leaves a sound store. */
  async judgeUpkeep(asked: readonly Asked[]): Promise<void> {
    for (const one of asked) {
      refuseBug(one);
      this.#judgeMove(one, "maintain");
    }
    for (const { id, versions } of this.state.memories.values()) {
      const kept = (await this.#observer.history(id)) ?? [];
      for (const { number, text } of versions) {
        const found = kept.find(({ version }) => version === number);
        same(found?.text, text, `version ${number} of ${id} after upkeep`);
      }
    }
    await this.#checkWhole();
    await this.#checkSnapshots();
  }
}

function isOperation(asked: Asked): asked is Operation {
  return "call" in asked.what && "verb" in asked.what.call;
}

function refuseBug({ what, outcome }: Asked): void {
  if (outcome === undefined || !("bug" in outcome)) return;
  const { bug } = outcome;
  const stack = bug instanceof Error ? bug.stack : String(bug);
  throw new Error(`${JSON.stringify(what)} failed without a code: ${stack}`);
}

/** Whether it failed because of a fault that its client had. */
function isStorageFailure({ outcome, client }: Asked): boolean {
  if (outcome === undefined || !("error" in outcome)) return false;
  return client.isHurt && STORAGE_FAILURES.has(outcome.error.code);
}

/** Whether somebody was told what became of it. */
function isAnswered(one: Asked): boolean {
  return one.outcome !== undefined && !isStorageFailure(one);
}

/** What is wrong with an answer, if it came; an operation that nobody answered may be either. */
function answerComplaint(one: Operation, expected: ModelOutcome): string | undefined {
  const { outcome } = one;
  if (outcome === undefined || isStorageFailure(one)) return undefined;
  const { call } = one.what;
  const should =
    expected.value === undefined ? { error: expected.error } : comparable(call, expected.value);
  const came =
    "value" in outcome
      ? comparable(call, outcome.value)
      : { error: "error" in outcome ? outcome.error.code : "a bug" };
  if (isSame(came, should)) return undefined;
  return `\n  came:     ${JSON.stringify(came)}\n  expected: ${JSON.stringify(should)}`;
}

function judgeBad(one: Asked, call: BadCall): void {
  const { outcome } = one;
  if (outcome === undefined || isStorageFailure(one)) return;
  const came = "error" in outcome ? outcome.error.code : outcome;
  same(came, BAD_CALLS[call.bad]?.code, `the bad call ${call.bad}`);
}

function told({ client, outcome }: Asked): string {
  if (outcome === undefined) return `${client.name} crashed`;
  if ("error" in outcome)
    return `${client.name} was told ${outcome.error.code}: ${outcome.error.message}`;
  return `${client.name} was answered`;
}

/** The memory that a part is the state of. */
function memoryOf({ subject }: LogItem["parts"][number]): string[] {
  return subject.startsWith("memory:") ? [subject.slice("memory:".length)] : [];
}

/** The ids that entries give to memories the model does not know, in order. */
function newIds(state: ModelState, entries: readonly LogItem[]): readonly string[] {
  const ids = new Set(entries.flatMap(({ parts }) => parts.flatMap(memoryOf)));
  return [...ids].filter((id) => !state.memories.has(id) && !state.erased.has(id));
}
