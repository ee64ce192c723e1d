/**
 * A Postgres database of another program, for an import: read at one moment, never written.
 *
 * Promises: everything that is asked sees the same state, in a transaction that the server itself holds to
 * reading; failures say what the server says and never the address, which may hold a password.
 */
import { CortexError } from "../errors.js";
import { loadPg } from "./postgres-driver.js";

/** One value of a row, in the types that are asked for. */
type Value = string | number | Uint8Array | null;

/** An open database of another program; close it. */
export interface ForeignDatabase {
  /** The rows of a statement that reads. */
  query(
    sql: string,
    values?: readonly string[],
  ): Promise<readonly { readonly [column: string]: Value }[]>;
  close(): Promise<void>;
}

/** Opens a database at one moment. */
export async function openForeignDatabase(address: string): Promise<ForeignDatabase> {
  const { Client } = await loadPg();
  const client = new Client({ connectionString: address });
  // The next statement fails with what ended the connection.
  client.on("error", () => {});
  const close = async (): Promise<void> => {
    // Behind a pooler the session goes to somebody else: it is given back as it was.
    await client.query("ROLLBACK").catch(() => {});
    await client.end();
  };
  await client.connect().catch((cause: unknown) => {
    throw failure(`expected a database that answers, got: ${said(cause) || "no answer"}`, cause);
  });
  const query: ForeignDatabase["query"] = async (sql, values = []) => {
    try {
      return (await client.query(sql, [...values])).rows as { [column: string]: Value }[];
    } catch (cause) {
      throw failure(`the database says: ${said(cause)}`, cause);
    }
  };
  try {
    await query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  } catch (error) {
    await close();
    throw error;
  }
  return { query, close };
}

function said(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function failure(message: string, cause: unknown): CortexError {
  return new CortexError("ERR_STORAGE", `file: ${message}`, { field: "file" }, cause);
}
