/**
 * Operations that ask: by exact conditions, by words, by a question in plain words; and conversations, which are kept
 * and read back.
 */
import {
  showFound,
  showRecalled,
  showRemembered,
  showSearch,
  showSearchBatch,
  showSession,
  showSessions,
} from "../render/memories.js";
import { showSchema, showTags } from "../render/upkeep.js";
import { verbRow } from "./define.js";

/** The operations that find by exact conditions. */
export const FIND_OPERATIONS = [
  verbRow("find", {
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
  }),
];

/** The operations that say which words are in use. */
export const SCHEMA_OPERATIONS = [
  verbRow("describeSchema", {
    help: `Exact counts over active memories and live edges, the most frequent first. Kinds come with three
examples, the newest first. The long lists are cut; distinct says how many names there are.`,
    example: "cortex schema",
    cli: { command: "schema", group: "store", human: showSchema },
  }),
  verbRow("listTags", {
    help: `The most frequent first, then in the order of their letters; 100 unless --limit says otherwise. A
prefix tells capitals from small letters.`,
    example: "cortex tags --limit 10",
    cli: {
      command: "tags",
      group: "store",
      arguments: [{ field: "prefix", label: "PREFIX", optional: true }],
      human: showTags,
    },
  }),
];

/** The operations that find memories by words. */
export const SEARCH_OPERATIONS = [
  verbRow("search", {
    help: `Any text will do: words are alternatives, the more of them a memory holds the better, and
"words in quotes" must stand there as they are. Words are found whatever their ending, in the
language the graph is configured for. Found words are shown in square brackets.`,
    example: 'cortex search "where does Ada live" --limit 5',
    cli: {
      command: "search",
      group: "memories",
      arguments: [{ field: "text", label: "TEXT", words: true }],
      flags: { types: "type", kinds: "kind", tags: "tag", lifecycles: "lifecycle" },
      human: showSearch,
    },
  }),
  verbRow("searchBatch", {
    help: `Up to eight searches; hits are ranked by where each search ranked them, so that what several of
them find comes first. Answers say which searches found a memory, counted from 0.`,
    example: 'cortex search-batch "where does Ada live" "home city" --limit 5',
    cli: {
      command: "search-batch",
      group: "memories",
      arguments: [{ field: "queries", label: "TEXT", rest: true }],
      human: showSearchBatch,
    },
  }),
];

/** The operations that recall. */
export const RECALL_OPERATIONS = [
  verbRow("recall", {
    help: `Plain words; --also gives another way of putting it. Ranks by words, conversation,
names, slots, links, time and use, and by meaning when an embedder is configured. "weak" means that
nothing is a reliable answer. Asking how things were ("before", "used to") opens history.`,
    example: 'cortex recall "where does Ada live?" --budget 400',
    cli: {
      command: "recall",
      group: "memories",
      arguments: [{ field: "question", label: "TEXT", stdin: true, words: true }],
      flags: { budgetTokens: "budget", types: "type", kinds: "kind", tags: "tag" },
      human: showRecalled,
    },
  }),
];

/** The operations on conversations. */
export const SESSION_OPERATIONS = [
  verbRow("remember", {
    help: `Reads a file, or stdin for \`-\` or no argument: a JSON array of turns, JSON lines, or plain text,
which is one turn of the user. A turn is {"role", "content"} and may have id, index, speaker, at,
toolName and metadata. Giving turns again is safe: by their id or index, and without both as history
that is sent again. Without --session they go into one that is made for this run.`,
    example: 'echo "I moved to Porto. Never book me a red-eye." | cortex remember --session chat-1',
    cli: {
      command: "remember",
      store: "create",
      group: "sessions",
      arguments: [{ body: "turns", label: "FILE|-", file: true }],
      human: showRemembered,
    },
  }),
  verbRow("session", {
    help: "A session without turns is an empty answer, not a failure.",
    example: "cortex session chat-1",
    cli: { command: "session", group: "sessions", human: showSession },
  }),
  verbRow("sessions", {
    help: `Each with its number of turns, its times and how it begins; 50 unless
--limit says otherwise. distinct says how many there are.`,
    example: "cortex sessions --limit 10",
    cli: {
      command: "sessions",
      group: "sessions",
      arguments: [{ field: "prefix", label: "PREFIX", optional: true }],
      human: showSessions,
    },
  }),
];
