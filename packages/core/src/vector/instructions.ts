/**
 * WebAssembly written down in TypeScript: the instructions that the wide loops are made of, by name, how they are put
 * together, and the bytes of a module. An instruction comes after what it works on, as on a stack; a value is the code
 * that leaves it there.
 */

/** Instructions, in bytes. */
export type Code = readonly number[];

/** The types of values. */
export const [I32, I64, V128] = [0x7f, 0x7e, 0x7b];
/** What a block gives back: nothing. */
export const NOTHING = 0x40;

/** The instructions that are used, by names close to those of the specification. */
export const OP = {
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  branchIf: 0x0d,
  localGet: 0x20,
  localSet: 0x21,
  i32Load: 0x28,
  i64Load: 0x29,
  i32Load16Unsigned: 0x2f,
  i32Store: 0x36,
  i32Store16: 0x3b,
  i32Const: 0x41,
  i64Const: 0x42,
  i32LessUnsigned: 0x49,
  i32Add: 0x6a,
  i32Multiply: 0x6c,
  i32And: 0x71,
  i32Or: 0x72,
  i32ShiftLeft: 0x74,
  i64CountOnes: 0x7b,
  i64Add: 0x7c,
  i64Xor: 0x85,
  i32OfI64: 0xa7,
  /** Opens the instructions on sixteen bytes, which are numbered apart. */
  wide: 0xfd,
} as const;

/** The instructions on sixteen bytes. */
export const WIDE = {
  load: 0x00,
  store: 0x0b,
  constant: 0x0c,
  shuffle: 0x0d,
  splat16: 0x10,
  extractLane32: 0x1b,
  lessUnsigned16: 0x30,
  greaterFractions: 0x44,
  anyTrue: 0x53,
  extendLow8To16: 0x87,
  extendHigh8To16: 0x88,
  bitmask32: 0xa4,
  add32: 0xae,
  dot16: 0xba,
  addFractions: 0xe4,
  subtractFractions: 0xe5,
  multiplyFractions: 0xe6,
} as const;

function signed(value: number): Code {
  const last = value >= -64 && value < 64;
  return last ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}

function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** A whole number. */
export const number = (value: number): Code => [OP.i32Const, ...signed(value)];
/** What a local holds. */
export const get = (local: number): Code => [OP.localGet, local];
/** Puts a value into a local. */
export const set = (local: number, value: Code): Code => [...value, OP.localSet, local];
/** The sum of two whole numbers. */
export const plus = (a: Code, b: Code): Code => [...a, ...b, OP.i32Add];
/** The product of two whole numbers. */
export const times = (a: Code, b: Code): Code => [...a, ...b, OP.i32Multiply];
/** Whether one whole number is below another, neither being negative. */
export const isBelow = (a: Code, b: Code): Code => [...a, ...b, OP.i32LessUnsigned];
/** Adds to a local. */
export const advance = (local: number, by: Code): Code => set(local, plus(get(local), by));
/** Does something, and again while the condition holds. */
export const repeat = (body: Code, condition: Code): Code => [
  ...[OP.loop, NOTHING, ...body],
  ...[...condition, OP.branchIf, 0, OP.end],
];
/** Does something if a condition holds. */
export const when = (condition: Code, body: Code): Code => [
  ...[...condition, OP.if, NOTHING],
  ...[...body, OP.end],
];
/** The whole number at a place of the memory. */
export const load32 = (at: Code): Code => [...at, OP.i32Load, 2, 0];
/** Stores a whole number at a place. */
export const store32 = (at: Code, value: Code): Code => [...at, ...value, OP.i32Store, 2, 0];
/** Stores the lower half of a whole number at a place. */
export const store16 = (at: Code, value: Code): Code => [...at, ...value, OP.i32Store16, 1, 0];

/** An instruction on sixteen bytes. */
export const wide = (code: number): Code => [OP.wide, ...unsigned(code)];
/** The sixteen bytes at a place. */
export const load = (at: Code, offset = 0): Code => [
  ...at,
  ...wide(WIDE.load),
  0,
  ...unsigned(offset),
];
/** Stores sixteen bytes at a place. */
export const store = (at: Code, value: Code): Code => [...at, ...value, ...wide(WIDE.store), 0, 0];
/** An instruction on sixteen bytes that works on one value. */
export const one = (code: number, a: Code): Code => [...a, ...wide(code)];
/** One that works on two values. */
export const two = (code: number, a: Code, b: Code): Code => [...a, ...b, ...wide(code)];
const lane = (at: number, value: Code): Code => [...value, ...wide(WIDE.extractLane32), at];
/** The sums of four whole numbers and four others. */
export const addWholes = (a: Code, b: Code): Code => two(WIDE.add32, a, b);
/** The sums of four fractions and four others. */
export const addFractions = (a: Code, b: Code): Code => two(WIDE.addFractions, a, b);
/** Four fractions less four others. */
export const takeFractions = (a: Code, b: Code): Code => two(WIDE.subtractFractions, a, b);
/** The products of four fractions and four others. */
export const timesFractions = (a: Code, b: Code): Code => two(WIDE.multiplyFractions, a, b);
/** Four fractions that are known. */
export const fourths = (values: readonly number[]): Code => [
  ...wide(WIDE.constant),
  ...new Uint8Array(Float32Array.from(values).buffer),
];
/** The four numbers of one vector in another order. */
export const arranged = (a: Code, order: readonly number[]): Code => [
  ...[...a, ...a, ...wide(WIDE.shuffle)],
  ...order.flatMap((at) => [4 * at, 4 * at + 1, 4 * at + 2, 4 * at + 3]),
];
/** The sum of the four whole numbers in a local. */
export const sumOf = (local: number): Code =>
  plus(
    plus(lane(0, get(local)), lane(1, get(local))),
    plus(lane(2, get(local)), lane(3, get(local))),
  );

/** A function of a module. */
export interface WideFunction {
  readonly name: string;
  /** All of them whole numbers, and the first locals. */
  readonly parameters: number;
  readonly gives: boolean;
  /** The types of further locals. */
  readonly locals: readonly number[];
  readonly code: Code;
}

/** The bytes of a module with these functions and a memory: types, functions, a memory, what is given out, code. */
export function moduleBytes(functions: readonly WideFunction[]): Uint8Array<ArrayBuffer> {
  const sized = (bytes: Code): Code => [...unsigned(bytes.length), ...bytes];
  const list = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()];
  const section = (id: number, body: Code): Code => [id, ...sized(body)];
  const named = (name: string, kind: number, at: number): Code => [
    ...sized([...Buffer.from(name)]),
    ...[kind, at],
  ];
  const types = functions.map(({ parameters, gives }) => [
    ...[0x60, ...list(Array.from({ length: parameters }, () => [I32]))],
    ...list(gives ? [[I32]] : []),
  ]);
  const bodies = functions.map(({ locals, code }) =>
    sized([...list(locals.map((type) => [1, type])), ...code, OP.end]),
  );
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(3, list(functions.map((_, at) => [at]))),
    ...section(5, list([[0, 1]])),
    ...section(
      7,
      list([named("memory", 2, 0), ...functions.map(({ name }, at) => named(name, 0, at))]),
    ),
    ...section(10, list(bodies)),
  ]);
}
