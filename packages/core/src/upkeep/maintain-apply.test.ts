/**
 * Writing what upkeep planned: one entry for each change, with its reason, which a revert takes back and
 * a forget leaves no word of; and nothing at all where a memory is no longer as the plan saw it.
 *
 * The race is walked on purpose: another process changes a memory between the plan and the commit.
 */
import { describe, expect, test } from "vitest";
import type { Answer, Options } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { KEYSPACE } from "../kv/keyspace.js";
import { around, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { exactRows } from "../testing/bare-journal.js";
import { TEST_EPOCH_MS } from "../testing/fixtures.js";
import { seededRandom } from "../testing/seeded-random.js";
import { MAINTAIN_BY } from "./maintain-apply.js";

/** A graph, and somebody else who writes into the same store right before its next commit. */
interface Contested extends AsyncDisposable {
  readonly memory: Cortex;
  readonly kv: Kv;
  /** Runs upkeep; `meanwhile` happens after the plan, before anything of it is committed. */
  maintain(
    options: Options<"maintain">,
    meanwhile?: (rival: Cortex) => Promise<unknown>,
  ): Promise<Answer<"maintain">>;
}

async function openContested(): Promise<Contested> {
  const data = new MemoryStore();
  let now = TEST_EPOCH_MS;
  const clock = (): number => {
    now += 1;
    return now;
  };
  const inner = openMemoryKv(data);
  let meanwhile: (() => Promise<unknown>) | undefined;
  const kv = around(inner, {
    commit: async (change) => {
      const work = meanwhile;
      meanwhile = undefined;
      await work?.();
      return inner.commit(change);
    },
  });
  const options = { actor: "ada", clock } as const;
  const memory = await open("memory:", { ...options, kv, random: seededRandom(1).bytes });
  const own = { kv: openMemoryKv(data), random: seededRandom(2).bytes };
  const rival = await open("memory:", { ...options, ...own });
  return {
    memory,
    kv: inner,
    async maintain(asked, work) {
      meanwhile = work === undefined ? undefined : () => work(rival);
      const report = await memory.maintain(asked);
      expect(meanwhile).toBeUndefined();
      return report;
    },
    async [Symbol.asyncDispose]() {
      expect((await memory.check()).ok).toBe(true);
      await memory.close();
      await rival.close();
    },
  };
}

/** The same claim by several voices: enough for upkeep to confirm the first. */
async function claim(memory: Cortex): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const source of ["agent", "extraction", "imported"] as const) {
    const text = "The office is in Lisbon";
    ids.push((await memory.write({ type: "fact", text, source, by: `${source}-1` })).id);
  }
  return ids;
}

/** A memory for every step, what asks for it, and what about each step can be seen afterwards. */
const STEPS: {
  readonly [step: string]: {
    readonly make: (memory: Cortex) => Promise<readonly string[]>;
    readonly asked: Options<"maintain">;
    readonly seen: (memory: Cortex, ids: readonly string[]) => Promise<unknown>;
    readonly done: unknown;
    /** A word of the reason, which goes with the memory. */
    readonly word: string;
  };
} = {
  expire: {
    make: async (memory) => {
      const text = "The offer stands";
      return [(await memory.write({ type: "fact", text, expiresAt: TEST_EPOCH_MS })).id];
    },
    asked: { archiveExpired: true },
    seen: async (memory, [id = ""]) => (await memory.get(id))?.head.lifecycle,
    done: "archived",
    word: "expired at",
  },
  confirm: {
    make: claim,
    asked: {},
    seen: async (memory, [id = ""]) => (await memory.get(id))?.head.status,
    done: "confirmed",
    word: "voices",
  },
  merge: {
    make: async (memory) => {
      const one = await memory.write({ type: "fact", text: "Trains leave at nine", tags: ["a"] });
      const two = await memory.write({ type: "fact", text: "The trains leave at nine", slot: "t" });
      return [two.id, one.id];
    },
    asked: { merge: true },
    seen: async (memory, [keep = "", give = ""]) => [
      (await memory.get(keep))?.head.tags,
      (await memory.get(give))?.head.lifecycle,
    ],
    done: [["a"], "archived"],
    word: "the same claim",
  },
  relate: {
    make: async (memory) => {
      const ids: string[] = [];
      for (const text of ["I met Ada Lovelace", "a letter from Ada Lovelace"]) {
        ids.push((await memory.write({ type: "note", text })).id);
      }
      return ids;
    },
    asked: { relate: true },
    seen: async (memory, [from = ""]) =>
      (await memory.edgesOut(from)).edges.map(({ kind }) => kind),
    done: ["same_topic"],
    word: "both name",
  },
};

