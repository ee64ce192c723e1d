/**
 * The time a question speaks of: "in May 2022", "last week", "on 3 March", "two days ago", and whether
 * it asks about the past of a thing ("used to", "before", "originally").
 *
 * Promise: pure; the present is an argument. A question without such words gives nothing, so that ordinary questions
 * are not narrowed, and a day that no month has names no time. A question that says nothing else asks for whatever there was
 * then. Days are days of the calendar in UTC. All words are data per language (`text/asking-words.ts`); dates in numbers
 * alone ("2023-03-04", "4.3.2023") are read here. Of phrases that overlap the longest counts.
 */
import { withoutAccents } from "../text/analyse.js";
import type { AgoUnit, RelativeDays } from "../text/asking-language.js";
import { ASKING_WORDS, anyOf, askingPart, plainText } from "../text/asking-words.js";

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

interface WeekdayPattern {
  readonly names: readonly RegExp[];
  readonly pattern: RegExp;
  /** Whether it is a day of the week before this one, and not simply the last such day. */
  readonly isLastWeeks: boolean;
}

const WEEKDAYS: readonly WeekdayPattern[] = LANGUAGES.flatMap(
  ({ weekdays, latestWeekday, lastWeeksWeekday }) => {
    const names = weekdays.map((name) => new RegExp(`^(?:${name})$`, "u"));
    const day = `(?<name>${weekdays.join("|")})`;
    // Of several phrases in one pattern each would name the group anew.
    const phrases = (sources: readonly string[], isLastWeeks: boolean): WeekdayPattern[] =>
      sources.map((source) => ({
        names,
        isLastWeeks,
        pattern: new RegExp(source.replace("DAY", day), "u"),
      }));
    return [...phrases(lastWeeksWeekday, true), ...phrases(latestWeekday, false)];
  },
);

const SEASONS = LANGUAGES.flatMap(({ seasons, lastSeason }) =>
  seasons.map((name, season) => ({
    season,
    pattern: new RegExp(lastSeason.replace("SEASON", `(?:${name})`), "u"),
  })),
);

/** A pattern of counted units, the count and the unit being its groups. */
function counted({ units, numbers }: (typeof LANGUAGES)[number], source: string): CountedUnits {
  const count = `((?<!\\d)\\d{1,3}|${Object.keys(numbers).join("|")})`;
  const unit = `(${Object.values(units).join("|")})`;
  return {
    numbers,
    known: Object.entries(units).map(([name, one]) => ({
      name: name as AgoUnit,
      pattern: new RegExp(`^(?:${one})$`, "u"),
    })),
    pattern: new RegExp(source.replace("N", count).replace("UNIT", unit), "u"),
  };
}

interface CountedUnits {
  readonly numbers: { readonly [word: string]: number };
  readonly known: readonly { readonly name: AgoUnit; readonly pattern: RegExp }[];
  readonly pattern: RegExp;
}

const AGO = LANGUAGES.map((language) => counted(language, language.ago));
const LATELY = LANGUAGES.map((language) => counted(language, language.lately));

/** Months as each language tells them, and what their names are. */
const MONTHS = LANGUAGES.map(({ months, monthsShort, weeksOfMonth, month, bareMonth }) => {
  const exactly = (name: string): RegExp => new RegExp(`^(?:${name})$`, "iu");
  const names = [...months, ...monthsShort].join("|");
  const source = month.replace("MONTH", names).replace("WEEK", weeksOfMonth.join("|"));
  return {
    months: months.map(exactly),
    short: monthsShort.map(exactly),
    weeks: weeksOfMonth.map(exactly),
    bareMonth,
    named: new RegExp(`(?<!\\p{L})(?:${names})`, "u"),
    pattern: new RegExp(source, "giu"),
  };
});

const YEARS = LANGUAGES.map(({ year }) => new RegExp(year, "gu"));
const ISO_DATE = /(?<![\d-])(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})(?![\d-])/gu;
const DOTTED_DATE = /(?<![\d.])(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})(?!\d)/gu;
const DATES = [ISO_DATE, DOTTED_DATE];

