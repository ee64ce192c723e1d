/**
 * What a caller may ask of `find`, checked before anything is read. The options that name an index
 * become conditions like those of the predicate, so that planner and test see one tree.
 */

import { domainHash } from "../codec/hash.js";
import { utf8 } from "../codec/text.js";
import type { Ref } from "../contract/shapes.js";
import {
  checkObject,
  checkOptions,
  type Engine,
  type ParsedRef,
  parseRef,
} from "../engine/engine.js";
import type { Form } from "../engine/prompt-text.js";
import { checkOnPlan, type PlanOption } from "../engine/read-plan.js";
import { CortexError, invalid } from "../errors.js";
import type { AsOf } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { type WalkPlan, walkPlan } from "../links/walk.js";
import { checkLimit } from "../memory/list.js";
import { checkSlot } from "../memory/write-input.js";
import { checkText, type Json, parseWith, stableJson } from "../records/fields.js";
import { checkKind, checkTags, checkTime, type Frame, frameSchema } from "../records/frames.js";
import {
  checkMemoryType,
  checkNameOf,
  LIFECYCLES,
  type Lifecycle,
  type MemoryType,
} from "../records/types.js";
import { type Access, admit, budgetOf, OWNER } from "../scope/access.js";
import { fieldOf } from "./find-fields.js";
import { type CheckedNear, checkNear, type NearQuery } from "./find-near.js";
import { checkOrders, NEWEST, type Order, type OrderClause } from "./order.js";
import { type Checked, checkPredicate, type Predicate } from "./predicate.js";
import { checkForm } from "./render-hit.js";

/** How a find follows edges from a memory. */
export interface FollowOptions {
  readonly kinds?: readonly string[];
  readonly direction?: "out" | "in" | "both";
  readonly minHops?: number;
  /** 1 when not given; clamped to 6, and the answer says so. */
  readonly maxHops?: number;
}

/** What to find. At least one member must be something an index serves, or bound the time. */
export interface FindQuery extends PlanOption {
  readonly type?: MemoryType | readonly MemoryType[];
  /** All of them. */
  readonly tags?: readonly string[];
  /** Any of them. */
  readonly kinds?: readonly string[];
  readonly slot?: string;
  readonly session?: string;
  readonly frame?: Frame;
  readonly where?: Predicate;
  /** Memories that hold every word of it. */
  readonly text?: string;
  /** The memories nearest in meaning to a text, a memory or a vector; needs an embedder. */
  readonly near?: NearQuery;
  /** Memories that edges lead to from this one. */
  readonly from?: Ref;
  readonly follow?: FollowOptions;
  /** Newest first when not given; nearest first with `near`, else with `from`. */
  readonly orderBy?: readonly OrderClause[];
  /** Most hits of a page; needed unless there is a token budget. */
  readonly limit?: number;
  /** Hits to skip. */
  readonly offset?: number;
  /** Where the page before ended. */
  readonly cursor?: string;
  /** Most tokens of all texts together; hits of the lowest salience are left out. */
  readonly budgetTokens?: number;
  /** How hits are rendered; medium under a budget, else the memory's own words. */
  readonly form?: Form;
  readonly asOf?: AsOf;
  /** World time: the version of each memory that was valid then; archived ones are included. */
  readonly validAt?: number;
  /** Which states to show; active alone when not given. */
  readonly lifecycles?: readonly Exclude<Lifecycle, "erased">[];
  /** Show hidden memories as well. */
  readonly includeTombstoned?: boolean;
  /** Journal which memories were found, so that use counts. */
  readonly lateBinding?: boolean;
  /** The principal that the entry of a late find names. */
  readonly by?: string;
  /** Say how the answer was found. */
  readonly explain?: boolean;
  /** Read on to the end, to say how many hits there are. */
  readonly countTotal?: boolean;
  readonly access?: Access;
}

/** A query, checked and complete. */
export interface CheckedFind {
  readonly where: Checked;
  readonly lifecycles: ReadonlySet<Lifecycle>;
  readonly text: string | undefined;
  readonly near: CheckedNear | undefined;
  readonly walk: { readonly from: ParsedRef; readonly plan: WalkPlan } | undefined;
  readonly orders: readonly Order[];
  readonly limit: number;
  readonly offset: number;
  readonly cursor: string | undefined;
  readonly budgetTokens: number | undefined;
  readonly form: Form | undefined;
  readonly asOf: AsOf | undefined;
  readonly validAt: number | undefined;
  readonly lateBinding: boolean;
  readonly explain: boolean;
  readonly countTotal: boolean;
  readonly access: Access;
  /** What is asked for, whatever page of it, in full; made only when somebody asks. */
  readonly canonical: () => string;
}

