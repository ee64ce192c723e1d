/**
 * Scopes at an open store: from the text somebody presents to an access, taking a scope in for later
 * use by a handle, taking one back, and looking at one.
 *
 * Promises: every use checks everything again but the signature of a scope that was taken in. What is
 * taken in has been found to hold, and is kept without its proof, which shows the content of memories
 * that may be forgotten. Handles are a convenience: after a rebuild the scope has to be posted again. A
 * revocation is an entry, so every process that has the store open sees it with its next read.
 */
import { fromHex, toHex } from "../codec/keys.js";
import { readConfig } from "../config/config.js";
import type { Asked } from "../contract/index.js";
import type { PostedScope, RevokedScope, ScopeReport } from "../contract/scopes.js";
import { checkOptions, type Engine } from "../engine/engine.js";
import { CortexError, invalid, isCortexError } from "../errors.js";
import { Reader } from "../history/reader.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, KEYSPACE, prefixRange } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { manifestsBackwards } from "../proof/snapshot.js";
import { revocationRecord, violationRecord } from "../records/frames.js";
import { grantAccess, type ScopeAccess } from "../scope/access.js";
import {
  decodeScope,
  encodeScope,
  handleText,
  holderOf,
  isBearer,
  parseHandle,
  type Scope,
  type ShownIds,
  scopeBytes,
  scopeHash,
  scopeTime,
  verifyScope,
} from "../scope/scope.js";
import { verify } from "../verify.js";

/** How a scope is presented. */
export interface PresentOptions {
  /** The public key, in base64, whose signature the door found on the request. */
  readonly signedBy?: string;
}

interface Presented {
  readonly scope: Scope;
  readonly hash: Uint8Array;
  readonly bytes: Uint8Array;
  readonly isKept: boolean;
}

/** The access of whoever presents a scope or a handle of one; fails when the scope does not hold. */
export async function scopeAccess(
  engine: Engine,
  presented: string,
  options: PresentOptions = {},
): Promise<ScopeAccess> {
  checkOptions(options, ["signedBy"]);
  const { signedBy } = options;
  return Reader.with(engine.kv, undefined, async (reader) => {
    const found = await find(engine, reader, presented);
    await check(engine, reader, found, signedBy);
    return accessOf(engine, found);
  });
}

/** Takes a scope in, once it is found to hold; from then on its handle is enough. */
export async function postScope(
  engine: Engine,
  { scope: text, access }: Asked<"postScope">,
): Promise<PostedScope> {
  const { found, over, seq } = await Reader.with(engine.kv, undefined, async (reader) => {
    const parsed = parse(engine, text);
    // Who posts a scope need not hold its key: they only bring what the issuer signed.
    await check(engine, reader, parsed, parsed.scope.grantedTo);
    return { found: parsed, over: await expiredRows(reader, engine.clock()), seq: reader.seq };
  });
  const { proof: _, ...kept } = found.scope;
  const row = { key: idKey("postedScope", found.hash), value: encodeScope(kept) };
  // A row only ever holds the one scope that hashes to its key: there is nothing to compare with, and
  // whoever comes second writes, or removes, the same.
  await engine.kv.commitCaches({ expect: [], puts: [row], deletes: over });
  const { expiresAt } = found.scope;
  // Nothing was written, so that whoever is not the owner has no position to be told: it would count what they may not see.
  const shown = access.kind === "owner" ? seq : 0;
  return { handle: handleText(found.hash), hash: toHex(found.hash), expiresAt, seq: shown };
}

/** Posted scopes that are looked at, each time one comes, for such as have expired. */
const SWEPT_ROWS = 256;

/** The rows of posted scopes whose last moment has passed. */
async function expiredRows(reader: Reader, nowMs: number): Promise<readonly Bytes[]> {
  const prefix = Uint8Array.of(KEYSPACE.postedScope.byte);
  const [rows = []] = await reader.ranges([prefixRange(prefix, SWEPT_ROWS)]);
  return rows.filter(({ value }) => decodeScope(value).expiresAt < nowMs).map(({ key }) => key);
}

/** Takes a scope back: its text, its handle or its hash in hex names it. */
export async function revokeScope(
  engine: Engine,
  { scope, reason = "", by = engine.principal }: Asked<"revokeScope">,
): Promise<RevokedScope> {
  const hash = hashOf(engine, scope);
  const key = idKey("revokedScope", hash);
  const { value } = await engine.writer.submit({
    hints: [key],
    again: { tell: (_tx, { header }) => ({ revoked: true, seq: header.seq }) },
    run: (tx) => {
      if (tx.view.get(key) !== undefined) return { revoked: false, seq: tx.nextSeq() - 1 };
      const record = revocationRecord({ hash, reason });
      tx.append({
        kind: "revoke_scope",
        by,
        parts: [{ subject: Uint8Array.of(SUBJECT.store), record }],
      });
      return { revoked: true, seq: tx.nextSeq() - 1 };
    },
  });
  return { hash: toHex(hash), ...value };
}

