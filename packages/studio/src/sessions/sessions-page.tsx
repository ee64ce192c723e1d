/**
 * Conversations as people read them: a list by day, the turns in order, and beside each turn what was
 * learned from it.
 */

import type { RemoteCortex } from "@cortex-memory/core/remote";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { clock, counted, day, Time } from "../base/format.tsx";
import { useRead } from "../base/reads.ts";
import { go, hrefOf, hrefWith, useRoute } from "../base/route.ts";
import { Answer, Empty, MemoryLine, PageHead, StatusChip } from "../base/ui.tsx";
import { spaced, TYPES } from "../base/words.ts";

/** Conversations that are listed, those added to last first. */
const LISTED = 200;

/** More conversations than this get a field to find one by. */
const MANY = 20;

/** Turns of one conversation that are shown. */
const TURNS_MAX = 2000;

/** The page. */
export function SessionsPage() {
  const { params } = useRoute();
  return (
    <>
      <PageHead
        title="Sessions"
        about="What was said, word for word, and what was learned from it."
      />
      <div className={params.s === undefined ? "sessions" : "sessions has-session"}>
        <SessionList open={params.s} />
        {params.s !== undefined && <Conversation key={params.s} session={params.s} />}
      </div>
    </>
  );
}

type SessionRow = Awaited<ReturnType<RemoteCortex["sessions"]>>["sessions"][number];

function SessionList({ open }: { readonly open: string | undefined }) {
  const { params } = useRoute();
  const prefix = params.starts ?? "";
  const found = useRead(
    ["sessions", prefix],
    (memory, past) => memory.sessions({ limit: LISTED, prefix, ...past }),
    { keep: true },
  );
  return (
    <nav className="session-list" aria-label="Conversations">
      <Answer of={found} what="conversations">
        {({ sessions, distinct }) => (
          <>
            {(distinct > MANY || prefix !== "") && <Narrow prefix={prefix} />}
            {sessions.length === 0 && <NoSession prefix={prefix} />}
            {sessions.map((row, at) => (
              <SessionLink
                key={row.session}
                row={row}
                before={sessions[at - 1]}
                isOpen={row.session === open}
              />
            ))}
            {distinct > sessions.length && (
              <p className="about">
                {counted(distinct - sessions.length, "more conversation")}, older than these: type
                how its name starts.
              </p>
            )}
          </>
        )}
      </Answer>
    </nav>
  );
}

/** Finds a conversation by how its name starts. */
function Narrow({ prefix }: { readonly prefix: string }) {
  return (
    <input
      type="search"
      aria-label="Conversations whose name starts with"
      placeholder="name starts with…"
      autoComplete="off"
      value={prefix}
      onChange={({ target: { value } }) =>
        go(hrefWith({ starts: value === "" ? undefined : value }), { replace: true })
      }
    />
  );
}

function NoSession({ prefix }: { readonly prefix: string }) {
  if (prefix !== "") return <p className="about">No conversation has a name that starts so.</p>;
  return (
    <Empty title="No conversation yet">
      <p>
        What people and agents say to each other stands here word for word, once an agent saves its
        turns, and beside each turn what was learned from it. Agents do it with the tool{" "}
        <code>memory_save_turns</code>, programs with <code>remember</code>; a file of turns can be
        dropped on the page <a href={hrefOf("graphs")}>Graphs</a>.
      </p>
    </Empty>
  );
}

function SessionLink({
  row,
  before,
  isOpen,
}: {
  readonly row: SessionRow;
  readonly before: SessionRow | undefined;
  readonly isOpen: boolean;
}) {
  const isNewDay = before === undefined || day(before.lastAt) !== day(row.lastAt);
  return (
    <>
      {isNewDay && <h2>{day(row.lastAt)}</h2>}
      <a
        className="session-link"
        href={hrefWith({ s: row.session, turn: undefined })}
        aria-current={isOpen ? "true" : undefined}
      >
        <strong dir="auto">{row.session}</strong>
        <span className="about">
          {counted(row.turns, "turn")}, last <Time ms={row.lastAt} />
        </span>
        <span className="session-said" dir="auto">
          {row.opening}
        </span>
      </a>
    </>
  );
}

