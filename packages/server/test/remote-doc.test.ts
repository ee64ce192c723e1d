/** The page on using a server from TypeScript: its programs are one, and print what they say they print. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import { follow, open, type ReplicaOptions } from "@cortex-memory/core";
import { expect, test } from "vitest";
import { startTestServer } from "./http-server.js";

type Program = (
  open: (url: string, options: object) => unknown,
  follow: (location: string, url: string, options: ReplicaOptions) => unknown,
  console: { log(...said: unknown[]): void },
) => Promise<void>;

/** The constructor of asynchronous functions, which has no name of its own. */
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Program;

test("its programs do what it says", async () => {
  const path = fileURLToPath(new URL("../../../docs/remote.md", import.meta.url));
  const page = readFileSync(path, "utf8");
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
  const program = blocks.join("\n").replace(/^import .*$/gm, "");
  const printed = program.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm);
  const expected = [...printed].map(([, said = ""]) => said);
  const server = await startTestServer();
  const said: string[] = [];
  try {
    const here = (url: string) => url.replace(/:7777$/, `:${server.port}`) as "http://";
    await new AsyncFunction("open", "follow", "console", program)(
      (url, options) => open(here(url), options),
      (location, url, options) => follow(location, here(url), options),
      { log: (...parts) => said.push(format(...parts)) },
    );
  } finally {
    await server.close();
  }
  expect(expected).toHaveLength(6);
  expect(said).toEqual(expected);
});
