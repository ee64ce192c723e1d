/**
 * The graph page: it begins at what matters, a search or a memory, says what it left out, grows where
 * somebody double-clicks, hides what the legend says, finds a way between two, and stays where it was.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacksBrowser, launch, openStudio, startTestServer, type TestServer } from "./browser.js";

/** Few points: they are drawn without a graphics card here. */
const SMALL = { width: 1024, height: 640 };

const isLackingBrowser = lacksBrowser();

describe.skipIf(isLackingBrowser)("the graph", () => {
  let browser: Browser;
  let server: TestServer;
  let hub = "";
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startTestServer()]);
    hub = await plant(server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  /** What the line below the picture says, once everything is loaded. */
  async function summary(page: Page): Promise<string> {
    const line = page.locator(".graph-summary", { hasText: "are drawn" });
    await line.filter({ hasNotText: "still loading" }).waitFor();
    return (await line.textContent()) ?? "";
  }

  test("begins at a memory, says what it left out, and keeps its places", async () => {
    const studio = await openStudio(browser, server, `#/graph?from=${hub}&hops=1`, SMALL);
    const { page } = studio;
    await expect
      .poll(() => summary(page))
      .toContain("13 memories and 12 links are drawn of 16 memories");
    const kept =
      "JSON.stringify([...JSON.parse(localStorage['cortex.places.default'] ?? '[]')].sort())";
    await expect.poll(async () => JSON.parse(await page.evaluate<string>(kept)).length).toBe(13);
    const before = await page.evaluate(kept);
    await page.reload();
    await expect.poll(() => summary(page)).toContain("13 memories");
    expect(await page.evaluate(kept)).toBe(before);
    await page.locator(".canvas canvas").first().waitFor();

    await page.getByRole("button", { name: "goal" }).click();
    await expect.poll(() => summary(page)).toContain("1 loaded but hidden by the filter");
    await page.getByRole("button", { name: "causes, part of" }).click();
    await expect.poll(() => summary(page)).toContain("0 links");
    expect(page.url()).toContain("hide=goal");
    expect(studio.complaints).toEqual([]);
    await studio.picture("graph-filtered");
    await studio.close();
  });

  test("a search begins it, the list names what is drawn, a memory opens beside it", async () => {
    const studio = await openStudio(browser, server, "#/graph", SMALL);
    const { page } = studio;
    await page.getByLabel("Begin at").fill("lighthouse");
    await page.getByRole("button", { name: "Draw" }).click();
    await expect.poll(() => summary(page)).toContain("3 memories and 2 links");
    await page.getByText("As a list").click();
    await page.getByRole("link", { name: "The lighthouse is painted white" }).click();
    await page.getByRole("complementary", { name: "Memory" }).getByText("part of").waitFor();
    await studio.show(`${new URL(page.url()).hash}&to=${await idOf(server, "harbour")}`);
    await page.getByText("The way between the two has 2 links").waitFor();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as PNG" }).click();
    expect((await download).suggestedFilename()).toBe("cortex-default.png");
    expect(studio.complaints).toEqual([]);
    await studio.picture("graph-path");
    await studio.close();
  });
});

async function idOf(server: TestServer, name: string): Promise<string> {
  return String((await server.get(`/v1/get?id=${name}`)).json.id);
}

/** A hub with twelve neighbours, and a chain of three apart from it. */
async function plant(server: TestServer): Promise<string> {
  const write = (externalId: string, text: string, type = "fact") => ({
    ref: externalId,
    write: { type, text, externalId },
  });
  const link = (from: string, kind: string, to: string) => ({
    link: { from: { ref: from }, kind, to: { ref: to } },
  });
  const spokes = Array.from({ length: 12 }, (_, at) => `spoke-${at}`);
  const items = [
    write("hub", "The market is the middle of town"),
    ...spokes.map((name, at) => write(name, `Stall ${at} sells fruit`, at === 0 ? "goal" : "fact")),
    ...spokes.map((name) => link(name, "part_of", "hub")),
    write("tower", "The lighthouse is painted white"),
    write("harbour", "The harbour has a lighthouse"),
    write("light", "A lighthouse keeper lives there"),
    link("tower", "part_of", "light"),
    link("light", "part_of", "harbour"),
  ];
  const made = await server.post("/v1/batch", { items });
  expect(made.status, made.text).toBe(200);
  return idOf(server, "hub");
}
