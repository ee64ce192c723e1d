/**
 * The programs on documentation pages: all blocks of a page are one program, and every line that
 * prints says what it prints.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import { open } from "../src/index.js";

type Program = (open: unknown, console: { log(...said: unknown[]): void }) => Promise<void>;

/** The constructor of asynchronous functions, which has no name of its own. */
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Program;

/** The path of a page of docs/. */
export function pagePath(name: string): string {
  return fileURLToPath(new URL(`../../../docs/${name}`, import.meta.url));
}

/** Runs the program of a page: what the page says is printed, and what was. */
export async function runPage(
  name: string,
): Promise<{ readonly expected: readonly string[]; readonly said: readonly string[] }> {
  const page = readFileSync(pagePath(name), "utf8");
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
  const program = blocks.join("\n");
  const expected = [...program.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(
    ([, said = ""]) => said,
  );
  // The library is handed in, and `await using` is younger than the oldest Node that runs this.
  const plain = program.replace(/^import .*$/gm, "").replace("await using memory", "const memory");
  const said: string[] = [];
  const run = new AsyncFunction("open", "console", `${plain}\nawait memory.close();`);
  await run(open, { log: (...parts) => said.push(format(...parts)) });
  return { expected, said };
}
