/** What a model is spared stays in the schema for the other doors. */
import { VERBS } from "@cortex-memory/core/contract";
import { expect, test } from "vitest";
import * as z from "zod";
import { announced } from "./define.js";

test("announcing a schema to models leaves it as it was", () => {
  const shown = (schema: z.ZodType): string =>
    JSON.stringify(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  const schema = VERBS.write.input;
  const before = shown(schema);
  const first = JSON.stringify(announced(schema));
  expect(first).not.toBe(before);
  expect(JSON.stringify(announced(schema))).toBe(first);
  expect(shown(schema)).toBe(before);
});
