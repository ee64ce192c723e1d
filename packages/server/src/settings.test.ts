/** From the text of settings to values, and what is refused before a port is opened. */
import { describe, expect, test } from "vitest";
import { type ServeSettingName, serveSettingsFor, shownSettings } from "./config.js";
import { isLoopback, readServeOptions } from "./settings.js";

const read = (
  flags: { readonly [name in ServeSettingName]?: string },
  env: Record<string, string> = {},
  mode = 0o600,
) =>
  readServeOptions(serveSettingsFor(flags, { env }), () => ({
    text: "a-token-out-of-a-file\n",
    mode,
  }));

test("without a word, a server for this machine", () => {
  const options = read({});
  expect(options).toMatchObject({
    host: "127.0.0.1",
    port: 7777,
    corsOrigins: [],
    ratePerSecond: 0,
  });
  expect(options.token).toBeUndefined();
});

test("a flag wins over a variable, and a variable over the default", () => {
  expect(read({ port: "1" }, { CORTEX_PORT: "2" }).port).toBe(1);
  expect(read({}, { CORTEX_PORT: "2" }).port).toBe(2);
  expect(read({}, { CORTEX_PORT: "" }).port).toBe(7777);
});

test("a token comes from the variable or from a file, not from both", () => {
  expect(read({}, { CORTEX_TOKEN: "0123456789abcdef" }).token).toBe("0123456789abcdef");
  const both = { CORTEX_TOKEN: "0123456789abcdef", CORTEX_HOST_TOKEN: "fedcba9876543210" };
  expect(read({}, both)).toMatchObject({
    token: both.CORTEX_TOKEN,
    hostToken: both.CORTEX_HOST_TOKEN,
  });
  const same = { ...both, CORTEX_HOST_TOKEN: both.CORTEX_TOKEN };
  expect(() => read({}, same)).toThrow(/another token than the admin token/);
  expect(read({ tokenFile: "x" }).token).toBe("a-token-out-of-a-file");
  expect(() => read({ tokenFile: "x" }, { CORTEX_TOKEN: "0123456789abcdef" })).toThrow(/got both/);
  for (const mode of [0o640, 0o604, 0o601])
    expect(() => read({ tokenFile: "x" }, {}, mode)).toThrow(/0600/);
});

test("an address that others reach needs a token", () => {
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "192.168.1.1", "fe80::1"]) {
    expect(() => read({ host }), host).toThrow(/needs an admin token/);
    expect(read({ host }, { CORTEX_TOKEN: "0123456789abcdef" }).host).toBe(host);
  }
  for (const host of ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    expect(read({ host }).host).toBe(host);
});

