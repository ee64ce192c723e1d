/**
 * `recall`: the one call an agent needs. A question in plain words, or several ways of putting it, and
 * back come the memories that answer it, ranked by every lane there is, packed into a token budget, as
 * text ready for a prompt.
 *
 * Nothing is journaled unless `audit` is asked for: feedback is what `attest` is for. It works without any
 * model; an embedder adds a lane. `weak` says that no lane is confident, so that an agent can say
 * "I do not know" instead of repeating the least unlikely thing. Every hit says why it is there. A rival
 * is never shown above what it disputes, nor without it: what it disputes stands directly above.
 */

import type { Form } from "../contract/hits.js";
import type { Asked } from "../contract/index.js";
import type { Lane, LaneScores, RecallHit, RecallResult } from "../contract/recall.js";
import { catchUp, embedBehind, embedLag, isWaitedFor, lagKeys } from "../embedding/embed.js";
import { journalUse } from "../engine/drafts.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { countLanes, meterOf } from "../engine/read-plan.js";
import { salienceOf } from "../engine/salience-reader.js";
import { formText, frameTokens, promptLine, promptText, sentenceOf } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import type { Proof } from "../journal/proof.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { disputesOf } from "../links/rivals.js";
import { waitingRanges } from "../memory/members.js";
import { holdsAt, shownMemories, standingVersions, turnsAt, validBody } from "../memory/read.js";
import { prove } from "../proof/prove.js";
import { countTokens } from "../records/forms.js";
import type { Lifecycle } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { type Access, admit, budgetOf, OWNER, requireProofs } from "../scope/access.js";
import type { Analyser } from "../text/analyse.js";
import { questionShape } from "../text/asking-words.js";
import type { QuestionTerm } from "../text/text-evidence.js";
import { quoted } from "../trust/scan.js";
import { gatherByTime, timeFit } from "./by-time.js";
import { coverageWithKin } from "./evidence.js";
import {
  belowTrusted,
  type Contender,
  collapse,
  countedLanes,
  fuse,
  inOrderOfTime,
  isConfident,
  type PlacedHit,
  type Ranked,
  type RankedSession,
  rankSessions,
  scaledLanes,
  spreadOut,
  type TimedLine,
  trustOf,
  type Voiced,
  voiceOf,
  worldTimeOf,
} from "./fuse.js";
import { type Gathered, gather } from "./recall-lanes.js";
import { type TimeWords, timeWords } from "./time-words.js";
import type { EdgeStep } from "./walk-edges.js";

/** The heading of the text for a prompt. */
const TITLE = "Memories that may help (background, possibly out of date)";

/** How many contenders have their use looked up, for so many hits: use moves a memory a few places. */
const finalistsFor = ({ limit, bySession }: Inquiry): number =>
  bySession ? SESSION_FINALISTS : 2 * limit + 16;
/** Turns that conversations are ranked by. */
const SESSION_FINALISTS = 640;

/** Recalls what answers a question. */
export async function recall(engine: Engine, asked: Asked<"recall">): Promise<RecallResult> {
  const { access, asOf, prove: isProved = false, audit = false, onPlan } = asked;
  const inquiry = inquiryOf(engine, asked);
  if (audit) admit(access, "write", "recall with audit");
  if (isProved) requireProofs(access, "recall with proofs");
  const meter = meterOf(engine.kv, onPlan !== undefined);
  const brought = new Map<string, LaneScores>();
  const watched: Inquiry = onPlan === undefined ? inquiry : { ...inquiry, onLanes: into(brought) };
  const answer = await whenEmbedded(engine, (isReady) =>
    engine.text.searching(
      meter.kv,
      asOf,
      async (reader) => {
        const notEmbedded = asOf === undefined ? await embedLag(engine, reader) : 0;
        if (!isReady(notEmbedded)) return undefined;
        const found = await answerAll(engine, reader, watched);
        // How much others wrote is told to those alone who see it.
        return notEmbedded === 0 || reader.seen !== undefined ? found : { ...found, notEmbedded };
      },
      () => ({ keys: lagKeys(engine), ranges: waitingRanges(), questions: inquiry.questions }),
    ),
  );
  onPlan?.({
    verb: "recall",
    questions: inquiry.questions.length,
    lanes: countLanes(brought.values()),
    candidates: brought.size,
    trimmed: answer.trimmed,
    rowsRead: meter.rows(),
    hits: answer.hits.length,
  });
  const proofs = isProved ? await proofsOf(engine, answer.hits) : [];
  if (audit) {
    const ids = answer.hits.map(({ key }) => keyBytes(key));
    const { auditBy = engine.principal } = asked;
    await journalUse(engine, "recall_audit", ids, inquiry.questions.join("\n"), auditBy);
  }
  const { hits, ...rest } = answer;
  return {
    ...rest,
    hits: hits.map(({ key: _, ...hit }, at) => {
      const proof = proofs[at];
      return proof === undefined ? hit : { ...hit, proof };
    }),
  };
}

