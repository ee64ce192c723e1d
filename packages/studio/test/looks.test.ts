/**
 * Every page as it looks: usable without eyes or mouse in both themes, nothing wider than the screen, and
 * pictures of each, wide and narrow, light and dark, empty and full, for people to look at.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Look,
  lacksBrowser,
  launch,
  openStudio,
  type StudioPage,
  startSampleServer,
  startTestServer,
  type TestServer,
} from "./browser.js";

const isLackingBrowser = lacksBrowser();

/** What each page says once it is there. */
const SAYS: { readonly [name: string]: string } = {
  home: "What it knows",
  ask: "Ask",
  find: "Find",
  context: "Context",
  graph: "Graph",
  sessions: "Sessions",
  review: "Review",
  trust: "Trust",
  time: "Time",
  graphs: "Graphs",
  health: "Health",
  past: "What it knows",
};

/** Pages by the name of their picture. */
const FULL = {
  home: "#/",
  ask: "#/ask?q=who+comes+to+Kyoto&m=sample:kyoto",
  find: "#/find?q=type:goal",
  context: "#/context?verb=schedule&object=plan&ref=kyoto",
  graph: "#/graph?from=sample:kyoto&hops=1",
  sessions: "#/sessions?s=kyoto-trip",
  review: "#/review",
  trust: "#/trust?prove=sample:kyoto",
  time: "#/time?a=9",
  graphs: "#/graphs",
  health: "#/health",
  past: "#/?at=12",
};

/** The same without anything in them. */
const EMPTY = {
  home: "#/",
  ask: "#/ask",
  graph: "#/graph",
  sessions: "#/sessions",
  review: "#/review",
  trust: "#/trust",
  time: "#/time",
  graphs: "#/graphs",
  health: "#/health",
};

const LOOKS = [
  { size: "wide", width: 1280, theme: "light", filling: "full" },
  { size: "wide", width: 1280, theme: "dark", filling: "full" },
  { size: "narrow", width: 390, theme: "dark", filling: "full" },
  { size: "narrow", width: 390, theme: "light", filling: "empty" },
] as const;

interface Found {
  readonly id: string;
  readonly at: readonly string[];
}

describe.skipIf(isLackingBrowser)("every page", () => {
  let browser: Browser;
  let full: TestServer;
  let empty: TestServer;
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  beforeAll(async () => {
    [browser, full, empty] = await Promise.all([launch(), startSampleServer(), startTestServer()]);
    // A memory that was forgotten leaves a graph with nothing in it.
    const { json } = await empty.post("/v1/write", { type: "fact", text: "nothing" });
    await empty.post("/v1/forget", { id: json.id, reason: "so that there is nothing" });
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([full?.close(), empty?.close()]);
  });

  /** Goes there by the address alone, as a click in the rail does, and waits until all is read. */
  async function settle({ page, show }: StudioPage, name: string, hash: string): Promise<void> {
    await show(hash);
    // The page before stands there until the next one is drawn.
    await page.locator("main h1", { hasText: SAYS[name] ?? name }).waitFor();
    await page.locator(name === "past" ? ".frame.is-past" : ".frame:not(.is-past)").waitFor();
    await expect.poll(() => page.locator(".loading").count(), { timeout: 30_000 }).toBe(0);
  }

  // One browser page for each look: what is loaded once is not loaded again.
  const tests = LOOKS.flatMap((look) =>
    Object.entries(look.filling === "full" ? FULL : EMPTY).map(([name, hash]) => ({
      ...look,
      name,
      hash,
    })),
  );
  let shown: { readonly key: string; readonly studio: StudioPage } | undefined;

  async function openLook(server: TestServer, look: Look): Promise<StudioPage> {
    const studio = await openStudio(browser, server, "#/", look);
    // The policy of the page refuses scripts from elsewhere; this one comes by the debugger.
    await studio.page.evaluate(axe);
    return studio;
  }

  test.each(tests)(
    "$name, $filling, $theme, $size: axe finds nothing",
    async ({ name, hash, filling, theme, size, width }) => {
      const look = { width, height: width < 760 ? 844 : 800, dark: theme === "dark" };
      const key = `${filling}-${theme}-${size}`;
      const server = filling === "full" ? full : empty;
      if (shown?.key !== key) {
        await shown?.studio.close();
        shown = { key, studio: await openLook(server, look) };
      }
      const { studio } = shown;
      await settle(studio, name, hash);
      await studio.picture(`look-${name}-${key}`);
      const found = await studio.page.evaluate<
        Found[]
      >(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(
        ({ id, nodes }) => ({ id, at: nodes.slice(0, 3).map(({ html }) => html) })))`);
      expect(found).toEqual([]);
      const tooWide = "document.documentElement.scrollWidth - window.innerWidth";
      expect(await studio.page.evaluate<number>(tooWide)).toBeLessThanOrEqual(0);
      expect(studio.complaints).toEqual([]);
    },
  );
});
