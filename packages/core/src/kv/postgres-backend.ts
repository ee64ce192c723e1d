/**
 * The Postgres backend: the stores of many actors in one database, for any number of processes and
 * machines. Tables and statements are in `postgres-tables.ts`, connections in `postgres-session.ts`.
 *
 * Promises: what `kv.ts` asks. A read transaction starts with the first read of a snapshot and lasts until it is
 * closed; what is asked at one moment goes over in one message, with the start of the transaction in the first.
 * A commit is one message too: it takes the head row, which tells whether it had it, then changes rows if it
 * has. Only a commit that lost asks what stood in its way.
 *
 * When a connection breaks during a commit, nobody knows whether it took effect. The backend then raises the
 * fence of the head row, which waits for the commit if it is under way and shuts it out if it is not, and looks:
 * the head row has the commit's stamp, or the journal has its entries; otherwise the commit was not made, and is
 * sent again. This and the first read of a snapshot are tried until `?retry=` seconds have passed, with pauses
 * that grow and differ.
 */
import { randomBytes, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CortexError } from "../errors.js";
import {
  assertCommit,
  assertMovedHead,
  assertRows,
  type Bytes,
  type Kv,
  type KvBegun,
  type KvCacheCommit,
  type KvCommit,
  type KvCommitResult,
  type KvGeneration,
  type KvManifest,
  type KvNumbers,
  type KvReport,
  type KvRow,
  type KvSnapshot,
  type KvSnapshotOptions,
  removedStore,
  sameBytes,
} from "./kv.js";
import { readAddress } from "./postgres-address.js";
import { BegunCommit } from "./postgres-begun.js";
import { commitRows, rowChanges } from "./postgres-commits.js";
import { copyLeft, findLeft, removeRetired } from "./postgres-left.js";
import { Patience } from "./postgres-patience.js";
import { joinPool, type PostgresPool } from "./postgres-session.js";
import { PostgresSnapshot } from "./postgres-snapshot.js";
import * as sql from "./postgres-tables.js";
import {
  type Answer,
  isContended,
  isDuplicate,
  isPassing,
  isRefusedRace,
} from "./postgres-wire.js";

/** How to open a store. */
export interface PostgresKvOptions {
  /** Make tables where there are none; true by default. */
  readonly create?: boolean;
  /** Commits do not wait for the server's disk: a crash of the server may lose the last ones. */
  readonly relaxed?: boolean;
  readonly readOnly?: boolean;
}

/** How long writers wait for a construction that was heard of last this long ago. */
const HOLD_MS = 5000;
const HELD_PAUSE_MS = 10;
const EMPTY = new Uint8Array(0);
const GENERATIONS = 0x7fff_ffff;
/** The prefix of journal rows: they tell whether a commit was made. */
const JOURNAL_BYTE = 0x01;

/** Opens the store of an actor in the database at an address. */
export async function openPostgresKv(
  location: string,
  actor: string,
  options: PostgresKvOptions = {},
): Promise<Kv> {
  const address = readAddress(location);
  const create = options.create !== false && options.readOnly !== true;
  const pool = await joinPool(address, create);
  const place = { actor: `${address.hub}/${actor}`, slot: 0 };
  return new PostgresKv(pool, place, options);
}

/** Removes the store of an actor, in one transaction; one that is not there is no failure. */
export async function removePostgresStore(location: string, actor: string): Promise<void> {
  const address = readAddress(location);
  const pool = await joinPool(address, false);
  try {
    await pool.transact(sql.removeActor(`${address.hub}/${actor}`));
  } finally {
    await pool.leave();
  }
}

export { type ForeignDatabase, openForeignDatabase } from "./postgres-foreign.js";
export { COMMIT_BOUNDS_MS, type PostgresCounts, postgresCounts } from "./postgres-session.js";

/** What became of a try to change something. */
interface Told {
  readonly generation: number;
  readonly fence: number;
  readonly head: Bytes | undefined;
  readonly isDone: boolean;
  readonly isHeld: boolean;
  readonly stamp: Bytes | undefined;
}

