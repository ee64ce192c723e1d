/**
 * The first look: an empty store greets a newcomer, the sample is made and removed, the search field says
 * what it is about to do, a memory opens beside the page, a link survives a reload.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacksBrowser, launch, openStudio, startTestServer, type TestServer } from "./browser.js";

const isLackingBrowser = lacksBrowser();

describe.skipIf(isLackingBrowser)("a newcomer", () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startTestServer()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("is greeted, makes the sample, asks it, opens a memory, reloads all that, and removes it again", async () => {
    const studio = await openStudio(browser, server);
    const { page } = studio;
    await page.getByRole("heading", { name: "A memory for agents" }).waitFor();
    await studio.picture("welcome");
    await page.getByRole("button", { name: "Make the sample graph" }).click();
    await page.getByRole("link", { name: "No red-eye flights" }).waitFor();
    await studio.picture("home");

    await page.getByRole("combobox", { name: "Ask, find or jump" }).fill("Where does Mara live?");
    await page.getByRole("option", { name: "Ask: Where does Mara live?" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("What the agent reads").waitFor();
    const hit = page.locator(".hit-text", { hasText: /^Mara lives in Porto$/ });
    expect(await hit.locator("mark").allInnerTexts()).toContain("lives");
    await studio.picture("ask");

    await hit.click();
    const panel = page.getByRole("complementary", { name: "Memory" });
    await panel.getByText("home_city").waitFor();
    // The README shows this one, as docs/pictures/studio-ask.png.
    await studio.picture("memory");
    await page.reload();
    await panel.getByText("home_city").waitFor();
    await page.locator(".hit").first().waitFor();

    await studio.show("#/?graph=sample");
    await page.getByRole("button", { name: "Remove the sample" }).click();
    await page.getByRole("heading", { name: "A memory for agents" }).waitFor();
    // Nothing of it is left, not even its name in the list.
    expect((await server.get("/v1/graphs")).text).not.toContain("sample");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
