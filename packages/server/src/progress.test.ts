/** A bar on a terminal, lines elsewhere, nothing for short work. */
import { describe, expect, test } from "vitest";
import { bar, startProgress } from "./progress.js";

function record(isTerminal: boolean, reports: readonly (readonly [number, number])[]): string {
  let nowMs = 0;
  let written = "";
  const target = {
    isTerminal,
    columns: 80,
    write: (text: string) => {
      written += text;
    },
  };
  const progress = startProgress("check", target, () => nowMs);
  for (const [atMs, done] of reports) {
    nowMs = atMs;
    progress.report(done, 1000);
  }
  progress.end();
  return written;
}

describe("progress", () => {
  test("says nothing about work that is over at once", () => {
    expect(record(true, [[499, 900]])).toBe("");
    expect(record(false, [[499, 900]])).toBe("");
  });

  test("redraws one line on a terminal and wipes it at the end", () => {
    const written = record(true, [
      [600, 100],
      [650, 150],
      [700, 500],
    ]);
    expect(written.split("\r\u001b[K")).toEqual([
      "",
      "check ███░░░░░░░░░░░░░░░░░░░░░░░░░░░ 10% 100/1,000",
      "check ███████████████░░░░░░░░░░░░░░░ 50% 500/1,000",
      "",
    ]);
    expect(written).not.toContain("\n");
  });

  test("writes plain lines elsewhere, seldom", () => {
    const written = record(false, [
      [1000, 100],
      [2000, 200],
      [6000, 500],
    ]);
    expect(written).toBe("check: 100 of 1,000 (10%)\ncheck: 500 of 1,000 (50%)\n");
  });

  test("a bar fits its terminal, and odd counts do no harm", () => {
    expect(bar("check", 5, 10, 20)).toHaveLength(19);
    expect(bar("check", 0, 0, 80)).toContain("100%");
    expect(bar("check", 20, 10, 80)).toContain("100%");
  });
});
