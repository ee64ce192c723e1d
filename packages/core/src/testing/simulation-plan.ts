/**
 * Random histories for the simulation: what to do next, given what the model knows, and how to ask an
 * open store for it. Everything follows from one seed.
 */
import type { Cortex } from "../cortex.js";
import type {
  ModelItem,
  ModelOperation,
  ModelState,
  ModelTurn,
  ModelWrite,
} from "./model-state.js";
import type { SeededRandom } from "./seeded-random.js";

/** A call that must fail with a code and leave nothing behind. */
export interface BadCall {
  readonly bad: string;
}

/** What is asked in one turn: all of it is submitted before anything is awaited. */
export interface Step {
  /** The clock while the step runs. */
  readonly now: number;
  readonly calls: readonly (ModelOperation | BadCall)[];
}

/** The words histories are made of: few, so that they meet. */
export const WORDS = {
  types: ["note", "fact", "fact", "constraint", "goal", "event", "belief"],
  texts: ["Ada likes tea", "ada  likes TEA.", "Bob naps", "Cy is away", "Dee sings", "Eve rows"],
  tags: ["red", "green", "été"],
  kinds: ["memo", "plan"],
  slots: ["home city", "Home-City", "job"],
  sessions: ["s1", "s2"],
  keys: ["k1", "k2", "k3"],
  steps: ["one", "two"],
  externalIds: ["x1", "x2", "x3", "x4"],
  edgeKinds: ["supports", "causes", "caused_by", "relates_to", "precedes", "likes", "owes"],
  frames: [
    { verb: "find", object: "plan", ref: "trip" },
    { verb: "build", object: "service", ref: "api" },
  ],
} as const;

const TIME = Date.UTC(2030, 0, 1);

/** What comes next. */
export function nextStep(random: SeededRandom, state: ModelState): Step {
  // Now and then the clock stands still, leaps, or goes back.
  const drift = random.pick([0, 1, 1, 7, 60_000, -5000]);
  const now = Math.max(TIME, state.at + drift);
  // What reads before it writes has its turn alone: among others, its order would be a race.
  if (state.memories.size > 2 && random.chance(11))
    return { now, calls: [loneCall(random, state)] };
  const count = random.chance(60) ? 1 : random.between(2, 6);
  const calls = Array.from({ length: count }, () => nextCall(random, state));
  return { now, calls };
}

function loneCall(random: SeededRandom, state: ModelState): ModelOperation {
  const dice = random.below(100);
  if (dice < 25) return { verb: "forget", ref: someRef(random, state), cascade: random.chance(40) };
  if (dice < 60) return { verb: "lateFind", tag: random.pick(WORDS.tags) };
  const stepId = random.pick(WORDS.steps);
  return { verb: "compact", stepId, inContext: someRefs(random, state) };
}

/** When a history begins. */
export const START = TIME;

function nextCall(random: SeededRandom, state: ModelState): ModelOperation | BadCall {
  if (random.chance(8)) return { bad: random.pick(Object.keys(BAD_CALLS)) };
  const ids = [...state.memories.keys()];
  const dice = random.below(100);
  if (ids.length < 2 || dice < 26) {
    const input = someWrite(random, ids);
    if (!random.chance(12)) return { verb: "write", input };
    return { verb: "write", input: { ...input, idempotencyKey: random.pick(WORDS.keys) } };
  }
  const ref = someRef(random, state);
  if (dice < 38) return { verb: "update", ref, input: someUpdate(random) };
  if (dice < 46) return { verb: "updateHead", ref, patch: somePatch(random) };
  if (dice < 53) return { verb: "tombstone", ref, reason: "not needed" };
  if (dice < 60) return { verb: "restore", ref };
  if (dice < 66) return { verb: "revert", seq: someSeq(random, state) };
  if (dice < 74) return { verb: "link", ...someEnds(random, state), input: someEdge(random) };
  if (dice < 79) return { verb: "removeEdge", ...someEnds(random, state), reason: "no more" };
  if (dice < 84) return someBatch(random, state);
  if (dice < 87) return { verb: "attest", input: someOutcome(random, state) };
  if (dice < 93) return someTurns(random, state);
  if (dice < 95) return { verb: "setGoalState", ref, state: someGoalState(random) };
  if (dice < 97) return { verb: "deleteGoalState", ref };
  if (dice < 99) return { verb: "attest", input: someOutcome(random, state) };
  return { verb: "configure", patch: somePolicy(random) };
}

