/** Which store and actor a command means, by flag, variable, folder and platform. */
import { describe, expect, test } from "vitest";
import { type Surroundings, settingsFor, userDataFolder } from "./config.js";

const around: Surroundings = {
  env: {},
  cwd: "/project",
  home: "/people/ada",
  platform: "linux",
  isFolder: () => false,
};

const data = (flags: { readonly data?: string }, change: Partial<Surroundings> = {}) => {
  const { value, from } = settingsFor(flags, { ...around, ...change }).data;
  return { value, from };
};

describe("the store", () => {
  test("is --data first, made absolute", () => {
    const env = { CORTEX_DATA: "/elsewhere" };
    expect(data({ data: "here" }, { env, isFolder: () => true })).toEqual({
      value: "/project/here",
      from: "--data",
    });
    expect(data({ data: "memory:" }).value).toBe("memory:");
    expect(data({ data: "postgres://host/db" }).value).toBe("postgres://host/db");
  });

  test("is CORTEX_DATA next; an empty variable counts as none", () => {
    expect(data({}, { env: { CORTEX_DATA: "x" }, isFolder: () => true })).toEqual({
      value: "/project/x",
      from: "CORTEX_DATA",
    });
    expect(data({}, { env: { CORTEX_DATA: "" } }).from).toBe("your data folder");
  });

  test("is ./.cortex next, only if that is a folder", () => {
    const isFolder = (path: string) => path === "/project/.cortex";
    expect(data({}, { isFolder })).toEqual({ value: "/project/.cortex", from: "./.cortex" });
    expect(data({}, { cwd: "/", isFolder }).value).toBe("/people/ada/.local/share/cortex");
  });

  test.each([
    ["linux", {}, "/people/ada/.local/share/cortex"],
    ["linux", { XDG_DATA_HOME: "/xdg" }, "/xdg/cortex"],
    ["linux", { XDG_DATA_HOME: "relative" }, "/people/ada/.local/share/cortex"],
    ["darwin", { XDG_DATA_HOME: "/xdg" }, "/people/ada/Library/Application Support/cortex"],
    ["win32", { LOCALAPPDATA: "C:\\Local" }, "C:\\Local\\cortex"],
    ["win32", {}, "\\people\\ada\\AppData\\Local\\cortex"],
  ])("is the user's data folder at last: %s %o", (platform, env, expected) => {
    expect(userDataFolder({ platform, env, home: around.home })).toBe(expected);
  });
});

test("the actor is --actor, CORTEX_ACTOR, or default", () => {
  const actor = (flags: { readonly actor?: string }, env = {}) =>
    settingsFor(flags, { ...around, env }).actor;
  expect(actor({ actor: "ada" }, { CORTEX_ACTOR: "grace" }).value).toBe("ada");
  expect(actor({}, { CORTEX_ACTOR: "grace" })).toMatchObject({
    value: "grace",
    from: "CORTEX_ACTOR",
  });
  expect(actor({}, { CORTEX_ACTOR: "" })).toMatchObject({ value: "default", from: "default" });
});
