/**
 * Changing a memory: a new version, a change of its head alone, hiding and bringing back.
 *
 * `basedOnVersion` says which version the caller read. When the memory has moved on, policy `lww`
 * refuses with `ERR_CONFLICT`, and policy `manual` keeps both: the version is written as a rival, and
 * the result names the others until a later update, based on any of them, settles it.
 */

import { checkKindAllowed, configOf } from "../config/config.js";
import type { ImportedVersion } from "../contract/imported.js";
import type { Asked } from "../contract/index.js";
import {
  type HeadFields,
  type UpdateRequest,
  updateFields,
  type VersionFields,
} from "../contract/memory.js";
import type { Ref, WriteResult } from "../contract/shapes.js";
import {
  headPart,
  heldSince,
  memoryPart,
  nextVersion,
  refuseTombstoned,
} from "../engine/drafts.js";
import {
  type Engine,
  type Located,
  locateLiving,
  memoryId,
  ownSource,
  type ParsedRef,
  parseRef,
  refKeys,
} from "../engine/engine.js";
import {
  firstResult,
  idempotencyKeys,
  requestMark,
  rivals,
  writeResultOf,
  writtenAgain,
} from "../engine/idempotency.js";
import { askMoves, askRecords } from "../engine/read-ahead.js";
import { shapeParts } from "../engine/shapes.js";
import { CortexError, invalid } from "../errors.js";
import type { WriteOperation, WriteTx } from "../history/writer.js";
import { idKey } from "../kv/keyspace.js";
import type { KvRange } from "../kv/kv.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import { type Data, type DataOf, parseData, type TurnData, turnData } from "../records/data.js";
import { parseWith } from "../records/fields.js";
import { type Head, primaryText, type Version } from "../records/memory-record.js";
import { buildUri } from "../records/uri.js";
import { checkRevision, checkStatusChange } from "../trust/gate.js";
import {
  asWritten,
  fingerprintOf,
  gatherData,
  HEAD_FIELDS,
  originOf,
  prepareHead,
  prepareVersion,
} from "./write-input.js";

const UPDATE_FIELDS: ReadonlySet<string> = new Set(Object.keys(updateFields));

/** Appends a version to a memory. */
export async function update(
  engine: Engine,
  { id, access: _, ...input }: Asked<"update">,
): Promise<WriteResult> {
  const { value } = await engine.writer.submit(updateOperation(engine, id, input));
  return value;
}

/** The operation behind `update`. */
export function updateOperation(
  engine: Engine,
  ref: Ref,
  input: UpdateRequest,
): WriteOperation<WriteResult> {
  const parsed = parseRef(engine, ref, "id");
  const { by = engine.principal } = input;
  refuseNoChange(input);
  const { request } = requestMark(engine, input.idempotencyKey, {
    operation: "update",
    request: [ref, input],
    by: input.by,
  });
  return {
    ...memoryNeeds(engine, parsed),
    bytes: 1024 + roughBytes(input, 4),
    again: { tell: (tx, first) => writeResultOf(engine, tx, first) },
    hints: [...refKeys(parsed), ...(request === undefined ? [] : idempotencyKeys(request))],
    run: (tx) =>
      firstResult(engine, tx, request) ??
      applyUpdate(engine, tx, { parsed, input, by, ...(request === undefined ? {} : { request }) }),
  };
}

/** Refuses an update that says nothing of what the version is to hold. */
function refuseNoChange({
  basedOnVersion: _,
  by: __,
  idempotencyKey: ___,
  ...said
}: UpdateRequest): void {
  if (Object.values(said).some((value) => value !== undefined)) return;
  throw new CortexError("ERR_NO_CHANGE", "update: expected text, data or another version field");
}

/** About how much an input holds; it is not checked yet, so the walk is bounded. */
function roughBytes(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth === 0) return 8;
  return Object.values(value).reduce((sum, member) => sum + roughBytes(member, depth - 1), 8);
}

