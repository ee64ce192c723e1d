/**
 * Colour, and the safety of what is printed. Colours are used on a terminal alone, and not where
 * NO_COLOR asks for none. Text of memories may come from anywhere: control characters in it are
 * shown, never sent to the terminal, where they could move the cursor or fake a line.
 */

/** Paints text, or leaves it as it is. */
export interface Ink {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

/** Whether a stream gets colours. */
export function wantsColour(
  stream: { readonly isTerminal: boolean },
  env: { readonly [name: string]: string | undefined },
): boolean {
  const refused = env.NO_COLOR !== undefined && env.NO_COLOR !== "";
  return stream.isTerminal && !refused && env.TERM !== "dumb";
}

/** Ink that paints, or plain ink. */
export function makeInk(colour: boolean): Ink {
  const paint = (code: number, end: number) => (text: string) =>
    colour && text !== "" ? `\u001b[${code}m${text}\u001b[${end}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text from a memory, made safe to print: control characters are spelled out. */
export function clean(text: string): string {
  return text.replace(UNSAFE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The columns that a row may take: what every terminal has. */
const COLUMNS = 80;
/** A text keeps at least so many, also in a row whose other parts are long. */
const TEXT_COLUMNS = 24;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const COLOURS = /\u001b\[\d+m/g;
/** Characters that a terminal draws two columns wide: those of East Asia, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Words with the gap before each; a text of wide characters may be broken at any of them. */
const WORDS = new RegExp(`( *)(${WIDE.source}|(?:(?!${WIDE.source})[^ ])+)`, "gu");
/** Characters that are drawn over the one before. */
const OVER = /\p{Mn}|\p{Me}|[\u200b-\u200d]/u;

/** How many columns a text takes on a terminal; colours take none. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const point of text.replace(COLOURS, "")) columns += widthOf(point);
  return columns;
}

function widthOf(point: string): number {
  if (point < "\u0300") return 1;
  return OVER.test(point) ? 0 : WIDE.test(point) ? 2 : 1;
}

/** Text on one line, cut to a width. */
export function oneLine(text: string, columns = 100): string {
  const flat = clean(text.replace(/\s+/g, " ").trim());
  if (columnsOf(flat) <= columns) return flat;
  let left = columns - 1;
  let kept = "";
  for (const point of flat) {
    left -= widthOf(point);
    if (left < 0) break;
    kept += point;
  }
  return `${kept}…`;
}

/** A row: what stands before and after a text, and of the text what fits between them. */
export function row(before: string, text: string, after = ""): string {
  const taken = columnsOf(`${before}${after}`);
  return `${before}${oneLine(text, Math.max(TEXT_COLUMNS, COLUMNS - taken))}${after}`;
}

/**
 * A row that is not cut: what does not fit goes on below, further in. A word that is longer than a line, an address
 * for one, stays whole, so that it can be copied.
 */
export function folded(line: string, inner: number): string {
  const [, indent = "", rest = ""] = /^( *)(.*)$/su.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  let hasWord = false;
  for (const [, gap = "", word = ""] of rest.matchAll(WORDS)) {
    const isFull = hasWord && columnsOf(`${current}${gap}${word}`) > COLUMNS;
    if (isFull) lines.push(current);
    current = isFull ? `${" ".repeat(inner)}${word}` : `${current}${gap}${word}`;
    hasWord = true;
  }
  return [...lines, current].join("\n");
}

/** A time for people: ISO 8601 in UTC. */
export function showTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace(".000Z", "Z");
}

/** Names and values in two columns; values that are absent are left out. */
export function pairs(rows: readonly (readonly [string, string | undefined])[], ink: Ink): string {
  const shown = rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${ink.dim(name.padEnd(width))}  ${value}`).join("\n");
}

/** A count with its noun: `1 entry`, `2 entries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** A whole number in groups of three. By hand, because the first `toLocaleString` of a process loads its tables. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Any answer as an indented outline: what operations without a rendering of their own get. */
export function outline(value: unknown, ink: Ink, depth = 0): string {
  const pad = "  ".repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return `${pad}${ink.dim("none")}`;
    return value
      .map((item) =>
        isPlain(item)
          ? `${pad}- ${outline(item, ink, depth + 1).trimStart()}`
          : `${pad}- ${scalar(item)}`,
      )
      .join("\n");
  }
  if (!isPlain(value)) return `${pad}${scalar(value)}`;
  return Object.entries(value)
    .map(([name, member]) => {
      const nested = isPlain(member) || (Array.isArray(member) && member.length > 0);
      if (nested) return `${pad}${ink.dim(`${name}:`)}\n${outline(member, ink, depth + 1)}`;
      const shown = Array.isArray(member) ? ink.dim("none") : scalar(member);
      return `${pad}${ink.dim(`${name}:`)} ${shown}`;
    })
    .join("\n");
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function scalar(value: unknown): string {
  return typeof value === "string" ? clean(value) : String(value);
}
