/**
 * Using it as a person would: asking with lanes off and a memory that did not come, a context, a
 * conversation, writing, editing, tagging, linking, retiring, restoring, forgetting, undoing, the past.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacksBrowser, launch, openStudio, startSampleServer, type TestServer } from "./browser.js";

const isLackingBrowser = lacksBrowser();

describe.skipIf(isLackingBrowser)("the studio in use", () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startSampleServer()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  const panelOf = (page: Page) => page.getByRole("complementary", { name: "Memory" });

  test("a lane that is off brings nothing, and “why not” says so", async () => {
    const question = "q=who+comes+to+Kyoto&limit=50&budget=3200";
    const studio = await openStudio(browser, server, `#/ask?${question}`);
    const { page } = studio;
    await page.locator(".hit-lanes", { hasText: "links" }).first().waitFor();
    await page.getByRole("checkbox", { name: "links" }).uncheck();
    await expect.poll(() => page.locator(".hit-lanes", { hasText: "links" }).count()).toBe(0);
    expect(page.url()).toContain("off=graph");
    await page.getByLabel("Why not").fill("sample:coffee");
    await page.getByRole("button", { name: "Say why" }).click();
    await page.getByText("No lane leads to it").waitFor();
    await page.getByRole("link", { name: "Compare two settings" }).click();
    await page.getByRole("region", { name: "Answer with the second setting" }).waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.picture("ask-compared");
    await studio.close();
  });

  test("a context has its tiers and what the budget left out; a conversation what was learned", async () => {
    const studio = await openStudio(
      browser,
      server,
      "#/context?verb=schedule&object=plan&ref=kyoto&budget=200",
    );
    const { page } = studio;
    await page.getByText("The budget left out").waitFor();
    await page.getByRole("link", { name: "No red-eye flights" }).waitFor();
    await studio.picture("context");
    await studio.show("#/sessions");
    await page.getByRole("link", { name: /kyoto-trip/ }).click();
    await page.getByText("not more than 3,000 euros for both of us").waitFor();
    await page.getByRole("link", { name: "The trip to Kyoto costs at most" }).click();
    await panelOf(page).getByRole("link", { name: "kyoto-trip, turn 3" }).waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.picture("sessions");
    await studio.close();
  });

  test("a memory is written, reworded, tagged, linked, retired, restored and undone", async () => {
    const studio = await openStudio(browser, server);
    const { page } = studio;
    const panel = panelOf(page);
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Write" }).click();
    await dialog.getByLabel("In one sentence").fill("Mara collects lighthouse stamps");
    await dialog.getByRole("button", { name: "Write" }).click();
    await panel.getByText("Mara collects lighthouse stamps").waitFor();

    await panel.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Text").fill("Mara collects lighthouse postcards");
    await dialog.getByText("postcards", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Save as a new version" }).click();
    await panel.locator(".panel-text", { hasText: "postcards" }).waitFor();

    await panel.getByRole("button", { name: "Tags" }).click();
    await dialog.getByLabel("Tags").fill("hobby, paper");
    await dialog.getByRole("button", { name: "Save" }).click();
    await panel.getByRole("link", { name: "hobby" }).waitFor();

    await panel.getByRole("button", { name: "Link" }).click();
    await dialog.getByLabel("Find the other memory").fill("harbour atlas");
    await dialog.getByRole("radio", { name: "Finish restoring the harbour atlas" }).check();
    await dialog.getByLabel("Why, in one line").fill("both are of paper");
    await dialog.getByRole("button", { name: "Link", exact: true }).click();
    await panel.getByText("both are of paper").waitFor();
    await studio.picture("panel-mended");

    await panel.getByRole("button", { name: "Retire" }).click();
    await dialog.getByLabel("Why").fill("she gave them away");
    await dialog.getByRole("button", { name: "Retire" }).click();
    await panel.getByText("retired: hidden, can be restored").waitFor();
    await panel.getByRole("button", { name: "Restore" }).click();
    await panel.getByRole("button", { name: "Edit" }).waitFor();
    await page.getByText("It is back.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await panel.getByText("retired: hidden, can be restored").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("forgetting wants the word, lists what goes, and the content is gone", async () => {
    const { id } = (
      await server.post("/v1/write", { type: "fact", text: "The spare key is under the fern" })
    ).json;
    const studio = await openStudio(browser, server, `#/?m=${id}`);
    const { page } = studio;
    await panelOf(page).getByRole("button", { name: "Forget…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 version of it").waitFor();
    await studio.picture("forget");
    expect(await dialog.getByRole("button", { name: "Forget" }).isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill("forget");
    await dialog.getByRole("button", { name: "Forget" }).click();
    await page.getByText("Forgotten for good: 1 memory").waitFor();
    expect((await server.get(`/v1/get?id=${id}`)).text).not.toContain("fern");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("the time bar shows the past, in which nothing can be changed, and a reload stays there", async () => {
    const studio = await openStudio(browser, server, "#/?at=12&m=sample:kyoto");
    const { page } = studio;
    await page.getByText("The past: entry 12").waitFor();
    await panelOf(page).getByText("No such memory at this moment").waitFor();
    expect(await page.getByRole("button", { name: "Write" }).isDisabled()).toBe(true);
    await page.reload();
    await page.getByText("The past: entry 12").waitFor();
    await studio.picture("past");
    await page.getByRole("button", { name: "Back to now" }).click();
    await panelOf(page).getByText("Spend ten days in Kyoto in November").first().waitFor();
    expect(page.url()).not.toContain("at=");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
