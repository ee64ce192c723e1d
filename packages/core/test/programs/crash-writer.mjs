/**
 * Writes until it is killed. Told `{ folder, seed, round, rebuild }`, it opens the store and runs one
 * to eight lanes of operations; each is announced by `try` in the moment it is submitted and followed
 * by `ack` once its promise has resolved. With `rebuild`, the store is rebuilt over and over meanwhile.
 */
import { open } from "../../dist/index.js";
import { seededRandom } from "../../dist/testing/index.js";
import { receive, say } from "./lines.mjs";

say("ready");
const { folder, seed, round, rebuild } = await receive();
const memory = await open(folder, { actor: "ada" });
say("open");

const random = seededRandom(seed);
/** Names of memories that later operations may touch. */
const names = [];
let count = 0;

/** A link that is there already, from either end, would say nothing about the one that is tried. */
const links = new Set();

function kindOf(from, to, name) {
  const kind = random.pick(["related_to", "supports", `kind ${name}`]);
  const link = [kind, ...[from, to].sort()].join(" ");
  if (links.has(link)) return `kind ${name}`;
  links.add(link);
  return kind;
}

function plan(n) {
  const name = `r${round}-${n}`;
  const text = `${name} ${"x".repeat(random.below(400))}`;
  const dice = random.below(100);
  if (dice < 25 || names.length < 3) return { verb: "write", name, text };
  if (dice < 45) {
    const length = random.between(2, 12);
    return { verb: "batch", names: Array.from({ length }, (_, at) => `${name}.${at}`), text };
  }
  if (dice < 60) return { verb: "update", name: random.pick(names), text };
  if (dice < 75) {
    const [from, to] = random.shuffled(names);
    return { verb: "link", from, to, kind: kindOf(from, to, name) };
  }
  if (dice < 85) {
    const [hidden] = names.splice(random.below(names.length), 1);
    return { verb: "tombstone", name: hidden };
  }
  const length = random.between(1, 4);
  return {
    verb: "remember",
    session: `s${round}`,
    turns: Array.from({ length }, (_, at) => `${name}/${at}`),
  };
}

function perform(what) {
  switch (what.verb) {
    case "write":
      return memory.write({ type: "note", externalId: what.name, text: what.text });
    case "batch":
      return memory.batch([
        ...what.names.map((name, at) => ({
          write: { type: "note", externalId: name, text: `${what.text} ${at}` },
          ref: name,
        })),
        ...what.names.slice(1).map((name) => ({
          link: { from: { ref: what.names[0] }, kind: "references", to: { ref: name } },
        })),
      ]);
    case "update":
      return memory.update(what.name, { text: what.text });
    case "link":
      return memory.link(what.from, what.kind, what.to);
    case "tombstone":
      return memory.tombstone(what.name, "gone");
    case "remember":
      return memory.remember(
        what.turns.map((content) => ({ role: "user", content })),
        { session: what.session },
      );
  }
}

async function lane() {
  for (;;) {
    const n = count++;
    const what = plan(n);
    say("try", { n, ...what });
    const done = perform(what);
    if (what.verb === "write") names.push(what.name);
    if (what.verb === "batch") names.push(what.names[0]);
    await done;
    say("ack", { n });
    // Leaves the rebuild room, so that some of them end before the kill.
    if (rebuild) await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function rebuildAgainAndAgain() {
  for (;;) {
    const { ok } = await memory.rebuild();
    say(ok ? "rebuilt" : "rebuilt badly");
  }
}

const lanes = Array.from({ length: random.between(1, rebuild ? 2 : 8) }, lane);
await Promise.all(rebuild ? [...lanes, rebuildAgainAndAgain()] : lanes);
