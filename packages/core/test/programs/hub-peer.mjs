/**
 * One of several processes on one hub. The first message is `{ folder, kill }`; each later one is
 * `{ verb, args }`, a method of the hub or of memgraph's store over it, and is answered by one line.
 *
 * `kill: { commit, when }` ends the process by SIGKILL right before or right after the catalogue's
 * commit of that number, counted from 1 since it was opened.
 */
import { openHubWith } from "../../dist/hub/open-hub.js";
import { memgraph } from "../../dist/memgraph/index.js";
import { receive, say } from "./lines.mjs";

const { folder, kill } = await receive();

function wrapCatalogue(kv) {
  let commits = 0;
  const die = () => process.kill(process.pid, "SIGKILL");
  return {
    manifest: kv.manifest,
    snapshot: (options) => kv.snapshot(options),
    commit: (change) => kv.commit(change),
    async commitCaches(change) {
      commits += 1;
      const isIt = commits === kill?.commit;
      if (isIt && kill.when === "before") die();
      const done = await kv.commitCaches(change);
      if (isIt && kill.when === "after") die();
      return done;
    },
    nextGeneration: () => kv.nextGeneration(),
    sizeBytes: () => kv.sizeBytes(),
    close: () => kv.close(),
  };
}

const hub = await openHubWith(folder, {}, { wrapCatalogue });
const store = memgraph(hub);
say("open");

for (let message = await receive(); message !== undefined; message = await receive()) {
  try {
    const { verb, args } = message;
    say("done", (await (store[verb]?.(...args) ?? hub[verb](...args))) ?? null);
  } catch (error) {
    say("failed", { code: error.code, message: error.message });
  }
}
await hub.close();
