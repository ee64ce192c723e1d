/**
 * A file that somebody brings: what it is, and what it holds. Memories one per line, as JSON, in the form that
 * `cortex import --from jsonl` reads, and turns of a conversation, as `cortex remember` takes them, are read
 * here. Files of other programs are recognised and not read: the command on the server's machine does that,
 * and the answer names it. A SQLite file is known by its tables, whose names its first pages hold. Nothing of a
 * file is trusted. Pure but for the hash of the browser.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";

/** One thing to write. */
export type Item = Parameters<RemoteCortex["batch"]>[0][number];

/** A line that can be written. */
export interface GoodLine {
  /** From 1. */
  readonly at: number;
  readonly item: Item;
}

/** A line that cannot. */
export interface BadLine {
  readonly at: number;
  readonly why: string;
}

/** What a file is. */
export type GivenFile =
  | ({ readonly kind: "memories" } & LineFile)
  | { readonly kind: "turns"; readonly turns: readonly Turn[]; readonly bad: readonly BadLine[] }
  /** Something that this page does not read; a command of the server's machine may. */
  | { readonly kind: "elsewhere"; readonly what: string; readonly command?: string };

/** A turn of a conversation, as `remember` takes it. */
export type Turn = Parameters<RemoteCortex["remember"]>[0][number];

/** What a file of memories holds. */
export interface LineFile {
  readonly memories: readonly GoodLine[];
  readonly links: readonly GoodLine[];
  readonly bad: readonly BadLine[];
}

const TIMES = ["validFrom", "validTo", "expiresAt", "freshnessAt"];

/** Says what a file is, from its first bytes and its first object. */
export async function readGiven(file: Pick<Blob, "slice" | "text">): Promise<GivenFile> {
  const start = await file.slice(0, 16).text();
  if (start.startsWith("SQLite format 3")) return readSqlite(await tablesIn(file));
  if (start.startsWith("cortex-journal ")) {
    const what = "an export of a whole memory with its history";
    return { kind: "elsewhere", what, command: "cortex import FILE" };
  }
  const text = await file.text();
  const values = objectsIn(text);
  const first = values.find(({ value }) => value !== undefined)?.value;
  if (first === undefined) return readMemories(values);
  return foreign(first) ?? (isTurn(first) ? readTurns(values) : readMemories(values));
}

/** Programs that keep a SQLite file, by the tables that theirs have. */
const SQLITE_PROGRAMS = [
  {
    tables: ["graphs", "nodes", "edges"],
    what: "the store of memgraph",
    command: "cortex import FILE --from memgraph",
  },
  { tables: ["notes"], what: "an index of kb", command: "cortex import FILE --from kb" },
  {
    tables: ["entities", "observations", "relations"],
    what: "the store of mcp-memory-libsql, which no command here reads",
  },
] as const;

/** Whose SQLite file it is; of an unknown one, what is in it. */
function readSqlite(tables: ReadonlySet<string>): GivenFile {
  const whose = SQLITE_PROGRAMS.find((one) => one.tables.every((table) => tables.has(table)));
  if (whose !== undefined) {
    const { what } = whose;
    return { kind: "elsewhere", what, ...("command" in whose ? { command: whose.command } : {}) };
  }
  const named = [...tables].filter((name) => !name.startsWith("sqlite_")).slice(0, 6);
  const holds = named.length === 0 ? "no table that can be read" : `the tables ${named.join(", ")}`;
  return { kind: "elsewhere", what: `a SQLite file of a program that is not known: ${holds}` };
}

/** What another program wrote, by the members that only its files have. */
function foreign(first: Members): GivenFile | undefined {
  if (first.type === "entity" || first.type === "relation") {
    const what = "the file of the MCP reference memory server";
    return { kind: "elsewhere", what, command: "cortex import FILE --from mcp-memory" };
  }
  const isMem0 = typeof first.memory === "string" || Array.isArray(first.results ?? first.memories);
  if (!isMem0) return undefined;
  const what = "an export of mem0";
  return { kind: "elsewhere", what, command: "cortex import FILE --from mem0" };
}

function isTurn(value: Members): boolean {
  return typeof value.role === "string" && value.content !== undefined;
}

/** An object of the file, or what stands in its place, with its line or its place in the list. */
interface Found {
  readonly at: number;
  readonly value: Members | undefined;
}

/** The objects of a file: a list of them, one object over many lines, or one per line. */
function objectsIn(text: string): readonly Found[] {
  const whole = jsonIn(text);
  if (Array.isArray(whole)) return whole.map((one, at) => ({ at: at + 1, value: asObject(one) }));
  if (asObject(whole) !== undefined) return [{ at: 1, value: asObject(whole) }];
  return text.split("\n").flatMap((line, index) => {
    return line.trim() === "" ? [] : [{ at: index + 1, value: asObject(jsonIn(line)) }];
  });
}

function readTurns(values: readonly Found[]): GivenFile {
  const isGood = ({ value }: Found) => value !== undefined && isTurn(value);
  const bad = values.filter((one) => !isGood(one));
  return {
    kind: "turns",
    turns: values.filter(isGood).map(({ value }) => value as unknown as Turn),
    bad: bad.map(({ at }) => ({ at, why: "it is no turn: role and content are missing" })),
  };
}

