/**
 * `cortex demo`: a small graph that looks like somebody's, built, proved, forgotten in part, moved and
 * checked before the reader's eyes. It lives in a temporary folder and leaves nothing behind, unless
 * `--data` names a store to keep.
 *
 * What `cortex demo` shows, chapter by chapter. Each chapter does something to the store, says what came of it,
 * and names the commands that would do the same; what it claims, it has checked.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type BatchItem, type Cortex, open, type Proof } from "@cortex-memory/core";
import { checkActorName } from "@cortex-memory/core/doors";
import { verify } from "@cortex-memory/core/verify";
import { isAddress, settingsFor } from "../config.js";
import { UsageError } from "../error-status.js";
import { showTraversal } from "../render/edges.js";
import { clean, counted, type Ink, makeInk, oneLine, wantsColour } from "../render/ink.js";
import {
  memoryLine,
  showForgotten,
  showRecalled,
  showSession,
  showWritten,
} from "../render/memories.js";
import { showCheckpoint } from "../render/proofs.js";
import { showCheck, showRebuild, showVacuum } from "../render/store.js";
import { withTemporaryFolder } from "./files.js";
import type { Host } from "./host.js";
import type { GlobalFlags } from "./program.js";

/** What the demo did, for scripts. */
interface DemoResult {
  readonly memories: number;
  readonly edges: number;
  /** What the slot held before. */
  readonly replaced: readonly string[];
  readonly walked: number;
  /** What the question brought back, best first. */
  readonly recalled: readonly string[];
  /** Whether the proof held against the checkpoint, before and after the forget. */
  readonly proved: boolean;
  readonly provedAfterForget: boolean;
  /** How often the forgotten words stand in the store's files. */
  readonly traces: {
    readonly written: number;
    readonly forgotten: number;
    readonly vacuumed: number;
  };
  /** What the slot held at the position it was read back at. */
  readonly past: string;
  readonly root: string;
  readonly rebuiltRoot: string;
  readonly ok: boolean;
}

/** What every chapter works with. */
interface Stage {
  readonly memory: Cortex;
  readonly ink: Ink;
  readonly say: (text: string) => void;
  /** Where the store keeps its files; nothing is there for a store that is not kept. */
  readonly folder: string;
  /** Announces the next chapter with the command that would do the same. */
  readonly chapter: (title: string, command: string) => void;
}

/** A stage whose chapters are numbered. */
function setStage(stage: Omit<Stage, "chapter">): Stage {
  const { ink, say } = stage;
  let number = 0;
  const chapter = (title: string, command: string): void => {
    number += 1;
    say(`${number === 1 ? "" : "\n"}${ink.bold(`${number}. ${title}`)}`);
    say(`${ink.dim(`   ${command}`)}\n`);
  };
  return { ...stage, chapter };
}

/** Tells all of it. */
async function tellStory(stage: Stage): Promise<DemoResult> {
  const { memory } = stage;
  const wish = await converse(stage);
  const city = await fillSlot(stage);
  const { walked, secret } = await connect(stage, { city: city.now, wish });
  const recalled = await recall(stage);
  const sealed = await prove(stage, [city.now, secret]);
  const forgotten = await forget(stage, secret, sealed);
  const moved = await moveAndRebuild(stage);
  const past = await travelBack(stage, city.lyonSeq);
  const sound = await checkAll(stage);
  const { memories, edges } = await memory.stats();
  const { provedAfterForget, gone } = forgotten;
  const clear = gone && moved.vacuumed === 0;
  return {
    memories: memories.active + memories.archived,
    edges: edges.live,
    replaced: city.replaced,
    walked,
    recalled,
    proved: sealed.ok,
    provedAfterForget,
    traces: { ...forgotten.traces, vacuumed: moved.vacuumed },
    past,
    root: moved.root,
    rebuiltRoot: moved.rebuiltRoot,
    ok:
      recalled.includes(RULE) &&
      sealed.ok &&
      provedAfterForget &&
      clear &&
      moved.same &&
      past === LYON &&
      sound,
  };
}

async function converse({ memory, ink, say, chapter }: Stage): Promise<string> {
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
  return turns[2]?.id ?? "";
}

const SLOT = "home city";
const LYON = "Ada lives in Lyon";

