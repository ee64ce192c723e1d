/**
 * The version of this package, read from its package file, so that it is written down once.
 */
import { readFileSync } from "node:fs";

/** The version, such as `0.1.0`. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === "string" ? version : "unknown";
}
