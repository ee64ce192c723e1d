/**
 * What a killed process may leave, by the kind of work it did: how the store of a round is prepared, and what
 * must hold when it is opened afterwards. Each judge throws with what is wrong.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { follow, open, openHub, promote, repair } from "@cortex-memory/core";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {{ name: string, there?: string[], gone?: string[], session?: string, turns?: string[] }} Tried
 * @typedef {{ tried: Tried[], acknowledged: ReadonlySet<string>, moved: number }} Said
 * @typedef {{ source?: string, root?: string }} Made what a task has beside its store
 * @typedef {object} Work
 * @property {(folder: string) => Promise<Made>} prepare once, before all rounds
 * @property {(folder: string, round: number) => Promise<string>} place where the store of a round is
 * @property {(folder: string, said: Said, made: Made) => Promise<void>} judge
 */

/** Entries of a store that is imported, followed, removed, promoted or repaired. */
const ENTRIES = 400;
const ADA = { actor: "ada" };
const SECRET = "Zenobia Quillfeather";

const nothing = async () => ({});
/** Rounds that go on with the same store: checking one takes longer the more it holds. */
const ROUNDS_OF_STORE = 100;
/** The store of the round before, but for a new one now and then. @type {Work["place"]} */
const same = async (folder, round) => join(folder, `store-${Math.floor(round / ROUNDS_OF_STORE)}`);
/** A copy of the prepared store for every round. @type {Work["place"]} */
const copied = async (folder, round) => {
  const place = join(folder, `round-${round}`);
  cpSync(join(folder, "prepared"), place, { recursive: true });
  return place;
};
/** An empty place for every round. @type {Work["place"]} */
const empty = async (folder, round) => join(folder, `round-${round}`);

/** @type {Record<string, Work>} */
export const WORKS = {
  single: { prepare: nothing, place: same, judge: judgeWrites },
  grouped: { prepare: nothing, place: same, judge: judgeWrites },
  batch: { prepare: nothing, place: same, judge: judgeWrites },
  remember: { prepare: nothing, place: same, judge: judgeWrites },
  forget: { prepare: nothing, place: same, judge: judgeWrites },
  vacuum: { prepare: nothing, place: same, judge: judgeWrites },
  rebuild: { prepare: nothing, place: same, judge: judgeWrites },
  import: { prepare: makeExport, place: empty, judge: judgeImport },
  remove: { prepare: makeHub, place: copied, judge: judgeRemoval },
  // Every third round begins with nothing, the two after it go on from there.
  follow: {
    prepare: makeSource,
    place: async (folder, round) => join(folder, `replica-${Math.floor(round / 3)}`),
    judge: judgeReplica,
  },
  promote: { prepare: makeReplica, place: copied, judge: judgePromoted },
  repair: { prepare: makeDamaged, place: copied, judge: judgeRepaired },
};

/** @param {string} folder */
async function fill(folder, text = "the text of") {
  const memory = await open(folder, ADA);
  const items = Array.from({ length: ENTRIES }, (_, n) => ({
    write: { type: /** @type {const} */ ("note"), externalId: `n${n}`, text: `${text} ${n}` },
  }));
  await memory.batch(items);
  return memory;
}

/** @param {string} folder @returns {Promise<Made>} */
async function makeExport(folder) {
  const memory = await fill(join(folder, "origin"));
  const source = join(folder, "source.cortex");
  await memory.exportJournal(source);
  await memory.close();
  return { source };
}

/** @param {string} folder @returns {Promise<Made>} */
async function makeSource(folder) {
  const source = join(folder, "source");
  await (await fill(source)).close();
  return { source };
}

/** @param {string} folder @returns {Promise<Made>} */
async function makeReplica(folder) {
  const memory = await fill(join(folder, "source"));
  const { root } = await memory.root();
  for await (const _ of follow(join(folder, "prepared"), memory, { ...ADA, once: true }));
  await memory.close();
  return { root };
}