interface City {
  readonly now: string;
  /** The position at which it was still the other city. */
  readonly lyonSeq: number;
  readonly replaced: readonly string[];
}

async function fillSlot({ memory, ink, say, chapter }: Stage): Promise<City> {
  chapter(
    "A slot has one value at a time; what it held before is history",
    `cortex write fact "Ada lives in Porto" --slot "${SLOT}"`,
  );
  const show = showWritten("wrote");
  const lyon = await memory.write({ type: "fact", slot: SLOT, text: LYON });
  say(show(lyon, ink));
  const porto = await memory.write({ type: "fact", slot: SLOT, text: "Ada lives in Porto" });
  say(show(porto, ink));
  return { now: porto.id, lyonSeq: lyon.seq, replaced: porto.replaced.map(({ text }) => text) };
}

/** Words that nothing but the memory to be forgotten holds. */
const SECRET = "penicillin";
const RULE = "No red-eye flights";

async function connect(
  { memory, ink, say, chapter }: Stage,
  known: { readonly city: string; readonly wish: string },
): Promise<{ readonly walked: number; readonly secret: string }> {
  chapter(
    "A person, wishes, a rule, an event: typed, and linked with reasons",
    "cortex batch FILE; cortex link …; cortex traverse ID --direction both --max-hops 2",
  );
  const { results } = await memory.batch([
    { ref: "rule", write: { type: "constraint", text: RULE } },
    { ref: "health", write: { type: "fact", text: `Ada must not be given ${SECRET}` } },
    { ref: "ada", write: { type: "identity", text: "Ada, an engineer who travels for talks" } },
    { ref: "seat", write: { type: "preference", text: "Ada prefers a window seat" } },
    { ref: "food", write: { type: "preference", text: "Ada likes vegetarian food" } },
    { ref: "talk", write: { type: "event", text: "Grace gives a talk in Lisbon" } },
    { ref: "trip", write: { type: "goal", text: "Get Ada to Grace's talk" } },
    { link: { from: { ref: "ada" }, kind: "located_at", to: known.city } },
    { link: { from: { ref: "trip" }, kind: "part_of", to: { ref: "talk" } } },
    { link: { from: { ref: "rule" }, kind: "co_constrains", to: { ref: "seat" } } },
    because("health", "related_to", { ref: "ada" }, `${SECRET}, said her doctor`),
    because("rule", "blocks", { ref: "trip" }, "every night flight is out"),
    because("rule", "derived_from", known.wish, "she said so in chat-1"),
  ]);
  const [rule, health] = results.map((one) => (one.ok ? one.id : ""));
  const walk = await memory.traverse(rule ?? "", { direction: "both", maxHops: 2 });
  say(ink.dim("from the rule, two hops in every direction:"));
  say(showTraversal({ ...walk, edges: [] }, ink));
  return { walked: walk.hits.length, secret: health ?? "" };
}

function because(
  ref: string,
  kind: string,
  to: string | { readonly ref: string },
  reason: string,
): BatchItem {
  return { link: { from: { ref }, kind, to, reason } };
}

async function recall({ memory, ink, say, chapter }: Stage): Promise<readonly string[]> {
  const question = "may I book Ada a red-eye flight?";
  chapter("Ask in plain words, without any model", `cortex recall "${question}"`);
  const answer = await memory.recall(question, { limit: 4 });
  say(showRecalled(answer, ink));
  say(ink.dim("\nand as text for a prompt:"));
  say(clean(answer.text));
  return answer.hits.map(({ text }) => text);
}

interface Sealed {
  readonly checkpoint: string;
  readonly proof: Proof;
  readonly ok: boolean;
}

async function prove(
  { memory, ink, say, chapter }: Stage,
  ids: readonly string[],
): Promise<Sealed> {
  chapter(
    "Seal the root, prove two memories, check the proof without the store",
    "cortex snapshot; cortex prove ID ID > proof.json; cortex verify proof.json --checkpoint FILE",
  );
  const sealed = await memory.snapshot("demo");
  say(ink.dim("the checkpoint, nine lines to keep elsewhere:"));
  say(showCheckpoint(sealed));
  const proof = await memory.prove(ids);
  const size = `${JSON.stringify(proof).length.toLocaleString("en-US")} bytes of JSON`;
  const verdict = verify(proof, sealed.checkpoint);
  const ok = verdict.ok && verdict.anchored;
  say(`\n${mark(ok, ink)} a proof of ${size} ${ok ? "holds against it" : "does not hold"}:`);
  for (const { text } of verdict.ok ? verdict.memories : []) say(`  ${oneLine(text ?? "")}`);
  return { checkpoint: sealed.checkpoint, proof, ok };
}

