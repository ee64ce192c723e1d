/**
 * Operations on memories: writing, reading, changing, hiding.
 */
import { type BatchItem, frameSchema } from "@cortex-memory/core";
import * as z from "zod";
import {
  showBatch,
  showForgotten,
  showHistory,
  showInspection,
  showMemory,
  showPage,
  showWritten,
} from "../render/memories.js";
import { defineOperation } from "./define.js";
import {
  anyObject,
  asOf,
  by,
  headFields,
  idempotencyKey,
  lifecycles,
  limit,
  listOf,
  memoryType,
  oneOrMore,
  ref,
  source,
  timeField,
  versionFields,
} from "./fields.js";
import {
  batchShape,
  forgottenShape,
  historyShape,
  inspectionShape,
  memoryPageShape,
  memoryShape,
  writtenShape,
} from "./shapes.js";

const noMemory = ({ id }: { readonly id: string }): string => `id: no memory ${id}`;

const birthFields = {
  externalId: z.string().describe("a name of your own, unique in the graph").exactOptional(),
  source,
  by,
  idempotencyKey,
};

const writeOperation = defineOperation({
  name: "write",
  verbs: ["write"],
  kind: "write",
  summary: "Write one memory",
  help: `One sentence is enough. The argument is that sentence, or a JSON object with any of the fields
below and the data fields of the type; \`-\` reads it from stdin. Flags win over the object.
Text that is known already reinforces the memory that says it. A memory in a slot replaces the one
that was there, which becomes history; without a slot nothing is replaced unless supersedes names it.`,
  example: 'cortex write fact "Ada lives in Porto" --slot "home city" --tag travel',
  input: z.looseObject({
    type: memoryType,
    ...versionFields,
    slot: z.string().describe("the single-valued attribute it is the value of").exactOptional(),
    ...headFields,
    ...birthFields,
    id: z.string().describe("a new ULID of your own").exactOptional(),
    supersedes: listOf(z.string())
      .describe("a memory this one replaces; may be repeated")
      .exactOptional(),
    corrects: z.string().describe("a memory this one amends").exactOptional(),
    similar: z
      .boolean()
      .describe("name live memories that say nearly the same, at the price of a search")
      .exactOptional(),
  }),
  output: writtenShape,
  call: (memory, { similar = false, ...input }, { access }) =>
    memory.write(input, { access, similar }),
  cli: {
    command: "write",
    store: "create",
    group: "memories",
    arguments: [
      { field: "type", label: "TYPE" },
      { body: "memory", label: "TEXT|JSON|-" },
    ],
    flags: { tags: "tag", data: "fields" },
    human: showWritten("wrote"),
  },
});

const noteOperation = defineOperation({
  name: "note",
  verbs: ["write"],
  kind: "write",
  summary: "Write a note: free text under a kind",
  help: `The kind is an open label such as meeting, idea or summary. \`-\` reads the text from stdin.`,
  example: 'cortex note meeting "Ada and Grace settled the route" --tag travel',
  input: z.strictObject({
    kind: z.string().describe("an open label"),
    text: z.string().describe("the content of the note"),
    summary: z.string().describe("the content in short").exactOptional(),
    metadata: anyObject.describe("anything else, as JSON").exactOptional(),
    tags: headFields.tags,
    importance: headFields.importance,
    visibility: headFields.visibility,
    ...birthFields,
  }),
  output: writtenShape,
  call: (memory, input, { access }) => memory.write({ type: "note", ...input }, { access }),
  cli: {
    command: "note",
    store: "create",
    group: "memories",
    arguments: [
      { field: "kind", label: "KIND" },
      { field: "text", label: "TEXT|-", stdin: true },
    ],
    flags: { tags: "tag" },
    human: showWritten("wrote"),
  },
});

const getOperation = defineOperation({
  name: "get",
  verbs: ["get"],
  kind: "read",
  summary: "Read one memory",
  help: "A memory that is not there is a failure with ERR_NOT_FOUND.",
  example: "cortex get home --as-of 3",
  input: z.strictObject({
    id: ref,
    asOf,
    version: z.int().min(1).describe("a version other than the current one").exactOptional(),
    validAt: timeField("the version that held in the world then").exactOptional(),
  }),
  output: memoryShape,
  absent: noMemory,
  call: (memory, { id, ...options }, { access }) => memory.get(id, { ...options, access }),
  cli: {
    command: "get",
    group: "memories",
    arguments: [{ field: "id", label: "URI|ID" }],
    human: showMemory,
  },
});

