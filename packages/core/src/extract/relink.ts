/**
 * `relink`: links between memories that are there already, by the model that the store was opened with.
 *
 * Goes through the facts of the graph from the oldest to the newest. A prompt holds some forty memories
 * and a graph has many more, so most pairs are never seen together. What decides is nearness, not the
 * place in a list: each fact is shown with its own neighbours, wherever in the graph those are, namely
 * those that share its words, and those that share the names in it or its slot. So there is no border
 * that a link could not cross. What holds of a reply is judged as in `extract`, and written as edges of
 * source `extraction`, each with its reason.
 *
 * Promises: safe to repeat, since a link that is there stays as it is; a memory never gets more links of
 * kind `same_topic` than the store allows, over however many prompts. A refused reply is named and the
 * work goes on; a model that cannot be asked ends the call with `ERR_MODEL`. The report says where to go
 * on.
 */

import { batch } from "../batch/batch.js";
import type { BatchItemResult } from "../contract/batch.js";
import type { Asked } from "../contract/index.js";
import type { Memory } from "../contract/shapes.js";
import type { DropRule, FoundLink, RelinkReport } from "../contract/upkeep.js";
import type { Engine } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import { refuseOnReplica } from "../history/replica-mark.js";
import { LIMITS } from "../limits.js";
import { list } from "../memory/list.js";
import { blamesReply, type Model, modelFailure } from "../model/model.js";
import { OWNER } from "../scope/access.js";
import { namesIn } from "../text/names.js";
import { FACT_TYPES, type ProposedLink, readReply, relinkPrompt, tally } from "./exchange.js";
import { modelOf, nearestTo } from "./extract.js";

/** Memories of one prompt, and neighbours of one memory by words and by names. */
const PROMPT_MEMORIES = 40;
const NEAR_BY_WORDS = 5;
const NEAR_BY_NAMES = 5;

/** Looks for links in the whole graph. */
export async function relink(engine: Engine, asked: Asked<"relink">): Promise<RelinkReport> {
  const relinking = new Relinking(engine, asked);
  await refuseOnReplica(engine.kv);
  return relinking.run();
}

/** One call: memories one by one, packed into prompts. */
class Relinking {
  readonly #engine: Engine;
  readonly #model: Model;
  readonly #asked: Asked<"relink">;
  readonly #limit: number;
  readonly #packer = new Packer(PROMPT_MEMORIES);
  /** Memories of the prompt that is being packed, and of neighbourhoods that did not fit it. */
  readonly #known = new Map<string, Memory>();
  readonly #links: FoundLink[] = [];
  readonly #dropped = new Map<DropRule, number>();
  readonly #failures: { readonly code: string; readonly message: string }[] = [];
  #calls = 0;
  #memories = 0;

  constructor(engine: Engine, asked: Asked<"relink">) {
    this.#engine = engine;
    this.#model = modelOf(engine);
    this.#asked = asked;
    this.#limit = asked.limit ?? LIMITS.extractCallsDefault;
  }

  async run(): Promise<RelinkReport> {
    let { cursor } = this.#asked;
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
    return this.#calls >= this.#limit || this.#asked.signal?.aborted === true;
  }

  /** Adds a memory with its neighbours; the ids of a prompt that is full by then. */
  async #add(memory: Memory): Promise<readonly string[] | undefined> {
    const near = await this.#neighbours(memory);
    this.#memories += 1;
    // How many there are is known at the end.
    this.#asked.onProgress?.(this.#memories, 0);
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
    const { signal } = this.#asked;
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
    if (this.#asked.dryRun === true || found.length === 0) {
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
      dryRun: this.#asked.dryRun ?? false,
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

/** A memory and those that may have to do with it, by id. */
export interface Neighbourhood {
  readonly focus: string;
  readonly near: readonly string[];
}

/**
 * Packs neighbourhoods into prompts, in the order in which they come. Every pair of a memory and one of
 * its neighbours is shown together at least once, and pairs that were shown already ask for no further
 * prompt.
 */
export class Packer {
  readonly #size: number;
  readonly #shown = new Set<string>();
  #ids = new Set<string>();

  /** `size` is how many memories a prompt holds; a neighbourhood may not have more. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Adds a neighbourhood; what was packed before is given back when there is no room for it. */
  add({ focus, near }: Neighbourhood): readonly string[] | undefined {
    const open = near.filter((id) => !this.#shown.has(pairOf(focus, id)));
    if (open.length === 0) return undefined;
    const wanted = [focus, ...open];
    const size = this.#ids.size + wanted.filter((id) => !this.#ids.has(id)).length;
    const full = size > this.#size ? this.take() : undefined;
    for (const id of wanted) this.#ids.add(id);
    return full;
  }

  /** Gives back what is packed, and starts anew; `undefined` when there is nothing. */
  take(): readonly string[] | undefined {
    const ids = [...this.#ids];
    this.#ids = new Set();
    for (const [at, first] of ids.entries()) {
      for (const second of ids.slice(at + 1)) this.#shown.add(pairOf(first, second));
    }
    return ids.length < 2 ? undefined : ids;
  }
}

function pairOf(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
