/**
 * Puts a clock around the trees without a change to the engine: where its commit asks for the file
 * of the trees, it gets `timed-trees.mjs`, which passes every call on. For `module.register`.
 */

const TIMED = new URL("./timed-trees.mjs", import.meta.url).href;

/**
 * @param {string} specifier
 * @param {{ readonly parentURL?: string }} context
 * @param {(specifier: string, context: object) => Promise<{ readonly url: string }>} next
 */
export async function resolve(specifier, context, next) {
  const fromCommit = context.parentURL?.endsWith("/history/commit.js") === true;
  if (fromCommit && specifier === "./trees.js") return { url: TIMED, shortCircuit: true };
  return next(specifier, context);
}
