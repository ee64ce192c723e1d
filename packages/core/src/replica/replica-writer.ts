/**
 * The writer of a replica: takes pages of another store's journal, and nothing else.
 *
 * Nothing in a page is believed. Before it is committed every seq, time and part hash is checked, the
 * entries are folded by the one fold, and what comes out must be a prefix of the history that the
 * source's checkpoint states: the journal's root by a consistency proof, and where the page ends at the
 * checkpoint itself, every root. A page is one commit, so a kill leaves whole pages; one that does not
 * fit leaves nothing.
 *
 * Parts that the source has erased by now are missing in its pages; the forget that took them comes later in the
 * journal, and folding it removes whatever the replica still had. Until then a memory may stand here as it once
 * was. So whenever the replica is level with its source, no live memory may lack a part: if one does, the source
 * withholds it.
 *
 * Left to others: fetching pages and finding where two histories part (`follow.ts`), caches (the facade).
 */
import type { Sha256 } from "../codec/hash.js";
import { equalBytes, toHex } from "../codec/keys.js";
import { ulidText } from "../codec/ulid.js";
import { CortexError } from "../errors.js";
import { rowsAt, withSnapshot } from "../history/build-beside.js";
import { decodeHeadRow, type HeadRow } from "../history/head-row.js";
import { decodeMemoryRow } from "../history/pointers.js";
import { type CheckedRow, checkedEntry, foldRows } from "../history/replay.js";
import { decodeFollowStatus, replicaRow, sourceIn } from "../history/replica-mark.js";
import { RowCache } from "../history/row-cache.js";
import { journalRootAt, readRoots, type StoreRoots } from "../history/trees.js";
import { type Checkpoint, parseCheckpoint } from "../journal/checkpoint.js";
import { decodeEntry, decodeGenesis, type Entry, genesisOf, SUBJECT } from "../journal/entry.js";
import type { PageBytes } from "../journal/journal-page.js";
import { FOLLOW_KEY, idKey, journalKey, keyBytes, keyString, REPLICA_KEY } from "../kv/keyspace.js";
import {
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvCommit,
  type KvSnapshot,
  sameBytes,
} from "../kv/kv.js";
import { verifyConsistency } from "../merkle/log-proof.js";

/** What a replica is written with. */
interface ReplicaParts {
  readonly kv: Kv;
  readonly sha256: Sha256;
  /** Whose store it must be. */
  readonly actor: string;
  /** What it follows, as people would write it. */
  readonly source: string;
}

/** What became of a page. */
type PageOutcome =
  /** Somebody else moved the replica on: ask for another page. */
  | { readonly kind: "moved" }
  /** The source had another history before this page already. */
  | { readonly kind: "forked" }
  | TakenPage;

/** A page that was committed. */
export interface TakenPage {
  readonly kind: "taken";
  /** Entries that it brought. */
  readonly entries: number;
  /** Entries of the replica now, and of the source when the page was made. */
  readonly size: number;
  readonly sourceSize: number;
  /** The root over everything, in hex; checked against the source's where the two sizes agree. */
  readonly root: string;
  /** Memories that were forgotten in it. */
  readonly forgotten: readonly Bytes[];
}

/** Where the replica stands when a page comes. */
interface ReplicaState {
  readonly snapshot: KvSnapshot;
  readonly head: HeadRow;
  readonly headBytes: Bytes | undefined;
  readonly mark: Bytes | undefined;
}

/** See the file header. */
export class ReplicaWriter {
  readonly #parts: ReplicaParts;
  /** Tree rows as they are after our own last commit, whose head is `#lastHead`. */
  readonly #cache = new RowCache();
  #lastHead: Bytes | undefined;
  /** Memories with a part that did not come, since the replica was last level. */
  #missing: ReadonlySet<string> = new Set();
  /** Memories forgotten since then by pages that an earlier process took. */
  #forgotten: readonly Bytes[] = [];

  private constructor(parts: ReplicaParts) {
    this.#parts = parts;
  }

