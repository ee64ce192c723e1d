/**
 * Lineages are names in every graph: which edges leave and reach one, and where a walk comes to, does not hang on the
 * graph that an edge names. Compared with a reference that knows nodes and edges as two lists and nothing else.
 */
import { describe, expect, test } from "vitest";
import { openTestHub, seededRandom, type TestHub } from "../testing/index.js";
import type { GraphEdge, GraphTraverseOptions, GraphWalk } from "./edges.js";

const GRAPHS = ["a", "b", "c"] as const;
const NAMES = ["k", "l", "m", "n", "o", "p"] as const;
/** Far ends as edges name them: none, one of the graphs, one that is not there. */
const TO_GRAPHS = [undefined, undefined, ...GRAPHS, "nowhere"] as const;

/** What the reference knows: where each lineage is, and every edge that was put and not removed. */
class Reference {
  readonly homes = new Map<string, string>();
  readonly edges: GraphEdge[] = [];

  along(lineage: string, side: "outgoing" | "incoming"): readonly GraphEdge[] {
    const own = this.edges.filter(
      ({ fromLineage, toLineage }) => lineage === (side === "outgoing" ? fromLineage : toLineage),
    );
    return own.sort((a, b) => rankOf(a) - rankOf(b) || a.createdAt - b.createdAt);
  }

  walk(from: string, how: GraphTraverseOptions): Pick<Shown, "nodes" | "edges"> {
    const { direction = "outgoing", maxDepth = 1, followSymlinks = false } = how;
    const sides = direction === "both" ? (["outgoing", "incoming"] as const) : [direction];
    const nodes = this.homes.has(from) ? [from] : [];
    const edges = new Set<string>();
    const seen = new Set([from]);
    let frontier = [from];
    for (let hop = 1; hop <= maxDepth; hop += 1) {
      const next: string[] = [];
      for (const lineage of frontier) {
        for (const side of sides) {
          for (const edge of this.along(lineage, side)) {
            if (!followSymlinks && edge.toGraph !== edge.graphId) continue;
            edges.add(edge.id);
            const end = side === "outgoing" ? edge.toLineage : edge.fromLineage;
            if (seen.has(end)) continue;
            seen.add(end);
            next.push(end);
            if (this.homes.has(end)) nodes.push(end);
          }
        }
      }
      frontier = next;
    }
    return { nodes: nodes.map((name) => `${this.homes.get(name)}: ${name}`), edges: [...edges] };
  }
}

function rankOf({ ordinal }: GraphEdge): number {
  return ordinal ?? Number.MAX_VALUE;
}

/** A walk as the reference tells it. */
interface Shown {
  readonly nodes: readonly string[];
  readonly edges: readonly string[];
}

function shown({ nodes, edges }: GraphWalk): Shown {
  return {
    nodes: nodes.map(({ graphId, lineageId }) => `${graphId}: ${lineageId}`),
    edges: edges.map(({ id }) => id),
  };
}

async function compare({ store }: TestHub, reference: Reference): Promise<void> {
  for (const name of NAMES) {
    for (const side of ["outgoing", "incoming"] as const) {
      const { edges } = await store[side](name);
      expect(edges, `${side} of ${name}`).toEqual(reference.along(name, side));
    }
    for (const direction of ["outgoing", "incoming", "both"] as const) {
      for (const followSymlinks of [false, true]) {
        const how = { direction, followSymlinks, maxDepth: 3 };
        const walk = shown(await store.traverse(name, how));
        expect(walk, `${name} ${JSON.stringify(how)}`).toEqual(reference.walk(name, how));
      }
    }
  }
}

async function grow(made: TestHub, seed: number, graphs: readonly string[]): Promise<void> {
  const { store, hub } = made;
  const random = seededRandom(seed);
  const reference = new Reference();
  for (const id of graphs) await hub.createGraph({ name: id, id });
  for (let step = 0; step < 60; step += 1) {
    const name = random.pick(NAMES);
    const home = reference.homes.get(name);
    const graph = home !== undefined && random.chance(80) ? home : random.pick(graphs);
    if (home === undefined || random.chance(25)) {
      await store.putNode(graph, { kind: "n", lineageId: name });
      reference.homes.set(name, graph);
    } else {
      const { edge } = await store.putEdge(home, {
        fromLineage: name,
        toLineage: random.pick(NAMES),
        toGraph: random.pick(TO_GRAPHS),
        kind: "cites",
        ordinal: random.chance(30) ? random.below(3) : undefined,
      });
      reference.edges.push(edge);
    }
    if (random.chance(5) && reference.edges.length > 0) {
      const [gone] = reference.edges.splice(random.below(reference.edges.length), 1);
      await store.deleteEdge(gone?.id ?? "");
    }
    if (step % 12 === 11) await compare(made, reference);
  }
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test.each([1, 2, 3, 4])("edges and walks go by lineages alone (seed %i)", async (seed) => {
    await using made = await openTestHub({ backend });
    await grow(made, seed, seed === 4 ? ["a"] : GRAPHS);
  });

  test("the far end lives elsewhere, comes later elsewhere, or is said to be where it is not", async () => {
    await using made = await openTestHub({ backend });
    const { hub, store } = made;
    for (const id of GRAPHS) await hub.createGraph({ name: id, id });
    await store.putNode("a", { kind: "n", lineageId: "k" });
    await store.putNode("b", { kind: "n", lineageId: "l" });
    const put = (toLineage: string, toGraph?: string) =>
      store.putEdge("a", { fromLineage: "k", toLineage, toGraph, kind: "cites" });
    await put("l");
    await put("m");
    await put("n", "c");
    await put("o", "nowhere");
    await store.putNode("b", { kind: "n", lineageId: "m" });
    await store.putNode("b", { kind: "n", lineageId: "n" });
    expect(shown(await store.traverse("k")).nodes).toEqual(["a: k", "b: l", "b: m"]);
    const followed = await store.traverse("k", { followSymlinks: true });
    expect(shown(followed).nodes).toEqual(["a: k", "b: l", "b: m", "b: n"]);
    expect(followed.dangling).toEqual([{ graphId: "nowhere", lineageId: "o" }]);
    for (const name of ["l", "m"]) {
      const back = await store.traverse(name, { direction: "incoming" });
      expect(shown(back).nodes).toEqual([`b: ${name}`, "a: k"]);
    }
    for (const name of ["l", "m", "n", "o"]) {
      expect((await store.incoming(name)).edges, name).toHaveLength(1);
    }
    // Nothing that is there is told of twice, and a manifest counts what was named.
    expect((await store.symlinks("a")).outbound).toEqual([
      { graphId: "c", edgeCount: 1, exists: true },
      { graphId: "nowhere", edgeCount: 1, exists: false },
    ]);
  });
});
