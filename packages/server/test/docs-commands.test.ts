/**
 * The commands of the documentation are commands: each that any page names is one, with flags that it has, and the
 * shell blocks are typed, from top to bottom, each page in a folder of its own. Pages whose commands need a server or
 * other tools have tests of their own; what no test can type is listed here with the reason.
 *
 * Commands run inside the test, with the arguments and the input that a shell makes of a line, so that a line costs no
 * start of Node.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readTree } from "../../../tools/tidy/tree.js";
import { buildProgram } from "../src/cli/program.js";
import { PROGRAMS } from "../src/import/foreign.js";
import { OPERATIONS } from "../src/operations.js";
import { type Ended, makePlace, type Place } from "./cortex-process.js";
import { graphRow, makeMemgraph, nodeRow } from "./foreign-files.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const pages = readTree(root).filter(({ path }) => path.endsWith(".md"));
const textOf = (page: string): string => pages.find(({ path }) => path === page)?.text ?? "";

/** Pages that other tests type. */
const TYPED_ELSEWHERE = [
  "docs/operating.md",
  "docs/reference/cli.md",
  "docs/rest.md",
  "docs/verification.md",
];

/** What no test types, by words in a line of its block. */
const NOT_TYPED: { readonly [words: string]: string } = {
  "npm ci": "installs and builds the checkout that the test stands in",
  "npm install": "asks a registry",
  "npm run": "takes minutes; its small form is a test of its own",
  "export CORTEX_": "asks a model or an embedder of the reader's",
  "cortex relink": "asks a model of the reader's",
  "--data postgres": "needs a database; postgres-restore.test.ts restores one to a point in time",
  "cortex copy ./memory postgres": "needs a database; what it does is tested where one is",
};

/** What a page takes for granted, and what it leaves to the reader to fill in. */
interface Setting {
  readonly prepare?: (folder: string) => unknown;
  /** What its commands print, among other things. */
  readonly prints?: readonly string[];
  /** Words in capitals, each with what it stands for; asked for when it is needed. */
  readonly fill?: { readonly [word: string]: (printed: readonly string[]) => string };
}

const publicKey = (printed = ""): string => /^public key +(\S+)$/m.exec(printed)?.[1] ?? "";

let place: Place;
beforeAll(() => {
  place = makePlace();
});
afterAll(() => place.remove());

/** What the page about importing says its commands print. */
const QUOTED = blocks(textOf("docs/importing.md"), "text")[0] ?? "";

/** The pages that are typed here. */
const SETTINGS: { readonly [page: string]: Setting } = {
  "packages/server/README.md": {
    prepare: (folder) =>
      writeFileSync(join(folder, "chat.jsonl"), '{"role":"user","content":"I moved to Porto."}\n'),
  },
  "docs/importing.md": {
    prints: [
      QUOTED,
      QUOTED.split("\n")[0]?.replace("imported", "would import") ?? "",
      "Ada: lives in Porto",
      "✓ imported 2 memories, 0 unchanged\n  1 link added, 0 unchanged",
      "✓ imported 0 memories, 2 unchanged\n  0 links added, 1 unchanged",
      "Ada lives in Porto",
      "✓ imported 1 memory, 2 unchanged",
      "The Hotel Lisboa, near the river.",
    ],
  },
  "docs/mcp.md": { prepare: (folder) => typed("cortex note idea Trains --actor ada", folder) },
  "docs/scopes.md": {
    fill: { ISSUER: ([one]) => publicKey(one), AGENT: ([, other]) => publicKey(other) },
  },
  "docs/memgraph.md": {
    prepare: (folder) =>
      makeMemgraph(join(folder, "memgraph.db"), {
        graphs: [graphRow("g")],
        nodes: [nodeRow("g", "home", 1, { created_at: "2026-04-01T10:00:00Z" })],
      }),
    fill: { GRAPH: () => "g", LINEAGE: () => "home" },
  },
};

/** The fenced blocks of one language, in order. */
function blocks(text: string, language: string): readonly string[] {
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...found].map(([, block = ""]) => block);
}

