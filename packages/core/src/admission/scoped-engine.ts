/**
 * The engine as the holder of a scope gets it: every verb is the same function, over storage and a
 * writer that keep to the scope. So a verb cannot forget to ask, and a new one is bounded from its
 * first day.
 *
 * Promises: a scope that was revoked, by whichever process, or that had expired when the last entry was
 * made, ends reads at the very snapshot they would have used and writes in the very commit they would
 * have joined. Inside a write, a memory that the
 * holder may not see is not there; an entry is appended only if everything in it lies within the scope:
 * memories before and after the change, and the near end of edges. What is refused leaves nothing but,
 * under a rate limit, a violation on record. Whose words the holder may change is `standing.ts`.
 */

import { toHex } from "../codec/keys.js";
import type { Engine } from "../engine/engine.js";
import { CortexError, isCortexError, refusal } from "../errors.js";
import { decodeHeadRow } from "../history/head-row.js";
import { decodeEdgeRow, decodeMemoryRow } from "../history/pointers.js";
import { hiding } from "../history/seen-snapshot.js";
import { SeenView } from "../history/seen-view.js";
import type { Draft, RecordDraft, WriteOperation, WriteTx, Written } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, KEYSPACE } from "../kv/keyspace.js";
import {
  around,
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvSnapshot,
  type KvSnapshotOptions,
} from "../kv/kv.js";
import { decodeEdgeRecord, type EdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord, type Head, type MemoryRecord } from "../records/memory-record.js";
import { type Access, mayChange, maySee, type ScopeAccess, speakerOf } from "../scope/access.js";
import { checkScopeTime, holderOf, scopeTime } from "../scope/scope.js";
import { heldToStanding } from "./standing.js";

/** The engine for an access: held to its standing, and narrowed to what it may see. */
export function engineFor(whole: Engine, access: Access): Engine {
  const speaker = speakerOf(access);
  const engine = speaker === undefined ? whole : heldToStanding(whole, speaker);
  if (access.kind === "owner") return engine;
  if (access.kind === "guest") return { ...engine, kv: hidingKv(engine.kv, access, whole.kv) };
  const { scope } = access;
  if (scope.actor !== engine.actor) {
    const message = `access: expected a scope of actor ${engine.actor}, got one of ${scope.actor}`;
    throw new CortexError("ERR_ACTOR_MISMATCH", message, { field: "access" });
  }
  checkScopeTime(scope, scopeTime(engine.clock));
  const { writer } = engine;
  return {
    ...engine,
    kv: hidingKv(unrevokedKv(engine.kv, access), access, whole.kv),
    writer: {
      submit: (operation) => submitWithin(engine, access, operation),
      invalidate: () => writer.invalidate(),
    },
    defaults: { visibility: "scoped", realm: holderOf(scope) },
  };
}

function revoked(): CortexError {
  const message = "scope: expected one that is in force, got one that was revoked";
  return new CortexError("ERR_SCOPE_REVOKED", message, { field: "scope" });
}

/** What callers see of each open store, kept from call to call: the last few callers of each. */
const VIEWS = new WeakMap<Kv, Map<string, SeenView>>();
const VIEWS_KEPT = 32;

function viewOf(store: Kv, access: Access): SeenView {
  const views = VIEWS.get(store) ?? new Map<string, SeenView>();
  VIEWS.set(store, views);
  const name = access.kind === "scope" ? toHex(access.hash) : access.kind;
  const view = views.get(name) ?? new SeenView(access);
  // Put back at the end: the one that was asked for longest ago goes first.
  views.delete(name);
  views.set(name, view);
  const [oldest] = views.keys();
  if (views.size > VIEWS_KEPT && oldest !== undefined) views.delete(oldest);
  return view;
}