/**
 * Asks; where a quick embedder has a few entries left to do, again once it has done them. Nearly always it has none, and
 * whoever asks sees that in the snapshot that is read anyway. Where many are left, it begins with them behind the answer.
 */
async function whenEmbedded(
  engine: Engine,
  ask: (isReady: (lag: number) => boolean) => Promise<Answer | undefined>,
): Promise<Answer> {
  let missing = 0;
  const first = await ask((lag) => {
    missing = engine.embedder?.isQuick === true ? lag : 0;
    return !isWaitedFor(missing);
  });
  if (first !== undefined) {
    if (missing > 0) embedBehind(engine);
    return first;
  }
  await catchUp(engine, missing);
  const second = await ask(() => true);
  if (second === undefined) throw new Error("a question that waits for nothing has no answer");
  return second;
}

/** What is asked, with the usual values where nothing was said. */
interface Inquiry {
  readonly questions: readonly string[];
  /** The times that each question speaks of. */
  readonly times: ReadonlyMap<string, TimeWords>;
  readonly limit: number;
  readonly budgetTokens: number;
  readonly form: Form;
  readonly nowMs: number;
  readonly access: Access;
  readonly filter: (memory: FoundMemory) => boolean;
  readonly history: boolean | undefined;
  readonly validAt: number | undefined;
  readonly count: (text: string) => number;
  /** The lanes that count; all of them when not given. */
  readonly lanes: readonly Lane[] | undefined;
  /** Whether whole conversations are ranked. */
  readonly bySession: boolean;
  /** Whether all of something is asked for, and whether in the order of time. */
  readonly gathers: boolean;
  readonly inOrder: boolean;
  /** Called with what the lanes brought in for a question. */
  readonly onLanes?: (lanes: Gathered["lanes"]) => void;
}

/** Joins what the lanes brought in for several questions. */
function into(brought: Map<string, LaneScores>): NonNullable<Inquiry["onLanes"]> {
  return (lanes) => {
    for (const [key, scores] of lanes) brought.set(key, { ...brought.get(key), ...scores });
  };
}

function inquiryOf(engine: Engine, asked: Asked<"recall">): Inquiry {
  const questions = questionsOf(asked);
  const shapes = questions.map(questionShape);
  const nowMs = asked.now ?? engine.clock();
  const times = new Map(questions.map((text) => [text, timeWords(text, nowMs)]));
  const gathers =
    shapes.some((shape) => shape.gathers) || [...times.values()].some(({ alone }) => alone);
  return {
    questions,
    times,
    gathers,
    inOrder: shapes.some((shape) => shape.inOrder),
    limit: asked.limit ?? (gathers ? LIMITS.recallHitsGathered : LIMITS.recallHitsDefault),
    budgetTokens: budgetOf(asked.access, asked.budgetTokens, LIMITS.recallTokensDefault),
    // More and shorter ones, where all of something is asked for: the budget is the same.
    form: asked.form ?? (gathers ? "short" : "medium"),
    nowMs,
    access: asked.access,
    filter: filterOf(asked),
    history: asked.history,
    validAt: asked.validAt,
    count: asked.countTokens ?? countTokens,
    lanes: asked.lanes,
    bySession: asked.by === "session",
  };
}

/** Every way of putting the question. */
function questionsOf({ question, also = [] }: Asked<"recall">): readonly string[] {
  const questions = typeof question === "string" ? [question, ...also] : [...question, ...also];
  if (questions.length <= LIMITS.recallQuestions) return questions;
  const expected = `at most ${LIMITS.recallQuestions} ways of putting the question`;
  throw invalid("also", expected, questions.length, "ERR_TOO_LARGE");
}

