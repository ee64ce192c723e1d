/**
 * Where two plain values differ: lists in their order, objects by their members, everything else as it is.
 *
 * Promise: pure; a member that is `undefined` and one that is not there are the same.
 */

/** Where two values differ first; `undefined` when they say the same. */
export function differenceOf(shown: unknown, said: unknown, path: string): string | undefined {
  if (Array.isArray(shown)) {
    if (!Array.isArray(said) || said.length !== shown.length) return path;
    return firstOf(shown, (one, at) => differenceOf(one, said[at], `${path}[${at}]`));
  }
  if (!isObject(shown)) return Object.is(shown, said) ? undefined : path;
  if (!isObject(said)) return path;
  const names = [...new Set([...Object.keys(shown), ...Object.keys(said)])];
  return firstOf(names, (name) => {
    const at = `${path}.${name}`;
    const own = Object.hasOwn(shown, name) ? shown[name] : undefined;
    const theirs = Object.hasOwn(said, name) ? said[name] : undefined;
    if (own === undefined) return theirs === undefined ? undefined : at;
    return differenceOf(own, theirs, at);
  });
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstOf<T, R>(items: readonly T[], find: (item: T, at: number) => R | undefined) {
  for (const [at, item] of items.entries()) {
    const found = find(item, at);
    if (found !== undefined) return found;
  }
  return undefined;
}
