/**
 * The inner loops of the vector search, sixteen bytes at a time: a WebAssembly module of some seven hundred bytes that
 * is written down here, instruction by instruction, and put together when it is first needed.
 *
 * Promise: the same answers as the plain loops (`inner-loops.ts`), to the bit. Sums are of whole numbers, or of
 * numbers of 32 bits in the same order; a test compares both. Nothing is kept between calls: what is looked at is
 * copied in, because a memory that grows with each store would take gigabytes of addresses for each.
 *
 * Where the platform has no WebAssembly, or not these instructions, `wideLoops` gives nothing.
 */
import { CHUNK_SLOTS, type InnerLoops, plainLoops, type Turn } from "./inner-loops.js";

/** Instructions, in bytes. */
type Code = readonly number[];

const PAGE_BYTES = 65_536;
const [I32, I64, V128] = [0x7f, 0x7e, 0x7b];
/** What a block gives back: nothing. */
const NOTHING = 0x40;

function signed(value: number): Code {
  const last = value >= -64 && value < 64;
  return last ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}

function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

const number = (value: number): Code => [0x41, ...signed(value)];
const get = (local: number): Code => [0x20, local];
const set = (local: number, value: Code): Code => [...value, 0x21, local];
const plus = (a: Code, b: Code): Code => [...a, ...b, 0x6a];
const times = (a: Code, b: Code): Code => [...a, ...b, 0x6c];
const isBelow = (a: Code, b: Code): Code => [...a, ...b, 0x49];
const advance = (local: number, by: Code): Code => set(local, plus(get(local), by));
/** Does something, and again while the condition holds. */
const repeat = (body: Code, condition: Code): Code => [
  ...[0x03, NOTHING, ...body],
  ...[...condition, 0x0d, 0, 0x0b],
];
const when = (condition: Code, body: Code): Code => [...condition, 0x04, NOTHING, ...body, 0x0b];
const load32 = (at: Code): Code => [...at, 0x28, 2, 0];
const store32 = (at: Code, value: Code): Code => [...at, ...value, 0x36, 2, 0];
const store16 = (at: Code, value: Code): Code => [...at, ...value, 0x3b, 1, 0];

const wide = (code: number): Code => [0xfd, ...unsigned(code)];
const load = (at: Code, offset = 0): Code => [...at, ...wide(0), 0, ...unsigned(offset)];
const store = (at: Code, value: Code): Code => [...at, ...value, ...wide(11), 0, 0];
const one = (code: number, a: Code): Code => [...a, ...wide(code)];
const two = (code: number, a: Code, b: Code): Code => [...a, ...b, ...wide(code)];
const lane = (at: number, value: Code): Code => [...value, ...wide(0x1b), at];
const addWholes = (a: Code, b: Code): Code => two(0xae, a, b);
const addFractions = (a: Code, b: Code): Code => two(0xe4, a, b);
const takeFractions = (a: Code, b: Code): Code => two(0xe5, a, b);
const timesFractions = (a: Code, b: Code): Code => two(0xe6, a, b);
const fourths = (values: readonly number[]): Code => [
  ...wide(0x0c),
  ...new Uint8Array(Float32Array.from(values).buffer),
];
/** The four numbers of one vector in another order. */
const arranged = (a: Code, order: readonly number[]): Code => [
  ...[...a, ...a, ...wide(0x0d)],
  ...order.flatMap((at) => [4 * at, 4 * at + 1, 4 * at + 2, 4 * at + 3]),
];
/** The sum of the four whole numbers in a local. */
const sumOf = (local: number): Code =>
  plus(
    plus(lane(0, get(local)), lane(1, get(local))),
    plus(lane(2, get(local)), lane(3, get(local))),
  );

interface WideFunction {
  readonly name: string;
  /** All of them whole numbers, and the first locals. */
  readonly parameters: number;
  readonly gives: boolean;
  /** The types of further locals. */
  readonly locals: readonly number[];
  readonly code: Code;
}