async function readMemories(values: readonly Found[]): Promise<GivenFile> {
  return { kind: "memories", ...(await readLines(values)) };
}

async function readLines(values: readonly Found[]): Promise<LineFile> {
  const memories: GoodLine[] = [];
  const links: GoodLine[] = [];
  const bad: BadLine[] = [];
  for (const { at, value } of values) {
    if (value === undefined) bad.push({ at, why: "it is no JSON object" });
    else if (typeof value.link === "object" && value.link !== null) {
      links.push({ at, item: { link: value.link } as Item });
    } else if (typeof value.type !== "string") {
      bad.push({ at, why: "type: expected the type of a memory, or a link" });
    } else memories.push({ at, item: { write: await writeOf(value) } as unknown as Item });
  }
  return { memories, links, bad };
}

type Members = { readonly [name: string]: unknown };

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A line that is no JSON is named by its number.
    return undefined;
  }
}

function asObject(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Members)
    : undefined;
}

/** The line as `write` takes it: named, so that a second import adds nothing, and said to be imported. */
async function writeOf(line: Members): Promise<Members> {
  const times = TIMES.filter((name) => typeof line[name] === "string");
  const name = line.externalId ?? line.id ?? (await ownName(line));
  const { id: _, ...fields } = line;
  return {
    source: "imported",
    ...fields,
    ...Object.fromEntries(times.map((time) => [time, Date.parse(String(line[time]))])),
    ...(name === undefined ? {} : { externalId: name }),
  };
}

/** A name made of what a line says; browsers hash only where the page came safely. */
async function ownName(line: Members): Promise<string | undefined> {
  if (globalThis.crypto?.subtle === undefined) return undefined;
  const text = JSON.stringify(line, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  const hash = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `jsonl:${hex.slice(0, 32)}`;
}

/** Pages of the schema that are read; a program with more tables than these hold is none that is known. */
const PAGES_MAX = 64;

const LEAF = 0x0d;
const INTERIOR = 0x05;

/** The names of its tables; none where the file is broken, or keeps them in its log. */
export async function tablesIn(file: Pick<Blob, "slice">): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  const size = pageSize(await bytesOf(file, 0, 100));
  const left = [1];
  // A page may be named twice by a file that wants to be read for ever.
  const seen = new Set<number>();
  while (left.length > 0 && seen.size < PAGES_MAX) {
    const page = left.pop() ?? 1;
    if (seen.has(page)) continue;
    seen.add(page);
    try {
      const bytes = await bytesOf(file, (page - 1) * size, size);
      left.push(...readPage(bytes, page === 1 ? 100 : 0, names));
    } catch (error) {
      // A page that points beyond its end is broken.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return names;
}

async function bytesOf(file: Pick<Blob, "slice">, from: number, many: number): Promise<DataView> {
  return new DataView(await file.slice(from, from + many).arrayBuffer());
}

function pageSize(header: DataView): number {
  const said = header.byteLength < 18 ? 0 : header.getUint16(16);
  return said === 1 ? 65_536 : said;
}

/** Reads one page of the schema: names of tables into `names`; answers the pages below it. */
function readPage(page: DataView, start: number, names: Set<string>): readonly number[] {
  const kind = page.getUint8(start);
  if (kind !== LEAF && kind !== INTERIOR) return [];
  const cells = page.getUint16(start + 3);
  const first = start + (kind === LEAF ? 8 : 12);
  const below: number[] = kind === INTERIOR ? [page.getUint32(start + 8)] : [];
  for (let at = 0; at < cells; at++) {
    const cell = page.getUint16(first + 2 * at);
    if (kind === INTERIOR) below.push(page.getUint32(cell));
    else readCell(page, cell, names);
  }
  return below;
}

/** A row of the schema: its kind, its name, and more that is not needed. */
function readCell(page: DataView, cell: number, names: Set<string>): void {
  const payload = varint(page, varint(page, cell).next).next;
  const header = varint(page, payload);
  const kind = varint(page, header.next);
  const name = varint(page, kind.next);
  const values = payload + header.value;
  const nameFrom = values + textLength(kind.value);
  if (textAt(page, values, textLength(kind.value)) !== "table") return;
  names.add(textAt(page, nameFrom, textLength(name.value)));
}

/** The bytes of a text, by the number that says what a value is; other values have none. */
function textLength(serial: number): number {
  return serial >= 13 && serial % 2 === 1 ? (serial - 13) / 2 : 0;
}

function textAt(page: DataView, from: number, many: number): string {
  return new TextDecoder().decode(new Uint8Array(page.buffer, from, many));
}

/** A number of one to nine bytes, seven bits each; numbers of schemas need four at the most. */
function varint(page: DataView, from: number): { readonly value: number; readonly next: number } {
  let value = 0;
  for (let at = 0; at < 9; at++) {
    const byte = page.getUint8(from + at);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, next: from + at + 1 };
  }
  throw new RangeError("a number without an end");
}
