/**
 * Files of JSON lines and documents from the command line: what becomes of each record, that a second
 * run adds nothing, what is reported, and where a bad record stops it.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { makeLines } from "./foreign-files.js";

let place: Place;
let file: string;
beforeEach(() => {
  place = makePlace();
  file = join(place.folder, "foreign.file");
});
afterEach(() => place.remove());

/** Runs an import that passes bad records over: the exit code says so, and a file names them. */
async function leftOut(from: string): Promise<Record<string, unknown>> {
  const words = ["import", file, "--from", from, "--skip-bad", "--json"];
  const { exit, out } = await place.cortex(words);
  const answer = JSON.parse(out) as { errors: { count: number }; report: string };
  const lines = readFileSync(answer.report, "utf8").trimEnd().split("\n");
  const bad = lines.filter((line) => (JSON.parse(line) as { what: string }).what === "bad");
  expect([exit, bad.length]).toEqual([3, answer.errors.count]);
  return answer as unknown as Record<string, unknown>;
}

const run = (from: string, ...flags: readonly string[]): Promise<Record<string, unknown>> =>
  place.json(["import", file, "--from", from, ...flags]);

/** The report of an import that stopped. */
async function stopped(from: string): Promise<Record<string, unknown>> {
  const { exit, out } = await place.cortex(["import", file, "--from", from, "--json"]);
  expect(exit).toBe(1);
  return JSON.parse(out) as Record<string, unknown>;
}

async function refusal(args: readonly string[]): Promise<string> {
  const { exit, out, err } = await place.cortex([...args, "--json"]);
  expect([exit, out]).toEqual([1, ""]);
  const { error } = JSON.parse(err) as { error: { code: string; message: string } };
  return `${error.code} ${error.message}`;
}

/** Counts of a report in one line: memories, then links. */
const counts = (added: number, unchanged: number, links: readonly [number, number]) => ({
  ok: true,
  memories: { added, updated: 0, unchanged },
  links: { added: links[0], unchanged: links[1] },
});

const ENTITIES = [
  { type: "entity", name: "Ada", entityType: "person", observations: ["lives in Porto", "flies"] },
  { type: "entity", name: "Acme Ltd", entityType: "company", observations: [] },
  { type: "relation", from: "Ada", to: "Acme Ltd", relationType: "works_at" },
];

describe("the file of the MCP reference memory server", () => {
  test("entities, observations and relations come in, and are recalled", async () => {
    makeLines(file, ENTITIES);
    expect(await run("mcp-memory")).toMatchObject({
      ...counts(4, 0, [3, 0]),
      skipped: { count: 0, first: [] },
    });
    expect(await place.json(["get", "Ada"])).toMatchObject({
      type: "note",
      text: "Ada",
      head: { kind: "person", externalId: "Ada", source: "imported" },
      versionRecord: { createdBy: "import" },
    });
    const { edges } = await place.json(["edge", "ls", "Ada"]);
    const kinds = (edges as readonly { kind: string }[]).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["about", "about", "works_at"]);
    const { hits } = await place.json(["search", "Ada Porto"]);
    expect((hits as readonly { text: string }[])[0]?.text).toBe("Ada: lives in Porto");
    const { text } = await place.json(["recall", "where does Ada live"]);
    expect(text).toContain("Ada: lives in Porto");
    expect(await place.json(["check"])).toMatchObject({ ok: true });
  });

  test("a second run adds nothing; later observations are added alone", async () => {
    makeLines(file, ENTITIES);
    await run("mcp-memory");
    const root = await place.json(["root"]);
    expect(await run("mcp-memory")).toMatchObject(counts(0, 4, [0, 3]));
    expect(await place.json(["root"])).toEqual(root);
    const [ada = {}, ...others] = ENTITIES;
    makeLines(file, [{ ...ada, observations: ["lives in Porto", "flies", "sings"] }, ...others]);
    expect(await run("mcp-memory")).toMatchObject(counts(1, 4, [1, 3]));
  });

  test("relations may stand first; those that lead nowhere are passed over with their line", async () => {
    const [ada, acme, works] = ENTITIES;
    const lost = { type: "relation", from: "Ada", to: "Nobody", relationType: "knows" };
    const self = { type: "relation", from: "Ada", to: "Ada", relationType: "knows" };
    makeLines(file, [works, lost, ada, "", acme, self]);
    const dry = await run("mcp-memory", "--dry-run");
    const report = await run("mcp-memory");
    expect(report).toMatchObject({ ...counts(4, 0, [3, 0]), skipped: { count: 2 } });
    const { first } = report.skipped as { first: readonly { at: string; reason: string }[] };
    expect(first.map(({ at }) => at)).toEqual(["line 2", "line 6"]);
    expect(first[0]?.reason).toContain("to:");
    expect(dry).toMatchObject({ ...counts(4, 0, [3, 0]), skipped: { count: 2 }, dryRun: true });
  });

  test("what was hidden or removed here is not brought back", async () => {
    makeLines(file, ENTITIES);
    await run("mcp-memory");
    await place.json(["edge", "rm", "Ada", "works_at", "Acme Ltd"]);
    await place.json(["tombstone", "Acme Ltd", "--reason", "sold"]);
    const report = await run("mcp-memory");
    expect(report).toMatchObject({ ...counts(0, 3, [0, 2]), skipped: { count: 2 } });
    const { first } = report.skipped as { first: readonly { at: string; reason: string }[] };
    expect(first.map(({ at, reason }) => `${at} ${reason}`)).toEqual([
      "line 2 the memory was hidden here since; it stays hidden",
      "line 3 the link was removed here since; it stays removed",
    ]);
    expect(await place.json(["get", "Acme Ltd"])).toMatchObject({
      head: { lifecycle: "tombstoned" },
    });
  });
});

