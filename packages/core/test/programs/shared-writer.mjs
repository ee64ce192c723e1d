/**
 * One of several processes on one store. Each message asks for one thing and is answered by one line;
 * `{ folder }` comes first.
 *
 * - `increment { times }`: adds one to the memory `counter` that often, by compare-and-set on its
 *   version, and writes one memory of its own each time.
 * - `write { prefix, ms, lanes }`: writes as fast as it can for so long; answers the seqs it got.
 * - `attest { name, times }`: attests that often that the memory of that name helped; answers the
 *   weights each attestation found and left.
 * - `note { name, text }` and `get { name }`: one write, one read.
 * - `batches { prefix, count }`: batches of five memories under one tag, an update and a link between;
 *   each acknowledged one is read back at once.
 * - `watch { prefix, ms }`: reads those tags over and over; answers how many reads it made, and each
 *   one that saw part of a batch.
 * - `rebuild { times }`: rebuilds the store that often.
 */
import { open } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

const { folder } = await receive();
const memory = await open(folder, { actor: "ada", rateLimits: false });
say("open");

/** Lets other work of this process happen. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function incrementOnce() {
  for (let lost = 0; ; lost++) {
    const { text, version } = await memory.get("counter");
    try {
      await memory.update("counter", { text: String(Number(text) + 1), basedOnVersion: version });
      return lost;
    } catch (error) {
      if (error.code !== "ERR_CONFLICT") throw error;
    }
  }
}

const verbs = {
  async increment({ prefix, times }) {
    let lost = 0;
    const names = [];
    for (let i = 0; i < times; i++) {
      lost += await incrementOnce();
      const name = `${prefix}-${i}`;
      await memory.write({ type: "note", externalId: name, text: name });
      names.push(name);
    }
    return { lost, names };
  },
  async write({ prefix, ms, lanes }) {
    const end = performance.now() + ms;
    const seqs = [];
    let count = 0;
    const lane = async () => {
      while (performance.now() < end) {
        const text = `${prefix} ${count++}`;
        seqs.push((await memory.write({ type: "note", text })).seq);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return { seqs };
  },
  async attest({ name, times }) {
    const steps = [];
    for (let i = 0; i < times; i++) {
      const input = { intentId: "t", outcome: "success", cited: [name] };
      const { previousWeights, weights } = await memory.attest(input);
      steps.push({ before: previousWeights, after: weights });
      await turn();
    }
    return { steps };
  },
  async note({ name, text }) {
    const { seq } = await memory.write({ type: "note", externalId: name, text });
    return { seq };
  },
  async get({ name }) {
    return { text: (await memory.get(name))?.text };
  },
  async batches({ prefix, count }) {
    let unseen = 0;
    for (let i = 0; i < count; i++) {
      const tag = `${prefix}-${i}`;
      const items = Array.from({ length: 5 }, (_, at) => ({
        write: { type: "note", text: `${tag}.${at}`, tags: [tag], externalId: `${tag}.${at}` },
      }));
      await memory.batch(items);
      await memory.update(`${tag}.0`, { text: `${tag} changed` });
      await memory.link(`${tag}.0`, "supports", `${tag}.1`);
      const seen = await memory.get(`${tag}.0`);
      const edge = await memory.getEdge(`${tag}.0`, "supports", `${tag}.1`);
      if (seen?.text !== `${tag} changed` || edge === undefined) unseen += 1;
      await turn();
    }
    return { unseen };
  },
  async watch({ prefix, count, ms }) {
    const end = performance.now() + ms;
    const halves = [];
    let reads = 0;
    let full = 0;
    for (let i = 0; i < count && performance.now() < end; ) {
      const tag = `${prefix}-${i}`;
      const { memories } = await memory.list({ tag });
      reads += 1;
      if (memories.length !== 0 && memories.length !== 5) halves.push(tag);
      if (memories.length === 5) {
        i += 1;
        full += 1;
      }
      await turn();
    }
    return { reads, full, halves };
  },
  async rebuild({ times }) {
    const reports = [];
    for (let i = 0; i < times; i++) {
      const { ok, differences, entries } = await memory.rebuild();
      reports.push({ ok, differences, entries });
      await turn();
    }
    return { reports };
  },
};

for (let message = await receive(); message !== undefined; message = await receive()) {
  const { verb, ...input } = message;
  say("done", await verbs[verb](input));
}
await memory.close();
