/**
 * Operations on scopes and the keys that sign them. Keys are files of whoever owns them: they are made
 * and used on the command line, outside of every store, and no other door ever sees one.
 */

import { randomBytes } from "node:crypto";
import {
  CortexError,
  type Ed25519Signer,
  issueScope,
  type Selector,
  signerOf,
} from "@cortex-memory/core";
import { listOf, MEMORY_TYPES, SOURCES, timeOf, words } from "@cortex-memory/core/contract";
import { verify } from "@cortex-memory/core/verify";
import * as z from "zod";
import { showIssued, showKey, showPosted, showRevoked, showScope } from "../render/proofs.js";
import { defineOperation, verbRow } from "./define.js";
import { documentIn } from "./journal.js";

const SECRET = "keys stay with whoever owns them; run the command there";
const HOUR_MS = 60 * 60 * 1000;
const HOURS_DEFAULT = 24;

const scopeArgument = { field: "scope", label: "SCOPE|-", stdin: true } as const;

/** A key that was made; the secret half is in the file alone. */
const keyShape = z.object({ file: z.string(), publicKey: z.string() });

/** A scope that was signed. */
const issuedShape = z.object({
  scope: z.string().describe("the text to hand over"),
  grantedTo: z.string(),
  expiresAt: z.int().describe("milliseconds since 1970"),
  bytes: z.int(),
});

const list = (what: string) =>
  listOf(z.string()).describe(`${what}; may be repeated`).exactOptional();

/** The holder: a key or a name, and not both. */
function granteeOf({ to, bearer }: { readonly to?: string; readonly bearer?: string }): string {
  if (to !== undefined && bearer === undefined) return to;
  if (bearer !== undefined && to === undefined) return `bearer:${bearer}`;
  throw new CortexError("ERR_INVALID", "to: expected a public key, or a name for --bearer", {
    field: "to",
  });
}

function selectorOf(input: Selector): Selector {
  const { types, kinds, tags, slots, ids } = input;
  const given = Object.entries({ types, kinds, tags, slots, ids });
  return Object.fromEntries(given.filter(([, items]) => items !== undefined)) as Selector;
}

/** A proof as scopes carry it, with the root it is for. */
function proofOf(text: string): { readonly proof: Uint8Array; readonly snapshotRoot: string } {
  const document = documentIn(text);
  const shown = "proof" in document ? verify(document.proof) : undefined;
  if (!("proof" in document) || shown?.ok !== true) {
    const message = "proof: expected a document that prove printed, got another";
    throw new CortexError("ERR_PROOF_MALFORMED", message, { field: "proof" });
  }
  const { bytes } = JSON.parse(document.proof) as { readonly bytes: string };
  return {
    proof: new Uint8Array(Buffer.from(bytes, "base64")),
    snapshotRoot: shown.checkpoint.root,
  };
}

/** The signer of a key file. */
function signerIn(text: string): Ed25519Signer {
  const malformed = (): CortexError =>
    new CortexError("ERR_INVALID", "key: expected a file that keygen made, got another", {
      field: "key",
    });
  try {
    const { cortex, seed } = JSON.parse(text) as { readonly [name: string]: unknown };
    if (cortex !== "key/1" || typeof seed !== "string") throw malformed();
    return signerOf(new Uint8Array(Buffer.from(seed, "base64")));
  } catch {
    // Whatever is wrong with it, nothing of it is shown.
    throw malformed();
  }
}