/** What tells one query from others. */
export function hashOf(engine: Engine, query: CheckedFind): Bytes {
  return domainHash(engine.sha256, "query", utf8(query.canonical())).slice(0, 8);
}

/** The members that say what is found, in contrast to how it is shown. */
const WHAT = [
  "type",
  "tags",
  "kinds",
  "slot",
  "session",
  "frame",
  "where",
  "text",
  "near",
  "from",
  "follow",
  "orderBy",
  "asOf",
  "validAt",
  "lifecycles",
  "includeTombstoned",
] as const;

const HOW = [
  "limit",
  "offset",
  "cursor",
  "budgetTokens",
  "form",
  "lateBinding",
  "by",
  "explain",
  "countTotal",
  "onPlan",
  "access",
] as const;

/** Checks a query. */
export function checkFind(engine: Engine, query: FindQuery): CheckedFind {
  checkOptions(query, [...WHAT, ...HOW], "query");
  checkOnPlan(query.onPlan);
  const access = query.access ?? OWNER;
  const where: Checked = { op: "and", children: conditionsOf(query) };
  const lifecycles = lifecyclesOf(query);
  const asked = checkCount(query.budgetTokens, "budgetTokens", 1, LIMITS.findBudgetTokens);
  const budgetTokens = budgetOf(access, asked, undefined);
  if (query.limit === undefined && budgetTokens === undefined) throw unbounded();
  const lateBinding = checkFlag(query.lateBinding, "lateBinding");
  const explain = checkFlag(query.explain, "explain");
  // A memory has a token at least, so no more than the budget can be kept.
  const limit = query.limit === undefined ? budgetLimit(budgetTokens) : checkLimit(query.limit);
  if (lateBinding) checkLate(query, access, limit);
  // How many rows were read tells of memories that only the owner may know of.
  if (explain) admit(access, "owner", "find with explain");
  const walk = checkFrom(engine, query, lifecycles);
  const offset = checkCount(query.offset, "offset", 0, LIMITS.findCandidates) ?? 0;
  if (offset > 0 && query.cursor !== undefined) {
    throw invalid("offset", "no cursor beside it: a cursor says itself where to go on", offset);
  }
  return {
    where,
    lifecycles,
    text: query.text === undefined ? undefined : checkWords(query),
    near: query.near === undefined ? undefined : checkNearHere(engine, query),
    walk,
    orders: ordersOf(query),
    limit,
    offset,
    cursor: query.cursor,
    budgetTokens,
    // A budget that was asked for shortens the texts as well; one that a scope sets only counts them.
    form:
      query.form === undefined && asked === undefined
        ? undefined
        : checkForm(query.form ?? "medium"),
    asOf: query.asOf,
    validAt: query.validAt === undefined ? undefined : checkTime(query.validAt, "validAt"),
    lateBinding,
    explain,
    countTotal: checkFlag(query.countTotal, "countTotal"),
    access,
    canonical: () => canonicalText(query),
  };
}

function budgetLimit(budgetTokens = 1): number {
  return Math.min(LIMITS.listLimit, budgetTokens);
}

function unbounded(): CortexError {
  const message = "limit: expected a limit or budgetTokens, got neither: an answer needs a bound";
  return new CortexError("ERR_UNBOUNDED", message, {
    field: "limit",
    expected: "a limit or budgetTokens",
    got: "neither",
  });
}

function checkLate(query: FindQuery, access: Access, limit: number): void {
  admit(access, "write", "find with lateBinding");
  if (query.asOf !== undefined) {
    throw invalid("lateBinding", "no asOf beside it: use of the past does not count", true);
  }
  const most = LIMITS.findLateHits;
  if (limit > most) throw invalid("limit", `at most ${most} with lateBinding`, limit);
}

/** The options that stand for conditions, and the predicate itself. */
function conditionsOf(query: FindQuery): readonly Checked[] {
  const { type, tags, kinds, slot, session, frame, where } = query;
  const conditions: Checked[] = [];
  if (type !== undefined) {
    const types: readonly unknown[] = Array.isArray(type) ? type : [type];
    if (types.length === 0) throw invalid("type", "at least one type", types);
    conditions.push(among("head.type", [...new Set(types.map((one) => checkMemoryType(one)))]));
  }
  if (tags !== undefined) {
    for (const tag of checkTags(tags)) conditions.push({ op: "hasTag", tag });
  }
  if (kinds !== undefined) {
    if (!Array.isArray(kinds) || kinds.length === 0) {
      throw invalid("kinds", "a list of at least one kind", kinds);
    }
    const known = kinds.slice(0, LIMITS.predicateValues + 1);
    if (known.length < kinds.length) {
      throw invalid("kinds", `at most ${LIMITS.predicateValues}`, kinds, "ERR_TOO_LARGE");
    }
    conditions.push(
      among(
        "head.kind",
        known.map((kind, at) => checkKind(kind, `kinds[${at}]`)),
      ),
    );
  }
  if (slot !== undefined) conditions.push(among("head.slot", [checkSlot(slot)]));
  if (session !== undefined) {
    const rule = { maxBytes: LIMITS.sessionBytes, control: true };
    conditions.push({ op: "session", session: checkText(session, "session", rule) });
  }
  if (frame !== undefined) {
    conditions.push({ op: "frame", frame: parseWith(frameSchema, frame, "frame") });
  }
  if (where !== undefined) conditions.push(checkPredicate(where));
  return conditions;
}

