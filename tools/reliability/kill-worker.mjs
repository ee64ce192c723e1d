/**
 * Works until it is killed; started by `kills.mjs`. It says `ready` once it has loaded everything; told
 * `{ work, folder, round, source }` on a line, it opens the store, says `open`, and then `try` before each piece
 * of work and `ack` once it is done. Lines are written at once, so that a kill never takes one back.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { follow, importJournal, open, openHub, promote, repair } from "@cortex-memory/core";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (/** @type {string} */ word, /** @type {object} */ what = {}) =>
  writeSync(1, `${word} ${JSON.stringify(what)}\n`);
const ADA = { actor: "ada" };

say("ready");
const { work, folder, round, source } = JSON.parse((await lines.next()).value);

/** What happens once to a store. @type {Record<string, () => Promise<unknown>>} */
const ONCE = {
  import: () => importJournal(folder, source, ADA),
  remove: async () => {
    const hub = await openHub(folder);
    await hub.remove("gone", "asked to");
  },
  promote: () => promote(folder, ADA),
  repair: () => repair(folder, { ...ADA, from: [source] }),
};
const whole = ONCE[work];
if (whole !== undefined) {
  say("open");
  say("try", { name: work });
  await whole();
  say("ack", { name: work });
  await new Promise((resolve) => setTimeout(resolve, 600_000));
}
if (work === "follow") await followOn();
const memory = await open(folder, ADA);
say("open");

/** Writes into the source, and follows it, until the replica is level, again and again. */
async function followOn() {
  const origin = await open(source, ADA);
  say("open");
  for (let n = 0; ; n += 1) {
    const name = `r${round}-${n}`;
    const there = [0, 1, 2].map((at) => `${name}.${at}`);
    await origin.batch(
      there.map((externalId) => ({ write: { type: "note", externalId, text: externalId } })),
    );
    say("try", { name, there });
    for await (const _ of follow(folder, origin, { ...ADA, once: true }));
    say("ack", { name });
  }
}

const note = (/** @type {string} */ name) => ({
  type: /** @type {const} */ ("note"),
  externalId: name,
  text: `text of ${name}`,
});

/** Each piece of work says what it will leave, and does it. @type {Record<string, (name: string) => { what: object, run: () => Promise<unknown> }>} */
const PIECES = {
  single: (name) => ({ what: { there: [name] }, run: () => memory.write(note(name)) }),
  batch: (name) => {
    const names = [0, 1, 2, 3, 4].map((n) => `${name}.${n}`);
    return {
      what: { there: names },
      run: () => memory.batch(names.map((one) => ({ write: note(one) }))),
    };
  },
  remember: (name) => {
    const turns = [0, 1, 2].map((n) => `${name} turn ${n}`);
    return {
      what: { session: `s-${round}`, turns },
      run: () =>
        memory.remember(
          turns.map((content) => ({ role: /** @type {const} */ ("user"), content })),
          { session: `s-${round}`, idempotencyKey: name },
        ),
    };
  },
  forget: (name) => ({
    what: { gone: [name] },
    run: () => memory.forget(name, "asked to"),
  }),
};

/** @param {string} kind @param {string} name */
async function piece(kind, name) {
  const make = PIECES[kind] ?? PIECES.single;
  const made = make?.(name);
  if (kind === "forget") await memory.write(note(name));
  say("try", { name, ...made?.what });
  await made?.run();
  say("ack", { name });
}

/** @param {string} kind @param {string} lane */
async function lane(kind, lane) {
  for (let n = 0; ; n += 1) await piece(kind, `r${round}-${lane}-${n}`);
}

async function again(/** @type {() => Promise<unknown>} */ move) {
  for (;;) {
    await move();
    say("moved");
  }
}

switch (work) {
  case "grouped":
    await Promise.all([..."abcdefgh"].map((name) => lane("single", name)));
    break;
  case "vacuum":
    await Promise.all([lane("forget", "a"), again(() => memory.vacuum())]);
    break;
  case "rebuild":
    await Promise.all([lane("single", "a"), again(() => memory.rebuild())]);
    break;
  default:
    await lane(work, "a");
}
