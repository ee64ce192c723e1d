/**
 * The dialogs that change a memory: its words, its tags and weight, its links, whether it is shown, whether it
 * is there at all. Each says what will happen, and hands the undo to the notice that follows; forgetting, which
 * has none, lists what goes and wants the word typed.
 */
import { EDGE_KINDS, VISIBILITIES } from "@cortex-memory/core/remote";
import { useState } from "react";
import { ConfirmDialog, FormDialog, TextField } from "../base/dialog.tsx";
import { counted, oneLine } from "../base/format.tsx";
import { type Inspected, useRead, useWrite } from "../base/reads.ts";
import { go, hrefWith } from "../base/route.ts";
import { Difference } from "../base/ui.tsx";
import { kindMeaning, spaced } from "../base/words.ts";

interface DialogProps {
  readonly memory: Inspected["memory"];
  readonly onClose: () => void;
}

/** New words: the version before stays in the history. */
export function EditDialog({ memory, onClose }: DialogProps) {
  const [text, setText] = useState(memory.text);
  const save = useWrite(
    (graph, next: string) =>
      graph.update(memory.id, { text: next, basedOnVersion: memory.versionRecord.number }),
    ({ seq, conflicts }) => ({
      text:
        conflicts.length > 0
          ? "Kept beside another version: settle it in Review."
          : "Saved as a new version.",
      undo: seq,
    }),
  );
  return (
    <FormDialog
      title="Say it better"
      submit="Save as a new version"
      canSubmit={text.trim() !== "" && text !== memory.text}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate(text, { onSuccess: onClose })}
      onClose={onClose}
    >
      <label htmlFor="edit-text">Text</label>
      <textarea
        id="edit-text"
        dir="auto"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <p className="about">What changes:</p>
      <Difference before={memory.text} after={text} />
    </FormDialog>
  );
}

/** What may see a memory. */
type Visibility = keyof typeof VISIBILITIES;

/** Tags, weight, who may see it. */
export function HeadDialog({ memory, onClose }: DialogProps) {
  const { head } = memory;
  const [tags, setTags] = useState(head.tags.join(", "));
  const [importance, setImportance] = useState(head.importance);
  const [visibility, setVisibility] = useState<Visibility>(head.visibility);
  const save = useWrite(
    (graph, _: undefined) =>
      graph.updateHead(memory.id, { tags: tagsIn(tags), importance, visibility }),
    ({ seq }) => ({ text: "Changed.", undo: seq }),
  );
  return (
    <FormDialog
      title="Tags and weight"
      submit="Save"
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <TextField
        id="head-tags"
        label="Tags, with commas between them"
        value={tags}
        onChange={setTags}
      />
      <label htmlFor="head-importance">Importance: {importance} of 10</label>
      <input
        id="head-importance"
        type="range"
        min={0}
        max={10}
        value={importance}
        onChange={(event) => setImportance(Number(event.target.value))}
      />
      <label htmlFor="head-visibility">Who may see it</label>
      <select
        id="head-visibility"
        value={visibility}
        onChange={(event) => setVisibility(event.target.value as Visibility)}
      >
        {Object.entries(VISIBILITIES).map(([name, { meaning }]) => (
          <option key={name} value={name}>
            {name}: {meaning}
          </option>
        ))}
      </select>
    </FormDialog>
  );
}

/** The tags in a line that somebody typed. */
export function tagsIn(text: string): string[] {
  return text
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");
}

/** Kinds that a person may state; the others record what the store did. */
const KINDS = EDGE_KINDS.filter(({ mint }) => mint === "anyone").map(({ name }) => name);

