/**
 * The state of the plain model (`model.ts`): what it holds at one position, and the operations it
 * knows. Data only, and the names of things.
 */
import { EDGE_KINDS, type EdgeKind } from "../records/edge-kinds.js";

/** One version of a memory. */
export interface ModelVersion {
  readonly number: number;
  readonly text: string;
  readonly createdAt: number;
  readonly confidence: number;
  readonly supersedes: readonly number[];
  readonly seq: number;
  readonly validFrom?: number | undefined;
  readonly validTo?: number | undefined;
}

/** What a memory looks like to those who ask for its head. */
export interface ModelHead {
  readonly lifecycle: "active" | "archived" | "tombstoned";
  readonly status: "asserted" | "provisional";
  readonly visibility: string;
  readonly importance: number;
  readonly tags: readonly string[];
  readonly frames: readonly ModelFrame[];
  readonly kind?: string | undefined;
  readonly slot?: string | undefined;
  readonly externalId?: string | undefined;
  readonly tombstone?: { readonly reason: string; readonly at: number; readonly by: string };
  readonly siblings: readonly number[];
}

/** Verb, object kind and ref. */
export interface ModelFrame {
  readonly verb: string;
  readonly object: string;
  readonly ref: string;
}

/** A memory. */
export interface ModelMemory {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly seq: number;
  readonly head: ModelHead;
  /** Oldest first; the last one is current. */
  readonly versions: readonly ModelVersion[];
  /** Versions that a revert took back; their numbers are not given again. */
  readonly undone?: readonly ModelVersion[];
  /** Since which seq it stands under each of its terms, by `termsOf`. */
  readonly since: ReadonlyMap<string, number>;
  readonly turn?: {
    readonly session: string;
    readonly index: number;
    readonly role: string;
    /** When it was said, if that was given. */
    readonly at?: number | undefined;
  };
  /** The slot it claims without holding it: that of a rival, or of one that backs the holder. */
  readonly claimSlot?: string | undefined;
}

/** An edge, live or removed. */
export interface ModelEdge {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
  readonly source: string;
  readonly createdAt: number;
  readonly seq: number;
  readonly attributes: ModelAttributes;
  readonly tombstone?: { readonly reason: string; readonly at: number; readonly by: string };
}

/** What an edge may carry. */
export interface ModelAttributes {
  readonly weight?: number;
  readonly reason?: string;
  readonly strength?: number;
  readonly ordinal?: number;
  readonly metadata?: object;
}

/** What use has made of a memory. */
export interface ModelUse {
  readonly reinforced: number;
  readonly accessed: number;
  readonly cited: number;
  readonly lastUsedAt: number;
}

/** The weights of recency, access, citations and importance; similarity keeps its tenth. */
export type ModelWeights = readonly number[];

/** What was in a context when it was compacted, by URI. */
export interface ModelContext {
  readonly seq: number;
  readonly kept: readonly string[];
  readonly compacted: readonly string[];
}

/** Everything at one position. */
export interface ModelState {
  /** Number of entries. */
  readonly size: number;
  /** Time of the last entry. */
  readonly at: number;
  readonly actor: string;
  readonly memories: ReadonlyMap<string, ModelMemory>;
  /** By `edgeName`. */
  readonly edges: ReadonlyMap<string, ModelEdge>;
  readonly externalIds: ReadonlyMap<string, string>;
  readonly openKinds: readonly string[];
  readonly goalStates: ReadonlyMap<string, object>;
  /** By id of the memory; none for those that were not used. */
  readonly uses: ReadonlyMap<string, ModelUse>;
  readonly weights: ModelWeights;
  /** By step. */
  readonly contexts: ReadonlyMap<string, ModelContext>;
  readonly manual: boolean;
  readonly kinds: readonly string[];
  /** Types of the memories that were forgotten, by id, and the entries that did so. */
  readonly erased: ReadonlyMap<string, { readonly type: string; readonly seq: number }>;
  /** What each entry changed, by seq; none for those that changed neither memories nor edges. */
  readonly entries: ReadonlyMap<number, ModelEntry>;
  /** What was answered under an idempotency key, and to what. */
  readonly requests: ReadonlyMap<string, { readonly request: string; readonly value: object }>;
}

