/**
 * Links as people read them: in the words of each end, one edge for a symmetric relation, and only at the
 * times at which they hold, everywhere that edges are listed or walked.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { EDGE_KINDS, type EdgeKind } from "../records/edge-kinds.js";
import { openTestStore } from "../testing/index.js";
import { verify } from "../verify.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_121);
const KINDS: readonly EdgeKind[] = (EDGE_KINDS as readonly EdgeKind[]).filter(
  ({ mint }) => mint === "anyone",
);
const NAMES = KINDS.flatMap(({ name, inverse }) =>
  inverse === undefined ? [name] : [name, inverse],
);

/** What a name is called from the other end; `undefined` when nobody calls it anything there. */
function fromOtherEnd(name: string): string | undefined {
  const kind = KINDS.find((one) => one.name === name || one.inverse === name);
  if (kind?.symmetric === true) return name;
  return kind?.inverse === name ? kind.name : kind?.inverse;
}

async function twoNotes(memory: Cortex): Promise<readonly [string, string]> {
  const { id: p } = await memory.write({ type: "note", text: "p" });
  const { id: q } = await memory.write({ type: "note", text: "q" });
  return [p, q];
}

const isInverse = (name: string) => name === "caused_by" || name === "follows";

describe("in the words of each end", () => {
  test.each(NAMES)("%s", async (name) => {
    await using store = await openTestStore();
    const { memory } = store;
    const [p, q] = await twoNotes(memory);
    await memory.addEdge(p, name, q, { reason: "said\n so", strength: 2 });
    const back = fromOtherEnd(name);
    const marked = (kind: string) => (isInverse(kind) ? { inverse: true } : {});
    const forward = { kind: name, from: p, to: q, reason: "said so", strength: 2, ...marked(name) };
    const backward =
      back === undefined
        ? []
        : [{ kind: back, from: q, to: p, reason: "said so", strength: 2, ...marked(back) }];
    const brief = ({ group: _, ...link }: { readonly group: string }) => link;
    expect((await memory.linksFrom(p)).map(brief)).toEqual([forward]);
    expect((await memory.backlinksTo(q)).map(brief)).toEqual([forward]);
    expect((await memory.linksFrom(q)).map(brief)).toEqual(backward);
    expect((await memory.backlinksTo(p)).map(brief)).toEqual(backward);
    for (const [from, to, words] of [
      [p, q, [forward]],
      [q, p, backward],
    ] as const) {
      const { hits, edges } = await memory.traverse(from);
      expect(hits.map(({ id }) => id)).toEqual(words.length === 0 ? [] : [to]);
      expect(edges).toMatchObject(words);
      for (const edge of edges) expect(edge.inverse === true).toBe(isInverse(edge.kind));
      const found = await memory.find({ from, follow: {}, limit: 5 });
      expect(found.hits.map(({ id }) => id)).toEqual(words.length === 0 ? [] : [to]);
      const own = words[0]?.kind ?? name;
      const asked = await memory.traverse(from, { kinds: [own] });
      expect(asked.edges).toMatchObject(words);
      const seen = await memory.inspect(from);
      expect(seen?.links.map(brief)).toEqual(words);
      // What is told from here is not told again from there.
      expect(seen?.backlinks.map(brief)).toEqual(words.length === 0 ? [forward] : []);
    }
    const both = await memory.traverse(q, { direction: "both" });
    expect(both.edges).toMatchObject(backward.length === 0 ? [forward] : backward);
    expect((await memory.getEdge(p, name, q))?.id).toBe(both.edges[0]?.id);
  });
});

