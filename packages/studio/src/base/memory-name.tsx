/**
 * A memory by its words where only its id is at hand: a link that opens it beside the page.
 */
import { oneLine } from "./format.tsx";
import { useRead } from "./reads.ts";
import { hrefWith } from "./route.ts";

/** The name; `text` where it is known already. */
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
