/**
 * The packages as the registry would hand them out, packed once.
 *
 * Unpacked in an empty folder they are used on this Node and on the others that `CORTEX_NODES` names; other packages
 * are then the ones installed here, so that nothing is fetched. And installed by npm into another one, as users do,
 * they run the README's example; the libraries come from the registry or from npm's cache, and with neither there is
 * nothing to test: a line says so and the tests are skipped, unless CORTEX_REQUIRE_ALL asks for a failure.
 *
 * Needs what `npm run build` makes.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLacking } from "../packages/core/src/testing/lacking.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const requireAll = process.env.CORTEX_REQUIRE_ALL === "1";
const PACKAGES = ["core", "embed", "server"] as const;
const isBuilt = existsSync(join(root, "packages/server/dist/bundle/main.cjs"));
const UNBUILT = isLacking(isBuilt, "the packages need `npm run build` first");
const NODES = (process.env.CORTEX_NODES ?? "").split(delimiter).filter((path) => path !== "");
const NO_OTHERS = isLacking(NODES.length > 0, "CORTEX_NODES names no other releases of Node");

interface Manifest {
  readonly [field: string]: unknown;
  readonly version: string;
  readonly dependencies?: { readonly [name: string]: string };
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
const own = (name: string): string => join(root, "packages", name);

/** Addresses of files of the repository, as pages name them. */
const FILES = "https://github.com/cortex-memory/cortex/blob/main/";

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

interface PackedFile {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

function archivesIn(packed: Outcome): readonly PackedFile[] {
  const printed: unknown = JSON.parse(packed.stdout);
  if (!Array.isArray(printed)) throw new Error(`npm pack printed no list: ${packed.stdout}`);
  return printed as readonly PackedFile[];
}

let archives: readonly PackedFile[] = [];
let place: string;
/** Where the packages lie unpacked, by name. */
const unpacked = (name: string): string => join(place, "node_modules/@cortex-memory", name);

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), "cortex-packages-"));
  if (UNBUILT) return;
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", place];
  const packed = npm([...args, ...PACKAGES.map((name) => own(name))], root);
  if (packed.status !== 0) throw new Error(packed.all);
  archives = archivesIn(packed);
  for (const name of PACKAGES) {
    const folder = unpacked(name);
    mkdirSync(folder, { recursive: true });
    const { version } = manifestOf(own(name));
    const tarball = join(place, `cortex-memory-${name}-${version}.tgz`);
    spawnSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
  }
  linkOthers();
});

afterAll(() => {
  rmSync(place, { recursive: true, force: true });
});

/** Every package that the two ask for, and what those ask for, from where they are installed. */
function linkOthers(): void {
  const wanted = PACKAGES.flatMap((name) => Object.keys(manifestOf(own(name)).dependencies ?? {}));
  for (const name of new Set(wanted)) {
    const target = join(place, "node_modules", name);
    if (existsSync(target)) continue;
    mkdirSync(join(target, ".."), { recursive: true });
    // A package finds its own dependencies by its real path, beside it.
    symlinkSync(join(root, "node_modules", name), target, "junction");
  }
}

