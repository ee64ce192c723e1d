/**
 * The routes of the remote client are what the contract says. When they are stale, write them anew with
 * `npm run generate`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ROUTES_FILE, routesText } from "./make-routes.js";

const file = fileURLToPath(new URL(`../${ROUTES_FILE}`, import.meta.url));

/** The text without what a formatter changes. */
function bare(text: string): string {
  return text.replaceAll(/\s+/g, "").replaceAll(/,([}\]])/g, "$1");
}

test("the routes of the remote client are generated from the contract", () => {
  if (process.env.CORTEX_WRITE_REFERENCE === "1") writeFileSync(file, routesText());
  expect(bare(readFileSync(file, "utf8"))).toBe(bare(routesText()));
});
