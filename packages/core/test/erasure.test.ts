/**
 * `forget` means gone: no byte of the content is left in any file of the store once it was vacuumed,
 * nor in anything that is read or written out; and what stays is exactly what the journal without
 * the content gives.
 *
 * Words are looked for as they are and as keys hold them, where every byte is stored one higher.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { replay } from "../src/history/replay.js";
import { type Cortex, open, restoreBackup } from "../src/index.js";
import { journalKey } from "../src/kv/keyspace.js";
import type { Kv } from "../src/kv/kv.js";
import { type SeededRandom, seededRandom } from "../src/testing/index.js";
import { bytesOf, emptyKv, graphOver, inPieces, rowsOf, sha256 } from "./moves-support.js";
import { cleanUp, temporaryFolder } from "./other-process.js";

afterEach(cleanUp);

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_102);

/** Every place that can hold text, each with a word of its own. */
const PLACES = [
  "content",
  "summary",
  "old content",
  "undone content",
  "tag",
  "old tag",
  "slot",
  "slot value",
  "kind",
  "frame ref",
  "external id",
  "metadata",
  "forms",
  "provenance session",
  "edge reason",
  "edge metadata",
  "removed edge reason",
  "edge removal",
  "tombstone reason",
  "session",
  "turn",
  "speaker",
  "tool",
  "goal",
  "goal state",
  "idempotency key",
  "attested task",
  "attested reason",
] as const;

type Words = Readonly<Record<(typeof PLACES)[number] | "neighbour", string>>;

function plantedWords(random: SeededRandom): Words {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const word = (): string =>
    Array.from({ length: 14 }, () => letters[random.below(letters.length)]).join("");
  const names = [...PLACES, "neighbour"] as const;
  return Object.fromEntries(names.map((name) => [name, word()])) as unknown as Words;
}

/** The names of the places whose word, or the stem of it, is somewhere in the bytes. */
function found(words: Words, bytes: Uint8Array): readonly string[] {
  const haystack = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return Object.entries(words).flatMap(([name, word]) => {
    const stem = Buffer.from(word.slice(0, 9));
    const raised = Buffer.from(stem.map((byte) => byte + 1));
    return haystack.includes(stem) || haystack.includes(raised) ? [name] : [];
  });
}

function foundInFiles(words: Words, folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  expect(names.length).toBeGreaterThan(0);
  return [...new Set(names.flatMap((name) => found(words, readFileSync(name))))].sort();
}

interface Planted {
  /** What is to be forgotten. */
  readonly ids: readonly string[];
  readonly neighbour: string;
  readonly seqBefore: number;
}

/** Writes every word into its place. */
async function plant(memory: Cortex, words: Words): Promise<Planted> {
  const [other] = (await memory.batch([{ write: { type: "note", text: "someone else" } }])).results;
  if (other === undefined || !("id" in other)) throw new Error("the batch failed");
  const { results } = await memory.batch([
    {
      write: {
        type: "note",
        text: `${"long ".repeat(1200)}${words["old content"]}`,
        kind: words.kind,
        tags: [words["old tag"]],
        externalId: words["external id"],
        idempotencyKey: words["idempotency key"],
        frames: [{ verb: "find", object: "plan", ref: words["frame ref"] }],
        data: { summary: words.summary, metadata: { deep: [words.metadata] } },
        forms: { short: words.forms, medium: `${words.forms} in the middle` },
        provenance: { session: words["provenance session"] },
      },
    },
    { write: { type: "note", text: `the neighbour says ${words.neighbour}` } },
  ] as unknown as Parameters<Cortex["batch"]>[0]);
  const [note, neighbour] = results.map((result) => ("id" in result ? result.id : ""));
  if (note === undefined || neighbour === undefined) throw new Error("the batch failed");
  await memory.update(note, { text: `${"long ".repeat(1200)}${words.content}` });
  const { seq } = await memory.update(note, { text: words["undone content"] });
  // What it said before is in the journal twice now.
  await memory.revert(seq);
  await memory.updateHead(note, { tags: [words.tag] });
  await memory.link(note, "supports", other.id, {
    reason: words["edge reason"],
    metadata: { why: words["edge metadata"] },
  });
  await memory.link(neighbour, "supports", note, { reason: words["removed edge reason"] });
  await memory.removeEdge(neighbour, "supports", note, { reason: words["edge removal"] });
  const slot = await memory.write({
    type: "fact",
    slot: words.slot,
    text: `the value ${words["slot value"]}`,
  });
  const next = await memory.write({ type: "fact", slot: words.slot, text: "another value" });
  const { turns } = await memory.remember(
    [
      { role: "user", content: words.turn, speaker: words.speaker },
      { role: "tool_result", content: "a tool's answer", toolName: words.tool },
    ],
    { session: words.session },
  );
  const goal = await memory.write({ type: "goal", text: `achieve ${words.goal}` });
  const state = { failureStreak: 0, intentsTodayCount: 0, spentToday: "0" };
  await memory.setGoalState(goal.id, { ...state, lastIntentId: words["goal state"] });
  await memory.attest({
    intentId: words["attested task"],
    outcome: "failure",
    reason: words["attested reason"],
    cited: [note, goal.id],
  });
  await memory.compactContext({ intentId: "task", stepId: "1", inContext: [note, goal.id] });
  await memory.tombstone(note, words["tombstone reason"]);
  const ids = [note, slot.id, next.id, goal.id, ...turns.map(({ id }) => id)];
  return { ids, neighbour, seqBefore: (await memory.root()).seq };
}

