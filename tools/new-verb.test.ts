/**
 * A verb is added in three places: its contract, its function, its row. This test does so in a copy of
 * the sources, writes the client's routes anew as `npm run generate` does, and asks for the verb through
 * every door: the library, the remote client, REST, OpenAPI, MCP and the command line; and each of them
 * refuses a bad input of it in its own words. Nothing else in the copy is touched.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import type { Verb } from "../packages/core/src/contract/verb.js";
import { ROUTES_FILE, routesText } from "./make-routes.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const copy = realpathSync(mkdtempSync(join(tmpdir(), "cortex-new-verb-")));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const CONTRACT = `
/** The first words of a memory. */
export const firstWords = verb("firstWords", {
  summary: "Read the first words of a memory",
  kind: "read",
  policy: "filtered",
  args: { id: memoryRef },
  labels: type<[id: Ref]>(),
  options: { most: whole(1, 9).describe("how many words").optional() },
  output: z.object({ words: listOf(z.string()) }),
  answer: type<{ readonly words: readonly string[] } | undefined>(),
  mayMiss: true,
});
`;

const FUNCTION = `
/** The first words of a memory; \`undefined\` when there is none the caller may see. */
export async function firstWords(
  engine: Engine,
  { id, most = 3, access }: Asked<"firstWords">,
): Promise<{ readonly words: readonly string[] } | undefined> {
  const memory = await get(engine, { id, access } as Asked<"get">);
  return memory && { words: memory.text.split(" ").slice(0, most) };
}
`;

const ROW = `
  verbRow("firstWords", {
    help: "Three of them unless more are asked for.",
    example: "cortex first-words home --most 2",
    cli: { command: "first-words", group: "memories" },
  }),`;

/** What the program in the copy prints: every door's answer, and every door's refusal. */
const PROGRAM = `
import { open } from "@cortex-memory/core";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const [folder] = process.argv.slice(2);
const MAIN = fileURLToPath(import.meta.resolve("@cortex-memory/server")).replace("index.js", "main.js");
const memory = await open(folder);
await memory.write({ type: "fact", externalId: "home", text: "Ada lives in Porto" });
const failed = (error) => error.message;

