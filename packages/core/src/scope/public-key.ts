/** Public keys of Ed25519 as texts spell them. Apart from scopes, so that signing a request needs no more. */
import { fromBase64 } from "../codec/text.js";

/** Bytes of a public key. */
export const KEY_BYTES = 32;

/** The public key that a text spells; `undefined` when it spells none. */
export function keyOf(text: string): Uint8Array | undefined {
  const bytes = fromBase64(text);
  return bytes?.length === KEY_BYTES ? bytes : undefined;
}
