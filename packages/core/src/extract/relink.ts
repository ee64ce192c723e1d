/**
 * `relink`: links between memories that are there already, by the model that the store was opened with.
 *
 * Goes through the facts of the graph from the oldest to the newest. Each is shown together with its
 * neighbours in the whole graph (`extract/relink.ts`): those that share its words, and those that share
 * the names in it or its slot. What holds of a reply is judged as in `extract`, and written as edges of
 * source `extraction`, each with its reason.
 *
 * Promises: safe to repeat, since a link that is there stays as it is; a memory never gets more links of
 * kind `same_topic` than the store allows, over however many prompts. A refused reply is named and the
 * work goes on; a model that cannot be asked ends the call with `ERR_MODEL`. The report says where to go
 * on.
 */

import { batch } from "../batch/batch.js";
import type { BatchItemResult } from "../contract/batch.js";
import type { Memory, MemoryId } from "../contract/shapes.js";
import type { OnProgress } from "../engine/engine.js";
import { checkOptions, type Engine } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import { refuseOnReplica } from "../history/replica-mark.js";
import { list } from "../memory/list.js";
import { blamesReply, type Model, modelFailure } from "../model/model.js";
import type { Access } from "../scope/access.js";
import { OWNER } from "../scope/access.js";
import { namesIn } from "../text/names.js";
import { checkCalls, modelOf, nearestTo } from "./extract.js";
import { FACT_TYPES, type LinkKind, relinkPrompt } from "./prompt.js";
import { Packer } from "./relink-pairs.js";
import { type DropRule, type ProposedLink, readReply, tally } from "./reply.js";

/** How links are looked for. */
export interface RelinkOptions {
  /** Calls of the model at the most; 100 unless given. */
  readonly limit?: number;
  /** Where the call before ended. */
  readonly cursor?: string;
  /** Ask the model and say what would be linked; change nothing. */
  readonly dryRun?: boolean;
  readonly onProgress?: OnProgress;
  /** Ends the work after the prompt at hand; what was written is kept. */
  readonly signal?: AbortSignal;
  readonly access?: Access;
}

/** A link that a model found. */
export interface FoundLink {
  readonly from: MemoryId;
  readonly kind: LinkKind;
  readonly to: MemoryId;
  readonly reason: string;
  readonly strength: number;
  /** `known` was there already; `refused` is one more than a memory may have. */
  readonly outcome: "new" | "known" | "proposed" | "refused";
}

/** What a call did, or would do. */
export interface RelinkReport {
  readonly model: string;
  readonly dryRun: boolean;
  /** How often the model was asked. */
  readonly calls: number;
  /** Memories whose neighbours were looked at. */
  readonly memories: number;
  readonly links: readonly FoundLink[];
  /** Entries of replies that broke a rule, by rule. */
  readonly dropped: readonly { readonly rule: DropRule; readonly count: number }[];
  readonly failures: readonly { readonly code: string; readonly message: string }[];
  /** Give it back to go on; absent at the end of the graph. */
  readonly cursor?: string;
  readonly seq: number;
}

/** Memories of one prompt, and neighbours of one memory by words and by names. */
const PROMPT_MEMORIES = 40;
const NEAR_BY_WORDS = 5;
const NEAR_BY_NAMES = 5;

/** Looks for links in the whole graph. */
export async function relink(engine: Engine, options: RelinkOptions = {}): Promise<RelinkReport> {
  checkOptions(options, ["limit", "cursor", "dryRun", "onProgress", "signal", "access"]);
  const relinking = new Relinking(engine, options);
  await refuseOnReplica(engine.kv);
  return relinking.run();
}

/** One call: memories one by one, packed into prompts. */
class Relinking {
  readonly #engine: Engine;
  readonly #model: Model;
  readonly #options: RelinkOptions;
  readonly #limit: number;
  readonly #packer = new Packer(PROMPT_MEMORIES);
  /** Memories of the prompt that is being packed, and of neighbourhoods that did not fit it. */
  readonly #known = new Map<string, Memory>();
  readonly #links: FoundLink[] = [];
  readonly #dropped = new Map<DropRule, number>();
  readonly #failures: { readonly code: string; readonly message: string }[] = [];
  #calls = 0;
  #memories = 0;

  constructor(engine: Engine, options: RelinkOptions) {
    this.#engine = engine;
    this.#model = modelOf(engine);
    this.#options = options;
    this.#limit = checkCalls(options.limit);
  }

