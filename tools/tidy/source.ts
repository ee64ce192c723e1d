/**
 * What the house rules look at: a file as text and, for code, as a syntax tree.
 *
 * The tree comes from the parser the test runner already carries, so the rules see the grammar and
 * not a guess by regular expression: arrow functions, methods, templates and regular expressions
 * are what the compiler says they are. Nothing here reads the disk; `tree.ts` does.
 */
import { posix } from "node:path";
import { parseAst } from "vitest/node";

/** A file of the repository: its path from the root, with forward slashes, and its text. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** One breach of a rule. `subject` narrows it inside the file: a name, an import, a word. */
export interface Problem {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly subject: string;
  readonly message: string;
}

/** A syntax node, seen only as far as the rules need. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A file of code with its syntax tree. */
export interface CodeFile extends TextFile {
  readonly body: readonly Node[];
  readonly program: Node;
}

/** One module named by an import, a re-export or a dynamic import. */
export interface Import {
  readonly specifier: string;
  /** The repository path meant by a relative specifier, `.js` read as `.ts`; else `undefined`. */
  readonly target: string | undefined;
  /** True where nothing is left of it when the program runs. */
  readonly isType: boolean;
  /** The names taken of it, as the other file exports them; `undefined` where that may be any. */
  readonly names: readonly string[] | undefined;
  readonly at: number;
}

/** True for the files that are parsed. */
export function isCode(path: string): boolean {
  return /\.(ts|tsx|mts|mjs|js)$/.test(path) && !path.endsWith(".d.ts");
}

/** True for test files: unit tests beside their module, and whole-package tests. */
export function isTest(path: string): boolean {
  return /\.test\.ts$/.test(path) || /^packages\/[^/]+\/test\//.test(path);
}

/** Parses a file of code; throws with the path when the text is not a program. */
export function parse(file: TextFile): CodeFile {
  const lang = file.path.endsWith(".tsx") ? "tsx" : /\.m?ts$/.test(file.path) ? "ts" : "js";
  try {
    const program: Node = asNode(parseAst(file.text, { lang }, file.path));
    return { ...file, program, body: nodes(program.body) };
  } catch (cause) {
    throw new Error(`${file.path} does not parse`, { cause });
  }
}

/** Builds a problem at an offset of a file. */
export function problem(
  rule: string,
  file: TextFile,
  place: { readonly at: number; readonly subject?: string },
  message: string,
): Problem {
  const line = lineOf(file.text, place.at);
  return { rule, file: file.path, line, subject: place.subject ?? "", message };
}

/** The line of an offset, counted from 1. */
export function lineOf(text: string, at: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i !== -1 && i < at; i = text.indexOf("\n", i + 1)) line += 1;
  return line;
}

/** How many lines a text has; a final newline does not open another. */
export function lineCount(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}

/** Calls `visit` on every node below and including `node`, parents first. */
export function walk(
  node: Node,
  visit: (node: Node, parents: readonly Node[]) => void,
  parents: readonly Node[] = [],
): void {
  visit(node, parents);
  const below = [...parents, node];
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) for (const item of nodes(value)) walk(item, visit, below);
    else if (isNode(value)) walk(value, visit, below);
  }
}

/** Every module the file names, type-only imports and dynamic imports included. */
export function importsOf(file: CodeFile): readonly Import[] {
  const known = IMPORTS.get(file);
  if (known !== undefined) return known;
  const found: Import[] = [];
  walk(file.program, (node) => {
    if (!IMPORTING.has(node.type)) return;
    const source = isNode(node.source) ? node.source : undefined;
    if (source === undefined || typeof source.value !== "string") return;
    const specifier = source.value;
    const isType =
      node.type === "TSImportType" || node.importKind === "type" || node.exportKind === "type";
    const target = resolveImport(file.path, specifier);
    found.push({ specifier, target, isType, names: namesTaken(node), at: node.start });
  });
  IMPORTS.set(file, found);
  return found;
}

/** Several rules ask for the imports of a file, and its whole tree is walked to find them. */
const IMPORTS = new WeakMap<CodeFile, readonly Import[]>();

function namesTaken(node: Node): readonly string[] | undefined {
  const named = nodes(node.specifiers).map((one) => nameOf(one.imported ?? one.local));
  const known = named.filter((name) => name !== undefined);
  const isNamed = (one: Node) => one.type === "ImportSpecifier" || one.type === "ExportSpecifier";
  return known.length > 0 && nodes(node.specifiers).every(isNamed) ? known : undefined;
}

/** The name written at a node: an identifier, a literal key or `this`. */
export function nameOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (typeof node.name === "string") return node.name;
  if (typeof node.value === "string") return node.value;
  return undefined;
}

/** True when a value of the tree is itself a node. */
export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** The nodes of a list that may have holes. */
export function nodes(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

const IMPORTING: ReadonlySet<string> = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

function asNode(value: unknown): Node {
  if (!isNode(value)) throw new Error("the parser returned no tree");
  return value;
}

function resolveImport(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith("./") && !specifier.startsWith("../")) return undefined;
  const written = posix.join(posix.dirname(from), specifier);
  // Programs that run the built packages name what is made of a source.
  const path = written.replace(/^(packages\/[^/]+)\/dist\//, "$1/src/");
  return /^packages\/[^/]+\/|^tools\//.test(path) ? path.replace(/\.js$/, ".ts") : path;
}
