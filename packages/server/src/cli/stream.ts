/**
 * Printing an operation that goes on answering: each item as it comes, under `--json` one document a
 * line. It ends when the items end or when somebody interrupts the process, and both are no failure.
 * What is printed leaves the process before the next item is asked for.
 */
import type { Cortex } from "@cortex-memory/core";
import type { CallContext, Operation } from "../operations/define.js";
import { makeInk, outline, wantsColour } from "../render/ink.js";
import type { Host } from "./host.js";

/** What a stream is printed from. */
export interface StreamTask {
  readonly memory: Cortex;
  readonly input: unknown;
  readonly context: CallContext;
  readonly json: boolean;
  /** Called before an item is printed. */
  readonly onItem: () => void;
}

/** Prints items until there are no more. */
export async function printStream(
  host: Host,
  { cli }: Pick<Operation, "cli">,
  stream: NonNullable<Operation["stream"]>,
  { memory, input, context, json, onItem }: StreamTask,
): Promise<void> {
  const ink = makeInk(wantsColour(host.out, host.env));
  const show = (item: unknown): string =>
    json ? JSON.stringify(item) : (cli.human?.(item, ink) ?? outline(item, ink));
  const stop = new AbortController();
  const off = host.onInterrupt(() => stop.abort());
  try {
    for await (const item of stream(memory, input, { ...context, signal: stop.signal })) {
      onItem();
      host.out.write(`${show(item)}\n`);
      await host.drained();
    }
  } finally {
    off();
  }
}
