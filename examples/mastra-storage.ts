/**
 * The memory part of a storage for Mastra (`MemoryStorage` of `@mastra/core`): threads, their messages
 * and resources with working memory, kept as documents in a memory graph.
 *
 *     const memory = await open("./data", { actor: "ada" });
 *     const domains = { memory: new CortexMemoryStorage(memory) };
 *     const storage = new MastraCompositeStore({ id: "cortex", domains });
 *
 * The package is not needed here: these are the methods that Mastra calls for conversations. Cloning
 * threads and observational memory, which Mastra makes optional, are not offered. A message that is
 * updated keeps its earlier versions; what is deleted is forgotten for good.
 */
import { type CortexApi, CortexError } from "@cortex-memory/core";
import {
  documentsWith,
  getDocument,
  putDocument,
  removeDocument,
  type StoredDocument,
} from "./documents.js";

type Json = Readonly<Record<string, unknown>>;

/** A conversation. */
export interface Thread {
  readonly id: string;
  readonly resourceId: string;
  readonly title?: string;
  readonly metadata?: Json;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A message, with its parts as the AI SDK has them. */
export interface Message {
  readonly id: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly role: string;
  readonly type?: string;
  readonly content: Json;
  readonly createdAt: Date;
}

/** Somebody or something that threads belong to. */
export interface Resource {
  readonly id: string;
  readonly workingMemory?: string;
  readonly metadata?: Json;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Which page, and in what order. `perPage: false` asks for everything. */
export interface Paging {
  readonly page?: number;
  readonly perPage?: number | false;
  readonly orderBy?: {
    readonly field?: "createdAt" | "updatedAt";
    readonly direction?: "ASC" | "DESC";
  };
}

/** A message to show beside a page, with some of those around it. */
export interface Included {
  readonly id: string;
  readonly withPreviousMessages?: number;
  readonly withNextMessages?: number;
}

/** A page of something. */
export interface PageInfo {
  readonly total: number;
  readonly page: number;
  readonly perPage: number | false;
  readonly hasMore: boolean;
}

const PER_PAGE_MESSAGES = 40;
const PER_PAGE_THREADS = 100;
const DELETED = "deleted by Mastra";

/** See the file header. */
export class CortexMemoryStorage {
  /** An update that leaves a field out leaves it alone. */
  readonly supportsPartialThreadUpdate = true;
  readonly #memory: CortexApi;

  constructor(memory: CortexApi) {
    this.#memory = memory;
  }

  /** Mastra prepares its storages; this one is open already. */
  async init(): Promise<void> {}

  async getThreadById(asked: {
    readonly threadId: string;
    readonly resourceId?: string;
  }): Promise<Thread | null> {
    const thread = await this.#read<Thread>("thread", asked.threadId);
    if (thread === undefined) return null;
    const isOthers = asked.resourceId !== undefined && asked.resourceId !== thread.resourceId;
    return isOthers ? null : thread;
  }

  async saveThread({ thread }: { readonly thread: Thread }): Promise<Thread> {
    await this.#keep("thread", thread, {
      tags: [`mastra-resource:${thread.resourceId}`],
      text: thread.title ?? "",
    });
    return thread;
  }

  async updateThread(change: {
    readonly id: string;
    readonly title?: string;
    readonly metadata?: Json;
  }): Promise<Thread> {
    const { id, title, metadata } = change;
    const before = await this.#read<Thread>("thread", id);
    if (before === undefined) throw missing("thread", id);
    return this.saveThread({
      thread: {
        ...before,
        ...(title === undefined ? {} : { title }),
        ...(metadata === undefined ? {} : { metadata: { ...before.metadata, ...metadata } }),
        updatedAt: new Date(),
      },
    });
  }

