/**
 * The commitments against the plainest definition: over a random history on the facade, at every
 * size of the journal, both state trees, the journal tree and the root over everything are computed
 * again from the headers alone, and proofs made then are checked then and at the end.
 */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { ulidText } from "../src/codec/ulid.js";
import { type Cortex, CortexError, open } from "../src/index.js";
import { decodeHeader, splitEntry } from "../src/journal/entry.js";
import type { Proof } from "../src/journal/proof.js";
import { KEYSPACE } from "../src/kv/keyspace.js";
import type { Kv } from "../src/kv/kv.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { type SeededRandom, seededRandom } from "../src/testing/seeded-random.js";
import { edgeKeyOf, verify } from "../src/verify.js";
import { referenceRoot } from "./state-reference.js";

const SIZE_MAX = 130;
const SEED = 20_261_118;

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** MTH of RFC 9162 §2.1.1, word for word. */
function journalRoot(leaves: readonly Uint8Array[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return sha256();
  if (leaves.length === 1) return sha256(Uint8Array.of(0), only);
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const [left, right] = [journalRoot(leaves.slice(0, split)), journalRoot(leaves.slice(split))];
  return sha256(Uint8Array.of(1), left, right);
}

/** The headers of a store, read row by row. */
async function headersOf(kv: Kv): Promise<readonly Uint8Array[]> {
  const snapshot = await kv.snapshot();
  const prefix = KEYSPACE.journal.byte;
  const range = { gte: Uint8Array.of(prefix), lt: Uint8Array.of(prefix + 1), limit: 10_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return rows.map(({ value }) => splitEntry(value).headerBytes);
}

/** The root over everything from the headers alone, in hex. */
function overallOf(headers: readonly Uint8Array[]): string {
  const trees = { memories: new Map<string, Buffer>(), edges: new Map<string, Buffer>() };
  for (const { subject, hash } of headers.flatMap((header) => decodeHeader(header).parts)) {
    const [tag] = subject;
    if (tag !== 1 && tag !== 2) continue;
    const id = Buffer.from(subject.subarray(1));
    const half = sha256("cortex.key.memory.v1", id).subarray(0, 16);
    const key = tag === 1 ? Buffer.concat([id, half]) : id;
    const tree = tag === 1 ? trees.memories : trees.edges;
    if (hash === null) tree.delete(key.toString("hex"));
    else tree.set(key.toString("hex"), Buffer.from(hash));
  }
  const root = (tree: ReadonlyMap<string, Buffer>): Uint8Array =>
    referenceRoot([...tree].map(([key, value]) => ({ key: Buffer.from(key, "hex"), value })));
  const [first = new Uint8Array(0)] = headers;
  return sha256(
    "cortex.overall.v1",
    Uint8Array.of(1),
    journalRoot([first]),
    journalRoot(headers),
    Uint8Array.of(0, 2, 5),
    "edges",
    root(trees.edges),
    Uint8Array.of(8),
    "memories",
    root(trees.memories),
  ).toString("hex");
}

/** What a random history keeps in mind. */
interface History {
  readonly memory: Cortex;
  readonly random: SeededRandom;
  readonly ids: string[];
  readonly gone: Set<string>;
  readonly edges: { readonly from: string; readonly to: string }[];
}

/** One random change; it may change nothing, or be refused for the state it meets. */
async function step({ memory, random, ids, gone, edges }: History): Promise<void> {
  const living = ids.filter((id) => !gone.has(id));
  const [one, two] = [random.pick(ids), random.pick(living)];
  switch (random.below(10)) {
    case 0:
      await memory.update(one, { text: `another text ${random.u32()}` });
      return;
    case 1:
      await memory.updateHead(one, { importance: random.below(11), tags: [`t${random.below(4)}`] });
      return;
    case 2:
      await memory.tombstone(one, "because");
      return;
    case 3:
      await memory.restore(one);
      return;
    case 4:
      edges.push({ from: one, to: two });
      await memory.link(one, "supports", two, { reason: `reason ${random.u32()}` });
      return;
    case 5: {
      const { from, to } = edges.length === 0 ? { from: one, to: two } : random.pick(edges);
      await memory.removeEdge(from, "supports", to);
      return;
    }
    case 6:
      if (living.length > 5 && random.chance(40)) {
        gone.add(two);
        await memory.forget(two, "asked");
      }
      return;
    case 7: {
      const { seq } = (await memory.get(one)) ?? {};
      if (seq !== undefined) await memory.revert(seq);
      return;
    }
    default: {
      const slot = random.chance(30) ? { slot: `slot ${random.below(3)}` } : {};
      const made = await memory.write({ type: "fact", text: `text ${random.u32()}`, ...slot });
      ids.push(made.id);
    }
  }
}

/** Proves a sample of everything, and compares what the proof shows with what the store says. */
async function checkSample(
  history: History,
  since: string | undefined,
): Promise<{ readonly proof: Proof; readonly checkpoint: string }> {
  const { memory, random, ids, gone, edges } = history;
  const { checkpoint, seq } = await memory.checkpoint();
  const nobody = ulidText(random.bytes(16));
  const asked = random.shuffled(ids).slice(0, 6);
  const pairs = random.shuffled(edges).slice(0, 3);
  const proof = await memory.prove(
    {
      memories: [...asked, nobody],
      edges: [
        ...pairs.map(({ from, to }) => ({ from, kind: "supports", to })),
        { from: nobody, kind: "supports", to: asked[0] ?? nobody },
      ],
      seqs: [0, seq, random.below(seq + 1)],
    },
    since === undefined ? {} : { since },
  );
  const result = verify(proof, checkpoint);
  if (!result.ok) throw new Error(`size ${seq + 1}: ${result.code} ${result.message}`);
  expect(result).toMatchObject({ anchored: true, anchoredBy: "checkpoint" });
  if (since !== undefined) {
    expect(verify(proof, since)).toMatchObject({ anchored: true, anchoredBy: "consistency" });
  }
  for (const { id, status, text, version, head } of result.memories) {
    const got = await memory.get(id);
    expect(status).toBe(gone.has(id) ? "erased" : id === nobody ? "absent" : "present");
    expect({ text, version, lifecycle: head?.lifecycle }).toEqual({
      text: got?.text,
      version: got?.version,
      lifecycle: got?.head.lifecycle,
    });
  }
  for (const { from, to } of pairs) {
    const edge = await memory.getEdge(from, "supports", to);
    const found = result.edges.find(({ key }) => key === edgeKeyOf({ from, kind: "supports", to }));
    expect(found?.status).toBe(edge === undefined ? "absent" : "present");
    expect(found?.reason).toBe(edge?.reason);
    expect(found?.tombstone).toEqual(edge?.tombstone);
  }
  return { proof, checkpoint };
}

test(`every size up to ${SIZE_MAX} commits to what the headers say (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const kv = openMemoryKv();
  let now = 1_767_225_600_000;
  const clock = (): number => {
    now += random.below(3);
    return now;
  };
  await using memory = await open("memory:", { actor: "ada", kv, clock, random: random.bytes });
  const history: History = { memory, random, ids: [], gone: new Set(), edges: [] };
  const kept: { readonly size: number; readonly proof: Proof; readonly checkpoint: string }[] = [];
  for (let size = 1; size <= SIZE_MAX; ) {
    const headers = await headersOf(kv);
    expect(headers).toHaveLength(size);
    const { root, seq } = await memory.root();
    expect({ root, seq }).toEqual({ root: overallOf(headers), seq: size - 1 });
    if (history.ids.length > 0) {
      const since = kept.length === 0 ? undefined : random.pick(kept).checkpoint;
      kept.push({ size, ...(await checkSample(history, since)) });
    }
    while ((await memory.root()).seq + 1 === size) {
      const first = history.ids.length === 0;
      if (first) history.ids.push((await memory.write({ type: "fact", text: "the first" })).id);
      else await step(history).catch(expected);
    }
    size += 1;
  }
  expect(kept).toHaveLength(SIZE_MAX - 1);
  expect(history.gone.size).toBeGreaterThan(0);
  for (const { proof, checkpoint, size } of kept) {
    expect(verify(proof, checkpoint)).toMatchObject({
      ok: true,
      anchored: true,
      checkpoint: { size },
    });
  }
});

/** Refusals that a random step runs into. */
function expected(error: unknown): void {
  const codes = [
    "ERR_TOMBSTONED",
    "ERR_ERASED",
    "ERR_SELF_EDGE",
    "ERR_CONFLICT",
    "ERR_UNKNOWN_ENDPOINT",
  ];
  if (error instanceof CortexError && codes.includes(error.code)) return;
  throw error;
}
