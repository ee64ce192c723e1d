/**
 * Time as a person uses it: the journal in sentences, filters, the difference between two points, a day
 * of the past, undo of an entry, and play.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { STRETCH, stretchesOf } from "../src/time/journal-words.ts";
import { lacksBrowser, launch, openStudio, startTestServer, type TestServer } from "./browser.js";

/** How long a page may take to follow, on a busy machine. */
const SOON = { timeout: 30_000 };

const isLackingBrowser = lacksBrowser();

test("stretches cover the journal once, newest first, with ends that stay as it grows", () => {
  for (const last of [0, 1, STRETCH, STRETCH + 1, 5 * STRETCH + 7]) {
    const all = stretchesOf(last, 100);
    expect(all[0]?.to).toBe(last);
    expect(all.at(-1)?.from).toBe(0);
    for (const [at, { from }] of all.entries())
      if (at > 0) expect(all[at - 1]?.from).toBe(from + STRETCH);
  }
});

describe.skipIf(isLackingBrowser)("time", () => {
  let browser: Browser;
  let server: TestServer;
  let ferry = "";
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startTestServer()]);
    const write = async (text: string, more: object = {}) =>
      String((await server.post("/v1/write", { type: "fact", text, ...more })).json.id);
    ferry = await write("The ferry leaves at noon"); // 1
    const car = await write("The car is blue"); // 2
    await server.post("/v1/update", { id: ferry, text: "The ferry leaves at nine" }); // 3
    await server.post("/v1/add-edge", { from: ferry, kind: "blocks", to: car }); // 4
    await server.post("/v1/tombstone", { id: car, reason: "sold", by: "mara" }); // 5
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("the journal reads as sentences, is narrowed, and an entry is undone", async () => {
    const studio = await openStudio(browser, server, "#/time");
    const { page } = studio;
    const entry = (text: string) => page.locator(".journal-entry", { hasText: text });
    await entry("mara retired “The car is blue”").waitFor();
    await entry("default reworded “The ferry leaves at nine”").waitFor();
    await entry("linked “The ferry leaves at nine” blocks “The car is blue”").waitFor();
    await studio.picture("time");
    await page.getByLabel("Show").selectOption("retired or forgotten");
    await expect.poll(() => page.locator(".journal-entry").count(), SOON).toBe(1);
    expect(page.url()).toContain("what=retired");
    await page.getByRole("button", { name: "Undo entry 5" }).click();
    await page.getByText("Entry 5 is undone.").waitFor();
    const { json } = await server.get("/v1/list");
    expect(JSON.stringify(json)).toContain("The car is blue");
    await page.getByLabel("Show").selectOption("everything");
    await page.getByLabel("Narrow by name or words").fill("mara");
    await expect.poll(() => page.locator(".journal-entry").count(), SOON).toBe(1);
    await page.getByRole("link", { name: "entry 5" }).click();
    await page.getByText("The past: entry 5").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("two points are compared, a day of the past is shown, and a play ends at now", async () => {
    const studio = await openStudio(browser, server, "#/time");
    const { page } = studio;
    await page.getByLabel("From").fill("2");
    await page.getByLabel("to", { exact: true }).fill("5");
    await page.getByRole("button", { name: "Compare" }).click();
    const between = page.getByRole("region", { name: "What changed between two points" });
    await between.getByText("3 entries: 2 memories touched").waitFor();
    await between.locator("del", { hasText: "noon" }).waitFor();
    await between.getByText("current → retired").waitFor();
    await studio.picture("time-between");
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel("What was known on").fill(today);
    await page.getByText(/^The past: the end of \d/).waitFor();
    expect(page.url()).toContain(`at=${today}`);
    await page.getByRole("button", { name: "Back to now" }).click();
    // A moment is shown for less than a second: what it said is gathered in the page.
    await page.evaluate(`window.said = [];
      new MutationObserver(() => said.push(document.querySelector(".time-words")?.textContent))
        .observe(document.body, { childList: true, characterData: true, subtree: true }); 0`);
    await page.getByRole("button", { name: "Play what happened" }).click();
    for (const entry of ["entry 0", "entry 3"]) {
      await expect.poll(() => page.evaluate("said.join()")).toContain(`The past: ${entry}`);
    }
    await page.getByText(/^now · entry/).waitFor();
    expect(page.url()).not.toContain("at=");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
