/**
 * The versions of a memory, newest first, each with what changed since the one before it.
 */
import { Time } from "../base/format.tsx";
import { whoSaid } from "../base/words.ts";
import { diffOf } from "./diff.ts";
import type { Inspected } from "./memory-panel.tsx";

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

/** What changed, with words that went struck out and words that came underlined. */
export function Difference({
  before,
  after,
  isFirst = false,
}: {
  readonly before: string;
  readonly after: string;
  readonly isFirst?: boolean;
}) {
  if (isFirst) {
    return (
      <p className="diff" dir="auto">
        {after}
      </p>
    );
  }
  if (before === after) return <p className="about">The words are the same; fields changed.</p>;
  return (
    <p className="diff" dir="auto">
      {diffOf(before, after).map(({ kind, text }, at) => {
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
        if (kind === "same") return <span key={at}>{text}</span>;
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
        return kind === "gone" ? <del key={at}>{text}</del> : <ins key={at}>{text}</ins>;
      })}
    </p>
  );
}
