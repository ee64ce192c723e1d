/**
 * The versions of a memory, newest first, each with what changed since the one before it.
 */

import { Time } from "../base/format.tsx";
import type { Inspected } from "../base/reads.ts";
import { Difference } from "../base/ui.tsx";
import { whoSaid } from "../base/words.ts";

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
