/**
 * The search operators that memgraph's users type: those of SQLite's FTS5, its engine.
 *
 * Promises: a text with operators that FTS5 would have accepted over `content`, `summary` and `tags`
 * means what it meant there: phrases, `prefix*`, `AND`, `OR`, `NOT`, `NEAR`, `^`, columns, parentheses,
 * and words side by side that must all be there. Any other text is no expression, and is searched for
 * as it stands. A text of plain words is none either: the more of them a node holds the better.
 *
 * What is found is decided here, word by word, and words are what FTS5 takes for such: see `fts5-words.ts`. How it
 * ranks is left to `search`.
 */
import { type Fts5Words, hasWords, runAround, type Spoken } from "./fts5-words.js";

const COLUMNS = ["content", "summary", "tags"] as const;

/** A column of a node that is searched. */
type Column = (typeof COLUMNS)[number];

/** What a node says, by column. */
export type SearchedTexts = { readonly [column in Column]: string };

/** One string of a phrase: it may become several words, the last of which may be a beginning. */
interface Piece {
  readonly text: string;
  readonly isPrefix: boolean;
}

type Phrase = readonly Piece[];

/** What a text asks for. */
type Expression =
  | {
      readonly type: "near";
      readonly phrases: readonly Phrase[];
      readonly distance: number;
      /** The first word of the column. */
      readonly isFirst: boolean;
      readonly columns: readonly Column[];
    }
  | {
      readonly type: "AND" | "OR" | "NOT";
      readonly left: Expression;
      readonly right: Expression;
    };

type Near = Extract<Expression, { readonly type: "near" }>;

interface Sign {
  readonly text: string;
  readonly type: "bare" | "quoted" | "sign";
}

const SIGNS =
  /\s+|(?<bare>[\w\u0080-\u{10ffff}]+)|"(?<quoted>(?:[^"]|"")*)"|(?<sign>[(){}:,+*^-])/uy;

function signsIn(text: string): readonly Sign[] | undefined {
  const signs: Sign[] = [];
  const pattern = new RegExp(SIGNS);
  while (pattern.lastIndex < text.length) {
    const { groups } = pattern.exec(text) ?? {};
    if (groups === undefined) return undefined;
    const { bare, quoted, sign } = groups;
    if (bare !== undefined) signs.push({ type: "bare", text: bare });
    else if (quoted !== undefined) {
      signs.push({ type: "quoted", text: quoted.replaceAll('""', '"') });
    } else if (sign !== undefined) signs.push({ type: "sign", text: sign });
  }
  return signs;
}

