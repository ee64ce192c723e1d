/**
 * What the tests of scopes share: keys, scopes signed by them, and a graph with one memory of every
 * visibility, each with words of its own in every field that an answer could show.
 */

import { type Ed25519Signer, signerOf } from "../src/codec/node-crypto.js";
import { toBase64 } from "../src/codec/text.js";
import type { Cortex } from "../src/cortex.js";
import type { Visibility } from "../src/records/types.js";
import { issueScope, type ScopeInput } from "../src/scope/scope.js";
import type { TestStore } from "../src/testing/index.js";

/** The issuer that the graphs of these tests trust. */
export const ISSUER: Ed25519Signer = signerOf(new Uint8Array(32).fill(11));
/** The agent that scopes are granted to. */
export const HOLDER: Ed25519Signer = signerOf(new Uint8Array(32).fill(12));
/** Their public keys as scopes spell them. */
export const ISSUER_KEY: string = toBase64(ISSUER.publicKey);
export const HOLDER_KEY: string = toBase64(HOLDER.publicKey);

/** The visibilities, in the order of the table. */
export const VISIBILITY_NAMES: readonly Visibility[] = ["private", "scoped", "public"];

/** A scope over everything tagged `trip` and all turns, signed by the issuer. */
export function tripScope(store: TestStore, more: Partial<ScopeInput> = {}): Promise<string> {
  return issueScope(
    {
      actor: store.memory.actor,
      include: { tags: ["trip"], kinds: ["turn"] },
      issuedAt: store.clock.last(),
      expiresAt: store.clock.last() + 3_600_000,
      grantedTo: HOLDER_KEY,
      ...more,
    },
    ISSUER,
  );
}

/** What stands in every text, tag, kind and slot of a memory of one visibility. */
export function wordOf(visibility: Visibility): string {
  return `marker${visibility}`;
}

/** The ids of the three memories, of a goal beside each, and of an edge between the two. */
export interface TripGraph {
  readonly ids: { readonly [visibility in Visibility]: string };
  readonly partners: { readonly [visibility in Visibility]: string };
  readonly edges: { readonly [visibility in Visibility]: string };
}

/** Fills a store: for each visibility two linked memories and a turn, all tagged `trip` but the turn. */
export async function fillTrip(memory: Cortex): Promise<TripGraph> {
  await memory.configure({ trustedIssuers: [ISSUER_KEY] });
  const made = await Promise.all(
    VISIBILITY_NAMES.map(async (visibility) => {
      const word = wordOf(visibility);
      const common = { visibility, tags: ["trip", word], kind: word, source: "agent" } as const;
      const { id } = await memory.write({
        ...common,
        type: "constraint",
        text: `${word} rule`,
        strength: "hard",
        externalId: `name-${word}`,
        slot: word,
        frames: [{ verb: "find", object: "asset", ref: "r" }],
      });
      const partner = await memory.write({ ...common, type: "goal", text: `${word} aim` });
      await memory.updateHead(partner.id, { status: "disputed" });
      const edge = await memory.addEdge(id, "relates", partner.id, { source: "agent" });
      await memory.remember([{ role: "user", content: `${word} said`, index: 0 }], {
        session: `session-${word}`,
        visibility,
        source: "agent",
      });
      return { visibility, id, partner: partner.id, edge: edge.id };
    }),
  );
  const by = <K extends "id" | "partner" | "edge">(field: K) =>
    Object.fromEntries(made.map((one) => [one.visibility, String(one[field])])) as {
      readonly [visibility in Visibility]: string;
    };
  return { ids: by("id"), partners: by("partner"), edges: by("edge") };
}