/** @param {string} folder @returns {Promise<Made>} */
async function makeHub(folder) {
  const hub = await openHub(join(folder, "prepared"));
  for (const id of ["kept", "gone"]) {
    await hub.createGraph({ id, name: id === "gone" ? SECRET : "Kept" });
    const texts = Array.from({ length: 40 }, (_, n) => `${id === "gone" ? SECRET : "note"} ${n}`);
    await hub.use(id, (memory) =>
      memory.batch(texts.map((text) => ({ write: { type: "note", text } }))),
    );
  }
  await hub.listGraphs();
  await hub.close();
  return {};
}

/** @param {string} folder @returns {Promise<Made>} */
async function makeDamaged(folder) {
  const memory = await fill(join(folder, "prepared"), "damaged text");
  const source = join(folder, "full.cortex");
  await memory.backup(source);
  const { root } = await memory.root();
  await memory.close();
  const path = join(folder, "prepared", "ada", "g000001.mdb");
  const bytes = readFileSync(path);
  // Every place at which the text stands: some of them are in free pages.
  for (let at = bytes.indexOf("damaged text 7"); at >= 0; at = bytes.indexOf("damaged text 7", at))
    bytes.write("x", at);
  writeFileSync(path, bytes);
  return { source, root };
}

/** @param {string} folder @param {Said} said */
async function judgeWrites(folder, { tried, acknowledged }) {
  mkdirSync(folder, { recursive: true });
  const memory = await open(folder, ADA);
  try {
    await expectSound(memory);
    for (const one of tried) {
      const done = await isDone(memory, one);
      if (done === "half") throw new Error(`${one.name} is there in part`);
      if (!done && acknowledged.has(one.name))
        throw new Error(`${one.name} was acknowledged and is lost`);
    }
    await memory.vacuum();
  } finally {
    await memory.close();
  }
  const files = readdirSync(join(folder, "ada")).filter((name) => /\.mdb$/.test(name));
  if (files.length !== 1) throw new Error(`files are left over: ${files.join(", ")}`);
}

/** @param {Cortex} memory @param {number} [expected] */
async function expectSound(memory, expected) {
  const { ok, problems, entries } = await memory.check();
  if (!ok) throw new Error(`check: ${JSON.stringify(problems)}`);
  if (expected !== undefined && entries !== expected)
    throw new Error(`${entries} entries, expected ${expected}`);
}

/** @param {Cortex} memory @param {Tried} tried @returns {Promise<boolean | "half">} */
async function isDone(memory, { there = [], gone = [], session, turns = [] }) {
  let done = 0;
  for (const name of there) {
    const found = await memory.get(name);
    if (found !== undefined && found.text !== `text of ${name}`)
      throw new Error(`${name}: ${found.text}`);
    if (found !== undefined) done += 1;
  }
  for (const name of gone) if ((await memory.history(name)) === undefined) done += 1;
  if (session !== undefined) {
    const kept = new Set((await memory.session(session)).turns.map(({ content }) => content));
    done += turns.filter((content) => kept.has(content)).length;
  }
  const whole = there.length + gone.length + turns.length;
  return done === whole ? true : done === 0 ? false : "half";
}

/** The store of a place, if there is one. @param {string} folder @param {boolean} isAcknowledged */
async function openedAt(folder, isAcknowledged) {
  if (!existsSync(join(folder, "ada"))) {
    if (isAcknowledged) throw new Error("what was acknowledged is lost");
    return undefined;
  }
  return open(folder, { ...ADA, create: false }).catch((error) => {
    if (!isAcknowledged && error?.code === "ERR_FORMAT_UNKNOWN") return undefined;
    throw error;
  });
}

/** @param {string} folder @param {Said} said */
async function judgeImport(folder, { acknowledged }) {
  const memory = await openedAt(folder, acknowledged.size > 0);
  if (memory === undefined) return;
  await expectSound(memory, ENTRIES + 1).finally(() => memory.close());
}

