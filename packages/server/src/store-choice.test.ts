/** Which store an operation works on, where the place cannot be looked at. */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isCortexError } from "@cortex-memory/core";
import { expect, test } from "vitest";
import { chooseStore } from "./store-choice.js";

const data = fileURLToPath(import.meta.url);
const isFolder = (path: string): boolean => statSync(path).isDirectory();

test.each(["needed", "optional", "closed"] as const)(
  "a file in the place of the folder is trouble with storage: %s",
  (store) => {
    let refused: unknown;
    try {
      chooseStore({ cli: { store } } as never, { data, actor: "ada", isFolder });
    } catch (error) {
      refused = error;
    }
    expect(isCortexError(refused, "ERR_STORAGE")).toBe(true);
    expect(String(refused)).toContain(data);
  },
);
