/**
 * What a caller may say in a write, checked and completed before anything is read: the result
 * depends on the input alone, so it is computed once, outside the writer.
 */
import { type CborValue, encode } from "../codec/cbor.js";
import { domainHash } from "../codec/hash.js";
import { normaliseClaim, normaliseSlot, utf8, utf8Length } from "../codec/text.js";
import { isZeroUlid, parseUlid } from "../codec/ulid.js";
import type { HeadFields, VersionFields, WriteRequest } from "../contract/memory.js";
import {
  checkObject,
  checkOptions,
  checkPrincipal,
  type Engine,
  freshId,
  type ParsedRef,
  parseRef,
} from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import { claimText, DATA_SCHEMAS, type Data, parseData } from "../records/data.js";
import { checkText } from "../records/fields.js";
import { countTokens, renderForms } from "../records/forms.js";
import {
  checkConfidence,
  checkExternalId,
  checkFrames,
  checkImportance,
  checkKind,
  checkProvenance,
  checkTags,
  checkTime,
  checkVisibility,
} from "../records/frames.js";
import {
  type Forms,
  type Head,
  IMPORTANCE_DEFAULT,
  type Provenance,
} from "../records/memory-record.js";
import {
  checkMemoryType,
  checkNameOf,
  type MemoryType,
  SOURCES,
  type Source,
  STATUSES,
  type Visibility,
} from "../records/types.js";
import { gatedStatus, isRelayed } from "../trust/gate.js";
import { TRUST } from "../trust/levels.js";
import { threatsIn } from "../trust/scan.js";

/** A write, checked and complete. */
export interface PreparedWrite {
  readonly id: Uint8Array;
  readonly by: string;
  readonly head: Omit<Head, "createdAt" | "version">;
  readonly data: Data;
  readonly version: PreparedVersion;
  readonly supersedes: readonly ParsedRef[];
  readonly corrects: ParsedRef | undefined;
  readonly derivedFrom: readonly ParsedRef[];
  readonly request: Uint8Array | undefined;
}

/** The parts of a version that come from the input. */
export interface PreparedVersion {
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
export const HEAD_FIELDS = [
  "tags",
  "frames",
  "visibility",
  "importance",
  "kind",
  "status",
  "freshnessAt",
] as const;
/** The fields of a version that a caller may give. */
export const VERSION_FIELDS = [
  "text",
  "data",
  "confidence",
  "provenance",
  "validFrom",
  "validTo",
  "expiresAt",
  "forms",
] as const;
/** Every field of a write that is not a field of the type's data. */
export const WRITE_FIELDS: ReadonlySet<string> = new Set([
  "type",
  "id",
  "externalId",
  "slot",
  "source",
  "supersedes",
  "corrects",
  "by",
  "idempotencyKey",
  ...HEAD_FIELDS,
  ...VERSION_FIELDS,
]);

/** Types that may say the same twice. */
const REPEATABLE: ReadonlySet<MemoryType> = new Set(["note", "event", "artifact"]);

/** Checks and completes a write. */
export function prepareWrite(engine: Engine, input: WriteRequest): PreparedWrite {
  checkObject(input, "input");
  const type = checkMemoryType(input.type);
  const { text, data } = gatherData(type, input);
  const parsed = parseData(type, { text, data }, engine.actor);
  const { defaults } = engine;
  const source = sourceFor(engine, input.source);
  const version = prepareVersion(type, parsed, input, source);
  const slot = input.slot === undefined ? undefined : checkSlot(input.slot);
  const { corrects, externalId } = input;
  const head = prepareHead(input, defaults?.visibility);
  return {
    id: input.id === undefined ? freshId(engine) : checkNewId(input.id),
    by: checkPrincipal(input.by, engine.principal),
    data: parsed,
    version,
    head: {
      type,
      ...head,
      status: gatedStatus(type, source, head.status),
      source,
      slot,
      externalId: externalId === undefined ? undefined : checkExternalId(externalId),
      fingerprint: REPEATABLE.has(type)
        ? undefined
        : fingerprintOf(engine, { type, data: parsed, slot }),
    },
    supersedes: checkRefs(engine, input.supersedes, "supersedes"),
    derivedFrom: localRefs(engine, version.provenance.derivedFrom),
    corrects: corrects === undefined ? undefined : parseRef(engine, corrects, "corrects"),
    request: requestMark(engine, input.idempotencyKey, "write", input).request,
  };
}

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
    visibility: input.visibility === undefined ? visibility : checkVisibility(input.visibility),
    importance:
      input.importance === undefined ? IMPORTANCE_DEFAULT : checkImportance(input.importance),
    tags: input.tags === undefined ? [] : checkTags(input.tags),
    frames: input.frames === undefined ? [] : checkFrames(input.frames),
    status:
      input.status === undefined
        ? "asserted"
        : checkNameOf(STATUSES, input.status, { field: "status" }),
    siblings: [],
    kind: input.kind === undefined ? undefined : checkKind(input.kind),
    freshnessAt:
      input.freshnessAt === undefined ? undefined : checkTime(input.freshnessAt, "freshnessAt"),
  };
}

