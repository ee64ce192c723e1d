/**
 * The entry `@cortex-memory/core/contract`: every verb as it is declared, for whoever builds a door of
 * their own. It loads no engine and nothing of Node.
 */

export { describe } from "../errors.js";
export { expectedOf, type ListSchema } from "../records/fields.js";
export {
  anyObject,
  type FieldNote,
  listOf,
  listUpTo,
  noted,
  noteOf,
  oneOrMore,
  positionField,
  refField,
  type ShapeOf,
  textOf,
  timeOf,
  whole,
  words,
} from "./fields.js";
export { type Output, VERBS, type VerbName, type Verbs } from "./index.js";
export {
  asOf,
  by,
  headFields,
  idempotencyKey,
  memoryRef,
  memoryType,
  source,
  versionFields,
  writeFields,
} from "./memory.js";
export { checkInput, codeIn, refusalOf, renamed, shownPath, unwrapped } from "./refusal.js";
export {
  edgeShape,
  memoryRefShape,
  memoryShape,
  versionRecordShape,
  writtenShape,
} from "./shapes.js";
export { kebab, type Policy, type Verb } from "./verb.js";
