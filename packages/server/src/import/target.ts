/**
 * Where an import goes: one store, or the graphs of a folder; for a dry run, whatever of these is
 * there already, opened and left alone.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { type Cortex, type Hub, open, openHub } from "@cortex-memory/core";
import { isAddress } from "../config.js";
import type { GraphPlan } from "./records.js";

/** A place for memories and links. */
export interface Target {
  /** Runs work in a graph, or in the store; without a memory when there is none in a dry run. */
  use<T>(graph: string | undefined, work: (memory: Cortex | undefined) => Promise<T>): Promise<T>;
  /** Whether this import made the graph or the store, so that it holds nothing else. */
  isNew(graph: string | undefined): boolean;
  /** Makes the graph unless it is there; says whether it was. */
  prepare(plan: GraphPlan): Promise<boolean>;
  close(): Promise<void>;
}

/** The place of a store or of graphs. */
export interface TargetPlace {
  /** A folder, an address or `memory:`. */
  readonly location: string;
  readonly actor: string;
}

/** Opens where an import goes. */
export async function openTarget(
  place: TargetPlace,
  how: { readonly graphs: boolean; readonly dryRun: boolean },
): Promise<Target> {
  if (how.dryRun) return dryTarget(place);
  if (how.graphs) return hubTarget(await openHub(place.location));
  const memory = await open(place.location, { actor: place.actor });
  const { entries } = await memory.stats();
  return {
    use: (_, work) => work(memory),
    isNew: () => entries === 1,
    prepare: async () => true,
    close: () => memory.close(),
  };
}

function hubTarget(hub: Hub): Target {
  const made = new Set<string>();
  return {
    // A graph stays open in the hub for a while, so asking for it batch by batch costs nothing.
    use: (graph = "", work) => hub.use(graph, work),
    isNew: (graph = "") => made.has(graph),
    async prepare({ id, notes: _, ...plan }) {
      if ((await hub.getGraph(id)) !== undefined) return true;
      await hub.createGraph({ id, ...plan });
      made.add(id);
      return false;
    },
    close: () => hub.close(),
  };
}

/** Opens what there is and makes nothing. */
function dryTarget({ location, actor }: TargetPlace): Target {
  let current: { readonly name: string; readonly memory: Cortex } | undefined;
  const isThere = (name: string): boolean => {
    if (location === "memory:") return false;
    if (isAddress(location)) return true;
    return statSync(join(location, name), { throwIfNoEntry: false })?.isDirectory() === true;
  };
  const close = async (): Promise<void> => {
    await current?.memory.close();
    current = undefined;
  };
  return {
    async use(graph, work) {
      const name = graph ?? actor;
      if (current?.name !== name) {
        await close();
        if (!isThere(name)) return work(undefined);
        current = { name, memory: await open(location, { actor: name, create: false }) };
      }
      return work(current.memory);
    },
    isNew: () => false,
    prepare: async ({ id }) => isThere(id),
    close,
  };
}
