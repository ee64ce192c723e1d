/**
 * Which stores a database has and whether they have changed, seen from outside and without opening
 * one: the head rows of all actors are one query away.
 *
 * Promise: a stamp that still holds means that no entry was committed since it was taken, and that the
 * store is the same generation. Changes of caches leave it as it is.
 */
import { hash } from "node:crypto";
import { readAddress } from "./postgres-address.js";
import { joinPool } from "./postgres-session.js";
import { readHeads, removeActor } from "./postgres-tables.js";

/** The stores of one hub in a database. */
export interface DatabaseStores {
  /** The names of all stores, in order. */
  names(): Promise<readonly string[]>;
  /** The stamps of all stores in order of names, or of those named; a store that is not there has none. */
  stamps(names?: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Removes a store in one transaction; false where there was none. */
  remove(name: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Characters of a stamp. */
const STAMP_CHARS = 24;
/** Above this many, all are asked for: naming each takes longer than reading those that are not wanted. */
const NAMED_MAX = 1000;

/** Looks at the stores of a hub; makes the tables where there are none. */
export async function lookAtPostgres(location: string, create: boolean): Promise<DatabaseStores> {
  const address = readAddress(location);
  const pool = await joinPool(address, create);
  const prefix = `${address.hub}/`;
  // The character after the slash: everything of the hub stands before it.
  const end = `${address.hub}0`;
  const stamps = async (names?: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const named = names === undefined || names.length > NAMED_MAX ? undefined : names;
    const actors = named?.map((name) => `${prefix}${name}`);
    if (actors?.length === 0) return new Map();
    const [rows = []] = await pool.insist([readHeads(prefix, end, actors)]);
    const found = rows.map(([actor, generation, head]): readonly [string, string] => [
      String(actor).slice(prefix.length),
      hash(
        "sha256",
        Buffer.concat([Buffer.from(`${generation} `), head as Uint8Array]),
        "hex",
      ).slice(0, STAMP_CHARS),
    ]);
    return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  let isOpen = true;
  return {
    remove: async (name) => {
      const isThere = (await stamps([name])).has(name);
      await pool.transact(removeActor(`${prefix}${name}`));
      return isThere;
    },
    stamps,
    names: async () => [...(await stamps()).keys()],
    async close() {
      if (isOpen) await pool.leave();
      isOpen = false;
    },
  };
}
