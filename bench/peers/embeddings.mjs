/** The local model of Cortex in the shape that LangChain's programs take, so that all ask the same one. */

import { local } from "@cortex-memory/embed";
import { Embeddings } from "@langchain/core/embeddings";

/** @returns {Promise<{ readonly model: Embeddings, readonly dims: number }>} */
export async function embeddings() {
  const embedder = local();
  class Local extends Embeddings {
    /** @param {string[]} texts */
    async embedDocuments(texts) {
      return (await embedder.embed(texts)).map((vector) => Array.from(vector));
    }
    /** @param {string} text */
    async embedQuery(text) {
      const [vector] = await this.embedDocuments([text]);
      return vector ?? [];
    }
  }
  return { model: new Local({}), dims: embedder.dimensions };
}
