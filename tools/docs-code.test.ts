/**
 * The programs of the documentation are programs: all of them compile under `strict` in one run of the
 * compiler, and each that a test can run runs, and prints what its page says. Which block belongs to
 * which program, and how a page says what is printed, is written down in `doc-programs.ts`.
 *
 * They are compiled against the built packages, as users do, so build first. What is emitted has the
 * oldest supported Node as its target: `await using` is lowered. The programs of a page run one after
 * the other in one empty folder.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DocProgram, programsOf } from "./doc-programs.js";
import { readTree } from "./tidy/tree.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = readTree(root).filter(({ path }) => path.endsWith(".md"));
const programs = pages.flatMap(({ path, text }) => programsOf(path, text));
const run = programs.filter(({ onlyCompiled }) => onlyCompiled === undefined);

/** A file name that says where its text comes from. */
function nameOf({ page, number }: DocProgram): string {
  return `${page.replaceAll("/", "_")}.${number}`;
}

describe("taking programs out of a page", () => {
  const block = (code: string, language = "ts"): string => `\`\`\`${language}\n${code}\n\`\`\`\n`;
  const imports = 'import { open } from "@cortex-memory/core";';

  test("a block that imports begins a program, others go on with it, lines keep their numbers", () => {
    const page = `# A\n\n${block(imports)}\nwords\n\n${block("open;")}\n${block(imports)}`;
    const found = programsOf("a.md", page);
    expect(found.map(({ source }) => source.trim().replaceAll(/\n+/g, " "))).toEqual([
      `${imports} open;`,
      imports,
    ]);
    expect(found[0]?.source.split("\n").indexOf("open;")).toBe(page.split("\n").indexOf("open;"));
  });

  test("what is printed stands below, or beside every line that prints", () => {
    const log = "console.log(1);";
    const below = `${block(`${imports}\n${log}`)}\nIt prints:\n\n${block("1", "text")}`;
    expect(programsOf("a.md", below)[0]?.prints).toBe("1\n");
    const beside = block(`${imports}\n${log} // 1\n  ${log} // 2`);
    expect(programsOf("a.md", beside)[0]?.prints).toBe("1\n2\n");
    expect(programsOf("a.md", block(`${imports}\n${log}`))[0]).not.toHaveProperty("prints");
  });

  test("a page that breaks a rule is named with the line", () => {
    const beside = block(`${imports}\nconsole.log(1); // 1\nconsole.log(2);`);
    expect(() => programsOf("a.md", beside)).toThrow("a.md:4 a console.log");
    expect(() => programsOf("a.md", block("open;"))).toThrow("a.md:1 a block without imports");
    expect(() => programsOf("a.md", block(imports, "js"))).toThrow("a.md:1 a js block");
  });

  test("a program is left unrun for a reason only", () => {
    const marked = `<!-- only compiled: asks a service -->\n\n${block(imports)}`;
    expect(programsOf("a.md", marked)[0]?.onlyCompiled).toBe("asks a service");
    expect(programsOf("a.md", marked.replace("asks a service", "no"))[0]).not.toHaveProperty(
      "onlyCompiled",
    );
  });
});

test("no page holds both sides of a merge", () => {
  const torn = pages.filter(({ text }) => /^(<{7}|>{7}) /m.test(text));
  expect(torn.map(({ path }) => path)).toEqual([]);
});

test("source files that pages name are there", () => {
  const paths = readTree(root).map(({ path }) => path);
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:[a-z0-9-]+\/)+[a-z0-9-]+(?:\.test)?\.m?[jt]s)`/g)].map(
      ([, file = ""]) => ({
        path,
        file,
      }),
    ),
  );
  expect(named.length).toBeGreaterThan(15);
  const isThere = (file: string): boolean =>
    paths.some((path) => path === file || path.endsWith(`/src/${file}`));
  expect(named.filter(({ file }) => !isThere(file))).toEqual([]);
});

describe("the programs of the documentation", () => {
  const folder = mkdtempSync(join(tmpdir(), "cortex-docs-"));
  const built = join(root, "packages/core/dist/index.js");
  let said = "";
  let ran: readonly Ran[] = [];

  beforeAll(() => {
    if (!existsSync(built)) throw new Error("packages/core is not built: run npm run build first");
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(SETTINGS));
    for (const program of programs) {
      writeFileSync(join(folder, `${nameOf(program)}.ts`), program.source);
    }
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    said = started([compiler, "-p", folder]);
    const given = run.map((program) => ({
      file: join(folder, "out", `${nameOf(program)}.js`),
      folder: join(folder, `in_${program.page.replaceAll("/", "_")}`),
    }));
    for (const place of given) mkdirSync(place.folder, { recursive: true });
    // The first program people run, they run again.
    const [first] = given.filter((_, at) => run[at]?.page === "README.md");
    if (first !== undefined) {
      const again = `${first.file}.again.js`;
      copyFileSync(first.file, again);
      given.push({ ...first, file: again });
    }
    const runner = join(root, "tools/run-programs.mjs");
    ran = JSON.parse(started([runner], JSON.stringify(given))) as readonly Ran[];
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("are found", () => {
    const from = new Set(programs.map(({ page }) => page));
    for (const page of ["README.md", "docs/edges.md", "packages/core/README.md"]) {
      expect(from).toContain(page);
    }
    expect(run.length).toBeGreaterThan(programs.length / 2);
  });

  test("compile under strict", () => {
    expect(said).toBe("");
  });

  test("the example of the README, run twice, prints the same and keeps the same turns", async () => {
    const at = run.findIndex(({ page }) => page === "README.md");
    expect(ran.at(-1)).toEqual(ran[at]);
    const { open } = (await import(built)) as typeof import("../packages/core/src/index.js");
    await using memory = await open(join(folder, "in_README.md", "memory"), { actor: "ada" });
    const { turns } = await memory.session("chat-1");
    expect(turns.map(({ content }) => content)).toEqual([
      "I moved to Porto. Never book me a red-eye.",
      "Noted.",
    ]);
  });

  test.each(run)("$page, program $number, prints what the page says", (program) => {
    const { printed, failure } = ran[run.indexOf(program)] ?? NOT_RUN;
    expect(failure).toBe(null);
    expect(printed).toBe(program.prints ?? "");
  });
});

/** What became of a program. */
interface Ran {
  readonly printed: string;
  readonly failure: string | null;
}

const NOT_RUN: Ran = { printed: "", failure: "it was not run" };

/** Starts Node and returns what it printed; what it says on stderr is shown as it is. */
function started(args: readonly string[], input = ""): string {
  return spawnSync(process.execPath, args, {
    input,
    encoding: "utf8",
    stdio: ["pipe", "pipe", "inherit"],
  }).stdout;
}

const SETTINGS = {
  compilerOptions: {
    target: "ES2022",
    lib: ["ES2023", "ESNext.Disposable"],
    module: "NodeNext",
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    outDir: "out",
    noEmitOnError: false,
  },
  include: ["*.ts"],
} as const;
