/**
 * The verbs on a store as a whole: checking it, building it again, writing it anew.
 *
 * `check` and `rebuild` replay the journal into a store built from nothing and compare at one position:
 * every exact row byte for byte, every stored snapshot's root at its position, the root over everything.
 * A check throws the new store away; a rebuild puts it in the old one's place. Writers may go on
 * meanwhile.
 *
 * `vacuum` writes the store anew, so that no page of its file keeps bytes that were forgotten: a page
 * that the engine freed keeps its bytes until it is used again. The new file is built from the journal
 * as it stands, where forgotten parts are gone already, so it never sees them; snapshots and caches are
 * copied row by row. Before it takes over it must equal the old store: every row byte for byte at one
 * position, then head row and root at the last. A store that is not what its journal says is left
 * alone: that is for `check` and `rebuild`. What is forgotten *while* the new file is built may have been
 * written into it before; then the work is done once more.
 */
import { toHex } from "../codec/keys.js";
import type { Asked } from "../contract/index.js";
import type { CheckReport, RebuildReport, VacuumReport } from "../contract/upkeep.js";
import type { Engine } from "../engine/engine.js";
import { CortexError, type ErrorCode, isCortexError } from "../errors.js";
import {
  type Building,
  type BuildParts,
  catchUp,
  headOf,
  type Level,
  levelWith,
  startBuilding,
  takeOver,
  withSnapshot,
} from "../history/build-beside.js";
import { differencesOf, headBytesAt } from "../history/compare-stores.js";
import { readRoots } from "../history/trees.js";
import { type KvGeneration, sameBytes } from "../kv/kv.js";

/** Checks journal, hashes, rows and roots against each other, and the text index against the journal. */
export async function check(engine: Engine, { onProgress }: Asked<"check">): Promise<CheckReport> {
  const damage = await examined(engine);
  // The engine of a store may end the process on pages that make no sense: they are not read through it.
  if (damage !== undefined) return damage;
  const report = await checkStore(partsOf(engine, onProgress));
  // Where the journal itself is damaged, what was made of it cannot be judged.
  if (!report.ok) return report;
  const problems = await engine.text.check();
  return { ...report, ok: problems.length === 0, problems };
}

/** What is wrong below the rows; `undefined` where nothing is. */
async function examined({ kv }: Engine): Promise<CheckReport | undefined> {
  const found = (await kv.examine?.()) ?? [];
  if (found.length === 0) return undefined;
  const problems = found.map((message) => ({ code: "ERR_CORRUPT", message }));
  return { ok: false, entries: 0, problems, seq: -1 };
}

/** Builds every derived row again from the journal. */
export async function rebuild(
  engine: Engine,
  { verifyOnly = false, onProgress }: Asked<"rebuild">,
): Promise<RebuildReport> {
  const report = await rebuildStore(partsOf(engine, onProgress), verifyOnly);
  engine.writer.invalidate();
  return report;
}

/** Writes the store anew, so that its file keeps no byte of what was forgotten. */
export async function vacuum(
  engine: Engine,
  { onProgress }: Asked<"vacuum">,
): Promise<VacuumReport> {
  const report = await vacuumStore(partsOf(engine, onProgress));
  engine.writer.invalidate();
  return report;
}

/** What building a store beside another needs. */
interface RebuildParts extends BuildParts {
  /** A store to build in, thrown away by its `abandon`. */
  readonly scratch: (entries: number) => Promise<KvGeneration>;
}

function partsOf(engine: Engine, onProgress: BuildParts["onProgress"]): RebuildParts {
  return onProgress === undefined ? engine : { ...engine, onProgress };
}

/** A level, and in what the store differs there from what its journal gives. */
interface Compared extends Level {
  readonly differences: readonly string[];
}

/** Brings a building to the position of the store and compares the two there. */
async function compareAtLevel(parts: BuildParts, building: Building): Promise<Compared> {
  await catchUp(parts, building);
  return withSnapshot(
    parts.kv,
    async (source) => {
      const level = await levelWith(parts, building, source);
      const differences = await withSnapshot(
        building.target,
        (rebuilt) => differencesOf(source, rebuilt),
        { untilIdle: true },
      );
      return { ...level, differences };
    },
    { untilIdle: true },
  );
}