  /** Begins to write an empty store, or goes on with a replica; any other store is refused. */
  static async begin(parts: ReplicaParts): Promise<ReplicaWriter> {
    const writer = new ReplicaWriter(parts);
    await withSnapshot(parts.kv, (snapshot) => writer.#goOn(snapshot), { untilIdle: true });
    return writer;
  }

  /** Memories that were forgotten since the replica was last level, before this writer began. */
  get forgottenBefore(): readonly Bytes[] {
    return this.#forgotten;
  }

  /** Entries of the replica. */
  size(): Promise<number> {
    return this.#standing(async ({ head }) => head.size);
  }

  /** The root of the replica's first `size` entries. */
  rootAt(size: number): Promise<Uint8Array> {
    return this.#standing(({ snapshot }) => journalRootAt(this.#parts.sha256, snapshot, size));
  }

  /** Checks a page and commits it; see the file header. */
  async take(page: PageBytes): Promise<PageOutcome> {
    const checkpoint = parseCheckpoint(this.#parts.sha256, page.checkpoint);
    const { actor } = this.#parts;
    if (checkpoint.actor !== actor) {
      throw new CortexError(
        "ERR_ACTOR_MISMATCH",
        `the source belongs to actor ${checkpoint.actor}, expected ${actor}`,
        { expected: actor, got: checkpoint.actor },
      );
    }
    return this.#standing(async (standing) => {
      const { head, snapshot } = standing;
      if (page.from !== head.size) return { kind: "moved" };
      await checkOrigin(standing, checkpoint);
      const root = await journalRootAt(this.#parts.sha256, snapshot, head.size);
      if (!equalBytes(root, page.fromRoot)) return { kind: "forked" };
      checkExtent(page, head, checkpoint);
      return page.rows.length === 0
        ? this.#stay(standing, checkpoint)
        : this.#append(standing, page, checkpoint);
    });
  }

  /** Reads which parts the replica has been waiting for, and lets its mark name the source. */
  async #goOn(snapshot: KvSnapshot): Promise<void> {
    const keys = [HEAD_KEY, REPLICA_KEY, FOLLOW_KEY];
    const [headBytes, mark, status] = await snapshot.getMany(keys);
    if (headBytes === undefined) return;
    if (mark === undefined) throw notOurs();
    const { size } = decodeHeadRow(headBytes);
    const { levelSize } = decodeFollowStatus(status);
    const missing = new Set<string>();
    const forgotten: Bytes[] = [];
    for await (const row of rowsAt(snapshot, Math.min(levelSize, size), size)) {
      const entry = decodeEntry(row);
      for (const id of missingIn(entry)) missing.add(id);
      forgotten.push(...forgottenIn(entry));
    }
    this.#missing = missing;
    this.#forgotten = forgotten;
    const { kv, source } = this.#parts;
    if (sourceIn(mark) === source) return;
    const puts = [replicaRow(source)];
    await kv.commit({ expectHead: headBytes, head: headBytes, puts, deletes: [] });
  }

