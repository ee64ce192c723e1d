/**
 * A process that works at the jobs of a store until it is killed: `{ folder, jobs }` says how. It
 * writes one memory now and then, so that there is always something to seal.
 */
import { open } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

const { folder, jobs } = await receive();
const memory = await open(folder, { actor: "ada", jobs });
await memory.write({ type: "note", text: "something to seal" });
say("owner", memory.jobs.owner);
for (let count = 0; ; count++) {
  await new Promise((resolve) => setTimeout(resolve, 20));
  await memory.write({ type: "note", text: `note ${count}` });
}
