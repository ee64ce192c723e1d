/**
 * The store of memgraph that a configuration names, brought into the data folder before it is served: once.
 * What is there afterwards is ours, and what memgraph's store is or was does not matter any more.
 *
 * Promise: an import that was cut short goes on with the next start, and nothing is served before it is
 * whole. The importer, its progress and its report are those of `cortex import`; all of it is on stderr.
 */
import { resolve } from "node:path";
import { CortexError } from "@cortex-memory/core";
import { isAddress, isDatabaseAddress, type Settings, shownLocation } from "../config.js";
import { UsageError } from "../error-status.js";
import { importForeign, wasImported } from "../import/foreign.js";
import { startProgress } from "../progress.js";
import { clean, makeInk, wantsColour } from "../render/ink.js";
import { showForeign } from "../render/store.js";
import type { Host } from "./host.js";

/** What is to be brought in, and by which flag it was named. */
interface MoveIn {
  readonly settings: Settings;
  /** A file, or the address of a database. */
  readonly from: string;
  readonly flag: string;
}

/** Imports the store of memgraph, unless that was done before. */
export async function moveIn(host: Host, { settings, from, flag }: MoveIn): Promise<void> {
  const location = settings.data.value;
  if (location === "" || location === "memory:" || isAddress(location)) {
    throw new UsageError(
      `${flag}: is imported into a folder, and --data is ${shownLocation(location) || "nothing"}; ` +
        "for a database use cortex import --from memgraph",
    );
  }
  if (from === "") throw new UsageError(`${flag}: expected a file, got nothing`);
  const isDatabase = isDatabaseAddress(from);
  const file = isDatabase ? from : resolve(host.cwd, from);
  if (wasImported(location, file)) return;
  const shown = clean(shownLocation(file));
  if (!isDatabase && host.startOf(file, 1) === undefined) {
    // memgraph would make the file; here the data folder takes its place.
    host.err.write(`cortex: ${shown} is not there: nothing to import into ${clean(location)}\n`);
    return;
  }
  const report = await imported(host, { file, location, actor: settings.actor.value });
  const ink = makeInk(wantsColour(host.err, host.env));
  host.err.write(`cortex: ${shown} into ${clean(location)}\n${showForeign(report, ink)}\n`);
  // Where another process brought the same store in meanwhile, all is there.
  if (report.stopped === undefined || wasImported(location, file)) return;
  const { at, message } = report.stopped;
  throw new CortexError(
    "ERR_INVALID",
    `${flag}: not imported whole, so nothing is served: ${at}: ${message}; repair it, or leave bad records ` +
      `out once with: cortex import ${shown} --from memgraph --data ${location} --skip-bad`,
    { field: flag },
  );
}

async function imported(
  host: Host,
  place: { readonly file: string; readonly location: string; readonly actor: string },
): ReturnType<typeof importForeign> {
  const progress = startProgress({ label: "import", unit: "records" }, host.err, host.nowMs);
  const forget = host.onInterrupt(() => {
    progress.end();
    host.err.write(
      "cortex: broken off. What was imported is kept; the next start goes on there.\n",
    );
    host.exit(130);
  });
  try {
    const report = await importForeign({
      from: "memgraph",
      ...place,
      onProgress: progress.report,
    });
    progress.finish();
    return report;
  } finally {
    forget();
    progress.end();
  }
}
