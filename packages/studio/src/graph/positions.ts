/**
 * Where memories stand in the picture: kept in this browser, so that a graph looks the same tomorrow. A
 * memory that was never placed begins at a point that its id alone decides, near a neighbour that has a
 * place.
 */

/** A point of the picture. */
export interface Point {
  readonly x: number;
  readonly y: number;
  /** Whether the person put it there: then it stays, whatever else is laid out. */
  readonly isPinned?: boolean;
}

/** Places kept for one graph, at most; the oldest go first. */
const KEPT_MAX = 20_000;

/** How wide the ground is on which memories without a place begin. */
const GROUND = 100;

/** How far from its neighbour a new memory begins. */
const NEAR = 6;

/** The places of a graph. */
export function readPlaces(graph: string): Map<string, Point> {
  try {
    const kept: unknown = JSON.parse(window.localStorage.getItem(keyOf(graph)) ?? "[]");
    if (!Array.isArray(kept)) return new Map();
    const rows = kept as readonly [id: string, x: number, y: number, isPinned?: 1][];
    return new Map(rows.map(([id, x, y, pin]) => [id, { x, y, isPinned: pin === 1 }]));
  } catch {
    // What cannot be read is as good as nothing: the picture is laid out anew.
    return new Map();
  }
}

/** Keeps the places of a graph. */
export function keepPlaces(graph: string, places: ReadonlyMap<string, Point>): void {
  const rows = [...places]
    .slice(-KEPT_MAX)
    .map(([id, { x, y, isPinned }]) => [id, round(x), round(y), ...(isPinned === true ? [1] : [])]);
  try {
    window.localStorage.setItem(keyOf(graph), JSON.stringify(rows));
  } catch {
    // A full store of the browser costs the places, and nothing else.
  }
}

function keyOf(graph: string): string {
  return `cortex.places.${graph}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Where a memory begins that has no place yet. */
export function firstPlace(id: string, neighbour: Point | undefined): Point {
  const angle = fraction(id, 1) * 2 * Math.PI;
  const away = Math.sqrt(fraction(id, 2));
  const reach = neighbour === undefined ? GROUND * away : NEAR * (0.5 + away);
  const { x, y } = neighbour ?? { x: 0, y: 0 };
  return { x: x + Math.cos(angle) * reach, y: y + Math.sin(angle) * reach };
}

/** A number from 0 to 1 that depends on the text alone. */
function fraction(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) / 0x1_0000_0000;
}
