/**
 * A write completed before anything is read: defaults, rendered forms, marks. The result depends on the
 * input alone, so it is computed once, outside the writer.
 *
 * The input has been checked by its contract (`contract/memory.ts`), which changes nothing but times;
 * here is what takes several fields together or the type of the memory, and what is stored in another
 * form than it was said.
 */
import { encode } from "../codec/cbor.js";
import { domainHash } from "../codec/hash.js";
import { normaliseClaim, normaliseSlot } from "../codec/text.js";
import { isZeroUlid, parseUlid } from "../codec/ulid.js";
import {
  type ImportedVersion,
  importedVersion,
  type Upsert,
  wideVersion,
} from "../contract/imported.js";
import {
  frameName,
  type HeadFields,
  headFields,
  NEW_ID,
  type UpdateRequest,
  type VersionFields,
  type WriteRequest,
  writeFields,
} from "../contract/memory.js";
import { type Engine, freshId, ownSource, type ParsedRef, parseRef } from "../engine/engine.js";
import { requestMark } from "../engine/idempotency.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { claimText, DATA_SCHEMAS, type Data, parseData } from "../records/data.js";
import { parseWith } from "../records/fields.js";
import { renderForms } from "../records/forms.js";
import {
  type Forms,
  type Head,
  IMPORTANCE_DEFAULT,
  type Origin,
  type Provenance,
  type Version,
} from "../records/memory-record.js";
import { EVENT_KINDS, type MemoryType, type Source, type Visibility } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import { gatedStatus, isRelayed } from "../trust/gate.js";
import { threatsIn } from "../trust/scan.js";

/** A write, checked and complete. */
export interface PreparedWrite {
  /** The number of its first version; 1 unless its lineage comes from elsewhere. */
  readonly number?: number;
  readonly id: Uint8Array;
  readonly by: string;
  readonly head: Omit<Head, "createdAt" | "version">;
  readonly data: Data;
  readonly version: PreparedVersion;
  readonly supersedes: readonly ParsedRef[];
  readonly corrects: ParsedRef | undefined;
  readonly derivedFrom: readonly ParsedRef[];
  readonly request: Uint8Array | undefined;
  /** What another program wrote: kept as it was there. */
  readonly imported: ImportedVersion | undefined;
}

/** The parts of a version that come from the input. */
interface PreparedVersion {
  readonly forms: Forms;
  readonly formsOverride: boolean;
  readonly confidence: number;
  readonly provenance: Provenance;
  readonly validFrom: number | undefined;
  readonly validTo: number | undefined;
  readonly expiresAt: number | undefined;
  readonly flags: readonly string[] | undefined;
}

/** The head fields that a caller may give. */
export const HEAD_FIELDS = Object.keys(headFields) as readonly (keyof HeadFields)[];

/** Every field of a write that is not a field of the type's data. */
const WRITE_FIELDS: ReadonlySet<string> = new Set(Object.keys(writeFields));

/** Types that may say the same twice. */
const REPEATABLE: ReadonlySet<MemoryType> = new Set(["note", "event", "artifact"]);

/** Completes a write that its contract has checked. */
export function prepareWrite(
  engine: Engine,
  input: WriteRequest,
  { imported: given, wide: beyond }: Pick<Upsert, "imported" | "wide"> = {},
): PreparedWrite {
  const { type, corrects, externalId, supersedes } = input;
  const { text, data } = gatherData(type, input);
  const imported = given === undefined ? undefined : parseWith(importedVersion, given, "imported");
  const checked = asWritten(input, () => parseData(type, { text, data }, engine.actor));
  const wide = beyond === undefined ? imported : parseWith(wideVersion, beyond, "");
  const parsed = withContent(checked, wide?.content);
  const { source = ownSource(engine) } = input;
  const version = prepareVersion(type, parsed, input, source);
  const slot = input.slot === undefined ? undefined : normaliseSlot(input.slot);
  const head = prepareHead(input, engine.defaults?.visibility);
  return {
    id: input.id === undefined ? freshId(engine, bornAt(imported)) : checkNewId(input.id),
    by: input.by ?? engine.principal,
    data: parsed,
    version,
    // Spelled out, as in `newRecord`.
    head: {
      type,
      lifecycle: head.lifecycle,
      visibility: head.visibility,
      importance: head.importance,
      tags: wide?.tags ?? head.tags,
      frames: head.frames,
      status: gatedStatus(type, source, head.status),
      source,
      siblings: head.siblings,
      slot,
      kind: head.kind,
      externalId,
      freshnessAt: head.freshnessAt,
      fingerprint: REPEATABLE.has(type)
        ? undefined
        : fingerprintOf(engine, { type, data: parsed, slot }),
    },
    supersedes: supersedes?.map((ref, at) => parseRef(engine, ref, `supersedes[${at}]`)) ?? NO_REFS,
    derivedFrom: localRefs(engine, version.provenance.derivedFrom),
    corrects: corrects === undefined ? undefined : parseRef(engine, corrects, "corrects"),
    request: requestMark(engine, input.idempotencyKey, {
      operation: "write",
      request: beyond === undefined ? input : { ...input, wide: beyond },
      by: input.by,
    }).request,
    imported,
  };
}

