/** What a test of operations knows beside their input: the owner asks, and there are no files. */
import { OWNER } from "@cortex-memory/core";
import type { CallContext } from "../src/operations/define.js";

const noFiles = (): never => {
  throw new Error("no operation of these tests has files");
};

/** The context of a call without a door. */
export const CALL_CONTEXT: CallContext = {
  access: OWNER,
  location: "memory:",
  actor: "default",
  files: { source: noFiles, target: noFiles, secret: noFiles, save: noFiles },
  settings: [],
  onProgress: () => {},
};
