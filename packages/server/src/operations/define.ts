/**
 * What an operation is: one row of the table that every door renders.
 *
 * Promise: a row names its facade verbs, so that its policy is the facade's own and cannot drift;
 * `run` is the one way to perform it. It checks the input against the row's schema, calls the
 * facade, and turns an absent answer into `ERR_NOT_FOUND`. A door adds nothing but its own syntax,
 * and what the command line needs for that is data here as well.
 *
 * Left to others: limits and meaning of values (core), how a command line is read (`cli/`).
 */

import {
  type Access,
  type Answer,
  type Cortex,
  CortexError,
  type ExportTarget,
  type Hub,
  type ImportSource,
} from "@cortex-memory/core";
import {
  checkInput,
  describe,
  kebab,
  type OnPlan,
  type Policy,
  VERBS,
  type Verb,
  type VerbName,
  type Verbs,
} from "@cortex-memory/core/contract";
import type * as z from "zod";
import type { Setting } from "../config.js";
import type { Ink } from "../render/ink.js";

/**
 * A function that moves something into a store at a location, which is not open: of the library, or
 * of this package for files of other programs.
 */
export type PlaceFunction =
  | "importJournal"
  | "importForeign"
  | "restoreBackup"
  | "eraseAgain"
  | "repair"
  | "upgrade"
  | "follow"
  | "promote"
  | "openHub"
  | "copyHub";

/**
 * The files that an input names. A door decides what a name stands for: on a command line it is a path,
 * or `-` for the door's own streams.
 */
export interface Files {
  /** The file of that name, to be read. */
  source(name: string): ImportSource;
  /** A file that is not there yet. */
  target(name: string): ExportTarget;
  /** The text of a file that nobody else may read: one that others can read is refused. */
  secret(name: string): string;
  /** Keeps a document whole or not at all; `mayReplace` judges what the file holds already. */
  save(name: string, text: string, mayReplace: (before: string) => boolean): Promise<void>;
}

/** What a door knows beside the input. */
export interface CallContext {
  readonly access: Access;
  /** Where the store is, as people would write it. */
  readonly location: string;
  /** Whose store it is. */
  readonly actor: string;
  readonly files: Files;
  /** The settings in force at this door. */
  readonly settings: readonly Setting[];
  readonly onProgress: (done: number, total: number, unit?: string) => void;
  /** Runs work on the hub of a door that has one open; others open the one at the location. */
  readonly hub?: <T>(work: (hub: Hub) => Promise<T>) => Promise<T>;
  /** Told how a read was carried out, at a door that logs what was slow. */
  readonly onPlan?: OnPlan | undefined;
  /** The token for a server that the input names, at a door that calls others on somebody's behalf. */
  readonly serverToken?: () => string | undefined;
}

/** What a read that tells its plan takes from the door: who asks, and who is told how it was carried out. */
export function asking({ access, onPlan }: Pick<CallContext, "access" | "onPlan">) {
  return { access, onPlan };
}

/** What a door knows beside the input of an operation that goes on answering. */
interface StreamContext extends CallContext {
  /** Aborted when nobody listens any more. */
  readonly signal: AbortSignal;
}

/** The headings under which help lists commands. */
export const GROUPS = {
  memories: "Memories",
  sessions: "Conversations",
  edges: "Links",
  learning: "Context and learning",
  goals: "Goals",
  graphs: "Graphs",
  history: "Journal and roots",
  scopes: "Letting others in",
  store: "Store",
} as const;

/** How an argument's text, or what `-` and files hold, becomes input. */
export type Body = "memory" | "turns" | "items" | "state";

/** One positional argument: a field of the input, or a body that gives several. */
export type ArgumentSpec<F extends string = string> =
  | {
      readonly field: F;
      readonly label: string;
      /** May be left out; the field then also has a flag. */
      readonly optional?: true;
      /** `-` reads it from stdin. */
      readonly stdin?: true;
      /** Takes all words that are left; the field is a list. */
      readonly rest?: true;
      /** Takes all words that are left, as one text, so that a sentence needs no quotes. */
      readonly words?: true;
    }
  | {
      readonly body: Body;
      readonly label: string;
      /** The argument names a file; without it stdin is read. */
      readonly file?: true;
      /** Takes all words that are left, as one text. */
      readonly words?: true;
    };

