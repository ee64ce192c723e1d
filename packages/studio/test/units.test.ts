/**
 * The pure parts of the studio: what a typed text means, what changed between two texts, which words are
 * marked, what Markdown is read; the size of what a browser loads; colours that stay apart.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isLacking } from "../../core/src/testing/lacking.js";
import { diffOf, marksIn } from "../src/base/pieces.ts";
import { type Intent, intentOf, readQuery } from "../src/base/typed.ts";

const ID = "01M7GXEYE1V7SZB5QNTEBHM0ZJ";

describe("the search field", () => {
  test.each<[string, Intent["kind"]]>([
    ["", "nothing"],
    ["  ", "nothing"],
    ["where does she live?", "ask"],
    ["what type of tea: green or black?", "ask"],
    ["type:goal", "find"],
    ["holidays tag:work is:archived", "find"],
    [ID, "memory"],
    [ID.toLowerCase(), "memory"],
    [`cortex://ada/Fact/${ID}#2`, "memory"],
    ["4211", "moment"],
    ["seq 12", "moment"],
    ["#12", "moment"],
    ["> vac", "command"],
  ])("reads %j as %s", (typed, kind) => {
    expect(intentOf(typed).kind).toBe(kind);
  });

  test("finds by every field, takes quotes, and says what it does not understand", () => {
    expect(readQuery('type:goal type:fact tag:a slot:"home city" is:archived red eye')).toEqual({
      query: {
        type: ["goal", "fact"],
        tags: ["a"],
        slot: "home city",
        lifecycles: ["archived"],
        text: "red eye",
      },
      wrong: [],
    });
    expect(readQuery("type:gaol is:erased").wrong).toEqual(["type:gaol", "is:erased"]);
  });
});

describe("a difference", () => {
  const words = fc.array(fc.constantFrom("a", "b", "c ", "d\n", " "), { maxLength: 12 });
  test("holds both texts, whatever they are", () => {
    fc.assert(
      fc.property(words, words, (left, right) => {
        const [before, after] = [left.join(" "), right.join(" ")];
        const pieces = diffOf(before, after);
        const without = (kind: string) =>
          pieces
            .filter((piece) => piece.kind !== kind)
            .map(({ text }) => text)
            .join("");
        expect([without("new"), without("gone")]).toEqual([before, after]);
      }),
    );
  });

  test("keeps what is common, also of long texts", () => {
    expect(diffOf("Ada lives in Lyon", "Ada lives in Porto")).toEqual([
      { kind: "same", text: "Ada lives in " },
      { kind: "gone", text: "Lyon" },
      { kind: "new", text: "Porto" },
    ]);
    const long = "word ".repeat(13_000);
    expect(diffOf(long, `${long}more`).map(({ kind }) => kind)).toEqual(["gone", "new"]);
  });
});

describe("marked words", () => {
  test("are those of the question, with their endings, and no common ones", () => {
    const marked = (text: string, question: string) =>
      marksIn(text, question)
        .filter(({ isMatch }) => isMatch)
        .map(({ text: one }) => one);
    expect(marked("No red-eye flights for the owner", "is the flight red?")).toEqual([
      "red",
      "flights",
    ]);
    expect(marked("Das Öl ist alt", "öl")).toEqual(["Öl"]);
  });

  test("leave the text as it is", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, question) => {
        expect(
          marksIn(text, question)
            .map((one) => one.text)
            .join(""),
        ).toBe(text);
      }),
    );
  });
});

const built = fileURLToPath(new URL("../../server/dist/studio/studio/", import.meta.url));

describe.skipIf(isLacking(existsSync(built), "the studio is not built"))(
  "what a browser loads",
  () => {
    test("is at most 400 KB of script and style, packed, with every page in it", () => {
      const sizes = readdirSync(built)
        .filter((name) => /\.(js|css)$/.test(name))
        .map((name) => gzipSync(readFileSync(built + name)).length);
      expect(sizes.length).toBeGreaterThan(3);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(400 * 1024);
    });
  },
);

describe("the colours", () => {
  const css = readFileSync(new URL("../src/styles/tokens.css", import.meta.url), "utf8");
  const [light = "", dark = ""] = css.split("@media (prefers-color-scheme: dark)");
  const themes = { light: colours(light), dark: colours(dark) };

  test.each(["light", "dark"] as const)("of types stay apart for every eye: %s", (theme) => {
    const types = [...themes[theme]].filter(([name]) => name.startsWith("type-"));
    expect(types).toHaveLength(11);
    for (const eye of EYES) {
      for (const [at, [one, a]] of types.entries()) {
        for (const [other, b] of types.slice(at + 1)) {
          expect(distance(seenBy(eye, a), seenBy(eye, b)), `${one} ${other}`).toBeGreaterThan(0.07);
        }
      }
    }
  });

  test.each(["light", "dark"] as const)("are read on both surfaces: %s", (theme) => {
    const of = (name: string): Rgb => themes[theme].get(name) ?? [0, 0, 0];
    for (const surface of ["surface", "surface-low"]) {
      for (const [name, colour] of themes[theme]) {
        if (/^(type|lane)-/.test(name)) {
          expect(contrast(colour, of(surface)), `${name} on ${surface}`).toBeGreaterThanOrEqual(
            2.9,
          );
        }
        if (["ink", "ink-soft", "accent", "past", "danger", "good"].includes(name)) {
          expect(contrast(colour, of(surface)), `${name} on ${surface}`).toBeGreaterThanOrEqual(
            4.5,
          );
        }
      }
    }
    expect(contrast(of("accent-ink"), of("accent"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of("past"), of("past-tint"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(of("danger"), of("danger-tint"))).toBeGreaterThanOrEqual(4.5);
  });
});

/** Red, green and blue as light, from 0 to 1. */
type Rgb = readonly [number, number, number];

function colours(text: string): ReadonlyMap<string, Rgb> {
  const found = [...text.matchAll(/--([\w-]+): #([0-9a-f]{6});/g)];
  return new Map(found.map(([, name = "", hex = ""]) => [name, lightOf(hex)]));
}

function lightOf(hex: string): Rgb {
  const part = (at: number): number => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(0), part(2), part(4)];
}

type Matrix = readonly [Rgb, Rgb, Rgb];

/** How eyes without one kind of cone see, after Machado, Oliveira and Fernandes (2009). */
const EYES: readonly Matrix[] = [
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
];

function times([x, y, z]: Matrix, [r, g, b]: Rgb): Rgb {
  const row = ([p, q, s]: Rgb): number => p * r + q * g + s * b;
  return [row(x), row(y), row(z)];
}

function seenBy(eye: Matrix, colour: Rgb): Rgb {
  const [r, g, b] = times(eye, colour);
  const within = (value: number): number => Math.min(1, Math.max(0, value));
  return [within(r), within(g), within(b)];
}

/** The distance in OKLab, where equal steps look equal. */
function distance(a: Rgb, b: Rgb): number {
  const [left, right] = [oklab(a), oklab(b)];
  return Math.hypot(left[0] - right[0], left[1] - right[1], left[2] - right[2]);
}

function oklab(colour: Rgb): Rgb {
  const [l, m, s] = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    colour,
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [Math.cbrt(l), Math.cbrt(m), Math.cbrt(s)],
  );
}

/** The contrast of WCAG, from 1 to 21. */
function contrast(a: Rgb, b: Rgb): number {
  const luminance = ([r, g, bl]: Rgb): number => 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  const [high = 0, low = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}
