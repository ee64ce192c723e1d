/** The verbs of this folder, each under the name that its contract gives it. */
export { find } from "./find.js";
export { describeSchema, listTags } from "./schema.js";
