/**
 * A store for LangGraph's long-term memory (`BaseStore` of `@langchain/langgraph`): items under
 * namespaces, kept as documents in a memory graph, found by words, with a history and proofs behind them.
 *
 *     const memory = await open("./data", { actor: "ada" });
 *     const graph = workflow.compile({ store: new CortexStore(memory) as unknown as BaseStore });
 *
 * The package is not needed here: LangGraph calls a store by its methods, and these are all of them. The
 * cast is for the compiler, because `BaseStore` is a class of its own.
 *
 * A namespace is written as a tag, so its parts and the slashes between them have 61 bytes, and it has
 * 14 parts at the most.
 */
import { type CortexApi, CortexError } from "@cortex-memory/core";
import {
  documentOf,
  documentsWith,
  getDocument,
  putDocument,
  removeDocument,
  type StoredDocument,
} from "./documents.js";

/** The data of an item. */
export type ItemValue = Readonly<Record<string, unknown>>;

/** An item as LangGraph has it. */
export interface Item {
  readonly namespace: string[];
  readonly key: string;
  readonly value: ItemValue;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** How well it answers a query, where there was one. */
  readonly score?: number;
}

/** What to search for. */
export interface SearchOptions {
  readonly filter?: ItemValue;
  readonly limit?: number;
  readonly offset?: number;
  readonly query?: string;
}

/** Which namespaces to list. */
export interface NamespaceOptions {
  readonly prefix?: string[];
  readonly suffix?: string[];
  readonly maxDepth?: number;
  readonly limit?: number;
  readonly offset?: number;
}

/** What `batch` takes, told apart by the members that LangGraph tells them apart by. */
export type StoreOperation =
  | { readonly namespace: string[]; readonly key: string }
  | {
      readonly namespace: string[];
      readonly key: string;
      readonly value: ItemValue | null;
      readonly index?: false | string[];
    }
  | ({ readonly namespacePrefix: string[] } & SearchOptions)
  | {
      readonly matchConditions?: readonly {
        readonly matchType: "prefix" | "suffix";
        readonly path: string[];
      }[];
      readonly maxDepth?: number;
      readonly limit: number;
      readonly offset: number;
    };

const KIND = "langgraph-item";
/** The tag of every item, by which all of them are listed. */
const ALL = "lg";
const WITHIN = "lg-in:";
const EXACT = "lg-at:";
const DEPTH_MAX = 14;
const TAGS_LISTED = 1000;

/** See the file header. */
export class CortexStore {
  readonly #memory: CortexApi;

  constructor(memory: CortexApi) {
    this.#memory = memory;
  }

  /** One item, or `null`. */
  async get(namespace: string[], key: string): Promise<Item | null> {
    const found = await getDocument(this.#memory, nameOf(namespace, key));
    return found === undefined ? null : itemOf(found);
  }

  /** Stores an item, or a new version of it. `index` names the fields that words find it by. */
  async put(
    namespace: string[],
    key: string,
    value: ItemValue,
    index?: false | string[],
  ): Promise<void> {
    await putDocument(this.#memory, {
      name: nameOf(namespace, key),
      kind: KIND,
      tags: tagsOf(namespace),
      text: textOf(value, index),
      value: { namespace, key, value },
    });
  }

  /** Removes an item for good. */
  async delete(namespace: string[], key: string): Promise<void> {
    await removeDocument(this.#memory, nameOf(namespace, key), "deleted by the graph");
  }

  /** Items below a namespace: the best first with a query, otherwise the oldest first. */
  async search(namespacePrefix: string[], options: SearchOptions = {}): Promise<Item[]> {
    const { filter = {}, limit = 10, offset = 0, query } = options;
    const tag = namespacePrefix.length === 0 ? ALL : `${WITHIN}${pathOf(namespacePrefix)}`;
    const items = query === undefined ? this.#listed(tag) : this.#ranked(tag, query);
    const found: Item[] = [];
    for await (const item of items) {
      if (!matches(item.value, filter)) continue;
      found.push(item);
      if (found.length === offset + limit) break;
    }
    return found.slice(offset);
  }

  /** The namespaces that hold an item. */
  async listNamespaces(options: NamespaceOptions = {}): Promise<string[][]> {
    const { prefix = [], suffix = [], maxDepth, limit = 100, offset = 0 } = options;
    const { tags } = await this.#memory.listTags({ prefix: EXACT, limit: TAGS_LISTED });
    const all = tags
      .map(({ tag }) => partsOf(tag.slice(EXACT.length)))
      .filter((path) => isAt(path, prefix, 0) && isAt(path, suffix, path.length - suffix.length))
      .map((path) => path.slice(0, maxDepth ?? path.length));
    const unique = [...new Map(all.map((path) => [pathOf(path), path])).entries()];
    return unique
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(offset, offset + limit)
      .map(([, path]) => path);
  }

  /** Several operations, one after another; what LangGraph itself calls. */
  async batch(operations: readonly StoreOperation[]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#perform(operation));
    return results;
  }

  /** LangGraph starts its stores; this one is open already. */
  start(): void {}

  /** Whoever opened the memory closes it. */
  stop(): void {}

  #perform(operation: StoreOperation): Promise<unknown> {
    if ("namespacePrefix" in operation) {
      return this.search(operation.namespacePrefix, operation);
    }
    if (!("namespace" in operation)) {
      const { matchConditions = [], ...rest } = operation;
      const paths = matchConditions.map(({ matchType, path }) => [matchType, path]);
      return this.listNamespaces({ ...rest, ...Object.fromEntries(paths) });
    }
    const { namespace, key } = operation;
    if (!("value" in operation)) return this.get(namespace, key);
    const { value, index } = operation;
    return value === null ? this.delete(namespace, key) : this.put(namespace, key, value, index);
  }

