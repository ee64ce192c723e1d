/**
 * A search by exact conditions as people type it: `type:goal tag:work is:archived some words`. Pure: text
 * in, the input of `find` out. Words of no field have to be in the memory, every one.
 */
import { MEMORY_TYPES, type MemoryType } from "@cortex-memory/core/remote";

/** States of a memory that a search can ask for; what was forgotten cannot be found. */
const STATES = ["active", "archived", "tombstoned"] as const;

type State = (typeof STATES)[number];

/** What to find. */
export interface FindQuery {
  readonly type?: readonly MemoryType[];
  readonly kinds?: readonly string[];
  readonly tags?: readonly string[];
  readonly slot?: string;
  readonly session?: string;
  readonly lifecycles?: readonly State[];
  readonly text?: string;
}

/** What a text means, and what of it is not understood. */
export interface ReadQuery {
  readonly query: FindQuery;
  readonly wrong: readonly string[];
}

/** Reads a text; values with spaces stand in double quotes. */
export function readQuery(text: string): ReadQuery {
  const all: { [field: string]: string[] } = {};
  const free: string[] = [];
  for (const [part, field, quoted, bare] of text.matchAll(/(\w+):(?:"([^"]*)"|(\S+))|\S+/g)) {
    const value = quoted ?? bare;
    if (field !== undefined && value !== undefined && FIELDS.has(field)) {
      all[field] = [...(all[field] ?? []), value];
    } else {
      free.push(part.replaceAll('"', ""));
    }
  }
  const types = (all.type ?? []).filter(isType);
  const states = (all.is ?? []).filter(isState);
  const wrong = [
    ...(all.type ?? []).filter((one) => !isType(one)).map((one) => `type:${one}`),
    ...(all.is ?? []).filter((one) => !isState(one)).map((one) => `is:${one}`),
  ];
  const [slot] = all.slot ?? [];
  const [session] = all.session ?? [];
  const query: FindQuery = {
    ...(types.length === 0 ? {} : { type: types }),
    ...(all.kind === undefined ? {} : { kinds: all.kind }),
    ...(all.tag === undefined ? {} : { tags: all.tag }),
    ...(slot === undefined ? {} : { slot }),
    ...(session === undefined ? {} : { session }),
    ...(states.length === 0 ? {} : { lifecycles: states }),
    ...(free.length === 0 ? {} : { text: free.join(" ") }),
  };
  return { query, wrong };
}

const FIELDS = new Set(["type", "kind", "tag", "slot", "session", "is"]);

function isType(name: string): name is MemoryType {
  return Object.hasOwn(MEMORY_TYPES, name);
}

function isState(name: string): name is State {
  return STATES.some((state) => state === name);
}
