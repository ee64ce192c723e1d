/** The verbs of this folder, each under the name that its contract gives it. */
export { search, searchBatch } from "./search.js";
