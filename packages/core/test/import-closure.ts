/** What a built file imports, directly or not. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** The only library that files without Node may use. */
export const HASHES = "@noble/hashes/";

/** Every file the entry reaches; anything that is neither a file nor the hash library throws. */
export function closureOf(entry: string): readonly string[] {
  const files = new Set<string>();
  const queue = [entry];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    const text = readFileSync(file, "utf8");
    const found = text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s(?:[^"'();]*?\sfrom\s)?["']([^"']+)["']/g,
    );
    for (const [, specifier = ""] of found) {
      if (specifier.startsWith(".")) queue.push(join(dirname(file), specifier));
      else if (specifier.startsWith(HASHES)) queue.push(require.resolve(specifier));
      else throw new Error(`${file} imports ${specifier}`);
    }
    if (/\bimport\s*\(|\brequire\s*\(/.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""))) {
      throw new Error(`${file} imports something at run time`);
    }
  }
  return [...files];
}
