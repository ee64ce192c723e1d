/** Lists of memories fit a terminal of 80 columns, whatever the memories say. */
import { open } from "@cortex-memory/core";
import { expect, test } from "vitest";
import { makeInk, row } from "./ink.js";
import { showFound, showHistory, showPage, showRecalled, showSearch } from "./memories.js";

const INK = makeInk(false);
const widest = (text: string): number =>
  Math.max(...text.split("\n").map((line) => [...line].length));

test("list, find, recall, search and history", async () => {
  await using memory = await open("memory:");
  const text = `Ada lives in Porto ${"and likes the sea very much ".repeat(20)}`;
  const { id } = await memory.write({ type: "constraint", text });
  await memory.update(id, { text: `${text} indeed` });
  await memory.tombstone(id, "x");
  await memory.restore(id);
  const limit = 5;
  const pages = [
    showPage(await memory.list({ limit }), INK),
    showFound(await memory.find({ type: "constraint", limit }), INK),
    showRecalled(await memory.recall("where does Ada live"), INK),
    showSearch(await memory.search("Porto", { limit }), INK),
    showHistory({ versions: await memory.history(id) } as Parameters<typeof showHistory>[0], INK),
  ];
  for (const page of pages) expect([page, widest(page) <= 80]).toEqual([page, true]);
  for (const page of pages) expect(page).toContain("lives in");
});

test("a row counts what is seen, not the colours, and leaves a text some room", () => {
  const colour = makeInk(true);
  const painted = row(colour.cyan("id "), "x".repeat(100));
  expect(painted).toHaveLength(80 + colour.cyan("id ").length - "id ".length);
  expect(row("y".repeat(90), "x".repeat(100))).toBe(`${"y".repeat(90)}${"x".repeat(23)}…`);
});
