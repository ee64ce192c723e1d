/**
 * What hands do beside clicking links: dragging a memory to pin it, shift-clicking for a way, filtering by time
 * and by life, moving the bar of time, turning the settings of a question and of a task, copying the block for
 * an agent, and giving files whose program has to be told from their inside.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sqlite from "node-sqlite3-wasm";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readGiven, tablesIn } from "../src/graphs/given-file.ts";
import { lacksBrowser, launch, openStudio, startSampleServer, type TestServer } from "./browser.js";

describe("a SQLite file", () => {
  const folder = mkdtempSync(join(tmpdir(), "cortex-studio-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** A file with these tables, and with indexes enough to spread its schema over several pages. */
  function fileWith(name: string, tables: readonly string[], indexes: number): Uint8Array {
    const path = join(folder, name);
    const database = new sqlite.Database(path);
    database.exec("BEGIN");
    for (const table of tables) {
      database.exec(`CREATE TABLE "${table}" (id TEXT PRIMARY KEY, body TEXT, made INTEGER)`);
      database.exec(`INSERT INTO "${table}" VALUES ('CREATE TABLE trap (id)', 'x', 1)`);
      for (let at = 0; at < indexes; at++) {
        database.exec(`CREATE INDEX "${table}_${"long".repeat(20)}_${at}" ON "${table}" (body)`);
      }
    }
    database.exec("COMMIT");
    database.close();
    return readFileSync(path);
  }

  test.each([
    ["memgraph", ["graphs", "nodes", "edges"], "cortex import FILE --from memgraph"],
    ["kb", ["notes"], "cortex import FILE --from kb"],
    ["mcp-memory-libsql", ["entities", "relations", "observations"], undefined],
    ["some other", ["orders", "customers"], undefined],
  ] as const)(
    "of %s is told by its tables, however many pages they fill",
    async (name, tables, command) => {
      for (const indexes of [0, 40]) {
        const bytes = fileWith(`${name}-${indexes}.db`, tables, indexes);
        expect([...(await tablesIn(new Blob([bytes])))].sort()).toEqual([...tables].sort());
        const given = await readGiven(new Blob([bytes]));
        expect(given).toMatchObject({ kind: "elsewhere" });
        expect("command" in given ? given.command : undefined).toBe(command);
        if (name === "some other") expect(given).toMatchObject({ what: /orders, customers/ });
      }
    },
  );

  test("that is cut, or whose pages point anywhere, is said to be unknown", async () => {
    const whole = fileWith("whole.db", ["graphs", "nodes", "edges"], 40);
    for (let at = 16; at < whole.length; at += Math.ceil(whole.length / 40)) {
      const cut = new Blob([whole.slice(0, at)]);
      expect((await readGiven(cut)).kind).toBe("elsewhere");
      const bent = Uint8Array.from(whole);
      bent.fill(0xff, at, at + 8);
      expect((await readGiven(new Blob([bent]))).kind).toBe("elsewhere");
    }
  });
});

const isLackingBrowser = lacksBrowser();

/** Few points: they are drawn without a graphics card here. */
const SMALL = { width: 1024, height: 640 };

