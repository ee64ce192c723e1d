/**
 * The evaluation runs on small made-up sets of every format: it finds them by name, fills stores
 * through the public API, and writes the figures it prints. What the figures are is not judged here.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { isLacking } from "../packages/core/src/testing/lacking.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "cortex-eval-"));

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const lines = (...items: readonly unknown[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join("");

function writeSets(): void {
  const conversation = {
    session_1: [
      { speaker: "Mia", dia_id: "D1:1", text: "I adopted a greyhound." },
      { speaker: "Leo", dia_id: "D1:2", text: "What is its name?" },
    ],
    session_1_date_time: "1:56 pm on 8 May, 2023",
  };
  const qa = [{ question: "What dog did Mia adopt?", category: 4, evidence: ["D1:1"] }];
  writeFileSync(join(folder, "locomo_made.json"), JSON.stringify([{ conversation, qa }]));
  const question = {
    question_id: "q1",
    question_type: "single",
    question: "Where is the spare key?",
    question_date: "2023/06/23 (Fri) 07:31",
    answer_session_ids: ["s1"],
    haystack_session_ids: ["s1", "s2"],
    haystack_dates: ["2023/06/01 (Thu) 07:31", "2023/06/02 (Fri) 07:31"],
  };
  writeFileSync(join(folder, "longmemeval_made_questions.jsonl"), lines(question));
  const sessions = lines(
    {
      session_id: "s1",
      turns: [{ role: "user", content: "The spare key is under the pot.", has_answer: true }],
    },
    { session_id: "s2", turns: [{ role: "user", content: "I like rain." }] },
  );
  writeFileSync(join(folder, "longmemeval_made_sessions.jsonl.gz"), gzipSync(sessions));
  const corpus = lines(
    { id: "p1", title: "Vila Nova", text: "A town on a river." },
    { id: "p2", title: "Oslo", text: "A city in the north." },
  );
  writeFileSync(join(folder, "made_corpus.jsonl"), corpus);
  const asked = { id: "q", question: "Which river is Vila Nova on?", gold_doc_ids: ["p1"] };
  writeFileSync(join(folder, "made_questions.jsonl"), lines(asked));
  const told = (id: string, role: string, content: string) => {
    return { id, session: "e", role, at: "2024-05-01T10:00:00Z", content };
  };
  const store = {
    now: "2024-06-01T10:00:00Z",
    turns: [told("t1", "user", "I play the cello."), told("t2", "assistant", "Lovely!")],
    questions: [{ id: "e1", kind: "plain", text: "Do I play the cello?", gold: ["t1"] }],
  };
  writeFileSync(join(folder, "everyday_made.jsonl"), lines(store));
  const chat = {
    batches: [{ turns: [[{ role: "user", id: 7, content: "My bike is blue. ->-> 1,1" }]] }],
    probing_questions: { recall: [{ question: "What colour is my bike?", source_chat_ids: [7] }] },
  };
  writeFileSync(join(folder, "beam_made.jsonl.gz"), gzipSync(lines(chat)));
}

const isBuilt = existsSync(join(ROOT, "packages/core/dist/index.js"));
const UNBUILT = isLacking(isBuilt, "the evaluation needs `npm run build` first");

test.skipIf(UNBUILT)("every format is found, asked and reported", () => {
  writeSets();
  const json = join(folder, "figures.json");
  const run = spawnSync(
    process.execPath,
    [join(ROOT, "eval/main.mjs"), "--data", folder, "--json", json, "--ablate"],
    { encoding: "utf8", cwd: ROOT },
  );
  expect([run.status, run.stderr]).toEqual([0, ""]);
  const figures = JSON.parse(readFileSync(json, "utf8")) as {
    readonly set: string;
    readonly unit: string;
    readonly questions: number;
    readonly metrics: Readonly<Record<string, number>>;
    readonly medianMs: number;
    readonly without: Readonly<Record<string, Readonly<Record<string, number>>>>;
  }[];
  expect(figures.map(({ set, unit, questions }) => `${set}, ${unit}: ${questions}`)).toEqual([
    "locomo_made, turn: 1",
    "locomo_made, session: 1",
    "longmemeval_made, session: 1",
    "longmemeval_made, turn: 1",
    "longmemeval_made, pooled session: 1",
    "made, passage: 1",
    "everyday_made, turn: 1",
    "everyday_made_facts, fact: 1",
    "beam_made, message: 1",
  ]);
  for (const { metrics, medianMs, without } of figures) {
    expect(medianMs).toBeGreaterThan(0);
    // The words are all there is in these sets: without them something is lost, without others nothing.
    expect(without.slot).toEqual(metrics);
    expect(without.lexical?.["R@10"]).toBeLessThanOrEqual(metrics["R@10"] ?? 0);
    expect(metrics).toMatchObject({ "any@5": 1, "all@5": 1, "R@10": 1, "nDCG@10": 1 });
  }
  expect(run.stdout).toContain("weak answers");
});

test("the page follows the result that is kept", () => {
  const page = join(ROOT, "eval/page.mjs");
  const ran = spawnSync(process.execPath, [page, "--check"], { encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
});

test("says how it is used, and what it did not find", () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(ROOT, "eval/main.mjs"), ...args], { encoding: "utf8" });
  expect(run().status).toBe(2);
  const nothing = run("--data", join(ROOT, "docs"));
  expect([nothing.status, nothing.stderr.includes("no retrieval set")]).toEqual([1, true]);
});
