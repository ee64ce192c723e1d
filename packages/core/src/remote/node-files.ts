/**
 * Files for the client of a server, where there is a file system: exports and backups go to a path as
 * they do from a store at hand, whole or not at all. The client itself does without, so that it runs
 * where there are no files.
 */
import { writeVia } from "../move/move-files.js";
import type { RemoteCortex } from "./client.js";

/** The client, taking paths as targets as well. */
export function withFiles(remote: RemoteCortex): RemoteCortex {
  return {
    ...remote,
    exportJournal: (target, options) =>
      writeVia(target, (sink) => remote.exportJournal(sink, options)),
    backup: (target, options) => writeVia(target, (sink) => remote.backup(sink, options)),
  };
}