const serve = spawn(process.execPath, [MAIN, "serve", "--data", folder, "--port", "0", "--json"], {
  stdio: ["ignore", "pipe", "ignore"],
});
// The pipe stays open: a server that has nobody to talk to any more ends.
const said = await new Promise((done, fail) => {
  let text = "";
  serve.once("exit", (exit) => fail(new Error("the server ended with " + exit + ", having said: " + text)));
  serve.stdout.setEncoding("utf8").on("data", (more) => {
    text += more;
    if (text.trimEnd().endsWith("}")) done(text);
  });
});
const { url } = JSON.parse(said);
const remote = await open(url);
const ask = async (path, body, headers = {}) => {
  const type = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { ...type, ...headers } };
  const text = await (await fetch(url + path, init)).text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
};
const tool = async (args) => {
  const params = { name: "memory_first_words", arguments: args };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const { result } = await ask("/mcp?profile=full", message, { "MCP-Protocol-Version": "2025-06-18" });
  return result.isError ? JSON.parse(result.content[0].text).message : result.structuredContent;
};
const command = async (...args) => {
  const run = spawn(process.execPath, [MAIN, "first-words", ...args, "--data", folder, "--json"]);
  let [out, err] = ["", ""];
  run.stdout.on("data", (text) => (out += text));
  run.stderr.on("data", (text) => (err += text));
  const [exit] = await once(run, "close");
  return exit === 0 ? JSON.parse(out) : JSON.parse(err).error.message;
};
const { parameters } = (await ask("/openapi.json")).paths["/v1/first-words"].get;
const { description, ...most } = parameters.find(({ name }) => name === "most").schema;
const answers = {
  library: await memory.firstWords("home", { most: 2 }),
  remote: await remote.firstWords("home", { most: 2 }),
  rest: await ask("/v1/first-words?id=home&most=2"),
  mcp: await tool({ id: "home", most: 2 }),
  command: await command("home", "--most", "2"),
};
const refusals = {
  library: await memory.firstWords("home", { most: 10 }).catch(failed),
  remote: await remote.firstWords("home", { most: 10 }).catch(failed),
  rest: (await ask("/v1/first-words", { id: "home", most: 10 })).detail,
  mcp: await tool({ id: "home", most: 10 }),
  command: await command("home", "--most", "10"),
};
await remote.close();
await memory.close();
serve.kill("SIGTERM");
await once(serve, "close");
console.log(JSON.stringify({ answers, refusals, most }));
`;

function edit(path: string, change: (text: string) => string): void {
  const file = join(copy, path);
  const before = readFileSync(file, "utf8");
  const after = change(before);
  if (after === before) throw new Error(`${path} is not as it was: nothing was added`);
  writeFileSync(file, after);
}

/** The sources, the libraries by links, and the two packages as their own. */
function makeCopy(): void {
  for (const name of ["core", "embed", "server"]) {
    const [from, to] = [join(root, "packages", name), join(copy, "packages", name)];
    cpSync(join(from, "src"), join(to, "src"), {
      recursive: true,
      filter: (path) => !path.endsWith(".test.ts"),
    });
    // Built beside the sources, in one go: neither declarations nor maps are needed here.
    const about = readFileSync(join(from, "package.json"), "utf8");
    const here = about.replaceAll(/dist\/(.*)\.d\.ts/g, "src/$1.ts").replaceAll("dist/", "src/");
    writeFileSync(join(to, "package.json"), here);
  }
  const { paths } = (
    JSON.parse(readFileSync(join(root, "tsconfig.tests.json"), "utf8")) as {
      readonly compilerOptions: { readonly paths: object };
    }
  ).compilerOptions;
  const project = {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: { types: ["node"], declaration: false, sourceMap: false, paths },
    // All of them: of files that it finds by imports alone, the compiler now and then writes one too few.
    include: ["packages/*/src/**/*.ts"],
  };
  writeFileSync(join(copy, "tsconfig.json"), JSON.stringify(project));
  writeFileSync(join(copy, "package.json"), JSON.stringify({ type: "module" }));
  const libraries = join(copy, "node_modules");
  mkdirSync(join(libraries, "@cortex-memory"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name === "@cortex-memory" || name.startsWith(".")) continue;
    symlinkSync(join(root, "node_modules", name), join(libraries, name));
  }
  for (const name of ["core", "embed", "server"]) {
    symlinkSync(join(copy, "packages", name), join(libraries, "@cortex-memory", name));
  }
}

function run(...args: readonly string[]): { readonly exit: number | null; readonly said: string } {
  // The model of the local embedder is not among the sources.
  const env = { PATH: process.env.PATH, HOME: copy, CORTEX_EMBEDDER_ENDPOINT: "none" };
  const options = { cwd: copy, env, encoding: "utf8" } as const;
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, options);
  if (error !== undefined) throw error;
  return { exit: status, said: stdout + stderr };
}

const tsc = fileURLToPath(new URL("bin/tsc", import.meta.resolve("typescript/package.json")));

test("a verb that is added in three places compiles", async () => {
  makeCopy();
  edit("packages/core/src/contract/memory.ts", (text) => text + CONTRACT);
  edit("packages/core/src/memory/read.ts", (text) => text + FUNCTION);
  edit("packages/core/src/verbs.ts", (text) =>
    text.replace("{ get,", "{ firstWords, get,").replace("\n  get,", "\n  firstWords,\n  get,"),
  );
  edit("packages/server/src/operations/memories.ts", (text) =>
    text.replace("export const MEMORY_OPERATIONS = [", `$&${ROW}`),
  );

  const contract = join(copy, "packages/core/src/contract/index.ts");
  const { VERBS } = (await import(/* @vite-ignore */ contract)) as { VERBS: Record<string, Verb> };
  writeFileSync(join(copy, ROUTES_FILE), routesText(VERBS));
  expect(run(tsc, "-p", copy, "--checkers", "2")).toEqual({ exit: 0, said: "" });
});

test("and is there at every door", () => {
  const program = join(copy, "program.mjs");
  writeFileSync(program, PROGRAM);
  const { exit, said } = run(program, join(copy, "data"));
  expect([exit, said]).toEqual([0, said]);
  const answer = { words: ["Ada", "lives"] };
  const refusal = "most: expected a whole number from 1 to 9, got 10";
  expect(JSON.parse(said)).toEqual({
    answers: { library: answer, remote: answer, rest: answer, mcp: answer, command: answer },
    refusals: {
      library: refusal,
      remote: refusal,
      rest: refusal,
      mcp: refusal,
      // What was typed is a text.
      command: refusal.replace("most:", "--most:").replace("10", '"10"'),
    },
    most: { type: "integer", minimum: 1, maximum: 9 },
  });
});
