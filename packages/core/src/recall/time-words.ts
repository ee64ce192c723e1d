/**
 * The time a question speaks of: "in May 2022", "last week", "on 3 March", "two days ago", and whether
 * it asks about the past of a thing ("used to", "before", "originally").
 *
 * Promise: pure; the present is an argument. A question without such words gives nothing, so that
 * ordinary questions are not narrowed. A question that says nothing else asks for whatever there was then. Days are days of the calendar in UTC. The words are data per language
 * (`text/asking-words.ts`); what English months look like, and numbered months and dates, is here.
 */
import {
  type AgoUnit,
  ASKING_WORDS,
  anyOf,
  plainText,
  type RelativeDays,
} from "../text/asking-words.js";

/** A stretch of world time. */
interface Period {
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
}

/** What a question says about time. */
export interface TimeWords {
  /** Stretches of time that the question names, each a candidate. */
  readonly periods: readonly Period[];
  /** Whether it asks how things were, so that replaced memories belong to the answer. */
  readonly past: boolean;
  /** Whether it asks for whatever there was then ("What did I do last week?"): its other words say nothing. */
  readonly alone: boolean;
  /** Whether a time is named by its date, month or year. */
  readonly dated: boolean;
}

const DAY_MS = 86_400_000;

const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
] as const;

/** Week, day before the name, the name, day after it, year. */
const MONTH_PATTERN = new RegExp(
  "(?:\\b(first|second|third|fourth|last) week of )?" +
    "(?:\\b(\\d{1,2})(?:st|nd|rd|th)?,? (?:of )?)?" +
    `\\b(${MONTHS.join("|")})\\b` +
    "(?: (\\d{1,2})(?:st|nd|rd|th)?(?!\\d))?" +
    "(?:,? (?:of )?(\\d{4})\\b)?",
  "gi",
);

/** The patterns of asking words, ready to be used. */
const PAST = anyOf(({ past }) => past);

interface RelativePattern {
  readonly days: RelativeDays;
  readonly pattern: RegExp;
}

const LANGUAGES = Object.values(ASKING_WORDS);

const RELATIVE: readonly RelativePattern[] = LANGUAGES.flatMap(({ relative }) =>
  Object.entries(relative).map(([days, source]) => ({
    days: days as RelativeDays,
    pattern: new RegExp(source, "u"),
  })),
);

/** The phrases of a past weekday; the names are those of one language, Sunday first. */
const LAST_WEEKDAY = LANGUAGES.map(({ weekdays, lastWeekday }) => ({
  names: weekdays.map((name) => new RegExp(`^(?:${name})$`, "u")),
  pattern: new RegExp(lastWeekday.replace("DAY", `(${weekdays.join("|")})`), "u"),
}));

const AGO = LANGUAGES.map(({ ago, units, numbers }) => {
  const count = `(\\d{1,3}|${Object.keys(numbers).join("|")})`;
  const unit = `(${Object.values(units).join("|")})`;
  const known = Object.entries(units).map(([name, source]) => ({
    name: name as AgoUnit,
    pattern: new RegExp(`^(?:${source})$`, "u"),
  }));
  return {
    numbers,
    known,
    pattern: new RegExp(ago.replace("N", count).replace("UNIT", unit), "u"),
  };
});

/** Months by name in the other languages: a day before or after, a year, or a word that leads to a month. */
const OTHER_MONTHS = LANGUAGES.flatMap(({ months, beforeMonth }) => {
  if (months.length === 0) return [];
  const names = `(${months.join("|")})`;
  const source =
    `(?:\\b(\\d{1,2})\\.?(?: de)? )?(?:\\b(${beforeMonth}) )?\\b${names}\\b` +
    "(?:,? (?:del? )?(\\d{4})\\b)?";
  const known = months.map((name) => new RegExp(`^(?:${name})$`, "u"));
  return [{ known, pattern: new RegExp(source, "gu") }];
});

/** "2023年5月3日", "5月", "五月": years and days may be missing. */
const NUMBERED_MONTH =
  /(?:(\d{4})年)?(\d{1,2}|十[一二]?|[一二三四五六七八九])月(?:份)?(?:(\d{1,2})[日号])?/gu;
