/**
 * One memory, beside whatever page is shown: its text first, then who said it, when and how sure, then
 * slot, links, versions, renderings, what makes it matter, and all of it as JSON.
 *
 * Everything is read at the moment that the time bar shows. What can be done about it is in `mend/`.
 */
import { type ReactNode, useEffect, useRef } from "react";
import { count, Time } from "../base/format.tsx";
import { Markdown } from "../base/markdown.tsx";
import { type Inspected, useRead } from "../base/reads.ts";
import { go, hrefOf, hrefWith } from "../base/route.ts";
import { Answer, CopyButton, Empty, RawText, Section, TypeMark } from "../base/ui.tsx";
import { howSure, lifeWords, whoSaid } from "../base/words.ts";
import { MendActions, Siblings } from "../mend/mend-actions.tsx";
import { MemoryProof } from "./proof.tsx";
import { Factors, Fields, Links, SlotLine, Versions } from "./sections.tsx";

/** Texts longer than this are cut until somebody wants all. */
const SHOWN_CHARS = 1500;

/** The panel. */
export function MemoryPanel({ id }: { readonly id: string }) {
  const found = useRead(
    ["inspect", id],
    async (memory, past) => (await memory.inspect(id, past)) ?? null,
    {
      keep: true,
    },
  );
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  return (
    <aside className="panel" aria-label="Memory" ref={panel} tabIndex={-1}>
      <button
        type="button"
        className="panel-close quiet"
        aria-label="Close the panel"
        onClick={() => go(hrefWith({ m: undefined }))}
      >
        ×
      </button>
      <Answer of={found} what="the memory">
        {(inspected) =>
          inspected === null ? (
            <Empty title="No such memory at this moment">
              <p>
                There is no memory <code>{id}</code> here: it was not written yet, or you may not
                see it.
              </p>
            </Empty>
          ) : (
            <Whole inspected={inspected} />
          )
        }
      </Answer>
    </aside>
  );
}

function Whole({ inspected }: { readonly inspected: Inspected }) {
  const { memory, versions, salience, counters } = inspected;
  const { head, versionRecord } = memory;
  return (
    <>
      <div className="panel-kind">
        <TypeMark type={memory.type} named />
        {head.kind !== undefined && <span className="chip">{head.kind}</span>}
        {head.lifecycle !== "active" && (
          <span className={`chip life-${head.lifecycle}`}>{lifeWords(head.lifecycle)}</span>
        )}
      </div>
      <Text inspected={inspected} />
      <Standing inspected={inspected} />
      <MendActions inspected={inspected} />
      {head.siblings.length > 0 && <Siblings id={memory.id} />}
      {head.slot !== undefined && (
        <Section name="slot" title="Slot" aside={head.slot}>
          <p className="about">It has one value at a time: a new one makes the old one history.</p>
          <SlotLine slot={head.slot} id={memory.id} />
        </Section>
      )}
      <Links id={memory.id} />
      <Section name="versions" title="Versions" aside={count(versions.length)} isOpen={false}>
        <Versions versions={versions} />
      </Section>
      <Section name="fields" title="Fields" isOpen={false}>
        <Fields memory={memory} />
      </Section>
      <Section name="forms" title="Renderings" isOpen={false}>
        <p className="about">
          What prompts hold when there is little room, and when there is more.
        </p>
        <dl className="facts">
          <dt>Short</dt>
          <dd dir="auto">{versionRecord.forms.short}</dd>
          <dt>Medium</dt>
          <dd dir="auto">{versionRecord.forms.medium}</dd>
        </dl>
      </Section>
      {salience !== undefined && (
        <Section name="factors" title="How much it matters" isOpen={false}>
          <Factors salience={salience} counters={counters} />
        </Section>
      )}
      <Section name="proof" title="Has it been altered?" aside="verify this" isOpen={false}>
        <MemoryProof id={memory.id} />
      </Section>
      <Section name="raw" title="As JSON" isOpen={false}>
        <CopyButton text={JSON.stringify(memory, null, 2)} />
        <RawText text={JSON.stringify(memory, null, 2)} label="The memory as JSON" />
      </Section>
    </>
  );
}

