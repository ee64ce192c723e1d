/**
 * Moves of a store, for people to read.
 */
import type { Output } from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { erasuresShape, importedShape, upgradeShape } from "../operations/move-shapes.js";
import { clean, counted, type Ink } from "./ink.js";

/** What a vacuum did. */
export function showVacuum(report: Output<"vacuum">, ink: Ink): string {
  const late = counted(report.forgottenMeanwhile, "memory", "memories");
  const left =
    report.forgottenMeanwhile === 0
      ? []
      : [ink.yellow(`  ${late} forgotten meanwhile: run vacuum once more`)];
  const size = `${bytes(report.bytesBefore)} before, ${bytes(report.bytesAfter)} now`;
  return [
    `${ink.green("✓")} ${entries(report)} written anew: ${size} ${ink.dim(`seq ${report.seq}`)}`,
    ...left,
    `  root ${report.root}`,
  ].join("\n");
}

/** What was written to a file; `did` is the word for it. */
export function showExported(did: string): (report: Output<"backup">, ink: Ink) => string {
  return (report, ink) => {
    const since = report.from === 0 ? "" : ` from seq ${report.from} on`;
    const erased = report.erased === 0 ? "" : `, ${counted(report.erased, "erased part")} listed`;
    return [
      `${ink.green("✓")} ${did} ${entries(report)}${since}${erased} ${ink.dim(`seq ${report.seq}`)}`,
      `  root ${report.root}`,
      ...(did === "backed up" ? [ink.dim(`  next time: --since ${report.seq}`)] : []),
    ].join("\n");
  };
}

/** What was read in; `did` is the word for it. */
export function showImported(
  did: string,
): (report: z.output<typeof importedShape>, ink: Ink) => string {
  return (report, ink) => {
    const again = counted(report.erasedAgain, "part");
    const erased = report.erasedAgain === 0 ? "" : `, ${again} erased again`;
    const place = ink.dim(`seq ${report.seq}, epoch ${report.epoch}`);
    return `${ink.green("✓")} ${did} ${entries(report)}${erased} ${place}\n  root ${report.root}`;
  };
}

/** How much a list of erasures names. */
export function showErasures(report: z.output<typeof erasuresShape>, ink: Ink): string {
  const erased = counted(report.erased, "erased part");
  return `${ink.green("✓")} ${erased} listed, of ${entries(report)} ${ink.dim(`seq ${report.seq}`)}`;
}

/** What an upgrade did, or would do. */
export function showUpgrade(report: z.output<typeof upgradeShape>, ink: Ink): string {
  const { from, to, upgraded } = report;
  const form = `format ${to.format}, fold ${to.foldVersion}`;
  if (!report.needed) return `${ink.green("✓")} nothing to do: the store has ${form} already`;
  const was = `format ${from.format}, fold ${from.foldVersion}`;
  const head =
    upgraded === undefined
      ? ink.yellow(`would upgrade from ${was} to ${form}:`)
      : `${ink.green("✓")} upgraded from ${was} to ${form} ${ink.dim(`seq ${upgraded.seq}`)}`;
  return [
    head,
    ...report.steps.map((step) => `  ${clean(step)}`),
    ...(upgraded === undefined ? [] : [`  root ${upgraded.root}`]),
  ].join("\n");
}

function entries(report: { readonly entries: number }): string {
  return counted(report.entries, "entry", "entries");
}

function bytes(count: number): string {
  return counted(count, "byte");
}
