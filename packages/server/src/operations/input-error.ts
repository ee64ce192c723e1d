/**
 * What the server asks of a schema. How a refusal is worded is the contract's own, so that an input
 * refused here fails as the library would fail.
 */
import { type FieldNote, noteOf } from "@cortex-memory/core/contract";
import type * as z from "zod";

export {
  codeIn,
  describe as shortly,
  expectedOf as expectedBy,
  refusalOf as inputError,
  unwrapped as innerSchema,
} from "@cortex-memory/core/contract";

/** What a schema says about itself beside its rules. */
export interface FieldMeta extends FieldNote {
  readonly description?: string;
}

/** What a schema says about itself, wherever among its wrappers it was given; notes of the contract win. */
export function metaOf(schema: z.core.$ZodType): FieldMeta {
  return { ...ownMeta(schema), ...noteOf(schema) };
}

function ownMeta(schema: z.core.$ZodType): FieldMeta {
  const own = (schema as z.ZodType).meta?.() as FieldMeta | undefined;
  if (own !== undefined) return own;
  const { innerType } = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  return innerType === undefined ? {} : ownMeta(innerType);
}
