/** The public surface of `@cortex-memory/core/remote`: a client that needs `fetch` and nothing of Node. */
export type { VerbName } from "../contract/index.js";
export type { CortexApi } from "../cortex.js";
export { CortexError, ERROR_CODES, type ErrorCode, isCortexError } from "../errors.js";
export { EDGE_KINDS, type EdgeGroup } from "../records/edge-kinds.js";
export {
  FRAME_VERBS,
  LIFECYCLES,
  MEMORY_TYPES,
  type MemoryType,
  OBJECT_KINDS,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "../records/types.js";
export { askServer, openRemote, type RemoteCortex } from "./client.js";
export type { RemoteLocation, RemoteOptions, RequestSigner } from "./settings.js";