/** Everything the API can say about anything, as text. */
async function everythingReadable(memory: Cortex, words: Words, planted: Planted): Promise<string> {
  const answers: unknown[] = [];
  for (const ref of [...planted.ids, words["external id"]]) {
    answers.push(await memory.get(ref), await memory.history(ref));
    answers.push(await memory.get(ref, { asOf: planted.seqBefore }));
    answers.push(await memory.history(ref, { asOf: planted.seqBefore }));
    answers.push(await memory.goalState(ref));
  }
  for (const asOf of [undefined, planted.seqBefore]) {
    const at = asOf === undefined ? {} : { asOf };
    for (const type of ["note", "fact", "goal"] as const) {
      answers.push(
        await memory.list({ type, limit: 1000, lifecycles: ["tombstoned", "archived"], ...at }),
      );
      answers.push(await memory.list({ type, limit: 1000, ...at }));
    }
    answers.push(
      await memory.list({ tag: words.tag, ...at }),
      await memory.session(words.session, at),
    );
    answers.push(await memory.edgesIn(planted.neighbour, { includeTombstoned: true, ...at }));
    answers.push(await memory.edgesOut(planted.neighbour, { includeTombstoned: true, ...at }));
  }
  answers.push(await memory.changes(0), await memory.log({ limit: 1000 }));
  answers.push(await memory.contextRecord("task", "1"), await memory.context({ form: "full" }));
  // The answer to "which session, which tag" repeats the question: that is not the store talking.
  return JSON.stringify(answers).replaceAll(`"session":"${words.session}","turns":[]`, "");
}

describe("no byte is left", () => {
  test("every word is in the files before, and in nothing after forget and vacuum", async () => {
    console.log(`erasure: seed ${SEED}`);
    const words = plantedWords(seededRandom(SEED));
    const folder = temporaryFolder();
    const memory = await open(folder, { actor: "ada" });
    const planted = await plant(memory, words);
    await memory.snapshot("before");
    const old = await bytesOf((sink) => memory.backup(sink));
    // The key is kept as a hash from the start.
    const everything = [...PLACES, "neighbour"].filter((name) => name !== "idempotency key").sort();
    expect(foundInFiles(words, folder)).toEqual(everything);
    expect([...found(words, old.bytes)].sort()).toEqual(everything);

    for (const id of planted.ids) await memory.forget(id, "asked for");
    const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
    expect(found(words, bytes(await everythingReadable(memory, words, planted)))).toEqual([
      "neighbour",
    ]);
    const exported = await bytesOf((sink) => memory.exportJournal(sink));
    expect(found(words, exported.bytes)).toEqual(["neighbour"]);
    const later = await bytesOf((sink) => memory.backup(sink));
    expect(found(words, later.bytes)).toEqual(["neighbour"]);

    const { root } = await memory.root();
    expect((await memory.vacuum()).root).toBe(root);
    expect(foundInFiles(words, folder)).toEqual(["neighbour"]);
    expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
    expect((await memory.get(planted.neighbour))?.text).toContain(words.neighbour);
    await memory.close();
    expect(foundInFiles(words, folder)).toEqual(["neighbour"]);

    // The old backup has them all; with the list they stay in the backup.
    await using again = await open(folder, { actor: "ada" });
    const other = temporaryFolder();
    const erasures = await again.erasures();
    const report = await restoreBackup(other, [inPieces(old.bytes)], { actor: "ada", erasures });
    expect(report.warning).toBeUndefined();
    expect(foundInFiles(words, other)).toEqual(["neighbour"]);
  });

  test("a memory with 1,000 edges goes with all of them, and its neighbours stay", async () => {
    const memory = await graphOver(await emptyKv("lmdb"));
    const hub = await memory.write({ type: "note", text: "the hub" });
    const { results } = await memory.batch([
      ...Array.from({ length: 1000 }, (_, n) => ({
        write: { type: "note" as const, text: `spoke ${n}` },
        ref: `n${n}`,
      })),
      ...Array.from({ length: 1000 }, (_, n) => ({
        link:
          n % 2 === 0
            ? { from: hub.id, kind: "supports", to: { ref: `n${n}` } }
            : { from: { ref: `n${n}` }, kind: "related_to", to: hub.id },
      })),
    ]);
    const result = await memory.forget(hub.id, "asked for");
    expect(result).toMatchObject({ edges: 1000, erased: [hub.id] });
    expect(await memory.stats()).toMatchObject({
      memories: { active: 1000, erased: 1 },
      edges: { live: 0, removed: 0 },
    });
    for (const spoke of [results[0], results[999]]) {
      const id = spoke !== undefined && "id" in spoke ? spoke.id : "";
      expect((await memory.get(id))?.text).toMatch(/^spoke/);
      expect((await memory.edgesOut(id, { includeTombstoned: true })).edges).toEqual([]);
      expect((await memory.edgesIn(id, { includeTombstoned: true })).edges).toEqual([]);
    }
    expect(await memory.check()).toMatchObject({ ok: true });
  });
});

