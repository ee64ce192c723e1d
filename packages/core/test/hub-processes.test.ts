/**
 * A hub among processes: one that is killed at any commit of the catalogue, others that write without
 * a hub, two that want the same lineage. Whatever was acknowledged is in every later answer, and the
 * catalogue passes its check.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { CATALOGUE, graphKey, memoryRowKey, ordinalKey } from "../src/hub/catalogue-rows.js";
import type { Hub } from "../src/hub/hub.js";
import { openHub } from "../src/index.js";
import { type Memgraph, memgraph } from "../src/memgraph/index.js";
import { openKv } from "../src/open.js";
import { seededRandom } from "../src/testing/index.js";
import { rounds } from "../src/testing/lacking.js";
import {
  atCleanUp,
  cleanUp,
  copyOfFolder,
  isUnbuilt,
  seedOfRun,
  startProgram,
  temporaryFolder,
  temporaryStore,
} from "./other-process.js";

const UNBUILT = isUnbuilt();
const SEED = seedOfRun("hub");
/** Of the commits of the catalogue one in so many is tried in a run. */
const EACH = rounds(5, 3);

afterEach(cleanUp);

type Answer = { readonly ok: true } | { readonly ok: false; readonly code: string } | "killed";

interface Peer {
  call(verb: string, ...args: readonly unknown[]): Promise<Answer>;
  kill(): Promise<void>;
}

interface Kill {
  readonly commit: number;
  readonly when: "before" | "after";
}

async function startPeer(folder: string, kill?: Kill): Promise<Peer> {
  const program = startProgram("hub-peer.mjs");
  program.send({ folder, ...(kill === undefined ? {} : { kill }) });
  return {
    async call(verb, ...args) {
      program.send({ verb, args });
      for (;;) {
        const line = await program.next();
        if (line === undefined) return "killed";
        if (line.startsWith("done ")) return { ok: true };
        if (line.startsWith("failed ")) {
          return { ok: false, code: (JSON.parse(line.slice(7)) as { code: string }).code };
        }
      }
    },
    kill: () => program.kill(),
  };
}

async function hubAt(folder: string, clock?: () => number): Promise<Hub> {
  const hub = await openHub(folder, clock === undefined ? {} : { clock });
  atCleanUp(() => hub.close());
  return hub;
}

/** What the peer is asked to do, one after the other, each with how a reader can tell. */
const STEPS: readonly {
  readonly call: readonly [string, ...unknown[]];
  readonly seen: (hub: Hub, store: Memgraph) => Promise<boolean>;
}[] = [
  {
    call: ["createGraph", { name: "One", id: "one" }],
    seen: async (hub) => (await hub.getGraph("one")) !== undefined,
  },
  {
    call: ["createGraph", { name: "Two", id: "two" }],
    seen: async (hub) => (await hub.listGraphs()).graphs.some(({ id }) => id === "two"),
  },
  {
    call: ["putNode", "one", { kind: "n", lineageId: "a", content: "first" }],
    seen: async (_, store) => (await store.getNode("a"))?.graphId === "one",
  },
  {
    call: ["putNode", "two", { kind: "n", lineageId: "x" }],
    seen: async (_, store) => (await store.getNode("x"))?.graphId === "two",
  },
  {
    call: ["putEdge", "one", { fromLineage: "a", toLineage: "x", toGraph: "two", kind: "cites" }],
    seen: async (_, store) => (await store.incoming("x")).edges.length === 1,
  },
  {
    call: ["symlinks", "two"],
    seen: async (hub) => (await hub.symlinks("two")).inbound[0]?.edgeCount === 1,
  },
  {
    call: ["putNode", "one", { kind: "n", lineageId: "b" }],
    seen: async (_, store) => (await store.listNodes("one")).total === 2,
  },
];

/** Runs the steps until the peer dies or is done; gives how many were acknowledged. */
async function runSteps(folder: string, kill: Kill): Promise<number> {
  const peer = await startPeer(folder, kill);
  let done = 0;
  for (const { call } of STEPS) {
    const answer = await peer.call(...call);
    if (answer === "killed") return done;
    expect(answer).toEqual({ ok: true });
    done += 1;
  }
  await peer.kill();
  return done;
}

