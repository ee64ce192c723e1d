/**
 * Has this been altered? The root as a fingerprint, the checkpoint that the person pinned, snapshots,
 * the proof of a memory, and whatever else somebody was given to verify.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { verify, verifyCheckpoint } from "@cortex-memory/core/verify";
import { type FormEvent, useState } from "react";
import { count, counted, exact, Time } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { go, hrefWith, useRoute } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import {
  Answer,
  CopyButton,
  Empty,
  Failure,
  PageHead,
  RawText,
  TableFrame,
  useWhyNoWrite,
} from "../base/ui.tsx";
import { Fingerprint, type Pin, usePin, Verdict } from "../base/verdict.tsx";
import { MemoryProof, refusedBy } from "../memory/proof.tsx";
import { GivenView } from "./given-view.tsx";

/** The page. */
export function TrustPage() {
  const { isOwner } = useStudio();
  return (
    <>
      <PageHead
        title="Trust"
        about="Every change is chained to the one before. Pin a checkpoint today, and anybody who alters the past later cannot hide it from you."
      />
      <div className="trust">
        <section className="card" aria-labelledby="trust-root">
          <h2 id="trust-root">The root</h2>
          {isOwner ? <Root /> : <PinOnly />}
        </section>
        <section className="card" aria-labelledby="trust-memory">
          <h2 id="trust-memory">Verify a memory</h2>
          <MemoryChoice />
        </section>
        <section className="card" aria-labelledby="trust-given">
          <h2 id="trust-given">Verify what you were given</h2>
          <GivenView />
        </section>
        {isOwner && (
          <section className="card" aria-labelledby="trust-snapshots">
            <h2 id="trust-snapshots">Snapshots</h2>
            <Snapshots />
          </section>
        )}
      </div>
    </>
  );
}

/** The root of now, and whether it goes on from what was pinned. */
function Root() {
  const [pin, setPin] = usePin();
  const now = useRead(["checkpoint"], (memory) => memory.checkpoint());
  return (
    <Answer of={now} what="the root">
      {({ root, seq, checkpoint }) => (
        <>
          <div className="root">
            <Fingerprint hex={root} size={96} />
            <p>
              One fingerprint of everything that is remembered, at entry {count(seq)}. If a single
              letter of the past were changed, number and picture would be others.
            </p>
          </div>
          {pin === undefined ? (
            <>
              <p className="warning">
                Nothing is pinned. Without a pin you have only the server's word. A pin keeps this
                fingerprint in your browser; from then on every proof is held against it.
              </p>
              <button type="button" className="primary" onClick={() => setPin(checkpoint)}>
                Pin this moment
              </button>
            </>
          ) : (
            <Pinned pin={pin} onUnpin={() => setPin(undefined)} onPin={() => setPin(checkpoint)} />
          )}
          <details>
            <summary>The checkpoint as text, to mail or print</summary>
            <RawText text={checkpoint} label="The checkpoint of now" />
            <CopyButton text={checkpoint} label="Copy the checkpoint" />
          </details>
        </>
      )}
    </Answer>
  );
}

interface PinnedProps {
  readonly pin: Pin;
  readonly onUnpin: () => void;
  readonly onPin: () => void;
}

/** What is pinned, and whether the history goes on from there: asked for and checked here. */
function Pinned({ pin, onUnpin, onPin }: PinnedProps) {
  const checked = useRead(["pin", pin.text], async (memory) => {
    try {
      return verify(await memory.prove([], { since: pin.text }), pin.text);
    } catch (error) {
      return refusedBy(error);
    }
  });
  return (
    <>
      <PinFacts pin={pin} />
      <Answer of={checked} what="the proof that the history goes on">
        {(found) => <Verdict found={found} />}
      </Answer>
      <p className="buttons">
        <button type="button" onClick={onPin}>
          Pin this moment instead
        </button>
        <button type="button" onClick={onUnpin}>
          Unpin
        </button>
        <CopyButton text={pin.text} label="Copy the pinned checkpoint" />
      </p>
    </>
  );
}