/** The operations on scopes. */
export const SCOPE_OPERATIONS = [
  defineOperation({
    name: "keygen",
    verbs: [],
    kind: "write",
    summary: "Make a key that signs scopes, or that scopes are granted to",
    help: `Writes a new Ed25519 key to a file of mode 0600, and prints its public half. A file that is there
already is left alone.`,
    example: "cortex keygen issuer.key",
    input: z.strictObject({ file: z.string().describe("a new file") }),
    output: keyShape,
    call: async (_memory, { file }, { files }) => {
      const seed = new Uint8Array(randomBytes(32));
      const publicKey = Buffer.from(signerOf(seed).publicKey).toString("base64");
      const secret = Buffer.from(seed).toString("base64");
      const text = `${JSON.stringify({ cortex: "key/1", publicKey, seed: secret })}\n`;
      await files.save(file, text, () => false);
      return { file, publicKey };
    },
    cli: {
      command: "keygen",
      group: "scopes",
      store: "none",
      arguments: [{ field: "file", label: "FILE" }],
      human: showKey,
    },
    http: { unavailable: SECRET },
  }),
  defineOperation({
    name: "issueScope",
    verbs: [],
    kind: "write",
    summary: "Sign a scope: what somebody else may see, for how long",
    help: `Works without a store: the key file signs for the actor that --actor names. What matches any of the types,
kinds, tags, slots and ids is included, then what matches --exclude-tag is taken out. Bound to a key with
--to; --bearer NAME makes a scope that serves whoever has it. Ids need --proof, from prove after snapshot.`,
    example: "cortex scope issue issuer.key --bearer helper --tag trip --hours 8",
    input: z.strictObject({
      key: z.string().describe("the file of the issuer's key, of mode 0600"),
      to: z.string().describe("the public key of the holder").exactOptional(),
      bearer: z
        .string()
        .describe("a name instead of a key: whoever has it may use it")
        .exactOptional(),
      types: listOf(words(MEMORY_TYPES)).describe("a type; may be repeated").exactOptional(),
      kinds: list("a kind"),
      tags: list("a tag"),
      slots: list("a slot"),
      ids: list("the id of a memory"),
      excludeTags: list("what has this tag is left out"),
      hours: z.number().min(0).describe("how long it holds; 24 when not given").exactOptional(),
      expiresAt: timeOf("its last moment, instead of hours").exactOptional(),
      budgetTokens: z.int().min(1).describe("most tokens of one answer").exactOptional(),
      writable: z.boolean().describe("the holder may also write within it").exactOptional(),
      proofs: z
        .boolean()
        .describe("the holder may have proofs, which show roots and numbers of the whole journal")
        .exactOptional(),
      maxSource: words(SOURCES)
        .describe("the highest source its writes may name; agent when not given")
        .exactOptional(),
      proof: z
        .string()
        .meta({ description: "a file with the proof of the ids, in their order", file: true })
        .exactOptional(),
    }),
    output: issuedShape,
    call: async (_memory, input, { files, actor }) => {
      const issuedAt = Date.now();
      const { hours = HOURS_DEFAULT, expiresAt = issuedAt + Math.round(hours * HOUR_MS) } = input;
      const grantedTo = granteeOf(input);
      const { budgetTokens, writable, proofs, maxSource, excludeTags } = input;
      const terms = {
        actor,
        include: selectorOf(input),
        issuedAt,
        expiresAt,
        grantedTo,
        ...(excludeTags === undefined ? {} : { exclude: { tags: excludeTags } }),
        ...(budgetTokens === undefined ? {} : { budgetTokens }),
        ...(writable === undefined ? {} : { writable }),
        ...(proofs === undefined ? {} : { proofs }),
        ...(maxSource === undefined ? {} : { maxSource }),
        ...(input.proof === undefined ? {} : proofOf(input.proof)),
      };
      const scope = await issueScope(terms, signerIn(files.secret(input.key)));
      return { scope, grantedTo, expiresAt, bytes: scope.length };
    },
    cli: {
      command: "scope issue",
      group: "scopes",
      store: "none",
      arguments: [{ field: "key", label: "KEYFILE" }],
      flags: {
        types: "type",
        kinds: "kind",
        tags: "tag",
        slots: "slot",
        ids: "id",
        excludeTags: "exclude-tag",
      },
      human: showIssued,
    },
    http: { unavailable: SECRET },
  }),
  verbRow("showScope", {
    help: "Says why, when it does not hold. Whoever would present it must also have its key.",
    example: 'cortex scope show "$SCOPE"',
    cli: { command: "scope show", group: "scopes", arguments: [scopeArgument], human: showScope },
  }),
  verbRow("postScope", {
    help: `For a scope too large for a header. Only one that holds is taken in. A handle is a convenience: after a
rebuild the scope has to be handed in again.`,
    example: 'cortex scope post "$SCOPE"',
    cli: { command: "scope post", group: "scopes", arguments: [scopeArgument], human: showPosted },
  }),
  verbRow("revokeScope", {
    help: "By its text, its handle or its hash. Every process that has the store open sees it at once.",
    example: 'cortex scope revoke "$SCOPE" --reason "the trip is over"',
    cli: {
      command: "scope revoke",
      group: "scopes",
      arguments: [scopeArgument],
      human: showRevoked,
    },
  }),
];