/** (sketches, end, bytes of each, wanted, apart, how often each difference was met) */
const countApart: WideFunction = (() => {
  const [from, end, size, wanted, into, met, at, bits, sum] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const eight = (base: number, offset: number): Code => [
    ...[...plus(get(base), get(at)), 0x29],
    ...[3, offset],
  ];
  const apart = (offset: number): Code => [
    ...[...eight(from, offset), ...eight(wanted, offset)],
    ...[0x85, 0x7b],
  ];
  const place = plus(get(met), times(get(bits), number(4)));
  const body = [
    ...set(sum, [0x42, 0]),
    ...set(at, number(0)),
    ...repeat(
      [
        ...set(sum, [...get(sum), ...apart(0), 0x7c, ...apart(8), 0x7c]),
        ...advance(at, number(16)),
      ],
      isBelow(get(at), get(size)),
    ),
    ...set(bits, [...get(sum), 0xa7]),
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
  const isLess = two(0x30, load(get(from)), get(limits));
  const each = [
    ...when(isBelow([...get(next), 0x2f, 1, 0], get(limit)), [
      ...store32(get(into), get(slot)),
      ...advance(into, number(4)),
    ]),
    ...advance(slot, number(1)),
    ...advance(next, number(2)),
  ];
  const eight = plus(get(from), number(16));
  const code = [
    ...set(limits, [...get(limit), ...wide(0x10)]),
    ...repeat(
      [
        ...[...isLess, ...wide(0x53), 0x04, NOTHING],
        ...set(next, get(from)),
        ...repeat(each, isBelow(get(next), eight)),
        0x05,
        ...advance(slot, number(8)),
        0x0b,
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
    two(0xba, one(extend, load(get(from))), load(get(with_), offset));
  const body = [
    ...set(sum, fourths([0, 0, 0, 0])),
    ...set(with_, get(asked)),
    ...set(row, plus(get(from), get(length))),
    ...repeat(
      [
        ...set(sum, addWholes(get(sum), addWholes(eight(0x87, 0), eight(0x88, 16)))),
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
    ...when([...get(at), ...get(half), 0x71], advance(at, get(half))),
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
    one(0xa4, two(0x44, load(get(from), 16 * at), fourths([0, 0, 0, 0])));
  const bits = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((at) => [
    ...[...four(at), ...number(4 * at), 0x74],
    ...(at === 0 ? [] : [0x72]),
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

/** The bytes of the module: types, functions, a memory, what is given out, code. */
function moduleBytes(): Uint8Array<ArrayBuffer> {
  const sized = (bytes: Code): Code => [...unsigned(bytes.length), ...bytes];
  const list = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()];
  const section = (id: number, body: Code): Code => [id, ...sized(body)];
  const named = (name: string, kind: number, at: number): Code => [
    ...sized([...Buffer.from(name)]),
    ...[kind, at],
  ];
  const types = FUNCTIONS.map(({ parameters, gives }) => [
    ...[0x60, ...list(Array.from({ length: parameters }, () => [I32]))],
    ...list(gives ? [[I32]] : []),
  ]);
  const bodies = FUNCTIONS.map(({ locals, code }) =>
    sized([...list(locals.map((type) => [1, type])), ...code, 0x0b]),
  );
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(3, list(FUNCTIONS.map((_, at) => [at]))),
    ...section(5, list([[0, 1]])),
    ...section(
      7,
      list([named("memory", 2, 0), ...FUNCTIONS.map(({ name }, at) => named(name, 0, at))]),
    ),
    ...section(10, list(bodies)),
  ]);
}

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
  if (WebAssembly === undefined) return undefined;
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()));
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
        const run = runFrom(some, at);
        const [chunk, first] = placeOf(some[at] as number);
        const source = rows[chunk] as Int8Array;
        bytes.set(source.subarray(first * length, (first + run) * length), numbers + at * length);
        at += run;
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
