/**
 * Writing one thing down: a sentence, its type, and where one fits a slot and tags.
 */
import type { MemoryType } from "@cortex-memory/core/remote";
import { useState } from "react";
import { FormDialog, TextField } from "../base/dialog.tsx";
import { useWrite } from "../base/reads.ts";
import { go, hrefWith } from "../base/route.ts";
import { useWhyNoWrite } from "../base/ui.tsx";
import { TYPES, typeMeaning } from "../base/words.ts";
import { tagsIn } from "./mend-dialogs.tsx";

/** The button of the top bar, and its dialog. */
export function WriteButton() {
  const [isOpen, setOpen] = useState(false);
  const whyNot = useWhyNoWrite();
  return (
    <>
      <button
        type="button"
        disabled={whyNot !== undefined}
        title={whyNot}
        onClick={() => setOpen(true)}
      >
        Write
      </button>
      {isOpen && <WriteDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function WriteDialog({ onClose }: { readonly onClose: () => void }) {
  const [type, setType] = useState<MemoryType>("fact");
  const [text, setText] = useState("");
  const [slot, setSlot] = useState("");
  const [tags, setTags] = useState("");
  const write = useWrite(
    (memory, _: undefined) =>
      memory.write({
        type,
        text: text.trim(),
        ...(slot.trim() === "" ? {} : { slot: slot.trim() }),
        ...(tags.trim() === "" ? {} : { tags: tagsIn(tags) }),
      } as Parameters<typeof memory.write>[0]),
    ({ seq, reinforced, replaced, conflicts }) => ({
      text: doneWords(reinforced, replaced, conflicts),
      undo: seq,
    }),
  );
  return (
    <FormDialog
      title="Write it down"
      submit="Write"
      canSubmit={text.trim() !== ""}
      isBusy={write.isPending}
      error={write.error}
      onSubmit={() =>
        write.mutate(undefined, {
          onSuccess: ({ id }) => {
            onClose();
            go(hrefWith({ m: id }));
          },
        })
      }
      onClose={onClose}
    >
      <label htmlFor="write-text">In one sentence</label>
      <textarea
        id="write-text"
        dir="auto"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <TypeChoice type={type} onChange={setType} />
      <TextField
        id="write-slot"
        label="Slot, if it has one value at a time (such as home city)"
        value={slot}
        onChange={setSlot}
      />
      <TextField
        id="write-tags"
        label="Tags, with commas between them"
        value={tags}
        onChange={setTags}
      />
    </FormDialog>
  );
}

function TypeChoice({
  type,
  onChange,
}: {
  readonly type: MemoryType;
  readonly onChange: (type: MemoryType) => void;
}) {
  return (
    <>
      <label htmlFor="write-type">Type</label>
      <select
        id="write-type"
        value={type}
        onChange={(event) => onChange(event.target.value as MemoryType)}
      >
        {TYPES.filter((one) => one !== "artifact").map((one) => (
          <option key={one} value={one}>
            {one}: {typeMeaning(one)}
          </option>
        ))}
      </select>
    </>
  );
}

type Brief = readonly { readonly text: string }[];

function doneWords(reinforced: boolean, replaced: Brief, conflicts: Brief): string {
  if (reinforced) return "That was known already; it counts for more now.";
  if (replaced.length > 0) return `Written. It replaced “${replaced[0]?.text}”.`;
  if (conflicts.length > 0)
    return `Written beside “${conflicts[0]?.text}”, which it may not replace.`;
  return "Written.";
}
