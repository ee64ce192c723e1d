/**
 * Runs the bundled program and keeps what V8 compiled of it, so that the next start has to read and not to compile.
 * Compiling was a third of the time from the start of `cortex mcp` to its first answer. Node 20 keeps nothing by itself,
 * and later releases do so at the end of a process alone, when V8 has dropped what only the start needed.
 *
 * Promise: what is kept is used for the same bytes of the program, the same V8 and the same flags, and where it
 * is whole; otherwise the program is compiled as if there were nothing. Where nothing can be kept, the program
 * runs without a message.
 *
 * Once the start is over, V8 optimizes functions after fewer calls, see `quickSooner`.
 *
 * What is kept is code that will run, so it lies beside the program: whoever may write there may change the program itself.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** Where a program is, and where what was compiled of it is kept. */
interface KeptProgram {
  /** The folder of its chunks, in the form of CommonJS. */
  readonly folder: string;
  /** The chunk that starts it. */
  readonly main: string;
  readonly keptIn: string;
  /** Starts that run about the same functions share what they keep: V8 compiles a function when it is first called. */
  readonly kind: string;
}

/** A chunk that was compiled here, because nothing good was kept of it. */
interface Compiled {
  readonly script: Script;
  readonly file: string;
  readonly sourceSum: number;
}

/** Checksums of the chunk and of what is kept, before it. */
const HEAD_BYTES = 8;

/** After this time a process that stays has compiled what its start needs, and V8 has not dropped any of it yet. */
const STARTED_MS = 2000;

/** Runs a program. */
export function runKept({ folder, main, keptIn, kind }: KeptProgram): void {
  const outside = createRequire(join(folder, main));
  const compiled: Compiled[] = [];
  const modules = new Map<string, object>();
  const tag = cachedDataVersionTag().toString(16);
  const load = (chunk: string): object => {
    const known = modules.get(chunk);
    if (known !== undefined) return known;
    const exports = {};
    // A chunk exports hundreds of getters. In an object by itself V8 looks each of them up in a table, at every call from one
    // chunk into another; those of a prototype it compiles into the caller.
    const seen: object = Object.create(exports);
    modules.set(chunk, seen);
    const path = join(folder, chunk);
    const run = compile(path, join(keptIn, `${chunk}-${kind}-${tag}`), compiled);
    const require = (id: string): unknown =>
      id.startsWith("./") ? load(id.slice(2)) : outside(id);
    run(exports, require, importOutside, path, folder);
    return seen;
  };
  const keepAll = (): void => keep(keptIn, compiled.splice(0));
  process.once("exit", keepAll);
  setTimeout(() => {
    keepAll();
    quickSooner();
  }, STARTED_MS).unref();
  load(main);
}

/** Whether functions are made quick sooner than V8 would by itself. */
let isSooner = false;

/**
 * From here on V8 optimizes a function after a quarter of the work that it otherwise waits for, beside the thread that
 * answers. An agent makes some dozens of calls, not thousands. During the start it would cost more than it saves: 20 ms, and
 * 80 of the other threads. Later releases of V8 have a compiler for that, and no such flag.
 */
function quickSooner(): void {
  if (!process.versions.v8.startsWith("11.")) return;
  isSooner = true;
  setFlagsFromString(`--interrupt-budget=${SOONER_BUDGET}`);
}

/** Does something with the flags that the start had: what is kept is good for those. */
function asAtStart<T>(run: () => T): T {
  if (!isSooner) return run();
  setFlagsFromString(`--interrupt-budget=${USUAL_BUDGET}`);
  try {
    return run();
  } finally {
    setFlagsFromString(`--interrupt-budget=${SOONER_BUDGET}`);
  }
}

/** Bytes of bytecode that a function runs before V8 looks whether to optimize it: as V8 11 has it, and sooner. */
const USUAL_BUDGET = 67_584;
const SOONER_BUDGET = 15_000;

/** A script made here cannot import: Node would call that an experiment, and say so. */
const importOutside = (id: string): Promise<unknown> => import(id);

/** A chunk as a function of what it takes from outside; `tools/bundle.mjs` writes chunks so. */
type ChunkFunction = (
  exports: object,
  require: (id: string) => unknown,
  importing: typeof importOutside,
  path: string,
  folder: string,
) => void;

function compile(path: string, file: string, compiled: Compiled[]): ChunkFunction {
  const bytes = readFileSync(path);
  const sourceSum = crc32(bytes);
  const cachedData = keptCode(file, sourceSum);
  const source = `(function(exports,require,importOutside,__filename,__dirname){${bytes.toString()}\n})`;
  const options = { filename: path, ...(cachedData === undefined ? {} : { cachedData }) };
  const script = asAtStart(() => new Script(source, options));
  if (script.cachedDataRejected !== false) compiled.push({ script, file, sourceSum });
  return script.runInThisContext() as ChunkFunction;
}

/** What is kept of a chunk; nothing unless all of it is there and it is of these bytes. */
function keptCode(file: string, sourceSum: number): Buffer | undefined {
  let all: Buffer;
  try {
    all = readFileSync(file);
  } catch {
    return undefined;
  }
  if (all.length <= HEAD_BYTES || all.readUInt32LE(0) !== sourceSum) return undefined;
  const code = all.subarray(HEAD_BYTES);
  return crc32(code) === all.readUInt32LE(4) ? code : undefined;
}

/** Keeps what was compiled, whole or not at all; another process may do the same at the same time. */
function keep(folder: string, compiled: readonly Compiled[]): void {
  if (compiled.length === 0) return;
  try {
    mkdirSync(folder, { recursive: true });
    for (const { script, file, sourceSum } of compiled) {
      const code = asAtStart(() => script.createCachedData());
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUInt32LE(sourceSum, 0);
      head.writeUInt32LE(crc32(code), 4);
      put(file, Buffer.concat([head, code]));
    }
  } catch {
    // A folder that is not ours to write, or a full disk: the next start compiles again.
  }
}

/** Puts a file in its place in one step. What cannot be finished is removed: every start would leave one on a full disk. */
function put(file: string, bytes: Buffer): void {
  const unfinished = `${file}.${process.pid}`;
  try {
    writeFileSync(unfinished, bytes);
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}
