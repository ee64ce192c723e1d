/**
 * Many graphs and the health of a store, as an operator uses them: the list with its sizes, another graph,
 * a file that is dropped, what a store holds, upkeep with its plan first, and what was slow.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readMetrics } from "../src/health/metrics.ts";
import { lacksBrowser, launch, openStudio, startTestServer, type TestServer } from "./browser.js";

/** How long a page may take to follow, on a busy machine. */
const SOON = { timeout: 30_000 };

const isLackingBrowser = lacksBrowser();

test("what a server counts is read: means, the step that holds 95 of 100, failures, slowest first", () => {
  const bucket = (operation: string, le: string, value: number) =>
    `cortex_http_request_duration_seconds_bucket{operation="${operation}",le="${le}"} ${value}`;
  const text = [
    "# HELP cortex_uptime_seconds Time since the start.",
    "cortex_uptime_seconds 77",
    'cortex_http_requests_total{operation="get",status="200"} 100',
    'cortex_http_requests_total{operation="recall",status="500"} 2',
    bucket("get", "0.001", 95),
    bucket("get", "+Inf", 100),
    'cortex_http_request_duration_seconds_sum{operation="get"} 0.2',
    'cortex_http_request_duration_seconds_count{operation="get"} 100',
    bucket("recall", "0.001", 1),
    bucket("recall", "+Inf", 4),
    'cortex_http_request_duration_seconds_sum{operation="recall"} 400',
    'cortex_http_request_duration_seconds_count{operation="recall"} 4',
  ].join("\n");
  expect(readMetrics(text)).toEqual({
    uptimeSeconds: 77,
    openStores: 0,
    inFlight: 0,
    operations: [
      { operation: "recall", count: 4, meanMs: 100_000, p95Ms: undefined, failed: 2 },
      { operation: "get", count: 100, meanMs: 2, p95Ms: 1, failed: 0 },
    ],
  });
});

