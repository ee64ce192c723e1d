/**
 * A hub: many graphs in one place, and the verbs that span them.
 *
 * Each graph is a Cortex of its own, with its own journal, root and erasures. The hub opens them when
 * they are needed and closes them when they are idle, and finds which graph holds what. Every other
 * verb of a graph is reached through `use`; memgraph's store calls are made of both (`memgraph/`). What
 * each access may do is in `context.ts`; the work is in the files beside this one.
 *
 * `for` gives the memory of one of an app's users, by whatever the app calls the user: any text of 1 to 512
 * characters, such as a mail address, a path, another script, `..`, `CON`. The same text always leads to the same
 * graph and two texts never to one, on any file system, without a table: the graph's name is a hash of the id
 * behind what a person can recognise of it (`context.ts`), and the id itself is stored nowhere. Options are for the
 * moment the graph is made. The memory may be kept as long as the hub is open: each call opens the graph if it has
 * to. No call makes a graph: after `remove` they fail with `ERR_NOT_FOUND`.
 */
import type { ConfigPatch, ConflictPolicy } from "../contract/config.js";
import { type CortexVerbs, VERBS } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { invalid, isCortexError } from "../errors.js";
import type { Access } from "../scope/access.js";
import {
  checkHub,
  type HubCheckOptions,
  type HubCheckReport,
  type HubRebuildReport,
  rebuildHub,
} from "./check.js";
import {
  actorFor,
  admitToGraphs,
  HUB_POLICIES,
  type HubContext,
  ifGraph,
  inGraph,
} from "./context.js";
import { type HubSubscribeOptions, type HubSubscription, subscribe } from "./events.js";
import {
  type ChangeOptions,
  type ConfigureOptions,
  configureGraph,
  createGraph,
  type GraphFilter,
  type GraphInfo,
  type GraphInput,
  type GraphList,
  getGraph,
  listGraphs,
  type RemovedGraph,
  removeGraph,
  useGraph,
} from "./graphs.js";
import type { Lineages } from "./lineages.js";
import {
  type HubTraversal,
  type HubTraverseOptions,
  type SymlinkManifest,
  type SymlinkOptions,
  symlinks,
  traverse,
} from "./walk.js";

interface AccessOption {
  readonly access?: Access | undefined;
}

/** An open hub. Close it, or let `await using` do so. */
export class Hub implements AsyncDisposable {
  readonly #hub: HubContext;
  readonly #end: () => Promise<void>;

  /** Use `openHub`. */
  constructor(hub: HubContext, end: () => Promise<void>) {
    this.#hub = hub;
    this.#end = end;
  }

  /** How many graphs are open at the moment. */
  get openGraphs(): number {
    return this.#hub.stores.openCount;
  }

  /** Whether a graph is open at the moment. */
  isOpen(graph: string): boolean {
    return this.#hub.stores.isOpen(graph);
  }

  /** What the names of its graphs begin with; empty unless it is a tenant's. */
  get prefix(): string {
    return this.#hub.prefix;
  }

  /** Which graph holds what, by external ids. */
  get lineages(): Pick<
    Lineages,
    | "graphOf"
    | "likelyIn"
    | "onlyIn"
    | "placesOf"
    | "placeIn"
    | "listedIn"
    | "note"
    | "wasIn"
    | "writing"
    | "only"
    | "originOf"
    | "shownName"
    | "learn"
  > {
    return this.#hub.lineages;
  }

  /** The time, as the hub was told to tell it. */
  now(): number {
    return this.#hub.clock();
  }

