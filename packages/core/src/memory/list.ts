/**
 * `list`: the memories that stand in one index, in the order in which they came there, page by page.
 * How the rows of an index are read, in the present and in the past, is left to `memory/members.ts`.
 */

import { checkOptions, type Engine } from "../engine/engine.js";
import { type Memory, shapeMemory } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { frameTerm } from "../history/fold-state.js";
import { type AsOf, Reader } from "../history/reader.js";
import { INDEX } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { checkText, parseWith } from "../records/fields.js";
import { checkTime, type Frame, frameSchema } from "../records/frames.js";
import {
  checkMemoryType,
  checkNameOf,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  namesOf,
} from "../records/types.js";
import { type Access, OWNER } from "../scope/access.js";
import { openMembers, type Term } from "./members.js";
import { shownMemories, standingVersions, validBody } from "./read.js";
import { checkSlot } from "./write-input.js";

/** What to list: at most one of type(s), tag, kind, slot, session, frame; none lists every type. */
export interface ListOptions {
  readonly type?: MemoryType | readonly MemoryType[];
  readonly tag?: string;
  readonly kind?: string;
  readonly slot?: string;
  readonly session?: string;
  readonly frame?: Frame;
  /** Which states to show; active alone when not given. */
  readonly lifecycles?: readonly Exclude<Lifecycle, "erased">[];
  readonly order?: "newest" | "oldest";
  readonly limit?: number;
  /** Where the page before ended. */
  readonly cursor?: string;
  readonly asOf?: AsOf;
  /** World time: the version of each memory that was valid then; archived ones are included. */
  readonly validAt?: number;
  readonly access?: Access;
}

/** One page of a list. */
export interface MemoryPage {
  readonly memories: readonly Memory[];
  /** Give it back to read on; absent at the end. */
  readonly cursor?: string;
  readonly seq: number;
}

const INDEXES = ["type", "tag", "kind", "slot", "session", "frame"] as const;

const LIST_OPTIONS = [
  ...INDEXES,
  "lifecycles",
  "order",
  "limit",
  "cursor",
  "asOf",
  "validAt",
  "access",
];

/** Members that one read asks for at most, beyond those wanted, where little of what is read is shown. */
const READ_MOST = 1024;

/** Lists memories by one index. */
export async function list(engine: Engine, options: ListOptions = {}): Promise<MemoryPage> {
  checkOptions(options, LIST_OPTIONS);
  const terms = termsOf(options);
  const limit = checkLimit(options.limit);
  const access = options.access ?? OWNER;
  const reverse = checkOrder(options.order) === "newest";
  return Reader.with(engine.kv, options.asOf, async (reader) => {
    const start = options.cursor === undefined ? undefined : parseCursor(options.cursor);
    const query = { terms, pageItems: limit, reverse, cursor: start };
    const source = await openMembers(reader, query);
    const memories: Memory[] = [];
    for (let size = limit; ; size = Math.max(limit, Math.min(4 * size, READ_MOST))) {
      const page = await source.next(size);
      const found = await shapeAll(engine, reader, page.members, access, options.validAt);
      for (const [at, memory] of found.entries()) {
        if (memory !== undefined) memories.push(memory);
        if (memories.length < limit) continue;
        const more = page.more || at < found.length - 1;
        const cursor = showCursor(page.members[at]);
        return { memories, seq: reader.seq, ...(more ? { cursor } : {}) };
      }
      // A page may hold nothing that was there at the position, or for this caller: read on.
      if (!page.more) return { memories, seq: reader.seq };
    }
  });
}

function termsOf(options: ListOptions): readonly Term[] {
  const given = INDEXES.filter((name) => options[name] !== undefined);
  if (given.length > 1) {
    throw invalid(given.join(", "), "one of them: a list goes by one index", given.length);
  }
  const states =
    options.lifecycles ?? (options.validAt === undefined ? ["active"] : ["active", "archived"]);
  if (!Array.isArray(states) || states.length === 0) {
    throw invalid("lifecycles", "a list of at least one", states);
  }
  if (options.validAt !== undefined) checkTime(options.validAt, "validAt");
  const lifecycles = [...new Set(states)].map((state, at) => {
    const { erased: _, ...shown } = LIFECYCLES;
    return shown[checkNameOf(shown, state, { field: `lifecycles[${at}]` })].code;
  });
  const terms = plainTerms(options);
  return terms.flatMap(({ index, term }) =>
    lifecycles.map((lifecycle) => ({ index, lifecycle, term })),
  );
}

function plainTerms(options: ListOptions): readonly Omit<Term, "lifecycle">[] {
  const { type, tag, kind, slot, session, frame } = options;
  if (tag !== undefined) return [{ index: INDEX.tag, term: textTerm(tag, "tag") }];
  if (kind !== undefined) return [{ index: INDEX.kind, term: textTerm(kind, "kind") }];
  if (slot !== undefined)
    return [{ index: INDEX.slot, term: Buffer.from(checkSlot(slot), "utf8") }];
  if (session !== undefined) return [{ index: INDEX.session, term: textTerm(session, "session") }];
  if (frame !== undefined) {
    const { verb, object, ref } = parseWith(frameSchema, frame, "frame");
    return [{ index: INDEX.frame, term: frameTerm(verb, object, ref) }];
  }
  const types = type === undefined ? namesOf(MEMORY_TYPES) : Array.isArray(type) ? type : [type];
  if (types.length === 0) throw invalid("type", "at least one type", types);
  return [...new Set(types)].map((name) => ({
    index: INDEX.type,
    term: Uint8Array.of(MEMORY_TYPES[checkMemoryType(name)].code),
  }));
}

function textTerm(text: unknown, field: string): Bytes {
  return Buffer.from(
    checkText(text, field, { maxBytes: LIMITS.sessionBytes, control: true }),
    "utf8",
  );
}

async function shapeAll(
  engine: Engine,
  reader: Reader,
  members: readonly Bytes[],
  access: Access,
  validAt: number | undefined,
): Promise<(Memory | undefined)[]> {
  const ids = members.map((member) => member.subarray(member.length - 16));
  const rows = await reader.memoryRows(ids);
  const found = await reader.memories(ids, rows);
  const shown = await shownMemories(reader, access, found);
  return Promise.all(
    shown.map(async (memory) => {
      if (memory === undefined) return undefined;
      if (validAt === undefined) return shapeMemory(engine.actor, memory);
      const bodies = await standingVersions(reader, memory);
      const body = validBody(bodies, validAt);
      return body === undefined ? undefined : shapeMemory(engine.actor, memory, body);
    }),
  );
}

/** Checks a page size. */
export function checkLimit(limit: unknown, max: number = LIMITS.listLimit): number {
  if (limit === undefined) return Math.min(LIMITS.listLimitDefault, max);
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit >= 1 && limit <= max) {
    return limit;
  }
  throw invalid("limit", `an integer from 1 to ${max}`, limit);
}

function checkOrder(order: unknown): "newest" | "oldest" {
  if (order === undefined || order === "newest") return "newest";
  if (order === "oldest") return "oldest";
  throw invalid("order", "newest or oldest", order);
}

function parseCursor(text: string): Bytes {
  if (/^([0-9a-f]{44}|[0-9a-f]{48})$/.test(text)) return Buffer.from(text, "hex");
  throw invalid("cursor", "a cursor that a list gave", text);
}

function showCursor(member: Bytes | undefined): string {
  return Buffer.from(member ?? new Uint8Array(0)).toString("hex");
}
