/**
 * One example row for every prefix of the keyspace, with its reading in words.
 *
 * Promise: the tables are exhaustive. A new prefix does not compile without a reading here, and a
 * prefix without a row in the example store says so on the page. Keys are cut into the components
 * that `keyspace.ts` builds them from.
 */
import { decode } from "../../packages/core/src/codec/cbor.js";
import { ulidText } from "../../packages/core/src/codec/ulid.js";
import { KEYSPACE, type PrefixName } from "../../packages/core/src/kv/keyspace.js";
import type { KvRow } from "../../packages/core/src/kv/kv.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  MEMORY_TYPES,
  nameOf,
  OBJECT_KINDS,
} from "../../packages/core/src/records/types.js";
import {
  decodeEmbedCursor,
  isEmbedCursorKey,
} from "../../packages/core/src/records/vector-rows.js";
import { decodeManifest } from "../../packages/core/src/text/manifest.js";
import {
  bucketWords,
  decodeEnds,
  documentsIn,
  readFences,
  readLengths,
} from "../../packages/core/src/text/segment-rows.js";
import { hexOf } from "./annotate.js";
import { WRITE_SEQ } from "./example-store.js";

/** Widths of a key's components after the prefix; `text` ends with a zero byte. */
type Component = number | "text" | "rest";

interface RowNotes {
  readonly parts: readonly Component[];
  /** Which rows make a good example; any by default. */
  readonly pick?: (key: Uint8Array) => boolean;
  readonly say: (parts: readonly Uint8Array[], value: Uint8Array) => string;
}

/** The example rows, one block for each prefix, in key order. */
export function showRows(rows: readonly KvRow[]): string {
  const names = Object.keys(KEYSPACE) as PrefixName[];
  return names.map((name) => showPrefix(name, rows)).join("\n\n");
}

function showPrefix(name: PrefixName, rows: readonly KvRow[]): string {
  const { byte, name: title } = KEYSPACE[name];
  const notes = NOTES[name];
  const mine = rows.filter(({ key }) => key[0] === byte);
  const row = mine.find(({ key }) => notes.pick?.(key) ?? true) ?? mine[0];
  const heading = `${hexOf(Uint8Array.of(byte))}  ${title}`;
  if (row === undefined) return `${heading}\n    no row in this example`;
  const parts = cutKey(row.key, notes.parts);
  const lines = [
    `key    ${[hexOf(row.key.subarray(0, 1)), ...parts.map(hexOf)].join(" ").trimEnd()}`,
    ...labelled("value  ", row.value.length === 0 ? "(empty)" : hexOf(row.value)),
    ...labelled("reads  ", notes.say(parts, row.value), 84),
  ];
  return [heading, ...lines.map((line) => `    ${line}`)].join("\n");
}

/** A long text goes on in the next line, below its start. */
function labelled(label: string, text: string, width = 80): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest].map((line, at) => (at === 0 ? label : "       ") + line);
}

function cutKey(key: Uint8Array, components: readonly Component[]): readonly Uint8Array[] {
  let at = 1;
  return components.map((component) => {
    const end =
      component === "rest"
        ? key.length
        : component === "text"
          ? key.indexOf(0, at) + 1
          : at + component;
    const piece = key.subarray(at, end);
    at = end;
    return piece;
  });
}

/** The short name of an id on the page: the last characters of its text. */
export function shortId(id: Uint8Array | undefined): string {
  return id === undefined || id.length !== 16 ? "?" : `…${ulidText(id).slice(-6)}`;
}

/** A time as people read it. */
export function showTime(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", "");
}

function number(bytes: Uint8Array | undefined): number {
  return (bytes ?? new Uint8Array(0)).reduce((value, byte) => value * 256 + byte, 0);
}

function textOf(bytes: Uint8Array | undefined): string {
  const shifted = (bytes ?? new Uint8Array(0)).subarray(0, -1).map((byte) => byte - 1);
  return JSON.stringify(new TextDecoder().decode(shifted));
}

function listOf(value: Uint8Array): readonly unknown[] {
  return decode(value) as readonly unknown[];
}

function pointer(seq: unknown, part: unknown): string {
  return `entry ${seq} part ${part}`;
}