describe.skipIf(isLackingBrowser)("many", () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    // Everything is slow here, so that there is something slow to see.
    [browser, server] = await Promise.all([
      launch(),
      startTestServer({ settings: { slowMs: "0" } }),
    ]);
    const yesterday = Date.now() - 86_400_000;
    const body = { type: "fact", text: "The offer ends soon", expiresAt: yesterday };
    const made = await server.post("/v1/write", { type: "fact", text: "Ada lives in Porto" });
    expect(made.status, made.text).toBe(200);
    await server.post("/v1/actors/grace/write", body);
    await server.post("/v1/actors/grace/write", { type: "goal", text: "Write a compiler" });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("the graphs are listed with what they hold, narrowed, and another one is opened", async () => {
    const studio = await openStudio(browser, server, "#/graphs");
    const { page } = studio;
    const row = page.getByRole("row", { name: /grace/ });
    await row.getByText(/just now|ago/).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(2);
    await studio.picture("graphs");
    await page.getByLabel("Find a graph").fill("grac");
    await expect.poll(() => page.locator("tbody tr").count(), SOON).toBe(1);
    await row.getByRole("link", { name: "grace" }).click();
    await page.getByRole("link", { name: "Write a compiler" }).waitFor();
    expect(page.url()).toContain("graph=grace");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a graph is removed on request: its name typed, and nothing of it is left", async () => {
    await server.post("/v1/actors/linus/write", { type: "fact", text: "Linus keeps penguins" });
    const studio = await openStudio(browser, server, "#/graphs");
    const { page } = studio;
    await page.getByRole("button", { name: "Remove linus" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 memory and 0 links").waitFor();
    await dialog.getByLabel("Why").fill("Linus asked for it");
    expect(await dialog.getByRole("button", { name: "Remove" }).isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill("linus");
    await studio.picture("graph-removal");
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByText("The graph linus is removed.").waitFor();
    await expect.poll(() => page.getByRole("row", { name: /linus/ }).count(), SOON).toBe(0);
    expect((await server.get("/v1/graphs")).text).not.toContain("linus");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a dropped file is shown first, then brought in, and adds nothing the second time", async () => {
    const lines = [
      '{"type":"fact","text":"The piano is tuned in May","externalId":"piano"}',
      '{"type":"goal","text":"Play at the town hall","externalId":"hall"}',
      "{broken",
      '{"type":"wish","text":"No such type"}',
      '{"link":{"from":"piano","kind":"enables","to":"hall","reason":"it has to sound well"}}',
    ].join("\n");
    const file = { name: "memories.jsonl", mimeType: "text/plain", buffer: Buffer.from(lines) };
    const studio = await openStudio(browser, server, "#/graphs");
    const { page } = studio;
    const card = page.getByRole("region", { name: "Bring memories in" });
    const data = await page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File([${JSON.stringify(lines)}], "memories.jsonl"));
      return data;
    })()`);
    await page.locator(".drop").dispatchEvent("drop", { dataTransfer: data });
    await card.getByText("holds 3 memories and 1 link. Nothing is written yet.").waitFor();
    await card.getByText("line 3: it is no JSON object").waitFor();
    await studio.picture("import");
    await card.getByRole("button", { name: "Import 3 memories" }).click();
    await card
      .getByText("2 memories came in, 0 memories had been there already, 1 link drawn")
      .waitFor();
    await card.getByText(/line 4: .*type/).waitFor();
    expect((await server.get("/v1/get?id=hall")).json.text).toBe("Play at the town hall");
    await page.reload();
    await card.getByLabel("or choose a file").setInputFiles(file);
    await card.getByRole("button", { name: "Import 3 memories" }).click();
    await card.getByText("0 memories came in, 2 memories had been there already").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a conversation that is dropped can be read; files of other programs are named with their command", async () => {
    const turns = [
      { role: "user", content: "The kiln is too hot" },
      { role: "assistant", content: "Then let it cool until noon." },
    ];
    const studio = await openStudio(browser, server, "#/graphs");
    const { page } = studio;
    const card = page.getByRole("region", { name: "Bring memories in" });
    const give = (name: string, content: string) =>
      card
        .getByLabel("or choose a file")
        .setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(content) });
    for (const [name, content, command] of [
      ["notes.db", "SQLite format 3\0and pages", "of a program that is not known"],
      ["my memory.json", '{"type":"entity","name":"Ada"}', "'my memory.json' --from mcp-memory"],
      ["mem0.json", '{"results":[{"memory":"likes tea"}]}', "mem0.json --from mem0"],
      ["all.cortex", "cortex-journal 1\n...", "cortex import all.cortex"],
    ] as const) {
      await give(name, content);
      await card.getByText(command).waitFor();
    }
    await give("kiln.json", JSON.stringify(turns));
    await card.getByText("holds 2 turns. Nothing is written yet.").waitFor();
    await card.getByRole("button", { name: "Import 2 turns" }).click();
    await card.getByText("2 turns came in, 0 turns had been there already").waitFor();
    await card.getByRole("link", { name: "Read it" }).click();
    await page.getByRole("log", { name: "Turns" }).getByText("let it cool until noon").waitFor();
    await page.getByRole("link", { name: /kiln 2 turns/ }).waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("health shows what a store holds and what was slow; upkeep shows its plan, then runs", async () => {
    const studio = await openStudio(browser, server, "#/health?graph=grace");
    const { page } = studio;
    await page.getByText("Indexes and jobs are up to date").waitFor();
    const server_ = page.getByRole("region", { name: "The server" });
    await server_.getByText(/slow requests? lately/).waitFor();
    await server_.getByRole("row", { name: /^write/ }).waitFor();
    const upkeep = page.getByRole("region", { name: "Upkeep" });
    expect(await upkeep.getByRole("button", { name: "Run it" }).isDisabled()).toBe(true);
    await upkeep.getByLabel("archive what has expired").check();
    await upkeep.getByRole("button", { name: "Show the plan" }).click();
    await upkeep.getByRole("link", { name: "“The offer ends soon”" }).waitFor();
    await studio.picture("health");
    expect((await server.get("/v1/actors/grace/stats")).text).toContain('"active":2');
    await upkeep.getByRole("button", { name: "Run it" }).click();
    await upkeep.getByText("archive what has expired: 1 done").waitFor();
    expect((await server.get("/v1/actors/grace/stats")).text).toContain('"active":1');
    await page.getByRole("button", { name: "Check that it is whole" }).click();
    await page.getByText("It is whole: ").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