/** The single commands of a block: comments off, lines that go on joined, texts kept with the line they are for. */
function linesOf(block: string): readonly string[] {
  const lines = block.replaceAll("\\\n", " ").matchAll(/^.*<<'END'\n[\s\S]*?^END$|^.+$/gm);
  return [...lines]
    .flatMap(([line]) => (line.includes("<<") ? [line] : line.split(" && ")))
    .map((line) => (line.includes("\n") ? line : line.replace(/(^|\s)#.*$/, "").trim()))
    .filter((line) => line !== "");
}

const isTyped = (block: string): boolean =>
  !Object.keys(NOT_TYPED).some((words) => block.includes(words));

/** Types one line in a folder; what goes into a file goes there. */
async function typed(line: string, cwd: string): Promise<Ended> {
  if (!line.startsWith("cortex ")) return place.shell(line, { cwd });
  const [, command = "", target] = /^(.*?)(?: > (\S+))?$/.exec(line) ?? [];
  const { args, input } = place.parse(command, { cwd });
  const env = { CORTEX_DATA: join(cwd, "memory") };
  const ended = await place.bare(args, { cwd, input, env });
  if (target !== undefined) writeFileSync(join(cwd, target), ended.out);
  return ended;
}

test("every command that a page names is there, with its flags", () => {
  const nothing = async (): Promise<void> => {};
  const [operation, demo, bench, mcp, mcpConfig, serve] = Array(6).fill(nothing);
  const runner = { operation, demo, bench, mcp, mcpConfig, serve };
  const program = buildProgram(OPERATIONS, runner, { out: () => {}, err: () => {} });
  const below = (command: Command, word = ""): Command | undefined =>
    command.commands.find((one) => one.name() === word);
  const wrong: string[] = [];
  let count = 0;
  for (const { path, text } of pages) {
    const typedThere = ["sh", "text", "diff"].flatMap((one) => blocks(text, one)).flatMap(linesOf);
    const inline = text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/`([^`]+)`/g);
    for (const code of [...typedThere, ...[...inline].map(([, words = ""]) => words)]) {
      for (const [, rest = ""] of code.matchAll(/(?:^|[;|(+-] ?)cortex\s+([^;|)>]*)/g)) {
        const [first = "", second, ...more] = rest.trim().split(/\s+/);
        if (!/^[a-z][a-z-]+$/.test(first) || first === "help") continue; // COMMAND, …, --version
        count++;
        const command = below(program, first);
        const options = (below(command ?? program, second) ?? command)?.options ?? [];
        const flags = [second ?? "", ...more].flatMap((word) => /^--[a-z][a-z-]*/.exec(word) ?? []);
        const unknown = flags.filter((flag) => !options.some(({ long }) => long === flag));
        if (command === undefined || unknown.length > 0) wrong.push(`${path}: cortex ${rest}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(200);
});

describe("shell blocks", () => {
  test("are typed by a test, or there is a reason", () => {
    const open = pages.filter(({ path, text }) => {
      const isRun = TYPED_ELSEWHERE.includes(path) || Object.hasOwn(SETTINGS, path);
      return !isRun && blocks(text, "sh").some(isTyped);
    });
    expect(open.map(({ path }) => path)).toEqual([]);
    const all = pages.flatMap(({ text }) => blocks(text, "sh")).join("\n");
    expect(Object.keys(NOT_TYPED).filter((words) => !all.includes(words))).toEqual([]);
  });

  /** What the commands of a page print, one after the other. */
  async function printedBy(page: string): Promise<readonly string[]> {
    const folder = join(place.folder, page.replaceAll("/", "_"));
    mkdirSync(folder);
    const { prepare, fill = {} } = SETTINGS[page] ?? {};
    await prepare?.(folder);
    const printed: string[] = [];
    for (const line of blocks(textOf(page), "sh").filter(isTyped).flatMap(linesOf)) {
      if (line.startsWith("cortex serve")) continue; // it does not end
      const words = Object.entries(fill).reduce(
        (before, [word, value]) => before.replaceAll(word, () => value(printed)),
        line,
      );
      const { exit, out, err } = await typed(words, folder);
      // A position before the first entry is the one thing here that is rightly not there.
      const isRight = words.includes("--as-of") ? exit <= 1 : exit === 0;
      expect(isRight, `${words}\n${out}${err}`).toBe(true);
      printed.push(out);
    }
    return printed;
  }

  test.each(Object.keys(SETTINGS))("%s works from top to bottom", async (page) => {
    const printed = (await printedBy(page)).join("");
    expect(printed).not.toBe("");
    for (const text of SETTINGS[page]?.prints ?? []) expect(printed).toContain(text);
  });
});

test("the page about importing has a section for every program, and none for others", () => {
  const sections = textOf("docs/importing.md").matchAll(/^### `([a-z0-9-]+)`$/gm);
  expect([...sections].map(([, name]) => name)).toEqual(Object.keys(PROGRAMS));
});
