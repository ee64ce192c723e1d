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
  listLimit: 10_000,
  listLimitDefault: 50,
  rememberTurns: 10_000,
  idempotencyKeyBytes: 256,
  /** For how many later entries an idempotency key is honoured. */
  idempotencyEntries: 100_000,
  derivedFrom: 64,
  attestations: 64,
  /** How often a commit may lose the race before the caller is told. */
  commitAttempts: 1000,
  /** How far ahead of the running process's own elapsed time the clock may leap. */
  clockLeapMs: 24 * 60 * 60 * 1000,
  /** Nesting that the CBOR decoder accepts, so that no input exhausts the stack. */
  cborDepth: 64,
} as const;

/** The largest integer that survives JSON and IEEE doubles. */
export const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

function assertRelation(holds: boolean, what: string): void {
  if (!holds) throw new Error(`limits contradict each other: ${what}`);
}

assertRelation(
  LIMITS.contentBytes + 2 * LIMITS.metadataBytes + LIMITS.listItems * LIMITS.labelBytes <
    LIMITS.entryBytes,
  "a memory of maximum size must fit one entry",
);
assertRelation(LIMITS.entryBytes <= LIMITS.groupBytes, "an entry must fit a group");
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
