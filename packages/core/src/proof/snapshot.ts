/**
 * Snapshots: sealing the roots at the current position under a number, and reading them back. Also
 * the root and the checkpoint of the current position, which seal nothing.
 *
 * A snapshot is a row outside the journal: it changes no root and no position, and a rebuild keeps it. It is
 * committed only on the very head it was computed from; a write in between starts it over. Snapshots of one
 * process are taken one after another. Two processes that seal the same position in the same instant may both
 * take the same number: both snapshots stay, each under its own mark, and the next one takes the next number.
 */
import { toHex } from "../codec/keys.js";
import type { Asked } from "../contract/index.js";
import type { CheckpointAt, RootAt, SnapshotInfo } from "../contract/proof.js";
import type { Engine } from "../engine/engine.js";
import { idempotencyKeys, keyError, requestMark } from "../engine/idempotency.js";
import { CortexError } from "../errors.js";
import { checkClasses } from "../history/commit.js";
import { decodeManifest, MARK_BYTES, type Manifest, manifestRow } from "../history/manifest.js";
import { Reader } from "../history/reader.js";
import { refuseReplica } from "../history/replica-mark.js";
import { readRoots, type StoreRoots } from "../history/trees.js";
import { formatCheckpoint, type Statement, signNote } from "../journal/checkpoint.js";
import { decodeGenesis } from "../journal/entry.js";
import { journalKey, KEYSPACE, keyString, prefixRange, REPLICA_KEY } from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";

/** Seals the roots of the current position. */
export async function snapshot(
  engine: Engine,
  { reason = "explicit", by: given, signer, idempotencyKey }: Asked<"snapshot">,
): Promise<SnapshotInfo> {
  const asked = { operation: "snapshot", request: { reason, by: given }, by: given };
  const { request } = requestMark(engine, idempotencyKey, asked);
  const by = given ?? engine.principal;
  return inTurn(engine, async () => {
    const first = request === undefined ? undefined : await sealedUnder(engine, request);
    if (first !== undefined) return first;
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt += 1) {
      const { draft, statement, headBytes } = await drafted(engine, reason, by);
      const signature =
        signer === undefined
          ? undefined
          : await signNote(formatCheckpoint(engine.sha256, statement), signer);
      const manifest: Manifest = {
        ...draft,
        ...(signature === undefined ? {} : { signature }),
        ...(request === undefined ? {} : { request }),
      };
      const puts = [manifestRow(manifest)];
      checkClasses({ puts, deletes: [] }, false);
      const change = { expectHead: headBytes, head: headBytes, puts, deletes: [] };
      const result = await engine.kv.commit(change);
      if (result.ok) return shapeManifest(engine, manifest, statement);
    }
    throw new CortexError(
      "ERR_CONTENDED",
      `writers moved the store on ${LIMITS.commitAttempts} times in a row; nothing was sealed`,
    );
  });
}

/** The snapshot that an earlier call under the same key sealed. */
async function sealedUnder(engine: Engine, request: Bytes): Promise<SnapshotInfo | undefined> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [genesisRow, marked] = await reader.getMany([journalKey(0), ...idempotencyKeys(request)]);
    if (marked !== undefined)
      throw keyError("expected a key of its own, got one that was used to write");
    const key = keyString(request.subarray(0, 16));
    for await (const manifest of manifestsBackwards(reader.snapshot)) {
      if (reader.head.size - manifest.size > LIMITS.idempotencyEntries) return undefined;
      if (manifest.request === undefined) continue;
      if (keyString(manifest.request.subarray(0, 16)) !== key) continue;
      if (keyString(manifest.request) === keyString(request)) {
        return shapeManifest(engine, manifest, { ...genesisOf(genesisRow), ...manifest });
      }
      throw keyError("expected the request it was first used for, got another one");
    }
    return undefined;
  });
}

/** The snapshots there are, by falling number, of one position or of one root if asked. */
export async function snapshots(
  engine: Engine,
  { seq, root: wanted, limit = LIMITS.listLimitDefault }: Asked<"snapshots">,
): Promise<readonly SnapshotInfo[]> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [genesisRow] = await reader.getMany([journalKey(0)]);
    const store = genesisOf(genesisRow);
    const found: SnapshotInfo[] = [];
    for await (const manifest of manifestsBackwards(reader.snapshot)) {
      if (seq !== undefined && manifest.size - 1 !== seq) continue;
      if (wanted !== undefined && toHex(manifest.overall) !== wanted) continue;
      found.push(shapeManifest(engine, manifest, { ...store, ...manifest }));
      if (found.length === limit) break;
    }
    return found;
  });
}

