/**
 * Verifying what somebody was given: pasted, dropped or chosen as a file. It never leaves this page: no
 * server is asked.
 */
import type { VerifiedMemory } from "@cortex-memory/core/verify";
import { type DragEvent, useId, useState } from "react";
import { count, counted, exact, oneLine } from "../base/format.tsx";
import { TypeMark } from "../base/ui.tsx";
import { Fingerprint, type Found, usePin, Verdict } from "../base/verdict.tsx";
import { type Given, readGiven, verifyGiven } from "./given.ts";
import { ScopeView } from "./scope-view.tsx";

/** Memories that are listed of what was given. */
const LISTED = 50;

/** The field, and what was found. */
export function GivenView() {
  const [typed, setTyped] = useState("");
  const [isOver, setOver] = useState(false);
  const id = useId();
  const take = async (file: File | undefined) => {
    if (file !== undefined) setTyped(await file.text());
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the field and the button below do the same by keys
    <div
      className={isOver ? "drop is-over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <label htmlFor={id}>Paste or drop a proof, a slice, a checkpoint or a scope</label>
      <textarea
        id={id}
        className="given"
        spellCheck={false}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <p className="drop-actions">
        <label className="file-choice">
          or choose a file{" "}
          <input type="file" onChange={(event) => void take(event.target.files?.[0])} />
        </label>
        {typed !== "" && (
          <button type="button" onClick={() => setTyped("")}>
            Clear
          </button>
        )}
      </p>
      <GivenResult given={readGiven(typed)} />
    </div>
  );
}

function GivenResult({ given }: { readonly given: Given }) {
  const [pin, setPin] = usePin();
  switch (given.kind) {
    case "nothing":
      return (
        <p className="about">
          A proof shows that a memory is part of the whole; a slice is memories with their proof; a
          checkpoint is the fingerprint of a moment; a scope is somebody's leave to look. It is
          checked in this page and sent nowhere.
        </p>
      );
    case "unknown":
      return (
        <p className="warning">
          This is no proof, slice, checkpoint or scope. A proof begins with {"{"}"cortex":
          "proof/1"…, a checkpoint with cortex/, a scope with cortex-scope-.
        </p>
      );
    case "scope":
      return <ScopeView key={given.text} scope={given.text} />;
    case "proof":
    case "slice":
    case "checkpoint": {
      const found = verifyGiven(given, pin?.text);
      return (
        <>
          <Verdict found={found}>
            {given.kind === "checkpoint" && found.ok && given.text !== pin?.text && (
              <button type="button" onClick={() => setPin(given.text)}>
                Pin this checkpoint
              </button>
            )}
          </Verdict>
          {found.ok && <Shown kind={given.kind} found={found} />}
        </>
      );
    }
  }
}

const NAMES = {
  proof: "A proof",
  slice: "A slice: memories with their proof",
  checkpoint: "A checkpoint",
};

function Shown({
  kind,
  found,
}: {
  readonly kind: keyof typeof NAMES;
  readonly found: Extract<Found, { readonly ok: true }>;
}) {
  const { origin, size, root, at } = found.checkpoint;
  return (
    <>
      <dl className="facts">
        <dt>What it is</dt>
        <dd>{NAMES[kind]}</dd>
        <dt>Of</dt>
        <dd>
          <code>{origin}</code>
        </dd>
        <dt>Position</dt>
        <dd>
          {counted(size, "entry", "entries")}, the last of {exact(at)}
        </dd>
        <dt>Root</dt>
        <dd>
          <Fingerprint hex={root} />
        </dd>
        {"signatures" in found && (
          <>
            <dt>Signed by</dt>
            <dd>
              {found.signatures.length === 0
                ? "nobody"
                : `${found.signatures.map(({ name }) => name).join(", ")} (by their own word: signatures are not checked here)`}
            </dd>
          </>
        )}
      </dl>
      {"memories" in found && (
        <>
          <ul className="shown">
            {found.memories.slice(0, LISTED).map((one) => (
              <li key={one.id}>
                <ShownMemory memory={one} />
              </li>
            ))}
          </ul>
          {found.memories.length > LISTED && (
            <p className="about">and {count(found.memories.length - LISTED)} more</p>
          )}
          <p className="about">
            It shows {counted(found.memories.length, "memory", "memories")},{" "}
            {counted(found.edges.length, "link")} and{" "}
            {counted(found.entries.length, "entry", "entries")} of the journal.
          </p>
        </>
      )}
    </>
  );
}

function ShownMemory({ memory: { id, status, type, text } }: { readonly memory: VerifiedMemory }) {
  if (status !== "present" || type === undefined) {
    return (
      <span>
        <code>{id}</code> {status === "erased" ? "was forgotten" : "is not there"}
      </span>
    );
  }
  return (
    <span className="shown-memory">
      <TypeMark type={type} /> <span dir="auto">{oneLine(text ?? "")}</span>
    </span>
  );
}
