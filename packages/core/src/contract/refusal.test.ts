/**
 * How an input is checked: field by field where it can be, and always with the same outcome as the
 * schema as a whole; and how arguments become one object.
 */
import { describe, expect, test } from "vitest";
import { CortexError } from "../errors.js";
import { seededRandom } from "../testing/index.js";
import { gather } from "./gather.js";
import { VERBS } from "./index.js";
import { checkInput, refusalOf } from "./refusal.js";
import type { Verb } from "./verb.js";

/** Values of every kind, good for some fields and bad for others. */
const VALUES: readonly unknown[] = [
  undefined,
  null,
  "x",
  "",
  "a\ud800",
  "fact",
  "out",
  "01ARZ3NDEKTSV4RRFFQ69G5FAV",
  "2026-03-01T12:00:00Z",
  new Date(5),
  0,
  1,
  -1,
  1.5,
  Number.NaN,
  true,
  [],
  ["x"],
  [5],
  {},
  { ref: "a" },
  { short: "s", medium: "m" },
  [{ verb: "find", object: "asset", ref: "r" }],
];

/** What became of a check: what it made, or what it refused. */
function outcome(check: () => unknown): unknown {
  try {
    return withoutUndefined(check() as object);
  } catch (error) {
    if (!(error instanceof CortexError)) throw error;
    return [error.code, error.message];
  }
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

function asOneSchema({ input }: Verb, given: object): unknown {
  const result = input.safeParse(given);
  if (!result.success) throw refusalOf(input, result.error, given);
  return result.data;
}

describe("an input", () => {
  test.each(Object.values(VERBS).map((verb: Verb) => [verb.name, verb] as const))(
    "of %s is taken or refused as its schema does as a whole",
    (_, verb) => {
      const random = seededRandom(7);
      const names = [...Object.keys(verb.input.shape), "colour"];
      for (let round = 0; round < 100; round += 1) {
        const given = Object.fromEntries(
          names.flatMap((name) =>
            random.below(names.length) < 4 || Object.hasOwn(verb.args, name)
              ? [[name, VALUES[random.below(VALUES.length)]]]
              : [],
          ),
        );
        const { colour, ...known } = given;
        const plain = colour === undefined ? known : given;
        expect(outcome(() => checkInput(verb.input, plain))).toEqual(
          outcome(() => asOneSchema(verb, plain)),
        );
      }
    },
  );

  test("is copied, and loses what is undefined", () => {
    const given = { id: "x", tags: ["a"], kind: undefined };
    const checked = checkInput(VERBS.updateHead.input, given);
    expect(checked).toStrictEqual({ id: "x", tags: ["a"] });
    expect(checked.tags).not.toBe(given.tags);
  });

  test.each([
    ["write", '{"type":"fact","__proto__":{"text":"t"}}'],
    ["get", '{"id":"x","__proto__":{"version":1}}'],
  ] as const)("with a member __proto__ is refused by %s", (name, json) => {
    const given: unknown = JSON.parse(json);
    expect(() => checkInput(VERBS[name].input, given)).toThrow(
      /^__proto__: expected one of the fields .*, got an unknown field$/,
    );
  });
});

describe("arguments", () => {
  const place = { names: ["id", "reason"], objects: new Set<string>(), rest: "options" } as const;

  test.each([
    [["m", "why"], { id: "m", reason: "why" }],
    [["m", "why", { by: "ada" }], { id: "m", reason: "why", by: "ada" }],
    [["m", { reason: "why" }], { id: "m", reason: "why" }],
    [[{ id: "m" }, { reason: "why" }], { id: "m", reason: "why" }],
    [["m", undefined, { by: undefined }], { id: "m" }],
    [[{ id: "m", constructor: "x" }], { id: "m", constructor: "x" }],
  ])("%j", (args, all) => {
    expect(gather(place, args)).toEqual(all);
  });

  test("a member that comes twice is refused, whatever its values", () => {
    expect(() => gather(place, ["m", { id: "m" }])).toThrow("id: expected it in one place");
  });

  test.each([5, "text", null, []])("%j is no object of options", (options) => {
    expect(() => gather(place, ["m", "why", options])).toThrow("options: expected an object");
  });
});
