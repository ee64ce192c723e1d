/**
 * How quick is the studio to the hand? `cortex serve` runs as users start it, over 20,000 memories and
 * 60,000 links; a headless Chromium looks at its page, on the same machine. Times are taken inside the
 * page, from what the person does to the frame in which the answer is painted; the cost of a frame while
 * panning is the processor time of the page's main thread, which holds on a busy machine as well.
 */
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { chromium } from "playwright-core";
import { median } from "../lib/clock.mjs";
import { engineRow, NO_SYNC } from "../lib/passes.mjs";
import { askServer, atRest, ownCommand, startServer } from "../lib/server-process.mjs";
import { asWrite, seededNumbers, startWorkload } from "../lib/workload.mjs";

const MEMORIES = 20_000;
/** Memories on the canvas while it is panned. */
const ON_CANVAS = 5000;
/** Pictures that a pan takes; without a graphics card each costs far more than its main thread. */
const MOVES = 24;

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const executablePath = PLACES.find((path) => existsSync(path));
  if (executablePath === undefined) {
    const notes = ["studio: this machine has no chromium, nothing was measured."];
    return { rows: [], figures: {}, notes };
  }
  const folder = join(settings.folder, "studio");
  await mkdir(folder, { recursive: true });
  const memories = Math.min(settings.size, MEMORIES);
  settings.progress(`studio: filling ${memories} memories and three times as many links`);
  const ids = await fill(folder, memories, settings);
  const server = await startServer(ownCommand(), folder);
  const args = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader"];
  const browser = await chromium.launch({
    executablePath,
    args: [...args, "--enable-unsafe-swiftshader"],
  });
  try {
    settings.progress("studio: waiting until the indexes are written out");
    await askServer(server.port, "recall", { question: "what about item 5?" });
    await atRest(server.port);
    const look = { browser, url: `http://127.0.0.1:${server.port}/`, ids };
    /** @type {Taken[]} */
    const taken = [];
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`studio: run ${run + 1} of ${settings.runs}`);
      taken.push(await lookOnce(look, run));
    }
    return judged(taken, memories);
  } finally {
    await browser.close();
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

/**
 * What one look measured, in milliseconds.
 * @typedef {{
 *   readonly first: number,
 *   readonly opened: number,
 *   readonly asked: number,
 *   readonly frame: number,
 *   readonly nodes: number,
 * }} Taken
 */

/**
 * @param {readonly Taken[]} taken
 * @param {number} memories
 * @returns {import("../lib/settings.mjs").Answer}
 */
function judged(taken, memories) {
  const about = { question: "studio", sync: NO_SYNC, memories };
  const nodes = median(taken.map((one) => one.nodes));
  const row = (/** @type {string} */ what, /** @type {keyof Taken} */ of) =>
    engineRow(
      about,
      what,
      "ms",
      taken.map((one) => one[of]),
    );
  const first = row("first paint with data", "first");
  const opened = row("opening a memory", "opened");
  const asked = row("asking, to painted hits", "asked");
  const frame = row(`main thread for a frame while panning ${nodes} memories`, "frame");
  return {
    rows: [first, opened, asked, frame],
    figures: {
      studioFirst: { value: first.value, memories },
      studioOpen: { value: opened.value, memories },
      studioAsk: { value: asked.value, memories },
      studioFrame: { value: frame.value, memories },
    },
    notes: [
      "studio: headless Chromium without a graphics card, server and page on one machine; the server " +
        "had written out its indexes and answered one question before.",
    ],
  };
}

/**
 * Memories, each linked to three that came before: one as a branch of a tree, so that a walk from the
 * first finds thousands, and two that the seed picks.
 * @param {string} folder
 * @param {number} count
 * @param {import("../lib/settings.mjs").Settings} settings
 */
async function fill(folder, count, { seed, batchItems }) {
  const engine = await open(folder, { actor: "default" });
  const workload = startWorkload(seed);
  const next = seededNumbers(seed + 1);
  /** @type {string[]} */
  const ids = [];
  while (ids.length < count) {
    const items = workload.take(Math.min(batchItems, count - ids.length));
    const { results } = await engine.batch(items.map((item) => ({ write: asWrite(item) })));
    for (const one of results) if (one.ok) ids.push(one.id);
  }
  const kinds = ["part_of", "enables", "same_topic"];
  const links = ids.slice(1).flatMap((from, at) =>
    kinds.map((kind, place) => ({
      link: { from, kind, to: ids[place === 0 ? Math.floor(at / 8) : next(at + 1)] ?? from },
    })),
  );
  for (let at = 0; at < links.length; at += batchItems) {
    await engine.batch(links.slice(at, at + batchItems), { atomic: false });
  }
  await engine.close();
  return ids;
}

/**
 * One person, with nothing in the browser's cache.
 * @param {{
 *   readonly browser: import("playwright-core").Browser,
 *   readonly url: string,
 *   readonly ids: readonly string[],
 * }} look
 * @param {number} run
 * @returns {Promise<Taken>}
 */
async function lookOnce({ browser, url, ids }, run) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.addInitScript(WATCH);
  try {
    await page.goto(`${url}#/`);
    const first = await page.evaluate("window.firstPaint");
    await settled(page);
    const opened = await timed(page, ".panel .panel-text", () =>
      page
        .locator(".group .line-text")
        .nth(run + 1)
        .click(),
    );
    await show(page, "#/ask");
    const field = page.getByRole("combobox", { name: "Ask, find or jump" });
    await field.fill(`what about item ${17 + run * 100} and ${23 + run}?`);
    const asked = await timed(page, ".hit", () => page.keyboard.press("Enter"));
    await show(page, `#/graph?from=${ids[0]}&hops=6&most=${ON_CANVAS}`);
    const line = page.locator(".graph-summary", { hasText: "are drawn" });
    await line.filter({ hasNotText: "still loading" }).waitFor();
    const words = (await line.textContent()) ?? "";
    const nodes = Number(/^\D*([\d,]+)/.exec(words)?.[1]?.replaceAll(",", ""));
    const frame = await panCost(page);
    return { first: Number(first), opened, asked, frame, nodes };
  } finally {
    await context.close();
  }
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} hash
 */
