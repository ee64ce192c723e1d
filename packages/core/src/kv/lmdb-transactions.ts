/**
 * What is done to an LMDB file in transactions of its engine: states that are read from, for the length of an operation or
 * of one call; and what a commit meets inside its write transaction: the head it expects, one that moved on, or a
 * construction that makes writers wait (`hold`).
 *
 * Promise: what `kv.ts` asks of a snapshot. When one begins, in which file, and who follows and waits is left to
 * `lmdb-backend.ts`.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { CortexError } from "../errors.js";
import {
  assertRange,
  type Bytes,
  HEAD_KEY,
  isHeadKey,
  isMovedHead,
  JOURNAL_KEY_BYTE,
  type KvAtOnce,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  type KvSnapshotOptions,
  type OnEntry,
  sameBytes,
  showEntries,
  showFound,
} from "./kv.js";
import { reading, storageError } from "./lmdb-failures.js";
import { GONE, type LmdbFile, type LmdbRead, ROLL_BACK } from "./lmdb-file.js";

/** Rows of one snapshot after which the event loop gets its turn: one call may look through a whole store. */
const ROWS_PER_TURN = 4096;

/** A read that has begun: of which file, and its head row, which was read to see whether the store has moved. */
interface Begun {
  readonly file: LmdbFile;
  readonly read: LmdbRead;
  readonly head: Bytes | undefined;
}

/** A snapshot for one operation. */
export class LmdbSnapshot implements KvSnapshot {
  /** From when on its age counts: when it was taken, or last used. */
  freshMs = performance.now();
  readonly #file: LmdbFile;
  /** Read to see whether the store has moved, and wanted by nearly everybody. */
  readonly #head: Bytes | undefined;
  readonly #siblings: Set<LmdbSnapshot>;
  readonly #untilIdle: boolean;
  readonly #onEntry: OnEntry | undefined;
  #rowsThisTurn = 0;
  #read: LmdbRead | undefined;

