/**
 * The inner loops of the vector search: which sketches are near, products of whole numbers, and the turn that a
 * sketch is made by. In plain arithmetic; and sixteen bytes at a time, as a WebAssembly module of some seven hundred
 * bytes that is written down here, instruction by instruction (`instructions.ts`), and put together when it is first needed.
 *
 * Promise: the same to the bit whichever are used. Sums are of whole numbers, or of numbers of 32 bits in the same order;
 * a test compares both. 100,000 sketches of 384 bits are looked through in a fifth of the time by the wide ones, and 1,024
 * products of 384 numbers take a third. Nothing is kept between calls: what is looked at is copied in, because a memory
 * that grows with each store would take gigabytes of addresses for each.
 *
 * Where the platform has no WebAssembly, or not these instructions, `wideLoops` gives nothing.
 */
import {
  addFractions,
  addWholes,
  advance,
  arranged,
  type Code,
  fourths,
  get,
  I32,
  I64,
  isBelow,
  load,
  load32,
  moduleBytes,
  NOTHING,
  number,
  OP,
  one,
  plus,
  repeat,
  set,
  store,
  store16,
  store32,
  sumOf,
  takeFractions,
  times,
  timesFractions,
  two,
  V128,
  WIDE,
  type WideFunction,
  when,
  wide,
} from "./instructions.js";

/** Slots that are stored and sketched together. */
export const CHUNK_SLOTS = 1024;
/**
 * Slots that a chunk of numbers has room for behind its own. What is compared lies scattered, a dozen vectors in each chunk:
 * brought together there, they are copied out by one call. A view of each took twice as long, 0.32 instead of 0.17 ms for
 * 1,152 of 100,000.
 */
export const GATHERED_SLOTS = 32;
/** Numbers that are mixed with each other in one round of turning; a power of two. */
export const MIXED = 128;
const WORD_BITS = 32;

/** One round of a turn of the space: where each number comes from, in bytes, and with which sign. */
export interface Turn {
  readonly places: Int32Array;
  readonly signs: Float32Array;
}

/** What a search is made of. Chunks hold `CHUNK_SLOTS` each; those of numbers have room for `GATHERED_SLOTS` behind them. */
interface InnerLoops {
  /** The slots with about the `most` sketches nearest to the one wanted, ascending; words come in fours. */
  nearSketches(sketches: readonly Int32Array[], wanted: Int32Array, most: number): Int32Array;
  /** The products of the numbers asked for with those of slots; sixteen divides how many there are. */
  products(asked: Int16Array, rows: readonly Int8Array[], slots: Int32Array): Int32Array;
  /** Writes the sketch of numbers into the words from `at` on: on which side of the middle they lie once turned. */
  sketch(numbers: ArrayLike<number>, turns: readonly Turn[], into: Int32Array, at: number): void;
}

/** The loops in plain arithmetic. */
export const plainLoops: InnerLoops = {
  nearSketches(sketches, wanted, most) {
    const apart = new Uint16Array(CHUNK_SLOTS * sketches.length);
    for (const [at, some] of sketches.entries())
      countPlainly(some, wanted, apart, CHUNK_SLOTS * at);
    const limit = smallestLimit(apart, wanted.length * WORD_BITS, most);
    const slots: number[] = [];
    for (let slot = 0; slot < apart.length; slot += 1) {
      if ((apart[slot] as number) < limit) slots.push(slot);
    }
    return Int32Array.from(slots);
  },
  products(asked, rows, slots) {
    return slots.map((slot) => {
      const numbers = rows[Math.floor(slot / CHUNK_SLOTS)] as Int8Array;
      return productAt(asked, numbers, (slot % CHUNK_SLOTS) * asked.length);
    });
  },
  sketch(numbers, turns, into, at) {
    let now = new Float32Array(turns[0]?.places.length ?? 0);
    now.set(numbers);
    for (const turn of turns) now = turned(now, turn);
    for (let word = 0; word < now.length / WORD_BITS; word += 1) {
      let bits = 0;
      for (let bit = 0; bit < WORD_BITS; bit += 1) {
        if ((now[word * WORD_BITS + bit] as number) > 0) bits |= 1 << bit;
      }
      into[at + word] = bits;
    }
  },
};

