/** The verbs of this folder, each under the name that its contract gives it. */
export { context } from "./context.js";
