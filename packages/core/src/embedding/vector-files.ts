/**
 * Graphs of vectors in files beside a store, so that the next process need not grow them again.
 *
 * Two files make one graph: `<model>-<token>.graph`, written by the graph library, and `<model>.list`,
 * which names it, the texts of its slots and its hash, and ends with a hash of itself. The list is
 * renamed into place last. A graph is handed out only if every hash agrees and the list is about the
 * same model, width and number of forgotten memories: a file that is cut short would end the process
 * inside the library. Whatever does not agree is removed. Keeping and finding never fail, because all of
 * it can be made again; removing says so when it could not, because somebody wanted vectors gone.
 */

import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { decode, encode } from "../codec/cbor.js";
import { equalBytes, toHex } from "../codec/keys.js";
import { sha256Node } from "../codec/sha256-node.js";
import { CortexError } from "../errors.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { TEXT_HASH_BYTES } from "../records/vector-rows.js";
import type { KeptGraphName, VectorFiles } from "../vector/loaded-vectors.js";

/** What changes when lists or graphs are written otherwise. */
const FORM = "cortex vector graph 1, usearch f16";
const HASH_BYTES = 32;
const GRAPH_NAME = /^[0-9a-f]{16}-[0-9a-f]{16}\.graph$/;
const OUR_NAME = /^[0-9a-f]{16}(-[0-9a-f]{16}\.graph|\.list|\.list\.[0-9a-f]{16})$/;

/** Keeps graphs in a folder, which is made when it is needed. */
export function vectorFiles(folder: string): VectorFiles {
  return {
    async find(name) {
      const list = await readList(folder, name);
      if (list !== undefined) {
        const path = join(folder, list.graph);
        const digest = await hashOf(path).catch(() => undefined);
        if (digest !== undefined && equalBytes(digest, list.digest)) {
          return { path, hashes: list.hashes };
        }
      }
      await remove(folder, (file) => file.startsWith(toHex(name.tag))).catch(() => {
        // It is not used, and whoever forgets something next tries again.
      });
      return undefined;
    },
    async keep(name, hashes, write) {
      try {
        await keep(folder, name, hashes, write);
      } catch {
        // No room, or no right to write here: the next process grows its own.
      }
    },
    async removeAll() {
      try {
        await remove(folder, () => true);
      } catch (cause) {
        const message = `${folder}: files with vectors of forgotten memories could not be removed`;
        throw new CortexError("ERR_STORAGE", message, { subject: folder }, cause);
      }
    },
  };
}

interface List {
  readonly graph: string;
  readonly digest: Bytes;
  readonly hashes: readonly string[];
}

async function keep(
  folder: string,
  name: KeptGraphName,
  hashes: readonly string[],
  write: (path: string) => void,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const model = toHex(name.tag);
  const token = randomBytes(8).toString("hex");
  const graph = `${model}-${token}.graph`;
  const path = join(folder, graph);
  write(path);
  await chmod(path, 0o600);
  const body = encode([
    FORM,
    name.tag,
    name.dimensions,
    name.purged,
    graph,
    await hashOf(path),
    Buffer.concat(hashes.map(keyBytes)),
  ]);
  const list = join(folder, `${model}.list`);
  const half = `${list}.${token}`;
  await writeFile(half, Buffer.concat([body, sha256Node(body)]), { mode: 0o600, flag: "wx" });
  await rename(half, list);
  await remove(folder, (file) => file.startsWith(`${model}-`) && file !== graph);
}

async function readList(folder: string, name: KeptGraphName): Promise<List | undefined> {
  try {
    const bytes = await readFile(join(folder, `${toHex(name.tag)}.list`));
    const body = bytes.subarray(0, Math.max(0, bytes.length - HASH_BYTES));
    if (!equalBytes(sha256Node(body), bytes.subarray(body.length))) return undefined;
    const fields = decode(body);
    if (!Array.isArray(fields)) return undefined;
    const [form, tag, dimensions, purged, graph, digest, hashes] = fields as readonly unknown[];
    const isMeant =
      form === FORM &&
      tag instanceof Uint8Array &&
      equalBytes(tag, name.tag) &&
      dimensions === name.dimensions &&
      purged === name.purged;
    if (!isMeant || typeof graph !== "string" || !GRAPH_NAME.test(graph)) return undefined;
    if (!(digest instanceof Uint8Array) || !(hashes instanceof Uint8Array)) return undefined;
    return { graph, digest, hashes: cut(hashes) };
  } catch {
    // Not there, or not ours to read.
    return undefined;
  }
}

function cut(hashes: Bytes): readonly string[] {
  const count = Math.floor(hashes.length / TEXT_HASH_BYTES);
  return Array.from({ length: count }, (_, at) =>
    keyString(hashes.subarray(at * TEXT_HASH_BYTES, (at + 1) * TEXT_HASH_BYTES)),
  );
}

async function remove(folder: string, isMeant: (name: string) => boolean): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (OUR_NAME.test(name) && isMeant(name)) await rm(join(folder, name), { force: true });
  }
}

async function hashOf(path: string): Promise<Bytes> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest();
}
