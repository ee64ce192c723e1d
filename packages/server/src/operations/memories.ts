/**
 * Operations on memories and on the links between them: writing, reading, changing, hiding; and the runtime state that
 * schedulers keep beside a goal.
 */

import {
  type BatchItemResult,
  DATA_SCHEMAS,
  headFields,
  VERBS,
  versionFields,
  writeFields,
} from "@cortex-memory/core/contract";
import * as z from "zod";
import {
  showEdge,
  showEdgeAdded,
  showEdgeRemoved,
  showEdges,
  showLinks,
  showTraversal,
} from "../render/edges.js";
import {
  showBatch,
  showForgotten,
  showHistory,
  showInspection,
  showMemory,
  showPage,
  showWritten,
} from "../render/memories.js";
import { defineOperation, verbRow } from "./define.js";

/** An item that failed, with its error as JSON says it. */
function plainResult(result: BatchItemResult): object {
  return result.ok ? result : { ok: false, error: result.error.toJSON() };
}

/** The operations on memories. */
export const MEMORY_OPERATIONS = [
  verbRow("write", {
    help: `One sentence is enough. The argument is that sentence, or a JSON object with any of the fields
below and the data fields of the type; \`-\` reads it from stdin. Flags win over the object.
A memory in a slot replaces the one that was there, which becomes history; without a slot nothing is
replaced unless supersedes names it.`,
    example: 'cortex write fact "Ada lives in Porto" --slot "home city" --tag travel',
    cli: {
      command: "write",
      store: "create",
      group: "memories",
      arguments: [
        { field: "type", label: "TYPE" },
        { body: "memory", label: "TEXT|JSON|-", words: true },
      ],
      flags: { tags: "tag", data: "fields" },
      human: showWritten("wrote"),
    },
  }),
  defineOperation({
    name: "note",
    verbs: ["write"],
    kind: "write",
    summary: "Write a note: free text under a kind",
    help: `The kind is an open label such as meeting, idea or summary. \`-\` reads the text from stdin.`,
    example: 'cortex note meeting "Ada and Grace settled the route" --tag travel',
    input: z.strictObject({
      kind: headFields.kind.unwrap().describe("an open label"),
      text: versionFields.text.unwrap().describe("the content of the note"),
      summary: DATA_SCHEMAS.note.shape.summary.describe("the content in short"),
      metadata: DATA_SCHEMAS.note.shape.metadata.describe("anything else, as JSON"),
      tags: headFields.tags,
      importance: headFields.importance,
      visibility: headFields.visibility,
      externalId: writeFields.externalId,
      source: writeFields.source,
      by: writeFields.by,
      idempotencyKey: writeFields.idempotencyKey,
    }),
    output: VERBS.write.output,
    call: (memory, input, { access }) => memory.write({ type: "note", ...input }, { access }),
    cli: {
      command: "note",
      store: "create",
      group: "memories",
      arguments: [
        { field: "kind", label: "KIND" },
        { field: "text", label: "TEXT|-", stdin: true, words: true },
      ],
      flags: { tags: "tag" },
      human: showWritten("wrote"),
    },
  }),
  verbRow("get", {
    help: "A memory that is not there is a failure with ERR_NOT_FOUND.",
    example: "cortex get home --as-of 3",
    cli: {
      command: "get",
      group: "memories",
      arguments: [{ field: "id", label: "URI|ID" }],
      human: showMemory,
    },
  }),
  verbRow("resolve", {
    help: "Unlike get, only a full URI is accepted, and its type must be the memory's.",
    example: "cortex resolve cortex://default/Fact/01JADA000000000000000000H0#1",
    absent: ({ uri }) => `uri: nothing at ${uri}`,
    cli: { command: "resolve", group: "memories", human: showMemory },
  }),
  verbRow("update", {
    help: `The argument is the new sentence, or a JSON object with any of the fields below and the data
fields of the memory's type; \`-\` reads it from stdin. Give --based-on-version, the version you read,
so that nobody else's change is lost.`,
    example: 'cortex update home "Ada lives in Porto, near the river" --based-on-version 1',
    cli: {
      command: "update",
      group: "memories",
      arguments: [
        { field: "id", label: "ID" },
        { body: "memory", label: "TEXT|JSON|-", words: true },
      ],
      flags: { data: "fields" },
      human: showWritten("updated"),
    },
  }),
  verbRow("updateHead", {
    help: "What is given replaces what was there; what is not given stays.",
    example: "cortex update-head home --tag travel --tag home --importance 8",
    cli: {
      command: "update-head",
      group: "memories",
      flags: { tags: "tag" },
      human: showWritten("changed"),
    },
  }),
  verbRow("tombstone", {
    help: "Hiding what is hidden changes nothing. The reason is kept.",
    example: 'cortex tombstone rule --reason "Ada changed her mind"',
    cli: {
      command: "tombstone",
      group: "memories",
      arguments: [
        { field: "id", label: "ID" },
        { field: "reason", label: "REASON", optional: true, words: true },
      ],
      human: showWritten("hid"),
    },
  }),
  verbRow("restore", {
    help: `Given the id of a memory. Refused with ERR_CONFLICT while another memory stands in its place; --swap
archives that one. The same command restores a whole store when it is given backup files: see below.`,
    example: "cortex restore rule",
    cli: { command: "restore", group: "memories", human: showWritten("restored") },
  }),
  verbRow("forget", {
    help: `Nothing brings it back. The answer names what was derived from it and is still there; --cascade
forgets that as well. The id is never used again, and earlier proofs still verify. Instead of an id: --session
forgets a whole conversation, --slot every value a slot ever had, --tag all memories under a tag, hidden
ones too, a thousand in one call; --dry-run lists them first.`,
    example: 'cortex forget --session chat-1 --reason "asked by Ada" --dry-run',
    cli: {
      command: "forget",
      group: "memories",
      arguments: [
        { field: "id", label: "ID", optional: true },
        { field: "reason", label: "REASON", optional: true, words: true },
      ],
      human: showForgotten,
    },
  }),
  verbRow("history", {
    help: "What a slot held before is another memory: see cortex slot.",
    example: "cortex history home",
    cli: { command: "history", group: "memories", human: showHistory },
  }),
  verbRow("inspect", {
    help: "Everything is read at one position of the journal.",
    example: "cortex inspect home",
    cli: { command: "inspect", group: "memories", human: showInspection },
  }),
  verbRow("list", {
    help: "A list goes by one of them; with none it shows every type. --cursor reads on.",
    example: "cortex list --type fact --limit 10",
    cli: {
      command: "list",
      group: "memories",
      flags: { lifecycles: "lifecycle" },
      human: showPage,
    },
  }),
  verbRow("batch", {
    help: `Takes a JSON array or JSON lines from a file or stdin. An item is one of
{"write": {…}, "ref": "a"}, {"update": {"id": …, …}} and {"link": {"from": {"ref": "a"}, "kind": …, "to": …}}.
One failing item fails all, unless --no-atomic lets the others stand.`,
    example: `echo '[{"write": {"type": "fact", "text": "Ada speaks Portuguese"}}]' | cortex batch -`,
    render: (answer) => ({ ...answer, results: answer.results.map(plainResult) }),
    cli: {
      command: "batch",
      store: "create",
      group: "memories",
      arguments: [{ body: "items", label: "FILE|-", file: true }],
      human: showBatch,
    },
  }),
];

