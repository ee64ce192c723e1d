/**
 * What stands behind one MCP connection or request: an open store, who is asking, and which tools are
 * shown. A door is made by whoever opened the store: the command line for stdio, the HTTP server for
 * `/mcp`.
 */
import type { Access, Cortex, Hub } from "@cortex-memory/core";
import type { OnPlan } from "@cortex-memory/core/contract";
import type { Profile, Setting } from "../config.js";

/** An open store and who is asking. */
export interface Door {
  readonly memory: Cortex;
  readonly access: Access;
  /** Where the store is, as people would write it. */
  readonly location: string;
  readonly settings: readonly Setting[];
  readonly profile: Profile;
  /** The graphs of the deployment, opened when first asked for; absent where there is no hub. */
  readonly hub?: () => Promise<Hub>;
  /** Faults of the program itself, for the operator. */
  readonly log: (line: string) => void;
  /** Waited for before a tool is run, so that calls that arrived together go on together. */
  readonly beforeRun?: () => Promise<void>;
  /** Told how a read was carried out. */
  readonly onPlan?: OnPlan;
  /** Told of every tool that is being run, for whoever has to wait for the end of it. */
  readonly onRun?: (run: Promise<unknown>) => void;
}
