/**
 * docs/data-format.md against the sources, and against itself.
 *
 * The first half fails when the page is stale or leaves something out; CORTEX_WRITE_DOCS=1 rewrites
 * its generated parts. The second half takes the page's own bytes and derives the hashes again with
 * nothing but SHA-256 and a CBOR reader of forty lines, so that the page is enough to verify. No
 * code of the engine is used there.
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { decode, isFields } from "../packages/core/src/codec/cbor.js";
import { DOMAINS } from "../packages/core/src/codec/hash.js";
import { ENTRY_KINDS, SUBJECT } from "../packages/core/src/journal/entry.js";
import { INDEX, KEYSPACE } from "../packages/core/src/kv/keyspace.js";
import { LIMITS } from "../packages/core/src/limits.js";
import { type EdgeRecord, encodeEdgeRecord } from "../packages/core/src/records/edge-record.js";
import {
  encodeMemoryRecord,
  type MemoryRecord,
} from "../packages/core/src/records/memory-record.js";
import { TEXT_COLUMN } from "./data-format/annotate.js";
import { WRITE_SEQ } from "./data-format/example-store.js";
import { blockOf, fillPage, PAGE_URL, renderBlocks } from "./make-data-format.js";

let page = "";

beforeAll(() => {
  page = readFileSync(PAGE_URL, "utf8");
});

/** The generated block of a name, without its fence. */
function block(name: string): string {
  return blockOf(page, name).replace(/^```text\n([\s\S]*)\n```$/, "$1");
}

const hex = (value: Uint8Array): string => Buffer.from(value).toString("hex");
const byte = (value: number): string => value.toString(16).padStart(2, "0");

describe("the page and the sources", () => {
  test("the generated parts are fresh; CORTEX_WRITE_DOCS=1 rewrites them", async () => {
    const fresh = fillPage(page, await renderBlocks());
    if (process.env.CORTEX_WRITE_DOCS === "1") {
      writeFileSync(PAGE_URL, fresh);
      page = fresh;
    }
    expect(page).toBe(fresh);
  });

  test("a block without a marker, and a marker without a block, are refused", () => {
    const blocks = new Map([["one", "text"]]);
    expect(fillPage("<!-- generated: one -->\nold\n<!-- end -->", blocks)).toContain("\ntext\n");
    expect(() => fillPage("no markers", blocks)).toThrow("no marker for one");
    expect(() => fillPage("<!-- generated: two -->\n<!-- end -->", blocks)).toThrow("two");
  });

  test("every prefix has its line and its example row", () => {
    const table = block("keyspace");
    const rows = block("rows");
    for (const prefix of Object.values(KEYSPACE)) {
      expect(table).toContain(`| \`${byte(prefix.byte)}\` | ${prefix.name} | ${prefix.class} |`);
      expect(rows).toMatch(new RegExp(`^${byte(prefix.byte)} {2}${prefix.name}$`, "m"));
    }
    const missing = [...rows.matchAll(/^([0-9a-f]{2}) {2}.*\n {4}no row/gm)].map(([, one]) => one);
    // Leases are held while background jobs run, and the example follows nobody.
    expect(missing).toEqual([byte(KEYSPACE.replica.byte), byte(KEYSPACE.lease.byte)]);
  });

  test("every domain, entry kind, subject tag and index has its line", () => {
    for (const text of Object.values(DOMAINS)) {
      expect(block("domains")).toContain(`| \`${text}\` |`);
    }
    for (const kind of ENTRY_KINDS) expect(block("kinds")).toContain(`| \`${kind}\` |`);
    for (const tag of Object.values(SUBJECT)) {
      expect(block("subjects")).toContain(`| \`${byte(tag)}\` |`);
    }
    for (const [name, index] of Object.entries(INDEX)) {
      expect(block("indexes")).toContain(`| \`${byte(index)}\` | ${name} |`);
    }
  });

  test("every field that a record can have stands in its table, and no other", () => {
    const memory = fieldsOf(encodeMemoryRecord(FULL_MEMORY, CONTEXT));
    expect(numbersUnder("Head")).toEqual(fieldNumbers(memory[1]));
    expect(numbersUnder("Version")).toEqual(fieldNumbers(memory[2]));
    expect(numbersUnder("Memory record")).toEqual([1, 2, 3]);
    expect(numbersUnder("Edge record")).toEqual(
      fieldNumbers(decode(encodeEdgeRecord(FULL_EDGE, CONTEXT))),
    );
  });
});

