/** The data of every type: what is enough, what is taken whole, refusals that name the field. */
import { describe, expect, it } from "vitest";
import { LIMITS } from "../limits.js";
import { failure } from "../testing/failure.js";
import { claimText, DATA_SCHEMAS, parseData, turnData } from "./data.js";
import { parseWith } from "./fields.js";
import { primaryText } from "./memory-record.js";
import { MEMORY_TYPES, type MemoryType, namesOf } from "./types.js";

const TYPES = namesOf(MEMORY_TYPES);

const refuse = (type: MemoryType, data: unknown, text?: string) =>
  failure(() => parseData(type, { data, ...(text === undefined ? {} : { text }) }, "ada"));

describe("one sentence is enough", () => {
  it.each([
    ["identity", { statement: "S" }],
    ["fact", { statement: "S", subject: "ada" }],
    ["preference", { statement: "S" }],
    ["belief", { statement: "S", subject: "ada", stance: "believe" }],
    ["event", { statement: "S", kind: "observation" }],
    ["goal", { statement: "S", status: "active" }],
    ["constraint", { statement: "S", strength: "hard", source: "user_declared" }],
    ["capability", { statement: "S", subject: "ada" }],
    ["pattern", { statement: "S" }],
    ["note", { content: "S" }],
    ["artifact", { title: "S" }],
  ] as const)("%s", (type, expected) => {
    const alone = parseData(type, { text: "S" }, "ada");
    expect(alone).toStrictEqual(expected);
    // The path through the schema gives the same.
    expect(parseData(type, { text: "S", data: {} }, "ada")).toStrictEqual(expected);
    expect(parseData(type, { data: alone }, "bob")).toStrictEqual(expected);
    expect(primaryText(type, alone)).toBe("S");
  });

  it("keeps the text as it came", () => {
    const text = "  two  lines\n\tand e\u0301 \u{1f600} ";
    expect(parseData("fact", { text }, "ada").statement).toBe(text);
  });

  it.each(TYPES)("%s: text and the same words in data are one", (type) => {
    const name = type === "note" ? "content" : type === "artifact" ? "title" : "statement";
    const same = parseData(type, { text: "S", data: { [name]: "S" } }, "ada");
    expect(same).toStrictEqual(parseData(type, { text: "S" }, "ada"));
    const error = refuse(type, { [name]: "T" }, "S");
    expect([error.code, error.details.field]).toEqual(["ERR_INVALID", `data.${name}`]);
    expect(error.message).not.toMatch(/"[ST]"/);
  });
});

/** Every type with every field it can have. */
const COMPLETE: { readonly [T in MemoryType]: object } = {
  identity: {
    statement: "S",
    name: "Ada",
    did: "did:key:z",
    wallets: ["w"],
    roles: ["r"],
    publicKeys: ["AAAA", "AAA", "AA", "a-_9"],
    agentName: "B",
    expertiseDomains: ["e"],
    metadata: { k: [1] },
  },
  fact: {
    statement: "S",
    subject: "s",
    predicate: "p",
    object: { a: [1] },
    source: "u",
    asOf: -1,
    metadata: { k: [1] },
  },
  preference: {
    statement: "S",
    topic: "t",
    value: 0,
    polarity: "dont",
    strength: 0.25,
    rationale: "because",
    metadata: { k: [1] },
  },
  belief: {
    statement: "S",
    subject: "s",
    stance: "suspect",
    evidenceFor: [],
    evidenceAgainst: ["e"],
    metadata: { k: [1] },
  },
  event: {
    statement: "S",
    kind: "payment",
    intentRef: "i",
    counterparty: "c",
    outcome: "partial",
    cost: { asset: "EUR", amount: "1.50" },
    durationMs: 0,
    artifacts: ["a"],
    summary: "s",
    metadata: { k: [1] },
  },
  goal: {
    statement: "S",
    horizonEnd: 1,
    successCriteria: ["c"],
    status: "paused",
    subgoals: ["g"],
    verbHint: "find",
    objects: [
      { kind: "plan", ref: "r" },
      { kind: "asset", ref: "r", value: [null] },
    ],
    constraints: [
      { type: "deadline", hard: true, statement: "s" },
      { type: "x:own", hard: false, statement: "s", data: { a: 1 } },
    ],
    budget: { dailyMax: "1", totalMax: "2", maxIntentsPerDay: 3, maxConcurrent: 4 },
    persistent: false,
    createdBy: "ada",
    metadata: { k: [1] },
  },
  constraint: {
    statement: "S",
    polarity: "do",
    trigger: "t",
    strength: "firm",
    source: "learned",
    metadata: { k: [1] },
  },
  capability: {
    statement: "S",
    subject: "s",
    capability: "c",
    parameters: true,
    verified: false,
    lastObserved: 5,
    metadata: { k: [1] },
  },
  pattern: { statement: "S", derivedFrom: ["d"], strength: 1, coverage: 7, metadata: {} },
  note: { content: "c", summary: "s", metadata: { a: { b: [] } } },
  artifact: {
    uri: "u",
    title: "t",
    mediaType: "a/b",
    digest: "sha256:x",
    sizeBytes: 9,
    description: "d",
    metadata: { k: [1] },
  },
};

