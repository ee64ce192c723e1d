/**
 * Operations that find memories by words.
 */
import { showSearch, showSearchBatch } from "../render/search.js";
import { verbRow } from "./define.js";

const searchOperation = verbRow("search", {
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
});

const searchBatchOperation = verbRow("searchBatch", {
  help: `Up to eight searches; hits are ranked by where each search ranked them, so that what several of
them find comes first. Answers say which searches found a memory, counted from 0.`,
  example: 'cortex search-batch "where does Ada live" "home city" --limit 5',
  cli: {
    command: "search-batch",
    group: "memories",
    arguments: [{ field: "queries", label: "TEXT", rest: true }],
    human: showSearchBatch,
  },
});

/** The operations that find memories by words. */
export const SEARCH_OPERATIONS = [searchOperation, searchBatchOperation];
