/**
 * `npm run release`: packs what is to be published into `release/`: a tarball for each package, a software bill of
 * materials for each (CycloneDX), and the hashes of all of them. It publishes nothing; `docs/releasing.md` says how.
 *
 * It refuses a tree that is not committed, and with `--publish-ready` also a tree that is not as a registry should
 * see it: the switch not turned, or a repository in the package files that is not this checkout's origin.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const OUT = join(root, "release");
const PACKAGES = ["core", "embed", "server"];
const isReady = process.argv.includes("--publish-ready");

/** @param {string} command @param {readonly string[]} args */
function run(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
  });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")}: ${stderr.trim()}`);
}

/** @param {string} name */
const manifestOf = (name) =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));

/** What stands in the way of a release, one line each. */
function obstacles() {
  const dirty = run("git", "status", "--porcelain").trim();
  const found = dirty === "" ? [] : [`not committed:\n${dirty}`];
  if (!isReady) return found;
  const version = readFileSync(join(root, "packages/server/src/version.ts"), "utf8");
  if (!version.includes("IS_PUBLISHED: boolean = true")) found.push("IS_PUBLISHED is false");
  const origin = run("git", "remote", "get-url", "origin")
    .trim()
    .replace(/\.git$/, "");
  for (const name of PACKAGES) {
    const { url } = manifestOf(name).repository;
    const said = url.replace(/^git\+/, "").replace(/\.git$/, "");
    if (said !== origin) found.push(`${name}: repository is ${said}, and origin ${origin}`);
  }
  return found;
}

const found = obstacles();
if (found.length > 0) {
  process.stderr.write(`not ready:\n- ${found.join("\n- ")}\n`);
  process.exit(1);
}
// What an earlier build left of sources that are gone must not be released.
for (const name of PACKAGES)
  rmSync(join(root, "packages", name, "dist"), { recursive: true, force: true });
run("npm", "run", "build");
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT);
for (const name of PACKAGES) {
  run("npm", "pack", "--silent", "--pack-destination", OUT, "--workspace", `packages/${name}`);
  const { name: full, version } = manifestOf(name);
  const bill = run(
    "npm",
    "sbom",
    "--sbom-format",
    "cyclonedx",
    "--omit",
    "dev",
    "--workspace",
    full,
  );
  writeFileSync(join(OUT, `cortex-memory-${name}-${version}.cdx.json`), bill);
}
const files = readdirSync(OUT).sort();
const hashes = files.map((file) => {
  const hash = createHash("sha256")
    .update(readFileSync(join(OUT, file)))
    .digest("hex");
  return `${hash}  ${file}\n`;
});
writeFileSync(join(OUT, "SHA256SUMS"), hashes.join(""));
process.stdout.write(hashes.join(""));
