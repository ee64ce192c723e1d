/** Links for people: groups apart, with strength and reason, one line each. */
import { expect, test } from "vitest";
import { showLinks } from "./edges.js";
import { makeInk } from "./ink.js";

test("groups stand apart, with strength, reason and the mark of an inverse", () => {
  const link = { from: "A", to: "B" };
  const links = [
    { ...link, kind: "same_topic", group: "thematic", strength: 2, reason: "both\nare red" },
    { ...link, kind: "caused_by", group: "factual", strength: 5, reason: "the log", inverse: true },
    { ...link, kind: "uses", group: "factual" },
    { ...link, kind: "likes", group: "open" },
  ];
  expect(showLinks({ links }, makeInk(false)).split("\n")).toEqual([
    "factual",
    "  A ─caused_by→ B (inverse, strength 5)  the log",
    "  A ─uses→ B",
    "open",
    "  A ─likes→ B",
    "thematic",
    "  A ─same_topic→ B (strength 2)  both are red",
  ]);
  expect(showLinks({ links: [] }, makeInk(false))).toBe("none");
});