  async run(): Promise<RelinkReport> {
    let { cursor } = this.#options;
    /** Up to here every memory's neighbourhood has been shown. */
    let shown = cursor;
    let isOver = false;
    while (!isOver && !this.#isStopped()) {
      const page = await list(this.#engine, {
        type: FACT_TYPES,
        order: "oldest",
        limit: 1,
        cursor,
        access: OWNER,
      });
      const [memory] = page.memories;
      const full = memory === undefined ? undefined : await this.#add(memory);
      if (full !== undefined) {
        await this.#show(full);
        shown = cursor;
      }
      cursor = page.cursor;
      isOver = cursor === undefined;
    }
    if (!this.#isStopped()) {
      const rest = this.#packer.take();
      if (rest !== undefined) await this.#show(rest);
      shown = cursor;
    }
    return this.#report(shown);
  }

  #isStopped(): boolean {
    return this.#calls >= this.#limit || this.#options.signal?.aborted === true;
  }

  /** Adds a memory with its neighbours; the ids of a prompt that is full by then. */
  async #add(memory: Memory): Promise<readonly string[] | undefined> {
    const near = await this.#neighbours(memory);
    this.#memories += 1;
    this.#options.onProgress?.(this.#memories, this.#memories);
    const full = this.#packer.add({ focus: memory.id, near: near.map(({ id }) => id) });
    for (const one of [memory, ...near]) this.#known.set(one.id, one);
    return full;
  }

  async #neighbours(memory: Memory): Promise<readonly Memory[]> {
    const engine = this.#engine;
    const { slot = "" } = memory.head;
    const names = await Reader.with(engine.kv, undefined, async (reader) => {
      const analyser = await engine.text.analyserAt(reader);
      return namesIn(memory.text, (word) => analyser.isStopWord(word));
    });
    const named = [...names.flat(), ...slot.split("_")].join(" ");
    // One more than wanted: the memory itself is the nearest to its own words.
    const byWords = await nearestTo(engine, [memory.text], NEAR_BY_WORDS + 1);
    const byNames = await nearestTo(engine, [named], NEAR_BY_NAMES + 1);
    const near = new Map([...byWords, ...byNames].map((one) => [one.id, one]));
    near.delete(memory.id);
    return [...near.values()];
  }

  /** Shows memories to the model and links what holds. */
  async #show(ids: readonly string[]): Promise<void> {
    const memories = ids.flatMap((id) => this.#known.get(id) ?? []);
    const known = memories.map(({ type, text, head: { slot } }) => ({
      type,
      text,
      ...(slot === undefined ? {} : { slot }),
    }));
    this.#calls += 1;
    const { signal } = this.#options;
    try {
      const reply = await this.#model.complete(relinkPrompt(known, signal));
      const read = readReply(reply, { turns: [], known }, "extraction");
      if ("refused" in read) {
        throw modelFailure(this.#model.name, read.refused, undefined, "reply");
      }
      tally(this.#dropped, read.proposal.dropped);
      await this.#link(memories, read.proposal.links);
    } catch (error) {
      if (signal?.aborted === true) return;
      if (!blamesReply(error)) throw error;
      this.#failures.push({ code: error.code, message: error.message });
    }
  }

  async #link(memories: readonly Memory[], links: readonly ProposedLink[]): Promise<void> {
    const found = links.flatMap(({ from, to, ...link }) => {
      const [first, second] = [from, to].map((name) => memories[Number(name.slice(1)) - 1]?.id);
      return first === undefined || second === undefined
        ? []
        : [{ ...link, from: first, to: second }];
    });
    if (this.#options.dryRun === true || found.length === 0) {
      this.#links.push(...found.map((link) => ({ ...link, outcome: "proposed" as const })));
      return;
    }
    const items = found.map((link) => ({ link: { ...link, source: "extraction" as const } }));
    const { results } = await batch(this.#engine, { items, atomic: false, access: OWNER });
    for (const [at, link] of found.entries()) {
      this.#links.push({ ...link, outcome: outcomeOf(results[at]) });
    }
  }

  async #report(cursor: string | undefined): Promise<RelinkReport> {
    const seq = await Reader.with(this.#engine.kv, undefined, async (reader) => reader.seq);
    return {
      model: this.#model.name,
      dryRun: this.#options.dryRun ?? false,
      calls: this.#calls,
      memories: this.#memories,
      links: this.#links,
      dropped: [...this.#dropped].map(([rule, count]) => ({ rule, count })),
      failures: this.#failures,
      ...(cursor === undefined ? {} : { cursor }),
      seq,
    };
  }
}

function outcomeOf(result: BatchItemResult | undefined): FoundLink["outcome"] {
  if (result === undefined || !result.ok || !("changed" in result)) return "refused";
  return result.changed ? "new" : "known";
}
