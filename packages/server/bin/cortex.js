#!/usr/bin/env node
/**
 * The command `cortex`. It is committed, because npm links a command only if its file is there when it installs,
 * and in a checkout the program itself is built after that.
 */
import { existsSync } from "node:fs";

const program = new URL("../dist/bundle/main.js", import.meta.url);
if (existsSync(program)) {
  await import(program.href);
} else {
  process.stderr.write("cortex: not built yet; run `npm ci && npm run build` in its folder\n");
  process.exitCode = 1;
}
