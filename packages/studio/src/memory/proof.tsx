/**
 * The proof of one memory, asked for and checked here in the page: the server gives the bytes, this page
 * computes the hashes, and compares the last one with the checkpoint that the person pinned.
 */
import { isCortexError, type RemoteCortex } from "@cortex-memory/core/remote";
import { type ProofPath, proofPath, type VerifyResult, verify } from "@cortex-memory/core/verify";
import { count, counted, Time } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { hrefOf } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer } from "../base/ui.tsx";
import { type Pin, shortHash, usePin, Verdict } from "../base/verdict.tsx";

/** What was proved. */
interface Proved {
  readonly found: VerifyResult;
  readonly path: ProofPath | undefined;
  /** Entries that the pinned checkpoint covers. */
  readonly pinnedSize: number | undefined;
}

/** Asks for a proof of one memory and checks it. */
export function MemoryProof({ id }: { readonly id: string }) {
  const { at, isOwner } = useStudio();
  const [pin] = usePin();
  const proved = useRead(
    ["proof", id, pin?.text],
    (memory) => proveMemory(memory, { id, pin, isOwner }),
    { enabled: at === undefined },
  );
  if (at !== undefined) {
    return <p className="about">Proofs are made of the present. Go back to now to verify it.</p>;
  }
  return (
    <Answer of={proved} what="the proof">
      {(one) => <ProofView id={id} proved={one} pin={pin} />}
    </Answer>
  );
}

interface Asked {
  readonly id: string;
  readonly pin: Pin | undefined;
  readonly isOwner: boolean;
}

/**
 * The entry that holds the memory is proved as well, where the asker may: then the journal, which the pin
 * covers, says the same as the tree of the present.
 */
async function proveMemory(memory: RemoteCortex, { id, pin, isOwner }: Asked): Promise<Proved> {
  const one = await memory.get(id);
  const what = {
    memories: [one?.id ?? id],
    ...(isOwner && one !== undefined ? { seqs: [one.seq] } : {}),
  };
  try {
    const proof = await memory.prove(what, pin === undefined ? {} : { since: pin.text });
    const found = verify(proof, pin?.text);
    return {
      found,
      path: proofPath(proof, String(one?.id ?? id)),
      pinnedSize: found.ok ? found.since?.size : undefined,
    };
  } catch (error) {
    return { found: refusedBy(error), path: undefined, pinnedSize: undefined };
  }
}

/** What a server says that cannot show that its history goes on from the pinned checkpoint. */
export function refusedBy(error: unknown): Extract<VerifyResult, { readonly ok: false }> {
  if (!isCortexError(error)) throw error;
  const { code, message } = error;
  const isOfHistory =
    code.startsWith("ERR_CHECKPOINT") || code === "ERR_FORK" || code === "ERR_ROLLED_BACK";
  if (!isOfHistory) throw error;
  return { ok: false, anchored: false, code: "ERR_CHECKPOINT_STALE", message };
}

function ProofView({
  id,
  proved: { found, path, pinnedSize },
  pin,
}: {
  readonly id: string;
  readonly proved: Proved;
  readonly pin: Pin | undefined;
}) {
  const shown = found.ok ? found.memories[0] : undefined;
  const isNewer = pinnedSize !== undefined && shown?.seq !== undefined && shown.seq >= pinnedSize;
  return (
    <>
      <Verdict found={found} isNewer={isNewer}>
        {shown !== undefined && <p>{shownWords(shown.status)}</p>}
        {shown?.seq !== undefined && pinnedSize !== undefined && (
          <p>{coveredWords(shown.seq, pinnedSize)}</p>
        )}
      </Verdict>
      {pin === undefined ? (
        <p>
          Nothing is pinned yet. <a href={hrefOf("trust", { prove: id })}>Pin a checkpoint</a>
        </p>
      ) : (
        <p className="about">
          Compared with the checkpoint you pinned <Time ms={pin.pinnedAt} />.
        </p>
      )}
      {path !== undefined && <PathView path={path} isAnchored={found.anchored && !isNewer} />}
    </>
  );
}

function shownWords(status: "present" | "absent" | "erased"): string {
  switch (status) {
    case "present":
      return "The text, the fields and the standing shown here are the ones that the proof commits to.";
    case "absent":
      return "It is shown that there is no such memory.";
    case "erased":
      return "It is shown that it was forgotten; the content is gone.";
  }
}

/** Whether the pin itself covers what is shown, or only what came before. */
function coveredWords(seq: number, pinnedSize: number): string {
  return seq < pinnedSize
    ? `Entry ${count(seq)}, which holds it, was already covered by your pinned checkpoint.`
    : `Entry ${count(seq)}, which holds it, came after you pinned: that part is the server's word until you pin again.`;
}

/** The hashes that meet, from the memory up to the root. */
function PathView({
  path,
  isAnchored,
}: {
  readonly path: ProofPath;
  readonly isAnchored: boolean;
}) {
  return (
    <figure className="path">
      <figcaption className="about">
        The way from this memory to the root, computed in this page:{" "}
        {counted(path.steps.length, "step")}. At each step its hash meets the hash of others.
      </figcaption>
      <ol>
        <Meeting name="this memory" hash={path.leaf} />
        {path.steps.map(({ side, other, hash }, at) => (
          <Meeting
            key={hash}
            name={at === path.steps.length - 1 ? "all memories" : ""}
            hash={hash}
            side={side}
            other={other}
          />
        ))}
        <Meeting
          name={isAnchored ? "the root: anchored" : "the root: not anchored"}
          hash={path.root}
          side="right"
          other={path.journal}
          otherName="journal, links, beginning"
          isEnd
        />
      </ol>
    </figure>
  );
}

interface MeetingProps {
  readonly name: string;
  readonly hash: string;
  readonly side?: "left" | "right";
  readonly other?: string;
  readonly otherName?: string;
  readonly isEnd?: boolean;
}

function Meeting({ name, hash, side, other, otherName, isEnd = false }: MeetingProps) {
  const met =
    other === undefined ? (
      <span />
    ) : (
      <span className="path-other" title={other}>
        {otherName ?? <code>{shortHash(other, 2)}</code>}
      </span>
    );
  return (
    <li className={isEnd ? "path-row is-end" : "path-row"}>
      {side === "left" ? met : <span />}
      <span className="path-own" title={hash}>
        <code>{shortHash(hash, 2)}</code>
        {name !== "" && <span className="about">{name}</span>}
      </span>
      {side === "right" ? met : <span />}
    </li>
  );
}
