/** The verbs of this folder, each under the name that its contract gives it. */
export { prove } from "./prove.js";
export { share } from "./share.js";
export { checkpoint, root, snapshot, snapshots } from "./snapshot.js";
