/**
 * Text that people wrote, shown as they meant it: headings, lists, quotes, code, emphasis, links. It makes
 * elements and never markup, so whatever the text holds stays text; links lead to http and https only.
 *
 * A small part of Markdown on purpose: what is not read here is shown as it stands.
 */
import { Fragment, type ReactNode } from "react";

/** Blocks beyond this many are shown as plain text: drawing them would take longer than reading. */
const BLOCKS_MAX = 400;

/** A text as elements. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = blocksOf(text);
  const shown = blocks.slice(0, BLOCKS_MAX);
  const rest = blocks.slice(BLOCKS_MAX).flatMap(({ lines }) => [...lines, ""]);
  return (
    <div className="markdown" dir="auto">
      {shown.map((block, at) => (
        // Blocks have no identity but their place.
        // biome-ignore lint/suspicious/noArrayIndexKey: the text as a whole is drawn anew when it changes
        <BlockView key={at} block={block} />
      ))}
      {rest.length > 0 && <pre>{rest.join("\n")}</pre>}
    </div>
  );
}

interface Block {
  readonly kind: "heading" | "list" | "numbers" | "quote" | "code" | "text";
  readonly lines: readonly string[];
  /** Of a heading, how deep it is. */
  readonly level?: number;
}

/** The blocks of a text, in order. */
export function blocksOf(text: string): readonly Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    if (line.startsWith("```")) {
      const end = lines.findIndex((one, index) => index > at && one.startsWith("```"));
      const stop = end === -1 ? lines.length : end;
      blocks.push({ kind: "code", lines: lines.slice(at + 1, stop) });
      at = stop + 1;
      continue;
    }
    const heading = /^(#{1,6}) (.+)$/.exec(line);
    if (heading !== null) {
      blocks.push({ kind: "heading", lines: [heading[2] ?? ""], level: heading[1]?.length ?? 1 });
      at += 1;
      continue;
    }
    const kind = kindOf(line);
    let stop = at + 1;
    while (stop < lines.length && kindOf(lines[stop] ?? "") === kind) stop += 1;
    blocks.push({ kind, lines: lines.slice(at, stop).map((one) => withoutMark(kind, one)) });
    at = stop;
  }
  return blocks;
}

type LineKind = "list" | "numbers" | "quote" | "text";

/** What a line belongs to; an empty one to nothing. */
function kindOf(line: string): LineKind;
function kindOf(line: string): LineKind | undefined {
  if (line.trim() === "" || /^(#{1,6} |```)/.test(line)) return undefined;
  if (/^\s*[-*] /.test(line)) return "list";
  if (/^\s*\d{1,4}[.)] /.test(line)) return "numbers";
  return line.startsWith("> ") ? "quote" : "text";
}

function withoutMark(kind: LineKind, line: string): string {
  switch (kind) {
    case "list":
      return line.replace(/^\s*[-*] /, "");
    case "numbers":
      return line.replace(/^\s*\d{1,4}[.)] /, "");
    case "quote":
      return line.replace(/^> /, "");
    case "text":
      return line;
  }
}

function BlockView({ block: { kind, lines, level = 1 } }: { readonly block: Block }) {
  const items = () =>
    lines.map((line, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
      <li key={at}>{inline(line)}</li>
    ));
  switch (kind) {
    case "heading":
      // The panel has its own headings above; these begin below them.
      return level <= 2 ? <h3>{inline(lines[0] ?? "")}</h3> : <h4>{inline(lines[0] ?? "")}</h4>;
    case "list":
      return <ul>{items()}</ul>;
    case "numbers":
      return <ol>{items()}</ol>;
    case "quote":
      return <blockquote>{inline(lines.join(" "))}</blockquote>;
    case "code":
      return (
        <pre>
          <code>{lines.join("\n")}</code>
        </pre>
      );
    case "text":
      return <p>{inline(lines.join("\n"))}</p>;
  }
}

const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>"')\]]+)/g;

/** The marks inside a line as elements. */
function inline(text: string): ReactNode {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    const [all, code, strong, weak, label, target, bare] = found;
    parts.push(text.slice(from, found.index));
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (strong !== undefined) parts.push(<strong>{strong}</strong>);
    else if (weak !== undefined) parts.push(<em>{weak}</em>);
    else parts.push(<SafeLink href={target ?? bare ?? ""}>{label ?? bare}</SafeLink>);
    from = found.index + all.length;
  }
  parts.push(text.slice(from));
  return parts.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place
    <Fragment key={at}>{part}</Fragment>
  ));
}

/** A link out of the studio: to http and https, and nothing else. */
export function SafeLink({
  href,
  children,
}: {
  readonly href: string;
  readonly children: ReactNode;
}) {
  if (!/^https?:\/\//i.test(href)) return children;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