type Memory = NonNullable<Awaited<ReturnType<RemoteCortex["get"]>>>;

type Turn = Awaited<ReturnType<RemoteCortex["session"]>>["turns"][number];

function Conversation({ session }: { readonly session: string }) {
  const found = useRead(["session", session], (memory, past) =>
    memory.session(session, { limit: TURNS_MAX, ...past }),
  );
  const learned = useRead(["learned", session], async (memory, past) => {
    const { hits } = await memory.find({
      type: TYPES,
      where: { eq: ["version.provenance.session", session] },
      limit: 500,
      ...past,
    });
    return hits.flatMap(({ memory: one }) =>
      one === undefined || one.head.kind === "turn" ? [] : [one],
    );
  });
  const byTurn = new Map<number, Memory[]>();
  for (const one of learned.data ?? []) {
    const { turn = -1 } = one.versionRecord.provenance;
    byTurn.set(turn, [...(byTurn.get(turn) ?? []), one]);
  }
  return (
    <section className="conversation" aria-label={`Conversation ${session}`}>
      <h2 dir="auto">{session}</h2>
      <Answer of={found} what="the conversation">
        {({ turns, nextIndex }) => (
          <>
            {turns.length === 0 && <p className="about">Nothing was said here at this moment.</p>}
            <Turns turns={turns} byTurn={byTurn} />
            {nextIndex !== undefined && (
              <p className="about">Only the first {counted(TURNS_MAX, "turn")} are shown.</p>
            )}
            <Learned title="Learned from all of it" memories={byTurn.get(-1) ?? []} />
          </>
        )}
      </Answer>
    </section>
  );
}

/** The turns; of a long conversation only those in sight are drawn. */
function Turns({
  turns,
  byTurn,
}: {
  readonly turns: readonly Turn[];
  readonly byTurn: ReadonlyMap<number, readonly Memory[]>;
}) {
  const { params } = useRoute();
  const place = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: turns.length,
    getScrollElement: () => place.current,
    estimateSize: () => 90,
    overscan: 8,
  });
  const sought = turns.findIndex(({ index }) => String(index) === params.turn);
  useEffect(() => {
    if (sought >= 0) rows.scrollToIndex(sought, { align: "center" });
  }, [sought, rows]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
    <div className="turns" ref={place} tabIndex={0} role="log" aria-label="Turns">
      <div style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const turn = turns[index];
          return turn === undefined ? null : (
            <div
              key={turn.id}
              data-index={index}
              ref={rows.measureElement}
              className={index === sought ? "turn-row is-sought" : "turn-row"}
              style={{ transform: `translateY(${start}px)` }}
            >
              <TurnView turn={turn} learned={byTurn.get(turn.index) ?? []} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function TurnView({ turn, learned }: { readonly turn: Turn; readonly learned: readonly Memory[] }) {
  return (
    <article className={`turn turn-${turn.role}`}>
      <div className="turn-said">
        <p className="turn-head">
          <strong>{turn.speaker ?? ROLES[turn.role] ?? spaced(turn.role)}</strong>
          {turn.toolName !== undefined && <code>{turn.toolName}</code>}
          <a href={hrefWith({ m: turn.id })} className="about">
            {turn.at === undefined ? `turn ${turn.index + 1}` : clock(turn.at)}
          </a>
        </p>
        <p className="plain-text" dir="auto">
          {turn.content}
        </p>
      </div>
      <Learned title="Learned from it" memories={learned} />
    </article>
  );
}

const ROLES: { readonly [role: string]: string } = {
  user: "Person",
  assistant: "Agent",
  system: "Instructions",
  tool_call: "Calls a tool",
  tool_result: "Tool",
};

function Learned({
  title,
  memories,
}: {
  readonly title: string;
  readonly memories: readonly Memory[];
}) {
  if (memories.length === 0) return null;
  return (
    <div className="learned">
      <p className="about">{title}</p>
      {memories.map(({ id, type, text, head }) => (
        <MemoryLine key={id} id={id} type={type} text={text}>
          <StatusChip status={head.status} />
        </MemoryLine>
      ))}
    </div>
  );
}
