/**
 * `npm run generate`: writes every generated file anew: the routes of the remote client, the reference
 * pages, the tables inside docs. Each is written by the test that guards it.
 */
import { spawnSync } from "node:child_process";

const TESTS = [
  "tools/routes.test.ts",
  "packages/server/test/docs.test.ts",
  "tools/edges-doc.test.ts",
  "tools/llms.test.ts",
];

const env = { ...process.env, CORTEX_WRITE_REFERENCE: "1", CORTEX_WRITE_DOCS: "1" };
const run = (/** @type {string[]} */ ...args) =>
  spawnSync("npx", args, { stdio: "inherit", env, shell: process.platform === "win32" }).status ??
  1;

process.exitCode = run("vitest", "run", ...TESTS) || run("biome", "check", "--write", ".");
