/**
 * Another process on the same store. Told `{ folder, name, seed }`, it writes pairs of linked notes
 * one after another and reads pairs that it knows to be there, until it is told to stop. Each pair is
 * one batch, announced by `wrote` once its promise has resolved; a pair that is not whole is `half`.
 */
import { isCortexError, open } from "../../dist/index.js";
import { seededRandom } from "../../dist/testing/index.js";
import { receive, say } from "./lines.mjs";

say("ready");
const { folder, name, seed } = await receive();
const random = seededRandom(seed);
let stopped = false;
void receive().then(() => {
  stopped = true;
});

/** Waits for a store that is being imported or upgraded: it must be refused, then whole. */
async function opened() {
  for (;;) {
    try {
      return await open(folder, { actor: "ada", create: false });
    } catch (error) {
      if (!isCortexError(error)) throw error;
      say("refused", error.code);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

const memory = await opened();
const { seq } = await memory.root();
say("open", seq);

let written = 0;
async function writePair() {
  const key = `${name}-${written}`;
  await memory.batch([
    { write: { type: "note", text: `${key} left`, externalId: `${key}-l` }, ref: "l" },
    { write: { type: "note", text: `${key} right`, externalId: `${key}-r` }, ref: "r" },
    { link: { from: { ref: "l" }, kind: "references", to: { ref: "r" } } },
  ]);
  written += 1;
  say("wrote", written);
}

async function readPair(n) {
  const key = `${name}-${n}`;
  const [left, right, edge] = await Promise.all([
    memory.get(`${key}-l`),
    memory.get(`${key}-r`),
    memory.getEdge(`${key}-l`, "references", `${key}-r`),
  ]);
  const whole =
    left?.text === `${key} left` && right?.text === `${key} right` && edge !== undefined;
  if (!whole) say("half", n);
}

while (!stopped) {
  await writePair();
  await readPair(random.below(written));
  const page = await memory.list({ type: "note", limit: 20 });
  if (page.memories.length < Math.min(20, 2 * written)) say("half", "list");
}
await memory.close();
say("done", written);
process.exit(0);