/** How the command line renders an operation. */
export interface CommandSpec<F extends string = string, Out = unknown> {
  /** Its words, such as `edge add`. */
  readonly command: string;
  /** Another name for the same command. */
  readonly alias?: string;
  readonly group: keyof typeof GROUPS;
  /** The positional arguments; those of the verb, in their order, when not given. */
  readonly arguments?: readonly ArgumentSpec<F>[];
  /** Flags named otherwise than their field; every other field has a flag of its own name. */
  readonly flags?: { readonly [field in F]?: string };
  /** The fields are given as `--<assign> field=value` instead of flags of their own. */
  readonly assign?: string;
  /** Of operations that share a command, this one is meant when the flag is given. */
  readonly when?: string;
  /** What that flag says, where it is a switch of its own: neither a field nor an assignment. */
  readonly whenMeans?: string;
  /** Of operations that share a command, this one is meant when the arguments are backup files. */
  readonly whenBackups?: true;
  /** Of operations that share a command, this one is meant when the file is a transcript. */
  readonly whenTranscript?: true;
  /**
   * Where there is no store yet: `create` makes one, `optional` answers with defaults. Everything
   * else fails, so that a slip in a path never looks like an empty store. `none` needs no store.
   * The store of a place function is not opened: `fresh` may be missing, `closed` must be there.
   */
  readonly store?: "create" | "optional" | "none" | "fresh" | "closed";
  /** What its progress counts, in the plural; `entries` when not given. */
  readonly unit?: string;
  /** What a person is told who breaks it off: what is kept, and how to go on. */
  readonly broken?: string;
  /** The answer for people; a plain outline when not given. */
  readonly human?: (output: Out, ink: Ink) => string;
}

/**
 * How HTTP renders an operation. Without a word about it: a JSON body in, a JSON body out, at a path
 * made of the operation's name.
 */
export type HttpSpec<F extends string = string> =
  /** A path other than the operation's name. */
  | { readonly path: string }
  /** The field that names a file is left out: the response is that file, of this media type. */
  | { readonly sends: F; readonly mediaType: string }
  /** Why it cannot be asked for over HTTP. */
  | { readonly unavailable: string };

/** Everything that is said about an operation. */
export interface OperationSpec<I extends z.ZodObject, O extends z.ZodType> {
  /** Unique; the facade's verb where there is one. */
  readonly name: string;
  /** The facade verbs it calls; all of one policy. None for what needs no open store. */
  readonly verbs: readonly VerbName[];
  /** What it calls instead of a verb; it goes by the location and leaves the store it is given alone. */
  readonly place?: PlaceFunction;
  readonly kind: "read" | "write";
  /** One line. */
  readonly summary: string;
  /** What a reader should know beyond the line. */
  readonly help: string;
  /** A shell line that works. */
  readonly example: string;
  readonly input: I;
  readonly output: O;
  /** What is missing when the facade answers `undefined`. */
  readonly absent?: (input: z.output<I>) => string;
  readonly call: (
    memory: Cortex,
    input: z.output<I>,
    context: CallContext,
  ) => Promise<z.input<O> | undefined>;
  readonly cli: CommandSpec<keyof I["shape"] & string, z.output<O>>;
  readonly http?: HttpSpec<keyof I["shape"] & string>;
}

/**
 * Everything that is said about an operation that goes on answering; `output` is the shape of one item,
 * and so is what `human` renders. A door that can send items as they come renders it; to others it is
 * not there.
 */
interface StreamSpec<I extends z.ZodObject, O extends z.ZodType>
  extends Omit<OperationSpec<I, O>, "call" | "absent"> {
  /** The items as they come; it ends when the signal of the context is aborted. */
  readonly stream: (
    memory: Cortex,
    input: z.output<I>,
    context: StreamContext,
  ) => AsyncIterable<z.input<O>>;
}

/** A row of the table, with its types behind it. */
export interface Operation
  extends Pick<
    OperationSpec<z.ZodObject, z.ZodType>,
    "name" | "verbs" | "place" | "kind" | "summary" | "help" | "example" | "input" | "output"
  > {
  readonly policy: Policy;
  readonly cli: CommandSpec;
  readonly http?: HttpSpec;
  /** Checks the input, performs the operation and returns its answer. */
  run(memory: Cortex, input: unknown, context: CallContext): Promise<unknown>;
  /** Checks the input and answers item by item; only where the operation goes on answering. */
  readonly stream?: (
    memory: Cortex,
    input: unknown,
    context: StreamContext,
  ) => AsyncIterable<unknown>;
}

/** Makes a row; a row that contradicts itself fails at load. */
export function defineOperation<I extends z.ZodObject, O extends z.ZodType>(
  spec: OperationSpec<I, O>,
): Operation {
  const { call, absent, cli, ...row } = spec;
  return {
    ...row,
    policy: policyOf(spec),
    cli: cli as CommandSpec,
    async run(memory, input, context) {
      const checked = checkInput(spec.input, input);
      const answer = await call(memory, checked, context);
      if (answer !== undefined) return answer;
      const what = absent?.(checked) ?? "nothing there";
      throw new CortexError("ERR_NOT_FOUND", what);
    },
  };
}

/** What an operation takes over from the verb that it is for. */
interface TakenFromVerb<V extends VerbName> {
  readonly name: string;
  readonly verbs: readonly [V];
  readonly kind: "read" | "write";
  readonly summary: string;
  readonly input: Verbs[V]["input"];
}

