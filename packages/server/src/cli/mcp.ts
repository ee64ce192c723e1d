/**
 * `cortex mcp`: the store to an agent over stdin and stdout, and `cortex mcp config`: what to paste
 * into a client so that it starts that.
 *
 * Promise: stdout carries the protocol alone, stderr the path in use and faults of the program. It ends
 * with exit 0 when stdin ends or the process is asked to end, after finishing what it accepted; asked
 * twice, it ends at once.
 */
import { checkActorName } from "@cortex-memory/core/doors";
import {
  type Profile,
  type Settings,
  serviceSettingsFor,
  settingsFor,
  shownLocation,
  shownSettings,
} from "../config.js";
import { UsageError } from "../error-status.js";
import { AGENT_ACCESS } from "../mcp/define.js";
import { clean } from "../render/ink.js";
import { commandFile, IS_PUBLISHED } from "../version.js";
import { CLIENTS, clientBlock, isInNpxCache } from "./clients.js";
import type { Host } from "./host.js";
import { whileServed } from "./open-store.js";
import type { ConfigRequest, GlobalFlags, McpFlags } from "./program.js";

/** Serves the store over stdin and stdout; the result is the exit code. */
export async function runMcp(
  host: Host,
  globals: GlobalFlags,
  { profile, sqlite }: McpFlags,
): Promise<number> {
  const settings = settingsFor(globals, host);
  if (sqlite !== undefined) {
    if (profile !== "memgraph") {
      throw new UsageError("--sqlite: expected --profile memgraph beside it, whose flag it is");
    }
    const { moveIn } = await import("./move-in.js");
    await moveIn(host, { settings, from: sqlite, flag: "--sqlite" });
  }
  // Loaded for this command alone: others should not wait for the protocol.
  const { serveStreams } = await import("../mcp/sdk-stdio.js");
  const say = (line: string): void => host.err.write(`cortex: ${clean(line)}\n`);
  const graphsAlone = profile === "memgraph";
  await whileServed({ ...settings, graphsAlone }, host, async ({ memory, hub }) => {
    const location = settings.data.value;
    if (profile === "memgraph" && hub === undefined) {
      throw new UsageError(
        `--profile memgraph: expected a folder of graphs, got ${shownLocation(location)}`,
      );
    }
    const endServing = host.beginServing();
    try {
      say(`${shownLocation(location)}, actor ${memory.actor}`);
      const connection = serveStreams(
        {
          memory,
          access: AGENT_ACCESS,
          location,
          settings: shownSettings([
            settings.data,
            settings.actor,
            ...Object.values(serviceSettingsFor(host)),
          ]),
          profile,
          ...(hub === undefined ? {} : { hub: async () => hub }),
          log: say,
        },
        { input: host.readChunks(), write: (chunk) => host.writeChunk(chunk) },
      );
      let asked = false;
      const forget = host.onInterrupt(() => {
        if (asked) process.exit(130);
        asked = true;
        connection.stop();
      });
      await connection.done;
      forget();
    } finally {
      endServing();
    }
  });
  return 0;
}

/** Prints what to paste into a client; the result is the exit code. */
export function runMcpConfig(host: Host, globals: GlobalFlags, what: ConfigRequest): number {
  const settings = settingsFor(globals, host);
  checkActorName(settings.actor.value);
  if (what.npx && !IS_PUBLISHED) {
    const why = "the package is in no registry yet, and its name could be anybody's";
    throw new UsageError(`--npx: ${why}; without it the block starts ${commandFile()}`);
  }
  const script = commandFile();
  const block = clientBlock(what.client, {
    node: process.execPath,
    script,
    platform: host.platform,
    npx: what.npx || (IS_PUBLISHED && isInNpxCache(script)),
    args: argumentsOf(settings, what.profile),
  });
  const { title, where } = CLIENTS[what.client];
  host.err.write(`${title}: add this to ${where}\n`);
  host.out.write(`${JSON.stringify(block, null, 2)}\n`);
  return 0;
}

/** The store is named, because the client's folder and variables will be others than these. */
function argumentsOf({ data, actor }: Settings, profile: Profile): readonly string[] {
  return [
    "--data",
    data.value,
    "--actor",
    actor.value,
    ...(profile === "standard" ? [] : ["--profile", profile]),
  ];
}
