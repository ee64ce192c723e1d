/**
 * Proving: from pages of the state tree to one `StateProof` for one or many keys, present or
 * absent, with their paths shared. Pure; three steps, since pages hold neither whole keys nor
 * values:
 *
 *   1. `pagesToProve`: which pages to load; ask again after loading until it names none. One round
 *      is enough for keys that are present; one that is absent may be led off its own path.
 *   2. `leavesToOpen`: which leaves the proof will show, so that the caller can fetch them.
 *   3. `proveState`: the proof.
 *
 * Promise: the proof holds against the root of those pages; a leaf that contradicts its page is
 * `ERR_CORRUPT`, never a proof that fails elsewhere. Checking is `state-proof.ts`.
 */
import type { Sha256 } from "../codec/hash.js";
import { CortexError, invalid } from "../errors.js";
import {
  checkKey,
  decodePage,
  differsAt,
  foldSlots,
  LEAF,
  missingPage,
  nodeAt,
  nodePath,
  PAGE_BITS,
  type Page,
  type PageShape,
  pageDepth,
  pageName,
  pageShape,
  partSlots,
} from "./state-page.js";
import {
  keyBit,
  type ProofClosed,
  type ProofOpen,
  STATE_KEY_BYTES,
  type StateLeaf,
  type StateProof,
  stateLeafHash,
} from "./state-proof.js";
import type { KnownPage } from "./state-tree.js";

/** Which tree, and which keys to prove; at least one key. */
interface ProveInput {
  readonly significantBytes: number;
  readonly keys: readonly Uint8Array[];
  /** Only to measure other page sizes. */
  readonly pageBits?: number;
}

/** The pages still to be read before `keys` can be proved; empty when all are known. */
export function pagesToProve(
  input: ProveInput & { readonly known: (name: Uint8Array) => KnownPage },
): Uint8Array[] {
  const names: Uint8Array[] = [];
  const shape = shapeOf(input);
  const onUnknown = (path: Uint8Array, depth: number, keys: readonly Uint8Array[]): void => {
    names.push(pageName(path, depth, shape.pageBits));
    names.push(...deeperPages(path, depth, keys, shape));
  };
  planRoot({ shape, keys: input.keys, known: input.known, onUnknown });
  return names;
}

/**
 * The leaves that a proof of `keys` shows, each by the first `significantBytes` bytes of its key.
 */
export function leavesToOpen(
  input: ProveInput & { readonly readPage: (name: Uint8Array) => Uint8Array | undefined },
): Uint8Array[] {
  const leaves: Uint8Array[] = [];
  const collect = (plan: Plan): void => {
    if (plan.kind === "leaf") leaves.push(plan.key);
    if (plan.kind !== "inner") return;
    collect(plan.left);
    collect(plan.right);
  };
  const plan = planLoaded(input);
  if (plan !== undefined) collect(plan);
  return leaves;
}

/** The proof of `keys`. `openLeaf` gives the whole leaf for each of `leavesToOpen`. */
export function proveState(
  input: ProveInput & {
    readonly sha256: Sha256;
    readonly readPage: (name: Uint8Array) => Uint8Array | undefined;
    readonly openLeaf: (significant: Uint8Array) => StateLeaf;
  },
): StateProof {
  const { sha256, openLeaf } = input;
  const close = (plan: PlanClosed): ProofClosed => {
    const hash = foldSlots(sha256, plan.page, plan.from, plan.to);
    return { kind: "closed", hash: new Uint8Array(hash) };
  };
  const open = (plan: PlanLeaf | PlanInner): ProofOpen => {
    if (plan.kind === "leaf") return openedLeaf(sha256, plan, openLeaf(plan.key));
    const side = (child: Plan) => (child.kind === "closed" ? close(child) : open(child));
    return { kind: "inner", bit: plan.bit, left: side(plan.left), right: side(plan.right) };
  };

  const plan = planLoaded(input);
  if (plan === undefined) return { kind: "empty" };
  if (plan.kind === "closed") throw new Error("a plan for at least one key opens the root");
  return open(plan);
}

/** The proof before its hashes: what is opened, what stays closed. */
type Plan = PlanLeaf | PlanInner | PlanClosed;

interface PlanLeaf {
  readonly kind: "leaf";
  /** Significant bytes only. */
  readonly key: Uint8Array;
  readonly hash: Uint8Array;
}

interface PlanInner {
  readonly kind: "inner";
  readonly bit: number;
  readonly left: Plan;
  readonly right: Plan;
}

