/**
 * How every verb is called, and the one place every call passes: the arguments are gathered, the caller is
 * admitted by the verb's policy, the input is checked against its contract and its claims against who speaks,
 * and its function runs with an engine that cannot reach beyond the caller's access and standing. A change that
 * the caller's standing does not allow is kept as a proposal.
 *
 * A call under an idempotency key is done once, and gets the same answer however often it is repeated. A verb
 * whose retry is by key writes once, and the mark of the request goes into the journal with what it writes
 * (`engine/idempotency.ts`). A verb whose retry is natural may be repeated anyway; its key repeats the answer
 * for as long as the process that gave it keeps the store open, also to a call that comes while the first one
 * still runs. In both, another request under the same key is refused.
 */
import { type ArgumentNames, type Given, gather } from "../contract/gather.js";
import { checkInput } from "../contract/refusal.js";
import type { Policy, Verb } from "../contract/verb.js";
import type { Engine } from "../engine/engine.js";
import { idempotencyKeys, keyError, requestMark, underMark } from "../engine/idempotency.js";
import { invalid, isCortexError } from "../errors.js";
import { Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { type Access, admit, OWNER, type Speaker, speakerOf } from "../scope/access.js";
import { concealed, concealedFailure } from "./conceal.js";
import { keepingWishes } from "./proposals.js";
import { engineFor } from "./scoped-engine.js";
import { checkCall, speaksForOwner } from "./standing.js";

/** The engine that a caller gets for a verb; throws when its access does not admit it. */
function admitted(
  engine: Engine,
  access: Access,
  { name, policy }: { readonly name: string; readonly policy: Policy },
): Engine {
  try {
    admit(access, policy, name);
  } catch (error) {
    // An access that nobody granted is refused with another code, and has nothing to call.
    const isDenied = isCortexError(error, "ERR_DENIED");
    if (isDenied && access.kind === "scope" && policy === "write") {
      access.violated(undefined, "not_writable", "write");
    }
    throw error;
  }
  // What is open tells nothing of any memory, and a scope is presented before it narrows anything.
  return policy === "open" ? engine : engineFor(engine, access);
}

/** The function of a verb, its types aside. */
type AnyRun = (engine: Engine, asked: never) => unknown;

/** A verb with what a call needs of it at hand. */
export interface Callable extends ArgumentNames {
  readonly verb: Verb;
  readonly run: AnyRun;
}

/** Puts a verb and its function together. */
export function callable(verb: Verb, run: AnyRun): Callable {
  return {
    verb,
    run,
    names: Object.keys(verb.args),
    objects: verb.objectArgs,
    rest: verb.open === true ? "input" : "options",
  };
}

/** Calls a verb: admit, check, run. */
export function call(engine: Engine, callable: Callable, args: readonly unknown[]): unknown {
  const { verb, run } = callable;
  engine.activity.calls += 1;
  const { access, given } = whoAsks(gather(callable, args));
  const admittedEngine = admitted(engine, access, verb);
  const asked = checked(verb, given);
  const speaker = speakerOf(access);
  checkCall(verb, asked, speaker);
  // The object is new, made by the check: a copy would cost as much as the check.
  asked.access = access;
  const answer = answered(engine, { verb, run, asked, speaker, admittedEngine });
  if (access.kind === "owner" || verb.policy === "open") return answer;
  return Promise.resolve(answer).then(
    (one) => concealed(admittedEngine, verb, one),
    (error: unknown) => {
      throw concealedFailure(access, error);
    },
  );
}

/** What the function of a verb answers; what standing refuses is kept as a wish. */
function answered(
  engine: Engine,
  { verb, run, asked, speaker, admittedEngine }: Admitted,
): unknown {
  if (verb.kind === "read") return run(admittedEngine, asked as never);
  const { idempotencyKey, ...wished } = asked;
  // Whoever is nobody yet has no keys, and is not told which are taken: what is open is safe to repeat.
  const isStranger = verb.policy === "open" && (asked.access as Access).kind !== "owner";
  const runHere = () =>
    typeof idempotencyKey === "string" && !isStranger
      ? runOnce(admittedEngine, verb, run, { ...asked, idempotencyKey })
      : run(admittedEngine, asked as never);
  if (speaker === undefined || speaksForOwner(speaker)) return runHere();
  return keepingWishes(engine, { verb, asked: wished, speaker }, async () => runHere());
}

/** A call that was let in. */
interface Admitted {
  readonly verb: Verb;
  readonly run: AnyRun;
  readonly asked: { [field: string]: unknown };
  readonly speaker: Speaker | undefined;
  readonly admittedEngine: Engine;
}

/** Sets the access apart, which is no field of any verb; the owner asks when nobody else is named. */
function whoAsks(gathered: Given): { readonly access: Access; readonly given: Given } {
  if (!Object.hasOwn(gathered, "access")) return { access: OWNER, given: gathered };
  const { access, ...given } = gathered;
  return { access: access as Access, given };
}

/** The input, checked and completed; members that stay in this process go around the schema. */
function checked(verb: Verb, given: Given): { [field: string]: unknown } {
  const { local, input: schema } = verb;
  if (!local.some((name) => Object.hasOwn(given, name))) return checkInput(schema, given);
  const sent: { [field: string]: unknown } = {};
  const kept: { [field: string]: unknown } = {};
  for (const [field, value] of Object.entries(given)) {
    const isLocal = local.includes(field) && !Object.hasOwn(schema.shape, field);
    if (isLocal) kept[field] = checkedLocal(field, value);
    else sent[field] = value;
  }
  return Object.assign(checkInput(schema, sent), kept);
}

function checkedLocal(field: string, value: unknown): unknown {
  if (field.startsWith("on") && typeof value !== "function") {
    throw invalid(field, "a function", value);
  }
  if (field === "signal" && !(value instanceof AbortSignal)) {
    throw invalid(field, "an AbortSignal", value);
  }
  return value;
}

/** What a call asks, checked. */
type AskedUnderKey = { readonly [field: string]: unknown };

/** Verbs that put the mark where it belongs themselves: on an item's entry, or into a manifest. */
const MARK_THEMSELVES: ReadonlySet<string> = new Set(["write", "update", "batch", "snapshot"]);

/** Runs a verb under a key. */
function runOnce(
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
