/**
 * The commands of a memory that lives: remember, recall, inspect, review, maintain and extract. What
 * people and scripts read is what the built binary prints; help, empty answers for scripts and refusals
 * are looked at inside the test, since `process.test.ts` shows that the binary passes them on.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ModelServer, startModelServer } from "../../core/test/model-server.js";
import { OPERATIONS } from "../src/operations.js";
import { type Ended, makePlace, type Place, type Start } from "./cortex-process.js";

let place: Place;
let server: ModelServer;
/** The service that the settings name. */
let env: { readonly [name: string]: string };

beforeAll(async () => {
  server = await startModelServer(({ turns }) => ({
    facts: turns.map(({ name, content }) => ({ text: content, type: "fact", turns: [name] })),
  }));
  env = { CORTEX_MODEL_ENDPOINT: server.endpoint, CORTEX_MODEL_NAME: "tiny" };
  place = makePlace();
  const home = ["--slot", "home city", "--external-id", "home"];
  await place.json(["write", "fact", "Ada lives in Porto", ...home]);
  const rival = ["--slot", "home city", "--source", "agent"];
  await place.json(["write", "fact", "Ada lives in Rome", ...rival]);
  for (const source of ["agent", "extraction", "imported"]) {
    const said = ["--source", source, "--by", `${source}-1`];
    await place.json(["write", "fact", "The office is in Lisbon", ...said]);
  }
});
afterAll(async () => {
  await server.close();
  place.remove();
});

/** Runs a command on the store that was filled. */
const cortex = (args: readonly string[], start: Start = {}): Promise<Ended> =>
  place.apart([...args, "--data", place.data], { env, ...start });

/** The one document that a command printed. */
async function json(args: readonly string[], start?: Start): Promise<Record<string, unknown>> {
  const { exit, out, err } = await cortex([...args, "--json"], start);
  expect(exit, err).toBe(0);
  expect(err).toBe(`cortex: ${place.shown}, actor default\n`);
  return JSON.parse(out) as Record<string, unknown>;
}

async function human(args: readonly string[], start?: Start): Promise<string> {
  const { exit, out, err } = await cortex(args, start);
  expect(exit, err).toBe(0);
  expect(out).not.toContain("\u001b[");
  return out;
}

const COMMANDS = [
  "remember",
  "recall",
  "inspect",
  "review ls",
  "review settle",
  "maintain",
  "extract",
] as const;

describe("help", () => {
  test.each(COMMANDS)("of %s has a purpose, flags and an example", async (command) => {
    const operation = OPERATIONS.find(({ cli }) => cli.command === command);
    const { exit, out, err } = await place.bare([...command.split(" "), "--help"]);
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toMatch(new RegExp(`^Usage: cortex ${command}\\b`));
    expect(out).toContain(operation?.summary ?? "no such operation");
    expect(out).toContain(`$ ${operation?.example}`);
    expect(out).toContain("--json");
  });
});

