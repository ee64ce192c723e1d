/** The verbs of this folder, each under the name that its contract gives it. */
export { review } from "./review.js";
