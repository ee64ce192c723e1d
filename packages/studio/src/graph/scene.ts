/**
 * The picture as a graph with places, colours and sizes: what sigma draws. It is changed in place, so that
 * what is there stays where it is when more is loaded.
 */
import type { MemoryType } from "@cortex-memory/core/remote";
import { MultiDirectedGraph } from "graphology";
import { oneLine } from "../base/format.tsx";
import { groupOf, TYPE_LETTERS, TYPES } from "../base/words.ts";
import type { Edge, Filter, Neighbourhood, Node } from "./neighbourhood.ts";
import { isShown } from "./neighbourhood.ts";
import { firstPlace, type Point } from "./positions.ts";

/** What is drawn of a memory. */
export interface NodeLook {
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
export interface EdgeLook {
  size: number;
  color: string;
  type: "line" | "arrow";
  kind: string;
}

/** The graph that sigma draws. */
export type Scene = MultiDirectedGraph<NodeLook, EdgeLook>;

/** How memories are coloured. */
export type ColourBy = "type" | "kind";

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
export interface SceneOptions {
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
