/**
 * For every house rule a small tree that breaks it and nothing else. The self-test of the checker
 * runs them all, so that a check that has gone blind fails instead of passing everything.
 */
import type { TextFile } from "./source.js";

/** A broken tree; `clean` is the same tree mended. */
export interface BadSource {
  readonly rule: string;
  readonly what: string;
  readonly broken: readonly TextFile[];
  readonly clean: readonly TextFile[];
}

const CORE = "packages/core/src/";
const SERVER = "packages/server/src/";
const HEADER = "/** A file of the self-test. */\n";

/** The package files and entries that every small tree stands on. */
export const GROUND: readonly TextFile[] = [
  json("package.json", { scripts: { test: "vitest run" } }),
  json("packages/core/package.json", {
    exports: {
      ".": "./dist/index.js",
      "./verify": "./dist/verify.js",
      "./testing": "./dist/testing/index.js",
    },
    dependencies: { lmdb: "1.0.0", "@noble/hashes": "1.0.0" },
  }),
  json("packages/server/package.json", {
    bin: { cortex: "./dist/main.js" },
    dependencies: { "@cortex-memory/core": "1.0.0" },
  }),
];

/** Every rule, at least once. */
export const BAD_SOURCES: readonly BadSource[] = [
  ...layerCases(),
  ...serverLayerCases(),
  ...codeCases(),
  ...exportCases(),
  ...treeCases(),
  ...proseCases(),
];

function layerCases(): readonly BadSource[] {
  return [
    core("layer", "a pure file imports the journal", {
      "codec/cbor.ts": imports("../journal/entry.js"),
      "journal/entry.ts": code("export const x = 1;"),
      "index.ts": imports("./codec/cbor.js"),
    }),
    core("layer", "a type import counts as well", {
      "kv/kv.ts": code('export type X = import("../records/memory-record.js").Y;'),
      "records/memory-record.ts": code("export type Y = 1;"),
      "index.ts": imports("./kv/kv.js"),
    }),
    core("layer", "a folder imports its neighbour of the same rank", {
      "sessions/remember.ts": imports("../batch/batch.js"),
      "batch/batch.ts": code("export const x = 1;"),
      "index.ts": imports("./sessions/remember.js"),
    }),
    core("layer", "a dynamic import counts as well", {
      "history/fold.ts": code('export const x = () => import("../find/find-plan.js");'),
      "find/find-plan.ts": code("export const x = 1;"),
      "index.ts": imports("./history/fold.js"),
    }),
    core("layer", "a backend reads the keyspace", {
      "kv/lmdb-backend.ts": imports("./keyspace.js"),
      "kv/keyspace.ts": code("export const x = 1;"),
      "open.ts": imports("./kv/lmdb-backend.js"),
      "index.ts": imports("./open.js"),
    }),
    core("layer", "a backend is named outside open.ts", {
      "memory/write.ts": imports("../kv/memory-backend.js"),
      "kv/memory-backend.ts": code("export const x = 1;"),
      "index.ts": imports("./memory/write.js"),
    }),
    core("layer", "a backend imports another", {
      "kv/lmdb-file.ts": imports("./memory-backend.js"),
      "kv/memory-backend.ts": code("export const x = 1;"),
      "open.ts": imports("./kv/lmdb-file.js"),
      "index.ts": imports("./open.js"),
    }),
    core("layer", "the product imports its test helpers", {
      "cortex.ts": imports("./testing/model.js"),
      "testing/model.ts": code("export const x = 1;"),
      "index.ts": imports("./cortex.js"),
    }),
    core("layer", "a file without a rank", {
      "helpers.ts": code("export const x = 1;"),
      "index.ts": imports("./helpers.js"),
    }),
    server("layer", "the server reaches into core", 'import "../../core/src/cortex.js";'),
    server("layer", "not a public entry", 'import "@cortex-memory/core/journal";'),
    server("layer", "test helpers in the product", 'import "@cortex-memory/core/testing";'),
    server("dependency", "an undeclared library", 'import "left-pad";'),
    core("dependency", "the hash library through a second door", {
      "index.ts": code('import "@noble/hashes/sha2.js";'),
    }),
    core("verifier", "the verifier reaches the store through the journal", {
      "verify.ts": imports("./journal/entry.js"),
      "journal/entry.ts": imports("../kv/kv.js"),
      "kv/kv.ts": code("export const x = 1;"),
    }),
    core("verifier", "the verifier reaches Node through a pure file", {
      "verify.ts": imports("./codec/node-crypto.js"),
      "codec/node-crypto.ts": code("export const x = 1;"),
    }),
  ];
}