test.skipIf(UNBUILT).each(["before", "after"] as const)(
  "killed %s any commit of the catalogue, everything acknowledged is in every later answer",
  async (when) => {
    let done = 0;
    const first = seededRandom(SEED).between(1, EACH);
    for (let commit = first; done < STEPS.length; commit += EACH) {
      const folder = temporaryStore();
      done = await runSteps(folder, { commit, when });
      const hub = await hubAt(folder, () => Date.now() + 120_000);
      const store = memgraph(hub);
      for (const [at, { seen }] of STEPS.slice(0, done).entries()) {
        expect(await seen(hub, store), `step ${at}, killed ${when} commit ${commit}`).toBe(true);
      }
      expect(await hub.check({ graphs: true })).toMatchObject({ ok: true, problems: [] });
      // Who was killed before its node was written holds nothing for ever.
      if (done === 2) {
        expect((await store.putNode("two", { kind: "n", lineageId: "a" })).created).toBe(true);
      }
      await hub.close();
    }
  },
);

test.skipIf(UNBUILT)(
  "killed anywhere in a removal, the graph is whole or gone with every byte, and the rest unharmed",
  async () => {
    const secrets = ["Zenobia Quillfeather", "lives in Grantchester"];
    const prepared = temporaryFolder();
    const before = await openHub(prepared, { relaxedDurability: true });
    for (const id of ["kept", "gone"]) {
      await before.createGraph({ id, name: id === "gone" ? "Zenobia Quillfeather" : "Kept" });
      const text = id === "gone" ? "She lives in Grantchester" : "It stays";
      await before.use(id, (memory) => memory.write({ type: "fact", text }));
    }
    await before.listGraphs();
    await before.close();
    // After the renaming, the mark or a file; then after a file, the catalogue, or near the end.
    const random = seededRandom(SEED);
    for (const killAt of [random.between(1, 5), random.between(6, 11)]) {
      const folder = copyOfFolder(prepared);
      const remover = startProgram("graph-remover.mjs");
      remover.send({ folder, graph: "gone", killAt });
      expect(await remover.next(), `killed after call ${killAt}`).toBeUndefined();
      const hub = await hubAt(folder);
      expect((await hub.listGraphs()).graphs.map(({ id }) => id)).toEqual(["kept"]);
      const left = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1"))
        .join();
      for (const secret of secrets)
        expect(left.includes(secret), `${secret} ${killAt}`).toBe(false);
      expect(
        readdirSync(folder)
          .filter((name) => !name.startsWith(".in-use-"))
          .sort(),
      ).toEqual([".catalogue", "kept"]);
      expect(await hub.check({ graphs: true })).toMatchObject({ ok: true, problems: [] });
      await hub.close();
    }
  },
);

test.skipIf(UNBUILT)(
  "what a process without a hub wrote is known, also when it was killed",
  async () => {
    const folder = temporaryStore();
    const hub = await hubAt(folder);
    const store = memgraph(hub);
    const writer = startProgram("shared-writer.mjs");
    writer.send({ folder });
    await writer.until("open");
    expect((await hub.listGraphs()).graphs).toMatchObject([{ id: "ada", seq: 0 }]);
    for (let at = 0; at < 5; at += 1) {
      writer.send({ verb: "note", name: `note-${at}`, text: `text ${at}` });
      await writer.until("done");
      expect(await store.getNode(`note-${at}`)).toMatchObject({
        graphId: "ada",
        content: `text ${at}`,
      });
      expect((await hub.listGraphs()).graphs).toMatchObject([{ seq: at + 1 }]);
    }
    writer.send({ verb: "note", name: "last", text: "last" });
    await writer.until("done");
    await writer.kill();
    expect(await store.getNode("last")).toMatchObject({ content: "last" });
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true });
  },
);

test.skipIf(UNBUILT)(
  "a lineage that two processes make in two graphs at once is visible in one of them, and nothing is lost",
  async () => {
    const folder = temporaryStore();
    const hub = await hubAt(folder);
    const store = memgraph(hub);
    for (const id of ["one", "two"]) await hub.createGraph({ name: id, id });
    const peers = [await startPeer(folder), await startPeer(folder)];
    for (let round = 0; round < 5; round += 1) {
      const lineageId = `wanted-${round}`;
      const answers = await Promise.all(
        peers.map((peer, at) =>
          peer.call("putNode", at === 0 ? "one" : "two", { kind: "n", lineageId }),
        ),
      );
      expect(answers.filter((answer) => answer !== "killed" && answer.ok)).toHaveLength(2);
      expect(await store.history(lineageId)).toHaveLength(2);
      const lists = await Promise.all(["one", "two"].map((id) => store.listNodes(id)));
      expect(lists.reduce((sum, { total }) => sum + total, 0)).toBe(round + 1);
    }
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true });
  },
);

