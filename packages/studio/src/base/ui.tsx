/**
 * The parts that every page is made of: marks of types, lines and names of memories, texts beside what they
 * were, sections that remember whether they were open, failures in words, empty states. A page that needs one
 * more of these adds it here only if a second page needs it as well.
 */
import { isCortexError, type MemoryType } from "@cortex-memory/core/remote";
import { type ReactNode, useState } from "react";
import { counted, oneLine } from "./format.tsx";
import { diffOf } from "./pieces.ts";
import { useRead } from "./reads.ts";
import { hrefOf, hrefWith, useRoute } from "./route.ts";
import { useStudio } from "./studio.tsx";
import { howSure, TYPE_LETTERS, typeMeaning } from "./words.ts";

/** The mark of a type: its colour and its letter. */
export function TypeMark({
  type,
  named = false,
}: {
  readonly type: MemoryType;
  readonly named?: boolean;
}) {
  return (
    <span className="type" title={`${type}: ${typeMeaning(type)}`}>
      <span className={`type-mark type-${type}`} aria-hidden="true">
        {TYPE_LETTERS[type]}
      </span>
      <span className={named ? "" : "unseen"}>{type}</span>
    </span>
  );
}

/** A memory in a list: opens beside the page. */
export function MemoryLine({
  id,
  type,
  text,
  children,
}: {
  readonly id: string;
  readonly type?: MemoryType;
  readonly text: string;
  readonly children?: ReactNode;
}) {
  const { params } = useRoute();
  return (
    <div className={params.m === id ? "line is-open" : "line"}>
      {type !== undefined && <TypeMark type={type} />}
      <a className="line-text" href={hrefWith({ m: id })} dir="auto">
        {oneLine(text) === "" ? "(no text)" : oneLine(text)}
      </a>
      {children !== undefined && <span className="line-more">{children}</span>}
    </div>
  );
}

/** A memory by its words where only its id is at hand; `text` where that is known already. */
export function MemoryName({ id, text }: { readonly id: string; readonly text?: string }) {
  const found = useRead(["name", id], async (memory) => (await memory.get(id))?.text ?? "", {
    enabled: text === undefined,
  });
  const words = text ?? found.data ?? "";
  return (
    <a href={hrefWith({ m: id })} title={id} dir="auto">
      {words === "" ? "a memory" : `“${oneLine(words, 90)}”`}
    </a>
  );
}

/** How sure a memory is, as a small mark; nothing where nothing needs saying. */
export function StatusChip({ status }: { readonly status: string }) {
  const sure = howSure(status);
  if (sure === "" || status === "confirmed") return null;
  return (
    <span className={`chip status-${status}`} title={sure}>
      {status === "provisional" ? "not confirmed" : status}
    </span>
  );
}

/** A part of a page or panel with a heading; it remembers whether it was open. */
export function Section({
  name,
  title,
  aside,
  isOpen = true,
  children,
}: {
  /** What it is remembered by. */
  readonly name: string;
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  /** Whether it is open the first time. */
  readonly isOpen?: boolean;
  readonly children: ReactNode;
}) {
  const key = `cortex.open.${name}`;
  const [open, setOpen] = useState(() => {
    const kept = window.localStorage.getItem(key);
    return kept === null ? isOpen : kept === "1";
  });
  return (
    <details
      className="section"
      open={open}
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
        window.localStorage.setItem(key, event.currentTarget.open ? "1" : "0");
      }}
    >
      <summary>
        <span className="section-title">{title}</span>
        {aside !== undefined && <span className="section-aside">{aside}</span>}
      </summary>
      {open && <div className="section-body">{children}</div>}
    </details>
  );
}

/** The heading of a page, and what one finds there. */
export function PageHead({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about: string;
  readonly children?: ReactNode;
}) {
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        <p className="about">{about}</p>
      </div>
      {children !== undefined && <div className="page-actions">{children}</div>}
    </header>
  );
}

const WAYS_TO_ASK = [
  { page: "ask", name: "A question", about: "what an agent would be told, and why" },
  { page: "context", name: "A task", about: "what an agent has before it when it starts on one" },
  { page: "find", name: "Conditions", about: "memories by type, tag, slot or standing" },
] as const;

