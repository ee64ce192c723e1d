/**
 * The wide loops of the vector search give what the plain ones give, to the bit, and run where the tests do.
 */
import { expect, test } from "vitest";
import { seededRandom } from "../testing/seeded-random.js";
import {
  CHUNK_SLOTS,
  GATHERED_SLOTS,
  innerLoops,
  MIXED,
  plainLoops,
  type Turn,
  wideLoops,
} from "./inner-loops.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_304);

test(`near sketches, products and sketches are the same by both (seed ${SEED})`, () => {
  const random = seededRandom(SEED);
  const wide = wideLoops();
  if (wide === undefined) throw new Error("the wide loops do not run here");
  const whole = (least: number, most: number): number =>
    least + Math.floor(random.unit() * (most - least + 1));
  const words = (length: number): Int32Array =>
    Int32Array.from({ length }, () => whole(-(2 ** 31), 2 ** 31 - 1));
  for (const [width, chunks] of [
    [128, 3],
    [384, 1],
    [1024, 2],
    [384, 0],
  ] as const) {
    const sketches = Array.from({ length: chunks }, () => words((CHUNK_SLOTS * width) / 32));
    const wanted = words(width / 32);
    for (const most of [1, 10, 700, CHUNK_SLOTS, 10 * CHUNK_SLOTS]) {
      const near = wide.nearSketches(sketches, wanted, most);
      expect(near).toEqual(plainLoops.nearSketches(sketches, wanted, most));
      expect(near.length).toBeGreaterThanOrEqual(Math.min(most, CHUNK_SLOTS * chunks));
    }
  }
  for (const length of [16, 384, 8192]) {
    const chunks = length > 1000 ? 1 : 2;
    const slotsMade = CHUNK_SLOTS + GATHERED_SLOTS;
    const rows = Array.from({ length: chunks }, () =>
      Int8Array.from({ length: slotsMade * length }, (_, at) => ((at * 89) % 255) - 127),
    );
    const asked = Int16Array.from({ length }, () => whole(-2047, 2047));
    const all = Int32Array.from({ length: CHUNK_SLOTS * chunks }, (_, at) => at);
    for (const slots of [all, all.filter(() => random.unit() < 0.3), all.subarray(0, 0)]) {
      expect(wide.products(asked, rows, slots)).toEqual(plainLoops.products(asked, rows, slots));
    }
  }
  for (const dimensions of [1, 100, 128, 384, 500]) {
    const length = Math.ceil(dimensions / MIXED) * MIXED;
    const turns = Array.from({ length: 2 }, (): Turn => {
      const places = Array.from({ length }, (_, at) => 4 * at);
      return {
        places: Int32Array.from(places.sort(() => random.unit() - 0.5)),
        signs: Float32Array.from({ length }, () => (random.unit() < 0.5 ? 1 : -1)),
      };
    });
    for (let round = 0; round < 20; round += 1) {
      const numbers = Float32Array.from({ length: dimensions }, () => random.unit() - 0.5);
      const [one, other] = [new Int32Array(2 + length / 32), new Int32Array(2 + length / 32)];
      wide.sketch(numbers, turns, one, 1);
      plainLoops.sketch(numbers, turns, other, 1);
      expect(one).toEqual(other);
    }
  }
  expect(innerLoops()).not.toBe(plainLoops);
});

test("where the platform has no WebAssembly, or refuses the module, the plain loops are left", () => {
  const platform = globalThis as { WebAssembly?: unknown };
  const { WebAssembly } = platform;
  try {
    platform.WebAssembly = undefined;
    expect(wideLoops()).toBeUndefined();
    platform.WebAssembly = {
      Module: class {
        constructor() {
          throw new Error("no such instruction");
        }
      },
    };
    expect(wideLoops()).toBeUndefined();
  } finally {
    platform.WebAssembly = WebAssembly;
  }
  expect(wideLoops()).toBeDefined();
});