/** A year behind a word that leads to one, or written as such. */
const YEAR = /\b(?:in|of|during|since|by|seit|im jahr|en|desde|depuis) (\d{4})\b|(\d{4})年/gu;
const ISO_DATE = /\b(\d{4})-(\d{2})-(\d{2})\b/g;
const HAN_DIGITS = "一二三四五六七八九十";

/** Reads the time words of a question. */
export function timeWords(question: string, nowMs: number): TimeWords {
  const text = question.normalize("NFKC");
  const plain = plainText(text);
  const named = namedMonths(text, nowMs);
  const dates = [...isoDates(text), ...(named.length > 0 ? named : otherMonths(plain, nowMs))];
  const periods = [...dates, ...relative(plain, nowMs)];
  const years = periods.length > 0 ? [] : bareYears(plain);
  const all = [...periods, ...years];
  const dated = dates.length + years.length > 0;
  return {
    periods: all,
    past: PAST.test(plain),
    alone: all.length > 0 && asksWhatever(plain),
    dated,
  };
}

/** The phrases of a time, wherever they stand in a question. */
const TIMES: readonly RegExp[] = [
  ...[MONTH_PATTERN, NUMBERED_MONTH, ISO_DATE],
  ...[...OTHER_MONTHS, ...RELATIVE, ...LAST_WEEKDAY, ...AGO].map(({ pattern }) => pattern),
].map(({ source }) => new RegExp(source, "giu"));

