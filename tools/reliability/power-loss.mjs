/**
 * `npm run power-loss`: what a power cut leaves, which no kill can show. A run is recorded call by call;
 * then, for a cut after every call, the disk is put together as it may be: what was synced is there, and
 * of what was not, nothing, everything, or any sectors of 512 bytes in any order; names of files likewise,
 * unless their folder was synced. Each disk is opened and checked by `verify-store.mjs`: nothing that was
 * acknowledged before the cut may be missing.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { seededRandom } from "../../packages/core/dist/testing/seeded-random.js";
import { fail, newSeed, progress, readFlags } from "./arguments.mjs";
import { canTrace, moved, recordRun, toldBy, Verifier } from "./system-calls.mjs";

const SECTOR = 512;

/** A disk: what is on it for sure, and what the system still has in memory. */
class Disk {
  /** Files by their number: bytes on the disk, and changes that are not. */
  #files = new Map();
  /** Names on the disk, and changes of names that are not. */
  #names = new Map();
  #pendingNames = [];
  /** Names as processes see them. */
  #seen = new Map();

  apply(event) {
    const { kind, path } = event;
    const file = this.#files.get(this.#seen.get(path));
    switch (kind) {
      case "create":
        if (file === undefined) this.#name(path, this.#newFile());
        break;
      case "folder":
        this.#name(path, "folder");
        break;
      case "rename":
        this.#rename(path, event.to);
        break;
      case "link":
        this.#name(event.to, this.#seen.get(path));
        break;
      case "remove":
        this.#name(path, undefined);
        break;
      case "write":
      case "truncate":
        if (file === undefined) throw new Error(`${kind} of an unknown file ${path}`);
        if (event.isSynced) change(file, event);
        else file.pending.push(event);
        break;
      case "sync":
        if (file !== undefined) {
          for (const one of file.pending.splice(0)) change(file, one);
        } else {
          const inFolder = (one) => dirname(one.path) === path;
          for (const one of this.#pendingNames.filter(inFolder)) setName(this.#names, one);
          this.#pendingNames = this.#pendingNames.filter((one) => !inFolder(one));
        }
        break;
    }
  }

  #newFile() {
    const number = this.#files.size;
    this.#files.set(number, { bytes: Buffer.alloc(0), pending: [] });
    return number;
  }

  #name(path, target) {
    const one = { path, target };
    setName(this.#seen, one);
    this.#pendingNames.push(one);
  }

