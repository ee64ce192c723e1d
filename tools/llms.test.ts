/**
 * The list of pages is complete, agents get the same list, and every page tells people to run the program in a way
 * that works today. CORTEX_WRITE_DOCS=1 writes `docs/llms.txt` and the generated parts of pages anew.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { VERBS } from "../packages/core/src/contract/index.js";
import { commandWords, IS_PUBLISHED } from "../packages/server/src/version.js";
import { llmsText, pageRows } from "./make-llms.js";
import { PARTS, withPart } from "./make-parts.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const docs = join(root, "docs");
const readme = readFileSync(join(docs, "README.md"), "utf8");

/** The pages of a folder and of those in it, relative to it. */
function pagesIn(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.filter((path) => path.endsWith(".md")).map((path) => path.replaceAll("\\", "/"));
}

test("the list has every page once, and no page that is not there", () => {
  const links = pageRows(readme).map(({ link }) => link);
  expect(new Set(links).size).toBe(links.length);
  // Decisions have a list of their own, which the list of pages names.
  const listed = pagesIn(docs).filter((path) => !/^decisions\/\d{4}-|template\.md$/.test(path));
  expect(listed.filter((path) => path !== "README.md" && !links.includes(path))).toEqual([]);
  expect(links.filter((link) => !existsSync(join(docs, link)))).toEqual([]);
  expect(links.length).toBeGreaterThan(30);
});

test("llms.txt is that list; CORTEX_WRITE_DOCS=1 writes it anew", () => {
  const path = join(docs, "llms.txt");
  const fresh = llmsText(readme);
  if (process.env.CORTEX_WRITE_DOCS === "1") writeFileSync(path, fresh);
  expect(readFileSync(path, "utf8")).toBe(fresh);
  expect(fresh).toContain("- [REST](rest.md): ");
});

/** Every page that people read first or are sent to. */
const PAGES: readonly string[] = [
  ...pagesIn(docs).map((path) => `docs/${path}`),
  "docs/llms.txt",
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...pagesIn(join(root, "examples"))
    .filter((path) => !path.includes("node_modules"))
    .map((path) => `examples/${path}`),
  ...["core", "server"].map((name) => `packages/${name}/README.md`),
];

test.each(Object.keys(PARTS))("%s stands on its pages as it is written", (name) => {
  for (const page of PARTS[name]?.pages ?? []) {
    const path = join(root, page);
    const fresh = withPart(readFileSync(path, "utf8"), name);
    if (process.env.CORTEX_WRITE_DOCS === "1") writeFileSync(path, fresh);
    expect(readFileSync(path, "utf8")).toBe(fresh);
  }
});

test("the library's page names every verb once", () => {
  const page = readFileSync(join(root, "packages/core/README.md"), "utf8");
  const named = [...page.matchAll(/^\| `(\w+)\(/gm)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(Object.keys(VERBS).sort());
});

/** Lines that fetch something by its name from a registry: what npx starts, what npm installs. */
const FETCHES =
  /\b(?:npx|npm (?:install|i|add|exec))((?: +-{1,2}[\w-]+)*) +(@?[a-z][\w.-]*(?:\/[\w.-]+)?)/g;
/** Tools of this repository, which are installed in it. */
const OWN_TOOLS = ["vitest", "tsc", "biome"];

test("nobody is told to fetch Cortex by a name before the name is ours", () => {
  const fetched = PAGES.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return [...text.matchAll(FETCHES)].flatMap(([line, , name = ""]) => {
      const isCortex = /cortex/.test(name) && !OWN_TOOLS.includes(name);
      const isRight = IS_PUBLISHED && /^@cortex-memory\/(core|server)$/.test(name);
      return !isCortex || isRight ? [] : [`${path}: ${line}`];
    });
  });
  expect(fetched).toEqual([]);
  expect(commandWords(true)).toBe("npx -y @cortex-memory/server");
  expect(commandWords(false)).toMatch(/^node \S*packages[\\/]server[\\/]bin[\\/]cortex\.js$/);
});