/** One history with forgets in it, and the journal as it was after every step. */
interface Lived {
  readonly kv: Kv;
  readonly memory: Cortex;
  readonly forgotten: ReadonlySet<string>;
  readonly ids: readonly string[];
  /** The rows of the journal after each step. */
  readonly journals: readonly (readonly Uint8Array[])[];
}

async function live(random: SeededRandom, steps: number): Promise<Lived> {
  const kv = await emptyKv("memory");
  const memory = await graphOver(kv, random.u32());
  const ids: string[] = [];
  const forgotten = new Set<string>();
  const journals = [await journalOf(kv)];
  for (let step = 0; step < steps; step += 1) {
    const living = ids.filter((id) => !forgotten.has(id));
    const dice = random.below(100);
    try {
      if (dice < 12 && living.length > 2) {
        const cascade = random.chance(40);
        const { erased } = await memory.forget(random.pick(living), "why", { cascade });
        for (const id of erased) forgotten.add(id);
      } else if (dice < 16) await memory.snapshot(`step ${step}`);
      else if (dice < 22 && living.length > 2) await undoLast(memory, random.pick(living));
      else if (dice < 30 && living.length > 2) await use(memory, random, living);
      else await act(memory, random, { living, ids, dice, step });
    } catch (error) {
      // What the history makes impossible, a link to what is hidden for instance, is no step.
      if ((error as { code?: string }).code === undefined) throw error;
    }
    journals.push(await journalOf(kv));
  }
  return { kv, memory, forgotten, ids, journals };
}

/** Undoes the entry that left a memory as it is: its parts are in the journal twice from then on. */
async function undoLast(memory: Cortex, id: string): Promise<void> {
  const { seq } = (await memory.get(id)) ?? {};
  if (seq !== undefined) await memory.revert(seq);
}

async function act(
  memory: Cortex,
  random: SeededRandom,
  at: { living: readonly string[]; ids: string[]; dice: number; step: number },
): Promise<void> {
  const { living, ids, dice, step } = at;
  // Some texts come again: they reinforce, or take the place a forgotten one left.
  const text = `text ${random.chance(60) ? random.below(4) : random.below(1000)}`;
  if (dice < 48 || living.length < 3) {
    const derived = random.chance(30) && living.length > 0 ? [random.pick(living)] : [];
    const derivedFrom = (await Promise.all(derived.map((id) => memory.get(id)))).flatMap(
      (parent) => parent?.uri ?? [],
    );
    const written = await memory.write({
      type: random.pick(["fact", "note", "preference", "goal"] as const),
      text,
      tags: [`tag${random.below(3)}`],
      ...(random.chance(25) ? { slot: `slot${random.below(3)}` } : {}),
      ...(random.chance(25) ? { externalId: `name${random.below(5)}` } : {}),
      ...(derivedFrom.length > 0 ? { provenance: { derivedFrom } } : {}),
    });
    if (!ids.includes(written.id)) ids.push(written.id);
  } else if (dice < 54) await memory.update(random.pick(living), { text });
  else if (dice < 60) {
    await memory.updateHead(random.pick(living), { tags: [`tag${random.below(4)}`] });
  } else if (dice < 72) {
    const kind = random.pick(["supports", "related_to", `own kind ${random.below(3)}`]);
    await memory.link(random.pick(living), kind, random.pick(living), { reason: text });
  } else if (dice < 78) {
    const [from, to] = [random.pick(living), random.pick(living)];
    await memory.removeEdge(from, "supports", to, { reason: "no more" });
  } else if (dice < 84) await memory.tombstone(random.pick(living), "hidden");
  else if (dice < 89) await memory.restore(random.pick(living));
  else if (dice < 94) {
    const { turns } = await memory.remember([{ role: "user", content: text }], {
      session: `session${random.below(2)}`,
    });
    for (const { id } of turns) if (!ids.includes(id)) ids.push(id);
  } else {
    const state = { failureStreak: step, intentsTodayCount: 0, spentToday: "0" };
    await memory.setGoalState(random.pick(living), state);
  }
}

