/** The verb of this folder, under the name that its contract gives it. */
export { embedPending } from "./embed.js";
