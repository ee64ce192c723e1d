/**
 * Forged slices: memories that together have every member a memory can have, and every way to spoil what
 * `share` gives of them. The ways are made from the document itself, so that a new member is forged from
 * its first day.
 */
import { expect } from "vitest";
import type { Cortex } from "../src/cortex.js";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A slice that was tampered with. */
export interface Forgery {
  /** What was done to it. */
  readonly name: string;
  readonly document: Json;
}

/** The states that a slice of everything shows. */
export const LIFECYCLES = ["active", "archived", "tombstoned"] as const;

/** Memories that together have every member a memory can have. */
export async function filled(memory: Cortex): Promise<readonly string[]> {
  const long = "a long text that no form holds whole ".repeat(40);
  const { id: plain, uri } = await memory.write({
    type: "fact",
    text: "Ada lives in Porto",
    tags: ["a", "b"],
    slot: "home city",
    externalId: "home",
    confidence: 0.5,
    validFrom: 1000,
    frames: [{ verb: "find", object: "agent", ref: "ada" }],
  });
  const { id: note } = await memory.write({
    type: "note",
    kind: "page",
    text: long,
    importance: 7,
    visibility: "scoped",
    metadata: { deep: { list: [1, "two", null], yes: true } },
    provenance: { derivedFrom: [uri], source: "document" },
    source: "document",
  });
  await memory.update(note, { text: `${long} again` });
  await memory.updateHead(note, { tags: ["later"] });
  const { id: gone } = await memory.write({ type: "note", text: "hidden since" });
  await memory.tombstone(gone, "a reason");
  const [turn] = (await memory.remember([{ role: "user", content: "hello" }], { session: "s" }))
    .turns;
  const { id: undone, seq } = await memory.write({ type: "note", text: "first words" });
  const changed = await memory.update(undone, { text: "second words" });
  await memory.revert(changed.seq);
  expect(seq).toBeGreaterThan(0);
  const later = 4_000_000_000_000;
  const { id: waiting } = await memory.write({
    type: "fact",
    text: "Ada lives in Lyon",
    slot: "home city",
    validFrom: later,
    validTo: later + 2,
    expiresAt: later + 3,
    freshnessAt: later + 1,
  });
  return [plain, note, gone, (turn as { id: string }).id, undone, waiting];
}

/** Every forgery of a slice: places changed, added, left out, turned round, and parts of another slice. */
export function* forgeries(slice: object, other: object): Generator<Forgery> {
  const [document, foreign] = [slice, other].map(
    (one) => JSON.parse(JSON.stringify(one)) as { [name: string]: Json },
  );
  if (document === undefined || foreign === undefined) return;
  for (const [name, changed] of spoiled(document, "slice")) {
    if (changed !== undefined) yield { name, document: changed };
  }
  for (const member of Object.keys(document)) {
    const [own, others] = [document[member], foreign[member]];
    // What both say alike is no forgery.
    if (others === undefined || JSON.stringify(own) === JSON.stringify(others)) continue;
    yield { name: `${member} of another slice`, document: { ...document, [member]: others } };
  }
}

/** Every way to spoil a value at one place, each with what it is called. */
function* spoiled(value: Json, path: string): Generator<readonly [string, Json | undefined]> {
  yield [`${path} left out`, undefined];
  if (Array.isArray(value)) {
    yield [`${path} with an item more`, [...value, value[0] ?? "x"]];
    if (value.length > 1) yield [`${path} the other way round`, value.toReversed()];
    for (const [at, item] of value.entries()) {
      yield [`${path} without [${at}]`, value.toSpliced(at, 1)];
      for (const [name, other] of spoiled(item, `${path}[${at}]`)) {
        if (other !== undefined) yield [name, value.with(at, other)];
      }
    }
  } else if (typeof value === "object" && value !== null) {
    yield [`${path} with a member more`, { ...value, extra: 1 }];
    for (const [member, item] of Object.entries(value)) {
      for (const [name, other] of spoiled(item, `${path}.${member}`)) {
        const { [member]: _, ...rest } = value;
        yield [name, other === undefined ? rest : { ...rest, [member]: other }];
      }
    }
  } else if (typeof value === "string") {
    yield [`${path} changed`, `${value}x`];
    yield [`${path} emptied`, value === "" ? "x" : ""];
  } else if (typeof value === "number") {
    yield [`${path} one more`, value + 1];
    yield [`${path} as text`, String(value)];
  } else {
    yield [`${path} changed`, value !== true];
  }
}