  /** Forgets a thread and all its messages. */
  async deleteThread({ threadId }: { readonly threadId: string }): Promise<void> {
    const messages = await this.#allIn<Message>(threadTag(threadId));
    await this.deleteMessages(messages.map(({ id }) => id));
    await removeDocument(this.#memory, nameOf("thread", threadId), DELETED);
  }

  async listThreads(
    asked: Paging & {
      readonly filter?: { readonly resourceId?: string; readonly metadata?: Json };
    },
  ): Promise<PageInfo & { readonly threads: Thread[] }> {
    const { resourceId, metadata = {} } = asked.filter ?? {};
    const tag = resourceId === undefined ? kindOf("thread") : `mastra-resource:${resourceId}`;
    const all = await this.#allIn<Thread>(tag);
    const fits = all.filter((thread) =>
      Object.entries(metadata).every(
        ([field, value]) => JSON.stringify(thread.metadata?.[field]) === JSON.stringify(value),
      ),
    );
    const { items, ...page } = pageOf(fits, asked, {
      perPage: PER_PAGE_THREADS,
      direction: "DESC",
    });
    return { threads: items, ...page };
  }

  async saveMessages({ messages }: { readonly messages: Message[] }): Promise<{
    messages: Message[];
  }> {
    for (const message of messages) {
      const { threadId } = message;
      if (threadId === undefined) {
        const text = "threadId: expected one with every message";
        throw new CortexError("ERR_INVALID", text, { field: "threadId" });
      }
      await this.#keep("message", message, {
        tags: [threadTag(threadId)],
        text: wordsOf(message.content),
      });
    }
    for (const id of new Set(messages.flatMap(({ threadId }) => threadId ?? []))) {
      // A thread that is spoken in has changed; messages may also come before their thread.
      if ((await this.getThreadById({ threadId: id })) !== null) await this.updateThread({ id });
    }
    return { messages };
  }

  async listMessages(
    asked: Paging & {
      readonly threadId: string | readonly string[];
      readonly resourceId?: string;
      readonly include?: readonly Included[];
      readonly filter?: { readonly dateRange?: { readonly start?: Date; readonly end?: Date } };
    },
  ): Promise<PageInfo & { readonly messages: Message[] }> {
    const threads = [asked.threadId].flat();
    const found = await Promise.all(threads.map((id) => this.#allIn<Message>(threadTag(id))));
    const { start, end } = asked.filter?.dateRange ?? {};
    const fits = found.flat().filter(({ resourceId, createdAt }) => {
      if (asked.resourceId !== undefined && resourceId !== asked.resourceId) return false;
      return (start === undefined || createdAt >= start) && (end === undefined || createdAt <= end);
    });
    const usual = { perPage: PER_PAGE_MESSAGES, direction: "ASC" } as const;
    const { items, ...page } = pageOf(fits, asked, usual);
    const around = await Promise.all((asked.include ?? []).map((one) => this.#around(one)));
    const shown = new Map([...items, ...around.flat()].map((message) => [message.id, message]));
    const all = { ...asked, page: 0, perPage: false } as const;
    return { messages: pageOf([...shown.values()], all, usual).items, ...page };
  }

  /** A message and those before and after it in its thread. */
  async #around(asked: Included): Promise<readonly Message[]> {
    const message = await this.#read<Message>("message", asked.id);
    if (message?.threadId === undefined) return [];
    const { items } = pageOf(
      await this.#allIn<Message>(threadTag(message.threadId)),
      { perPage: false },
      { perPage: PER_PAGE_MESSAGES, direction: "ASC" },
    );
    const at = items.findIndex(({ id }) => id === asked.id);
    const { withPreviousMessages = 0, withNextMessages = 0 } = asked;
    return items.slice(Math.max(0, at - withPreviousMessages), at + withNextMessages + 1);
  }

  async listMessagesById({ messageIds }: { readonly messageIds: readonly string[] }): Promise<{
    messages: Message[];
  }> {
    const found = await Promise.all(messageIds.map((id) => this.#read<Message>("message", id)));
    return { messages: found.filter((one) => one !== undefined) };
  }

  async updateMessages({
    messages,
  }: {
    readonly messages: readonly (Partial<Message> & { readonly id: string })[];
  }): Promise<Message[]> {
    const updated: Message[] = [];
    for (const change of messages) {
      const before = await this.#read<Message>("message", change.id);
      if (before === undefined) throw missing("message", change.id);
      // What a message says is changed member by member, everything else as a whole.
      const content = { ...before.content, ...change.content };
      updated.push({ ...before, ...change, content, createdAt: before.createdAt });
    }
    await this.saveMessages({ messages: updated });
    return updated;
  }

  /** Forgets messages. */
  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    for (const id of messageIds) {
      await removeDocument(this.#memory, nameOf("message", id), DELETED);
    }
  }

  async getResourceById(asked: { readonly resourceId: string }): Promise<Resource | null> {
    return (await this.#read<Resource>("resource", asked.resourceId)) ?? null;
  }

  async saveResource({ resource }: { readonly resource: Resource }): Promise<Resource> {
    await this.#keep("resource", resource, { tags: [], text: resource.workingMemory ?? "" });
    return resource;
  }

  /** Changes a resource, or makes it. */
  async updateResource(change: {
    readonly resourceId: string;
    readonly workingMemory?: string;
    readonly metadata?: Json;
  }): Promise<Resource> {
    const { resourceId: id, workingMemory, metadata } = change;
    const now = new Date();
    const before = (await this.#read<Resource>("resource", id)) ?? { id, createdAt: now };
    return this.saveResource({
      resource: {
        ...before,
        ...(workingMemory === undefined ? {} : { workingMemory }),
        ...(metadata === undefined ? {} : { metadata }),
        updatedAt: now,
      },
    });
  }

  async #read<T>(kind: Kind, id: string): Promise<T | undefined> {
    const found = await getDocument(this.#memory, nameOf(kind, id));
    return found === undefined ? undefined : revived<T>(found);
  }

  #keep(
    kind: Kind,
    value: { readonly id: string },
    { tags, text }: { readonly tags: readonly string[]; readonly text: string },
  ): Promise<void> {
    const plain = JSON.parse(JSON.stringify(value)) as Json;
    const own = kindOf(kind);
    return putDocument(this.#memory, {
      name: nameOf(kind, value.id),
      kind: own,
      tags: [own, ...tags],
      text,
      value: plain,
    });
  }

  async #allIn<T>(tag: string): Promise<T[]> {
    const all: T[] = [];
    for await (const document of documentsWith(this.#memory, tag)) all.push(revived<T>(document));
    return all;
  }
}

type Kind = "thread" | "message" | "resource";

const kindOf = (kind: Kind): string => `mastra-${kind}`;
const nameOf = (kind: Kind, id: string): string => `mastra-${kind}:${id}`;
const threadTag = (id: string): string => `mastra-in:${id}`;

/** JSON has no dates; these members are some. */
function revived<T>({ value }: StoredDocument): T {
  const dates = ["createdAt", "updatedAt"].flatMap((field) => {
    const text = value[field];
    return typeof text === "string" ? [[field, new Date(text)]] : [];
  });
  return { ...value, ...Object.fromEntries(dates) } as T;
}

/** What is said in a message: the texts of its parts. */
function wordsOf(content: Json): string {
  const { parts = [], content: whole } = content as {
    readonly parts?: readonly { readonly type?: string; readonly text?: string }[];
    readonly content?: unknown;
  };
  const texts = parts.flatMap(({ type, text }) => (type === "text" && text ? [text] : []));
  return texts.length > 0 || typeof whole !== "string" ? texts.join("\n") : whole;
}

function pageOf<T extends { readonly createdAt: Date; readonly updatedAt?: Date }>(
  all: readonly T[],
  { page = 0, perPage, orderBy = {} }: Paging,
  usual: { readonly perPage: number; readonly direction: "ASC" | "DESC" },
): PageInfo & { readonly items: T[] } {
  const { field = "createdAt", direction = usual.direction } = orderBy;
  const sign = direction === "ASC" ? 1 : -1;
  const timeOf = (one: T): number => (one[field] ?? one.createdAt).getTime();
  // The order of writing decides between equal times: sorting keeps it.
  const sorted = [...all].sort((a, b) => sign * (timeOf(a) - timeOf(b)));
  const size = perPage ?? usual.perPage;
  const items = size === false ? sorted : sorted.slice(page * size, (page + 1) * size);
  const hasMore = size !== false && (page + 1) * size < all.length;
  return { items, total: all.length, page, perPage: size, hasMore };
}

function missing(kind: Kind, id: string): CortexError {
  return new CortexError("ERR_NOT_FOUND", `${kind}: none of id ${id}`, { subject: id });
}
