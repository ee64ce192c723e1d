/**
 * Writes the generated parts of docs/data-format.md: the tables of names and numbers, and the
 * examples, taken from a small store that is the same on every machine.
 *
 * Promise: what stands between two markers is a function of the sources alone. `data-format.test.ts`
 * compares, and rewrites the page when CORTEX_WRITE_DOCS is 1. The prose of the page is written by
 * hand; a marker that nobody fills, or a block without a marker, is an error.
 */
import { decode } from "../packages/core/src/codec/cbor.js";
import { domainHash } from "../packages/core/src/codec/hash.js";
import { sha256Node } from "../packages/core/src/codec/node-crypto.js";
import { entryLeaf, partHash, splitEntry } from "../packages/core/src/journal/entry.js";
import { journalKey, KEYSPACE } from "../packages/core/src/kv/keyspace.js";
import type { KvRow } from "../packages/core/src/kv/kv.js";
import { annotate, hexOf, type Line, raw, type Shape, showLines } from "./data-format/annotate.js";
import {
  buildExample,
  type ExampleStore,
  FORGOTTEN_SEQ,
  SLOT_SEQ,
  TURN_SEQ,
  UNDO_SEQ,
  WRITE_SEQ,
} from "./data-format/example-store.js";
import { shortId, showRows, showTime } from "./data-format/rows.js";
import {
  codeTable,
  dataTable,
  domainTable,
  edgeKindList,
  indexTable,
  keyspaceTable,
  kindTable,
  subjectTable,
} from "./data-format/tables.js";

/** Where the page is. */
export const PAGE_URL = new URL("../docs/data-format.md", import.meta.url);

const MARKED = /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/** The text between the markers of one block. */
export function blockOf(page: string, name: string): string {
  for (const [whole, open, found, close] of page.matchAll(MARKED)) {
    if (found === name) return whole.slice(open?.length, -(close?.length ?? 0)).trim();
  }
  throw new Error(`docs/data-format.md has no block "${name}"`);
}

/** The page with every block filled in anew. */
export function fillPage(page: string, blocks: ReadonlyMap<string, string>): string {
  const filled = new Set<string>();
  const text = page.replaceAll(MARKED, (_, open: string, name: string, close: string) => {
    const block = blocks.get(name);
    if (block === undefined) throw new Error(`nothing fills the block "${name}"`);
    filled.add(name);
    return `${open}\n${block}\n\n${close}`;
  });
  const left = [...blocks.keys()].filter((name) => !filled.has(name));
  if (left.length > 0) throw new Error(`docs/data-format.md has no marker for ${left.join(", ")}`);
  return text;
}

/** Every generated block by name. */
export async function renderBlocks(): Promise<ReadonlyMap<string, string>> {
  const store = await buildExample();
  return new Map([
    ["domains", domainTable()],
    ["kinds", kindTable()],
    ["subjects", subjectTable()],
    ["codes", codeTable()],
    ["data", dataTable()],
    ["edge-kinds", edgeKindList()],
    ["keyspace", keyspaceTable()],
    ["indexes", indexTable()],
    ["example", fenced(exampleList(store))],
    ["entry", fenced(showLines(entryLines(entryRow(store, WRITE_SEQ))))],
    ["entry-hashes", fenced(entryHashes(store))],
    ["again", fenced(showLines(annotate(headerAt(store, UNDO_SEQ), HEADER_SHAPE)))],
    ["erased", fenced(erasedLines(store))],
    ["edge", fenced(showLines(partLines(store, SLOT_SEQ, 2, EDGE_SHAPE)))],
    ["turn", fenced(showLines(partLines(store, TURN_SEQ, 0, MEMORY_SHAPE)))],
    ["rows", fenced(showRows(store.rows))],
    ["head", fenced(showLines(annotate(valueAt(store, Uint8Array.of(0)), HEAD_ROW_SHAPE)))],
    ["headers", fenced(headerLines(store))],
    ["tiles", fenced(tileLines(store))],
    ["page", fenced(pageLines(store))],
    ["roots", fenced(rootLines(store))],
    ["manifest", fenced(showLines(annotate(manifestBytes(store), MANIFEST_SHAPE)))],
    ["checkpoint", fenced(store.checkpoint.trimEnd())],
  ]);
}

function fenced(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}

function valueAt({ rows }: ExampleStore, key: Uint8Array): Uint8Array {
  const wanted = hexOf(key);
  const row = rows.find((one) => hexOf(one.key) === wanted);
  if (row === undefined) throw new Error(`the example store has no row ${wanted}`);
  return row.value;
}

function rowsUnder({ rows }: ExampleStore, prefix: number): readonly KvRow[] {
  return rows.filter(({ key }) => key[0] === prefix);
}

function entryRow(store: ExampleStore, seq: number): Uint8Array {
  return valueAt(store, journalKey(seq));
}

