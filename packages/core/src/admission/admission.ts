/**
 * The one place every call of the facade passes: who may call the verb at all, and which engine the
 * verb then works with. A verb that got its engine here cannot reach beyond the caller's access.
 */

import type { Policy } from "../contract/verb.js";
import type { Engine } from "../engine/engine.js";
import { isCortexError } from "../errors.js";
import { type Access, admit } from "../scope/access.js";
import { engineFor } from "./scoped-engine.js";

/** The engine that a caller gets for a verb; throws when its access does not admit it. */
export function admitted(
  engine: Engine,
  access: Access,
  { name, policy }: { readonly name: string; readonly policy: Policy },
): Engine {
  try {
    admit(access, policy, name);
  } catch (error) {
    // An access that nobody granted is refused with another code, and has nothing to call.
    const isDenied = isCortexError(error, "ERR_DENIED");
    if (isDenied && access.kind === "scope" && policy === "write") {
      access.violated(undefined, "not_writable", "write");
    }
    throw error;
  }
  // What is open tells nothing of any memory, and a scope is presented before it narrows anything.
  return policy === "open" ? engine : engineFor(engine, access);
}