const LIVE_OR_REMOVED = ["", "live", "removed"] as const;
const INDEX_NAMES = [
  "",
  "type",
  "tag",
  "kind",
  "frame",
  "slot",
  "session",
  "pinned",
  "review",
] as const;

function memoryRow(value: Uint8Array): string {
  const [type, lifecycle, version, seq, part, since, , bodySeq, bodyPart, highest] = listOf(value);
  const state = `${nameOf(MEMORY_TYPES, type, "type")}, ${nameOf(LIFECYCLES, lifecycle, "lifecycle")}`;
  const isElsewhere = bodySeq !== undefined && bodySeq !== null;
  const body = isElsewhere ? `in ${pointer(bodySeq, bodyPart)}` : "there too";
  const given = highest === undefined ? "" : ` of ${highest} that were given`;
  const places = `Head in ${pointer(seq, part)}, Version ${body}`;
  const from = Array.isArray(since) ? `since entries ${since.join(", ")}` : `since entry ${seq}`;
  return `${state}, version ${version}${given}; ${places}; in its indexes ${from}`;
}

function termOf(index: number, term: Uint8Array | undefined): string {
  const shifted = (term ?? new Uint8Array(0)).subarray(0, -1).map((byte) => byte - 1);
  if (index === 1) return `type ${nameOf(MEMORY_TYPES, shifted[0], "type")}`;
  if (index !== 4) return `${INDEX_NAMES[index]} ${textOf(term)}`;
  const verb = nameOf(FRAME_VERBS, shifted[0], "verb");
  const object = nameOf(OBJECT_KINDS, shifted[1], "object kind");
  const ref = JSON.stringify(new TextDecoder().decode(shifted.subarray(2)));
  return `frame ${verb} ${object} ${ref}`;
}

function indexRow(parts: readonly Uint8Array[], closed: boolean): string {
  const [index, lifecycle, term, ...rest] = parts;
  const [from, id] = rest.slice(-2);
  const what = termOf(number(index), term);
  const state = nameOf(LIFECYCLES, number(lifecycle), "lifecycle");
  const who = `memory ${shortId(id)}`;
  const span = closed
    ? `from entry ${number(from)} on, until entry ${number(rest[0])}`
    : `since entry ${number(from)}`;
  return `${state} ${who} under ${what}, ${span}`;
}

function adjacencyRow(side: "out" | "in", parts: readonly Uint8Array[], value: Uint8Array): string {
  const [near, state, ...rest] = parts;
  const [code, other, n] = rest.slice(-3);
  const [seq, part, id] = listOf(value);
  const closed = rest.length === 4 ? `, until entry ${number(rest[0])}` : "";
  const ends =
    side === "out"
      ? `from ${shortId(near)} to ${shortId(other)}`
      : `to ${shortId(near)} from ${shortId(other)}`;
  const kind = `kind ${hexOf(code ?? new Uint8Array(0))}, n ${number(n)}`;
  const named = `edge ${shortId(id as Uint8Array)} in ${pointer(seq, part)}`;
  return `${LIVE_OR_REMOVED[number(state)]}${closed}, ${ends}, ${kind}; ${named}`;
}

function pageRow(parts: readonly Uint8Array[], value: Uint8Array): string {
  const [name = new Uint8Array(1)] = parts;
  const depth = 4 * (name.at(-1) ?? 0);
  return `the page at depth ${depth} of its keys, ${value.length} bytes; taken apart below`;
}

