/**
 * The package `pg`: loaded by those alone who have a database.
 *
 * Promises: that it is not installed is said in one sentence; a client that is not let in leaves nothing open.
 */
import type { Client, ClientConfig, Pool } from "pg";
import { CortexError } from "../errors.js";
import { codeOf } from "./postgres-wire.js";

/** What we use of it. */
interface Driver {
  readonly Client: typeof Client;
  readonly Pool: typeof Pool;
}

/** The driver. */
export async function loadPg(): Promise<Driver> {
  try {
    const { default: pg } = await import("pg");
    return { Client: leaving(pg.Client), Pool: pg.Pool };
  } catch (error) {
    const isMissing = codeOf(error) === "ERR_MODULE_NOT_FOUND";
    throw new CortexError(
      isMissing ? "ERR_UNSUPPORTED" : "ERR_STORAGE",
      isMissing
        ? "a postgres:// address needs the package pg, which is not installed: npm install pg"
        : "the package pg could not be loaded",
      { field: "location" },
      error,
    );
  }
}

/**
 * `pg` keeps the connection of a client that gave up while it was let in, because it has no password, say; and with it
 * the process, until the server has waited long enough.
 */
function leaving(Base: typeof Client): typeof Client {
  // Called with `new`, a function may give an object that somebody else made.
  function Leaving(config?: string | ClientConfig): Client {
    const client = new Base(config);
    const connect: (told: Told) => void = client.connect.bind(client);
    const first = (told: Told): void =>
      connect((error, same) => {
        // Whoever asked is told what was met first, and nothing of the end.
        if (error) client.end().catch(() => {});
        told(error, same);
      });
    const promised = (): Promise<Client> =>
      new Promise((resolve, reject) => first((error) => (error ? reject(error) : resolve(client))));
    return Object.assign(client, {
      connect: (told?: Told) => (told === undefined ? promised() : first(told)),
    });
  }
  return Leaving as unknown as typeof Client;
}

/** Whom `pg` tells how connecting ended. */
type Told = (error: Error | null, client?: Client) => void;
