/**
 * The one search field: words ask, `type:goal` finds, an id jumps, `>` runs a command. Below it stands
 * what Enter is about to do, and the pages and commands that the text may mean: going to a page, going back to
 * now, signing out.
 */
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import { isTyping } from "../base/dialog.tsx";
import { go, hrefOf, hrefWith, useRoute } from "../base/route.ts";
import { currentKey, setKey } from "../base/session.tsx";
import { useStudio } from "../base/studio.tsx";
import { type Intent, intentOf, intentWords } from "../base/typed.ts";
import { PAGES, SIDE_PAGES } from "./pages.tsx";

interface Choice {
  readonly key: string;
  readonly label: string;
  readonly hint: string;
  readonly run: () => void;
}

/** The field. */
export function SearchField() {
  const { page, params } = useRoute();
  const studio = useStudio();
  const [typed, setTyped] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  useFocusKeys(field);
  // A question that the address holds stands in the field as well.
  const asked = page === "ask" || page === "find" ? (params.q ?? "") : "";
  useEffect(() => setTyped(asked), [asked]);
  const choices = choicesFor(typed, studio.isOwner);
  const chosen = Math.min(at, choices.length - 1);
  const run = (choice: Choice | undefined) => {
    if (choice === undefined) return;
    setOpen(false);
    field.current?.blur();
    choice.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((chosen + step + choices.length) % choices.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(choices[chosen]);
    } else if (event.key === "Escape") {
      setOpen(false);
      field.current?.blur();
    }
  };
  return (
    <search className="search">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label="Ask, find or jump"
        aria-expanded={isOpen}
        aria-controls={list}
        aria-activedescendant={isOpen ? `${list}-${chosen}` : undefined}
        placeholder="Ask, find or jump…"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      <kbd className="search-key">/</kbd>
      <Choices
        id={list}
        isOpen={isOpen}
        choices={choices}
        chosen={chosen}
        onPoint={setAt}
        onRun={run}
      />
    </search>
  );
}

interface ChoicesProps {
  readonly id: string;
  readonly isOpen: boolean;
  readonly choices: readonly Choice[];
  readonly chosen: number;
  readonly onPoint: (at: number) => void;
  readonly onRun: (choice: Choice) => void;
}

/** What Enter would do, and what else the text may mean. The field keeps the focus all the while. */
function Choices({ id, isOpen, choices, chosen, onPoint, onRun }: ChoicesProps) {
  return (
    <div
      className="search-list"
      id={id}
      role="listbox"
      aria-label="What Enter does"
      hidden={!isOpen}
    >
      {choices.map((choice, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys, and says which row is meant
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
        <div
          key={choice.key}
          id={`${id}-${index}`}
          className="choice"
          role="option"
          aria-selected={index === chosen}
          // A press on a row must not take the focus away before the click.
          onMouseDown={(event) => event.preventDefault()}
          onMouseEnter={() => onPoint(index)}
          onClick={() => onRun(choice)}
        >
          <span dir="auto">{choice.label}</span>
          <span className="hint">{choice.hint}</span>
        </div>
      ))}
    </div>
  );
}

/** `/` and ⌘K or Ctrl K put the cursor into the field. */
function useFocusKeys(field: { readonly current: HTMLInputElement | null }): void {
  useLayoutEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (document.querySelector("dialog[open]") !== null) return;
      const isPalette = event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey);
      const isSlash = event.key === "/" && !isTyping(event.target);
      if (!isPalette && !isSlash) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [field]);
}

function choicesFor(typed: string, isOwner: boolean): readonly Choice[] {
  const intent = intentOf(typed);
  const first: Choice = {
    key: "intent",
    label: intentWords(intent),
    hint: intent.kind === "nothing" ? "" : "Enter",
    run: () => follow(intent),
  };
  const commands = commandsFor(intent.kind === "command" ? intent.text : typed, isOwner);
  const rest = commands.map(({ name, about, run }) => ({
    key: name,
    label: name,
    hint: about,
    run,
  }));
  return intent.kind === "command" && rest.length > 0 ? rest : [first, ...rest];
}

function follow(intent: Intent): void {
  const hash = addressOf(intent);
  if (hash !== undefined) go(hash);
}

/** Where an intent leads; commands have rows of their own. */
function addressOf(intent: Intent): string | undefined {
  switch (intent.kind) {
    case "ask":
      return hrefOf("ask", { q: intent.question });
    case "find":
      return hrefOf("find", { q: intent.query });
    case "memory":
      return hrefWith({ m: intent.id });
    case "moment":
      return hrefWith({ at: String(intent.seq) });
    case "command":
    case "nothing":
      return undefined;
  }
}

/** Something that can be run. */
interface Command {
  readonly name: string;
  readonly about: string;
  readonly run: () => void;
}

/** Rows below the first, at most. */
const SHOWN = 8;

/** The commands that a text may mean; all of them for none. */
function commandsFor(text: string, isOwner: boolean): readonly Command[] {
  const sought = text.trim().toLowerCase();
  return allCommands(isOwner)
    .filter(({ name, about }) => `${name} ${about}`.toLowerCase().includes(sought))
    .slice(0, SHOWN);
}

function allCommands(isOwner: boolean): readonly Command[] {
  const pages = [...PAGES, ...SIDE_PAGES].map(({ path, name, about }) => ({
    name,
    about,
    run: () => go(hrefOf(path)),
  }));
  const now = {
    name: "Now",
    about: "show the present",
    run: () => go(hrefWith({ at: undefined })),
  };
  const out = {
    name: "Sign out",
    about: "forget the key of this tab",
    run: () => setKey(undefined),
  };
  return [...pages, ...(isOwner ? [now] : []), ...(currentKey() === undefined ? [] : [out])];
}
