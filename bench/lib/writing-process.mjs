/**
 * A process that does nothing but write so many memories into a new store, in batches. Started by `memory-sampler.mjs`, which
 * watches how large it becomes.
 */
import { open } from "@cortex-memory/core";
import { startWorkload, writeBatch } from "./workload.mjs";

const [folder = "", size = "0", batchItems = "1000", seed = "1"] = process.argv.slice(2);
const memory = await open(folder, { actor: "writer" });
const workload = startWorkload(Number(seed));
for (let done = 0; done < Number(size); done += Number(batchItems)) {
  await writeBatch(memory, workload.take(Math.min(Number(batchItems), Number(size) - done)));
}
await memory.close();
