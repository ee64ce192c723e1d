/**
 * Following a journal that other processes write: everything they commit arrives once and in order,
 * together with what this process writes, batches whole; also when the store moves to another file on
 * the way, and after a gap.
 */
import { afterEach, expect, test } from "vitest";
import { type Cortex, type JournalEvent, open, type Subscription } from "../src/index.js";
import { atCleanUp, cleanUp, isUnbuilt, startProgram, temporaryStore } from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

interface Peer {
  ask<T>(verb: string, input: object): Promise<T>;
  end(): Promise<unknown>;
}

async function startPeer(folder: string): Promise<Peer> {
  const program = startProgram("shared-writer.mjs");
  program.send({ folder });
  await program.until("open");
  return {
    async ask<T>(verb: string, input: object): Promise<T> {
      program.send({ verb, ...input });
      return JSON.parse((await program.until("done")).slice("done ".length)) as T;
    },
    end: () => program.finish(),
  };
}

async function here(folder: string): Promise<Cortex> {
  const memory = await open(folder, { actor: "ada" });
  atCleanUp(() => memory.close());
  return memory;
}

/** Reads until the entry `last` has come. */
async function readTo(subscription: Subscription, last: number): Promise<JournalEvent[]> {
  const events: JournalEvent[] = [];
  while (events.at(-1)?.seq !== last) {
    const { value, done } = await subscription.next();
    if (done === true) throw new Error("the subscription ended");
    events.push(value);
  }
  return events;
}

const seqsOf = (events: readonly JournalEvent[]): number[] => events.map(({ seq }) => seq);
const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

/** Every batch has all its entries, one after another. */
function brokenBatches(events: readonly JournalEvent[]): JournalEvent[] {
  return events.filter(({ seq, batch }, at) => {
    if (batch === undefined || seq !== batch.first) return false;
    const span = events.slice(at, at + batch.length);
    return !span.every((event) => event.batch?.first === seq) || span.length !== batch.length;
  });
}

test.skipIf(UNBUILT)(
  "two processes and this one write: all of it, once, in order, batches whole",
  async () => {
    const folder = temporaryStore();
    const memory = await here(folder);
    const peer = await startPeer(folder);
    const peers = [peer, await startPeer(folder)];
    const first = (await memory.stats()).entries;
    const subscription = memory.subscribe({ pollMs: 20 });
    const working = peers.map((one, at) => one.ask("batches", { prefix: `p${at}`, count: 25 }));
    const own: number[] = [];
    const mine = (async () => {
      for (let at = 0; at < 25; at += 1) {
        own.push((await memory.write({ type: "note", text: `own ${at}` })).seq);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    // What is read while they write, and what is left when they have done.
    const early = (await subscription.next()).value as JournalEvent;
    await Promise.all([...working, mine]);
    const { seq: last } = await memory.stats();
    const events = [early, ...(await readTo(subscription, last))];
    expect(seqsOf(events)).toEqual(from(first, last));
    expect(last - first + 1).toBe(2 * 25 * 7 + 25);
    expect(brokenBatches(events)).toEqual([]);
    expect(events.filter(({ batch }) => batch !== undefined)).toHaveLength(2 * 25 * 5);
    expect(seqsOf(events)).toEqual(expect.arrayContaining(own));
    // Nothing of this process wakes the reader now: it has to look.
    const waiting = subscription.next();
    const { seq } = await peer.ask<{ seq: number }>("note", { name: "n", text: "last" });
    expect((await waiting).value).toMatchObject({ seq });
    await subscription.return();
    await Promise.all(peers.map((one) => one.end()));
  },
);

test.skipIf(UNBUILT)(
  "a subscription follows the store to its next file, and nothing is lost on the way",
  async () => {
    const folder = temporaryStore();
    const memory = await here(folder);
    const peer = await startPeer(folder);
    const subscription = memory.subscribe({ from: 0, pollMs: 20 });
    await readTo(subscription, 0);
    const rebuilt = peer.ask("rebuild", { times: 3 });
    const writing = (async () => {
      for (let at = 0; at < 60; at += 1) {
        await memory.write({ type: "note", text: `${at}` });
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await Promise.all([rebuilt, writing]);
    const { seq: last } = await memory.stats();
    expect(seqsOf(await readTo(subscription, last))).toEqual(from(1, last));
    await subscription.return();
    await peer.end();
  },
);