describe("generic JSONL", () => {
  test("a line takes the fields of write; times may be ISO; ids are kept", async () => {
    makeLines(file, [
      { type: "fact", externalId: "home", text: "Ada lives in Porto", tags: ["place"] },
      { type: "note", kind: "decision", text: "Use LMDB", validFrom: "2026-03-01T12:00:00Z" },
      { link: { from: "home", kind: "supports", to: "later", reason: "said so" } },
      { type: "event", externalId: "later", text: "Ada moved" },
    ]);
    expect(await run("jsonl")).toMatchObject(counts(3, 0, [1, 0]));
    expect(await place.json(["get", "home"])).toMatchObject({
      type: "fact",
      text: "Ada lives in Porto",
      head: { tags: ["place"], source: "imported" },
    });
    {
      await using memory = await open(place.data);
      const { memories } = await memory.list({ type: "note" });
      expect(memories).toMatchObject([
        {
          head: { externalId: expect.stringMatching(/^jsonl:[0-9a-f]{32}$/) as unknown },
          versionRecord: { validFrom: Date.UTC(2026, 2, 1, 12) },
        },
      ]);
    }
    const root = await place.json(["root"]);
    expect(await run("jsonl")).toMatchObject(counts(0, 3, [0, 1]));
    expect(await place.json(["root"])).toEqual(root);
  });

  test("a line that says something new becomes a version, unless it was changed here", async () => {
    const line = (text: string) => [{ type: "note", externalId: "a", text, tags: [text] }];
    makeLines(file, line("first"));
    await run("jsonl");
    makeLines(file, line("second"));
    expect(await run("jsonl")).toMatchObject({ memories: { added: 0, updated: 1, unchanged: 0 } });
    expect(await place.json(["get", "a"])).toMatchObject({
      text: "second",
      version: 2,
      head: { tags: ["second"] },
    });
    await place.json(["update", "a", "--text", "mine"]);
    makeLines(file, line("third"));
    const report = await run("jsonl");
    expect(report).toMatchObject({ memories: { updated: 0 }, skipped: { count: 1 } });
    expect(JSON.stringify(report.skipped)).toContain("changed here since");
    expect(await place.json(["get", "a"])).toMatchObject({ text: "mine" });
  });

  test("a memory or link that the file repeats is one, in a new store as well", async () => {
    const note = (text: string) => ({ type: "note", externalId: "a", text });
    const link = { link: { from: "a", kind: "supports", to: "b" } };
    const other = { type: "note", externalId: "b", text: "b" };
    makeLines(file, [note("one"), note("one"), link, other, note("two"), link]);
    expect(await run("jsonl")).toMatchObject({
      memories: { added: 2, updated: 1, unchanged: 1 },
      links: { added: 1, unchanged: 1 },
    });
    expect(await place.json(["get", "a"])).toMatchObject({ text: "two", version: 2 });
  });

  test("a claim that another memory makes is a memory of its own, once", async () => {
    await place.json(["write", "fact", '{"text":"Ada lives in Porto"}']);
    const id = "01KRAB0000000000000000000C";
    makeLines(file, [
      { type: "fact", externalId: "x", text: "Ada lives in Porto" },
      { type: "fact", id, text: "ada lives in Porto." },
      { type: "fact", text: "Ada lives in Porto!" },
    ]);
    expect(await run("jsonl")).toMatchObject(counts(3, 0, [0, 0]));
    expect(await place.json(["get", id])).toMatchObject({ id, text: "ada lives in Porto." });
    const root = await place.json(["root"]);
    expect(await run("jsonl")).toMatchObject(counts(0, 3, [0, 0]));
    expect(await place.json(["root"])).toEqual(root);
  });

  test("a dry run makes no store and finds the same bad record", async () => {
    makeLines(file, [
      { type: "note", text: "good" },
      { type: "note", text: "bad", importance: 11 },
    ]);
    const { exit, out } = await place.cortex(["import", file, "--from", "jsonl", "--dry-run"]);
    expect(exit).toBe(1);
    expect(out).toContain("would import 1 memory");
    expect(out).toMatch(/stopped at line 2: importance: .* ERR_INVALID/);
    expect(existsSync(place.data)).toBe(false);
  });

  test("a bad line stops it; what came before is kept, and the next run goes on", async () => {
    const good = Array.from({ length: 2500 }, (_, at) => ({
      type: "note",
      externalId: `n${at}`,
      text: `note ${at}`,
    }));
    makeLines(file, [...good.slice(0, 2300), '{"type": "note", ', ...good.slice(2300)]);
    expect(await stopped("jsonl")).toMatchObject({
      ok: false,
      memories: { added: 2300, updated: 0, unchanged: 0 },
      stopped: { at: "line 2301", code: "ERR_INVALID" },
    });
    expect(await stopped("jsonl")).toMatchObject({ memories: { added: 0, unchanged: 2300 } });
    expect(await leftOut("jsonl")).toMatchObject({
      ...counts(200, 2300, [0, 0]),
      errors: { count: 1, first: [{ at: "line 2301", code: "ERR_INVALID" }] },
    });
    makeLines(file, good);
    expect(await run("jsonl")).toMatchObject(counts(0, 2500, [0, 0]));
  });

  test.each([
    ["[1]", /line 1.*expected an object, got a list/],
    ['{"text":"x"}', /line 1.*type: expected a text, got nothing/],
    ['{"type":"note","text":"x","nope":1}', /line 1.*nope/],
    ['{"type":"note","text":"x","validFrom":"soon"}', /line 1.*validFrom: expected an ISO time/],
    [`{"type":"note","text":"${"x".repeat(70_000)}"}`, /line 1.*ERR_TOO_LARGE/],
    [
      `{"type":"note","text":"","externalId":"${"x".repeat(300)}"}`,
      /line 1: externalId: .* 256 bytes/,
    ],
    ["SQLite format 3\0", /line 1.*expected JSON/],
    ['{"link":{"from":"a","kind":"b"}}', /line 1.*link.to: expected a text/],
  ])(
    "%#: a line that is no record stops it there, and the report holds no content",
    async (line, expected) => {
      makeLines(file, [line]);
      const { exit, out } = await place.cortex(["import", file, "--from", "jsonl"]);
      expect(exit).toBe(1);
      expect(out.replaceAll("\n", " ")).toMatch(expected);
      expect(out).not.toContain("xxxxxxxxxx".repeat(20));
    },
  );

  test("an id that can be none is a bad line in a store that is there as well", async () => {
    await place.json(["note", "remark", "here already"]);
    makeLines(file, [
      { type: "note", text: "a", externalId: "x".repeat(300) },
      { type: "note", text: "b", externalId: "cortex://other/Note/x" },
      { type: "note", text: "c" },
    ]);
    expect(await leftOut("jsonl")).toMatchObject({
      memories: { added: 1, updated: 0, unchanged: 0 },
      errors: {
        count: 2,
        first: [
          { at: "line 1", code: "ERR_BAD_ID" },
          { at: "line 2", code: "ERR_BAD_URI" },
        ],
      },
    });
  });

  test("bytes that are no text, and lines beyond every limit, are bad lines and no more", async () => {
    writeFileSync(file, Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
    appendFileSync(file, `"${"y".repeat(5 * 1024 * 1024)}"\n`);
    appendFileSync(file, '\uFEFF{"type":"note","text":"last"}');
    const report = await leftOut("jsonl");
    const { first } = report.errors as { first: readonly { at: string; code: string }[] };
    expect(first.map(({ at, code }) => `${at} ${code}`)).toEqual([
      "line 1 ERR_ILL_FORMED",
      "line 2 ERR_TOO_LARGE",
      "line 3 ERR_INVALID",
    ]);
  });

  test("a missing file, a folder, stdin and a wrong program are refused", async () => {
    const from = ["--from", "jsonl"];
    expect(await refusal(["import", join(place.folder, "no"), ...from])).toMatch(/^ERR_STORAGE /);
    expect(await refusal(["import", place.folder, ...from])).toMatch(/^ERR_STORAGE .*no file/);
    expect(await refusal(["import", "-", ...from])).toMatch(/^ERR_INVALID FILE: .*stdin/);
    const { exit } = await place.cortex(["import", file, "--from", "notepad"]);
    expect(exit).toBe(2);
    makeLines(file, [{ type: "fact", text: "Ada lives in Porto" }]);
    for (const report of [join(place.folder, "none", "report"), place.folder]) {
      const told = await refusal(["import", file, ...from, "--report", report]);
      expect(told).toMatch(/^ERR_STORAGE cannot write /);
    }
    expect(existsSync(place.data)).toBe(false);
  });
});

const MEMORIES = [
  {
    id: "m1",
    memory: 'Likes "tea" [and] {cake}',
    user_id: "ada",
    categories: ["food"],
    metadata: { page: 3 },
    created_at: "2025-01-02T03:04:05.678901-08:00",
    updated_at: null,
  },
  { id: "m2", memory: "Lives in Porto", hash: "abc", created_at: "2025-02-01T00:00:00Z" },
];
const RELATIONS = [
  { source: "ada", relationship: "likes", target: "tea" },
  { source: "ada", relation: "lives_in", destination: "porto" },
];

describe("an export of mem0", () => {
  const forms: readonly (readonly [string, string, number, number])[] = [
    ["a list", JSON.stringify(MEMORIES, undefined, 2), 2, 0],
    ["results and relations", JSON.stringify({ results: MEMORIES, relations: RELATIONS }), 5, 2],
    ["relations first", JSON.stringify({ relations: RELATIONS, memories: MEMORIES }), 5, 2],
    ["lines", MEMORIES.map((one) => JSON.stringify(one)).join("\n"), 2, 0],
  ];
  test.each(forms)(
    "%s: ids, times, owners and categories are kept",
    async (_, text, added, links) => {
      writeFileSync(file, text);
      expect(await run("mem0")).toMatchObject(counts(added, 0, [links, 0]));
      expect(await place.json(["get", "m1"])).toMatchObject({
        text: 'Likes "tea" [and] {cake}',
        data: { metadata: { page: 3, mem0_user_id: "ada" } },
        head: { tags: ["food"], kind: "memory", source: "imported" },
        versionRecord: { validFrom: Date.UTC(2025, 0, 2, 11, 4, 5, 678) },
      });
      const root = await place.json(["root"]);
      expect(await run("mem0")).toMatchObject(counts(0, added, [0, links]));
      expect(await place.json(["root"])).toEqual(root);
    },
  );

  test.each([
    ["cut off", JSON.stringify(MEMORIES).slice(0, -20), { at: "line 1", code: "ERR_INVALID" }],
    ["no JSON", "Dear diary,\n", { at: "line 1", code: "ERR_INVALID" }],
    ["no memory", '[\n{"id": "x"}\n]', { at: "line 2", code: "ERR_INVALID" }],
    ["a number among them", '[\n{"id":"x","memory":"y"},\n7]', { at: "line 3" }],
    ["one bracket too many", '{"id":"x","memory":"y"}\n}', { at: "line 2" }],
  ])("%s: stops at its line", async (_, text, expected) => {
    writeFileSync(file, text);
    expect(await stopped("mem0")).toMatchObject({ ok: false, stopped: expected });
  });

  test("a document longer than any buffer is read object by object", async () => {
    const many = Array.from({ length: 3000 }, (_, at) => ({
      id: `m${at}`,
      memory: `${at} é ${'{[\\"'.repeat(at % 50)}`,
    }));
    writeFileSync(file, JSON.stringify({ results: many }, undefined, 1));
    expect(await run("mem0")).toMatchObject(counts(3000, 0, [0, 0]));
    await using memory = await open(place.data);
    for (const at of [0, 49, 1234, 2999]) {
      expect((await memory.get(`m${at}`))?.text).toBe(many[at]?.memory);
    }
  });
});

test("nothing is left in the folder of the file", async () => {
  makeLines(file, ENTITIES);
  const before = readdirSync(place.folder);
  await run("mcp-memory", "--dry-run");
  expect(readdirSync(place.folder)).toEqual(before);
});

describe("a transcript", () => {
  const SPOKEN =
    "\uFEFFUser: I moved to Porto.\r\nNever a red-eye.\r\n\r\n**Assistant**: Noted.\nAI: More.\n";
  const turns = (added: number, unchanged: number) => counts(added, unchanged, [0, 0]);
  const read = async (): Promise<readonly string[]> => {
    const { turns: kept } = await place.json(["session", "foreign"]);
    const said = kept as readonly { readonly role: string; readonly content: string }[];
    return said.map(({ role, content }) => `${role}: ${content}`);
  };

  test("is known by how it begins; its turns come in once, and later ones behind them", async () => {
    writeFileSync(file, SPOKEN);
    expect(await place.json(["import", file, "--dry-run"])).toMatchObject({
      ...turns(3, 0),
      dryRun: true,
    });
    expect(existsSync(place.data)).toBe(false);
    expect(await place.json(["import", file])).toMatchObject(turns(3, 0));
    expect(await run("transcript", "--dry-run")).toMatchObject(turns(0, 3));
    expect(await run("transcript")).toMatchObject(turns(0, 3));
    appendFileSync(file, "System: ended");
    expect(await place.json(["import", file])).toMatchObject(turns(1, 3));
    expect(await read()).toEqual([
      "user: I moved to Porto.\nNever a red-eye.",
      "assistant: Noted.",
      "assistant: More.",
      "system: ended",
    ]);
    const { hits } = await place.json(["search", "red-eye"]);
    const [hit] = hits as readonly { readonly id: string }[];
    expect(await place.json(["get", hit?.id ?? ""])).toMatchObject({
      head: { source: "imported", kind: "turn" },
      versionRecord: { createdBy: "import" },
    });
  });

  test("leaves a turn alone whose place is taken, and names the line", async () => {
    writeFileSync(file, SPOKEN);
    await run("transcript");
    writeFileSync(file, SPOKEN.replace("Noted", "Not noted"));
    expect(await run("transcript")).toMatchObject({
      ...turns(0, 2),
      skipped: { count: 1, first: [{ at: "line 4", reason: expect.stringContaining("stays") }] },
    });
    expect((await read())[1]).toBe("assistant: Noted.");
  });

  test("stops where nobody speaks, or passes that line over", async () => {
    writeFileSync(file, `a title\n${SPOKEN.slice(1)}`);
    expect(await refusal(["import", file])).toContain("ERR_EXPORT_MALFORMED");
    expect(await stopped("transcript")).toMatchObject({
      ok: false,
      stopped: { at: "line 1", message: expect.stringContaining("who speaks") },
    });
    expect(await leftOut("transcript")).toMatchObject({ memories: { added: 3 } });
  });
});
