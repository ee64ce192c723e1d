/** Signed requests: what was signed goes through, whatever was changed does not. */
import { describe, expect, test } from "vitest";
import { sha256Node, signerOf, verifyEd25519Node } from "../codec/node-crypto.js";
import { toBase64, utf8 } from "../codec/text.js";
import { type RequestLine, signRequest, verifyRequest } from "./request-signature.js";

const signer = signerOf(new Uint8Array(32).fill(3));
const nowMs = 1_700_000_000_000;
const made = { nowMs, nonce: new Uint8Array(12).fill(9), sha256: sha256Node };
const checks = { nowMs, sha256: sha256Node, verifySignature: verifyEd25519Node };
const request: RequestLine & { readonly body: Uint8Array } = {
  method: "POST",
  path: "/v1/find",
  query: "",
  authorization: "Bearer cortex-scope-1.AAAA",
  body: utf8('{"limit":5}'),
};

type Headers = Awaited<ReturnType<typeof signRequest>>;

function read(headers: Headers): Parameters<typeof verifyRequest>[1] {
  return {
    signatureInput: headers["Signature-Input"],
    signature: headers.Signature,
    contentDigest: headers["Content-Digest"],
  };
}

describe("verifyRequest", () => {
  test.each([
    ["with a body", request],
    ["without one", { ...request, method: "GET", query: "limit=5&x=%20", body: new Uint8Array() }],
  ])("knows the signer of a request %s", async (_, line) => {
    const signed = verifyRequest(line, read(await signRequest(line, signer, made)), checks);
    signed?.checkBody(line.body);
    expect(signed?.key).toBe(toBase64(signer.publicKey));
    expect(signed?.untilMs).toBe(nowMs + 300_000);
    expect(signed?.signature).toHaveLength(88);
  });

  test("an unsigned request has no signer", () => {
    const none = { signatureInput: undefined, signature: undefined, contentDigest: undefined };
    expect(verifyRequest(request, none, checks)).toBeUndefined();
  });

  test.each<[string, Partial<typeof request>]>([
    ["method", { method: "PUT" }],
    ["path", { path: "/v1/forget" }],
    ["query", { query: "a=1" }],
    ["authorization", { authorization: "Bearer cortex-scope-1.AAAB" }],
    ["idempotency key", { idempotencyKey: "another" }],
    ["entity tag", { ifMatch: '"2"' }],
    ["idempotency key left out", { idempotencyKey: undefined }],
    ["entity tag left out", { ifMatch: undefined }],
    ["body", { body: utf8('{"limit":6}') }],
    ["body left out", { body: new Uint8Array() }],
  ])("another %s is refused", async (_, change) => {
    const line = { ...request, idempotencyKey: "once", ifMatch: '"1"' };
    const headers = read(await signRequest(line, signer, made));
    const changed = { ...line, ...change };
    expect(() => verifyRequest(changed, headers, checks)?.checkBody(changed.body)).toThrow(
      expect.objectContaining({ code: "ERR_SCOPE_HOLDER" }),
    );
  });

  test("a body cannot be added to a request that was signed without one", async () => {
    const bare = { ...request, body: new Uint8Array() };
    const headers = read(await signRequest(bare, signer, made));
    const digest = `sha-256=:${toBase64(sha256Node(request.body))}:`;
    const sent = { ...headers, contentDigest: digest };
    expect(() => verifyRequest(request, sent, checks)?.checkBody(request.body)).toThrow(
      expect.objectContaining({ code: "ERR_SCOPE_HOLDER" }),
    );
  });

  test("a header that changes what is asked for cannot be added to a signed request", async () => {
    const headers = read(await signRequest(request, signer, made));
    for (const added of [{ idempotencyKey: "once" }, { ifMatch: "*" }]) {
      expect(() => verifyRequest({ ...request, ...added }, headers, checks)).toThrow(
        expect.objectContaining({ code: "ERR_SCOPE_HOLDER" }),
      );
    }
  });

  test("a signature is good for five minutes either way", async () => {
    const headers = read(await signRequest(request, signer, made));
    for (const [ms, good] of [
      [300_000, true],
      [-300_000, true],
      [300_001, false],
      [-300_001, false],
    ] as const) {
      const call = () => verifyRequest(request, headers, { ...checks, nowMs: nowMs + ms });
      if (good) expect(call()?.key).toBe(toBase64(signer.publicKey));
      else expect(call).toThrow(expect.objectContaining({ code: "ERR_SCOPE_HOLDER" }));
    }
  });

  test("another key's name, a missing half, or another form is refused", async () => {
    const headers = await signRequest(request, signer, made);
    const other = toBase64(signerOf(new Uint8Array(32).fill(4)).publicKey);
    const input = headers["Signature-Input"] ?? "";
    const bad: readonly Headers[] = [
      { ...headers, "Signature-Input": input.replace(/keyid="[^"]*"/, `keyid="${other}"`) },
      { ...headers, "Signature-Input": input.replace("ed25519", "none") },
      { ...headers, "Signature-Input": input.replace(' "authorization"', "") },
      { ...headers, "Signature-Input": `${input}, extra=();created=1` },
      { ...headers, "Signature-Input": "" },
      { ...headers, Signature: "cortex=:AAAA:" },
      { "Signature-Input": input },
      { Signature: headers.Signature ?? "" },
    ];
    for (const one of bad) {
      expect(() => verifyRequest(request, read(one), checks), JSON.stringify(one)).toThrow(
        expect.objectContaining({ code: "ERR_SCOPE_HOLDER" }),
      );
    }
  });
});