/** Reads the time words of a question. */
export function timeWords(text: string, nowMs: number): TimeWords {
  const question = askingPart(text);
  const plain = plainText(question);
  const dates = [...numberedDates(plain), ...namedMonths(question, plain, nowMs)];
  const periods = [...dates, ...relative(plain, nowMs)];
  const years = periods.length > 0 ? [] : bareYears(plain);
  const named = [...periods, ...years];
  const recent = named.length > 0 ? [] : lately(plain, nowMs);
  const alone = named.length + recent.length > 0 && asksWhatever(plain);
  return {
    // "Recently" beside other words is as much a manner of speaking: it narrows no question but one for a time.
    periods: eachOnce(alone ? [...named, ...recent] : named),
    past: PAST.test(plain),
    alone,
    dated: dates.length + years.length > 0,
  };
}

/** The phrases of a time, wherever they stand in a question. */
const TIMES: readonly RegExp[] = [
  ...DATES,
  ...[...MONTHS, ...RELATIVE, ...WEEKDAYS, ...SEASONS, ...AGO, ...LATELY].map(
    ({ pattern }) => pattern,
  ),
  ...YEARS,
].map(({ source }) => new RegExp(source, "giu"));

/** Words that say nothing beside a time; where words are not spaced, any stretch of them. */
const WHATEVER = new RegExp(
  [`(?<![\\p{L}\\p{N}])(?:${whateverWhere(true)})(?![\\p{L}\\p{N}])`, whateverWhere(false)].join(
    "|",
  ),
  "gu",
);

function whateverWhere(isSpaced: boolean): string {
  const some = LANGUAGES.filter(({ spaced }) => spaced === isSpaced);
  return some.map(({ whatever }) => whatever).join("|");
}

/** Whether nothing is left of a question, in plain text, without its times and such words. */
function asksWhatever(question: string): boolean {
  const rest = TIMES.reduce((text, pattern) => text.replace(pattern, " "), question);
  return !/[\p{L}\p{N}]/u.test(rest.replace(WHATEVER, " "));
}

/** How well a time fits a period: 1 inside, less a few days beside it, 0 elsewhere. */
export function fitOf(atMs: number, { fromMs, toMs }: Period): number {
  if (atMs >= fromMs && atMs < toMs) return 1;
  const beside = atMs < fromMs ? fromMs - atMs : atMs - toMs;
  // People date things by when they heard of them: the days around a short period count for something.
  const reach = Math.min(7 * DAY_MS, Math.max(2 * DAY_MS, (toMs - fromMs) / 4));
  return beside >= reach ? 0 : 0.5 * (1 - beside / reach);
}

function numberedDates(text: string): Period[] {
  return DATES.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(({ groups = {} }) => {
      const month = Number(groups.month) - 1;
      const day = Number(groups.day);
      return isDay(day, Number(groups.year), month)
        ? [withinMonth(Number(groups.year), month, { day })]
        : [];
    }),
  );
}

/** Whether a month has such a day; months beyond the twelve have none. */
function isDay(day: number, year: number, month: number): boolean {
  if (month < 0 || month > 11) return false;
  return day >= 1 && day <= new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}

/** What a question says of one month. */
interface NamedMonth {
  readonly start: number;
  readonly end: number;
  readonly month: number;
  readonly year: number | undefined;
  readonly day: number | undefined;
  /** The place of its week, the last one being the fifth. */
  readonly week: number | undefined;
}

/** "May 2022", "3 May", "May 3rd, 2023", "the second week of November", "am 3. März", "2023年5月3日". */
function namedMonths(question: string, plain: string, nowMs: number): Period[] {
  // Most questions name no month: a look for the names is a tenth of the work.
  const languages = MONTHS.filter(({ named }) => named.test(plain));
  if (languages.length === 0) return [];
  const text = withoutAccents(question.normalize("NFKC"));
  const told = languages.flatMap((language) =>
    [...text.matchAll(language.pattern)].flatMap((match) => monthIn(match, language) ?? []),
  );
  // Sorting is stable: of equals the first language counts.
  told.sort((a, b) => b.end - b.start - (a.end - a.start));
  const taken: NamedMonth[] = [];
  for (const one of told) {
    if (taken.every(({ start, end }) => one.end <= start || one.start >= end)) taken.push(one);
  }
  return taken.flatMap(({ month, year, day, week }) => {
    const years = year === undefined ? likelyYears(month, nowMs) : [year];
    const fitting = day === undefined ? years : years.filter((one) => isDay(day, one, month));
    return fitting.map((one) => withinMonth(one, month, { day, week }));
  });
}