describe("structured data", () => {
  it.each([
    ["identity", { name: "Ada" }],
    ["fact", { predicate: "lives_in", object: "Porto" }],
    ["fact", { subject: "Bob", predicate: "age", object: null }],
    ["preference", { topic: "peanuts", polarity: "avoid" }],
    ["belief", { statement: "S" }],
    ["event", { kind: "payment", outcome: "success" }],
    ["event", { summary: "It rained" }],
    ["goal", { statement: "S" }],
    ["constraint", { statement: "S" }],
    ["capability", { capability: "deploy" }],
    ["pattern", { statement: "S" }],
    ["note", { content: "" }],
    ["note", { summary: "s" }],
    ["note", { metadata: {} }],
    ["artifact", { uri: "file:///a" }],
    ["artifact", { title: "A" }],
  ] as const)("%s %j is enough", (type, data) => {
    expect(parseData(type, { data }, "ada")).toMatchObject(data);
  });

  it.each([
    [
      "identity",
      { did: "did:x" },
      "an identity needs a sentence in text, or in data: name; got none",
    ],
    ["fact", { predicate: "lives_in" }, "or in data: predicate and object"],
    ["fact", { subject: "Ada", object: 1 }, "or in data: predicate and object"],
    ["preference", { topic: "peanuts" }, "or in data: topic and polarity"],
    ["preference", { polarity: "avoid" }, "or in data: topic and polarity"],
    ["belief", { stance: "doubt" }, "a belief needs a sentence in text; got none"],
    [
      "event",
      { kind: "payment" },
      "an event needs a sentence in text, or in data: summary, or kind and outcome",
    ],
    ["event", { outcome: "success" }, "or in data: summary, or kind and outcome"],
    ["goal", { status: "active" }, "a goal needs a sentence in text"],
    ["constraint", { strength: "soft" }, "a constraint needs a sentence in text"],
    ["capability", { subject: "x" }, "or in data: capability"],
    ["pattern", { strength: 1 }, "a pattern needs a sentence in text"],
    ["note", {}, "or in data: summary, or metadata"],
    ["artifact", { mediaType: "a/b" }, "an artifact needs a sentence in text, or in data: uri"],
  ] as const)("%s %j is too little", (type, data, part) => {
    const error = refuse(type, data);
    expect([error.code, error.details.field]).toEqual(["ERR_INVALID", "text"]);
    expect(error.message).toContain(part);
  });

  it.each(TYPES)("%s: nothing at all is too little", (type) => {
    expect(failure(() => parseData(type, {}, "ada")).code).toBe("ERR_INVALID");
  });

  it("takes every field of every type and gives it back", () => {
    for (const type of TYPES) {
      expect(parseData(type, { data: COMPLETE[type] }, "ada")).toStrictEqual(COMPLETE[type]);
      // The list is complete.
      expect(Object.keys(COMPLETE[type]).sort()).toEqual(
        Object.keys(DATA_SCHEMAS[type].shape).sort(),
      );
    }
  });
});

