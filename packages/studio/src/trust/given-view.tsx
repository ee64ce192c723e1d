/**
 * Verifying what somebody was given: pasted, dropped or chosen as a file. A proof, a slice or a checkpoint never
 * leaves this page: no server is asked. A scope is looked at with what it grants.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import type { VerifiedMemory } from "@cortex-memory/core/verify";
import { type DragEvent, useId, useState } from "react";
import { FormDialog, TextField } from "../base/dialog.tsx";
import { count, counted, exact, oneLine, Time } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { openAs, useStudio } from "../base/studio.tsx";
import { Answer, MemoryLine, TypeMark } from "../base/ui.tsx";
import { Fingerprint, type Found, usePin, Verdict } from "../base/verdict.tsx";
import { whoSaid } from "../base/words.ts";
import { type Given, readGiven, verifyGiven } from "./given.ts";

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

type Report = Awaited<ReturnType<RemoteCortex["showScope"]>>;

/** The scope in words. */
function ScopeView({ scope }: { readonly scope: string }) {
  const { isOwner } = useStudio();
  const report = useRead(["scope", scope], (memory) => memory.showScope(scope), {
    enabled: isOwner,
  });
  if (!isOwner) return <p className="about">Only the owner can look a scope up here.</p>;
  return (
    <Answer of={report} what="the scope">
      {(one) => (
        <>
          <ScopeFacts report={one} />
          {one.holds && one.bearer && <SeenThrough scope={scope} />}
          {one.holds && !one.bearer && (
            <p className="about">
              It is bound to a key: only whoever has that key can look through it.
            </p>
          )}
          {one.holds && <TakeBack scope={scope} />}
        </>
      )}
    </Answer>
  );
}

function ScopeFacts({ report }: { readonly report: Report }) {
  const { holds, because, grantedTo, grantedBy, expiresAt, writable, proofs, maxSource } = report;
  return (
    <>
      <section className={`verdict verdict-${holds ? "good" : "bad"}`} aria-label="Verdict">
        <p className="verdict-title">
          <span aria-hidden="true">{holds ? "✓" : "✗"}</span>{" "}
          {holds ? "It holds here and now" : "It opens nothing here"}
        </p>
        {because !== undefined && <p>{because.message}</p>}
      </section>
      <dl className="facts">
        <dt>For</dt>
        <dd>{grantedTo}</dd>
        <dt>Given by</dt>
        <dd>
          <code>{grantedBy}</code>
        </dd>
        <dt>Until</dt>
        <dd>
          {exact(expiresAt)} (<Time ms={expiresAt} />)
        </dd>
        <dt>May see</dt>
        <dd>{selectorWords(report.include)}</dd>
        {selectorWords(report.exclude) !== NOTHING && (
          <>
            <dt>But not</dt>
            <dd>{selectorWords(report.exclude)}</dd>
          </>
        )}
        <dt>May write</dt>
        <dd>{writable ? `yes, as: ${whoSaid(maxSource)}` : "no"}</dd>
        <dt>Gets proofs</dt>
        <dd>{proofs ? "yes" : "no"}</dd>
      </dl>
    </>
  );
}

const NOTHING = "nothing";

/** Lists of what matches; any one of them is enough. */
function selectorWords(selector: Report["include"]): string {
  const said = Object.entries(selector).flatMap(([name, values]) =>
    values.length === 0
      ? []
      : [
          `${name} ${values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ")}`,
        ],
  );
  return said.length === 0 ? NOTHING : said.join("; or ");
}

/** What its holder sees, asked for with the scope itself. */
function SeenThrough({ scope }: { readonly scope: string }) {
  const { graph } = useStudio();
  const seen = useRead(["scope-sees", scope], async () => {
    const memory = await openAs(graph, scope);
    try {
      return await memory.list({ limit: LISTED });
    } finally {
      await memory.close();
    }
  });
  return (
    <Answer of={seen} what="what it shows">
      {({ memories, cursor }) => (
        <>
          <h3>
            Its holder sees {counted(memories.length, "memory", "memories")}
            {cursor !== undefined && " and more"}
          </h3>
          {memories.map(({ id, type, text }) => (
            <MemoryLine key={id} id={id} type={type} text={text} />
          ))}
        </>
      )}
    </Answer>
  );
}

function TakeBack({ scope }: { readonly scope: string }) {
  const { canWrite } = useStudio();
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const revoke = useWrite(
    (memory, why: string) => memory.revokeScope(scope, why === "" ? {} : { reason: why }),
    () => ({ text: "The scope opens nothing any more." }),
  );
  if (!canWrite) return null;
  return (
    <>
      <p>
        <button type="button" className="danger" onClick={() => setOpen(true)}>
          Take it back…
        </button>
      </p>
      {isOpen && (
        <FormDialog
          title="Take the scope back"
          submit="Take it back"
          isDanger
          isBusy={revoke.isPending}
          error={revoke.error}
          onSubmit={() => revoke.mutate(reason.trim(), { onSuccess: () => setOpen(false) })}
          onClose={() => setOpen(false)}
        >
          <p>Its holder is locked out at once, for good. You can always grant a new one.</p>
          <TextField
            id="revoke-reason"
            label="Why, for the journal"
            value={reason}
            onChange={setReason}
          />
        </FormDialog>
      )}
    </>
  );
}
