/** The verbs of this folder, each under the name that its contract gives it. */
export { maintain } from "./maintain.js";
export { scrub } from "./scrub.js";
export { check, rebuild, vacuum } from "./whole-store.js";
