#!/usr/bin/env node
/**
 * The `cortex` binary: the process around the command line.
 */
import { processHost } from "./cli/host.js";
import { runCli } from "./cli/run.js";

// Set, not called: what is still on its way to a pipe has to get there.
process.exitCode = await runCli(processHost());
