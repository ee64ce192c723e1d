/**
 * Rebuilding a store from its journal, and checking one against it.
 *
 * Both replay the journal into a store built from nothing and compare at one position: every exact
 * row byte for byte, every stored snapshot's root at its position, the root over everything. A check
 * throws the new store away; a rebuild puts it in the old one's place. Writers may go on meanwhile.
 */
import { isCortexError } from "../errors.js";
import type { KvGeneration } from "../kv/kv.js";
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
} from "./build-beside.js";
import { differencesOf } from "./compare-stores.js";

/** What both passes need. */
export interface RebuildParts extends BuildParts {
  /** A store to build in, thrown away by its `abandon`. */
  readonly scratch: (entries: number) => Promise<KvGeneration>;
}

/** Something that is not as it should be. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly seq?: number;
}

/** The outcome of a check. */
export interface CheckReport {
  readonly ok: boolean;
  readonly entries: number;
  readonly problems: readonly Problem[];
  readonly seq: number;
}

/** The outcome of a rebuild. */
export interface RebuildReport {
  readonly ok: boolean;
  readonly entries: number;
  /** The root after the rebuild, in hex. */
  readonly root: string;
  readonly seq: number;
  /** Rows that the store had otherwise than its journal says. */
  readonly differences: readonly string[];
}

/** A level, and in what the store differs there from what its journal gives. */
export interface Compared extends Level {
  readonly differences: readonly string[];
}

/** Brings a building to the position of the store and compares the two there. */
export async function compareAtLevel(parts: BuildParts, building: Building): Promise<Compared> {
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

/** Checks everything that can be derived again; repairs nothing. */
export async function checkStore(parts: RebuildParts): Promise<CheckReport> {
  const head = await headOf(parts.kv);
  const generation = await parts.scratch(head.size);
  try {
    const compared = await compareAtLevel(parts, startBuilding(generation.kv));
    const problems = compared.differences.map((message) => ({ code: "ERR_CORRUPT", message }));
    const { size } = compared.head;
    return { ok: problems.length === 0, entries: size, problems, seq: size - 1 };
  } catch (error) {
    if (!isCortexError(error)) throw error;
    const { code, message, details } = error;
    const problem = { code, message, ...(details.seq === undefined ? {} : { seq: details.seq }) };
    return { ok: false, entries: head.size, problems: [problem], seq: head.size - 1 };
  } finally {
    await generation.abandon();
  }
}

/** Builds the store again from its journal, and takes the old one's place unless `verifyOnly`. */
export async function rebuildStore(
  parts: RebuildParts,
  options: { readonly verifyOnly: boolean },
): Promise<RebuildReport> {
  const generation = options.verifyOnly
    ? await parts.scratch((await headOf(parts.kv)).size)
    : await parts.kv.nextGeneration();
  try {
    const building = startBuilding(generation.kv);
    const compared = await compareAtLevel(parts, building);
    const { differences } = compared;
    if (options.verifyOnly) {
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
