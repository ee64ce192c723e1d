/**
 * Regular expressions that cannot hang the process. The only door to the engine, which matches in time
 * linear in the text for every pattern.
 *
 * Linear is not short: a large pattern over a large text takes a second for each hundred thousand
 * characters. So pattern and program are bounded, and a query has a bound on what it may spend in all:
 * a step is one instruction looking at one character. Measured at the worst, a step takes 14
 * nanoseconds; patterns that people write take a hundredth of that.
 */
import { RE2JS, RE2JSException } from "re2js";
import { isWellFormed, utf8Length } from "../codec/text.js";
import { CortexError, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";

/** What the matches of one query may still spend. */
export interface MatchBudget {
  steps: number;
}

/** The budget that a query starts with. */
export function matchBudget(): MatchBudget {
  return { steps: LIMITS.matchSteps };
}

/** A pattern that is ready to be used. */
export interface Pattern {
  readonly source: string;
  /** Whether the pattern occurs anywhere in a text; `ERR_TOO_BROAD` when the budget is spent. */
  matches(text: string, budget: MatchBudget): boolean;
}

/** Compiles a pattern; `field` is how messages call it. */
export function compilePattern(source: unknown, field: string): Pattern {
  if (typeof source !== "string") {
    throw invalid(field, "a regular expression as text", source, "ERR_PREDICATE");
  }
  if (!isWellFormed(source)) {
    throw invalid(field, "well-formed text", "a string with a lone surrogate", "ERR_ILL_FORMED");
  }
  if (utf8Length(source) > LIMITS.patternBytes) {
    const expected = `a pattern of at most ${LIMITS.patternBytes} bytes`;
    throw invalid(field, expected, source, "ERR_TOO_LARGE");
  }
  const compiled = compile(source, field);
  const program = compiled.programSize();
  if (program > LIMITS.patternProgram) {
    const expected = `a pattern of at most ${LIMITS.patternProgram} instructions`;
    throw invalid(field, expected, program, "ERR_TOO_LARGE");
  }
  return {
    source,
    matches(text, budget) {
      budget.steps -= program * text.length;
      if (budget.steps < 0) throw tooMuch(field);
      return compiled.test(text);
    },
  };
}

/**
 * The last few patterns: compiling one, and warming its automaton up, costs more than most queries that
 * use it. A pattern may hold megabytes of states, so they are few.
 */
const KEPT = new Map<string, RE2JS>();
const KEPT_MOST = 16;

function compile(source: string, field: string): RE2JS {
  const known = KEPT.get(source);
  if (known !== undefined) return known;
  try {
    const compiled = RE2JS.compile(source);
    const [oldest] = KEPT.keys();
    if (KEPT.size >= KEPT_MOST && oldest !== undefined) KEPT.delete(oldest);
    KEPT.set(source, compiled);
    return compiled;
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause;
    const expected = "a regular expression in RE2 syntax, which has no backreferences";
    throw new CortexError(
      "ERR_PREDICATE",
      `${field}: expected ${expected}: ${cause.message}`,
      { field, expected, got: "a pattern that does not compile" },
      cause,
    );
  }
}

function tooMuch(field: string): CortexError {
  const expected = "less text to look through";
  return new CortexError(
    "ERR_TOO_BROAD",
    `${field}: expected ${expected}: add a type, a tag or words that leave fewer memories, ` +
      "or use a shorter pattern",
    { field, expected, got: `more than ${LIMITS.matchSteps} steps` },
  );
}
