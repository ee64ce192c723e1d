/**
 * The leaves of a store, for tests of what an entry did to them: read from the headers of the journal,
 * as anybody could who holds nothing else, and the roots that the trees themselves have.
 */
import { sha256Node } from "../codec/node-crypto.js";
import { decodeHeadRow } from "../history/head-row.js";
import { readRoots } from "../history/trees.js";
import { decodeHeader, SUBJECT, splitEntry } from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import { HEAD_KEY, type Kv } from "../kv/kv.js";

/** What the trees of a store hold. */
export interface Leaves {
  /** The hash of every leaf by its subject, both in hex. */
  readonly leaves: ReadonlyMap<string, string>;
  /** The roots of the two trees, in hex. */
  readonly memories: string;
  readonly edges: string;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Reads the leaves and the roots of a store. */
export async function leavesOf(kv: Kv): Promise<Leaves> {
  const snapshot = await kv.snapshot();
  try {
    const [headBytes] = await snapshot.getMany([HEAD_KEY]);
    const head = decodeHeadRow(headBytes);
    const range = { gte: journalKey(0), lt: journalKey(head.size), limit: head.size };
    const [rows = []] = await snapshot.ranges([range]);
    const leaves = new Map<string, string>();
    for (const { value } of rows) {
      for (const { subject, hash } of decodeHeader(splitEntry(value).headerBytes).parts) {
        if (subject[0] !== SUBJECT.memory && subject[0] !== SUBJECT.edge) continue;
        if (hash === null) leaves.delete(hex(subject));
        else leaves.set(hex(subject), hex(hash));
      }
    }
    const { trees } = await readRoots(sha256Node, snapshot, head);
    return { leaves, memories: hex(trees.memories), edges: hex(trees.edges) };
  } finally {
    snapshot.close();
  }
}

/** The leaves that were there before and are not the same after, by subject. */
export function changedLeaves(before: Leaves, after: Leaves): readonly string[] {
  return [...before.leaves].flatMap(([subject, hash]) =>
    after.leaves.get(subject) === hash ? [] : [subject],
  );
}
