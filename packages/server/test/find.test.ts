/** `cortex find`: every flag reaches the query, answers hold the shape that scripts rely on. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";

interface Answer {
  readonly hits: readonly {
    readonly id: string;
    readonly uri: string;
    readonly text: string;
    readonly score: number;
    readonly hop?: number;
  }[];
  readonly seq: number;
  readonly cursor?: string;
  readonly total?: number;
  readonly explain?: { readonly source: string };
}

let place: Place;
beforeAll(async () => {
  place = makePlace();
  const frames = JSON.stringify([{ verb: "find", object: "plan", ref: "trip" }]);
  const write = (type: string, text: string, ...flags: readonly string[]) =>
    place.json(["write", type, text, ...flags]);
  await write("fact", "Trams run all night", "--tag", "travel", "--importance", "3");
  await write("fact", "The ferry leaves at nine", "--tag", "travel", "--external-id", "ferry");
  await write("goal", "See the lighthouse", "--external-id", "goal", "--frames", frames);
  await write("fact", "Ada lives in Porto", "--slot", "home city");
  await place.json(["note", "memo", "Tickets print twice"]);
  await place.json(["link", "ferry", "supports", "goal"]);
  await place.json(["tombstone", "goal", "--reason", "seen"]);
});
afterAll(() => place.remove());

async function find(...flags: readonly string[]): Promise<Answer> {
  return (await place.json(["find", ...flags])) as unknown as Answer;
}

const texts = ({ hits }: Answer): readonly string[] => hits.map(({ text }) => text);

describe("find", () => {
  test.each([
    [
      ["--type", "fact"],
      ["Ada lives in Porto", "The ferry leaves at nine", "Trams run all night"],
    ],
    [
      ["--type", "fact", "--tag", "travel"],
      ["The ferry leaves at nine", "Trams run all night"],
    ],
    [["--kind", "memo"], ["Tickets print twice"]],
    [["--slot", "Home City"], ["Ada lives in Porto"]],
    [["--text", "ferry nine"], ["The ferry leaves at nine"]],
    [["--tag", "travel", "--where", '{"lt": ["head.importance", 5]}'], ["Trams run all night"]],
    [
      ["--tag", "travel", "--order", "head.importance:asc"],
      ["Trams run all night", "The ferry leaves at nine"],
    ],
    [["--type", "goal"], []],
    [["--type", "goal", "--include-tombstoned"], ["See the lighthouse"]],
    [["--type", "goal", "--lifecycle", "tombstoned"], ["See the lighthouse"]],
    [["--type", "goal", "--as-of", "3"], ["See the lighthouse"]],
    [["--tag", "travel", "--as-of", "1"], ["Trams run all night"]],
    [["--tag", "travel", "--offset", "1"], ["Trams run all night"]],
    [
      ["--tag", "travel", "--form", "short"],
      ["The ferry leaves at nine", "Trams run all night"],
    ],
    [["--type", "fact", "--where", '{"gte": ["head.createdAt", "2100-01-01"]}'], []],
  ])("%j", async (flags, expected) => {
    expect(texts(await find(...flags, "--limit", "9"))).toEqual(expected);
  });

  test("a frame, a walk, a page, a count, an explanation", async () => {
    const frame = '{"verb": "find", "object": "plan", "ref": "trip"}';
    expect(texts(await find("--frame", frame, "--limit", "1", "--as-of", "3"))).toHaveLength(1);
    const follow = '{"kinds": ["supports"], "maxHops": 2}';
    const walk = ["--from", "ferry", "--follow", follow, "--include-tombstoned", "--limit", "5"];
    expect((await find(...walk)).hits).toMatchObject([{ text: "See the lighthouse", hop: 1 }]);
    const page = await find("--type", "fact", "--limit", "2", "--count", "--explain");
    expect(page.total).toBe(3);
    expect(page.explain?.source).toBe("type fact");
    const next = await find("--type", "fact", "--limit", "2", "--cursor", page.cursor ?? "");
    expect(texts(next)).toEqual(["Trams run all night"]);
    for (const { id, uri, score } of page.hits) {
      expect(uri).toBe(`cortex://default/Fact/${id}#1`);
      expect(score).toBeGreaterThan(0);
    }
    const late = (await place.json(["find", "--tag", "travel", "--budget", "40", "--late"])) as {
      readonly lateSeq?: number;
    };
    expect(late.lateSeq).toBe(page.seq + 1);
  });

  test("failures have the library's codes, bad flags are usage", async () => {
    for (const [flags, code] of [
      [["--type", "fact"], "ERR_UNBOUNDED"],
      [["--limit", "1"], "ERR_TOO_BROAD"],
      [["--type", "fact", "--limit", "1", "--where", '{"eq": ["data.x", 1]}'], "ERR_UNKNOWN_FIELD"],
      [["--near", "ferries", "--limit", "1"], "ERR_NO_EMBEDDER"],
    ] as const) {
      const { err, exit } = await place.cortex(["find", ...flags, "--json"]);
      expect([exit, JSON.parse(err)]).toMatchObject([1, { error: { code } }]);
    }
    const { err } = await place.cortex(["find", "--limit", "1"]);
    expect(err).toContain("error: --type, --tag, --kind, --slot, ");
    expect((await place.cortex(["find", "--where", "{", "--limit", "1"])).exit).toBe(2);
    expect((await place.cortex(["find", "--limit", "many"])).exit).toBe(2);
  });
});
