/** The vectors of checkpoints. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { concatBytes } from "../../packages/core/src/codec/keys.js";
import { sha256Pure as sha256 } from "../../packages/core/src/codec/sha256-pure.js";
import { formatCheckpoint, signNote } from "../../packages/core/src/journal/checkpoint.js";
import { vectorStore } from "./store.js";
import { base64, liar, resummed, sealed, type Vector, type World, world } from "./world.js";

/** Golden checkpoints, malformed ones, and ones that the trusted checkpoint does not back. */
export async function checkpointVectors(): Promise<readonly Vector[]> {
  const known = world();
  return [await signed(known), ...golden(known), ...malformed(known), ...unbacked(known)];
}

type Rest = Pick<Vector, "trusted" | "consistency">;

function vector(
  [name, description, checkpoint]: readonly [string, string, string],
  answer: string,
  rest: Rest = {},
): Vector {
  return { name: `checkpoints/${name}`, description, checkpoint, ...rest, answer };
}

function golden({ store, checkpoint, older }: World): readonly Vector[] {
  const born = vectorStore("ada", 7).checkpoint();
  const consistency = sealed({ checkpoint, since: store.since(older.size) });
  return [
    vector(["golden-new-store", "Entry 0 alone: both trees are empty.", born], "unanchored"),
    vector(["golden-unsigned", "Nine entries, no signature.", checkpoint], "unanchored"),
    vector(["golden-trusted", "The trusted checkpoint itself.", checkpoint], "anchored", {
      trusted: checkpoint,
    }),
    vector(
      ["golden-extends", "A proof shows that it extends the trusted one.", checkpoint],
      "anchored",
      { trusted: older.checkpoint, consistency },
    ),
  ];
}

function malformed({ checkpoint }: World): readonly Vector[] {
  const lines = checkpoint.split("\n");
  const swapped = checkpoint.replace(/edges (.*)\nmemories (.*)\n/, "edges $2\nmemories $1\n");
  const journal = lines[2] ?? "";
  const cases: readonly (readonly [string, string, string])[] = [
    [
      "flipped-bit",
      "One bit of the journal root.",
      checkpoint.replace(journal, `${journal[0] === "A" ? "B" : "A"}${journal.slice(1)}`),
    ],
    ["swapped-root", "The roots of the two trees changed places.", swapped],
    [
      "swapped-root-new-sum",
      "The roots of the two trees changed places, and the sum was made to fit.",
      resummed(swapped),
    ],
    ["wrong-sum", "The sum of another text.", checkpoint.replace(/sum ..../, "sum AAAA")],
    ["truncated", "The last line is missing.", `${lines.slice(0, 8).join("\n")}\n`],
    ["no-line-end", "The last line end is missing.", checkpoint.slice(0, -1)],
    ["trailing-byte", "One space after the end.", `${checkpoint} `],
    ["trailing-blank-line", "An empty line, and no signature after it.", `${checkpoint}\n`],
    ["foreign-line-ends", "Line ends of another system.", checkpoint.replaceAll("\n", "\r\n")],
    [
      "wrong-line-order",
      "Genesis after edges, and a sum that fits.",
      resummed(checkpoint.replace(/(genesis .*\n)(edges .*\n)/, "$2$1")),
    ],
    ["leading-zero", "A size of 09.", resummed(checkpoint.replace("\n9\n", "\n09\n"))],
    [
      "unknown-line",
      "A line that no version of the format has.",
      resummed(checkpoint.replace("at ", "more x\nat ")),
    ],
    [
      "unsigned-signature",
      "A signature line with a key hint alone.",
      `${checkpoint}\n— x AAAAAA==\n`,
    ],
  ];
  return cases.map((one) => vector(one, "ERR_CHECKPOINT_MALFORMED"));
}

function unbacked({ checkpoint, older }: World): readonly Vector[] {
  const stale = "ERR_CHECKPOINT_STALE";
  const fork = liar();
  const grown = sealed({ checkpoint: fork.checkpoint(), since: fork.since(older.size) });
  const stranger = vectorStore("ada", 8).checkpoint();
  return [
    vector(["other-origin", "Another store of the same actor.", stranger], stale, {
      trusted: checkpoint,
    }),
    vector(["fork", "The same size, another history.", fork.checkpoint()], stale, {
      trusted: checkpoint,
    }),
    vector(["rolled-back", "Older than the trusted one.", older.checkpoint], stale, {
      trusted: checkpoint,
    }),
    vector(["not-shown-to-extend", "Newer than the trusted one; no proof.", checkpoint], stale, {
      trusted: older.checkpoint,
    }),
    vector(
      [
        "extends-another-history",
        "A liar's journal, with a proof that it extends the liar's own beginning.",
        fork.checkpoint(),
      ],
      stale,
      { trusted: older.checkpoint, consistency: grown },
    ),
    vector(
      [
        "consistency-of-another-checkpoint",
        "The proof of consistency is good, but for another checkpoint.",
        checkpoint,
      ],
      stale,
      { trusted: older.checkpoint, consistency: grown },
    ),
  ];
}

/** Signed with Ed25519 under a key that everybody knows: 32 bytes of 07. */
async function signed({ store, checkpoint }: World): Promise<Vector> {
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const der = Buffer.concat([prefix, Buffer.alloc(32, 7)]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const publicKey = new Uint8Array(spki.subarray(-32));
  const name = "example.org/ada";
  // The signed note's rule for Ed25519: name, line end, algorithm 1, key.
  const hint = sha256(concatBytes(Buffer.from(`${name}\n`), Uint8Array.of(1), publicKey));
  const signature = await signNote(checkpoint, {
    name,
    keyHint: hint.slice(0, 4),
    sign: (note) => new Uint8Array(sign(null, note, key)),
  });
  const text = formatCheckpoint(sha256, store.statement(), [signature]);
  const description =
    "Signed with Ed25519. The verifier names the signer and leaves checking to who has the key.";
  return {
    ...vector(["golden-signed", description, text], "anchored", { trusted: checkpoint }),
    publicKey: base64(publicKey),
  };
}
