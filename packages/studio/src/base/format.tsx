/**
 * Times, counts and ids as people read them: dates are relative with the exact one on hover, numbers have
 * their thousands apart, ids are short and can be copied whole.
 */

/** The words are English; how dates are written follows the person, where that is English, too. */
const LANGUAGE = globalThis.navigator?.language ?? "";
const DATES = /^en\b/.test(LANGUAGE) ? LANGUAGE : "en-GB";

const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const EXACT = new Intl.DateTimeFormat(DATES, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(DATES, { dateStyle: "full" });
/** A day of an address is a day of the world's clock. */
const DAY_SHORT = new Intl.DateTimeFormat(DATES, { dateStyle: "medium", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat(DATES, { timeStyle: "short" });
const COUNT = new Intl.NumberFormat("en");

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 365 * 86_400_000],
  ["month", 30 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** `3 days ago`. */
export function ago(ms: number, nowMs: number = Date.now()): string {
  const away = ms - nowMs;
  for (const [unit, size] of STEPS) {
    if (Math.abs(away) >= size) return AGO.format(Math.round(away / size), unit);
  }
  return "just now";
}

/** The exact time. */
export function exact(ms: number): string {
  return EXACT.format(ms);
}

/** The day, for headings. */
export function day(ms: number): string {
  return DAY.format(ms);
}

/** The day in few letters, as the world's clock has it. */
export function dayShort(ms: number): string {
  return DAY_SHORT.format(ms);
}

/** The hour and minute. */
export function clock(ms: number): string {
  return CLOCK.format(ms);
}

/** A whole number with its thousands apart. */
export function count(value: number): string {
  return COUNT.format(value);
}

/** `1 memory`, `2 memories`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Bytes as people say them. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let left = value;
  let at = 0;
  while (left >= 1024 && at < units.length - 1) {
    left /= 1024;
    at += 1;
  }
  return `${at === 0 ? left : left.toFixed(1)} ${units[at]}`;
}

/** A share of 1 in percent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

/** A time: relative, the exact one on hover. */
export function Time({ ms }: { readonly ms: number }) {
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact(ms)}>
      {ago(ms)}
    </time>
  );
}

/** The last signs of an id, which tell ids apart; the whole on hover. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <code className="id" title={id}>
      {id.length > 10 ? `…${id.slice(-6)}` : id}
    </code>
  );
}

/** One line of a text, without the marks of Markdown, cut where a list has no room. */
export function oneLine(text: string, most = 160): string {
  const flat = text
    .slice(0, 4 * most)
    .replaceAll(/^(#{1,6}|[-*>]) /gm, "")
    .replaceAll(/\*\*|`/g, "")
    .replaceAll(/\[([^\]\n]*)\]\(https?:\/\/[^)\s]*\)/g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
  return flat.length <= most ? flat : `${flat.slice(0, most - 1)}…`;
}