const NOTES: Readonly<Record<PrefixName, RowNotes>> = {
  head: { parts: [], say: () => "taken apart below" },
  journal: {
    parts: [8],
    pick: (key) => number(key.subarray(1)) === WRITE_SEQ,
    say: ([seq]) => `entry ${number(seq)}; taken apart above`,
  },
  logTile: {
    parts: [1, 8],
    pick: (key) => key[1] === 1,
    say: ([level, index], value) =>
      `tile ${number(index)} of level ${number(level)}: ${value.length / 32} hash`,
  },
  time: {
    parts: [8, 8],
    pick: (key) => number(key.subarray(9)) > 0,
    say: ([at, seq]) => `entry ${number(seq)} was written at ${showTime(number(at))}`,
  },
  memory: {
    parts: [16],
    say: ([id], value) => `memory ${shortId(id)} is a ${memoryRow(value)}`,
  },
  history: {
    parts: [16, 8],
    say: ([id, seq], value) =>
      `from entry ${number(seq)} on memory ${shortId(id)} was a ${memoryRow(value)}`,
  },
  version: {
    parts: [16, 4],
    say: ([id, version], value) => {
      const [seq, part] = listOf(value);
      return `version ${number(version)} of memory ${shortId(id)} lies in ${pointer(seq, part)}`;
    },
  },
  externalId: {
    parts: ["text"],
    say: ([text], value) => `${textOf(text)} names memory ${shortId(value)}`,
  },
  fingerprint: {
    parts: [10],
    say: (_, value) => {
      const ids = Array.from({ length: value.length / 16 }, (_, at) =>
        shortId(value.subarray(16 * at, 16 * at + 16)),
      );
      return `the active memories that say what hashes to this: ${ids.join(", ")}`;
    },
  },
  counter: {
    parts: [16],
    say: ([id], value) => {
      const [reinforced, accessed, cited, usedAt] = listOf(value);
      const counts = `reinforced ${reinforced}, accessed ${accessed}, cited ${cited}`;
      return `memory ${shortId(id)}: ${counts}, last used at ${showTime(Number(usedAt))}`;
    },
  },
  goalState: {
    parts: [16],
    say: ([id], value) => {
      const [seq, part] = listOf(value);
      return `the state of goal ${shortId(id)} lies in ${pointer(seq, part)}`;
    },
  },
  attachment: {
    parts: [16, 8, 2],
    say: ([id, seq, part]) =>
      `memory ${shortId(id)} owns ${pointer(number(seq), number(part))}, which is not its state`,
  },
  index: {
    parts: [1, 1, "text", 8, 16],
    pick: (key) => key[1] === 5,
    say: (parts) => indexRow(parts, false),
  },
  indexClosed: {
    parts: [1, 1, "text", 8, 8, 16],
    pick: (key) => key[1] === 5,
    say: (parts) => indexRow(parts, true),
  },
  indexBegun: {
    parts: [1, 1, "text", 8, 16, 8],
    pick: (key) => key[1] === 5,
    // The same pieces as a closed row, its end standing last.
    say: ([index, lifecycle, term, from, id, to]) =>
      indexRow([index, lifecycle, term, to, from, id] as readonly Uint8Array[], true),
  },
  edge: {
    parts: [16],
    say: ([id], value) => {
      const [state, seq, part, from, code, far, n] = listOf(value);
      const place = `from ${shortId(from as Uint8Array)} to ${shortId(far as Uint8Array)}`;
      return (
        `edge ${shortId(id)} is ${LIVE_OR_REMOVED[Number(state)]}, ${place}, ` +
        `kind code ${code}, n ${n}; its record lies in ${pointer(seq, part)}`
      );
    },
  },
  edgeOut: { parts: [16, 1, 2, 16, 4], say: (parts, value) => adjacencyRow("out", parts, value) },
  edgeIn: { parts: [16, 1, 2, 16, 4], say: (parts, value) => adjacencyRow("in", parts, value) },
  edgeOutClosed: {
    parts: [16, 1, 8, 2, 16, 4],
    say: (parts, value) => adjacencyRow("out", parts, value),
  },
  edgeInClosed: {
    parts: [16, 1, 8, 2, 16, 4],
    say: (parts, value) => adjacencyRow("in", parts, value),
  },
  edgeKind: {
    parts: ["text"],
    say: ([name], value) => `the open kind ${textOf(name)} has code ${hexOf(value)}`,
  },
  contested: {
    parts: [16],
    say: ([id]) => `edge ${shortId(id)} is a contradiction that nobody has settled`,
  },
  proposal: {
    parts: [16, 16],
    say: ([id], value) => {
      const [seq, part] = listOf(value);
      return `somebody wishes to change memory ${shortId(id)}: ${pointer(seq, part)}`;
    },
  },
  revokedScope: {
    parts: [32],
    say: (_, value) => {
      const [seq, part] = listOf(value);
      return `the scope that hashes to this was taken back by ${pointer(seq, part)}`;
    },
  },
  postedScope: {
    parts: [32],
    say: () => "the scope that hashes to this, without its proof",
  },
  memoryPage: { parts: ["rest"], say: pageRow },
  edgePage: { parts: ["rest"], say: pageRow },
  idempotency: {
    parts: [16],
    say: (_, value) => `the request under this key was written as entry ${listOf(value)[0]}`,
  },
  contextRecord: {
    parts: [16],
    say: (_, value) => {
      const [seq, part] = listOf(value);
      return `the record of the task and step that hash to this lies in ${pointer(seq, part)}`;
    },
  },
  config: {
    parts: [],
    say: (_, value) => {
      const [seq, part] = listOf(value);
      return `the configuration lies in ${pointer(seq, part)}`;
    },
  },
  weights: {
    parts: [],
    say: (_, value) => {
      const [seq, part] = listOf(value);
      return `the weights of salience lie in ${pointer(seq, part)}`;
    },
  },
  weightsFormer: {
    parts: [8],
    say: ([from], value) => {
      const [seq, part] = listOf(value);
      return `from entry ${number(from)} on the weights lay in ${pointer(seq, part)}`;
    },
  },
  snapshot: { parts: [8, 8], say: ([n]) => `manifest ${number(n)}; taken apart below` },
  replica: { parts: [], say: (_, value) => `the store follows ${listOf(value)[0]}` },
  cursor: {
    parts: ["text"],
    pick: isEmbedCursorKey,
    say: (_, value) => {
      const { model, seq, memories } = decodeEmbedCursor(value);
      return `${memories} memories have a vector of ${model}; entries from ${seq} on are to come`;
    },
  },
  textManifest: {
    parts: [],
    say: (_, value) => {
      const { analyser, cursor, segments } = decodeManifest(value);
      const numbers = segments.map((one) => one.number).join(", ");
      return `words of analyser ${analyser}; segments ${numbers} know the entries before ${cursor}`;
    },
  },
  textWords: {
    parts: [4, 4],
    say: ([segment, bucket], value) => {
      const words = bucketWords(value).flatMap(({ word }) => (/^[a-z]/.test(word) ? [word] : []));
      const shown = words.slice(0, 3).join(", ");
      return `bucket ${number(bucket)} of segment ${number(segment)}: ${shown}, …`;
    },
  },
  textLengths: {
    parts: [4, 4],
    say: ([segment], value) => {
      const lengths = readLengths([value], value.length / 2);
      return `the documents of segment ${number(segment)} have ${[...lengths].join(", ")} words`;
    },
  },
  textDocuments: {
    parts: [4, 4],
    say: ([segment], value) => {
      const shown = documentsIn(value).map((one) =>
        one === undefined ? "one taken out" : `${shortId(one.id)} since entry ${one.begin}`,
      );
      return `the documents of segment ${number(segment)}: ${shown.join("; ")}`;
    },
  },
  textEnds: {
    parts: [4, 4],
    say: ([segment, flush], value) => {
      const shown = decodeEnds(value).map((one) => `${one.document} by entry ${one.end}`);
      const where = `of segment ${number(segment)}, as flush ${number(flush)} found`;
      return `documents ended ${where}: ${shown.join(", ")}`;
    },
  },
  textFences: {
    parts: [4],
    say: ([segment], value) =>
      `chunk 0 of segment ${number(segment)} begins with entry ${readFences(value)[0]}`,
  },
  vector: {
    parts: [8, 16],
    say: (_, value) => `a vector of ${value.length / 4} numbers, for the text of this hash`,
  },
  vectorMemory: {
    parts: [8, 16],
    say: ([, id], value) =>
      `memory ${shortId(id)} has the vector of the text that entry ${listOf(value)[1]} brought`,
  },
  vectorOwner: {
    parts: [8, 16, 16],
    say: ([, , id]) => `memory ${shortId(id)} needs the vector of this text`,
  },
  lease: {
    parts: ["text"],
    say: ([job], value) => {
      const [owner, expiresAt] = listOf(value);
      const until = showTime(Number(expiresAt));
      return `job ${textOf(job)} is ${hexOf(owner as Uint8Array)}'s until ${until}`;
    },
  },
};
