/**
 * Progress of long work, on stderr, in the unit of the work, with an estimate of what is left: a bar that redraws
 * itself on a terminal, a line now and then elsewhere, nothing at all for work that is over at once. Work that was
 * shown and ends well ends at 100 %. Pure but for what is handed in.
 */

/** Where progress is drawn. */
export interface ProgressTarget {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Width of the terminal. */
  readonly columns: number;
}

/** What work is shown as. */
interface Work {
  readonly label: string;
  /** What is counted, in the plural: `entries`. */
  readonly unit: string;
}

/** How progress is reported. */
interface Progress {
  /** A total of 0 is one that nobody knows; a unit is given where it is not the work's. */
  report(done: number, total: number, unit?: string): void;
  /** Ends the line, so that what follows starts on a clean one. */
  end(): void;
  /** The work is done: what was shown of it ends at 100 %. */
  finish(): void;
}

/** Work that ends within this time is not worth a line. */
const QUIET_MS = 500;
const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 5000;
const BAR_CHARS = 20;

/** How far the work is. */
interface State extends Work {
  readonly done: number;
  readonly total: number;
  /** Since the start. */
  readonly elapsedMs: number;
}

/** Starts reporting on some work; `nowMs` is a clock that only goes forward. */
export function startProgress(work: Work, target: ProgressTarget, nowMs: () => number): Progress {
  const startMs = nowMs();
  const everyMs = target.isTerminal ? BAR_EVERY_MS : LINE_EVERY_MS;
  let lastMs: number | undefined;
  let latest = { done: 0, total: 0 };
  let { unit } = work;
  let drawn = 0;
  let isDrawn = false;
  const draw = (done: number, total: number): void => {
    const state = { ...work, unit, done, total, elapsedMs: nowMs() - startMs };
    if (target.isTerminal) target.write(`\r\u001b[K${bar(state, target.columns)}`);
    else target.write(`${sentence(state)}\n`);
    isDrawn = target.isTerminal;
    drawn = total <= 0 ? 0 : done / total;
  };
  const end = (): void => {
    if (isDrawn) target.write("\r\u001b[K");
    isDrawn = false;
  };
  return {
    report(done, total, counted = work.unit) {
      const now = nowMs();
      unit = counted;
      latest = { done, total };
      if (now - startMs < QUIET_MS) return;
      if (lastMs !== undefined && now - lastMs < everyMs) return;
      lastMs = now;
      draw(done, total);
    },
    end,
    finish() {
      if (lastMs === undefined) return;
      const all = Math.max(latest.done, latest.total);
      if (drawn < 1) draw(all, all);
      if (isDrawn) target.write("\n");
      isDrawn = false;
    },
  };
}

/** One line with a bar, no wider than the terminal. */
export function bar(state: State, columns: number): string {
  const { label, done, total } = state;
  const filled = Math.round(shareOf(done, total) * BAR_CHARS);
  const drawing = total <= 0 ? "" : `${"█".repeat(filled)}${"░".repeat(BAR_CHARS - filled)} `;
  const text = `${label} ${drawing}${share(state)}${count(done)}${of(state, "/")}${left(state)}`;
  return text.slice(0, Math.max(1, columns - 1));
}

function sentence(state: State): string {
  const { label, done } = state;
  const part = state.total <= 0 ? "" : ` (${percent(state)})`;
  return `${label}: ${count(done)}${of(state, " of ")}${part}${left(state)}`;
}

function share(state: State): string {
  return state.total <= 0 ? "" : `${percent(state)} `;
}

function of({ total, unit }: State, between: string): string {
  return total <= 0 ? ` ${unit}` : `${between}${count(total)} ${unit}`;
}

/** What is left at the pace so far; nothing is said before a twentieth is done. */
function left({ done, total, elapsedMs }: State): string {
  const part = shareOf(done, total);
  if (total <= 0 || part < 0.05 || part >= 1) return "";
  return `, about ${duration((elapsedMs / part) * (1 - part))} left`;
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

function shareOf(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
}

function percent({ done, total }: State): string {
  return `${Math.floor(shareOf(done, total) * 100)}%`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