/** Data with content of any length in the place of its own. */
function withContent(data: Data, content: string | undefined): Data {
  return content === undefined ? data : ({ ...data, content } as Data);
}

/** The time that the id of an imported memory says; an id has no room for one before 1970. */
function bornAt(imported: ImportedVersion | undefined): number | undefined {
  return imported === undefined ? undefined : Math.max(0, imported.createdAt);
}

/** What the record of an imported version says of it that no other says. */
export function originOf(imported: ImportedVersion): Pick<Version, "createdAt" | "createdBy"> & {
  readonly origin: Origin;
} {
  const { id, graph, nanos, freshnessNanos, createdAt, createdBy } = imported;
  const fine = {
    ...(nanos === undefined || nanos === 0 ? {} : { nanos }),
    ...(freshnessNanos === undefined || freshnessNanos === 0 ? {} : { freshnessNanos }),
  };
  return { createdAt, createdBy, origin: { id, graph, ...fine } };
}

const NO_REFS: readonly ParsedRef[] = [];

/** The head fields of an input, with defaults. */
export function prepareHead(
  input: HeadFields,
  visibility: Visibility = "private",
): Pick<
  Head,
  "lifecycle" | "visibility" | "importance" | "tags" | "frames" | "status" | "siblings"
> &
  Pick<Head, "kind" | "freshnessAt"> {
  return {
    lifecycle: "active",
    visibility: input.visibility ?? visibility,
    // Minus zero is zero.
    importance: (input.importance ?? IMPORTANCE_DEFAULT) + 0,
    tags: input.tags === undefined ? [] : unique(input.tags, (tag) => tag),
    frames: input.frames === undefined ? [] : unique(input.frames, frameName),
    status: input.status ?? "asserted",
    siblings: [],
    kind: input.kind,
    freshnessAt: input.freshnessAt,
  };
}

/** The version fields of an input, with defaults and rendered forms. */
export function prepareVersion(
  type: MemoryType,
  data: Data,
  input: VersionFields,
  source: Source,
): PreparedVersion {
  const { validFrom, validTo, expiresAt, confidence = 1 } = input;
  if (validFrom !== undefined && validTo !== undefined && validTo < validFrom) {
    throw invalid("validTo", "a time not before validFrom", validTo);
  }
  const forms = input.forms ?? renderForms(type, data);
  const provenance = prepareProvenance(input.provenance, source);
  return {
    forms,
    formsOverride: input.forms !== undefined,
    confidence: confidence + 0,
    provenance,
    flags: flagsOf([source, provenance.source], data, forms),
    validFrom,
    validTo,
    expiresAt,
  };
}

/**
 * The provenance of an input; `source` stands where it names none. URIs are checked in form only: what
 * they name may live in another graph, or be gone.
 */
function prepareProvenance(given: VersionFields["provenance"], source: Source): Provenance {
  if (given === undefined) return { source, derivedFrom: NO_URIS, attestations: NO_URIS };
  const { session, turn } = given;
  if (turn !== undefined && session === undefined) {
    throw invalid("provenance.session", "the session that the turn belongs to", session);
  }
  return {
    source: given.source ?? source,
    derivedFrom: checkUris(given.derivedFrom, "provenance.derivedFrom"),
    attestations: checkUris(given.attestations, "provenance.attestations"),
    ...(session === undefined ? {} : { session }),
    ...(turn === undefined ? {} : { turn }),
  };
}

const NO_URIS: readonly string[] = [];

