/**
 * The conformance suite of the storage contract: every backend must pass it, and an outsider's
 * backend is tested by the same few lines as ours.
 *
 * Promise: cases are plain functions of an opened store and know neither a test runner nor a
 * backend. Which groups apply follows from the manifest: *durable* asks for `reopen`,
 * *multiProcess* for `second` (a backend may offer them without claiming so, and is then held to
 * them), and *generations* for `nextGeneration`. Tests of a group that does not apply assert that
 * the manifest says so.
 */
import assert from "node:assert/strict";
import type { Kv } from "../kv/kv.js";
import { basicCases } from "./kv-suite-basics.js";
import {
  briefCases,
  generationCases,
  historyCases,
  reopenCases,
  secondCases,
} from "./kv-suite-groups.js";

/** A store opened for one test. */
export interface KvSubject {
  /** An empty store. */
  readonly kv: Kv;
  /** Closes every handle and opens the same store again. */
  readonly reopen?: () => Promise<Kv>;
  /** Opens another handle on the same store, as another process would. */
  readonly second?: () => Promise<Kv>;
  /** Closes and removes everything. */
  readonly cleanup: () => Promise<void>;
}

/** One test of the suite. */
export interface KvCase {
  readonly name: string;
  readonly run: (subject: KvSubject) => Promise<void>;
}

/** What to test, and with which test function. */
export interface KvSuiteOptions {
  readonly name: string;
  readonly open: () => Promise<KvSubject>;
  /** Registers a test: `test` of node:test or of vitest will do. */
  readonly test: (name: string, body: () => Promise<void>) => void;
  /** Seeds of the random histories; each is one test. */
  readonly seeds?: readonly number[];
  /** Steps of each random history. */
  readonly steps?: number;
}

interface Group {
  readonly cases: readonly KvCase[];
  /** Whether the group applies; asserts that the manifest does not claim otherwise. */
  readonly applies: (subject: KvSubject) => boolean;
  /** What must hold where it does not. */
  readonly otherwise?: (kv: Kv) => Promise<void>;
}

/** Registers every test of the contract. */
export function kvSuite(options: KvSuiteOptions): void {
  const groups: Group[] = [
    { cases: [...basicCases(), ...briefCases], applies: () => true },
    { cases: reopenCases, applies: offers("durable", (subject) => subject.reopen) },
    { cases: secondCases, applies: offers("multiProcess", (subject) => subject.second) },
    {
      cases: generationCases,
      applies: ({ kv }) => kv.manifest.generations,
      otherwise: (kv) => assert.rejects(kv.nextGeneration(), { code: "ERR_UNSUPPORTED" }),
    },
    {
      cases: historyCases(options.seeds ?? [1, 2, 3, 4, 5, 6], options.steps ?? 120),
      applies: () => true,
    },
  ];
  for (const group of groups) {
    for (const { name, run } of group.cases) {
      options.test(`${options.name}: ${name}`, async () => {
        const subject = await options.open();
        try {
          if (group.applies(subject)) await run(subject);
          else await group.otherwise?.(subject.kv);
        } finally {
          await subject.cleanup();
        }
      });
    }
  }
}

function offers(
  capability: "durable" | "multiProcess",
  member: (subject: KvSubject) => unknown,
): (subject: KvSubject) => boolean {
  return (subject) => {
    const offered = member(subject) !== undefined;
    const { manifest } = subject.kv;
    assert.ok(offered || !manifest[capability], `${manifest.name} claims to be ${capability}`);
    return offered;
  };
}
