/**
 * The picture as a list, for whoever does not see it or would rather read: every memory that is drawn,
 * with the number of its links. Typing narrows it; a row brings its memory into the middle.
 */
import { useState } from "react";
import { counted } from "../base/format.tsx";
import { MemoryLine, Section } from "../base/ui.tsx";
import { isShown, type Neighbourhood } from "./neighbourhood.ts";
import type { View } from "./view.ts";

/** Rows at most; typing finds the others. */
const ROWS = 100;

/** The list. */
export function AsList({
  found,
  view,
  onFocus,
}: {
  readonly found: Neighbourhood;
  readonly view: View;
  readonly onFocus: (id: string) => void;
}) {
  const [typed, setTyped] = useState("");
  const shown = [...found.nodes.values()].filter((node) => isShown(node, view.filter));
  const sought = typed.trim().toLowerCase();
  const rows = shown.filter(({ text }) => text.toLowerCase().includes(sought));
  const degrees = new Map<string, number>();
  for (const { from, to } of found.edges.values()) {
    degrees.set(from, (degrees.get(from) ?? 0) + 1);
    degrees.set(to, (degrees.get(to) ?? 0) + 1);
  }
  const byLinks = [...rows].sort((a, b) => (degrees.get(b.id) ?? 0) - (degrees.get(a.id) ?? 0));
  return (
    <Section
      name="graph-list"
      title="As a list"
      aside={counted(shown.length, "memory", "memories")}
      isOpen={false}
    >
      <input
        type="text"
        aria-label="Find in the picture"
        placeholder="Find in the picture…"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          const [first] = byLinks;
          if (event.key === "Enter" && first !== undefined) onFocus(first.id);
        }}
      />
      {byLinks.slice(0, ROWS).map(({ id, type, text }) => (
        <MemoryLine key={id} id={id} type={type} text={text}>
          {counted(degrees.get(id) ?? 0, "link")}
          <button type="button" className="quiet" onClick={() => onFocus(id)}>
            show
          </button>
        </MemoryLine>
      ))}
      {rows.length > ROWS && (
        <p className="about">{counted(rows.length - ROWS, "more")}; type to narrow.</p>
      )}
    </Section>
  );
}
