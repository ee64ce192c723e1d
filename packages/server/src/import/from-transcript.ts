/**
 * A transcript: a text whose lines say who speaks, "User: …". Each speech becomes a turn, word for word,
 * with the lines that follow it; all of them make one conversation, which is named after the file.
 *
 * A turn is known again by its place: a second run adds what was written behind the turns that are there.
 * Where another turn stands already, that one stays, and the report says so. A dry run keeps the turns in
 * a store that is thrown away, so that it finds the same bad ones.
 */
import { basename, extname } from "node:path";
import { type Cortex, isCortexError, open } from "@cortex-memory/core";
import { type Speech, startIn } from "../speech.js";
import { fileBytes, type TextLine, textLines } from "./lines.js";
import { IMPORTER, type ImportWork } from "./memories.js";
import { badRecord, type ForeignFile, isUnusable, type Step, type TurnRecord } from "./records.js";
import { BATCH_ITEMS, drain } from "./tally.js";

/** Opens a transcript. */
export function openTranscript(path: string): ForeignFile {
  const bytes = fileBytes(path);
  return {
    graphs: undefined,
    // Read once, and counted as every file is: as if there were links to come.
    total: 2 * bytes,
    unit: "bytes",
    async *memories() {},
    async *links() {},
    turns: {
      session: basename(path, extname(path)) || "transcript",
      items: () => turnsOf(textLines(path)),
    },
    close: async () => {},
  };
}

async function* turnsOf(lines: AsyncIterable<TextLine>): AsyncGenerator<Step<TurnRecord>> {
  let index = 0;
  let speech:
    | { readonly at: string; readonly role: Speech["role"]; readonly lines: string[] }
    | undefined;
  let read = 0;
  const ended = function* (): Generator<Step<TurnRecord>> {
    if (speech === undefined) return;
    const { at, role } = speech;
    const content = speech.lines.join("\n").trim();
    yield { item: { at, index, role, content }, done: 2 * read };
    index += 1;
    speech = undefined;
  };
  for await (const { at, line, done } of lines) {
    if (isUnusable(line)) {
      yield* ended();
      yield { item: line, done: 2 * done };
      continue;
    }
    const text = line.text.replace(/\r$/, "");
    const start = startIn(text);
    if (start !== undefined) {
      yield* ended();
      speech = { at, role: start.role, lines: [start.rest] };
    } else if (speech !== undefined) {
      speech.lines.push(text);
    } else if (text.trim() !== "") {
      const message =
        'line: expected a line that says who speaks, such as "User: …", got other text';
      yield { item: { at, unusable: "bad", code: "ERR_INVALID", message }, done: 2 * done };
    }
    read = done;
  }
  yield* ended();
}

/** Why a turn of the file is left out. */
const TAKEN = "another turn stands at this place of the conversation; it stays as it is";

/** Brings the turns of a file in. */
export async function importTurns(
  work: ImportWork,
  { session, items }: NonNullable<ForeignFile["turns"]>,
): Promise<void> {
  await work.target.use(undefined, async (memory) => {
    const there = await turnsThere(memory, session);
    const scratch = work.dryRun || memory === undefined ? await open("memory:") : undefined;
    try {
      const keep = keeperOf(scratch ?? (memory as Cortex), session);
      await drain(
        items(),
        {
          bringIn: (records) => bringIn(work, records, { there, keep }),
          charsOf: ({ content }) => content.length,
        },
        work,
      );
    } finally {
      await scratch?.close();
    }
  });
}

/** What a conversation holds already, by place. */
async function turnsThere(
  memory: Cortex | undefined,
  session: string,
): Promise<ReadonlyMap<number, Speech>> {
  const there = new Map<number, Speech>();
  let fromIndex: number | undefined = 0;
  while (memory !== undefined && fromIndex !== undefined) {
    const page: Awaited<ReturnType<Cortex["session"]>> = await memory.session(session, {
      fromIndex,
      limit: BATCH_ITEMS,
    });
    for (const { index, role, content } of page.turns) {
      there.set(index, { role: role as Speech["role"], content });
    }
    fromIndex = page.nextIndex;
  }
  return there;
}

/** Keeps turns; says how many it kept. */
type Keep = (records: readonly TurnRecord[]) => Promise<number>;

function keeperOf(memory: Cortex, session: string): Keep {
  return async (records) => {
    const turns = records.map(({ at: _, ...turn }) => turn);
    const kept = await memory.remember(turns, { session, source: "imported", by: IMPORTER });
    return kept.turns.filter(({ added }) => added).length;
  };
}

async function bringIn(
  { tally }: ImportWork,
  records: readonly TurnRecord[],
  { there, keep }: { readonly there: ReadonlyMap<number, Speech>; readonly keep: Keep },
): Promise<void> {
  const fresh: TurnRecord[] = [];
  for (const record of records) {
    const known = there.get(record.index);
    if (known === undefined) fresh.push(record);
    else if (known.role === record.role && known.content === record.content) {
      tally.memory(undefined, "unchanged");
    } else tally.skip(record.at, TAKEN);
  }
  if (fresh.length === 0) return;
  const count = (kept: number, of: readonly TurnRecord[]): void => {
    for (let at = 0; at < kept; at++) tally.memory(undefined, "added");
    for (const { at } of of.slice(kept)) tally.skip(at, "nothing of it is kept");
  };
  try {
    count(await keep(fresh), fresh);
  } catch (error) {
    if (!isCortexError(error)) throw error;
    // One of them is bad: each by itself, so that it is named and the others come in.
    for (const record of fresh) {
      if (tally.hasStopped) return;
      try {
        count(await keep([record]), [record]);
      } catch (own) {
        tally.unusable(badRecord(record.at, own));
      }
    }
  }
}
