/**
 * The icons of the rail, drawn with one line width. Each stands beside its word and says nothing alone.
 */

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
export type IconName = keyof typeof PATHS;

/** An icon. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
