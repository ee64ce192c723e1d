/**
 * Keys and scopes on the command line: made and signed without a store, in files that others cannot
 * read; shown and taken back at the store.
 */
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseScope } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";

let place: Place;
let issuer: string;
let holder: string;

beforeAll(async () => {
  place = makePlace();
  issuer = String((await place.json(["keygen", file("issuer.key")])).publicKey);
  holder = String((await place.json(["keygen", file("holder.key")])).publicKey);
  await place.json([
    "write",
    "fact",
    "Ada lives in Porto",
    "--tag",
    "trip",
    "--visibility",
    "scoped",
  ]);
  await place.json(["config", "--set", `trustedIssuers=${issuer}`]);
});
afterAll(() => place.remove());

const file = (name: string): string => join(place.folder, name);

describe("keygen", () => {
  test("makes a file that nobody else can read, and leaves one that is there alone", async () => {
    expect(statSync(file("issuer.key")).mode & 0o777).toBe(0o600);
    const before = readFileSync(file("issuer.key"), "utf8");
    expect(JSON.parse(before)).toMatchObject({ cortex: "key/1", publicKey: issuer });
    const again = await place.cortex(["keygen", file("issuer.key"), "--json"]);
    expect(again.exit).toBe(1);
    expect(JSON.parse(again.err)).toMatchObject({ error: { code: "ERR_EXISTS" } });
    expect(readFileSync(file("issuer.key"), "utf8")).toBe(before);
    expect(again.err + again.out).not.toContain(JSON.parse(before).seed);
  });
});

describe("scope issue", () => {
  const terms = ["--to", "KEY", "--tag", "trip"] as const;
  const args = (key: string): string[] => [
    "scope",
    "issue",
    key,
    ...terms.map((word) => (word === "KEY" ? holder : word)),
  ];

  test("prints a scope that the store honours, and shows what it grants", async () => {
    const plain = await place.cortex([...args(file("issuer.key")), "--hours", "2"]);
    const scope = parseScope(plain.out.trim());
    expect(scope).toMatchObject({
      include: { tags: ["trip"] },
      writable: false,
      grantedTo: holder,
    });
    expect(scope.expiresAt - scope.issuedAt).toBe(2 * 60 * 60 * 1000);
    const shown = await place.json(["scope", "show", "-"], { input: plain.out });
    expect(shown).toMatchObject({ holds: true, bearer: false, grantedBy: issuer });
    const people = await place.cortex(["scope", "show", plain.out.trim()]);
    expect(people.out).toMatch(/holds +yes/);
  });

  test("refuses a key file that others can read, and one that is no key", async () => {
    writeFileSync(file("open.key"), readFileSync(file("issuer.key")));
    chmodSync(file("open.key"), 0o644);
    const open = await place.cortex([...args(file("open.key")), "--json"]);
    expect(open.exit).toBe(1);
    expect(JSON.parse(open.err)).toMatchObject({ error: { code: "ERR_DENIED" } });
    expect(open.err).toContain("0644");
    writeFileSync(file("none.key"), "{}", { mode: 0o600 });
    const none = await place.cortex([...args(file("none.key")), "--json"]);
    expect(JSON.parse(none.err)).toMatchObject({ error: { code: "ERR_INVALID" } });
    const missing = await place.cortex([...args(file("missing.key")), "--json"]);
    expect(JSON.parse(missing.err)).toMatchObject({ error: { code: "ERR_STORAGE" } });
  });

  test("wants one holder", async () => {
    const none = await place.cortex(["scope", "issue", file("issuer.key"), "--tag", "t", "--json"]);
    expect(JSON.parse(none.err)).toMatchObject({ error: { code: "ERR_INVALID" } });
    const both = await place.cortex([...args(file("issuer.key")), "--bearer", "b", "--json"]);
    expect(JSON.parse(both.err)).toMatchObject({ error: { code: "ERR_INVALID" } });
  });

  test("names memories by a proof", async () => {
    const { id } = await place.json(["write", "note", "n", "--visibility", "scoped"]);
    await place.json(["snapshot"]);
    writeFileSync(file("proof.json"), (await place.cortex(["prove", String(id)])).out);
    const words = ["--id", String(id), "--proof", file("proof.json"), "--bearer", "b"];
    const { out } = await place.cortex(["scope", "issue", file("issuer.key"), ...words]);
    const shown = await place.json(["scope", "show", out.trim()]);
    expect(shown).toMatchObject({ holds: true, bearer: true, include: { ids: [id] } });
    const bare = await place.cortex([
      "scope",
      "issue",
      file("issuer.key"),
      ...words.slice(0, 2),
      "--bearer",
      "b",
    ]);
    expect(await place.json(["scope", "show", bare.out.trim()])).toMatchObject({
      holds: false,
      because: { code: "ERR_PROOF_INVALID" },
    });
  });
});

describe("scope revoke", () => {
  test("takes a scope back once and for all", async () => {
    const { out } = await place.cortex([
      "scope",
      "issue",
      file("issuer.key"),
      "--bearer",
      "b",
      "--tag",
      "t",
    ]);
    const { handle } = await place.json(["scope", "post", "-"], { input: out });
    expect(await place.json(["scope", "revoke", String(handle), "--reason", "over"])).toMatchObject(
      {
        revoked: true,
      },
    );
    expect(await place.json(["scope", "revoke", out.trim()])).toMatchObject({ revoked: false });
    expect(await place.json(["scope", "show", out.trim()])).toMatchObject({
      holds: false,
      because: { code: "ERR_SCOPE_REVOKED" },
    });
    const { entries } = await place.json(["log"]);
    const kinds = (entries as readonly { readonly kind: string }[]).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "revoke_scope")).toHaveLength(1);
  });
});
