/**
 * The fence around text that Cortex rendered for a prompt. What stands between the two lines came out
 * of memory and must not go back in as something that was said.
 */

/** The line that opens rendered memory. */
export const FENCE_OPEN = "<<<cortex-memory";

/** The line that closes rendered memory. */
export const FENCE_CLOSE = "cortex-memory>>>";

/** Puts the fence around rendered text. */
export function fence(text: string): string {
  return `${FENCE_OPEN}\n${text}\n${FENCE_CLOSE}`;
}

/**
 * Text on one line, in which no fence can open or close: a memory may say anything, and must not end
 * the block it is shown in. A space breaks a mark; taking characters out could make a new one.
 */
export function flatten(text: string): string {
  return text
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ")
    .trim()
    .replaceAll(FENCE_OPEN, FENCE_OPEN.replace("<c", "< c"))
    .replaceAll(FENCE_CLOSE, FENCE_CLOSE.replace("y>", "y >"));
}

/** Content without fenced blocks; an open fence without an end drops the rest. */
export function dropFenced(content: string): string {
  if (!content.includes(FENCE_OPEN)) return content;
  let kept = "";
  for (let at = 0; ; ) {
    const open = content.indexOf(FENCE_OPEN, at);
    if (open < 0) return (kept + content.slice(at)).trim();
    kept += content.slice(at, open);
    const close = content.indexOf(FENCE_CLOSE, open);
    if (close < 0) return kept.trim();
    at = close + FENCE_CLOSE.length;
  }
}