const goalArgument = { field: "id", label: "ID" } as const;

/** The operations on goals. */
export const GOAL_OPERATIONS = [
  defineOperation({
    name: "goalState",
    verbs: ["goalState"],
    kind: "read",
    summary: "Read the runtime state of a goal",
    help: `What was counted on an earlier day (UTC) than today reads as zero, if lastResetAt says so.
A goal without a state is a failure with ERR_NOT_FOUND.`,
    example: "cortex goal get trip",
    input: VERBS.goalState.input,
    output: VERBS.goalState.output.extend({ id: z.string() }),
    absent: ({ id }) => `id: no goal state of ${id}`,
    call: async (memory, { id }, { access }) => {
      const state = await memory.goalState(id, { access });
      if (state === undefined) return undefined;
      // The reference may be an external name; the answer gives the id.
      const goal = await memory.get(id, { access });
      return { id: goal?.id ?? id, state };
    },
    cli: { command: "goal get", group: "goals", arguments: [goalArgument] },
  }),
  verbRow("setGoalState", {
    help: `The state is a JSON object with any of nextEvalAt, lastEvalAt, lastEvalDecision,
failureStreak, intentsTodayCount, spentToday, lastIntentId and lastResetAt; \`-\` reads it from stdin.`,
    example: `cortex goal set trip '{"failureStreak": 1, "spentToday": "12.50"}'`,
    cli: {
      command: "goal set",
      group: "goals",
      arguments: [goalArgument, { body: "state", label: "JSON|-" }],
    },
  }),
  verbRow("deleteGoalState", {
    help: "A goal without a state is left as it is.",
    example: "cortex goal clear trip",
    cli: { command: "goal clear", group: "goals" },
  }),
  verbRow("goalStates", {
    help: "In the order of ids.",
    example: "cortex goal ls",
    cli: { command: "goal ls", group: "goals" },
  }),
];

