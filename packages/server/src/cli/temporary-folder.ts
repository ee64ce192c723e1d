/**
 * A folder for as long as some work takes. It is removed whatever happens, also when somebody
 * interrupts the process.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs work with a folder of its own. */
export async function withTemporaryFolder<T>(
  prefix: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const stop = (): void => process.exit(130);
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    return await work(folder);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    process.off("exit", remove);
    remove();
  }
}
