/**
 * Trust as an auditor uses it: the root and its picture, pinning, snapshots, a memory's proof checked in
 * the page, what was pasted or dropped, a history that was changed, and what a scope shows.
 */
import { issueScope, open, signerOf } from "@cortex-memory/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readGiven } from "../src/trust/given.ts";
import { lacksBrowser, launch, openStudio, startTestServer, type TestServer } from "./browser.js";

const isLackingBrowser = lacksBrowser();

describe("what somebody was given", () => {
  test.each([
    ["", "nothing"],
    ["cortex-scope-abc", "scope"],
    ["cortex/ada/0011\n3\n", "checkpoint"],
    ['{"cortex":"proof/1","bytes":"AA"}', "proof"],
    ['{"memories":[],"proof":{},"checkpoint":"c","seq":1}', "slice"],
    ['{"root":"00","seq":1,"checkpoint":"cortex/ada"}', "checkpoint"],
    ["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=", "proof"],
    ["{broken", "unknown"],
    ["hello there", "unknown"],
  ])("%j is read as %s", (text, kind) => {
    expect(readGiven(text).kind).toBe(kind);
  });
});

describe.skipIf(isLackingBrowser)("trust", () => {
  let browser: Browser;
  let server: TestServer;
  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), startTestServer()]);
    for (const text of ["Ada lives in Porto", "Ada keeps a quokka", "The ferry leaves at noon"]) {
      await server.post("/v1/write", {
        type: "fact",
        text,
        ...(text.includes("ferry")
          ? { tags: ["trip"], visibility: "scoped", externalId: "ferry" }
          : {}),
      });
    }
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("a moment is pinned, a memory is proved against it in the page and in its panel, and its way is drawn", async () => {
    const studio = await openStudio(browser, server, "#/trust?prove=ferry");
    const { page } = studio;
    const proof = page.getByRole("region", { name: "Verify a memory" });
    await proof.getByText("It holds, but it is not anchored").waitFor();
    await page.getByText("Nothing is pinned. Without a pin").waitFor();
    await page.getByRole("button", { name: "Pin this moment" }).click();
    await proof.getByText("exactly what the checkpoint you pinned commits to").waitFor();
    await proof.getByText("the root: anchored").waitFor();
    expect(await proof.locator(".path-row").count()).toBeGreaterThan(2);

    // More is written: the pin is older than the present, and the history goes on from it.
    const { json } = await server.post("/v1/write", { type: "fact", text: "Ada moved to Braga" });
    await proof.getByText("was already covered by your pinned checkpoint").waitFor();
    await page.getByText("1 entry came since you pinned.").first().waitFor();
    await studio.picture("trust-pinned");
    await page.reload();
    await proof.getByText("was already covered by your pinned checkpoint").waitFor();

    await studio.show(`#/?m=${json.id}`);
    const panel = page.getByRole("complementary", { name: "Memory" });
    await panel.getByText("Has it been altered?").click();
    await panel.getByText("It holds, and is newer than your pin").waitFor();
    await panel.getByText("came after you pinned").waitFor();
    await studio.picture("trust-panel");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a snapshot is taken and pinned; another store's checkpoint is refused in words", async () => {
    const studio = await openStudio(browser, server, "#/trust");
    const { page } = studio;
    const snapshots = page.getByRole("region", { name: "Snapshots" });
    await snapshots.getByLabel("Why").fill("before the audit");
    await snapshots.getByRole("button", { name: "Take a snapshot" }).click();
    await snapshots.getByRole("cell", { name: /before the audit/ }).waitFor();
    await snapshots.getByRole("button", { name: /^Pin snapshot/ }).click();
    await snapshots.getByText("pinned", { exact: true }).waitFor();
    await page.getByText("exactly what the checkpoint you pinned").waitFor();

    await using other = await open("memory:", { actor: "default" });
    const { checkpoint } = await other.checkpoint();
    const given = page.getByRole("region", { name: "Verify what you were given" });
    const field = given.getByLabel(/Paste or drop/);
    await field.fill(checkpoint.trim());
    await given.getByText("It does not fit what you pinned").waitFor();
    await page.getByRole("button", { name: "Unpin" }).click();
    await given.getByText("It holds, but it is not anchored").waitFor();
    await given.getByRole("button", { name: "Pin this checkpoint" }).click();
    // Now the pin is of another store: the server cannot go on from it.
    await page.getByRole("region", { name: "The root" }).getByText("does not fit").waitFor();
    await studio.picture("trust-refused");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a proof and a slice are pasted or dropped; a forged slice is refused by its member", async () => {
    const proof = await server.post("/v1/prove", { memories: ["ferry"] });
    const slice = await server.post("/v1/share", { tags: ["trip"] });
    const studio = await openStudio(browser, server, "#/trust");
    const { page } = studio;
    const given = page.getByRole("region", { name: "Verify what you were given" });
    const field = given.getByLabel(/Paste or drop/);
    await field.fill(proof.text);
    await given.getByText("The ferry leaves at noon").waitFor();
    await given.getByText("A proof", { exact: true }).waitFor();
    await field.fill("nonsense");
    await given.getByText("This is no proof, slice, checkpoint or scope").waitFor();

    const file = {
      name: "slice.json",
      mimeType: "application/json",
      buffer: Buffer.from(slice.text),
    };
    await given.getByLabel("or choose a file").setInputFiles(file);
    await given.getByText("A slice: memories with their proof").waitFor();
    const forged = slice.text.replace("leaves at noon", "leaves at nine");
    const data = await page.evaluateHandle(`(() => {
      const data = new DataTransfer();
      data.items.add(new File([${JSON.stringify(forged)}], "slice.json"));
      return data;
    })()`);
    await page.locator(".drop").dispatchEvent("drop", { dataTransfer: data });
    await given.getByText("This does not hold").waitFor();
    await given.getByText("memories[0]").waitFor();
    await studio.picture("trust-forged");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });

  test("a scope is shown in words and through its holder's eyes, and taken back", async () => {
    const issuer = signerOf(new Uint8Array(32).fill(23));
    const key = Buffer.from(issuer.publicKey).toString("base64");
    await server.post("/v1/configure", { trustedIssuers: [key] });
    const issuedAt = Date.now();
    const scope = await issueScope(
      {
        actor: "default",
        include: { tags: ["trip"] },
        issuedAt,
        expiresAt: issuedAt + 3_600_000,
        grantedTo: "bearer:guest",
      },
      issuer,
    );
    const studio = await openStudio(browser, server, "#/trust");
    const { page } = studio;
    const given = page.getByRole("region", { name: "Verify what you were given" });
    await given.getByLabel(/Paste or drop/).fill(scope);
    await given.getByText("It holds here and now").waitFor();
    await given.getByText("tags trip").waitFor();
    await given.getByText("Its holder sees 1 memory").waitFor();
    await given.getByRole("link", { name: "The ferry leaves at noon" }).waitFor();
    await studio.picture("trust-scope");
    await given.getByRole("button", { name: "Take it back…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Take it back" }).click();
    await given.getByText("It opens nothing here").waitFor();
    expect(page.url()).not.toContain("cortex-scope");
    expect(studio.complaints).toEqual([]);
    await studio.close();
  });
});