/** Words that say nothing beside a time; where words are not spaced, any stretch of them. */
const { chinese: UNSPACED, ...SPACED } = ASKING_WORDS;
const WHATEVER = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${Object.values(SPACED)
    .map(({ whatever }) => whatever)
    .join("|")})(?![\\p{L}\\p{N}])|${UNSPACED.whatever}`,
  "gu",
);

/** Whether nothing is left of a question, in plain text, without its times and such words. */
function asksWhatever(question: string): boolean {
  const rest = TIMES.reduce((text, pattern) => text.replace(pattern, " "), question);
  return !/[\p{L}\p{N}]/u.test(rest.replace(YEAR, " ").replace(WHATEVER, " "));
}

/** How well a time fits a period: 1 inside, less a few days beside it, 0 elsewhere. */
export function fitOf(atMs: number, { fromMs, toMs }: Period): number {
  if (atMs >= fromMs && atMs < toMs) return 1;
  const beside = atMs < fromMs ? fromMs - atMs : atMs - toMs;
  // People date things by when they heard of them: the days around a short period count for something.
  const reach = Math.min(7 * DAY_MS, Math.max(2 * DAY_MS, (toMs - fromMs) / 4));
  return beside >= reach ? 0 : 0.5 * (1 - beside / reach);
}

function isoDates(text: string): Period[] {
  return [...text.matchAll(ISO_DATE)].flatMap(([, year, month, day]) => {
    const fromMs = Date.UTC(Number(year), Number(month) - 1, Number(day));
    return Number.isNaN(fromMs) ? [] : [{ fromMs, toMs: fromMs + DAY_MS }];
  });
}

/** "May 2022", "3 May", "May 3rd, 2023", "the second week of November". */
function namedMonths(text: string, nowMs: number): Period[] {
  return [...text.matchAll(MONTH_PATTERN)].flatMap(([, week, before, name = "", after, year]) => {
    const month = MONTHS.findIndex((full) => full.startsWith(name.toLowerCase()));
    const day = before ?? after;
    const isBare = week === undefined && day === undefined && year === undefined;
    // "may" and "march" are words as well: alone, a month needs its capital.
    if (month < 0 || (isBare && !/^[A-Z]/.test(name))) return [];
    const years = year === undefined ? likelyYears(month, nowMs) : [Number(year)];
    return years.map((number) => withinMonth(number, month, day, week?.toLowerCase()));
  });
}

/** Months in the words of other languages than English, and numbered ones. */
function otherMonths(text: string, nowMs: number): Period[] {
  const named = OTHER_MONTHS.flatMap(({ known, pattern }) =>
    [...text.matchAll(pattern)].flatMap(([, day, before, name = "", year]) => {
      const isBare = day === undefined && before === undefined && year === undefined;
      return isBare ? [] : [{ month: known.findIndex((one) => one.test(name)), day, year }];
    }),
  );
  const numbered = [...text.matchAll(NUMBERED_MONTH)].map(([, year, name = "", day]) => {
    const digits = [...name].map((digit) => HAN_DIGITS.indexOf(digit) + 1);
    const written = digits.reduce((sum, digit) => sum + digit, 0);
    return { month: (/^\d/.test(name) ? Number(name) : written) - 1, day, year };
  });
  return [...named, ...numbered].flatMap(({ month, day, year }) => {
    if (month < 0 || month > 11) return [];
    const years = year === undefined ? likelyYears(month, nowMs) : [Number(year)];
    return years.map((number) => withinMonth(number, month, day, undefined));
  });
}

function withinMonth(
  year: number,
  month: number,
  day: string | undefined,
  week: string | undefined,
): Period {
  const start = Date.UTC(year, month, 1);
  const end = Date.UTC(year, month + 1, 1);
  if (day !== undefined) {
    const fromMs = Date.UTC(year, month, Number(day));
    return { fromMs, toMs: fromMs + DAY_MS };
  }
  const at = ["first", "second", "third", "fourth"].indexOf(week ?? "");
  if (at >= 0) return { fromMs: start + 7 * at * DAY_MS, toMs: start + 7 * (at + 1) * DAY_MS };
  if (week === "last") return { fromMs: end - 7 * DAY_MS, toMs: end };
  return { fromMs: start, toMs: end };
}

/** A month without a year is the last one that has begun, or the one before it. */
function likelyYears(month: number, nowMs: number): number[] {
  const year = new Date(nowMs).getUTCFullYear();
  const latest = Date.UTC(year, month, 1) <= nowMs ? year : year - 1;
  return [latest, latest - 1];
}

function bareYears(text: string): Period[] {
  return [...text.matchAll(YEAR)].flatMap(([, spaced, written]) => {
    const year = Number(spaced ?? written);
    if (year < 1900 || year > 2199) return [];
    return [{ fromMs: Date.UTC(year, 0, 1), toMs: Date.UTC(year + 1, 0, 1) }];
  });
}

function relative(text: string, nowMs: number): Period[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const found: Period[] = [];
  const days = (back: number, length: number): void => {
    found.push({ fromMs: today - back * DAY_MS, toMs: today - (back - length) * DAY_MS });
  };
  for (const { days: meant, pattern } of RELATIVE) {
    if (!pattern.test(text)) continue;
    if (meant === "last year") found.push(lastYear(nowMs));
    else days(...RELATIVE_DAYS[meant]);
  }
  for (const { names, pattern } of LAST_WEEKDAY) {
    const name = pattern.exec(text)?.[1];
    if (name !== undefined)
      days(
        daysSince(
          names.findIndex((one) => one.test(name)),
          today,
        ),
        1,
      );
  }
  for (const { numbers, known, pattern } of AGO) {
    const [, word = "", unit = ""] = pattern.exec(text) ?? [];
    const count = /^\d+$/.test(word) ? Number(word) : numbers[word as keyof typeof numbers];
    const name = known.find((one) => one.pattern.test(unit))?.name;
    if (count !== undefined && name !== undefined) found.push(agoPeriod(count, name, today));
  }
  return found;
}

/** How many days back a phrase begins, and how many it means; people count back roughly. */
const RELATIVE_DAYS: { readonly [days in Exclude<RelativeDays, "last year">]: [number, number] } = {
  today: [0, 1],
  yesterday: [1, 1],
  "this week": [6, 7],
  "last week": [13, 13],
  "last weekend": [9, 9],
  "this month": [30, 31],
  "last month": [61, 61],
};

function lastYear(nowMs: number): Period {
  const year = new Date(nowMs).getUTCFullYear();
  return { fromMs: Date.UTC(year - 1, 0, 1), toMs: Date.UTC(year, 0, 1) };
}

/** Days since the last such weekday, 0 being Sunday. */
function daysSince(weekday: number, today: number): number {
  return ((new Date(today).getUTCDay() - weekday + 6) % 7) + 1;
}

/** People count back roughly: the period is as wide as the unit they count in. */
function agoPeriod(count: number, unit: AgoUnit, today: number): Period {
  const length = { day: 1, week: 7, month: 30, year: 365 }[unit];
  const middle = today - count * length * DAY_MS;
  const half = Math.max(1, Math.floor(length / 2)) * DAY_MS;
  return { fromMs: middle - half, toMs: middle + half + DAY_MS };
}