/** The root over everything at the current position. */
export async function root(engine: Engine): Promise<RootAt> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const roots = await readRoots(engine.sha256, reader.snapshot, reader.head);
    return { root: toHex(roots.overall), seq: reader.seq };
  });
}

/** The checkpoint of the current position, unsigned. */
export async function checkpoint(engine: Engine): Promise<CheckpointAt> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const { roots, statement } = await stateAt(engine, reader);
    return {
      root: toHex(roots.overall),
      seq: reader.seq,
      checkpoint: formatCheckpoint(engine.sha256, statement),
    };
  });
}

/** What a checkpoint of the reader's store states; the reader stands at the end of the journal. */
export async function stateAt(
  engine: Engine,
  reader: Reader,
): Promise<{ readonly roots: StoreRoots; readonly statement: Statement }> {
  const [roots, [genesisRow]] = await Promise.all([
    readRoots(engine.sha256, reader.snapshot, reader.head),
    reader.getMany([journalKey(0)]),
  ]);
  const { size, at } = reader.head;
  const { genesis, journal, trees } = roots;
  return {
    roots,
    statement: { ...genesisOf(genesisRow), size, at, roots: { genesis, journal, trees } },
  };
}

/** A snapshot in the making: everything but the signature. */
async function drafted(
  engine: Engine,
  reason: string,
  by: string,
): Promise<{
  readonly draft: Manifest;
  readonly statement: Statement;
  readonly headBytes: Bytes;
}> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [{ roots, statement }, [headBytes, mark], [last]] = await Promise.all([
      stateAt(engine, reader),
      reader.getMany([HEAD_KEY, REPLICA_KEY]),
      reader.ranges([prefixRange(Uint8Array.of(KEYSPACE.snapshot.byte), 1, true)]),
    ]);
    if (headBytes === undefined) throw new Error("an open store has a head row");
    refuseReplica(mark);
    const before = last?.[0];
    const { head } = reader;
    const draft: Manifest = {
      number: before === undefined ? 1 : decodeManifest(before.value).number + 1,
      mark: engine.random(MARK_BYTES),
      size: head.size,
      at: head.at,
      epoch: head.epoch,
      reason,
      by,
      roots: statement.roots,
      overall: roots.overall,
      counts: head.counts,
    };
    return { draft, statement, headBytes };
  });
}

function shapeManifest(engine: Engine, manifest: Manifest, statement: Statement): SnapshotInfo {
  const { signature } = manifest;
  return {
    root: toHex(manifest.overall),
    seq: manifest.size - 1,
    number: manifest.number,
    reason: manifest.reason,
    by: manifest.by,
    at: manifest.at,
    checkpoint: formatCheckpoint(
      engine.sha256,
      statement,
      signature === undefined ? [] : [signature],
    ),
  };
}

/** Manifests that are read at once. */
const MANIFESTS_PER_READ = 256;

/** Every snapshot of a store, by falling number. */
export async function* manifestsBackwards(snapshot: KvSnapshot): AsyncGenerator<Manifest> {
  const prefix = Uint8Array.of(KEYSPACE.snapshot.byte);
  let range = prefixRange(prefix, MANIFESTS_PER_READ, true);
  for (;;) {
    const [rows = []] = await snapshot.ranges([range]);
    for (const { value } of rows) yield decodeManifest(value);
    const last = rows.at(-1);
    if (last === undefined || rows.length < MANIFESTS_PER_READ) return;
    range = { ...range, lt: last.key };
  }
}

function genesisOf(row: Bytes | undefined): { readonly actor: string; readonly storeId: string } {
  if (row === undefined) {
    throw new CortexError("ERR_JOURNAL_GAP", "journal entry 0 is missing", { seq: 0 });
  }
  const { actor, storeId } = decodeGenesis(row);
  return { actor, storeId };
}

/** The last snapshot being taken on each open store. */
const turns = new WeakMap<Engine, Promise<unknown>>();

/** Runs one after another: numbers are read and taken in two steps, and no process repeats one. */
function inTurn<T>(engine: Engine, run: () => Promise<T>): Promise<T> {
  const before = turns.get(engine) ?? Promise.resolve();
  const mine = before.then(run, run);
  turns.set(
    engine,
    mine.catch(() => undefined),
  );
  return mine;
}
