/**
 * Release day, walked without publishing: in a repository of the test's own that holds the files the walk reads, so
 * that addresses, the switch and the changelog can be as they are before the day and on it. The tarballs themselves
 * are packed and used by `packages.test.ts`; here they are left out, which the walk has to say.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
const PACKAGES = ["core", "embed", "server"] as const;
const FILES = [
  "CHANGELOG.md",
  "package-lock.json",
  "docs/README.md",
  "packages/core/README.md",
  "packages/server/README.md",
  "packages/server/src/version.ts",
  "tools/release.mjs",
  "tools/release-words.json",
  ...PACKAGES.map((name) => `packages/${name}/package.json`),
];

let place: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "cortex-release-"));
  for (const file of FILES) {
    mkdirSync(dirname(join(place, file)), { recursive: true });
    cpSync(join(root, file), join(place, file));
  }
  git("init", "--quiet");
  commit();
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function git(...args: readonly string[]): string {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  const { status, stdout, stderr } = spawnSync("git", [...who, ...args], {
    cwd: place,
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

function commit(): void {
  git("add", "--all");
  git("commit", "--quiet", "--no-gpg-sign", "--message", "x");
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(place, file);
  const before = readFileSync(path, "utf8");
  const after = change(before);
  expect(after, file).not.toBe(before);
  writeFileSync(path, after);
}

/** What the walk says; it changes nothing. */
function walk(): string {
  const before = git("status", "--porcelain", "--ignored");
  const args = [join(place, "tools/release.mjs"), "--dry-run", "--no-pack"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: place,
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  expect(git("status", "--porcelain", "--ignored")).toBe(before);
  return stdout;
}

const inTheWay = (said: string): readonly string[] =>
  said.split("\n").flatMap((line) => (line.startsWith("   ! ") ? [line.slice(5)] : []));

test("today: every step, what the pages would say, and what stands in the way", () => {
  const said = walk();
  expect(said.match(/^\d\. /gm)).toEqual(["1. ", "2. ", "3. ", "4. ", "5. ", "6. ", "7. "]);
  for (const { pages, checkout, registry } of Object.values<Record<string, readonly string[]>>(
    JSON.parse(readFileSync(join(place, "tools/release-words.json"), "utf8")) as never,
  )) {
    for (const page of pages ?? []) expect(said).toContain(`     ${page}:\n       - `);
    expect(said).toContain(`       - ${checkout?.at(-2)}\n       + ${registry?.at(-2)}\n`);
  }
  expect(said).toContain("packing was left out here (--no-pack)");
  for (const name of PACKAGES) {
    const { version } = JSON.parse(
      readFileSync(join(place, `packages/${name}/package.json`), "utf8"),
    ) as { readonly version: string };
    expect(said).toContain(`npm publish release/cortex-memory-${name}-${version}.tgz`);
  }
  expect(inTheWay(said)).toContain("IS_PUBLISHED is false");
  expect(inTheWay(said).join()).toContain("no origin");
});

test("an address that is a placeholder, another than the origin, or lacking is named with its field", () => {
  git("remote", "add", "origin", "https://github.com/cortex-memory/cortex.git");
  expect(walk()).not.toMatch(/placeholder|origin/);
  edit("packages/core/package.json", (text) =>
    text.replace("https://github.com/cortex-memory/cortex#readme", "https://example.com/OWNER"),
  );
  edit("packages/server/package.json", (text) =>
    text.replace(
      "https://github.com/cortex-memory/cortex/issues",
      "https://github.com/else/x/issues",
    ),
  );
  const found = inTheWay(walk());
  expect(found).toContain("core: homepage is a placeholder: https://example.com/OWNER");
  expect(found).toContain(
    "server: bugs is https://github.com/else/x, and origin https://github.com/cortex-memory/cortex",
  );
  expect(found).toContain("not everything is committed");
});

test("on the day, with all of it done, nothing stands in the way", () => {
  git("remote", "add", "origin", "https://github.com/cortex-memory/cortex.git");
  edit("packages/server/src/version.ts", (text) =>
    text.replace("IS_PUBLISHED: boolean = false", "IS_PUBLISHED: boolean = true"),
  );
  const words = JSON.parse(readFileSync(join(place, "tools/release-words.json"), "utf8")) as {
    readonly [part: string]: Readonly<Record<"pages" | "checkout" | "registry", string[]>>;
  };
  for (const { pages, checkout, registry } of Object.values(words)) {
    for (const page of pages) {
      edit(page, (text) => text.replace(checkout.join("\n"), () => registry.join("\n")));
    }
  }
  const { version } = JSON.parse(
    readFileSync(join(place, "packages/server/package.json"), "utf8"),
  ) as { readonly version: string };
  edit("CHANGELOG.md", (text) => text.replace("## Unreleased", `## ${version}`));
  commit();
  const said = walk();
  expect(inTheWay(said)).toEqual([]);
  expect(said).toContain("nothing stands in the way");
});

test.each(PACKAGES)("%s: what says that a build is up to date goes with the build", (name) => {
  const text = readFileSync(join(root, "packages", name, "tsconfig.json"), "utf8");
  const { compilerOptions } = JSON.parse(text) as { compilerOptions: Record<string, string> };
  const { outDir, tsBuildInfoFile } = compilerOptions;
  expect(dirname(tsBuildInfoFile ?? "tsconfig.tsbuildinfo")).toBe(outDir);
});
