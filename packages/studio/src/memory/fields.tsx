/**
 * Every field of a memory, as its writer gave it and as the store completed it.
 */
import { exact } from "../base/format.tsx";
import { SafeLink } from "../base/markdown.tsx";
import type { Inspected } from "../base/reads.ts";
import { CopyButton } from "../base/ui.tsx";
import { spaced } from "../base/words.ts";

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
