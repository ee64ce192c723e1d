/** The verbs of this folder, each under the name that its contract gives it. */
export { settle } from "./proposals.js";
export { postScope, revokeScope, showScope } from "./scope-verbs.js";
