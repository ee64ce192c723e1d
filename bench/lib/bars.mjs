/**
 * What the project demands of itself, in one table. A question measures figures under these names;
 * this file alone says which of them is good enough.
 */

/**
 * One demand. `memories` is the store size it is about: a figure from a smaller store is shown, and
 * marked as such.
 * @typedef {{
 *   readonly name: string,
 *   readonly question: string,
 *   readonly what: string,
 *   readonly is: ">=" | "<=" | "<",
 *   readonly limit: number,
 *   readonly unit: string,
 *   readonly memories?: number,
 * }} Bar
 *
 * @typedef {{ readonly value: number, readonly memories: number }} Figure
 *
 * @typedef {Bar & {
 *   readonly figure: number | undefined,
 *   readonly atMemories: number | undefined,
 *   readonly verdict: "pass" | "fail" | "not measured",
 *   readonly fullSize: boolean,
 * }} Judged
 */

const MILLION = 1_000_000;
const HUNDRED_THOUSAND = 100_000;

/** @type {readonly Bar[]} */
export const BARS = [
  ratio("batchOverRaw", "durable batch of 1,000 writes over the raw skeleton", 0.25),
  ratio("batchOverSqlite", "the same over the hand-rolled SQLite", 1),
  ratio("groupOverRaw", "64 concurrent writes over the raw skeleton", 0.4),
  ratio("singleOverRaw", "one awaited durable write over a raw commit of its rows", 0.65),
  grown("growth", "time of a batch in a full store over that at 10,000", "<=", 2, "x"),
  grown("growthOverRaw", "the same, over the raw skeleton's own growth", "<=", 1.25, "x"),
  grown("anonPeak", "anonymous memory while writing", "<=", 250, "MB"),
  grown("anonFlat", "its peak in the second half over that in the first", "<=", 1.2, "x"),
  grown("diskPerMemory", "disk per small memory", "<=", 2200, "bytes"),
  grown("open", "opening a full store", "<", 300, "ms"),
  atSize("getPerSecond", "read", "get of random ids, nothing decoded is kept", {
    is: ">=",
    limit: 100_000,
    unit: "gets/s",
  }),
  atSize("getOverSqlite", "read", "the same over SQLite by primary key", {
    is: ">=",
    limit: 1,
    unit: "x",
  }),
  atSize("pageOverSqlite", "page", "page of 50 by tag over SQLite", {
    is: ">=",
    limit: 1,
    unit: "x",
  }),
  ...moved("rebuild", 10_000),
  atSize("treesShare", "trees", "upkeep of the trees, share of a batch by processor time", {
    is: "<=",
    limit: 40,
    unit: "%",
  }),
  atSize("proofBytes", "prove", "proof of one memory, without its record", {
    is: "<=",
    limit: 1500,
    unit: "bytes",
  }),
  atSize("proveMs", "prove", "making it", { is: "<", limit: 1, unit: "ms" }),
  atSize("multiproofBytes", "prove", "proof of 100 memories, without their records", {
    is: "<=",
    limit: 40_000,
    unit: "bytes",
  }),
  atSize("verifyMs", "verify", "verifying the proof of one memory", {
    is: "<",
    limit: 0.3,
    unit: "ms",
  }),
  past("asOfGet", "get in the middle of a history of writes over get now"),
  past("asOfList", "the slowest of four listings there over the same now"),
  past("asOfGetChanges", "get in the middle of a history with changes over get now"),
  past("asOfListChanges", "the slowest of four listings there over the same now"),
  ...["Get", "Find", "Recall"].map((verb) =>
    atSize(
      `verified${verb}`,
      "verified",
      `${verb.toLowerCase()} with verified reads over without`,
      {
        is: "<=",
        limit: 1.08,
        unit: "x",
      },
    ),
  ),
  atSize("searchMs", "search", "three words, ten hits, half of the calls", {
    is: "<=",
    limit: 4,
    unit: "ms",
  }),
  atSize("searchP95Ms", "search", "the time that 95 of 100 of them stay below", {
    is: "<=",
    limit: 15,
    unit: "ms",
  }),
  atSize("searchOverSqlite", "search", "how many times as fast as SQLite's full-text index", {
    is: ">=",
    limit: 1,
    unit: "x",
  }),
  {
    ...grown("searchGrowth", "a search in a full store over one at 100,000", "<=", 3, "x"),
    question: "search",
  },
  atSize("searchUpkeep", "search", "upkeep of the text index, share of a batch", {
    is: "<=",
    limit: 30,
    unit: "%",
  }),
  atSize("findMs", "find", "20 hits of a type, a tag and a pattern, half of the calls", {
    is: "<=",
    limit: 1,
    unit: "ms",
  }),
  atSize("findRowsPerHit", "find", "rows read for each of them", {
    is: "<=",
    limit: 20,
    unit: "rows",
  }),
  atSize("forgetMs", "forget", "forgetting one memory", { is: "<", limit: 20, unit: "ms" }),
  atSize("nearMs", "near", "the 10 nearest of 384 numbers", { is: "<=", limit: 3, unit: "ms" }),
  atSize("nearRecall", "near", "how many of the truly nearest they are", {
    is: ">=",
    limit: 97,
    unit: "%",
  }),
  ...moved("export", 20_000),
  ...moved("import", 8_000),
  ...broughtIn("jsonl"),
  ...broughtIn("memgraph"),
  atSize("contextMs", "context", "a context bundle of 3,000 tokens, half of the calls", {
    is: "<=",
    limit: 5,
    unit: "ms",
  }),
  ofGrowth("findGrowth", "a find in a full store over one in a tenth of it", 1.5, "x"),
  ofGrowth("contextGrowth", "a context bundle there over one in a tenth of it", 1.5, "x"),
  ofGrowth("idleMb", "anonymous memory of an idle open store", 250, "MB"),
  atSize("recallMs", "recall", "an answer without a model, half of the calls", {
    is: "<=",
    limit: 5,
    unit: "ms",
  }),
  atSize("recallP95Ms", "recall", "the time that 95 of 100 answers stay below", {
    is: "<=",
    limit: 25,
    unit: "ms",
  }),
  atSize("recallLaneMs", "recall", "an answer with the local model, half of the calls", {
    is: "<=",
    limit: 9,
    unit: "ms",
  }),
  ofRecall(
    "recallFullMs",
    "an answer without a model in a full store, half of the calls",
    12,
    "ms",
  ),
  ofRecall("recallGrowth", "the same over an answer at 100,000", 3, "x"),
  atSize(
    "rememberPerSecond",
    "recall",
    "remembering 1,000 turns in 50 sessions, durably, half of them",
    {
      is: ">=",
      limit: 11_000,
      unit: "turns/s",
    },
  ),
  atSize("rememberSlowest", "recall", "the slowest thousand of the run", {
    is: ">=",
    limit: 4000,
    unit: "turns/s",
  }),
  ofPostgres(
    "postgresBatch",
    "durable batch of 1,000 writes over one insert of its rows",
    ">=",
    0.5,
    "x",
  ),
  ofPostgres("postgresSingle", "one awaited write over a transaction of one row", "<=", 2.5, "x"),
  ofPostgres("postgresMany", "writers on 64 actors over pgbench's simple update", ">=", 0.4, "x"),
  ofPostgres("postgresGet", "get over a select by primary key", "<=", 2, "x"),
  ofPostgres("postgresFindMs", "find, half of the calls", "<=", 6, "ms"),
  ofPostgres("postgresSearchMs", "search, half of the calls", "<=", 10, "ms"),
  ofPostgres("postgresRecallMs", "recall, half of the calls", "<=", 25, "ms"),
  ofPostgres("postgresRebuild", "rebuild", ">=", 3000, "entries/s"),
  ofPostgres("postgresBytes", "table and index of a small memory", "<=", 2048, "bytes"),
  ofHub("hubListMs", "list of 5,000 graphs", "<", 100, "ms"),
  ofHub("hubOpenMs", "opening one of them that is closed, and a read, 95 of 100", "<", 50, "ms"),
  ofHub("hubMemoryMb", "resident memory after a read in every one of them", "<=", 300, "MB"),
  {
    ...ofHub(
      "hubWalkMs",
      "walk from a lineage with 10,000 edges, half of the calls",
      "<=",
      30,
      "ms",
    ),
    memories: 10_000,
  },
  overHttp("httpReads", "GET of one memory at 32 connections", ">=", 12_000, "requests/s"),
  overHttp("httpReadP99", "the time that 99 of 100 of them stay below", "<=", 15, "ms"),
  overHttp("httpWrites", "durable POST of one memory at 32 connections", ">=", 2000, "requests/s"),
  likeMemgraph("memgraphPutNode", "put_node over the hand-written store", 2),
  likeMemgraph("memgraphPutNamed", "the same with a lineage id that is new", 2),
  likeMemgraph("memgraphNewVersion", "a new version of a lineage", 2),
  likeMemgraph("memgraphPutEdge", "put_edge", 2),
  likeMemgraph("memgraphTraverse", "traverse of two levels", 1),
  likeMemgraph("memgraphList", "list of 50 nodes", 1),
  likeMemgraph("memgraphReadP95", "get_node, the time that 95 of 100 stay below", 1),
  {
    ...likeMemgraph("memgraphLost", "writes lost of two servers that write at once", 0),
    unit: "writes",
  },
  inStudio("studioFirst", "first paint of the studio with data", 1500),
  inStudio("studioOpen", "opening a memory in it", 150),
  inStudio("studioAsk", "asking in it, to painted hits", 300),
  inStudio("studioFrame", "its main thread for a frame while panning 5,000 memories", 25),
  overMcp("mcpCalls", "memory_get over stdio, 50 calls under way", ">=", 2000, "calls/s"),
  overMcp("versionMs", "`cortex --version`", "<=", 150, "ms"),
  overMcp("mcpStartMs", "from the start of `cortex mcp` to its first answer", "<=", 400, "ms"),
];