/** Storage whose snapshots hold what the caller may see, and nothing else. */
function hidingKv(kv: Kv, access: Access, store: Kv): Kv {
  const snapshot = async (options?: KvSnapshotOptions): Promise<KvSnapshot> => {
    // What the caller sees is read as well: no call is brief.
    const whole = await kv.snapshot({ ...options, brief: false });
    try {
      const seen = await viewOf(store, access).at(whole);
      // A snapshot older than what is known already is looked through by itself.
      const own = seen ?? (await new SeenView(access).at(whole));
      if (own === undefined) throw new Error("a first look is never too late");
      return hiding(own);
    } catch (error) {
      whole.close();
      throw error;
    }
  };
  return around(kv, { snapshot });
}

/** Storage whose snapshots open only while the scope is in force. */
function unrevokedKv(kv: Kv, { hash, scope }: ScopeAccess): Kv {
  const key = idKey("revokedScope", hash);
  const snapshot = async (options?: KvSnapshotOptions): Promise<KvSnapshot> => {
    const opened = await kv.snapshot(options);
    try {
      const [row, head] = await opened.getMany([key, HEAD_KEY]);
      if (row !== undefined) throw revoked();
      if (head !== undefined) checkScopeTime(scope, decodeHeadRow(head).at);
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  };
  return around(kv, { snapshot });
}

async function submitWithin<T>(
  engine: Engine,
  access: ScopeAccess,
  operation: WriteOperation<T>,
): Promise<Written<T>> {
  const key = idKey("revokedScope", access.hash);
  let reached: Bytes | undefined;
  try {
    return await engine.writer.submit({
      ...operation,
      hints: [...(operation.hints ?? []), key],
      run: (tx) => {
        if (tx.view.get(key) !== undefined) throw revoked();
        checkScopeTime(access.scope, tx.at);
        const within = new ScopedTx(access, tx);
        try {
          return operation.run(within.tx);
        } finally {
          reached = within.reached;
        }
      },
    });
  } catch (error) {
    // Whatever the failure says, it came after reaching for a memory that is not the holder's.
    if (isCortexError(error) && reached !== undefined)
      access.violated(reached, "violation", "write");
    throw error;
  }
}

/** One run of an operation within a scope. */
class ScopedTx {
  /** The transaction that the operation gets. */
  readonly tx: WriteTx;
  /** The first memory beyond the scope that the operation met. */
  reached: Bytes | undefined;
  readonly #access: ScopeAccess;
  readonly #outer: WriteTx;

  constructor(access: ScopeAccess, outer: WriteTx) {
    this.#access = access;
    this.#outer = outer;
    const { view } = outer;
    this.tx = {
      ...outer,
      view: {
        get: (key) => (this.#isHiddenRow(key) ? undefined : view.get(key)),
        has: (key) => view.has(key),
        need: (keys, ranges) => view.need(keys, ranges),
        range: (range) => {
          const rows = view.range(range);
          for (const { key } of rows) this.#refuseHiddenMember(key);
          return rows;
        },
        assumeAbsent: (key) => view.assumeAbsent(key),
        isNear: view.isNear,
      },
      append: (draft) => {
        this.#checkDraft(draft);
        return outer.append(draft);
      },
    };
  }

  /** The Head of a memory before this entry; `undefined` where there is none, or it was forgotten. */
  #headOf(id: Bytes): Head | "none" | "erased" {
    const row = this.#outer.view.get(idKey("memory", id));
    if (row === undefined) return "none";
    const decoded = decodeMemoryRow(row);
    return decoded.lifecycle === "erased" ? "erased" : this.#outer.fold.records.head(decoded);
  }

  #isHidden(id: Bytes): boolean {
    const head = this.#headOf(id);
    if (head === "none") return false;
    if (head !== "erased" && maySee(this.#access, head, id)) return false;
    this.reached ??= id;
    return true;
  }

  #isHiddenRow(key: Bytes): boolean {
    if (key[0] === KEYSPACE.memory.byte) return this.#isHidden(key.subarray(1));
    if (key[0] !== KEYSPACE.edge.byte) return false;
    const row = this.#outer.view.get(key);
    if (row === undefined) return false;
    const { from, far } = decodeEdgeRow(row);
    return this.#isHidden(from) || this.#isHidden(far);
  }

  /**
   * A slot or a place in a session that a hidden memory holds is not free, and not to be taken; nor is
   * a memory brought back beside a hidden one that took its place.
   */
  #refuseHiddenMember(key: Bytes): void {
    const member = memberOf(key);
    if (member === undefined || !this.#isHidden(member)) return;
    throw refusal(
      "ERR_DENIED",
      "scope",
      "a slot, session or link whose memories the scope allows",
      "another",
    );
  }

  #checkDraft(draft: Draft): void {
    for (const part of draft.parts) this.#checkPart(draft, part);
  }

  #checkPart(draft: Draft, part: RecordDraft): void {
    const id = part.subject.subarray(1);
    switch (part.subject[0]) {
      case SUBJECT.memory:
        this.#checkMemory(draft, part, id);
        return;
      case SUBJECT.edge:
        this.#checkEdge(draft, part);
        return;
      case SUBJECT.attachment:
        if (this.#isHidden(id)) throw notThere();
        return;
      case SUBJECT.edgeKind:
        return;
      default:
        // What an attestation teaches belongs to the store; nothing else of the store is a holder's.
        if (draft.kind === "learn_weights") return;
        throw refusal(
          "ERR_DENIED",
          "scope",
          "a change of memories and edges",
          `an entry ${draft.kind}`,
        );
    }
  }

  #checkMemory(draft: Draft, part: RecordDraft, id: Bytes): void {
    if (part.record === null) throw refusal("ERR_DENIED", "scope", "a change", "a removal");
    const context = part.again?.first ?? { at: this.#outer.at, by: draft.by };
    const record = (part.decoded ?? decodeMemoryRecord(part.record, context)) as MemoryRecord;
    const before = this.#headOf(id);
    if (before === "erased" || (before !== "none" && !maySee(this.#access, before, id))) {
      this.reached ??= id;
      throw notThere();
    }
    this.#checkHead(record.head, before === "none" ? undefined : before, id);
  }

  #checkHead(after: Head, before: Head | undefined, id: Bytes): void {
    const expected = "a memory that the scope selects, before and after the change";
    const isWithin =
      mayChange(this.#access, after, id) &&
      (before === undefined || mayChange(this.#access, before, id));
    if (!isWithin) {
      this.reached ??= id;
      throw refusal("ERR_DENIED", "scope", expected, "another");
    }
    if (after.visibility === "public" && before?.visibility !== "public") {
      throw refusal("ERR_DENIED", "visibility", "scoped, as only the owner makes public", "public");
    }
  }

  #checkEdge(draft: Draft, part: RecordDraft): void {
    if (part.record === null) throw refusal("ERR_DENIED", "scope", "a change", "a removal");
    const context = part.again?.first ?? { at: this.#outer.at, by: draft.by };
    const edge = (part.decoded ?? decodeEdgeRecord(part.record, context)) as EdgeRecord;
    const { from, to } = edge;
    if (!(to instanceof Uint8Array))
      throw refusal("ERR_DENIED", "to", "a memory of this graph", "a symlink");
    if (this.#isHidden(from) || this.#isHidden(to)) throw notThere();
    const head = this.#headOf(from);
    // An end that this very entry writes is checked as one of its parts.
    if (head !== "none" && (head === "erased" || !mayChange(this.#access, head, from))) {
      this.reached ??= from;
      throw refusal("ERR_DENIED", "from", "a memory that the scope selects", "another");
    }
  }
}

/** The memory that a row of a range is about, beside the one that was asked about. */
function memberOf(key: Bytes): Bytes | undefined {
  switch (key[0]) {
    case KEYSPACE.index.byte:
      return key.subarray(-16);
    case KEYSPACE.edgeOut.byte:
    case KEYSPACE.edgeIn.byte:
      return key.subarray(20, 36);
    default:
      return undefined;
  }
}

/** A memory that the scope hides and one that is not there fail alike, so that a refusal tells nothing. */
function notThere(): CortexError {
  return new CortexError("ERR_NOT_FOUND", "id: expected a memory or an edge, got one that is none");
}