function filterOf(asked: Asked<"recall">): (memory: FoundMemory) => boolean {
  const { types, kinds, tags, session, exceptSession } = asked;
  return ({ head }) => {
    const { type, kind, tags: own, turn } = head.record.head;
    if (types !== undefined && !types.includes(type)) return false;
    if (kinds !== undefined && (kind === undefined || !kinds.includes(kind))) return false;
    if (tags !== undefined && !tags.every((tag) => own.includes(tag))) return false;
    if (session !== undefined && turn?.session !== session) return false;
    return exceptSession === undefined || turn?.session !== exceptSession;
  };
}

interface KeyedHit extends RecallHit {
  readonly key: string;
}

type Answer = Omit<RecallResult, "hits"> & { readonly hits: readonly KeyedHit[] };

async function answerAll(engine: Engine, reader: Reader, inquiry: Inquiry): Promise<Answer> {
  const best = new Map<string, Finalist>();
  const sessions = new Map<string, number>();
  for (const text of inquiry.questions) {
    const found = await answerOne(engine, reader, inquiry, text);
    for (const [session, said] of found.sessions) {
      sessions.set(session, Math.max(sessions.get(session) ?? 0, said));
    }
    for (const finalist of found.finalists) {
      const { key } = finalist.ranked;
      const before = best.get(key);
      if (before === undefined || before.ranked.score < finalist.ranked.score) {
        best.set(key, finalist);
      }
    }
  }
  const ranked = [...best.values()].sort(
    (a, b) => b.ranked.score - a.ranked.score || (a.ranked.key < b.ranked.key ? -1 : 1),
  );
  const conversations = inquiry.bySession
    ? rankSessions(ranked, sessionOf, sessions).slice(0, inquiry.limit)
    : undefined;
  const turns = conversations?.flatMap((one) => one.turns);
  const spread = inquiry.gathers ? spreadOut(ranked.map(placed)) : ranked;
  const order = await withDisputed(reader, inquiry, turns ?? spread);
  const analyser = await engine.text.analyserAt(reader);
  const groups = collapsed(analyser, order, turns?.length ?? inquiry.limit);
  const shown = order.filter(({ ranked }) => groups.has(ranked.key));
  const weak = isWeak(analyser, shown);
  const answer = { ...packed(engine, reader, inquiry, shown, groups), weak };
  return conversations === undefined ? answer : withSessions(answer, conversations);
}

function placed(finalist: Finalist): Finalist & PlacedHit {
  return { ...finalist, place: finalist.memory.head.record.head.turn };
}

function sessionOf({ memory }: Finalist): string | undefined {
  return memory.head.record.head.turn?.session;
}

/** Names the conversations of an answer; one whose turns did not fit the budget is named as well. */
function withSessions(answer: Answer, conversations: readonly RankedSession<Finalist>[]): Answer {
  const shown = new Map(answer.hits.map(({ key, id }) => [key, id]));
  const sessions = conversations.map(({ session, score, turns }) => ({
    session,
    score,
    turns: turns.flatMap(({ ranked }) => shown.get(ranked.key) ?? []),
  }));
  return { ...answer, sessions };
}

/** A ranked memory with what is needed to show it. */
interface Finalist {
  readonly ranked: Ranked;
  readonly memory: FoundMemory;
  readonly coverage: number;
  readonly closeness: number;
  /** The words of the question that found it. */
  readonly terms: readonly QuestionTerm[];
  /** Somebody else said it than the one whom the question names. */
  readonly aside?: boolean;
  readonly via: EdgeStep | undefined;
  /** For a rival, the keys of what it disputes: it is not shown without them. */
  readonly under?: readonly string[];
}

/** Memories that one rival may bring in; whoever disputes more is left out. */
const BROUGHT_MAX = 4;

