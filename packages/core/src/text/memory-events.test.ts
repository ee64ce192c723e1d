/**
 * What the writer hands over to the text index is what the journal tells: of each entry the same events, nothing of what
 * was forgotten since, and nothing that a caller can still change.
 */
import { describe, expect, test } from "vitest";
import type { FoldEntry } from "../history/fold-state.js";
import { Reader } from "../history/reader.js";
import { journalKey } from "../kv/keyspace.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { openGraph } from "../open.js";
import { eachDocumentWord } from "./document.js";
import { eventsOf, HandedEntries, type MemoryEvent } from "./memory-events.js";

async function written() {
  const kv = openMemoryKv();
  const { memory, engine } = await openGraph("memory:", { actor: "ada", kv });
  const commits: { readonly size: number; readonly entries: readonly FoldEntry[] }[] = [];
  engine.signal.listen((size, _, entries) => {
    commits.push({ size, entries });
  });
  const rowsOf = (from: number, to: number) =>
    Reader.with(kv, undefined, async (reader) => {
      const keys = Array.from({ length: to - from }, (_, at) => journalKey(from + at));
      return reader.getMany(keys);
    });
  return { memory, engine, commits, rowsOf };
}

describe("entries that are handed over", () => {
  test("say what the journal says", async () => {
    const { memory, engine, commits, rowsOf } = await written();
    const first = await memory.write({ type: "fact", text: "Ada lives in Paris", tags: ["home"] });
    await memory.write({
      type: "note",
      text: "",
      data: { summary: "A trip", metadata: { a: [1] } },
    });
    await memory.write({ type: "event", text: "The bridge was closed", slot: "bridge_state" });
    await memory.write({ type: "event", text: "The bridge is open", slot: "bridge_state" });
    await memory.update(first.id, { text: "Ada lives in Rome" });
    await memory.remember([{ role: "user", content: "Always be brief" }], { session: "s" });
    const handed = new HandedEntries();
    for (const { size, entries } of commits) handed.take(size, entries);
    const from = handed.first;
    const end = from + handed.size;
    const rows = await rowsOf(from, end);
    const analyser = await engine.text.analyser();
    const told = (events: readonly MemoryEvent[]) =>
      events.map(({ seq, part, kind, name, record }) => {
        const words: string[] = [];
        const bodies = record.version === undefined ? [] : [record.version];
        eachDocumentWord(analyser, { head: record.head, bodies }, (word) => words.push(word));
        const { lifecycle, siblings } = record.head;
        const { number, supersedes } = record.version ?? {};
        return { seq, part, kind, name, lifecycle, siblings, number, supersedes, words };
      });
    let compared = 0;
    for (let seq = from; seq < end; seq += 1) {
      const [events] = handed.give(seq, seq + 1);
      if (events === undefined) continue;
      const row = rows[seq - from];
      if (row === undefined) throw new Error("an entry is missing");
      expect(told(events)).toEqual(told(eventsOf(row)));
      compared += events.length;
    }
    // What touches an older memory is left to the journal.
    expect(compared).toBe(4);
    await memory.close();
  });

  test("are not what callers gave, nor what they were shown", async () => {
    const { memory, commits } = await written();
    const tags = ["home"];
    const data = { statement: "Ada lives in Paris", metadata: { since: ["May"] } };
    const single = { type: "fact", data, tags, memory: true } as const;
    const { memory: shown } = await memory.write(single);
    const note = { type: "note", data: { content: "A trip", summary: "Travel" }, tags } as const;
    await memory.batch([{ write: note }]);
    const handed = new HandedEntries();
    for (const { size, entries } of commits) handed.take(size, entries);
    const told = () => JSON.stringify(handed.give(handed.first, handed.first + handed.size));
    const changed = [tags, data, data.metadata.since, note.data, shown?.data, shown?.head.tags];
    for (const one of changed) {
      if (Array.isArray(one)) one.push("Rome");
      else Object.assign(one ?? {}, { statement: "Rome", content: "Rome" });
    }
    Object.assign(shown?.versionRecord.forms ?? {}, { short: "Rome" });
    expect(shown?.data).toMatchObject({ statement: "Rome" });
    const said = told();
    expect(said).toContain("Ada lives in Paris");
    expect(said).toContain("A trip");
    expect(said).not.toContain("Rome");
    await memory.close();
  });

  test("are let go once a memory is forgotten, and where another process wrote in between", async () => {
    const { memory, commits } = await written();
    const first = await memory.write({ type: "fact", text: "a secret" });
    await memory.write({ type: "fact", text: "another one" });
    const handed = new HandedEntries();
    for (const { size, entries } of commits) handed.take(size, entries);
    expect(handed.size).toBe(2);
    await memory.forget(first.id, "asked for");
    const last = commits.at(-1);
    if (last === undefined) throw new Error("nothing was committed");
    handed.take(last.size, last.entries);
    expect(handed.size).toBe(0);
    handed.take(last.size + 7, commits[0]?.entries ?? []);
    expect([handed.first, handed.size]).toEqual([last.size + 6, 1]);
    await memory.close();
  });

  test("are no more than there is room for, the newest", () => {
    const handed = new HandedEntries();
    const entry = (seq: number): FoldEntry => ({
      seq,
      kind: "attest",
      at: 1,
      by: "ada",
      parts: [],
    });
    for (let seq = 0; seq < 5000; seq += 1) handed.take(seq + 1, [entry(seq)]);
    expect(handed.size).toBe(4096);
    expect(handed.first).toBe(904);
    expect(handed.give(903, 910)).toEqual([]);
    expect(handed.give(904, 910)).toHaveLength(6);
    expect(handed.first).toBe(910);
  });
});
