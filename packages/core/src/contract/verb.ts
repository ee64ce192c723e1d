/**
 * What a verb is: the one place where it is declared. From a declaration come the types of `Cortex` and
 * of the remote client, who is admitted, the check of input, the server's operations, OpenAPI, the tools
 * of MCP, flags and the reference pages.
 *
 * Promise: a declaration is data and schemas. It knows no engine and nothing of Node.
 *
 * Left to others: what a verb does (the function of the same name in its feature's folder), how a call
 * is carried out (`admission/call.ts`), help and examples (the server's row).
 */
import * as z from "zod";
import type { Access } from "../scope/access.js";
import type { ShapeOf } from "./fields.js";

/**
 * What an access means for a verb: `filtered` answers over what the caller may see, `write` takes the
 * owner and holders of a writable scope, `owner` refuses others, `open` tells nothing about any memory.
 */
export type Policy = "filtered" | "write" | "owner" | "open";

/**
 * How a second call is recognised as the first one repeated: `natural` when doing it twice leaves what
 * doing it once leaves, `key` by the caller's idempotency key, which is kept with what the call wrote.
 * A key is also taken where the retry is natural; then it repeats the answer, in the process that gave it.
 */
type Retry = "natural" | "key";

/**
 * Whose word a verb needs: `none` changes nothing that anybody said, `claim` adds words under the
 * caller's own standing, `overrule` changes what somebody said and needs a standing not below theirs (a
 * caller below it is refused, and its wish becomes a proposal of the review), `owner` is for whoever
 * speaks for the owner.
 */
type NeededStanding = "none" | "claim" | "overrule" | "owner";

/** How the answer comes: at once, as the bytes of a file, or item by item for as long as it is read. */
type Sends = "json" | "file" | "events";

/** A phantom: a type that a declaration carries and no program reads. */
type Phantom<T> = { readonly type?: T };

/** Carries a type into a declaration. */
export function type<T>(): Phantom<T> {
  return {};
}

/** Fields by name. */
type Fields = { readonly [name: string]: z.ZodType };

/** What a caller may give for fields: an optional one may be left out or `undefined`. */
type GivenOf<S extends Fields> = [keyof S] extends [never]
  ? object
  : z.input<z.ZodObject<{ -readonly [K in keyof S]: S[K] }>>;

/** What a verb's function gets for fields. */
type AskedOf<S extends Fields> = [keyof S] extends [never]
  ? object
  : z.output<z.ZodObject<{ -readonly [K in keyof S]: S[K] }>>;

/** What a read and a write say of themselves: a read changes nothing, so that it needs no standing and may be repeated. */
type Effect =
  | { readonly kind: "read" }
  | { readonly kind: "write"; readonly standing: NeededStanding; readonly retry: Retry };

/** Which fields go together, beside those that are required: its function checks it, and a document says it. */
export type Together =
  | { readonly exactlyOne: readonly string[] }
  | { readonly atMostOne: readonly string[] }
  | { readonly atLeastOne: readonly string[] }
  /** At least one is given, and is no empty list. */
  | { readonly notEmpty: readonly string[] }
  | { readonly field: string; readonly needs: string };

/** Everything that is said about a verb besides. */
interface VerbFacts<
  Args extends Fields,
  Options extends Fields,
  Out extends z.ZodType,
  Local,
  Labels,
  Given,
  Answer,
> {
  /** One line: what it does, for help, tools and reference pages. */
  readonly summary: string;
  readonly policy: Policy;
  /** The arguments that stand by themselves, in their order. */
  readonly args: Args;
  /** The members of the object that follows them. */
  readonly options: Options;
  /** What the verb answers with, as JSON has it. */
  readonly output: Out;
  /** The library answers with this member of the output; doors send the whole. */
  readonly member?: string;
  /** Answers `undefined` where what was asked for is not there. */
  readonly mayMiss?: true;
  /** Members that other fields are allowed beside: the data fields of a memory. */
  readonly open?: true;
  /** Which of its fields go together; what depends on their values or on who asks is not told. */
  readonly together?: readonly Together[];
  /** It takes as long as it takes. */
  readonly isLong?: true;
  readonly sends?: Sends;
  /** The last part of its path over HTTP, where that is not its name. */
  readonly path?: string;
  /** What a call over HTTP says as well, where several verbs share a path. */
  readonly sent?: { readonly [field: string]: string };
  /** Names of members that never leave this process: functions, signals, signers, files, what an adapter asks. */
  readonly local?: readonly string[];
  /** The types of those members, except for arguments, whose schemas say it. */
  readonly locals?: Phantom<Local>;
  /** The arguments as a labelled tuple, so that an editor shows their names. */
  readonly labels?: Phantom<Labels>;
  /** What a caller may give, where the schema's own type says too little. */
  readonly given?: Phantom<Given>;
  /** The named type of the answer. */
  readonly answer?: Phantom<Answer>;
}