describe("symmetric kinds", () => {
  const symmetric = KINDS.filter((kind) => kind.symmetric).map(({ name }) => name);

  test.each(symmetric)("%s is one edge, whichever way round it is said", async (kind) => {
    await using store = await openTestStore();
    const { memory } = store;
    const [p, q] = await twoNotes(memory);
    const first = await memory.addEdge(p, kind, q);
    const again = await memory.addEdge(q, kind, p, { reason: "from the other side" });
    expect(again.id).toBe(first.id);
    expect(again.edge).toMatchObject({ from: p, to: q, reason: "from the other side" });
    expect((await memory.stats()).edges).toMatchObject({ live: 1 });
    expect((await memory.getEdge(q, kind, p))?.id).toBe(first.id);
    for (const id of [p, q]) {
      expect((await memory.edgesOut(id)).edges).toHaveLength(1);
      expect((await memory.edgesIn(id, { kinds: [kind] })).edges).toHaveLength(1);
    }
    // One edge, so one proof, whichever end it is asked for from.
    const { checkpoint } = await memory.checkpoint();
    for (const [from, to] of [
      [p, q],
      [q, p],
    ] as const) {
      const proof = await memory.prove({ edges: [{ from, kind, to }] });
      expect(verify(proof, checkpoint)).toMatchObject({
        ok: true,
        edges: [{ from: p, kind, to: q }],
      });
    }
    expect(await memory.removeEdge(q, kind, p)).toMatchObject({ changed: true });
    expect(await memory.getEdge(p, kind, q)).toHaveProperty("tombstone");
    expect((await memory.addEdge(q, kind, p)).id).toBe(first.id);
    expect((await memory.stats()).edges).toMatchObject({ live: 1, removed: 0 });
  });

  test.each(["contradicts", "contrasts_with"])("%s is one item of the review", async (kind) => {
    await using store = await openTestStore();
    const { memory } = store;
    const [p, q] = await twoNotes(memory);
    await memory.addEdge(p, kind, q, { reason: "they pull apart" });
    await memory.addEdge(q, kind, p);
    const { items } = await memory.review();
    expect(items).toMatchObject([{ kind: "contradiction", sides: [{ id: p }, { id: q }] }]);
    expect(items[0]?.why).toContain("they pull apart");
    await memory.settle(items[0]?.id ?? "", { decision: "keep_both", reason: "both are so" });
    expect((await memory.review()).items).toEqual([]);
  });

  test("a store that holds both ways round is read as one, and settled at once", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [p, q] = await twoNotes(memory);
    // A loose edge is stored as it is given, which is how an older store came to hold both.
    await memory.addEdge(p, "contradicts", q);
    await memory.addEdge(q, "contradicts", p, { loose: {} });
    expect((await memory.stats()).edges.live).toBe(2);
    for (const [id, other] of [
      [p, q],
      [q, p],
    ] as const) {
      expect(await memory.linksFrom(id)).toMatchObject([{ kind: "contradicts", to: other }]);
      expect((await memory.traverse(id)).hits.map((hit) => hit.id)).toEqual([other]);
    }
    const { items } = await memory.review();
    expect(items).toHaveLength(1);
    await memory.settle(items[0]?.id ?? "", { decision: "keep_both", reason: "both are so" });
    expect((await memory.review()).items).toEqual([]);
    expect((await memory.stats()).edges.live).toBe(0);
  });

  test("a shared topic is never strong, by hand neither", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [p, q] = await twoNotes(memory);
    for (const strength of [1, 2, 3, 5]) {
      const { edge } = await memory.addEdge(p, "same topic", q, { strength });
      expect(edge.strength).toBe(Math.min(2, strength));
      await memory.removeEdge(p, "same_topic", q);
    }
    expect((await memory.addEdge(p, "uses", q, { strength: 5 })).edge.strength).toBe(5);
  });
});

