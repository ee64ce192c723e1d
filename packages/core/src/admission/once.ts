/**
 * Calls under an idempotency key: done once, answered alike however often they are repeated.
 *
 * A verb whose retry is by key writes once, and the mark of the request goes into the journal with what it
 * writes (`engine/idempotency.ts`). A verb whose retry is natural may be repeated anyway; its key repeats the
 * answer for as long as the process that gave it keeps the store open, also to a call that comes while the
 * first one still runs. In both, another request under the same key is refused.
 */
import type { Verb } from "../contract/verb.js";
import type { Engine } from "../engine/engine.js";
import { idempotencyKeys, keyError, requestMark, underMark } from "../engine/idempotency.js";
import { Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";

/** What a call asks, checked. */
type AskedUnderKey = { readonly [field: string]: unknown };

/** Verbs that put the mark where it belongs themselves: on an item's entry, or into a manifest. */
const MARK_THEMSELVES: ReadonlySet<string> = new Set(["write", "update", "batch", "snapshot"]);

/** Runs a verb under a key. */
export function runOnce(
  engine: Engine,
  verb: Verb,
  run: (engine: Engine, asked: never) => unknown,
  asked: AskedUnderKey & { readonly idempotencyKey: string },
): unknown {
  if (MARK_THEMSELVES.has(verb.name)) return run(engine, asked as never);
  const { idempotencyKey: key, ...rest } = asked;
  const { request } = requestMark(engine, key, {
    // Two names of one verb are one: a door knows only one of them.
    operation: verb.path,
    request: sendable(verb, rest),
    by: typeof rest.by === "string" ? rest.by : undefined,
  });
  if (request === undefined) throw new Error("a call under a key has a mark");
  if (verb.retry === "key") {
    refuseAnswered(engine, request);
    return run(underMark(engine, request), rest as never);
  }
  return answeredOnce(engine, request, async () => run(engine, rest as never));
}

/** What of a call a second one must say alike: not who asks, and nothing that stays in this process. */
function sendable({ local }: Verb, asked: AskedUnderKey): AskedUnderKey {
  const isSent = ([name]: readonly [string, unknown]) => name !== "access" && !local.includes(name);
  return Object.fromEntries(Object.entries(asked).filter(isSent));
}

interface Answered {
  readonly request: string;
  readonly answer: Promise<unknown>;
}

/** Answers by key, oldest first, of every store that is open in this process. */
const ANSWERED = new WeakMap<Engine, Map<string, Answered>>();

async function answeredOnce(
  engine: Engine,
  request: Uint8Array,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const answers = ANSWERED.get(engine) ?? new Map<string, Answered>();
  ANSWERED.set(engine, answers);
  const name = keyString(request.subarray(0, 16));
  const known = answers.get(name);
  if (known !== undefined) {
    if (known.request === keyString(request)) return known.answer;
    throw keyError("expected the request it was first used for, got another one");
  }
  const answer = refuseMarked(engine, request).then(run);
  answers.set(name, { request: keyString(request), answer });
  for (const oldest of answers.keys()) {
    if (answers.size <= LIMITS.idempotencyAnswers) break;
    answers.delete(oldest);
  }
  try {
    return await answer;
  } catch (error) {
    // What failed left nothing to repeat.
    answers.delete(name);
    throw error;
  }
}

/** Refuses a key under which upkeep was done: that was another request. */
function refuseAnswered(engine: Engine, request: Uint8Array): void {
  if (ANSWERED.get(engine)?.has(keyString(request.subarray(0, 16))) !== true) return;
  throw keyError("expected the request it was first used for, got another one");
}

/** Refuses a key under which something was written: that was another request. */
async function refuseMarked(engine: Engine, request: Uint8Array): Promise<void> {
  const [row] = await Reader.with(engine.kv, undefined, (reader) =>
    reader.getMany(idempotencyKeys(request)),
  );
  if (row !== undefined)
    throw keyError("expected a key of its own, got one that was used to write");
}
