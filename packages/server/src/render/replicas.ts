/**
 * What happens to replicas, for people to read.
 */
import type * as z from "zod";
import type { followedShape, promotedShape } from "../operations/replicas.js";
import { clean, counted, type Ink } from "./ink.js";

/** One event of following. */
export function showFollowed(event: z.output<typeof followedShape>, ink: Ink): string {
  const { state, seq, root = "", entries = 0, code = "", message = "", retryMs = 0 } = event;
  const place = ink.dim(`seq ${seq}`);
  switch (state) {
    case "level": {
      const came = counted(entries, "entry", "entries");
      return `${ink.green("✓")} level, ${came} came ${place}  ${ink.dim(root)}`;
    }
    case "trouble": {
      const again = `trying again in ${(retryMs / 1000).toFixed(1)} s`;
      return `${ink.yellow("…")} ${clean(message)} ${ink.dim(code)}, ${again} ${place}`;
    }
  }
}

/** What promoting did. */
export function showPromoted(report: z.output<typeof promotedShape>, ink: Ink): string {
  const place = ink.dim(`seq ${report.seq}, epoch ${report.epoch}`);
  return `${ink.green("✓")} follows ${clean(report.source)} no more, and takes writes ${place}\n  root ${report.root}`;
}
