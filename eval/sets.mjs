/**
 * Reading retrieval sets: finds every set in a folder by its file names and gives each as tasks. A
 * task is one store to fill and the questions to ask of it. What the files look like is written in
 * docs/evaluation.md; nothing here knows a question, a name or an answer.
 *
 * @typedef {{
 *   readonly key: string,
 *   readonly session: string,
 *   readonly role: "user" | "assistant",
 *   readonly content: string,
 *   readonly speaker?: string,
 *   readonly at?: number,
 * }} Turn
 * @typedef {{ readonly key: string, readonly title?: string, readonly text: string }} Passage
 * @typedef {{
 *   readonly text: string,
 *   readonly category: string,
 *   readonly answerable: boolean,
 *   readonly now?: number,
 *   readonly gold: Readonly<Record<string, ReadonlySet<string>>>,
 * }} Question
 * @typedef {{
 *   readonly turns: readonly Turn[],
 *   readonly passages: readonly Passage[],
 *   readonly questions: readonly Question[],
 *   readonly units: readonly string[],
 * }} Task
 * @typedef {{ readonly name: string, tasks(): Iterable<Task> }} EvalSet
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/**
 * Every set of a folder.
 * @param {string} folder
 * @returns {readonly EvalSet[]}
 */
export function findSets(folder) {
  const files = readdirSync(folder).sort();
  /** @param {RegExp} pattern */
  const named = (pattern) => files.flatMap((file) => pattern.exec(file)?.[1] ?? []);
  const read = (/** @type {string} */ file) => readFileSync(join(folder, file));
  return [
    ...named(/^(locomo_(?!.*label_errors).*)\.json$/).map((name) => ({
      name,
      tasks: () => locomo(JSON.parse(read(`${name}.json`).toString("utf8"))),
    })),
    ...named(/^(longmemeval_.*)_questions\.jsonl$/).map((name) => ({
      name,
      tasks: () =>
        longMemEval(
          lines(read(`${name}_questions.jsonl`)),
          lines(read(`${name}_sessions.jsonl.gz`)),
        ),
    })),
    ...named(/^(.*)_corpus\.jsonl$/).map((name) => ({
      name,
      tasks: () =>
        passages(lines(read(`${name}_corpus.jsonl`)), lines(read(`${name}_questions.jsonl`))),
    })),
    ...named(/^(everyday_.*)\.jsonl$/).flatMap((name) => [
      { name, tasks: () => everyday(lines(read(`${name}.jsonl`))) },
      { name: `${name}_facts`, tasks: () => asFacts(everyday(lines(read(`${name}.jsonl`)))) },
    ]),
    ...named(/^(beam_.*)\.jsonl\.gz$/).map((name) => ({
      name,
      tasks: () => beam(lines(read(`${name}.jsonl.gz`))),
    })),
  ];
}

/** @param {Buffer} bytes */
function lines(bytes) {
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const text = (isZipped ? gunzipSync(bytes) : bytes).toString("utf8");
  return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line)]));
}

/**
 * Two people talk over many sessions; evidence names turns.
 * @param {readonly any[]} conversations
 * @returns {Generator<Task>}
 */
function* locomo(conversations) {
  for (const { conversation, qa } of conversations) {
    const names = Object.keys(conversation).filter((name) => /^session_\d+$/.test(name));
    names.sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)));
    const turns = names.flatMap((name) => {
      const at = dateOf(conversation[`${name}_date_time`]);
      return conversation[name].map((/** @type {any} */ turn) => ({
        key: turn.dia_id,
        session: `D${name.slice(8)}`,
        role: "user",
        speaker: turn.speaker,
        content: turn.blip_caption ? `${turn.text} ${turn.blip_caption}` : turn.text,
        ...(at === undefined ? {} : { at }),
      }));
    });
    const known = new Set(turns.map(({ key }) => key));
    const last = Math.max(0, ...turns.map(({ at }) => at ?? 0));
    const questions = qa.map((/** @type {any} */ item) => {
      const ids = (item.evidence ?? []).flatMap(
        (/** @type {string} */ text) => text.match(/D\d+:\d+/g) ?? [],
      );
      const gold = ids.filter((/** @type {string} */ id) => known.has(id));
      return {
        text: item.question,
        category: String(item.category),
        answerable: item.category !== 5,
        ...(last === 0 ? {} : { now: last }),
        gold: {
          turn: new Set(gold),
          session: new Set(gold.map((/** @type {string} */ id) => id.split(":")[0])),
        },
      };
    });
    yield { turns, passages: [], questions, units: ["turn", "session"] };
  }
}

/**
 * One person's turns, and questions by kind: in other words, by the word for the kind of thing, by
 * inference, plainly, and about what was never said.
 * @param {readonly any[]} stores
 * @returns {Generator<Task>}
 */
function* everyday(stores) {
  for (const { now, turns, questions } of stores) {
    yield {
      turns: turns.map((/** @type {any} */ { id, session, role, at, content }) => {
        return { key: id, session, role, content, at: Date.parse(at) };
      }),
      passages: [],
      questions: questions.map((/** @type {any} */ { kind, text, gold }) => ({
        text,
        category: kind,
        answerable: gold.length > 0,
        now: Date.parse(now),
        gold: { turn: new Set(gold) },
      })),
      units: ["turn"],
    };
  }
}

/**
 * The same, with what the person said written as facts, one a turn, and what an assistant said left out.
 * @param {Iterable<Task>} tasks
 * @returns {Generator<Task>}
 */
