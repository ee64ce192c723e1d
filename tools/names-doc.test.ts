/**
 * The page that maps names of other designs to ours: every name of ours on it exists. Links are the
 * business of the house rules.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as core from "@cortex-memory/core";
import * as contract from "@cortex-memory/core/contract";
import { memgraph } from "@cortex-memory/core/memgraph";
import * as verifier from "@cortex-memory/core/verify";
import { afterAll, expect, test } from "vitest";
import { commandsOf, OPERATIONS } from "../packages/server/src/index.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = readFileSync(`${root}docs/names.md`, "utf8");
const settings = readFileSync(`${root}docs/reference/cli.md`, "utf8");

const memory = await core.open("memory:", { actor: "ada" });
const hub = await core.openHub("memory:");
afterAll(() => Promise.all([memory.close(), hub.close()]));

/** Commands that are no operations. */
const OTHER_COMMANDS = ["serve", "mcp"];
const commands = [...commandsOf(OPERATIONS).keys(), ...OTHER_COMMANDS];

/** What the middle column of the tables puts between backticks. */
function ourNames(text: string): readonly string[] {
  const rows = text.split("\n").filter((line) => /^\| (?!there \|)/.test(line));
  return rows.flatMap((row) =>
    [...(row.split(" | ")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  );
}

/** Why a name is none of ours; `undefined` when it is, or when it is no name that can be checked. */
function fault(name: string): string | undefined {
  const isMember = (of: object, member: string): boolean => member in of;
  const [, owner = "", member = ""] = /^(memory|hub|store|jobs)\.(\w+)$/.exec(name) ?? [];
  const owners: Readonly<Record<string, object>> = {
    memory,
    hub,
    store: memgraph(hub),
    jobs: memory.jobs,
  };
  const object = owners[owner];
  if (object !== undefined && !isMember(object, member)) return `${name} is no verb`;
  const [, called = ""] = /^(\w+)\(\)$/.exec(name) ?? [];
  if (called !== "" && [core, contract, verifier].every((entry) => !isMember(entry, called))) {
    return `${name} is not exported`;
  }
  if (/^CORTEX_[A-Z_]+$/.test(name)) {
    return settings.includes(`\`${name}\``) ? undefined : `${name} is no setting`;
  }
  if (/^ERR_[A-Z_]+$/.test(name)) {
    return isMember(core.ERROR_CODES, name) ? undefined : `${name} is no code`;
  }
  const isConstant = /^[A-Z]+(_[A-Z]+)*$/.test(name);
  if (isConstant && !isMember(core, name) && !isMember(contract, name)) {
    return `${name} is not exported`;
  }
  const [, words] = /^cortex ([a-z -]+?)( --.*)?$/.exec(name) ?? [];
  if (words !== undefined && !commands.includes(words)) return `${name} is no command`;
  return undefined;
}

test("every name of ours exists", () => {
  const names = ourNames(page);
  expect(names.filter((name) => name.startsWith("memory.")).length).toBeGreaterThan(60);
  expect(names.filter((name) => name.startsWith("hub.")).length).toBeGreaterThan(5);
  expect(names.filter((name) => name.startsWith("store.")).length).toBeGreaterThan(12);
  expect(names.flatMap((name) => fault(name) ?? [])).toEqual([]);
});

test("a name that does not exist is found", () => {
  const wrong = ["memory.fly", "hub.fly", "jobs.fly", "fly()", "ERR_FLY", "FLY", "CORTEX_FLY"];
  expect(wrong.map((name) => fault(name) === undefined)).toEqual(wrong.map(() => false));
  expect(fault("cortex fly")).toBe("cortex fly is no command");
  expect(ourNames("| there | here |\n|---|---|\n| `A` | `b`, `c` | [d](d.md) |")).toEqual([
    "b",
    "c",
  ]);
});

test("every line says what is here, or none and why", () => {
  const rows = page.split("\n").filter((line) => /^\| (?!there \|)/.test(line));
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter((row) => (row.split(" | ")[1] ?? "").trim() === "")).toEqual([]);
  const bare = rows.filter((row) => /\| none( in the \w+| as [a-z ]+)?\.? \|/.test(row));
  expect(bare).toEqual([]);
});
