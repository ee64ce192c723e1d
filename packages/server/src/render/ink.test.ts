/** Colour on terminals alone, and no byte of a memory reaches a terminal as a command. */
import { describe, expect, test } from "vitest";
import { clean, counted, makeInk, oneLine, outline, pairs, showTime, wantsColour } from "./ink.js";

describe("colour", () => {
  test.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [true, { TERM: "dumb" }, false],
  ])("terminal %s with %o: %s", (isTerminal, env, expected) => {
    expect(wantsColour({ isTerminal }, env)).toBe(expected);
  });

  test("ink paints, or does nothing at all", () => {
    expect(makeInk(true).green("ok")).toBe("\u001b[32mok\u001b[39m");
    expect(makeInk(true).green("")).toBe("");
    const plain = makeInk(false);
    expect([plain.bold, plain.dim, plain.red].map((paint) => paint("ok"))).toEqual([
      "ok",
      "ok",
      "ok",
    ]);
  });
});

describe("text", () => {
  test("control characters are shown, never sent", () => {
    expect(clean("a\u001b[2Jb\u0007\u009b\r\u202e")).toBe(
      "a\\u001b[2Jb\\u0007\\u009b\\u000d\\u202e",
    );
    expect(clean("two\nlines\tand a tab, ünïcode 🙂")).toBe("two\nlines\tand a tab, ünïcode 🙂");
  });

  test("one line is one line, cut at whole characters", () => {
    expect(oneLine("a\n b\t c")).toBe("a b c");
    expect(oneLine("🙂🙂🙂🙂", 5)).toBe("🙂🙂…");
  });

  test("times, pairs and counts", () => {
    expect(showTime(0)).toBe("1970-01-01T00:00:00Z");
    expect(showTime(Number.MAX_VALUE)).toBe(String(Number.MAX_VALUE));
    expect(counted(1, "entry", "entries")).toBe("1 entry");
    expect(counted(1200, "entry", "entries")).toBe("1,200 entries");
    const rows = [
      ["a", "1"],
      ["long", "2"],
      ["gone", undefined],
    ] as const;
    expect(pairs(rows, makeInk(false))).toBe("a     1\nlong  2");
  });

  test("an outline shows any answer", () => {
    const value = { id: "x\u0007", list: [{ a: 1, b: 2 }, "s"], none: [], deep: { yes: true } };
    expect(outline(value, makeInk(false))).toBe(
      "id: x\\u0007\nlist:\n  - a: 1\n    b: 2\n  - s\nnone: none\ndeep:\n  yes: true",
    );
  });
});

test("an outline takes any object, one without a prototype as well", () => {
  const bare = Object.assign(Object.create(null), { spentToday: "0", deep: Object.create(null) });
  expect(outline({ id: "x", state: bare, none: [] }, makeInk(false))).toBe(
    "id: x\nstate:\n  spentToday: 0\n  deep:\n\nnone: none",
  );
});
