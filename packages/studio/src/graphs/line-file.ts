/**
 * A file with one memory or link per line, as JSON: what each line says, and which lines say nothing
 * usable. The same form that `cortex import --from jsonl` reads. Pure but for the hash of the browser.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";

/** One thing to write. */
export type Item = Parameters<RemoteCortex["batch"]>[0][number];

/** A line that can be written. */
export interface GoodLine {
  /** From 1. */
  readonly at: number;
  readonly item: Item;
}

/** A line that cannot. */
export interface BadLine {
  readonly at: number;
  readonly why: string;
}

/** What a file holds. */
export interface LineFile {
  readonly memories: readonly GoodLine[];
  readonly links: readonly GoodLine[];
  readonly bad: readonly BadLine[];
}

const TIMES = ["validFrom", "validTo", "expiresAt", "freshnessAt"];

/** Reads the text of a file. */
export async function readLines(text: string): Promise<LineFile> {
  const memories: GoodLine[] = [];
  const links: GoodLine[] = [];
  const bad: BadLine[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const at = index + 1;
    const value = parsed(line);
    if (value === undefined) bad.push({ at, why: "it is no JSON object" });
    else if (typeof value.link === "object" && value.link !== null) {
      links.push({ at, item: { link: value.link } as Item });
    } else if (typeof value.type !== "string") {
      bad.push({ at, why: "type: expected the type of a memory, or a link" });
    } else memories.push({ at, item: { write: await writeOf(value) } as unknown as Item });
  }
  return { memories, links, bad };
}

type Members = { readonly [name: string]: unknown };

function parsed(line: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Members)
      : undefined;
  } catch {
    // What is no JSON is told by its line.
    return undefined;
  }
}

/** The line as `write` takes it: named, so that a second import adds nothing, and said to be imported. */
async function writeOf(line: Members): Promise<Members> {
  const times = TIMES.filter((name) => typeof line[name] === "string");
  const name = line.externalId ?? line.id ?? (await ownName(line));
  const { id: _, ...fields } = line;
  return {
    source: "imported",
    ...fields,
    ...Object.fromEntries(times.map((time) => [time, Date.parse(String(line[time]))])),
    ...(name === undefined ? {} : { externalId: name }),
  };
}

/** A name made of what a line says; browsers hash only where the page came safely. */
async function ownName(line: Members): Promise<string | undefined> {
  if (window.crypto?.subtle === undefined) return undefined;
  const text = JSON.stringify(line, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  const hash = await window.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `jsonl:${hex.slice(0, 32)}`;
}