function headerAt(store: ExampleStore, seq: number): Uint8Array {
  return splitEntry(entryRow(store, seq)).headerBytes;
}

function manifestBytes(store: ExampleStore): Uint8Array {
  return rowsUnder(store, KEYSPACE.snapshot.byte)[0]?.value ?? new Uint8Array(0);
}

const at = (value: unknown): string => showTime(Number(value));
const bytes = (what: string) => (): string => what;
const label = (name: string, more: Shape = {}): Shape => ({ label: name, ...more });

const PART_REF_SHAPE: Shape = {
  members: {
    "0": label("subject", { say: sayBytes }),
    "1": label("part hash", { say: bytes("32 bytes") }),
    "2": label("first at", { say: at }),
    "3": label("first by"),
  },
};

function sayBytes(value: unknown): string {
  if (!(value instanceof Uint8Array)) return "";
  const id = value.length === 17 ? `, id ${shortId(value.subarray(1))}` : "";
  return `tag ${hexOf(value.subarray(0, 1))}${id}`;
}

const HEADER_SHAPE: Shape = {
  members: {
    "0": label("seq"),
    "1": label("kind"),
    "2": label("at", { say: at }),
    "3": label("by"),
    "4": label("parts", { each: PART_REF_SHAPE }),
    "5": label("batch: first seq, length"),
    "6": label("request", { say: bytes("key hash 16 ‖ request hash 16") }),
  },
};

const HEAD_FIELDS: Shape = {
  label: "Head",
  members: {
    "1": label("type"),
    "2": label("version"),
    "3": label("lifecycle"),
    "6": label("tags"),
    "7": label("frames"),
    "8": label("slot"),
    "10": label("source"),
    "11": label("kind"),
    "12": label("external id"),
    "17": label("turn: session, index, chunk"),
    "18": label("fingerprint", { say: bytes("10 bytes") }),
  },
};

const VERSION_FIELDS: Shape = {
  label: "Version",
  members: { "1": label("number"), "2": label("data"), "3": label("short"), "4": label("medium") },
};

const MEMORY_SHAPE: Shape = { members: { "1": HEAD_FIELDS, "2": VERSION_FIELDS } };

const EDGE_SHAPE: Shape = {
  members: {
    "0": label("id", { say: (value) => `edge ${shortId(value as Uint8Array)}` }),
    "1": label("from", { say: (value) => `memory ${shortId(value as Uint8Array)}` }),
    "2": label("kind"),
    "3": label("to", { say: (value) => `memory ${shortId(value as Uint8Array)}` }),
    "10": label("source", { say: bytes("derived") }),
  },
};

const HEAD_ROW_SHAPE: Shape = {
  members: {
    "0": label("format"),
    "1": label("fold version"),
    "2": label("size"),
    "3": label("at", { say: at }),
    "4": label("epoch"),
    "5": label("counts", {
      members: {
        "0": label("active"),
        "1": label("archived"),
        "2": label("tombstoned"),
        "3": label("erased"),
        "4": label("edges live"),
        "5": label("edges removed"),
        "6": label("open edge kinds"),
      },
    }),
  },
};

const MANIFEST_SHAPE: Shape = {
  members: {
    "0": label("version of the manifest"),
    "1": label("number"),
    "2": label("size"),
    "3": label("at", { say: at }),
    "4": label("epoch"),
    "5": label("reason"),
    "6": label("roots", {
      members: {
        "0": label("genesis"),
        "1": label("journal"),
        "2": label("edges"),
        "3": label("memories"),
      },
    }),
    "7": label("overall root"),
    "8": label("counts, as in the head row"),
    "10": label("by"),
    "11": label("mark"),
  },
};

function exampleList(store: ExampleStore): string {
  return rowsUnder(store, KEYSPACE.journal.byte)
    .map(({ value }) => {
      const header = headerOf(value);
      const parts = header.parts.map(([subject]) => sayBytes(subject).replace("tag ", ""));
      const when = showTime(header.at).slice(11, 16);
      const batch = header.batch === undefined ? "" : `  batch of ${header.batch[1]}`;
      const seq = String(header.seq).padStart(2);
      return `${seq}  ${when}  ${header.kind.padEnd(18)}  ${parts.join("; ")}${batch}`;
    })
    .join("\n");
}

function headerOf(row: Uint8Array): {
  readonly seq: number;
  readonly kind: string;
  readonly at: number;
  readonly parts: readonly (readonly [Uint8Array, Uint8Array | null])[];
  readonly batch: readonly [number, number] | undefined;
} {
  const { at: members } = decode(splitEntry(row).headerBytes) as { readonly at: unknown[] };
  const [seq, kind, time, , parts, batch] = members;
  return { seq, kind, at: time, parts, batch } as ReturnType<typeof headerOf>;
}

