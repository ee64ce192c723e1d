/**
 * The repository as the rules see it: reads the files once, parses the code, runs every check, and
 * settles the exemptions. The checks themselves are pure and live beside this file.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkCode } from "./code.js";
import { checkLayers, type Packages } from "./layers.js";
import { checkCommands, checkDocuments, checkLockFile, checkWords } from "./prose.js";
import { type Exemption, STARTED, STARTED_FOLDERS, UNUSED_EXPORTS_IN } from "./rules.js";
import {
  type CodeFile,
  importsOf,
  isCode,
  isNode,
  isTest,
  nameOf,
  nodes,
  type Problem,
  parse,
  problem,
  type TextFile,
} from "./source.js";

/** Reads every text of the repository, generated and installed files left out. */
export function readTree(root: string): readonly TextFile[] {
  const found: TextFile[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      // In a linked work tree `.git` is a file.
      if (LEFT_OUT.has(entry.name)) continue;
      if (entry.isDirectory()) visit(path);
      if (!entry.isFile() || /\.(tgz|tsbuildinfo|png|mdb|bin)$/.test(entry.name)) continue;
      found.push({ path, text: readFileSync(join(root, path), "utf8") });
    }
  };
  visit("");
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Every problem of a tree, exemptions applied; an exemption that met nothing is a problem too. */
export function checkTree(
  files: readonly TextFile[],
  exemptions: readonly Exemption[],
): readonly Problem[] {
  return settle(rawProblems(files), exemptions);
}

/** Removes what is exempt, and reports exemptions that are stale or without a reason. */
export function settle(
  problems: readonly Problem[],
  exemptions: readonly Exemption[],
): readonly Problem[] {
  const matches = (one: Exemption, found: Problem): boolean =>
    one.rule === found.rule &&
    one.file === found.file &&
    (one.subject === "" || one.subject === found.subject);
  const left = problems.filter((found) => !exemptions.some((one) => matches(one, found)));
  const about = (one: Exemption, message: string): Problem => ({
    rule: "exemption",
    file: one.file,
    line: 1,
    subject: one.subject,
    message: `${one.rule}: ${message}`,
  });
  const stale = exemptions
    .filter((one) => !problems.some((found) => matches(one, found)))
    .map((one) => about(one, "nothing needs this exemption any more"));
  const bare = exemptions
    .filter((one) => one.reason.trim().split(/\s+/).length < 4)
    .map((one) => about(one, "an exemption needs a reason"));
  return [...left, ...stale, ...bare];
}

/** The package files of the tree, as far as imports depend on them. */
export function readPackages(files: readonly TextFile[]): Packages {
  const coreEntries = new Set<string>();
  const dependencies = new Map<string, ReadonlySet<string>>();
  for (const { path, json } of packageFiles(files)) {
    const folder = path.replace(/\/?package\.json$/, "");
    const named = [json.dependencies, json.peerDependencies, json.optionalDependencies];
    dependencies.set(folder, new Set(named.flatMap((list) => Object.keys(list ?? {}))));
    if (folder !== "packages/core") continue;
    for (const entry of Object.keys(json.exports ?? {})) {
      coreEntries.add(entry.replace(/^\./, "@cortex-memory/core"));
    }
  }
  return { coreEntries, dependencies };
}

const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", "dist", ".git", ".cortex"]);

