/**
 * What a scope lets its holder see: in words, and, where it serves whoever has it, looked at through it.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { useState } from "react";
import { FormDialog, TextField } from "../base/dialog.tsx";
import { counted, exact, Time } from "../base/format.tsx";
import { useRead, useWrite } from "../base/reads.ts";
import { openAs, useStudio } from "../base/studio.tsx";
import { Answer, MemoryLine } from "../base/ui.tsx";
import { whoSaid } from "../base/words.ts";

type Report = Awaited<ReturnType<RemoteCortex["showScope"]>>;

/** Memories that are listed. */
const LISTED = 50;

/** The scope in words. */
export function ScopeView({ scope }: { readonly scope: string }) {
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
