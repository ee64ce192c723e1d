/**
 * Proposals, as the review lists them: changes that somebody asked for and had no standing to make. They are
 * shown to whoever could accept them: to the owner, to a host that speaks for the owner, and to an agent that
 * sees what the owner sees. How they are kept and carried out is `admission/proposals.ts`.
 */
import type { Sha256 } from "../codec/hash.js";
import { ulidText } from "../codec/ulid.js";
import type { ReviewItem, ReviewSide } from "../contract/review.js";
import { decodePointer } from "../history/pointers.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { idKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { shownMemories } from "../memory/read.js";
import { decodeProposal, encodeProposal, MARK_BYTES, type Proposal } from "../records/frames.js";
import { type Access, speakerOf } from "../scope/access.js";
import { isRelayed, standingOf } from "../trust/gate.js";
import { threatsIn } from "../trust/scan.js";

/** What each verb would do, in the words of a wish. */
const WISHES: { readonly [verb: string]: string } = {
  update: "to rewrite this memory",
  write: "to rewrite this memory",
  updateHead: "to change what is kept about this memory",
  tombstone: "to hide this memory",
  restore: "to bring this memory back",
  forget: "to forget this memory",
  removeEdge: "to remove a link of this memory",
  removeEdgeById: "to remove a link of this memory",
  addEdge: "for a link that changes how this memory is read",
  link: "for a link that changes how this memory is read",
  revert: "to undo what was done to this memory",
  settle: "to settle a question about this memory",
};

/** To whom items are shown, and how a memory becomes a side of one. */
interface Showing {
  readonly access: Access;
  readonly sha256: Sha256;
  readonly sideOf: (memory: FoundMemory) => ReviewSide;
}

/** The items of proposals, in order; `undefined` for one that is over, or not for this caller. */
export async function proposalItems(
  reader: Reader,
  names: readonly Bytes[],
  { access, sha256, sideOf }: Showing,
): Promise<readonly (ReviewItem | undefined)[]> {
  const speaker = speakerOf(access);
  const decides = speaker === undefined || standingOf(speaker.source) === "owner";
  if (access.kind !== "owner" && !decides) return names.map(() => undefined);
  const ids = names.map((name) => name.subarray(0, 16));
  const rows = await reader.getMany(names.map((name) => idKey("proposal", name)));
  const wishes = await reader.records(
    // They were listed from the same snapshot, so each has a row.
    rows.flatMap((row) => (row === undefined ? [] : [decodePointer(row)])),
    (record) => decodeProposal(record),
  );
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  const shown = await shownMemories(reader, access, found);
  return names.map((name, at): ReviewItem | undefined => {
    const [wish, memory] = [wishes[at], shown[at]];
    if (wish === undefined || memory === undefined) return undefined;
    const { verb, input, source } = wish.record;
    const flags = isRelayed(source) ? threatsIn([JSON.stringify(input)]) : [];
    const { by, at: askedAt } = wish.header;
    return {
      id: proposalItem(name, wishMark(sha256, encodeProposal(wish.record))),
      kind: "proposal",
      why: `${source} asks ${WISHES[verb] ?? verb}`,
      sides: [sideOf(memory)],
      proposal: {
        verb,
        input,
        by,
        source,
        at: askedAt,
        ...(flags.length === 0 ? {} : { flags }),
      },
    };
  });
}

/** The id of an item, from what the proposal is known by and what it wishes. */
export function proposalItem(name: Bytes, wish: Bytes): string {
  return `proposal-${ulidText(name.subarray(0, 16))}-${ulidText(name.subarray(16))}-${ulidText(wish)}`;
}

/**
 * What is wished, in short. A later wish takes the place of an open one; with this in the id, whoever says
 * yes to the one that was listed does not say yes to another.
 */
export function wishMark(sha256: Sha256, record: Uint8Array): Bytes {
  return sha256(record).slice(0, MARK_BYTES);
}

/** Reads an open proposal; `undefined` when it is over. */
export async function openProposal(reader: Reader, name: Bytes): Promise<Proposal | undefined> {
  const [row] = await reader.getMany([idKey("proposal", name)]);
  if (row === undefined) return undefined;
  const [found] = await reader.records([decodePointer(row)], (record) => decodeProposal(record));
  return found?.record;
}
