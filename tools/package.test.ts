/**
 * What users install: packs core and server, installs the two archives into an empty folder, runs
 * the README's example there and asks the command line for its help. It sees the built output, so
 * `npm test` builds first.
 *
 * The libraries come from the registry or from npm's cache. With neither there is nothing to test:
 * a line says so and the tests are skipped, unless CORTEX_REQUIRE_ALL asks for a failure.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const requireAll = process.env.CORTEX_REQUIRE_ALL === "1";

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  /** Both streams, for messages. */
  readonly all: string;
}

function start(command: string, args: readonly string[], cwd: string): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (error !== undefined) throw error;
  return { status: status ?? 1, stdout, all: `${stdout}${stderr}` };
}

function npm(args: readonly string[], cwd: string): Outcome {
  return start("npm", [...args, "--no-audit", "--no-fund"], cwd);
}

/** Whether npm failed only because neither a registry nor its cache could serve a library. */
function isOffline(outcome: Outcome): boolean {
  const code = /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|NOTCACHED)\b/;
  return outcome.status !== 0 && code.test(outcome.all);
}

interface PackedFile {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

function packed(outcome: Outcome): readonly PackedFile[] {
  const printed: unknown = JSON.parse(outcome.stdout);
  if (!Array.isArray(printed)) throw new Error(`npm pack printed no list: ${outcome.stdout}`);
  return printed as readonly PackedFile[];
}

describe("the published packages", () => {
  const folder = mkdtempSync(join(tmpdir(), "cortex-package-"));
  const home = join(folder, "home");
  let archives: readonly PackedFile[] = [];
  let installed: Outcome | undefined;

  beforeAll(() => {
    mkdirSync(home);
    writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
    const outcome = npm(
      [...pack, "-w", "packages/core", "-w", "packages/embed", "-w", "packages/server"],
      root,
    );
    if (outcome.status !== 0) throw new Error(outcome.all);
    archives = packed(outcome);
    const paths = archives.map(({ filename }) => join(folder, filename));
    installed = npm(["install", ...paths, "--prefer-offline", "--ignore-scripts"], home);
    if (isOffline(installed)) console.log("cannot install: no registry and no cache");
  }, 300_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** True when the caller should skip; a failed installation throws with npm's own words. */
  function cannotInstall(): boolean {
    if (installed === undefined) throw new Error("nothing was installed");
    if (isOffline(installed) && !requireAll) return true;
    expect(installed.status, installed.all).toBe(0);
    return false;
  }

  test("hold the built files and a README, and neither tests nor sources", () => {
    expect(archives).toHaveLength(3);
    for (const { files } of archives) {
      const paths = files.map(({ path }) => path);
      expect(paths).toContain("README.md");
      expect(paths).toContain("dist/index.js");
      const known =
        /^(dist\/.+\.(js|d\.ts|js\.map|d\.ts\.map)|dist\/studio\/(index\.html|studio\/[\w-]+\.(css|svg))|model\/[\w-]+\.bin|dist\/bundle\/LICENCES\.txt|bin\/cortex\.js|README\.md|LICENSE|NOTICE|package\.json)$/;
      expect(paths.filter((path) => !known.test(path) || /\.test\./.test(path))).toEqual([]);
    }
  });

  test("run the README's example, which prints what the README says", (ctx) => {
    if (cannotInstall()) return ctx.skip();
    const compiled = start(process.execPath, ["tools/readme-example.mjs", home], root);
    expect(compiled.status, compiled.all).toBe(0);
    const ran = start(process.execPath, ["example.js"], home);
    expect(ran.status, ran.all).toBe(0);
    expect(ran.stdout).toBe(promisedOutput());
  });

  test("give the command line, which explains itself", (ctx) => {
    if (cannotInstall()) return ctx.skip();
    const help = start(join(home, "node_modules", ".bin", "cortex"), ["--help"], home);
    expect(help.status, help.all).toBe(0);
    expect(help.stdout).toMatch(/^Usage: cortex /m);
  });
});

/** The README's first `text` block after its example. */
function promisedOutput(): string {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const found = /^```ts\n[\s\S]*?^```$[\s\S]*?^```text\n([\s\S]*?)^```$/m.exec(readme);
  if (found?.[1] === undefined) throw new Error("README.md does not say what its example prints");
  return found[1];
}
