/**
 * What stands around the picture: where it begins, the legend that is also the filter, what was left out, and
 * the picture as a list.
 */
import { type FormEvent, useId, useState } from "react";
import { count, counted } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefWith } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { MemoryLine, Section } from "../base/ui.tsx";
import { groupOf, TYPE_LETTERS, TYPES, typeMeaning } from "../base/words.ts";
import { isShown, MOST, type Neighbourhood, toggled, type View } from "./neighbourhood.ts";
import { GROUPS } from "./scene.ts";

/** Where the picture begins. */
export function StartField({ view: { start } }: { readonly view: View }) {
  const [words, setWords] = useState(start.words ?? "");
  const id = useId();
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    go(hrefWith({ q: words.trim(), from: undefined, open: undefined, to: undefined }));
  };
  return (
    <form className="graph-start" onSubmit={onSubmit}>
      <label htmlFor={id}>Begin at</label>
      <input
        id={id}
        type="text"
        value={words}
        placeholder="words, or nothing for what matters most"
        onChange={(event) => setWords(event.target.value)}
      />
      <button type="submit">Draw</button>
      {start.from !== undefined && (
        <>
          <span className="about">around one memory,</span>
          <label>
            within{" "}
            <select
              value={start.hops}
              onChange={(event) => go(hrefWith({ hops: event.target.value }))}
            >
              {[1, 2, 3, 4, 6].map((hops) => (
                <option key={hops} value={hops}>
                  {counted(hops, "link")}
                </option>
              ))}
            </select>
          </label>
        </>
      )}
      <label>
        at most{" "}
        <select value={start.most} onChange={(event) => go(hrefWith({ most: event.target.value }))}>
          {MOST.map((most) => (
            <option key={most} value={most}>
              {count(most)}
            </option>
          ))}
        </select>{" "}
        from each
      </label>
    </form>
  );
}

/** The legend: what each colour is, how many there are, and whether it is shown. */
export function Legend({ found, view }: { readonly found: Neighbourhood; readonly view: View }) {
  const { filter, colourBy } = view;
  const perType = new Map<string, number>();
  for (const { type } of found.nodes.values()) perType.set(type, (perType.get(type) ?? 0) + 1);
  const perGroup = new Map<string, number>();
  for (const { kind } of found.edges.values()) {
    perGroup.set(groupOf(kind), (perGroup.get(groupOf(kind)) ?? 0) + 1);
  }
  return (
    <aside className="legend" aria-label="Legend and filter">
      <h2>Memories</h2>
      <ul>
        {TYPES.filter((type) => perType.has(type)).map((type) => (
          <li key={type}>
            <button
              type="button"
              aria-pressed={!filter.hiddenTypes.has(type)}
              title={typeMeaning(type)}
              onClick={() => go(hrefWith({ hide: toggled(filter.hiddenTypes, type) }))}
            >
              <span className={`type-mark type-${type}`} aria-hidden="true">
                {TYPE_LETTERS[type]}
              </span>
              {type}
              <span className="number">{perType.get(type)}</span>
            </button>
          </li>
        ))}
      </ul>
      <h2>Links</h2>
      {perGroup.size === 0 && <p className="about">none between these</p>}
      <ul>
        {GROUPS.filter((group) => perGroup.has(group)).map((group) => (
          <li key={group}>
            <button
              type="button"
              aria-pressed={!filter.hiddenGroups.has(group)}
              title={GROUP_WORDS[group].about}
              onClick={() => go(hrefWith({ nolinks: toggled(filter.hiddenGroups, group) }))}
            >
              <span className={`group-line group-${group}`} aria-hidden="true" />
              {GROUP_WORDS[group].name}
              <span className="number">{perGroup.get(group)}</span>
            </button>
          </li>
        ))}
      </ul>
      <Filters found={found} view={view} />
      <label>
        Colour by{" "}
        <select value={colourBy} onChange={(event) => go(hrefWith({ colour: event.target.value }))}>
          <option>type</option>
          <option>kind</option>
        </select>
      </label>
    </aside>
  );
}

