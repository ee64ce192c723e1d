/**
 * The tables of docs/data-format.md that follow from tables of the sources: prefixes, hash domains,
 * entry kinds, subjects, vocabularies, edge kinds, fields of data.
 *
 * Promise: exhaustive. A new domain, kind or subject does not compile without its line here. The
 * sentences are this file's own; names and numbers come from the sources.
 */
import { DOMAINS, type Domain } from "../../packages/core/src/codec/hash.js";
import { ENTRY_KINDS, type EntryKind, SUBJECT } from "../../packages/core/src/journal/entry.js";
import { INDEX, KEYSPACE } from "../../packages/core/src/kv/keyspace.js";
import { DATA_SCHEMAS, turnData } from "../../packages/core/src/records/data.js";
import { EDGE_KINDS } from "../../packages/core/src/records/edge-kinds.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  MEMORY_TYPES,
  OBJECT_KINDS,
  SOURCES,
  STATUSES,
  VISIBILITIES,
  type WordTable,
} from "../../packages/core/src/records/types.js";

/** One byte in hex. */
const byteOf = (value: number): string => value.toString(16).padStart(2, "0");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** What each domain hashes, in this order, and what the hash is for. */
const DOMAIN_NOTES: Readonly<Record<Domain, readonly [input: string, use: string]>> = {
  part: ["salt 16 ‖ record", "a part in its header; for state parts also the value of the leaf"],
  memoryKey: ["memory id 16", "bytes 16..31 of a key in the tree of memories, first 16 bytes"],
  edgeKey: [
    "CBOR [from id, kind name, far end, n]",
    "bytes 16..31 of a key in the tree of edges, first 16 bytes",
  ],
  stateLeaf: ["key 32 ‖ value 32", "a leaf of a state tree"],
  stateNode: ["position 2 ‖ left 32 ‖ right 32", "an inner node of a state tree"],
  stateEmpty: ["nothing", "the root of a state tree without keys"],
  overall: ["see [the overall root](#the-overall-root)", "the one root over everything"],
  fingerprint: [
    "CBOR [type name, source name, slot or null, claim]",
    "marks text that says the same, first 10 bytes",
  ],
  idempotencyKey: [
    "the caller's key, UTF-8; CBOR [by, key] where another principal than the store's gave it",
    "header field 6, bytes 0..15, first 16 bytes",
  ],
  idempotencyRequest: [
    "CBOR [key, operation, request as JSON says it]",
    "header field 6, bytes 16..31, first 16 bytes",
  ],
  farEnd: ["CBOR [graph, name]", "stands for a symlink's far end in keys, first 16 bytes"],
  actorName: ["an external id, UTF-8", "the name of its graph, first 16 bytes"],
  lineage: [
    "an external id, UTF-8; a tenant's prefix and 00 before it for a claim",
    "stands for the external id in the hub's catalogue, first 16 bytes",
  ],
  vectorModel: ["CBOR [model, dimensions]", "stands for a model in keys of vectors, first 8 bytes"],
  vectorText: ["the embedded text", "stands for the text in keys of vectors, first 16 bytes"],
  query: ["salt 16, the question as text", "stands for what was asked in parts about use"],
  scope: ["the scope's bytes, signature included", "what a scope is known by"],
  contextRecord: ["CBOR [task, step]", "names a context record, first 16 bytes"],
};

/** The hash domains. */
export function domainTable(): string {
  const rows = Object.entries(DOMAINS).map(([name, text]) => {
    const [input, use] = DOMAIN_NOTES[name as Domain];
    return [`\`${text}\``, input, use];
  });
  return table(["text in front", "then", "what the hash is"], rows);
}

/** The parts of each kind of entry. */
const KIND_NOTES: Readonly<Record<EntryKind, string>> = {
  genesis: "entry 0: `00` with the genesis record",
  config: "`06` with the whole configuration",
  write: "`01` the new memory; `01` each memory it replaces, archived; `02` each edge minted",
  update: "`01` Head with a new Version",
  update_head: "`01` Head alone",
  reinforce: '`03` with ["reinforce", version number]',
  tombstone: "`01` Head alone, lifecycle 3",
  restore: "`01` Head alone, lifecycle 1",
  forget: '`01` the erased record; `02` null for each edge; `00` with ["forget", reason]',
  add_edge: "`02` the edge, live",
  remove_edge: "`02` the edge, with a tombstone",
  register_edge_kind: "`04` with [name]",
  goal_state: "`05` with the state, or null to take it away",
  revert:
    "`01` and `02`: the parts that were there before the entry it undoes, carried again; " +
    "what the entry created, with a tombstone",
  find_late: '`03` for each memory found, with ["find_late", salt 16 ‖ hash of the query]',
  attest: "`03` for each memory cited, with what it adds to the counters",
  learn_weights: "`00` with the weights it left; follows `attest` in one batch",
  context: "`00` with a context record",
  recall_audit: '`03` for each memory shown, with ["recall_audit", salt 16 ‖ hash of the question]',
  settle:
    "`01` each memory changed; `02` the edge it is about, and each edge minted; " +
    '`03` with ["settle", decision, reason] for a memory alone, where no edge holds the reason, and with the mark of a proposal after it where one is closed',
  maintain:
    '`01` each memory changed; `02` each edge minted; `03` with ["maintain", step, reason] for each memory it is about, unless an edge holds the reason',
  scope_violation: "`00` with who held and who issued the scope, the memory reached for, and why",
  revoke_scope: "`00` with the scope's hash and a reason",
  propose:
    '`03` with ["propose", mark 16, verb, input as JSON, source]: a change that was refused for want of standing',
  migration: "`00` with the forms before and after an upgrade",
};

