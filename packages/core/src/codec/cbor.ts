/**
 * Canonical CBOR: the core deterministic encoding of RFC 8949 §4.2.1 over a closed set of values.
 *
 * Promises:
 * - One value, one encoding. `encode` gives shortest integers, lengths and floats, map keys in the
 *   order of their encoded bytes, definite lengths, no tags. A number that is whole is an integer.
 * - `decode` takes exactly what `encode` can give: for all b, if `decode(b)` returns, then
 *   `encode(decode(b))` equals b. Everything else is `ERR_NOT_CANONICAL` with the byte offset.
 * - No value and no input makes either run out of stack (`LIMITS.cborDepth`).
 *
 * Records use maps with small integer keys (`Fields`), open data uses maps with text keys. What the
 * fields mean, and how large a value may be, is left to the callers.
 */
export {
  byteStringAt,
  byteStringEnd,
  decode,
  decodeNext,
  decodeWithin,
  isKeyAfter,
  nameWithin,
  nextKey,
  numberAt,
  openFields,
  readFieldsInto,
  readWithin,
  textAt,
  textWithin,
  uintAt,
  uintBytes,
} from "./cbor-decode.js";
export { encode } from "./cbor-encode.js";
export {
  type CborValue,
  type Fields,
  fields,
  isFields,
} from "./cbor-value.js";
