#!/usr/bin/env node
/**
 * The command `cortex`. It is committed, because npm links a command only if its file is there when it installs,
 * and in a checkout the program itself is built after that.
 *
 * It is in the form of CommonJS, and so is the bundle: Node then never sets up its loader of modules.
 */
const { existsSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const { join } = require("node:path");
const { setFlagsFromString } = require("node:v8");

const folder = join(__dirname, "../dist/bundle");
const keptIn = join(__dirname, "../node_modules/.cache/cortex");
if (existsSync(join(folder, "main.cjs"))) {
  // V8 would take what a long list keeps for a moment as a sign that such objects live long, and put those of every
  // later read where only a full collection finds them: a quarter of the time of a read. Set before anything is
  // compiled, because what is kept of that is good for the same flags.
  setFlagsFromString("--no-allocation-site-pretenuring");
  // Newer releases of Node keep what they compile of other packages.
  enableCompileCache?.(keptIn);
  const { runKept } = require("../dist/bundle/kept-code.cjs");
  const kind = ["mcp", "serve"].find((word) => process.argv.includes(word)) ?? "command";
  runKept({ folder, main: "main.cjs", keptIn, kind });
} else {
  process.stderr.write("cortex: not built yet; run `npm ci && npm run build` in its folder\n");
  process.exitCode = 1;
}
