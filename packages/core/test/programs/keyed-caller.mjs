/**
 * Makes one call under an idempotency key. The one message is `{ folder, verb, args, dies }`; with
 * `dies`, SIGKILL comes when the commit of the call is on the disk and before its promise resolves.
 * Answers with what the call gave.
 */
import { open } from "../../dist/index.js";
import { around } from "../../dist/kv/kv.js";
import { openKv } from "../../dist/open.js";
import { receive, say } from "./lines.mjs";

const { folder, verb, args, dies } = await receive();
const kv = await openKv(folder, "ada", {});
let isAsked = false;
const memory = await open(folder, {
  actor: "ada",
  kv: around(kv, {
    async commit(change) {
      const done = await kv.commit(change);
      if (isAsked && done.ok && dies) process.kill(process.pid, "SIGKILL");
      return done;
    },
  }),
});
isAsked = true;
say("done", await memory[verb](...args));
await memory.close();
