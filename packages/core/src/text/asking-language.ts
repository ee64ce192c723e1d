/**
 * What a language gives for the words people ask with (`asking-words.ts`): every pattern is the source of a
 * regular expression, read against text in lower case without accents, together with those of all other
 * languages. A phrase is written so that it means nothing in the other languages. Where words are not spaced a
 * pattern is a plain stretch of characters.
 */

/** A stretch of days that a phrase means, counted back from today. */
export type RelativeDays =
  | "today"
  | "yesterday"
  | "day before yesterday"
  | "this week"
  | "last week"
  | "this weekend"
  | "last weekend"
  | "this month"
  | "last month"
  | "this year"
  | "last year";

/** What a unit of "… ago" is called. */
export type AgoUnit = "day" | "week" | "month" | "year";

/** How one language asks. */
export interface AskingLanguage {
  /** Whether there are spaces between words. */
  readonly spaced: boolean;
  /** January first; each the alternatives of one month. */
  readonly months: readonly string[];
  /** The same cut short: such a name counts beside a day, a year or `lead`. Empty where there are none. */
  readonly monthsShort: readonly string[];
  /** The ordinals of the weeks of a month: first to fourth, and last. Empty where they are not told so. */
  readonly weeksOfMonth: readonly string[];
  /**
   * How a month is told: `MONTH` stands for its name, and the groups are `month`, `day` or `after` for the day, `year`,
   * `lead` for a word that only stands before a month, and `week`, in which `WEEK` stands for the ordinals.
   */
  readonly month: string;
  /** What a month needs that has none of these: a capital, whatever is written, or no such month counts. */
  readonly bareMonth: "capital" | "always" | "never";
  /** A year by itself, in the group `year`. */
  readonly year: string;
  /** Sunday first. */
  readonly weekdays: readonly string[];
  /** Phrases of the last such weekday, `DAY` standing for its name. "On Monday" needs a word that says that it is over. */
  readonly latestWeekday: readonly string[];
  /** Phrases of a weekday of the week before this one. */
  readonly lastWeeksWeekday: readonly string[];
  /** Spring first, and the phrase of the last one that is over, `SEASON` standing for its name. Seasons of the north. */
  readonly seasons: readonly string[];
  readonly lastSeason: string;
  readonly relative: { readonly [days in RelativeDays]?: string };
  /** A count and a unit back: `N` stands for the count, `UNIT` for the unit. */
  readonly ago: string;
  /** The days until now, told the same way or without a count: three units then, and without a unit two weeks. */
  readonly lately: string;
  readonly units: { readonly [unit in AgoUnit]: string };
  readonly numbers: { readonly [word: string]: number };
  /** Asks for what was, negations of the present among it. */
  readonly past: readonly string[];
  /** Words of a question that asks for whatever there was at a time, and for nothing else. */
  readonly whatever: string;
  /** Asks for all of something. */
  readonly gathering: readonly string[];
  /** Asks for what came first and what then. */
  readonly order: readonly string[];
  /** Words about the talk and its telling, which say nothing of its subject where all of it is asked for. */
  readonly telling: string;
  /** Tells an assistant what holds for every answer, from the beginning of a sentence. */
  readonly standing: readonly string[];
}
