/**
 * A process with many stores that is ended by one of them. Told `{ folder, actors }`, it reads in each,
 * says `in`, and at the next message reads in the last one once more and ends there, as a storage
 * engine would that met a page of nonsense.
 */
import { openHub } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

const { folder, actors } = await receive();
const hub = await openHub(folder);
for (const actor of actors) await hub.use(actor, (memory) => memory.stats());
say("in");
await receive();
process.kill(process.pid, "SIGSEGV");
