/** Times in memgraph's JSON: whatever was written before them, each is what a `Date` writes. */
import { describe, expect, it } from "vitest";
import { edgeJson } from "./shapes.js";

const EDGE = {
  id: "e@g",
  graphId: "g",
  fromLineage: "a",
  toGraph: "g",
  toLineage: "b",
  kind: "cites",
  createdBy: "",
};

const written = (createdAt: number, nanos?: number): string =>
  edgeJson({ ...EDGE, createdAt, ...(nanos === undefined ? {} : { nanos }) }).created_at;

describe("a time in memgraph's JSON", () => {
  it("is that of a Date in the same second, the next one, another day, and before 1970", () => {
    const start = Date.UTC(2026, 1, 28, 23, 59, 58);
    const near = [0, 7, 70, 700, 999, 1000, 1999, 2000, 0, 86_400_000];
    const far = [-1, -999, -1000, -1001, 0, 5, -62_167_219_200_001, 253_402_300_800_000];
    const times = [...near.map((ms) => start + ms), ...far, ...far.map((ms) => ms + 0.5)];
    expect(times.map((ms) => written(ms))).toEqual(times.map((ms) => new Date(ms).toISOString()));
  });

  it("keeps billionths that are known, and refuses what is no time", () => {
    expect(written(1_000_123, 456_700)).toBe("1970-01-01T00:16:40.1234567Z");
    expect(written(1_000_124)).toBe("1970-01-01T00:16:40.124Z");
    expect(() => written(Number.NaN)).toThrow(RangeError);
    expect(() => written(1e20)).toThrow(RangeError);
    expect(written(1_000_125)).toBe("1970-01-01T00:16:40.125Z");
  });
});
