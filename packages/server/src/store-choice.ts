/**
 * Which store an operation works on, for every door: the one that is there, one that it may make, or
 * none at all. Pure; opening is the door's own business.
 */
import { join } from "node:path";
import { CortexError } from "@cortex-memory/core";
import { isAddress, shownLocation } from "./config.js";
import type { Operation } from "./operations/define.js";

/** Where a store would be. */
interface StorePlace {
  /** A folder, an address or `memory:`. */
  readonly data: string;
  readonly actor: string;
  readonly isFolder: (path: string) => boolean;
}

/**
 * `nothing` asks for a store that is not kept: the operation leaves it alone, or answers with
 * defaults. A read where there is no store fails, so that a slip in a name never looks like an
 * empty store.
 */
export function chooseStore(
  { cli }: Pick<Operation, "cli">,
  place: StorePlace,
): "nothing" | "there" | "create" {
  const { store } = cli;
  if (store === "none" || store === "fresh") return "nothing";
  if (store === "create") return "create";
  if (!storeIsThere(place)) {
    if (store === "optional") return "nothing";
    throw noStore(place);
  }
  return store === "closed" ? "nothing" : "there";
}

/** The failure of a read where there is no store of the actor. */
export function noStore({ actor, data }: Pick<StorePlace, "actor" | "data">): CortexError {
  const shown = shownLocation(data);
  const message = `data: no store of actor ${actor} in ${shown}; the first write makes one`;
  return new CortexError("ERR_NOT_FOUND", message, { field: "data", subject: shown });
}

/** Whether there is a store, as far as a look at the folder can tell. */
function storeIsThere({ data, actor, isFolder }: StorePlace): boolean {
  if (data === "memory:" || isAddress(data)) return true;
  try {
    return isFolder(join(data, actor));
  } catch (error) {
    // A file where the folder should be, or one that may not be read: not an absence, and no fault of ours.
    const why = error instanceof Error ? error.message : String(error);
    throw new CortexError("ERR_STORAGE", `data: cannot look into ${data}: ${why}`, {}, error);
  }
}
