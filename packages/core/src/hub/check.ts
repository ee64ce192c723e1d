/**
 * Checking the catalogue against the graphs, and building it again from them.
 *
 * The check folds every journal into a second catalogue in memory and compares row by row, so it finds whatever
 * a mistake, a lost write or a damaged file left behind. It repairs nothing but, on request, lineages that are
 * visible in several graphs: by a move that was cut short, or in stores of earlier releases. Numbers of graphs
 * differ between two catalogues, so rows are compared under the names of graphs.
 */

import { checkOptions, memoryId } from "../engine/engine.js";
import { describe } from "../errors.js";
import { scan } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import { openKv } from "../open.js";
import { Catalogue, type GraphProblem } from "./catalogue.js";
import {
  allRows,
  CATALOGUE,
  decodeGraphRow,
  lineageHash,
  numberAtEnd,
  numberOf,
  numberPlace,
} from "./catalogue-rows.js";
import { type HubContext, isGraphId } from "./context.js";
import { areApart, leftFor } from "./lineages.js";
import { CATALOGUE_FOLDER } from "./stores.js";

/** What a check of a hub found. */
export interface HubCheckReport {
  readonly ok: boolean;
  readonly graphs: number;
  /** Rows of the catalogue that were compared. */
  readonly rows: number;
  /** Everything that is wrong: with the catalogue, or with a graph. */
  readonly problems: readonly GraphProblem[];
}

/** What building a catalogue again did. */
export interface HubRebuildReport {
  readonly graphs: number;
  readonly rows: number;
  readonly problems: readonly GraphProblem[];
}

/** How a hub is checked. */
export interface HubCheckOptions {
  /** True checks every graph as well, in full. */
  readonly graphs?: boolean;
  /** True hides, of a lineage that is visible in several graphs, all but its head. */
  readonly repair?: boolean;
}

/** Problems of the catalogue that are told; more would not help anybody. */
const PROBLEMS_TOLD = 100;
/** Times that a check starts over because somebody wrote meanwhile. */
const ATTEMPTS = 5;

/** Checks the catalogue, and the graphs if asked to. */
export async function checkHub(
  hub: HubContext,
  options: HubCheckOptions = {},
): Promise<HubCheckReport> {
  checkOptions(options, ["graphs", "repair", "access"]);
  const compared = await compareCatalogues(hub);
  const { rows } = await hub.catalogue.graphs();
  // What a graph holds that cannot be read is not known; that it cannot be read is said once.
  const unread = new Set(compared.unread.map(({ id }) => id));
  const broken: GraphProblem[] = [];
  for (const id of options.graphs === true ? rows.keys() : []) {
    if (unread.has(id)) continue;
    const report = await hub.stores.use(id, ({ memory }) => memory.check());
    for (const problem of report?.problems ?? []) {
      broken.push({ id, code: problem.code, message: problem.message });
    }
  }
  const doubled = await doubledLineages(hub, unread, options.repair === true);
  const differing = compared.problems.filter(({ id }) => !unread.has(id));
  const all = [...compared.unread, ...differing, ...broken, ...doubled];
  return { ok: all.length === 0, graphs: rows.size, rows: compared.rows, problems: all };
}

/** Lineages that are visible in more than one graph; with `repair` they are mended, and none is told. */
async function doubledLineages(
  hub: HubContext,
  unread: ReadonlySet<string>,
  repair: boolean,
): Promise<readonly GraphProblem[]> {
  const problems: GraphProblem[] = [];
  for (const { graph, id } of await namedTwice(hub, unread)) {
    const found = await hub.stores.use(graph, ({ memory }) => memory.get(id));
    const lineage = found?.head.externalId ?? id;
    const places = await hub.lineages.placesOf(lineage);
    const [home, ...others] = places.filter(({ lifecycle }) => lifecycle === "active");
    if (home === undefined || areApart(places, lineage)) continue;
    for (const place of others) {
      if (repair) {
        await hub.stores.use(place.graph, ({ memory }) =>
          memory.tombstone(place.id, leftFor(home.graph)),
        );
        continue;
      }
      const message = `lineage ${describe(lineage)} is visible here and in graph ${home.graph}, where its head is; repair hides it here`;
      problems.push({ id: place.graph, code: "ERR_CONFLICT", message });
    }
  }
  return problems;
}

