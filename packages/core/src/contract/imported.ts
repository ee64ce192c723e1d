/**
 * What only a caller in this process may say in a write: how it goes on from a memory that is there, and which
 * limits of a write do not hold for it. And what an import says of a version or an edge: the names that another
 * program had for it. Times and authors of imports are those of then; the entries that bring them say when they
 * arrived.
 */
import { LIMITS, VERSION_MAX } from "../limits.js";
import { strictFields } from "../records/fields.js";
import { listUpTo, textField, timeOf, whole } from "./fields.js";

/** What every import says of a version or an edge: what it was known by, when and by whom it was made. */
const importedFields = {
  id: textField({ maxBytes: LIMITS.externalIdBytes }),
  graph: textField({ maxBytes: LIMITS.externalIdBytes }),
  createdAt: timeOf("when it was made there"),
  createdBy: textField({ maxBytes: LIMITS.importedAuthorBytes, blank: true, control: true }),
  nanos: whole(0, 999_999).optional(),
};

const wideFields = {
  content: textField({
    maxBytes: LIMITS.importedContentBytes,
    blank: true,
    control: true,
  }).optional(),
  tags: listUpTo(textField({ maxBytes: LIMITS.tagBytes }), LIMITS.importedTags).optional(),
};

/** What of a version is beyond the limits of a write, checked. */
export const wideVersion = strictFields(wideFields);

/** What of a version is beyond the limits of a write, for programs that know others. */
interface WideVersion {
  /** The content, where it is longer than that of a write may be. */
  readonly content?: string | undefined;
  /** The tags, where they are more than a write may have, or some stand there twice. */
  readonly tags?: readonly string[] | undefined;
}

/** A version as another program had it, checked. */
export const importedVersion = strictFields({
  ...importedFields,
  version: whole(1, VERSION_MAX),
  beside: listUpTo(whole(1, VERSION_MAX), LIMITS.batchItems),
  freshnessNanos: whole(0, 999_999).optional(),
  ...wideFields,
});

/** A version as another program had it: it is written as it was there, whatever this graph allows. */
export interface ImportedVersion extends WideVersion {
  /** What it was known by, and the graph it was in. */
  readonly id: string;
  readonly graph: string;
  readonly createdAt: number;
  /** To the letter; empty where nobody was named. */
  readonly createdBy: string;
  /** Billionths of a second beyond the milliseconds of `createdAt` and of `freshnessAt`. */
  readonly nanos?: number | undefined;
  readonly freshnessNanos?: number | undefined;
  /** Its number: above those that are there. */
  readonly version: number;
  /** The numbers of the versions that stayed open beside it; it took the place of all others. */
  readonly beside: readonly number[];
}

/** An edge as another program had it, checked. */
export const importedEdge = strictFields({
  ...importedFields,
  toGraph: textField({ maxBytes: LIMITS.externalIdBytes }),
});

/** What an edge that another program made was known by, when and by whom it was made. */
export interface ImportedEdge
  extends Pick<ImportedVersion, "id" | "graph" | "createdAt" | "createdBy" | "nanos"> {
  /** The graph of its far end, as it was called there. */
  readonly toGraph: string;
}

/** How a write goes on from a memory that is there. */
export interface Upsert {
  /**
   * The version that the writer read. If it is open no more, policy `lww` lets the write win, and
   * `manual` keeps it as a rival. A list names every open version there is, and the write is refused
   * with `ERR_CONFLICT` if there are others.
   */
  readonly basedOnVersion?: number | readonly number[] | undefined;
  /** True refuses with `ERR_NOT_FOUND` to make a memory that is not there. */
  readonly mustExist?: boolean | undefined;
  /**
   * The highest number that the memory's versions have elsewhere: this version gets one above it, and
   * above those here.
   */
  readonly after?: number | undefined;
  /** Set for a version that another program wrote. */
  readonly imported?: ImportedVersion | undefined;
  /** What is more than a write may say; alone it may stand beside a new memory without an external id. */
  readonly wide?: WideVersion | undefined;
}
