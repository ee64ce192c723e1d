/** What the client has to know to ask for a verb. */
export interface RoutePlan {
  /** The last part of the path. */
  readonly path: string;
  /** A read can be asked for again; a write may have been done although no answer came. */
  readonly kind: "read" | "write";
  /** The arguments that stand by themselves, in their order. */
  readonly names: readonly string[];
  /** Those of them that are objects. */
  readonly objects?: readonly string[];
  /** What messages call the object after the arguments; options when not given. */
  readonly rest?: "input";
  /** What comes back: JSON when not given. */
  readonly sends?: "file" | "events";
  /** The verb answers with this member of what comes back. */
  readonly member?: string;
  /** The verb answers `undefined` where the operation says that there is no such thing. */
  readonly mayMiss?: true;
  /** It takes as long as it takes: only a limit that the caller set ends it. */
  readonly isLong?: true;
  /** What the call says as well, where several verbs share a path. */
  readonly sent?: { readonly [field: string]: string };
}
