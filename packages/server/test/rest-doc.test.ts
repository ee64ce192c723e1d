/**
 * The page about REST tells people to type calls; this types them, against the built server, and looks
 * at what they got.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ERROR_CODES } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacksTools } from "../../core/src/testing/lacking.js";
import { REFUSALS } from "../src/http/respond.js";
import { makePlace, type Place } from "./cortex-process.js";
import { ALONE } from "./http-server.js";
import { type ServeProcess, startServe } from "./serve-process.js";

const PAGE = readFileSync(fileURLToPath(new URL("../../../docs/rest.md", import.meta.url)), "utf8");
const NO_CURL = lacksTools("curl");

/** The fenced blocks of one language, in order. */
function blocks(language: string): readonly string[] {
  const found = PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...found].map(([, text = ""]) => text);
}

describe("the page about REST", () => {
  let place: Place;
  let server: ServeProcess;
  let cwd: string;
  beforeAll(async () => {
    place = makePlace();
    server = await startServe(place.data);
    cwd = join(place.folder, "work");
    mkdirSync(cwd);
  });
  afterAll(async () => {
    await server.stop();
    place.remove();
  });

  test.skipIf(NO_CURL)("is a script that works from top to bottom", async () => {
    const script = `set -eu\n${blocks("sh").join("\necho; echo ---\n")}`;
    const { exit, out, err } = place.shell(script, { cwd, env: { CORTEX_URL: server.url } });
    expect(exit, `${out}\n${err}`).toBe(0);
    const parts = out.split("\n---\n").map((part) => part.trim());
    expect(parts[0]).toBe("ok");
    const home = await read("/v1/get?id=home");
    expect(home).toMatchObject({ text: "Ada lives in Porto, near the river", version: 2 });
    const conflict = JSON.parse(readFileSync(join(cwd, "problem.json"), "utf8")) as unknown;
    expect(conflict).toMatchObject({ status: 412, code: "ERR_CONFLICT" });
    expect(out).toMatch(/412$/m);
    const trains = (await read("/v1/list?type=event")) as { readonly memories: readonly unknown[] };
    expect(trains.memories).toHaveLength(1);
    expect(out.match(/^event: entry$/gm)).toHaveLength(2);
    expect(existsSync(join(cwd, "copy", "default"))).toBe(true);
    const nodes = parts.find((part) => part.includes('"next_offset":1'));
    expect(nodes).toContain("Ada goes to Lisbon");
  });

  test("quotes a problem as it is", async () => {
    const quoted = JSON.parse(blocks("json")[0] ?? "") as Record<string, unknown>;
    const got = (await read("/v1/get?id=nobody")) as Record<string, unknown>;
    expect({ ...got, requestId: quoted.requestId }).toEqual(quoted);
    expect(quoted.title).toBe(ERROR_CODES.ERR_NOT_FOUND);
  });

  test("lists every status with which the server itself refuses", () => {
    const table = PAGE.slice(PAGE.indexOf("| status |"));
    const listed = [...table.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, text = ""]) =>
      text.split(", ").map(Number),
    );
    const refusals = Object.values(REFUSALS).map(({ status }) => status);
    expect([...listed].sort()).toEqual([...new Set(refusals)].sort());
  });

  async function read(path: string): Promise<unknown> {
    return (await fetch(server.url + path, { headers: ALONE })).json();
  }
});