test.each([
  ["127.0.0.1", true],
  ["[::1]", true],
  ["localhost", true],
  ["127.0.0.1.example", false],
  ["localhost.", false],
  ["127", false],
  ["0.0.0.0", false],
  ["", false],
])("%s can only be this machine: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

describe("values", () => {
  test.each([
    [{ port: "-1" }, /0 to 65535/],
    [{ port: "1e3" }, /whole number/],
    [{ requestTimeoutMs: "5" }, /100 to/],
    [{ bodyLimitBytes: "12" }, /1024 or more/],
    [{ corsOrigins: "https://a.example/path" }, /origins such as/],
    [{ corsOrigins: "*" }, /origins such as/],
    [{ corsOrigins: "null" }, /origins such as/],
  ])("%j is refused", (flags, message) => {
    expect(() => read(flags)).toThrow(message);
  });

  test("origins are separated by commas", () => {
    const corsOrigins = "https://a.example, http://localhost:3000";
    expect(read({ corsOrigins }).corsOrigins).toEqual([
      "https://a.example",
      "http://localhost:3000",
    ]);
  });
});

test("a secret is said to be there, never shown", () => {
  const settings = Object.values(
    serveSettingsFor({}, { env: { CORTEX_TOKEN: "0123456789abcdef" } }),
  );
  const shown = shownSettings(settings);
  expect(JSON.stringify(shown)).not.toContain("0123456789abcdef");
  expect(shown.find(({ name }) => name === "token")?.value).toBe("set, not shown");
  const none = shownSettings(Object.values(serveSettingsFor({}, { env: {} })));
  expect(none.find(({ name }) => name === "token")?.value).toBe("not set");
});

describe("memgraph's configuration", () => {
  const token = { MEMGRAPH_HTTP_TOKEN: "0123456789abcdef" };

  test("counts under --compat memgraph, by flag or variable, below everything of our own", () => {
    expect(read({ compat: "memgraph" }, token)).toMatchObject({
      port: 8080,
      token: token.MEMGRAPH_HTTP_TOKEN,
    });
    expect(read({}, { CORTEX_COMPAT: "memgraph" }).port).toBe(8080);
    expect(read({}, token)).toMatchObject({ port: 7777 });
    expect(read({}, token).token).toBeUndefined();
    const own = { ...token, CORTEX_TOKEN: "fedcba9876543210", CORTEX_PORT: "2" };
    expect(read({ compat: "memgraph" }, own)).toMatchObject({ port: 2, token: own.CORTEX_TOKEN });
    expect(read({ compat: "memgraph", port: "1" }, own).port).toBe(1);
    expect(() => read({ compat: "memgraph", tokenFile: "x" }, token)).toThrow(
      /^MEMGRAPH_HTTP_TOKEN, --token-file: expected one of them/,
    );
    expect(() => read({ compat: "memgraph" }, { MEMGRAPH_HTTP_TOKEN: "short" })).toThrow(
      /^MEMGRAPH_HTTP_TOKEN: expected a token of 16/,
    );
    expect(() => read({ compat: "neo4j" })).toThrow(/^--compat: expected memgraph, got "neo4j"/);
  });

  test.each([
    ["127.0.0.1:8081", "127.0.0.1", 8081],
    ["localhost:0", "localhost", 0],
    ["[::1]:9", "::1", 9],
    [":8080", "0.0.0.0", 8080],
  ])("--addr %s is a host and a port", (addr, host, port) => {
    expect(read({ compat: "memgraph", addr }, token)).toMatchObject({ host, port });
  });

  test("--addr is refused where it says nothing, too much, or the same as others", () => {
    const compat = "memgraph";
    expect(() => read({ compat, addr: ":8080" })).toThrow(
      /^--addr: 0\.0\.0\.0 can be reached.*MEMGRAPH_HTTP_TOKEN/,
    );
    for (const addr of ["", "8080", "host", "1.2.3.4:x", "a:b:1"]) {
      expect(() => read({ compat, addr }, token), addr).toThrow(/^--addr: expected HOST:PORT/);
    }
    expect(() => read({ compat, addr: ":70000" }, token)).toThrow(
      /^--addr: expected a whole number/,
    );
    expect(() => read({ compat, addr: ":1", port: "2" }, token)).toThrow(
      /^--addr, --port: expected/,
    );
  });

  test("its store is a file or a database, and the database wins", () => {
    const compat = "memgraph";
    expect(read({ compat }).moveIn).toBeUndefined();
    expect(read({ compat, sqlite: "m.db" }).moveIn).toMatchObject({ value: "m.db" });
    const postgres = "postgres://ada:secret@host/name";
    expect(read({ compat, sqlite: "m.db", postgres }).moveIn).toMatchObject({ value: postgres });
    expect(() => read({ compat, sqlite: "" })).toThrow(/^--sqlite: expected/);
    expect(() => read({ compat, postgres: "host=x password=secret" })).toThrow(
      /^--postgres: expected an address such as postgres:\/\/host\/name$/,
    );
    const shown = shownSettings(
      Object.values(serveSettingsFor({ compat, postgres }, { env: token })),
    );
    expect(JSON.stringify(shown)).not.toMatch(/secret@|0123456789abcdef/);
  });

  test("its flags mean nothing without --compat memgraph", () => {
    const given = {
      sqlite: "m.db",
      postgres: "postgres://h/n",
      addr: ":1",
      corsOrigin: "http://x",
    };
    for (const [name, value] of Object.entries(given)) {
      expect(() => read({ [name]: value }), name).toThrow(/expected --compat memgraph beside it/);
    }
    expect(read({ compat: "memgraph", corsOrigin: "http://x,https://y.z" }).corsOrigins).toEqual([
      "http://x",
      "https://y.z",
    ]);
    expect(() => read({ compat: "memgraph", corsOrigin: "*" })).toThrow(/^--cors-origin: expected/);
  });
});
