/**
 * Writes `packages/server/dist/bundle`: the command as a few files, the last step of `npm run build`. A process that has
 * to open and compile five hundred modules takes twice as long to start as one that reads a dozen.
 *
 * What is bundled is our own code and the libraries listed here, whose licences are written beside it; whatever has
 * a binary, and whatever is loaded for one command in a hundred, stays a package of its own.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const server = fileURLToPath(new URL("../packages/server/", import.meta.url));
const OUT = join(server, "dist", "bundle");

/** The packages that are bundled. */
const BUNDLED = [
  "@cortex-memory/core",
  "@cortex-memory/embed",
  "@hono/node-server",
  "@modelcontextprotocol/core",
  "@modelcontextprotocol/server",
  "@noble/hashes",
  "commander",
  "hono",
  "re2js",
  "snowball-stemmers",
  "zod",
];

/** @param {string} id */
function isExternal(id) {
  if (/^[./]/.test(id) || /^[A-Za-z]:[\\/]/.test(id)) return false;
  return !BUNDLED.some((name) => id === name || id.startsWith(`${name}/`));
}

/** @param {string} module A file below some `node_modules`. */
function packageFolder(module) {
  let folder = dirname(module);
  while (!existsSync(join(folder, "package.json")) || !nameIn(folder))
    folder = resolve(folder, "..");
  return folder;
}

/** @param {string} folder */
function nameIn(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name;
}

/** @param {readonly string[]} modules */
function licencesOf(modules) {
  const others = modules.filter((module) => /[\\/]node_modules[\\/]/.test(module));
  const folders = [...new Set(others.map(packageFolder))].sort();
  return folders.map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text =
      file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
}

/**
 * The protocol's SDK makes a checker of JSON schemas for every server, for answers of people to forms, which this
 * server never sends. Of the two that it comes with, the one for edge runtimes costs nothing until it is used.
 */
const LIGHT_CHECKER = "@modelcontextprotocol/server/validators/cf-worker";
const SDK_PLATFORM = `import process from "node:process";
import { CfWorkerJsonSchemaValidator } from ${JSON.stringify(LIGHT_CHECKER)};
export { CfWorkerJsonSchemaValidator as DefaultJsonSchemaValidator, process };`;

/** @type {import("rolldown").Plugin} */
const lightChecker = {
  name: "light-checker",
  resolveId: (id) => (id === "@modelcontextprotocol/server/_shims" ? "\0sdk-platform" : null),
  load: (id) => (id === "\0sdk-platform" ? SDK_PLATFORM : null),
};

/**
 * The model of the embedder stays in its package, and is found from there.
 * @type {import("rolldown").Plugin}
 */
const modelInItsPackage = {
  name: "model-in-its-package",
  transform: (code, id) =>
    /[\\/]embed[\\/]dist[\\/]index\.js$/.test(id)
      ? `import { createRequire as makeRequire } from "node:module";
import { pathToFileURL } from "node:url";
${code.replaceAll(
  "import.meta.url",
  'pathToFileURL(makeRequire(import.meta.url).resolve("@cortex-memory/embed"))',
)}`
      : null,
};

/**
 * A script that is run by `kept-code.ts` has no `import()` of its own: it is handed one. Of other packages a missing one is
 * told by it in other words than by `require`.
 * @type {import("rolldown").Plugin}
 */
const handedImport = {
  name: "handed-import",
  renderChunk: (code) =>
    code.replace(/(?<![\w$.])import\(\s*(["'`][^"'`]+["'`])\s*\)/g, "importOutside($1)"),
};

rmSync(OUT, { recursive: true, force: true });
// What was kept of the program before is good for nothing any more.
rmSync(join(server, "node_modules", ".cache", "cortex"), { recursive: true, force: true });
const build = await rolldown({
  input: {
    main: join(server, "dist", "main.js"),
    "kept-code": join(server, "dist", "kept-code.js"),
  },
  platform: "node",
  external: isExternal,
  plugins: [lightChecker, modelInItsPackage, handedImport],
  logLevel: "warn",
});
const { output } = await build.write({
  dir: OUT,
  // What V8 compiles of a script can be kept, of a module it cannot: see `kept-code.ts`.
  format: "cjs",
  entryFileNames: "[name].cjs",
  // Names stay, so that a stack says where a fault was.
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  chunkFileNames: "[name]-[hash].cjs",
});
const modules = output.flatMap((one) => (one.type === "chunk" ? one.moduleIds : []));
const head =
  "The program in this folder holds parts of these packages, each under its own licence.\n";
writeFileSync(
  join(OUT, "LICENCES.txt"),
  [head, ...licencesOf(modules)].join(`\n${"-".repeat(72)}\n\n`),
);