function PinFacts({ pin }: { readonly pin: Pin }) {
  const read = verifyCheckpoint(pin.text);
  return (
    <dl className="facts">
      <dt>Pinned</dt>
      <dd>
        <Time ms={pin.pinnedAt} />, in this browser
      </dd>
      {read.ok && (
        <>
          <dt>Covers</dt>
          <dd>
            {counted(read.checkpoint.size, "entry", "entries")}, until {exact(read.checkpoint.at)}
          </dd>
          <dt>Its root</dt>
          <dd>
            <Fingerprint hex={read.checkpoint.root} size={32} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** For the holder of a scope, who cannot read the root but may have been given a checkpoint. */
function PinOnly() {
  const [pin, setPin] = usePin();
  return pin === undefined ? (
    <p className="about">
      Only the owner sees the root. Paste a checkpoint that you were given below, and pin it.
    </p>
  ) : (
    <>
      <PinFacts pin={pin} />
      <button type="button" onClick={() => setPin(undefined)}>
        Unpin
      </button>
    </>
  );
}

/** Which memory to prove. */
function MemoryChoice() {
  const { params } = useRoute();
  const [typed, setTyped] = useState(params.prove ?? params.m ?? "");
  const sought = params.prove;
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    const id = typed.trim();
    go(hrefWith({ prove: id === "" ? undefined : id }));
  };
  return (
    <>
      <form className="one-line" onSubmit={onSubmit}>
        <label htmlFor="prove-id">Its id or name</label>
        <input
          id="prove-id"
          type="text"
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit">Verify</button>
      </form>
      {sought === undefined ? (
        <p className="about">
          Or open any memory and choose “Has it been altered?” in its panel. The server sends the
          proof; this page does the arithmetic.
        </p>
      ) : (
        <>
          <p>
            <a href={hrefWith({ m: sought })}>Show the memory</a>
          </p>
          <MemoryProof key={sought} id={sought} />
        </>
      )}
    </>
  );
}

/** The sealed positions, and taking one. */
function Snapshots() {
  const [reason, setReason] = useState("");
  const whyNot = useWhyNoWrite();
  const found = useRead(["snapshots"], (memory) => memory.snapshots({ limit: 100 }));
  const take = useWrite(
    (memory, why: string) => memory.snapshot(why === "" ? undefined : why),
    ({ number }) => ({ text: `Snapshot ${number} is taken.` }),
  );
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    take.mutate(reason.trim(), { onSuccess: () => setReason("") });
  };
  return (
    <>
      <p className="about">
        A snapshot seals the root of a moment under a number, in the store. Copy its checkpoint to
        somewhere else: that is what makes it worth something.
      </p>
      <form className="one-line" onSubmit={onSubmit}>
        <label htmlFor="snapshot-reason">Why</label>
        <input
          id="snapshot-reason"
          type="text"
          autoComplete="off"
          placeholder="before the import"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <button type="submit" disabled={whyNot !== undefined || take.isPending} title={whyNot}>
          Take a snapshot
        </button>
      </form>
      {take.error !== null && <Failure error={take.error} />}
      <Answer of={found} what="snapshots">
        {(snapshots) =>
          snapshots.length === 0 ? (
            <Empty title="No snapshot yet">
              <p>Take one now; upkeep takes them as well, when it is told how often.</p>
            </Empty>
          ) : (
            <SnapshotTable snapshots={snapshots} />
          )
        }
      </Answer>
    </>
  );
}

type Snapshot = Awaited<ReturnType<RemoteCortex["snapshots"]>>[number];

function SnapshotTable({ snapshots }: { readonly snapshots: readonly Snapshot[] }) {
  const [pin, setPin] = usePin();
  return (
    <TableFrame label="Table of snapshots">
      <thead>
        <tr>
          <th scope="col">Root</th>
          <th scope="col">Why</th>
          <th scope="col">When</th>
          <th scope="col" className="number">
            Entry
          </th>
          <th scope="col">Checkpoint</th>
        </tr>
      </thead>
      <tbody>
        {snapshots.map((one) => (
          <tr key={`${one.number}-${one.seq}`}>
            <td>
              <Fingerprint hex={one.root} size={24} />
            </td>
            <td dir="auto">
              {one.reason} <span className="about">by {one.by}</span>
            </td>
            <td>
              <Time ms={one.at} />
            </td>
            <td className="number">{count(one.seq)}</td>
            <td className="row-buttons">
              {one.checkpoint === pin?.text ? (
                <span className="chip">pinned</span>
              ) : (
                <button type="button" className="small" onClick={() => setPin(one.checkpoint)}>
                  Pin<span className="unseen"> snapshot {one.number}</span>
                </button>
              )}
              <CopyButton text={one.checkpoint} />
            </td>
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}
