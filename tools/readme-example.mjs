/**
 * Takes the example out of README.md, compiles it with the repository's compiler and runs it, so
 * that the page a newcomer reads first is a program that works.
 *
 *     node tools/readme-example.mjs            compile and run in a fresh folder, then remove it
 *     node tools/readme-example.mjs FOLDER     compile into FOLDER, which has its own node_modules
 *
 * The target is ES2022, which lowers `await using` for the oldest Node we support. A type error in
 * the example fails the run. What the example should print is compared by tools/packages.test.ts.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The text of the first `ts` block of the README. */
function readExample() {
  const found = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, "README.md"), "utf8"));
  if (found?.[1] === undefined) throw new Error("README.md has no block marked ts");
  return found[1];
}

function compileInto(folder) {
  const settings = {
    compilerOptions: {
      target: "ES2022",
      lib: ["ES2023", "ESNext.Disposable"],
      module: "NodeNext",
      strict: true,
      skipLibCheck: true,
      types: ["node"],
      typeRoots: [join(root, "node_modules", "@types")],
    },
    files: ["example.ts"],
  };
  writeFileSync(join(folder, "package.json"), packageJson(folder));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  writeFileSync(join(folder, "example.ts"), readExample());
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  run([compiler, "-p", "tsconfig.json"], folder);
}

/** Keeps the package file of a folder that has one: its dependencies are listed there. */
function packageJson(folder) {
  let known = {};
  try {
    known = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  return JSON.stringify({ ...known, private: true, type: "module" });
}

function run(args, cwd) {
  execFileSync(process.execPath, args, { cwd, stdio: "inherit" });
}

function demo() {
  const folder = mkdtempSync(join(tmpdir(), "cortex-demo-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
    compileInto(folder);
    run(["example.js"], folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const given = process.argv[2];
try {
  if (given === undefined) demo();
  else compileInto(resolve(given));
} catch (error) {
  console.error(error.message); // the compiler and the example have already said what is wrong
  process.exitCode = 1;
}
