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

rmSync(OUT, { recursive: true, force: true });
const build = await rolldown({
  input: { main: join(server, "dist", "main.js") },
  platform: "node",
  external: isExternal,
  plugins: [lightChecker],
  logLevel: "warn",
});
const { output } = await build.write({
  dir: OUT,
  format: "esm",
  // Names stay, so that a stack says where a fault was.
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  chunkFileNames: "[name]-[hash].js",
});
const modules = output.flatMap((one) => (one.type === "chunk" ? one.moduleIds : []));
const head =
  "The program in this folder holds parts of these packages, each under its own licence.\n";
writeFileSync(
  join(OUT, "LICENCES.txt"),
  [head, ...licencesOf(modules)].join(`\n${"-".repeat(72)}\n\n`),
);
