/**
 * Places memories by forces, in a worker: what has a place keeps it, what is new finds one. With motion
 * reduced, only the end is shown.
 */
import type { LayoutNews, LayoutTask } from "./layout-worker.ts";
import type { Scene } from "./scene.ts";

const STEPS = { few: 360, many: 180 };

/** How hard a link pulls: little, so that what hangs on one memory has room around it. */
const LOOSE = 0.25;

/** How many memories count as many. */
const MANY = 1500;

/** A layout that is running. */
export interface Layout {
  stop(): void;
}

/** Starts a layout that moves `fresh`, or everything; `onEnd` is told when the places are final. */
export function startLayout(scene: Scene, fresh: ReadonlySet<string>, onEnd: () => void): Layout {
  const ids = scene.nodes();
  const worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
  const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  worker.onmessage = ({ data: { nodes, isDone } }: MessageEvent<LayoutNews>) => {
    if (!isStill || isDone) applyPlaces(scene, ids, nodes);
    if (!isDone) return;
    worker.terminate();
    onEnd();
  };
  worker.postMessage(taskOf(scene, ids, fresh));
  return { stop: () => worker.terminate() };
}

function taskOf(scene: Scene, ids: readonly string[], fresh: ReadonlySet<string>): LayoutTask {
  const rows = new Map(ids.map((id, at) => [id, at * 10]));
  const nodes = new Float32Array(ids.length * 10);
  const edges = new Float32Array(scene.size * 3);
  for (const [at, id] of ids.entries()) {
    const { x, y, size, isPinned } = scene.getNodeAttributes(id);
    const isFixed = isPinned || !fresh.has(id);
    nodes.set([x, y, 0, 0, 0, 0, 1, 1, size, isFixed ? 1 : 0], at * 10);
  }
  let at = 0;
  scene.forEachEdge((_, __, source, target) => {
    const [from = 0, to = 0] = [rows.get(source), rows.get(target)];
    nodes[from + 6] = (nodes[from + 6] ?? 0) + 1;
    nodes[to + 6] = (nodes[to + 6] ?? 0) + 1;
    edges.set([from, to, LOOSE], at);
    at += 3;
  });
  return { nodes, edges, steps: ids.length > MANY ? STEPS.many : STEPS.few };
}

function applyPlaces(scene: Scene, ids: readonly string[], nodes: Float32Array): void {
  const rows = new Map(ids.map((id, at) => [id, at * 10]));
  scene.updateEachNodeAttributes(
    (id, look) => {
      const row = rows.get(id);
      if (row === undefined || look.isPinned) return look;
      return { ...look, x: nodes[row] ?? look.x, y: nodes[row + 1] ?? look.y };
    },
    { attributes: ["x", "y"] },
  );
}
