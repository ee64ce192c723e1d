/**
 * This package: where it is, its version, and how people are told to start it. Until it can be had from a registry,
 * they are told the path of this installation, never a name: a name that is not ours yet is anybody's to take.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Whether the packages can be had from the registry. The one switch of release day: what is printed follows it at
 * once, and `npm run generate` makes the pages follow. `docs/releasing.md` says when to turn it.
 */
export const IS_PUBLISHED: boolean = false;

/** The package's name in the registry. */
const NAME = "@cortex-memory/server";

/** A file of this package; the same whether the program runs from its sources, built, or bundled. */
export function packageFile(path: string): string {
  let folder = new URL("./", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) folder = new URL("../", folder);
  return fileURLToPath(new URL(path, folder));
}

/** The version, such as `0.1.0`. */
export function packageVersion(): string {
  const text = readFileSync(packageFile("package.json"), "utf8");
  const { version } = JSON.parse(text) as { readonly version?: unknown };
  return typeof version === "string" ? version : "unknown";
}

/** The file that starts the command. */
export function commandFile(): string {
  return packageFile("bin/cortex.js");
}

/** What a person types instead of `cortex` where the command is not on the path. */
export function commandWords(isPublished = IS_PUBLISHED): string {
  return isPublished ? `npx -y ${NAME}` : `node ${commandFile()}`;
}