test.skipIf(UNBUILT)(
  "two processes that write through memgraph's calls at once fail at nothing and lose nothing",
  async () => {
    const folder = temporaryStore();
    const hub = await hubAt(folder);
    const store = memgraph(hub);
    await hub.createGraph({ name: "g", id: "g" });
    const peers = [await startPeer(folder), await startPeer(folder)];
    // Four writes each: five hundred of each process where there is time.
    const turns = rounds(25, 125);
    await Promise.all(
      peers.map(async (peer, at) => {
        for (let round = 0; round < turns; round += 1) {
          const own = `own-${at}-${round}`;
          const calls: readonly (readonly [string, ...unknown[]])[] = [
            ["putNode", "g", { kind: "n", lineageId: own, content: own }],
            ["putNode", "g", { kind: "n", lineageId: "shared", content: `${at} ${round}` }],
            ["putEdge", "g", { fromLineage: own, toLineage: "shared", kind: "cites" }],
            [
              "putSubgraph",
              "g",
              { nodes: [{ kind: "n", lineageId: own, content: `${own} again` }] },
            ],
          ];
          for (const call of calls)
            expect([call, await peer.call(...call)]).toEqual([call, { ok: true }]);
        }
      }),
    );
    const all = peers.length * turns;
    expect((await store.listNodes("g")).total).toBe(all + 1);
    const versions = await store.history("shared");
    expect(new Set(versions.map(({ content }) => content)).size).toBe(all);
    expect(versions.map(({ version }) => version).sort((a, b) => a - b)).toEqual(
      Array.from({ length: all }, (_, at) => at + 1),
    );
    for (const own of [`own-0-${turns - 1}`, "own-1-0"]) {
      expect(await store.getNode(own)).toMatchObject({ version: 2, content: `${own} again` });
      expect((await store.outgoing(own)).edges).toHaveLength(1);
    }
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true, problems: [] });
  },
);

test("a damaged catalogue is found by its check and mended by a rebuild; a lost one costs nothing", async () => {
  const folder = temporaryFolder();
  const hub = await hubAt(folder);
  const store = memgraph(hub);
  await hub.createGraph({ name: "g", id: "g", conflictPolicy: "manual" });
  const { node } = await store.putNode("g", { kind: "n", lineageId: "a" });
  await store.putEdge("g", { fromLineage: "a", toLineage: "x", toGraph: "h", kind: "cites" });
  expect(await hub.check()).toMatchObject({ ok: true, graphs: 1 });
  const id = await hub.use("g", async (memory) => (await memory.get("a"))?.id);
  expect(id).toBeDefined();
  const kv = await openKv(folder, ".catalogue", {});
  atCleanUp(() => kv.close());
  const snapshot = await kv.snapshot();
  const [rows = []] = await snapshot.ranges([
    { gte: Uint8Array.of(CATALOGUE.memory), lt: Uint8Array.of(0xff), limit: 100 },
  ]);
  snapshot.close();
  expect(rows.length).toBeGreaterThan(4);
  for (const { key, value } of rows) {
    await kv.commitCaches({ expect: [], puts: [], deletes: [key] });
    expect(await hub.check(), `without ${key[0]}`).toMatchObject({ ok: false });
    await kv.commitCaches({ expect: [], puts: [{ key, value }], deletes: [] });
  }
  const stray = ordinalKey(0, new Uint8Array(32).fill(9));
  const wrong = memoryRowKey(new Uint8Array(16).fill(9), 0);
  const puts = [stray, wrong].map((key) => ({ key, value: new Uint8Array(0) }));
  await kv.commitCaches({ expect: [], puts, deletes: [] });
  expect((await hub.check()).problems.map(({ message }) => message)).toEqual([
    "catalogue: a row of prefix 0x20 about graph g has no ground in its journal",
    "catalogue: a row of prefix 0x44 about graph g has no ground in its journal",
  ]);
  expect(await hub.rebuild()).toMatchObject({ graphs: 1, problems: [] });
  expect(await hub.check()).toMatchObject({ ok: true });
  expect(await store.getNode("a")).toMatchObject({ id: node.id });
  expect((await hub.symlinks("g")).outbound).toMatchObject([{ graphId: "h", edgeCount: 1 }]);
  await kv.commitCaches({ expect: [], puts: [], deletes: [graphKey("g")] });
  expect((await hub.listGraphs()).graphs).toMatchObject([{ id: "g", name: "g" }]);
  await hub.close();
  await kv.close();
  rmSync(join(folder, ".catalogue"), { recursive: true });
  expect(readdirSync(folder).filter((name) => !name.startsWith(".in-use-"))).toEqual(["g"]);
  const again = await hubAt(folder);
  expect(await memgraph(again).getNode("a")).toMatchObject({ id: node.id });
  expect(await again.check({ graphs: true })).toMatchObject({ ok: true });
});
