/** The fields that types share: texts, JSON values, amounts, times, and how schemas say no. */

import { describe, expect, it } from "vitest";
import * as z from "zod";
import { stableText } from "../codec/cbor-value.js";
import { LIMITS } from "../limits.js";
import { failure } from "../testing/failure.js";
import {
  amountField,
  checkMetadata,
  checkText,
  fromZod,
  isoTimeMs,
  jsonBytes,
  jsonField,
  parseWith,
  strictFields,
  timeField,
} from "./fields.js";

describe("text", () => {
  const rule = { maxBytes: 8 };

  it.each(["a", "12345678", "éééé", "😀😀"])("takes %s", (text) => {
    expect(checkText(text, "f", rule)).toBe(text);
  });

  it.each([
    [7, "ERR_INVALID", "f: expected a string, got 7"],
    [null, "ERR_INVALID", "f: expected a string, got null"],
    ["", "ERR_INVALID", "f: expected text that is not blank, got an empty string"],
    [" \t\n", "ERR_INVALID", "f: expected text that is not blank, got a blank string"],
    ["123456789", "ERR_TOO_LARGE", "f: expected at most 8 bytes of text, got 9 bytes"],
    ["ééééé", "ERR_TOO_LARGE", "f: expected at most 8 bytes of text, got 10 bytes"],
    [
      "a\ud800",
      "ERR_ILL_FORMED",
      "f: expected well-formed text, got a string with a lone surrogate",
    ],
    [
      "\udc00a",
      "ERR_ILL_FORMED",
      "f: expected well-formed text, got a string with a lone surrogate",
    ],
    ["a\nb", "ERR_INVALID", 'f: expected text without control characters, got "a\\nb"'],
    ["a\u0000b", "ERR_INVALID", 'f: expected text without control characters, got "a\\u0000b"'],
    ["a\u0085b", "ERR_INVALID", 'f: expected text without control characters, got "a\u0085b"'],
    ["a\u2028b", "ERR_INVALID", 'f: expected text without control characters, got "a\u2028b"'],
  ])("refuses %j", (value, code, message) => {
    const error = failure(() => checkText(value, "f", rule));
    expect(error.code).toBe(code);
    expect(error.message).toBe(message);
    expect(error.details.field).toBe("f");
  });

  it("allows what the rule allows", () => {
    expect(checkText("", "f", { maxBytes: 8, blank: true })).toBe("");
    expect(checkText("a\tb", "f", { maxBytes: 8, control: true })).toBe("a\tb");
  });
});

