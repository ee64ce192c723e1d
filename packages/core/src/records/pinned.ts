/**
 * Which memories an agent must always have before it: who it works for, the rules that are never to
 * be broken, the goals being pursued. Decided by type and data alone, so the fold can index them.
 */
import type { Data, TypedData } from "./data.js";
import type { MemoryType } from "./types.js";

/** The types that may be pinned. */
export const PINNED_TYPES = ["identity", "constraint", "goal"] as const satisfies MemoryType[];

/** Whether memories of a type are pinned by what they say: then their data has to be looked at. */
export function mayBePinned(type: MemoryType): boolean {
  return (PINNED_TYPES as readonly MemoryType[]).includes(type);
}

/** Whether a memory is pinned: an identity, a hard constraint, an active goal. */
export function isPinned(type: MemoryType, data: Data): boolean {
  const typed = { type, data } as TypedData;
  switch (typed.type) {
    case "identity":
      return true;
    case "constraint":
      return typed.data.strength === "hard";
    case "goal":
      return typed.data.status === "active";
    default:
      return false;
  }
}