function serverLayerCases(): readonly BadSource[] {
  return [
    serverTree("layer", "an operation imports a door", {
      "main.ts": imports("./operations/find.js"),
      "operations/find.ts": imports("../http/input.js"),
      "http/input.ts": code("export const x = 1;"),
    }),
    serverTree("layer", "a setting imports an operation", {
      "main.ts": imports("./config.js"),
      "config.ts": code('export type X = import("./operations/find.js").Y;'),
      "operations/find.ts": code("export type Y = 1;"),
    }),
    serverTree("layer", "a door imports another", {
      "main.ts": imports("./http/input.js"),
      "http/input.ts": imports("../cli/flags.js"),
      "cli/flags.ts": code("export const x = 1;"),
    }),
    serverTree("layer", "a door that is started by another imports it", {
      "main.ts": imports("./mcp/door.js"),
      "mcp/door.ts": imports("../http/mcp-route.js"),
      "http/mcp-route.ts": code("export const x = 1;"),
    }),
    serverTree("layer", "what shows an answer runs an operation", {
      "main.ts": imports("./render/find.js"),
      "render/find.ts": imports("../operations/find.js"),
      "operations/find.ts": code("export const x = 1;"),
    }),
    serverTree("layer", "a file of the server without a rank", {
      "main.ts": imports("./helpers.js"),
      "helpers.ts": code("export const x = 1;"),
    }),
  ];
}

function codeCases(): readonly BadSource[] {
  const below = (what: string, body: string): BadSource =>
    core("ambient", what, {
      "records/memory-record.ts": code(body),
      "index.ts": imports("./records/memory-record.js"),
    });
  const long = (lines: number): string => "  x();\n".repeat(lines);
  return [
    below("the wall clock", "export const x = (): number => Date.now();"),
    below("the wall clock, handed on", "export const x = Date.now;"),
    below("the wall clock by computed name", 'export const x = Date["now"]();'),
    below("the wall clock, taken apart", "const { now } = Date;\nexport const x = now;"),
    below("a date of today", "export const x = new Date();"),
    below("chance", "export const x = Math.random();"),
    below("chance from the platform", "export const x = globalThis.crypto.randomUUID();"),
    below("elapsed time", "export const x = performance.now();"),
    inIndex("ambient", "the wall clock, asked in the facade", "export const x = Date.now();"),
    inIndex("ambient", "elapsed time, asked there", "export const x = () => performance.now();"),
    below("the environment", "export const x = process.env;"),
    below("a module of Node", 'import "node:fs";'),
    inIndex("function-lines", "a function", `export function f() {\n${long(70)}}`),
    inIndex("function-lines", "an arrow", `export const f = () => {\n${long(70)}};`),
    inIndex("function-lines", "an object method", `export const o = {\n  m() {\n${long(70)}}\n};`),
    inIndex(
      "function-lines",
      "a class method after a brace in a regular expression and a template",
      `export class C {\n  close() {}\n  m() {\n  const s = \`\${"}"}\`.match(/[{]/);\n${long(70)}}\n}`,
    ),
    inIndex("file-lines", "a long file", "x();\n".repeat(600)),
    inIndex("any", "an annotation", "export const x = (y: any): void => y;"),
    inIndex("any", "a cast", "export const x = 1 as any;"),
    inIndex("non-null", "an assertion", "export const x = y!;"),
    inIndex("enum", "an enum", "export enum X { A }"),
    inIndex("inheritance", "a class over a class", "export class X extends Y { close() {} }"),
    core(
      "header",
      "no header",
      { "index.ts": "/** Doc. */\nexport const x = 1;\n" },
      "const x = 1;",
    ),
    testFile("focused", "a focused test", 'test.only("x", () => {});'),
    testFile("skip", "a silent skip", 'test.skip("x", () => {});'),
    testFile("skip", "a silent skip at run time", 'test("x", (ctx) => { ctx.skip(); });'),
    testFile("early-return", "a test that leaves", 'test("x", () => { if (a) return; b(); });'),
    testFile(
      "early-return",
      "one of several tests that leaves",
      'test.each([1])("x", async () => { if (a) { return; } b(); });',
    ),
  ];
}

function exportCases(): readonly BadSource[] {
  return [
    inIndex("default-export", "a default", "export default 1;"),
    inIndex("default-export", "a renamed default", "const x = 1;\nexport { x as default };"),
    core("star-export", "a star", {
      "index.ts": code('export * from "./cortex.js";'),
      "cortex.ts": code("export const x = 1;"),
    }),
    inIndex("undocumented", "a constant", "const y = 1;\nexport const x = y;", false),
    inIndex("undocumented", "an interface", "const y = 1;\nexport interface X { a: 1 }", false),
    inIndex("undocumented", "a local name", "const y = 1;\nfunction f() {}\nexport { f };", false),
    inIndex(
      "undocumented",
      "a comment that is no doc comment",
      "const y = 1;\n// says why\nexport const x = y;",
      false,
    ),
  ];
}

