/**
 * The verifier as users install it: what `dist/verify.js` imports, directly or not, and that it runs
 * in a realm that has the language and UTF-8 and nothing else: no module of Node, no Buffer, no
 * process. It sees the built output, so `npm test` builds first.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { closureOf, HASHES, realmProgram } from "./import-closure.js";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const ENTRY = join(PACKAGE, "dist", "verify.js");
const require = createRequire(import.meta.url);

/** Runs in a child process: links the closure by hand in a context with no globals of Node. */
const PROGRAM = `${realmProgram("{ TextEncoder, TextDecoder }")}
const [vectorPath] = rest;
const vector = JSON.parse(readFileSync(vectorPath, "utf8"));
const { verify, verifyCheckpoint } = main.namespace;
console.log(JSON.stringify({
  seen,
  good: verify(vector.proof, vector.trusted),
  bad: verify(vector.proof, vector.trusted.replace("3", "4")),
  checkpoint: verifyCheckpoint(vector.trusted),
}));
`;

describe("the built verifier", () => {
  test("reaches pure files and the hash library, and nothing else", () => {
    const files = closureOf(ENTRY).map((file) => relative(PACKAGE, file));
    const own = files.filter((file) => file.startsWith("dist/")).map((file) => file.slice(5));
    const allowed =
      /^(verify|errors|limits|records\/(types|uri|edge-record|memory-record)|(codec|merkle)\/[a-z0-9-]+|journal\/(entry|checkpoint|proof|proof-path))\.js$/;
    expect(own.filter((file) => !allowed.test(file))).toEqual([]);
    expect(own).not.toContain("codec/node-crypto.js");
    expect(own).toContain("codec/sha256-pure.js");
    const others = files.filter((file) => !file.startsWith("dist/"));
    expect(others.filter((file) => !file.includes("@noble/hashes/"))).toEqual([]);
  });

  test("runs where there is no Node", () => {
    const vector = join(PACKAGE, "test", "vectors", "proofs", "golden-one-of-two.json");
    const hashes = dirname(require.resolve(`${HASHES}sha2.js`));
    const flags = ["--experimental-vm-modules", "--no-warnings", "--input-type=module"];
    const args = [...flags, "--eval", PROGRAM, "--", ENTRY, hashes, vector];
    const printed = execFileSync(process.execPath, args, { encoding: "utf8" });
    const { seen, good, bad, checkpoint } = JSON.parse(printed) as Record<string, unknown>;
    expect(seen).toBe("undefinedundefinedundefined");
    const { shows } = JSON.parse(readFileSync(vector, "utf8")) as { readonly shows: string };
    expect(good).toEqual(JSON.parse(shows));
    expect(bad).toMatchObject({ ok: false, code: "ERR_CHECKPOINT_MALFORMED" });
    expect(checkpoint).toMatchObject({ ok: true, anchored: false });
  });
});