  async #standing<T>(use: (standing: ReplicaState) => Promise<T>): Promise<T> {
    return withSnapshot(this.#parts.kv, async (snapshot) => {
      const [headBytes, mark] = await snapshot.getMany([HEAD_KEY, REPLICA_KEY]);
      const head = decodeHeadRow(headBytes);
      // It was promoted meanwhile, or somebody made a store of the empty place.
      if (headBytes !== undefined && mark === undefined) throw notOurs();
      return use({ snapshot, head, headBytes, mark });
    });
  }

  /** A page without entries: only the source's checkpoint is new. */
  async #stay({ snapshot, head }: ReplicaState, checkpoint: Checkpoint): Promise<TakenPage> {
    const roots = await readRoots(this.#parts.sha256, snapshot, head);
    checkLevel(roots, checkpoint);
    await this.#checkNothingWithheld(snapshot, this.#missing);
    this.#missing = new Set();
    const { size } = head;
    const root = toHex(roots.overall);
    return { kind: "taken", entries: 0, size, sourceSize: size, root, forgotten: [] };
  }

  async #append(
    { snapshot, head, headBytes, mark }: ReplicaState,
    page: PageBytes,
    checkpoint: Checkpoint,
  ): Promise<PageOutcome> {
    const { kv, sha256, source } = this.#parts;
    const rows = checkRows(sha256, page, head, checkpoint);
    if (!sameBytes(headBytes, this.#lastHead)) this.#cache.clear();
    const { epoch } = page;
    const { commit, view } = await foldRows(snapshot, rows, { sha256, epoch }, this.#cache);
    const after = afterCommit(snapshot, commit);
    const roots = await readRoots(sha256, after, decodeHeadRow(commit.head));
    const isLevel = roots.size === checkpoint.size;
    if (isLevel) checkLevel(roots, checkpoint);
    else checkPrefix(sha256, roots, page, checkpoint);
    const missing = new Set(this.#missing);
    for (const { entry } of rows) for (const id of missingIn(entry)) missing.add(id);
    if (isLevel) await this.#checkNothingWithheld(after, missing);
    // The mark is no row of an entry; but the store must not be seen for a moment without it.
    const puts = mark === undefined ? [...commit.puts, replicaRow(source)] : commit.puts;
    const result = await kv.commit({ ...commit, puts });
    if (!result.ok) return { kind: "moved" };
    view.keepRows(this.#cache);
    this.#lastHead = commit.head;
    this.#missing = isLevel ? new Set() : missing;
    return {
      kind: "taken",
      entries: rows.length,
      size: roots.size,
      sourceSize: checkpoint.size,
      root: toHex(roots.overall),
      forgotten: rows.flatMap(({ entry }) => forgottenIn(entry)),
    };
  }

  /** Level with its source, a replica holds no memory of which it lacks a part. */
  async #checkNothingWithheld(
    after: Pick<KvSnapshot, "getMany">,
    missing: ReadonlySet<string>,
  ): Promise<void> {
    if (missing.size === 0) return;
    const ids = [...missing].map(keyBytes);
    const rows = await after.getMany(ids.map((id) => idKey("memory", id)));
    const at = rows.findIndex(
      (row) => row !== undefined && decodeMemoryRow(row).lifecycle !== "erased",
    );
    const id = ids[at];
    if (id === undefined) return;
    const subject = ulidText(id);
    throw new CortexError(
      "ERR_CORRUPT",
      `memory ${subject}: the source withholds a part of it, although nobody forgot it`,
      { subject },
    );
  }
}

function notOurs(): CortexError {
  return new CortexError(
    "ERR_EXISTS",
    "the store holds a history of its own; expected an empty one, or a replica",
  );
}

/** Checks that the source is the store that was followed before, and was never restored since. */
async function checkOrigin(
  { snapshot, head }: ReplicaState,
  checkpoint: Checkpoint,
): Promise<void> {
  if (head.size === 0) return;
  const [row] = await snapshot.getMany([journalKey(0)]);
  if (row === undefined) {
    throw new CortexError("ERR_JOURNAL_GAP", "journal entry 0 is missing", { seq: 0 });
  }
  const { storeId } = decodeGenesis(row);
  if (storeId === checkpoint.storeId) return;
  throw new CortexError(
    "ERR_FORK",
    `the source is another store, ${checkpoint.storeId}: its history differs from seq 0 on`,
    { seq: 0, expected: storeId, got: checkpoint.storeId },
  );
}

/** Checks what a page says of its own extent. */
function checkExtent(page: PageBytes, head: HeadRow, checkpoint: Checkpoint): void {
  if (head.size > 0 && page.epoch !== head.epoch) {
    throw new CortexError(
      "ERR_FORK",
      `the source was restored from a backup: it counts under epoch ${page.epoch}, the replica ` +
        `under ${head.epoch}; what was erased on the way is not known, so follow it anew`,
      { seq: head.size - 1, expected: String(head.epoch), got: String(page.epoch) },
    );
  }
  const end = page.from + page.rows.length;
  const isEnd = end === checkpoint.size;
  if (end > checkpoint.size || (page.rows.length === 0 && !isEnd)) {
    throw mismatch(end - 1, `${checkpoint.size} entries`, `a page that ends at ${end}`);
  }
}

/** Checks every entry of a page by itself, and that the last one ends its batch. */
function checkRows(
  sha256: Sha256,
  page: PageBytes,
  head: HeadRow,
  checkpoint: Checkpoint,
): readonly CheckedRow[] {
  let lastAt = head.size === 0 ? -1 : head.at;
  const rows = page.rows.map((row, at): CheckedRow => {
    const entry = checkedEntry(sha256, row, page.from + at, lastAt);
    lastAt = entry.header.at;
    return { entry, row };
  });
  const [first, last] = [rows[0]?.entry, rows.at(-1)?.entry.header];
  if (first?.header.seq === 0) {
    const { actor, storeId } = genesisOf(first);
    if (actor !== checkpoint.actor || storeId !== checkpoint.storeId) {
      throw mismatch(0, `the genesis of ${checkpoint.origin}`, "that of another store");
    }
  }
  const batch = last?.batch;
  if (batch !== undefined && last?.seq !== batch.first + batch.length - 1) {
    throw mismatch(last?.seq ?? 0, "whole batches", "a page that ends inside one");
  }
  return rows;
}

/** Where the replica ends with the source, everything must agree. */
function checkLevel(roots: StoreRoots, checkpoint: Checkpoint): void {
  const same =
    equalBytes(roots.journal, checkpoint.roots.journal) &&
    equalBytes(roots.overall, checkpoint.overall);
  if (same) return;
  throw mismatch(roots.size - 1, toHex(checkpoint.overall), toHex(roots.overall));
}

/** Where the source goes on, the journal so far must be a prefix of its own. */
function checkPrefix(
  sha256: Sha256,
  roots: StoreRoots,
  page: PageBytes,
  checkpoint: Checkpoint,
): void {
  try {
    verifyConsistency(sha256, {
      oldSize: roots.size,
      oldRoot: roots.journal,
      newSize: checkpoint.size,
      newRoot: checkpoint.roots.journal,
      path: page.consistency,
    });
  } catch (error) {
    const got = `journal root ${toHex(roots.journal)}, which does not lead there`;
    throw mismatch(roots.size - 1, "a prefix of what the checkpoint states", got, error);
  }
}

function mismatch(seq: number, expected: string, got: string, cause?: unknown): CortexError {
  return new CortexError(
    "ERR_ROOT_MISMATCH",
    `what the source sent does not lead to its own checkpoint: at seq ${seq} expected ${expected}, got ${got}`,
    { seq, expected, got },
    cause,
  );
}

/** What belongs to the store itself and is never erased. */
const NEVER_ERASED: ReadonlySet<number> = new Set([
  SUBJECT.store,
  SUBJECT.edgeKind,
  SUBJECT.config,
]);

/** The memories of which an entry lacks the state; a part that nobody may erase is refused. */
function missingIn({ header, parts }: Entry): readonly string[] {
  return header.parts.flatMap(({ subject, hash }, at) => {
    if (hash === null || parts[at] !== undefined) return [];
    const tag = subject[0] ?? -1;
    if (NEVER_ERASED.has(tag)) {
      const { seq } = header;
      const message = `journal entry ${seq}: part ${at} is missing, which is never erased`;
      throw new CortexError("ERR_CORRUPT", message, { seq });
    }
    return tag === SUBJECT.memory ? [keyString(subject.subarray(1))] : [];
  });
}

function forgottenIn({ header }: Entry): readonly Bytes[] {
  if (header.kind !== "forget") return [];
  return header.parts.flatMap(({ subject }) =>
    subject[0] === SUBJECT.memory ? [subject.subarray(1)] : [],
  );
}

/** A store as it would be after a commit. */
function afterCommit(
  snapshot: KvSnapshot,
  { puts, deletes }: KvCommit,
): Pick<KvSnapshot, "getMany"> {
  const changed = new Map<string, Bytes | undefined>();
  for (const { key, value } of puts) changed.set(keyString(key), value);
  for (const key of deletes) changed.set(keyString(key), undefined);
  return {
    async getMany(keys) {
      const unread = keys.filter((key) => !changed.has(keyString(key)));
      const values = unread.length === 0 ? [] : await snapshot.getMany(unread);
      const read = new Map(unread.map((key, at) => [keyString(key), values[at]]));
      return keys.map((key) => {
        const name = keyString(key);
        return changed.has(name) ? changed.get(name) : read.get(name);
      });
    },
  };
}