function checkUris(uris: readonly string[] = NO_URIS, field: string): readonly string[] {
  for (const [at, uri] of uris.entries()) parseUri(uri, `${field}[${at}]`);
  return unique(uris, (uri) => uri);
}

/** The items of a list, each once, in the order in which they came first. */
function unique<T>(items: readonly T[], nameOf: (item: T) => string): readonly T[] {
  if (items.length < 2) return items;
  const byName = new Map<string, T>();
  for (const item of items) {
    const name = nameOf(item);
    if (!byName.has(name)) byName.set(name, item);
  }
  return byName.size === items.length ? items : [...byName.values()];
}

/**
 * What the scanner sees in the words of a source that hands them on; `undefined` when there is nothing
 * to tell. The words of the owner and of the agent itself are not looked through.
 */
export function flagsOf(
  sources: readonly Source[],
  data: Data,
  forms: Forms,
): readonly string[] | undefined {
  if (!sources.some(isRelayed)) return undefined;
  const flags = threatsIn([...textsIn(data, LIMITS.metadataDepth), forms.short, forms.medium]);
  return flags.length === 0 ? undefined : flags;
}

/** Every text inside data, however deep. */
function textsIn(value: unknown, depth: number): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth < 0) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member, depth - 1)]);
}

/**
 * Sorts loose data fields from the ones every write has; an unknown name is refused. `kind` is both: an
 * event's own kind is also the label it is filed under.
 */
export function gatherData(
  type: MemoryType,
  input: WriteRequest | UpdateRequest,
  known: ReadonlySet<string> = WRITE_FIELDS,
): { readonly text: string | undefined; readonly data: unknown } {
  const { text } = input;
  let loose: Record<string, unknown> | undefined;
  for (const name of Object.keys(input)) {
    if (known.has(name) || input[name] === undefined) continue;
    const fields = Object.keys(DATA_SCHEMAS[type].shape);
    if (!fields.includes(name)) {
      throw new CortexError(
        "ERR_UNKNOWN_FIELD",
        `${name}: expected one of ${[...known].join(", ")}, or a field of ${type}: ${fields.join(", ")}; got an unknown field`,
        { field: name },
      );
    }
    loose ??= {};
    loose[name] = input[name];
  }
  if (type === "event" && known.has("kind") && Object.hasOwn(EVENT_KINDS, String(input.kind))) {
    loose = { kind: input.kind, ...loose };
  }
  if (loose === undefined) return { text, data: input.data };
  return { text, data: Object.assign(loose, input.data) };
}

/** What `check` gives; where it refuses a field of the data that stands beside the others, it is named so. */
export function asWritten<T>(input: WriteRequest | UpdateRequest, check: () => T): T {
  try {
    return check();
  } catch (error) {
    const field = isCortexError(error) ? (error.details.field ?? "") : "";
    const [, name = ""] = /^data\.([^.[]+)/.exec(field) ?? [];
    if (!isCortexError(error) || !Object.hasOwn(input, name)) throw error;
    if (Object.hasOwn(input.data ?? {}, name)) throw error;
    const details = { ...error.details, field: field.slice("data.".length) };
    throw new CortexError(error.code, error.message.replace(/^data\./, ""), details, error);
  }
}

/** Marks text of one type and slot that says the same, whoever says it: 10 bytes. */
export function fingerprintOf(
  engine: Engine,
  what: {
    readonly type: MemoryType;
    readonly data: Data;
    readonly slot: string | undefined;
  },
): Uint8Array {
  const text = normaliseClaim(claimText(what.type, what.data));
  // The second member is the owner's name for every source: a claim is one, whoever makes it.
  const claim = encode([what.type, "user_input", what.slot ?? null, text]);
  return domainHash(engine.sha256, "fingerprint", claim).subarray(0, 10);
}

function checkNewId(input: string): Uint8Array {
  const id = parseUlid(input);
  if (id === undefined || isZeroUlid(id)) {
    throw invalid("id", NEW_ID, input, "ERR_BAD_ID");
  }
  return id;
}

/** Provenance may name other graphs; only memories of this one get an edge. */
function localRefs(engine: Engine, uris: readonly string[]): readonly ParsedRef[] {
  if (uris.length === 0) return NO_REFS;
  const prefix = `cortex://${engine.actor}/`;
  return uris
    .filter((uri) => uri.startsWith(prefix))
    .map((uri) => parseRef(engine, uri, "provenance.derivedFrom"));
}
