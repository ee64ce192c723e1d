/** Counts, and the text that a collector reads. */
import type { ReadPlan } from "@cortex-memory/core/contract";
import { expect, test } from "vitest";
import { makeMetrics, makeRequestLog } from "./metrics.js";

const GAUGES = { openStores: 2, entries: 30, streamClients: 1, inFlight: 4, uptimeSeconds: 5 };

test("requests by operation and status, durations in cumulative buckets", () => {
  const metrics = makeMetrics();
  metrics.count("get", 200, 0.4);
  metrics.count("get", 200, 3);
  metrics.count("get", 404, 90_000);
  metrics.count("write", 200, 1);
  const lines = metrics.render(GAUGES).split("\n");
  expect(lines).toContain('cortex_http_requests_total{operation="get",status="200"} 2');
  expect(lines).toContain('cortex_http_requests_total{operation="get",status="404"} 1');
  const name = "cortex_http_request_duration_seconds";
  expect(lines).toContain(`${name}_bucket{operation="get",le="0.0005"} 1`);
  expect(lines).toContain(`${name}_bucket{operation="get",le="0.0025"} 1`);
  expect(lines).toContain(`${name}_bucket{operation="get",le="0.005"} 2`);
  expect(lines).toContain(`${name}_bucket{operation="get",le="60"} 2`);
  expect(lines).toContain(`${name}_bucket{operation="get",le="+Inf"} 3`);
  expect(lines).toContain(`${name}_count{operation="get"} 3`);
  expect(lines).toContain("cortex_stores_open 2");
  expect(lines).toContain("cortex_journal_entries 30");
  // A name is announced once, before its lines.
  const announced = lines
    .filter((line) => line.startsWith("# TYPE"))
    .map((line) => line.split(" ")[2]);
  expect(new Set(announced).size).toBe(announced.length);
});

test("a line of the log tells a fault without its message", async () => {
  let text = "";
  const { log, flush } = makeRequestLog({
    write: (more) => {
      text += more;
    },
    clock: () => 0,
    slowMs: 100,
  });
  const line = { requestId: "a", method: "GET", operation: "get", status: 500, ms: 1 };
  log({ ...line, fault: new TypeError("cannot read 'the secret'") });
  log({ ...line, status: 200, ms: 100 });
  expect(text).toBe("");
  flush();
  const [first, second] = text
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one) as Record<string, unknown>);
  expect(first).toMatchObject({ time: "1970-01-01T00:00:00.000Z", level: "error", status: 500 });
  expect(first?.fault).toMatch(/^TypeError \| at /);
  expect(text).not.toContain("secret");
  expect(second).toMatchObject({ level: "warn", slow: true, ms: 100 });
});

test("a line of the log is what JSON would write of the same members, in the same order", () => {
  let text = "";
  const write = (more: string): void => {
    text += more;
  };
  const { log, flush } = makeRequestLog({ write, clock: () => 5, slowMs: 100 });
  const head = { time: "1970-01-01T00:00:00.005Z" };
  const line = { requestId: "a.b_c-1", method: "GET", operation: "memgraph.getNode", status: 200 };
  const plan = { path: 'by "tag"', read: 3 } as unknown as ReadPlan;
  const lines = [
    [
      { ...line, ms: 0.123 },
      { ...head, level: "info", ...line, ms: 0.12 },
    ],
    [
      { ...line, status: 404, ms: 1e-9, code: "ERR_NOT_FOUND", plan },
      { ...head, level: "info", ...line, status: 404, code: "ERR_NOT_FOUND", ms: 0 },
    ],
    [
      { ...line, ms: 12_345.678, plan },
      { ...head, level: "warn", ...line, ms: 12_345.68, slow: true, plan },
    ],
    [
      { ...line, status: 500, ms: 2, code: "INTERNAL", fault: 'a "text"' },
      { ...head, level: "error", ...line, status: 500, code: "INTERNAL", ms: 2, fault: "string" },
    ],
  ] as const;
  for (const [told] of lines) log(told);
  flush();
  expect(text).toBe(lines.map(([, shown]) => `${JSON.stringify(shown)}\n`).join(""));
});
