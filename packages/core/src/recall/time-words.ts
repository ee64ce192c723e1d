/**
 * The time a question speaks of: "in May 2022", "last week", "on 3 March", "two days ago", and whether
 * it asks about the past of a thing ("used to", "before", "originally").
 *
 * Promise: pure; the present is an argument. A question without such words gives nothing, so that
 * ordinary questions are not narrowed. Days are days of the calendar in UTC. English words, digits and
 * ISO dates; other languages are asked without a time lane.
 */

/** A stretch of world time. */
export interface Period {
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

const WEEKDAYS = [
  "sunday",
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
] as const;

const NUMBERS: Readonly<Record<string, number>> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  couple: 2,
  few: 3,
};

/**
 * How people ask for what was. "use to" is the past only behind "did" (what one uses to cook is not), and
 * "old" only where it is no age.
 */
const PAST = new RegExp(
  [
    "\\b(?:used to|before|previous(?:ly)?|prior|formerly|former|originally|initially|earlier|at first",
    "no longer|not any longer|any ?more|history of|changed|in the past|in the old days|in those days",
    "back (?:then|when|in the day)|at the time|ever since|until)\\b",
    "\\bdid(?:n['’]t| not)?\\b[^.?!]*\\buse to\\b",
    "(?<!\\b(?:how|years?|months?|weeks?|days?|hours?|is|are|too|this|that|grow|grows|get|gets)[ -])\\bold\\b(?! enough)",
  ].join("|"),
  "i",
);

/** Reads the time words of a question. */
export function timeWords(question: string, nowMs: number): TimeWords {
  const text = question.normalize("NFKC");
  const periods = [
    ...isoDates(text),
    ...namedMonths(text, nowMs),
    ...relative(text.toLowerCase(), nowMs),
  ];
  const years = periods.length > 0 ? [] : bareYears(text);
  return { periods: [...periods, ...years], past: PAST.test(text) };
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
  return [...text.matchAll(/\b(\d{4})-(\d{2})-(\d{2})\b/g)].flatMap(([, year, month, day]) => {
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
  return [...text.matchAll(/\b(?:in|of|during|since|by) (\d{4})\b/gi)].flatMap(([, digits]) => {
    const year = Number(digits);
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
  if (/\btoday\b|\bthis morning\b|\btonight\b/.test(text)) days(0, 1);
  if (/\byesterday\b|\blast night\b/.test(text)) days(1, 1);
  if (/\bthis week\b/.test(text)) days(6, 7);
  if (/\b(last|past) week\b(?! of)/.test(text)) days(13, 13);
  if (/\blast weekend\b/.test(text)) days(9, 9);
  if (/\bthis month\b/.test(text)) days(30, 31);
  if (/\b(last|past) month\b/.test(text)) days(61, 61);
  if (/\b(last|past) year\b/.test(text)) found.push(lastYear(nowMs));
  const weekday = new RegExp(`\\blast (${WEEKDAYS.join("|")})\\b`).exec(text)?.[1];
  if (weekday !== undefined) days(daysSince(weekday, today), 1);
  const ago = /\b(\d{1,3}|[a-z]+) (?:of )?(day|week|month|year)s? ago\b/.exec(text);
  const count = ago === null ? undefined : numberOf(ago[1] ?? "");
  if (ago !== null && count !== undefined) found.push(agoPeriod(count, ago[2] ?? "day", today));
  return found;
}

function lastYear(nowMs: number): Period {
  const year = new Date(nowMs).getUTCFullYear();
  return { fromMs: Date.UTC(year - 1, 0, 1), toMs: Date.UTC(year, 0, 1) };
}

function daysSince(weekday: string, today: number): number {
  const wanted = WEEKDAYS.indexOf(weekday as (typeof WEEKDAYS)[number]);
  return ((new Date(today).getUTCDay() - wanted + 6) % 7) + 1;
}

function numberOf(word: string): number | undefined {
  return /^\d+$/.test(word) ? Number(word) : NUMBERS[word];
}

/** People count back roughly: the period is as wide as the unit they count in. */
function agoPeriod(count: number, unit: string, today: number): Period {
  const length = { day: 1, week: 7, month: 30, year: 365 }[unit] ?? 1;
  const middle = today - count * length * DAY_MS;
  const half = Math.max(1, Math.floor(length / 2)) * DAY_MS;
  return { fromMs: middle - half, toMs: middle + half + DAY_MS };
}