/** Whether a word is anywhere in the journal. */
async function holds(kv: Kv, word: string): Promise<boolean> {
  const hex = Buffer.from(word, "utf8").toString("hex");
  const rows = await exactRows(kv);
  return rows.some((row) => row.startsWith(`${KEYSPACE.journal.name} `) && row.includes(hex));
}

describe.each(Object.entries(STEPS))("%s", (step, { make, asked, seen, done, word }) => {
  test("is one entry with its reason, which a revert takes back", async () => {
    await using store = await openContested();
    const ids = await make(store.memory);
    const before = await seen(store.memory, ids);
    const { entries } = await store.memory.stats();
    const { changes, complete } = await store.maintain(asked);
    expect(changes).toMatchObject([{ step, reason: expect.stringContaining(word), seq: entries }]);
    expect(complete).toBe(true);
    expect(await seen(store.memory, ids)).toEqual(done);
    const log = await store.memory.log({ from: entries, limit: 9 });
    expect(log.entries).toMatchObject([{ kind: "maintain", by: MAINTAIN_BY }]);
    await store.memory.revert(entries);
    expect(await seen(store.memory, ids)).toEqual(before);
    // What was put back on purpose is left there.
    expect((await store.maintain(asked)).changes).toEqual([]);
  });

  test("leaves no word of its reason when what it changed is forgotten", async () => {
    await using store = await openContested();
    const ids = await make(store.memory);
    await store.maintain(asked);
    expect(await holds(store.kv, word)).toBe(true);
    for (const id of ids) await store.memory.forget(id, "asked for");
    expect(await holds(store.kv, word)).toBe(false);
  });

  test("is dropped when any memory it is about has moved on, and planned anew", async () => {
    const count = await countOf(make);
    for (let moved = 0; moved < count; moved += 1) {
      await using store = await openContested();
      const ids = await make(store.memory);
      const before = await seen(store.memory, ids);
      const { changes } = await store.maintain(asked, (rival) =>
        rival.updateHead(ids[moved] ?? "", { importance: 9 }),
      );
      expect(changes).toEqual([]);
      expect(await seen(store.memory, ids)).toEqual(before);
      const { entries } = await store.memory.log({ limit: 100 });
      expect(entries.filter(({ kind }) => kind === "maintain")).toEqual([]);
      // The other's change stands, and the next run sees the memory as it is now.
      expect((await store.memory.get(ids[moved] ?? ""))?.head.importance).toBe(9);
      expect((await store.maintain(asked)).changes).toMatchObject([{ step }]);
      expect(await seen(store.memory, ids)).toEqual(done);
    }
  });

  test("is dropped when one of them is gone", async () => {
    await using store = await openContested();
    const ids = await make(store.memory);
    const [first = ""] = ids;
    const { changes } = await store.maintain(asked, (rival) => rival.forget(first, "asked for"));
    expect(changes).toEqual([]);
    expect(await holds(store.kv, word)).toBe(false);
  });
});

/** How many memories a step makes. */
async function countOf(make: (memory: Cortex) => Promise<readonly string[]>): Promise<number> {
  await using memory = await open("memory:", { actor: "ada", clock: () => TEST_EPOCH_MS });
  return (await make(memory)).length;
}

test("a change that somebody else made meanwhile is not made twice", async () => {
  await using store = await openContested();
  const relate = STEPS.relate;
  if (relate === undefined) throw new Error("there is no such step");
  const [from = "", to = ""] = await relate.make(store.memory);
  const { changes } = await store.maintain({ relate: true }, (rival) =>
    rival.link(from, "same_topic", to, { reason: "as I know" }),
  );
  expect(changes).toEqual([]);
  const { edges } = await store.memory.edgesOut(from);
  expect(edges.map(({ reason }) => reason)).toEqual(["as I know"]);
});
