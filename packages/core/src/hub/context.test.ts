/** Names of graphs: safe, distinct, the same for ever. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkActorName } from "../records/uri.js";
import { actorFor, checkGraphId, graphIdFor, isGraphId, tenantPrefix } from "./context.js";

const SEED = 20_260_314;

test("the name of a text never changes", () => {
  expect(actorFor("ada@example.com")).toMatchInlineSnapshot(
    `"ada-example-com-1nkyw3qvaf72e1jdjt6bbxcta3"`,
  );
  expect(actorFor("Ünal Çelik")).toMatchInlineSnapshot(`"unal-celik-47qb8a8sy6kh0w2y9kb22w3jwj"`);
  expect(actorFor("42", { tenant: "acme" })).toMatchInlineSnapshot(
    `"acme.42-0a9scrs70b7ac7rrp11njj5qn4"`,
  );
  expect(actorFor("ada@example.com", { readable: false })).toMatchInlineSnapshot(
    `"1nkyw3qvaf72e1jdjt6bbxcta3"`,
  );
});

test(`any text becomes a safe name of its own (seed ${SEED})`, () => {
  const names = new Map<string, string>();
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }), (text) => {
      const name = actorFor(text);
      expect(checkActorName(name)).toBe(name);
      expect(names.get(name) ?? text).toBe(text);
      names.set(name, text);
      const tenant = actorFor(text, { tenant: "a-tenant-of-thirty-two-characters".slice(0, 32) });
      expect(checkActorName(tenant)).toBe(tenant);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test("texts that look alike to people are told apart", () => {
  const texts = ["ada", "Ada", "ADA", "ada ", " ada", "a-da", "adà", "ada\u0300", "con", "nul"];
  expect(new Set(texts.map((text) => actorFor(text))).size).toBe(texts.length);
});

test("a tenant is a word before a dot, and its names are its own", () => {
  expect(tenantPrefix("acme")).toBe("acme.");
  expect(tenantPrefix(undefined)).toBe("");
  for (const bad of ["", "Acme", "a.b", "-a", "con", "a".repeat(33), "a b"]) {
    expect(() => tenantPrefix(bad)).toThrow(expect.objectContaining({ code: "ERR_BAD_NAME" }));
  }
  expect(checkGraphId("acme.ada", "acme.")).toBe("acme.ada");
  expect(isGraphId("acmex.ada", "acme.")).toBe(false);
  expect(isGraphId("../ada", "")).toBe(false);
});

test("graphs of one name get ids of their own", () => {
  let draws = 0;
  const random = (bytes: number): Uint8Array => {
    draws += 1;
    return new Uint8Array(bytes).fill(draws);
  };
  const first = graphIdFor("My Recipes!", random, "");
  expect(first).toMatch(/^my-recipes-[0-9a-z]{10}$/);
  expect(graphIdFor("My Recipes!", random, "")).not.toBe(first);
  expect(graphIdFor("日本", random, "acme.")).toMatch(/^acme\.[0-9a-z]{10}$/);
});

test("what is no text is refused", () => {
  for (const bad of ["", undefined, 5, null]) {
    expect(() => actorFor(bad as string)).toThrow(expect.objectContaining({ code: "ERR_INVALID" }));
  }
  expect(() => actorFor("\ud800")).toThrow(expect.objectContaining({ code: "ERR_ILL_FORMED" }));
  expect(() => actorFor("a", { Tenant: "x" } as never)).toThrow(
    expect.objectContaining({ code: "ERR_UNKNOWN_FIELD" }),
  );
});
