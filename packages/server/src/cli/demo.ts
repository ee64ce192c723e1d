/**
 * `cortex demo`: a small graph that looks like somebody's, built, proved, forgotten in part, moved and
 * checked before the reader's eyes. It lives in a temporary folder and leaves nothing behind, unless
 * `--data` names a store to keep. What is told stands in `demo-story.ts`.
 */
import { join } from "node:path";
import { checkActorName, open } from "@cortex-memory/core";
import { isAddress, settingsFor } from "../config.js";
import { clean, makeInk, wantsColour } from "../render/ink.js";
import { UsageError } from "../usage.js";
import { type DemoResult, setStage, tellStory } from "./demo-story.js";
import type { Host } from "./host.js";
import type { GlobalFlags } from "./program.js";
import { withTemporaryFolder } from "./temporary-folder.js";

/** Whose memory the demo builds when nobody says otherwise. */
const DEMO_ACTOR = "ada";

/** Runs the demo; the result is the exit code. */
export async function runDemo(host: Host, globals: GlobalFlags): Promise<number> {
  const { data, actor } = settingsFor({ actor: DEMO_ACTOR, ...globals }, host);
  checkActorName(actor.value);
  if (globals.data === undefined) {
    return withTemporaryFolder("cortex-demo-", (folder) =>
      show(host, { folder, kept: false, actor: actor.value, json: globals.json === true }),
    );
  }
  if (isAddress(data.value)) {
    const message = "--data: expected a folder, whose files the demo looks into, got an address";
    throw new UsageError(message);
  }
  const folder = data.value;
  return show(host, { folder, kept: true, actor: actor.value, json: globals.json === true });
}

interface Shown {
  readonly folder: string;
  readonly kept: boolean;
  readonly actor: string;
  readonly json: boolean;
}

async function show(host: Host, { folder, kept, actor, json }: Shown): Promise<number> {
  const end = kept ? "" : " (removed at the end)";
  host.err.write(`cortex: ${clean(folder)}, actor ${actor}${end}\n`);
  const result = await demonstrate(host, folder, actor, json);
  if (json) host.out.write(`${JSON.stringify({ data: folder, kept, ...result }, null, 2)}\n`);
  return result.ok ? 0 : 1;
}

async function demonstrate(
  host: Host,
  location: string,
  actor: string,
  json: boolean,
): Promise<DemoResult> {
  const ink = makeInk(wantsColour(host.out, host.env));
  const say = json ? () => {} : (text: string) => host.out.write(`${text}\n`);
  const memory = await open(location, { actor });
  try {
    return await tellStory(setStage({ memory, ink, say, folder: join(location, actor) }));
  } finally {
    await memory.close();
  }
}
