/**
 * `hub.for`: the memory of one of an app's users, by whatever the app calls the user.
 *
 * Promises: any text of 1 to 512 characters is an id: a mail address, a path, another script, `..`,
 * `CON`. The same text always leads to the same graph and two texts never to one, on any file system,
 * without a table: the graph's name is a hash of the id behind what a person can recognise of it
 * (`names.ts`). The id itself is stored nowhere. Options are for the moment the graph is made; later
 * ones change nothing, and a graph is found under either form of its name.
 *
 * The memory may be kept as long as the hub is open: each call opens the graph if it has to, and holds
 * it for that call. It never makes a graph: after a `hub.remove` its calls fail with `ERR_NOT_FOUND`.
 */
import type { ConflictPolicy } from "../contract/config.js";
import { type CortexVerbs, VERBS } from "../contract/index.js";
import type { Cortex } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { invalid, isCortexError } from "../errors.js";
import type { Access } from "../scope/access.js";
import { type HubContext, inGraph } from "./context.js";
import { createGraph } from "./graphs.js";
import { actorFor } from "./names.js";

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
export async function memoryOf(
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