  /**
   * Runs `body` with the memory of a graph, which stays open meanwhile and no longer. `ERR_NOT_FOUND`
   * when there is no such graph, unless `create` says to make it.
   */
  async use<T>(
    graph: string,
    body: (memory: Cortex) => Promise<T>,
    options: { readonly create?: boolean } = {},
  ): Promise<T> {
    return useGraph(this.#hub, graph, body, options);
  }

  /** As `use`; `undefined` when there is no such graph. */
  async useIfThere<T>(graph: string, body: (memory: Cortex) => Promise<T>): Promise<T | undefined> {
    return ifGraph(this.#hub, graph, ({ memory }) => body(memory));
  }

  /** Runs `body` with every graph that is open now; it opens none, and none stays open for it. */
  async eachOpen<T>(body: (memory: Cortex) => Promise<T>): Promise<readonly T[]> {
    return this.#hub.stores.eachOpen(({ memory }) => body(memory));
  }

  /** Makes a graph. */
  async createGraph(input: GraphInput, options: ChangeOptions = {}): Promise<GraphInfo> {
    return createGraph(this.#admit("createGraph", options), input, options);
  }

  /** One graph; `undefined` when there is none of this id. */
  async getGraph(id: string, options: AccessOption = {}): Promise<GraphInfo | undefined> {
    return getGraph(this.#admit("getGraph", options), id);
  }

  /** Every graph, oldest first. */
  async listGraphs(filter: GraphFilter = {}): Promise<GraphList> {
    return listGraphs(this.#admit("listGraphs", filter), filter);
  }

  /** Changes the configuration of a graph; `archived: true` takes it off the list. */
  async configureGraph(
    id: string,
    patch: ConfigPatch,
    options: ConfigureOptions = {},
  ): Promise<GraphInfo> {
    return configureGraph(this.#admit("configureGraph", options), id, patch, options);
  }

  /**
   * Removes a graph: its bytes, its entry in the catalogue and everything known of it. Whoever uses it
   * meanwhile is refused. The edges that tied it to others are told; `undefined` when there is none of
   * this id.
   */
  async remove(
    graph: string,
    reason: string,
    options: AccessOption = {},
  ): Promise<RemovedGraph | undefined> {
    return removeGraph(this.#admit("remove", options), graph, reason, options);
  }

  /**
   * The memory of one of your users, made when it is first asked for. `userId` is any text of 1 to 512
   * characters: the same text always leads to the same graph, and two texts never to one.
   */
  async for(userId: string, options: UserOptions & AccessOption = {}): Promise<UserMemory> {
    return memoryOf(this.#admit("for", options), userId, options);
  }

  /** A bounded walk from a memory of a graph, into others on request. */
  async traverse(
    graph: string,
    ref: string,
    options: HubTraverseOptions = {},
  ): Promise<HubTraversal> {
    return traverse(this.#admit("traverse", options), graph, ref, options);
  }

  /** Into which graphs the edges of a graph lead, and from which graphs edges lead into it. */
  async symlinks(
    graph: string,
    options: SymlinkOptions & AccessOption = {},
  ): Promise<SymlinkManifest> {
    return symlinks(this.#admit("symlinks", options), graph, options);
  }

  /** What happens in the graphs, as it happens; see `events.ts`. */
  async subscribe(options: HubSubscribeOptions & AccessOption = {}): Promise<HubSubscription> {
    return subscribe(this.#admit("subscribe", options), options);
  }

  /** Checks the catalogue against the graphs, and the graphs if asked to; repairs nothing. */
  async check(options: HubCheckOptions & AccessOption = {}): Promise<HubCheckReport> {
    return checkHub(this.#admit("check", options), options);
  }

  /** Builds the catalogue again from the graphs. */
  async rebuild(options: AccessOption = {}): Promise<HubRebuildReport> {
    return rebuildHub(this.#admit("rebuild", options), options);
  }

  /** Finishes what is queued and closes every graph; idempotent. */
  async close(): Promise<void> {
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #admit(verb: keyof typeof HUB_POLICIES, options: AccessOption): HubContext {
    // Options that are no object are refused by the verb, which can say so.
    admitToGraphs(options?.access, HUB_POLICIES[verb], verb);
    return this.#hub;
  }
}

/** What a user's graph is to be, when it is made. */
export interface UserOptions {
  /** What people call it; not the user's id unless you say so. */
  readonly name?: string;
  /** False keeps everything out of the graph's id that a person could recognise of the user's. */
  readonly readable?: boolean;
  readonly conflictPolicy?: ConflictPolicy;
  readonly kindWhitelist?: readonly string[];
  readonly metadata?: { readonly [key: string]: unknown };
}

/**
 * The memory of one user: every verb of a `Cortex`, but `subscribe`, which `hub.subscribe` offers for
 * graphs by name.
 */
export type UserMemory = Omit<CortexVerbs, "subscribe"> & {
  /** The id of the graph, for the verbs of the hub. */
  readonly graph: string;
  /** Runs `body` with the graph, which stays open meanwhile. */
  use<T>(body: (memory: Cortex) => Promise<T>): Promise<T>;
};

/** The longest id of a user. */
const USER_ID_CHARS = 512;

const USER_OPTIONS = ["name", "readable", "conflictPolicy", "kindWhitelist", "metadata", "access"];

/** Gets or makes the memory of a user; see the file header. */
async function memoryOf(
  hub: HubContext,
  userId: string,
  options: UserOptions & { readonly access?: Access | undefined } = {},
): Promise<UserMemory> {
  if (typeof userId !== "string" || userId === "" || userId.length > USER_ID_CHARS) {
    throw invalid("userId", `a text of 1 to ${USER_ID_CHARS} characters`, userId);
  }
  checkOptions(options, USER_OPTIONS);
  const { readable = true, access, name, ...config } = options;
  const tenant = hub.prefix === "" ? {} : { tenant: hub.prefix.slice(0, -1) };
  const wanted = actorFor(userId, { ...tenant, readable });
  const other = actorFor(userId, { ...tenant, readable: !readable });
  for (const id of [wanted, other]) {
    if ((await hub.places.stamp(id)) !== undefined) return userMemory(hub, id);
  }
  try {
    await createGraph(hub, { ...config, id: wanted, name: name ?? wanted }, { access });
  } catch (error) {
    // Somebody asked for the same user at the same time.
    if (!isCortexError(error, "ERR_EXISTS")) throw error;
  }
  return userMemory(hub, wanted);
}

function userMemory(hub: HubContext, graph: string): UserMemory {
  const use: UserMemory["use"] = (body) => inGraph(hub, graph, ({ memory }) => body(memory));
  const verbs = Object.keys(VERBS)
    .filter((name) => name !== "subscribe")
    .map((name) => {
      const call = (...args: readonly unknown[]): Promise<unknown> =>
        use(async (memory) => Reflect.apply(memory[name as keyof CortexVerbs], memory, args));
      return [name, call] as const;
    });
  // Every verb that the contract declares, by its name: what `CortexVerbs` is made of as well.
  return { ...(Object.fromEntries(verbs) as unknown as CortexVerbs), graph, use };
}
