/** The verbs of this folder, each under the name that its contract gives it. */
export { backup, backup as exportJournal, erasures } from "./export-journal.js";