function someWrite(random: SeededRandom, ids: readonly string[]): ModelWrite {
  const maybe = <T>(percent: number, make: () => T): T | undefined =>
    random.chance(percent) ? make() : undefined;
  const validFrom = maybe(10, () => TIME - 1000);
  const input = {
    type: random.pick(WORDS.types),
    text: random.pick(WORDS.texts),
    externalId: maybe(15, () => random.pick(WORDS.externalIds)),
    slot: maybe(25, () => random.pick(WORDS.slots)),
    tags: maybe(40, () => random.shuffled(WORDS.tags).slice(0, random.between(1, 3))),
    frames: maybe(10, () => [random.pick(WORDS.frames)]),
    kind: maybe(30, () => random.pick(WORDS.kinds)),
    importance: maybe(20, () => random.below(11)),
    visibility: maybe(15, () => "public"),
    confidence: maybe(15, () => 0.5),
    source: maybe(10, () => "agent"),
    validFrom,
    validTo: maybe(10, () => TIME + random.pick([-500, 100_000])),
    supersedes: maybe(ids.length === 0 ? 0 : 10, () => [random.pick(ids)]),
    corrects: maybe(ids.length === 0 ? 0 : 5, () => random.pick(ids)),
    provenance: maybe(ids.length === 0 ? 0 : 10, () => ({
      derivedFrom: [`cortex://ada/Fact/${random.pick(ids)}#1`],
    })),
  };
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  ) as unknown as ModelWrite;
}

/** An id, an external id, rarely one that was forgotten or nobody's. */
function someRef(random: SeededRandom, state: ModelState): string {
  if (state.erased.size > 0 && random.chance(4)) return random.pick([...state.erased.keys()]);
  const memory = random.pick([...state.memories.values()]);
  const dice = random.below(100);
  if (dice < 4) return "nobody";
  if (dice < 25 && memory.head.externalId !== undefined) return memory.head.externalId;
  return memory.id;
}

/** Any entry, or half of the time one whose state is current, so that it can be undone. */
function someSeq(random: SeededRandom, state: ModelState): number {
  if (random.chance(50)) return random.below(state.size + 1);
  return random.pick([...state.memories.values()]).seq;
}

function someRefs(random: SeededRandom, state: ModelState): string[] {
  return Array.from({ length: random.between(1, 4) }, () => someRef(random, state));
}

function someOutcome(
  random: SeededRandom,
  state: ModelState,
): Extract<ModelOperation, { readonly verb: "attest" }>["input"] {
  const reason = random.pick([undefined, "factual_error", "wrong_assumption", "no luck"]);
  return {
    intentId: random.pick(WORDS.steps),
    outcome: random.pick(["success", "success", "failure"]),
    cited: someRefs(random, state),
    ...(reason === undefined ? {} : { reason }),
  };
}

function someUpdate(random: SeededRandom): { text: string; basedOnVersion?: number } {
  return {
    text: random.pick(WORDS.texts),
    ...(random.chance(40) ? { basedOnVersion: random.between(1, 3) } : {}),
    ...(random.chance(10) ? { confidence: 0.25 } : {}),
    ...(random.chance(10) ? { validTo: TIME + 5000 } : {}),
  };
}

function somePatch(random: SeededRandom): object {
  return random.pick([
    { tags: random.shuffled(WORDS.tags).slice(0, random.below(3)) },
    { importance: random.below(11) },
    { kind: random.pick(WORDS.kinds) },
    { visibility: "public", tags: ["red"] },
    { frames: [random.pick(WORDS.frames)] },
  ]);
}

function someEnds(
  random: SeededRandom,
  state: ModelState,
): { from: string; kind: string; to: string } {
  const known = [...state.edges.values()];
  // Half of the time an edge that is there already: to be removed, revived, or left alone.
  if (known.length > 0 && random.chance(50)) {
    const { from, kind, to } = random.pick(known);
    if (kind !== "transition" && kind !== "tombstones") return { from, kind, to };
  }
  return {
    from: someRef(random, state),
    kind: random.pick(WORDS.edgeKinds),
    to: someRef(random, state),
  };
}

function someEdge(random: SeededRandom): object {
  return random.pick([
    {},
    { reason: "said so", strength: 3 },
    { ordinal: random.below(3) },
    { weight: 0.5, ordinal: 1 },
  ]);
}