function Text({ inspected: { memory } }: { readonly inspected: Inspected }) {
  const { text, type, versionRecord } = memory;
  const { flags = [] } = versionRecord;
  const isLong = text.length > SHOWN_CHARS;
  const shown = isLong ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  return (
    <>
      {flags.length > 0 && (
        <p className="warning">
          This text looks as if it wanted to give orders to an agent ({flags.join(", ")}). It is
          kept as it came, and left out of prompts.
        </p>
      )}
      <div className="panel-text">
        {text === "" && <p className="about">(no text)</p>}
        {type === "note" || type === "artifact" ? (
          <Markdown text={shown} />
        ) : (
          <p className="plain-text" dir="auto">
            {shown}
          </p>
        )}
      </div>
      {isLong && (
        <Section
          name="long-text"
          title="All of the text"
          aside={`${count(text.length)} characters`}
          isOpen={false}
        >
          <RawText text={text} label="All of the text" />
        </Section>
      )}
    </>
  );
}

/** Who said it, when, and how sure. */
function Standing({ inspected: { memory } }: { readonly inspected: Inspected }) {
  const { head, versionRecord } = memory;
  const { provenance, confidence, validFrom, validTo } = versionRecord;
  const sure = howSure(head.status);
  return (
    <dl className="facts">
      <Fact name="Source">
        {whoSaid(head.source)}
        {sure !== "" && <span className={`status-${head.status}`}>, {sure}</span>}
        {confidence < 1 && `, ${Math.round(confidence * 100)}% sure`}
      </Fact>
      <Fact name="Written">
        <Time ms={head.createdAt} /> by {versionRecord.createdBy}, entry{" "}
        <a href={hrefWith({ at: String(memory.seq) })} title="Show everything as of this entry">
          {count(memory.seq)}
        </a>
        {head.updatedAt !== head.createdAt && ", changed "}
        {head.updatedAt !== head.createdAt && <Time ms={head.updatedAt} />}
      </Fact>
      {validFrom !== undefined && (
        <Fact name="True from">
          <Time ms={validFrom} />
        </Fact>
      )}
      {validTo !== undefined && (
        <Fact name="True until">
          <Time ms={validTo} />
        </Fact>
      )}
      <Origin provenance={provenance} />
      {head.tombstone !== undefined && (
        <Fact name="Retired">
          <Time ms={head.tombstone.at} /> by {head.tombstone.by}: {head.tombstone.reason}
        </Fact>
      )}
      {head.tags.length > 0 && (
        <Fact name="Tags">
          <span className="chips">
            {head.tags.map((tag) => (
              <a key={tag} className="chip" href={hrefOf("find", { q: `tag:${quoted(tag)}` })}>
                {tag}
              </a>
            ))}
          </span>
        </Fact>
      )}
    </dl>
  );
}

/** Where it came from: the turn of a conversation, other memories. */
function Origin({
  provenance: { session, turn, derivedFrom },
}: {
  readonly provenance: Inspected["memory"]["versionRecord"]["provenance"];
}) {
  return (
    <>
      {session !== undefined && (
        <Fact name="Conversation">
          <a
            href={hrefOf("sessions", {
              s: session,
              turn: turn === undefined ? undefined : String(turn),
            })}
          >
            {session}
            {turn !== undefined && `, turn ${turn + 1}`}
          </a>
        </Fact>
      )}
      {derivedFrom.length > 0 && (
        <Fact name="Made from">
          {derivedFrom.map((uri) => (
            <a key={uri} className="block-link" href={hrefWith({ m: uri })}>
              <code>{uri}</code>
            </a>
          ))}
        </Fact>
      )}
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A value as the search field takes it. */
function quoted(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value;
}