/** What any change of one memory will surely read. */
export function memoryNeeds(
  engine: Engine,
  parsed: ParsedRef,
): Required<Pick<WriteOperation<unknown>, "hints" | "leaves">> {
  return {
    hints: refKeys(parsed),
    leaves: () =>
      parsed.id === undefined
        ? []
        : [{ tree: "memories", key: memoryStateKey(engine.sha256, parsed.id) }],
  };
}

interface PreparedUpdate {
  readonly parsed: ParsedRef;
  readonly input: UpdateRequest;
  readonly by: string;
  readonly request?: Uint8Array;
}

/** Applies an update inside a commit. */
function applyUpdate(engine: Engine, tx: WriteTx, what: PreparedUpdate): WriteResult {
  const { parsed, input } = what;
  const found = locateLiving(tx, parsed, "id");
  refuseTombstoned(found, "id", parsed.text);
  askRecords(tx, [found]);
  const head = tx.fold.records.head(found.row);
  const data = nextData(engine, head, tx.fold.records.version(found.row), input);
  const rival = isRival(tx, head, input.basedOnVersion, parsed.text);
  return appendVersion(engine, tx, { ...what, found, head, data, rival });
}

/** A version to be appended to a memory that was found. */
interface NextVersion extends PreparedUpdate {
  readonly found: Located;
  /** The head before, with what else is to change of it. */
  readonly head: Head;
  readonly data: Data;
  /** Whether the version is kept beside the open ones rather than in their place. */
  readonly rival: boolean;
  /** True gives back the memory as it is then. */
  readonly wantsMemory?: boolean;
  /** A number that the version's own must be above. */
  readonly after?: number | undefined;
  /** Set for a version that another program wrote. */
  readonly imported?: ImportedVersion | undefined;
}

/** Appends a version inside a commit; the records of the memory are loaded. */
export function appendVersion(engine: Engine, tx: WriteTx, next: NextVersion): WriteResult {
  const { input, by, found, head, data, rival, imported } = next;
  const current = tx.fold.records.version(found.row);
  const isPlan = head.waits === true && (current.validFrom ?? 0) > tx.at;
  const carried =
    data === current.data
      ? carriedOver(current, input)
      : { ...lastingOver(current), ...(isPlan ? periodOf(current) : {}) };
  const asked = { ...carried, ...withoutUndefined(input) };
  // New words are those of whoever brings them; the owner may also speak for the one who said it first.
  const sayer = data === current.data || ownSource(engine) === "user_input";
  const prepared = prepareVersion(head.type, data, asked, sayer ? head.source : ownSource(engine));
  refuseLater(tx, head, prepared.validFrom);
  const isSaid = input.provenance?.source !== undefined;
  const writer = isSaid ? prepared.provenance.source : ownSource(engine);
  checkRevision(writer, head, found.id);
  const confidence = input.confidence === undefined ? current.confidence : prepared.confidence;
  const place = { head, row: found.row };
  const numbered = nextVersion(tx, by, place, { ...prepared, confidence, data });
  const whole = { ...numbered, number: Math.max(numbered.number, (next.after ?? 0) + 1) };
  const version =
    imported === undefined
      ? { ...whole, ...(rival ? { supersedes: [] } : {}) }
      : asImported(whole, imported);
  const nextHead: Head = {
    ...head,
    version: version.number,
    siblings: [...head.siblings, head.version].filter((one) => !version.supersedes.includes(one)),
    ...nextFingerprint(engine, head, data),
  };
  const moved = [head.fingerprint, nextHead.fingerprint].flatMap((fingerprint) =>
    fingerprint === undefined ? [] : [idKey("fingerprint", fingerprint)],
  );
  const conflicts =
    imported === undefined ? rivals(engine, tx, found, { head: nextHead, also: moved }) : [];
  const seq = tx.append({
    kind: "update",
    by,
    parts: [memoryPart(tx, by, found.id, { head: nextHead, version })],
    ...(next.request === undefined ? {} : { request: next.request }),
  });
  const parts = { id: found.id, head: nextHead, at: tx.at, seq, version, versionSeq: seq };
  return {
    ...headResult(engine, found, version.number, seq),
    conflicts,
    ...(next.wantsMemory === true ? { memory: shapeParts(engine.actor, parts) } : {}),
  };
}

