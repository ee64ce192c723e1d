/** The local model of Cortex with the two calls that LangChain's programs make, so that all ask the same one. */
import { local } from "@cortex-memory/embed";

/**
 * @returns {Promise<{ readonly model: {
 *   embedDocuments(texts: readonly string[]): Promise<number[][]>,
 *   embedQuery(text: string): Promise<number[]>,
 * }, readonly dims: number }>}
 */
export async function embeddings() {
  const embedder = local();
  const embedDocuments = async (/** @type {readonly string[]} */ texts) =>
    (await embedder.embed(texts)).map((vector) => Array.from(vector));
  const embedQuery = async (/** @type {string} */ text) => (await embedDocuments([text]))[0] ?? [];
  return { model: { embedDocuments, embedQuery }, dims: embedder.dimensions };
}