/** One round: numbers change places and signs, then mix by sums and differences, block by block. */
function turned(now: Float32Array, { places, signs }: Turn): Float32Array<ArrayBuffer> {
  const next = new Float32Array(now.length);
  for (let at = 0; at < now.length; at += 1) {
    next[at] = (now[(places[at] as number) / 4] as number) * (signs[at] as number);
  }
  for (let half = 1; half < MIXED; half *= 2) {
    for (let start = 0; start < next.length; start += 2 * half) {
      for (let at = start; at < start + half; at += 1) {
        const [one, other] = [next[at] as number, next[at + half] as number];
        next[at] = one + other;
        next[at + half] = one - other;
      }
    }
  }
  return next;
}

/** The product of two vectors in whole numbers: four chains, so that additions overlap. */
function productAt(asked: Int16Array, numbers: Int8Array, from: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let at = 0, own = from; at < asked.length; at += 4, own += 4) {
    first = (first + Math.imul(asked[at] as number, numbers[own] as number)) | 0;
    second = (second + Math.imul(asked[at + 1] as number, numbers[own + 1] as number)) | 0;
    third = (third + Math.imul(asked[at + 2] as number, numbers[own + 2] as number)) | 0;
    fourth = (fourth + Math.imul(asked[at + 3] as number, numbers[own + 3] as number)) | 0;
  }
  return first + second + third + fourth;
}

/** In how many bits each sketch differs from the one that is looked for. */
function countPlainly(
  sketches: Int32Array,
  wanted: Int32Array,
  apart: Uint16Array,
  from: number,
): void {
  for (let slot = from, at = 0; at < sketches.length; slot += 1) {
    let bits = 0;
    for (let word = 0; word < wanted.length; word += 1, at += 1) {
      bits += bitsIn((sketches[at] as number) ^ (wanted[word] as number));
    }
    apart[slot] = bits;
  }
}

/** The smallest number that at least `most` lie below. */
function smallestLimit(apart: Uint16Array, largest: number, most: number): number {
  const counts = new Int32Array(largest + 1);
  for (const bits of apart) counts[bits] = (counts[bits] as number) + 1;
  let limit = 0;
  for (let below = 0; limit <= largest && below < most; limit += 1) {
    below += counts[limit] as number;
  }
  return limit;
}

function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

const PAGE_BYTES = 65_536;

/** (sketches, end, bytes of each, wanted, apart, how often each difference was met) */
const countApart: WideFunction = (() => {
  const [from, end, size, wanted, into, met, at, bits, sum] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const eight = (base: number, offset: number): Code => [
    ...[...plus(get(base), get(at)), OP.i64Load],
    ...[3, offset],
  ];
  const apart = (offset: number): Code => [
    ...[...eight(from, offset), ...eight(wanted, offset)],
    ...[OP.i64Xor, OP.i64CountOnes],
  ];
  const place = plus(get(met), times(get(bits), number(4)));
  const body = [
    ...set(sum, [OP.i64Const, 0]),
    ...set(at, number(0)),
    ...repeat(
      [
        ...set(sum, [...get(sum), ...apart(0), OP.i64Add, ...apart(8), OP.i64Add]),
        ...advance(at, number(16)),
      ],
      isBelow(get(at), get(size)),
    ),
    ...set(bits, [...get(sum), OP.i32OfI64]),
    ...store16(get(into), get(bits)),
    ...store32(place, plus(load32(place), number(1))),
    ...advance(from, get(size)),
    ...advance(into, number(2)),
  ];
  const code = repeat(body, isBelow(get(from), get(end)));
  return { name: "countApart", parameters: 6, gives: false, locals: [I32, I32, I64], code };
})();

