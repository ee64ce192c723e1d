/**
 * Writes that arrive together over MCP share commits, as those over REST do: counted by the number of the
 * last transaction in the store's own file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestServer } from "./http-server.js";
import { toolCall } from "./mcp-client.js";

/** Where LMDB keeps the number of a transaction, in each of its two meta pages. */
const TRANSACTION_AT = 152;
const PAGE_BYTES = 4096;

function transactionsIn(file: string): number {
  const bytes = readFileSync(file);
  const numbers = [0, PAGE_BYTES].map((page) => bytes.readBigUInt64LE(page + TRANSACTION_AT));
  return Math.max(...numbers.map(Number));
}

test("many calls at once take few commits", async () => {
  const COUNT = 20;
  const server = await startTestServer();
  const headers = { Accept: "application/json, text/event-stream", Connection: "keep-alive" };
  const remember = async (text: string): Promise<void> => {
    const call = toolCall(1, "memory_remember", { text, type: "event" });
    const got = await server.post("/mcp", call, headers);
    expect(got.text).toContain("Stored");
  };
  await remember("the first makes the store");
  const file = join(server.folder, "default", "g000001.mdb");
  const commits: number[] = [];
  // Connections are opened in the first round, one a turn; from then on calls arrive together.
  for (let round = 0; round < 4; round += 1) {
    const before = transactionsIn(file);
    const texts = Array.from({ length: COUNT }, (_, at) => `event ${at} of round ${round}`);
    await Promise.all(texts.map(remember));
    commits.push(transactionsIn(file) - before);
  }
  const { json } = await server.get("/v1/stats");
  expect(json.entries).toBe(2 + 4 * COUNT);
  expect(Math.min(...commits)).toBeGreaterThanOrEqual(1);
  expect(Math.min(...commits), `commits of each round: ${commits}`).toBeLessThan(COUNT / 4);
  await server.close();
});
