/**
 * Memories as lines of a prompt: id, date and status of each, then what it says, the whole inside the
 * fence that `remember` drops.
 *
 * Promise: the same bytes for the same memories in the same order; no clock, no locale. One memory is
 * one line, and no memory can end its line, its quotes or the fence. What came from outside, through a
 * tool, a document or somebody else's channel, stands in quotes with its source, so that a model can
 * tell what the owner and the agent said from what was merely read.
 */

import { ulidText } from "../codec/ulid.js";
import type { Form } from "../contract/hits.js";
import { bodyOf, type FoundMemory } from "../history/reader.js";
import { fence } from "../records/fence.js";
import { countTokens, renderFull } from "../records/forms.js";
import { TRUST } from "../trust/levels.js";
import { quoted, withheld } from "../trust/scan.js";

/** What a memory says, in a form. */
export function formText({ head, body }: FoundMemory, form: Form): string {
  const { forms, data, flags } = bodyOf(body);
  // What looks like an order to whoever reads it is on record, and is not read out.
  if (flags !== undefined) return withheld(flags);
  return form === "full" ? renderFull(head.record.head.type, data) : forms[form];
}

/** The line of a memory. */
export function promptLine(memory: FoundMemory, form: Form): string {
  const { source, status } = memory.head.record.head;
  const { validFrom, createdAt, provenance } = bodyOf(memory.body);
  const text = quoted(formText(memory, form), { flags: [] });
  const outside = [source, provenance.source].find((one) => TRUST[one].quoted);
  const marks = [ulidText(memory.id), dayOf(validFrom ?? createdAt), status];
  if (outside === undefined) return `- [${marks.join(" ")}] ${text}`;
  return `- [${marks.join(" ")}, from ${outside}] ${JSON.stringify(text)}`;
}

/** The day of a time, in UTC; a time beyond the calendar is given in milliseconds. */
function dayOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : (date.toISOString().split("T")[0] ?? "");
}

/** A heading and the lines below it. */
export interface Section {
  readonly title: string;
  readonly lines: readonly string[];
}

/** The prompt of sections; those without lines are left out, and nothing at all is no text. */
export function promptText(sections: readonly Section[]): string {
  const shown = sections.filter(({ lines }) => lines.length > 0);
  if (shown.length === 0) return "";
  return fence(shown.flatMap(({ title, lines }) => [`${title}:`, ...lines]).join("\n"));
}

/** The tokens that sections cost beside their lines. */
export function frameTokens(titles: readonly string[]): number {
  return countTokens(fence(titles.map((title) => `${title}:\n`).join("")));
}

/** The tokens of a line, its end included. */
export function lineTokens(line: string): number {
  return countTokens(`${line}\n`);
}
