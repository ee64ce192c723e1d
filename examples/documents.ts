/**
 * JSON documents as memories, for frameworks that bring their own shapes: each is a note whose metadata
 * is the document and whose text is what words find it by. A name of yours is its external id, so that
 * putting it twice makes a new version; every version stays in the history until it is removed.
 */
import { type CortexApi, isCortexError, type Memory } from "@cortex-memory/core";

/** A document by its name. */
export interface Document {
  /** Unique in the graph, at most 256 bytes. */
  readonly name: string;
  /** What sort of document it is: the kind of the note. */
  readonly kind: string;
  /** What it is listed by; at most 16, of 64 bytes each. They stay as they are at the first put. */
  readonly tags: readonly string[];
  /** What words find it by. */
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A document as read, with the times the graph knows. */
export interface StoredDocument extends Document {
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Writes a document, or a new version of it. */
export async function putDocument(memory: CortexApi, document: Document): Promise<void> {
  const { name, kind, tags, text, value } = document;
  const version = { text, data: { metadata: value } };
  try {
    await memory.update(name, version);
  } catch (error) {
    if (!isCortexError(error, "ERR_NOT_FOUND")) throw error;
    try {
      await memory.write({ type: "note", kind, tags, externalId: name, ...version });
    } catch (raced) {
      // Somebody else wrote the first version in between.
      if (!isCortexError(raced, "ERR_EXISTS")) throw raced;
      await memory.update(name, version);
    }
  }
}

/** A document by its name; `undefined` when there is none. */
export async function getDocument(
  memory: CortexApi,
  name: string,
): Promise<StoredDocument | undefined> {
  const found = await memory.get(name);
  return found === undefined ? undefined : documentOf(found);
}

/** Removes a document for good, its history included; one that is not there is no trouble. */
export async function removeDocument(
  memory: CortexApi,
  name: string,
  reason: string,
): Promise<void> {
  try {
    await memory.forget(name, reason);
  } catch (error) {
    if (!isCortexError(error, "ERR_NOT_FOUND")) throw error;
  }
}

/** Every document with a tag, the oldest first. */
export async function* documentsWith(
  memory: CortexApi,
  tag: string,
): AsyncGenerator<StoredDocument> {
  let cursor: string | undefined;
  do {
    const page = await memory.list({
      tag,
      order: "oldest",
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const one of page.memories) yield documentOf(one);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** A memory as the document it holds. */
export function documentOf(memory: Memory): StoredDocument {
  const { metadata = {} } = memory.data as { readonly metadata?: Record<string, unknown> };
  const { externalId = memory.id, kind = "", tags, createdAt } = memory.head;
  return {
    name: externalId,
    kind,
    tags,
    text: memory.text,
    value: metadata,
    createdAt: new Date(createdAt),
    updatedAt: new Date(memory.versionRecord.createdAt),
  };
}
