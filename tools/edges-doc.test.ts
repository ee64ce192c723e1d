/**
 * The page on edges is what the registry says. When a table is stale, write it anew with
 * `CORTEX_WRITE_DOCS=1 npx vitest run tools/edges-doc.test.ts`. The programs on the page are run by
 * `docs-code.test.ts`; what it says about limits is shown here.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LIMITS, open } from "@cortex-memory/core";
import { EDGE_KINDS, LINK_KINDS } from "@cortex-memory/core/contract";
import { expect, test } from "vitest";
import { withEdgeParts } from "./make-edge-kinds.js";

const PAGE = fileURLToPath(new URL("../docs/edges.md", import.meta.url));
const read = (): string => readFileSync(PAGE, "utf8");

test("the tables are those of the program", () => {
  const fresh = withEdgeParts(read());
  if (process.env.CORTEX_WRITE_DOCS === "1") writeFileSync(PAGE, fresh);
  expect(read() === fresh, "stale: run this file with CORTEX_WRITE_DOCS=1").toBe(true);
});

test("the tables name every kind, every group and every kind that a model may propose", () => {
  const page = read();
  for (const { name, group } of EDGE_KINDS) {
    expect(page).toContain(`| \`${name}\` | ${group} |`);
    expect(page).toMatch(new RegExp(`^\\| ${group} \\| \\S`, "m"));
  }
  for (const name of LINK_KINDS) expect(page).toContain(`\`${name}\``);
});

test("a page without a place for a table is refused", () => {
  expect(() => withEdgeParts("# Edges\n")).toThrow("no place for kinds");
});

test("the figures are those of the limits", () => {
  const page = read();
  expect(page).toContain(`at most ${LIMITS.sameTopicEdges} links`);
  expect(page).toContain(`up to ${LIMITS.edgeKindBytes} bytes`);
  expect(page).toContain(`${LIMITS.edgeKinds.toLocaleString("en")} of them`);
  expect(page).toContain(`${LIMITS.hops} hops at most`);
  expect(page).toContain(`| ${LIMITS.traverseNodesDefault.toLocaleString("en")} |`);
});

test("the limits that the page names are there", async () => {
  const memory = await open("memory:", { actor: "ada" });
  const [one, two] = await Promise.all(
    ["one", "two"].map((text) => memory.write({ type: "note", text })),
  );
  if (one === undefined || two === undefined) throw new Error("two notes were written");
  await memory.link(one.id, "caused_by", two.id);
  expect(await memory.linksFrom(one.id)).toMatchObject([{ kind: "caused_by", inverse: true }]);
  const [causes] = await memory.linksFrom(two.id);
  expect(causes).toMatchObject({ kind: "causes", to: one.id });
  expect(causes).not.toHaveProperty("inverse");
  await memory.close();
});