function among(name: string, values: readonly string[]): Checked {
  const field = fieldOf(name);
  if (field === undefined) throw new Error(`no field ${name}`);
  const literals = values.map((text) => ({ given: text, text }));
  return { op: "in", field, literals };
}

function lifecyclesOf(query: FindQuery): ReadonlySet<Lifecycle> {
  const usual: readonly unknown[] =
    query.validAt === undefined ? ["active"] : ["active", "archived"];
  const given: unknown = query.lifecycles ?? usual;
  if (!Array.isArray(given) || given.length === 0) {
    throw invalid("lifecycles", "a list of at least one", given);
  }
  const { erased: _, ...shown } = LIFECYCLES;
  const states = new Set<Lifecycle>(
    given.map((state, at) => checkNameOf(shown, state, { field: `lifecycles[${at}]` })),
  );
  if (checkFlag(query.includeTombstoned, "includeTombstoned")) states.add("tombstoned");
  return states;
}

function checkFrom(
  engine: Engine,
  query: FindQuery,
  lifecycles: ReadonlySet<Lifecycle>,
): CheckedFind["walk"] {
  const { from, follow } = query;
  if (from === undefined) {
    if (follow === undefined) return undefined;
    throw invalid("from", "the memory that follow starts from", from);
  }
  const options = follow === undefined ? {} : checkObject(follow, "follow");
  checkOptions(options, ["kinds", "direction", "minHops", "maxHops"], "follow");
  const plan = walkPlan({ ...options, maxNodes: LIMITS.traverseNodes }, "follow.");
  const showHidden = lifecycles.has("tombstoned");
  return { from: parseRef(engine, from, "from"), plan: { ...plan, showHidden } };
}

function checkWords(query: FindQuery): string {
  if (query.validAt !== undefined) {
    const expected = "no validAt beside it: words are looked for in current versions";
    throw invalid("text", expected, "both");
  }
  return checkText(query.text, "text", {
    maxBytes: LIMITS.queryBytes,
    blank: true,
    control: true,
  });
}

/** Vectors are of what memories say now. */
function checkNearHere(engine: Engine, query: FindQuery): CheckedNear {
  for (const name of ["asOf", "validAt"] as const) {
    if (query[name] === undefined) continue;
    const expected = `no ${name} beside it: vectors know the present only`;
    throw invalid("near", expected, "both", name === "asOf" ? "ERR_AS_OF" : "ERR_INVALID");
  }
  return checkNear(engine, query.near);
}

function ordersOf(query: FindQuery): readonly Order[] {
  if (query.orderBy === undefined) {
    if (query.near !== undefined) return [ascending("near.distance")];
    return query.from === undefined ? NEWEST : [ascending("hop")];
  }
  const orders = checkOrders(query.orderBy);
  for (const [at, { by }] of orders.entries()) {
    if (by === "hop" && query.from === undefined) throw needs(at, by, "from");
    if (by === "near.distance" && query.near === undefined) throw needs(at, by, "near");
    if (by === "text.score" && query.text === undefined) throw needs(at, by, "text");
  }
  return orders;
}

function ascending(by: "near.distance" | "hop"): Order {
  return { by, name: by, descending: false };
}

function needs(at: number, order: string, option: string): CortexError {
  return invalid(`orderBy[${at}].field`, `a query with ${option} to be ordered by ${order}`, order);
}

function checkFlag(value: unknown, field: string): boolean {
  if (value === undefined || typeof value === "boolean") return value === true;
  throw invalid(field, "true or false", value);
}

function checkCount(
  value: unknown,
  field: string,
  least: number,
  most: number,
): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) {
    return value;
  }
  throw invalid(field, `an integer from ${least} to ${most}`, value);
}

/** The same text for the same question, whatever page of it is asked for. */
function canonicalText(query: FindQuery): string {
  const what = Object.fromEntries(
    WHAT.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
  return stableJson(JSON.parse(JSON.stringify(what)) as Json);
}
