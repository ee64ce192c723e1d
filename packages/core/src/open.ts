/**
 * The composition root: from a location to an open memory graph. The only file that names backends,
 * the clock and the source of randomness.
 */
import { randomFillSync } from "node:crypto";
import { uptime } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasherNode, sha256Node } from "./codec/sha256-node.js";
import { Cortex } from "./cortex.js";
import { CortexError, invalid } from "./errors.js";
import { CommitSignal } from "./history/signal.js";
import { Writer } from "./history/writer.js";
import type { Kv } from "./kv/kv.js";
import { checkActorName } from "./memory/uri.js";
import { openGenesis } from "./verbs/birth.js";
import { checkPrincipal, type Engine } from "./verbs/engine.js";

/** How a store is opened. */
export interface OpenOptions {
  /** Whose memory it is; a safe name. */
  readonly actor?: string;
  /** The principal that entries name when a call names none; the actor by default. */
  readonly principal?: string;
  /** False refuses to create a store that is not there. */
  readonly create?: boolean;
  /** Do not wait for the disk: a crash of the machine may lose the last writes. Off by default. */
  readonly relaxedDurability?: boolean;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
  /** A storage engine of your own, instead of the location's. */
  readonly kv?: Kv;
}

/** Opens the memory graph of one actor: a folder, or `memory:`. */
export async function open(location: string, options: OpenOptions = {}): Promise<Cortex> {
  const actor = checkActorName(options.actor === undefined ? "default" : options.actor);
  const principal = checkPrincipal(options.principal, actor);
  const kv = options.kv ?? (await openKv(location, actor, options));
  try {
    const clock = options.clock ?? Date.now;
    const random = options.random ?? pooledRandom();
    const signal = new CommitSignal();
    const writer = new Writer({
      kv,
      signal,
      sha256: sha256Node,
      clock,
      random,
      pause: async (ms) => {
        await sleep(ms);
      },
      // An injected clock is its own authority; only the system's may leap.
      // Time since the machine started goes on while it sleeps, so a laptop may be shut for a week.
      ...(options.clock === undefined ? { elapsed: () => uptime() * 1000 } : {}),
    });
    const engine: Engine = {
      kv,
      writer,
      sha256: sha256Node,
      hasher: hasherNode,
      signal,
      clock,
      random,
      scratch: scratchBeside(kv),
      actor,
      principal,
    };
    const genesis = await openGenesis(engine, options.create !== false);
    return new Cortex(engine, genesis, async () => {
      await writer.close();
      await kv.close();
    });
  } catch (error) {
    await kv.close();
    throw error;
  }
}

/** How the storage of a location is opened. */
export interface OpenKvOptions extends Pick<OpenOptions, "create" | "relaxedDurability"> {
  readonly readOnly?: boolean;
}

/** Opens the storage of one actor at a location, whatever it holds. */
export async function openKv(location: string, actor: string, options: OpenKvOptions): Promise<Kv> {
  if (typeof location !== "string" || location === "") {
    throw invalid("location", "a folder or memory:", location);
  }
  if (location === "memory:") {
    const { openMemoryKv } = await import("./kv/memory-backend.js");
    return openMemoryKv();
  }
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//.exec(location)?.[1];
  if (scheme !== undefined) {
    throw new CortexError(
      "ERR_UNSUPPORTED",
      `location: expected a folder or memory:, got a ${scheme} address; this release cannot open it`,
      { field: "location" },
    );
  }
  const { openLmdbKv } = await import("./kv/lmdb-backend.js");
  return openLmdbKv(join(resolvePath(location), actor), {
    create: options.create !== false,
    relaxed: options.relaxedDurability === true,
    readOnly: options.readOnly === true,
  });
}

/** Entries up to which a throw-away store is built in memory rather than beside the store. */
const SCRATCH_IN_MEMORY = 20_000;

function scratchBeside(kv: Kv): Engine["scratch"] {
  return async (entries) => {
    if (entries > SCRATCH_IN_MEMORY && kv.manifest.generations) return kv.nextGeneration();
    const { openMemoryKv } = await import("./kv/memory-backend.js");
    const memory = openMemoryKv();
    return {
      kv: memory,
      promote: () => Promise.reject(new Error("a scratch store is never promoted")),
      abandon: () => memory.close(),
    };
  };
}

/** Random bytes from the system, drawn in blocks: small draws are too many system calls. */
export function pooledRandom(): (bytes: number) => Uint8Array {
  const pool = new Uint8Array(8192);
  let used = pool.length;
  return (bytes) => {
    if (bytes > pool.length) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += bytes;
    return pool.slice(used - bytes, used);
  };
}
