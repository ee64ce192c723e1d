/**
 * Pulling a replica along: one page after another from a source, and a clear word when the source's
 * history is not the one that was followed so far. No network, no timers: the source is a function.
 *
 * Two histories that differ are compared root by root, by halves, so that the failure names the first
 * seq at which they do. What the source answers there is only used to say so; nothing is written by it.
 */
import { equalBytes } from "../codec/keys.js";
import { CortexError, isCortexError } from "../errors.js";
import { type PageBytes, readPage } from "../journal/journal-page.js";
import type { ReplicaWriter, TakenPage } from "./replica-writer.js";

/** Gives pages of a journal, as documents; the one side of following that is somebody else's. */
export interface PageSource {
  page(options: { readonly from: number; readonly limit?: number }): Promise<unknown>;
}

/** How often a page may come too late before somebody is told. */
const ATTEMPTS = 100;

/** Fetches the next page and commits it; a fork, a rollback or a bad page leaves everything as it was. */
export async function pullPage(replica: ReplicaWriter, source: PageSource): Promise<TakenPage> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const from = await replica.size();
    const page = await pageFrom(replica, source, from);
    const outcome = await replica.take(page);
    if (outcome.kind === "taken") return outcome;
    if (outcome.kind === "forked") throw await forkOf(replica, source, from);
  }
  throw new CortexError("ERR_CONTENDED", "others moved the replica on too often to add a page");
}

/** The next page; a source that ends earlier is judged by what it still has. */
async function pageFrom(
  replica: ReplicaWriter,
  source: PageSource,
  from: number,
): Promise<PageBytes> {
  try {
    return readPage(await source.page({ from }));
  } catch (error) {
    const seq = isCortexError(error, "ERR_ROLLED_BACK") ? error.details.seq : undefined;
    const size = seq === undefined ? from : seq + 1;
    if (size >= from) throw error;
    if (!(await agreesAt(replica, source, size))) throw await forkOf(replica, source, size);
    throw new CortexError(
      "ERR_ROLLED_BACK",
      `the source ends at seq ${size - 1}, but the replica has its entries up to seq ${from - 1}`,
      { seq: size - 1 },
    );
  }
}

/** Whether both have the same first `size` entries, as far as the source says. */
async function agreesAt(
  replica: ReplicaWriter,
  source: PageSource,
  size: number,
): Promise<boolean> {
  const { from, fromRoot } = readPage(await source.page({ from: size, limit: 1 }));
  return from === size && equalBytes(fromRoot, await replica.rootAt(size));
}

/** The failure of a source whose first `size` entries are not the replica's. */
async function forkOf(
  replica: ReplicaWriter,
  source: PageSource,
  size: number,
): Promise<CortexError> {
  // Both agree on `same` entries, and not on `other`.
  let [same, other] = [0, size];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (await agreesAt(replica, source, middle)) same = middle;
    else other = middle;
  }
  return new CortexError(
    "ERR_FORK",
    `the histories of source and replica part at seq ${same}; nothing was changed here`,
    { seq: same },
  );
}
