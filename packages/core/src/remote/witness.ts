/**
 * What the client has seen of the server's history, and the demand that it goes on from there.
 *
 * A checkpoint that was seen is kept. Every later one has to extend it, shown by a proof that the
 * verifier checks here; the server's word is not enough. A history that ends before a position seen is
 * `ERR_ROLLED_BACK`, one that differs is `ERR_FORK`, and from then on every call fails so: nothing more
 * this server says is believed by this client.
 *
 * A proof always leads to the present, so of two checkpoints that were seen in between writes neither
 * can be shown to extend the other right away. Both are kept then, and become one as soon as both lead
 * to the same present.
 */
import { sha256Pure } from "../codec/sha256-pure.js";
import { CortexError, isCortexError } from "../errors.js";
import { parseCheckpoint } from "../journal/checkpoint.js";
import { decodeProof, type Proof, proofBytes } from "../journal/proof.js";
import { verify } from "../verify.js";

/** Asks the server for a proof that its history extends a checkpoint. */
export type AskSince = (checkpoint: string) => Promise<Proof>;

/** Rounds of proofs after which two checkpoints may stay two for now. */
const ROUNDS = 3;

/** Checkpoints that may be waiting to become one. */
const TIPS_MAX = 8;

/** See the file header. */
export class Witness {
  readonly #ask: AskSince;
  readonly #everyMs: number;
  readonly #nowMs: () => number;
  /** Notes that were seen and not yet shown to be part of a later one; mostly one. */
  #tips: readonly string[] = [];
  #confirmedAtMs: number;
  #failure: CortexError | undefined;
  /** One look at a time: two at once would compare with what the other is about to replace. */
  #turn: Promise<unknown> = Promise.resolve();
  #isDue: Promise<void> | undefined;

  constructor(ask: AskSince, everyMs: number, nowMs: () => number) {
    this.#ask = ask;
    this.#everyMs = everyMs;
    this.#nowMs = nowMs;
    this.#confirmedAtMs = nowMs();
  }

  /** The newest checkpoint seen and found consistent, as text. */
  get newest(): string | undefined {
    const sized = this.#tips.map((note) => ({ note, size: parse(note).size }));
    return sized.reduce((a, b) => (b.size > a.size ? b : a), sized[0] ?? NONE).note;
  }

  /** Throws what was found wrong with the server before. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Trusts a checkpoint from before, which nothing has been compared with yet. */
  trust(checkpoint: string): void {
    this.#tips = [parse(checkpoint).note];
  }

  /** Takes note of a checkpoint in an answer; it has to be of one history with those before. */
  see(checkpoint: string): Promise<void> {
    return this.#inTurn(async () => {
      const { note } = parse(checkpoint);
      if (this.#tips.includes(note)) return;
      if (this.#tips.length === 0) {
        this.#tips = [note];
        this.#confirmedAtMs = this.#nowMs();
        return;
      }
      await this.#round();
      if (this.#tips.includes(note)) return;
      this.#tips = [...this.#tips, note];
      for (let round = 0; round < ROUNDS && this.#tips.length > 1; round += 1) await this.#round();
      if (this.#tips.length <= TIPS_MAX) return;
      const message = "the store is written too fast to compare the checkpoints seen";
      throw new CortexError("ERR_CONTENDED", message);
    });
  }

  /** Demands now that the server's history goes on from what was seen. */
  confirm(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#tips.length > 0) await this.#round();
    });
  }

  /** The same when the last look is too long ago; calls at the same time share one. */
  confirmIfDue(): Promise<void> {
    const isDue = this.#nowMs() - this.#confirmedAtMs >= this.#everyMs;
    if (this.#tips.length === 0 || !isDue) return Promise.resolve();
    this.#isDue ??= this.confirm().finally(() => {
      this.#isDue = undefined;
    });
    return this.#isDue;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(() => {
      this.check();
      return work();
    });
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Puts the present in the place of everything seen. */
  async #round(): Promise<void> {
    const presents = await Promise.all(this.#tips.map((tip) => this.#presentOf(tip)));
    this.#tips = [...new Set(presents)];
    this.#confirmedAtMs = this.#nowMs();
  }

  /** The note of the server's present, shown to extend a checkpoint. */
  async #presentOf(tip: string): Promise<string> {
    let proof: Proof;
    try {
      proof = await this.#ask(tip);
    } catch (error) {
      throw this.#judge(tip, error);
    }
    const result = verify(proof, tip);
    if (result.ok && result.anchored) return decodeProof(proofBytes(proof)).checkpoint;
    const size = result.ok ? undefined : sizeIn(proof);
    const seen = parse(tip).size;
    const why = result.ok ? "the server shows no proof" : result.message;
    throw this.#fail(
      size !== undefined && size < seen
        ? rolledBack(
            `the history ends at seq ${size - 1}, but seq ${seen - 1} was seen before`,
            size,
          )
        : forked(`the history does not extend what was seen up to seq ${seen - 1}: ${why}`, seen),
    );
  }

  /** What the server said itself about a checkpoint that it does not extend. */
  #judge(tip: string, error: unknown): unknown {
    const seen = parse(tip).size;
    if (isCortexError(error, "ERR_ROLLED_BACK") || isCortexError(error, "ERR_FORK")) {
      return this.#fail(error);
    }
    if (isCortexError(error, "ERR_CHECKPOINT_STALE")) {
      return this.#fail(forked("the server has another store than the one seen before", seen));
    }
    if (isCortexError(error, "ERR_NOT_FOUND")) {
      return this.#fail(rolledBack(`there is no store, but seq ${seen - 1} was seen before`, 0));
    }
    return error;
  }

  #fail(error: CortexError): CortexError {
    this.#failure = error;
    return error;
  }
}

const NONE = { note: undefined, size: 0 };

function parse(checkpoint: string) {
  return parseCheckpoint(sha256Pure, checkpoint);
}

/** How many entries the present of a proof covers; `undefined` when that cannot be read. */
function sizeIn(proof: Proof): number | undefined {
  try {
    return parse(decodeProof(proofBytes(proof)).checkpoint).size;
  } catch {
    return undefined;
  }
}

function rolledBack(what: string, size: number): CortexError {
  return new CortexError("ERR_ROLLED_BACK", `server: ${what}`, size > 0 ? { seq: size - 1 } : {});
}

function forked(what: string, size: number): CortexError {
  return new CortexError("ERR_FORK", `server: ${what}`, { seq: size - 1 });
}
