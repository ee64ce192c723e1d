/**
 * What to paste into the configuration of a client, so that it starts this server. Paths are absolute,
 * because clients start servers from a folder of their own.
 */

/** How a client's configuration names its servers. */
interface Client {
  readonly title: string;
  /** Where the block goes, for people. */
  readonly where: string;
  /** The member that holds servers by name. */
  readonly member: string;
  /** What this client wants to know beside command and arguments. */
  readonly extra?: { readonly [member: string]: unknown };
}

/** The clients whose form is known; every one of them takes JSON. */
export const CLIENTS = {
  claude: {
    title: "Claude Desktop",
    where: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    member: "mcpServers",
  },
  "claude-code": {
    title: "Claude Code",
    where: ".mcp.json in the project",
    member: "mcpServers",
    extra: { type: "stdio" },
  },
  cursor: { title: "Cursor", where: "~/.cursor/mcp.json", member: "mcpServers" },
  vscode: {
    title: "VS Code",
    where: ".vscode/mcp.json in the workspace",
    member: "servers",
    extra: { type: "stdio" },
  },
  windsurf: {
    title: "Windsurf",
    where: "~/.codeium/windsurf/mcp_config.json",
    member: "mcpServers",
  },
  gemini: { title: "Gemini CLI", where: "~/.gemini/settings.json", member: "mcpServers" },
  zed: { title: "Zed", where: "its settings.json", member: "context_servers" },
} as const satisfies { readonly [name: string]: Client };

/** The name of a client. */
export type ClientName = keyof typeof CLIENTS;

/** How the server is started. */
export interface Launch {
  /** The program of Node. */
  readonly node: string;
  /** The script of this package. */
  readonly script: string;
  readonly platform: string;
  /** Through the package registry instead of by path. */
  readonly npx: boolean;
  /** What follows `mcp`. */
  readonly args: readonly string[];
}

/** The name under which servers are usually published, and found by npx. */
const PACKAGE = "@cortex-memory/server";

/** The block to paste. */
export function clientBlock(
  name: ClientName,
  launch: Launch,
): { readonly [member: string]: unknown } {
  const { member, extra }: Client = CLIENTS[name];
  return { [member]: { cortex: { ...extra, ...commandOf(launch) } } };
}

function commandOf({ node, script, platform, npx, args }: Launch) {
  if (!npx) return { command: node, args: [script, "mcp", ...args] };
  const words = ["-y", PACKAGE, "mcp", ...args];
  // On Windows npx is a script, which only a shell can start.
  if (platform === "win32") return { command: "cmd", args: ["/c", "npx", ...words] };
  return { command: "npx", args: words };
}

/** Whether a script lives in the cache of npx, which may be cleaned at any time. */
export function isInNpxCache(script: string): boolean {
  return /[\\/]_npx[\\/]/.test(script);
}