  #rename(from, to) {
    // One change of two names: both or none.
    const one = { path: to, target: this.#seen.get(from), from };
    setName(this.#seen, one);
    this.#pendingNames.push(one);
  }

  /** Writes the disk, as the cut leaves it, below a folder; `underway` is a write that had just begun. */
  leave({ mode, random, from, to, underway }) {
    const keptNames =
      mode === "nothing"
        ? 0
        : mode === "everything"
          ? this.#pendingNames.length
          : random.below(this.#pendingNames.length + 1);
    const names = new Map(this.#names);
    for (const one of this.#pendingNames.slice(0, keptNames)) setName(names, one);
    // A name is there if the folder it stands in is.
    const folders = new Set([from]);
    for (const path of [...names.keys()].sort()) {
      const target = names.get(path);
      if (!folders.has(dirname(path))) continue;
      const place = moved(path, from, to);
      if (target === "folder") {
        folders.add(path);
        mkdirSync(place);
      } else {
        const { bytes, pending } = this.#files.get(target);
        const isIts = underway !== undefined && this.#seen.get(underway.path) === target;
        const all = isIts ? [...pending, underway] : pending;
        writeFileSync(place, contentOf({ bytes, pending: all }, mode, random));
      }
    }
  }
}

function setName(names, { path, target, from }) {
  if (from !== undefined) names.delete(from);
  if (target === undefined) names.delete(path);
  else names.set(path, target);
}

function change(file, { kind, offset, data, length }) {
  const size = kind === "truncate" ? length : Math.max(file.bytes.length, offset + data.length);
  const bytes = Buffer.alloc(size);
  file.bytes.copy(bytes, 0, 0, Math.min(size, file.bytes.length));
  if (kind === "write") data.copy(bytes, offset);
  file.bytes = bytes;
}

/** What a file holds after the cut. */
function contentOf({ bytes, pending }, mode, random) {
  const file = { bytes };
  if (mode === "nothing") return bytes;
  const order = mode === "everything" ? pending : random.shuffled(pending);
  for (const one of order) {
    if (mode === "everything" || one.kind === "truncate") {
      if (mode === "everything" || random.chance(50)) change(file, one);
      continue;
    }
    for (let at = 0; at < one.data.length; ) {
      // To the end of the sector that the byte is in.
      const end = Math.min(one.data.length, at + SECTOR - ((one.offset + at) % SECTOR));
      if (random.chance(50))
        change(file, { kind: "write", offset: one.offset + at, data: one.data.subarray(at, end) });
      at = end;
    }
  }
  return file.bytes;
}

const MODES = ["nothing", "everything", "sectors", "sectors"];

/**
 * Records a run and cuts the power after each of its calls, or after `cuts` of them.
 * @returns {Promise<{ calls: number, disks: number, failures: string[] }>}
 */
async function cutPower({ seed, cuts, onDisk = () => {} }) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "cortex-power-")));
  const verifier = new Verifier();
  try {
    const source = join(folder, "run");
    mkdirSync(source);
    const { events } = await recordRun(source, join(folder, "trace"));
    assertComplete(events, source);
    const random = seededRandom(seed);
    const all = events.map((_, at) => at);
    const chosen = new Set(cuts === undefined ? all : random.shuffled(all).slice(0, cuts));
    const disk = new Disk();
    const said = [];
    const failures = [];
    let disks = 0;
    for (const [at, event] of events.entries()) {
      if (chosen.has(at)) {
        // During the call: what it writes is not on the disk yet, even if it waits for that.
        const underway = event.kind === "write" ? event : undefined;
        const modes = cuts === undefined ? MODES : [random.pick(MODES)];
        for (const mode of modes) {
          disks += 1;
          onDisk(at, events.length);
          const problems = await judgeCut({
            disk,
            underway,
            mode,
            random,
            source,
            folder,
            said,
            verifier,
          });
          if (problems.length > 0)
            failures.push(
              `seed ${seed}, cut at call ${at} (${event.kind} ${event.path ?? event.line}), ${mode} kept: ${problems.join("; ")}`,
            );
        }
      }
      if (event.kind === "said") said.push(event.line);
      else disk.apply(event);
    }
    return { calls: events.length, disks, failures };
  } finally {
    await verifier.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function judgeCut({ disk, underway, mode, random, source, folder, said, verifier }) {
  const left = join(folder, "left");
  mkdirSync(left);
  disk.leave({ mode, random, from: source, to: left, underway });
  const problems = await verifier.problemsOf(left, toldBy(said));
  rmSync(left, { recursive: true, force: true });
  return problems;
}

/** Fails unless the recorded calls alone give the files that the run left: then nothing was overlooked. */
function assertComplete(events, source) {
  const disk = new Disk();
  for (const event of events) if (event.kind !== "said") disk.apply(event);
  const copy = mkdtempSync(join(tmpdir(), "cortex-power-"));
  try {
    disk.leave({ mode: "everything", random: undefined, from: source, to: copy });
    for (const name of filesIn(source)) {
      if (name.endsWith("-lock")) continue;
      if (!readFileSync(join(source, name)).equals(readFileSync(join(copy, name)))) {
        throw new Error(`${name} has bytes that no recorded call wrote`);
      }
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** The files below a folder, by their paths in it. */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1));
}

async function main() {
  const flags = readFlags(
    "Cuts the power at every system call of a recorded run, and opens what is left.",
    [
      {
        name: "seed",
        kind: "number",
        standard: "",
        help: "which sectors are lost; a new one when not given",
      },
      {
        name: "cuts",
        kind: "number",
        standard: "",
        help: "cut at so many calls only; at all of them when not given",
      },
    ],
  );
  if (!canTrace()) fail("strace is missing or may not trace; it records what a run writes");
  const seed = flags.seed === "" ? newSeed() : Number(flags.seed);
  const tell = progress();
  const { calls, disks, failures } = await cutPower({
    seed,
    ...(flags.cuts === "" ? {} : { cuts: Number(flags.cuts) }),
    onDisk: (at, all) => tell(`call ${at} of ${all}`),
  });
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  process.stdout.write(
    `seed ${seed}: ${calls} calls, ${disks} disks opened, ${failures.length} not sound\n`,
  );
  process.exitCode = failures.length === 0 ? 0 : 1;
}

await main();
