/**
 * The page about importing tells people to type commands; this types them, with the built binary, and
 * compares what the page quotes. Every program has its section.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { PROGRAMS } from "../src/import/foreign.js";
import { makePlace } from "./cortex-process.js";

const PAGE = readFileSync(
  fileURLToPath(new URL("../../../docs/importing.md", import.meta.url)),
  "utf8",
);

/** The fenced blocks of one language, in order. */
function blocks(language: string): readonly string[] {
  const found = PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...found].map(([, text = ""]) => text);
}

test("the page has a section for every program, and none for others", () => {
  const sections = [...PAGE.matchAll(/^### `([a-z0-9-]+)`$/gm)].map(([, name]) => name);
  expect(sections).toEqual(Object.keys(PROGRAMS));
});

test("the page is a script that works from top to bottom, and quotes what it prints", () => {
  const place = makePlace();
  try {
    const script = `set -eu\n${blocks("sh").join("\n")}`;
    const { exit, out, err } = place.shell(script, { cwd: join(place.folder, "empty") });
    expect(exit, `${out}\n${err}`).toBe(0);
    const [quoted = ""] = blocks("text");
    expect(out).toContain(quoted);
    expect(out).toContain(quoted.split("\n")[0]?.replace("imported", "would import"));
    expect(out).toContain("Ada: lives in Porto");
    expect(out).toContain("✓ imported 2 memories, 0 unchanged\n  1 link added, 0 unchanged");
    expect(out).toContain("✓ imported 0 memories, 2 unchanged\n  0 links added, 1 unchanged");
    expect(out).toContain("Ada lives in Porto");
    expect(out).toContain("✓ imported 1 memory, 2 unchanged");
    expect(out).toContain("The Hotel Lisboa, near the river.");
  } finally {
    place.remove();
  }
});
