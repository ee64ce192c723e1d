/**
 * The programs of the documentation, taken out of Markdown.
 *
 * The rules, so that a writer need not look them up elsewhere:
 *
 * - A program is a `ts` block that imports something, together with the blocks without imports that
 *   follow it on the page. A block without imports and without a program above it is refused.
 * - What a program prints stands in the `text` block below its last block, with `It prints:` between
 *   the two; or else in a comment behind every `console.log`, in the order in which they are reached.
 * - A program that a test cannot run says so in a comment above its first block, with the reason:
 *   `<!-- only compiled: asks a service on the internet -->`.
 * - `js` is not used: types cost the reader nothing, and the compiler reads `ts`.
 *
 * Pure. Compiling and running is left to `docs-code.test.ts`.
 */

/** One program of a page. */
export interface DocProgram {
  /** The page, relative to the repository. */
  readonly page: string;
  /** Which program of the page, from 1. */
  readonly number: number;
  /** The page with everything blanked that is not of this program: lines keep their numbers. */
  readonly source: string;
  /** What it has to print; absent when nothing on the page says so. */
  readonly prints?: string;
  /** Why it is compiled and not run. */
  readonly onlyCompiled?: string;
}

/** A fenced block and where it stands. */
interface Block {
  readonly language: string;
  /** Index of the line after the opening fence. */
  readonly start: number;
  /** Index of the closing fence. */
  readonly end: number;
  readonly code: string;
}

const FENCE = /^```(\S*)\s*$/;
const IMPORT = /^import\b.*\bfrom "[^"]+";|^\} from "[^"]+";/m;
const PRINTED = /^ *console\.log\(.*\); \/\/ (.*)$/;
const MARK = /^<!-- only compiled: (.{10,}) -->$/;

/** The programs of a page, in order; a page that breaks a rule throws and names the line. */
export function programsOf(page: string, text: string): readonly DocProgram[] {
  const lines = text.split("\n");
  const blocks = blocksOf(lines);
  const groups: Block[][] = [];
  for (const block of blocks) {
    if (block.language === "js") throw fault(page, block, "a js block; write ts");
    if (block.language !== "ts") continue;
    const group = groups.at(-1);
    if (IMPORT.test(block.code)) groups.push([block]);
    else if (group !== undefined) group.push(block);
    else throw fault(page, block, "a block without imports, and no program above it");
  }
  return groups.map((group, at) => programOf({ page, lines, blocks, group, number: at + 1 }));
}

function programOf(what: {
  readonly page: string;
  readonly lines: readonly string[];
  readonly blocks: readonly Block[];
  readonly group: readonly Block[];
  readonly number: number;
}): DocProgram {
  const { page, lines, blocks, group, number } = what;
  const isOwn = (line: number): boolean =>
    group.some(({ start, end }) => line >= start && line < end);
  const source = lines.map((line, at) => (isOwn(at) ? line : "")).join("\n");
  const prints = printedBelow(lines, blocks, group) ?? printedBeside(page, group);
  const onlyCompiled = markAbove(lines, group);
  return {
    page,
    number,
    source,
    ...(prints === undefined ? {} : { prints }),
    ...(onlyCompiled === undefined ? {} : { onlyCompiled }),
  };
}

function blocksOf(lines: readonly string[]): readonly Block[] {
  const found: Block[] = [];
  let open: { readonly language: string; readonly start: number } | undefined;
  for (const [at, line] of lines.entries()) {
    const fence = FENCE.exec(line);
    if (fence === null) continue;
    if (open === undefined) {
      open = { language: fence[1] ?? "", start: at + 1 };
      continue;
    }
    found.push({ ...open, end: at, code: lines.slice(open.start, at).join("\n") });
    open = undefined;
  }
  return found;
}

/** The `text` block below the last block of a program, when only `It prints:` stands between. */
function printedBelow(
  lines: readonly string[],
  blocks: readonly Block[],
  group: readonly Block[],
): string | undefined {
  const last = group.at(-1);
  const next = last === undefined ? undefined : blocks[blocks.indexOf(last) + 1];
  if (last === undefined || next?.language !== "text") return undefined;
  const between = lines
    .slice(last.end + 1, next.start - 1)
    .join(" ")
    .trim();
  return between === "It prints:" ? `${next.code}\n` : undefined;
}

/** What the comments behind `console.log` say; each has one, or none has. */
function printedBeside(page: string, group: readonly Block[]): string | undefined {
  const calls = group.flatMap((block) =>
    block.code.split("\n").flatMap((line, at) => {
      if (!/^ *console\.log\(/.test(line)) return [];
      return [{ said: PRINTED.exec(line)?.[1], line: block.start + at + 1 }];
    }),
  );
  const silent = calls.find(({ said }) => said === undefined);
  if (calls.length === 0 || calls.every(({ said }) => said === undefined)) return undefined;
  if (silent !== undefined) {
    throw new Error(`${page}:${silent.line} a console.log that does not say what it prints`);
  }
  return calls.map(({ said }) => `${said}\n`).join("");
}

function markAbove(lines: readonly string[], group: readonly Block[]): string | undefined {
  const above = lines.slice(0, (group[0]?.start ?? 1) - 1).filter((line) => line.trim() !== "");
  return MARK.exec(above.at(-1) ?? "")?.[1];
}

function fault(page: string, block: Block, what: string): Error {
  return new Error(`${page}:${block.start} ${what}`);
}