const GROUP_WORDS: {
  readonly [group in (typeof GROUPS)[number]]: { readonly name: string; readonly about: string };
} = {
  lifecycle: {
    name: "replaces, disputes",
    about: "one replaces, supports or contradicts the other",
  },
  factual: {
    name: "causes, part of",
    about: "one causes, enables, blocks or is a part of the other",
  },
  thematic: { name: "same subject", about: "both are about the same" },
  provenance: { name: "cites, made from", about: "one was made from, or cites, the other" },
  legacy: { name: "related", about: "related, without saying how" },
  open: { name: "own kinds", about: "kinds of this graph's own" },
};

function Filters({
  found,
  view: { filter },
}: {
  readonly found: Neighbourhood;
  readonly view: View;
}) {
  const heads = [...found.nodes.values()].map(({ head }) => head);
  const kinds = distinct(heads.flatMap(({ kind }) => (kind === undefined ? [] : [kind])));
  const tags = distinct(heads.flatMap((head) => head.tags));
  return (
    <details>
      <summary>More filters</summary>
      <Choice label="Kind" value={filter.kind} options={kinds} param="kind" />
      <Choice label="Tag" value={filter.tag} options={tags} param="tag" />
      <Choice label="Trust" value={filter.trust} options={["owner", "sure"]} param="trust" />
      <Choice
        label="Life"
        value={filter.lifecycle === "all" ? "all" : undefined}
        options={["all"]}
        param="life"
      />
      <label>
        Since{" "}
        <input
          type="date"
          value={
            filter.sinceMs === undefined ? "" : new Date(filter.sinceMs).toISOString().slice(0, 10)
          }
          onChange={(event) => go(hrefWith({ since: event.target.value }))}
        />
      </label>
    </details>
  );
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort().slice(0, 200);
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly options: readonly string[];
  readonly param: string;
}

const OPTION_WORDS: { readonly [option: string]: string } = {
  owner: "said by the owner",
  sure: "confirmed or undisputed",
  all: "history and retired as well",
};

function Choice({ label, value, options, param }: ChoiceProps) {
  return (
    <label>
      {label}{" "}
      <select
        value={value ?? ""}
        onChange={(event) => go(hrefWith({ [param]: event.target.value }))}
      >
        <option value="">{param === "life" ? "current" : "any"}</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {OPTION_WORDS[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What is shown, and what is not. */
export function Summary({
  found,
  view,
  shown,
  path,
  pinned,
  onLetGo,
  onPicture,
}: {
  readonly found: Neighbourhood;
  readonly view: View;
  readonly shown: { readonly nodes: number; readonly edges: number };
  readonly path: ReadonlySet<string> | undefined;
  /** Memories that the person put somewhere. */
  readonly pinned: number;
  readonly onLetGo: () => void;
  readonly onPicture: () => void;
}) {
  const { isOwner } = useStudio();
  const stats = useRead(["stats"], (memory) => memory.stats(), { enabled: isOwner });
  const hidden = found.nodes.size - shown.nodes;
  const all = stats.data?.memories.active;
  return (
    <p className="graph-summary">
      <span className="graph-words">
        {counted(shown.nodes, "memory", "memories")} and {counted(shown.edges, "link")} are drawn
        {all !== undefined && ` of ${counted(all, "memory", "memories")}`}
        {hidden > 0 && `; ${count(hidden)} loaded but hidden by the filter`}
        {found.isCut && "; walks ended at their limit, so neighbours are missing"}
        {found.isLoading ? "; still loading…" : "."}
      </span>
      {path !== undefined && (
        <span>
          {path.size === 0
            ? "No way between the two is drawn."
            : `The way between the two has ${counted((path.size - 1) / 2, "link")}.`}{" "}
          <a href={hrefWith({ to: undefined })}>Hide the way</a>
        </span>
      )}
      {view.start.opened.length > 0 && (
        <a href={hrefWith({ open: undefined })}>
          Close {counted(view.start.opened.length, "opened memory", "opened memories")}
        </a>
      )}
      {pinned > 0 && (
        <button type="button" className="small" onClick={onLetGo}>
          Unpin {counted(pinned, "memory", "memories")}
        </button>
      )}
      <button type="button" className="small" onClick={onPicture}>
        Save as PNG
      </button>
    </p>
  );
}

/** Rows at most; typing finds the others. */
const ROWS = 100;

/**
 * The picture as a list, for whoever does not see it or would rather read: every memory that is drawn, with the
 * number of its links. Typing narrows it; a row brings its memory into the middle.
 */
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
