/** Ed25519 against the vectors of RFC 8032, section 7.1; what is no key or no signature is not valid. SHA-256: `hash.test.ts`. */
import { describe, expect, test } from "vitest";
import { fromHex, toHex } from "./keys.js";
import { signerOf, verifyEd25519Node } from "./node-crypto.js";

const bytes = (hex: string): Uint8Array => fromHex(hex) ?? new Uint8Array(0);

const VECTORS = [
  {
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature:
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
] as const;

describe("Ed25519", () => {
  test.each(VECTORS)("signs and verifies $publicKey", ({ seed, publicKey, message, signature }) => {
    const signer = signerOf(bytes(seed));
    expect(toHex(signer.publicKey)).toBe(publicKey);
    expect(toHex(signer.sign(bytes(message)))).toBe(signature);
    const signed = bytes(signature);
    expect(verifyEd25519Node(signer.publicKey, bytes(message), signed)).toBe(true);
    expect(verifyEd25519Node(signer.publicKey, bytes(`${message}00`), signed)).toBe(false);
    const bent = Uint8Array.from(signed, (byte, at) => (at === 40 ? byte ^ 1 : byte));
    expect(verifyEd25519Node(signer.publicKey, bytes(message), bent)).toBe(false);
  });

  test("bytes of another length, or no point of the curve, are not valid", () => {
    const [{ publicKey, signature }] = VECTORS;
    const none = new Uint8Array(0);
    expect(verifyEd25519Node(bytes(publicKey).subarray(1), none, bytes(signature))).toBe(false);
    expect(verifyEd25519Node(bytes(publicKey), none, bytes(signature).subarray(1))).toBe(false);
    expect(verifyEd25519Node(new Uint8Array(32).fill(0xff), none, bytes(signature))).toBe(false);
    expect(() => signerOf(new Uint8Array(31))).toThrow(RangeError);
  });
});