/** A version as another program had it: with its number, its time, its author, and what it replaced. */
function asImported(version: Version, imported: ImportedVersion): Version {
  const { version: number } = imported;
  if (number < version.number) {
    const expected = `a version above ${version.number - 1}, the last that is there`;
    throw invalid("imported.version", expected, number, "ERR_CONFLICT");
  }
  const supersedes = version.supersedes.filter((one) => !imported.beside.includes(one));
  return { ...version, ...originOf(imported), number, supersedes };
}

/** When a plan begins and ends: other words about it do not bring it forward. */
function periodOf({ validFrom, validTo }: Version): VersionFields {
  return {
    ...(validFrom === undefined ? {} : { validFrom }),
    ...(validTo === undefined ? {} : { validTo }),
  };
}

/** Refuses to put off what holds a slot today: nobody would answer until then. */
function refuseLater(tx: WriteTx, head: Head, validFrom: number | undefined): void {
  const holds = head.slot !== undefined && head.lifecycle === "active" && head.waits !== true;
  if (!holds || validFrom === undefined || validFrom <= tx.at) return;
  const expected = "a time up to now: write the value to come into the slot, where it waits";
  throw invalid("validFrom", expected, validFrom);
}

/** What a version of other data keeps: how long the memory is to live. */
function lastingOver({ expiresAt }: Version): VersionFields {
  return expiresAt === undefined ? {} : { expiresAt };
}