describe("refusals name the field", () => {
  const LABEL_BYTES = `at most ${LIMITS.labelBytes} bytes of text`;
  it.each([
    ["preference", { strength: 1.1 }, "data.strength: expected at most 1, got 1.1"],
    ["preference", { strength: -0.1 }, "data.strength: expected at least 0, got -0.1"],
    ["preference", { strength: Number.NaN }, "data.strength: expected a finite number, got NaN"],
    [
      "preference",
      { strength: Number.POSITIVE_INFINITY },
      "data.strength: expected a finite number, got Infinity",
    ],
    ["preference", { strength: "hard" }, 'data.strength: expected a finite number, got "hard"'],
    [
      "preference",
      { polarity: "likes" },
      'data.polarity: expected one of prefer, avoid, neutral, do, dont, got "likes"',
    ],
    [
      "belief",
      { stance: "Believe" },
      'data.stance: expected one of believe, doubt, suspect, got "Believe"',
    ],
    [
      "event",
      { outcome: "ok" },
      'data.outcome: expected one of success, failure, partial, got "ok"',
    ],
    ["event", { kind: "party" }, "data.kind: expected one of intent_completed, "],
    ["event", { cost: { asset: "EUR" } }, "data.cost.amount: expected a string, got nothing"],
    [
      "event",
      { cost: { asset: "EUR", amount: "1e3" } },
      'data.cost.amount: expected a decimal amount such as "12.50", got "1e3"',
    ],
    ["event", { durationMs: -1 }, "data.durationMs: expected at least 0, got -1"],
    [
      "goal",
      { status: "done" },
      "data.status: expected one of active, paused, completed, abandoned",
    ],
    ["goal", { verbHint: "x:fly" }, "data.verbHint: expected one of find, "],
    ["goal", { horizonEnd: 1.5 }, "data.horizonEnd: expected milliseconds since 1970, a Date or"],
    [
      "goal",
      { horizonEnd: "soon" },
      "data.horizonEnd: expected milliseconds since 1970, a Date or",
    ],
    [
      "goal",
      { objects: [{ kind: "thing", ref: "r" }] },
      "data.objects[0].kind: expected one of service",
    ],
    [
      "goal",
      { objects: [{ kind: "plan", ref: " " }] },
      "data.objects[0].ref: expected text that is not",
    ],
    [
      "goal",
      { constraints: [{ type: "x:" }] },
      "data.constraints[0].type: expected one of budget, ",
    ],
    [
      "goal",
      { budget: { maxConcurrent: 0.5 } },
      "data.budget.maxConcurrent: expected a whole number",
    ],
    ["goal", { persistent: 1 }, "data.persistent: expected true or false, got 1"],
    ["constraint", { strength: 0.9 }, "data.strength: expected one of soft, firm, hard, got 0.9"],
    [
      "constraint",
      { source: "user" },
      "data.source: expected one of user_declared, learned, inferred",
    ],
    ["capability", { verified: "yes" }, "data.verified: expected true or false"],
    ["pattern", { coverage: -1 }, "data.coverage: expected at least 0"],
    [
      "identity",
      { publicKeys: ["a+/="] },
      'data.publicKeys[0]: expected base64url text, got "a+/="',
    ],
    ["identity", { publicKeys: ["AAAAA"] }, "data.publicKeys[0]: expected base64url text"],
    ["identity", { roles: "editor" }, 'data.roles: expected an array, got "editor"'],
    ["identity", { name: "" }, "data.name: expected text that is not blank, got an empty string"],
    [
      "fact",
      { statement: "   " },
      "data.statement: expected text that is not blank, got a blank string",
    ],
    ["fact", { predicate: "\t" }, "data.predicate: expected text that is not blank"],
    ["fact", { object: { a: [Number.NaN] } }, "data.object.a[0]: expected a finite number"],
    ["fact", { object: new Date(0) }, "data.object: expected a JSON value, got an object"],
    ["note", { metadata: [] }, "data.metadata: expected an object, got an array of 0"],
    ["note", { content: 5 }, "data.content: expected a string, got 5"],
    ["artifact", { sizeBytes: 1.5 }, "data.sizeBytes: expected a whole number"],
    ["fact", null, "data: expected an object, got null"],
    ["fact", "Ada", 'data: expected an object, got "Ada"'],
    ["fact", [], "data: expected an object, got an array of 0"],
  ] as const)("%s %j", (type, data, message) => {
    const error = refuse(type, data, type === "note" ? undefined : "S");
    expect(error.code).toBe("ERR_INVALID");
    expect(error.message).toContain(message);
  });

  it.each([
    ["fact", { statement: "x".repeat(LIMITS.contentBytes + 1) }, "data.statement"],
    ["fact", { subject: "é".repeat(LIMITS.labelBytes / 2 + 1) }, "data.subject"],
    ["identity", { roles: new Array(LIMITS.listItems + 1).fill("r") }, "data.roles"],
    ["fact", { object: "x".repeat(LIMITS.metadataBytes) }, "data.object"],
    ["note", { metadata: { a: "x".repeat(LIMITS.metadataBytes) } }, "data.metadata.a"],
  ] as const)("%s over a limit", (type, data, field) => {
    const error = refuse(type, data);
    expect([error.code, error.details.field]).toEqual(["ERR_TOO_LARGE", field]);
  });

  it("takes what is exactly at a limit", () => {
    const subject = "é".repeat(LIMITS.labelBytes / 2);
    const text = "x".repeat(LIMITS.contentBytes);
    expect(parseData("fact", { text, data: { subject } }, "ada")).toEqual({
      statement: text,
      subject,
    });
    expect(refuse("fact", { subject: `${subject}x` }, "S").details.expected).toBe(LABEL_BYTES);
  });

  it("refuses many lists that only together are too much", () => {
    const list = new Array(LIMITS.listItems).fill("x".repeat(LIMITS.labelBytes));
    expect(parseData("identity", { data: { name: "A", roles: list } }, "ada").roles).toEqual(list);
    const error = refuse("identity", { name: "A", roles: list, wallets: list });
    expect([error.code, error.details.field]).toEqual(["ERR_TOO_LARGE", "data"]);
  });

  it.each([
    [
      "fact",
      { strengthVal: 1 },
      "data.strengthVal",
      "statement, subject, predicate, object, source, asOf",
    ],
    ["goal", { budget: { dailyPaxMax: "1" } }, "data.budget.dailyPaxMax", "dailyMax, totalMax"],
    ["note", { statement: "S" }, "data.statement", "content, summary, metadata"],
    ["belief", JSON.parse('{"__proto__": 1}'), "data.__proto__", "statement, subject, stance"],
  ] as const)("%s %j has an unknown field", (type, data, field, known) => {
    const error = refuse(type, data, "S");
    expect([error.code, error.details.field]).toEqual(["ERR_UNKNOWN_FIELD", field]);
    expect(error.message).toContain(known);
  });

  it.each([
    ["statement", "a\ud800b"],
    ["subject", "\udc00"],
    ["predicate", "\ud800\ud800"],
  ])("refuses a lone surrogate in %s", (name, value) => {
    const error = refuse("fact", { [name]: value });
    expect([error.code, error.details.field]).toEqual(["ERR_ILL_FORMED", `data.${name}`]);
  });

  it("checks the text as strictly", () => {
    const code = (type: MemoryType, text: unknown) =>
      failure(() => parseData(type, { text: text as string }, "ada"));
    expect(code("fact", "").message).toContain("text: expected text that is not blank");
    expect(code("fact", " \n").code).toBe("ERR_INVALID");
    expect(code("artifact", "").code).toBe("ERR_INVALID");
    expect(code("fact", "a\ud800").code).toBe("ERR_ILL_FORMED");
    expect(code("fact", 7).message).toBe("text: expected a string, got 7");
    expect(code("fact", null).message).toBe("text: expected a string, got null");
    expect(code("note", "x".repeat(LIMITS.contentBytes + 1)).code).toBe("ERR_TOO_LARGE");
    expect(code("artifact", "x".repeat(LIMITS.labelBytes + 1)).code).toBe("ERR_TOO_LARGE");
    expect(parseData("note", { text: "" }, "ada")).toEqual({ content: "" });
  });
});

