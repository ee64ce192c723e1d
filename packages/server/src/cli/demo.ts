/**
 * `cortex demo`: a small graph that looks like somebody's, built, changed, walked, checked and built
 * again before the reader's eyes. It lives in a temporary folder and leaves nothing behind, unless
 * `--data` names a store to keep.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BatchItem, type Cortex, open } from "@cortex-memory/core";
import { settingsFor } from "../config.js";
import { showTraversal } from "../render/edges.js";
import { clean, type Ink, makeInk, oneLine, wantsColour } from "../render/ink.js";
import { memoryLine, showSession, showWritten } from "../render/memories.js";
import { showCheck, showRebuild, showRoot } from "../render/store.js";
import type { Host } from "./host.js";
import type { GlobalFlags } from "./program.js";

/** Whose memory the demo builds when nobody says otherwise. */
const DEMO_ACTOR = "ada";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** What the demo did, for scripts. */
interface DemoResult {
  readonly data: string;
  readonly kept: boolean;
  readonly memories: number;
  readonly edges: number;
  readonly replaced: readonly string[];
  readonly walked: number;
  readonly root: string;
  readonly rebuiltRoot: string;
  readonly ok: boolean;
}

/** Runs the demo; the result is the exit code. */
export async function runDemo(host: Host, globals: GlobalFlags): Promise<number> {
  const kept = globals.data !== undefined;
  const { data, actor } = settingsFor({ actor: DEMO_ACTOR, ...globals }, host);
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
    const say = json ? () => {} : (text: string) => host.out.write(`${text}\n`);
    host.err.write(
      `cortex: ${folder}, actor ${actor.value}${kept ? "" : " (removed at the end)"}\n`,
    );
    const memory = await open(folder, { actor: actor.value });
    let result: DemoResult;
    try {
      const ink = makeInk(wantsColour(host.out, host.env));
      result = { data: folder, kept, ...(await tellStory(setStage(memory, ink, say))) };
    } finally {
      await memory.close();
    }
    if (json) host.out.write(`${JSON.stringify(result, null, 2)}\n`);
    return result.ok ? 0 : 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    process.off("exit", remove);
    remove();
  }
}

/** What every chapter of the demo works with. */
interface Stage {
  readonly memory: Cortex;
  readonly ink: Ink;
  readonly say: (text: string) => void;
  /** Announces the next chapter with the command that would do the same. */
  readonly chapter: (title: string, command: string) => void;
}

function setStage(memory: Cortex, ink: Ink, say: (text: string) => void): Stage {
  let number = 0;
  const chapter = (title: string, command: string): void => {
    number += 1;
    say(`${number === 1 ? "" : "\n"}${ink.bold(`${number}. ${title}`)}`);
    say(`${ink.dim(`   ${command}`)}\n`);
  };
  return { memory, ink, say, chapter };
}

async function tellStory(stage: Stage): Promise<Omit<DemoResult, "data" | "kept">> {
  const { memory, ink, say, chapter } = stage;
  const turns = await converse(stage);
  const { city, replaced } = await settle(stage);
  const walked = await connect(stage, { city, wish: turns[2] ?? city });
  await travelBack(stage, city);
  chapter(
    "Check everything, then build it again from the journal alone",
    "cortex check; cortex rebuild",
  );
  const before = await memory.root();
  const check = await memory.check();
  say(showCheck(check, ink));
  const rebuilt = await memory.rebuild();
  say(showRebuild(rebuilt, ink));
  say(`${ink.dim("root before")} ${showRoot(before, ink)}`);
  const same = before.root === rebuilt.root;
  say(same ? ink.green("The roots match.") : ink.red("The roots differ."));
  const stats = await memory.stats();
  return {
    memories: stats.memories.active + stats.memories.archived,
    edges: stats.edges.live,
    replaced,
    walked,
    root: before.root,
    rebuiltRoot: rebuilt.root,
    ok: check.ok && rebuilt.ok && same,
  };
}

async function converse({ memory, ink, say, chapter }: Stage): Promise<readonly string[]> {
  chapter("Keep a conversation, word for word", "cortex remember chat.jsonl --session chat-1");
  const { turns } = await memory.remember(
    [
      { role: "user", content: "I moved from Lyon to Porto last month.", index: 0 },
      { role: "assistant", content: "Noted. Shall I plan the trip to Grace's talk?", index: 1 },
      { role: "user", content: "Yes, but never book me a red-eye.", index: 2 },
    ],
    { session: "chat-1" },
  );
  say(showSession(await memory.session("chat-1"), ink));
  return turns.map(({ id }) => id);
}

async function settle({
  memory,
  ink,
  say,
  chapter,
}: Stage): Promise<{ readonly city: string; readonly replaced: readonly string[] }> {
  chapter(
    "A slot has one value at a time",
    'cortex write fact "Ada lives in Porto" --slot "home city"',
  );
  const show = showWritten("wrote");
  const slot = "home city";
  say(show(await memory.write({ type: "fact", slot, text: "Ada lives in Lyon" }), ink));
  const porto = await memory.write({ type: "fact", slot, text: "Ada lives in Porto" });
  say(show(porto, ink));
  const page = await memory.list({ slot, lifecycles: ["active", "archived"] });
  say(`\n${ink.dim("what the slot has held:")}`);
  for (const one of page.memories) say(memoryLine(one, ink));
  return { city: porto.id, replaced: porto.replaced.map(({ text }) => text) };
}

async function connect(
  { memory, ink, say, chapter }: Stage,
  known: { readonly city: string; readonly wish: string },
): Promise<number> {
  chapter("Typed memories, linked with reasons", "cortex link …; cortex traverse ID --max-hops 2");
  const { results } = await memory.batch([
    { ref: "ada", write: { type: "identity", text: "Ada, an engineer who travels for talks" } },
    { ref: "rule", write: { type: "constraint", text: "No red-eye flights" } },
    { ref: "seat", write: { type: "preference", text: "Ada prefers a window seat" } },
    { ref: "talk", write: { type: "event", text: "Grace gives a talk in Lisbon" } },
    { ref: "trip", write: { type: "goal", text: "Get Ada to Grace's talk" } },
    { link: { from: { ref: "ada" }, kind: "located_at", to: known.city } },
    { link: { from: { ref: "trip" }, kind: "part_of", to: { ref: "talk" } } },
    { link: { from: { ref: "rule" }, kind: "co_constrains", to: { ref: "seat" } } },
    because("rule", "blocks", { ref: "trip" }, "every night flight is out"),
    because("rule", "derived_from", known.wish, "she said so in chat-1"),
  ]);
  const rule = results[1];
  const start = rule?.ok === true ? rule.id : known.city;
  const walk = await memory.traverse(start, { direction: "both", maxHops: 2 });
  say(ink.dim("from the rule, two hops in every direction:"));
  say(showTraversal(walk, ink));
  return walk.hits.length;
}

function because(
  ref: string,
  kind: string,
  to: string | { readonly ref: string },
  reason: string,
): BatchItem {
  return { link: { from: { ref }, kind, to, reason } };
}

async function travelBack({ memory, say, chapter }: Stage, city: string): Promise<void> {
  chapter("Read the past", "cortex update ID TEXT; cortex history ID; cortex get ID --version 1");
  await memory.update(city, { text: "Ada lives in Porto, near the river" });
  const versions = (await memory.history(city)) ?? [];
  for (const { version, current, text } of versions) {
    say(`${current ? "●" : "○"} ${version}  ${oneLine(text)}`);
  }
  const first = await memory.get(city, { version: 1 });
  say(`version 1 still reads: ${clean(first?.text ?? "")}`);
}