class PostgresKv implements Kv {
  readonly manifest: KvManifest;
  readonly shared: KvNumbers;
  readonly #pool: PostgresPool;
  readonly #place: sql.Place;
  readonly #options: PostgresKvOptions;
  readonly #snapshots = new Set<PostgresSnapshot>();
  readonly #constructions = new Set<Construction>();
  /** What was seen last; a commit on top of anything else is told so and starts over. */
  #seen: { readonly generation: number; readonly fence: number } | undefined;
  #open = true;
  /** What was left of a construction that was broken off, if it was found. */
  #left: number | undefined;
  /** Of a construction: the stamp of its last change, without which there is none on top of it. */
  #after: Bytes | undefined;
  /** Of a construction: its last change, behind which the next one goes. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(pool: PostgresPool, place: sql.Place, options: PostgresKvOptions) {
    this.#pool = pool;
    this.#place = place;
    this.#options = options;
    this.shared = pool.shared;
    const relaxed = options.relaxed === true;
    this.manifest = {
      name: "postgres",
      durable: !relaxed,
      syncMode: relaxed ? "synchronous_commit off" : "synchronous_commit as the server has it",
      multiProcess: true,
      isRemote: true,
      generations: place.slot === 0 && options.readOnly !== true,
    };
    if (place.slot !== 0) this.#seen = { generation: place.slot, fence: 0 };
  }

  async snapshot(options: KvSnapshotOptions = {}): Promise<KvSnapshot> {
    this.#assertOpen();
    return new PostgresSnapshot(this.#pool, this.#place, this.#seen?.generation, {
      isOpen: () => this.#open,
      onGeneration: (generation) => this.#follow(generation),
      onMissing: () => this.#checkThere(),
      siblings: this.#snapshots,
      // Whoever reads everything comes back to nothing.
      keeps: options.untilIdle !== true,
      isBrief: options.brief === true,
      onEntry: options.onEntry,
    });
  }

  /** Not where connections are another's: there a transaction is one message. */
  async begin(expectHead: Bytes): Promise<KvBegun | undefined> {
    this.#assertWritable();
    const seen = this.#seen;
    if (seen === undefined || !this.#pool.mayBeAlone) return undefined;
    const claim = { ...this.#place, ...seen, stamp: newStamp() };
    // Why it cannot be had now, if it cannot, is told to the commit that follows.
    return BegunCommit.begin(this.#pool, claim, expectHead, this.#settings).catch(() => undefined);
  }

  async commit(change: KvCommit): Promise<KvCommitResult> {
    this.#assertWritable();
    assertCommit(change);
    try {
      return await this.#commit(change);
    } catch (error) {
      if (change.isNew === undefined || !isDuplicate(error)) throw error;
    }
    // A row that was held to be new was there: then all of them are looked at.
    const { isNew: _, begun: __, ...rest } = change;
    return this.#commit(rest);
  }

  async #commit(change: KvCommit): Promise<KvCommitResult> {
    const isSame = sameBytes(change.expectHead, change.head);
    const begun = change.begun instanceof BegunCommit ? change.begun : undefined;
    const rest = begun?.restOf(change);
    if (rest === undefined) await begun?.end();
    const told = await this.#try((claim) => [commitRows(claim, rowChanges(change))], {
      isWhole: true,
      expectHead: change.expectHead,
      isPresumed: change.absent !== undefined,
      ...(begun === undefined || rest === undefined
        ? {}
        : { begun: { claim: begun.claim, finish: () => begun.finish(rest) } }),
      mayBegin: change.expectHead === undefined,
      proof: isSame ? undefined : change.puts.find(({ key }) => key[0] === JOURNAL_BYTE),
    });
    return told?.isDone === true ? { ok: true } : { ok: false, head: told?.head };
  }

