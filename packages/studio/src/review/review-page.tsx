/**
 * What waits for a decision, one thing at a time: both sides, what can be decided, by click or by the
 * keys 1 to 4, and the way back. Which one is shown is in the address. Below it stands what was decided lately,
 * which can be taken back after its notice is gone.
 */
import { useEffect, useState } from "react";
import { ConfirmDialog, FormDialog, useKeys } from "../base/dialog.tsx";
import { counted, oneLine, Time } from "../base/format.tsx";
import { useRead, useWaiting, useWrite, type Waiting, type WaitingItem } from "../base/reads.ts";
import { currentRoute, go, hrefWith, useRoute } from "../base/route.ts";
import { useStudio } from "../base/studio.tsx";
import { Answer, Empty, Failure, MemoryName, PageHead, Section } from "../base/ui.tsx";
import {
  type Choice,
  choicesFor,
  type Decision,
  doneWords,
  firstMarked,
  isFinal,
  keepOf,
  QUESTIONS,
  whyWords,
} from "./review-words.ts";
import { Sides } from "./sides.tsx";

/** The page. */
export function ReviewPage() {
  const { at } = useStudio();
  const { params } = useRoute();
  const isDuplicates = params.show === "duplicates";
  const found = useWaiting(isDuplicates);
  return (
    <>
      <PageHead
        title="Review"
        about="What disagrees, what an agent noted without your word, and what somebody asks you to allow. Nothing is lost here: what you decide can be undone."
      >
        <a
          className="button"
          href={hrefWith({ show: isDuplicates ? undefined : "duplicates", item: undefined })}
        >
          {isDuplicates ? "Back to what waits" : "Look for duplicates"}
        </a>
      </PageHead>
      {at !== undefined ? (
        <Empty title="The past has no open questions">
          <p>Go back to now to decide what waits.</p>
        </Empty>
      ) : (
        <Answer of={found} what="what waits for you">
          {(waiting) => <Queue waiting={waiting} isDuplicates={isDuplicates} />}
        </Answer>
      )}
      {at === undefined && <DecidedLately />}
    </>
  );
}