/** A link to another memory. */
export function LinkDialog({ memory, onClose }: DialogProps) {
  const [kind, setKind] = useState("related_to");
  const [words, setWords] = useState("");
  const [target, setTarget] = useState("");
  const [reason, setReason] = useState("");
  const [strength, setStrength] = useState(3);
  const found = useRead(
    ["link-targets", words],
    (graph) => graph.search(words, { limit: 6, snippets: false }),
    {
      enabled: words.trim() !== "",
      keep: true,
    },
  );
  const hits = (found.data?.hits ?? []).filter(({ id }) => id !== memory.id);
  const add = useWrite(
    (graph, _: undefined) =>
      graph.link(memory.id, kind, target, {
        strength,
        ...(reason.trim() === "" ? {} : { reason }),
      }),
    ({ seq, changed }) => ({
      text: changed ? "Linked." : "They were linked so already.",
      undo: seq,
    }),
  );
  return (
    <FormDialog
      title="Link it to another memory"
      submit="Link"
      canSubmit={target !== ""}
      isBusy={add.isPending}
      error={add.error}
      onSubmit={() => add.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <KindChoice kind={kind} onChange={setKind} />
      <TextField id="link-words" label="Find the other memory" value={words} onChange={setWords} />
      <fieldset className="targets" aria-label="The other memory">
        {hits.map(({ id, text }) => (
          <label key={id}>
            <input
              type="radio"
              name="target"
              checked={target === id}
              onChange={() => setTarget(id)}
            />{" "}
            {text}
          </label>
        ))}
      </fieldset>
      <TextField id="link-reason" label="Why, in one line" value={reason} onChange={setReason} />
      <label htmlFor="link-strength">Strength: {strength} of 5</label>
      <input
        id="link-strength"
        type="range"
        min={1}
        max={5}
        value={strength}
        onChange={(event) => setStrength(Number(event.target.value))}
      />
    </FormDialog>
  );
}

function KindChoice({
  kind,
  onChange,
}: {
  readonly kind: string;
  readonly onChange: (kind: string) => void;
}) {
  return (
    <>
      <label htmlFor="link-kind">How they are linked</label>
      <select id="link-kind" value={kind} onChange={(event) => onChange(event.target.value)}>
        {KINDS.map((name) => (
          <option key={name} value={name}>
            {spaced(name)}
          </option>
        ))}
      </select>
      <p className="about">A is this memory, B the other. {kindMeaning(kind)}</p>
    </>
  );
}

/** Hides a memory, with a reason. */
export function RetireDialog({ memory, onClose }: DialogProps) {
  const [reason, setReason] = useState("");
  const retire = useWrite(
    (graph, why: string) => graph.tombstone(memory.id, why),
    ({ seq }) => ({ text: "Retired: agents do not see it any more.", undo: seq }),
  );
  return (
    <FormDialog
      title="Retire it"
      submit="Retire"
      canSubmit={reason.trim() !== ""}
      isBusy={retire.isPending}
      error={retire.error}
      onSubmit={() => retire.mutate(reason.trim(), { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        One memory is hidden from agents and searches. Its history stays, and Restore brings it
        back.
      </p>
      <TextField id="retire-reason" label="Why" value={reason} onChange={setReason} />
    </FormDialog>
  );
}

/** Forgets a memory, and what was made from it if that is wanted: the one change that cannot be undone. */
export function ForgetDialog({
  inspected,
  onClose,
}: {
  readonly inspected: Inspected;
  readonly onClose: () => void;
}) {
  const { memory } = inspected;
  const [reason, setReason] = useState("asked by the owner");
  const [cascade, setCascade] = useState(false);
  const made = useDerived(memory.id);
  const forget = useWrite(
    (graph, why: string) => graph.forget(memory.id, why, { cascade }),
    ({ erased, edges }) => ({
      text: `Forgotten for good: ${counted(erased.length, "memory", "memories")} and ${counted(edges, "link")}.`,
    }),
  );
  return (
    <ConfirmDialog
      title="Forget it for good"
      submit="Forget"
      word="forget"
      about="The content is destroyed; that something was there, and proofs made before, remain. These go:"
      canSubmit={reason.trim() !== ""}
      isBusy={forget.isPending}
      error={forget.error}
      onSubmit={() =>
        forget.mutate(reason.trim(), {
          onSuccess: () => {
            onClose();
            go(hrefWith({ m: undefined }));
          },
        })
      }
      onClose={onClose}
    >
      <WhatGoes inspected={inspected} derived={cascade ? made : []} />
      {made.length > 0 && (
        <label>
          <input
            type="checkbox"
            checked={cascade}
            onChange={(event) => setCascade(event.target.checked)}
          />{" "}
          and {counted(made.length, "memory", "memories")} made from it
        </label>
      )}
      <TextField
        id="forget-reason"
        label="Why, for the journal (it stays: name no content)"
        value={reason}
        onChange={setReason}
      />
    </ConfirmDialog>
  );
}

/** The memories that were made from one. */
function useDerived(id: string) {
  const derived = useRead(["derived", id], async (graph) => {
    const walk = await graph.traverse(id, {
      direction: "in",
      kinds: ["derived_from"],
      maxHops: 6,
    });
    return walk.hits.map(({ memory: one }) => one);
  });
  return derived.data ?? [];
}

/** The list of what is destroyed. */
function WhatGoes({
  inspected: { memory, versions, links, backlinks },
  derived,
}: {
  readonly inspected: Inspected;
  readonly derived: readonly Pick<Inspected["memory"], "id" | "text">[];
}) {
  return (
    <ul className="goes">
      <li dir="auto">“{oneLine(memory.text, 100)}”</li>
      <li>{counted(versions.length, "version")} of it</li>
      <li>{counted(links.length + backlinks.length, "link")} to and from it</li>
      {derived.map((one) => (
        <li key={one.id} dir="auto">
          “{oneLine(one.text, 100)}”
        </li>
      ))}
    </ul>
  );
}