/** What a phrase says of a month; `undefined` where the name alone is no month. */
function monthIn(
  { 0: phrase, index, groups = {} }: RegExpExecArray,
  { months, short, weeks, bareMonth }: (typeof MONTHS)[number],
): NamedMonth | undefined {
  const { month: name = "", week, lead, year, day, after } = groups;
  const inFull = months.findIndex((one) => one.test(name));
  const month = inFull < 0 ? short.findIndex((one) => one.test(name)) : inFull;
  const isBare = [week, lead, year, day, after].every((part) => part === undefined);
  const isMonth =
    !isBare ||
    (inFull >= 0 && (bareMonth === "always" || (bareMonth === "capital" && /^\p{Lu}/u.test(name))));
  if (month < 0 || !isMonth) return undefined;
  return {
    start: index,
    end: index + phrase.length,
    month,
    year: numberOf(year),
    day: numberOf(day ?? after),
    week: week === undefined ? undefined : weeks.findIndex((one) => one.test(week)),
  };
}

function numberOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits);
}

/** Weeks of a month that are counted from its begin; the one after them is its last. */
const WEEKS_COUNTED = 4;

function withinMonth(
  year: number,
  month: number,
  { day, week }: { readonly day?: number | undefined; readonly week?: number | undefined },
): Period {
  const start = Date.UTC(year, month, 1);
  const end = Date.UTC(year, month + 1, 1);
  if (day !== undefined) {
    const fromMs = Date.UTC(year, month, day);
    return { fromMs, toMs: fromMs + DAY_MS };
  }
  if (week === undefined) return { fromMs: start, toMs: end };
  if (week === WEEKS_COUNTED) return { fromMs: end - 7 * DAY_MS, toMs: end };
  return { fromMs: start + 7 * week * DAY_MS, toMs: start + 7 * (week + 1) * DAY_MS };
}

/** A month without a year is the last one that has begun, or the one before it. */
function likelyYears(month: number, nowMs: number): number[] {
  const year = new Date(nowMs).getUTCFullYear();
  const latest = Date.UTC(year, month, 1) <= nowMs ? year : year - 1;
  return [latest, latest - 1];
}

function bareYears(text: string): Period[] {
  return YEARS.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(({ groups }) => {
      const year = Number(groups?.year);
      return year < 1900 || year > 2199 ? [] : [wholeYear(year)];
    }),
  );
}

function wholeYear(year: number): Period {
  return { fromMs: Date.UTC(year, 0, 1), toMs: Date.UTC(year + 1, 0, 1) };
}

/** Each stretch once: what several languages say alike is one. */
function eachOnce(periods: readonly Period[]): readonly Period[] {
  return [...new Map(periods.map((one) => [`${one.fromMs} ${one.toMs}`, one])).values()];
}

function relative(text: string, nowMs: number): Period[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const found: Period[] = [];
  for (const { days, pattern } of RELATIVE) {
    if (pattern.test(text)) found.push(relativeDays(days, today));
  }
  for (const { names, pattern, isLastWeeks } of WEEKDAYS) {
    const name = pattern.exec(text)?.groups?.name;
    if (name === undefined) continue;
    const weekday = names.findIndex((one) => one.test(name));
    found.push(
      daysBack(isLastWeeks ? sinceLastWeeks(weekday, today) : daysSince(weekday, today), 1, today),
    );
  }
  for (const { season, pattern } of SEASONS) {
    if (pattern.test(text)) found.push(lastSeason(season, nowMs));
  }
  for (const { numbers, known, pattern } of AGO) {
    const [, word = "", unit = ""] = pattern.exec(text) ?? [];
    const count = countOf(word, numbers);
    const name = known.find((one) => one.pattern.test(unit))?.name;
    if (count !== undefined && name !== undefined) found.push(agoPeriod(count, name, today));
  }
  return found;
}

