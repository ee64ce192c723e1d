/**
 * Signed requests: HTTP message signatures (RFC 9421), the part of them that binds a scope to a key.
 *
 * One signature, labelled `cortex`, by Ed25519, over the method, the path, the query, the
 * authorization that names the scope, the digest of the body where there is one, and the headers that
 * change what a request does (`Idempotency-Key`, `If-Match`) where they are sent; with the time and
 * the key in its parameters. So a scope that was overheard is of no use without the key, and a request
 * that was overheard cannot be changed. That it is not sent twice is for the door to watch, by the
 * signature that `verifyRequest` gives back and the time until which it would be good.
 *
 * A signature is checked by the headers alone, before any of the body is read; that the body is the one
 * whose digest was signed is checked when it is there, by the `checkBody` of the result.
 *
 * Pure: the clock, the hash and the check of signatures are arguments.
 */

import type { Sha256 } from "../codec/hash.js";
import type { VerifyEd25519 } from "../codec/node-crypto.js";
import { fromBase64, toBase64, utf8 } from "../codec/text.js";
import { CortexError } from "../errors.js";
import { LIMITS } from "../limits.js";

/** Bytes of a public key. */
export const KEY_BYTES = 32;

/** The public key that a text spells; `undefined` when it spells none. */
export function keyOf(text: string): Uint8Array | undefined {
  const bytes = fromBase64(text);
  return bytes?.length === KEY_BYTES ? bytes : undefined;
}

/** A request as both sides see it. */
export interface RequestLine {
  /** In capitals. */
  readonly method: string;
  /** The path as it was sent, percent signs and all. */
  readonly path: string;
  /** The query as it was sent, without its question mark; empty for none. */
  readonly query: string;
  /** The value of the `Authorization` header. */
  readonly authorization: string;
  /** The value of the `Idempotency-Key` header, where it is sent. */
  readonly idempotencyKey?: string | undefined;
  /** The value of the `If-Match` header, where it is sent. */
  readonly ifMatch?: string | undefined;
}

/** The headers of a signature; absent ones are `undefined`. */
export interface SignatureHeaders {
  readonly signatureInput: string | undefined;
  readonly signature: string | undefined;
  readonly contentDigest: string | undefined;
}

/** The label of the one signature that is read. */
const LABEL = "cortex";
const COMPONENTS = '"@method" "@path" "@query" "authorization"';

/** Exactly what a signer writes: another order or another parameter would be another statement. */
const INPUT = new RegExp(
  `^${LABEL}=(\\((${COMPONENTS}(?: "content-digest")?(?: "idempotency-key")?(?: "if-match")?)\\);created=(\\d{1,12});keyid="([A-Za-z0-9+/=]{44})"` +
    ';alg="ed25519";nonce="([A-Za-z0-9+/=]{8,64})")$',
);

/** Signs a request with its body, which is empty for none: the headers to send with it. */
export async function signRequest(
  request: RequestLine & { readonly body: Uint8Array },
  signer: {
    readonly publicKey: Uint8Array;
    sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
  },
  made: { readonly nowMs: number; readonly nonce: Uint8Array; readonly sha256: Sha256 },
): Promise<{ readonly [header: string]: string }> {
  const digest = request.body.length > 0 ? digestOf(made.sha256, request.body) : undefined;
  const covered = coveredBy(request, digest);
  const created = Math.floor(made.nowMs / 1000);
  const parameters =
    `(${covered.map(([name]) => `"${name}"`).join(" ")});created=${created}` +
    `;keyid="${toBase64(signer.publicKey)}";alg="ed25519";nonce="${toBase64(made.nonce)}"`;
  const base = signatureBase(covered, parameters);
  const signature = await signer.sign(utf8(base));
  return {
    "Signature-Input": `${LABEL}=${parameters}`,
    Signature: `${LABEL}=:${toBase64(signature)}:`,
    ...(digest === undefined ? {} : { "Content-Digest": digest }),
  };
}