/** The three ways to ask, each a page of its own. */
export function WaysToAsk() {
  const { page } = useRoute();
  return (
    <nav className="tabs" aria-label="Ways to ask">
      {WAYS_TO_ASK.map(({ page: one, name, about }) => (
        <a
          key={one}
          href={hrefOf(one)}
          title={about}
          aria-current={one === page ? "page" : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

/** A text that looks as if it wanted to command agents, as a small mark. */
export function SuspectChip({ flags = [] }: { readonly flags?: readonly string[] | undefined }) {
  if (flags.length === 0) return null;
  return (
    <span
      className="chip status-disputed"
      title={`It looks as if it wanted to give orders to an agent (${flags.join(", ")}). It is kept as it came, and left out of prompts.`}
    >
      suspicious
    </span>
  );
}

/** Nothing is here: what would be, and how it comes. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      <div>{children}</div>
    </div>
  );
}

/** Something is on its way. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading" aria-live="polite">
      Reading {what}…
    </p>
  );
}

/** A failure in words; its code behind a disclosure. */
export function Failure({ error }: { readonly error: unknown }) {
  const { isOwner } = useStudio();
  return <FailureText error={error} isOwner={isOwner} />;
}

/** The same where no memory is open. */
export function FailureText({
  error,
  isOwner,
}: {
  readonly error: unknown;
  readonly isOwner: boolean;
}) {
  const { text, code } = failureWords(error, isOwner);
  return (
    <div className="failure" role="alert">
      <p>{text}</p>
      <details>
        <summary>What exactly</summary>
        <code>
          {code} {error instanceof Error ? error.message : String(error)}
        </code>
      </details>
    </div>
  );
}

function failureWords(
  error: unknown,
  isOwner: boolean,
): { readonly text: string; readonly code: string } {
  if (!isCortexError(error)) return { text: "Something went wrong in this page.", code: "" };
  const { code, message } = error;
  const said = (text: string) => ({ text, code });
  switch (code) {
    case "ERR_DENIED":
      return said(
        isOwner
          ? "This server does not let you in."
          : "Your scope does not show this. Only the owner sees it.",
      );
    case "ERR_TRUST":
      return said("You may not overrule what somebody of a higher standing said.");
    case "ERR_STORAGE":
    case "ERR_CLOSED":
      return said(
        "The server cannot be reached, or could not answer. It is asked again when it is back.",
      );
    case "ERR_FORK":
    case "ERR_ROLLED_BACK":
      return said(
        "The server's history does not go on from what this browser saw before. Do not trust it until you know why.",
      );
    case "ERR_AS_OF":
      return said("There is no such moment in this memory.");
    default:
      return said(message);
  }
}

/** What is read: waiting, failed, or there. */
export function Answer<T>({
  of,
  what,
  children,
}: {
  readonly of: {
    readonly data: T | undefined;
    readonly error: unknown;
    readonly isPending: boolean;
  };
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}) {
  if (of.data !== undefined) return children(of.data);
  if (of.error !== null && of.error !== undefined) return <Failure error={of.error} />;
  return of.isPending ? <Loading what={what} /> : null;
}

/** Says that changes wait until the present is shown again; `undefined` in the present. */
export function useWhyNoWrite(): string | undefined {
  const { canWrite } = useStudio();
  return canWrite ? undefined : "You are looking at the past. Go back to now to make changes.";
}

/** Copies a text; says so on its face. */
export function CopyButton({
  text,
  label = "Copy",
}: {
  readonly text: string;
  readonly label?: string;
}) {
  const [said, setSaid] = useState<string | undefined>(undefined);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      // Browsers give the clipboard only to pages that came safely.
      setSaid("Your browser does not let this page copy: mark the text instead");
    }
    setTimeout(() => setSaid(undefined), 2500);
  };
  return (
    <button type="button" className="small" onClick={copy}>
      {said ?? label}
    </button>
  );
}

/** A bar whose parts are shares of a whole, each named in words for those who do not see it. */
export function ShareBar({
  parts,
  label,
}: {
  readonly parts: readonly {
    readonly name: string;
    readonly share: number;
    readonly title: string;
  }[];
  readonly label: string;
}) {
  return (
    <span className="share-bar" role="img" aria-label={label}>
      {parts.map(({ name, share, title }) => (
        <span
          key={name}
          className={`share share-${name}`}
          style={{ width: `${Math.max(0, Math.min(1, share)) * 100}%` }}
          title={title}
        />
      ))}
    </span>
  );
}

/** A text as it stands, in a box that scrolls and can be reached by keys. */
export function RawText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
    <section className="raw-frame" tabIndex={0} aria-label={label}>
      <pre className="raw" dir="auto">
        {text}
      </pre>
    </section>
  );
}

/** Two texts as one: words that went are struck out, words that came are underlined. */
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

/** The answer as an agent gets it: the text that goes into its prompt, to read and to copy. */
export function PromptText({ text, tokens }: { readonly text: string; readonly tokens: number }) {
  return (
    <section className="prompt">
      <header className="prompt-head">
        <h2>
          What the agent reads <span className="about">{counted(tokens, "token")}</span>
        </h2>
        {text !== "" && <CopyButton text={text} label="Copy the text" />}
      </header>
      {text === "" ? (
        <p className="about">Nothing: the prompt stays as it is.</p>
      ) : (
        <RawText text={text} label="The text for the prompt" />
      )}
    </section>
  );
}

/** A table that scrolls where there is little room, and can be reached by keys. */
export function TableFrame({
  label,
  name = "",
  children,
}: {
  readonly label: string;
  /** What its columns are styled by, where they differ. */
  readonly name?: string;
  readonly children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
    <section className="table-frame" tabIndex={0} aria-label={label}>
      <table className={`table ${name}`}>{children}</table>
    </section>
  );
}
