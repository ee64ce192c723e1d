/**
 * What is kept of the compiled program: it is used for the same bytes and nothing else, and a program runs the same
 * whether something is kept of it, something damaged, or nothing can be.
 */
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const keptCode = fileURLToPath(new URL("../dist/bundle/kept-code.cjs", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cortex-kept-"));
  mkdirSync(join(folder, "program"));
  writeChunks("one");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A program of two chunks that say a word and the name of a file, one of them loaded later. */
function writeChunks(word: string): void {
  writeFileSync(
    join(folder, "program", "main.cjs"),
    `Promise.resolve().then(()=>require("./later.cjs")).then(l=>l.say("${word}",__filename));`,
  );
  writeFileSync(
    join(folder, "program", "later.cjs"),
    "exports.say=async(w,f)=>{const{sep}=await importOutside('node:path');process.stdout.write(w+f.split(sep).at(-1))};",
  );
}

/** Runs the program; what it says on both streams. */
function run(keptIn = join(folder, "kept"), kind = "command"): string {
  const asked = { folder: join(folder, "program"), main: "main.cjs", keptIn, kind };
  const program = `require(${JSON.stringify(keptCode)}).runKept(${JSON.stringify(asked)})`;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  return stdout + stderr;
}

const keptFiles = (): readonly string[] =>
  readdirSync(join(folder, "kept")).map((name) => join(folder, "kept", name));

const inodes = (): readonly number[] => keptFiles().map((file) => statSync(file).ino);

test("a second start uses what the first one kept, and writes nothing", () => {
  expect(run()).toBe("onemain.cjs");
  expect(keptFiles()).toHaveLength(2);
  const before = inodes();
  expect(run()).toBe("onemain.cjs");
  expect(inodes()).toEqual(before);
});

test("what is loaded when the start is over is as good for a later start, and the other way round", () => {
  writeFileSync(
    join(folder, "program", "main.cjs"),
    "setTimeout(()=>require('./later.cjs').say('late',__filename),Number(process.env.LOADED_MS));",
  );
  try {
    process.env.LOADED_MS = "2300";
    expect(run()).toBe("latemain.cjs");
    expect(keptFiles()).toHaveLength(2);
    const before = inodes();
    process.env.LOADED_MS = "0";
    expect(run()).toBe("latemain.cjs");
    expect(inodes()).toEqual(before);
    process.env.LOADED_MS = "2300";
    expect(run()).toBe("latemain.cjs");
    expect(inodes()).toEqual(before);
  } finally {
    delete process.env.LOADED_MS;
  }
}, 30_000);

test("another kind of start keeps its own", () => {
  run();
  expect(run(undefined, "mcp")).toBe("onemain.cjs");
  expect(keptFiles()).toHaveLength(4);
});

test("a program of other bytes is compiled anew, though it is as long", () => {
  run();
  const before = inodes();
  writeChunks("two");
  expect(run()).toBe("twomain.cjs");
  expect(keptFiles()).toHaveLength(2);
  expect(inodes()).not.toEqual(before);
  expect(run()).toBe("twomain.cjs");
});

test("what is damaged is left alone and replaced", () => {
  run();
  const damages: readonly ((bytes: Buffer) => Buffer)[] = [
    (bytes) => bytes.subarray(0, 5),
    (bytes) => bytes.subarray(0, bytes.length - 1),
    () => Buffer.alloc(0),
    (bytes) => {
      const other = Buffer.from(bytes);
      const at = other.length - 9;
      other.writeUInt8(other.readUInt8(at) ^ 1, at);
      return other;
    },
  ];
  for (const damage of damages) {
    const good = keptFiles().map((file) => readFileSync(file).length);
    for (const file of keptFiles()) writeFileSync(file, damage(readFileSync(file)));
    expect(run()).toBe("onemain.cjs");
    expect(keptFiles().map((file) => readFileSync(file).length)).toEqual(good);
  }
});

test("where nothing can be kept, nothing is said", () => {
  writeFileSync(join(folder, "file"), "");
  expect(run(join(folder, "file", "kept"))).toBe("onemain.cjs");
});

test("what cannot be put in its place leaves nothing behind", () => {
  run();
  const before = keptFiles();
  for (const file of before) {
    rmSync(file);
    mkdirSync(file);
    writeFileSync(join(file, "something"), "");
  }
  expect(run()).toBe("onemain.cjs");
  expect(keptFiles()).toEqual(before);
});