/** What kept a check from its end and says nothing about the store: its caller fails, the store does not. */
const NO_VERDICT: ReadonlySet<ErrorCode> = new Set([
  "ERR_UNREACHABLE",
  "ERR_DISK_FULL",
  "ERR_CLOSED",
]);

/** Checks everything that can be derived again from the journal. */
async function checkStore(parts: RebuildParts): Promise<CheckReport> {
  const head = await headOf(parts.kv);
  const generation = await parts.scratch(head.size);
  try {
    const compared = await compareAtLevel(parts, startBuilding(generation.kv));
    const problems = compared.differences.map((message) => ({ code: "ERR_CORRUPT", message }));
    const { size } = compared.head;
    return { ok: problems.length === 0, entries: size, problems, seq: size - 1 };
  } catch (error) {
    if (!isCortexError(error) || NO_VERDICT.has(error.code)) throw error;
    const { code, message, details } = error;
    const problem = { code, message, ...(details.seq === undefined ? {} : { seq: details.seq }) };
    return { ok: false, entries: head.size, problems: [problem], seq: head.size - 1 };
  } finally {
    await generation.abandon();
  }
}

/** A store built from the journal, which takes the old one's place unless `verifyOnly`. */
async function rebuildStore(parts: RebuildParts, verifyOnly: boolean): Promise<RebuildReport> {
  const generation = verifyOnly
    ? await parts.scratch((await headOf(parts.kv)).size)
    : await parts.kv.nextGeneration();
  try {
    const building = startBuilding(generation.kv);
    const compared = await compareAtLevel(parts, building);
    const { differences } = compared;
    if (verifyOnly) {
      return { ...reportOf(compared), ok: differences.length === 0, differences };
    }
    const level = await takeOver(parts, generation, building, { carried: "vectors" });
    return { ...reportOf(level), ok: true, differences };
  } finally {
    await generation.abandon();
  }
}

function reportOf({ head, root }: Level): Pick<RebuildReport, "entries" | "root" | "seq"> {
  return { entries: head.size, root, seq: head.size - 1 };
}

/** How often the work is done at most when memories are forgotten meanwhile. */
const PASSES = 3;

async function vacuumStore(parts: BuildParts): Promise<VacuumReport> {
  const bytesBefore = await parts.kv.sizeBytes();
  for (let passes = 1; ; passes += 1) {
    const { level, forgottenMeanwhile } = await writeAnew(parts);
    if (forgottenMeanwhile > 0 && passes < PASSES) continue;
    const { size } = level.head;
    const bytesAfter = await parts.kv.sizeBytes();
    const moved = { bytesBefore, bytesAfter, passes, forgottenMeanwhile };
    return { entries: size, seq: size - 1, root: level.root, ...moved };
  }
}

async function writeAnew(
  parts: BuildParts,
): Promise<{ readonly level: Level; readonly forgottenMeanwhile: number }> {
  const before = await headOf(parts.kv);
  const generation = await parts.kv.nextGeneration();
  try {
    const building = startBuilding(generation.kv);
    const { differences } = await compareAtLevel(parts, building);
    if (differences.length > 0) throw unsound(differences);
    const level = await takeOver(parts, generation, building, {
      carried: "all",
      finish: async (reached, source) => {
        const headBytes = await withSnapshot(building.target, headBytesAt);
        const { overall } = await readRoots(parts.sha256, source, reached.head);
        if (sameBytes(headBytes, reached.headBytes) && toHex(overall) === reached.root) return;
        throw unsound(["the head row or the root differs from what the journal says"]);
      },
    });
    const forgottenMeanwhile = level.head.counts.erased - before.counts.erased;
    return { level, forgottenMeanwhile };
  } finally {
    await generation.abandon();
  }
}

function unsound(differences: readonly string[]): CortexError {
  return new CortexError(
    "ERR_CORRUPT",
    `the store is not what its journal says, nothing was moved; run check, then rebuild: ${differences[0]}`,
  );
}