/** An entry that changed memories or edges: what they were before, in order. */
export interface ModelEntry {
  readonly kind: "change" | "forget";
  readonly memories: readonly { readonly id: string; readonly before: ModelMemory | undefined }[];
  readonly edges: readonly { readonly name: string; readonly before: ModelEdge | undefined }[];
}

/** What `write` is given; the engine's own input has more. */
export interface ModelWrite {
  readonly type: string;
  readonly text: string;
  readonly id?: string;
  readonly externalId?: string;
  readonly slot?: string;
  readonly tags?: readonly string[];
  readonly frames?: readonly ModelFrame[];
  readonly kind?: string;
  readonly importance?: number;
  readonly visibility?: string;
  readonly confidence?: number;
  readonly source?: string;
  readonly validFrom?: number;
  readonly validTo?: number;
  readonly supersedes?: readonly string[];
  readonly corrects?: string;
  readonly provenance?: { readonly derivedFrom: readonly string[] };
  readonly idempotencyKey?: string;
}

/** What `update` is given. */
export interface ModelUpdate {
  readonly text?: string;
  readonly basedOnVersion?: number;
  readonly confidence?: number;
  readonly validFrom?: number;
  readonly validTo?: number;
}

/** One item of a batch. */
export type ModelItem =
  | { readonly write: ModelWrite; readonly ref?: string }
  | { readonly update: { readonly id: string } & ModelUpdate }
  | {
      readonly link: ModelAttributes & {
        readonly from: string | { readonly ref: string };
        readonly kind: string;
        readonly to: string | { readonly ref: string };
      };
    };

/** One turn as it is given. */
export interface ModelTurn {
  readonly role: string;
  readonly content: string;
  readonly index?: number;
  readonly at?: number;
}

/** Every operation that changes a graph. */
export type ModelOperation =
  | { readonly verb: "write"; readonly input: ModelWrite }
  | { readonly verb: "update"; readonly ref: string; readonly input: ModelUpdate }
  | { readonly verb: "updateHead"; readonly ref: string; readonly patch: Partial<ModelHead> }
  | { readonly verb: "tombstone"; readonly ref: string; readonly reason: string }
  | { readonly verb: "restore"; readonly ref: string }
  | {
      readonly verb: "link";
      readonly from: string;
      readonly kind: string;
      readonly to: string;
      readonly input: ModelAttributes;
    }
  | {
      readonly verb: "removeEdge";
      readonly from: string;
      readonly kind: string;
      readonly to: string;
      readonly reason: string;
    }
  | { readonly verb: "forget"; readonly ref: string; readonly cascade: boolean }
  | { readonly verb: "revert"; readonly seq: number }
  | { readonly verb: "batch"; readonly items: readonly ModelItem[]; readonly atomic: boolean }
  | { readonly verb: "remember"; readonly session: string; readonly turns: readonly ModelTurn[] }
  | { readonly verb: "setGoalState"; readonly ref: string; readonly state: object }
  | { readonly verb: "deleteGoalState"; readonly ref: string }
  | {
      readonly verb: "attest";
      readonly input: {
        readonly intentId: string;
        readonly outcome: "success" | "failure";
        readonly reason?: string;
        readonly cited: readonly string[];
      };
    }
  | { readonly verb: "lateFind"; readonly tag: string }
  | { readonly verb: "compact"; readonly stepId: string; readonly inContext: readonly string[] }
  | {
      readonly verb: "configure";
      readonly patch: { readonly conflictPolicy?: string; readonly kindWhitelist?: string[] };
    };

/** What an operation answers, as far as the model knows: an object to match, or a code. */
export type ModelOutcome =
  | { readonly value: object; readonly error?: undefined }
  | { readonly error: string; readonly value?: undefined };

/** The state of a store that holds its genesis and nothing else. */
export function bornModel(actor: string, at: number): ModelState {
  return {
    size: 1,
    at,
    actor,
    memories: new Map(),
    edges: new Map(),
    externalIds: new Map(),
    openKinds: [],
    goalStates: new Map(),
    uses: new Map(),
    weights: [0.25, 0.15, 0.3, 0.2],
    contexts: new Map(),
    manual: false,
    kinds: [],
    erased: new Map(),
    entries: new Map(),
    requests: new Map(),
  };
}

