/**
 * The picture as a graph with places, colours and sizes: what sigma draws. It is changed in place, so that
 * what is there stays where it is when more is loaded, and places are kept in this browser, so that a graph
 * looks the same tomorrow. A memory that was never placed begins at a point that its id alone decides, near a
 * neighbour that has a place.
 */
import type { MemoryType } from "@cortex-memory/core/remote";
import { MultiDirectedGraph } from "graphology";
import { oneLine } from "../base/format.tsx";
import { groupOf, TYPE_LETTERS, TYPES } from "../base/words.ts";
import {
  type ColourBy,
  type Edge,
  type Filter,
  isShown,
  type Neighbourhood,
  type Node,
} from "./neighbourhood.ts";

/** What is drawn of a memory. */
interface NodeLook {
  x: number;
  y: number;
  size: number;
  label: string;
  color: string;
  letter: string;
  /** Where the person put it: the layout leaves it there. */
  isPinned: boolean;
  /** Of a link into another graph, which one. */
  toGraph: string;
}

/** What is drawn of a link. */
interface EdgeLook {
  size: number;
  color: string;
  type: "line" | "arrow";
  kind: string;
}

/** The graph that sigma draws. */
export type Scene = MultiDirectedGraph<NodeLook, EdgeLook>;

/** The colours of the theme that is in force. */
export interface Palette {
  readonly types: { readonly [T in MemoryType]: string };
  readonly groups: { readonly [group: string]: string };
  readonly ink: string;
  readonly surface: string;
  readonly soft: string;
  readonly letter: string;
  readonly accent: string;
}

/** The groups of links, in the order of the legend. */
export const GROUPS = ["lifecycle", "factual", "thematic", "provenance", "legacy", "open"] as const;

/** Reads the colours from the style sheet. */
export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const types = Object.fromEntries(TYPES.map((type) => [type, of(`type-${type}`)]));
  return {
    types: types as Palette["types"],
    groups: Object.fromEntries(GROUPS.map((group) => [group, of(`group-${group}`)])),
    ink: of("ink"),
    surface: of("surface"),
    soft: of("ink-soft"),
    letter: of("letter"),
    accent: of("accent"),
  };
}

/** An empty picture. */
export function newScene(): Scene {
  return new MultiDirectedGraph<NodeLook, EdgeLook>();
}

/** How the picture is to look. */
interface SceneOptions {
  readonly filter: Filter;
  readonly colourBy: ColourBy;
  readonly palette: Palette;
  readonly places: ReadonlyMap<string, Point>;
}

/** What the picture is made from. */
type Loaded = Pick<Neighbourhood, "nodes" | "edges" | "salience">;

/** Brings the picture to what is loaded and shown; says which memories have no place of their own yet. */
export function updateScene(scene: Scene, found: Loaded, options: SceneOptions): readonly string[] {
  const shown = [...found.nodes.values()].filter((node) => isShown(node, options.filter));
  const ids = new Set(shown.map(({ id }) => id as string));
  const edges = [...found.edges.values()].filter(
    (edge) => ids.has(edge.from) && !options.filter.hiddenGroups.has(groupOf(edge.kind)),
  );
  // What is known of the far ends in other graphs is their name alone.
  for (const edge of edges) if (isOutside(edge)) ids.add(outsideId(edge));
  for (const id of scene.nodes()) if (!ids.has(id)) scene.dropNode(id);
  const fresh: string[] = [];
  for (const node of shown) {
    if (putNode(scene, node.id, lookOf(node, found, options), options.places)) fresh.push(node.id);
  }
  for (const edge of edges.filter(isOutside)) {
    const id = outsideId(edge);
    if (putNode(scene, id, outsideLook(edge, options.palette), options.places)) fresh.push(id);
  }
  const kept = new Set(edges.map(({ id }) => id as string));
  for (const id of scene.edges()) if (!kept.has(id)) scene.dropEdge(id);
  for (const edge of edges) putEdge(scene, edge, options.palette);
  settleFresh(scene, fresh, options.places);
  return fresh;
}

type Look = Omit<NodeLook, "x" | "y" | "isPinned">;

/** Adds or changes a memory of the picture; true when it is new and has no place. */
function putNode(
  scene: Scene,
  id: string,
  look: Look,
  places: ReadonlyMap<string, Point>,
): boolean {
  if (scene.hasNode(id)) {
    scene.mergeNodeAttributes(id, look);
    return false;
  }
  const place = places.get(id);
  const { x = 0, y = 0, isPinned = false } = place ?? {};
  scene.addNode(id, { ...look, x, y, isPinned });
  return place === undefined;
}