  constructor(begun: Begun, siblings: Set<LmdbSnapshot>, options: KvSnapshotOptions) {
    const { file, read, head } = begun;
    this.#file = file;
    this.#head = head;
    this.#untilIdle = options.untilIdle === true;
    this.#onEntry = options.onEntry;
    this.#read = read;
    this.#siblings = siblings;
    siblings.add(this);
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    if (this.#isLong()) await nextTurn();
    const read = this.#reading();
    this.#rowsThisTurn += keys.length;
    return reading(() => this.#found(keys, read));
  }

  #found(keys: readonly Bytes[], read: LmdbRead): (Bytes | undefined)[] {
    const values = keys.map((key) => (isHeadKey(key) ? this.#head : this.#file.get(key, read)));
    showFound(this.#onEntry, keys, values);
    return values;
  }

  getNow(key: Bytes): Bytes | undefined {
    const read = this.#reading();
    this.#rowsThisTurn += 1;
    return isHeadKey(key) ? this.#head : rowNow(this.#file, read, key, this.#onEntry);
  }

  lookNow<T>(key: Bytes, look: (value: Bytes) => T): T | undefined {
    const read = this.#reading();
    this.#rowsThisTurn += 1;
    if (isHeadKey(key)) return this.#head === undefined ? undefined : look(this.#head);
    return lookAt(this.#file, read, key, look, this.#onEntry);
  }

  async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    if (this.#isLong()) await nextTurn();
    const found = rangesNow(this.#file, this.#reading(), ranges, this.#onEntry);
    for (const rows of found) this.#rowsThisTurn += rows.length;
    return found;
  }

  rangeNow(range: KvRange): readonly KvRow[] {
    const [rows = []] = rangesNow(this.#file, this.#reading(), [range], this.#onEntry);
    this.#rowsThisTurn += rows.length;
    return rows;
  }

  close(): void {
    const read = this.#read;
    if (read === undefined) return;
    this.#read = undefined;
    this.#siblings.delete(this);
    this.#file.endRead(read);
  }

  /** Whether it is time to let the process do something else: long work reads from one snapshot. */
  #isLong(): boolean {
    const isLong = this.#rowsThisTurn >= ROWS_PER_TURN;
    if (isLong) this.#rowsThisTurn = 0;
    return isLong;
  }

  #reading(): LmdbRead {
    if (this.#read === undefined) {
      throw new CortexError("ERR_CLOSED", "the snapshot is closed, or was held for too long");
    }
    if (this.#untilIdle) this.freshMs = performance.now();
    return this.#read;
  }
}

/** The rows of a read that ends with the call it is for. */
export class LmdbNow implements KvAtOnce {
  readonly #begun: Begun;
  readonly #onEntry: OnEntry | undefined;

  constructor(begun: Begun, onEntry: OnEntry | undefined) {
    this.#begun = begun;
    this.#onEntry = onEntry;
  }

  getNow(key: Bytes): Bytes | undefined {
    const { file, read, head } = this.#begun;
    return isHeadKey(key) ? head : rowNow(file, read, key, this.#onEntry);
  }

  lookNow<T>(key: Bytes, look: (value: Bytes) => T): T | undefined {
    const { file, read, head } = this.#begun;
    if (isHeadKey(key)) return head === undefined ? undefined : look(head);
    return lookAt(file, read, key, look, this.#onEntry);
  }

  rangeNow(range: KvRange): readonly KvRow[] {
    const { file, read } = this.#begun;
    return rangesNow(file, read, [range], this.#onEntry)[0] ?? [];
  }
}

/** The rows of ranges, shown to whoever wants to see those of the journal. */
function rangesNow(
  file: LmdbFile,
  read: LmdbRead,
  ranges: readonly KvRange[],
  onEntry: OnEntry | undefined,
): KvRow[][] {
  for (const range of ranges) assertRange(range);
  return reading(() => {
    const found = ranges.map((range) => file.range(range, read));
    showEntries(onEntry, ranges, found);
    return found;
  });
}

/** One row, shown to whoever wants to see those of the journal; without a list or a function made for it. */
function rowNow(
  file: LmdbFile,
  read: LmdbRead,
  key: Bytes,
  onEntry: OnEntry | undefined,
): Bytes | undefined {
  let value: Bytes | undefined;
  try {
    value = file.get(key, read);
  } catch (error) {
    throw storageError(error, "the read failed");
  }
  if (value !== undefined && key[0] === JOURNAL_KEY_BYTE) onEntry?.(key, value);
  return value;
}

/** What `look` makes of one row where it stands, after it was shown to whoever wants to see those of the journal. */
function lookAt<T>(
  file: LmdbFile,
  read: LmdbRead,
  key: Bytes,
  look: (value: Bytes) => T,
  onEntry: OnEntry | undefined,
): T | undefined {
  let value: Bytes | undefined;
  try {
    value = file.lend(key, read);
  } catch (error) {
    throw storageError(error, "the read failed");
  }
  if (value === undefined) return undefined;
  if (key[0] === JOURNAL_KEY_BYTE) onEntry?.(key, value);
  return look(value);
}

/** How long writers wait for a construction that was heard of last this long ago. */
const HOLD_MS = 5000;

/** What became of a write. */
export type Met =
  | { readonly outcome: "written" }
  | { readonly outcome: "moved" }
  | { readonly outcome: "held" }
  | { readonly outcome: "lost"; readonly head: Bytes | undefined };

/**
 * Runs `body` in a write transaction if the head is still the expected one and nobody else holds
 * the store. A `holder` must hold it still: if not, somebody wrote, and the race is lost.
 */
export function writeIf(
  file: LmdbFile,
  agrees: (head: Bytes | undefined) => boolean,
  body: () => void,
  holder?: string,
): Met {
  let head: Bytes | undefined;
  let held = false;
  const result = file.write(() => {
    head = file.get(HEAD_KEY);
    if (isMovedHead(head) || !agrees(head)) return ROLL_BACK;
    const hold = file.hold();
    if (holder !== undefined && hold?.holder !== holder) return ROLL_BACK;
    held = holder === undefined && hold !== undefined && hold.untilMs > Date.now();
    if (held) return ROLL_BACK;
    if (hold !== undefined) file.removeHold();
    body();
    return true;
  });
  if (result === GONE) return { outcome: "moved" };
  if (result !== ROLL_BACK) return { outcome: "written" };
  if (held) return { outcome: "held" };
  return isMovedHead(head) ? { outcome: "moved" } : { outcome: "lost", head };
}

/** Whether the head is the expected one. */
export function agreesWith(expectHead: Bytes | undefined): (head: Bytes | undefined) => boolean {
  return (head) => sameBytes(head, expectHead);
}

/** Starts or prolongs a hold. */
export function takeHold(file: LmdbFile, holder: string): "taken" | "moved" | "held" {
  let outcome: "taken" | "moved" | "held" = "taken";
  const result = file.write(() => {
    const hold = file.hold();
    const foreign = hold !== undefined && hold.holder !== holder && hold.untilMs > Date.now();
    outcome = isMovedHead(file.get(HEAD_KEY)) ? "moved" : foreign ? "held" : "taken";
    if (outcome !== "taken") return ROLL_BACK;
    file.putHold(holder, Date.now() + HOLD_MS);
    return true;
  });
  return result === GONE ? "moved" : outcome;
}

/** Lets writers go on, if this holder still holds them. */
export function endHold(file: LmdbFile, holder: string): void {
  try {
    file.write(() => {
      if (file.hold()?.holder !== holder) return ROLL_BACK;
      file.removeHold();
      return true;
    });
  } catch {
    // On a full disk, say: then it ends by itself.
  }
}
