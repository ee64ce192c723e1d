/**
 * Two texts as one: what went is struck out, what came is underlined.
 */
import { diffOf } from "./diff.ts";

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
