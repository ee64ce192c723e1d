/** Typed reads: the right kind comes back, any other is refused by name and never quoted. */
import { describe, expect, test } from "vitest";
import { type CborValue, decode, encode, fields } from "./cbor.js";
import {
  readBytesOf,
  readInteger,
  readList,
  readMap,
  readObject,
  readText,
  readTexts,
  stableText,
} from "./cbor-value.js";

const VALUES: Readonly<Record<string, CborValue | undefined>> = {
  map: fields([1, undefined, "x"]),
  object: { a: 1 },
  list: [1, "two"],
  texts: ["one", "two"],
  text: "a secret",
  integer: -7,
  float: 0.5,
  bytes: new Uint8Array(4),
  null: null,
  true: true,
  nothing: undefined,
};

const READS: Readonly<Record<string, (value: CborValue | undefined) => unknown>> = {
  map: (value) => readMap(value, "it"),
  object: (value) => readObject(value, "it"),
  list: (value) => readList(value, "it"),
  texts: (value) => readTexts(value, "it"),
  text: (value) => readText(value, "it"),
  integer: (value) => readInteger(value, "it"),
  bytes: (value) => readBytesOf(value, 4, "it"),
};

/** Which values a read takes beside the one of its own name. */
const ALSO: Readonly<Record<string, readonly string[]>> = { list: ["texts"], texts: ["nothing"] };

describe("each read", () => {
  test.each(Object.keys(READS))("%s takes its own kind and refuses every other", (name) => {
    for (const [kind, value] of Object.entries(VALUES)) {
      const read = () => READS[name]?.(value);
      if (kind === name || ALSO[name]?.includes(kind)) {
        expect(read).not.toThrow();
        continue;
      }
      expect(read).toThrow(expect.objectContaining({ code: "ERR_CORRUPT" }) as Error);
      expect(read).toThrow(/^it: expected /);
      expect(read).not.toThrow(/secret/);
    }
  });

  test("knows that an empty map may be either kind", () => {
    const empty = decode(encode({}));
    expect(readMap(empty, "it")).toEqual([]);
    expect(Object.keys(readObject(empty, "it"))).toEqual([]);
  });

  test("wants exactly the length", () => {
    expect(() => readBytesOf(new Uint8Array(5), 4, "it")).toThrow(/4 bytes/);
  });
});

test("open data has one text, members in order of their names", () => {
  const value = { b: [1, 2.5, null, "x"], a: { d: true, c: "y" } };
  expect(stableText(value)).toBe('{"a":{"c":"y","d":true},"b":[1,2.5,null,"x"]}');
  expect(stableText(decode(encode(value)))).toBe(stableText(value));
});
