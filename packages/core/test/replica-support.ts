/**
 * What the tests of replicas share: sources that give small pages or bad ones, a history of random
 * writes, and the rows that a replica and its source must have in common.
 */

import type { JournalPage } from "../src/contract/entry.js";
import { type Cortex, follow, importJournal, isCortexError } from "../src/index.js";
import type { Kv } from "../src/kv/kv.js";
import type { ReplicaEvent, ReplicaOptions, ReplicaSource } from "../src/replica/follow.js";
import type { SeededRandom } from "../src/testing/index.js";
import { type Backend, emptyKv, exported, graphOver, inPieces, rowsOf } from "./moves-support.js";

/** The source of a graph, as an object that can be put between. */
export type GraphSource = Exclude<ReplicaSource, string>;

/** A graph as a source whose pages have at most so many entries. */
export function inPages(memory: Cortex, limit: number): GraphSource {
  return {
    journalPage: (wanted) => memory.journalPage({ limit, ...wanted }),
    subscribe: (options) => memory.subscribe(options),
  };
}

/** A graph as a source that tells something else than it has. */
export function lying(memory: Cortex, lie: (page: JournalPage) => JournalPage): GraphSource {
  return {
    journalPage: async (wanted) => lie(await memory.journalPage(wanted)),
    subscribe: (options) => memory.subscribe(options),
  };
}

/** Follows until the replica is level; the last event says where. */
export async function catchUp(
  source: ReplicaSource,
  kv: Kv,
  options: ReplicaOptions = {},
): Promise<ReplicaEvent> {
  let last: ReplicaEvent | undefined;
  for await (const event of follow("memory:", source, { actor: "ada", kv, once: true, ...options }))
    last = event;
  if (last === undefined) throw new Error("following ended before it was level");
  return last;
}

/** The rows that a replica must have as its source has them: all but snapshots and its own mark. */
export async function sharedRows(kv: Kv): Promise<readonly string[]> {
  return (await rowsOf(kv)).filter((row) => !/^(snapshot|replica) /.test(row));
}

/** Another store with the history that a graph has now, open: from here the two may part. */
export async function twinOf(memory: Cortex, backend: Backend = "memory"): Promise<Cortex> {
  const kv = await emptyKv(backend);
  await importJournal("memory:", inPieces((await exported(memory)).bytes), { actor: "ada", kv });
  return graphOver(kv, 77);
}

/** Does something at random: mostly writes, and now and then a forget. What is refused leaves nothing. */
export async function randomWrite(
  memory: Cortex,
  random: SeededRandom,
  ids: string[],
): Promise<void> {
  try {
    await somethingRandom(memory, random, ids);
  } catch (error) {
    // An undo may have hidden the memory, or something may stand on what is to be undone.
    if (!isCortexError(error)) throw error;
  }
}

async function somethingRandom(memory: Cortex, random: SeededRandom, ids: string[]): Promise<void> {
  const some = (): string => ids[random.below(ids.length)] ?? "";
  const slot = { slot: `slot ${random.below(4)}` };
  const text = `text ${random.below(1_000_000)}`;
  switch (ids.length < 3 ? 0 : random.below(13)) {
    case 0:
    case 1:
      ids.push((await memory.write({ type: "fact", text, tags: [`t${random.below(3)}`] })).id);
      return;
    case 2:
      ids.push((await memory.write({ type: "preference", text, ...slot })).id);
      return;
    case 3:
      await memory.update(some(), { text });
      return;
    case 4:
      await memory.updateHead(some(), { importance: random.below(11), tags: ["moved"] });
      return;
    case 5: {
      const id = some();
      await memory.tombstone(id, "old");
      if (random.below(2) === 0) await memory.restore(id);
      // What stays hidden cannot be changed: nobody picks it any more.
      else ids.splice(ids.indexOf(id), 1);
      return;
    }
    case 6:
    case 7:
      await linked(memory, random, ids);
      return;
    case 8:
      await batched(memory, random, ids);
      return;
    case 9: {
      const said = { role: "user" as const, content: text };
      await memory.remember([said, { ...said, role: "assistant" }], { session: text });
      return;
    }
    case 10:
      await undone(memory, random);
      return;
    case 11:
      await memory.attest({ intentId: text, outcome: "success", cited: [some()] });
      return;
    default: {
      const [gone = ""] = ids.splice(random.below(ids.length), 1);
      await memory.forget(gone, "asked for");
    }
  }
}

/** Undoes one of the last entries. */
async function undone(memory: Cortex, random: SeededRandom): Promise<void> {
  const { seq } = await memory.root();
  await memory.revert(Math.max(1, seq - random.below(5)));
}

async function linked(memory: Cortex, random: SeededRandom, ids: string[]): Promise<void> {
  const from = random.below(ids.length);
  const to = (from + 1 + random.below(ids.length - 1)) % ids.length;
  const ends = [ids[from] ?? "", ids[to] ?? ""] as const;
  await memory.link(ends[0], "uses", ends[1], { reason: `reason ${random.below(1000)}` });
  if (random.below(3) === 0) await memory.removeEdge(ends[0], "uses", ends[1], { reason: "over" });
}

async function batched(memory: Cortex, random: SeededRandom, ids: string[]): Promise<void> {
  const items = Array.from({ length: 2 + random.below(6) }, (_, at) => ({
    write: { type: "note" as const, text: `note ${at} of ${random.below(1_000_000)}` },
  }));
  const { results } = await memory.batch(items);
  for (const result of results) if (result.ok && "id" in result) ids.push(result.id);
}