/** The order with what rivals dispute directly above them, brought in where it was no hit itself. */
async function withDisputed(
  reader: Reader,
  inquiry: Inquiry,
  order: readonly Finalist[],
): Promise<readonly Finalist[]> {
  const known = new Map(order.map((one) => [one.ranked.key, one]));
  const memories = order.map(({ memory }) => memory);
  const direct = await disputesOf(reader, memories, inquiry.access);
  if (direct.size === 0) return order;
  const isWanted = (memory: FoundMemory): boolean =>
    known.has(keyString(memory.id)) ||
    (inquiry.filter(memory) && holdsAt(memory, inquiry.validAt ?? inquiry.nowMs, false));
  // What is brought in may be a rival itself, of something higher still.
  const brought = [...direct.values()].flat().filter(({ id }) => !known.has(keyString(id)));
  const disputes = new Map([...direct, ...(await disputesOf(reader, brought, inquiry.access))]);
  const placed = new Map<string, Finalist>();
  const met = new Set<string>();
  const place = (finalist: Finalist): void => {
    const { key, score } = finalist.ranked;
    if (met.has(key)) return;
    met.add(key);
    const above = (disputes.get(key) ?? []).filter(isWanted);
    if (above.filter(({ id }) => !known.has(keyString(id))).length > BROUGHT_MAX) return;
    for (const memory of above) {
      const other = known.get(keyString(memory.id)) ?? broughtBy(memory, key);
      const lifted = { ...other.ranked, score: Math.max(other.ranked.score, score) };
      place({ ...other, ranked: lifted });
    }
    const under = above.map(({ id }) => keyString(id));
    placed.set(key, under.length === 0 ? finalist : { ...finalist, under });
  };
  for (const finalist of order) place(finalist);
  return [...placed.values()];
}

/** A memory that no lane found, and the rival that led to it. */
function broughtBy(memory: FoundMemory, rival: string): Finalist {
  const factors = { trust: trustOf(memory), salience: 0.5, speaker: false };
  const ranked = { key: keyString(memory.id), lanes: {}, factors, seq: memory.row.seq, score: 0 };
  const via = { from: rival, kind: "contradicts" };
  return { ranked, memory, coverage: 0, closeness: 0, terms: [], via };
}

/** What one way of putting the question found. */
interface Found {
  readonly finalists: readonly Finalist[];
  /** What conversations say as a whole, where those are asked for. */
  readonly sessions: ReadonlyMap<string, number>;
}

async function answerOne(
  engine: Engine,
  reader: Reader,
  inquiry: Inquiry,
  text: string,
): Promise<Found> {
  const time = inquiry.times.get(text) ?? timeWords(text, inquiry.nowMs);
  const { validAt, nowMs } = inquiry;
  const past = inquiry.history ?? time.past;
  const lifecycles: readonly Lifecycle[] =
    past || validAt !== undefined ? ["active", "archived"] : ["active"];
  const turns = await turnsAt(reader, inquiry.access, validAt ?? nowMs);
  const bodies = new Map<string, FoundMemory["body"]>();
  const holdsNow = (memory: FoundMemory): boolean =>
    holdsAt(memory, nowMs, past) && (past || turns(memory));
  const heldThen = async (memory: FoundMemory, time: number): Promise<boolean> => {
    const body = validBody(await standingVersions(reader, memory), time);
    if (body === undefined || !turns(memory, body)) return false;
    bodies.set(keyString(memory.id), body);
    return true;
  };
  const accept = async (found: readonly FoundMemory[]): Promise<readonly boolean[]> => {
    const shown = await shownMemories(reader, inquiry.access, found);
    const isWanted = (memory: FoundMemory, at: number): boolean =>
      shown[at] !== undefined && inquiry.filter(memory);
    // Nothing is read for the present, and a promise for each memory would cost more than the answer.
    if (validAt === undefined)
      return found.map((memory, at) => isWanted(memory, at) && holdsNow(memory));
    return Promise.all(
      found.map(async (memory, at) => isWanted(memory, at) && (await heldThen(memory, validAt))),
    );
  };
  const isForTime = time.alone && (inquiry.lanes?.includes("time") ?? true);
  const then = isForTime ? await gatherByTime(reader, { time, lifecycles, accept }) : undefined;
  // A date is told in words on other days, too; "last week" means another week wherever it is told.
  const usual =
    then === undefined || time.dated
      ? await gather(engine, reader, {
          ...{ text, lifecycles, accept },
          vector: reader.live,
          bySession: inquiry.bySession,
          gathers: inquiry.gathers,
          validAt: validAt ?? nowMs,
        })
      : undefined;
  const finalists: Finalist[] = [];
  for (const gathered of [then, usual]) {
    if (gathered === undefined) continue;
    inquiry.onLanes?.(gathered.lanes);
    const ranked = belowTrusted(await rank(reader, inquiry, gathered, time), voicesIn(gathered));
    finalists.push(...ranked.flatMap((one) => finalistOf(one, gathered, bodies) ?? []));
  }
  const isCounted = inquiry.lanes?.includes("lexical") ?? true;
  return { finalists, sessions: (isCounted ? usual?.sessions : undefined) ?? new Map() };
}