/** The version fields of an input, with defaults and rendered forms. */
export function prepareVersion(
  type: MemoryType,
  data: Data,
  input: VersionFields,
  source: Source,
): PreparedVersion {
  const { validFrom, validTo, expiresAt } = input;
  const from = validFrom === undefined ? undefined : checkTime(validFrom, "validFrom");
  const to = validTo === undefined ? undefined : checkTime(validTo, "validTo");
  if (from !== undefined && to !== undefined && to < from) {
    throw invalid("validTo", "a time not before validFrom", to);
  }
  const forms = input.forms === undefined ? renderForms(type, data) : checkForms(input.forms);
  const provenance = checkProvenance(input.provenance, source);
  return {
    forms,
    formsOverride: input.forms !== undefined,
    confidence: input.confidence === undefined ? 1 : checkConfidence(input.confidence),
    provenance,
    flags: flagsOf([source, provenance.source], data, forms),
    validFrom: from,
    validTo: to,
    expiresAt: expiresAt === undefined ? undefined : checkTime(expiresAt, "expiresAt"),
  };
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

/** Sorts loose data fields from the ones every write has; an unknown name is refused. */
export function gatherData(
  type: MemoryType,
  input: { readonly [field: string]: unknown },
  known: ReadonlySet<string> = WRITE_FIELDS,
): { readonly text: string | undefined; readonly data: unknown } {
  const text = input.text as string | undefined;
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
  if (loose === undefined) return { text, data: input.data };
  return {
    text,
    data: { ...loose, ...(input.data === undefined ? {} : checkObject(input.data, "data")) },
  };
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
  return domainHash(engine.sha256, "fingerprint", claim).slice(0, 10);
}

/** The mark of an idempotent request: hash of the key, then hash of the request. */
export function requestMark(
  engine: Engine,
  key: unknown,
  operation: string,
  request: unknown,
): { readonly request?: Uint8Array } {
  if (key === undefined) return {};
  const given = checkText(key, "idempotencyKey", { maxBytes: LIMITS.idempotencyKeyBytes });
  const { defaults } = engine;
  const name = defaults === undefined ? given : `${defaults.realm} ${given}`;
  const mark = new Uint8Array(32);
  mark.set(domainHash(engine.sha256, "idempotencyKey", utf8(name)).subarray(0, 16), 0);
  // With the key in it, the hash tells nothing about the request to whoever has only the journal:
  // it is never erased, and content must not be confirmed by guessing it.
  const plain = encode([name, operation, plainJson(request)]);
  mark.set(domainHash(engine.sha256, "idempotencyRequest", plain).subarray(0, 16), 16);
  return { request: mark };
}

/** A request as JSON says it, whatever the order of its members. */
function plainJson(request: unknown): CborValue {
  try {
    return JSON.parse(JSON.stringify(request)) as CborValue;
  } catch (cause) {
    const details = { field: "input", expected: "values that JSON can say" };
    const message = "input: expected values that JSON can say, got another";
    throw new CortexError("ERR_INVALID", message, details, cause);
  }
}

/** Checks and normalises a slot name. */
export function checkSlot(input: unknown): string {
  const slot = normaliseSlot(checkText(input, "slot", { maxBytes: LIMITS.slotBytes }));
  if (slot === "") throw invalid("slot", "a name with at least one letter or digit", input);
  if (utf8Length(slot) > LIMITS.slotBytes) {
    throw invalid("slot", `at most ${LIMITS.slotBytes} bytes`, input, "ERR_TOO_LARGE");
  }
  return slot;
}

function checkNewId(input: unknown): Uint8Array {
  const id = typeof input === "string" ? parseUlid(input) : undefined;
  if (id === undefined || isZeroUlid(id)) {
    throw invalid("id", "a ULID of 26 characters other than zero", input, "ERR_BAD_ID");
  }
  return id;
}

/** Whose words a call brings: as it says, or those of whoever is calling. */
export function sourceFor(engine: Engine, input: unknown): Source {
  const most = engine.defaults?.source;
  if (input === undefined) return most ?? "user_input";
  const source = checkNameOf(SOURCES, input, { field: "source" });
  if (most === undefined || TRUST[source].rank <= TRUST[most].rank) return source;
  throw invalid("source", `at most the trust of ${most}`, source, "ERR_DENIED");
}

function checkForms(input: Forms): Forms {
  checkOptions(input, ["short", "medium"], "forms");
  const budgets = { short: LIMITS.formShortTokens, medium: LIMITS.formMediumTokens };
  for (const name of ["short", "medium"] as const) {
    const form = checkText(input[name], `forms.${name}`, { maxBytes: LIMITS.contentBytes });
    if (countTokens(form) > budgets[name]) {
      throw invalid(`forms.${name}`, `at most ${budgets[name]} tokens`, form, "ERR_TOO_LARGE");
    }
  }
  return { short: input.short, medium: input.medium };
}

function checkRefs(engine: Engine, input: unknown, field: string): readonly ParsedRef[] {
  if (input === undefined) return [];
  if (!Array.isArray(input) || input.length > LIMITS.listItems) {
    throw invalid(field, `a list of at most ${LIMITS.listItems} references`, input);
  }
  return input.map((ref, at) => parseRef(engine, ref, `${field}[${at}]`));
}

/** Provenance may name other graphs; only memories of this one get an edge. */
function localRefs(engine: Engine, uris: readonly string[]): readonly ParsedRef[] {
  const prefix = `cortex://${engine.actor}/`;
  return uris
    .filter((uri) => uri.startsWith(prefix))
    .map((uri) => parseRef(engine, uri, "provenance.derivedFrom"));
}
