/**
 * The pages: what the rail shows, in this order, and what the search field can jump to. A page is one row
 * here and one folder beside this one; it is loaded when somebody goes there.
 */
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
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
  readonly Body: LazyExoticComponent<ComponentType>;
}

/** Every page. */
export const PAGES: readonly Page[] = [
  {
    path: "",
    name: "Home",
    icon: "home",
    about: "what it knows, what changed, what waits for you",
    shortcut: "h",
    Body: lazy(async () => ({ default: (await import("../home/home-page.tsx")).HomePage })),
  },
  {
    path: "ask",
    name: "Ask",
    icon: "ask",
    about: "ask as an agent would, and see why each answer came",
    shortcut: "a",
    Body: lazy(async () => ({ default: (await import("../ask/ask-page.tsx")).AskPage })),
  },
  {
    path: "graph",
    name: "Graph",
    icon: "graph",
    about: "memories and links as a picture",
    shortcut: "r",
    Body: lazy(async () => ({ default: (await import("../graph/graph-page.tsx")).GraphPage })),
  },
  {
    path: "sessions",
    name: "Sessions",
    icon: "sessions",
    about: "conversations, and what was learned from them",
    shortcut: "s",
    Body: lazy(async () => ({
      default: (await import("../sessions/sessions-page.tsx")).SessionsPage,
    })),
  },
  {
    path: "review",
    name: "Review",
    icon: "review",
    about: "what waits for your decision",
    shortcut: "v",
    Body: lazy(async () => ({ default: (await import("../review/review-page.tsx")).ReviewPage })),
  },
  {
    path: "trust",
    name: "Trust",
    icon: "trust",
    about: "whether anything was altered: root, snapshots, proofs",
    shortcut: "t",
    Body: lazy(async () => ({ default: (await import("../trust/trust-page.tsx")).TrustPage })),
  },
  {
    path: "time",
    name: "Time",
    icon: "time",
    about: "what happened, what changed between two points, undo",
    shortcut: "i",
    Body: lazy(async () => ({ default: (await import("../time/time-page.tsx")).TimePage })),
  },
  {
    path: "graphs",
    name: "Graphs",
    icon: "graphs",
    about: "every graph of the server, and bringing memories in from a file",
    shortcut: "l",
    Body: lazy(async () => ({ default: (await import("../graphs/graphs-page.tsx")).GraphsPage })),
  },
  {
    path: "health",
    name: "Health",
    icon: "health",
    about: "sizes, indexes, jobs, upkeep, what was slow",
    shortcut: "e",
    Body: lazy(async () => ({ default: (await import("../health/health-page.tsx")).HealthPage })),
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
    Body: lazy(async () => ({
      default: (await import("../context/context-page.tsx")).ContextPage,
    })),
  },
  {
    path: "find",
    name: "Find",
    icon: "ask",
    about: "memories by exact conditions",
    shortcut: "f",
    Body: lazy(async () => ({ default: (await import("../ask/find-page.tsx")).FindPage })),
  },
];

/** The page of an address. */
export function pageAt(path: string): Page | undefined {
  return [...PAGES, ...SIDE_PAGES].find((page) => page.path === path);
}
