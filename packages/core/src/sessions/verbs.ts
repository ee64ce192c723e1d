/** The verbs of this folder, each under the name that its contract gives it. */
export { remember } from "./remember.js";
export { session } from "./session-read.js";
