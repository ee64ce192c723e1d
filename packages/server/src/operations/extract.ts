/**
 * Operations that ask a model: distilling the turns that wait, and looking for links in a whole graph.
 */
import { showExtracted, showRelinked } from "../render/extract.js";
import { verbRow } from "./define.js";

const extractOperation = verbRow("extract", {
  help: `Asks the model that the settings name what is worth remembering of the turns that were not distilled yet.
Facts are written with the session and turn they come from, under the source extraction; one that contradicts your own
words waits for review beside them. A reply that is not what was asked for changes nothing, and its turns are tried
again.`,
  example: "cortex extract --dry-run",
  cli: {
    command: "extract",
    group: "sessions",
    unit: "turns",
    broken: "What was distilled is kept; cortex extract goes on with the turns that wait.",
    human: showExtracted,
  },
});

const relinkOperation = verbRow("relink", {
  help: `Shows every fact with its neighbours in the whole graph to the model that the settings name, and links those
that it has a reason for. A link that is there stays as it is, so it is safe to repeat. The answer says where to go on.`,
  example: "cortex relink --dry-run --limit 5",
  cli: {
    command: "relink",
    group: "edges",
    unit: "memories",
    broken: "Links that were made are kept; cortex relink may be run again, and makes none twice.",
    human: showRelinked,
  },
});

/** The operations by which a model reads conversations and memories. */
export const EXTRACT_OPERATIONS = [extractOperation, relinkOperation];