const resolveOperation = defineOperation({
  name: "resolve",
  verbs: ["resolve"],
  kind: "read",
  summary: "Read exactly what a URI pins",
  help: "Unlike get, only a full URI is accepted, and its type must be the memory's.",
  example: "cortex resolve cortex://default/Fact/01JADA000000000000000000H0#1",
  input: z.strictObject({ uri: z.string().describe("a URI with its version"), asOf }),
  output: memoryShape,
  absent: ({ uri }) => `uri: nothing at ${uri}`,
  call: (memory, { uri, ...options }, { access }) => memory.resolve(uri, { ...options, access }),
  cli: {
    command: "resolve",
    group: "memories",
    arguments: [{ field: "uri", label: "URI" }],
    human: showMemory,
  },
});

const updateOperation = defineOperation({
  name: "update",
  verbs: ["update"],
  kind: "write",
  summary: "Append a version to a memory",
  help: `The argument is the new sentence, or a JSON object with any of the fields below and the data
fields of the memory's type; \`-\` reads it from stdin. Give --based-on-version, the version you read,
so that nobody else's change is lost.`,
  example: 'cortex update home "Ada lives in Porto, near the river" --based-on-version 1',
  input: z.looseObject({
    id: ref,
    ...versionFields,
    basedOnVersion: z.int().min(1).describe("the version you read").exactOptional(),
    by,
    idempotencyKey,
  }),
  output: writtenShape,
  call: (memory, { id, ...input }, { access }) => memory.update(id, input, { access }),
  cli: {
    command: "update",
    group: "memories",
    arguments: [
      { field: "id", label: "ID" },
      { body: "memory", label: "TEXT|JSON|-" },
    ],
    flags: { data: "fields" },
    human: showWritten("updated"),
  },
});

const updateHeadOperation = defineOperation({
  name: "updateHead",
  verbs: ["updateHead"],
  kind: "write",
  summary: "Change tags, importance and the like, without a new version",
  help: "What is given replaces what was there; what is not given stays.",
  example: "cortex update-head home --tag travel --tag home --importance 8",
  input: z.strictObject({ id: ref, ...headFields, source, by }),
  output: writtenShape,
  call: (memory, { id, ...patch }, { access }) => memory.updateHead(id, patch, { access }),
  cli: {
    command: "update-head",
    group: "memories",
    arguments: [{ field: "id", label: "ID" }],
    flags: { tags: "tag" },
    human: showWritten("changed"),
  },
});

const tombstoneOperation = defineOperation({
  name: "tombstone",
  verbs: ["tombstone"],
  kind: "write",
  summary: "Hide a memory; restore brings it back",
  help: "Hiding what is hidden changes nothing. The reason is kept.",
  example: 'cortex tombstone rule --reason "Ada changed her mind"',
  input: z.strictObject({ id: ref, reason: z.string().describe("why it is hidden"), by }),
  output: writtenShape,
  call: (memory, { id, reason, ...options }, { access }) =>
    memory.tombstone(id, reason, { ...options, access }),
  cli: {
    command: "tombstone",
    group: "memories",
    arguments: [
      { field: "id", label: "ID" },
      { field: "reason", label: "REASON", optional: true },
    ],
    human: showWritten("hid"),
  },
});

const restoreOperation = defineOperation({
  name: "restore",
  verbs: ["restore"],
  kind: "write",
  summary: "Bring back what was hidden or archived",
  help: `Given the id of a memory. Refused with ERR_CONFLICT while another memory stands in its place; --swap
archives that one. The same command restores a whole store when it is given backup files: see below.`,
  example: "cortex restore rule",
  input: z.strictObject({
    id: ref,
    swap: z.boolean().describe("archive what took its place, instead of refusing").exactOptional(),
    by,
  }),
  output: writtenShape,
  call: (memory, { id, ...options }, { access }) => memory.restore(id, { ...options, access }),
  cli: {
    command: "restore",
    group: "memories",
    arguments: [{ field: "id", label: "ID" }],
    human: showWritten("restored"),
  },
});

const forgetOperation = defineOperation({
  name: "forget",
  verbs: ["forget"],
  kind: "write",
  summary: "Destroy a memory's content for good",
  help: `Nothing brings it back. The answer names what was derived from it and is still there; --cascade
forgets that as well. The id is never used again, and earlier proofs still verify.`,
  example: 'cortex forget secret --reason "asked by Ada"',
  input: z.strictObject({
    id: ref,
    reason: z.string().describe("why it is forgotten"),
    cascade: z.boolean().describe("forget what was derived from it as well").exactOptional(),
    by,
  }),
  output: forgottenShape,
  call: (memory, { id, reason, ...options }, { access }) =>
    memory.forget(id, reason, { ...options, access }),
  cli: {
    command: "forget",
    group: "memories",
    arguments: [
      { field: "id", label: "ID" },
      { field: "reason", label: "REASON", optional: true },
    ],
    human: showForgotten,
  },
});

