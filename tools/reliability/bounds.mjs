/**
 * `npm run bounds`: the most work one call can cause. A large store is made as bad as the verbs allow: a
 * memory with thousands of links, one word in every text, tags that came long after their memories, one
 * session, one slot; then every verb is asked the worst there is. A call must end, by an answer or by a
 * refusal, within so much processor time: a query that works long before it is refused is a fault.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GUEST, isCortexError, open } from "../../packages/core/dist/index.js";
import { progress, readFlags } from "./arguments.mjs";

const BATCH = 5000;

async function fill(memory, count, tell) {
  const { id: centre } = await memory.write({
    type: "note",
    text: "the centre of everything",
    externalId: "centre",
  });
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    const writes = Array.from({ length: size }, (_, at) => ({
      write: {
        type: "note",
        text: `common words and number ${from + at}`,
        tags: ["early"],
        importance: (from + at) % 10,
        kind: "memo",
        externalId: `m${from + at}`,
      },
      ref: `r${at}`,
    }));
    const links =
      from >= 20_000
        ? []
        : writes.map(({ ref }) => ({ link: { from: centre, kind: "references", to: { ref } } }));
    await memory.batch([...writes, ...links].slice(0, 10_000));
    tell(`${from + size} of ${count} memories`);
  }
  // Tags that come later, the oldest memory last: hits of a find by tag then wait for each other.
  const late = Math.min(count, 100_000);
  for (let from = late - 1; from >= 0; from -= 1000) {
    const some = Array.from({ length: Math.min(1000, from + 1) }, (_, at) => from - at);
    await Promise.all(some.map((at) => memory.updateHead(`m${at}`, { tags: ["early", "late"] })));
    tell(`${late - from} of ${late} late tags`);
  }
  return { centre, late };
}

/** The worst that is known for each verb. */
function worstCalls(memory, centre, count) {
  const page = { limit: 1000 };
  const never = { matches: ["text", "no text has these words"] };
  return {
    "find, hits that wait": () => memory.find({ tags: ["late"], limit: 10 }),
    "find, hits that wait, guest": () => memory.find({ tags: ["late"], limit: 10, access: GUEST }),
    "find, two tags": () => memory.find({ tags: ["late", "early"], ...page }),
    "find, nothing matches": () => memory.find({ tags: ["early"], where: never, limit: 10 }),
    "find, sorted by a field": () =>
      memory.find({ tags: ["early"], orderBy: [{ field: "head.importance" }], limit: 10 }),
    "find, all counted": () => memory.find({ tags: ["early"], limit: 1, countTotal: true }),
    "find, far offset": () => memory.find({ tags: ["early"], limit: 10, offset: count - 20 }),
    "find, a pattern": () =>
      memory.find({ tags: ["early"], where: { matches: ["text", "(a|a?)+b(c*)*d$"] }, limit: 10 }),
    "list, guest": () => memory.list({ ...page, access: GUEST }),
    search: () => memory.search("common words and number", { limit: 100 }),
    "search, guest": () => memory.search("common words and number", { limit: 100, access: GUEST }),
    recall: () =>
      memory.recall("common words and number memories about everything", { budgetTokens: 4000 }),
    "recall, guest": () => memory.recall("common words and number", { access: GUEST }),
    context: () => memory.context({ budgetTokens: 4000 }),
    traverse: () => memory.traverse(centre, { direction: "both", maxHops: 6, maxNodes: 1000 }),
    "edges of the centre": () => memory.edgesOut(centre, page),
    inspect: () => memory.inspect(centre),
    describeSchema: () => memory.describeSchema({}),
    listTags: () => memory.listTags({}),
    "listTags, guest": () => memory.listTags({ access: GUEST }),
    changes: () => memory.changes(0, count),
    share: () => memory.share({ tags: ["early"], limit: 1000 }),
    prove: () => memory.prove(Array.from({ length: 100 }, (_, at) => `m${at}`)),
    review: () => memory.review({}),
    stats: () => memory.stats(),
    "write, words of all": () => memory.write({ type: "fact", text: "common words and number" }),
    "forget the centre": () => memory.forget("centre", "asked to"),
  };
}

async function main() {
  const flags = readFlags(
    "Asks every verb of a large store the worst there is, and measures the work.",
    [
      { name: "memories", kind: "number", standard: 100_000, help: "how large the store is" },
      {
        name: "limit-ms",
        kind: "number",
        standard: 5000,
        help: "processor time at which a call fails",
      },
    ],
  );
  const folder = mkdtempSync(join(tmpdir(), "cortex-bounds-"));
  const tell = progress();
  const limitMs = Number(flags["limit-ms"]);
  const over = [];
  try {
    const memory = await open(folder, { actor: "ada", relaxedDurability: true, rateLimits: false });
    const { centre } = await fill(memory, Number(flags.memories), tell);
    // The index of words follows; its work is not that of the first question.
    await memory.search("centre", { limit: 1 });
    for (const [name, ask] of Object.entries(worstCalls(memory, centre, Number(flags.memories)))) {
      const before = process.cpuUsage();
      const outcome = await ask().then(
        () => "answered",
        (error) => {
          if (!isCortexError(error)) throw error;
          return error.code;
        },
      );
      const { user, system } = process.cpuUsage(before);
      const ms = Math.round((user + system) / 1000);
      if (ms > limitMs) over.push(name);
      process.stdout.write(`${String(ms).padStart(7)} ms  ${name}: ${outcome}\n`);
    }
    await memory.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(
    over.length === 0
      ? `every call within ${limitMs} ms of processor time\n`
      : `over ${limitMs} ms: ${over.join(", ")}\n`,
  );
  process.exitCode = over.length === 0 ? 0 : 1;
}

await main();
