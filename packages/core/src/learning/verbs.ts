/** The verbs of this folder, each under the name that its contract gives it. */
export { attest, weights } from "./attest.js";
export { compactContext, contextRecord } from "./compact.js";