function putEdge(scene: Scene, edge: Edge, palette: Palette): void {
  const to = isOutside(edge) ? outsideId(edge) : edge.to;
  if (scene.hasEdge(edge.id) || !scene.hasNode(to) || !scene.hasNode(edge.from)) return;
  const group = groupOf(edge.kind);
  scene.addEdgeWithKey(edge.id, edge.from, to, {
    size: 0.6 + 0.5 * (edge.strength ?? 1),
    color: palette.groups[group] ?? palette.soft,
    type: SYMMETRIC.has(edge.kind) ? "line" : "arrow",
    kind: edge.kind,
  });
}

/** Kinds that say the same both ways. */
const SYMMETRIC: ReadonlySet<string> = new Set([
  "contradicts",
  "related_to",
  "co_constrains",
  "same_topic",
  "distinct_from",
]);

/** New memories begin near what they are linked to. */
function settleFresh(
  scene: Scene,
  fresh: readonly string[],
  places: ReadonlyMap<string, Point>,
): void {
  for (const id of fresh) {
    const neighbour = scene.neighbors(id).find((one) => places.has(one));
    scene.mergeNodeAttributes(
      id,
      firstPlace(id, neighbour === undefined ? undefined : places.get(neighbour)),
    );
  }
}

function lookOf(node: Node, { salience }: Loaded, { colourBy, palette }: SceneOptions): Look {
  const worth = salience.get(node.id) ?? node.head.importance / 10;
  return {
    size: 4 + 12 * Math.min(1, worth),
    label: oneLine(node.text, 48),
    letter: TYPE_LETTERS[node.type],
    color: colourBy === "type" ? palette.types[node.type] : kindColour(node, palette),
    toGraph: "",
  };
}

/** Kinds are open words: each takes one of the hues by its letters. */
function kindColour({ type, head }: Node, palette: Palette): string {
  const name = head.kind ?? type;
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  const hues = Object.values(palette.types);
  return hues[hash % hues.length] ?? palette.soft;
}

function isOutside({ toGraph }: Edge): boolean {
  return toGraph !== undefined;
}

function outsideId({ to, toGraph }: Edge): string {
  return `${toGraph} ${to}`;
}

function outsideLook({ to, toGraph = "" }: Edge, palette: Palette): Look {
  return { size: 7, label: `${to} in ${toGraph}`, letter: "↗", color: palette.soft, toGraph };
}

/** A point of the picture. */
interface Point {
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

/** Where everything stands: what is drawn where it is drawn, the rest where it was last. */
export function placesOf(graph: string, scene: Scene): ReadonlyMap<string, Point> {
  const drawn = scene.mapNodes((id, { x, y, isPinned }) => [id, { x, y, isPinned }] as const);
  return new Map([...readPlaces(graph), ...drawn]);
}

/** Keeps where everything stands; memories that are not drawn now keep their places as well. */
export function keepScene(graph: string, scene: Scene): void {
  keepPlaces(graph, placesOf(graph, scene));
}

/** How many memories the person put somewhere. */
export function pinnedIn(scene: Scene): number {
  return scene.filterNodes((_, { isPinned }) => isPinned).length;
}

/** The places that are kept of a graph. */
function readPlaces(graph: string): Map<string, Point> {
  try {
    const kept: unknown = JSON.parse(window.localStorage.getItem(placesKey(graph)) ?? "[]");
    if (!Array.isArray(kept)) return new Map();
    const rows = kept as readonly [id: string, x: number, y: number, isPinned?: 1][];
    return new Map(rows.map(([id, x, y, pin]) => [id, { x, y, isPinned: pin === 1 }]));
  } catch {
    // What cannot be read is as good as nothing: the picture is laid out anew.
    return new Map();
  }
}

/** Keeps the places of a graph. */
function keepPlaces(graph: string, places: ReadonlyMap<string, Point>): void {
  const rows = [...places]
    .slice(-KEPT_MAX)
    .map(([id, { x, y, isPinned }]) => [id, round(x), round(y), ...(isPinned === true ? [1] : [])]);
  try {
    window.localStorage.setItem(placesKey(graph), JSON.stringify(rows));
  } catch {
    // A full store of the browser costs the places, and nothing else.
  }
}

function placesKey(graph: string): string {
  return `cortex.places.${graph}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Where a memory begins that has no place yet. */
function firstPlace(id: string, neighbour: Point | undefined): Point {
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

/**
 * The memories and links of the shortest way between two memories, both ends included; empty when there is
 * none. It goes along the links that are shown, whichever way they point.
 */
export function pathBetween(scene: Scene, from: string, to: string): ReadonlySet<string> {
  if (!scene.hasNode(from) || !scene.hasNode(to)) return new Set();
  const cameBy = new Map<string, { readonly link: string; readonly near: string }>();
  const queue = [from];
  for (let at = 0; at < queue.length && !cameBy.has(to) && from !== to; at++) {
    const near = queue[at] ?? from;
    scene.forEachEdge(near, (link, _, source, target) => {
      const far = source === near ? target : source;
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
