/**
 * Finding memories by exact conditions, and the words in use to find them by.
 */
import { showFound } from "../render/find.js";
import { showSchema, showTags } from "../render/upkeep.js";
import { verbRow } from "./define.js";

const findOperation = verbRow("find", {
  help: `Give at least one thing an index serves (a type, tag, kind, slot, session, frame, words, a
meaning, a start to walk from, or a bound on head.createdAt or head.updatedAt) and a limit or a token budget. --where takes a
predicate as JSON, such as {"gte": ["head.importance", 7]}; the page on find lists operators and fields.
Hits come newest first unless --order says otherwise. --explain tells which index was read.`,
  example: `cortex find --type fact --tag travel --where '{"gte": ["head.importance", 5]}' --limit 10`,
  cli: {
    command: "find",
    group: "memories",
    flags: {
      tags: "tag",
      kinds: "kind",
      orderBy: "order",
      lifecycles: "lifecycle",
      budgetTokens: "budget",
      lateBinding: "late",
      countTotal: "count",
    },
    human: showFound,
  },
});

const describeSchemaOperation = verbRow("describeSchema", {
  help: `Exact counts over active memories and live edges, the most frequent first. Kinds come with three
examples, the newest first. The long lists are cut; distinct says how many names there are.`,
  example: "cortex schema",
  cli: { command: "schema", group: "store", human: showSchema },
});

const listTagsOperation = verbRow("listTags", {
  help: `The most frequent first, then in the order of their letters; 100 unless --limit says otherwise. A
prefix tells capitals from small letters.`,
  example: "cortex tags --limit 10",
  cli: {
    command: "tags",
    group: "store",
    arguments: [{ field: "prefix", label: "PREFIX", optional: true }],
    human: showTags,
  },
});

/** The operations that find by exact conditions. */
export const FIND_OPERATIONS = [findOperation];

/** The operations that say which words are in use. */
export const SCHEMA_OPERATIONS = [describeSchemaOperation, listTagsOperation];
