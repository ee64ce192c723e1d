#!/usr/bin/env node
/**
 * The `cortex` binary: the process around the command line.
 */
import { processHost } from "./cli/host.js";
import { runCli } from "./cli/run.js";

// A reader that has seen enough, such as `head`, closes the pipe: that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

// Set, not called: what is still on its way to a pipe has to get there.
process.exitCode = await runCli(processHost());
