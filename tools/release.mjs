/**
 * `npm run release`: packs what is to be published into `release/`: a tarball for each package, a software bill of
 * materials for each (CycloneDX), and the hashes of all of them. It publishes nothing; `docs/releasing.md` says how.
 *
 * It refuses a tree that is not committed, and with `--publish-ready` also a tree that is not as a registry should
 * see it: the switch not turned, or a repository in the package files that is not this checkout's origin.
 *
 * `--dry-run` walks release day step by step and says what each would do and what still stands in its way. It
 * writes nothing, and what it tells of the tarballs is told of the build as it is; `--no-pack` leaves those out.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const OUT = join(root, "release");
const PACKAGES = ["core", "embed", "server"];
/** Where the switch of release day is. */
const VERSION_FILE = "packages/server/src/version.ts";
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
  // A compiler says what is wrong on its output, and npm says something else beside it.
  throw new Error(`${command} ${args.join(" ")}: ${stderr.trim()}\n${stdout.trim()}`.trim());
}

/** @param {string} name */
const manifestOf = (name) =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));

/** What is not committed; empty when everything is. */
const uncommitted = () => run("git", "status", "--porcelain").trim();

const isSwitched = () =>
  readFileSync(join(root, VERSION_FILE), "utf8").includes("IS_PUBLISHED: boolean = true");

/** Where this checkout comes from; empty when it comes from nowhere. */
function originOf() {
  const remotes = run("git", "remote").split("\n");
  if (!remotes.includes("origin")) return "";
  return plainAddress(run("git", "remote", "get-url", "origin").trim());
}

