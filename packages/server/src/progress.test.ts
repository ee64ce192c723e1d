/** A bar on a terminal, lines elsewhere, nothing for short work. */
import { describe, expect, test } from "vitest";
import { bar, startProgress } from "./progress.js";

const WORK = { label: "check", unit: "entries" };

interface Recorded {
  readonly isTerminal: boolean;
  /** When, and how much was done. */
  readonly reports: readonly (readonly [number, number])[];
  readonly ends?: "well";
  readonly total?: number;
}

function record({ isTerminal, reports, ends, total = 1000 }: Recorded): string {
  let nowMs = 0;
  let written = "";
  const target = {
    isTerminal,
    columns: 80,
    write: (text: string) => {
      written += text;
    },
  };
  const progress = startProgress(WORK, target, () => nowMs);
  for (const [atMs, done] of reports) {
    nowMs = atMs;
    progress.report(done, total);
  }
  if (ends === "well") progress.finish();
  else progress.end();
  return written;
}

describe("progress", () => {
  test.each([true, false])(
    "says nothing about work that is over at once (terminal %s)",
    (isTerminal) => {
      expect(record({ isTerminal, reports: [[499, 1000]], ends: "well" })).toBe("");
    },
  );

  test("redraws one line on a terminal, with what is left, and wipes it when the work breaks off", () => {
    const written = record({
      isTerminal: true,
      reports: [
        [1000, 100],
        [1050, 150],
        [2000, 500],
      ],
    });
    expect(written.split("\r\u001b[K")).toEqual([
      "",
      "check ██░░░░░░░░░░░░░░░░░░ 10% 100/1,000 entries, about 9 s left",
      "check ██████████░░░░░░░░░░ 50% 500/1,000 entries, about 2 s left",
      "",
    ]);
    expect(written).not.toContain("\n");
  });

  test("work that is done ends at 100 %, on a line that stays", () => {
    const written = record({ isTerminal: true, reports: [[1000, 100]], ends: "well" });
    expect(written.split("\r\u001b[K").at(-1)).toBe(
      "check ████████████████████ 100% 1,000/1,000 entries\n",
    );
  });

  test("writes plain lines elsewhere, seldom, and the last at 100 %", () => {
    const written = record({
      isTerminal: false,
      reports: [
        [1000, 100],
        [2000, 200],
        [6000, 500],
      ],
      ends: "well",
    });
    expect(written.split("\n")).toEqual([
      "check: 100 of 1,000 entries (10%), about 9 s left",
      "check: 500 of 1,000 entries (50%), about 6 s left",
      "check: 1,000 of 1,000 entries (100%)",
      "",
    ]);
  });

  test("a total that nobody knows is not made up", () => {
    expect(record({ isTerminal: false, reports: [[1000, 7]], total: 0 })).toBe(
      "check: 7 entries\n",
    );
  });

  test("a bar fits its terminal, and odd counts do no harm", () => {
    const at = (done: number, total: number) => ({ ...WORK, done, total, elapsedMs: 1000 });
    expect(bar(at(5, 10), 20)).toHaveLength(19);
    expect(bar(at(20, 10), 80)).toContain("100%");
    expect(bar(at(3_600, 10_000_000), 80)).not.toContain("left");
    expect(bar({ ...at(1, 10), elapsedMs: 3_600_000 }, 80)).toContain("about 9 h left");
    expect(bar({ ...at(1, 10), elapsedMs: 60_000 }, 80)).toContain("about 9 min left");
  });
});

test("work that counts something else for once says what", () => {
  let nowMs = 0;
  const written: string[] = [];
  const target = {
    write: (text: string) => void written.push(text),
    isTerminal: false,
    columns: 80,
  };
  const progress = startProgress({ label: "import", unit: "records" }, target, () => nowMs);
  nowMs = 6000;
  progress.report(10, 200, "bytes");
  progress.finish();
  expect(written).toEqual([
    expect.stringContaining("10 of 200 bytes (5%)"),
    expect.stringContaining("200 of 200 bytes (100%)"),
  ]);
});