/**
 * Judges the figures of the questions that were asked.
 * @param {readonly string[]} questions
 * @param {ReadonlyMap<string, Figure>} figures
 * @returns {Judged[]}
 */
export function judge(questions, figures) {
  return BARS.filter(({ question }) => questions.includes(question)).map((bar) => {
    const found = figures.get(bar.name);
    const fullSize = found !== undefined && found.memories >= (bar.memories ?? 0);
    const about = { ...bar, figure: found?.value, atMemories: found?.memories, fullSize };
    if (found === undefined || Number.isNaN(found.value)) {
      return { ...about, verdict: "not measured" };
    }
    return { ...about, verdict: holds(bar, found.value) ? "pass" : "fail" };
  });
}

/**
 * @param {Bar} bar
 * @param {number} value
 */
function holds({ is, limit }, value) {
  switch (is) {
    case ">=":
      return value >= limit;
    case "<=":
      return value <= limit;
    case "<":
      return value < limit;
  }
}

/**
 * A bar for answers in a store of a million memories.
 * @param {string} name
 * @param {string} what
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function ofRecall(name, what, limit, unit) {
  return { name, question: "recall", what, is: "<=", limit, unit, memories: MILLION };
}

/**
 * @param {string} name
 * @param {string} what
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function ofGrowth(name, what, limit, unit) {
  return { name, question: "growth", what, is: "<=", limit, unit, memories: MILLION };
}

/**
 * @param {string} name
 * @param {string} what
 * @param {number} limit
 * @returns {Bar}
 */
