/**
 * The review as a person uses it: the count in the rail, both sides, each decision by click and by key,
 * proposals of agents, undo, and what the store holds afterwards.
 */
import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacksBrowser, launch, openStudio, startTestServer, type TestServer } from "./browser.js";

const AGENT = { "Cortex-Speaks-As": "agent mcp:planner" };
const isLackingBrowser = lacksBrowser();

/** Keeps requests waiting until they are let go. */
function holdAnswers() {
  let letGo: () => void = () => undefined;
  const isFree = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { letGo: () => letGo(), hold: (route: Route) => isFree.then(() => route.continue()) };
}

describe.skipIf(isLackingBrowser)("the review", () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startTestServer()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  async function write(text: string, more: object = {}, headers = {}): Promise<string> {
    const made = await server.post("/v1/write", { type: "fact", text, ...more }, headers);
    expect(made.status, made.text).toBe(200);
    return String(made.json.id);
  }

  async function openItems(): Promise<readonly string[]> {
    const { items } = (await server.get("/v1/review")).json as { items: { kind: string }[] };
    return items.map(({ kind }) => kind);
  }

  /** The mark in the rail. */
  const railCount = (page: Page) => page.getByRole("navigation", { name: "Pages" });

  test("a rival shows both sides; keeping it by key moves the slot, and undo brings the question back", async () => {
    await write("Ada lives in Porto", { slot: "home city" });
    const rival = await write("Ada lives in Rome", { slot: "home city" }, AGENT);
    const studio = await openStudio(browser, server, "#/");
    const { page } = studio;
    await page.getByRole("link", { name: "1 thing waits for your decision" }).click();
    const item = page.getByRole("article", { name: /^Disputed value/ });
    await item.getByText("Ada lives in Rome").waitFor();
    await item.getByText("The agent says so").waitFor();
    await item.getByText("mcp:planner", { exact: false }).first().waitFor();
    await item.getByText("The owner said so").waitFor();
    await railCount(page).getByText("1").waitFor();
    await studio.picture("review-rival");

    // Right to left marks the other side; 1 keeps what is marked.
    await item.getByRole("radio", { name: "What is said against it" }).check();
    await page.locator("h1").click();
    await page.keyboard.press("1");
    await page.getByText("Nothing waits for you").waitFor();
    const slot = (await server.get("/v1/slot-history?slot=home+city")).json as {
      values: { id: string }[];
    };
    expect(slot.values[0]?.id).toBe(rival);

    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await item.getByText("Ada lives in Rome").waitFor();
    expect(await openItems()).toEqual(["rival"]);

    await page.keyboard.press("4");
    await page.getByText("Nothing waits for you").waitFor();
    const gone = (await server.get(`/v1/get?id=${rival}`)).json as { head: { status: string } };
    expect(gone.head.status).toBe("retracted");
    // The way back does not go with the notice.
    await page.reload();
    const takeBack = page.getByRole("button", { name: /Undo decision/ }).first();
    await takeBack.waitFor();
    // A slow answer to what the page reads again does not speak over what the person did meanwhile.
    const late = holdAnswers();
    await page.route(/\/v1\/changes/, late.hold);
    await takeBack.click();
    await item.getByText("Ada lives in Rome").waitFor();
    await page.keyboard.press("2");
    // What the pointer is on stays.
    await page.getByText("Both stay.").hover();
    const answered = page.waitForResponse(/\/v1\/changes/);
    late.letGo();
    await answered;
    await takeBack.waitFor();
    expect(await page.getByText("Both stay.").isVisible()).toBe(true);
    expect(await openItems()).toEqual([]);
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a contradiction is merged into one sentence; what an agent noted is accepted, reworded, refused", async () => {
    const early = await write("The shop opens at eight");
    const late = await write("The shop opens at nine");
    await server.post("/v1/add-edge", {
      from: late,
      kind: "contradicts",
      to: early,
      reason: "the sign was changed",
    });
    const noted = ["Ada likes window seats", "Ada avoids lifts", "Ada prefers tea"];
    for (const text of noted) await write(text, { type: "preference" }, AGENT);
    const studio = await openStudio(browser, server, "#/review");
    const { page } = studio;
    const dialog = page.getByRole("dialog");
    await page.getByText("the sign was changed").waitFor();
    await page.keyboard.press("3");
    await dialog.getByLabel("What is true instead").fill("The shop opens at nine since May");
    await dialog.getByRole("button", { name: "Let this stand" }).click();
    await page.getByRole("article", { name: "Not confirmed, 1 of 3" }).waitFor();
    const merged = (await server.get(`/v1/get?id=${early}`)).json as { text: string };
    expect(merged.text).toContain("nine since May");
    await studio.picture("review-noted");

    const shown = async () => String(await page.locator(".side-text").first().textContent());
    const accepted = await shown();
    await page.getByRole("button", { name: "Accept" }).click();
    await page.getByRole("article", { name: "Not confirmed, 1 of 2" }).waitFor();
    await page.keyboard.press("3");
    await dialog.getByLabel("What is true instead").fill("Ada takes the stairs");
    await dialog.getByRole("button", { name: "Let this stand" }).click();
    await page.getByRole("article", { name: "Not confirmed, 1 of 1" }).waitFor();
    const refused = await shown();
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    const { memories } = (await server.get("/v1/list?type=preference")).json as {
      memories: { text: string; head: { status: string } }[];
    };
    const left = memories.map(({ text }) => text);
    expect(left).toContain(accepted);
    expect(left).toContain("Ada takes the stairs");
    expect(left).not.toContain(refused);
    expect(memories.every(({ head }) => head.status === "confirmed")).toBe(true);
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("what an agent asks for is accepted or refused; two open versions and duplicates are settled", async () => {
    const rule = await write("No red-eye flights", { type: "constraint" });
    const car = await write("The car is blue");
    const asks = (path: string, body: object) => server.post(path, body, AGENT);
    await asks("/v1/update", { id: rule, text: "No red-eye flights, except to Tokyo" });
    await asks("/v1/tombstone", { id: car, reason: "it was sold" });
    const studio = await openStudio(browser, server, "#/review");
    const { page } = studio;
    await page.getByText("wants this memory to say something else").waitFor();
    await page.getByText("except to Tokyo").waitFor();
    await studio.picture("review-proposal");
    await page.getByRole("button", { name: "Accept" }).click();
    await page.getByText("wants this memory to be hidden").waitFor();
    await page.getByText("it was sold").waitFor();
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    const now = (await server.get(`/v1/get?id=${rule}`)).json as { text: string };
    expect(now.text).toContain("Tokyo");
    const kept = (await server.get(`/v1/get?id=${car}`)).json as { head: { lifecycle: string } };
    expect(kept.head.lifecycle).toBe("active");

    await asks("/v1/forget", { id: rule, reason: "outdated" });
    await page.getByText("wants this memory to be forgotten for good").waitFor();
    await page.getByRole("button", { name: "Accept…" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Forget" }).isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill("forget");
    await dialog.getByRole("button", { name: "Forget" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    expect((await server.get(`/v1/get?id=${rule}`)).text).not.toContain("Tokyo");

    await server.post("/v1/configure", { conflictPolicy: "manual" });
    await server.post("/v1/update", { id: car, text: "The car is red", basedOnVersion: 1 });
    await server.post("/v1/update", { id: car, text: "The car is green", basedOnVersion: 1 });
    await write("Ada keeps the spare key under the fern pot");
    await write("Ada keeps the spare key under the fern pot outside");
    await page.getByRole("article", { name: /^Two versions/ }).waitFor();
    await page.getByRole("radio", { name: "Version 2" }).check();
    await page.getByRole("button", { name: "Keep the marked one" }).click();
    await page.getByText("Nothing waits for you").waitFor();
    const colour = (await server.get(`/v1/get?id=${car}`)).json as { text: string };
    expect(colour.text).toContain("red");

    await page.getByRole("link", { name: "Look for duplicates" }).click();
    await page.getByRole("article", { name: /^Perhaps the same/ }).waitFor();
    await page.getByRole("button", { name: "Keep the marked one" }).click();
    await page.getByText("No two memories say the same").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
