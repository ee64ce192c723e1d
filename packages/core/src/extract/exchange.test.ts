/** What holds of a model's reply: the shape of the whole, and every rule by which an entry is dropped. */
import { describe, expect, test } from "vitest";
import { DROP_RULES, type DropRule } from "../contract/upkeep.js";
import { LIMITS } from "../limits.js";
import { FENCE_CLOSE, FENCE_OPEN } from "../records/fence.js";
import type { Source } from "../records/types.js";
import { type Offer, type Proposal, readReply, sameStatement } from "./exchange.js";

const offer: Offer = {
  turns: [
    { role: "user", content: "I deploy on Mondays now." },
    { role: "assistant", content: "Noted." },
  ],
  known: [
    { type: "fact", text: "Ada deploys on Fridays", slot: "deploy_day" },
    { type: "goal", text: "Ada wants to ship the parser" },
    { type: "fact", text: "The staging server is slow" },
  ],
};

const fact = { text: "Ada deploys on Mondays", type: "fact", turns: ["t1"] };
const link = { from: "f1", kind: "enables", to: "k2", reason: "Both are said.", strength: 4 };

function read(reply: unknown, source: Source = "extraction"): Proposal {
  const found = readReply(JSON.stringify(reply), offer, source);
  if ("refused" in found) throw new Error(found.refused);
  return found.proposal;
}

function refusal(reply: string): string {
  const found = readReply(reply, offer, "extraction");
  return "refused" in found ? found.refused : "it was taken";
}

describe("the reply as a whole", () => {
  test("holds facts, links between them, and links to what was offered", () => {
    const second = { text: "Ada uses a parser", type: "fact", turns: ["t2", "t1", "t2"] };
    const proposal = read({
      facts: [{ ...fact, slot: "Deploy Day", importance: 7, replaces: "k1" }, second],
      relationships: [link, { ...link, to: "f2", kind: "uses", strength: 3 }],
    });
    expect(proposal).toEqual({
      facts: [
        { ...fact, name: "f1", turns: [0], slot: "deploy_day", importance: 7, replaces: 0 },
        { ...second, name: "f2", turns: [1, 0] },
      ],
      links: [link, { ...link, to: "f2", kind: "uses", strength: 3 }],
      known: 0,
      dropped: new Map(),
    });
  });

  test.each([
    ["prose", "Sure! Here are the facts."],
    ["prose around JSON", `Here: {"facts":[]}`],
    ["a fenced block", '```json\n{"facts":[]}\n```'],
    ["two objects", '{"facts":[]}{"facts":[]}'],
    ["nothing", ""],
    ["an empty object", "{}"],
    ["a list", "[]"],
    ["null", "null"],
    ["facts that are no list", '{"facts":{}}'],
    ["relationships that are no list", '{"facts":[],"relationships":"none"}'],
    ["members nobody asked for", '{"facts":[],"tool_calls":[]}'],
    ["facts of which none holds", '{"facts":[{"text":"x"}]}'],
    ["links of which none holds", `{"facts":[],"relationships":[{"from":"k1","to":"k9"}]}`],
  ])("is refused when it is %s", (_, reply) => {
    expect(refusal(reply)).toMatch(/^(expected|nothing of the reply holds)/);
  });

  test("may find nothing, with or without a list of links", () => {
    expect(read({ facts: [] })).toMatchObject({ facts: [], links: [], known: 0 });
    expect(read({ facts: [], relationships: [] })).toMatchObject({ facts: [], links: [] });
  });

  test("takes null for what may be left out, as strict schemas make models say it", () => {
    const [kept] = read({
      facts: [{ ...fact, slot: null, importance: null, replaces: null }],
    }).facts;
    expect(kept).toEqual({ ...fact, name: "f1", turns: [0] });
  });
});

/** For each rule an entry that breaks it and no earlier one. */
const BROKEN_FACTS: { readonly [rule in DropRule]?: readonly unknown[] } = {
  shape: ["a fact", null, ["x"], { ...fact, command: "rm" }],
  text: [
    { ...fact, text: "  " },
    { ...fact, text: 5 },
    { ...fact, text: "x".repeat(LIMITS.extractFactBytes + 1) },
    { ...fact, text: "\ud800" },
    { ...fact, text: `${FENCE_OPEN}\nAda deploys on Fridays\n${FENCE_CLOSE}` },
  ],
  type: [
    { ...fact, type: "note" },
    { ...fact, type: "artifact" },
    { ...fact, type: "Fact" },
  ],
  turn: [
    { ...fact, turns: [] },
    { ...fact, turns: ["t3"] },
    { ...fact, turns: ["t0"] },
    { ...fact, turns: ["t01"] },
    { ...fact, turns: ["k1"] },
    { ...fact, turns: ["t1", "01J0000000000000000000000A"] },
    { ...fact, turns: "t1" },
  ],
  slot: [
    { ...fact, slot: "!!" },
    { ...fact, slot: 4 },
    { ...fact, slot: "s".repeat(200) },
  ],
  importance: [
    { ...fact, importance: 11 },
    { ...fact, importance: 2.5 },
  ],
  replaces: [
    { ...fact, replaces: "k4" },
    { ...fact, replaces: "t1" },
    { ...fact, replaces: "01J0000000000000000000000A" },
  ],
  repeated: [{ ...fact, text: "the Ada deploys on Mondays." }],
};

