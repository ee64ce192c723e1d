/**
 * Writes a few things, one at a time, in groups and after a rebuild. Told `{ folder, relaxed }`, it
 * says `start n` before it asks for something and `ack n` when the promise has resolved.
 */
import { open } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

const { folder, relaxed } = await receive();
const memory = await open(folder, { actor: "ada", relaxedDurability: relaxed });
let asked = 0;

async function acknowledged(ask) {
  const n = asked++;
  say(`start ${n}`);
  await ask();
  say(`ack ${n}`);
}

const note = (text) => memory.write({ type: "note", text });
for (let i = 0; i < 6; i++) await acknowledged(() => note(`single ${i}`));
const first = await note("first");
const second = await note("second");
await acknowledged(() => memory.update(first.id, { text: "changed" }));
await acknowledged(() => memory.link(first.id, "supports", second.id));
await acknowledged(() => memory.tombstone(second.id, "gone"));
await acknowledged(() => memory.remember([{ role: "user", content: "hello" }], { session: "s" }));
await acknowledged(() =>
  memory.batch([1, 2, 3].map((i) => ({ write: { type: "note", text: `b${i}` } }))),
);
await Promise.all(Array.from({ length: 8 }, (_, i) => acknowledged(() => note(`at once ${i}`))));
if (!relaxed) await acknowledged(() => memory.rebuild());
for (let i = 0; i < 3; i++) await acknowledged(() => note(`afterwards ${i}`));
await memory.close();
say("end");