/** The kinds of entries. */
export function kindTable(): string {
  return table(
    ["kind", "parts, by subject tag"],
    ENTRY_KINDS.map((kind) => [`\`${kind}\``, KIND_NOTES[kind]]),
  );
}

const SUBJECT_NOTES: Readonly<
  Record<keyof typeof SUBJECT, readonly [rest: string, what: string, tree: string, owner: string]>
> = {
  store: ["nothing", "the store: genesis, reasons, weights, context records", "–", "nobody"],
  memory: ["id 16", "the state of a memory", "memories", "the memory"],
  edge: ["tree key 32", "the state of an edge", "edges", "both ends"],
  attachment: ["id 16", "something attached to a memory", "–", "the memory"],
  edgeKind: ["code 2", "the registration of an open edge kind", "–", "nobody"],
  goalState: ["id 16", "the runtime state of a goal", "–", "the goal"],
  config: ["nothing", "the configuration of the graph", "–", "nobody"],
};

/** The subject tags. */
export function subjectTable(): string {
  const rows = Object.entries(SUBJECT).map(([name, tag]) => {
    const [rest, what, tree, owner] = SUBJECT_NOTES[name as keyof typeof SUBJECT];
    return [`\`${byteOf(tag)}\``, rest, what, tree, owner];
  });
  return table(["tag", "then", "the part holds", "leaf in", "erased with"], rows);
}

/** Every prefix of the keyspace. */
export function keyspaceTable(): string {
  const rows = Object.values(KEYSPACE).map(({ byte, name, class: kind, key, value }) => [
    `\`${byteOf(byte)}\``,
    name,
    kind,
    key,
    value,
  ]);
  return table(["prefix", "rows", "class", "key after the prefix", "value"], rows);
}

const INDEX_NOTES: Readonly<
  Record<keyof typeof INDEX, readonly [term: string, member: string, rows: string]>
> = {
  type: ["the type's code, one byte", "from seq 8, id 16", "one"],
  tag: ["the tag, UTF-8", "from seq 8, id 16", "one per tag"],
  kind: ["the kind, UTF-8", "from seq 8, id 16", "one if it has a kind"],
  frame: ["verb code 1, object kind code 1, ref UTF-8", "from seq 8, id 16", "one per frame"],
  slot: ["the slot's normal name, UTF-8", "from seq 8, id 16", "one if it has a slot"],
  session: ["the session's name, UTF-8", "turn index 4, chunk 2, id 16", "one if it is a turn"],
  pinned: [
    "the type's code, one byte",
    "from seq 8, id 16",
    "one for an identity, a hard constraint, an active goal",
  ],
  waiting: ["1, one byte", "from seq 8, id 16", "one for a value that waits for its time"],
  review: [
    "1 open siblings, 2 disputed, 3 provisional, one byte",
    "from seq 8, id 16",
    "one for each that holds, of an active memory",
  ],
};

/** The indexes behind prefixes 18 and 19. */
export function indexTable(): string {
  const rows = Object.entries(INDEX).map(([name, byte]) => {
    const [term, member, count] = INDEX_NOTES[name as keyof typeof INDEX];
    return [`\`${byteOf(byte)}\``, name, term, member, count];
  });
  return table(["byte", "index", "term", "member", "rows of a memory"], rows);
}

/** The codes of closed vocabularies that records store. */
export function codeTable(): string {
  const list = (vocabulary: WordTable): string =>
    Object.entries(vocabulary)
      .map(([name, { code }]) => `${code} ${name}`)
      .join(", ");
  return table(
    ["vocabulary", "code and name"],
    [
      ["memory type", list(MEMORY_TYPES)],
      ["lifecycle", list(LIFECYCLES)],
      ["visibility", list(VISIBILITIES)],
      ["status", list(STATUSES)],
      ["source", list(SOURCES)],
      ["verb", list(FRAME_VERBS)],
      ["object kind", list(OBJECT_KINDS)],
    ],
  );
}

/** The members of each type's data. */
export function dataTable(): string {
  const names = (shape: object): string =>
    Object.keys(shape)
      .map((name) => `\`${name}\``)
      .join(", ");
  const rows = Object.entries(DATA_SCHEMAS).map(([type, { shape }]) => [type, names(shape)]);
  return table(["type", "members"], [...rows, ["note of kind `turn`", names(turnData.shape)]]);
}

/** The built-in edge kinds and their codes. */
export function edgeKindList(): string {
  return EDGE_KINDS.map(
    ({ code, name }) => `\`${code.toString(16).padStart(4, "0")}\` ${name}`,
  ).join(", ");
}