function someBatch(random: SeededRandom, state: ModelState): ModelOperation {
  const ids = [...state.memories.keys()];
  const items: ModelItem[] = [
    { write: someWrite(random, ids), ref: "a" },
    { write: someWrite(random, ids), ref: random.chance(4) ? "a" : "b" },
  ];
  if (random.chance(60)) {
    const { kind } = someEnds(random, state);
    items.push({ link: { from: { ref: "a" }, kind, to: { ref: random.pick(["b", "b", "c"]) } } });
  }
  if (random.chance(40)) {
    items.push({ update: { id: someRef(random, state), ...someUpdate(random) } });
  }
  if (random.chance(40)) items.push({ link: { ...someEnds(random, state), reason: "in a batch" } });
  return { verb: "batch", items, atomic: random.chance(70) };
}

/** New turns, often after the last ones of the session; now and then in places, rarely in one that is taken. */
function someTurns(random: SeededRandom, state: ModelState): ModelOperation {
  const session = random.pick(WORDS.sessions);
  const stored = [...state.memories.values()]
    .flatMap(({ turn, versions: [first] }) =>
      turn?.session === session && first !== undefined ? [{ ...turn, content: first.text }] : [],
    )
    .sort((a, b) => a.index - b.index);
  const hasPlaces = random.chance(35);
  const again = random.chance(50) ? stored.slice(-random.between(1, 4)) : [];
  const sent = again.map(
    ({ role, content, index, at }): ModelTurn => ({
      role,
      content,
      ...(hasPlaces ? { index } : {}),
      ...(at !== undefined && random.chance(50) ? { at } : {}),
    }),
  );
  const taken = stored.map(({ index }) => index);
  // A place is left out now and then, for a turn that comes late.
  const free = Array.from({ length: 24 }, (_, index) => index).filter(
    (index) => !taken.includes(index),
  );
  const places = random.chance(50) ? free : free.filter((index) => index > (taken.at(-1) ?? -1));
  const isAstray = random.chance(10);
  const fresh = Array.from({ length: random.between(again.length > 0 ? 0 : 1, 4) }, (_, at) => {
    const index = isAstray ? random.below(8) : places[2 * at];
    return {
      role: at % 2 === 0 ? "user" : "assistant",
      // Few words, so that a turn is often said twice.
      content: `said ${random.below(random.pick([3, 1000]))}`,
      ...(hasPlaces && index !== undefined && random.chance(70) ? { index } : {}),
      ...(random.chance(20) ? { at: TIME - 7 } : {}),
    };
  });
  return { verb: "remember", session, turns: [...sent, ...fresh] };
}

function someGoalState(random: SeededRandom): object {
  return { failureStreak: random.below(5), intentsTodayCount: 1, spentToday: "0" };
}

function somePolicy(random: SeededRandom): {
  conflictPolicy?: string;
  kindWhitelist?: string[];
} {
  return random.pick([
    { conflictPolicy: "manual" },
    { conflictPolicy: "lww" },
    { kindWhitelist: ["memo", "turn"] },
    { kindWhitelist: [] },
    { kindWhitelist: [] },
  ]);
}

type Ask = (memory: Cortex) => Promise<unknown>;