function Queue({
  waiting: { items, cursor },
  isDuplicates,
}: {
  readonly waiting: Waiting;
  readonly isDuplicates: boolean;
}) {
  const { params } = useRoute();
  const sought = items.findIndex(({ id }) => id === params.item);
  const at = Math.max(0, sought);
  const item = items[at];
  const shown = item?.id;
  // What is looked at is in the address from the first look: something new must not slip into its place.
  useEffect(() => {
    if (shown !== undefined && currentRoute().params.item !== shown) {
      go(hrefWith({ item: shown }), { replace: true });
    }
  }, [shown]);
  if (items.length === 0) return <Nothing isDuplicates={isDuplicates} />;
  const goTo = (next: number) => go(hrefWith({ item: items[next]?.id }), { replace: true });
  if (item === undefined) return null;
  return (
    <div className="review">
      <nav className="review-list" aria-label="What waits">
        <p className="about">
          {counted(items.length, "thing")}
          {cursor !== undefined && " or more"}
        </p>
        <ol>
          {items.map(({ id, kind, sides }) => (
            <li key={id}>
              <a
                className="review-link"
                href={hrefWith({ item: id })}
                aria-current={id === item.id ? "true" : undefined}
              >
                <span className="about">{QUESTIONS[kind].name}</span>
                <span dir="auto">{oneLine(sides[0]?.text ?? "", 60)}</span>
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <Item
        key={item.id}
        item={item}
        place={`${at + 1} of ${items.length}`}
        onBefore={at > 0 ? () => goTo(at - 1) : undefined}
        onAfter={at < items.length - 1 ? () => goTo(at + 1) : undefined}
        onDone={() => goTo(at < items.length - 1 ? at + 1 : at - 1)}
      />
    </div>
  );
}

function Nothing({ isDuplicates }: { readonly isDuplicates: boolean }) {
  return isDuplicates ? (
    <Empty title="No two memories say the same">
      <p>Memories that repeat each other in nearly the same words would be listed here.</p>
    </Empty>
  ) : (
    <Empty title="Nothing waits for you">
      <p>
        When an agent disagrees with what you said, notes something about you that you have not
        confirmed, or asks to change what only you may change, it shows here with both sides. You
        keep one, keep both, merge or refuse, and can take it back.
      </p>
    </Empty>
  );
}

interface ItemProps {
  readonly item: WaitingItem;
  readonly place: string;
  readonly onBefore: (() => void) | undefined;
  readonly onAfter: (() => void) | undefined;
  readonly onDone: () => void;
}

interface Made {
  readonly decision: Decision;
  readonly text?: string;
}

function Item({ item, place, onBefore, onAfter, onDone }: ItemProps) {
  const [marked, setMarked] = useState(() => firstMarked(item));
  const [reason, setReason] = useState("");
  const [asking, setAsking] = useState<"merge" | "forget" | undefined>(undefined);
  const choices = choicesFor(item);
  const settle = useWrite(
    (memory, { decision, text }: Made) =>
      memory.settle(item.id, {
        decision,
        reason: reason.trim() === "" ? "decided in the studio" : reason.trim(),
        ...keepOf(item, decision, marked),
        ...(text === undefined ? {} : { text }),
      }),
    ({ seq, decision }) => ({
      text: doneWords(decision, item.kind),
      ...(isFinal(item, decision) ? {} : { undo: seq }),
    }),
  );
  const decide = (made: Made) => {
    if (!settle.isPending) settle.mutate(made, { onSuccess: onDone });
  };
  const take = ({ decision }: Choice) => {
    if (decision === "merge") setAsking("merge");
    else if (isFinal(item, decision)) setAsking("forget");
    else decide({ decision });
  };
  const other =
    item.sides.length > 1 ? () => setMarked((marked + 1) % item.sides.length) : undefined;
  useKeys({
    ...Object.fromEntries(choices.map((choice) => [choice.key, () => take(choice)])),
    j: onAfter,
    k: onBefore,
    ArrowLeft: other,
    ArrowRight: other,
  });
  return (
    <article className="review-item" aria-label={`${QUESTIONS[item.kind].name}, ${place}`}>
      <ItemHead item={item} place={place} onBefore={onBefore} onAfter={onAfter} />
      <Sides item={item} marked={marked} onMark={setMarked} />
      <Reason reason={reason} onChange={setReason} />
      <Choices choices={choices} isBusy={settle.isPending} onTake={take} />
      {settle.error !== null && asking === undefined && <Failure error={settle.error} />}
      {asking === "forget" && (
        <ConfirmDialog
          title="Forget it for good"
          submit="Forget"
          word="forget"
          about="The memory, all its versions and its links are destroyed, as was asked."
          isBusy={settle.isPending}
          error={settle.error}
          onSubmit={() => decide({ decision: "keep_one" })}
          onClose={() => setAsking(undefined)}
        />
      )}
      {asking === "merge" && (
        <MergeDialog
          item={item}
          marked={marked}
          isBusy={settle.isPending}
          error={settle.error}
          onText={(text) => decide({ decision: "merge", text })}
          onClose={() => setAsking(undefined)}
        />
      )}
    </article>
  );
}

/** What is asked and why, which of how many it is, and the way to the others. */
function ItemHead({ item, place, onBefore, onAfter }: Omit<ItemProps, "onDone">) {
  const { name, about } = QUESTIONS[item.kind];
  return (
    <>
      <header className="review-head">
        <h2>{name}</h2>
        <span className="about">{place}</span>
        <button type="button" disabled={onBefore === undefined} onClick={onBefore}>
          Previous
        </button>
        <button type="button" disabled={onAfter === undefined} onClick={onAfter}>
          Next
        </button>
      </header>
      <p>
        {about} <span dir="auto">{whyWords(item)}</span>
      </p>
    </>
  );
}

function Reason({
  reason,
  onChange,
}: {
  readonly reason: string;
  readonly onChange: (reason: string) => void;
}) {
  return (
    <label className="review-reason">
      Why, for the journal (you may leave it empty)
      <input
        type="text"
        autoComplete="off"
        value={reason}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function Choices({
  choices,
  isBusy,
  onTake,
}: {
  readonly choices: readonly Choice[];
  readonly isBusy: boolean;
  readonly onTake: (choice: Choice) => void;
}) {
  return (
    <ul className="choices">
      {choices.map((choice) => (
        <li key={choice.key}>
          <button
            type="button"
            className={choice.key === "1" ? "primary" : ""}
            disabled={isBusy}
            aria-keyshortcuts={choice.key}
            onClick={() => onTake(choice)}
          >
            <kbd>{choice.key}</kbd> {choice.name}
          </button>
          <span className="about">{choice.about}</span>
        </li>
      ))}
    </ul>
  );
}

function MergeDialog({
  item: { sides },
  marked,
  isBusy,
  error,
  onText,
  onClose,
}: {
  readonly item: WaitingItem;
  readonly marked: number;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(sides[marked]?.text ?? "");
  return (
    <FormDialog
      title={sides.length > 1 ? "One sentence for both" : "In your words"}
      submit="Let this stand"
      canSubmit={text.trim() !== ""}
      isBusy={isBusy}
      error={error}
      onSubmit={() => onText(text.trim())}
      onClose={onClose}
    >
      {sides.map((side) => (
        <p key={side.uri} className="about" dir="auto">
          {oneLine(side.text)}
        </p>
      ))}
      <label htmlFor="merge-text">What is true instead</label>
      <textarea
        id="merge-text"
        dir="auto"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </FormDialog>
  );
}

/** Entries at the end of the journal that are looked through. */
const LOOKED_AT = 200;

/** Decisions that are shown. */
const SHOWN = 10;

/** What was decided lately, from the end of the journal; only the owner reads that. */
function DecidedLately() {
  const { isOwner } = useStudio();
  const found = useRead(
    ["review", "decided"],
    async (memory) => {
      const { seq } = await memory.root();
      const { changes } = await memory.changes(Math.max(0, seq - LOOKED_AT), seq, {
        limit: LOOKED_AT,
      });
      return changes.filter(({ kind }) => kind === "settle").reverse();
    },
    { enabled: isOwner },
  );
  const undo = useWrite(
    (memory, seq: number) => memory.revert(seq),
    () => ({ text: "Undone: the question is open again." }),
  );
  const decided = found.data ?? [];
  if (decided.length === 0) return null;
  return (
    <Section name="decided" title="Decided lately" aside={counted(decided.length, "decision")}>
      {undo.error !== null && <Failure error={undo.error} />}
      <ul className="decided">
        {decided.slice(0, SHOWN).map(({ seq, at, by, memories }) => (
          <li key={seq}>
            <span className="about">
              <Time ms={at} /> by {by}
            </span>{" "}
            <span className="decided-what">
              <Named memories={memories} />
            </span>{" "}
            <button
              type="button"
              className="small"
              disabled={undo.isPending}
              aria-label={`Undo decision ${seq}`}
              onClick={() => undo.mutate(seq)}
            >
              Undo
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type Touched = readonly { readonly id: string; readonly text?: string; readonly erased: boolean }[];

/** The memories that a decision was about, by their words where the entry has them. */
function Named({ memories }: { readonly memories: Touched }) {
  const ids = [...new Set(memories.map(({ id }) => id))];
  return (
    <>
      {ids.slice(0, 3).map((id) => (
        <MemoryName key={id} id={id} />
      ))}
    </>
  );
}