describe("results", () => {
  it("never hold undefined, at any depth", () => {
    const data = {
      statement: "S",
      status: undefined,
      budget: { dailyMax: undefined, totalMax: "1" },
      objects: [{ kind: "plan", ref: "r", value: undefined }],
    };
    expect(parseData("goal", { data, text: undefined }, "ada")).toStrictEqual({
      statement: "S",
      status: "active",
      budget: { totalMax: "1" },
      objects: [{ kind: "plan", ref: "r" }],
    });
  });

  it("do not share anything with the input, which stays as it was", () => {
    const data = Object.freeze({ statement: "S", roles: Object.freeze(["a"]) });
    const parsed = parseData("identity", { data }, "ada");
    expect(parsed.roles).not.toBe(data.roles);
    expect(data).toEqual({ statement: "S", roles: ["a"] });
  });
});

describe("turns", () => {
  const turn = { session: "s", index: 0, role: "user", content: "" };
  const parse = (data: unknown) => parseWith(turnData, data, "turns[3]");

  it("takes the least and the most", () => {
    expect(parse(turn)).toStrictEqual(turn);
    const full = {
      ...turn,
      role: "tool_result",
      speaker: "Ada",
      at: -5,
      toolName: "search",
      chunk: 1,
      chunks: 2,
    };
    expect(parse(full)).toStrictEqual(full);
    expect(primaryText("note", parse({ ...turn, content: "hello" }))).toBe("hello");
    expect(primaryText("note", parse(turn))).toBe("");
  });

  it.each([
    [{ session: "" }, "turns[3].session", "ERR_INVALID"],
    [{ session: "a\nb" }, "turns[3].session", "ERR_INVALID"],
    [{ session: "x".repeat(LIMITS.sessionBytes + 1) }, "turns[3].session", "ERR_TOO_LARGE"],
    [{ session: undefined }, "turns[3].session", "ERR_INVALID"],
    [{ index: -1 }, "turns[3].index", "ERR_INVALID"],
    [{ index: 0.5 }, "turns[3].index", "ERR_INVALID"],
    [{ role: "human" }, "turns[3].role", "ERR_INVALID"],
    [{ content: undefined }, "turns[3].content", "ERR_INVALID"],
    [{ content: "x".repeat(LIMITS.contentBytes + 1) }, "turns[3].content", "ERR_TOO_LARGE"],
    [{ content: "\ud83d" }, "turns[3].content", "ERR_ILL_FORMED"],
    [{ speaker: "x".repeat(LIMITS.speakerBytes + 1) }, "turns[3].speaker", "ERR_TOO_LARGE"],
    [{ speaker: " " }, "turns[3].speaker", "ERR_INVALID"],
    [{ at: "yesterday" }, "turns[3].at", "ERR_INVALID"],
    [{ toolName: "" }, "turns[3].toolName", "ERR_INVALID"],
    [{ chunk: 0 }, "turns[3].chunk", "ERR_INVALID"],
    [{ chunks: 1 }, "turns[3].chunk", "ERR_INVALID"],
    [{ chunk: 2, chunks: 2 }, "turns[3].chunk", "ERR_INVALID"],
    [{ chunk: 0, chunks: 0 }, "turns[3].chunks", "ERR_INVALID"],
    [{ name: "Ada" }, "turns[3].name", "ERR_UNKNOWN_FIELD"],
  ])("refuses %j", (change, field, code) => {
    const error = failure(() => parse({ ...turn, ...change }));
    expect([error.details.field, error.code]).toEqual([field, code]);
  });
});

