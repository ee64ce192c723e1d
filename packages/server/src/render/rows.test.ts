/** Lists fit a terminal of 80 columns, whatever the memories say and however wide their characters are. */
import { open } from "@cortex-memory/core";
import { expect, test } from "vitest";
import { showEdgeAdded, showEdges, showLinks, showTraversal } from "./edges.js";
import { columnsOf, folded, makeInk, row } from "./ink.js";
import {
  showFound,
  showHistory,
  showPage,
  showRecalled,
  showReview,
  showSearch,
  showSlot,
} from "./memories.js";
import { showSnapshots } from "./proofs.js";
import { showChanges, showLog } from "./store.js";
import { showContext } from "./upkeep.js";

const INK = makeInk(false);
const widest = (text: string): number => Math.max(...text.split("\n").map(columnsOf));

const TEXTS = {
  long: `Ada lives in Porto ${"and likes the sea very much ".repeat(20)}`,
  wide: `Ada lives in Porto ${"海がとても好きです、".repeat(20)}`,
  pictures: `Ada lives in Porto ${"🌊 ".repeat(60)}`,
} as const;

test.each(Object.entries(TEXTS))("every list of %s texts", async (_, text) => {
  await using memory = await open("memory:");
  const { id } = await memory.write({ type: "constraint", text, externalId: "a" });
  await memory.update(id, { text: `${text} indeed` });
  await memory.tombstone(id, "x");
  await memory.restore(id);
  await memory.write({ type: "fact", text: `${text} today`, slot: "home", externalId: "b" });
  await memory.write({ type: "fact", text: `${text} tomorrow`, slot: "home", externalId: "c" });
  const reason = text.slice(0, 150);
  const added = await memory.link("a", "causes", "b", { reason, strength: 4 });
  await memory.link("c", "contradicts", "a", { reason });
  await memory.snapshot(reason);
  const limit = 50;
  const pages = {
    list: showPage(await memory.list({ limit }), INK),
    find: showFound(await memory.find({ type: "constraint", limit }), INK),
    recall: showRecalled(await memory.recall("where does Ada live"), INK),
    search: showSearch(await memory.search("Porto", { limit }), INK),
    history: showHistory(
      { versions: await memory.history(id) } as Parameters<typeof showHistory>[0],
      INK,
    ),
    link: showEdgeAdded(added, INK),
    links: showLinks({ links: await memory.linksFrom("b") }, INK),
    edges: showEdges(await memory.edgesOut("b"), INK),
    traverse: showTraversal(await memory.traverse("a"), INK),
    slot: showSlot(await memory.slotHistory("home"), INK),
    review: showReview(await memory.review(), INK),
    snapshots: showSnapshots({ snapshots: await memory.snapshots() }, INK),
    log: showLog(await memory.log({ limit }), INK),
    changes: showChanges(await memory.changes(0), INK),
    context: showContext(await memory.context(), INK),
  };
  for (const [name, page] of Object.entries(pages)) {
    expect([name, page, widest(page) <= 80]).toEqual([name, page, true]);
    if (name !== "log") expect([name, page]).toEqual([name, expect.stringContaining("lives in")]);
  }
  expect(pages.links).toMatch(/caused_by.*inverse/s);
  expect(pages.links).toContain("strength 4");
});

test("a row counts what is seen, not the colours, and leaves a text some room", () => {
  const colour = makeInk(true);
  const painted = row(colour.cyan("id "), "x".repeat(100));
  expect(painted).toHaveLength(80 + colour.cyan("id ").length - "id ".length);
  expect(row("y".repeat(90), "x".repeat(100))).toBe(`${"y".repeat(90)}${"x".repeat(23)}…`);
  expect(row("", "海".repeat(100))).toBe(`${"海".repeat(39)}…`);
  expect(columnsOf("e\u0301海")).toBe(3);
});

test("a row that is folded loses no word, and keeps one that is longer than a line whole", () => {
  const words = Array.from({ length: 40 }, (_, at) => `word-${at}`);
  const line = folded(`  ${words.join(" ")}`, 6);
  expect(line.split(/\s+/).filter(Boolean)).toEqual(words);
  expect(widest(line)).toBeLessThanOrEqual(80);
  expect(line).toMatch(/^ {2}word-0 .*\n {6}word-/s);
  expect(folded("x".repeat(100), 4)).toBe("x".repeat(100));
});

test("the text of an answer is shown whole, below its row where it does not fit", async () => {
  await using memory = await open("memory:");
  const long = `Ada's door opens with the spare key ${"behind the third flower pot ".repeat(4)}, code 4711`;
  for (const text of [long, "Ada likes keys"]) await memory.write({ type: "note", text });
  const shown = showRecalled(await memory.recall("Where is the spare key of Ada?"), INK);
  const lines = shown.split("\n");
  expect(lines[0]).toMatch(/^\w{26} {2}note +\d\.\d{3} {2}lexical$/);
  expect(lines[1]).toMatch(/^ {2}Ada's door opens/);
  expect(shown).toMatch(/code 4711\n\w{26} {2}note .* Ada likes keys lexical\n/);
  expect(widest(shown)).toBeLessThanOrEqual(80);
});

test("an answer to a question for an order is shown in that order", async () => {
  await using memory = await open("memory:");
  const towns = ["Vigo", "Graz", "Cork", "Brno"];
  const turns = towns.map((town) => ({ role: "user" as const, content: `I moved to ${town}` }));
  await memory.remember(turns, { session: "a" });
  const shown = showRecalled(await memory.recall("In which order did I move?"), INK);
  expect([...shown.matchAll(/moved to (\w+)/g)].map(([, town]) => town)).toEqual(towns);
  const bySession = await memory.recall("In which order did I move?", { by: "session" });
  const lines = showRecalled({ ...bySession, weak: false }, INK).split("\n");
  expect(lines.map((line) => line === "a")).toEqual(lines.map((_, at) => at === 0));
});