/** Uses memories: attests, finds late, compacts, lets a goal rest or go on. */
async function use(memory: Cortex, random: SeededRandom, living: readonly string[]): Promise<void> {
  const some = random.shuffled(living).slice(0, random.between(1, 4));
  const dice = random.below(10);
  if (dice < 5) {
    await memory.attest({
      intentId: `task ${random.below(3)}`,
      outcome: random.pick(["success", "failure"]),
      reason: random.pick(["factual_error", "no luck"]),
      cited: some,
    });
  } else if (dice < 6) {
    await memory.find({ tags: [`tag${random.below(4)}`], limit: 5, lateBinding: true });
  } else if (dice < 8) {
    const stepId = String(random.below(2));
    await memory.compactContext({ intentId: "task", stepId, inContext: some });
  } else {
    const status = random.pick(["active", "paused"]);
    await memory.update(random.pick(living), { text: `goal ${dice}`, data: { status } });
  }
}

async function journalOf(kv: Kv): Promise<readonly Uint8Array[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: journalKey(0), lt: journalKey(100_000), limit: 100_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return rows.map(({ value }) => value);
}

/** A journal as somebody reads it who starts at some step and meets later ones on the way. */
function readMeanwhile(
  journals: readonly (readonly Uint8Array[])[],
  random: SeededRandom,
): readonly Uint8Array[] {
  const rows: Uint8Array[] = [];
  let step = random.below(journals.length);
  const last = journals.at(-1) ?? [];
  while (rows.length < last.length) {
    if (random.chance(10)) step = random.between(step, journals.length - 1);
    const row = journals[step]?.[rows.length];
    if (row === undefined) step += 1;
    else rows.push(row);
  }
  return rows;
}

async function folded(rows: readonly Uint8Array[], stops: readonly number[]): Promise<Kv> {
  const kv = await emptyKv("memory");
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield* rows;
  };
  await replay(kv, source(), { sha256, stops });
  return kv;
}

/** The rows that the journal gives: all but the snapshots, which stand beside it. */
async function foldedRows(kv: Kv): Promise<readonly string[]> {
  return (await rowsOf(kv)).filter((row) => !row.startsWith("snapshot "));
}

describe("the law of the fold", () => {
  const ROUNDS = 12;
  for (let round = 0; round < ROUNDS; round += 1) {
    test(`round ${round}: folding all and then forgetting is folding what was left`, async () => {
      const seed = SEED + round;
      console.log(`law of the fold: seed ${seed}`);
      const random = seededRandom(seed);
      const lived = await live(random, 120);
      expect(lived.forgotten.size).toBeGreaterThan(2);
      const kinds = (await lived.memory.log({ limit: 10_000 })).entries.map(({ kind }) => kind);
      for (const kind of ["attest", "learn_weights", "revert"]) expect(kinds).toContain(kind);
      // Live rows against the erased journal, and every snapshot's root at its place.
      expect(await lived.memory.check()).toMatchObject({ ok: true, problems: [] });
      const expected = await foldedRows(lived.kv);
      const asWritten = (lived.journals.at(-1) ?? []).map(
        (row, seq) => lived.journals.find((journal) => journal[seq] !== undefined)?.[seq] ?? row,
      );
      const stops = Array.from({ length: 10 }, () => random.below(asWritten.length));
      expect(await foldedRows(await folded(asWritten, stops))).toEqual(expected);
      // Rows read at different times, some before a forget and some after it.
      for (let trial = 0; trial < 4; trial += 1) {
        const rows = readMeanwhile(lived.journals, random);
        expect(await foldedRows(await folded(rows, stops))).toEqual(expected);
      }
    });
  }

  test("an earlier position with later erasures is a sound store without what was forgotten", async () => {
    const random = seededRandom(SEED + 100);
    console.log(`earlier positions: seed ${SEED + 100}`);
    const lived = await live(random, 120);
    const last = lived.journals.at(-1) ?? [];
    for (let trial = 0; trial < 6; trial += 1) {
      const size = random.between(20, last.length);
      const earlier = await graphOver(await folded(last.slice(0, size), []), 7);
      expect(await earlier.check()).toMatchObject({ ok: true, problems: [] });
      for (const id of lived.ids) {
        const now = await earlier.get(id);
        if (lived.forgotten.has(id)) expect(now).toBeUndefined();
      }
      await earlier.write({ type: "note", text: "and on it goes" });
      expect(await earlier.check()).toMatchObject({ ok: true });
    }
  });
});
