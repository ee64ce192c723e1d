/**
 * The parts of the panel that come after the text of a memory: its fields, the values of its slot in time, its
 * links both ways, its versions with what changed, and why it matters. Each draws what it is given or reads its
 * own part; the panel decides which of them are shown.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import { count, exact, percent, Time } from "../base/format.tsx";
import { SafeLink } from "../base/markdown.tsx";
import { type Inspected, linksOutside, useRead, useWrite } from "../base/reads.ts";
import { hashOf, hrefOf } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, CopyButton, Difference, MemoryLine, Section } from "../base/ui.tsx";
import { groupOf, howSure, kindMeaning, spaced, whoSaid } from "../base/words.ts";

/** The fields. */
export function Fields({ memory }: { readonly memory: Inspected["memory"] }) {
  const { head, versionRecord } = memory;
  const rows: readonly (readonly [string, unknown])[] = [
    ...Object.entries(memory.data),
    ["visibility", head.visibility],
    ["importance", `${head.importance} of 10`],
    ["confidence", versionRecord.confidence],
    ["fresh until", head.freshnessAt === undefined ? undefined : exact(head.freshnessAt)],
    ["expires", versionRecord.expiresAt === undefined ? undefined : exact(versionRecord.expiresAt)],
    ["frames", head.frames.map(({ verb, object, ref }) => `${verb} ${object} ${ref}`).join("; ")],
    ["external id", head.externalId],
  ];
  return (
    <>
      <dl className="facts">
        {rows
          .filter(([, value]) => value !== undefined && value !== "")
          .map(([name, value]) => (
            <div key={name} className="fact">
              <dt>{spaced(name)}</dt>
              <dd dir="auto">{shown(value)}</dd>
            </div>
          ))}
      </dl>
      <dl className="facts">
        <dt>id</dt>
        <dd>
          <code>{memory.id}</code> <CopyButton text={memory.id} />
        </dd>
        <dt>URI</dt>
        <dd>
          <code>{memory.uri}</code> <CopyButton text={memory.uri} />
        </dd>
      </dl>
    </>
  );
}

function shown(value: unknown) {
  if (typeof value === "string") return <SafeLink href={value}>{value}</SafeLink>;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return <code className="wrapped">{JSON.stringify(value)}</code>;
}

/** The line of a slot; `id` is the value that is being looked at. */
export function SlotLine({ slot, id }: { readonly slot: string; readonly id: string }) {
  const history = useRead(["slot", slot], (memory, past) =>
    memory.slotHistory(slot, { limit: 50, ...past }),
  );
  return (
    <Answer of={history} what="the slot">
      {({ values, more }) => (
        <ol className="slot-line" aria-label={`Values of ${slot}`}>
          {values.map((value) => (
            <li key={value.uri} className={slotClass(value.current, value.id === id)}>
              <MemoryLine id={value.id} text={value.text} />
              <span
                className="about"
                title={value.to === undefined ? undefined : `until ${exact(value.to)}`}
              >
                {value.current ? "now, since " : "from "}
                <Time ms={value.from} />
                {value.to !== undefined && (
                  <>
                    {" "}
                    until <Time ms={value.to} />
                  </>
                )}
                {` · ${whoSaid(value.source)}`}
                {howSure(value.status) !== "" && `, ${howSure(value.status)}`}
              </span>
            </li>
          ))}
          {more && <li className="about">There are older values.</li>}
        </ol>
      )}
    </Answer>
  );
}

function slotClass(isCurrent: boolean, isThis: boolean): string {
  return `slot-value${isCurrent ? " is-current" : ""}${isThis ? " is-this" : ""}`;
}

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

type Version = Inspected["versions"][number];

/** The list. */
export function Versions({ versions }: { readonly versions: readonly Version[] }) {
  const byNumber = new Map(versions.map((version) => [version.version, version]));
  return (
    <ol className="versions">
      {versions.map((version) => {
        const { versionRecord } = version;
        const [supersedes = version.version - 1] = versionRecord.supersedes;
        const before = byNumber.get(supersedes);
        return (
          <li key={version.uri}>
            <p className="version-head">
              <strong>Version {version.version}</strong>
              {version.current && <span className="chip">current</span>}
              {version.undone === true && <span className="chip">undone</span>}
              <span className="about">
                <Time ms={versionRecord.createdAt} /> by {versionRecord.createdBy} ·{" "}
                {whoSaid(versionRecord.provenance.source)}
              </span>
            </p>
            <Difference
              before={before?.text ?? ""}
              after={version.text}
              isFirst={before === undefined}
            />
          </li>
        );
      })}
    </ol>
  );
}

const ABOUT = {
  recency: "used or changed lately",
  access: "how often it was used",
  citations: "how often it was cited",
  importance: "what its writer said",
  similarity: "near to the question",
} as const;

/** The factors. */
export function Factors({
  salience,
  counters,
}: {
  readonly salience: NonNullable<Inspected["salience"]>;
  readonly counters: Inspected["counters"];
}) {
  const { score, factors, weights, decay, pinned } = salience;
  const names = Object.keys(ABOUT) as (keyof typeof ABOUT)[];
  return (
    <>
      <p>
        <strong>{score.toFixed(2)}</strong> of 1{pinned && ": pinned, so it never falls below 0.70"}
        {decay < 1 && ` · age leaves ${percent(decay)} of it`}
      </p>
      <table className="bars">
        <tbody>
          {names.map((name) => {
            const value = factors[name];
            return value === undefined ? null : (
              <tr key={name}>
                <th scope="row" title={ABOUT[name]}>
                  {name}
                </th>
                <td className="bar-cell">
                  <span className="bar" style={{ width: percent(value) }} />
                </td>
                <td className="number">{value.toFixed(2)}</td>
                <td className="number about">× {weights[name].toFixed(2)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {counters !== undefined && (
        <p className="about">
          Said again {count(counters.reinforced)}, used {count(counters.accessed)}, cited{" "}
          {count(counters.cited)} times, last <Time ms={counters.lastUsedAt} />.
        </p>
      )}
    </>
  );
}
