/**
 * The page for operators tells them to type commands; this types them, with the built binary, and
 * looks at what they leave behind. What the page quotes is what the command says.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../src/cli/program.js";
import { OPERATIONS } from "../src/operations.js";
import { makePlace, type Place } from "./cortex-process.js";

const PAGE = readFileSync(
  fileURLToPath(new URL("../../../docs/operating.md", import.meta.url)),
  "utf8",
);

/** The fenced blocks of one language, in order. */
function blocks(language: string, page = PAGE): readonly string[] {
  const found = page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...found].map(([, text = ""]) => text);
}

/** The sections that have something to type: their titles, and all of it. */
const SECTIONS = PAGE.split(/^## /m).flatMap((section): (readonly [string, string])[] => {
  const typed = blocks("sh", section);
  return typed.length === 0 ? [] : [[section.split("\n")[0] ?? "", typed.join("\n")]];
});

describe("the page for operators", () => {
  let place: Place;
  let cwd: string;
  beforeAll(() => {
    place = makePlace();
    cwd = join(place.folder, "empty");
  });
  afterAll(() => place.remove());

  test("names only commands that there are", () => {
    const known = new Set([...commandsOf(OPERATIONS).keys(), "bench", "demo", "mcp", "serve"]);
    const named = [...PAGE.matchAll(/\bcortex ([a-z]+(?:-[a-z]+)*)(?= |`|$)/gm)].map(
      ([, word]) => word,
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((word) => !known.has(word ?? ""))).toEqual([]);
  });

  let said = "";

  // One script from top to bottom, a section at a time; what they share is the folder and its store.
  test.each(SECTIONS)("is a script that works: %s", (_, script) => {
    const env = { CORTEX_DATA: join(cwd, "memory") };
    const { exit, out, err } = place.shell(`set -eu\n${script}`, { cwd, env });
    expect(exit, `${out}\n${err}`).toBe(0);
    expect(err).not.toContain("WARNING");
    said += out;
  });

  test("prints what it promises", () => {
    expect(said.match(/✓ \d+ entries checked, all in order/g)).toHaveLength(2);
    expect(said).toContain("restored 4 entries");
    expect(said).toContain("✓ nothing to do");
  });

  test("leaves the stores and files that it says, private and without what was forgotten", async () => {
    const data = (name: string): readonly string[] => ["--data", join(cwd, name), "--json"];
    for (const file of ["backups/full.cortex", "backups/tuesday.cortex", "erasures.json"]) {
      expect(statSync(join(cwd, file)).mode & 0o777, file).toBe(0o600);
    }
    const roots = await Promise.all(
      ["memory", "copy"].map(async (name) => (await place.bare(["root", ...data(name)])).out),
    );
    expect(roots[1]).toBe(roots[0]);
    expect((await place.bare(["get", "health", ...data("memory")])).exit).toBe(1);
    expect((await place.bare(["get", "health", ...data("restored")])).exit).toBe(0);
    const { bytes } = await place.bare(["export", "-", ...data("memory")]);
    expect(Buffer.from(bytes ?? "").includes("penicillin")).toBe(false);
    const stats = JSON.parse((await place.bare(["stats", ...data("restored")])).out) as unknown;
    expect(stats).toMatchObject({ epoch: 1, entries: 4 });
  });

  test("quotes the warning as it is, and keeps its promise about lists", async () => {
    const again = join(cwd, "warned");
    const full = join(cwd, "backups/full.cortex");
    const { err } = await place.bare(["restore", full, "--data", again]);
    const [quoted = ""] = blocks("text");
    expect(err.replace(/\s+/g, " ")).toContain(quoted.replace(/\s+/g, " ").trim());
    const list = ["--erasures", join(cwd, "erasures.json")];
    const forgotten = join(cwd, "forgotten");
    const { exit } = await place.bare(["restore", full, ...list, "--data", forgotten]);
    expect(exit).toBe(0);
    expect((await place.bare(["get", "health", "--data", forgotten])).exit).toBe(1);
    expect((await place.bare(["get", "health", "--data", again])).exit).toBe(0);
    expect(existsSync(join(cwd, "memory", "default"))).toBe(true);
  });
});
