/**
 * The list of pages is complete, agents get the same list, and every page tells people to run the program
 * by the name that npm knows. CORTEX_WRITE_DOCS=1 writes `docs/llms.txt` anew.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { llmsText, pageRows } from "./make-llms.js";

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

/** What npx is told to start, with the flags before it. */
const NPX = /\bnpx((?: +-{1,2}[\w-]+)*) +([@\w./-]+)/g;
/** Tools of this repository, which are installed in it. */
const OWN_TOOLS = ["vitest", "tsc", "biome"];

test("wherever npx starts Cortex, it is by its name on npm, without a question", () => {
  const wrong = PAGES.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return [...text.matchAll(NPX)].flatMap(([line, flags = "", name = ""]) => {
      const isOwnTool = OWN_TOOLS.includes(name);
      const isRight = name === "@cortex-memory/server" && flags.trim() === "-y";
      // In a sentence npx is followed by any word; a command names a package of ours.
      const isCommand = /cortex/.test(name) || flags !== "";
      return isOwnTool || isRight || !isCommand ? [] : [`${path}: ${line}`];
    });
  });
  expect(wrong).toEqual([]);
  const said = PAGES.filter((path) =>
    readFileSync(join(root, path), "utf8").includes("npx -y @cortex-memory/server"),
  );
  expect(said).toEqual(expect.arrayContaining(["docs/mcp.md", "docs/rest.md", "docs/README.md"]));
});