/** The name of an edge in the map of edges. */
export function edgeName(from: string, kind: string, to: string): string {
  return `${from} ${kind} ${to}`;
}

/** The id inside a reference. */
export function idIn(ref: string): string {
  return (ref.startsWith("cortex://") ? ref.split("/").at(-1)?.split("#")[0] : ref) ?? ref;
}

/** The memory a reference names: an id, an external id, or a URI. */
export function findInModel(state: ModelState, ref: string): ModelMemory | undefined {
  const id = idIn(ref);
  const named = state.externalIds.get(ref);
  return state.memories.get(id) ?? state.memories.get(named ?? "");
}

/** The URI of a version of a memory. */
export function modelUri(actor: string, memory: ModelMemory, version?: number): string {
  const type = `${memory.type.charAt(0).toUpperCase()}${memory.type.slice(1)}`;
  return `cortex://${actor}/${type}/${memory.id}#${version ?? currentVersion(memory).number}`;
}

/** What a memory is listed by: each index and term, in the lifecycle it is in. */
export function termsOf({
  type,
  head,
  turn,
}: Pick<ModelMemory, "type" | "head" | "turn">): string[] {
  const terms = [`type ${type}`, ...head.tags.map((tag) => `tag ${tag}`)];
  if (head.kind !== undefined) terms.push(`kind ${head.kind}`);
  for (const frame of head.frames) terms.push(frameTerm(frame));
  if (head.slot !== undefined) terms.push(`slot ${head.slot}`);
  if (turn !== undefined) terms.push(`session ${turn.session}`);
  return terms.map((term) => `${head.lifecycle} ${term}`);
}

/** The term of a frame. */
export function frameTerm({ verb, object, ref }: ModelFrame): string {
  return `frame ${verb} ${object} ${ref}`;
}

/** The number of the next version of a memory. */
export function nextNumber({ versions, undone = [] }: ModelMemory): number {
  return versions.length + undone.length + 1;
}

/** The version in force. */
export function currentVersion(memory: ModelMemory): ModelVersion {
  const last = memory.versions.at(-1);
  if (last === undefined) throw new Error("a memory has a version");
  return last;
}

const INVERSES: ReadonlyMap<string, string> = new Map(
  (EDGE_KINDS as readonly EdgeKind[]).flatMap(({ inverse, name }) =>
    inverse === undefined ? [] : [[inverse, name] as const],
  ),
);

/** The ends and the kind of an edge. */
export interface Ends {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
}

/** The ends and the kind under which a link is kept. */
export function canonicalEnds({ from, kind, to }: Ends): Ends {
  const canonical = INVERSES.get(kind);
  if (canonical !== undefined) return { from: to, kind: canonical, to: from };
  return { from, kind, to };
}

const SYMMETRIC: ReadonlySet<string> = new Set(
  EDGE_KINDS.filter(({ symmetric }) => symmetric).map(({ name }) => name),
);

/** Whether a kind says the same in both directions. */
export function saysBothWays(kind: string): boolean {
  return SYMMETRIC.has(kind);
}

/** The edge that joins two memories so, whichever way round; a live one before a removed one. */
export function standingEdge(state: ModelState, { from, kind, to }: Ends): ModelEdge | undefined {
  const ways = [
    edgeName(from, kind, to),
    ...(SYMMETRIC.has(kind) ? [edgeName(to, kind, from)] : []),
  ];
  const found = ways.flatMap((name) => state.edges.get(name) ?? []);
  return found.find(({ tombstone }) => tombstone === undefined) ?? found[0];
}

/** What a kind is called from its other end; `undefined` when it has no name there. */
export function nameFromOtherEnd(kind: string): string | undefined {
  if (SYMMETRIC.has(kind)) return kind;
  return (EDGE_KINDS as readonly EdgeKind[]).find(({ name }) => name === kind)?.inverse;
}

/** An edge as the engine shows it, but for its id. */
export function shownEdge(state: ModelState, { from, kind, to }: Ends): object | undefined {
  const edge = state.edges.get(edgeName(from, kind, to));
  if (edge === undefined) return undefined;
  const { attributes, ...rest } = edge;
  return { ...rest, ...attributes, n: 0, createdBy: state.actor };
}