const CONTEXT = { at: 1, by: "ada" };
const ID = new Uint8Array(16).fill(7);

/** A record with every field away from its default. */
const FULL_MEMORY: MemoryRecord = {
  head: {
    type: "note",
    version: 3,
    lifecycle: "tombstoned",
    visibility: "public",
    importance: 1,
    tags: ["a"],
    frames: [{ verb: "find", object: "asset", ref: "x" }],
    status: "disputed",
    source: "agent",
    createdAt: 9,
    siblings: [2],
    slot: "s",
    kind: "k",
    externalId: "e",
    freshnessAt: 5,
    tombstone: { reason: "r", at: 5, by: "b" },
    waits: true,
    turn: { session: "s", index: 1, chunk: 0 },
    fingerprint: new Uint8Array(10),
  },
  version: {
    number: 3,
    data: { content: "c".repeat(LIMITS.contentBytes + 1) },
    forms: { short: "s", medium: "m" },
    formsOverride: true,
    flags: ["hidden"],
    confidence: 0.5,
    provenance: {
      source: "document",
      derivedFrom: ["d"],
      attestations: ["a"],
      session: "s",
      turn: 1,
    },
    createdAt: 8,
    createdBy: "eve",
    supersedes: [1],
    validFrom: 1,
    validTo: 2,
    expiresAt: 3,
    origin: { id: "i", graph: "g" },
  },
};

const FULL_EDGE: EdgeRecord = {
  id: ID,
  from: ID,
  kind: "k",
  to: ID,
  n: 1,
  source: "agent",
  createdAt: 9,
  createdBy: "eve",
  weight: 0.5,
  reason: "r",
  strength: 3,
  ordinal: 1,
  metadata: { a: 1 },
  validFrom: 1,
  validTo: 2,
  tombstone: { reason: "r", at: 5, by: "b" },
  asksReview: true,
  origin: { id: "i", graph: "g", toGraph: "h" },
};

function fieldsOf(bytes: Uint8Array): readonly unknown[] {
  const value = decode(bytes);
  if (!isFields(value)) throw new Error("a record is a map with integer keys");
  return value.at;
}

function fieldNumbers(value: unknown): number[] {
  if (!isFields(value)) throw new Error("expected a map with integer keys");
  return value.at.flatMap((member, at) => (member === undefined ? [] : [at]));
}

/** The numbers in the first column of the table below a heading. */
function numbersUnder(heading: string): number[] {
  const start = page.indexOf(`### ${heading}\n`);
  if (start < 0) throw new Error(`the page has no heading "${heading}"`);
  const section = page.slice(start + 4).split(/^#/m)[0] ?? "";
  return [...section.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number));
}

// From here on nothing of the engine: the page's bytes, SHA-256, and what the page says.

function sha256(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(typeof part === "string" ? Buffer.from(part) : part);
  return hash.digest("hex");
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, "hex");

/** Reads one CBOR value; maps come back as Maps. */
function readCbor(bytes: Uint8Array): unknown {
  let at = 0;
  const take = (count: number): Uint8Array => {
    at += count;
    if (at > bytes.length) throw new Error("the value ends early");
    return bytes.subarray(at - count, at);
  };
  const value = (): unknown => {
    const initial = take(1)[0] ?? 0;
    const info = initial & 31;
    const number =
      info < 24 ? info : take(2 ** (info - 24)).reduce((sum, one) => sum * 256 + one, 0);
    const list = (count: number): unknown[] => Array.from({ length: count }, value);
    switch (initial >> 5) {
      case 0:
        return number;
      case 2:
        return take(number);
      case 3:
        return Buffer.from(take(number)).toString("utf8");
      case 4:
        return list(number);
      case 5: {
        const flat = list(2 * number);
        return new Map(flat.flatMap((one, i) => (i % 2 === 0 ? [[one, flat[i + 1]]] : [])));
      }
      default:
        if (initial === 0xf6) return null;
        throw new Error(`byte ${initial} is not in the examples`);
    }
  };
  const result = value();
  if (at !== bytes.length) throw new Error("bytes follow the value");
  return result;
}