/** The slots `from <= i < to` of a page, or a page that is not known yet. */
interface PlanClosed {
  readonly kind: "closed";
  readonly page: Page;
  readonly from: number;
  readonly to: number;
}

interface PlanInput {
  readonly shape: PageShape;
  readonly keys: readonly Uint8Array[];
  readonly known: (name: Uint8Array) => KnownPage;
  readonly onUnknown: (path: Uint8Array, depth: number, keys: readonly Uint8Array[]) => void;
}

function planLoaded(
  input: ProveInput & { readonly readPage: (name: Uint8Array) => Uint8Array | undefined },
): Plan | undefined {
  return planRoot({
    shape: shapeOf(input),
    keys: input.keys,
    known: (name) => input.readPage(name) ?? "absent",
    onUnknown: () => {
      throw new Error("a page that was read cannot be unknown");
    },
  });
}

function planRoot(input: PlanInput): Plan | undefined {
  if (input.keys.length === 0) throw invalid("keys", "at least one key", input.keys);
  input.keys.forEach(checkKey);
  return planPage(input, new Uint8Array(STATE_KEY_BYTES), 0, input.keys);
}

/** Plans the page at `depth` whose keys begin with `path`; `undefined` when the tree is empty. */
function planPage(
  input: PlanInput,
  path: Uint8Array,
  depth: number,
  keys: readonly Uint8Array[],
): Plan | undefined {
  const bytes = input.known(pageName(path, depth, input.shape.pageBits));
  if (bytes === "unknown") {
    input.onUnknown(path, depth, keys);
    return {
      kind: "closed",
      page: { ...input.shape, depth, slots: [], nodes: [] },
      from: 0,
      to: 0,
    };
  }
  if (bytes === "absent") {
    if (depth === 0) return undefined;
    throw missingPage(depth);
  }
  const page = decodePage(bytes, depth, input.shape);
  return planSlots(input, { page, path, from: 0, to: page.nodes.length }, keys);
}

/** Plans the subtree over the slots `from <= i < to`, searching only by the bits that branch. */
function planSlots(
  input: PlanInput,
  at: {
    readonly page: Page;
    readonly path: Uint8Array;
    readonly from: number;
    readonly to: number;
  },
  keys: readonly Uint8Array[],
): Plan {
  const { page, path, from, to } = at;
  const { shape } = input;
  if (keys.length === 0) return { kind: "closed", page, from, to };
  if (to - from === 1) {
    const node = nodeAt(page, from);
    const below = nodePath(node, path, shape);
    if (node.top === LEAF) {
      return { kind: "leaf", key: below.slice(0, shape.significantBytes), hash: node.hash };
    }
    const plan = planPage(input, below, pageDepth(node.top, shape.pageBits), keys);
    if (plan === undefined) throw new Error("only the root page may be missing");
    return plan;
  }
  const { bit, middle } = partSlots(page, from, to);
  const zeros = keys.filter((key) => keyBit(key, bit) === 0);
  const ones = keys.filter((key) => keyBit(key, bit) === 1);
  const left = planSlots(input, { page, path, from, to: middle }, zeros);
  const right = planSlots(input, { page, path, from: middle, to }, ones);
  return { kind: "inner", bit, left, right };
}

/** The pages that may lie below an unknown one, for the keys that are still on their own path. */
function deeperPages(
  path: Uint8Array,
  depth: number,
  keys: readonly Uint8Array[],
  shape: PageShape,
): Uint8Array[] {
  const names = new Map<string, Uint8Array>();
  const page = { top: depth, source: path, shift: 0, from: 0, hash: path };
  for (const key of keys) {
    if (depth > 0 && differsAt(page, key, shape) < depth) continue;
    for (let at = depth + shape.pageBits; at < shape.significantBytes * 8; at += shape.pageBits) {
      const name = pageName(key, at, shape.pageBits);
      names.set(name.join(), name);
    }
  }
  return [...names.values()];
}

function openedLeaf(sha256: Sha256, plan: PlanLeaf, leaf: StateLeaf): ProofOpen {
  const hash = stateLeafHash(sha256, leaf.key, leaf.value);
  if (!hash.every((byte, i) => byte === plan.hash[i])) {
    throw new CortexError("ERR_CORRUPT", "state leaf: key and value do not match the stored hash");
  }
  return { kind: "leaf", key: leaf.key, value: leaf.value };
}

function shapeOf(input: ProveInput): PageShape {
  return pageShape(input.significantBytes, input.pageBits ?? PAGE_BITS);
}
