/**
 * The cases of memgraph's store contract, each by its number, on every backend: in memory, in files, and in a
 * database: PGlite on machines without a server, that of `CORTEX_TEST_POSTGRES` elsewhere.
 *
 * Numbers 55 to 69 (MCP) and 85 to 97 (REST) belong to the doors, 98 to 100 to an optional layer of
 * documents that is not offered, and 76 to 84 to the importer of kb notes: they are tested where those
 * are. All others are here.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestHub, type TestHubOptions } from "../src/testing/index.js";
import { CONFLICT_CASES } from "./memgraph-cases/conflicts.js";
import { EDGE_CASES } from "./memgraph-cases/edges.js";
import { EVENT_CASES } from "./memgraph-cases/events.js";
import { GRAPH_CASES } from "./memgraph-cases/graphs-and-versions.js";
import { LIST_CASES } from "./memgraph-cases/lists.js";
import { SEARCH_CASES } from "./memgraph-cases/search.js";
import { SUBGRAPH_CASES } from "./memgraph-cases/subgraphs.js";
import { startPglite } from "./pglite-server.js";

const CASES = [
  ...GRAPH_CASES,
  ...EDGE_CASES,
  ...LIST_CASES,
  ...CONFLICT_CASES,
  ...EVENT_CASES,
  ...SEARCH_CASES,
  ...SUBGRAPH_CASES,
];

/** The first and the last number of each run of cases that belongs to the store. */
const OURS = [
  [1, 54],
  [70, 75],
] as const;

test("every case of the store is here, once", () => {
  const expected = OURS.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at),
  );
  const numbers = CASES.map(({ number }) => number).sort((a, b) => a - b);
  expect(numbers).toEqual(expected);
});

let server: { readonly url: string; stop(): Promise<void> } | undefined;

/** Where the run has a database, what would be in memory is there. */
const hasDatabase = (process.env.CORTEX_TEST_POSTGRES ?? "") !== "";

beforeAll(async () => {
  if (!hasDatabase) server = await startPglite();
});
afterAll(() => server?.stop());

/** How a hub is opened in each place. */
const PLACES: { readonly [place: string]: () => TestHubOptions } = {
  memory: () => ({ backend: "memory" }),
  lmdb: () => ({ backend: "lmdb" }),
  postgres: () => ({ database: server?.url }),
};

const places = hasDatabase
  ? (["lmdb", "postgres"] as const)
  : (["memory", "lmdb", "postgres"] as const);

describe.each(places)("on %s", (place) => {
  for (const { number, title, run } of CASES) {
    test(`case ${number}: ${title}`, async () => {
      await using world = await openTestHub(PLACES[place]?.());
      await run(world);
    });
  }
});