/** The operations on links. */
export const EDGE_OPERATIONS = [
  verbRow("addEdge", {
    help: `Adding a link that is there changes nothing; adding a removed one revives it. Built-in kinds are
listed on the page about edges; any other name becomes a kind of this graph.`,
    example: 'cortex edge add rule related_to home --reason "both came up in chat-1"',
    also: ["link"],
    cli: { command: "edge add", alias: "link", group: "edges", human: showEdgeAdded },
  }),
  verbRow("removeEdge", {
    help: "The link stays readable as removed. Removing what is not there changes nothing.",
    example: "cortex edge rm rule related_to home",
    cli: { command: "edge rm", group: "edges", human: showEdgeRemoved },
  }),
  verbRow("removeEdgeById", {
    help: "With --id instead of the ends. An id that no link has is a failure with ERR_NOT_FOUND.",
    example: 'cortex edge rm --id "$EDGE"',
    cli: { command: "edge rm", group: "edges", when: "id", arguments: [], human: showEdgeRemoved },
  }),
  verbRow("getEdge", {
    help: "A link that never was is a failure with ERR_NOT_FOUND.",
    example: "cortex edge get rule related_to home",
    absent: ({ from, kind, to }) => `edge: none from ${from} by ${kind} to ${to}`,
    cli: { command: "edge get", group: "edges", human: showEdge },
  }),
  defineOperation({
    name: "edges",
    verbs: ["edgesOut", "edgesIn"],
    kind: "read",
    summary: "List the links of a memory",
    help: "Both directions unless --direction says otherwise, all at one position of the journal.",
    example: "cortex edge ls home --direction in",
    input: VERBS.edgesOut.input.extend({
      direction: z.enum(["out", "in", "both"]).describe("both when not given").optional(),
    }),
    output: VERBS.edgesOut.output,
    call: async (memory, { id, direction = "both", ...rest }, { access }) => {
      const options = { ...rest, access };
      if (direction === "in") return memory.edgesIn(id, options);
      const out = await memory.edgesOut(id, options);
      if (direction === "out") return out;
      const into = await memory.edgesIn(id, { ...options, asOf: out.seq });
      // A symmetric link is found from both ends, and listed once.
      const known = new Set(out.edges.map((edge) => edge.id));
      const edges = [...out.edges, ...into.edges.filter((edge) => !known.has(edge.id))];
      return { edges: edges.slice(0, rest.limit ?? edges.length), seq: out.seq };
    },
    cli: {
      command: "edge ls",
      group: "edges",
      arguments: [{ field: "id", label: "ID" }],
      flags: { kinds: "kind" },
      human: showEdges,
    },
    // The noun alone is memgraph's path for writing one.
    http: { path: "list-edges" },
  }),
  verbRow("traverse", {
    help: "Breadth first, along outgoing links one hop far unless told otherwise; 6 hops at most.",
    example: "cortex traverse home --direction both --max-hops 2",
    cli: {
      command: "traverse",
      group: "edges",
      flags: { kinds: "kind" },
      human: showTraversal,
    },
  }),
  verbRow("linksFrom", {
    help: `In the words of this memory, by group: what it causes and what it was caused by (marked as inverse), and
symmetric links whichever way round they were said. edge ls gives them in full.`,
    example: "cortex links rule",
    cli: { command: "links", group: "edges", human: showLinks },
  }),
  verbRow("backlinksTo", {
    help: "Links in brief; edge ls gives them in full.",
    example: "cortex backlinks home",
    cli: { command: "backlinks", group: "edges", human: showLinks },
  }),
];