/** A signature that holds. */
export interface SignedBy {
  /** The key, in base64. */
  readonly key: string;
  /** What is never to be taken a second time. */
  readonly signature: string;
  /** Until when it would be good. */
  readonly untilMs: number;
  /** Refuses a body, empty for none, that is not the one whose digest was signed. */
  checkBody(body: Uint8Array): void;
}

/** Whose signature a request bears; `undefined` for none, `ERR_SCOPE_HOLDER` for one that is wrong. */
export function verifyRequest(
  request: RequestLine,
  headers: SignatureHeaders,
  checks: {
    readonly nowMs: number;
    readonly sha256: Sha256;
    readonly verifySignature: VerifyEd25519;
  },
): SignedBy | undefined {
  const { signatureInput, signature, contentDigest } = headers;
  if (signatureInput === undefined && signature === undefined) return undefined;
  const [, parameters = "", components, created = "", keyid = ""] =
    INPUT.exec(signatureInput ?? "") ?? [];
  const key = keyOf(keyid);
  if (components === undefined || key === undefined) {
    throw refused("signature-input", `one labelled ${LABEL}, in the form that the docs show`);
  }
  const bodyDigest = components.includes("content-digest") ? (contentDigest ?? "") : undefined;
  const covered = coveredBy(request, bodyDigest);
  if (components !== covered.map(([name]) => `"${name}"`).join(" ")) {
    throw refused("signature-input", "every header that changes what is asked for, and no other");
  }
  const untilMs = Number(created) * 1000 + LIMITS.signatureAgeMs;
  if (Math.abs(checks.nowMs - Number(created) * 1000) > LIMITS.signatureAgeMs) {
    throw refused("signature-input", "a time of creation within five minutes of the server's");
  }
  const [, encoded = ""] = /^cortex=:([A-Za-z0-9+/=]{88}):$/.exec(signature ?? "") ?? [];
  const bytes = fromBase64(encoded);
  const base = signatureBase(covered, parameters);
  if (bytes === undefined || !checks.verifySignature(key, utf8(base), bytes)) {
    throw refused("signature", "one that keyid made over this request");
  }
  return {
    key: keyid,
    signature: encoded,
    untilMs,
    checkBody(body) {
      if ((bodyDigest === undefined) !== (body.length === 0)) {
        throw refused("signature-input", "content-digest exactly where there is a body");
      }
      if (bodyDigest === undefined || bodyDigest === digestOf(checks.sha256, body)) return;
      throw refused("content-digest", "the sha-256 of the body");
    },
  };
}

/** The `Content-Digest` of a body (RFC 9530). */
function digestOf(sha256: Sha256, body: Uint8Array): string {
  return `sha-256=:${toBase64(sha256(body))}:`;
}

/** What a signature has to cover, in the order in which it names it. */
function coveredBy(
  request: RequestLine,
  bodyDigest: string | undefined,
): readonly (readonly [name: string, value: string])[] {
  const { method, path, query, authorization, idempotencyKey, ifMatch } = request;
  const sent: readonly (readonly [string, string | undefined])[] = [
    ["@method", method],
    ["@path", path],
    ["@query", `?${query}`],
    ["authorization", authorization],
    ["content-digest", bodyDigest],
    ["idempotency-key", idempotencyKey],
    ["if-match", ifMatch],
  ];
  return sent.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

/** The text that is signed (RFC 9421, section 2.5). */
function signatureBase(
  covered: readonly (readonly [string, string])[],
  parameters: string,
): string {
  const lines = covered.map(([name, value]) => `"${name}": ${value}`);
  return [...lines, `"@signature-params": ${parameters}`].join("\n");
}

function refused(field: string, expected: string): CortexError {
  return new CortexError("ERR_SCOPE_HOLDER", `${field}: expected ${expected}, got another`, {
    field,
    expected,
  });
}