describe("the text that stands for a memory", () => {
  it.each([
    ["identity", { name: "Ada" }, "Ada"],
    ["fact", { predicate: "lives_in", object: "Porto" }, "ada lives_in Porto"],
    ["fact", { predicate: "tags", object: { b: 1, a: [null] } }, 'ada tags {"a":[null],"b":1}'],
    ["fact", { predicate: "tags", object: ["b", "a"] }, 'ada tags ["b","a"]'],
    ["fact", { predicate: "tags", object: null }, "ada tags null"],
    ["preference", { topic: "peanuts", polarity: "avoid" }, "avoid peanuts"],
    ["preference", { topic: "coffee", polarity: "prefer", value: 2 }, "prefer coffee 2"],
    ["event", { summary: "It rained", outcome: "partial" }, "It rained"],
    ["event", { kind: "payment", counterparty: "Bob", outcome: "success" }, "payment Bob success"],
    ["capability", { capability: "deploy" }, "ada deploy"],
    ["note", { content: "", summary: "s" }, "s"],
    ["note", { content: "c", summary: "s" }, "c"],
    ["note", { metadata: {} }, ""],
    ["artifact", { uri: "file:///a" }, "file:///a"],
    ["artifact", { uri: "file:///a", title: "A" }, "A"],
  ] as const)("%s %j", (type, data, text) => {
    expect(primaryText(type, parseData(type, { data }, "ada"))).toBe(text);
  });

  it("tells claims apart that use the same words in another sense", () => {
    const claim = (type: MemoryType, data: object) =>
      claimText(type, parseData(type, { text: "X", data }, "ada"));
    expect(claim("belief", {})).toBe("X");
    expect(claim("belief", { stance: "doubt" })).toBe("doubt: X");
    expect(claim("goal", {})).toBe("X");
    expect(claim("goal", { status: "abandoned" })).toBe("abandoned: X");
    expect(claim("constraint", {})).toBe("X");
    expect(claim("constraint", { polarity: "dont" })).toBe("dont: X");
    expect(claim("preference", { polarity: "avoid" })).toBe("avoid: X");
    expect(claim("fact", {})).toBe("X");
  });
});
