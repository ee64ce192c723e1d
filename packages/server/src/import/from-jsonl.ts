/**
 * Generic JSONL: one memory per line, with the fields of `write`, or one link as
 * `{ "link": { "from", "kind", "to" } }`. Times are milliseconds or ISO texts.
 *
 * A line without `externalId` and `id` is known again by what it says: its external id is made of the
 * line's own content, so that two equal lines are one memory and a second run adds nothing.
 */
import { createHash } from "node:crypto";
import type { WriteInput } from "@cortex-memory/core";
import { jsonLines, openElements } from "./lines.js";
import {
  type ForeignFile,
  type LinkRecord,
  type MemoryRecord,
  objectIn,
  textIn,
  timeIn,
  wrong,
} from "./records.js";

const TIMES = ["validFrom", "validTo", "expiresAt", "freshnessAt"] as const;
const LINK_FIELDS = ["from", "kind", "to", "reason", "ordinal", "metadata", "validFrom", "by"];

/** Opens a file with one memory input per line. */
export function openJsonl(path: string): ForeignFile {
  return openElements(path, { elements: jsonLines, memories: memoryOf, links: linkOf });
}

function memoryOf(value: unknown, at: string): readonly MemoryRecord[] {
  const line = objectIn(value, "line");
  if ("link" in line) return [];
  const given = withTimes(line);
  const { type, externalId, id } = given;
  // With an external id it is a memory of its own, also where another one makes the same claim.
  const ref = textIn(externalId ?? id ?? ownName(line), "externalId");
  const input = { ...given, externalId: ref, type: textIn(type, "type") } as WriteInput;
  return [{ at, ref, input }];
}

function linkOf(value: unknown, at: string): readonly LinkRecord[] {
  const line = objectIn(value, "line");
  if (!("link" in line)) return [];
  const link = objectIn(line.link, "link");
  const unknown = [
    ...Object.keys(line).filter((name) => name !== "link"),
    ...Object.keys(link).filter((name) => !LINK_FIELDS.includes(name)),
  ][0];
  if (unknown !== undefined) throw wrong(unknown, `one of ${LINK_FIELDS.join(", ")}`, unknown);
  const { validFrom, ...rest } = link;
  return [
    {
      ...rest,
      at,
      from: textIn(link.from, "link.from"),
      kind: textIn(link.kind, "link.kind"),
      to: textIn(link.to, "link.to"),
      ...(validFrom === undefined ? {} : { validFrom: timeIn(validFrom, "link.validFrom") }),
    },
  ];
}

function withTimes(line: { readonly [name: string]: unknown }): {
  readonly [name: string]: unknown;
} {
  const times = TIMES.filter((name) => line[name] !== undefined);
  return {
    ...line,
    ...Object.fromEntries(times.map((name) => [name, timeIn(line[name], name)])),
  };
}

/** A name made of what a line says, whatever the order of its members. */
function ownName(line: { readonly [name: string]: unknown }): string {
  const text = JSON.stringify(line, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return `jsonl:${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}
