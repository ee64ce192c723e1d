/**
 * The official conformance suite of MCP, offline, against `cortex serve`.
 *
 * Most of its scenarios call a tool, a resource or a prompt of the suite's own example server by name;
 * a memory has no tool that returns a picture. Those are listed below with what each would need. The
 * list is exact in both directions: a scenario that fails and is not listed fails the test, and so does
 * one that is listed and passes.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { type ServeProcess, startServe } from "./serve-process.js";

const SUITE = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

const TOOL = "calls a tool of the example server by its name";
const RESOURCE = "reads a resource of the example server by its name";
const PROMPT = "asks for a prompt of the example server by its name";

/** Scenarios that cannot pass here, and why. */
const EXEMPT: Readonly<Record<string, string>> = {
  "logging-set-level": "logs go to stderr, as operators expect; the capability is not declared",
  "completion-complete": PROMPT,
  "tools-call-simple-text": TOOL,
  "tools-call-image": TOOL,
  "tools-call-audio": TOOL,
  "tools-call-embedded-resource": TOOL,
  "tools-call-mixed-content": TOOL,
  "tools-call-with-logging": TOOL,
  "tools-call-error": TOOL,
  "tools-call-with-progress": TOOL,
  "tools-call-sampling": TOOL,
  "tools-call-elicitation": TOOL,
  "elicitation-sep1034-defaults": TOOL,
  "elicitation-sep1330-enums": TOOL,
  "resources-read-text": RESOURCE,
  "resources-read-binary": RESOURCE,
  "resources-templates-read": RESOURCE,
  "resources-subscribe": RESOURCE,
  "resources-unsubscribe": RESOURCE,
  "prompts-get-simple": PROMPT,
  "prompts-get-with-args": PROMPT,
  "prompts-get-embedded-resource": PROMPT,
  "prompts-get-with-image": PROMPT,
};

let place: Place;
let served: ServeProcess;

beforeAll(async () => {
  place = makePlace();
  served = await startServe(place.data);
});

afterAll(async () => {
  await served.stop();
  place.remove();
});

test("what the reasons say of the server is so", async () => {
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const response = await fetch(`${served.url}/mcp`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  const text = await response.text();
  const { result } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as {
    readonly result: { readonly capabilities: object };
  };
  expect(Object.keys(result.capabilities).sort()).toEqual([
    "completions",
    "prompts",
    "resources",
    "tools",
  ]);
});

test("the suite passes but for what is exempt, and nothing is exempt that passes", () => {
  const run = spawnSync(process.execPath, [SUITE, "server", "--url", `${served.url}/mcp`], {
    encoding: "utf8",
    timeout: 120_000,
  });
  const verdicts = [...run.stdout.matchAll(/^([✓✗]) ([a-z0-9-]+): \d+ passed, \d+ failed$/gmu)];
  const of = (mark: string): string[] =>
    verdicts.flatMap(([, found, name = ""]) => (found === mark ? [name] : [])).sort();
  expect(of("✗")).toEqual(Object.keys(EXEMPT).sort());
  expect(of("✓")).toEqual(
    [
      "dns-rebinding-protection",
      "ping",
      "prompts-list",
      "resources-list",
      "server-initialize",
      "server-sse-multiple-streams",
      "tools-list",
    ].sort(),
  );
});
