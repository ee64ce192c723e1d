/** The table is complete, consistent and documented, and its input check speaks like the library. */
import * as core from "@cortex-memory/core";
import { isCortexError, open } from "@cortex-memory/core";
import { VERBS } from "@cortex-memory/core/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { CALL_CONTEXT } from "../test/call-context.js";
import { flagFields, isUnconditional } from "./cli/input.js";
import { commandsOf } from "./cli/program.js";
import { fieldsOf } from "./operations/text-input.js";
import { OPERATIONS } from "./operations.js";

/** Methods of the facade that open and close it or let somebody in: every door's own business. */

/** Functions of the library that do nothing to any store. */
const PURE = [
  "actorFor",
  "buildUri",
  "deriveSeed",
  "hashEmbedder",
  "httpEmbedder",
  "httpModel",
  "isCortexError",
  "issueScope",
  "parseScope",
  "parseUri",
  "signerOf",
  "signRequest",
  "verifyEd25519",
];
/** What every door does by itself: opening, and making failures. */
const OWN = ["CortexError", "Hub", "open"];
/** Functions of this package that work on a location. */
const HERE = ["importForeign"];

const verbs = new Set<string>(OPERATIONS.flatMap((operation) => operation.verbs));

describe("the table", () => {
  test("has every verb of the facade, and the facade every verb of the table", () => {
    expect([...verbs].sort()).toEqual(Object.keys(VERBS).sort());
  });

  test("has every function of the library that works on a location", () => {
    const functions = Object.entries(core)
      .filter(([name, value]) => typeof value === "function" && !PURE.includes(name))
      .map(([name]) => name);
    const places = new Set(OPERATIONS.flatMap(({ place }) => place ?? []));
    expect([...places, ...OWN].sort()).toEqual([...functions, ...HERE].sort());
  });

  test("names each operation once, and takes its policy from the facade", () => {
    const names = OPERATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { policy, verbs: called, place, kind, cli } of OPERATIONS) {
      const without = place === undefined ? "open" : "owner";
      const policies = called.length === 0 ? [without] : called.map((verb) => VERBS[verb].policy);
      expect(new Set(policies)).toEqual(new Set([policy]));
      // A copy names both of its places itself.
      const goesByLocation = place !== undefined && place !== "copyHub";
      expect(cli.store === "none").toBe(called.length === 0 && !goesByLocation);
      expect(["fresh", "closed"].includes(cli.store ?? "")).toBe(goesByLocation);
      if (policy === "write") expect(kind).toBe("write");
      if (policy === "filtered") expect(kind).toBe("read");
    }
  });

  test.each(OPERATIONS)("$name explains itself", (operation) => {
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/s);
    expect(operation.help).toMatch(/\.$/);
    expect(operation.example).toContain(`cortex ${operation.cli.command}`);
    const silent = fieldsOf(operation).filter(({ description }) => description === "");
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  test.each(OPERATIONS)("$name can be announced as JSON Schema", ({ input, output }) => {
    const options = { unrepresentable: "any", io: "input" } as const;
    expect(z.toJSONSchema(input, options)).toMatchObject({ type: "object" });
    expect(z.toJSONSchema(output, options)).toMatchObject({ type: "object" });
  });

  test("has commands whose flags do not collide", () => {
    for (const [command, shared] of commandsOf(OPERATIONS)) {
      expect(shared.filter(isUnconditional)).toHaveLength(1);
      for (const operation of shared) {
        const flags = flagFields(operation).map(({ flag }) => flag);
        expect(new Set([...flags, "data", "actor", "json", "help"]).size, command).toBe(
          flags.length + 4,
        );
      }
    }
  });

  test("has the commands that were promised", () => {
    const promised =
      "write note get update tombstone restore history inspect traverse remember session root " +
      "check rebuild log stats config forget changes revert snapshot prove verify share " +
      "vacuum export import backup erasures upgrade schema tags maintain search search-batch " +
      "context attest weights compact context-record find";
    const commands = commandsOf(OPERATIONS);
    expect(promised.split(" ").filter((name) => !commands.has(name))).toEqual([]);
    for (const name of ["edge add", "edge rm", "edge ls"]) expect(commands.has(name)).toBe(true);
  });
});

describe("running an operation", () => {
  async function codeOf(name: string, input: unknown): Promise<string> {
    await using memory = await open("memory:");
    try {
      await OPERATIONS.find((one) => one.name === name)?.run(memory, input, CALL_CONTEXT);
      return "none";
    } catch (error) {
      if (!isCortexError(error)) throw error;
      return `${error.code} ${error.message}`;
    }
  }

  test.each([
    ["get", { id: 5 }, "ERR_BAD_ID id: expected an id, a URI or an external id, got 5"],
    ["get", {}, "ERR_BAD_ID id: expected an id, a URI or an external id, got nothing"],
    ["get", [], "ERR_INVALID input: expected an object, got an array of 0"],
    ["get", { id: "x", nope: 1 }, "ERR_UNKNOWN_FIELD nope: expected one of the fields id, version"],
    ["get", { id: "x", asOf: -1 }, "ERR_AS_OF asOf: expected"],
    ["get", { id: "x" }, "ERR_NOT_FOUND id: no memory x"],
    ["write", { type: "bogus", text: "x" }, "ERR_UNKNOWN_TYPE type: expected one of identity"],
    ["list", { type: "bogus" }, "ERR_UNKNOWN_TYPE type: expected one of identity"],
    ["recall", { question: "x", types: ["bogus"] }, "ERR_UNKNOWN_TYPE types[0]: expected one of"],
    ["write", { type: "fact", text: "x", nope: 1 }, "ERR_UNKNOWN_FIELD nope: expected one of"],
    [
      "write",
      { type: "fact", text: "x", importance: 11 },
      "ERR_INVALID importance: expected a whole",
    ],
    ["remember", { session: "s", turns: [{ role: "bogus", content: "" }] }, "ERR_INVALID turns[0]"],
  ])("%s of %j fails as the library would", async (name, input, expected) => {
    expect(await codeOf(name, input)).toContain(expected);
  });
});
