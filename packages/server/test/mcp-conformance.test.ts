/**
 * The official conformance suite of MCP, offline, against `cortex serve`.
 *
 * Most of its scenarios call a tool, a resource or a prompt of the suite's own example server by name;
 * a memory has no tool that returns a picture. Those are listed below with what each would need. The
 * list is exact in both directions: a scenario that fails and is not listed fails the test, and so does
 * one that is listed and passes. The reasons are held to what the suite was answered: a scenario that
 * begins to fail for another one fails the test as well.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { type ServeProcess, startServe } from "./serve-process.js";

const SUITE = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);

/** Why scenarios cannot pass here, and how the server answered them. */
const TOOL = /MCP error -32602: Tool test_\w+ not found$/;
const RESOURCE = /MCP error -32602: Resource not found: test:\/\/\S+$/;
const PROMPT = /MCP error -32602: Prompt test_\w+ not found$/;
/** Logs go to stderr, as operators expect; the capability is not declared. */
const LOGGING = /MCP error -32601: Method not found$/;
/** HTTP has no connection that stays in the suite's revision, so that nobody could be told; nor is it declared. */
const SUBSCRIBING = LOGGING;

/** Scenarios that cannot pass here. */
const EXEMPT: Readonly<Record<string, RegExp>> = {
  "logging-set-level": LOGGING,
  "completion-complete": PROMPT,
  "tools-call-simple-text": TOOL,
  "tools-call-image": TOOL,
  "tools-call-audio": TOOL,
  "tools-call-embedded-resource": TOOL,
  "tools-call-mixed-content": TOOL,
  "tools-call-with-logging": LOGGING,
  "tools-call-error": TOOL,
  "tools-call-with-progress": TOOL,
  "tools-call-sampling": TOOL,
  "tools-call-elicitation": TOOL,
  "elicitation-sep1034-defaults": TOOL,
  "elicitation-sep1330-enums": TOOL,
  "resources-read-text": RESOURCE,
  "resources-read-binary": RESOURCE,
  "resources-templates-read": RESOURCE,
  "resources-subscribe": SUBSCRIBING,
  "resources-unsubscribe": SUBSCRIBING,
  "prompts-get-simple": PROMPT,
  "prompts-get-with-args": PROMPT,
  "prompts-get-embedded-resource": PROMPT,
  "prompts-get-with-image": PROMPT,
};

let place: Place;
let served: ServeProcess;
let results: string;

beforeAll(async () => {
  place = makePlace();
  results = mkdtempSync(join(tmpdir(), "cortex-conformance-"));
  served = await startServe(place.data);
});

afterAll(async () => {
  await served.stop();
  place.remove();
  rmSync(results, { recursive: true });
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
  expect(result.capabilities).toEqual({
    completions: {},
    prompts: { listChanged: false },
    resources: { listChanged: false, subscribe: false },
    tools: { listChanged: false },
  });
});

test("the suite passes but for what is exempt, and nothing is exempt that passes", () => {
  const args = [SUITE, "server", "--url", `${served.url}/mcp`, "--output-dir", results];
  const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 120_000 });
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
  for (const [name, reason] of Object.entries(EXEMPT)) {
    const failures = checksOf(name).filter(({ status }) => status === "FAILURE");
    expect([name, failures.length]).toEqual([name, 1]);
    for (const { errorMessage } of failures) expect(errorMessage, name).toMatch(reason);
  }
});

interface Check {
  readonly status: string;
  readonly errorMessage?: string;
}

/** What the suite wrote down of a scenario; its folder is named by the scenario and the time. */
function checksOf(scenario: string): readonly Check[] {
  const start = `server-${scenario}-2`;
  const [folder = ""] = readdirSync(results).filter((name) => name.startsWith(start));
  return JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8")) as Check[];
}