describe("edges and time", () => {
  const day = 86_400_000;
  const when = fc.constantFrom(undefined, -2, -1, 0, 1, 2);
  const drawn = fc.record({
    from: fc.nat(3),
    to: fc.nat(3),
    kind: fc.constantFrom("uses", "causes", "contradicts", "likes"),
    validFrom: when,
    validTo: when,
  });
  const plan = fc.array(
    drawn.filter(
      ({ from, to, validFrom = -9, validTo = 9 }) => from !== to && validFrom <= validTo,
    ),
    { minLength: 1, maxLength: 8 },
  );

  test("an edge counts while it holds, in every list and every walk", async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.constantFrom(-2, -1, 0, 1, 2), async (edges, at) => {
        await using store = await openTestStore({ stepMs: 0 });
        const { memory } = store;
        const now = store.clock.read();
        const ids: string[] = [];
        for (const text of ["a", "b", "c", "d"]) {
          ids.push((await memory.write({ type: "note", text })).id);
        }
        const known = new Map<string, (typeof edges)[number]>();
        for (const edge of edges) {
          const { from, to, kind, validFrom, validTo } = edge;
          const name = `${from} ${kind} ${to}`;
          if (known.has(name) || (kind === "contradicts" && known.has(`${to} ${kind} ${from}`))) {
            continue;
          }
          known.set(name, edge);
          await memory.addEdge(ids[from] ?? "", kind, ids[to] ?? "", {
            ...(validFrom === undefined ? {} : { validFrom: now + validFrom * day }),
            ...(validTo === undefined ? {} : { validTo: now + validTo * day }),
          });
        }
        const holding = [...known.values()].filter(
          ({ validFrom = -9, validTo = 9 }) => validFrom <= at && at < validTo,
        );
        const options = at === 0 ? {} : { validAt: now + at * day };
        for (const [n, id] of ids.entries()) {
          const out = holding.filter(
            ({ from, to, kind }) =>
              from === n || (to === n && (kind === "causes" || kind === "contradicts")),
          );
          const reached = [...new Set(out.map(({ from, to }) => (from === n ? to : from)))]
            .map((other) => ids[other] ?? "")
            .sort();
          const named = out.map(({ from, to, kind }) =>
            from === n
              ? `${kind} ${ids[to]}`
              : `${kind === "causes" ? "caused_by" : kind} ${ids[from]}`,
          );
          const links = await memory.linksFrom(id, options);
          expect(links.map(({ kind, to }) => `${kind} ${to}`).sort()).toEqual(named.sort());
          const walk = await memory.traverse(id, options);
          expect(walk.hits.map((hit) => hit.id).sort()).toEqual(reached);
          const found = await memory.find({ from: id, follow: {}, limit: 9, ...options });
          expect(found.hits.map((hit) => hit.id).sort()).toEqual(at < 0 ? [] : reached);
          const seen = await memory.inspect(id, options);
          expect(seen?.links).toEqual(links);
          const met = seen === undefined ? [] : [...seen.links, ...seen.backlinks];
          const own = holding.filter(({ from, to }) => from === n || to === n);
          expect(met).toHaveLength(own.length);
          expect((await memory.backlinksTo(id, options)).length).toBeLessThanOrEqual(own.length);
          const listed = [
            ...(await memory.edgesOut(id, options)).edges,
            ...(await memory.edgesIn(id, options)).edges,
          ];
          expect(new Set(listed.map((edge) => edge.id)).size).toBe(own.length);
        }
      }),
      { seed: SEED, numRuns: 30 },
    );
  });

  test("a link whose time is over can be said again, and keeps its id", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const [p, q] = await twoNotes(memory);
    const over = store.clock.last() - day;
    const first = await memory.addEdge(p, "uses", q, { reason: "rented", validTo: over });
    expect(await memory.linksFrom(p)).toEqual([]);
    expect(await memory.addEdge(p, "uses", q, { validTo: over })).toMatchObject({ changed: false });
    const again = await memory.addEdge(p, "uses", q, { reason: "bought" });
    expect(again).toMatchObject({ id: first.id, changed: true, edge: { reason: "bought" } });
    expect(await memory.linksFrom(p)).toMatchObject([{ kind: "uses", reason: "bought" }]);
    expect((await memory.addEdge(p, "uses", q)).changed).toBe(false);
  });

  test("recall's walk goes along an edge while it holds", async () => {
    await using store = await openTestStore({ stepMs: 0 });
    const { memory } = store;
    const now = store.clock.read();
    const hit = await memory.write({ type: "fact", text: "The harbour crane lifts containers" });
    const near = await memory.write({ type: "fact", text: "Bo is on holiday" });
    await memory.link(hit.id, "causes", near.id, {
      ...{ strength: 5, validFrom: now + day, validTo: now + 2 * day },
    });
    const recalled = async (at: number) =>
      (await memory.recall("what does the harbour crane lift?", { now: at })).hits;
    expect((await recalled(now)).map(({ id }) => id)).toEqual([hit.id]);
    const while_ = await recalled(now + day);
    expect(while_.map(({ id }) => id)).toEqual([hit.id, near.id]);
    expect(while_[1]?.why.via).toMatchObject({ kind: "causes" });
    expect((await recalled(now + 2 * day)).map(({ id }) => id)).toEqual([hit.id]);
  });
});
