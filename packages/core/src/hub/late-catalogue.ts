/**
 * The store of a hub's catalogue, opened by the first call that asks the catalogue for something.
 *
 * Promises: a hub that is only used to reach graphs (`hub.use`) makes and reads no catalogue, so a
 * catalogue that cannot be opened, or has no room on the disk, keeps nobody from a graph. What fails to
 * open is tried again by the next call. After `close` every call is refused with `ERR_CLOSED`.
 */
import { CortexError } from "../errors.js";
import { headOf } from "../history/build-beside.js";
import type { Kv } from "../kv/kv.js";
import { Catalogue, type CatalogueParts } from "./catalogue.js";
import type { CatalogueKv } from "./catalogue-erasure.js";

/** What the catalogue is made of, and where its store comes from. */
export interface LateCatalogueParts extends Omit<CatalogueParts, "kv"> {
  readonly openKv: () => Promise<Kv>;
}

/** A catalogue that may not be open yet. */
export interface LateCatalogue {
  readonly catalogue: Catalogue;
  /** Brings a graph that is about to close up to date, where that is worth its time. */
  settle(name: string, graph: Kv): Promise<void>;
  close(): Promise<void>;
}

/**
 * Entries that closing a graph may wait for. A graph with more of them, of which no hub has heard yet,
 * is read when somebody asks the catalogue about it, if anybody ever does.
 */
const SETTLE_ENTRIES = 8000;

/** Makes a catalogue whose store is opened when it is first needed. */
export function lateCatalogue({ openKv, ...parts }: LateCatalogueParts): LateCatalogue {
  let opening: Promise<Kv> | undefined;
  let isClosed = false;
  const get = (): Promise<Kv> => {
    if (isClosed) throw new CortexError("ERR_CLOSED", "the hub is closed");
    if (opening === undefined) {
      const begun = furnished(openKv, parts);
      opening = begun;
      begun.catch(() => {
        opening = undefined;
      });
    }
    return opening;
  };
  const kv: CatalogueKv = {
    snapshot: async (options) => (await get()).snapshot(options),
    commit: async (change) => (await get()).commit(change),
    commitCaches: async (change) => (await get()).commitCaches(change),
    nextGeneration: async () => (await get()).nextGeneration(),
  };
  const catalogue = Catalogue.over({ ...parts, kv });
  return {
    catalogue,
    async settle(name, graph) {
      if (opening === undefined) return;
      const cursor = (await catalogue.knownRow(name))?.cursor ?? 0;
      const { size } = await headOf(graph);
      if (size - cursor <= SETTLE_ENTRIES) await catalogue.settle(name, graph);
    },
    async close() {
      isClosed = true;
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

async function furnished(
  openKv: () => Promise<Kv>,
  parts: Omit<CatalogueParts, "kv">,
): Promise<Kv> {
  const kv = await openKv();
  try {
    await Catalogue.open({ ...parts, kv });
    return kv;
  } catch (error) {
    await kv.close();
    throw error;
  }
}
