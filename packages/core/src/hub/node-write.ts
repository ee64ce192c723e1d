/**
 * Writing nodes: the decision table for concurrent writes, as a step of a commit.
 *
 * A node of a new lineage is a new note. A node of a known lineage is its next version, in one entry
 * with the head fields that came with it. What becomes of the versions that were current:
 *
 * | `basedOnVersion` | current versions | policy | superseded | outcome |
 * |---|---|---|---|---|
 * | absent | any | any | all | success; ends an open conflict |
 * | one of the current ones | some | any | all | success; settles an open conflict |
 * | given | none | any | none | version 1, the hint is ignored |
 * | given, none of the current ones | some | `lww` | all | success |
 * | given, none of the current ones | some | `manual` | none | written as a rival, and a conflict |
 *
 * `update` of a Cortex is stricter under `lww`: it refuses what this table lets win.
 */

import { checkKindAllowed, configOf } from "../config/config.js";
import { memoryPart, nextVersion, refuseTombstoned } from "../engine/drafts.js";
import {
  checkOptions,
  type Engine,
  type Located,
  locate,
  type ParsedRef,
  parseRef,
  refKeys,
} from "../engine/engine.js";
import { askRecords } from "../engine/read-ahead.js";
import { CortexError, invalid } from "../errors.js";
import type { Operation, WriteTx } from "../history/writer.js";
import type { Bytes } from "../kv/kv.js";
import { memoryNeeds } from "../memory/update.js";
import { applyWrite, writeNeeds } from "../memory/write.js";
import { type PreparedWrite, prepareVersion, prepareWrite } from "../memory/write-input.js";
import { checkExternalId, checkKind } from "../records/frames.js";
import type { Head, Version } from "../records/memory-record.js";
import { CONFLICT_TEXT } from "./memgraph-text.js";
import { type GraphNode, openVersions, shapeNode } from "./node.js";

/** What a node is to be. */
export interface NodeInput {
  readonly kind: string;
  readonly content?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly metadata?: { readonly [key: string]: unknown };
  /** When the content should be looked at again, in milliseconds. */
  readonly freshnessAt?: number;
  readonly createdBy?: string;
  /** Any text; a lineage that is not there yet is made under it. */
  readonly lineageId?: string;
  /** The version the writer read. */
  readonly basedOnVersion?: number;
}

/** What writing a node did. */
export interface NodeResult {
  readonly node: GraphNode;
  /** True when the lineage is new. */
  readonly created: boolean;
  /** Present when policy `manual` kept the node as a rival of others; it was written all the same. */
  readonly conflict?: CortexError;
  readonly seq: number;
}

/** A node to be, checked. */
export interface PreparedNode {
  readonly ref: ParsedRef | undefined;
  /** The note it is, if the lineage is new. */
  readonly birth: PreparedWrite;
  readonly basedOnVersion: number | undefined;
}

const NODE_FIELDS = [
  "kind",
  "content",
  "summary",
  "tags",
  "metadata",
  "freshnessAt",
  "createdBy",
  "lineageId",
  "basedOnVersion",
];

/** Checks what a caller says about a node. */
export function prepareNode(engine: Engine, input: NodeInput): PreparedNode {
  checkOptions(input, NODE_FIELDS, "node");
  const { lineageId, basedOnVersion, freshnessAt, createdBy, tags, summary, metadata } = input;
  if (basedOnVersion !== undefined && !Number.isSafeInteger(basedOnVersion)) {
    throw invalid("basedOnVersion", "a version number", basedOnVersion);
  }
  return {
    ref: lineageId === undefined ? undefined : parseRef(engine, lineageId, "lineageId"),
    basedOnVersion,
    birth: prepareWrite(engine, {
      type: "note",
      kind: checkKind(input.kind),
      data: {
        content: input.content ?? "",
        ...(summary === undefined || summary === "" ? {} : { summary }),
        ...(metadata === undefined ? {} : { metadata }),
      },
      ...(tags === undefined ? {} : { tags }),
      ...(freshnessAt === undefined ? {} : { freshnessAt }),
      // Who wrote it is a note of provenance; an empty one is as good as none.
      ...(createdBy === undefined || createdBy === "" ? {} : { by: createdBy }),
      ...(lineageId === undefined ? {} : { externalId: checkExternalId(lineageId, "lineageId") }),
    }),
  };
}

