/**
 * The order in which things that stand below others can be placed: what is above first.
 *
 * Promise: pure, and linear in the keys and in what stands above them. Keys that stand above each other,
 * directly or through others, are one ring and come together; everybody else is a ring alone.
 */

/** What one key is known by while its ring is looked for. */
interface Visit {
  readonly number: number;
  /** The earliest key that is reached from it and still waits for its ring. */
  reaches: number;
  isPlaced: boolean;
}

/** Rings of keys, each behind all that stands above it; Tarjan's strongly connected components. */
export function ringsOf(
  keys: readonly string[],
  aboveOf: (key: string) => readonly string[],
): readonly (readonly string[])[] {
  const visits = new Map<string, Visit>();
  const waiting: string[] = [];
  const rings: (readonly string[])[] = [];
  const visit = (key: string): Visit => {
    const own: Visit = { number: visits.size, reaches: visits.size, isPlaced: false };
    visits.set(key, own);
    const from = waiting.push(key) - 1;
    for (const other of aboveOf(key)) {
      const met = visits.get(other);
      if (met === undefined) own.reaches = Math.min(own.reaches, visit(other).reaches);
      else if (!met.isPlaced) own.reaches = Math.min(own.reaches, met.number);
    }
    if (own.reaches < own.number) return own;
    const ring = waiting.splice(from);
    for (const one of ring) {
      const member = visits.get(one);
      if (member !== undefined) member.isPlaced = true;
    }
    rings.push(ring);
    return own;
  };
  for (const key of keys) if (!visits.has(key)) visit(key);
  return rings;
}