/** Lines such as " 3  a500…" with what goes on below them, as hex by number. */
function headersOnPage(): Uint8Array[] {
  const joined = block("headers").replaceAll(/\n {4}/g, "");
  return joined.split("\n").map((line, seq) => {
    const [number, text = ""] = line.trim().split(/ +/);
    expect(Number(number)).toBe(seq);
    return bytesOf(text);
  });
}

/** The value of the example row under a prefix. */
function rowValue(prefix: string): Uint8Array {
  const rows = block("rows");
  const found = new RegExp(`^${prefix} {2}.*\\n(?: {4}key.*\\n) {4}value {2}([0-9a-f\\s]+)`, "m");
  const text = found.exec(rows)?.[1]?.replaceAll(/\s/g, "");
  if (text === undefined) throw new Error(`no example row under ${prefix}`);
  return bytesOf(text);
}

/** The value behind a name in a block of lines "name  hex". */
function named(blockName: string, name: string): string {
  const found = new RegExp(`^${name} +([0-9a-f]{64})$`, "m").exec(block(blockName))?.[1];
  if (found === undefined) throw new Error(`the page gives no ${name}`);
  return found;
}

/** RFC 9162's definition, as plainly as it stands there. */
function treeHash(leaves: readonly string[]): string {
  if (leaves.length === 1) return leaves[0] ?? "";
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const left = bytesOf(treeHash(leaves.slice(0, split)));
  return sha256(Uint8Array.of(1), left, bytesOf(treeHash(leaves.slice(split))));
}