/** What writing a node will surely read. */
export function nodeNeeds(
  engine: Engine,
  { ref, birth }: PreparedNode,
): Required<Pick<Operation<unknown>, "hints" | "leaves" | "bytes">> {
  const needs = writeNeeds(engine, birth);
  if (ref === undefined) return needs;
  return {
    hints: [...needs.hints, ...refKeys(ref)],
    leaves: () => [...needs.leaves(), ...memoryNeeds(engine, ref).leaves()],
    bytes: needs.bytes,
  };
}

/** Writes a node inside a commit. */
export function applyNode(engine: Engine, tx: WriteTx, node: PreparedNode): NodeResult {
  checkKindAllowed(tx, node.birth.head.kind);
  const found = node.ref === undefined ? undefined : locate(tx, node.ref);
  if (found === undefined) return bear(engine, tx, node);
  const text = node.ref?.text ?? "";
  if (found.row.lifecycle === "erased") {
    throw new CortexError("ERR_ERASED", `lineageId: lineage ${text} was forgotten`, {
      field: "lineageId",
      subject: text,
    });
  }
  refuseTombstoned(found, "lineageId", text);
  return append(engine, tx, node, found);
}

function bear(engine: Engine, tx: WriteTx, node: PreparedNode): NodeResult {
  const { seq } = applyWrite(engine, tx, node.birth);
  const record = tx.fold.records.memory({ seq, part: 0 });
  return { node: nodeOf(engine, node.birth.id, record), created: true, seq };
}

function append(engine: Engine, tx: WriteTx, node: PreparedNode, found: Located): NodeResult {
  askRecords(tx, [found]);
  const before = tx.fold.records.head(found.row);
  if (before.type !== "note" || before.turn !== undefined) {
    const got = before.turn === undefined ? before.type : "a turn";
    throw invalid("lineageId", "a lineage of notes", got);
  }
  const { expiresAt } = tx.fold.records.version(found.row);
  const isRival = isRivalWrite(tx, before, node.basedOnVersion);
  const lasting = expiresAt === undefined ? {} : { expiresAt };
  const { by, data } = node.birth;
  const body = prepareVersion("note", data, lasting, before.source);
  const version = nextVersion(tx, by, { head: before, row: found.row }, { ...body, data });
  const { kind, tags, freshnessAt } = node.birth.head;
  const head: Head = {
    ...before,
    version: version.number,
    siblings: isRival ? [...before.siblings, before.version] : [],
    kind,
    tags,
    freshnessAt,
  };
  const written = { head, version: isRival ? { ...version, supersedes: [] } : version };
  const seq = tx.append({
    kind: "update",
    by,
    parts: [memoryPart(tx, by, found.id, written)],
  });
  return {
    node: nodeOf(engine, found.id, written),
    created: false,
    seq,
    ...(isRival ? { conflict: conflictOf(openVersions(before)) } : {}),
  };
}

function isRivalWrite(tx: WriteTx, head: Head, basedOnVersion: number | undefined): boolean {
  if (basedOnVersion === undefined || openVersions(head).includes(basedOnVersion)) return false;
  return configOf(tx).conflictPolicy === "manual";
}

function conflictOf(others: readonly number[]): CortexError {
  return new CortexError("ERR_CONFLICT", CONFLICT_TEXT, {
    field: "basedOnVersion",
    expected: `one of ${others.join(", ")}`,
  });
}

function nodeOf(
  engine: Engine,
  id: Bytes,
  record: { readonly head: Head; readonly version?: Version | undefined },
): GraphNode {
  const { head, version } = record;
  if (version === undefined) throw new Error("a node was written without a version");
  const now = engine.clock();
  return shapeNode({ graph: engine.actor, id, head, written: { head, version }, now });
}
