/**
 * The public surface of `@cortex-memory/server`: the table of operations and what doors share.
 */

export { CLIENTS, type ClientName, clientBlock, type Launch } from "./cli/clients.js";
export { type Host, processHost } from "./cli/host.js";
export { flagFields, placeholder } from "./cli/input.js";
export { BENCH_SIZE, buildProgram, commandsOf } from "./cli/program.js";
export { runCli } from "./cli/run.js";
export {
  JOBS_SETTINGS,
  PROFILES,
  type Profile,
  SERVE_SETTINGS,
  SERVICE_SETTINGS,
  SETTINGS,
  type ServeSettingSpec,
  type Setting,
  settingsFor,
  userDataFolder,
} from "./config.js";
export { ERROR_STATUS, type ErrorStatus, FAMILIES, INTERNAL_CODE } from "./error-status.js";
export { type Route, routesOf } from "./http/routes.js";
export type { Door as McpDoor, Effect, Tool, ToolAnswer, ToolContext } from "./mcp/define.js";
export { instructionsFor } from "./mcp/instructions.js";
export { MEMORY_TEMPLATE, type Prompt, promptsFor } from "./mcp/resources.js";
export { toolsOf } from "./mcp/tools.js";
export { MEMGRAPH_TOOLS } from "./mcp/tools-memgraph.js";
export { STANDARD_TOOLS } from "./mcp/tools-standard.js";
export {
  type ArgumentSpec,
  type CallContext,
  type CommandSpec,
  defineOperation,
  type Files,
  GROUPS,
  type Operation,
  type OperationSpec,
  type PlaceFunction,
} from "./operations/define.js";
export { type Field, fieldsOf } from "./operations/text-input.js";
export { OPERATIONS } from "./operations.js";