function finalistOf(
  ranked: Ranked,
  gathered: Gathered,
  bodies: ReadonlyMap<string, FoundMemory["body"]>,
): Finalist | undefined {
  const { key } = ranked;
  const found = gathered.memories.get(key);
  if (found === undefined) return undefined;
  const memory = { ...found, body: bodies.get(key) ?? found.body };
  const coverage = gathered.coverage.get(key) ?? 0;
  const closeness = gathered.closeness.get(key) ?? 0;
  const [aside, via] = [gathered.isAside(memory), gathered.via.get(key)];
  return { ranked, memory, coverage, closeness, terms: gathered.terms, aside, via };
}

/** What a hit by words says of the question, and whose words they are. */
function voicesIn({ memories, own, terms }: Gathered): (key: string) => Voiced | undefined {
  const weights = terms.map(({ weight }) => weight);
  return (key) => {
    const [memory, said] = [memories.get(key), own.get(key)];
    if (memory === undefined || said === undefined) return undefined;
    return { own: said, weights, source: memory.head.record.head.source };
  };
}

/** Joins the lanes: first without use, which is read for the best only, then with it. */
async function rank(
  reader: Reader,
  inquiry: Inquiry,
  gathered: Gathered,
  time: TimeWords,
): Promise<readonly Ranked[]> {
  const hasMeaning = inquiry.lanes?.includes("vector") ?? true;
  const scale = hasMeaning ? gathered.scale : undefined;
  const contenders: Contender[] = [];
  for (const [key, lanes] of gathered.lanes) {
    const memory = gathered.memories.get(key);
    if (memory === undefined) continue;
    const fit = timeFit(memory, time);
    const counted = countedLanes(fit === 0 ? lanes : { time: fit, ...lanes }, inquiry.lanes);
    if (counted === undefined) continue;
    contenders.push({
      key,
      lanes: counted,
      factors: { trust: trustOf(memory), salience: 0.5, speaker: gathered.isSpoken(memory) },
      seq: memory.row.seq,
      scale,
      byTime: gathered.byTime,
    });
  }
  const first = fuse(contenders, finalistsFor(inquiry));
  const memories = first.flatMap(({ key }) => gathered.memories.get(key) ?? []);
  const { nowMs } = inquiry;
  const uses = reader.live
    ? await salienceOf(reader, memories, { nowMs, similarity: gathered.similarity })
    : [];
  return fuse(
    first.map((one, at) => {
      const salience = uses[at]?.score ?? 0.5;
      return { ...one, factors: { ...one.factors, salience } };
    }),
  );
}

/** Which memories stand for which others. */
function collapsed(
  analyser: Analyser,
  finalists: readonly Finalist[],
  most: number,
): ReadonlyMap<string, readonly string[]> {
  function* wordSets() {
    for (const { ranked, memory } of finalists) {
      yield { key: ranked.key, words: wordsOf(analyser, memory) };
    }
  }
  return collapse(wordSets(), most);
}

function wordsOf(analyser: Analyser, memory: FoundMemory): ReadonlySet<string> {
  const words = new Set<string>();
  analyser.eachWord(sentenceOf(memory), (word) => words.add(word));
  return words;
}

