/**
 * Upgrading a store that an older release wrote: everything derived is built again from the journal,
 * in the form of this release.
 *
 * The journal itself is never rewritten; one entry is added that says from what to what. Order: build
 * beside the store, hand a full backup of that position to the caller, let writers wait, catch up,
 * add the entry, take the store's place. A run that is stopped anywhere leaves the old store as it
 * was, and can be run again.
 */
import { encode } from "../codec/cbor.js";
import type { Hasher } from "../codec/hash.js";
import { toHex } from "../codec/keys.js";
import type { ExportReport } from "../contract/move.js";
import { CortexError, isCortexError } from "../errors.js";
import {
  type BuildParts,
  catchUp,
  levelWith,
  startBuilding,
  takeOver,
  withSnapshot,
} from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import {
  decodeAnyHeadRow,
  decodeHeadRow,
  FOLD_VERSION,
  FORMAT,
  type HeadRow,
} from "../history/head-row.js";
import { readRoots } from "../history/trees.js";
import { Writer, type WriterParts } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { REPLICA_KEY } from "../kv/keyspace.js";
import { HEAD_KEY, type Kv } from "../kv/kv.js";
import { exportChunks } from "./export-journal.js";

/** What an upgrade needs. */
interface UpgradeParts extends BuildParts, Pick<WriterParts, "clock" | "random" | "pause"> {
  readonly hasher: () => Hasher;
  /** The principal that the entry names. */
  readonly by: string;
  /** Keeps the backup; the upgrade goes on when it has resolved. */
  readonly keep: (backup: AsyncGenerator<Uint8Array, ExportReport>) => Promise<unknown>;
}

/** Which format and fold a store has. */
export type StoreForm = Pick<HeadRow, "format" | "foldVersion">;

/** What this release writes. */
export const CURRENT_FORM: StoreForm = { format: FORMAT, foldVersion: FOLD_VERSION };

/** Where an upgraded store stands. */
export interface UpgradedTo {
  readonly entries: number;
  readonly seq: number;
  /** The root after the added entry, in hex. */
  readonly root: string;
}

/** How often it starts over because somebody wrote at the last moment. */
const ATTEMPTS = 10;

/** The form of a store, how much it holds, and whether it follows another. */
export async function formOf(
  kv: Kv,
): Promise<StoreForm & { readonly size: number; readonly isReplica: boolean }> {
  const [headBytes, mark] = await withSnapshot(kv, (snapshot) =>
    snapshot.getMany([HEAD_KEY, REPLICA_KEY]),
  );
  const { format, foldVersion, size } = decodeAnyHeadRow(headBytes);
  if (size === 0) {
    throw new CortexError("ERR_FORMAT_UNKNOWN", "the store is empty: nothing was ever written");
  }
  return { format, foldVersion, size, isReplica: mark !== undefined };
}

/** Whether a store has to be upgraded before this release can use it. */
export function isCurrent(form: StoreForm): boolean {
  return form.format === CURRENT_FORM.format && form.foldVersion === CURRENT_FORM.foldVersion;
}

/** Upgrades a store; see the file header. */
export async function upgradeStore(parts: UpgradeParts): Promise<UpgradedTo> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await upgradeOnce(parts, attempt === 1);
    } catch (error) {
      if (!isCortexError(error, "ERR_CONTENDED") || attempt === ATTEMPTS) throw error;
    }
  }
}

async function upgradeOnce(parts: UpgradeParts, isFirst: boolean): Promise<UpgradedTo> {
  const { kv, sha256, hasher } = parts;
  const { isReplica, ...from } = await formOf(kv);
  const generation = await kv.nextGeneration();
  try {
    const building = startBuilding(generation.kv);
    await catchUp(parts, building);
    await withSnapshot(kv, (source) => levelWith(parts, building, source));
    if (isFirst) await parts.keep(exportChunks({ kv: generation.kv, sha256, hasher }));
    await takeOver(parts, generation, building, {
      carried: "vectors",
      attempts: 1,
      finish: async () => {
        // A replica has its entries from its source alone; the journal says nothing of how it is kept.
        if (!isReplica) await addMigration(parts, generation.kv, from);
      },
    });
  } finally {
    await generation.abandon();
  }
  return withSnapshot(kv, async (snapshot) => {
    const head = decodeHeadRow(await headBytesAt(snapshot));
    const { overall } = await readRoots(sha256, snapshot, head);
    return { entries: head.size, seq: head.size - 1, root: toHex(overall) };
  });
}

/** Journals that the store was upgraded, in the store that is about to take over. */
async function addMigration(parts: UpgradeParts, kv: Kv, from: StoreForm): Promise<void> {
  const { sha256, clock, random, pause, by } = parts;
  const writer = new Writer({ kv, sha256, clock, random, pause });
  const form = ({ format, foldVersion }: StoreForm) => ({ format, foldVersion });
  const record = encode({ from: form(from), to: form(CURRENT_FORM) });
  await writer.submit({
    run: (tx) => {
      const subject = Uint8Array.of(SUBJECT.store);
      tx.append({ kind: "migration", by, parts: [{ subject, record }] });
    },
  });
  await writer.close();
}
