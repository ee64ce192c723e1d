/** Cortex as a library with its store in a database: the calls are those of `ours.mjs`. */
export { openStore } from "./ours.mjs";
