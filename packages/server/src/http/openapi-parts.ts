/**
 * What every part of the OpenAPI document is made of: schemas, failures, names of paths.
 */
import * as z from "zod";
import { ERROR_STATUS } from "../error-status.js";
import { REFUSALS } from "./problem.js";

/** A JSON document, or a part of one. */
export type Json = { readonly [member: string]: unknown };

/** What our schemas say about themselves for other doors. */
const OWN_KEYWORDS = ["code", "file", "standard", "time"];

/** The JSON Schema of what a caller sends or gets. */
export function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    // Answers, too, are described as what may come: members that are not named are no error.
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      const own: { [keyword: string]: unknown } = jsonSchema;
      for (const keyword of OWN_KEYWORDS) delete own[keyword];
    },
  });
  return json;
}

/** Statuses of failures that any request may meet. */
const FAILURES: readonly number[] = [
  ...new Set([
    ...Object.values(REFUSALS).map(({ status }) => status),
    ...Object.values(ERROR_STATUS).map(({ http }) => http),
    500,
  ]),
].sort((one, other) => one - other);

/** The responses that any request may meet when it fails. */
export function failures(): Json {
  return Object.fromEntries(
    FAILURES.map((status) => [String(status), { $ref: "#/components/responses/Problem" }]),
  );
}

/** A path as OpenAPI writes it. */
export function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}
