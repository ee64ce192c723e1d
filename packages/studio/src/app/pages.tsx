/**
 * The pages: what the rail shows, in this order, each with its icon, and what the search field can jump to. A
 * page is one row here and one folder beside this one; it is loaded when somebody goes there.
 */
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { currentRoute } from "../base/route.ts";
import { Empty } from "../base/ui.tsx";

/** A page. */
export interface Page {
  /** Its name in addresses; the first page has none. */
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  /** What one finds there. */
  readonly about: string;
  /** The key that goes there after `g`. */
  readonly shortcut: string;
  /** The page of the rail that it belongs to, where it is none itself. */
  readonly under?: string;
  readonly Body: LazyExoticComponent<ComponentType>;
  /** Fetches what draws it, before it is wanted. */
  readonly load: () => Promise<unknown>;
}

/** A body that is fetched when it is drawn, or before; one that cannot be had says so in its place. */
function loaded(fetchBody: () => Promise<ComponentType>): Pick<Page, "Body" | "load"> {
  const load = async () => ({ default: await fetchBody().catch(() => PageAway) });
  return { Body: lazy(load), load };
}

/** Stands where a page would be that the server did not hand out. */
function PageAway() {
  return (
    <Empty title="This page could not be loaded">
      <p>The server cannot be reached, or was replaced by another version since you opened this.</p>
      <button type="button" onClick={() => window.location.reload()}>
        Load it again
      </button>
    </Empty>
  );
}

/** Every page. */
export const PAGES: readonly Page[] = [
  {
    path: "",
    name: "Home",
    icon: "home",
    about: "what it knows, what changed, what waits for you",
    shortcut: "h",
    ...loaded(async () => (await import("../home/home-page.tsx")).HomePage),
  },
  {
    path: "ask",
    name: "Ask",
    icon: "ask",
    about: "ask as an agent would, and see why each answer came",
    shortcut: "a",
    ...loaded(async () => (await import("../ask/ask-page.tsx")).AskPage),
  },
  {
    path: "graph",
    name: "Graph",
    icon: "graph",
    about: "memories and links as a picture",
    shortcut: "r",
    ...loaded(async () => (await import("../graph/graph-page.tsx")).GraphPage),
  },
  {
    path: "sessions",
    name: "Sessions",
    icon: "sessions",
    about: "conversations, and what was learned from them",
    shortcut: "s",
    ...loaded(async () => (await import("../sessions/sessions-page.tsx")).SessionsPage),
  },
  {
    path: "review",
    name: "Review",
    icon: "review",
    about: "what waits for your decision",
    shortcut: "v",
    ...loaded(async () => (await import("../review/review-page.tsx")).ReviewPage),
  },
  {
    path: "trust",
    name: "Trust",
    icon: "trust",
    about: "whether anything was altered: root, snapshots, proofs",
    shortcut: "t",
    ...loaded(async () => (await import("../trust/trust-page.tsx")).TrustPage),
  },
  {
    path: "time",
    name: "Time",
    icon: "time",
    about: "what happened, what changed between two points, undo",
    shortcut: "i",
    ...loaded(async () => (await import("../time/time-page.tsx")).TimePage),
  },
  {
    path: "graphs",
    name: "Graphs",
    icon: "graphs",
    about: "every graph of the server, and bringing memories in from a file",
    shortcut: "l",
    ...loaded(async () => (await import("../graphs/graphs-page.tsx")).GraphsPage),
  },
  {
    path: "health",
    name: "Health",
    icon: "health",
    about: "sizes, indexes, jobs, upkeep, what was slow",
    shortcut: "e",
    ...loaded(async () => (await import("../health/health-page.tsx")).HealthPage),
  },
];

/** Pages that are gone to from elsewhere, not from the rail. */
export const SIDE_PAGES: readonly Page[] = [
  {
    path: "context",
    name: "Context",
    icon: "ask",
    about: "what an agent has before it when it starts on something",
    shortcut: "c",
    under: "ask",
    ...loaded(async () => (await import("../context/context-page.tsx")).ContextPage),
  },
  {
    path: "find",
    name: "Find",
    icon: "ask",
    about: "memories by exact conditions",
    shortcut: "f",
    under: "ask",
    ...loaded(async () => (await import("../ask/find-page.tsx")).FindPage),
  },
];

/** The page of an address. */
export function pageAt(path: string): Page | undefined {
  return [...PAGES, ...SIDE_PAGES].find((page) => page.path === path);
}

/** Fetches the page of the address while the memory is still being opened. */
export function preloadPage(): void {
  void pageAt(currentRoute().page)?.load();
}

const PATHS = {
  home: "M3 10 10 4l7 6v6h-5v-4H8v4H3z",
  ask: "M4 4h12v9H9l-4 3v-3H4z M8 7.5h4 M8 10h2",
  graph:
    "M5 6a1.5 1.5 0 1 0 .01 0z M15 5a1.5 1.5 0 1 0 .01 0z M11 14a1.5 1.5 0 1 0 .01 0z M6.5 7 13.5 6.2 M6 8.4l4 5.4 M14.4 7.8 12 13.4",
  sessions: "M3 5h9v6H7l-2.5 2v-2H3z M14 8h3v6h-1.5v2L13 14H9v-1",
  review: "M10 3v13 M5 16h10 M4 6h12 M4 6l-2 5h4z M16 6l-2 5h4z",
  trust: "M10 3l6 2v5c0 4-3 6-6 7-3-1-6-3-6-7V5z M7.5 10l2 2 3.5-4",
  graphs: "M3 4h6v5H3z M11 4h6v5h-6z M3 11h6v5H3z M11 11h6v5h-6z",
  health: "M2 10h4l2-5 4 10 2-5h4",
  time: "M10 3a7 7 0 1 0 .01 0z M10 6v4l3 2",
} as const;

/** The name of an icon. */
type IconName = keyof typeof PATHS;

/** An icon. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
