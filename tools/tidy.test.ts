/**
 * Style as a test: runs the house rules over the repository, and first over small bad sources that
 * each of them must refuse. The rules are data in `tidy/rules.ts`; docs/style.md gives the reasons.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { BAD_SOURCES, GROUND } from "./tidy/bad-sources.js";
import {
  AMBIENT_ALLOWED,
  CORE,
  EXEMPTIONS,
  LAYERS,
  SERVER,
  SERVER_GRANTS,
  SERVER_LAYERS,
} from "./tidy/rules.js";
import { importsOf, type Problem, parse } from "./tidy/source.js";
import { checkTree, readTree, settle } from "./tidy/tree.js";

const root = fileURLToPath(new URL("..", import.meta.url));

function show({ file, line, rule, message }: Problem): string {
  return `${file}:${line} [${rule}] ${message}`;
}

describe("the checker itself", () => {
  test.each(BAD_SOURCES)("refuses $rule: $what", ({ rule, broken, clean }) => {
    const rules = checkTree([...GROUND, ...broken], []).map((found) => found.rule);
    expect(new Set(rules)).toEqual(new Set([rule]));
    expect(checkTree([...GROUND, ...clean], []).map(show)).toEqual([]);
  });

  test("has a bad source for every rule it can report", () => {
    const names = ["code", "layers", "prose", "tree"].map((name) =>
      readFileSync(new URL(`tidy/${name}.ts`, import.meta.url), "utf8"),
    );
    const spelled = names.flatMap((text) =>
      [...text.matchAll(/(?:problem|report|add)\(\s*"([a-z-]+)"|rule: "([a-z-]+)"/g)].map(
        ([, called, literal]) => called ?? literal ?? "",
      ),
    );
    const covered = new Set([...BAD_SOURCES.map(({ rule }) => rule), "exemption"]);
    expect(new Set(spelled)).toEqual(covered);
  });

  test("allows up to the limit and not one line more", () => {
    const text = (lines: number): string =>
      `/** A file. */\nexport const f = () => {\n${"  x();\n".repeat(lines)}};\n`;
    const problems = (lines: number): readonly Problem[] =>
      checkTree([...GROUND, { path: `${CORE}index.ts`, text: text(lines) }], []);
    expect(problems(68).map(show)).toEqual([]);
    expect(problems(69).map(({ rule }) => rule)).toEqual(["function-lines"]);
  });

  test("drops what is exempt, and refuses stale and unreasoned exemptions", () => {
    const found: Problem = { rule: "any", file: "a.ts", line: 1, subject: "", message: "" };
    const exempt = { rule: "any", file: "a.ts", subject: "", reason: "four words of reason" };
    expect(settle([found], [exempt])).toEqual([]);
    expect(settle([found], [{ ...exempt, file: "b.ts" }]).map(({ rule }) => rule)).toEqual([
      "any",
      "exemption",
    ]);
    expect(settle([found], [{ ...exempt, reason: "because" }]).map(show)).toEqual([
      "a.ts:1 [exemption] any: an exemption needs a reason",
    ]);
  });
});

describe("the repository", () => {
  const files = readTree(root);

  test("is read whole: the known files of every kind are there", () => {
    const paths = new Set(files.map(({ path }) => path));
    const known = ["README.md", "package-lock.json", "tools/tidy/rules.ts", `${CORE}errors.ts`];
    expect(known.filter((path) => !paths.has(path))).toEqual([]);
    const used = LAYERS.filter(({ paths: layer }) =>
      layer.some((prefix) => files.some(({ path }) => path.startsWith(CORE + prefix))),
    );
    expect(used.length).toBeGreaterThanOrEqual(5);
    const ranked = SERVER_LAYERS.flatMap((layer) => layer.paths);
    expect(
      ranked.filter((one) => !files.some(({ path }) => path.startsWith(SERVER + one))),
    ).toEqual([]);
    expect(Object.keys(AMBIENT_ALLOWED).filter((path) => !paths.has(CORE + path))).toEqual([]);
  });

  test("every import that the server's ranks let through is made", () => {
    const unused = SERVER_GRANTS.filter(({ from, to }) =>
      files
        .filter(({ path }) => path.startsWith(SERVER + from))
        .every(
          (file) => !importsOf(parse(file)).some((one) => one.target?.startsWith(SERVER + to)),
        ),
    );
    expect(unused).toEqual([]);
  });

  test("keeps the house rules", () => {
    expect(checkTree(files, EXEMPTIONS).map(show)).toEqual([]);
  });

  test("tests in CI exactly what the README tells a reader to run", () => {
    const command = "npm ci && npm test";
    const text = (path: string): string => files.find((file) => file.path === path)?.text ?? "";
    expect(text("README.md").split("\n")).toContain(command);
    expect(text(".ci/run")).toContain(command);
  });
});