function treeCases(): readonly BadSource[] {
  return [
    core("orphan", "a file nobody imports", { "cortex.ts": code("export const x = 1;") }),
    core("orphan", "a file only its test imports", {
      "cortex.ts": code("export const x = 1;"),
      "cortex.test.ts": code('import { x } from "./cortex.js";\nx;'),
    }),
    core("unused-export", "a name nobody imports", {
      "cortex.ts": code("export const x = 1;\nexport const y = x;"),
      "index.ts": code('export { x } from "./cortex.js";'),
    }),
    prose("lock-file", "a registry address", {
      "package-lock.json": lock({ version: "1.0.0", resolved: "https://registry.example/x.tgz" }),
    }),
    prose("lock-file", "a folder of the workspace that is no link", {
      "package-lock.json": lock({ resolved: "packages/core" }),
    }),
    prose("lock-file", "a link out of the workspace", {
      "package-lock.json": lock({ resolved: "../elsewhere", link: true }),
    }),
  ];
}

function proseCases(): readonly BadSource[] {
  const record = "# A choice\n\nStatus: accepted\n\n## Situation\n\n## Choice\n\n## What follows\n";
  return [
    prose("title", "two titles", { "docs/a.md": "# One\n\n# Two\n" }),
    prose("title", "no title but one in a code block", { "docs/a.md": "```\n# One\n```\n" }),
    prose("link", "a file that is not there", { "docs/a.md": "# A\n\n[b](b.md)\n" }),
    prose("link", "a heading that is not there", { "docs/a.md": "# A\n\n[b](#b)\n" }),
    prose("command", "a script that is not there", { "docs/a.md": "# A\n\n    npm run fly\n" }),
    prose("decision", "a record that cannot be reopened", { "docs/decisions/0099-x.md": record }),
    prose("decision-lines", "a record of two pages", {
      "docs/decisions/0099-x.md": `${record}\n## What would reopen it\n${"\n".repeat(70)}`,
    }),
    prose("readme-lines", "a long README", { "README.md": `# A\n${"\n".repeat(200)}` }),
    prose("machine-path", "a folder", {
      "docs/a.md": `# A\n\nIn ${["", "home", "x"].join("/")}\n`,
    }),
    prose("machine-path", "in code", {
      "examples/a.mjs": `${HEADER}const x = "${["", "tmp", "x"].join("/")}";\nx;\n`,
    }),
    prose("forbidden-word", "praise", { "docs/a.md": `# A\n\nIt is seam${"less"}.\n` }),
    prose("forbidden-word", "a reminder", { "docs/a.md": `# A\n\nTO${"DO"}: more.\n` }),
  ];
}

function json(path: string, value: unknown): TextFile {
  return { path, text: JSON.stringify(value) };
}

function code(body: string): string {
  return `${HEADER}${body.replace(/^export (?!default|\*|\{)/gm, "/** Doc. */\nexport ")}\n`;
}

function imports(specifier: string): string {
  return `${HEADER}import "${specifier}";\n`;
}

function lock(entry: unknown): string {
  return JSON.stringify({ packages: { "node_modules/x": entry } });
}

function tree(prefix: string, files: Readonly<Record<string, string>>): readonly TextFile[] {
  return Object.entries(files).map(([path, text]) => ({ path: prefix + path, text }));
}

/** Mended by emptying every file down to its header: the structure stays, the sin goes. */
function core(
  rule: string,
  what: string,
  files: Readonly<Record<string, string>>,
  body?: string,
): BadSource {
  const broken = tree(CORE, body === undefined ? files : { "index.ts": body });
  const clean = tree(CORE, { "index.ts": code("export const x = new Date(0);") });
  return { rule, what, broken, clean };
}

function inIndex(rule: string, what: string, body: string, documented = true): BadSource {
  return core(rule, what, { "index.ts": documented ? code(body) : `${HEADER}${body}\n` });
}

function server(rule: string, what: string, body: string): BadSource {
  const main = "packages/server/src/main.ts";
  const clean = [{ path: main, text: `${HEADER}import "@cortex-memory/core/verify";\n` }];
  return { rule, what, broken: [{ path: main, text: `${HEADER}${body}\n` }], clean };
}

/** Mended by imports that go down, and the two that are granted. */
function serverTree(
  rule: string,
  what: string,
  files: Readonly<Record<string, string>>,
): BadSource {
  const clean = tree(SERVER, {
    "main.ts": imports("./cli/serve.js"),
    "cli/serve.ts": imports("../http/app.js"),
    "http/app.ts": imports("../operations/find.js"),
    "operations/find.ts": `${code("export type Y = 1;")}import "../render/find.js";\n`,
    "render/find.ts": code(
      'import type { Y } from "../operations/find.js";\nimport "../config.js";\nexport type X = Y;',
    ),
    "config.ts": code("export const x = 1;"),
  });
  return { rule, what, broken: tree(SERVER, files), clean };
}

function testFile(rule: string, what: string, body: string): BadSource {
  const path = "packages/core/test/x.test.ts";
  const clean = [{ path, text: `${HEADER}test("x", () => {});\n` }];
  return { rule, what, broken: [{ path, text: `${HEADER}${body}\n` }], clean };
}

function prose(rule: string, what: string, files: Readonly<Record<string, string>>): BadSource {
  const clean = [{ path: "docs/a.md", text: "# A\n\n`[x](y.md)` and [a](#a), npm run test\n" }];
  return { rule, what, broken: tree("", files), clean };
}
