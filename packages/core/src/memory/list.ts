/**
 * `list`: the memories that stand in one index, in the order in which they came there, page by page.
 * How the rows of an index are read, in the present and in the past, is left to `memory/members.ts`; a
 * list by the latest version, which no index holds, to `list-written.ts`. `slotHistory` is a list of
 * one slot.
 */
import { normaliseSlot } from "../codec/text.js";
import type { Asked } from "../contract/index.js";
import { LIST_BY, type MemoryPage, type SlotHistory, type SlotValue } from "../contract/memory.js";
import type { Memory } from "../contract/shapes.js";
import type { Engine } from "../engine/engine.js";
import { shapeMemory } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { frameTerm } from "../history/fold-state.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { INDEX } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { LIFECYCLES, MEMORY_TYPES, namesOf } from "../records/types.js";
import type { Access } from "../scope/access.js";
import { checkWritten, listWritten } from "./list-written.js";
import {
  entriesOf,
  firstPages,
  openMembers,
  realPlace,
  type SlotTurns,
  shownPlace,
  type Term,
  waitingRanges,
} from "./members.js";
import { shownMemories, standingVersions, timeAt, turnsAt, validBody } from "./read.js";

/** Members that one read asks for at most, beyond those wanted, where little of what is read is shown. */
const READ_MOST = 1024;

/** Lists memories by one index. */
export async function list(engine: Engine, asked: Asked<"list">): Promise<MemoryPage> {
  const { access, validAt, written, limit = LIMITS.listLimitDefault } = asked;
  if (written !== undefined) return listWritten(engine, checkWritten(asked, written), access);
  const terms = termsOf(asked);
  const reverse = asked.order !== "oldest";
  const answer = async (reader: Reader): Promise<MemoryPage> => {
    const given = asked.cursor === undefined ? undefined : parseCursor(asked.cursor);
    const start = given === undefined ? undefined : await realPlace(reader, given);
    const query = { terms, pageItems: limit, reverse, cursor: start };
    const source = await openMembers(reader, query);
    // States that are asked for by name are shown as they are stored, whatever their time.
    const isStored = asked.lifecycles !== undefined && validAt === undefined;
    const timeMs = validAt ?? (await timeAt(engine, reader));
    const turns = isStored ? () => true : await turnsAt(reader, access, timeMs);
    const memories: Memory[] = [];
    for (let size = limit; ; size = Math.max(limit, Math.min(4 * size, READ_MOST))) {
      const page = await source.next(size);
      reader.soon(() => ({ keys: entriesOf(terms, page.members) }));
      const found = await shapeAll(engine, reader, page.members, { access, validAt, turns });
      for (const [at, memory] of found.entries()) {
        if (memory !== undefined) memories.push(memory);
        if (memories.length < limit) continue;
        const more = page.more || at < found.length - 1;
        const end = page.members[at] ?? new Uint8Array(0);
        const cursor = more ? showCursor(await shownPlace(reader, end)) : undefined;
        return { memories, seq: reader.position, ...(cursor === undefined ? {} : { cursor }) };
      }
      // A page may hold nothing that was there at the position, or for this caller: read on.
      if (!page.more) return { memories, seq: reader.position };
    }
  };
  const isFirst = asked.asOf === undefined && asked.cursor === undefined;
  return Reader.with(engine.kv, asked.asOf, answer, [], () => ({
    ranges: [...waitingRanges(), ...(isFirst ? firstPages(terms, { limit, reverse }) : [])],
  }));
}

function termsOf(asked: Asked<"list">): readonly Term[] {
  const given = LIST_BY.filter((name) => asked[name] !== undefined);
  if (given.length > 1) {
    throw invalid(given.join(", "), "one of them: a list goes by one index", given.length);
  }
  const states =
    asked.lifecycles ?? (asked.validAt === undefined ? ["active"] : ["active", "archived"]);
  const codes = [...new Set(states)].map((state) => LIFECYCLES[state].code);
  return plainTerms(asked).flatMap(({ index, term }) =>
    codes.map((lifecycle) => ({ index, lifecycle, term })),
  );
}

