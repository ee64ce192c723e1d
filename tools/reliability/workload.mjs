/**
 * A process that does a little of everything that reaches the disk: writes of every kind, a second
 * graph of the hub, vectors, a backup, an export, rebuild and vacuum. Started as `workload.mjs FOLDER`, it
 * prints `start NAME` before each piece and `ack NAME` once its promise has resolved. What fails is said
 * as `fail NAME CODE` and the next piece goes on; a store that does not open any more ends it.
 *
 * What each piece must leave behind is known to `verify-store.mjs`, which imports `PIECES` from here.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hashEmbedder, openHub } from "../../packages/core/dist/index.js";

const ACTOR = "ada";
const LONG = "word ".repeat(1500);

const note = (name, text = `text of ${name}`) => ({ type: "note", externalId: name, text });

/** Whether a note has said what it should. */
const says = async (memory, name, text = `text of ${name}`) =>
  ((await memory.history(name)) ?? []).some((version) => version.text === text);

/**
 * Every piece: what it does, and whether a store shows all of it (`true`), nothing (`false`), or a part,
 * which is a fault (`undefined`). Pieces without `isThere` change nothing that can be read.
 */
export const PIECES = [
  ...["one", "two", "three"].map((name) => ({
    name,
    run: ({ memory }) => memory.write(note(name)),
    isThere: ({ memory }) => says(memory, name),
    // One of them is forgotten later on.
    until: name === "three" ? "forget" : undefined,
  })),
  {
    name: "batch",
    run: ({ memory }) =>
      memory.batch([
        { write: note("b1"), ref: "x" },
        { write: note("b2"), ref: "y" },
        { link: { from: { ref: "x" }, kind: "supports", to: { ref: "y" } } },
      ]),
    isThere: async ({ memory }) => {
      const found = [
        await says(memory, "b1"),
        await says(memory, "b2"),
        (await memory.getEdge("b1", "supports", "b2").catch(() => undefined)) !== undefined,
      ];
      return found.every((one) => one === found[0]) ? found[0] : undefined;
    },
  },
  {
    name: "update",
    run: ({ memory }) => memory.update("one", { text: "one, changed" }),
    isThere: ({ memory }) => says(memory, "one", "one, changed"),
  },
  {
    name: "long",
    run: ({ memory }) => memory.write(note("long", LONG)),
    isThere: ({ memory }) => says(memory, "long", LONG),
  },
  {
    name: "turns",
    run: ({ memory }) =>
      memory.remember(
        [
          { role: "user", content: "first" },
          { role: "assistant", content: "second" },
        ],
        { session: "s" },
      ),
    isThere: async ({ memory }) => {
      const { length } = (await memory.session("s")).turns;
      return length === 0 ? false : length === 2 ? true : undefined;
    },
  },
  {
    name: "group",
    run: ({ memory }) =>
      Promise.all(["g1", "g2", "g3", "g4"].map((name) => memory.write(note(name)))),
    isThere: async ({ memory }) => {
      // Written at once, each on its own: all of them when all were acknowledged.
      for (const name of ["g1", "g2", "g3", "g4"]) if (!(await says(memory, name))) return false;
      return true;
    },
  },
  {
    name: "second graph",
    run: async ({ hub }) => {
      await hub.createGraph({ id: "bob", name: "Bob" });
      await hub.use("bob", (memory) => memory.write(note("bobs")));
    },
    isThere: async ({ hub }) =>
      (await hub.useIfThere("bob", async (memory) => says(memory, "bobs"))) === true,
  },
  { name: "vectors", run: ({ memory }) => memory.embedPending() },
  {
    name: "snapshot",
    run: ({ memory }) => memory.snapshot("sealed"),
    isThere: async ({ memory }) => (await memory.snapshots()).length > 0,
  },
  {
    name: "backup",
    run: ({ memory, folder }) => memory.backup(join(folder, "out.backup")),
    file: "out.backup",
  },
  {
    name: "export",
    run: ({ memory, folder }) => memory.exportJournal(join(folder, "out.export")),
    file: "out.export",
  },
  {
    name: "forget",
    run: ({ memory }) => memory.forget("three", "asked to"),
    isThere: async ({ memory }) => !(await says(memory, "three")),
  },
  { name: "rebuild", run: ({ memory }) => memory.rebuild() },
  {
    name: "after rebuild",
    run: ({ memory }) => memory.write(note("after-rebuild")),
    isThere: ({ memory }) => says(memory, "after-rebuild"),
  },
  { name: "vacuum", run: ({ memory }) => memory.vacuum() },
  {
    name: "after vacuum",
    run: ({ memory }) => memory.write(note("after-vacuum")),
    isThere: ({ memory }) => says(memory, "after-vacuum"),
  },
];

/** Opens the hub of the workload. */
export function openWorkload(folder) {
  return openHub(join(folder, "store"), { embedder: hashEmbedder({ dimensions: 16 }) });
}

/** Whose graph most of it happens in. */
export const WORKLOAD_ACTOR = ACTOR;

async function main(folder) {
  const say = (line) => writeSync(1, `${line}\n`);
  const hub = await openWorkload(folder);
  await hub.use(
    ACTOR,
    async (memory) => {
      for (const { name, run } of PIECES) {
        say(`start ${name}`);
        try {
          await run({ hub, memory, folder });
          say(`ack ${name}`);
        } catch (error) {
          say(`fail ${name} ${error.code ?? error.message}`);
        }
      }
    },
    { create: true },
  );
  await hub.close();
  say("end");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2] ?? "");
