/**
 * `share`: a slice of the graph that a delegate can check offline. The memories that match a
 * selector, the proof of every one of them, and the checkpoint that the proof is for, all of one
 * position.
 *
 * The proof shows that each memory is as given, to the last member: the entries that left it so are shown
 * as well, for times, names and positions stand in their headers. Newest ids come first, so that there is
 * one order. That no other memory matches, the proof does not show.
 */

import { normaliseSlot } from "../codec/text.js";
import { parseUlid } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import { SHARE_MAX, type SharedSlice } from "../contract/proof.js";
import type { Memory } from "../contract/shapes.js";
import { type Engine, findIds, parseRef } from "../engine/engine.js";
import { shapeMemory } from "../engine/shapes.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { type Bytes, compareBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { list } from "../memory/list.js";
import type { Head } from "../records/memory-record.js";
import type { MemoryType } from "../records/types.js";
import { OWNER } from "../scope/access.js";
import { proveAt } from "./prove.js";

/** Gives out the memories that match, newest first, with a proof of each. */
export async function share(engine: Engine, selector: Asked<"share">): Promise<SharedSlice> {
  const { limit = LIMITS.listLimitDefault } = selector;
  const matches = matcher(selector);
  const refs = selector.ids?.map((ref, at) => parseRef(engine, ref, `ids[${at}]`));
  const candidates = refs === undefined ? await listed(engine, selector, limit, matches) : [];
  return Reader.with(engine.kv, undefined, async (reader) => {
    const ids = refs === undefined ? candidates : await findIds(reader, refs);
    const found = await readAll(reader, ids);
    // Others may have written since the list was read: what is given out matches now.
    const { session } = selector;
    const kept = found.filter(
      ({
        head: {
          record: { head },
        },
      }) => (session === undefined || head.turn?.session === session ? matches(head) : false),
    );
    const given = kept.slice(0, limit).sort((a, b) => compareBytes(b.id, a.id));
    const memories = given.map((memory) => shapeMemory(engine.actor, memory));
    const { proof, checkpoint } = await proveAt(engine, reader, {
      memories: memories.map(({ id }) => parseRef(engine, id, "id")),
      edges: [],
      seqs: entriesOf(memories),
      since: undefined,
      access: OWNER,
    });
    return { memories, proof, checkpoint, seq: reader.seq };
  });
}

/** The entries that say when and by whom memories were left as they are, each once, in their order. */
function entriesOf(memories: readonly Memory[]): readonly number[] {
  const seqs = memories.flatMap(({ seq, versionRecord }) => [seq, versionRecord.seq]);
  return [...new Set(seqs)].sort((a, b) => a - b);
}

/** What of a head a selector looks at; the session, which no caller sees in a head, apart. */
type Matched = Pick<Head, "tags" | "kind" | "slot" | "lifecycle"> & { readonly type: MemoryType };

function matcher(selector: Asked<"share">): (head: Matched) => boolean {
  const { types, tags = [], kind, lifecycles = ["active"] } = selector;
  const slot = selector.slot === undefined ? undefined : normaliseSlot(selector.slot);
  return (head) =>
    (types === undefined || types.includes(head.type)) &&
    tags.every((tag) => head.tags.includes(tag)) &&
    (kind === undefined || head.kind === kind) &&
    (slot === undefined || head.slot === slot) &&
    lifecycles.some((lifecycle) => lifecycle === head.lifecycle);
}

/** The ids that match at some position, by the narrowest index the selector names. */
async function listed(
  engine: Engine,
  selector: Asked<"share">,
  limit: number,
  matches: (head: Matched) => boolean,
): Promise<readonly Bytes[]> {
  const ids: Bytes[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list(engine, {
      ...indexOf(selector),
      ...(selector.lifecycles === undefined ? {} : { lifecycles: selector.lifecycles }),
      ...(cursor === undefined ? {} : { cursor }),
      limit: SHARE_MAX,
      access: OWNER,
    });
    for (const { id, type, head } of page.memories) {
      if (matches({ ...head, type })) ids.push(parseUlid(id) ?? new Uint8Array(0));
    }
    cursor = page.cursor;
    if (cursor === undefined || ids.length >= limit) return ids.slice(0, limit);
  }
}

function indexOf(selector: Asked<"share">): Partial<Asked<"list">> {
  const { types, tags, kind, slot, session } = selector;
  const [tag] = tags ?? [];
  if (session !== undefined) return { session };
  if (slot !== undefined) return { slot };
  if (tag !== undefined) return { tag };
  if (kind !== undefined) return { kind };
  return types === undefined ? {} : { type: types };
}

async function readAll(
  reader: Reader,
  ids: readonly (Bytes | undefined)[],
): Promise<readonly FoundMemory[]> {
  const known = ids.flatMap((id) => id ?? []);
  const unique = [...new Map(known.map((id) => [keyString(id), id])).values()];
  const rows = await reader.memoryRows(unique);
  const found = await reader.memories(unique, rows);
  return found.flatMap((memory) => memory ?? []);
}
