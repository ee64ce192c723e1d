/**
 * Reads every vector and holds the verifier to its answer; then makes them all again and compares
 * every byte, so that neither the format nor the vectors change unnoticed. `tools/make-vectors.ts`
 * says how they are written. Also: no byte of a proof can be turned without a named refusal.
 */
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  makeVectors,
  VECTOR_FOLDERS,
  vectorFile,
  verified,
  writeVectors,
} from "../../../tools/make-vectors.js";
import type { Vector } from "../../../tools/vectors/world.js";
import { sha256Pure } from "../src/codec/sha256-pure.js";
import { parseCheckpoint } from "../src/journal/checkpoint.js";
import { verify } from "../src/verify.js";

const FOLDER = fileURLToPath(new URL("vectors", import.meta.url));
const made = await makeVectors();
if (process.env.CORTEX_WRITE_VECTORS === "1") writeVectors(FOLDER, made);

type StoredVector = Vector & { readonly shows?: string };

const stored: readonly StoredVector[] = VECTOR_FOLDERS.flatMap((kind) =>
  readdirSync(`${FOLDER}/${kind}`).map((file) => {
    const name = `${kind}/${file.replace(/\.json$/, "")}`;
    const text = readFileSync(`${FOLDER}/${name}.json`, "utf8");
    return { name, ...(JSON.parse(text) as Omit<StoredVector, "name">) };
  }),
);

describe("the vectors", () => {
  test("are the ones that are made, byte for byte", () => {
    expect(stored.map(({ name }) => name).toSorted()).toEqual(made.map(({ name }) => name));
    for (const vector of made) {
      const text = readFileSync(`${FOLDER}/${vector.name}.json`, "utf8");
      expect(vectorFile(vector)).toBe(text);
    }
  });

  test.each(stored.map((vector) => [vector.name, vector] as const))("%s", (_, vector) => {
    const result = verified(vector);
    expect(result.ok ? (result.anchored ? "anchored" : "unanchored") : result.code).toBe(
      vector.answer,
    );
    if (!result.ok) {
      expect(result.anchored).toBe(false);
      expect(result.message).not.toBe("");
    }
    if (vector.shows !== undefined) expect(JSON.parse(vector.shows)).toEqual(plain(result));
  });

  test("cover every answer there is, in both folders", () => {
    for (const kind of VECTOR_FOLDERS) {
      const answers = stored
        .filter(({ name }) => name.startsWith(kind))
        .map(({ answer }) => answer);
      expect(new Set(answers)).toContain("ERR_CHECKPOINT_STALE");
      expect(new Set(answers)).toContain("anchored");
      expect(new Set(answers)).toContain("unanchored");
    }
  });

  test("a signed checkpoint carries a good signature and the hint of its key", () => {
    const { checkpoint, publicKey = "" } = find("checkpoints/golden-signed");
    const { note, signatures } = parseCheckpoint(sha256Pure, checkpoint);
    const [signature] = signatures;
    const raw = Buffer.from(publicKey, "base64");
    const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const bytes = signature?.bytes ?? new Uint8Array(0);
    expect(verifySignature(null, Buffer.from(note), key, bytes.subarray(4))).toBe(true);
    const hint = createHash("sha256").update(`${signature?.name}\n\u0001`).update(raw).digest();
    expect(Buffer.from(bytes.subarray(0, 4))).toEqual(hint.subarray(0, 4));
  });
});

describe("a turned byte", () => {
  const names = [
    "proofs/golden-one-of-two",
    "proofs/golden-head-change",
    "proofs/golden-memory-with-its-entry",
    "proofs/golden-since",
    "proofs/golden-forgotten-memory",
    "proofs/golden-entries",
  ];

  test.each(names)("of %s is refused with a named code, wherever it stands", (name) => {
    const { proof = "" } = find(name);
    const bytes = new Uint8Array(Buffer.from(proof, "base64"));
    expect(verify(bytes).ok).toBe(true);
    for (let at = 0; at < bytes.length; at += 1) {
      for (const mask of [0x01, 0x80, 0xff]) {
        const turned = bytes.map((byte, i) => (i === at ? byte ^ mask : byte));
        const result = verify(turned);
        expect(result.ok, `byte ${at} of ${name}, mask ${mask}`).toBe(false);
        if (result.ok) continue;
        expect(result.code).toMatch(/^ERR_(PROOF_(MALFORMED|INVALID)|CHECKPOINT_MALFORMED)$/);
      }
    }
  });

  /** The same leaf shows many ids absent, so a proof of absence may turn into that of another id. */
  test.each(["proofs/golden-absent-memory", "proofs/golden-edges", "proofs/golden-empty-store"])(
    "of %s is refused, or says as truly that another id is absent",
    (name) => {
      const { proof = "" } = find(name);
      const bytes = new Uint8Array(Buffer.from(proof, "base64"));
      const before = verify(bytes);
      let others = 0;
      for (let at = 0; at < bytes.length; at += 1) {
        const turned = verify(bytes.map((byte, i) => (i === at ? byte ^ 0x01 : byte)));
        if (!turned.ok) continue;
        others += 1;
        const present = (result: typeof before) =>
          result.ok ? [...result.memories, ...result.edges].filter(isPresent) : [];
        expect(present(turned)).toEqual(present(before));
        expect(turned).not.toEqual(before);
      }
      expect(others).toBeLessThanOrEqual(32);
    },
  );

  test("or a cut anywhere, in any form it is sent in, is refused too", () => {
    const { proof = "" } = find("proofs/golden-one-of-two");
    const json = JSON.stringify({ cortex: "proof/1", bytes: proof });
    expect(verify(json).ok).toBe(true);
    for (let length = 0; length < json.length; length += 7) {
      expect(verify(json.slice(0, length))).toMatchObject({ ok: false, anchored: false });
    }
    for (const junk of [undefined, null, 7, {}, [], "", "{}", new Uint8Array(0)]) {
      expect(verify(junk as never)).toMatchObject({ ok: false, code: "ERR_PROOF_MALFORMED" });
      expect(verify(proof, junk as never).ok).toBe(junk === undefined);
    }
  });
});

function isPresent({ status }: { readonly status: string }): boolean {
  return status !== "absent";
}

function find(name: string): StoredVector {
  const vector = stored.find((one) => one.name === name);
  if (vector === undefined) throw new Error(`there is no vector ${name}`);
  return vector;
}

/** As JSON has it: objects without prototype count as plain ones. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