/** A verb, declared. */
export interface Verb<
  Args extends Fields = Fields,
  Options extends Fields = Fields,
  Out extends z.ZodType = z.ZodType,
  Local = unknown,
  Labels = unknown,
  Given = unknown,
  Answer = unknown,
> extends VerbFacts<Args, Options, Out, Local, Labels, Given, Answer> {
  readonly name: string;
  readonly kind: "read" | "write";
  readonly standing: NeededStanding;
  readonly retry: Retry;
  readonly path: string;
  readonly sends: Sends;
  readonly local: readonly string[];
  /** Every field, arguments first: what doors send and the check reads. */
  readonly input: z.ZodObject<{ -readonly [K in keyof (Args & Options)]: (Args & Options)[K] }>;
  /** Arguments that are objects themselves, which therefore do not begin the options. */
  readonly objectArgs: ReadonlySet<string>;
}

/** Declares a verb. */
export function verb<
  const Args extends Fields,
  const Options extends Fields,
  Out extends z.ZodType,
  Local = unknown,
  Labels = unknown,
  Given = unknown,
  Answer = ShapeOf<Out>,
>(
  name: string,
  spec: VerbFacts<Args, Options, Out, Local, Labels, Given, Answer> & Effect,
): Verb<Args, Options, Out, Local, Labels, Given, Answer> {
  const fields = { ...spec.args, ...spec.options };
  return {
    path: kebab(name),
    sends: "json",
    local: [],
    standing: "none",
    retry: "natural",
    ...spec,
    name,
    input: (spec.open === true ? z.looseObject(fields) : z.strictObject(fields)) as never,
    objectArgs: new Set(Object.keys(spec.args).filter((arg) => takesObject(spec.args[arg]))),
  };
}

/** `basedOnVersion` in a path or a flag: `based-on-version`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function takesObject(schema: z.ZodType | undefined): boolean {
  const def = schema?._zod.def as
    | { readonly type: string; readonly innerType?: z.ZodType }
    | undefined;
  if (def?.innerType !== undefined) return takesObject(def.innerType);
  return def?.type === "object";
}

/** Called now and then by long work. */
export type OnProgress = (done: number, total: number) => void;

/** What every call may say beside its input. */
interface CallOptions {
  /** Who is asking; the owner when not given. */
  readonly access?: Access | undefined;
}

type LocalOf<V> =
  V extends Verb<infer _A, infer _O, infer _S, infer L>
    ? [unknown] extends [L]
      ? object
      : L
    : never;

/** What the function of a verb gets: the input checked and completed, and who is asking. */
export type AskedOfVerb<V> =
  V extends Verb<infer A, infer O>
    ? AskedOf<A & O> & LocalOf<V> & { readonly access: Access }
    : never;

/** Of every form of a union, what is left without some members. */
type Without<T, K extends PropertyKey> = [K] extends [never]
  ? T
  : T extends unknown
    ? Omit<T, K>
    : never;

/** The object that follows a verb's arguments. */
export type OptionsOf<V> =
  V extends Verb<infer A, infer O, infer _S, infer _L, infer _N, infer G>
    ? ([unknown] extends [G] ? GivenOf<O> : Without<G, keyof A>) & LocalOf<V> & CallOptions
    : never;

/** What a verb answers with in the library. */
export type AnswerOf<V> =
  V extends Verb<infer _A, infer _O, infer _S, infer _L, infer _N, infer _G, infer R> ? R : never;

type ArgumentsOf<V> =
  V extends Verb<infer A, infer _O, infer _S, infer _L, infer N>
    ? N extends readonly unknown[]
      ? N
      : [keyof A] extends [never]
        ? []
        : never
    : never;

/** Whether an object can be left out: nothing in it is required. */
type MayLeaveOut<T> = Partial<T> extends T ? true : false;

/**
 * The parameters of a verb's method: its arguments, then its options. They may stand in two objects, what
 * is written in one and who asks in the other; a member that both name is refused.
 */
type ParametersOf<V> =
  MayLeaveOut<OptionsOf<V>> extends true
    ? [...ArgumentsOf<V>, options?: OptionsOf<V>, more?: Partial<OptionsOf<V>>]
    : [...ArgumentsOf<V>, input: OptionsOf<V>, more?: Partial<OptionsOf<V>>];

/** What a call gives: a stream of items at once, and everything else when it is there. */
export type ResultOf<A> = [A] extends [AsyncIterable<unknown>] ? A : Promise<A>;

/** The method of a verb. */
export type Method<V> = (...args: ParametersOf<V>) => ResultOf<AnswerOf<V>>;