function ratio(name, what, limit) {
  return { name, question: "write", what, is: ">=", limit, unit: "x", memories: 10_000 };
}

/**
 * @param {string} name
 * @param {string} what
 * @param {"<=" | "<"} is
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function grown(name, what, is, limit, unit) {
  return { name, question: "write", what, is, limit, unit, memories: MILLION };
}

/**
 * A bar for a store of a hundred thousand memories.
 * @param {string} name
 * @param {string} question
 * @param {string} what
 * @param {Pick<Bar, "is" | "limit" | "unit">} demand
 * @returns {Bar}
 */
function atSize(name, question, what, demand) {
  return { name, question, what, ...demand, memories: HUNDRED_THOUSAND };
}

/**
 * A bar for stores in a database.
 * @param {string} name
 * @param {string} what
 * @param {Bar["is"]} is
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function ofPostgres(name, what, is, limit, unit) {
  return { name, question: "postgres", what, is, limit, unit, memories: HUNDRED_THOUSAND };
}

/**
 * A bar for a hub; what counts as its size is the number of graphs.
 * @param {string} name
 * @param {string} what
 * @param {"<=" | "<"} is
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function ofHub(name, what, is, limit, unit) {
  return { name, question: "hub", what, is, limit, unit, memories: 5000 };
}

/**
 * A bar for memgraph's calls over MCP: our time over that of the store written by hand in the same run.
 * @param {string} name
 * @param {string} what
 * @param {number} limit
 * @returns {Bar}
 */
function likeMemgraph(name, what, limit) {
  return { name, question: "memgraph", what, is: "<=", limit, unit: "x", memories: 5000 };
}

/**
 * A bar for the page in the browser, in milliseconds; every memory has three links.
 * @param {string} name
 * @param {string} what
 * @param {number} limit
 * @returns {Bar}
 */
function inStudio(name, what, limit) {
  return { name, question: "studio", what, is: "<=", limit, unit: "ms", memories: 20_000 };
}

/**
 * @param {string} name
 * @param {string} what
 * @param {">=" | "<="} is
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function overHttp(name, what, is, limit, unit) {
  return { name, question: "http", what, is, limit, unit, memories: 20_000 };
}

/**
 * @param {string} name
 * @param {string} what
 * @param {">=" | "<="} is
 * @param {number} limit
 * @param {string} unit
 * @returns {Bar}
 */
function overMcp(name, what, is, limit, unit) {
  return { name, question: "mcp", what, is, limit, unit, memories: 20_000 };
}

/**
 * @param {string} name
 * @param {string} what
 * @returns {Bar}
 */
function past(name, what) {
  return atSize(name, "asof", what, { is: "<=", limit: 2, unit: "x" });
}

/**
 * The two bars of a pass over the whole journal: its rate, and memory that does not grow with it.
 * @param {"rebuild" | "export" | "import"} question
 * @param {number} perSecond
 * @returns {Bar[]}
 */
function moved(question, perSecond) {
  const flat = "its anonymous memory, peak of the second half over that of the first";
  return [
    atSize(`${question}PerSecond`, question, question, {
      is: ">=",
      limit: perSecond,
      unit: "entries/s",
    }),
    atSize(`${question}Flat`, question, flat, { is: "<=", limit: 1.2, unit: "x" }),
  ];
}

/**
 * The two bars of an import of another program's notes with links.
 * @param {string} program
 * @returns {Bar[]}
 */
function broughtIn(program) {
  const flat = "its anonymous memory, peak of the second half over that of the first";
  const notes = `notes with links from ${program}`;
  return [
    atSize(`${program} importersPerSecond`, "importers", notes, {
      is: ">=",
      limit: 3000,
      unit: "notes/s",
    }),
    atSize(`${program} importersFlat`, "importers", flat, { is: "<=", limit: 1.2, unit: "x" }),
  ];
}
