/**
 * Every limit of Cortex, named, with its reason. Relations between limits are asserted at load, so
 * that one cannot be changed without the others. Sizes are in UTF-8 bytes unless a name says otherwise.
 */

export const LIMITS = {
  /** Actor and graph names become folder names: short and plain. */
  actorChars: 64,
  /** The opaque principal in an entry header; never erased, so it must not grow into content. */
  principalBytes: 64,
  tags: 16,
  tagBytes: 64,
  frames: 16,
  frameRefBytes: 256,
  externalIdBytes: 256,
  kindBytes: 64,
  slotBytes: 128,
  sessionBytes: 256,
  speakerBytes: 128,
  /** One text of a memory; a longer turn is chunked. */
  contentBytes: 64 * 1024,
  /** Short labels inside data (topic, predicate, name, …). */
  labelBytes: 1024,
  /** Lists inside data (roles, evidence, artifacts, …). */
  listItems: 256,
  /** Of an imported memory: its content, stored in pieces of one text, its tags, who wrote it. */
  importedContentBytes: 8 * 1024 * 1024,
  importedTags: 256,
  importedAuthorBytes: 1024,
  /** Metadata of a memory or an edge, as canonical CBOR. */
  metadataBytes: 32 * 1024,
  metadataDepth: 16,
  reasonBytes: 4096,
  formShortTokens: 50,
  formMediumTokens: 200,
  /** A token is counted as four bytes. */
  bytesPerToken: 4,
  importanceMax: 10,
  /** Longest key any layer may build; every backend must take it. */
  keyBytes: 512,
  /** One memory with every field at its limit fits one entry. */
  entryBytes: 1024 * 1024,
  batchItems: 10_000,
  batchBytes: 32 * 1024 * 1024,
  /** Operations folded into one commit, and the bytes at which a group is closed. */
  groupOperations: 1024,
  groupBytes: 8 * 1024 * 1024,
  edgeKinds: 1000,
  edgeKindBytes: 64,
  edgeStrengthMax: 5,
  hops: 6,
  traverseNodes: 10_000,
  traverseNodesDefault: 1024,
  /** The strongest that a link of the kind `same_topic` may be. */
  sameTopicStrength: 2,
  /** Links of the kind `same_topic` that a memory may have: more say nothing. */
  sameTopicEdges: 12,
  /** Rows that one page of a review looks at before it is given short. */
  reviewRows: 5000,
  listLimit: 10_000,
  listLimitDefault: 50,
  /** Entries that a subscription reads, and holds, at a time. */
  followEntries: 256,
  /** The shortest and the longest pause between two looks at what other processes wrote. */
  pollMsMin: 20,
  pollMsMax: 60_000,
  /** Entries, and bytes of them, of one page of the journal; a batch is never split for it. */
  journalPageEntries: 1000,
  journalPageBytes: 4 * 1024 * 1024,
  /** Memories that one find looks at before it gives a short page, or refuses to sort them. */
  findCandidates: 100_000,
  /** Rows of its path that one find reads, those that give nothing or the same again included. */
  findRows: 2_000_000,
  /** Hits of one find that are journaled as used. */
  findLateHits: 1000,
  findBudgetTokens: 1_000_000,
  predicateNodes: 256,
  predicateDepth: 32,
  predicateValues: 1000,
  patternBytes: 1024,
  /** Instructions of one compiled pattern, and steps that all matches of one query may take. */
  patternProgram: 1000,
  matchSteps: 500_000_000,
  /** Names that a description of the graph shows of each sort; it counts all of them. */
  schemaKinds: 1000,
  schemaTags: 50,
  schemaSlots: 100,
  listTagsDefault: 100,
  rememberTurns: 10_000,
  idempotencyKeyBytes: 256,
  /** For how many later entries an idempotency key is honoured. */
  idempotencyEntries: 100_000,
  /** Answers of upkeep that a process keeps for those who repeat a call under its key. */
  idempotencyAnswers: 256,
  /** Memories that one attestation cites, and the bytes of each word that says of what. */
  cited: 256,
  intentIdBytes: 255,
  attestReasonBytes: 1024,
  /** Items of one list of a scope's selector, and the bytes of a scope with its proof. */
  scopeItems: 256,
  scopeBytes: 256 * 1024,
  /** Issuers of scopes that one graph trusts. */
  trustedIssuers: 64,
  /** How far the clocks of a signer and of a server may be apart. */
  signatureAgeMs: 5 * 60 * 1000,
  /** Buckets of rate limits that a process keeps. */
  rateBuckets: 10_000,
  /** Tokens of a context bundle: unless told otherwise, and at the most. */
  contextTokensDefault: 3000,
  contextTokens: 4000,
  /** Memories that a tier of a context bundle looks at, outcomes it shows, URIs of what it dropped. */
  contextCandidates: 1000,
  contextOutcomes: 100,
  contextOutcomesDefault: 3,
  contextReachable: 64,
  /** Memories of one compacted context, and its tokens unless told otherwise. */
  compactItems: 1000,
  compactTokensDefault: 4000,
  derivedFrom: 64,
  /** Numbers of one vector; the widest models in use have 4,096. */
  vectorDimensions: 8192,
  attestations: 64,
  /** The answer of a model; the replies that are asked for take a few kilobytes. */
  modelReplyBytes: 1024 * 1024,
  /** Turns, and bytes of text, that a model is shown at once; one long turn may stand alone. */
  extractTurns: 40,
  extractBytes: 48 * 1024,
  /** Memories that a model is shown beside them, and the bytes of each that it sees. */
  extractKnown: 12,
  extractKnownBytes: 400,
  /** Facts and relationships of one reply that count, and the bytes of a fact. */
  extractFacts: 32,
  extractLinks: 64,
  extractFactBytes: 1024,
  /** Links of the kind `same_topic` that one reply may give a memory. */
  extractSameTopic: 2,
  /** Calls of a model that one `extract` or `relink` makes, unless told otherwise and at the most. */
  extractCallsDefault: 100,
  extractCalls: 10_000,
  /** A word of the text index; the rest of a longer one is cut. */
  wordBytes: 64,
  /** The text of a search; more is a document, not a question. */
  queryBytes: 64 * 1024,
  /** Different words of a search that count; those behind them are not looked up. */
  queryWords: 256,
  /** Hits of one recall, and ways of putting the question. */
  recallHits: 200,
  recallHitsDefault: 20,
  recallHitsGathered: 40,
  recallQuestions: 8,
  recallTokens: 1_000_000,
  recallTokensDefault: 1500,
  searchLimitDefault: 20,
  /** Memories that a search with a phrase reads, best first, to look for it. */
  phraseCandidates: 10_000,
  /** Searches of one batch, and how many hits each gives and all give together. */
  searchBatchQueries: 8,
  searchBatchEach: 50,
  searchBatchEachDefault: 20,
  searchBatchTotal: 100,
  searchBatchTotalDefault: 20,
  /** Entries that the text index leaves to memory before it writes a segment, at work and at the end. */
  textTailEntries: 4096,
  /** Entries that one process writes before it waits for the text index to follow. */
  textUnflushedEntries: 16_384,
  textCloseEntries: 512,
  /** Entries of one segment written at once, when much is to be caught up with. */
  textFlushEntries: 16_384,
  /** Segments before some are merged, how many at once, and how many documents one may hold. */
  textSegments: 64,
  textMergeFactor: 8,
  textSegmentDocs: 131_072,
  /** Changes of memories in one run of upkeep: at the most, and unless told otherwise. */
  maintainChanges: 10_000,
  maintainChangesDefault: 1000,
  /** What a scrub names of what it finds, and the highest rate that it can be given. */
  scrubProblems: 100,
  scrubPerSecond: 1_000_000,
  /** Slower than this, a call would be held for hours by a store of any size. */
  scrubPerSecondLeast: 100,
  /** Days that memories of a kind may be kept: a century, longer than any store was asked to. */
  ttlDays: 36_525,
  /** How often a commit may lose the race before the caller is told. */
  commitAttempts: 1000,
  /** How far ahead of the running process's own elapsed time the clock may leap. */
  clockLeapMs: 24 * 60 * 60 * 1000,
  /** Nesting that the CBOR decoder accepts, so that no input exhausts the stack. */
  cborDepth: 64,
} as const;

