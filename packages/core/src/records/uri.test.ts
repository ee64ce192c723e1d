/** Memory URIs and actor names: one spelling, read back as built, strict to the last character. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseUlid } from "../codec/ulid.js";
import { isCortexError } from "../errors.js";
import { VERSION_MAX } from "../limits.js";
import { failure } from "../testing/failure.js";
import { MEMORY_TYPES, namesOf } from "./types.js";
import { buildUri, checkActorName, NAME_FORM, parseUri } from "./uri.js";

const SEED = 7_301;
console.info(`uri.test seed ${SEED}`);

const ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const GOOD = `cortex://ada/Fact/${ULID}#1`;
const ID = parseUlid(ULID) ?? new Uint8Array();

describe("the form of a name that documents give", () => {
  it("takes what the check takes, and nothing else", () => {
    const pieces = fc.constantFrom(
      "a",
      "0",
      ".",
      "_",
      "-",
      "A",
      "con",
      "com1",
      "nul",
      "é",
      " ",
      "",
    );
    const names = fc.oneof(
      fc.array(pieces, { maxLength: 6 }).map((all) => all.join("")),
      fc.integer({ min: 60, max: 68 }).map((length) => "n".repeat(length)),
    );
    const pattern = new RegExp(NAME_FORM.pattern, "u");
    fc.assert(
      fc.property(names, (name) => {
        const fits = name.length <= NAME_FORM.maxLength && pattern.test(name);
        const isTaken = (() => {
          try {
            return checkActorName(name) === name;
          } catch {
            return false;
          }
        })();
        expect([name, fits]).toEqual([name, isTaken]);
      }),
      { seed: SEED, numRuns: 2000 },
    );
  });
});

describe("memory URIs", () => {
  it("read back what was built", () => {
    const actor = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,63}$/).filter((n) => !DEVICES.test(n));
    const parts = fc.record({
      actor,
      type: fc.constantFrom(...namesOf(MEMORY_TYPES)),
      id: fc.uint8Array({ minLength: 16, maxLength: 16 }).filter((id) => id.some((b) => b > 0)),
      version: fc.integer({ min: 1, max: VERSION_MAX }),
    });
    fc.assert(
      fc.property(parts, (memory) => {
        const uri = buildUri(memory);
        expect(parseUri(uri)).toEqual(memory);
        expect(buildUri(parseUri(uri))).toBe(uri);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });
  const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)$/;

  it("have one spelling", () => {
    expect(buildUri({ actor: "ada", type: "fact", id: ID, version: 1 })).toBe(GOOD);
    expect(parseUri(GOOD)).toEqual({ actor: "ada", type: "fact", id: ID, version: 1 });
  });

  it("accept no text that differs in one character, unless it is another URI", () => {
    const chars = fc.constantFrom(..."09aAzZ #/.%:-_\n\u0000é");
    fc.assert(
      fc.property(fc.nat(GOOD.length), chars, fc.boolean(), (at, char, insert) => {
        const text = GOOD.slice(0, at) + char + GOOD.slice(insert ? at : at + 1);
        try {
          expect(buildUri(parseUri(text))).toBe(text);
        } catch (error) {
          expect(isCortexError(error, "ERR_BAD_URI")).toBe(true);
        }
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it.each([
    ["another scheme", `matrix://ada/Fact/${ULID}#1`, "starts with cortex://"],
    ["an upper-case scheme", `Cortex://ada/Fact/${ULID}#1`, "starts with cortex://"],
    ["a space before", ` ${GOOD}`, "starts with cortex://"],
    ["no text", "", "starts with cortex://"],
    ["no version", `cortex://ada/Fact/${ULID}`, "the version is missing"],
    ["an empty version", `cortex://ada/Fact/${ULID}#`, "the version is missing after #"],
    ["latest", `cortex://ada/Fact/${ULID}#latest`, "#latest is not allowed"],
    ["version 0", `cortex://ada/Fact/${ULID}#0`, "versions start at 1"],
    ["a leading zero", `cortex://ada/Fact/${ULID}#01`, "leading zero"],
    ["a plus sign", `cortex://ada/Fact/${ULID}#+1`, "digits to the end"],
    ["a minus sign", `cortex://ada/Fact/${ULID}#-1`, "digits to the end"],
    ["a fraction", `cortex://ada/Fact/${ULID}#1.0`, "digits to the end"],
    ["an exponent", `cortex://ada/Fact/${ULID}#1e3`, "digits to the end"],
    ["hexadecimal", `cortex://ada/Fact/${ULID}#0x1`, "digits to the end"],
    ["junk after", `${GOOD}abc`, "digits to the end"],
    ["a space after", `${GOOD} `, "digits to the end"],
    ["a line end after", `${GOOD}\n`, "digits to the end"],
    ["a second fragment", `${GOOD}#2`, "digits to the end"],
    ["digits of another script", `cortex://ada/Fact/${ULID}#١`, "digits to the end"],
    ["a huge version", `cortex://ada/Fact/${ULID}#4294967296`, "too large"],
    ["an endless version", `cortex://ada/Fact/${ULID}#${"9".repeat(200)}`, "too long"],
    ["no actor", `cortex:///Fact/${ULID}#1`, "the actor name is empty"],
    ["a bad actor", `cortex://Ada/Fact/${ULID}#1`, "the actor name has upper-case letters"],
    ["an actor that climbs", `cortex://../Fact/${ULID}#1`, "the actor name must start with"],
    ["a missing type", `cortex://ada/${ULID}#1`, "it needs cortex://<actor>/<Type>/<ulid>"],
    ["one part too many", `cortex://ada/x/Fact/${ULID}#1`, "it needs cortex://"],
    ["a slash after", `cortex://ada/Fact/${ULID}/#1`, "it needs cortex://"],
    ["an unknown type", `cortex://ada/Thing/${ULID}#1`, '"Thing" is no memory type'],
    ["a lower-case type", `cortex://ada/fact/${ULID}#1`, '"fact" is no memory type'],
    ["a lower-case ULID", `cortex://ada/Fact/${ULID.toLowerCase()}#1`, "upper case"],
    ["a mixed-case ULID", `cortex://ada/Fact/${ULID.slice(0, -1)}v#1`, "upper case"],
    ["a look-alike letter", `cortex://ada/Fact/${ULID.replace("1", "I")}#1`, "not a ULID"],
    ["a ULID over 128 bits", `cortex://ada/Fact/8${ULID.slice(1)}#1`, "not a ULID"],
    ["a short ULID", `cortex://ada/Fact/${ULID.slice(1)}#1`, "not a ULID"],
    ["the zero id", `cortex://ada/Fact/${"0".repeat(26)}#1`, "zero id"],
    ["percent-encoding", `cortex://ad%61/Fact/${ULID}#1`, "percent-encoding"],
    ["a query", `cortex://ada/Fact/${ULID}?v=1#1`, "not a ULID"],
    ["a backslash", `cortex://ada\\Fact/${ULID}#1`, "it needs cortex://"],
    ["a number", 7, "is a string"],
    ["nothing", undefined, "is a string"],
  ])("refuse %s", (_, text, why) => {
    const error = failure(() => parseUri(text, "derivedFrom[2]"));
    expect(error.code).toBe("ERR_BAD_URI");
    expect(error.message).toMatch(/^derivedFrom\[2\]: /);
    expect(error.message).toContain(why);
  });

  it("are not built from what is no version of a memory", () => {
    const parts = { actor: "ada", type: "fact", id: ID, version: 1 } as const;
    expect(() => buildUri({ ...parts, version: 0 })).toThrow("a version is 1 or more");
    expect(() => buildUri({ ...parts, version: 1.5 })).toThrow("a version is 1 or more");
    expect(() => buildUri({ ...parts, id: new Uint8Array(16) })).toThrow("needs a memory id");
    expect(() => buildUri({ ...parts, id: ID.subarray(1) })).toThrow("needs a memory id");
  });
});

describe("actor names", () => {
  it.each([
    "a",
    "0",
    "ada",
    "ada.lovelace",
    "a-b_c.d",
    "a".repeat(64),
    "console",
    "com10",
    "com",
    "null",
  ])("accept %s", (name) => {
    expect(checkActorName(name)).toBe(name);
  });

  it.each([
    ["", "is empty"],
    ["a".repeat(65), "is longer than 64 characters"],
    ["Ada", "upper-case"],
    ["ada lovelace", "may hold only"],
    ["ada/bob", "may hold only"],
    ["ada\\bob", "may hold only"],
    ["ada\n", "may hold only"],
    ["ada\u0000", "may hold only"],
    ["adá", "may hold only"],
    ["ada:1", "may hold only"],
    [".ada", "must start with"],
    ["-ada", "must start with"],
    ["_ada", "must start with"],
    ["..", "must start with"],
    ["a..b", "two dots"],
    ["ada.", "may not end in a dot"],
    ["con", "device name"],
    ["nul", "device name"],
    ["aux.txt", "device name"],
    ["prn.a.b", "device name"],
    ["com1", "device name"],
    ["lpt9.log", "device name"],
    [7, "must be a string"],
    [undefined, "must be a string"],
  ])("refuse %j", (name, why) => {
    const error = failure(() => checkActorName(name, "graph"));
    expect(error.code).toBe("ERR_BAD_NAME");
    expect(error.message).toMatch(/^graph: the name /);
    expect(error.message).toContain(why);
  });
});
