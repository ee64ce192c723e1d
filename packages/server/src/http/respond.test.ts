/** When a client has an answer already, and which encodings it takes. */
import { expect, test } from "vitest";
import { isKnown, memoryTag, tagOf, takesGzip } from "./respond.js";

test("a memory's tag is its version and its last entry; anything else has a hash", () => {
  expect(memoryTag({ id: "x", version: 2, seq: 7 })).toBe('"2-7"');
  expect(memoryTag({ id: "x", seq: 7 })).toBeUndefined();
  expect(memoryTag(null)).toBeUndefined();
  const one = tagOf({ memories: [] }, '{"memories":[]}');
  expect(one).toMatch(/^W\/"[\w-]{43}"$/);
  expect(tagOf({}, "{}")).not.toBe(one);
});

test.each([
  [null, false],
  ['"2-7"', true],
  ['W/"2-7"', true],
  ['"1-1", "2-7"', true],
  ["*", true],
  ['"2-70"', false],
  ["2-7", false],
  ["", false],
])("If-None-Match %s: known is %s", (header, expected) => {
  expect(isKnown(header, '"2-7"')).toBe(expected);
});

test.each([
  [null, false],
  ["gzip", true],
  ["br, gzip", true],
  ["gzip;q=0", false],
  ["gzip; q=0.2, identity", true],
  ["*", true],
  ["*;q=0", false],
  ["identity", false],
  ["GZIP", true],
  // A weight that is none is as good as no weight: the caller has named gzip.
  ["gzip;q=nonsense", true],
  ['gzip;q="0"', false],
])("Accept-Encoding %s: gzip is taken: %s", (header, expected) => {
  expect(takesGzip(header)).toBe(expected);
});
