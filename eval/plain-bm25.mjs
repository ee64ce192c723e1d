/**
 * Plain BM25 (k1 1.2, b 0.75) over whole texts: the line that recall has to beat, on the same
 * questions in the same run. Lower case, English stop words dropped, plural and verb endings cut.
 */

const STOP = new Set(
  `a an the and or but if of to in on at for with by from as is are was were be been being it its this
that these those i you he she we they me him her us them my your his our their do does did done have
has had having not no so than then too very can will just what which who whom when where why how s t
about into over after before up down out off again there here all any both each few more most other
some such only own same`.split(/\s+/),
);

const ENDINGS = ["ingly", "edly", "ings", "ing", "ed", "ies", "es", "s", "ly"];

/** @param {string} word */
function stem(word) {
  const ending = ENDINGS.find((end) => word.endsWith(end) && word.length - end.length >= 3);
  let root = word;
  if (ending !== undefined) {
    root = word.slice(0, -ending.length) + (ending === "ies" ? "y" : "");
  }
  if (root.endsWith("e") && root.length > 4) root = root.slice(0, -1);
  const last = root.at(-1) ?? "";
  if (root.length > 3 && last === root.at(-2) && !"lsz".includes(last)) root = root.slice(0, -1);
  return root;
}

/**
 * @param {string} text
 * @returns {string[]}
 */
function words(text) {
  const found = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return found.flatMap((word) => (STOP.has(word) ? [] : [stem(word)]));
}

/**
 * A function from a question to the keys of the documents, best first.
 * @param {readonly { readonly key: string, readonly text: string }[]} documents
 * @returns {(question: string) => string[]}
 */
export function plainBm25(documents) {
  /** @type {Map<string, [number, number][]>} */
  const postings = new Map();
  const lengths = documents.map(({ text }, at) => {
    const tokens = words(text);
    for (const [word, count] of counted(tokens)) {
      const list = postings.get(word) ?? [];
      list.push([at, count]);
      postings.set(word, list);
    }
    return tokens.length;
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  return (question) => {
    /** @type {Map<number, number>} */
    const scores = new Map();
    for (const [word, weight] of counted(words(question))) {
      const list = postings.get(word) ?? [];
      const idf = Math.log(1 + (documents.length - list.length + 0.5) / (list.length + 0.5));
      for (const [at, count] of list) {
        const norm = 1.2 * (0.25 + (0.75 * (lengths[at] ?? 0)) / average);
        scores.set(at, (scores.get(at) ?? 0) + (weight * idf * count * 2.2) / (count + norm));
      }
    }
    const order = [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return order.flatMap(([at]) => documents[at]?.key ?? []);
  };
}

/** @param {readonly string[]} items */
function counted(items) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