describe("JSON values", () => {
  const parse = (value: unknown) => parseWith(jsonField, value, "v");

  it("copies deeply and keeps every value", () => {
    const value = { b: [1, "x", null, true, { c: 1.5 }], a: {} };
    const copy = parse(value);
    expect(copy).toEqual(value);
    expect(copy).not.toBe(value);
    value.b.push("later");
    expect(copy).not.toEqual(value);
  });

  it("keeps a member called __proto__ a member", () => {
    const copy = parse(JSON.parse('{"__proto__": {"x": 1}}')) as object;
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it("turns minus zero into zero", () => {
    expect(Object.is(parse(-0), 0)).toBe(true);
  });

  it.each([
    ["undefined", { a: undefined }, "v.a", "ERR_INVALID"],
    ["a hole", { a: new Array(1) }, "v.a[0]", "ERR_INVALID"],
    ["NaN", [Number.NaN], "v[0]", "ERR_INVALID"],
    ["infinity", { a: { b: [1, Number.POSITIVE_INFINITY] } }, "v.a.b[1]", "ERR_INVALID"],
    ["a large integer", { a: 2 ** 53 }, "v.a", "ERR_INVALID"],
    ["a large float", { a: 1e300 }, "v.a", "ERR_INVALID"],
    ["a bigint", { a: 1n }, "v.a", "ERR_INVALID"],
    ["a function", { a: () => 1 }, "v.a", "ERR_INVALID"],
    ["a symbol", Symbol("x"), "v", "ERR_INVALID"],
    ["a date", { a: new Date(0) }, "v.a", "ERR_INVALID"],
    ["a map", { a: new Map() }, "v.a", "ERR_INVALID"],
    ["bytes", { a: new Uint8Array(2) }, "v.a", "ERR_INVALID"],
    ["a lone surrogate", { a: ["\ud800"] }, "v.a[0]", "ERR_ILL_FORMED"],
    ["a lone surrogate in a name", { a: { "\ud800": 1 } }, "v.a", "ERR_ILL_FORMED"],
    ["too much", { a: "x".repeat(LIMITS.metadataBytes) }, "v.a", "ERR_TOO_LARGE"],
    ["too many", new Array(LIMITS.metadataBytes).fill(0), "v[32765]", "ERR_TOO_LARGE"],
  ])("refuses %s", (_, value, field, code) => {
    const error = failure(() => parse(value));
    expect([error.details.field, error.code]).toEqual([field, code]);
  });

  it("takes exactly the bytes and the depth of the limits", () => {
    const text = "x".repeat(LIMITS.metadataBytes - 3);
    expect(jsonBytes(text)).toBe(LIMITS.metadataBytes);
    expect(parse(text)).toBe(text);
    expect(failure(() => parse(`${text}x`)).code).toBe("ERR_TOO_LARGE");
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    expect(parse(nested(LIMITS.metadataDepth))).toEqual(nested(LIMITS.metadataDepth));
    expect(failure(() => parse(nested(LIMITS.metadataDepth + 1))).code).toBe("ERR_TOO_LARGE");
  });

  it("ends on a value that holds itself", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    expect(failure(() => parse(loop)).code).toBe("ERR_TOO_LARGE");
  });

  it("counts bytes like CBOR", () => {
    expect(jsonBytes(null)).toBe(1);
    expect(jsonBytes(23)).toBe(1);
    expect(jsonBytes(24)).toBe(2);
    expect(jsonBytes(-256)).toBe(2);
    expect(jsonBytes(-257)).toBe(3);
    expect(jsonBytes(65536)).toBe(5);
    expect(jsonBytes(2 ** 32)).toBe(9);
    expect(jsonBytes(0.1)).toBe(9);
    expect(jsonBytes({ a: ["é"] })).toBe(1 + 2 + 1 + 3);
  });

  it("wants an object where metadata is asked for", () => {
    expect(checkMetadata({ a: 1 }, "metadata")).toEqual({ a: 1 });
    expect(failure(() => checkMetadata([1], "metadata")).message).toBe(
      "metadata: expected an object, got an array of 1",
    );
    expect(failure(() => checkMetadata({ a: undefined }, "metadata")).message).toBe(
      "metadata.a: expected a JSON value, got nothing",
    );
  });

  it("writes one text per value", () => {
    expect(stableText({ b: 1, a: [{ d: null, c: "x" }] })).toBe('{"a":[{"c":"x","d":null}],"b":1}');
    expect(stableText({ a: [{ c: "x", d: null }], b: 1 })).toBe('{"a":[{"c":"x","d":null}],"b":1}');
  });
});

describe("amounts and times", () => {
  it.each(["0", "0.5", "12.50", "1000000000000000000000"])("takes %s", (amount) => {
    expect(parseWith(amountField, amount, "amount")).toBe(amount);
  });

  it.each(["", "-1", "+1", "1.", ".5", "01", "1e3", "1,5", " 1", "1\n", "NaN", "٣", 5])(
    "refuses the amount %j",
    (amount) => {
      expect(failure(() => parseWith(amountField, amount, "amount")).code).toBe("ERR_INVALID");
    },
  );

  it("takes times before and after 1970, in whole milliseconds that a date can show", () => {
    expect(parseWith(timeField, -8.64e15, "at")).toBe(-8.64e15);
    for (const bad of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1, "2024", null]) {
      expect(failure(() => parseWith(timeField, bad, "at")).details.field).toBe("at");
    }
  });
});

