/**
 * Batches on Postgres, which take what they bring for new and begin before they are whole, beside the same batches in
 * memory, where nothing is presumed: the same answers, the same refusals in the same words, the same memories. And batches
 * of two processes that want the same name, slot, id or key at one moment.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cortex, isCortexError, open } from "../src/index.js";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking } from "../src/testing/lacking.js";
import { type PostgresServer, startPostgres, whyNoPostgres } from "./postgres-server.js";

/** Enough that a commit begins before it is whole. */
const MANY = 150;

type Items = Parameters<Cortex["batch"]>[0];
type Options = Parameters<Cortex["batch"]>[1];

const missing = whyNoPostgres();
const isMissing = isLacking(missing === undefined, missing ?? "");
let server: PostgresServer;
beforeAll(async () => {
  if (!isMissing) server = await startPostgres();
});
afterAll(() => server?.stop());

const facts = (name: string, more: (at: number) => object = () => ({})): Items =>
  Array.from({ length: MANY }, (_, at) => ({
    write: { type: "fact" as const, text: `${name} ${at}`, ...more(at) },
  }));

const fact = (text: string, more: object = {}): Items => [
  { write: { type: "fact", text, ...more } },
];

/** One store, or two handles of one, and what was said by each call: ids by the order in which they are met. */
class Script {
  readonly told: string[] = [];
  readonly #names = new Map<string, string>();
  readonly #handles: readonly Cortex[];

  constructor(...handles: readonly Cortex[]) {
    this.#handles = handles;
  }

  get(who: number): Cortex {
    const found = this.#handles[who % this.#handles.length];
    if (found === undefined) throw new Error("no handle");
    return found;
  }

  note(what: unknown): void {
    const plain = JSON.stringify(what, (key, value: unknown) => {
      if (/^(at|updatedAt|createdAt|recordedAt|learnedAt)$/.test(key)) return undefined;
      return isCortexError(value)
        ? { code: value.code, message: value.message, details: value.details }
        : value;
    });
    this.told.push(
      plain.replace(/[0-9A-HJKMNP-TV-Z]{26}/gi, (id) => {
        const name = this.#names.get(id) ?? `<${this.#names.size}>`;
        this.#names.set(id, name);
        return name;
      }),
    );
  }

  /** A batch by one of the handles. */
  async batch(who: number, items: Items, options?: Options): Promise<readonly string[]> {
    try {
      const { results } = await this.get(who).batch(items, options);
      this.note(results);
      return results.map((result) => (result.ok ? result.id : ""));
    } catch (error) {
      this.note(error);
      return [];
    }
  }
}

/** What is done to both. */
const STEPS: Readonly<Record<string, (script: Script) => Promise<unknown>>> = {
  "what another has said": async (script) => {
    await script.batch(0, facts("said"));
    await script.batch(1, [...facts("more"), ...fact("said 7"), ...fact("Said 8.")]);
    await script.batch(0, [...fact("more 3"), ...facts("still more")]);
  },
  "a fact twice in one batch": (script) =>
    script.batch(0, [...facts("once"), ...fact("once 149"), ...fact("once 3")]),
  "a name that is taken, by another and in the batch itself": async (script) => {
    const named = (name: string): Items => facts(name, (at) => ({ externalId: `${name}-${at}` }));
    await script.batch(0, named("n"));
    await script.batch(1, [...named("m"), ...fact("taken", { externalId: "n-5" })]);
    await script.batch(1, [...named("o"), ...fact("taken", { externalId: "o-5" })]);
    await script.batch(0, [...named("p"), ...fact("taken", { externalId: "n-6" }), ...facts("q")], {
      atomic: false,
    });
  },
  "an id that is taken, by another, in the batch itself, and by what was forgotten": async (
    script,
  ) => {
    const idOf = (at: number): string => `01HZZZZZZZZZZZZZZZZZZZZ${String(at).padStart(3, "0")}`;
    const known = (name: string, from: number): Items =>
      facts(name, (at) => ({ id: idOf(from + at) }));
    await script.batch(0, known("i", 0));
    await script.batch(1, [...facts("j"), ...fact("taken", { id: idOf(7) })]);
    await script.batch(0, [...known("k", 200), ...fact("taken", { id: idOf(203) })]);
    await script.batch(0, [...known("l", 400), ...fact("taken", { id: idOf(8) })], {
      atomic: false,
    });
    await script.get(1).forget(idOf(9), "asked for");
    await script.batch(0, [...known("m", 600), ...fact("taken", { id: idOf(9) })]);
  },
  "slots that are held": async (script) => {
    const slotted = (name: string): Items => facts(name, (at) => ({ slot: `slot ${at}` }));
    await script.batch(0, slotted("first"));
    await script.batch(1, slotted("second"));
    await script.batch(0, slotted("third"));
    await script.batch(0, slotted("third"));
  },
  "a key again, and for something else": async (script) => {
    await script.batch(0, facts("keyed"), { idempotencyKey: "k" });
    await script.batch(1, facts("keyed"), { idempotencyKey: "k" });
    await script.batch(1, facts("other"), { idempotencyKey: "k" });
    await script.batch(0, facts("keyed"), { idempotencyKey: "k" });
  },
  "links between new ones, to nobody, and what fails alone": async (script) => {
    const items: Items = facts("linked").map((item, at) => ({ ...item, ref: `r${at}` }));
    const link = (from: string, to: string): Items[number] => ({
      link: { from: { ref: from }, kind: "uses", to: { ref: to } },
    });
    await script.batch(0, [...items, link("r1", "r2")]);
    await script.batch(1, [...facts("failing"), link("r1", "r2")]);
    await script.batch(1, [...facts("failing"), link("r1", "r2")], { atomic: false });
  },
  "what was forgotten and is said again": async (script) => {
    const ids = await script.batch(
      0,
      facts("forgotten", (at) => ({ externalId: `f-${at}` })),
    );
    for (const id of ids.slice(0, 3)) await script.get(1).forget(id, "asked for");
    await script.get(1).tombstone(ids[4] ?? "", "old");
    await script.batch(
      0,
      facts("forgotten", (at) => ({ externalId: `g-${at}` })),
    );
    await script.batch(0, fact("again", { externalId: "f-1" }));
    await script.batch(0, [...facts("later"), { update: { id: ids[0] ?? "", text: "x" } }]);
  },
};