interface PackageJson {
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, unknown>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface PackageFile {
  readonly path: string;
  readonly json: PackageJson;
}

function packageFiles(files: readonly TextFile[]): readonly PackageFile[] {
  return files
    .filter(({ path }) => /(^|\/)package\.json$/.test(path))
    .map(({ path, text }) => ({ path, json: JSON.parse(text) as PackageJson }));
}

function rawProblems(files: readonly TextFile[]): readonly Problem[] {
  const code = files.filter(({ path }) => isCode(path)).map(parse);
  const packages = readPackages(files);
  const root = packageFiles(files).find(({ path }) => path === "package.json");
  const scripts = new Set(Object.keys(root?.json.scripts ?? {}));
  return [
    ...checkLayers(code, packages),
    ...code.flatMap(checkCode),
    ...checkOrphans(code, entriesOf(files)),
    ...checkUnusedExports(code, entriesOf(files)),
    ...checkDocuments(files),
    ...files.flatMap((file) => checkCommands(file, scripts)),
    ...files.flatMap(checkWords),
    ...files.filter(({ path }) => path === "package-lock.json").flatMap(checkLockFile),
  ];
}

/** Sources that a package publishes: `./dist/x.js` in exports or bin is `src/x.ts`. */
function entriesOf(files: readonly TextFile[]): ReadonlySet<string> {
  const entries = new Set(Object.keys(STARTED));
  for (const { path, json } of packageFiles(files)) {
    const folder = path.replace(/package\.json$/, "");
    const published = JSON.stringify([json.exports ?? {}, json.bin ?? {}]);
    for (const [, name = ""] of published.matchAll(/"\.\/dist\/([^"]+)\.js"/g)) {
      entries.add(`${folder}src/${name}.ts`);
    }
    const started = Object.values(json.scripts ?? {}).join(" ");
    for (const [name] of started.matchAll(/\b(tools|bench)\/[a-z0-9/-]+\.m?[jt]s\b/g)) {
      entries.add(name);
    }
  }
  return entries;
}

/**
 * Files nothing uses. A product file counts as used when a file that is no test imports it; a
 * helper of tests also when a test imports it or names it in order to start it.
 */
function checkOrphans(code: readonly CodeFile[], entries: ReadonlySet<string>): Problem[] {
  const product = new Set<string>();
  const byTests = new Set<string>();
  for (const file of code) {
    for (const { target } of importsOf(file)) {
      if (target === undefined || target === file.path) continue;
      (isTest(file.path) ? byTests : product).add(target);
    }
  }
  return code
    .filter(({ path }) => {
      if (/\.test\.ts$/.test(path) || entries.has(path) || product.has(path)) return false;
      if (STARTED_FOLDERS.some((folder) => path.startsWith(folder))) return false;
      return !(isHelper(path) && (byTests.has(path) || isNamed(path, code)));
    })
    .map((file) => problem("orphan", file, { at: 0 }, "nothing imports this file"));
}

/**
 * Names that a product file exports and no other file takes: the export is dropped, and where nothing in
 * the file uses the name either, the compiler says so. What a package publishes is for others to take.
 */
function checkUnusedExports(code: readonly CodeFile[], entries: ReadonlySet<string>): Problem[] {
  const taken = new Map<string, Set<string> | "any">();
  for (const file of code) {
    for (const { target, names } of importsOf(file)) {
      if (target === undefined || target === file.path) continue;
      const before = taken.get(target);
      if (names === undefined || before === "any") taken.set(target, "any");
      else taken.set(target, new Set([...(before ?? []), ...names]));
    }
  }
  return code.flatMap((file) => {
    const names = taken.get(file.path);
    const isProduct = UNUSED_EXPORTS_IN.test(file.path) && !isHelper(file.path);
    if (!isProduct || entries.has(file.path) || names === undefined || names === "any") return [];
    return exportedNames(file)
      .filter(({ name }) => !names.has(name))
      .map(({ name, at }) => {
        const message = `nothing imports ${name}; it need not be exported`;
        return problem("unused-export", file, { at, subject: name }, message);
      });
  });
}

/** The names that a file declares and exports in one statement. */
function exportedNames(file: CodeFile): { readonly name: string; readonly at: number }[] {
  return file.body.flatMap((node) => {
    const { declaration } = node;
    if (node.type !== "ExportNamedDeclaration" || !isNode(declaration)) return [];
    const declared = [declaration, ...nodes(declaration.declarations)];
    return declared.flatMap((one) => {
      const name = nameOf(one.id);
      return name === undefined ? [] : [{ name, at: node.start }];
    });
  });
}

function isHelper(path: string): boolean {
  return isTest(path) || path.includes("/src/testing/") || path.startsWith("tools/");
}

function isNamed(path: string, code: readonly CodeFile[]): boolean {
  const stem = path.replace(/^.*\//, "").replace(/\.m?[jt]s$/, "");
  const quoted = new RegExp(`["'\`/]${stem}\\.m?[jt]s["'\`]`);
  return code.some((file) => file.path !== path && isTest(file.path) && quoted.test(file.text));
}
