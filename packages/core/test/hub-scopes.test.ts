/** A scope behind a hub: it is one graph's word, so the hub takes none, and its graph honours it. */
import { expect, test } from "vitest";
import type { HUB_POLICIES } from "../src/hub/context.js";
import type { Hub } from "../src/hub/hub.js";
import type { MEMGRAPH_POLICIES, Memgraph } from "../src/memgraph/index.js";
import { issueScope } from "../src/scope/scope.js";
import { openTestHub } from "../src/testing/index.js";
import { HOLDER_KEY, ISSUER, ISSUER_KEY } from "./scopes-support.js";

/** A call of every verb that has a policy. */
type Calls<Policies, On> = { readonly [verb in keyof Policies]: (on: On) => Promise<unknown> };

test("no verb of a hub takes a scope; the graph it is about does, through use", async () => {
  await using world = await openTestHub();
  const { hub, store } = world;
  await hub.createGraph({ name: "g", id: "g" });
  await hub.use("g", (memory) => memory.configure({ trustedIssuers: [ISSUER_KEY] }));
  await hub.use("g", (memory) =>
    memory.write({
      type: "note",
      text: "n",
      tags: ["trip"],
      visibility: "scoped",
      externalId: "n",
    }),
  );
  const text = await issueScope(
    {
      actor: "g",
      include: { tags: ["trip"] },
      issuedAt: world.clock.last(),
      expiresAt: world.clock.last() + 3_600_000,
      grantedTo: HOLDER_KEY,
      writable: true,
    },
    ISSUER,
  );
  const access = await hub.use("g", (memory) => memory.scopeAccess(text, { signedBy: HOLDER_KEY }));
  const calls: Calls<typeof HUB_POLICIES, Hub> = {
    createGraph: (on) => on.createGraph({ name: "x" }, { access }),
    getGraph: (on) => on.getGraph("g", { access }),
    listGraphs: (on) => on.listGraphs({ access }),
    configureGraph: (on) => on.configureGraph("g", { name: "x" }, { access }),
    remove: (on) => on.remove("g", "why", { access }),
    for: (on) => on.for("ada", { access }),
    traverse: (on) => on.traverse("g", "n", { access }),
    symlinks: (on) => on.symlinks("g", { access }),
    subscribe: (on) => on.subscribe({ access }),
    check: (on) => on.check({ access }),
    rebuild: (on) => on.rebuild({ access }),
  };
  const ofMemgraph: Calls<typeof MEMGRAPH_POLICIES, Memgraph> = {
    putNode: (on) => on.putNode("g", { kind: "n" }, { access }),
    getNode: (on) => on.getNode("n", { access }),
    history: (on) => on.history("n", { access }),
    listNodes: (on) => on.listNodes("g", { access }),
    conflicts: (on) => on.conflicts("g", { access }),
    resolve: (on) => on.resolve("n", { versions: [1], keep: 1 }, { access }),
    putEdge: (on) => on.putEdge("g", { fromLineage: "n", toLineage: "n", kind: "is" }, { access }),
    deleteEdge: (on) => on.deleteEdge("01ARZ3NDEKTSV4RRFFQ69G5FAV@g", { access }),
    outgoing: (on) => on.outgoing("n", { access }),
    incoming: (on) => on.incoming("n", { access }),
    traverse: (on) => on.traverse("n", { access }),
    symlinks: (on) => on.symlinks("g", { access }),
    putSubgraph: (on) => on.putSubgraph("g", { nodes: [{ kind: "n" }] }, { access }),
    search: (on) => on.search("g", { text: "n" }, { access }),
    searchBatch: (on) => on.searchBatch("g", [{ text: "n" }], { access }),
    describeSchema: (on) => on.describeSchema("g", { access }),
    listTags: (on) => on.listTags("g", { access }),
    subscribe: (on) => on.subscribe({ access }),
  };
  for (const [verb, call] of Object.entries(calls)) {
    await expect(call(hub), verb).rejects.toMatchObject({ code: "ERR_DENIED" });
  }
  for (const [verb, call] of Object.entries(ofMemgraph)) {
    await expect(call(store), verb).rejects.toMatchObject({ code: "ERR_DENIED" });
  }
  expect((await store.listNodes("g")).total).toBe(1);
  const read = await hub.use("g", (memory) => memory.get("n", { access }));
  expect(read).toMatchObject({ text: "n" });
});