describe("failures of schemas", () => {
  const schema = strictFields({
    list: z.array(strictFields({ n: z.int().min(1).max(9) })).optional(),
    word: z.enum(["a", "b"]).optional(),
    flag: z.boolean().optional(),
    one: z.literal("x").optional(),
  });

  it.each([
    [7, "in: expected an object, got 7"],
    [{ word: "c" }, 'in.word: expected one of a, b, got "c"'],
    [{ flag: "yes" }, 'in.flag: expected true or false, got "yes"'],
    [{ one: "y" }, 'in.one: expected "x", got "y"'],
    [{ list: {} }, "in.list: expected an array, got an object"],
    [{ list: [{ n: 1 }, { n: 0 }] }, "in.list[1].n: expected at least 1, got 0"],
    [{ list: [{ n: 10 }] }, "in.list[0].n: expected at most 9, got 10"],
    [{ list: [{ n: 1.5 }] }, "in.list[0].n: expected a whole number, got 1.5"],
    [{ list: [{ n: Number.NaN }] }, "in.list[0].n: expected a finite number, got NaN"],
    [{ list: [{}] }, "in.list[0].n: expected a finite number, got nothing"],
  ])("%j", (input, message) => {
    const error = failure(() => parseWith(schema, input, "in"));
    expect(error.message).toBe(message);
    expect(error.code).toBe("ERR_INVALID");
  });

  it("names an unknown field and the known ones", () => {
    const error = failure(() => parseWith(schema, { list: [{ n: 1, m: 2 }] }, "in"));
    expect(error.code).toBe("ERR_UNKNOWN_FIELD");
    expect(error.message).toBe("in.list[0].m: expected one of the fields n, got an unknown field");
    expect(failure(() => parseWith(schema, { wrod: "a" }, "")).message).toBe(
      "wrod: expected one of the fields list, word, flag, one, got an unknown field",
    );
  });

  it.each([
    [["a", "c"], "ERR_INVALID", 'in[1]: expected one of a, b, got "c"'],
    ["c", "ERR_INVALID", 'in: expected one of a, b, got "c"'],
    [[], "ERR_INVALID", "in: expected a list of at least 1, got an array of 0"],
    [["a", "a", "a"], "ERR_TOO_LARGE", "in: expected a list of at most 2, got an array of 3"],
    [{ n: 0 }, "ERR_INVALID", "in.n: expected at least 1, got 0"],
    [{ m: 1 }, "ERR_INVALID", "in.n: expected a finite number, got nothing"],
    [7, "ERR_INVALID", "in: expected one of a, b, got 7"],
  ])("of several forms, the one that %j nearly has is told", (input, code, message) => {
    const word = z.enum(["a", "b"]);
    const forms = z.union([z.array(word).min(1).max(2), word, strictFields({ n: z.int().min(1) })]);
    expect(failure(() => parseWith(forms, input, "in"))).toMatchObject({ code, message });
  });

  it("treats a member given as undefined as absent", () => {
    const parsed = parseWith(schema, { word: undefined, flag: true }, "in");
    expect(Object.keys(parsed)).toEqual(["flag"]);
  });

  it("says less when it does not know what came, and works for any schema", () => {
    const result = z.strictObject({ a: z.string() }).safeParse({ a: 1 });
    if (result.success) throw new Error("expected a failure");
    expect(fromZod(result.error, "body").message).toBe("body.a: expected a string");
    const other = z.strictObject({}).safeParse({ b: 1 });
    if (other.success) throw new Error("expected a failure");
    expect(fromZod(other.error, "").message).toBe(
      "b: expected no such field, got an unknown field",
    );
    expect(fromZod(other.error, "").code).toBe("ERR_UNKNOWN_FIELD");
  });
});

describe("times as text", () => {
  const NOON = Date.UTC(2030, 0, 2, 12);

  it.each([
    ["2030-01-02T12:00:00Z", NOON],
    ["2030-01-02T12:00:00.000Z", NOON],
    ["2030-01-02T12:00:00.1239Z", NOON + 123],
    ["2030-01-02T13:00+01:00", NOON],
    ["2030-01-02T12:00", NOON],
    ["2030-01-02T12:00:00", NOON],
    ["2030-01-02", Date.UTC(2030, 0, 2)],
    ["2028-02-29", Date.UTC(2028, 1, 29)],
  ])("%s is the same moment on every machine", (text, ms) => {
    const { TZ } = process.env;
    try {
      for (const zone of ["UTC", "America/New_York", "Asia/Kolkata"]) {
        process.env.TZ = zone;
        expect(isoTimeMs(text)).toBe(ms);
      }
    } finally {
      if (TZ === undefined) delete process.env.TZ;
      else process.env.TZ = TZ;
    }
  });

  it.each([
    "",
    "2030",
    "yesterday",
    "2030-1-2",
    "2030-01-02 12:00",
    "2030-01-02T12:00:00Zulu",
    "2030-01-02T24:00",
    "2030-01-02T12:00:60Z",
    "2030-02-29",
    "2030-02-30T12:00:00Z",
    "2030-04-31T00:00+01:00",
    "2030-00-10",
    "2030-13-01",
    "2030-01-00",
  ])("%s is none", (text) => {
    expect(isoTimeMs(text)).toBeUndefined();
  });
});
