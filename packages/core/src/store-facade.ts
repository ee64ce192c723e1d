/**
 * The facade, half of it: the verbs on a store as a whole. Its configuration, its journal and roots, its
 * upkeep, moving it elsewhere, and letting others in. The verbs on memories are in `cortex.ts`.
 *
 * Every method admits the caller by its policy and calls the verb of the same name; nothing else
 * happens here.
 */

import { admitted } from "./admission/admission.js";
import { POLICIES } from "./admission/policies.js";
import { type PresentOptions, scopeAccess } from "./admission/scope-verbs.js";
import type { Engine } from "./engine/engine.js";
import { type Access, OWNER, type ScopeAccess } from "./scope/access.js";

/** Options that say who is asking. */
export interface AccessOption {
  readonly access?: Access;
}

/** See the file header. */
export class StoreFacade {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The access of whoever presents a scope, or a handle of one: for a door to give to the verbs. */
  async scopeAccess(presented: string, options: PresentOptions = {}): Promise<ScopeAccess> {
    return scopeAccess(this.#engine, presented, options);
  }

  /** The engine, for a caller whom the verb's policy admits. */
  protected admit(verb: keyof typeof POLICIES, options: AccessOption): Engine {
    // Options that are no object are refused by the verb, which can say so.
    const access = options?.access;
    const policy = POLICIES[verb];
    return admitted(this.#engine, access === undefined ? OWNER : access, { name: verb, policy });
  }
}