/** @param {string} url */
const plainAddress = (url) => url.replace(/^git\+/, "").replace(/(\.git)?(#readme|\/issues)?$/, "");

/** Words of an address that somebody meant to fill in. */
const PLACEHOLDER = /example\.(com|org)|\b(owner|your-?name|todo|changeme)\b|[<>]|\.invalid\b/i;

/** What is wrong with the addresses in the package files, one line each. */
function wrongAddresses() {
  const origin = originOf();
  const fields = PACKAGES.flatMap((name) => {
    const { repository, homepage, bugs } = manifestOf(name);
    const said = { repository: repository?.url, homepage, bugs: bugs?.url };
    return Object.entries(said).map(([field, url = ""]) => ({ name: `${name}: ${field}`, url }));
  });
  const isPlaceholder = (/** @type {string} */ url) => url === "" || PLACEHOLDER.test(url);
  const wrong = fields.flatMap(({ name, url }) => {
    if (isPlaceholder(url)) return [`${name} is a placeholder: ${url || "nothing"}`];
    if (origin === "" || plainAddress(url) === origin) return [];
    return [`${name} is ${plainAddress(url)}, and origin ${origin}`];
  });
  if (origin !== "") return wrong;
  return [...wrong, "this checkout has no origin: nothing shows that the addresses are its own"];
}

/** What stands in the way of a release, one line each. */
function obstacles() {
  const dirty = uncommitted();
  const found = dirty === "" ? [] : [`not committed:\n${dirty}`];
  if (!isReady) return found;
  if (!isSwitched()) found.push("IS_PUBLISHED is false");
  return [...found, ...wrongAddresses()];
}

/** The bill of materials of a package. @param {string} name */
const billOf = (name) =>
  run(
    "npm",
    "sbom",
    ...["--sbom-format", "cyclonedx", "--omit", "dev"],
    ...["--workspace", manifestOf(name).name],
  );

/** @param {string} name @param {string} end */
const fileOf = (name, end) => `cortex-memory-${name}-${manifestOf(name).version}${end}`;

function release() {
  const found = obstacles();
  if (found.length > 0) {
    process.stderr.write(`not ready:\n- ${found.join("\n- ")}\n`);
    process.exitCode = 1;
    return;
  }
  // What an earlier build left of sources that are gone must not be released.
  for (const name of PACKAGES)
    rmSync(join(root, "packages", name, "dist"), { recursive: true, force: true });
  run("npm", "run", "build");
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT);
  for (const name of PACKAGES) {
    run("npm", "pack", "--silent", "--pack-destination", OUT, "--workspace", `packages/${name}`);
    writeFileSync(join(OUT, fileOf(name, ".cdx.json")), billOf(name));
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
}

/** A step of release day: its title, what it would do, and what stands in its way. */
/** @typedef {{ title: string, lines: string[], inTheWay?: string[] }} Step */

/** @returns {Step} */
function addressStep() {
  const { repository, homepage, bugs } = manifestOf("server");
  const said = { repository: repository.url, homepage, bugs: bugs.url };
  return {
    title: "take the names, push the repository",
    lines: [
      ...PACKAGES.map((name) => `name        ${manifestOf(name).name}`),
      ...Object.entries(said).map(([field, url]) => `${field.padEnd(10)}  ${url}`),
    ],
    inTheWay: wrongAddresses(),
  };
}

/** @returns {Promise<Step>} */
async function switchStep() {
  const words = JSON.parse(readFileSync(join(root, "tools/release-words.json"), "utf8"));
  const pages = Object.entries(words).flatMap(([part, { pages: on, checkout, registry }]) =>
    on.flatMap((/** @type {string} */ page) => {
      const text = readFileSync(join(root, page), "utf8");
      const stands = [checkout, registry].find((lines) => text.includes(lines.join("\n")));
      if (stands === undefined)
        throw new Error(`${page}: ${part} stands neither way; npm run generate`);
      if (stands === registry) return [`${page}: says it already`];
      const command = (/** @type {string[]} */ lines) =>
        lines.slice(lines.indexOf("```sh") + 1, -1);
      return [
        `${page}:`,
        ...command(checkout).map((line) => `  - ${line}`),
        ...command(registry).map((line) => `  + ${line}`),
      ];
    }),
  );
  const built = join(root, "packages/server/dist/version.js");
  const { commandWords } = existsSync(built) ? await import(pathToFileURL(built).href) : {};
  const banner = ["banner of cortex serve, and what cortex mcp config prints for --npx:"];
  if (commandWords === undefined) banner.push("  not told: the server is not built");
  else banner.push(`  - ${commandWords(false)}`, `  + ${commandWords(true)}`);
  const does = isSwitched() ? "is true already" : "false → true";
  return {
    title: "turn the switch, npm run generate",
    lines: [`IS_PUBLISHED in ${VERSION_FILE}: ${does}`, ...pages, ...banner],
    inTheWay: isSwitched() ? [] : ["IS_PUBLISHED is false"],
  };
}

/** @returns {Step} */
function versionStep() {
  const versions = PACKAGES.map((name) => manifestOf(name).version);
  const [version = ""] = versions;
  const log = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const isNamed = log.includes(`## ${version}`) || log.includes(`## [${version}]`);
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  return {
    title: "raise the version, name it in the changelog",
    lines: PACKAGES.map((name) => `${manifestOf(name).name}  ${manifestOf(name).version}`),
    inTheWay: [
      ...(new Set(versions).size > 1 ? [`versions differ: ${versions.join(", ")}`] : []),
      ...PACKAGES.flatMap((name) =>
        lock[`packages/${name}`]?.version === manifestOf(name).version
          ? []
          : [`package-lock.json has another version of ${name}`],
      ),
      ...(isNamed ? [] : [`CHANGELOG.md does not name ${version}`]),
      ...(uncommitted() === "" ? [] : ["not everything is committed"]),
    ],
  };
}

/** @returns {Step} */
function packStep() {
  const title = "npm run release -- --publish-ready, into release/";
  const files = PACKAGES.flatMap((name) => [fileOf(name, ".tgz"), fileOf(name, ".cdx.json")]);
  if (process.argv.includes("--no-pack")) {
    return { title, lines: ["packing was left out here (--no-pack)", ...files, "SHA256SUMS"] };
  }
  const folders = PACKAGES.map((name) => `./packages/${name}`);
  /** @type {{ filename: string, size: number, files: { path: string }[] }[]} */
  const packed = JSON.parse(
    run("npm", "pack", "--dry-run", "--json", "--ignore-scripts", ...folders),
  );
  const bills = PACKAGES.map((name) => {
    const { components } = JSON.parse(billOf(name));
    return `${fileOf(name, ".cdx.json")}  ${components.length} components`;
  });
  return {
    title,
    lines: [
      ...packed.map(
        ({ filename, size, files: held }) =>
          `${filename}  ${held.length} files, ${Math.ceil(size / 1000)} kB, of the build as it is`,
      ),
      ...bills,
      "SHA256SUMS",
    ],
    inTheWay: packed.flatMap(({ filename, files: held }) => {
      const paths = held.map(({ path }) => path);
      const wanted = ["LICENSE", "NOTICE", "README.md", "package.json"];
      const lacking = wanted.filter((path) => !paths.includes(path));
      if (!paths.some((path) => path.startsWith("dist/"))) lacking.push("dist: npm run build");
      return lacking.map((path) => `${filename} lacks ${path}`);
    }),
  };
}

async function walk() {
  const { version } = manifestOf("server");
  const publish = PACKAGES.map((name) => `npm publish release/${fileOf(name, ".tgz")}`);
  /** @type {Step[]} */
  const steps = [
    addressStep(),
    await switchStep(),
    versionStep(),
    { title: "bash .ci/run on a clean machine", lines: ["not run here"] },
    packStep(),
    { title: "publish, from a workflow that may mint provenance", lines: publish },
    { title: "tag and attach", lines: [`git tag v${version}`, "attach release/*"] },
  ];
  const said = steps.map(({ title, lines, inTheWay = [] }, at) =>
    [
      `${at + 1}. ${title}`,
      ...lines.map((line) => `     ${line}`),
      ...inTheWay.map((line) => `   ! ${line}`),
    ].join("\n"),
  );
  const count = steps.reduce((sum, { inTheWay = [] }) => sum + inTheWay.length, 0);
  const end = count === 0 ? "nothing stands in the way" : `${count} in the way, marked with !`;
  process.stdout.write(`a dry run: nothing is written, nothing is published\n\n`);
  process.stdout.write(`${said.join("\n\n")}\n\n${end}\n`);
}

if (process.argv.includes("--dry-run")) await walk();
else release();
