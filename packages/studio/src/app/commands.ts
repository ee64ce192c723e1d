/**
 * What the search field and the keys can run by name: going to a page, going back to now, signing out.
 */
import { go, hrefOf, hrefWith } from "../base/route.ts";
import { currentKey, setKey } from "../base/session.tsx";
import { PAGES, SIDE_PAGES } from "./pages.tsx";

/** Something that can be run. */
export interface Command {
  readonly name: string;
  readonly about: string;
  readonly run: () => void;
}

/** Rows below the first, at most. */
const SHOWN = 8;

/** The commands that a text may mean; all of them for none. */
export function commandsFor(text: string, isOwner: boolean): readonly Command[] {
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
