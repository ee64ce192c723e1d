/**
 * One call of every verb, for the table of verbs, visibilities and callers: how a verb is asked about
 * one memory, or asked to make one of a visibility. Complete by type, and the test compares the names.
 */

import type { VerbName } from "../src/contract/index.js";
import type { Cortex } from "../src/cortex.js";
import type { Visibility } from "../src/records/types.js";
import type { Access } from "../src/scope/access.js";
import { ISSUER_KEY, type TripGraph, wordOf } from "./scopes-support.js";

/** What one call is about. */
export interface Subject {
  readonly memory: Cortex;
  readonly graph: TripGraph;
  readonly visibility: Visibility;
  /** The memory of that visibility. */
  readonly id: string;
  readonly word: string;
  readonly access: Access;
  /** A scope of this graph that holds. */
  readonly scope: string;
}

/** How a verb is called in the table. */
export interface Row {
  readonly call: (subject: Subject) => Promise<unknown>;
  /** It makes a memory of the visibility instead of changing one that is there. */
  readonly creates?: true;
  /** It is for scopes that grant proofs. */
  readonly needsProofs?: true;
  /** It leaves out what it may not touch, and says which. */
  readonly skips?: true;
}

const NOTHING = async (): Promise<void> => {};

/** Every verb of the facade. */
export const SCOPE_TABLE: { readonly [verb in VerbName]: Row } = {
  write: {
    creates: true,
    call: ({ memory, visibility, access }) =>
      memory.write({ type: "note", text: "new", tags: ["trip"], visibility }, { access }),
  },
  get: { call: ({ memory, id, access }) => memory.get(id, { access }) },
  resolve: {
    call: async ({ memory, id, access }) =>
      memory.resolve((await memory.get(id))?.uri ?? "", { access }),
  },
  update: {
    call: ({ memory, id, access }) => memory.update(id, { text: "marker changed" }, { access }),
  },
  updateHead: {
    call: ({ memory, id, access }) => memory.updateHead(id, { importance: 9 }, { access }),
  },
  tombstone: { call: ({ memory, id, access }) => memory.tombstone(id, "r", { access }) },
  restore: { call: ({ memory, id, access }) => memory.restore(id, { access }) },
  history: { call: ({ memory, id, access }) => memory.history(id, { access }) },
  list: { call: ({ memory, access }) => memory.list({ tag: "trip", access }) },
  recall: { call: ({ memory, word, access }) => memory.recall(`${word} rule`, { access }) },
  search: { call: ({ memory, word, access }) => memory.search(word, { access }) },
  searchBatch: {
    call: async ({ memory, word, access }) =>
      (await memory.searchBatch([{ text: word }], { access })).hits,
  },
  find: { call: ({ memory, access }) => memory.find({ tags: ["trip"], limit: 50, access }) },
  batch: {
    call: ({ memory, id, access }) =>
      memory.batch([{ update: { id, text: "marker batch" } }], { access }),
  },
  remember: {
    creates: true,
    call: ({ memory, visibility, access }) =>
      memory.remember([{ role: "user", content: "c" }], {
        session: `new-${visibility}`,
        visibility,
        access,
        ...(access.kind === "scope" ? {} : { source: "agent" }),
      }),
  },
  session: {
    // Without the name of the session, which only repeats the question.
    call: async ({ memory, word, access }) =>
      (await memory.session(`session-${word}`, { access })).turns,
  },
  sessions: { call: ({ memory, access }) => memory.sessions({ access }) },
  addEdge: {
    call: ({ memory, id, graph, visibility, access }) =>
      memory.addEdge(graph.partners[visibility], "uses", id, {}, { access }),
  },
  link: {
    call: ({ memory, id, graph, visibility, access }) =>
      memory.link(graph.partners[visibility], "blocks", id, {}, { access }),
  },
  removeEdge: {
    call: ({ memory, id, graph, visibility, access }) =>
      memory.removeEdge(id, "relates", graph.partners[visibility], { access }),
  },
  removeEdgeById: {
    call: ({ memory, graph, visibility, access }) =>
      memory.removeEdgeById(graph.edges[visibility], { access }),
  },
  getEdge: {
    call: ({ memory, id, graph, visibility, access }) =>
      memory.getEdge(id, "relates", graph.partners[visibility], { access }),
  },
  edgesOut: { call: ({ memory, id, access }) => memory.edgesOut(id, { access }) },
  edgesIn: {
    call: ({ memory, graph, visibility, access }) =>
      memory.edgesIn(graph.partners[visibility], { access }),
  },
  traverse: {
    call: ({ memory, id, access }) => memory.traverse(id, { direction: "both", access }),
  },
  linksFrom: { call: ({ memory, id, access }) => memory.linksFrom(id, { access }) },
  backlinksTo: {
    call: ({ memory, graph, visibility, access }) =>
      memory.backlinksTo(graph.partners[visibility], { access }),
  },
  inspect: { call: ({ memory, id, access }) => memory.inspect(id, { access }) },
  context: { call: ({ memory, access }) => memory.context({ access }) },
  attest: {
    skips: true,
    call: ({ memory, id, access }) =>
      memory.attest({ intentId: id, outcome: "success", cited: [id] }, { access }),
  },
  weights: { call: ({ memory, access }) => memory.weights({ access }) },
  compactContext: {
    call: ({ memory, id, access }) =>
      memory.compactContext({ inContext: [id], intentId: "i", stepId: "s" }, { access }),
  },
  contextRecord: { call: ({ memory, access }) => memory.contextRecord("i", "s", { access }) },
  goalState: {
    call: ({ memory, graph, visibility, access }) =>
      memory.goalState(graph.partners[visibility], { access }),
  },
  setGoalState: {
    call: ({ memory, graph, visibility, access }) =>
      memory.setGoalState(graph.partners[visibility], {} as never, { access }),
  },
  deleteGoalState: {
    call: ({ memory, graph, visibility, access }) =>
      memory.deleteGoalState(graph.partners[visibility], { access }),
  },
  goalStates: { call: ({ memory, access }) => memory.goalStates({ access }) },
  config: { call: ({ memory, access }) => memory.config({ access }) },
  configure: {
    call: ({ memory, access }) => memory.configure({ trustedIssuers: [ISSUER_KEY] }, { access }),
  },
  log: { call: ({ memory, access }) => memory.log({ access }) },
  journalPage: { call: ({ memory, access }) => memory.journalPage({ access }) },
  subscribe: {
    call: async ({ memory, access }) => {
      const subscription = memory.subscribe({ access });
      await subscription[Symbol.asyncIterator]().return?.();
    },
  },
  stats: { call: ({ memory, access }) => memory.stats({ access }) },
  describeSchema: { call: ({ memory, access }) => memory.describeSchema({ access }) },
  listTags: { call: ({ memory, access }) => memory.listTags({ access }) },
  changes: { call: ({ memory, access }) => memory.changes(0, undefined, { access }) },
  revert: {
    call: async ({ memory, access }) => {
      const { entries } = await memory.stats();
      return memory.revert(entries - 1, { access });
    },
  },
  forget: { call: ({ memory, id, access }) => memory.forget(id, "r", { access }) },
  root: { call: ({ memory, access }) => memory.root({ access }) },
  checkpoint: { call: ({ memory, access }) => memory.checkpoint({ access }) },
  snapshot: { call: ({ memory, access }) => memory.snapshot("s", { access }) },
  snapshots: { call: ({ memory, access }) => memory.snapshots({ access }) },
  prove: {
    needsProofs: true,
    // The proof is base64: the document inside is what has to be looked at.
    call: async ({ memory, id, access }) =>
      Buffer.from((await memory.prove([id], { access })).bytes, "base64").toString("latin1"),
  },
  share: { call: ({ memory, access }) => memory.share({ tags: ["trip"], access }) },
  check: { call: ({ memory, access }) => memory.check({ access }) },
  scrub: { call: ({ memory, access }) => memory.scrub({ access }) },
  maintain: { call: ({ memory, access }) => memory.maintain({ dryRun: true, access }) },
  rebuild: { call: ({ memory, access }) => memory.rebuild({ verifyOnly: true, access }) },
  vacuum: { call: ({ memory, access }) => memory.vacuum({ access }) },
  exportJournal: { call: ({ memory, access }) => memory.exportJournal(NOTHING, { access }) },
  backup: { call: ({ memory, access }) => memory.backup(NOTHING, { access }) },
  erasures: { call: ({ memory, access }) => memory.erasures({ access }) },
  extract: { call: ({ memory, access }) => memory.extract({ access }) },
  relink: { call: ({ memory, access }) => memory.relink({ access }) },
  embedPending: { call: ({ memory, access }) => memory.embedPending({ access }) },
  postScope: { call: ({ memory, access, scope }) => memory.postScope(scope, { access }) },
  slotHistory: {
    // Without the name of the slot, which only repeats the question.
    call: async ({ memory, word, access }) => (await memory.slotHistory(word, { access })).values,
  },
  review: { call: ({ memory, access }) => memory.review({ access }) },
  settle: {
    call: async ({ memory, graph, visibility, access }) => {
      const keep = graph.partners[visibility];
      // Open again, whoever settled it before; about a memory that never was there is nothing to open.
      if ((await memory.get(keep)) !== undefined) {
        await memory.updateHead(keep, { status: "disputed" });
      }
      const decision = { decision: "keep_one", keep, reason: "r", source: "agent" } as const;
      return memory.settle(`disputed-${keep}`, decision, { access });
    },
  },
  showScope: { call: ({ memory, access, scope }) => memory.showScope(scope, { access }) },
  revokeScope: { call: ({ memory, access }) => memory.revokeScope("ab".repeat(32), { access }) },
};

/** Whether an answer tells anything of the memory of a visibility. */
export function tells(answer: unknown, { id, visibility, graph }: Subject): boolean {
  const said = JSON.stringify(answer) ?? "";
  const words = [wordOf(visibility), id, graph.partners[visibility], graph.edges[visibility]];
  return words.some((word) => said.includes(word));
}
