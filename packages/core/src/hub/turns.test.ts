/** Who may write a lineage at the same time, and in which order. */
import { expect, test } from "vitest";
import { Turns } from "./turns.js";

/** Work that goes on until it is told to end. */
function works(turns: Turns) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, lineages: readonly string[], place?: string): Promise<void> =>
    turns.take(lineages, place, async () => {
      log.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { log, start, end };
}

test("those of one place go on together, all others one after another, as they came", async () => {
  const { log, start, end } = works(new Turns());
  const done = Promise.all([
    start("a1", ["l"], "a"),
    start("a2", ["l"], "a"),
    start("b1", ["l"], "b"),
    start("b2", ["l"], "b"),
    // Does not push in before those who wait.
    start("a3", ["l"], "a"),
    start("alone", ["l"]),
    start("alone too", ["l"]),
    start("other", ["m"]),
  ]);
  expect(log).toEqual(["a1", "a2", "other"]);
  await end("a2");
  expect(log).toHaveLength(3);
  await end("a1");
  expect(log.slice(3)).toEqual(["b1", "b2"]);
  for (const name of ["b1", "b2", "a3", "alone", "alone too", "other"]) await end(name);
  expect(log.slice(5)).toEqual(["a3", "alone", "alone too"]);
  await done;
});

test("several lineages are taken without waiting in a circle, and given back when the work fails", async () => {
  const turns = new Turns();
  const { log, start, end } = works(turns);
  const done = Promise.all([start("one", ["x", "y", "x"]), start("two", ["y", "x"])]);
  await end("one");
  await end("two");
  await done;
  expect(log).toEqual(["one", "two"]);
  await expect(turns.take(["x"], undefined, () => Promise.reject(new Error("no")))).rejects.toThrow(
    "no",
  );
  expect(await turns.take(["x", "y"], undefined, async () => "free")).toBe("free");
});
