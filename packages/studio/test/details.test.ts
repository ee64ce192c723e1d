/**
 * What is reached by a second look: what the panel folds away, two open versions, keys and commands, a
 * phone, filters and growth of the picture, the past of an answer, a server that goes and comes back.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacksBrowser, launch, openStudio, startSampleServer, type TestServer } from "./browser.js";

const isLackingBrowser = lacksBrowser();

describe.skipIf(isLackingBrowser)("a second look", () => {
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

  async function write(body: object): Promise<string> {
    const made = await server.post("/v1/write", { type: "fact", ...body });
    expect(made.status, made.text).toBe(200);
    return String(made.json.id);
  }

  test("the panel has the slot's line, versions with their difference, fields, renderings, factors, JSON", async () => {
    await write({ text: "The boat is moored in Faro", slot: "mooring" });
    const id = await write({ text: "The boat is moored in Lagos", slot: "mooring", tags: ["sea"] });
    await server.post("/v1/update", { id, text: "The boat is moored in Lagos, berth 9" });
    await server.post("/v1/add-edge", { from: id, kind: "enables", to: "sample:kyoto" });
    const studio = await openStudio(browser, server, `#/?m=${id}`);
    const { page } = studio;
    const panel = panelOf(page);
    const line = panel.getByRole("list", { name: "Values of mooring" });
    await line.getByText("The boat is moored in Faro").waitFor();
    for (const [section, said] of [
      ["Versions", "berth 9"],
      ["Fields", "external id|confidence"],
      ["Renderings", "Short"],
      ["How much it matters", "what its writer said|importance"],
      ["As JSON", '"slot": "mooring"'],
    ] as const) {
      await panel.locator("summary", { hasText: section }).click();
      const open = panel.locator("details[open]", { hasText: section }).last();
      await open.getByText(new RegExp(said)).first().waitFor();
    }
    await panel.locator("ins", { hasText: "berth 9" }).waitFor();
    await panel.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("Confirmed.").waitFor();
    await panel.getByText(", confirmed", { exact: true }).waitFor();
    const unlink = panel.getByRole("button", { name: "Remove the link enables" });
    await unlink.click();
    await page.getByText("The link is removed.").waitFor();
    await unlink.waitFor({ state: "detached" });
    await studio.picture("panel-open");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("two open versions stand side by side in the panel, and one is kept", async () => {
    await server.post("/v1/configure", { conflictPolicy: "manual" });
    const id = await write({ text: "The gate is green" });
    for (const text of ["The gate is red", "The gate is white"]) {
      await server.post("/v1/update", { id, text, basedOnVersion: 1 });
    }
    const studio = await openStudio(browser, server, `#/?m=${id}`);
    const { page } = studio;
    const open = panelOf(page).getByRole("region", { name: "Open versions" });
    await open.getByText("The gate is white").waitFor();
    await studio.picture("panel-siblings");
    const side = open.locator(".side", { hasText: "The gate is red" });
    await side.getByRole("button", { name: "Keep this one" }).click();
    await page.getByText("Kept. The other version is history.").waitFor();
    await open.waitFor({ state: "detached" });
    expect((await server.get(`/v1/get?id=${id}`)).json.text).toBe("The gate is red");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("keys alone: help, pages, commands, finding, jumping, closing; an unknown page says so", async () => {
    const studio = await openStudio(browser, server, "#/?m=sample:kyoto");
    const { page } = studio;
    const heading = (name: string) => page.getByRole("heading", { level: 1, name, exact: true });
    const field = page.getByRole("combobox", { name: "Ask, find or jump" });
    await panelOf(page).getByRole("button", { name: "Edit" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("back to now").waitFor();
    await studio.picture("keys");
    // A question in front of the page takes its keys: Escape leaves it, and the panel stays.
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await panelOf(page).getByRole("button", { name: "Edit" }).waitFor();
    await page.keyboard.press("Escape");
    await panelOf(page).waitFor({ state: "detached" });
    for (const [key, name] of [
      ["s", "Sessions"],
      ["t", "Trust"],
      ["h", "What it knows"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await heading(name).waitFor();
    }
    await page.keyboard.press("Control+k");
    await page.keyboard.type("> heal");
    await page.getByRole("option", { name: /^Health/ }).waitFor();
    await studio.picture("palette");
    await page.keyboard.press("Enter");
    await heading("Health").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("type:goal tag:travel");
    await page.getByRole("option", { name: /^Find/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Spend ten days in Kyoto in November" }).waitFor();
    const id = String((await server.get("/v1/get?id=sample:kyoto")).json.id);
    await field.fill(id);
    await page.keyboard.press("Enter");
    await panelOf(page).getByText("Spend ten days in Kyoto in November").first().waitFor();
    await studio.show("#/nowhere");
    await heading("There is no page “nowhere”").waitFor();
    await page.getByRole("link", { name: "Go home" }).click();
    await heading("What it knows").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("on a phone a question is asked, its answer read and closed again", async () => {
    const studio = await openStudio(browser, server, "#/ask", { width: 390, height: 844 });
    const { page } = studio;
    await page.getByLabel("Question", { exact: true }).fill("who comes to Kyoto");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.locator(".hit-text", { hasText: "Spend ten days in Kyoto" }).click();
    const box = await panelOf(page).boundingBox();
    expect(box?.width).toBe(390);
    await panelOf(page).getByRole("button", { name: "Edit" }).waitFor();
    await studio.picture("phone-memory");
    await panelOf(page).getByRole("button", { name: "Close the panel" }).click();
    await panelOf(page).waitFor({ state: "detached" });
    await page.locator(".hit").first().waitFor();
    await studio.picture("phone-ask");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("the picture is filtered by tag and trust, coloured by kind, and grows where it is double-clicked", async () => {
    const address = "#/graph?from=sample:jonas&hops=1";
    const studio = await openStudio(browser, server, address, { width: 1024, height: 640 });
    const { page } = studio;
    const drawn = (words: string) =>
      page.locator(".graph-summary", { hasText: words }).filter({ hasNotText: "still loading" });
    await drawn("are drawn of").waitFor();
    await page.getByText("As a list").click();
    await page.getByLabel("Find in the picture").fill("Jonas is Mara's brother");
    await page.getByLabel("Find in the picture").press("Enter");
    const canvas = page.locator(".canvas");
    const box = await canvas.boundingBox();
    const middle = { x: (box?.width ?? 0) / 2, y: (box?.height ?? 0) / 2 };
    await expect
      .poll(async () => {
        await canvas.dblclick({ position: middle });
        return page.url();
      })
      .toContain("open=");
    await page.getByRole("link", { name: "Close 1 opened memory" }).waitFor();
    await page.getByText("More filters").click();
    await page.getByLabel("Tag").selectOption("family");
    await drawn("hidden by the filter").waitFor();
    await page.getByLabel("Trust").selectOption("said by the owner");
    await page.getByLabel("Colour by").selectOption("kind");
    await expect.poll(() => page.url()).toContain("colour=kind");
    expect(page.url()).toContain("tag=family");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a link into another graph is drawn and named", async () => {
    const car = { type: "note", text: "Grace has a car", externalId: "car" };
    await server.post("/v1/actors/grace/write", car);
    const from = await write({ text: "Grace drives us to the airport", externalId: "airport" });
    const made = await server.post("/v1/edges", {
      graph_id: "default",
      from_lineage: "airport",
      kind: "references",
      to_graph: "grace",
      to_lineage: "car",
    });
    expect(made.status, made.text).toBeLessThan(300);
    const studio = await openStudio(browser, server, `#/graph?from=${from}&hops=1&m=${from}`);
    const { page } = studio;
    await page.locator(".graph-summary", { hasText: "2 memories and 1 link" }).waitFor();
    await studio.picture("graph-outside");
    await panelOf(page).getByRole("link", { name: "in the graph grace" }).click();
    await panelOf(page).getByText("Grace has a car").first().waitFor();
    expect(page.url()).toContain("graph=grace");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a question is answered as of the past, and its text is copied", async () => {
    const studio = await openStudio(browser, server, "#/ask?q=who+goes+to+Kyoto&at=12");
    const { page, context } = studio;
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByText("know only the present").waitFor();
    await page.locator(".hit").first().waitFor();
    await page.getByRole("button", { name: "Copy the text" }).click();
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()");
    await expect.poll(copied).toContain("Kyoto");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("while the server is away the page says so, and it is there again afterwards", async () => {
    const studio = await openStudio(browser, server, "#/");
    const { page, context } = studio;
    await page.locator(".live-live").waitFor();
    await context.setOffline(true);
    await page.getByRole("link", { name: "Health" }).click();
    await page.getByText("This page could not be loaded").waitFor();
    await studio.picture("away");
    await context.setOffline(false);
    await page.getByRole("button", { name: "Load it again" }).click();
    await page.getByText("What it holds").waitFor();

    // A page that is opened while the memory cannot be reached opens it as soon as it can.
    const closed = /\/v1\/checkpoint/;
    await page.route(closed, (route) => route.abort());
    await page.reload();
    await page.getByRole("heading", { name: "The memory cannot be opened" }).waitFor();
    await page.unroute(closed);
    await page.getByText("What it holds").waitFor();
    await studio.close();
  });
});
