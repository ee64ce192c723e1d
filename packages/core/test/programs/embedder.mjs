/**
 * Embeds a store by HTTP. Told `{ folder, endpoint, dimensions }`, it opens the store, says `embedding`,
 * a `cursor` line after every page, and `done` with its report. With `write` it first writes so many
 * memories of its own, named by `name`, and says `wrote`.
 */
import { httpEmbedder, open } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

say("ready");
const { folder, endpoint, dimensions, write = 0, name = "" } = await receive();
const embedder = httpEmbedder({ endpoint, model: "words", dimensions, backoffMs: 10 });
const memory = await open(folder, { actor: "ada", embedder });
for (let at = 0; at < write; at += 1) {
  await memory.write({ type: "note", text: `${name} number ${at}` });
}
say("wrote");
if (write > 0) await receive();
say("embedding");
const report = await memory.embedPending({ onProgress: (done) => say(`cursor ${done}`) });
say(`done ${JSON.stringify(report)}`);
await memory.close();