const historyOperation = defineOperation({
  name: "history",
  verbs: ["history"],
  kind: "read",
  summary: "List the versions of a memory, newest first",
  help: "What a slot held before is another memory: see cortex slot.",
  example: "cortex history home",
  input: z.strictObject({ id: ref, asOf }),
  output: historyShape,
  absent: noMemory,
  call: async (memory, { id, ...options }, { access }) => {
    const versions = await memory.history(id, { ...options, access });
    return versions === undefined ? undefined : { versions };
  },
  cli: {
    command: "history",
    group: "memories",
    arguments: [{ field: "id", label: "ID" }],
    human: showHistory,
  },
});

const inspectOperation = defineOperation({
  name: "inspect",
  verbs: ["inspect"],
  kind: "read",
  summary: "Show a memory with its links, versions and counters",
  help: "Everything is read at one position of the journal.",
  example: "cortex inspect home",
  input: z.strictObject({ id: ref, asOf }),
  output: inspectionShape,
  absent: noMemory,
  call: (memory, { id, ...options }, { access }) => memory.inspect(id, { ...options, access }),
  cli: {
    command: "inspect",
    group: "memories",
    arguments: [{ field: "id", label: "ID" }],
    human: showInspection,
  },
});

const listOperation = defineOperation({
  name: "list",
  verbs: ["list"],
  kind: "read",
  summary: "List memories by type, tag, kind, slot, session or frame",
  help: "A list goes by one of them; with none it shows every type. --cursor reads on.",
  example: "cortex list --type fact --limit 10",
  input: z.strictObject({
    type: oneOrMore(memoryType).describe("a type; may be repeated").exactOptional(),
    tag: z.string().describe("memories with this tag").exactOptional(),
    kind: headFields.kind,
    slot: z.string().describe("memories of this slot").exactOptional(),
    session: z.string().describe("the turns of this conversation").exactOptional(),
    frame: frameSchema.describe("memories with this frame, as JSON").exactOptional(),
    lifecycles,
    order: z.enum(["newest", "oldest"]).describe("newest when not given").exactOptional(),
    limit,
    cursor: z.string().describe("where the page before ended").exactOptional(),
    asOf,
    validAt: timeField("the version of each that held in the world then").exactOptional(),
  }),
  output: memoryPageShape,
  call: (memory, options, { access }) => memory.list({ ...options, access }),
  cli: {
    command: "list",
    group: "memories",
    flags: { lifecycles: "lifecycle" },
    human: showPage,
  },
});

const batchOperation = defineOperation({
  name: "batch",
  verbs: ["batch"],
  kind: "write",
  summary: "Do many writes, updates and links in one commit",
  help: `Takes a JSON array or JSON lines from a file or stdin. An item is one of
{"write": {…}, "ref": "a"}, {"update": {"id": …, …}} and {"link": {"from": {"ref": "a"}, "kind": …, "to": …}}.
One failing item fails all, unless --no-atomic lets the others stand.`,
  example: `echo '[{"write": {"type": "fact", "text": "Ada speaks Portuguese"}}]' | cortex batch -`,
  input: z.strictObject({
    items: listOf(anyObject).describe("what to do, in order"),
    atomic: z
      .boolean()
      .meta({ description: "let good items stand when others fail", standard: true })
      .exactOptional(),
    idempotencyKey,
  }),
  output: batchShape,
  call: async (memory, { items, ...options }, { access }) => {
    const { results, seq } = await memory.batch(items as readonly BatchItem[], {
      ...options,
      access,
    });
    return {
      seq,
      results: results.map((result) => {
        if (result.ok) return result;
        const { code, message, details } = result.error;
        return { ok: false as const, error: { code, message, details: { ...details } } };
      }),
    };
  },
  cli: {
    command: "batch",
    store: "create",
    group: "memories",
    arguments: [{ body: "items", label: "FILE|-", file: true }],
    human: showBatch,
  },
});

/** The operations on memories. */
export const MEMORY_OPERATIONS = [
  writeOperation,
  noteOperation,
  getOperation,
  resolveOperation,
  updateOperation,
  updateHeadOperation,
  tombstoneOperation,
  restoreOperation,
  forgetOperation,
  historyOperation,
  inspectOperation,
  listOperation,
  batchOperation,
];