/** Everything that is there, in the order in which it was written. */
async function everything(script: Script): Promise<void> {
  const memory = script.get(0);
  const lifecycles = ["active", "archived"] as const;
  let cursor: string | undefined;
  do {
    const page = await memory.list({ lifecycles, limit: 1000, order: "oldest", cursor });
    script.note(page.memories.map(({ id, text, version }) => ({ id, text, version })));
    cursor = page.cursor;
  } while (cursor !== undefined);
  const { memories, entries } = await memory.stats();
  script.note({ memories, entries });
  expect(await memory.check()).toMatchObject({ ok: true });
}

describe.skipIf(isMissing)("beside the same in memory", () => {
  test.each(Object.entries(STEPS))("%s", async (_, step) => {
    await using inMemory = await open("memory:", { actor: "ada" });
    const location = hubIn(server.url);
    await using one = await open(location, { actor: "ada" });
    await using two = await open(location, { actor: "ada" });
    const wanted = new Script(inMemory);
    const found = new Script(one, two);
    for (const script of [wanted, found]) {
      // From its second batch on a process presumes.
      await script.batch(0, facts("before"));
      await step(script);
      await everything(script);
    }
    expect(found.told).toEqual(wanted.told);
  });
});

describe.skipIf(isMissing)("two processes at one moment", () => {
  async function race(
    options: (who: number) => { readonly items: Items; readonly options?: Options },
  ): Promise<{ readonly answers: readonly unknown[]; readonly memory: Cortex }> {
    const location = hubIn(server.url);
    const stores = [
      await open(`${location}&pool=3`, { actor: "ada" }),
      await open(`${location}&pool=4`, { actor: "ada" }),
    ];
    for (const [who, memory] of stores.entries()) await memory.batch(facts(`before ${who}`));
    // Each has seen the other's, and presumes again.
    for (const [who, memory] of stores.entries()) await memory.batch(facts(`seen ${who}`));
    const answers = await Promise.all(
      stores.map((memory, who) => {
        const { items, options: how } = options(who);
        return memory.batch(items, how).then(
          ({ results }) => results,
          (error: unknown) => (isCortexError(error) ? error.code : error),
        );
      }),
    );
    const [memory, other] = stores;
    if (memory === undefined || other === undefined) throw new Error("no store");
    expect(await memory.check()).toMatchObject({ ok: true });
    expect((await memory.root()).root).toEqual((await other.root()).root);
    await other.close();
    return { answers, memory };
  }

  test("want the same names: one has them all, the other is refused whole", async () => {
    const { answers, memory } = await race((who) => ({
      items: facts(`of ${who}`, (at) => ({ externalId: `name-${at}` })),
    }));
    expect(answers.filter((answer) => answer === "ERR_EXISTS")).toHaveLength(1);
    const winner = answers.findIndex((answer) => answer !== "ERR_EXISTS");
    expect(await memory.get("name-0")).toMatchObject({ text: `of ${winner} 0` });
    expect(await memory.get("name-149")).toMatchObject({ text: `of ${winner} 149` });
    expect((await memory.stats()).memories.active).toBe(5 * MANY);
    await memory.close();
  });

  test("want the same slots: both have had them, one after the other", async () => {
    const { memory } = await race((who) => ({
      items: facts(`of ${who}`, (at) => ({ slot: `slot ${at}` })),
    }));
    expect((await memory.stats()).memories).toMatchObject({ active: 5 * MANY, archived: MANY });
    await memory.close();
  });

  test("say the same: it is there once, and one of them reinforces it", async () => {
    const { answers, memory } = await race(() => ({ items: facts("the same") }));
    const reinforced = answers.map((answer) =>
      JSON.stringify(answer).includes('"reinforced":true'),
    );
    expect([...reinforced].sort()).toEqual([false, true]);
    expect((await memory.stats()).memories.active).toBe(5 * MANY);
    await memory.close();
  });

  test("come under one key: it is done once, and both are told so", async () => {
    const { answers, memory } = await race(() => ({
      items: facts("keyed"),
      options: { idempotencyKey: "one" },
    }));
    expect(answers[0]).toEqual(answers[1]);
    expect((await memory.stats()).memories.active).toBe(5 * MANY);
    await memory.close();
  });
});