function* asFacts(tasks) {
  for (const { turns, questions } of tasks) {
    const said = turns.filter(({ role }) => role === "user");
    yield {
      turns: [],
      passages: said.map(({ key, content }) => ({ key, text: content })),
      questions: questions.map((question) => ({
        ...question,
        gold: { fact: question.gold.turn ?? new Set() },
      })),
      units: ["fact"],
    };
  }
}

/** Questions of others that every store is asked as well. */
const STRANGE = 8;

/**
 * Each question has sessions of its own; then all sessions in one pool.
 * @param {readonly any[]} questions
 * @param {readonly any[]} sessions
 * @returns {Generator<Task>}
 */
function* longMemEval(questions, sessions) {
  const byId = new Map(sessions.map((session) => [session.session_id, session.turns]));
  /** @type {Question[]} */
  const pooled = [];
  for (const [place, item] of questions.entries()) {
    const answerable = !item.question_id.endsWith("_abs");
    const now = dateOf(item.question_date);
    const dates = new Map(
      item.haystack_session_ids.map((/** @type {string} */ id, /** @type {number} */ at) => [
        id,
        dateOf(item.haystack_dates?.[at]),
      ]),
    );
    const ids = [...new Set(/** @type {string[]} */ (item.haystack_session_ids))];
    const turns = ids.flatMap((id) => turnsOf(id, byId.get(id), dates.get(id)));
    const gold = turns.filter((turn) => turn.hasAnswer).map(({ key }) => key);
    const question = {
      text: item.question,
      category: answerable ? item.question_type : "unanswerable",
      answerable,
      ...(now === undefined ? {} : { now }),
      gold: {
        turn: new Set(answerable ? gold : []),
        session: new Set(answerable ? item.answer_session_ids : []),
        "pooled session": new Set(answerable ? item.answer_session_ids : []),
      },
    };
    pooled.push(question);
    // What other stores were asked, and nothing here answers.
    const held = new Set(ids);
    const strange = [...questions.slice(place + 1), ...questions.slice(0, place)]
      .filter(({ answer_session_ids: answers }) => {
        return answers.every((/** @type {string} */ id) => !held.has(id));
      })
      .slice(0, STRANGE)
      .map(({ question: text }) => ({
        text,
        category: "of another store",
        answerable: false,
        ...(now === undefined ? {} : { now }),
        gold: {},
      }));
    yield { turns, passages: [], questions: [question, ...strange], units: ["session", "turn"] };
  }
  const all = [...byId.keys()].sort().flatMap((id) => turnsOf(id, byId.get(id), undefined));
  yield { turns: all, passages: [], questions: pooled, units: ["pooled session"] };
}

/**
 * @param {string} session
 * @param {readonly any[]} turns
 * @param {number | undefined} at
 */
function turnsOf(session, turns, at) {
  return turns.map((turn, index) => ({
    key: `${session}/${index}`,
    session,
    role: turn.role,
    content: turn.content,
    hasAnswer: turn.has_answer === true,
    ...(at === undefined ? {} : { at }),
  }));
}

/**
 * @param {readonly any[]} corpus
 * @param {readonly any[]} questions
 * @returns {Generator<Task>}
 */
function* passages(corpus, questions) {
  yield {
    turns: [],
    passages: corpus.map(({ id, title, text }) => ({ key: String(id), title, text })),
    questions: questions.map((item) => ({
      text: item.question,
      category: item.type ?? "all",
      answerable: true,
      gold: { passage: new Set(item.gold_doc_ids.map(String)) },
    })),
    units: ["passage"],
  };
}

/**
 * @param {readonly any[]} chats
 * @returns {Generator<Task>}
 */
function* beam(chats) {
  for (const chat of chats) {
    const turns = chat.batches.flatMap((/** @type {any} */ batch, /** @type {number} */ at) =>
      batch.turns.flat().map((/** @type {any} */ message) => ({
        key: String(message.id),
        session: `batch ${at}`,
        role: message.role,
        content: message.content.replace(/->->.*$/, ""),
      })),
    );
    const known = new Set(turns.map((/** @type {Turn} */ { key }) => key));
    const questions = Object.entries(chat.probing_questions).flatMap(([ability, items]) =>
      /** @type {any[]} */ (items).map((item) => ({
        text: item.question,
        category: ability,
        answerable: ability !== "abstention",
        gold: { message: new Set(flat(item.source_chat_ids ?? []).filter((id) => known.has(id))) },
      })),
    );
    yield { turns, passages: [], questions, units: ["message"] };
  }
}

/**
 * @param {unknown} value
 * @returns {string[]}
 */
function flat(value) {
  if (Array.isArray(value)) return value.flatMap(flat);
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(flat);
  return [String(value)];
}

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

/**
 * The times these files write: "1:56 pm on 8 May, 2023" and "2023/06/23 (Fri) 07:31".
 * @param {string | undefined} text
 * @returns {number | undefined}
 */
function dateOf(text) {
  if (text === undefined) return undefined;
  const spoken = /(\d+):(\d+) (am|pm) on (\d+) ([A-Za-z]{3})[a-z]*,? (\d{4})/.exec(text);
  if (spoken !== null) {
    const [, hour, minute, half, day, month, year] = spoken;
    const hours = (Number(hour) % 12) + (half === "pm" ? 12 : 0);
    const at = MONTHS.indexOf((month ?? "").toLowerCase());
    return Date.UTC(Number(year), at, Number(day), hours, Number(minute));
  }
  const plain = /(\d{4})\/(\d{2})\/(\d{2})[^\d]*(\d{2}):(\d{2})/.exec(text);
  if (plain === null) return undefined;
  const [, year, month, day, hour, minute] = plain.map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1, hour ?? 0, minute ?? 0);
}
