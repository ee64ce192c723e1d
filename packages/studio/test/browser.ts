/**
 * A real browser for the tests of the studio: Debian's Chromium without a window, a server of the test, a
 * page of its own for each test. Whatever the page complains about fails the test that opened it.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openRemote } from "@cortex-memory/core/remote";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { isLacking } from "../../core/src/testing/lacking.js";
import { startTestServer, type TestServer } from "../../server/test/http-server.js";
import { plantSample } from "../src/home/sample.ts";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Whether there is no browser here, or no studio to look at. */
export function lacksBrowser(): boolean {
  const built = fileURLToPath(new URL("../../server/dist/studio/index.html", import.meta.url));
  return (
    isLacking(placeOfBrowser() !== undefined, "this machine has no chromium") ||
    isLacking(existsSync(built), "the studio is not built")
  );
}

function placeOfBrowser(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/** Starts the browser; one for a file of tests. */
export function launch(): Promise<Browser> {
  const executablePath = placeOfBrowser();
  if (executablePath === undefined) throw new Error("no browser");
  return chromium.launch({
    executablePath,
    // WebGL in software, the page itself without any, and no sandbox, which root may not have.
    args: [
      "--no-sandbox",
      "--use-gl=angle",
      "--use-angle=swiftshader-webgl",
      "--enable-unsafe-swiftshader",
    ],
  });
}

/** How a page is looked at. */
export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}

/** A page of the studio. */
export interface StudioPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained about, and what its policy refused. */
  readonly complaints: readonly string[];
  /** Goes to an address after `#`. */
  show(hash: string): Promise<void>;
  /** Keeps a picture, for people to look at. */
  picture(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Pictures go here; the folder is not kept by git. */
const PICTURES = fileURLToPath(new URL("../pictures/", import.meta.url));

/** Opens the studio of a server at an address after `#`. */
export async function openStudio(
  browser: Browser,
  server: Pick<TestServer, "url">,
  hash = "#/",
  { width = 1440, height = 900, dark = false }: Look = {},
): Promise<StudioPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !isExpected(message.text())) complaints.push(message.text());
  });
  await page.goto(`${server.url}/${hash}`);
  return {
    page,
    context,
    complaints,
    show: async (next) => {
      await page.evaluate(`window.location.hash = ${JSON.stringify(next)}`);
    },
    picture: async (name) => {
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    },
    close: () => context.close(),
  };
}

/** A refused request is told to the console by the browser itself; the page shows it in words. */
function isExpected(text: string): boolean {
  return /^Failed to load resource/.test(text);
}

/** Starts a server whose own graph holds the sample. */
export async function startSampleServer(): Promise<TestServer> {
  const server = await startTestServer();
  const memory = await openRemote(server.url);
  await plantSample(memory);
  await memory.close();
  return server;
}

export { startTestServer, type TestServer };
