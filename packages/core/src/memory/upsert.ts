/**
 * A write that goes on from a memory that is there: the memory that its external id names gets it as
 * the next version, in one entry with the kind, the tags and the freshness that came with it. What
 * becomes of the versions that were open:
 *
 * | `basedOnVersion` | open versions | policy | superseded | outcome |
 * |---|---|---|---|---|
 * | absent | any | any | all | success; ends an open conflict |
 * | one of the open ones | some | any | all | success; settles an open conflict |
 * | given | none | any | none | a new memory, the hint is ignored |
 * | given, none of the open ones | some | `lww` | all | success |
 * | given, none of the open ones | some | `manual` | none | written as a rival, and a conflict |
 * | a list | exactly these | any | all | success; else `ERR_CONFLICT`, and nothing is written |
 *
 * `update` is stricter under `lww`: it refuses what this table lets win.
 */
import { checkKindAllowed, configOf } from "../config/config.js";
import {
  type Upsert,
  type VersionFields,
  versionFields,
  type WriteRequest,
} from "../contract/memory.js";
import type { WriteResult } from "../contract/shapes.js";
import { refuseTombstoned } from "../engine/drafts.js";
import {
  type Engine,
  locate,
  locateLiving,
  type ParsedRef,
  parseRef,
  refuseErased,
} from "../engine/engine.js";
import { askRecords } from "../engine/read-ahead.js";
import { CortexError, invalid } from "../errors.js";
import type { WriteTx } from "../history/writer.js";
import type { Head } from "../records/memory-record.js";
import { openVersions } from "./read.js";
import { appendVersion } from "./update.js";
import type { PreparedWrite } from "./write-input.js";

/** An upsert, checked. */
export interface PreparedUpsert extends Upsert {
  readonly ref: ParsedRef;
  /** What the version says beside its data. */
  readonly version: VersionFields;
}

/** What cannot be said in an upsert, because it is about a new memory alone. */
const NEW_ALONE = ["id", "slot", "supersedes", "corrects"] as const;

/** Checks an upsert; `undefined` for a new memory that is only beyond the limits of a write. */
export function prepareUpsert(
  engine: Engine,
  input: WriteRequest,
  upsert: Upsert | undefined,
): PreparedUpsert | undefined {
  if (upsert === undefined) return undefined;
  const { basedOnVersion, mustExist, after, wide } = upsert;
  if (wide !== undefined && input.externalId === undefined) return undefined;
  const other = NEW_ALONE.find((name) => input[name] !== undefined);
  if (other !== undefined) throw invalid(other, "none beside upsert", input[other]);
  const numbers = Array.isArray(basedOnVersion) ? basedOnVersion : [basedOnVersion ?? 0];
  if (!numbers.every((one) => Number.isSafeInteger(one))) {
    throw invalid("basedOnVersion", "a version number, or a list of them", basedOnVersion);
  }
  const version: Record<string, unknown> = {};
  for (const name of Object.keys(versionFields)) {
    if (input[name] !== undefined) version[name] = input[name];
  }
  return {
    ref: parseRef(engine, input.externalId, "externalId"),
    basedOnVersion,
    mustExist,
    after,
    // As for every new write, words that come without a confidence are sure.
    version: { confidence: 1, ...version },
  };
}

/** The next version of the memory that a write names; `undefined` when there is none. */
export function applyUpsert(
  engine: Engine,
  tx: WriteTx,
  prepared: PreparedWrite,
  how: { readonly upsert: PreparedUpsert; readonly wantsMemory: boolean },
): WriteResult | undefined {
  const { upsert, wantsMemory } = how;
  const { ref: parsed, version: input } = upsert;
  const found =
    upsert.mustExist === true ? locateLiving(tx, parsed, "externalId") : locate(tx, parsed);
  if (found === undefined) return undefined;
  refuseErased(found, parsed, "externalId");
  refuseTombstoned(found, "externalId", parsed.text);
  askRecords(tx, [found]);
  const before = tx.fold.records.head(found.row);
  const { type, kind, tags, freshnessAt } = prepared.head;
  if (before.type !== type || before.turn !== undefined) {
    const got = before.turn === undefined ? before.type : "a turn";
    throw invalid("externalId", `the name of a memory of type ${type}`, got);
  }
  const { by, data, request, imported } = prepared;
  if (imported === undefined) checkKindAllowed(tx, kind);
  const rival = imported === undefined && isRival(tx, before, upsert.basedOnVersion);
  const head = { ...before, kind, tags, freshnessAt };
  const marked = request === undefined ? {} : { request };
  const { after } = upsert;
  const going = { wantsMemory, after, imported, ...marked };
  const next = { parsed, input, by, found, head, data, rival, ...going };
  return appendVersion(engine, tx, next);
}

/** Whether a write is kept beside the open versions of a memory; a list must name all of them. */
function isRival(tx: WriteTx, head: Head, basedOn: Upsert["basedOnVersion"]): boolean {
  if (basedOn === undefined) return false;
  const open = openVersions(head);
  if (typeof basedOn === "number") {
    return !open.includes(basedOn) && configOf(tx).conflictPolicy === "manual";
  }
  const seen = [...new Set(basedOn)].sort((a, b) => b - a);
  if (seen.join() === open.join()) return false;
  const [expected, got] = [open.join(", "), seen.join(", ")];
  throw new CortexError(
    "ERR_CONFLICT",
    `basedOnVersion: expected ${expected}, the open versions, got ${got}; read them again`,
    { field: "basedOnVersion", expected, got },
  );
}
