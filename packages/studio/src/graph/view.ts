/**
 * The graph page's part of the address: where the picture begins, what is hidden, how it is coloured.
 */
import type { Params } from "../base/route.ts";
import { isMemoryType } from "../base/words.ts";
import type { Filter, Start } from "./neighbourhood.ts";
import type { ColourBy } from "./scene.ts";

/** What is looked at, and how. */
export interface View {
  readonly start: Start;
  readonly filter: Filter;
  readonly colourBy: ColourBy;
  /** The far end of a path that begins at the memory in the panel. */
  readonly pathTo: string | undefined;
}

/** How many memories a walk takes at most. */
export const MOST = [100, 300, 1000, 5000] as const;

/** Reads the view of an address. */
export function readView(params: Params): View {
  const { from, q, kind, tag } = params;
  const most = MOST.find((one) => String(one) === params.most) ?? (from === undefined ? 100 : 300);
  const hops = Math.min(6, Math.max(1, Number(params.hops ?? 2) || 2));
  const since = Date.parse(params.since ?? "");
  return {
    start: {
      ...(from === undefined ? {} : { from }),
      ...(q === undefined ? {} : { words: q }),
      opened: listIn(params.open),
      hops,
      most,
      hasRetired: params.life === "all",
    },
    filter: {
      hiddenTypes: new Set(listIn(params.hide).filter(isMemoryType)),
      hiddenGroups: new Set(listIn(params.nolinks)),
      ...(kind === undefined ? {} : { kind }),
      ...(tag === undefined ? {} : { tag }),
      ...(params.trust === "owner" || params.trust === "sure" ? { trust: params.trust } : {}),
      lifecycle: params.life === "all" ? "all" : "active",
      ...(Number.isNaN(since) ? {} : { sinceMs: since }),
    },
    colourBy: params.colour === "kind" ? "kind" : "type",
    pathTo: params.to,
  };
}

function listIn(text: string | undefined): readonly string[] {
  return (text ?? "").split(",").filter((one) => one !== "");
}

/** A set in an address with one member more, or one less. */
export function toggled(set: ReadonlySet<string>, member: string): string | undefined {
  const next = new Set(set);
  if (!next.delete(member)) next.add(member);
  return next.size === 0 ? undefined : [...next].join(",");
}
