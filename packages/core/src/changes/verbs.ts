/** The verbs of this folder, each under the name that its contract gives it. */
export { changes } from "./changes.js";
export { journalPage } from "./journal-page.js";
export { log, stats } from "./log.js";
export { revert } from "./revert.js";
export { subscribe } from "./subscribe.js";