/** The largest integer that survives JSON and IEEE doubles. */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

/** The last number that an entry, or anything else that is counted on from, can have. */
export const SEQ_MAX = INTEGER_MAX - 1;

/** The last place in a session: its four bytes leave room for the place after it. */
export const INDEX_MAX = 0xffff_fffe;

/** The last version of a memory: nine digits in a URI or an entity tag, and four bytes of a key. */
export const VERSION_MAX = 999_999_999;

function assertRelation(holds: boolean, what: string): void {
  if (!holds) throw new Error(`limits contradict each other: ${what}`);
}

assertRelation(
  LIMITS.contentBytes + 2 * LIMITS.metadataBytes + LIMITS.listItems * LIMITS.labelBytes <
    LIMITS.entryBytes,
  "a memory of maximum size must fit one entry",
);
assertRelation(
  LIMITS.cited * (LIMITS.attestReasonBytes + LIMITS.intentIdBytes + 256) < LIMITS.entryBytes,
  "an attestation of maximum size must fit one entry",
);
assertRelation(LIMITS.compactItems * 512 < LIMITS.entryBytes, "a context record must fit an entry");
assertRelation(LIMITS.findLateHits * 256 < LIMITS.entryBytes, "a late find must fit an entry");
assertRelation(
  LIMITS.findRows >= LIMITS.tags * LIMITS.findCandidates,
  "a memory may stand under each of its tags and still count as one candidate",
);
assertRelation(LIMITS.entryBytes <= LIMITS.groupBytes, "an entry must fit a group");
assertRelation(
  LIMITS.importedContentBytes + LIMITS.entryBytes <= LIMITS.batchBytes,
  "an imported memory of maximum size must fit a batch",
);
assertRelation(LIMITS.groupBytes <= LIMITS.batchBytes, "a group is not larger than a batch");
assertRelation(LIMITS.externalIdBytes + 32 <= LIMITS.keyBytes, "externalId must fit a key");
assertRelation(
  2 * (LIMITS.sessionBytes + 2) + 64 > LIMITS.keyBytes
    ? LIMITS.sessionBytes + 64 <= LIMITS.keyBytes
    : true,
  "session must fit a key",
);
assertRelation(LIMITS.frameRefBytes + 64 <= LIMITS.keyBytes, "a frame ref must fit a key");
assertRelation(LIMITS.metadataDepth < LIMITS.cborDepth, "metadata nesting must be decodable");
