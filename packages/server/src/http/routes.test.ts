/** A path that is nearly right is met with the one that is, and parameters are read as the web standard does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { OPERATIONS } from "../operations.js";
import { nearestPath, parametersIn, pathsOf, routesOf } from "./routes.js";

const PATHS = ["*", "/healthz", ...routesOf(OPERATIONS).flatMap(pathsOf)];

test("every path is found again with a letter left out, doubled, or another one", () => {
  for (const route of PATHS.filter((path) => !/[:*]/.test(path))) {
    const at = route.length - 2;
    const slips = [
      route.slice(0, at) + route.slice(at + 1),
      route.slice(0, at) + route.slice(at - 1),
      `${route.slice(0, -1)}X`,
    ];
    for (const slip of slips.filter((path) => !PATHS.includes(path))) {
      const near = nearestPath(slip, PATHS) ?? "";
      // Another path may be as near: `lis` is a letter away from both `list` and `links` is two.
      expect([slip, Math.abs(near.length - slip.length) <= 1]).toEqual([slip, true]);
    }
  }
  expect(nearestPath("/v1/recal", PATHS)).toBe("/v1/recall");
  expect(nearestPath("/recall", PATHS)).toBe("/v1/recall");
  expect(nearestPath("/v1/Serach", PATHS)).toBe("/v1/search");
  expect(nearestPath("/v1/actors/ada/rmember", PATHS)).toBe("/v1/actors/ada/remember");
});

test("what is near nothing is not guessed at", () => {
  expect(nearestPath("/wp-login.php", PATHS)).toBeUndefined();
  expect(nearestPath(`/v1/${"recall".repeat(100)}`, PATHS)).toBeUndefined();
});

test("parameters are those of the web standard, in the order in which they came", () => {
  const letters = fc.constantFrom(...("aAb09_.~:,@/-&&==?%+# é;%20%3D".match(/%20|%3D|./gu) ?? []));
  const query = fc.array(letters, { maxLength: 14 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(query, (text) => {
      const standard = new URLSearchParams(text);
      const names = [...new Set(standard.keys())];
      expect([...parametersIn(text)]).toEqual(names.map((name) => [name, standard.getAll(name)]));
    }),
    { numRuns: 2000, seed: 11 },
  );
});
