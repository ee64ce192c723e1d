/** SHA-256 without Node: what verifiers use, in a browser as well. */
export { sha256 as sha256Pure } from "@noble/hashes/sha2.js";
