/**
 * A flame graph as SVG from a profile that V8 wrote: each box is a function, as wide as its share of the
 * processor's time with everything it called, above the function that called it. Boxes below half a percent are left
 * out. A box says its share and its file when the pointer rests on it.
 */
import { readFileSync } from "node:fs";

const WIDTH = 1200;
const LINE = 17;
const LEAST_SHARE = 0.005;
/** Time in which nothing of ours ran. */
const NOT_WORK = new Set(["(idle)", "(program)"]);

/**
 * @typedef {{ readonly id: number, readonly callFrame: { readonly functionName: string, readonly url: string,
 *   readonly lineNumber: number }, readonly children?: readonly number[] }} ProfileNode
 * @typedef {{ readonly name: string, readonly place: string, micros: number,
 *   readonly below: Map<string, Box> }} Box
 */

/**
 * @param {string} file a `.cpuprofile`
 * @param {string} title
 */
export function drawFlames(file, title) {
  const root = boxes(JSON.parse(readFileSync(file, "utf8")));
  /** @type {string[]} */
  const parts = [];
  const deepest = draw(root, { x: 0, depth: 0, total: root.micros, parts });
  const height = (deepest + 2) * LINE + 30;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="8" y="18" font-size="14">${escaped(title)}: ${Math.round(root.micros / 1000)} ms of processor time</text>`,
    `<g transform="translate(0 30)">`,
    ...parts,
    "</g></svg>",
    "",
  ].join("\n");
}

/**
 * The functions that cost most by themselves, with their share.
 * @param {string} file
 * @param {number} count
 */
export function dearest(file, count) {
  /** @type {Map<string, number>} */
  const own = new Map();
  const root = boxes(JSON.parse(readFileSync(file, "utf8")));
  const visit = (/** @type {Box} */ box) => {
    let inside = 0;
    for (const child of box.below.values()) {
      inside += child.micros;
      visit(child);
    }
    const key = `${box.name} ${box.place}`;
    own.set(key, (own.get(key) ?? 0) + box.micros - inside);
  };
  visit(root);
  return [...own]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, micros]) => ({ name, share: micros / root.micros }));
}

/**
 * The samples of a profile as a tree of functions.
 * @param {{ readonly nodes: readonly ProfileNode[], readonly samples: readonly number[],
 *   readonly timeDeltas: readonly number[] }} profile
 * @returns {Box}
 */
function boxes({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callerOf = new Map(
    nodes.flatMap(({ id, children }) => (children ?? []).map((child) => [child, id])),
  );
  /** @type {Box} */
  const root = { name: "all", place: "", micros: 0, below: new Map() };
  samples.forEach((sample, at) => {
    const stack = [];
    for (
      let id = /** @type {number | undefined} */ (sample);
      id !== undefined;
      id = callerOf.get(id)
    ) {
      const node = byId.get(id);
      if (node !== undefined) stack.unshift(node.callFrame);
    }
    const frames = stack.slice(1);
    if (frames.some(({ functionName }) => NOT_WORK.has(functionName))) return;
    const micros = timeDeltas[at] ?? 0;
    let box = root;
    box.micros += micros;
    for (const { functionName, url, lineNumber } of frames) {
      const name = functionName === "" ? "(unnamed)" : functionName;
      const place = url === "" ? "" : `${url.split("/").slice(-2).join("/")}:${lineNumber + 1}`;
      const key = `${name} ${place}`;
      let next = box.below.get(key);
      if (next === undefined) {
        next = { name, place, micros: 0, below: new Map() };
        box.below.set(key, next);
      }
      next.micros += micros;
      box = next;
    }
  });
  return root;
}

/**
 * Draws a box and what lies above it; gives the depth it reached.
 * @param {Box} box
 * @param {{ readonly x: number, readonly depth: number, readonly total: number, readonly parts: string[] }} at
 * @returns {number}
 */
function draw(box, { x, depth, total, parts }) {
  const width = (box.micros / total) * WIDTH;
  const share = ((100 * box.micros) / total).toFixed(1);
  const shown = box.name.slice(0, Math.max(0, Math.floor(width / 7) - 1));
  const y = depth * LINE;
  parts.push(
    `<g><title>${escaped(`${box.name} ${box.place} ${share} %`)}</title>` +
      `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${LINE - 1}" fill="${colour(box.place)}"/>` +
      `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(shown)}</text></g>`,
  );
  let deepest = depth;
  let from = x;
  const widest = [...box.below.values()].sort((a, b) => b.micros - a.micros);
  for (const child of widest) {
    if (child.micros / total < LEAST_SHARE) continue;
    deepest = Math.max(deepest, draw(child, { x: from, depth: depth + 1, total, parts }));
    from += (child.micros / total) * WIDTH;
  }
  return deepest;
}

/**
 * A folder has one colour, so that one sees whose time it is.
 * @param {string} place
 */
function colour(place) {
  let hash = 7;
  for (const letter of place.split("/")[0] ?? "") hash = (hash * 31 + letter.charCodeAt(0)) % 360;
  return `hsl(${hash} 60% 78%)`;
}

/** @param {string} words */
function escaped(words) {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
