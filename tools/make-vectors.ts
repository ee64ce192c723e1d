/**
 * Makes the vectors of checkpoints and proofs: golden ones, and ones named by how they lie. Each is
 * a JSON file with a description, the input, and what the verifier must answer.
 *
 *     CORTEX_WRITE_VECTORS=1 npx vitest run packages/core/test/vectors.test.ts
 *
 * writes them all; without the variable the same test makes them again and compares every byte.
 * A vector that changes is a change of the format, and a decision.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verify, verifyCheckpoint } from "../packages/core/src/verify.js";
import { checkpointVectors } from "./vectors/checkpoints.js";
import { goldenProofs, lyingProofs } from "./vectors/proofs.js";
import type { Vector } from "./vectors/world.js";

/** The folders vectors stand in. */
export const VECTOR_FOLDERS = ["checkpoints", "proofs"] as const;

/** Every vector, in the order of their names. */
export async function makeVectors(): Promise<readonly Vector[]> {
  const vectors = [...(await checkpointVectors()), ...goldenProofs(), ...lyingProofs()];
  return vectors.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The text of a vector's file; for what holds, with all that it shows, as one line of JSON. */
export function vectorFile(vector: Vector): string {
  const { name: _, ...content } = vector;
  const shows = vector.answer.startsWith("ERR_") ? {} : { shows: JSON.stringify(verified(vector)) };
  return `${JSON.stringify({ ...content, ...shows }, null, 2)}\n`;
}

/** Puts all files under a folder and removes what no vector accounts for. */
export function writeVectors(folder: string, vectors: readonly Vector[]): void {
  for (const kind of VECTOR_FOLDERS) {
    mkdirSync(join(folder, kind), { recursive: true });
    for (const file of readdirSync(join(folder, kind))) rmSync(join(folder, kind, file));
  }
  for (const vector of vectors) {
    writeFileSync(join(folder, `${vector.name}.json`), vectorFile(vector));
  }
}

/** What the verifier says of a vector. */
export function verified(
  vector: Vector,
): ReturnType<typeof verify> | ReturnType<typeof verifyCheckpoint> {
  const { checkpoint, proof, trusted, consistency } = vector;
  if (proof !== undefined) return verify(proof, trusted);
  return verifyCheckpoint(checkpoint ?? "", trusted, consistency);
}
