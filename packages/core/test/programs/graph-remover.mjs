/**
 * Removes a graph of a hub and is killed on the way. The one message is `{ folder, graph, killAt }`:
 * SIGKILL comes right after the call of that number, counted from 1, that changes a name in the folder
 * or waits for the disk. Answers with how many such calls there were, if it lives.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { openHub } from "../../dist/index.js";
import { receive, say } from "./lines.mjs";

const { folder, graph, killAt } = await receive();
const hub = await openHub(folder);
let calls = 0;
for (const name of ["renameSync", "rmSync", "fsyncSync"]) {
  const real = fs[name];
  fs[name] = (...args) => {
    const result = real(...args);
    calls += 1;
    if (calls === killAt) process.kill(process.pid, "SIGKILL");
    return result;
  };
}
syncBuiltinESMExports();
await hub.remove(graph, "asked by the user");
say("done", calls);
await hub.close();