/** Input that must be refused, with the code it is refused by. */
export const BAD_CALLS: Readonly<Record<string, { readonly code: string; readonly ask: Ask }>> = {
  type: { code: "ERR_UNKNOWN_TYPE", ask: (m) => m.write({ type: "rumour" as "fact", text: "x" }) },
  field: {
    code: "ERR_UNKNOWN_FIELD",
    ask: (m) => m.write({ type: "fact", text: "x", txt: "y" } as never),
  },
  nothing: { code: "ERR_INVALID", ask: (m) => m.write({ type: "fact" }) },
  surrogate: { code: "ERR_ILL_FORMED", ask: (m) => m.write({ type: "note", text: "\ud800" }) },
  size: { code: "ERR_TOO_LARGE", ask: (m) => m.write({ type: "note", text: "x".repeat(70_000) }) },
  id: { code: "ERR_BAD_ID", ask: (m) => m.write({ type: "note", text: "x", id: "short" }) },
  interval: {
    code: "ERR_INVALID",
    ask: (m) => m.write({ type: "note", text: "x", validFrom: 2, validTo: 1 }),
  },
  superseded: {
    code: "ERR_NOT_FOUND",
    ask: (m) => m.write({ type: "note", kind: "memo", text: "x", supersedes: ["nobody"] }),
  },
  uri: { code: "ERR_BAD_URI", ask: (m) => m.update("cortex://ada/Fact/x#latest", { text: "x" }) },
  base: { code: "ERR_INVALID", ask: (m) => m.update("nobody", { text: "x", basedOnVersion: 0 }) },
  patch: { code: "ERR_NO_CHANGE", ask: (m) => m.updateHead("nobody", {}) },
  missing: { code: "ERR_NOT_FOUND", ask: (m) => m.tombstone("nobody", "why") },
  ends: { code: "ERR_UNKNOWN_ENDPOINT", ask: (m) => m.link("nobody", "supports", "no one") },
  mint: { code: "ERR_EDGE_KIND", ask: (m) => m.link("nobody", "transition", "no one") },
  edge: { code: "ERR_NOT_FOUND", ask: (m) => m.removeEdgeById("01ARZ3NDEKTSV4RRFFQ69G5FAV") },
  session: {
    code: "ERR_INVALID",
    ask: (m) => m.remember([{ role: "user", content: "x" }], { session: "" }),
  },
  role: {
    code: "ERR_INVALID",
    ask: (m) => m.remember([{ role: "ghost" as "user", content: "x" }], { session: "s1" }),
  },
  turnVisibility: {
    code: "ERR_INVALID",
    ask: (m) =>
      m.remember([{ role: "user", content: "x" }], {
        session: "s1",
        visibility: "secret" as "public",
      }),
  },
  batch: {
    code: "ERR_UNKNOWN_ENDPOINT",
    ask: (m) =>
      m.batch([
        { write: { type: "note", kind: "memo", text: "never" }, ref: "a" },
        { link: { from: { ref: "a" }, kind: "supports", to: "nobody" } },
      ]),
  },
  emptyBatch: { code: "ERR_INVALID", ask: (m) => m.batch([]) },
  goal: {
    code: "ERR_INVALID",
    ask: (m) => m.setGoalState("nobody", { failureStreak: -1 } as never),
  },
  outcome: {
    code: "ERR_INVALID",
    ask: (m) => m.attest({ intentId: "t", outcome: "draw" as "success", cited: ["nobody"] }),
  },
  budget: {
    code: "ERR_INVALID",
    ask: (m) => m.compactContext({ intentId: "t", stepId: "s", inContext: ["nobody"] }),
  },
  policy: { code: "ERR_INVALID", ask: (m) => m.configure({ conflictPolicy: "best" as "lww" }) },
};

/** Asks an open store for an operation, in the name of `by` where one is given. */
export function perform(
  memory: Cortex,
  call: ModelOperation | BadCall,
  by?: string,
): Promise<unknown> {
  if ("bad" in call) return (BAD_CALLS[call.bad] as { readonly ask: Ask }).ask(memory);
  const name = by === undefined ? {} : { by };
  switch (call.verb) {
    case "write":
      return memory.write({ ...call.input, ...name } as never);
    case "update":
      return memory.update(call.ref, { ...call.input, ...name } as never);
    case "updateHead":
      return memory.updateHead(call.ref, { ...call.patch, ...name } as never);
    case "tombstone":
      return memory.tombstone(call.ref, call.reason, name);
    case "restore":
      return memory.restore(call.ref, name);
    case "forget":
      return memory.forget(call.ref, "asked to", { cascade: call.cascade, ...name });
    case "revert":
      return memory.revert(call.seq, name);
    case "link":
      return memory.link(call.from, call.kind, call.to, { ...call.input, ...name } as never);
    case "removeEdge":
      return memory.removeEdge(call.from, call.kind, call.to, { reason: call.reason, ...name });
    case "batch":
      return memory.batch(call.items.map((item) => named(item, name)) as never, {
        atomic: call.atomic,
      });
    case "remember":
      return memory.remember(call.turns as never, { session: call.session, ...name });
    case "setGoalState":
      return memory.setGoalState(call.ref, call.state as never, name);
    case "deleteGoalState":
      return memory.deleteGoalState(call.ref, name);
    case "configure":
      return memory.configure({ ...call.patch, ...name } as never);
    case "attest":
      return memory.attest({ ...call.input, ...name });
    case "lateFind":
      return memory.find({ tags: [call.tag], limit: 1000, lateBinding: true, ...name });
    case "compact": {
      const { stepId, inContext } = call;
      return memory.compactContext({ intentId: "task", stepId, inContext, ...name });
    }
  }
}

function named(item: ModelItem, name: { readonly by?: string }): object {
  if ("write" in item) return { ...item, write: { ...item.write, ...name } };
  if ("update" in item) return { update: { ...item.update, ...name } };
  return { link: { ...item.link, ...name } };
}
