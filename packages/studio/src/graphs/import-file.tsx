/**
 * Bringing memories in from a file that is dropped or chosen: first what it holds and which lines are
 * bad, then the import with its progress, then what came of it. Memories go before links, in pieces.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type DragEvent, useState } from "react";
import { counted } from "../base/format.tsx";
import { useStudio } from "../base/studio.tsx";
import { Failure, useWhyNoWrite } from "../base/ui.tsx";
import { type BadLine, type GoodLine, type LineFile, readLines } from "./line-file.ts";

/** Lines that are written in one commit. */
const AT_ONCE = 200;

/** Bad lines that are named. */
const NAMED = 10;

interface Chosen extends LineFile {
  readonly name: string;
}

/** What came of an import. */
interface Outcome {
  readonly added: number;
  readonly known: number;
  readonly links: number;
  readonly failed: readonly BadLine[];
}

/** The place to drop a file. */
export function ImportFile() {
  const { graph } = useStudio();
  const whyNot = useWhyNoWrite();
  const [chosen, setChosen] = useState<Chosen | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const take = async (file: File | undefined) => {
    if (file !== undefined) setChosen({ name: file.name, ...(await readLines(await file.text())) });
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
        className={isOver ? "drop is-over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <p>
          Drop a file here to bring its memories into <strong>{graph}</strong>: one JSON object per
          line, such as <code>{'{"type":"fact","text":"Ada lives in Porto"}'}</code>. Files of other
          programs come in with <code>cortex import --from</code>.
        </p>
        <label className="file-choice">
          or choose a file{" "}
          <input
            type="file"
            disabled={whyNot !== undefined}
            onChange={(event) => void take(event.target.files?.[0])}
          />
        </label>
        {chosen !== undefined && (
          <Preview key={chosen.name} chosen={chosen} onClear={() => setChosen(undefined)} />
        )}
      </div>
    </section>
  );
}

function Preview({ chosen, onClear }: { readonly chosen: Chosen; readonly onClear: () => void }) {
  const { memory, graph } = useStudio();
  const queries = useQueryClient();
  const [done, setDone] = useState(0);
  const all = chosen.memories.length + chosen.links.length;
  const bringIn = useMutation({
    mutationFn: () => importLines(memory, chosen, setDone),
    onSuccess: () => queries.invalidateQueries({ queryKey: [graph, "now"] }),
  });
  return (
    <>
      <p>
        <strong dir="auto">{chosen.name}</strong> holds{" "}
        {counted(chosen.memories.length, "memory", "memories")} and{" "}
        {counted(chosen.links.length, "link")}. Nothing is written yet.
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
            Import {counted(chosen.memories.length, "memory", "memories")}
          </button>
          <button type="button" onClick={onClear}>
            Cancel
          </button>
        </p>
      )}
      {bringIn.error !== null && <Failure error={bringIn.error} />}
      {bringIn.data !== undefined && <Report outcome={bringIn.data} />}
    </>
  );
}

function Report({ outcome: { added, known, links, failed } }: { readonly outcome: Outcome }) {
  return (
    <>
      <p className="verdict verdict-good">
        {counted(added, "memory", "memories")} came in, {counted(known, "memory", "memories")} had
        been there already, {counted(links, "link")} drawn.
      </p>
      <BadLines title="These lines were refused" lines={failed} />
    </>
  );
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
  return { ...tally, failed };
}

function pieces(lines: readonly GoodLine[]): readonly (readonly GoodLine[])[] {
  const found: (readonly GoodLine[])[] = [];
  for (let at = 0; at < lines.length; at += AT_ONCE) found.push(lines.slice(at, at + AT_ONCE));
  return found;
}