const BROKEN_LINKS: { readonly [rule in DropRule]?: readonly unknown[] } = {
  shape: ["a link", { ...link, weight: 9 }],
  reference: [
    { ...link, to: "k4" },
    { ...link, to: "f2" },
    { ...link, from: "t1" },
    { ...link, from: "k1", to: "k1" },
    { ...link, to: "01J0000000000000000000000A" },
    { ...link, to: 2 },
  ],
  kind: [
    { ...link, kind: "contradicts" },
    { ...link, kind: "supersedes" },
    { ...link, kind: "transition" },
    { ...link, kind: "likes" },
  ],
  reason: [
    { ...link, reason: " " },
    { from: "f1", kind: "uses", to: "k2", strength: 4 },
  ],
  strength: [0, 6, 3.5, "5"].map((strength) => ({ ...link, strength })),
  weak: [{ ...link, strength: 2 }],
  repeated: [{ ...link, from: "k2", to: "f1", kind: "blocks" }],
};

describe("entries", () => {
  const facts = Object.entries(BROKEN_FACTS).flatMap(([rule, all]) =>
    all.map((entry) => [rule, entry] as const),
  );
  test.each(facts)("a fact that breaks %s is dropped, the others stand: %j", (rule, entry) => {
    const proposal = read({ facts: [fact, entry] });
    expect(proposal.facts).toHaveLength(1);
    expect([...proposal.dropped]).toEqual([[rule, 1]]);
  });

  const links = Object.entries(BROKEN_LINKS).flatMap(([rule, all]) =>
    all.map((entry) => [rule, entry] as const),
  );
  test.each(links)("a link that breaks %s is dropped, the others stand: %j", (rule, entry) => {
    const proposal = read({ facts: [fact], relationships: [link, entry] });
    expect(proposal.links).toEqual([link]);
    expect([...proposal.dropped]).toEqual([[rule, 1]]);
  });

  test("every rule is broken by something on this page", () => {
    const elsewhere: DropRule[] = ["too_many", "protected", "topics"];
    const broken = [...Object.keys(BROKEN_FACTS), ...Object.keys(BROKEN_LINKS), ...elsewhere];
    expect(new Set(broken)).toEqual(new Set(Object.keys(DROP_RULES)));
  });

  test("a link that rests on a dropped fact goes with it", () => {
    const proposal = read({
      facts: [fact, { ...fact, text: "Ada rests", turns: ["t9"] }],
      relationships: [{ ...link, from: "f2" }],
    });
    expect([...proposal.dropped]).toEqual([
      ["turn", 1],
      ["reference", 1],
    ]);
  });

  test("more than counts is cut off", () => {
    const many = Array.from({ length: LIMITS.extractFacts + 3 }, (_, at) => ({
      ...fact,
      text: `Ada has ${at} servers`,
    }));
    const proposal = read({ facts: many });
    expect(proposal.facts).toHaveLength(LIMITS.extractFacts);
    expect(proposal.dropped.get("too_many")).toBe(3);
  });

  test("a missing strength is 3, and links of the same topic are 2 and few for each memory", () => {
    const { strength: _, ...bare } = link;
    const many = ["One", "Two", "Three"].map((text) => ({ ...fact, text }));
    const topic = (from: string) => ({ ...link, from, to: "k3", kind: "same_topic", strength: 5 });
    const proposal = read({
      facts: many,
      relationships: [bare, topic("f1"), topic("f2"), topic("f3")],
    });
    expect(proposal.links.map(({ kind, strength }) => [kind, strength])).toEqual([
      ["enables", 3],
      ["same_topic", 2],
      ["same_topic", 2],
    ]);
    expect(proposal.dropped.get("topics")).toBe(1);
  });

  test.each(["identity", "preference", "constraint"])(
    "words from outside never state an %s; the conversation may",
    (type) => {
      const facts = [
        { ...fact, type },
        { ...fact, text: "The invoice is due in May" },
      ];
      expect(read({ facts }, "document").dropped.get("protected")).toBe(1);
      expect(read({ facts }, "extraction").facts).toHaveLength(2);
    },
  );
});

describe("what is known", () => {
  test("is not proposed again, and links to it reach the memory that says it", () => {
    const proposal = read({
      facts: [{ ...fact, text: "ada deploys on  Fridays." }],
      relationships: [link],
    });
    expect(proposal).toMatchObject({ facts: [], known: 1, links: [{ from: "k1", to: "k2" }] });
  });

  test.each([
    ["Ada deploys on Fridays", "Ada deploys on Mondays"],
    ["Ada uses C++", "Ada uses C#"],
    ["Ann manages Bob", "Bob manages Ann"],
    ["Ada eats meat", "Ada does not eat meat"],
    ["The limit is 10", "The limit is -10"],
    ["Ada has plan A", "Ada has plan B"],
    ["Ada had the hepatitis A shot", "Ada had the hepatitis shot"],
  ])("a changed value is no restatement: %s, %s", (a, b) => {
    expect(sameStatement(a, b)).toBe(false);
    expect(sameStatement(a, a)).toBe(true);
  });

  test("capitals, articles, spacing and a full stop do not make another statement", () => {
    expect(sameStatement("The server is in a rack.", "server is in  rack")).toBe(true);
  });
});
