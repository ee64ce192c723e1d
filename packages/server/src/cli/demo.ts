/**
 * `cortex demo`: a small graph that looks like somebody's, built, proved, forgotten in part, moved and
 * checked before the reader's eyes. It lives in a temporary folder and leaves nothing behind, unless
 * `--data` names a store to keep. What is told stands in `demo-story.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkActorName, open } from "@cortex-memory/core";
import { settingsFor } from "../config.js";
import { clean, makeInk, wantsColour } from "../render/ink.js";
import { type DemoResult, setStage, tellStory } from "./demo-story.js";
import type { Host } from "./host.js";
import type { GlobalFlags } from "./program.js";

/** Whose memory the demo builds when nobody says otherwise. */
const DEMO_ACTOR = "ada";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs the demo; the result is the exit code. */
export async function runDemo(host: Host, globals: GlobalFlags): Promise<number> {
  const kept = globals.data !== undefined;
  const { data, actor } = settingsFor({ actor: DEMO_ACTOR, ...globals }, host);
  checkActorName(actor.value);
  const folder = kept ? data.value : mkdtempSync(join(tmpdir(), "cortex-demo-"));
  const remove = (): void => {
    if (!kept) rmSync(folder, { recursive: true, force: true });
  };
  // Also when somebody interrupts it.
  process.once("exit", remove);
  const stop = (): void => process.exit(130);
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    const json = globals.json === true;
    const end = kept ? "" : " (removed at the end)";
    host.err.write(`cortex: ${clean(folder)}, actor ${actor.value}${end}\n`);
    const result = await demonstrate(host, folder, actor.value, json);
    if (json) host.out.write(`${JSON.stringify({ data: folder, kept, ...result }, null, 2)}\n`);
    return result.ok ? 0 : 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    process.off("exit", remove);
    remove();
  }
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
