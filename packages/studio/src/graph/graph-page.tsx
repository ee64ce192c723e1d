/**
 * The graph: a picture of memories and links that begins at a search, a memory or what matters most, and
 * grows where somebody double-clicks. The legend is the filter; below it stands what was left out.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type Sigma from "sigma";
import { go, hrefOf, hrefWith, useRoute } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Empty, Failure, PageHead } from "../base/ui.tsx";
import { Canvas, type Emphasis, lookAt, savePicture } from "./canvas.tsx";
import { AsList, Legend, StartField, Summary } from "./controls.tsx";
import { type Layout, startLayout } from "./layout.ts";
import { type Neighbourhood, readView, useNeighbourhood, type View } from "./neighbourhood.ts";
import {
  keepScene,
  newScene,
  type Palette,
  pathBetween,
  pinnedIn,
  placesOf,
  readPalette,
  type Scene,
  updateScene,
} from "./scene.ts";

/** The page. */
export function GraphPage() {
  const { params } = useRoute();
  const { graph } = useStudio();
  const view = useMemo(() => readView(params), [params]);
  const found = useNeighbourhood(view.start);
  const isEmpty = !found.isLoading && found.nodes.size === 0;
  return (
    <div className="graph-page">
      <PageHead
        title="Graph"
        about="Click a memory to read it, double-click to draw its neighbours, shift-click a second one for the way between the two. Drag one to pin it where you want it."
      />
      <StartField view={view} />
      {found.error !== undefined && found.error !== null && <Failure error={found.error} />}
      {isEmpty ? (
        <Empty title={view.start.words === undefined ? "Nothing to draw yet" : "Nothing found"}>
          {view.start.words === undefined ? (
            <p>
              Memories show here as dots and the links between them as lines, as soon as there are
              some. <a href={hrefOf("")}>How memories come in</a>
            </p>
          ) : (
            <p>
              No memory holds these words. Try others, or{" "}
              <a href={hrefWith({ q: undefined })}>begin at what matters most</a>.
            </p>
          )}
        </Empty>
      ) : (
        <Picture key={graph} found={found} view={view} />
      )}
    </div>
  );
}

function Picture({ found, view }: { readonly found: Neighbourhood; readonly view: View }) {
  const { graph } = useStudio();
  const { params } = useRoute();
  const palette = usePalette();
  const [sigma, setSigma] = useState<Sigma | undefined>(undefined);
  const picture = usePicture(found, view, palette);
  const { scene } = picture;
  const emphasis = useMemo(
    (): Emphasis => ({
      chosen: params.m,
      path:
        view.pathTo === undefined || params.m === undefined
          ? NO_PATH
          : pathBetween(picture.scene, params.m, view.pathTo),
    }),
    [params.m, view.pathTo, picture],
  );
  const events = {
    onOpen: (id: string) => open(scene, id),
    onExpand: (id: string) =>
      go(hrefWith({ open: [...new Set([...view.start.opened, id])].join(",") })),
    onPath: (id: string) => go(hrefWith(params.m === undefined ? { m: id } : { to: id })),
    onMoved: () => {
      keepScene(graph, scene);
      setPinned(pinnedIn(scene));
    },
  };
  const [pinned, setPinned] = useState(0);
  useEffect(() => setPinned(pinnedIn(picture.scene)), [picture]);
  const letGo = () => {
    scene.updateEachNodeAttributes((_, look) => ({ ...look, isPinned: false }));
    keepScene(graph, scene);
    setPinned(0);
  };
  const onReady = useCallback((made: Sigma | undefined) => setSigma(made), []);
  return (
    <>
      <div className="canvas-frame">
        <Canvas
          scene={scene}
          palette={palette}
          emphasis={emphasis}
          events={events}
          onReady={onReady}
        />
        <Legend found={found} view={view} />
      </div>
      <Summary
        found={found}
        view={view}
        shown={{ nodes: scene.order, edges: scene.size }}
        path={view.pathTo === undefined ? undefined : emphasis.path}
        pinned={pinned}
        onLetGo={letGo}
        onPicture={() =>
          sigma !== undefined && savePicture(sigma, `cortex-${graph}`, palette.surface)
        }
      />
      <AsList
        found={found}
        view={view}
        onFocus={(id) => sigma !== undefined && lookAt(sigma, id)}
      />
    </>
  );
}

const NO_PATH: ReadonlySet<string> = new Set();

/** Opens a memory beside the picture; one of another graph is gone to. */
function open(scene: Scene, id: string): void {
  const { toGraph, label } = scene.getNodeAttributes(id);
  const name = label.replace(/ in [^ ]*$/, "");
  go(
    toGraph === ""
      ? hrefWith({ m: id, to: undefined })
      : hrefOf("graph", { graph: toGraph, from: name, m: name, at: undefined }),
  );
}

/** The picture, brought to what is loaded; what is new is laid out while the rest stays. */
function usePicture(found: Neighbourhood, view: View, palette: Palette): { readonly scene: Scene } {
  const { graph } = useStudio();
  // The graph inside is changed in place; a new object around it says that it was.
  const [picture, setPicture] = useState(() => ({ scene: newScene() }));
  const layout = useRef<Layout | undefined>(undefined);
  // What a layout that was broken off had not placed yet.
  const unsettled = useRef(new Set<string>());
  const { scene } = picture;
  const { nodes, edges, salience } = found;
  useEffect(() => {
    const places = placesOf(graph, scene);
    const loaded = { nodes, edges, salience };
    const fresh = updateScene(scene, loaded, { ...view, palette, places });
    setPicture({ scene });
    if (fresh.length === 0) return;
    layout.current?.stop();
    for (const id of fresh) unsettled.current.add(id);
    // Where most is new, everything may move: it is another picture.
    const isNew = unsettled.current.size > scene.order / 2;
    layout.current = startLayout(scene, isNew ? new Set(scene.nodes()) : unsettled.current, () => {
      unsettled.current.clear();
      keepScene(graph, scene);
    });
  }, [scene, nodes, edges, salience, view, palette, graph]);
  useEffect(() => () => layout.current?.stop(), []);
  return picture;
}

/** The colours, read again when the system's theme changes. */
function usePalette(): Palette {
  const [palette, setPalette] = useState(readPalette);
  useEffect(() => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const read = () => setPalette(readPalette());
    dark.addEventListener("change", read);
    return () => dark.removeEventListener("change", read);
  }, []);
  return palette;
}