function packed(
  engine: Engine,
  reader: Reader,
  inquiry: Inquiry,
  shown: readonly Finalist[],
  groups: ReadonlyMap<string, readonly string[]>,
): Omit<Answer, "weak"> {
  const sections = new Map<string, PromptLine[]>();
  const hits: KeyedHit[] = [];
  let tokens = shown.length === 0 ? 0 : frameTokens([TITLE]);
  const trimmed = new Set<string>();
  // A rival stays below what it disputes, whenever each was said.
  const isByTime = inquiry.inOrder && shown.every(({ under = [] }) => under.length === 0);
  const titles = inquiry.bySession ? sessionTitles(shown) : shown.map(() => TITLE);
  for (const [at, finalist] of shown.entries()) {
    const line = promptLine(finalist.memory, inquiry.form);
    const title = titles[at] ?? TITLE;
    const lines = sections.get(title) ?? [];
    const heading = title === TITLE || lines.length > 0 ? "" : `${title}:\n`;
    const cost = inquiry.count(`${heading}${line}\n`);
    const isAlone = finalist.under?.some((key) => trimmed.has(key)) === true;
    // The best hit is given even where it alone is too much: an answer beats an empty budget.
    if (isAlone || (hits.length > 0 && tokens + cost > inquiry.budgetTokens)) {
      trimmed.add(finalist.ranked.key);
      continue;
    }
    tokens += cost;
    sections.set(title, [...lines, promptLineOf(finalist, line)]);
    hits.push(shapeHit(engine, inquiry, finalist, cost, groups.get(finalist.ranked.key) ?? []));
  }
  const told = [...sections].map(([title, given]) => ({
    title,
    lines: isByTime ? inOrderOfTime(given) : given,
  }));
  return {
    hits,
    text: promptText(
      told.map(({ title, lines }) => ({ title, lines: lines.map(({ line }) => line) })),
    ),
    ...(isByTime ? { inOrder: told.flatMap(({ lines }) => lines.map(({ id }) => id)) } : {}),
    tokens,
    trimmed: trimmed.size,
    leftOut: reader.live ? [] : ["vector", "salience"],
    seq: reader.position,
  };
}

/** A line for a prompt, and where its memory stands in time. */
interface PromptLine extends TimedLine {
  readonly line: string;
  readonly id: RecallHit["id"];
}

function promptLineOf({ memory }: Finalist, line: string): PromptLine {
  const place = memory.head.record.head.turn;
  return { line, id: memoryId(memory.id), atMs: worldTimeOf(memory), seq: memory.row.seq, place };
}

/** The heading above each hit: its conversation; what a rival brought in stands under the rival's. */
function sessionTitles(shown: readonly Finalist[]): readonly string[] {
  let title = TITLE;
  const backwards = [...shown].reverse().map((finalist) => {
    const session = sessionOf(finalist);
    if (session !== undefined) title = `Of the conversation ${JSON.stringify(quoted(session))}`;
    return title;
  });
  return backwards.reverse();
}

function shapeHit(
  engine: Engine,
  inquiry: Inquiry,
  { ranked, memory, coverage, via }: Finalist,
  tokens: number,
  duplicates: readonly string[],
): KeyedHit {
  const { type } = memory.head.record.head;
  const { number } = bodyOf(memory.body);
  return {
    key: ranked.key,
    id: memoryId(memory.id),
    uri: buildUri({ actor: engine.actor, type, id: memory.id, version: number }),
    type,
    text: formText(memory, inquiry.form),
    score: ranked.score,
    tokens,
    why: {
      lanes: scaledLanes(ranked),
      trust: ranked.factors.trust,
      salience: ranked.factors.salience,
      coverage,
      ...(via === undefined ? {} : { via: { from: memoryId(keyBytes(via.from)), kind: via.kind } }),
    },
    duplicates: duplicates.map((key) => memoryId(keyBytes(key))),
  };
}

function isWeak(analyser: Analyser, shown: readonly Finalist[]): boolean {
  const grounds = shown.map(
    ({ ranked: { lanes, byTime }, memory, coverage, closeness, terms, aside = false }) => {
      const byKin = (): number => coverageWithKin(terms, wordsOf(analyser, memory));
      return { lanes, byTime, coverage, closeness, voice: voiceOf(memory), aside, byKin };
    },
  );
  return !isConfident(grounds);
}

async function proofsOf(engine: Engine, hits: readonly KeyedHit[]): Promise<readonly Proof[]> {
  // The hits are the caller's to see: that was decided before.
  return Promise.all(hits.map(({ id }) => prove(engine, { memories: [id], access: OWNER })));
}