describe("for people and for scripts", () => {
  test("remember says what it kept, and what it left out", async () => {
    const input = "I moved to Porto. Never book me a red-eye.";
    const said = await human(["remember", "--session", "chat"], { input });
    expect(said).toMatch(/^✓ 1 turn added to chat/);
    const [turn] = (await place.json(["session", "chat"])).turns as { readonly content: string }[];
    expect(turn?.content).toBe(input);
    const recalled = (await json(["recall", "where does Ada live?"])).text;
    const turns = [
      { role: "user", content: recalled },
      { role: "user", content: "I fly on Friday" },
    ];
    const kept = await json(["remember", "-", "--session", "chat"], {
      input: JSON.stringify(turns),
    });
    expect(kept).toMatchObject({
      session: "chat",
      turns: [{ index: 1, added: true }],
      dropped: 1,
    });
  });

  test("recall says the best first and why, or that nothing is reliable", async () => {
    const question = ["recall", "where does Ada live?", "--type", "fact"];
    const said = await human(question);
    expect(said).toMatch(/^\w{26} {2}fact +\d\.\d{3} {2}Ada lives in Porto .*lexical/);
    expect(said).toMatch(/\d+ tokens, 0 left out by the budget\n$/);
    expect(await json(question)).toMatchObject({
      hits: [{ type: "fact", text: "Ada lives in Porto", why: { trust: expect.any(Number) } }, {}],
      text: expect.stringMatching(/^<<<cortex-memory\n[\s\S]*cortex-memory>>>$/),
      tokens: expect.any(Number),
      weak: false,
      trimmed: 0,
    });
    const guess = "what did the Lisbon orchestra of flamingos rehearse in autumn?";
    expect(await human(["recall", guess])).toMatch(/^nothing reliable; the closest:\n/);
    expect(await json(["recall", guess])).toMatchObject({ weak: true });
  });

  test("recall by session ranks conversations, and shows the best turns of each", async () => {
    const apart = makePlace();
    try {
      const talks = {
        boats: ["The regatta starts at noon", "Our regatta boat needs a new mast"],
        food: ["The soup was too salty", "Somebody spoke of a regatta, too"],
      };
      for (const [session, contents] of Object.entries(talks)) {
        const turns = contents.map((content) => ({ role: "user", content }));
        const input = JSON.stringify(turns);
        await apart.json(["remember", "-", "--session", session], { input });
      }
      const question = ["recall", "the mast of the regatta boat", "--by", "session"];
      const { sessions, hits } = (await apart.json(question)) as {
        readonly sessions: readonly {
          readonly session: string;
          readonly turns: readonly string[];
        }[];
        readonly hits: readonly { readonly id: string; readonly text: string }[];
      };
      expect(sessions.map(({ session }) => session)).toEqual(["boats", "food"]);
      expect(hits[0]).toMatchObject({ id: sessions[0]?.turns[0], text: talks.boats[1] });
      expect(sessions.flatMap(({ turns }) => turns)).toEqual(hits.map(({ id }) => id));
      expect((await apart.json([...question, "--limit", "1"])).sessions).toHaveLength(1);
      const { exit, out } = await apart.cortex(question);
      expect(exit).toBe(0);
      expect(out).toMatch(
        /^boats\n\w{26} {2}note .*\n? {1,2}Our regatta boat needs a new mast[\s\S]*\nfood\n\w{26} {2}note/,
      );
    } finally {
      apart.remove();
    }
  });

  test("inspect shows a memory with its links, versions and counters", async () => {
    const said = await human(["inspect", "home"]);
    expect(said).toContain("Ada lives in Porto");
    expect(said).toMatch(/links\nlifecycle\n.*contradicts/);
    expect(await json(["inspect", "home"])).toMatchObject({
      memory: { text: "Ada lives in Porto", head: { slot: "home_city" } },
      links: [{ kind: "contradicts" }],
      backlinks: [],
      versions: [{ version: 1 }],
    });
  });

  test("review lists what waits, settles it, and then has nothing", async () => {
    const list = ["review", "ls", "--kind", "rival"];
    const page = await json(list);
    const [item] = page.items as { readonly id: string }[];
    expect(page).toMatchObject({
      items: [{ kind: "rival", slot: "home_city", sides: [{ source: "agent" }, {}] }],
    });
    const said = await human(list);
    expect(said).toContain(item?.id);
    expect(said).toContain("Ada lives in Rome");
    const decide = ["review", "settle", item?.id ?? "", "--decision", "keep_one"];
    const settled = await human([...decide, "--keep", "home", "--reason", "Ada said so"]);
    expect(settled).toMatch(
      /^✓ settled .*: keep_one seq \d+\n {2}kept +\w{26}\n {2}archived \w{26}/,
    );
    expect(await human(list)).toBe("nothing to decide\n");
    expect(await json(list)).toMatchObject({ items: [] });
  });

  test("maintain says what there is to do, does it, and finds nothing more", async () => {
    const dry = await human(["maintain", "--dry-run"]);
    expect(dry).toMatch(/^what there is to do .*\n[\s\S]* {2}confirm: 1 to do\n/);
    expect(dry).toMatch(
      /\nchanges\n {2}confirm \w{26} \w{26}\s+\w{26}: said by 3 independent voices/,
    );
    const done = await json(["maintain"]);
    expect(done).toMatchObject({
      dryRun: false,
      changes: [{ step: "confirm", reason: expect.stringContaining("agent"), seq: done.seq }],
      complete: true,
    });
    expect(await human(["maintain"])).toMatch(/^✓ nothing is left to do/);
  });

  test("extract asks the service, says what it made of each turn, and asks once", async () => {
    const input = JSON.stringify({ role: "user", content: "The parser ships in May" });
    await json(["remember", "-", "--session", "plans"], { input });
    const only = ["extract", "--session", "plans"];
    const dry = await human([...only, "--dry-run"]);
    expect(dry).toMatch(/^a dry run, nothing was written: 1 turn read, 1 fact, 0 links/);
    expect(dry).toMatch(
      /\n {2}proposed fact {2}The parser ships in May\n {2}1 turn still to be read/,
    );
    expect(await json(only)).toMatchObject({
      model: `tiny@${server.host}`,
      turns: 1,
      facts: [{ session: "plans", text: "The parser ships in May", outcome: "new" }],
      waiting: 0,
    });
    expect(await human(only)).toMatch(/^✓ 0 turns read, 0 facts, 0 links/);
    expect(await json(["recall", "when does the parser ship?"])).toMatchObject({ weak: false });
  });
});