  async *#listed(tag: string): AsyncGenerator<Item> {
    for await (const document of documentsWith(this.#memory, tag)) yield itemOf(document);
  }

  async *#ranked(tag: string, query: string): AsyncGenerator<Item> {
    const { hits } = await this.#memory.search(query, { kinds: [KIND], tags: [tag], limit: 100 });
    for (const { id, score } of hits) {
      const found = await this.#memory.get(id);
      if (found !== undefined) yield { ...itemOf(documentOf(found)), score };
    }
  }
}

/** Parts are escaped, so that a slash inside of one is not one between two. */
function pathOf(namespace: readonly string[]): string {
  return namespace.map(encodeURIComponent).join("/");
}

function partsOf(path: string): string[] {
  return path.split("/").map(decodeURIComponent);
}

function nameOf(namespace: readonly string[], key: string): string {
  if (namespace.length === 0 || namespace.length > DEPTH_MAX || namespace.includes("")) {
    const expected = `1 to ${DEPTH_MAX} parts, none of them empty`;
    throw new CortexError("ERR_INVALID", `namespace: expected ${expected}`, { field: "namespace" });
  }
  return `lg:${pathOf(namespace)}:${encodeURIComponent(key)}`;
}

/** One tag for the namespace itself and one for each that it is within, itself included. */
function tagsOf(namespace: readonly string[]): readonly string[] {
  const prefixes = namespace.map((_, at) => `${WITHIN}${pathOf(namespace.slice(0, at + 1))}`);
  return [ALL, `${EXACT}${pathOf(namespace)}`, ...prefixes];
}

function textOf(value: ItemValue, index: false | string[] | undefined): string {
  if (index === false) return "";
  const shown = index === undefined ? Object.values(value) : index.map((field) => value[field]);
  return shown
    .filter((one) => one !== undefined && one !== null)
    .map((one) => (typeof one === "string" ? one : JSON.stringify(one)))
    .join("\n");
}

function itemOf({ value, createdAt, updatedAt }: StoredDocument): Item {
  const { namespace, key, value: kept } = value as Pick<Item, "namespace" | "key" | "value">;
  return { namespace, key, value: kept, createdAt, updatedAt };
}

function isAt(path: readonly string[], part: readonly string[], from: number): boolean {
  return from >= 0 && part.every((name, at) => name === "*" || path[from + at] === name);
}

type Compare = (held: unknown, wanted: unknown) => boolean;

const byOrder =
  (isFit: (sign: number) => boolean): Compare =>
  (held, wanted) => {
    if (typeof held === "number" && typeof wanted === "number") return isFit(held - wanted);
    if (typeof held !== "string" || typeof wanted !== "string") return false;
    return isFit(held < wanted ? -1 : Number(held > wanted));
  };

const OPERATORS: { readonly [operator: string]: Compare } = {
  $eq: (held, wanted) => JSON.stringify(held) === JSON.stringify(wanted),
  $ne: (held, wanted) => JSON.stringify(held) !== JSON.stringify(wanted),
  $gt: byOrder((sign) => sign > 0),
  $gte: byOrder((sign) => sign >= 0),
  $lt: byOrder((sign) => sign < 0),
  $lte: byOrder((sign) => sign <= 0),
};

/** Whether an item has every field of a filter; a field is a value, or operators on one. */
function matches(value: ItemValue, filter: ItemValue): boolean {
  return Object.entries(filter).every(([field, wanted]) => {
    const isPlain = typeof wanted !== "object" || wanted === null || Array.isArray(wanted);
    const operators = isPlain ? [] : Object.entries(wanted);
    const isOperators = operators.length > 0 && operators.every(([name]) => name.startsWith("$"));
    const tests = isOperators ? operators : [["$eq", wanted] as const];
    return tests.every(([name, given]) => {
      const compare = OPERATORS[name];
      if (compare !== undefined) return compare(value[field], given);
      const expected = `one of ${Object.keys(OPERATORS).join(", ")}`;
      throw new CortexError("ERR_PREDICATE", `${field}: expected ${expected}`, { field, expected });
    });
  });
}