  async commitCaches(change: KvCacheCommit): Promise<boolean> {
    this.#assertWritable();
    assertRows(change);
    const { expect } = change;
    const told = await this.#try((claim) => [
      sql.claimHead(claim),
      sql.unclaimUnless(
        claim,
        expect.map(({ key }) => key),
        expect.map(({ value }) => value),
      ),
      ...(change.deletes.length === 0 ? [] : [sql.deleteRows(claim, change.deletes)]),
      ...(change.puts.length === 0 ? [] : [sql.putRows(claim, change.puts)]),
    ]);
    return told?.isDone === true;
  }

  async nextGeneration(): Promise<KvGeneration> {
    return this.#handleOf(await this.#construct());
  }

  async leftGeneration(): Promise<KvGeneration | undefined> {
    this.#assertOpen();
    const { actor } = this.#place;
    const left = this.manifest.generations ? await findLeft(this.#pool, actor) : undefined;
    if (left === undefined) return undefined;
    this.#left = left.generation;
    const construction = await this.#construct();
    try {
      if (await copyLeft(this.#pool, actor, left, construction.number)) {
        return this.#handleOf(construction);
      }
    } catch (error) {
      await this.#abandon(construction);
      throw error;
    }
    await this.#abandon(construction);
    return undefined;
  }

  async #construct(): Promise<Construction> {
    this.#assertOpen();
    if (!this.manifest.generations) {
      throw new CortexError("ERR_UNSUPPORTED", "this handle cannot start a generation");
    }
    const { actor } = this.#place;
    await removeRetired(this.#pool, actor);
    const number = newGeneration();
    await this.#pool.insist([sql.startConstruction(actor, number)]);
    this.#pool.join();
    const kv = new PostgresKv(this.#pool, { actor, slot: number }, {});
    const construction = { kv, number, holder: undefined };
    this.#constructions.add(construction);
    return construction;
  }

  #handleOf(construction: Construction): KvGeneration {
    return {
      kv: construction.kv,
      promote: (expectHead, movedHead) => this.#promote(construction, expectHead, movedHead),
      abandon: () => this.#abandon(construction),
      hold: () => this.#hold(construction),
    };
  }

  async sizeBytes(): Promise<number> {
    this.#assertOpen();
    const [answer] = await this.#pool.insist([sql.readSize(this.#place.actor)]);
    return Number(answer?.[0]?.[0] ?? 0);
  }

  async report(): Promise<KvReport> {
    const { commits, commitMs, lostRaces, heldWaits, ...pool } = this.#pool.counts();
    const { connections, busy, most, waiting } = pool;
    const own = { commits, lostRaces, heldWaits, connections, busy, most, waiting };
    const average = commits === 0 ? 0 : commitMs / commits;
    return { ...own, commitMs: average, ...(await this.#askServer()) };
  }

  /** What the server says of itself; nothing where it knows no such tables or may not tell. */
  async #askServer(): Promise<Pick<KvReport, "lockWaits" | "lagSeconds">> {
    try {
      const [answer] = await this.#pool.transact([sql.READ_STATE]);
      const [lockWaits, lag] = answer?.[0] ?? [];
      return {
        ...(typeof lockWaits === "number" ? { lockWaits } : {}),
        ...(typeof lag === "string" ? { lagSeconds: Number(lag) } : {}),
      };
    } catch (error) {
      if (isPassing(error)) throw error;
      return {};
    }
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    for (const construction of [...this.#constructions]) await this.#abandon(construction);
    this.#open = false;
    await Promise.all([...this.#snapshots].map((snapshot) => snapshot.end()));
    await this.#pool.leave();
  }

  #assertOpen(): void {
    if (!this.#open) throw new CortexError("ERR_CLOSED", "the store is closed");
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (this.#options.readOnly === true) {
      throw new CortexError("ERR_UNSUPPORTED", "the store is read-only");
    }
  }

  /** Refuses to go on where a store that this handle has seen is there no more: removed, or set back to before it. */
  #checkThere(): void {
    if (this.#seen !== undefined && this.#place.slot === 0) throw removedStore();
  }

  #follow(generation: number): void {
    if (this.#seen?.generation !== generation) this.#seen = { generation, fence: 0 };
  }

  /** What a transaction of this handle is told. */
  get #settings(): readonly sql.Statement[] {
    return this.#options.relaxed === true ? [sql.setLocal("synchronous_commit", "off")] : [];
  }

  /**
   * Makes a change. Nobody else changes a construction: each change names the one before it, so that none is made where
   * the database has lost that, as a standby may that was behind.
   */
  #try(
    statements: (claim: sql.Claim) => readonly sql.Statement[],
    options: TryOptions = {},
  ): Promise<Told | undefined> {
    if (this.#place.slot === 0) return this.#change(statements, options);
    const made = this.#turn.then(() => this.#change(statements, options));
    this.#turn = made.catch(() => {});
    return made;
  }

  /** Takes what a construction was told; throws where it is not the one that was left. */
  #keepAfter(claim: sql.Claim, told: Told): void {
    if (this.#place.slot === 0) return;
    // A claim that was given up leaves its stamp with a byte behind it.
    const isOurs = sameBytes(told.stamp?.subarray(0, claim.stamp.length), claim.stamp);
    if (!isOurs && this.#after !== undefined && !sameBytes(told.stamp, this.#after)) {
      throw lostConstruction();
    }
    if (isOurs) this.#after = told.stamp;
  }

  /** Whether a construction is in the database as it was left. */
  async #isWhole(): Promise<boolean> {
    const [found] = await this.#pool.insist([sql.readClaim(this.#place, EMPTY)]);
    return sameBytes(toldBy(found)?.stamp, this.#after);
  }

  /**
   * Takes the head row, does what follows, learns how it ended. Starts over where the
   * store has moved or is held. `undefined` where there is no store.
   */
  async #change(
    statements: (claim: sql.Claim) => readonly sql.Statement[],
    options: TryOptions,
  ): Promise<Told | undefined> {
    const { isWhole = false, isPresumed = false } = options;
    const patience = new Patience(this.#pool.address.retryMs);
    const { tally } = this.#pool;
    const startedMs = performance.now();
    let { begun } = options;
    for (;;) {
      const seen = this.#seen ?? { generation: newGeneration(), fence: 0 };
      const after = this.#after === undefined ? {} : { after: this.#after };
      const claim = begun?.claim ?? { ...this.#place, ...seen, stamp: newStamp(), ...after };
      let told: Told | undefined;
      try {
        const asks = isWhole ? [] : [sql.readClaim(this.#place, claim.stamp)];
        const finish = begun?.finish;
        begun = undefined;
        const ended = await finish?.();
        if (finish !== undefined && ended === undefined) continue;
        const answers =
          ended === undefined
            ? await this.#pool.transact([...statements(claim), ...asks], this.#settings)
            : [ended];
        if (isPresumed && answers[0]?.length !== 1) return undefined;
        told = isWhole ? await this.#toldFirst(claim, answers[0]) : toldBy(answers.at(-1));
      } catch (error) {
        if (isRefusedRace(error)) continue;
        if (isContended(error)) tally.lockTimeouts += 1;
        if (!isPassing(error)) throw error;
        tally.retries += 1;
        await patience.pause(error);
        tally.lookedUp += 1;
        told = await this.#lookAfter(claim, options, patience);
        if (told?.isDone === false) continue;
      }
      if (told !== undefined) {
        this.#seen = { generation: told.generation, fence: told.fence };
        this.#keepAfter(claim, told);
      }
      if (told?.isDone === true) {
        this.#pool.tellCommit(performance.now() - startedMs);
        return told;
      }
      if (told === undefined) {
        this.#checkThere();
        return told;
      }
      if (told.isHeld) {
        tally.heldWaits += 1;
        await sleep(HELD_PAUSE_MS * (1 + Math.random()));
      } else if (told.generation === seen.generation && told.fence === seen.fence) {
        // Who held the store has let it go between the refusal and the question why.
        if (isWhole && sameBytes(told.head, options.expectHead)) continue;
        tally.lostRaces += 1;
        return told;
      }
    }
  }

  /** A claim that gave a row was had; whoever gave none asks what is there instead. */
  async #toldFirst(claim: sql.Claim, answer: Answer | undefined): Promise<Told | undefined> {
    const { generation, fence, stamp } = claim;
    if (answer?.length === 1) {
      return { generation, fence, head: undefined, isDone: true, isHeld: false, stamp };
    }
    const [found] = await this.#pool.transact([sql.readClaim(this.#place, stamp)]);
    return toldBy(found);
  }

  /**
   * After a broken connection: whether the change was made. From here on it can no longer be. `undefined` where the
   * store that it was to change is there no more.
   */
  async #lookAfter(
    claim: sql.Claim,
    { proof, madeBy, mayBegin = false }: TryOptions,
    patience: Patience,
  ): Promise<Told | undefined> {
    for (;;) {
      try {
        const answers = await this.#pool.transact([
          sql.raiseFence(this.#place, claim.generation, mayBegin),
          sql.readClaim(this.#place, claim.stamp),
        ]);
        const told = toldBy(answers[1]);
        if (told === undefined) return undefined;
        this.#seen = { generation: told.generation, fence: told.fence };
        if (told.isDone || madeBy?.(told) === true) return { ...told, isDone: true };
        if (proof === undefined) return told;
        // Others may have written since: then the journal tells.
        const read = sql.readKeys(claim.actor, told.generation, [proof.key]);
        const [found] = await this.#pool.transact([read]);
        return { ...told, isDone: sameBytes(found?.[0]?.[1] as Bytes | undefined, proof.value) };
      } catch (error) {
        if (!isPassing(error) && !isRefusedRace(error)) throw error;
        await patience.pause(error, "whether the last write was made will be seen in the journal");
      }
    }
  }

  async #promote(
    construction: Construction,
    expectHead: Bytes | undefined,
    movedHead: Bytes,
  ): Promise<KvCommitResult> {
    assertMovedHead(movedHead);
    this.#assertOpen();
    construction.kv.#assertOpen();
    const { number, holder } = construction;
    const told = await this.#try(
      (claim) => [
        sql.promoteHead(claim, number, expectHead, { holder, built: construction.kv.#after }),
        ...sql.retireOld(claim, number),
      ],
      {
        madeBy: ({ generation }) => generation === number,
        mayBegin: expectHead === undefined,
      },
    );
    if (told?.isDone !== true) {
      construction.holder = undefined;
      if (!(await construction.kv.#isWhole())) throw lostConstruction();
      return { ok: false, head: told?.head };
    }
    this.#constructions.delete(construction);
    await construction.kv.close();
    // Others sweep what could not be removed now.
    await this.#sweep(expectHead === undefined).catch(() => {});
    return { ok: true };
  }

  /** Removes the store that was replaced. Beside one that has begun, nothing left of a beginning can take its place any more. */
  async #sweep(hasBegun: boolean): Promise<void> {
    const { actor } = this.#place;
    if (hasBegun && this.#left !== undefined) {
      await this.#pool.transact([sql.retireConstruction(actor, this.#left)]);
    }
    await removeRetired(this.#pool, actor);
  }

  async #hold(construction: Construction): Promise<void> {
    const holder = construction.holder ?? newStamp();
    for (;;) {
      const answers = await this.#pool.insist([
        sql.holdHead(this.#place, holder, HOLD_MS),
        sql.readHold(this.#place, holder),
      ]);
      const isHeld = answers[1]?.[0]?.[0];
      if (isHeld === true) construction.holder = holder;
      // No row: a store not yet born has no writers to wait.
      if (isHeld !== false) return;
      await sleep(HELD_PAUSE_MS * (1 + Math.random()));
    }
  }

  async #abandon(construction: Construction): Promise<void> {
    if (!this.#constructions.delete(construction)) return;
    const { kv, number, holder } = construction;
    await kv.close();
    const { actor } = this.#place;
    const unhold = holder === undefined ? [] : [sql.endHold(this.#place, holder)];
    try {
      await this.#pool.transact([...unhold, sql.retireConstruction(actor, number)]);
      await removeRetired(this.#pool, actor);
    } catch (error) {
      // The server is away, say: then the next construction sweeps it.
      if (!isPassing(error)) throw error;
    }
  }
}

/** How the outcome of a change is learned. */
interface TryOptions {
  /** Whether it is one statement, which gives a row where the head row was had. */
  readonly isWhole?: boolean;
  /** The head on top of which it is made, where it is one statement. */
  readonly expectHead?: Bytes | undefined;
  /** Whether it was made on a presumption: where that does not hold, nobody asks what is there instead. */
  readonly isPresumed?: boolean;
  /** What was begun of it, which is tried first. */
  readonly begun?: {
    readonly claim: sql.Claim;
    readonly finish: () => Promise<Answer | undefined>;
  };
  /** After a broken connection: the row of the journal that it would have left; see the file header. */
  readonly proof?: KvRow | undefined;
  /** The same of what the head row says now. */
  readonly madeBy?: (told: Told) => boolean;
  /** The same: whether it may begin a store where there is none. */
  readonly mayBegin?: boolean;
}

interface Construction {
  readonly kv: PostgresKv;
  readonly number: number;
  /** Its name while it makes writers wait. */
  holder: Bytes | undefined;
}

/** A name that no other change bears: a process draws its part once and counts. */
function newStamp(): Bytes {
  stamps += 1;
  const stamp = Buffer.alloc(12, stampsOf);
  stamp.writeUInt32BE(stamps % 0x1_0000_0000, 8);
  return stamp;
}

const stampsOf = randomBytes(8);
let stamps = 0;

/** The failure of building where a part of what was built is there no more. */
function lostConstruction(): CortexError {
  return new CortexError(
    "ERR_UNREACHABLE",
    "the database was set back while a store was being built in it, and a part of that is lost; nothing else was changed: run it again",
  );
}

function newGeneration(): number {
  return randomInt(1, GENERATIONS);
}

function toldBy(answer: Answer | undefined): Told | undefined {
  const [row] = answer ?? [];
  if (row === undefined) return undefined;
  const [generation, fence, head, isDone, isHeld, stamp] = row;
  return {
    generation: Number(generation),
    fence: Number(fence),
    head: head as Bytes | undefined,
    isDone: isDone === true,
    isHeld: isHeld === true,
    stamp: stamp as Bytes | undefined,
  };
}