describe("where there is nothing", () => {
  let empty: Place;
  beforeAll(async () => {
    empty = makePlace();
    await empty.json(["write", "note", "to be forgotten", "--external-id", "only"]);
    await empty.json(["forget", "only", "--reason", "to have an empty store"]);
  });
  afterAll(() => empty.remove());

  test.each<readonly [readonly string[], string, object]>([
    [["recall", "where does Ada live?"], "nothing recalled", { hits: [], text: "", weak: true }],
    [["review", "ls"], "nothing to decide", { items: [] }],
    [["maintain"], "✓ nothing is left to do", { changes: [], complete: true }],
    [["extract"], "✓ 0 turns read, 0 facts, 0 links", { calls: 0, facts: [], waiting: 0 }],
  ])("cortex %j says so", async (args, said, document) => {
    const on = [...args, "--data", empty.data];
    const people = await empty.apart(on, { env });
    expect([people.exit, people.out.startsWith(said)], people.out).toEqual([0, true]);
    expect(await empty.json(args, { env })).toMatchObject(document);
  });

  test.each([
    ["recall", "anything"],
    ["inspect", "home"],
    ["review", "ls"],
    ["maintain"],
    ["extract"],
  ])("cortex %s makes no store and says how one is made", async (...args) => {
    const data = `${empty.folder}/none`;
    const { exit, out, err } = await empty.bare([...args, "--data", data, "--json"], { env });
    expect([exit, out]).toEqual([1, ""]);
    expect(JSON.parse(err)).toMatchObject({
      error: { code: "ERR_NOT_FOUND", message: expect.stringContaining("the first write makes") },
    });
  });
});

describe("what is refused", () => {
  test.each<readonly [readonly string[], string]>([
    [["remember", "--session", "s"], "FILE|-: expected turns, got nothing"],
    [["remember", "no-such-file", "--session", "s"], "FILE|-: cannot read no-such-file"],
    [["recall"], "TEXT: expected"],
    [["recall", "x", "--budget", "0"], "--budget: expected a whole number from 1"],
    [["recall", "x", "--type", "rumour"], "--type: expected one of identity"],
    [["recall", "x", "--by", "day"], "--by: expected one of memory, session"],
    [["inspect"], "ID: expected"],
    [["review", "ls", "--kind", "gossip"], "--kind: expected one of contradiction"],
    [["review", "settle", "x", "--decision", "shrug", "--reason", "y"], "--decision: expected one"],
    [["maintain", "now"], "too many arguments"],
    [["maintain", "--max-changes", "0"], "--max-changes: expected a whole number from 1"],
    [["extract", "--limit", "none"], "--limit: expected a number"],
    [["completion"], "SHELL: expected one of bash, zsh, fish, got nothing"],
    [["completion", "it's"], `SHELL: expected one of bash, zsh, fish, got "it's"`],
    [["mcp", "config"], "CLIENT: expected one of claude, claude-code"],
    [["mcp", "config", "word"], 'windsurf, gemini, zed, got "word"'],
    [["mcp", "--profile", "all"], '--profile: expected one of standard, full, memgraph, got "all"'],
  ])("cortex %j is used wrongly", async (args, message) => {
    const { exit, out, err } = await place.cortex(args, { env });
    expect([exit, out], err).toEqual([2, ""]);
    expect(err).toContain(message);
    expect(err).toMatch(/\ntry: cortex .*--help\n$/);
  });

  test.each<readonly [readonly string[], string]>([
    [["inspect", "nobody"], "ERR_NOT_FOUND"],
    [["recall", "x", "--as-of", "999999"], "ERR_AS_OF"],
    [["review", "settle", "x", "--decision", "keep_both", "--reason", "y"], "ERR_INVALID"],
    [["remember", "-", "--session", "s"], "ERR_INVALID"],
    [["prove"], "ERR_INVALID"],
  ])("cortex %j fails with %s", async (args, code) => {
    const input = '{"role":"king","content":"I am"}';
    const { exit, out, err } = await place.cortex([...args, "--json"], { env, input });
    expect([exit, out]).toEqual([1, ""]);
    expect(JSON.parse(err)).toMatchObject({ error: { code } });
  });

  test("cortex prove of nothing names what it could have been given", async () => {
    const { err } = await place.cortex(["prove"], { env });
    expect(err).toContain("ID, --edge, --seq, --since: expected at least one of them, got 0");
  });

  test("cortex extract without a service says which setting is missing", async () => {
    const { exit, err } = await place.cortex(["extract"]);
    expect(exit).toBe(1);
    expect(err).toContain("set model.endpoint ERR_NO_MODEL");
  });
});
