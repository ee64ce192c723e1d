/**
 * Documents that people pass around, as text: which of them a text is, and a checkpoint out of the
 * answers that hold one. What they say is judged by core.
 */

/** A checkpoint's text, also out of the JSON that `checkpoint`, `snapshot` and `share` print. */
export function checkpointText(text: string): string {
  const { checkpoint } = objectIn(text);
  return typeof checkpoint === "string" ? checkpoint : text;
}

/**
 * What a document is: a slice claims something beside its proof, a checkpoint has several lines, everything
 * else is taken for a proof.
 */
export function documentIn(
  text: string,
): { readonly proof: string } | { readonly slice: string } | { readonly checkpoint: string } {
  const { cortex, proof, memories, checkpoint } = objectIn(text);
  if (typeof cortex === "string") return { proof: text };
  if (proof !== undefined || memories !== undefined) return { slice: text };
  if (typeof checkpoint === "string") return { checkpoint };
  const isLines = !/^\s*[{[]/.test(text) && text.trim().includes("\n");
  return isLines ? { checkpoint: text } : { proof: text.trim() };
}

function objectIn(text: string): { readonly [name: string]: unknown } {
  if (!/^\s*\{/.test(text)) return {};
  try {
    return JSON.parse(text) as { readonly [name: string]: unknown };
  } catch {
    return {};
  }
}