/** (apart, end, limit, slots) gives where the list of slots ends; eight differences are looked at together. */
const listBelow: WideFunction = (() => {
  const [from, end, limit, into, slot, next, limits] = [0, 1, 2, 3, 4, 5, 6];
  const isLess = two(WIDE.lessUnsigned16, load(get(from)), get(limits));
  const each = [
    ...when(isBelow([...get(next), OP.i32Load16Unsigned, 1, 0], get(limit)), [
      ...store32(get(into), get(slot)),
      ...advance(into, number(4)),
    ]),
    ...advance(slot, number(1)),
    ...advance(next, number(2)),
  ];
  const eight = plus(get(from), number(16));
  const code = [
    ...set(limits, [...get(limit), ...wide(WIDE.splat16)]),
    ...repeat(
      [
        ...[...isLess, ...wide(WIDE.anyTrue), OP.if, NOTHING],
        ...set(next, get(from)),
        ...repeat(each, isBelow(get(next), eight)),
        OP.else,
        ...advance(slot, number(8)),
        OP.end,
        ...advance(from, number(16)),
      ],
      isBelow(get(from), get(end)),
    ),
    ...get(into),
  ];
  return { name: "listBelow", parameters: 4, gives: true, locals: [I32, I32, V128], code };
})();

/** (asked, numbers, end, numbers of each, products) */
const multiply: WideFunction = (() => {
  const [asked, from, end, length, into, row, with_, sum] = [0, 1, 2, 3, 4, 5, 6, 7];
  const eight = (extend: number, offset: number): Code =>
    two(WIDE.dot16, one(extend, load(get(from))), load(get(with_), offset));
  const body = [
    ...set(sum, fourths([0, 0, 0, 0])),
    ...set(with_, get(asked)),
    ...set(row, plus(get(from), get(length))),
    ...repeat(
      [
        ...set(
          sum,
          addWholes(
            get(sum),
            addWholes(eight(WIDE.extendLow8To16, 0), eight(WIDE.extendHigh8To16, 16)),
          ),
        ),
        ...advance(from, number(16)),
        ...advance(with_, number(32)),
      ],
      isBelow(get(from), get(row)),
    ),
    ...store32(get(into), sumOf(sum)),
    ...advance(into, number(4)),
  ];
  const code = repeat(body, isBelow(get(from), get(end)));
  return { name: "multiply", parameters: 5, gives: false, locals: [I32, I32, V128], code };
})();

/** (numbers, end, places in bytes, signs, mixed): one round of turning, in blocks of 128. */
const turnOnce: WideFunction = (() => {
  const [from, bytes, places, signs, into, at, half, other, a] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const here = (base: number, offset: number): Code => plus(get(base), get(offset));
  const lanes = [0, 4, 8, 12].map((offset) => ({
    offset,
    value: load32(plus(get(from), load32(plus(here(places, at), number(offset))))),
  }));
  const fetched = lanes.flatMap(({ offset, value }) =>
    store32(plus(here(into, at), number(offset)), value),
  );
  const value = load(here(into, at));
  const pairs = addFractions(
    arranged(get(a), [0, 0, 2, 2]),
    timesFractions(arranged(get(a), [1, 1, 3, 3]), fourths([1, -1, 1, -1])),
  );
  const halves = addFractions(
    arranged(get(a), [0, 1, 0, 1]),
    timesFractions(arranged(get(a), [2, 3, 2, 3]), fourths([1, 1, -1, -1])),
  );
  const first = [
    ...fetched,
    ...set(a, timesFractions(value, load(here(signs, at)))),
    ...set(a, pairs),
    ...store(here(into, at), halves),
    ...advance(at, number(16)),
  ];
  const mix = [
    ...set(other, plus(here(into, at), get(half))),
    ...set(a, value),
    ...store(here(into, at), addFractions(get(a), load(get(other)))),
    ...store(get(other), takeFractions(get(a), load(get(other)))),
    ...advance(at, number(16)),
    // At the end of the first half the second, which is done, is passed over.
    ...when([...get(at), ...get(half), OP.i32And], advance(at, get(half))),
  ];
  const code = [
    ...set(at, number(0)),
    ...repeat(first, isBelow(get(at), get(bytes))),
    ...set(half, number(16)),
    ...repeat(
      [
        ...set(at, number(0)),
        ...repeat(mix, isBelow(get(at), get(bytes))),
        ...set(half, plus(get(half), get(half))),
      ],
      isBelow(get(half), number(512)),
    ),
  ];
  return { name: "turnOnce", parameters: 5, gives: false, locals: [I32, I32, I32, V128], code };
})();