/** The expression that a text is; `undefined` for plain words and for what FTS5 would have refused. */
export function expressionOf(text: string): Expression | undefined {
  const signs = signsIn(text);
  if (signs === undefined || signs.length === 0) return undefined;
  if (signs.every((sign) => sign.type === "bare" && !OPERATORS.has(sign.text))) return undefined;
  try {
    return new Parser(signs).whole();
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

/** How tightly the words between expressions bind: what is higher binds first. */
const OPERATORS = new Map([
  ["OR", 1],
  ["AND", 2],
  ["NOT", 3],
]);

/** Tokens that may stand between the phrases of a NEAR when none is given. */
const NEAR_DISTANCE = 10;
/** Parentheses in each other; more are a text, not a question. */
const DEPTH_MAX = 64;

/** FTS5 would have refused the text. */
class Refused extends Error {}

/** Reads an expression by FTS5's grammar. */
class Parser {
  readonly #signs: readonly Sign[];
  #at = 0;
  #depth = 0;

  constructor(signs: readonly Sign[]) {
    this.#signs = signs;
  }

  whole(): Expression {
    const found = this.#expression(1, COLUMNS);
    if (this.#at < this.#signs.length) throw new Refused();
    return found;
  }

  #expression(tightness: number, columns: readonly Column[]): Expression {
    let left = this.#operand(columns);
    for (;;) {
      const sign = this.#signs[this.#at];
      const own = sign?.type === "bare" ? OPERATORS.get(sign.text) : undefined;
      if (own === undefined || own < tightness) return left;
      this.#at += 1;
      const type = sign?.text as "AND" | "OR" | "NOT";
      left = { type, left, right: this.#expression(own + 1, columns) };
    }
  }

  #operand(columns: readonly Column[]): Expression {
    if (this.#takes("(")) return this.#inside(columns);
    let all: Expression | undefined;
    while (this.#startsNear()) {
      const own = this.#columns(columns);
      if (own !== columns && this.#takes("(")) {
        // A column with parentheses stands by itself.
        if (all !== undefined) throw new Refused();
        return this.#inside(own);
      }
      const near = this.#near(own);
      // Of phrases side by side, one without a word is none; by itself it is nowhere.
      if (all === undefined || isEmpty(all)) all = near;
      else if (!isEmpty(near)) all = { type: "AND", left: all, right: near };
    }
    if (all === undefined) throw new Refused();
    return all;
  }

  #inside(columns: readonly Column[]): Expression {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new Refused();
    const found = this.#expression(1, columns);
    if (!this.#takes(")")) throw new Refused();
    this.#depth -= 1;
    return found;
  }

  #startsNear(): boolean {
    const sign = this.#signs[this.#at];
    if (sign === undefined) return false;
    if (sign.type === "sign") return "^-{".includes(sign.text);
    return sign.type === "quoted" || !OPERATORS.has(sign.text);
  }

  /** The columns that stand before a colon; those of the outside where none do. */
  #columns(outside: readonly Column[]): readonly Column[] {
    const start = this.#at;
    const isWithout = this.#takes("-");
    const names: string[] = [];
    if (this.#takes("{")) {
      while (!this.#takes("}")) names.push(this.#string());
    } else {
      const sign = this.#signs[this.#at];
      if (sign?.type !== "sign") names.push(this.#string());
    }
    if (!this.#takes(":")) {
      if (isWithout || this.#signs[start]?.text === "{") throw new Refused();
      this.#at = start;
      return outside;
    }
    const named = names.map((name) => name.toLowerCase());
    if (!named.every((name) => name === "node_id" || COLUMNS.some((one) => one === name))) {
      throw new Refused();
    }
    return outside.filter((column) => named.includes(column) !== isWithout);
  }

  #near(columns: readonly Column[]): Near {
    const isFirst = this.#takes("^");
    const [sign, next] = this.#signs.slice(this.#at);
    const base = { type: "near", distance: NEAR_DISTANCE, isFirst, columns } as const;
    if (sign?.type === "bare" && next?.text === "(" && next.type === "sign") {
      if (sign.text !== "NEAR" || isFirst) throw new Refused();
      this.#at += 2;
      return { ...base, ...this.#nearGroup() };
    }
    return { ...base, phrases: [this.#phrase()] };
  }

  #nearGroup(): Pick<Near, "phrases" | "distance"> {
    const phrases = [this.#phrase()];
    while (this.#startsNear()) phrases.push(this.#phrase());
    let distance = NEAR_DISTANCE;
    if (this.#takes(",")) {
      const number = this.#string();
      if (!/^\d{1,9}$/.test(number)) throw new Refused();
      distance = Number(number);
    }
    if (!this.#takes(")")) throw new Refused();
    return { phrases, distance };
  }

  #phrase(): Phrase {
    const pieces: Piece[] = [];
    do {
      const text = this.#string();
      pieces.push({ text, isPrefix: this.#takes("*") });
    } while (this.#takes("+"));
    return pieces;
  }

  #string(): string {
    const sign = this.#signs[this.#at];
    const isString = sign !== undefined && sign.type !== "sign";
    if (!isString || (sign.type === "bare" && OPERATORS.has(sign.text))) throw new Refused();
    this.#at += 1;
    return sign.text;
  }

  #takes(text: string): boolean {
    const sign = this.#signs[this.#at];
    if (sign?.type !== "sign" || sign.text !== text) return false;
    this.#at += 1;
    return true;
  }
}

/** Whether an expression is of phrases that have no word. */
function isEmpty(one: Expression): boolean {
  return one.type === "near" && !one.phrases.flat().some(({ text }) => hasWords(text));
}

/** A word of a phrase; of a beginning, what it is with and without its ending. */
interface Term extends Spoken {
  readonly isPrefix: boolean;
}

/** An expression that texts can be matched with. */
export interface Matcher {
  /** Words of which a text that matches holds one at the least; beginnings are not among them. */
  readonly words: readonly string[];
  /** Whether a beginning is asked for: then words that match must be found by looking. */
  readonly hasPrefix: boolean;
  /** Whether texts match; `met` is told every word that a beginning met. */
  matches(texts: SearchedTexts, met?: (word: string) => void): boolean;
}

/** How a word is looked for. */
interface Looking {
  readonly words: Fts5Words;
  /** True takes a beginning for what FTS5 takes it, and nothing more: where what is found is left out. */
  readonly isStrict: boolean;
  readonly met: (word: string) => void;
}

/** The matcher of an expression. */
export function matcherOf(expression: Expression, fts5: Fts5Words): Matcher {
  const words: string[] = [];
  let hasPrefix = false;
  const wanted = (one: Expression, isWanted: boolean): void => {
    if (one.type !== "near") {
      wanted(one.left, isWanted);
      wanted(one.right, isWanted && one.type !== "NOT");
      return;
    }
    for (const piece of one.phrases.flat()) {
      if (!isWanted) continue;
      if (piece.isPrefix) hasPrefix = true;
      words.push(piece.text);
    }
  };
  wanted(expression, true);
  return {
    words,
    hasPrefix,
    matches: (texts, met = () => {}) => {
      const spoke = columnsOf(fts5, texts);
      return holds(expression, spoke, { words: fts5, isStrict: false, met });
    },
  };
}

type Spoke = { readonly [column in Column]: readonly Spoken[] };

function columnsOf(words: Fts5Words, texts: SearchedTexts): Spoke {
  return {
    content: words.of(texts.content),
    summary: words.of(texts.summary),
    tags: words.of(texts.tags),
  };
}

function holds(one: Expression, spoke: Spoke, looking: Looking): boolean {
  switch (one.type) {
    case "near":
      return holdsNear(one, spoke, looking);
    case "AND":
      return holds(one.left, spoke, looking) && holds(one.right, spoke, looking);
    case "OR": {
      const left = holds(one.left, spoke, looking);
      return holds(one.right, spoke, looking) || left;
    }
    case "NOT": {
      if (!holds(one.left, spoke, looking)) return false;
      return !holds(one.right, spoke, { ...looking, isStrict: true, met: () => {} });
    }
  }
}

function holdsNear(
  { phrases, columns, distance, isFirst }: Near,
  spoke: Spoke,
  looking: Looking,
): boolean {
  const terms = phrases
    .map((phrase) => termsOf(phrase, looking.words))
    .filter(({ length }) => length > 0);
  // Phrases without words are nowhere; beside others they are none.
  if (terms.length === 0) return false;
  return columns.some((column) => {
    const places = terms.map((own) => placesOf(own, spoke[column], looking));
    if (isFirst) return places[0]?.includes(0) === true;
    return areNear(places, terms, distance);
  });
}

function termsOf(phrase: Phrase, words: Fts5Words): readonly Term[] {
  return phrase.flatMap(({ text, isPrefix }) => {
    const spoken = words.of(text);
    return spoken.map((one, at) => ({ ...one, isPrefix: isPrefix && at === spoken.length - 1 }));
  });
}

/** Where a phrase begins. */
function placesOf(
  terms: readonly Term[],
  spoken: readonly Spoken[],
  { isStrict, met }: Looking,
): readonly number[] {
  const places: number[] = [];
  for (let at = 0; at + terms.length <= spoken.length; at += 1) {
    const isHere = terms.every(({ word, plain, isPrefix }, index) => {
      const said = spoken[at + index];
      if (said === undefined || !isPrefix) return said?.word === word;
      // FTS5 takes the ending off a beginning as well. As it is written, `runn*` finds `running` too.
      return said.word.startsWith(word) || (!isStrict && said.plain.startsWith(plain));
    });
    if (!isHere) continue;
    places.push(at);
    for (const [index, { isPrefix }] of terms.entries()) {
      const said = spoken[at + index];
      if (isPrefix && said !== undefined) met(runAround(said));
    }
  }
  return places;
}

/** Whether phrases stand together: at most so many words between the end of the first and the start of the last. */
function areNear(
  places: readonly (readonly number[])[],
  terms: readonly (readonly Term[])[],
  distance: number,
): boolean {
  if (places.some(({ length }) => length === 0)) return false;
  if (places.length === 1) return true;
  // Each place in turn is the last of the group: the others stand as close before it as they can.
  return places.flat().some((last) => {
    const starts = places.map((own) => own.filter((start) => start <= last).at(-1));
    if (starts.some((start) => start === undefined)) return false;
    const ends = starts.map((start = 0, at) => start + (terms[at]?.length ?? 1));
    return last - Math.min(...ends) <= distance;
  });
}
