/**
 * What a server counts, read from the text that it gives to monitoring: how often each operation was
 * asked for, how long it took, how much failed. Pure.
 */

/** One operation, as it did since the server started. */
export interface OperationHealth {
  readonly operation: string;
  readonly count: number;
  readonly meanMs: number;
  /** At most so long for 95 of 100; `undefined` where it was longer than the last step counted. */
  readonly p95Ms: number | undefined;
  /** Answers with a status of 500 and above. */
  readonly failed: number;
}

/** What a server says about itself. */
export interface ServerHealth {
  readonly uptimeSeconds: number;
  readonly openStores: number;
  readonly inFlight: number;
  /** The slowest first. */
  readonly operations: readonly OperationHealth[];
}

const LINE = /^(cortex_[a-z_]+)(?:\{([^}]*)\})? ([0-9.e+-]+)$/;

interface Sample {
  readonly name: string;
  readonly labels: { readonly [label: string]: string };
  readonly value: number;
}

/** Reads the text. */
export function readMetrics(text: string): ServerHealth {
  const samples = text.split("\n").flatMap((line) => sampleIn(line));
  const gauge = (name: string): number => samples.find((one) => one.name === name)?.value ?? 0;
  const names = [...new Set(samples.flatMap(({ labels }) => labels.operation ?? []))];
  const operations = names
    .map((operation) =>
      healthOf(
        operation,
        samples.filter(({ labels }) => labels.operation === operation),
      ),
    )
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.meanMs - a.meanMs);
  return {
    uptimeSeconds: gauge("cortex_uptime_seconds"),
    openStores: gauge("cortex_stores_open"),
    inFlight: gauge("cortex_http_requests_in_flight"),
    operations,
  };
}

function sampleIn(line: string): readonly Sample[] {
  const [, name, labels = "", value] = LINE.exec(line) ?? [];
  if (name === undefined) return [];
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text]);
  return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
}

const DURATION = "cortex_http_request_duration_seconds";

function healthOf(operation: string, samples: readonly Sample[]): OperationHealth {
  const value = (name: string): number => samples.find((one) => one.name === name)?.value ?? 0;
  const count = value(`${DURATION}_count`);
  const buckets = samples.filter(({ name }) => name === `${DURATION}_bucket`);
  const enough = buckets.find(
    ({ labels, value: within }) => labels.le !== "+Inf" && within >= 0.95 * count,
  );
  const failed = samples
    .filter(
      ({ name, labels }) =>
        name === "cortex_http_requests_total" && Number(labels.status ?? 0) >= 500,
    )
    .reduce((sum, one) => sum + one.value, 0);
  return {
    operation,
    count,
    meanMs: count === 0 ? 0 : (1000 * value(`${DURATION}_sum`)) / count,
    p95Ms: enough === undefined ? undefined : 1000 * Number(enough.labels.le),
    failed,
  };
}
