/**
 * Rules about everything that is read: documents, links, words, paths, and the lock file. Pure:
 * texts in, problems out; which paths exist is an argument.
 */
import { posix } from "node:path";
import { FORBIDDEN_WORDS, MACHINE_PATHS, SIZES } from "./rules.js";
import { lineCount, type Problem, problem, type TextFile } from "./source.js";

/** All rules about documents; `files` is the whole tree, so that links can be followed. */
export function checkDocuments(files: readonly TextFile[]): Problem[] {
  const texts = new Map(files.map((file) => [file.path, file.text]));
  const found: Problem[] = [];
  for (const file of files) {
    if (!file.path.endsWith(".md")) continue;
    found.push(...checkTitle(file), ...checkLinks(file, texts), ...checkDecision(file));
    if (file.path === "README.md" && lineCount(file.text) >= SIZES.readmeLines) {
      const message = `${lineCount(file.text)} lines; it stays under ${SIZES.readmeLines}`;
      found.push(problem("readme-lines", file, { at: 0 }, message));
    }
  }
  return found;
}

/** Words and machine paths, in every text of the tree. */
export function checkWords(file: TextFile): Problem[] {
  if (file.path === "LICENSE" || file.path === "package-lock.json") return [];
  const found: Problem[] = [];
  file.text.split("\n").forEach((line, index) => {
    const add = (rule: string, message: string): void => {
      found.push({ rule, file: file.path, line: index + 1, subject: "", message });
    };
    for (const { pattern, instead } of FORBIDDEN_WORDS) {
      const word = pattern.exec(line)?.[0];
      if (word !== undefined) add("forbidden-word", `"${word}": ${instead}`);
    }
    const path = MACHINE_PATHS.exec(line)?.[0];
    if (path !== undefined) add("machine-path", `${path} is a folder of some machine`);
  });
  return found;
}

/** The lock file pins versions and digests, never the address of a registry. */
export function checkLockFile(file: TextFile): Problem[] {
  const lock: unknown = JSON.parse(file.text);
  const packages = field(lock, "packages");
  if (typeof packages !== "object" || packages === null) {
    return [problem("lock-file", file, { at: 0 }, "no packages: not a lock file we can read")];
  }
  const found: Problem[] = [];
  for (const [subject, entry] of Object.entries(packages)) {
    const resolved = field(entry, "resolved");
    if (resolved === undefined) continue;
    if (field(entry, "link") === true && /^packages\/[a-z-]+$/.test(String(resolved))) continue;
    const at = Math.max(0, file.text.indexOf(`"${subject}"`));
    const message = `${subject} is resolved to ${String(resolved)}; only workspace links are kept`;
    found.push(problem("lock-file", file, { at, subject }, message));
  }
  return found;
}

/** Every `npm run x` that a document tells the reader to type. */
export function checkCommands(file: TextFile, scripts: ReadonlySet<string>): Problem[] {
  if (!file.path.endsWith(".md")) return [];
  const found: Problem[] = [];
  for (const match of file.text.matchAll(/\bnpm run ([a-z][a-z:-]*)/g)) {
    const subject = match[1] ?? "";
    if (scripts.has(subject)) continue;
    const message = `package.json has no script "${subject}"`;
    found.push(problem("command", file, { at: match.index, subject }, message));
  }
  return found;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** Blanks fenced blocks and code spans, keeping every offset where it was. */
function withoutCode(text: string): string {
  const blank = (found: string): string => found.replace(/[^\n]/g, " ");
  return text
    .replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, blank)
    .replace(/(`+)[^`\n][^\n]*?\1/g, blank);
}

function checkTitle(file: TextFile): Problem[] {
  const titles = [...withoutCode(file.text).matchAll(/^# \S/gm)];
  if (titles.length === 1) return [];
  return [problem("title", file, { at: 0 }, `${titles.length} titles; a document has one`)];
}

function checkLinks(file: TextFile, texts: ReadonlyMap<string, string>): Problem[] {
  const found: Problem[] = [];
  for (const match of withoutCode(file.text).matchAll(/\]\(([^()\s]+)\)/g)) {
    const subject = match[1] ?? "";
    if (/^[a-z][a-z0-9+.-]*:/i.test(subject)) continue;
    const message = deadLink(file, subject, texts);
    if (message === undefined) continue;
    found.push(problem("link", file, { at: match.index, subject }, message));
  }
  return found;
}

function deadLink(
  file: TextFile,
  link: string,
  texts: ReadonlyMap<string, string>,
): string | undefined {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? file.path : posix.join(posix.dirname(file.path), path);
  const text = texts.get(target);
  if (text === undefined) {
    const folder = target.endsWith("/") ? target : `${target}/`;
    const isFolder = [...texts.keys()].some((name) => name.startsWith(folder));
    return isFolder ? undefined : `${link} leads nowhere`;
  }
  if (anchor === undefined || headings(text).has(anchor)) return undefined;
  return `${target} has no heading "${anchor}"`;
}

/** The anchors a document offers: its headings in lower case, spaces as hyphens. */
function headings(text: string): ReadonlySet<string> {
  // Code spans stay: they are part of a heading. Only fenced blocks go.
  const bare = text.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, "");
  const found = [...bare.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
  return new Set(found);
}

/** What every decision record answers. */
const DECISION_PARTS = ["Situation", "Choice", "What follows", "What would reopen it"] as const;

function checkDecision(file: TextFile): Problem[] {
  if (!/^docs\/decisions\/\d{4}-/.test(file.path)) return [];
  const missing: string[] = DECISION_PARTS.filter((part) => !file.text.includes(`\n## ${part}\n`));
  if (!/^Status: (proposed|accepted|superseded by )/m.test(file.text)) missing.push("Status");
  const found = missing.map((subject) =>
    problem("decision", file, { at: 0, subject }, `the record lacks "${subject}"`),
  );
  const lines = lineCount(file.text);
  if (lines <= SIZES.decisionLines) return found;
  const message = `${lines} lines; a record is one page, ${SIZES.decisionLines} lines at the most`;
  return [...found, problem("decision-lines", file, { at: 0 }, message)];
}
