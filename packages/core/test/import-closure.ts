/** What a built file imports, directly or not. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** The only library that files without Node may use. */
export const HASHES = "@noble/hashes/";

/**
 * The start of a program that links built files by hand, in a realm that has only the globals named:
 * afterwards `main` is the module, `seen` says what of Node the realm knows, and `rest` are the
 * arguments behind the entry and the folder of the hash library.
 */
export function realmProgram(globals: string): string {
  return `
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import vm from "node:vm";
const [entry, hashes, ...rest] = process.argv.slice(1);
const context = vm.createContext(${globals});
const modules = new Map();
const load = (path) => {
  const known = modules.get(path);
  if (known !== undefined) return known;
  const made = new vm.SourceTextModule(readFileSync(path, "utf8"), { context, identifier: path });
  modules.set(path, made);
  return made;
};
const link = (specifier, from) => {
  if (specifier.startsWith(".")) return load(join(dirname(from.identifier), specifier));
  if (specifier.startsWith("@noble/hashes/")) return load(join(hashes, specifier.slice(14)));
  throw new Error("refused: " + specifier);
};
const main = load(entry);
await main.link(link);
await main.evaluate();
const seen = vm.runInContext("typeof process + typeof Buffer + typeof require", context);
`;
}

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