/** Memories whose lineage has rows of several graphs in a catalogue that is up to date, all of which can be read. */
async function namedTwice(
  { catalogue }: HubContext,
  unread: ReadonlySet<string>,
): Promise<readonly { readonly graph: string; readonly id: string }[]> {
  return catalogue.read(async (snapshot) => {
    const holders = new Map<string, { readonly id: Bytes; readonly number: number }[]>();
    for await (const { key, value } of scan(snapshot, Uint8Array.of(CATALOGUE.lineage))) {
      const hash = keyString(key.subarray(1, 17));
      const known = holders.get(hash) ?? [];
      holders.set(hash, [...known, { id: value, number: numberAtEnd(key) }]);
    }
    for await (const { key, value } of scan(snapshot, Uint8Array.of(CATALOGUE.memory))) {
      if (value.length > 0) continue;
      // Without a name of its own a lineage goes by the id of its memory.
      const id = key.subarray(1, 17);
      const known = holders.get(keyString(lineageHash(memoryId(id))));
      if (known?.every((other) => keyString(other.id) !== keyString(id)) === true) {
        known.push({ id, number: numberAtEnd(key) });
      }
    }
    const numbers = [...new Set([...holders.values()].flat().map(({ number }) => number))];
    const names = await catalogue.namesOf(snapshot, numbers);
    const readable = new Map(
      numbers.flatMap((number, at) => {
        const name = names[at];
        return name === undefined || unread.has(name) ? [] : [[number, name] as const];
      }),
    );
    return [...holders.values()].flatMap((own) => {
      const [first, second] = own.filter(({ number }) => readable.has(number));
      if (first === undefined || second === undefined) return [];
      return [{ graph: readable.get(first.number) ?? "", id: memoryId(first.id) }];
    });
  });
}

/** Throws the catalogue away and builds it again from the graphs. */
export async function rebuildHub(hub: HubContext, options: object = {}): Promise<HubRebuildReport> {
  checkOptions(options, ["access"]);
  await hub.catalogue.clear();
  const { rows, problems } = await hub.catalogue.caughtUp();
  const { size } = await hub.catalogue.read((snapshot) => dump(hub.catalogue, snapshot));
  return { graphs: rows.size, rows: size, problems };
}

/** What the catalogue says that the graphs do not, and the graphs that cannot be read: all of them are opened. */
async function compareCatalogues(
  hub: HubContext,
): Promise<Pick<HubCheckReport, "rows" | "problems"> & { unread: readonly GraphProblem[] }> {
  const { places, stores, prefix, clock } = hub;
  const isOurs = (name: string): boolean => isGraphId(name, prefix);
  for (let attempt = 1; ; attempt += 1) {
    const kv = await openKv("memory:", CATALOGUE_FOLDER, {});
    try {
      const fresh = await Catalogue.open({ kv, places, stores, isOurs, clock });
      const known = await hub.catalogue.caughtUp();
      const again = await fresh.caughtUp();
      const isSettled = [...known.rows].every(
        ([name, row]) => again.rows.get(name)?.cursor === row.cursor,
      );
      if (!isSettled && attempt < ATTEMPTS) continue;
      const [ours, theirs] = await Promise.all([
        hub.catalogue.read((snapshot) => dump(hub.catalogue, snapshot)),
        fresh.read((snapshot) => dump(fresh, snapshot)),
      ]);
      return { rows: ours.size, problems: differences(ours, theirs), unread: again.problems };
    } finally {
      await kv.close();
    }
  }
}

interface Dumped {
  readonly graph: string;
  readonly value: string;
}

/** Every row that can be compared, under the name of its graph. */
async function dump(
  catalogue: Catalogue,
  snapshot: KvSnapshot,
): Promise<ReadonlyMap<string, Dumped>> {
  const rows: { readonly key: Bytes; readonly value: Bytes; readonly number: number }[] = [];
  const numbers = new Set<number>();
  for await (const { key, value } of allRows(snapshot)) {
    const number = numberOf(key, value);
    if (number === undefined) continue;
    numbers.add(number);
    rows.push({ key, value, number });
  }
  const listed = [...numbers];
  const names = await catalogue.namesOf(snapshot, listed);
  const nameOf = new Map(listed.map((number, at) => [number, names[at]]));
  const dumped = new Map<string, Dumped>();
  for (const { key, value, number } of rows) {
    const graph = nameOf.get(number);
    // Rows of numbers that were given up mean nothing; nobody reads them.
    if (graph === undefined) continue;
    const [from, to] = numberPlace(key);
    const rest = `${keyString(key.subarray(0, from))}${graph}${keyString(key.subarray(to))}`;
    dumped.set(rest, { graph, value: comparable(key, value) });
  }
  return dumped;
}

function comparable(key: Bytes, value: Bytes): string {
  if (key[0] !== CATALOGUE.graph) return keyString(value);
  const { store, createdAt, size, config, cursor } = decodeGraphRow(value);
  return JSON.stringify([store, createdAt, size, config, cursor]);
}

function differences(
  ours: ReadonlyMap<string, Dumped>,
  theirs: ReadonlyMap<string, Dumped>,
): readonly GraphProblem[] {
  const problems: GraphProblem[] = [];
  const tell = (name: string, { graph }: Dumped, what: string): void => {
    const prefix = name.charCodeAt(0).toString(16);
    const message = `catalogue: a row of prefix 0x${prefix} about graph ${graph} ${what}`;
    if (problems.length < PROBLEMS_TOLD) problems.push({ id: graph, code: "ERR_CORRUPT", message });
  };
  for (const [name, row] of theirs) {
    const own = ours.get(name);
    if (own === undefined) tell(name, row, "is missing");
    else if (own.value !== row.value) tell(name, row, "differs from its journal");
  }
  for (const [name, row] of ours) {
    if (!theirs.has(name)) tell(name, row, "has no ground in its journal");
  }
  return problems;
}
