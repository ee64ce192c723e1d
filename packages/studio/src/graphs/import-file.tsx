/**
 * Bringing in a file that is dropped or chosen: first what it holds and which lines are bad, then the
 * import with its progress, then what came of it. Memories go before links, turns in their order, in pieces.
 * What this page does not read, it names with the command that does.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type DragEvent, useState } from "react";
import { counted } from "../base/format.tsx";
import { hrefOf } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Failure, useWhyNoWrite } from "../base/ui.tsx";
import {
  type BadLine,
  type GivenFile,
  type GoodLine,
  type LineFile,
  readGiven,
  type Turn,
} from "./given-file.ts";

/** Lines that are written in one commit. */
const AT_ONCE = 200;

/** Bad lines that are named. */
const NAMED = 10;

/** Turns that are kept in one call. */
const TURNS_AT_ONCE = 1000;

/** `nth` tells a file from one of the same name that was given before. */
type Chosen = GivenFile & { readonly name: string; readonly nth: number };

/** What came of an import. */
interface Outcome {
  readonly said: string;
  readonly failed: readonly BadLine[];
}

/** The place to drop a file. */
export function ImportFile() {
  const { graph } = useStudio();
  const whyNot = useWhyNoWrite();
  const [chosen, setChosen] = useState<Chosen | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const take = async (file: File | undefined) => {
    if (file === undefined || whyNot !== undefined) return;
    const given = await readGiven(file);
    setChosen((before) => ({ name: file.name, nth: (before?.nth ?? 0) + 1, ...given }));
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  return (
    <section className="card" aria-labelledby="import-title">
      <h2 id="import-title">Bring memories in</h2>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button below does the same by keys */}
      <div
        className={isOver ? "drop drop-zone is-over" : "drop drop-zone"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <p>
          Drop a file here to bring what it holds into <strong>{graph}</strong>. You see first what
          that is; nothing is written until you say so.
        </p>
        <label className="file-choice">
          or choose a file{" "}
          <input
            type="file"
            disabled={whyNot !== undefined}
            onChange={(event) => void take(event.target.files?.[0])}
          />
        </label>
        {chosen !== undefined &&
          (chosen.kind === "elsewhere" ? (
            <Elsewhere {...chosen} />
          ) : (
            <Preview key={chosen.nth} chosen={chosen} onClear={() => setChosen(undefined)} />
          ))}
      </div>
      <dl className="facts file-kinds">
        <dt>Memories</dt>
        <dd>
          one JSON object per line, such as{" "}
          <code>{'{"type":"fact","text":"Ada lives in Porto"}'}</code>
        </dd>
        <dt>A conversation</dt>
        <dd>
          a list of turns, such as <code>{'{"role":"user","content":"I moved to Porto"}'}</code>
        </dd>
        <dt>Other programs</dt>
        <dd>memgraph, kb, mem0 and more: you are told the command that reads the file</dd>
      </dl>
    </section>
  );
}

/** A file that this page does not read: what it is, and what does. */
function Elsewhere({
  name,
  what,
  command,
}: {
  readonly name: string;
  readonly what: string;
  readonly command?: string;
}) {
  if (command === undefined) {
    return (
      <p className="warning">
        <strong dir="auto">{name}</strong> is {what}. Let that program write its memories out as
        JSON, one object per line as below, and drop that file.
      </p>
    );
  }
  return (
    <p className="warning">
      <strong dir="auto">{name}</strong> is {what}. This page does not read it; on the machine of
      the server this does, and <code>--dry-run</code> shows first what would come in:{" "}
      <code>{command.replace("FILE", quoted(name))}</code>
    </p>
  );
}

/** A name as a shell takes it. */
function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

type Readable = Exclude<Chosen, { readonly kind: "elsewhere" }>;

function holds(chosen: Readable): string {
  if (chosen.kind === "turns") return counted(chosen.turns.length, "turn");
  const memories = counted(chosen.memories.length, "memory", "memories");
  return `${memories} and ${counted(chosen.links.length, "link")}`;
}

function Preview({ chosen, onClear }: { readonly chosen: Readable; readonly onClear: () => void }) {
  const { memory, graph } = useStudio();
  const queries = useQueryClient();
  const [done, setDone] = useState(0);
  const isTurns = chosen.kind === "turns";
  const all = isTurns ? chosen.turns.length : chosen.memories.length + chosen.links.length;
  const bringIn = useMutation({
    mutationFn: () =>
      chosen.kind === "turns"
        ? importTurns(memory, chosen, setDone)
        : importLines(memory, chosen, setDone),
    onSuccess: () => queries.invalidateQueries({ queryKey: [graph, "now"] }),
  });
  return (
    <>
      <p>
        <strong dir="auto">{chosen.name}</strong> holds {holds(chosen)}. Nothing is written yet.
        {isTurns && ` They become the conversation ${sessionOf(chosen.name)}.`}
      </p>
      <BadLines title="These lines cannot be read" lines={chosen.bad} />
      {bringIn.isPending && (
        <label>
          <progress value={done} max={Math.max(1, all)} /> {done} of {all}
        </label>
      )}
      {bringIn.data === undefined && !bringIn.isPending && (
        <p className="buttons">
          <button
            type="button"
            className="primary"
            disabled={all === 0}
            onClick={() => bringIn.mutate()}
          >
            Import{" "}
            {chosen.kind === "turns"
              ? counted(chosen.turns.length, "turn")
              : counted(chosen.memories.length, "memory", "memories")}
          </button>
          <button type="button" onClick={onClear}>
            Cancel
          </button>
        </p>
      )}
      {bringIn.error !== null && <Failure error={bringIn.error} />}
      {bringIn.data !== undefined && (
        <>
          <p className="verdict verdict-good">
            {bringIn.data.said}{" "}
            {isTurns && <a href={hrefOf("sessions", { s: sessionOf(chosen.name) })}>Read it</a>}
          </p>
          <BadLines title="These lines were refused" lines={bringIn.data.failed} />
        </>
      )}
    </>
  );
}

/** The conversation that a file of turns becomes: its name without the ending. */
function sessionOf(name: string): string {
  return name.replace(/\.\w+$/, "").slice(0, 80);
}

/** Keeps turns in order, in pieces; those that are there already are known by their places. */
async function importTurns(
  memory: RemoteCortex,
  { name, turns }: { readonly name: string; readonly turns: readonly Turn[] },
  onDone: (done: number) => void,
): Promise<Outcome> {
  let added = 0;
  for (let from = 0; from < turns.length; from += TURNS_AT_ONCE) {
    const part = turns.slice(from, from + TURNS_AT_ONCE);
    const kept = await memory.remember(
      part.map((turn, at) => ({ index: from + at, ...turn })),
      { session: sessionOf(name) },
    );
    added += kept.turns.filter((one) => one.added).length;
    onDone(from + part.length);
  }
  const known = counted(turns.length - added, "turn");
  const said = `${counted(added, "turn")} came in, ${known} had been there already.`;
  return { said, failed: [] };
}

function BadLines({
  title,
  lines,
}: {
  readonly title: string;
  readonly lines: readonly BadLine[];
}) {
  if (lines.length === 0) return null;
  return (
    <div className="warning">
      <p>
        {title}: {counted(lines.length, "line")}
      </p>
      <ul>
        {lines.slice(0, NAMED).map(({ at, why }) => (
          <li key={at}>
            line {at}: {why}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Writes a file in pieces; one that is refused does not hold up the others. */
async function importLines(
  memory: RemoteCortex,
  { memories, links }: LineFile,
  onDone: (done: number) => void,
): Promise<Outcome> {
  const tally = { added: 0, known: 0, links: 0 };
  const failed: BadLine[] = [];
  const lines = [...memories, ...links];
  // Links name memories that have to be there before.
  for (const part of [...pieces(memories), ...pieces(links)]) {
    const { results } = await memory.batch(
      part.map(({ item }) => item),
      { atomic: false },
    );
    for (const [at, result] of results.entries()) {
      const line = part[at];
      if (line === undefined) continue;
      if (result.ok) {
        if ("link" in line.item) tally.links += 1;
        else if ("reinforced" in result && result.reinforced) tally.known += 1;
        else tally.added += 1;
      } else if (result.error.code === "ERR_EXISTS") tally.known += 1;
      else failed.push({ at: line.at, why: result.error.message });
    }
    onDone(Math.min(lines.length, tally.added + tally.known + tally.links + failed.length));
  }
  const known = counted(tally.known, "memory", "memories");
  const said = `${counted(tally.added, "memory", "memories")} came in, ${known} had been there already, ${counted(tally.links, "link")} drawn.`;
  return { said, failed };
}

function pieces(lines: readonly GoodLine[]): readonly (readonly GoodLine[])[] {
  const found: (readonly GoodLine[])[] = [];
  for (let at = 0; at < lines.length; at += AT_ONCE) found.push(lines.slice(at, at + AT_ONCE));
  return found;
}
