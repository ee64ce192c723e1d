#!/usr/bin/env node
/**
 * The command `cortex`. It is committed, because npm links a command only if its file is there when it installs,
 * and in a checkout the program itself is built after that.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const program = new URL("../dist/bundle/main.js", import.meta.url);
if (existsSync(program)) {
  // Newer releases of Node keep what they compile, and start in less time. It is kept beside the program: whoever may
  // write there may change the program itself. Where nobody may, nothing is kept.
  module.enableCompileCache?.(
    fileURLToPath(new URL("../node_modules/.cache/cortex", import.meta.url)),
  );
  await import(program.href);
} else {
  process.stderr.write("cortex: not built yet; run `npm ci && npm run build` in its folder\n");
  process.exitCode = 1;
}