function plainTerms(asked: Asked<"list">): readonly Omit<Term, "lifecycle">[] {
  const { type, tag, kind, slot, session, frame } = asked;
  if (tag !== undefined) return [{ index: INDEX.tag, term: Buffer.from(tag) }];
  if (kind !== undefined) return [{ index: INDEX.kind, term: Buffer.from(kind) }];
  if (slot !== undefined) return [{ index: INDEX.slot, term: Buffer.from(normaliseSlot(slot)) }];
  if (session !== undefined) return [{ index: INDEX.session, term: Buffer.from(session) }];
  if (frame !== undefined) {
    const { verb, object, ref } = frame;
    return [{ index: INDEX.frame, term: frameTerm(verb, object, ref) }];
  }
  const types =
    type === undefined ? namesOf(MEMORY_TYPES) : typeof type === "string" ? [type] : type;
  return [...new Set(types)].map((name) => ({
    index: INDEX.type,
    term: Uint8Array.of(MEMORY_TYPES[name].code),
  }));
}

async function shapeAll(
  engine: Engine,
  reader: Reader,
  members: readonly Bytes[],
  how: {
    readonly access: Access;
    readonly validAt: number | undefined;
    readonly turns: SlotTurns;
  },
): Promise<(Memory | undefined)[]> {
  const { access, validAt, turns } = how;
  const ids = members.map((member) => member.subarray(member.length - 16));
  if (validAt === undefined && access.kind === "owner" && reader.isAtHand) {
    const show = (memory: FoundMemory): Memory | undefined =>
      turns(memory) ? shapeMemory(engine.actor, memory) : undefined;
    return ids.map((id) => reader.showNow(id, show));
  }
  const rows = await reader.memoryRows(ids);
  const found = await reader.memories(ids, rows);
  const shown = await shownMemories(reader, access, found);
  if (validAt === undefined) {
    return shown.map((memory) =>
      memory !== undefined && turns(memory) ? shapeMemory(engine.actor, memory) : undefined,
    );
  }
  return Promise.all(
    shown.map(async (memory) => {
      if (memory === undefined) return undefined;
      const bodies = await standingVersions(reader, memory);
      const body = validBody(bodies, validAt);
      if (body === undefined || !turns(memory, body)) return undefined;
      return shapeMemory(engine.actor, memory, body);
    }),
  );
}

function parseCursor(text: string): Bytes {
  if (/^([0-9a-f]{44}|[0-9a-f]{48})$/.test(text)) return Buffer.from(text, "hex");
  throw invalid("cursor", "a cursor that a list gave", text);
}

function showCursor(member: Bytes): string {
  return Buffer.from(member).toString("hex");
}

/**
 * The values a slot has had, newest first, each with the time for which it held. A value that was
 * replaced is archived with its validity closed, so the history of a slot is read from the index of
 * slots and nothing else. Tombstoned values are left out: they were hidden on purpose.
 */
export async function slotHistory(
  engine: Engine,
  { slot: name, limit = LIMITS.listLimitDefault, asOf, access }: Asked<"slotHistory">,
): Promise<SlotHistory> {
  const slot = normaliseSlot(name);
  const page = await list(engine, {
    slot,
    lifecycles: ["active", "archived"],
    // One more than asked for: a value and its successor enter their ranges in the same entry.
    limit: limit + 1,
    asOf,
    access,
  });
  const nowMs = await Reader.with(engine.kv, asOf, (reader) => timeAt(engine, reader));
  const active = page.memories.filter(({ head }) => head.lifecycle === "active");
  // The live value that began last has its turn; a value that says nothing else has it at once.
  const begun = active
    .filter((memory) => startIn(memory) <= nowMs || memory.head.waits !== true)
    .sort((a, b) => startIn(b) - startIn(a));
  const values = page.memories.map((one) => shapeValue(one, begun[0]?.id, nowMs)).sort(newestFirst);
  return {
    slot,
    values: values.slice(0, limit),
    more: values.length > limit,
    seq: page.seq,
  };
}

function startIn({ versionRecord: { validFrom, createdAt } }: Memory): number {
  return validFrom ?? createdAt;
}

function shapeValue(memory: Memory, turn: Memory["id"] | undefined, nowMs: number): SlotValue {
  const { id, uri, text, head, versionRecord } = memory;
  const { validFrom, validTo, createdAt } = versionRecord;
  return {
    id,
    uri,
    text,
    current: id === turn,
    ...(head.waits === true && startIn(memory) > nowMs ? { waits: true } : {}),
    status: head.status,
    source: head.source,
    from: validFrom ?? createdAt,
    ...(validTo === undefined ? {} : { to: validTo }),
  };
}

/** The live value stands first whatever it says of its time; the others by when they began. */
function newestFirst(a: SlotValue, b: SlotValue): number {
  if (a.current !== b.current) return a.current ? -1 : 1;
  return b.from - a.from || (b.to ?? 0) - (a.to ?? 0) || (a.id < b.id ? 1 : -1);
}
