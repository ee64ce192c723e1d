/**
 * Progress of long work, on stderr: a bar that redraws itself on a terminal, a line now and then
 * elsewhere, nothing at all for work that is over at once. Pure but for what is handed in.
 */

/** Where progress is drawn. */
export interface ProgressTarget {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Width of the terminal. */
  readonly columns: number;
}

/** How progress is reported. */
export interface Progress {
  report(done: number, total: number): void;
  /** Wipes the bar, so that what follows starts on a clean line. */
  end(): void;
}

/** Work that ends within this time is not worth a line. */
const QUIET_MS = 500;
const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 5000;
const BAR_CHARS = 30;

/** Starts reporting on some work; `nowMs` is a clock that only goes forward. */
export function startProgress(
  label: string,
  target: ProgressTarget,
  nowMs: () => number,
): Progress {
  const startMs = nowMs();
  const everyMs = target.isTerminal ? BAR_EVERY_MS : LINE_EVERY_MS;
  let lastMs: number | undefined;
  let drawn = false;
  return {
    report(done, total) {
      const now = nowMs();
      if (now - startMs < QUIET_MS) return;
      if (lastMs !== undefined && now - lastMs < everyMs) return;
      lastMs = now;
      if (target.isTerminal) {
        target.write(`\r\u001b[K${bar(label, done, total, target.columns)}`);
        drawn = true;
      } else {
        target.write(`${label}: ${count(done)} of ${count(total)} (${percent(done, total)})\n`);
      }
    },
    end() {
      if (drawn) target.write("\r\u001b[K");
      drawn = false;
    },
  };
}

/** One line with a bar, no wider than the terminal. */
export function bar(label: string, done: number, total: number, columns: number): string {
  const share = shareOf(done, total);
  const filled = Math.round(share * BAR_CHARS);
  const drawing = "█".repeat(filled) + "░".repeat(BAR_CHARS - filled);
  const text = `${label} ${drawing} ${percent(done, total)} ${count(done)}/${count(total)}`;
  return text.slice(0, Math.max(1, columns - 1));
}

function shareOf(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
}

function percent(done: number, total: number): string {
  return `${Math.floor(shareOf(done, total) * 100)}%`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