describe.skipIf(isLackingBrowser)("hands", () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startSampleServer()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  const drawn = (page: Page, words: string | RegExp) =>
    page.locator(".graph-summary", { hasText: words }).filter({ hasNotText: "still loading" });

  /** Brings a memory into the middle of the canvas; answers where that is on the screen. */
  async function centre(page: Page, text: string): Promise<{ x: number; y: number }> {
    await page.locator(".line", { hasText: text }).getByRole("button", { name: "show" }).click();
    const box = await page.locator(".canvas").boundingBox();
    return { x: (box?.x ?? 0) + (box?.width ?? 0) / 2, y: (box?.y ?? 0) + (box?.height ?? 0) / 2 };
  }

  /** The places that this browser keeps, by memory: x, y, and 1 where somebody put it. */
  async function places(page: Page): Promise<ReadonlyMap<string, readonly number[]>> {
    const kept = await page.evaluate<string>("localStorage['cortex.places.default'] ?? '[]'");
    const rows = JSON.parse(kept) as readonly (readonly [string, ...number[]])[];
    return new Map(rows.map(([id, ...rest]) => [id, rest]));
  }

  test("a memory is dragged and stays there over a reload and a new layout, until it is let go", async () => {
    const id = String((await server.get("/v1/get?id=sample:jonas")).json.id);
    const studio = await openStudio(browser, server, "#/graph?from=sample:jonas&hops=1", SMALL);
    const { page } = studio;
    await drawn(page, "are drawn of").waitFor();
    await page.getByText("As a list").click();
    await expect.poll(async () => (await places(page)).has(id)).toBe(true);
    await expect
      .poll(async () => {
        const { x, y } = await centre(page, "Jonas is Mara's brother");
        await page.mouse.move(x, y);
        await page.mouse.down();
        await page.mouse.move(x + 60, y + 30, { steps: 4 });
        await page.mouse.up();
        return (await places(page)).get(id)?.[2];
      })
      .toBe(1);
    const put = (await places(page)).get(id);
    await page.reload();
    await page.getByRole("button", { name: "Unpin 1 memory" }).waitFor();
    expect((await places(page)).get(id)).toEqual(put);
    // Far more than before is drawn: everything else is laid out anew.
    const many = (await places(page)).size;
    await studio.show("#/graph?from=sample:jonas&hops=2");
    await expect.poll(async () => (await places(page)).size).toBeGreaterThan(2 * many);
    expect((await places(page)).get(id)).toEqual(put);
    await studio.picture("graph-pinned");
    await page.getByRole("button", { name: "Unpin 1 memory" }).click();
    await page.getByRole("button", { name: /^Unpin/ }).waitFor({ state: "detached" });
    expect((await places(page)).get(id)).toEqual(put?.slice(0, 2));
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("the picture is filtered by time and by life, and a second memory is shift-clicked for the way to it", async () => {
    const write = async (text: string) =>
      String((await server.post("/v1/write", { type: "fact", text })).json.id);
    const [pier, boat, net] = [
      await write("The pier is rotten"),
      await write("The boat is moored at the pier"),
      await write("The net hangs on the boat"),
    ];
    await server.post("/v1/add-edge", { from: boat, kind: "part_of", to: pier });
    await server.post("/v1/add-edge", { from: net, kind: "part_of", to: boat });
    const studio = await openStudio(
      browser,
      server,
      `#/graph?from=${pier}&hops=2&m=${pier}`,
      SMALL,
    );
    const { page } = studio;
    await drawn(page, "3 memories and 2 links are drawn").waitFor();
    await page.getByText("As a list").click();
    await expect
      .poll(async () => {
        const { x, y } = await centre(page, "The net hangs on the boat");
        await page.keyboard.down("Shift");
        await page.mouse.click(x, y);
        await page.keyboard.up("Shift");
        return page.url();
      })
      .toContain(`to=${net}`);
    await page.getByText("The way between the two has 2 links.").waitFor();
    await page.getByRole("link", { name: "Hide the way" }).click();
    await server.post("/v1/tombstone", { id: net, reason: "torn" });
    await drawn(page, "2 memories and 1 link are drawn").waitFor();
    await page.getByText("More filters").click();
    await page.getByLabel("Life").selectOption("history and retired as well");
    await drawn(page, "3 memories and 2 links are drawn").waitFor();
    expect(page.url()).toContain("life=all");
    await page.getByLabel("Since").fill("2100-01-01");
    await drawn(page, "3 loaded but hidden by the filter").waitFor();
    expect(page.url()).toContain("since=2100-01-01");
    await page.getByLabel("Since").fill("2020-01-01");
    await drawn(page, "3 memories and 2 links are drawn").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("the block for an agent is copied as it stands, and names this server", async () => {
    const studio = await openStudio(browser, server, "#/?graph=nobody");
    const { page, context } = studio;
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("heading", { name: "A memory for agents" }).waitFor();
    await page.getByRole("button", { name: "Copy the block" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(JSON.parse(copied)).toEqual({
      mcpServers: { memory: { type: "http", url: `${server.url}/mcp` } },
    });
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("the bar of time is moved by hand, and back", async () => {
    const studio = await openStudio(browser, server, "#/time");
    const { page } = studio;
    const bar = page.getByRole("slider", { name: "Moment of the journal" });
    await bar.focus();
    await page.keyboard.press("ArrowLeft");
    await page.getByText(/^The past: entry/).waitFor();
    expect(page.url()).toContain("at=");
    await page.keyboard.press("Home");
    await page.getByText("The past: entry 0").waitFor();
    await page.keyboard.press("End");
    await page.getByText(/^now · entry/).waitFor();
    expect(page.url()).not.toContain("at=");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a question and a task are turned by their settings; conditions are picked", async () => {
    // Only the first mark of an address divides it: a question that was typed there may end with one.
    const studio = await openStudio(browser, server, "#/ask?q=who comes to Kyoto?&limit=20");
    const { page } = studio;
    const field = page.getByLabel("Question", { exact: true });
    await expect.poll(() => field.inputValue()).toBe("who comes to Kyoto?");
    expect(await page.getByLabel("At most").inputValue()).toBe("20");
    await page.getByText("Nothing here is a confident answer").waitFor();
    await page.locator(".hit-via").first().waitFor();
    await page.getByText("How to read this").click();
    await page.getByText("A link leads to it from a better hit.").waitFor();
    await page.getByLabel("Budget").selectOption("100 tokens");
    await page.getByText("Below this line the budget was spent").waitFor();
    await page.getByLabel("Of type").selectOption("goal");
    await expect
      .poll(() => page.locator(".hit .type").allInnerTexts())
      .toEqual(["G\ngoal", "G\ngoal"]);

    await page.getByRole("link", { name: "A task" }).click();
    await page.getByLabel("About to").selectOption("schedule");
    await page.getByLabel("called").fill("kyoto");
    await page.getByRole("link", { name: "believes that the maples" }).waitFor();
    expect(page.url()).toContain("verb=schedule");

    await page.getByRole("link", { name: "Conditions" }).click();
    await page.getByRole("link", { name: "constraint", exact: true }).click();
    await page.getByText("2 memories").waitFor();
    await page.getByRole("link", { name: "identity", exact: true }).click();
    await page.getByText("4 memories").waitFor();
    await page.getByRole("link", { name: "constraint", exact: true }).click();
    await page.getByRole("link", { name: "Mara Lindqvist, restorer of old maps" }).waitFor();
    await page.getByText("2 memories").waitFor();
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