/** What a version of the same data keeps from the one before, unless the caller says otherwise. */
function carriedOver(current: Version, input: VersionFields): VersionFields {
  const { validTo, expiresAt } = current;
  const validFrom = heldSince(current, input.validTo);
  return {
    provenance: current.provenance,
    // Saying the same again does not move the time since when it is true.
    ...(validFrom === undefined ? {} : { validFrom }),
    ...(validTo === undefined ? {} : { validTo }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(current.formsOverride ? { forms: current.forms } : {}),
  };
}

/** The mark of what a memory says after a change; none for those that may repeat themselves. */
export function nextFingerprint(engine: Engine, head: Head, data: Data): Pick<Head, "fingerprint"> {
  if (head.fingerprint === undefined) return {};
  const { type, slot } = head;
  return { fingerprint: fingerprintOf(engine, { type, data, slot }) };
}

function withoutUndefined(input: UpdateRequest): UpdateRequest {
  const given = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as UpdateRequest;
}

/** The data of the next version: given whole, or the current one with another sentence. */
export function nextData(engine: Engine, head: Head, current: Version, input: UpdateRequest): Data {
  const { text, data } = gatherData(head.type, input, UPDATE_FIELDS);
  if (data !== undefined) {
    return asWritten(input, () =>
      head.turn === undefined
        ? parseData(head.type, { text, data }, engine.actor)
        : nextTurn(current, text, data),
    );
  }
  if (text === undefined) return current.data;
  const sentence = parseData(head.type, { text }, engine.actor) as DataOf["fact"];
  const kept = { ...current.data, ...pickSentence(sentence) };
  return primaryText(head.type, current.data) === text ? current.data : (kept as Data);
}

/** A turn keeps its place in the conversation whatever else is said about it. */
function nextTurn(current: Version, text: string | undefined, data: unknown): Data {
  const { session, index, role, chunk, chunks } = current.data as TurnData;
  const next = { role, ...(data as object), ...(text === undefined ? {} : { content: text }) };
  return parseWith(turnData, { ...next, session, index, chunk, chunks }, "data");
}

/** Of freshly parsed data only the sentence, whichever field holds it. */
function pickSentence(data: Data): Record<string, unknown> {
  const fields = data as unknown as Record<string, unknown>;
  for (const name of ["statement", "content", "title"]) {
    if (fields[name] !== undefined) return { [name]: fields[name] };
  }
  return {};
}

/** Whether a version becomes a rival of the current one; a stale one under `lww` is refused. */
function isRival(
  tx: WriteTx,
  head: Head,
  basedOnVersion: number | undefined,
  text: string,
): boolean {
  const open = [head.version, ...head.siblings];
  if (basedOnVersion === undefined || open.includes(basedOnVersion)) return false;
  if (configOf(tx).conflictPolicy === "manual") return true;
  throw new CortexError(
    "ERR_CONFLICT",
    `basedOnVersion: expected ${head.version}, the version of ${text}, got ${basedOnVersion}; read it again`,
    { field: "basedOnVersion", expected: String(head.version), got: String(basedOnVersion) },
  );
}

/** Changes head fields without a new version. */
export async function updateHead(
  engine: Engine,
  {
    id,
    by = engine.principal,
    source = ownSource(engine),
    access: _,
    ...patch
  }: Asked<"updateHead">,
): Promise<WriteResult> {
  const parsed = parseRef(engine, id, "id");
  const changes = changesOf(patch);
  const { value } = await engine.writer.submit({
    ...memoryNeeds(engine, parsed),
    again: writtenAgain(engine),
    run: (tx) => {
      const found = locateLiving(tx, parsed, "id");
      refuseTombstoned(found, "id", parsed.text);
      askRecords(tx, [found]);
      const before = tx.fold.records.head(found.row);
      if (changes.kind !== undefined) checkKindAllowed(tx, changes.kind);
      if (changes.status !== undefined) {
        checkStatusChange(source, before, changes.status, found.id);
      }
      const head = { ...before, ...changes };
      return changeHead(engine, tx, { kind: "update_head", by, found, head });
    },
  });
  return value;
}

/** The Head of a memory that is about to come or go, with the rows that will move. */
export function headOf(
  tx: WriteTx,
  found: Located,
  ranges?: (head: Head) => readonly KvRange[],
): Head {
  askRecords(tx, [found]);
  const head = tx.fold.records.head(found.row);
  askMoves(tx, [{ id: found.id, head }], ranges?.(head));
  return head;
}

function changesOf(patch: HeadFields): Partial<Head> {
  const given = HEAD_FIELDS.filter((name) => patch[name] !== undefined);
  if (given.length === 0) {
    throw new CortexError("ERR_NO_CHANGE", `expected at least one of ${HEAD_FIELDS.join(", ")}`);
  }
  const complete = prepareHead(patch);
  return Object.fromEntries(given.map((name) => [name, complete[name]])) as Partial<Head>;
}

interface HeadChange {
  readonly kind: "update_head" | "tombstone";
  readonly by: string;
  readonly found: Located;
  readonly head: Head;
}

function changeHead(engine: Engine, tx: WriteTx, change: HeadChange): WriteResult {
  const { found, head, by, kind } = change;
  const seq = tx.append({ kind, by, parts: [headPart(tx, by, found, head)] });
  return headResult(engine, found, head.version, seq);
}

/** What a change of one memory answers. */
export function headResult(
  engine: Engine,
  found: Located,
  version: number,
  seq: number,
): WriteResult {
  return {
    id: memoryId(found.id),
    uri: buildUri({ actor: engine.actor, type: found.row.type, id: found.id, version }),
    version,
    seq,
    replaced: [],
    conflicts: [],
    similar: [],
    reinforced: false,
  };
}

/** Hides a memory. Hiding a hidden one changes nothing. */
export async function tombstone(
  engine: Engine,
  { id, reason, by = engine.principal }: Asked<"tombstone">,
): Promise<WriteResult> {
  const parsed = parseRef(engine, id, "id");
  const { value } = await engine.writer.submit({
    ...memoryNeeds(engine, parsed),
    again: writtenAgain(engine),
    run: (tx) => {
      const found = locateLiving(tx, parsed, "id");
      if (found.row.lifecycle === "tombstoned") {
        return headResult(engine, found, found.row.version, found.row.seq);
      }
      const head: Head = {
        ...headOf(tx, found),
        lifecycle: "tombstoned",
        tombstone: { reason, at: tx.at, by },
      };
      return changeHead(engine, tx, { kind: "tombstone", by, found, head });
    },
  });
  return value;
}