async function show(page, hash) {
  await page.evaluate(`window.location.hash = ${JSON.stringify(hash)}`);
  await settled(page);
}

/**
 * Waits until the page has nothing more to do for a while; the stream of events is always open.
 * @param {import("playwright-core").Page} page
 */
async function settled(page) {
  await page.waitForTimeout(1500);
}

/**
 * Runs in the page before anything else: says when something that matches is painted for the first time. A
 * frame after the one in which it was added, what was drawn is on the screen.
 */
const WATCH = `
  window.paintedAt = (selector, from) => new Promise((resolve) => {
    const done = () =>
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - from)));
    if (document.querySelector(selector)) return done();
    const watcher = new MutationObserver(() => {
      if (!document.querySelector(selector)) return;
      watcher.disconnect();
      done();
    });
    watcher.observe(document, { childList: true, subtree: true });
  });
  window.firstPaint = window.paintedAt(".group .line-text", 0);
`;

/**
 * Milliseconds from what a person does, taken when the page hears of it, until the answer is painted.
 * @param {import("playwright-core").Page} page
 * @param {string} selector
 * @param {() => Promise<unknown>} act
 * @returns {Promise<number>}
 */
async function timed(page, selector, act) {
  await page.evaluate(`window.answered = new Promise((resolve) => {
    const start = () => {
      removeEventListener("mousedown", start, true);
      removeEventListener("keydown", start, true);
      resolve(paintedAt(${JSON.stringify(selector)}, performance.now()));
    };
    addEventListener("mousedown", start, true);
    addEventListener("keydown", start, true);
  }); 0`);
  await act();
  return Number(await page.evaluate("window.answered"));
}

/**
 * Processor time of the main thread for one picture while the canvas is dragged about.
 * @param {import("playwright-core").Page} page
 * @returns {Promise<number>}
 */
async function panCost(page) {
  const box = await page.locator(".canvas").boundingBox();
  if (box === null) throw new Error("there is no canvas");
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.evaluate(
    "window.pictures = 0; (function count() { window.pictures += 1; requestAnimationFrame(count); })()",
  );
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.down();
  const before = await metrics(page, session);
  for (let at = 1; at <= MOVES; at += 1) {
    await page.mouse.move(middle.x + 90 * Math.sin(at / 6), middle.y + 60 * Math.cos(at / 6));
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => resolve(0)))");
  }
  const after = await metrics(page, session);
  await page.mouse.up();
  return (1000 * (after.busy - before.busy)) / Math.max(1, after.pictures - before.pictures);
}

/**
 * Seconds that the main thread was busy so far, and pictures that were drawn.
 * @param {import("playwright-core").Page} page
 * @param {import("playwright-core").CDPSession} session
 */
async function metrics(page, session) {
  const { metrics: found } = await session.send("Performance.getMetrics");
  const busy = found.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  return { busy, pictures: Number(await page.evaluate("window.pictures")) };
}
