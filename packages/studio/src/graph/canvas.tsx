/**
 * The canvas: draws the picture with WebGL, moves the camera, and tells what the person did. It draws what
 * it is given and decides nothing.
 */
import { useEffect, useRef } from "react";
import Sigma from "sigma";
import type { Palette, Scene } from "./scene.ts";

/** What the person did. */
export interface CanvasEvents {
  readonly onOpen: (id: string) => void;
  readonly onExpand: (id: string) => void;
  /** With the shift key: the other end of a path. */
  readonly onPath: (id: string) => void;
  /** A memory was put somewhere. */
  readonly onMoved: (id: string) => void;
}

/** Links that are drawn while the camera moves; of more, only the memories are. */
const EDGES_IN_MOTION = 3000;

/** What is set apart from the rest. */
export interface Emphasis {
  /** The memory of the panel. */
  readonly chosen: string | undefined;
  /** Memories and links of a path. */
  readonly path: ReadonlySet<string>;
}

/** The canvas; `onReady` is handed what draws, for pictures and for the camera. */
export function Canvas({
  scene,
  palette,
  emphasis,
  events,
  onReady,
}: {
  readonly scene: Scene;
  readonly palette: Palette;
  readonly emphasis: Emphasis;
  readonly events: CanvasEvents;
  readonly onReady: (sigma: Sigma | undefined) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const told = useRef(events);
  told.current = events;
  const shown = useRef(emphasis);
  shown.current = emphasis;
  const drawing = useRef<Sigma | undefined>(undefined);
  useEffect(() => {
    if (place.current === null) return;
    const sigma = makeSigma(scene, place.current, palette, shown);
    drawing.current = sigma;
    listen(sigma, scene, told);
    onReady(sigma);
    return () => {
      drawing.current = undefined;
      onReady(undefined);
      sigma.kill();
    };
  }, [scene, palette, onReady]);
  useEffect(() => {
    // The picture grows after it is first drawn: how much there is to move is known only now.
    const isMuch = scene.size > EDGES_IN_MOTION;
    if (drawing.current?.getSetting("hideEdgesOnMove") === !isMuch) {
      drawing.current.setSetting("hideEdgesOnMove", isMuch);
    }
    if (emphasis !== undefined) drawing.current?.refresh({ skipIndexation: true });
  }, [emphasis, scene]);
  return <div className="canvas" ref={place} aria-hidden="true" />;
}

function makeSigma(
  scene: Scene,
  place: HTMLElement,
  palette: Palette,
  shown: { readonly current: Emphasis },
): Sigma {
  const claimed = new Claims(() => marksOf(sigma, scene));
  const sigma: Sigma = new Sigma(scene as never, place, {
    allowInvalidContainer: true,
    labelFont: "system-ui, sans-serif",
    labelSize: 12,
    labelColor: { color: palette.ink },
    labelDensity: 1.5,
    labelGridCellSize: 90,
    labelRenderedSizeThreshold: 5,
    minCameraRatio: 0.02,
    maxCameraRatio: 6,
    stagePadding: 48,
    zIndex: true,
    defaultDrawNodeLabel: (context, data, settings) => {
      if (!data.label) return;
      context.font = `${settings.labelSize}px ${settings.labelFont}`;
      const { width: screen } = sigma.getDimensions();
      const label = fitting(context, data.label, LABEL_SHARE * screen);
      const box = labelPlaces(
        { x: data.x, y: data.y, size: data.size },
        { width: context.measureText(label).width, height: settings.labelSize },
        screen,
      ).find((place) => claimed.take(place, keyOf(data)));
      // One that would cross another, or a memory, waits until there is room.
      if (box !== undefined) drawLabel(context, label, box, palette);
    },
    defaultDrawNodeHover: (context, data, settings) => {
      drawRing(context, data, palette.accent);
      // What the pointer is on says its name, whatever stands there; one that does already stays as it is.
      if (claimed.has(keyOf(data)) || !data.label) return;
      context.font = `${settings.labelSize}px ${settings.labelFont}`;
      const { width: screen } = sigma.getDimensions();
      const width = context.measureText(data.label).width;
      const [box] = labelPlaces(data, { width, height: settings.labelSize }, screen);
      if (box === undefined) return;
      context.fillStyle = palette.surface;
      context.fillRect(box.left - 2, box.top - 2, box.width + 4, box.height + 4);
      drawLabel(context, data.label, box, palette);
    },
    nodeReducer: (id, look) => {
      const { chosen, path } = shown.current;
      if (path.size > 0 && !path.has(id)) return { ...look, color: faded(palette), label: "" };
      return chosen === id || path.has(id) ? { ...look, forceLabel: true, zIndex: 2 } : look;
    },
    edgeReducer: (id, look) => {
      const { path } = shown.current;
      if (path.size === 0) return look;
      return path.has(id) ? { ...look, size: 4, zIndex: 2 } : { ...look, color: faded(palette) };
    },
  });
  // Above the memories, also above the one that the pointer is on.
  const above = { afterLayer: "hoverNodes", style: { pointerEvents: "none" } };
  sigma.createCanvasContext("letters", above);
  sigma.resize(true);
  sigma.on("beforeRender", () => claimed.clear());
  sigma.on("afterRender", () => drawLetters(sigma, scene, palette, shown.current));
  return sigma;
}

/** Whose label it is: sigma says it, and its types do not. */
function keyOf(data: object): string {
  return "key" in data ? String(data.key) : "";
}

/** The share of the canvas that one label may have: on a phone a whole sentence would be cut by the edge. */
const LABEL_SHARE = 0.45;

/** As much of a text as has room. */
function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let cut = text.replace(/…$/, "");
  while (cut.length > 4 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut.trimEnd()}…`;
}

/** A label with an edge of the ground around it, so that links do not run through its letters. */
function drawLabel(
  context: CanvasRenderingContext2D,
  label: string,
  box: Box,
  palette: Palette,
): void {
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = palette.surface;
  context.fillStyle = palette.ink;
  const middle = box.top + box.height / 2;
  context.strokeText(label, box.left, middle);
  context.fillText(label, box.left, middle);
}

function drawRing(
  context: CanvasRenderingContext2D,
  { x, y, size }: { readonly x: number; readonly y: number; readonly size: number },
  colour: string,
): void {
  context.beginPath();
  context.arc(x, y, size + 3, 0, 2 * Math.PI);
  context.lineWidth = 2;
  context.strokeStyle = colour;
  context.stroke();
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Where a label may stand, best first: after its memory, before it, below it. */
function labelPlaces(
  { x, y, size }: { readonly x: number; readonly y: number; readonly size: number },
  { width, height }: { readonly width: number; readonly height: number },
  screen: number,
): readonly Box[] {
  const top = y - height / 2;
  const places = [
    { left: x + size + 4, top, width, height },
    { left: x - size - 4 - width, top, width, height },
    { left: x - width / 2, top: y + size + 4, width, height },
  ];
  // One that is cut by the edge is better than none, where no other fits.
  const whole = places.filter(({ left }) => left >= 0 && left + width <= screen);
  return whole.length === 0 ? places.slice(0, 1) : whole;
}

/** The places of the labels that are drawn: two never cross, and none lies over a memory. */
class Claims {
  readonly #marks: () => readonly Box[];
  #taken: Box[] | undefined;
  readonly #named = new Set<string>();

  constructor(marks: () => readonly Box[]) {
    this.#marks = marks;
  }

  /** A new picture: only the memories have their places. */
  clear(): void {
    this.#taken = undefined;
    this.#named.clear();
  }

  /** Whether a memory has its name beside it. */
  has(id: string): boolean {
    return this.#named.has(id);
  }

  take(box: Box, id: string): boolean {
    this.#taken ??= [...this.#marks()];
    const isFree = this.#taken.every(
      ({ left, top, width, height }) =>
        box.left > left + width ||
        left > box.left + box.width ||
        box.top > top + height ||
        top > box.top + box.height,
    );
    if (isFree) {
      this.#taken.push(box);
      this.#named.add(id);
    }
    return isFree;
  }
}

/** Memories around which labels are led; in a crowd of more, labels are few anyhow. */
const MARKS_MAX = 300;

/** Where the memories are drawn, in points of the screen. */
function marksOf(sigma: Sigma, scene: Scene): readonly Box[] {
  if (scene.order > MARKS_MAX) return [];
  return scene.nodes().flatMap((id): Box[] => {
    const data = sigma.getNodeDisplayData(id);
    if (data === undefined) return [];
    const { x, y } = sigma.framedGraphToViewport(data);
    const size = sigma.scaleSize(data.size);
    return [{ left: x - size, top: y - size, width: 2 * size, height: 2 * size }];
  });
}

/** Memories beyond which letters would be too small and too many. */
const LETTERS_MAX = 1500;

/**
 * The letter of its type in each memory that is large enough: colour never stands alone. The chosen ones and
 * those of a path have a ring, those that the person put somewhere a thin one.
 */
function drawLetters(sigma: Sigma, scene: Scene, palette: Palette, emphasis: Emphasis): void {
  const context = sigma.getCanvases().letters?.getContext("2d");
  if (context === null || context === undefined) return;
  const { width, height } = sigma.getDimensions();
  context.clearRect(0, 0, width, height);
  const hasLetters = scene.order <= LETTERS_MAX;
  context.textAlign = "center";
  context.textBaseline = "middle";
  scene.forEachNode((id, { letter, isPinned }) => {
    const isChosen = emphasis.chosen === id || emphasis.path.has(id);
    if (!hasLetters && !isChosen && !isPinned) return;
    const data = sigma.getNodeDisplayData(id);
    if (data === undefined) return;
    const size = sigma.scaleSize(data.size);
    const { x, y } = sigma.framedGraphToViewport(data);
    if (isChosen) drawRing(context, { x, y, size }, palette.accent);
    else if (isPinned) drawPinMark(context, { x, y, size }, palette);
    if (!hasLetters || size < 5) return;
    context.fillStyle = palette.letter;
    context.font = `700 ${Math.round(size * 1.2)}px system-ui, sans-serif`;
    context.fillText(letter, x, y + 0.5);
  });
}

/** A dot at the shoulder of a memory that stays where it was put. */
function drawPinMark(
  context: CanvasRenderingContext2D,
  { x, y, size }: { readonly x: number; readonly y: number; readonly size: number },
  palette: Palette,
): void {
  context.beginPath();
  context.arc(x + 0.75 * size, y - 0.75 * size, 3, 0, 2 * Math.PI);
  context.fillStyle = palette.ink;
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = palette.surface;
  context.stroke();
}

function faded(palette: Palette): string {
  return `${palette.soft}33`;
}

/** Whether an event is the second click of two. */
function isSecond({ detail }: UIEvent): boolean {
  return detail > 1;
}

/** Clicks, double clicks and drags. */
function listen(sigma: Sigma, scene: Scene, told: { readonly current: CanvasEvents }): void {
  let dragged: string | undefined;
  let hasMoved = false;
  // The first click opens the panel, which moves the picture: the second may land beside the memory.
  let clicked: string | undefined;
  sigma.on("clickNode", ({ node, event: { original } }) => {
    if (hasMoved || isSecond(original)) return;
    clicked = node;
    if (original.shiftKey) told.current.onPath(node);
    else told.current.onOpen(node);
  });
  sigma.on("clickStage", ({ event: { original } }) => {
    if (!isSecond(original)) clicked = undefined;
  });
  sigma.on("doubleClickNode", ({ preventSigmaDefault }) => preventSigmaDefault());
  sigma.on("doubleClickStage", ({ preventSigmaDefault }) => {
    if (clicked !== undefined) preventSigmaDefault();
  });
  const place = sigma.getContainer();
  const expand = () => {
    if (clicked !== undefined) told.current.onExpand(clicked);
  };
  // The browser tells two clicks from one by when the hand made them, not by when the page got to them.
  place.addEventListener("dblclick", expand);
  sigma.on("kill", () => place.removeEventListener("dblclick", expand));
  sigma.on("downNode", ({ node }) => {
    dragged = node;
    hasMoved = false;
    // The frame of the picture must not follow what is dragged.
    if (!sigma.getCustomBBox()) sigma.setCustomBBox(sigma.getBBox());
  });
  sigma.on("moveBody", ({ event, preventSigmaDefault }) => {
    if (dragged === undefined) return;
    hasMoved = true;
    scene.mergeNodeAttributes(dragged, { ...sigma.viewportToGraph(event), isPinned: true });
    preventSigmaDefault();
    event.original.preventDefault();
  });
  const drop = () => {
    if (dragged !== undefined && hasMoved) told.current.onMoved(dragged);
    dragged = undefined;
  };
  sigma.on("upNode", drop);
  sigma.on("upStage", drop);
}

/** Saves what is drawn as a PNG. */
export function savePicture(sigma: Sigma, name: string, surface: string): void {
  // Drawn anew and at once: what WebGL drew before may be gone.
  sigma.refresh({ schedule: false });
  const layers = Object.entries(sigma.getCanvases()).filter(([layer]) => layer !== "mouse");
  const { width, height } = layers[0]?.[1] ?? { width: 1, height: 1 };
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.fillStyle = surface;
  context.fillRect(0, 0, width, height);
  for (const [, layer] of layers) context.drawImage(layer, 0, 0);
  canvas.toBlob((blob) => {
    if (blob === null) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.png`;
    link.click();
    URL.revokeObjectURL(link.href);
  }, "image/png");
}

/** Brings a memory into the middle. */
export function lookAt(sigma: Sigma, id: string): void {
  const place = sigma.getNodeDisplayData(id);
  if (place === undefined) return;
  const duration = window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150;
  void sigma.getCamera().animate({ x: place.x, y: place.y, ratio: 0.35 }, { duration });
}