/** @param {string} folder @param {Said} said */
async function judgeRemoval(folder, { acknowledged }) {
  const hub = await openHub(folder);
  try {
    const names = (await hub.listGraphs()).graphs.map(({ id }) => id).sort();
    const isThere = names.includes("gone");
    if (!names.includes("kept") || names.length !== (isThere ? 2 : 1))
      throw new Error(`graphs: ${names.join(", ")}`);
    if (isThere && acknowledged.size > 0) throw new Error("a removal was acknowledged and undone");
    const { ok, problems } = await hub.check({ graphs: true });
    if (!ok) throw new Error(`hub: ${JSON.stringify(problems)}`);
    for (const name of names) await hub.use(name, (memory) => expectSound(memory));
    if (!isThere) expectForgotten(folder);
  } finally {
    await hub.close();
  }
}

/** No byte of the removed graph is in any file. @param {string} folder */
function expectForgotten(folder) {
  const options = /** @type {const} */ ({ recursive: true, withFileTypes: true });
  for (const entry of readdirSync(folder, options)) {
    if (entry.name.includes("gone")) throw new Error(`${entry.name} is left over`);
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && readFileSync(path).includes(SECRET)) throw new Error(`${path} tells`);
  }
}

/** @param {string} folder @param {Said} said @param {Made} made */
async function judgeReplica(folder, { tried, acknowledged }, { source = "" }) {
  const origin = await open(source, ADA);
  try {
    await expectSound(origin);
    const [last] = tried.slice(-1);
    const replica = await openedAt(folder, acknowledged.size > 0);
    if (replica !== undefined) {
      try {
        await expectSound(replica);
        await expectRefused(replica);
        if (last !== undefined && acknowledged.has(last.name))
          for (const name of last.there ?? [])
            if ((await replica.get(name)) === undefined)
              throw new Error(`${name} was not followed`);
      } finally {
        await replica.close();
      }
    }
    // Whatever it was killed in, it goes on and becomes level.
    let level = "";
    for await (const event of follow(folder, origin, { ...ADA, once: true }))
      if (event.state === "level") level = event.root;
    if (level !== (await origin.root()).root) throw new Error("the replica does not become level");
  } finally {
    await origin.close();
  }
}

/** @param {Cortex} memory */
async function expectRefused(memory) {
  const code = await memory.write({ type: "note", text: "of its own" }).then(
    () => "written",
    (error) => error?.code,
  );
  if (code !== "ERR_READ_ONLY") throw new Error(`a replica took a write: ${code}`);
}

/** @param {string} folder @param {Said} said @param {Made} made */
async function judgePromoted(folder, { acknowledged }, { root }) {
  const memory = await open(folder, { ...ADA, create: false });
  const isReplica = (await memory.stats()).replica !== undefined;
  try {
    if (isReplica && acknowledged.size > 0) throw new Error("it was promoted and is a replica");
    await expectSound(memory, ENTRIES + 1);
    if ((await memory.root()).root !== root) throw new Error("promoting changed the root");
    if (isReplica) await expectRefused(memory);
    else await memory.write({ type: "note", text: "of its own" });
  } finally {
    await memory.close();
  }
  if (isReplica) await promote(folder, ADA);
}

/** @param {string} folder @param {Said} said @param {Made} made */
async function judgeRepaired(folder, { acknowledged }, { source = "", root }) {
  const memory = await open(folder, ADA);
  const { ok, entries } = await memory.check().finally(() => memory.close());
  if (!ok && acknowledged.size > 0) throw new Error("it was repaired and is damaged");
  if (ok && entries !== ENTRIES + 1) throw new Error(`a new store of ${entries} entries`);
  const report = await repair(folder, { ...ADA, from: [source] });
  if (report.needed === ok || !report.ok) throw new Error(`repair: ${JSON.stringify(report)}`);
  const mended = await open(folder, { ...ADA, create: false });
  try {
    await expectSound(mended, ENTRIES + 1);
    if ((await mended.root()).root !== root) throw new Error("the repaired store has another root");
  } finally {
    await mended.close();
  }
  const left = readdirSync(folder).filter((name) => name.startsWith(".repair"));
  // A repair that had nothing to do takes nothing away.
  if (report.needed && left.length > 0) throw new Error(`left over: ${left.join(", ")}`);
}
