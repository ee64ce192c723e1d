/**
 * Every graph of the server: whose it is, how much it holds, when something last happened there, and removing
 * one for good; and a file of memories to bring into the one that is open.
 */
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";
import { ConfirmDialog, TextField } from "../base/dialog.tsx";
import { bytes, count, counted, Time } from "../base/format.tsx";
import { askServer, useRemoveGraph, useServer } from "../base/reads.ts";
import { hashOf } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Empty, PageHead, TableFrame, useWhyNoWrite } from "../base/ui.tsx";
import { ImportFile } from "./import-file.tsx";

/** Graphs that are looked into at once; typing narrows to the others, a click shows as many again. */
const ROWS = 40;

/** A graph, as the server lists it. */
interface Graph {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

/** What is shown of a graph's counts. */
interface GraphStats {
  readonly entries: number;
  readonly lastAt: number;
  readonly sizeBytes: number;
  readonly memories: { readonly active: number };
  readonly edges: { readonly live: number };
}

/** The page. */
export function GraphsPage() {
  const { isOwner } = useStudio();
  return (
    <>
      <PageHead
        title="Graphs"
        about="One graph is one memory: of a person, a team, an agent. They do not see each other."
      />
      {isOwner ? (
        <>
          <GraphList />
          <ImportFile />
        </>
      ) : (
        <Empty title="Only the owner sees the graphs of the server">
          <p>Your scope is for one graph, which is open.</p>
        </Empty>
      )}
    </>
  );
}

function GraphList() {
  const [typed, setTyped] = useState("");
  const [rows, setRows] = useState(ROWS);
  const found = useServer("/v1/graphs", async (response) => {
    const { graphs } = (await response.json()) as { readonly graphs: readonly Graph[] };
    return graphs;
  });
  return (
    <Answer of={found} what="the graphs">
      {(graphs) => {
        const sought = typed.trim().toLowerCase();
        const matching = graphs.filter(({ id, name }) =>
          `${id} ${name}`.toLowerCase().includes(sought),
        );
        return (
          <>
            <p className="one-line">
              <input
                type="text"
                aria-label="Find a graph"
                placeholder="Find a graph by its name or id…"
                value={typed}
                onChange={(event) => {
                  setTyped(event.target.value);
                  setRows(ROWS);
                }}
              />
              <span className="about">
                {counted(matching.length, "graph")}
                {matching.length > rows && `, the first ${rows} are shown`}
              </span>
            </p>
            {graphs.length === 0 ? (
              <Empty title="No graph yet">
                <p>The first memory that is written makes the first graph.</p>
              </Empty>
            ) : (
              <GraphTable graphs={matching.slice(0, rows)} />
            )}
            {graphs.length > 0 && matching.length === 0 && (
              <p className="about">No graph has this in its name or id.</p>
            )}
            {matching.length > rows && (
              <p className="pager">
                <button type="button" onClick={() => setRows(rows + ROWS)}>
                  Show {Math.min(ROWS, matching.length - rows)} more
                </button>
              </p>
            )}
          </>
        );
      }}
    </Answer>
  );
}

function GraphTable({ graphs }: { readonly graphs: readonly Graph[] }) {
  const stats = useQueries({
    queries: graphs.map(({ id }) => ({
      queryKey: ["server", "stats", id],
      queryFn: async () =>
        (await (
          await askServer(`/v1/actors/${encodeURIComponent(id)}/stats`)
        ).json()) as GraphStats,
      staleTime: 30_000,
    })),
  });
  const largest = Math.max(1, ...stats.map(({ data }) => data?.sizeBytes ?? 0));
  return (
    <TableFrame label="Table of graphs" name="graph-table">
      <thead>
        <tr>
          <th scope="col">Graph</th>
          <th scope="col" className="number">
            Memories
          </th>
          <th scope="col" className="number">
            Links
          </th>
          <th scope="col">Size</th>
          <th scope="col">Last activity</th>
          <th scope="col">
            <span className="unseen">Remove</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {graphs.map((graph, at) => (
          <GraphRow
            key={graph.id}
            graph={graph}
            stats={stats[at]?.data}
            isFailed={stats[at]?.isError === true}
            largest={largest}
          />
        ))}
      </tbody>
    </TableFrame>
  );
}

interface GraphRowProps {
  readonly graph: Graph;
  readonly stats: GraphStats | undefined;
  readonly isFailed: boolean;
  readonly largest: number;
}

function GraphRow({ graph, stats, isFailed, largest }: GraphRowProps) {
  const { graph: open } = useStudio();
  return (
    <tr>
      <th scope="row" className="graph-cell">
        <a href={hashOf({ page: "", params: { graph: graph.id } })} dir="auto">
          {graph.name === "" ? graph.id : graph.name}
        </a>
        {graph.name !== graph.id && graph.name !== "" && <code>{graph.id}</code>}
        {graph.id === open && <span className="chip">you are here</span>}
      </th>
      {stats === undefined ? (
        <td colSpan={4} className="about">
          {isFailed ? "It cannot be read." : "Reading…"}
        </td>
      ) : (
        <>
          <td className="number">{count(stats.memories.active)}</td>
          <td className="number">{count(stats.edges.live)}</td>
          <td>
            <span className="size-bar" aria-hidden="true">
              <span style={{ width: `${(100 * stats.sizeBytes) / largest}%` }} />
            </span>{" "}
            <span className="number">{bytes(stats.sizeBytes)}</span>
          </td>
          <td>
            <Time ms={stats.lastAt} />{" "}
            <span className="about">entry {count(stats.entries - 1)}</span>
          </td>
        </>
      )}
      <td className="row-end">
        <RemoveGraph
          id={graph.id}
          holds={stats && { memories: stats.memories.active, links: stats.edges.live }}
        />
      </td>
    </tr>
  );
}

interface RemoveGraphProps {
  readonly id: string;
  /** What it holds; `undefined` where that could not be read. */
  readonly holds: { readonly memories: number; readonly links: number } | undefined;
}

/** Removing a graph on request: what goes, its name typed, and a reason. */
function RemoveGraph({ id, holds }: RemoveGraphProps) {
  const whyNot = useWhyNoWrite();
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const remove = useRemoveGraph(`The graph ${id} is removed.`);
  return (
    <>
      <button
        type="button"
        className="small"
        disabled={whyNot !== undefined}
        title={whyNot}
        aria-label={`Remove ${id}`}
        onClick={() => setOpen(true)}
      >
        Remove…
      </button>
      {isOpen && (
        <ConfirmDialog
          title={`Remove ${id} for good`}
          submit="Remove"
          word={id}
          about="These go, with their whole history:"
          canSubmit={reason.trim() !== ""}
          isBusy={remove.isPending}
          error={remove.error}
          onSubmit={() =>
            remove.mutate({ id, reason: reason.trim() }, { onSuccess: () => setOpen(false) })
          }
          onClose={() => setOpen(false)}
        >
          <ul className="goes">
            <li>
              {holds === undefined
                ? "everything in it"
                : `${counted(holds.memories, "memory", "memories")} and ${counted(holds.links, "link")}`}
            </li>
            <li>its journal, its snapshots and its conversations</li>
          </ul>
          <p className="about">Backups and copies elsewhere stay. Other graphs are not touched.</p>
          <TextField id="remove-reason" label="Why" value={reason} onChange={setReason} />
        </ConfirmDialog>
      )}
    </>
  );
}
