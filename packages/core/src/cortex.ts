/**
 * The facade: one actor's memory graph as an object, with every verb that `contract/` declares as a method.
 * How a verb is called is `admission/call.ts`, what it does the function of its name in its folder.
 */
import { type Callable, call } from "./admission/call.js";
import { type PresentOptions, scopeAccess } from "./admission/scope-verbs.js";
import type { CortexVerbs } from "./contract/index.js";
import type { Engine } from "./engine/engine.js";
import type { Jobs } from "./jobs.js";
import type { Genesis } from "./journal/entry.js";
import type { KvManifest } from "./kv/kv.js";
import type { ScopeAccess } from "./scope/access.js";
import { CALLABLES } from "./verbs.js";

/** An open memory graph; the verbs are put on it below. */
export class OpenCortex implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #end: () => Promise<void>;
  /** Who the memories are about when nothing else is said. */
  readonly actor: string;
  readonly genesis: Genesis;
  readonly manifest: KvManifest;
  /** The background jobs of this store in this process. */
  readonly jobs: Jobs;

  constructor(engine: Engine, genesis: Genesis, jobs: Jobs, end: () => Promise<void>) {
    this.#engine = engine;
    this.#end = end;
    this.actor = engine.actor;
    this.genesis = genesis;
    this.manifest = engine.kv.manifest;
    this.jobs = jobs;
  }

  /** The access of whoever presents a scope, or a handle of one: for a door to give to the verbs. */
  async scopeAccess(presented: string, options: PresentOptions = {}): Promise<ScopeAccess> {
    return scopeAccess(this.#engine, presented, options);
  }

  /** Finishes what is queued and closes the store; idempotent. */
  async close(): Promise<void> {
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Calls a verb by its row. */
  protected call(row: Callable, args: readonly unknown[]): unknown {
    return call(this.#engine, row, args);
  }

  static {
    for (const row of CALLABLES) {
      function callAtOnce(this: OpenCortex, ...args: readonly unknown[]): unknown {
        return this.call(row, args);
      }
      // A refusal comes as a rejection, never as an exception beside the promise.
      async function callAwaited(this: OpenCortex, ...args: readonly unknown[]): Promise<unknown> {
        return await this.call(row, args);
      }
      Object.defineProperty(OpenCortex.prototype, row.verb.name, {
        configurable: true,
        writable: true,
        value: row.verb.sends === "events" ? callAtOnce : callAwaited,
      });
    }
  }
}

/** One actor's memory graph, open. Close it, or let `await using` do so. */
export type Cortex = OpenCortex & CortexVerbs;

/** A memory graph over an engine; `end` closes what the engine rests on. */
export function openCortex(
  engine: Engine,
  genesis: Genesis,
  jobs: Jobs,
  end: () => Promise<void>,
): Cortex {
  // The verbs are on its prototype: every one that is declared, and no other.
  return new OpenCortex(engine, genesis, jobs, end) as Cortex;
}

/** One actor's memory graph wherever its store is, at hand or on a server: every verb, whose memory it is, closing it. */
export type CortexApi = CortexVerbs & Pick<Cortex, "actor" | "close" | typeof Symbol.asyncDispose>;
