/**
 * Takes out of an answer what it still says of things that its caller may not see, as the answer's own schema
 * directs: numbers of entries become times (in a failure they are left out), and where a memory came from is
 * shown only as far as the caller may see it.
 *
 * Rows that are hidden never reach a verb (`history/seen-snapshot.ts`); this is about what stands inside records
 * that are shown. The schema of the contract says where, so a new member is covered as soon as it is declared.
 */
import type * as z from "zod";
import { provenanceShape, seqShape } from "../contract/shapes.js";
import type { Verb } from "../contract/verb.js";
import type { Engine } from "../engine/engine.js";
import { CortexError, isCortexError } from "../errors.js";
import { openEntry } from "../history/pointers.js";
import { seenIn } from "../history/seen-snapshot.js";
import type { Seen } from "../history/seen-view.js";
import { journalKey, keyString, prefixRange } from "../kv/keyspace.js";
import type { KvSnapshot } from "../kv/kv.js";
import { LIFECYCLES } from "../records/types.js";
import { parseUri } from "../records/uri.js";
import { type Access, grantsProofs } from "../scope/access.js";
import { sessionPrefix } from "../sessions/session-read.js";

type Plain = { readonly [name: string]: unknown };
type Provenance = z.output<typeof provenanceShape>;

/** An answer as a caller gets it who does not see everything; the engine is the caller's own. */
export async function concealed(engine: Engine, verb: Verb, answer: unknown): Promise<unknown> {
  if (typeof answer !== "object" || answer === null) return answer;
  const schema = answerSchema(verb);
  const seqs = new Set<number>();
  const sources: Provenance[] = [];
  const failures: CortexError[] = [];
  walk(schema, answer, {
    failure: (error) => {
      failures.push(error);
      return error;
    },
    seq: (seq) => {
      seqs.add(seq);
      return seq;
    },
    provenance: (from) => {
      sources.push(from);
      return from;
    },
  });
  if (seqs.size + sources.length + failures.length === 0) return answer;
  const snapshot = await engine.kv.snapshot();
  try {
    const seen = seenIn(snapshot);
    if (seen === undefined) return answer;
    const times = await timesOf(seen, seqs);
    const sessions = await seenSessions(snapshot, sources);
    return walk(schema, answer, {
      seq: (seq) =>
        seen.isOpaque ? (times.get(Math.min(seq, seen.lastSeq)) ?? seen.position) : seq,
      provenance: (from) => shownProvenance(seen, from, sessions),
      failure: (error) => (seen.isOpaque ? withoutNumbers(error) : error),
    });
  } finally {
    snapshot.close();
  }
}

/** A failure as such a caller is told it: without the numbers of entries, unless its scope grants proofs. */
export function concealedFailure(access: Access, error: unknown): unknown {
  return isCortexError(error) && !grantsProofs(access) ? withoutNumbers(error) : error;
}

function withoutNumbers(error: CortexError): CortexError {
  if (error.details.seq === undefined) return error;
  const { seq: _, ...details } = error.details;
  return new CortexError(error.code, error.message.replaceAll(/\bentry \d+/g, "an entry"), details);
}

function answerSchema({ output, member }: Verb): z.ZodType {
  if (member === undefined) return output;
  return (output as z.ZodObject).shape[member] as z.ZodType;
}

interface Mapping {
  readonly seq: (seq: number) => number;
  readonly provenance: (from: Provenance) => Provenance;
  /** What went wrong with a part of what was asked. */
  readonly failure: (error: CortexError) => CortexError;
}

/** The value with every seq, provenance and failure in it mapped; what has none is the same object. */
function walk(schema: z.ZodType | undefined, value: unknown, mapping: Mapping): unknown {
  if (schema === undefined || value === undefined || value === null) return value;
  if (isCortexError(value)) return mapping.failure(value);
  if (schema === (seqShape as z.ZodType)) {
    return typeof value === "number" ? mapping.seq(value) : value;
  }
  if (schema === (provenanceShape as z.ZodType)) return mapping.provenance(value as Provenance);
  const def = schema._zod.def as unknown as {
    readonly type: string;
    readonly innerType?: z.ZodType;
    readonly element?: z.ZodType;
    readonly shape?: { readonly [name: string]: z.ZodType };
    readonly options?: readonly z.ZodType[];
  };
  if (def.innerType !== undefined) return walk(def.innerType, value, mapping);
  if (def.element !== undefined && Array.isArray(value)) {
    return value.map((item) => walk(def.element, item, mapping));
  }
  if (def.options !== undefined) {
    // Forms of a union say the same of a member they share.
    return def.options.reduce<unknown>((one, option) => walkOnce(option, one, mapping), value);
  }
  if (def.shape === undefined || typeof value !== "object" || Array.isArray(value)) return value;
  const plain = value as Plain;
  return Object.fromEntries(
    Object.entries(plain).map(([name, item]) => [name, walk(def.shape?.[name], item, mapping)]),
  );
}

/** A form of a union, if the value has its members. */
function walkOnce(option: z.ZodType, value: unknown, mapping: Mapping): unknown {
  const { shape } = option._zod.def as unknown as { readonly shape?: Plain };
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (shape !== undefined && isObject) {
    const fits = Object.keys(value).every((name) => Object.hasOwn(shape, name));
    return fits ? walk(option, value, mapping) : value;
  }
  return shape === undefined && !isObject ? walk(option, value, mapping) : value;
}

/** The times of entries; of those that came after everything that is seen, the last that is. */
async function timesOf(
  { whole, lastSeq, isOpaque }: Seen,
  seqs: ReadonlySet<number>,
): Promise<ReadonlyMap<number, number>> {
  const wanted = [...new Set([...seqs].map((seq) => Math.min(seq, lastSeq)))];
  const known = isOpaque ? wanted.filter((seq) => seq >= 0) : [];
  const rows = known.length === 0 ? [] : await whole.getMany(known.map(journalKey));
  return new Map(known.map((seq, at) => [seq, openEntry(rows[at], seq).header.at]));
}

/** Of the sessions that memories name as where they came from, those with a turn that is seen. */
async function seenSessions(
  snapshot: KvSnapshot,
  sources: readonly Provenance[],
): Promise<ReadonlySet<string>> {
  const names = [...new Set(sources.flatMap(({ session }) => session ?? []))];
  const codes = Object.values(LIFECYCLES).map(({ code }) => code);
  const ranges = names.flatMap((name) =>
    codes.map((code) => ({ ...prefixRange(sessionPrefix(name, code), 1), keysOnly: true })),
  );
  const rows = ranges.length === 0 ? [] : await snapshot.ranges(ranges);
  const isSeen = (at: number): boolean =>
    rows.slice(at * codes.length, (at + 1) * codes.length).some(({ length }) => length > 0);
  return new Set(names.filter((_, at) => isSeen(at)));
}

function shownProvenance(
  seen: Seen,
  { session, turn, ...from }: Provenance,
  sessions: ReadonlySet<string>,
): Provenance {
  const isSeen = (uri: string): boolean => seen.get(keyString(parseUri(uri).id)) !== undefined;
  return {
    ...from,
    derivedFrom: from.derivedFrom.filter(isSeen),
    attestations: from.attestations.filter(isSeen),
    ...(session !== undefined && sessions.has(session)
      ? { session, ...(turn === undefined ? {} : { turn }) }
      : {}),
  };
}