function countOf(word: string, numbers: CountedUnits["numbers"]): number | undefined {
  return /^\d+$/.test(word) ? Number(word) : numbers[word];
}

/** "The last three days" are three where no count is said, and "lately" is two weeks. */
const LATELY_UNITS = 3;
const LATELY_DAYS = 14;

/** The days until now that a question speaks of, today included. */
function lately(text: string, nowMs: number): Period[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return LATELY.flatMap(({ numbers, known, pattern }) => {
    const match = pattern.exec(text);
    if (match === null) return [];
    const [, word = "", unit = ""] = match;
    const name = known.find((one) => one.pattern.test(unit))?.name;
    const count = countOf(word, numbers) ?? LATELY_UNITS;
    const days = name === undefined ? LATELY_DAYS : count * UNIT_DAYS[name];
    return [{ fromMs: today - days * DAY_MS, toMs: today + DAY_MS }];
  });
}

function daysBack(back: number, length: number, today: number): Period {
  return { fromMs: today - back * DAY_MS, toMs: today - (back - length) * DAY_MS };
}

/** How many days back a phrase begins, and how many it means; people count back roughly. */
const RELATIVE_DAYS = {
  today: [0, 1],
  yesterday: [1, 1],
  "day before yesterday": [2, 1],
  "this week": [6, 7],
  "last week": [13, 13],
  "this month": [30, 31],
  "last month": [61, 61],
} as const satisfies { readonly [days in RelativeDays]?: readonly [number, number] };

const SATURDAY = 6;

function relativeDays(days: RelativeDays, today: number): Period {
  const year = new Date(today).getUTCFullYear();
  switch (days) {
    case "this year":
      return wholeYear(year);
    case "last year":
      return wholeYear(year - 1);
    case "this weekend":
      // On a Saturday this one, from then on the one that has begun.
      return daysBack(daysSince(SATURDAY, today) % 7, 2, today);
    case "last weekend":
      // The last one that is over: a Sunday is of the one that is not.
      return daysBack(daysSince(0, today) + 1, 2, today);
    default: {
      const [back, length] = RELATIVE_DAYS[days];
      return daysBack(back, length, today);
    }
  }
}

/** The last such season that is over, spring being 0 and beginning in March. */
function lastSeason(season: number, nowMs: number): Period {
  const year = new Date(nowMs).getUTCFullYear();
  const begins = (of: number): number => Date.UTC(of, 3 * season + 2, 1);
  const ends = (of: number): number => Date.UTC(of, 3 * season + 5, 1);
  const latest = [year, year - 1].find((of) => ends(of) <= nowMs) ?? year - 2;
  return { fromMs: begins(latest), toMs: ends(latest) };
}

/** Days since the last such weekday, 0 being Sunday. */
function daysSince(weekday: number, today: number): number {
  return ((new Date(today).getUTCDay() - weekday + 6) % 7) + 1;
}

/** Days since that weekday of the week before this one, weeks beginning on Monday. */
function sinceLastWeeks(weekday: number, today: number): number {
  const sinceMonday = (new Date(today).getUTCDay() + 6) % 7;
  return sinceMonday + 7 - ((weekday + 6) % 7);
}

const UNIT_DAYS: { readonly [unit in AgoUnit]: number } = { day: 1, week: 7, month: 30, year: 365 };

/** People count back roughly: the period is as wide as the unit they count in. */
function agoPeriod(count: number, unit: AgoUnit, today: number): Period {
  const length = UNIT_DAYS[unit];
  const middle = today - count * length * DAY_MS;
  const half = Math.max(1, Math.floor(length / 2)) * DAY_MS;
  return { fromMs: middle - half, toMs: middle + half + DAY_MS };
}