/** What a scope grants, and whether it would be honoured now. */
export async function showScope(
  engine: Engine,
  { scope: presented }: Asked<"showScope">,
): Promise<ScopeReport> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const found = await find(engine, reader, presented);
    const { scope, hash } = found;
    const because = await check(engine, reader, found, scope.grantedTo).catch((error: unknown) => {
      if (isCortexError(error)) return { code: error.code, message: error.message };
      throw error;
    });
    const { signature: _, proof: __, ...terms } = scope;
    return {
      hash: toHex(hash),
      handle: handleText(hash),
      ...terms,
      bearer: isBearer(scope),
      holds: because === undefined,
      ...(because === undefined ? {} : { because }),
      seq: reader.seq,
    };
  });
}

function parse(engine: Engine, text: unknown): Presented {
  const bytes = scopeBytes(text);
  const scope = decodeScope(bytes);
  return { scope, bytes, hash: scopeHash(engine.sha256, bytes), isKept: false };
}

/** The scope that was presented, itself or by its handle. */
async function find(engine: Engine, reader: Reader, presented: unknown): Promise<Presented> {
  const hash = parseHandle(presented);
  if (hash === undefined) return parse(engine, presented);
  const [bytes] = await reader.getMany([idKey("postedScope", hash)]);
  if (bytes !== undefined) return { scope: decodeScope(bytes), bytes, hash, isKept: true };
  const message = "scope: expected the handle of a scope that was posted here, got another";
  throw new CortexError("ERR_SCOPE_HANDLE", message, { field: "scope" });
}

async function check(
  engine: Engine,
  reader: Reader,
  { scope, hash, isKept }: Presented,
  signedBy: string | undefined,
): Promise<undefined> {
  const [{ trustedIssuers = [] }, [revokedRow], roots] = await Promise.all([
    readConfig(reader),
    reader.getMany([idKey("revokedScope", hash)]),
    scope.snapshotRoot === undefined ? undefined : hasSnapshot(reader, scope.snapshotRoot),
  ]);
  verifyScope(scope, {
    actor: engine.actor,
    nowMs: scopeTime(engine.clock, reader.head.at),
    trustedIssuers,
    revoked: revokedRow !== undefined,
    isKept,
    signedBy,
    verifySignature: engine.verifySignature,
    hasSnapshot: () => roots === true,
    readProof: shownIds,
  });
  return undefined;
}

async function hasSnapshot(reader: Reader, root: string): Promise<boolean> {
  for await (const { overall } of manifestsBackwards(reader.snapshot)) {
    if (toHex(overall) === root) return true;
  }
  return false;
}

/** What the proof inside a scope shows; `undefined` when it does not hold or shows an absence. */
function shownIds(proof: Uint8Array): ShownIds | undefined {
  const shown = verify(proof);
  if (!shown.ok) return undefined;
  const isThere = shown.memories.every(({ status }) => status === "present");
  return isThere
    ? { root: shown.checkpoint.root, ids: shown.memories.map(({ id }) => id) }
    : undefined;
}

function hashOf(engine: Engine, named: unknown): Uint8Array {
  const isHex = typeof named === "string" && /^[0-9a-f]{64}$/.test(named);
  const known = isHex ? fromHex(named) : parseHandle(named);
  if (known !== undefined) return known;
  try {
    return parse(engine, named).hash;
  } catch (error) {
    if (!isCortexError(error, "ERR_SCOPE_MALFORMED")) throw error;
    const expected = "a scope, its handle, or its hash in 64 hex digits";
    throw invalid("scope", expected, "another text", "ERR_SCOPE_MALFORMED");
  }
}

function accessOf(engine: Engine, { scope, hash }: Presented): ScopeAccess {
  const { grantedTo, grantedBy } = scope;
  return grantAccess({
    scope,
    hash,
    violated: (id, reason, mode) => {
      try {
        const key = `${grantedTo} ${grantedBy}`;
        engine.limiter.pass("violation", [{ gate: "scopeViolations", key }]);
      } catch (error) {
        if (isCortexError(error, "ERR_RATE_LIMITED")) return;
        throw error;
      }
      const record = violationRecord({ grantedTo, grantedBy, id, reason, mode });
      // Nobody waits for it: an answer that took longer would tell that there is something.
      engine.writer
        .submit({
          run: (tx) =>
            tx.append({
              kind: "scope_violation",
              by: holderOf(scope),
              parts: [{ subject: Uint8Array.of(SUBJECT.store), record }],
            }),
        })
        .catch(() => {
          // The refusal stands whether or not it could be recorded.
        });
    },
  });
}