/** (numbers, end, words): of each 32 numbers, which are above 0. */
const signsOf: WideFunction = (() => {
  const [from, end, into] = [0, 1, 2];
  const four = (at: number): Code =>
    one(
      WIDE.bitmask32,
      two(WIDE.greaterFractions, load(get(from), 16 * at), fourths([0, 0, 0, 0])),
    );
  const bits = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((at) => [
    ...[...four(at), ...number(4 * at), OP.i32ShiftLeft],
    ...(at === 0 ? [] : [OP.i32Or]),
  ]);
  const body = [
    ...store32(get(into), bits),
    ...advance(from, number(128)),
    ...advance(into, number(4)),
  ];
  const code = repeat(body, isBelow(get(from), get(end)));
  return { name: "signsOf", parameters: 3, gives: false, locals: [], code };
})();

const FUNCTIONS = [countApart, listBelow, multiply, turnOnce, signsOf];

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  countApart(...places: readonly number[]): void;
  listBelow(...places: readonly number[]): number;
  multiply(...places: readonly number[]): void;
  turnOnce(...places: readonly number[]): void;
  signsOf(...places: readonly number[]): void;
}

/** The little of the platform's own that is used here. */
interface Platform {
  readonly WebAssembly?: {
    readonly Module: new (bytes: Uint8Array) => object;
    readonly Instance: new (module: object) => { readonly exports: unknown };
  };
}

let chosen: InnerLoops | undefined;

/** The quickest loops that the platform can run. */
export function innerLoops(): InnerLoops {
  chosen ??= wideLoops() ?? plainLoops;
  return chosen;
}

/** The loops; `undefined` where the platform cannot run them. */
export function wideLoops(): InnerLoops | undefined {
  const { WebAssembly } = globalThis as Platform;
  // What is copied in and out has its lowest byte first, there and here.
  const isLowFirst = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
  if (WebAssembly === undefined || !isLowFirst) return undefined;
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes(FUNCTIONS)));
    return new WideLoops(exports as Exports);
  } catch {
    // An old processor: the plain loops do the same.
    return undefined;
  }
}

class WideLoops implements InnerLoops {
  readonly #wide: Exports;

  constructor(wide: Exports) {
    this.#wide = wide;
  }

  nearSketches(sketches: readonly Int32Array[], wanted: Int32Array, most: number): Int32Array {
    const size = 4 * wanted.length;
    const count = CHUNK_SLOTS * sketches.length;
    const largest = 8 * size;
    const [met, chunk] = [size, size + aligned(4 * (largest + 1))];
    const apart = chunk + CHUNK_SLOTS * size;
    const slots = apart + 2 * count;
    const memory = this.#room(slots + 4 * count);
    memory.set(wanted, 0);
    const counts = memory.subarray(met / 4, met / 4 + largest + 1).fill(0);
    for (const [at, some] of sketches.entries()) {
      memory.set(some, chunk / 4);
      this.#wide.countApart(chunk, apart, size, 0, apart + 2 * CHUNK_SLOTS * at, met);
    }
    let limit = 0;
    for (let below = 0; limit <= largest && below < most; limit += 1) below += counts[limit] ?? 0;
    if (count === 0) return new Int32Array(0);
    const end = this.#wide.listBelow(apart, slots, limit, slots);
    return memory.slice(slots / 4, end / 4);
  }