/** Every file below a folder, by its path there. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) =>
    path.replaceAll("\\", "/"),
  );
}

describe.skipIf(UNBUILT).each(PACKAGES)("the package %s", (name) => {
  test("says what a registry asks for", () => {
    const manifest = manifestOf(unpacked(name));
    expect(manifest).toMatchObject({
      license: "Apache-2.0",
      engines: { node: ">=20.19" },
      repository: { type: "git", directory: `packages/${name}` },
      homepage: expect.stringMatching(/^https:/),
      bugs: { url: expect.stringMatching(/^https:/) },
      publishConfig: { access: "public", provenance: true },
    });
    expect(manifest.keywords).toEqual(expect.arrayContaining(["memory", "agent"]));
    expect(manifest.version).toBe(manifestOf(root).version);
  });

  test("carries its licence, and neither tests nor maps without their sources", () => {
    const files = filesIn(unpacked(name));
    for (const file of ["LICENSE", "NOTICE"]) {
      const text = readFileSync(join(unpacked(name), file), "utf8");
      // A package may have more to acknowledge than all of them together.
      const isLonger = file === "NOTICE" && name === "embed";
      if (!isLonger) expect(text).toBe(readFileSync(join(root, file), "utf8"));
    }
    expect(files.filter((path) => /\.(test\.|tsbuildinfo|map$)/.test(path))).toEqual([]);
    // What an earlier build left of a source that is gone is swept out before a release.
    const source = (path: string): string => path.replace("dist/", "src/").replace(/js$/, "ts");
    const scripts = files.filter(
      (path) => path.endsWith(".js") && existsSync(join(own(name), source(path))),
    );
    const mapped = scripts.filter((path) =>
      readFileSync(join(unpacked(name), path), "utf8").includes("\n//# sourceMappingURL="),
    );
    expect(mapped).toEqual([]);
  });

  test("links that a page of the registry can follow", () => {
    const text = readFileSync(join(unpacked(name), "README.md"), "utf8");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([]);
    const ours = links.flatMap((link) =>
      link.startsWith(FILES) ? [link.slice(FILES.length).replace(/#.*/, "")] : [],
    );
    expect(ours.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

test.skipIf(UNBUILT)("libraries that are bundled come with their licences", () => {
  const text = readFileSync(join(unpacked("server"), "dist/bundle/LICENCES.txt"), "utf8");
  for (const name of ["zod", "hono", "commander", "@modelcontextprotocol/server"]) {
    expect(text).toMatch(new RegExp(`^${name} \\d+\\.`, "m"));
  }
});

const USE = `
import { open } from "@cortex-memory/core";
import { verify } from "@cortex-memory/core/verify";
import { OPERATIONS } from "@cortex-memory/server";
await using_();
async function using_() {
  const memory = await open("./store", { actor: "ada" });
  const { id } = await memory.write({ type: "fact", text: "Ada lives in Porto" });
  const { checkpoint } = await memory.snapshot("first");
  const proof = await memory.prove([id]);
  const { hits } = await memory.recall("where does Ada live");
  console.log(JSON.stringify([verify(proof, checkpoint).ok, hits[0].text, OPERATIONS.length > 50]));
  await memory.close();
}
`;

/** What the packages do on one Node. */
function useOn(node: string): void {
  const cwd = mkdtempSync(join(place, "use-"));
  writeFileSync(join(cwd, "use.mjs"), USE);
  const library = spawnSync(node, ["use.mjs"], { cwd, encoding: "utf8" });
  expect([library.stdout, library.stderr]).toEqual(['[true,"Ada lives in Porto",true]\n', ""]);
  const bin = join(unpacked("server"), "bin/cortex.js");
  const run = (...args: readonly string[]) =>
    spawnSync(node, [bin, ...args], { cwd, encoding: "utf8", env: { ...process.env, HOME: cwd } });
  expect(run("--version").stdout.trim()).toBe(manifestOf(root).version);
  const asked = run("recall", "where", "does", "Ada", "live", "--data", "store", "--actor", "ada");
  expect([asked.stdout, asked.status]).toEqual([expect.stringContaining("Porto"), 0]);
}

describe.skipIf(UNBUILT)("in an empty folder", () => {
  test("library and command work on this Node", () => useOn(process.execPath));

  test.skipIf(NO_OTHERS).each(NODES)("and on %s", (node) => useOn(node));

  test("the command opens few files before its first answer, so that an agent need not wait", () => {
    const cwd = mkdtempSync(join(place, "start-"));
    const coverage = join(cwd, "coverage");
    const asks = [
      { id: 1, method: "initialize", params: HELLO },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "memory_start", arguments: {} } },
    ];
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(unpacked("server"), "bin/cortex.js"), "mcp", "--data", "store"],
      {
        cwd,
        encoding: "utf8",
        input: asks.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join(""),
        env: { ...process.env, HOME: cwd, NODE_V8_COVERAGE: coverage },
      },
    );
    expect(stdout, stderr).toContain("Nothing is stored yet");
    const [report = ""] = readdirSync(coverage);
    const { result } = JSON.parse(readFileSync(join(coverage, report), "utf8")) as {
      readonly result: readonly { readonly url: string }[];
    };
    // 60 as this is written, half of them lmdb's; without the bundle there were 480.
    expect(result.filter(({ url }) => url.startsWith("file:")).length).toBeLessThan(90);
  });
});

const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};

/** Whether npm failed only because neither a registry nor its cache could serve a library. */
function isOffline(outcome: Outcome): boolean {
  const code = /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|NOTCACHED)\b/;
  return outcome.status !== 0 && code.test(outcome.all);
}

describe.skipIf(UNBUILT)("the packages as npm installs them", () => {
  let home: string;
  let installed: Outcome | undefined;

  beforeAll(() => {
    // Nothing that lies above it may help.
    home = mkdtempSync(join(tmpdir(), "cortex-installed-"));
    writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const paths = archives.map(({ filename }) => join(place, filename));
    installed = npm(["install", ...paths, "--prefer-offline", "--ignore-scripts"], home);
    if (isOffline(installed)) console.log("cannot install: no registry and no cache");
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

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
        /^(dist\/.+\.(js|d\.ts|js\.map|d\.ts\.map)|dist\/studio\/(index\.html|studio\/[\w-]+\.(css|svg))|model\/[\w-]+\.bin|dist\/bundle\/(LICENCES\.txt|[\w-]+\.cjs)|bin\/(cortex\.js|package\.json)|README\.md|LICENSE|NOTICE|package\.json)$/;
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
