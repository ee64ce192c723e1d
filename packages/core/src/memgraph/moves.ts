/**
 * How a lineage comes into a graph from others. Its new version is committed where it goes before what it leaves is hidden:
 * whoever dies between the two leaves a lineage whose head is the new version all the same, and `check` and the next write
 * mend the rest. Each graph is a store with a journal of its own, so two processes that move one lineage at the same moment
 * lose nothing and agree on its head, but may give one number twice.
 */
import { parseUlid } from "../codec/ulid.js";
import type { Upsert } from "../contract/memory.js";
import { CortexError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import { areApart, type LineagePlace, leftFor } from "../hub/lineages.js";
import { openVersions } from "../memory/read.js";
import { speakerOf } from "../scope/access.js";
import { checkRevision } from "../trust/gate.js";
import type { Note } from "./nodes.js";
import type { AccessOption } from "./policies.js";

/** A lineage that comes into a graph from others. */
export interface Move {
  readonly upsert: Upsert;
  /** Hides what it leaves behind; to be done once the new version is there. */
  leave(): Promise<void>;
}

/**
 * How a lineage comes into a graph; `undefined` when no other has it. The new version is committed
 * first, under a number above all others: whoever dies before the rest is hidden leaves a lineage whose
 * head is the new version all the same.
 */
export async function moveOf(
  hub: Hub,
  graph: string,
  { write, upsert }: Note,
  { access }: AccessOption,
): Promise<Move | undefined> {
  const { externalId: lineage = "", by } = write;
  const isLineage = ({ type, lifecycle }: LineagePlace): boolean =>
    type === "note" && lifecycle !== "erased";
  const others = (await hub.lineages.placesOf(lineage, graph)).filter(isLineage);
  if (others.length === 0) return undefined;
  const here = await hub.lineages.placeIn(graph, lineage);
  const own = here !== undefined && isLineage(here) ? here : undefined;
  const places = own === undefined ? others : [own, ...others];
  const left = others.filter(({ lifecycle }) => lifecycle === "active");
  // What somebody hid by hand stays hidden, and what others call by the same name is theirs.
  const isHidden = own?.lifecycle === "tombstoned" && !own.isLeft;
  const isOwn = own?.lifecycle === "active" && areApart(places, lineage);
  if (isHidden || isOwn) return undefined;
  if (areApart(left, lineage)) await hub.lineages.graphOf(lineage);
  const speaker = access === undefined ? undefined : speakerOf(access);
  for (const place of left) {
    await hub.useIfThere(place.graph, async (memory) => {
      const found = await memory.get(place.id);
      const id = parseUlid(place.id);
      if (found === undefined || id === undefined) return;
      checkRevision(speaker?.source ?? "user_input", found.head, id);
      await checkKnown(hub, graph, upsert?.basedOnVersion, openVersions(found.head));
    });
  }
  // It comes back: what stood here shows again, below the head that is still elsewhere.
  if (own?.isLeft === true) await hub.useIfThere(graph, (memory) => memory.restore(own.id));
  const after = Math.max(...others.map(({ highest }) => highest));
  const isOnly = left.every(({ highest }) => highest > (own?.highest ?? 0));
  return {
    // What was read is a version of the other graph, and was compared there.
    upsert: { after, ...(isOnly ? { basedOnVersion: undefined } : {}) },
    leave: async () => {
      for (const place of left) {
        await hub.useIfThere(place.graph, (memory) =>
          memory.tombstone(place.id, leftFor(graph), { by }),
        );
      }
      // Walks have to know of every place whose edges they follow; a lineage moves seldom.
      await hub.lineages.learn([graph, ...left.map((place) => place.graph)]);
    },
  };
}

/**
 * Where another writer made the same lineage in another graph since this one looked, the first of the two
 * stays. Whoever commits last sees both; if both do, they agree which one is hidden. One that moved there knew
 * of this one, and hides it by itself.
 */
export async function leaveOne(hub: Hub, graph: string, lineage: string): Promise<void> {
  const isMade = ({ lifecycle, type, first }: LineagePlace): boolean =>
    lifecycle === "active" && type === "note" && first === 1;
  const elsewhere = (await hub.lineages.placesOf(lineage, graph)).filter(isMade);
  if (elsewhere.length === 0) return;
  const here = await hub.lineages.placeIn(graph, lineage);
  const [home, ...others] = [...(here === undefined ? [] : [here]), ...elsewhere]
    .filter(isMade)
    .sort((a, b) => a.at - b.at || (a.graph < b.graph ? -1 : 1));
  for (const place of others) {
    const why = leftFor(home?.graph ?? "");
    await hub.useIfThere(place.graph, (memory) => memory.tombstone(place.id, why));
  }
}

/** Under policy `manual` a move is refused that is not based on what is open: rivals live in one graph. */
async function checkKnown(
  hub: Hub,
  graph: string,
  basedOn: Upsert["basedOnVersion"],
  open: readonly number[],
): Promise<void> {
  if (typeof basedOn !== "number" || open.includes(basedOn)) return;
  if ((await hub.getGraph(graph))?.conflictPolicy !== "manual") return;
  const expected = `one of ${open.join(", ")}`;
  throw new CortexError(
    "ERR_CONFLICT",
    `basedOnVersion: expected ${expected}, the open versions in the graph that the lineage leaves; read them again`,
    { field: "basedOnVersion", expected, got: String(basedOn) },
  );
}