  products(asked: Int16Array, rows: readonly Int8Array[], slots: Int32Array): Int32Array {
    const { length } = asked;
    const numbers = 2 * length;
    const into = numbers + CHUNK_SLOTS * length;
    const memory = this.#room(into + 4 * CHUNK_SLOTS);
    const bytes = new Int8Array(memory.buffer);
    new Int16Array(memory.buffer).set(asked, 0);
    const products = new Int32Array(slots.length);
    for (let from = 0; from < slots.length; from += CHUNK_SLOTS) {
      const some = slots.subarray(from, from + CHUNK_SLOTS);
      for (let at = 0; at < some.length; ) {
        const [chunk, first] = placeOf(some[at] as number);
        const source = rows[chunk] as Int8Array;
        const run = runFrom(some, at);
        const isLong = run >= GATHERED_SLOTS;
        const count = isLong ? run : gather(source, some, at, length);
        const own = isLong ? first : CHUNK_SLOTS;
        bytes.set(source.subarray(own * length, (own + count) * length), numbers + at * length);
        at += count;
      }
      if (some.length === 0) continue;
      this.#wide.multiply(0, numbers, numbers + some.length * length, length, into);
      products.set(memory.subarray(into / 4, into / 4 + some.length), from);
    }
    return products;
  }

  sketch(numbers: ArrayLike<number>, turns: readonly Turn[], into: Int32Array, at: number): void {
    const length = turns[0]?.places.length ?? 0;
    const size = 4 * length;
    const memory = this.#room(5 * size);
    const fractions = new Float32Array(memory.buffer);
    fractions.fill(0, numbers.length, length);
    fractions.set(numbers, 0);
    const [places, signs] = [2 * size, 3 * size];
    let [now, next] = [0, size];
    for (const turn of turns) {
      memory.set(turn.places, places / 4);
      fractions.set(turn.signs, signs / 4);
      this.#wide.turnOnce(now, size, places, signs, next);
      [now, next] = [next, now];
    }
    this.#wide.signsOf(now, now + size, places);
    into.set(memory.subarray(places / 4, places / 4 + length / 32), at);
  }

  /** The memory in whole numbers, with room for so many bytes. */
  #room(bytes: number): Int32Array {
    const { memory } = this.#wide;
    const missing = bytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
    return new Int32Array(memory.buffer);
  }
}

/** Brings the numbers of slots of one chunk together behind its own, as many as there is room for; gives how many. */
function gather(chunk: Int8Array, slots: Int32Array, from: number, length: number): number {
  const [number] = placeOf(slots[from] as number);
  let count = 0;
  for (; count < GATHERED_SLOTS && from + count < slots.length; count += 1) {
    const slot = slots[from + count] as number;
    if (Math.floor(slot / CHUNK_SLOTS) !== number) break;
    const own = (slot % CHUNK_SLOTS) * length;
    chunk.copyWithin((CHUNK_SLOTS + count) * length, own, own + length);
  }
  return count;
}

/** How many slots from a place on follow each other in one chunk. */
function runFrom(slots: Int32Array, from: number): number {
  const first = slots[from] as number;
  const most = Math.min(slots.length - from, CHUNK_SLOTS - (first % CHUNK_SLOTS));
  let run = 1;
  while (run < most && slots[from + run] === first + run) run += 1;
  return run;
}

function placeOf(slot: number): readonly [chunk: number, at: number] {
  return [Math.floor(slot / CHUNK_SLOTS), slot % CHUNK_SLOTS];
}

/** The next number of bytes that sixteen divide. */
function aligned(bytes: number): number {
  return Math.ceil(bytes / 16) * 16;
}
