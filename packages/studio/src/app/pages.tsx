/**
 * The pages: what the rail shows, in this order, and what the search field can jump to. A page is one row
 * here and one folder beside this one; it is loaded when somebody goes there.
 */
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { currentRoute } from "../base/route.ts";
import { Empty } from "../base/ui.tsx";
import type { IconName } from "./icons.tsx";

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