async function forget(
  { memory, ink, say, chapter, folder }: Stage,
  secret: string,
  { proof, checkpoint }: Sealed,
): Promise<{
  readonly provedAfterForget: boolean;
  readonly gone: boolean;
  readonly traces: { readonly written: number; readonly forgotten: number };
}> {
  chapter(
    "Forget one of them: the content is gone, the old proof still verifies",
    'cortex forget ID --reason "asked by Ada"; cortex get ID; cortex prove ID | cortex verify -',
  );
  const written = tracesIn(folder);
  say(showForgotten(await memory.forget(secret, "asked by Ada"), ink));
  const gone = (await memory.get(secret)) === undefined;
  say(`${mark(gone, ink)} get ${secret}: ${gone ? "not there any more" : "still there"}`);
  const old = verify(proof, checkpoint);
  const provedAfterForget = old.ok && old.anchored;
  const word = provedAfterForget ? "still verifies" : "fails now";
  say(`${mark(provedAfterForget, ink)} the proof from before ${word} against its checkpoint`);
  const now = verify(await memory.prove([secret]), (await memory.checkpoint()).checkpoint);
  const status = now.ok ? now.memories[0]?.status : now.code;
  say(`${mark(status === "erased", ink)} a new proof says: ${status}`);
  return { provedAfterForget, gone, traces: { written, forgotten: tracesIn(folder) } };
}

interface Moved {
  readonly vacuumed: number;
  readonly root: string;
  readonly rebuiltRoot: string;
  readonly same: boolean;
}

async function moveAndRebuild({ memory, ink, say, chapter, folder }: Stage): Promise<Moved> {
  chapter("Write the file anew, so that no freed page keeps the words", "cortex vacuum");
  const before = tracesIn(folder);
  say(showVacuum(await memory.vacuum(), ink));
  const vacuumed = tracesIn(folder);
  const times = (count: number): string => counted(count, "time");
  const where = `"${SECRET}" in the files: ${times(before)} before, ${times(vacuumed)} now`;
  say(`${mark(vacuumed === 0, ink)} ${where}`);

  chapter(
    "Drop everything derived, build it again from the journal alone",
    "cortex root; cortex rebuild; cortex root",
  );
  const { root } = await memory.root();
  const rebuilt = await memory.rebuild();
  say(showRebuild(rebuilt, ink));
  const same = rebuilt.ok && root === rebuilt.root;
  say(`  root ${root} ${ink.dim("before")}`);
  say(`${mark(same, ink)} ${same ? "The roots match." : "The roots differ."}`);
  return { vacuumed, root, rebuiltRoot: rebuilt.root, same };
}

async function travelBack({ memory, ink, say, chapter }: Stage, seq: number): Promise<string> {
  chapter(
    "Read the past",
    `cortex list --slot "${SLOT}" --as-of ${seq}; an ISO time works as well`,
  );
  const now = (await memory.list({ slot: SLOT })).memories;
  const then = (await memory.list({ slot: SLOT, asOf: seq })).memories;
  for (const one of now) say(`${ink.dim("now     ")} ${memoryLine(one, ink)}`);
  for (const one of then) say(`${ink.dim(`at seq ${seq}`.padEnd(8))} ${memoryLine(one, ink)}`);
  return clean(then[0]?.text ?? "");
}

async function checkAll({ memory, ink, say, chapter }: Stage): Promise<boolean> {
  chapter("Check journal, hashes, rows and roots against each other", "cortex check");
  const report = await memory.check();
  say(showCheck(report, ink));
  return report.ok;
}

function mark(ok: boolean, ink: Ink): string {
  return ok ? ink.green("✓") : ink.red("✗");
}

/** How often the words stand in the files of the store, freed pages included. */
function tracesIn(folder: string): number {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return 0;
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .reduce((sum, path) => sum + readFileSync(path, "latin1").split(SECRET).length - 1, 0);
}

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
