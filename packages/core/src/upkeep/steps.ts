/**
 * How upkeep is done: step by step, each in bounded pieces, for as long as there is time.
 *
 * A step says how much there is to do and does a piece of it; everything else is the same for all of
 * them. A dry run asks and does nothing. What is not done when the time is over is told, and the next
 * run goes on there: a step keeps no memory of its own, it looks at the store.
 */

/** One sort of upkeep. */
export interface MaintainStep {
  readonly step: string;
  /** How much there is to do, in what the step counts; only reads. */
  left(): Promise<number>;
  /** Does a bounded piece and says how much it was; 0 when there is nothing to do, for now. */
  work(): Promise<number>;
}

/** What became of a step. */
export interface StepReport {
  readonly step: string;
  readonly done: number;
  /** What is left to do; in a dry run, what would be done. */
  readonly left: number;
}

/** How steps are run. */
export interface StepOptions {
  readonly dryRun: boolean;
  /** Whether the time is over; asked between pieces. */
  readonly isOver: () => boolean;
}

/** Runs steps in order. When the time is over, the rest is only counted. */
export async function runSteps(
  steps: readonly MaintainStep[],
  { dryRun, isOver }: StepOptions,
): Promise<readonly StepReport[]> {
  const reports: StepReport[] = [];
  for (const one of steps) {
    let done = 0;
    while (!dryRun && !isOver()) {
      const piece = await one.work();
      if (piece === 0) break;
      done += piece;
    }
    reports.push({ step: one.step, done, left: await one.left() });
  }
  return reports;
}
