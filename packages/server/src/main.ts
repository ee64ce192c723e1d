/**
 * The `cortex` binary: the process around the command line.
 *
 * The version and the front page are answered before anything else is loaded: they need neither the engine
 * nor the table of operations, whose modules take most of a second of processor time.
 */
import { processHost } from "./cli/host.js";
import { packageVersion } from "./version.js";

/** Alone on the line, each of these asks for the front page. */
const ASKS_FOR_HELP: readonly string[] = ["--help", "-h", "help"];

/** Runs the command; no `await` stands at the top, because the bundle is in the form of CommonJS. */
async function main(): Promise<void> {
  const host = processHost();
  const [first = "", ...others] = host.args;
  if (first === "--version" || first === "-V") {
    host.out.write(`${packageVersion()}\n`);
  } else if (ASKS_FOR_HELP.includes(first) && others.length === 0) {
    const { frontPage } = await import("./cli/root.js");
    frontPage({ out: host.out.write, err: host.err.write }).outputHelp();
  } else {
    const { runCli } = await import("./cli/run.js");
    // Set, not called: what is still on its way to a pipe has to get there.
    process.exitCode = await runCli(host);
  }
}

void main();
