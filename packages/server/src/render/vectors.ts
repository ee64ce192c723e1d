/**
 * What was done about vectors, for people to read.
 */
import type * as z from "zod";
import type { embeddedShape } from "../operations/vectors.js";
import { clean, counted, type Ink } from "./ink.js";

/** What embedding did. */
export function showEmbedded(report: z.output<typeof embeddedShape>, ink: Ink): string {
  const { texts, memories, refused, purged, lag } = report;
  const head = `${counted(memories, "memory", "memories")} got a vector, ${counted(texts, "text")} embedded`;
  const more = [
    refused === 0 ? undefined : ink.yellow(`${counted(refused, "text")} refused by the embedder`),
    purged === 0 ? undefined : `${counted(purged, "vector")} of forgotten memories removed`,
    lag === 0 ? undefined : `${counted(lag, "entry", "entries")} came meanwhile`,
  ].filter((line) => line !== undefined);
  const first = `${ink.green("✓")} ${head} ${ink.dim(`${clean(report.model)}, seq ${report.seq}`)}`;
  return [first, ...more.map((line) => `  ${line}`)].join("\n");
}
