/** The verbs of this folder, each under the name that its contract gives it. */
export { extract } from "./extract.js";
export { relink } from "./relink.js";
