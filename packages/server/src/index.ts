/**
 * The public surface of `@cortex-memory/server`: the table of operations and what doors share.
 */
export { type Field, fieldsOf, flagFields, placeholder } from "./cli/fields.js";
export { type Host, processHost } from "./cli/host.js";
export { buildProgram, commandsOf } from "./cli/program.js";
export { runCli } from "./cli/run.js";
export { SETTINGS, type Setting, settingsFor, userDataFolder } from "./config.js";
export { ERROR_STATUS, type ErrorStatus, FAMILIES, INTERNAL_CODE } from "./error-status.js";
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
  type VerbName,
} from "./operations/define.js";
export { OPERATIONS } from "./operations.js";
