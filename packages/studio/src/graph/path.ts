/**
 * The shortest way between two memories along the links that are shown, whichever way they point. Pure.
 */

/** A graph as far as a path needs it. */
export interface Walkable {
  hasNode(id: string): boolean;
  /** Calls back with each link of a memory and its other end. */
  forEachLink(id: string, visit: (link: string, far: string) => void): void;
}

/** The memories and links of the way, both ends included; empty when there is none. */
export function pathBetween(graph: Walkable, from: string, to: string): ReadonlySet<string> {
  if (!graph.hasNode(from) || !graph.hasNode(to)) return new Set();
  const cameBy = new Map<string, { readonly link: string; readonly near: string }>();
  const queue = [from];
  for (let at = 0; at < queue.length && !cameBy.has(to) && from !== to; at++) {
    const near = queue[at] ?? from;
    graph.forEachLink(near, (link, far) => {
      if (far === from || cameBy.has(far)) return;
      cameBy.set(far, { link, near });
      queue.push(far);
    });
  }
  const way = new Set<string>();
  if (from !== to && !cameBy.has(to)) return way;
  way.add(to);
  for (let step = cameBy.get(to); step !== undefined; step = cameBy.get(step.near)) {
    way.add(step.link);
    way.add(step.near);
  }
  return way;
}
