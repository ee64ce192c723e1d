/** How a run looks on paper: the machine, the table, the bars, the notes. */

/**
 * @typedef {import("./contest.mjs").Row} Row
 * @typedef {import("./bars.mjs").Judged} Judged
 * @typedef {{
 *   readonly date: string,
 *   readonly commit: string,
 *   readonly dirty: boolean,
 *   readonly machine: ReturnType<typeof import("./machine.mjs").describeMachine>,
 *   readonly limits: ReturnType<typeof import("./limits.mjs").measureLimits>,
 *   readonly loadAtEnd: number,
 *   readonly settings: Readonly<Record<string, unknown>>,
 *   readonly rows: readonly Row[],
 *   readonly bars: readonly Judged[],
 *   readonly notes: readonly string[],
 * }} Report
 */

/**
 * The whole report as text.
 * @param {Report} report
 */
export function renderReport(report) {
  const { machine, limits } = report;
  const lines = [
    `commit      ${report.commit}${report.dirty ? " and changes that are not committed" : ""}`,
    `date        ${report.date}`,
    `machine     ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB`,
    `system      ${machine.kernel}, node ${machine.node}, ${machine.filesystem}`,
    `limits      ${plain(limits.syncsPerSecond)} waits for the disk a second (4 KB each), ${plain(limits.hashesPerSecond)} SHA-256 of 64 bytes`,
    `load        ${machine.load} before, ${report.loadAtEnd} after`,
    `runs        ${report.settings.runs}, of which the median is shown`,
    "",
    renderTable(
      ["question", "what", "store", "memories", "value", "unit", "over raw", "over SQLite", "sync"],
      report.rows.map((row) => [
        row.question,
        row.what,
        row.store,
        plain(row.memories),
        plain(row.value),
        row.unit,
        row.overRaw === undefined ? "" : row.overRaw.toFixed(2),
        row.overSqlite === undefined ? "" : row.overSqlite.toFixed(2),
        row.sync,
      ]),
    ),
    "",
    renderTable(
      ["bar", "demanded", "found", "memories", "verdict"],
      report.bars.map((bar) => [
        bar.what,
        `${bar.is} ${plain(bar.limit)} ${bar.unit}`,
        bar.figure === undefined ? "" : plain(bar.figure),
        bar.atMemories === undefined ? "" : plain(bar.atMemories),
        bar.fullSize || bar.figure === undefined ? bar.verdict : `${bar.verdict}, smaller store`,
      ]),
    ),
  ];
  if (report.notes.length > 0) lines.push("", ...report.notes);
  return lines.join("\n");
}

/**
 * Columns as wide as their widest cell; numbers to the right.
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
export function renderTable(head, rows) {
  const widths = head.map((name, at) =>
    rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), name.length),
  );
  const line = (/** @type {readonly string[]} */ cells) =>
    cells
      .map((cell, at) => {
        const width = widths[at] ?? 0;
        return /^[\d,.]+$/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/**
 * Three significant figures, thousands apart.
 * @param {number} value
 */
export function plain(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const rounded = Number(value.toPrecision(3));
  const size = Math.abs(rounded);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return rounded.toLocaleString("en-US", { maximumFractionDigits: digits });
}
