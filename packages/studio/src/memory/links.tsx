/**
 * The links of a memory, both ways: what each says, how strongly, why, and what is at the other end.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { count } from "../base/format.tsx";
import { linksOutside, useRead, useWrite } from "../base/reads.ts";
import { hashOf, hrefOf } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, MemoryLine, Section } from "../base/ui.tsx";
import { groupOf, kindMeaning, spaced, whoSaid } from "../base/words.ts";

type Walk = Awaited<ReturnType<RemoteCortex["traverse"]>>;
type Edge = Walk["edges"][number];
type Neighbour = Walk["hits"][number]["memory"];

/** Neighbours that are shown; beyond, the graph page is the better place. */
const NEIGHBOURS_MAX = 100;

/** The section of links. */
export function Links({ id }: { readonly id: string }) {
  const walk = useRead(["neighbours", id], async (memory, past) => {
    const [inside, outside] = await Promise.all([
      memory.traverse(id, { direction: "both", maxHops: 1, maxNodes: NEIGHBOURS_MAX, ...past }),
      linksOutside(memory, id, past),
    ]);
    return { ...inside, edges: [...inside.edges, ...outside] };
  });
  const edges = walk.data?.edges ?? [];
  return (
    <Section name="links" title="Links" aside={walk.data === undefined ? "" : count(edges.length)}>
      <Answer of={walk} what="links">
        {({ hits, truncated }) => {
          if (edges.length === 0) return <p className="about">Nothing is linked to it yet.</p>;
          const byId = new Map(hits.map(({ memory }) => [memory.id as string, memory]));
          const out = edges.filter((edge) => edge.from === id);
          const back = edges.filter((edge) => edge.from !== id);
          return (
            <>
              <LinkList edges={out} byId={byId} farEnd={(edge) => edge.to} arrow="→" />
              <LinkList edges={back} byId={byId} farEnd={(edge) => edge.from} arrow="←" />
              {truncated && (
                <p className="about">Only the first {count(NEIGHBOURS_MAX)} are shown.</p>
              )}
              <a href={hrefOf("graph", { from: id })}>See it in the graph</a>
            </>
          );
        }}
      </Answer>
    </Section>
  );
}

interface LinkListProps {
  readonly edges: readonly Edge[];
  readonly byId: ReadonlyMap<string, Neighbour>;
  readonly farEnd: (edge: Edge) => string;
  readonly arrow: string;
}

function LinkList({ edges, byId, farEnd, arrow }: LinkListProps) {
  const { canWrite } = useStudio();
  const unlink = useWrite(
    (memory, id: string) => memory.removeEdgeById(id),
    ({ seq }) => ({ text: "The link is removed.", undo: seq }),
  );
  if (edges.length === 0) return null;
  return (
    <ul className="links">
      {edges.map((edge) => {
        const far = byId.get(farEnd(edge));
        return (
          <li key={edge.id} className={`link link-${groupOf(edge.kind)}`}>
            <span className="link-kind" title={kindMeaning(edge.kind)}>
              {arrow} {spaced(edge.kind)}
              {edge.strength !== undefined && <Strength value={edge.strength} />}
              {canWrite && (
                <button
                  type="button"
                  className="quiet unlink"
                  aria-label={`Remove the link ${spaced(edge.kind)}`}
                  title="Remove the link"
                  onClick={() => unlink.mutate(edge.id)}
                >
                  ×
                </button>
              )}
            </span>
            {far === undefined ? (
              <FarEnd id={farEnd(edge)} graph={edge.toGraph} />
            ) : (
              <MemoryLine id={far.id} type={far.type} text={far.text} />
            )}
            {edge.reason !== undefined && (
              <p className="link-reason" dir="auto" title={whoSaid(edge.source)}>
                {edge.reason}
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** A memory that is not read here: of another graph it is gone to, of this one it is named. */
function FarEnd({ id, graph }: { readonly id: string; readonly graph: string | undefined }) {
  if (graph === undefined) return <span className="about">{id}</span>;
  return (
    <a href={hashOf({ page: "", params: { graph, m: id } })}>
      <code className="wrapped">{id}</code> in the graph {graph}
    </a>
  );
}

/** 1 to 5, as dots. */
function Strength({ value }: { readonly value: number }) {
  return (
    <span
      className="strength"
      role="img"
      aria-label={`strength ${value} of 5`}
      title={`strength ${value} of 5`}
    >
      {"●".repeat(value)}
      <span className="strength-rest">{"●".repeat(5 - value)}</span>
    </span>
  );
}
