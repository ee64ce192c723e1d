/**
 * What a caller asks of `find`, made ready to be looked for. The options that name an index become
 * conditions like those of the predicate, so that planner and test see one tree. What one field may hold
 * is checked by the contract; here is what fields ask of each other, of the access and of the store.
 */
import { stableText } from "../codec/cbor-value.js";
import { domainHash } from "../codec/hash.js";
import { normaliseSlot, utf8 } from "../codec/text.js";
import { FIND_BY } from "../contract/find.js";
import type { Form } from "../contract/hits.js";
import type { Asked } from "../contract/index.js";
import { type Engine, type ParsedRef, parseRef } from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import type { AsOf } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { WalkPlan } from "../links/breadth-first.js";
import { walkPlan } from "../links/walk.js";
import type { Json } from "../records/fields.js";
import type { Lifecycle } from "../records/types.js";
import { type Access, admit, budgetOf } from "../scope/access.js";
import { fieldOf } from "./find-fields.js";
import { type CheckedNear, checkNear } from "./find-lanes.js";
import { checkOrders, NEWEST, type Order } from "./order.js";
import { type Checked, checkPredicate } from "./predicate.js";

/** A query, checked and complete. */
export interface CheckedFind {
  readonly where: Checked;
  readonly lifecycles: ReadonlySet<Lifecycle>;
  /** States were asked for by name: memories are shown as they are stored, whatever their time. */
  readonly isStored: boolean;
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
  ...FIND_BY,
  "follow",
  "orderBy",
  "asOf",
  "validAt",
  "lifecycles",
  "includeTombstoned",
] as const;

/** Checks a query. */
export function checkFind(engine: Engine, asked: Asked<"find">): CheckedFind {
  const { access, lateBinding = false, explain = false, offset = 0 } = asked;
  const where: Checked = { op: "and", children: conditionsOf(asked) };
  const lifecycles = lifecyclesOf(asked);
  const budgetTokens = budgetOf(access, asked.budgetTokens, undefined);
  if (asked.limit === undefined && budgetTokens === undefined) throw unbounded();
  // A memory has a token at least, so no more than the budget can be kept.
  const limit = asked.limit ?? budgetLimit(budgetTokens);
  if (lateBinding) checkLate(asked, limit);
  // How many rows were read tells of memories that only the owner may know of.
  if (explain) admit(access, "owner", "find with explain");
  const walk = checkFrom(engine, asked, lifecycles);
  if (offset > 0 && asked.cursor !== undefined) {
    throw invalid("offset", "no cursor beside it: a cursor says itself where to go on", offset);
  }
  return {
    where,
    lifecycles,
    isStored: asked.lifecycles !== undefined && asked.validAt === undefined,
    text: checkWords(asked),
    near: checkNearHere(engine, asked),
    walk,
    orders: ordersOf(asked),
    limit,
    offset,
    cursor: asked.cursor,
    budgetTokens,
    // A budget that was asked for shortens the texts as well; one that a scope sets only counts them.
    form: asked.form ?? (asked.budgetTokens === undefined ? undefined : "medium"),
    asOf: asked.asOf,
    validAt: asked.validAt,
    lateBinding,
    explain,
    countTotal: asked.countTotal ?? false,
    access,
    canonical: () => canonicalText(asked),
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

function checkLate({ access, asOf }: Asked<"find">, limit: number): void {
  admit(access, "write", "find with lateBinding");
  if (asOf !== undefined) {
    throw invalid("lateBinding", "no asOf beside it: use of the past does not count", true);
  }
  const most = LIMITS.findLateHits;
  if (limit > most) throw invalid("limit", `at most ${most} with lateBinding`, limit);
}

/** The options that stand for conditions, and the predicate itself. */
function conditionsOf(asked: Asked<"find">): readonly Checked[] {
  const { type, tags = [], kinds, slot, session, frame, where } = asked;
  const conditions: Checked[] = [];
  if (type !== undefined) {
    conditions.push(among("head.type", [...new Set(typeof type === "string" ? [type] : type)]));
  }
  for (const tag of new Set(tags)) conditions.push({ op: "hasTag", tag });
  if (kinds !== undefined) conditions.push(among("head.kind", kinds));
  if (slot !== undefined) conditions.push(among("head.slot", [normaliseSlot(slot)]));
  if (session !== undefined) conditions.push({ op: "session", session });
  if (frame !== undefined) conditions.push({ op: "frame", frame });
  if (where !== undefined) conditions.push(checkPredicate(where));
  return conditions;
}

function among(name: string, values: readonly string[]): Checked {
  const field = fieldOf(name);
  if (field === undefined) throw new Error(`no field ${name}`);
  const literals = values.map((text) => ({ given: text, text }));
  return { op: "in", field, literals };
}

function lifecyclesOf(asked: Asked<"find">): ReadonlySet<Lifecycle> {
  const { lifecycles, validAt, includeTombstoned = false } = asked;
  const usual: readonly Lifecycle[] = validAt === undefined ? ["active"] : ["active", "archived"];
  return new Set([...(lifecycles ?? usual), ...(includeTombstoned ? ["tombstoned" as const] : [])]);
}

function checkFrom(
  engine: Engine,
  { from, follow, includeTombstoned }: Asked<"find">,
  lifecycles: ReadonlySet<Lifecycle>,
): CheckedFind["walk"] {
  if (from === undefined) {
    if (follow === undefined) return undefined;
    throw invalid("from", "the memory that follow starts from", from);
  }
  const plan = walkPlan(
    { ...follow, includeTombstoned, maxNodes: LIMITS.traverseNodes },
    "follow.",
  );
  const showHidden = lifecycles.has("tombstoned");
  return { from: parseRef(engine, from, "from"), plan: { ...plan, showHidden } };
}

function checkWords({ text, validAt }: Asked<"find">): string | undefined {
  if (text === undefined || validAt === undefined) return text;
  const expected = "no validAt beside it: words are looked for in current versions";
  throw invalid("text", expected, "both");
}

/** Vectors are of what memories say now. */
function checkNearHere(engine: Engine, asked: Asked<"find">): CheckedNear | undefined {
  if (asked.near === undefined) return undefined;
  for (const name of ["asOf", "validAt"] as const) {
    if (asked[name] === undefined) continue;
    const expected = `no ${name} beside it: vectors know the present only`;
    throw invalid("near", expected, "both", name === "asOf" ? "ERR_AS_OF" : "ERR_INVALID");
  }
  return checkNear(engine, asked.near);
}

function ordersOf({ orderBy, near, from, text }: Asked<"find">): readonly Order[] {
  if (orderBy === undefined) {
    if (near !== undefined) return [ascending("near.distance")];
    return from === undefined ? NEWEST : [ascending("hop")];
  }
  const orders = checkOrders(orderBy);
  for (const [at, { by }] of orders.entries()) {
    if (by === "hop" && from === undefined) throw needs(at, by, "from");
    if (by === "near.distance" && near === undefined) throw needs(at, by, "near");
    if (by === "text.score" && text === undefined) throw needs(at, by, "text");
  }
  return orders;
}

function ascending(by: "near.distance" | "hop"): Order {
  return { by, name: by, descending: false };
}

function needs(at: number, order: string, option: string): CortexError {
  return invalid(`orderBy[${at}].field`, `a query with ${option} to be ordered by ${order}`, order);
}

/** The same text for the same question, whatever page of it is asked for. */
function canonicalText(asked: Asked<"find">): string {
  const what = Object.fromEntries(
    WHAT.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]]])),
  );
  return stableText(JSON.parse(JSON.stringify(what)) as Json);
}