/** The beginning of a row whose answer is not the verb's own; what follows it in the row may replace it. */
export function takenFrom<V extends VerbName>(name: V): TakenFromVerb<V> {
  const { kind, summary, input } = VERBS[name];
  return { name, verbs: [name], kind, summary, input };
}

/** What the server says about a verb that it offers as it is: everything else is in its contract. */
interface VerbRow<V extends VerbName> {
  /** What a reader should know beyond the verb's one line. */
  readonly help: string;
  /** A shell line that works. */
  readonly example: string;
  /** What is missing when the verb answers `undefined`. */
  readonly absent?: (input: Readonly<Record<string, unknown>>) => string;
  /** The answer as JSON has it, where the library's holds more than JSON can say. */
  readonly render?: (answer: Answer<V>) => object;
  /** Other verbs that the same operation stands for. */
  readonly also?: readonly VerbName[];
  readonly cli: CommandSpec<FieldOf<V>, z.output<Verbs[V]["output"]>>;
  readonly http?: HttpSpec<FieldOf<V>>;
}

type FieldOf<V extends VerbName> = (keyof Verbs[V]["args"] | keyof Verbs[V]["options"]) & string;

/** Makes the row of a verb. */
export function verbRow<V extends VerbName>(name: V, row: VerbRow<V>): Operation {
  const verb: Verb = VERBS[name];
  const { summary, kind, policy, input, output, member } = verb;
  return {
    name,
    verbs: [name, ...(row.also ?? [])],
    kind,
    policy,
    summary,
    help: row.help,
    example: row.example,
    input,
    output,
    cli: { arguments: argumentsOf(verb), ...(row.cli as CommandSpec) },
    ...(row.http === undefined ? {} : { http: row.http }),
    async run(memory, given, context) {
      refuseLocals(verb, given);
      const call = memory[name] as (...args: readonly unknown[]) => Promise<unknown>;
      const answer = await call.call(memory, given, localsOf(verb, context));
      if (answer === undefined) {
        const what = row.absent ?? absentMemory;
        throw new CortexError("ERR_NOT_FOUND", what(given as Readonly<Record<string, unknown>>));
      }
      if (row.render !== undefined) return row.render(answer as Answer<V>);
      return member === undefined ? answer : { [member]: answer };
    },
  };
}

/** The arguments of a verb as a command line takes them, under their own names. */
function argumentsOf({ args }: Verb): readonly ArgumentSpec[] {
  return Object.entries(args).map(([field, schema]) => ({
    field,
    label: kebab(field).toUpperCase(),
    ...(schema._zod.optin === "optional" ? { optional: true } : {}),
  }));
}

function absentMemory({ id }: Readonly<Record<string, unknown>>): string {
  return `id: no memory ${id}`;
}

/** What a verb takes from its door and never from a request. */
function localsOf({ local }: Verb, { access, onProgress, onPlan }: CallContext): object {
  const names: readonly string[] = local;
  if (names.length === 0) return { access };
  return {
    access,
    ...(names.includes("onProgress") ? { onProgress } : {}),
    ...(names.includes("onPlan") && onPlan !== undefined ? { onPlan } : {}),
  };
}

/** A request says what it asks for; who asks, and who is told of progress, is the door's to say. */
function refuseLocals({ local, input }: Verb, given: unknown): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const message = `input: expected an object, got ${describe(given)}`;
    throw new CortexError("ERR_INVALID", message, { field: "input", expected: "an object" });
  }
  const field = ["access", ...local].find((name) => Object.hasOwn(given, name));
  if (field === undefined) return;
  const expected = `one of the fields ${Object.keys(input.shape).join(", ")}`;
  const message = `${field}: expected ${expected}, got an unknown field`;
  throw new CortexError("ERR_UNKNOWN_FIELD", message, { field, expected });
}

/** Makes the row of an operation that goes on answering. */
export function defineStream<I extends z.ZodObject, O extends z.ZodType>(
  spec: StreamSpec<I, O>,
): Operation {
  const { stream, cli, ...row } = spec;
  return {
    ...row,
    policy: policyOf(spec),
    cli: cli as CommandSpec,
    async run() {
      const message = `${spec.name}: goes on answering, which this door cannot send`;
      throw new CortexError("ERR_UNSUPPORTED", message);
    },
    stream: (memory, input, context) => stream(memory, checkInput(spec.input, input), context),
  };
}

function policyOf({
  name,
  verbs,
  place,
}: Pick<OperationSpec<z.ZodObject, z.ZodType>, "name" | "verbs" | "place">): Policy {
  // Whoever builds or rewrites a whole store is its owner.
  return place === undefined ? sharedPolicy(name, verbs) : "owner";
}

function sharedPolicy(name: string, verbs: readonly VerbName[]): Policy {
  const [first = "open", ...others] = verbs.map((verb): Policy => VERBS[verb].policy);
  if (others.every((policy) => policy === first)) return first;
  throw new Error(`operation ${name} mixes policies`);
}