const bitOf = (key: string, bit: number): number =>
  ((bytesOf(key)[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1;

/** The root of a state tree: parts the keys at the first bit in which they differ. */
function stateRoot(leaves: ReadonlyMap<string, string>): string {
  const keys = [...leaves.keys()].sort();
  const [first = "", last = ""] = [keys[0], keys.at(-1)];
  if (keys.length === 0) return sha256("cortex.state.empty.v1");
  if (keys.length === 1) return leafHash(first, leaves.get(first) ?? "");
  let bit = 0;
  while (bitOf(first, bit) === bitOf(last, bit)) bit += 1;
  const side = (wanted: number): Uint8Array => {
    const half = [...leaves].filter(([key]) => bitOf(key, bit) === wanted);
    return bytesOf(stateRoot(new Map(half)));
  };
  return sha256("cortex.state.node.v1", Uint8Array.of(0, bit), side(0), side(1));
}

function leafHash(key: string, value: string): string {
  return sha256("cortex.state.leaf.v1", bytesOf(key), bytesOf(value));
}

type Parts = readonly (readonly [Uint8Array, Uint8Array | null])[];

/** The leaves that the headers leave in the two trees: the last part hash of each subject. */
function leavesOf(headers: readonly Uint8Array[]): {
  readonly memories: ReadonlyMap<string, string>;
  readonly edges: ReadonlyMap<string, string>;
} {
  const trees = { memories: new Map<string, string>(), edges: new Map<string, string>() };
  for (const header of headers) {
    const parts = (readCbor(header) as ReadonlyMap<number, unknown>).get(4) as Parts;
    for (const [subject, hash] of parts) {
      const rest = hex(subject.subarray(1));
      if (subject[0] !== 1 && subject[0] !== 2) continue;
      const [tree, key] =
        subject[0] === 1
          ? [trees.memories, rest + sha256("cortex.key.memory.v1", bytesOf(rest)).slice(0, 32)]
          : [trees.edges, rest];
      if (hash === null) tree.delete(key);
      else tree.set(key, hex(hash));
    }
  }
  return trees;
}

describe("the page by hand", () => {
  test("the annotated entry is the row, byte for byte", () => {
    const lines = block("entry").split("\n");
    const column = lines.map((line) => line.slice(0, TEXT_COLUMN).replaceAll(/\s/g, ""));
    expect(column.join("")).toBe(hex(rowValue("01")));
  });

  test("a part hashes to what its header says", () => {
    const [headerBytes, parts] = readCbor(rowValue("01")) as [Uint8Array, Uint8Array[]];
    const [part = new Uint8Array(0)] = parts;
    const hash = sha256("cortex.part.v1", part);
    const header = readCbor(headerBytes) as ReadonlyMap<number, unknown>;
    const [[, inHeader] = []] = header.get(4) as Parts;
    expect(hash).toBe(hex(inHeader ?? new Uint8Array(0)));
    expect(hash).toBe(named("entry-hashes", "part hash"));
    expect(header.get(0)).toBe(WRITE_SEQ);
  });

  test("a header hashes to its leaf in the tile, and the tiles to the journal root", () => {
    const leaves = headersOnPage().map((header) => sha256(Uint8Array.of(0), header));
    expect(leaves[WRITE_SEQ]).toBe(named("entry-hashes", "log leaf"));
    const tiles = block("tiles")
      .split(/^(?=02)/m)
      .map((tile) => tile.trim().split(/\s+/));
    expect(tiles.map(([key]) => key)).toEqual([
      "02000000000000000000",
      "02000000000000000001",
      "02010000000000000000",
    ]);
    expect([...(tiles[0] ?? []).slice(1), ...(tiles[1] ?? []).slice(1)]).toEqual(leaves);
    expect(tiles[2]?.[1]).toBe(treeHash(leaves.slice(0, 16)));
    expect(treeHash(leaves)).toBe(named("roots", "journal"));
  });

  test("the leaves of the pages follow from the headers", () => {
    const { memories } = leavesOf(headersOnPage());
    const pages = block("page");
    const hashes = [...memories].map(([key, value]) => leafHash(key, value));
    expect(hashes.length).toBeGreaterThan(5);
    for (const hash of hashes) expect(pages).toContain(`\n    ${hash}`);
    expect(pages.match(/: leaf$/gm)).toHaveLength(hashes.length);
  });

  test("both tree roots and the overall root follow from the headers", () => {
    const headers = headersOnPage();
    const { memories, edges } = leavesOf(headers);
    expect(stateRoot(new Map())).toBe(named("roots", "empty tree"));
    expect(stateRoot(memories)).toBe(named("roots", "memories"));
    expect(stateRoot(edges)).toBe(named("roots", "edges"));
    const leaves = headers.map((header) => sha256(Uint8Array.of(0), header));
    expect(leaves[0]).toBe(named("roots", "genesis"));
    const overall = sha256(
      "cortex.overall.v1",
      Uint8Array.of(1),
      bytesOf(leaves[0] ?? ""),
      bytesOf(treeHash(leaves)),
      Uint8Array.of(0, 2),
      Uint8Array.of(5),
      "edges",
      bytesOf(stateRoot(edges)),
      Uint8Array.of(8),
      "memories",
      bytesOf(stateRoot(memories)),
    );
    expect(overall).toBe(named("roots", "overall"));
    const checkpoint = block("checkpoint").split("\n");
    expect(checkpoint[1]).toBe(String(headers.length));
    expect(checkpoint[6]).toBe(`overall ${Buffer.from(overall, "hex").toString("base64")}`);
  });

  test("erasing takes the part and leaves the header, whose hash still answers to it", () => {
    const [, before = "", after = ""] =
      /^before {2}([0-9a-f\s]+)\nafter {3}([0-9a-f\s]+)$/.exec(block("erased")) ?? [];
    const row = (text: string): readonly [Uint8Array, readonly (Uint8Array | null)[]] =>
      readCbor(bytesOf(text.replaceAll(/\s/g, ""))) as [Uint8Array, (Uint8Array | null)[]];
    const [headerBefore, [part]] = row(before);
    const [headerAfter, [nothing]] = row(after);
    expect(hex(headerAfter)).toBe(hex(headerBefore));
    expect(nothing).toBeNull();
    const [[, hash] = []] = (readCbor(headerAfter) as ReadonlyMap<number, unknown>).get(4) as Parts;
    expect(sha256("cortex.part.v1", part ?? "")).toBe(hex(hash ?? new Uint8Array(0)));
  });
});