/** A whole journal row: header and parts, taken apart. */
function entryLines(row: Uint8Array): readonly Line[] {
  return annotate(row, {
    members: {
      "0": label("header", { inside: (header, depth) => annotate(header, HEADER_SHAPE, depth) }),
      "1": label("parts", { each: label("part", { inside: saltAndRecord }) }),
    },
  });
}

function saltAndRecord(part: Uint8Array, depth: number): readonly Line[] {
  return [
    raw(part.subarray(0, 16), "salt", depth),
    ...annotate(part.subarray(16), MEMORY_SHAPE, depth),
  ];
}

function partLines(store: ExampleStore, seq: number, index: number, shape: Shape): readonly Line[] {
  const part = splitEntry(entryRow(store, seq)).parts[index];
  if (part === undefined) throw new Error(`entry ${seq} has no part ${index}`);
  return [raw(part.subarray(0, 16), "salt"), ...annotate(part.subarray(16), shape)];
}

function entryHashes(store: ExampleStore): string {
  const { headerBytes, parts } = splitEntry(entryRow(store, WRITE_SEQ));
  const part = parts[0] ?? new Uint8Array(0);
  return [
    `part hash  ${hexOf(partHash(sha256Node, part))}`,
    `log leaf   ${hexOf(entryLeaf(sha256Node, headerBytes))}`,
  ].join("\n");
}

function erasedLines(store: ExampleStore): string {
  const after = entryRow(store, FORGOTTEN_SEQ);
  return [
    `before  ${wrapped(hexOf(store.forgottenRow), 8)}`,
    "",
    `after   ${wrapped(hexOf(after), 8)}`,
  ].join("\n");
}

function headerLines(store: ExampleStore): string {
  return rowsUnder(store, KEYSPACE.journal.byte)
    .map(({ value }, seq) => {
      const { headerBytes } = splitEntry(value);
      return `${String(seq).padStart(2)}  ${wrapped(hexOf(headerBytes), 4)}`;
    })
    .join("\n");
}

/** Hex in lines of 40 bytes, each below the first. */
function wrapped(hex: string, indent: number): string {
  const lines = hex.match(/.{1,80}/g) ?? [];
  return lines.join(`\n${" ".repeat(indent)}`);
}

function tileLines(store: ExampleStore): string {
  return rowsUnder(store, KEYSPACE.logTile.byte)
    .map(({ key, value }) => {
      const hashes = hexOf(value).match(/.{64}/g) ?? [];
      return [`${hexOf(key)}`, ...hashes.map((hash) => `    ${hash}`)].join("\n");
    })
    .join("\n");
}

/** The pages of the tree of memories, slot by slot. */
function pageLines(store: ExampleStore): string {
  return rowsUnder(store, KEYSPACE.memoryPage.byte)
    .map(({ key, value }) => {
      const depth = 4 * (key.at(-1) ?? 0);
      return [`key ${hexOf(key)}, depth ${depth}`, ...slotLines(value, depth)].join("\n");
    })
    .join("\n\n");
}

function slotLines(page: Uint8Array, depth: number): readonly string[] {
  const lines: string[] = [];
  const first = depth >> 3;
  for (let start = 0; start < page.length; ) {
    const top = page[start] ?? 0;
    const end = start + 1 + (top === 0 ? 16 : (top + 7) >> 3) - first;
    const pathBytes = page.subarray(start + 1, end);
    const slot = ((pathBytes[0] ?? 0) >> (depth % 8 === 0 ? 4 : 0)) & 15;
    const what = top === 0 ? "leaf" : `subtree that branches on bit ${top}`;
    lines.push(`  slot ${slot.toString(16)}: ${what}`);
    lines.push(`    ${hexOf(page.subarray(start, start + 1))} ${hexOf(pathBytes)}`);
    lines.push(`    ${hexOf(page.subarray(end, end + 32))}`);
    start = end + 32;
  }
  return lines;
}

function rootLines({ roots }: ExampleStore): string {
  const { genesis, journal, trees, overall } = roots;
  return [
    `empty tree  ${hexOf(domainHash(sha256Node, "stateEmpty"))}`,
    "",
    `genesis     ${hexOf(genesis)}`,
    `journal     ${hexOf(journal)}`,
    `edges       ${hexOf(trees.edges)}`,
    `memories    ${hexOf(trees.memories)}`,
    "",
    "input       636f727465782e6f766572616c6c2e7631   cortex.overall.v1",
    "            01                                   schema",
    "            genesis ‖ journal                    as above",
    "            0002                                 number of trees",
    "            05 6564676573 ‖ edges                name length, name, root",
    "            08 6d656d6f72696573 ‖ memories       name length, name, root",
    "",
    `overall     ${hexOf(overall)}`,
  ].join("\n");
}
