/**
 * The witness, over real stores: a history that goes on is followed, one that ends earlier is rolled
 * back, one that differs is a fork, and after either nothing more is believed. Proofs are asked for as
 * seldom as promised, and checkpoints seen between writes become one.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { CortexError, type ErrorCode } from "../errors.js";
import type { Proof } from "../journal/proof.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { type AskSince, Witness } from "./witness.js";

/** A graph over a store that can be copied as it is now. */
interface Source extends AsyncDisposable {
  readonly memory: Cortex;
  /** The same history from here on apart. */
  copy(): Promise<Source>;
  /** Writes one thing and gives the checkpoint after it. */
  write(text: string): Promise<string>;
}

async function sourceOf(data = new MemoryStore()): Promise<Source> {
  const memory = await open("memory:", { actor: "ada", kv: openMemoryKv(data) });
  return {
    memory,
    copy: () => {
      const other = new MemoryStore();
      // A committed state is replaced whole and never changed, so both can go on from it.
      other.state = data.state;
      return sourceOf(other);
    },
    async write(text) {
      await memory.write({ type: "note", text });
      return (await memory.checkpoint()).checkpoint;
    },
    async [Symbol.asyncDispose]() {
      expect((await memory.check()).ok).toBe(true);
      await memory.close();
    },
  };
}

/** A witness of whatever `present` is, and how often it asked. */
function witnessOf(present: { memory: Cortex }, everyMs = 1000) {
  const time = { nowMs: 0 };
  const asked: string[] = [];
  const ask: AskSince = (since) => {
    asked.push(since);
    return present.memory.prove({}, { since });
  };
  const witness = new Witness(ask, everyMs, () => time.nowMs);
  return { witness, asked, time };
}

async function codeOf(work: Promise<unknown>): Promise<ErrorCode | undefined> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure === undefined || failure instanceof CortexError) return failure?.code;
  throw failure;
}

describe("a history that goes on", () => {
  test("the first checkpoint is believed, every later one is shown to extend it", async () => {
    await using source = await sourceOf();
    const { witness, asked } = witnessOf(source);
    expect(witness.newest).toBeUndefined();
    const first = await source.write("one");
    await witness.see(first);
    expect([witness.newest, asked.length]).toEqual([first, 0]);
    await witness.see(first);
    expect(asked).toHaveLength(0);
    const second = await source.write("two");
    await witness.see(second);
    expect(witness.newest).toBe(second);
    expect(asked).toEqual([first]);
  });

  test("one that was trusted before is compared at the first look", async () => {
    await using source = await sourceOf();
    const before = await source.write("one");
    const now = await source.write("two");
    const { witness, asked } = witnessOf(source);
    witness.trust(before);
    expect(witness.newest).toBe(before);
    await witness.confirm();
    expect([witness.newest, asked]).toEqual([now, [before]]);
  });

  test("what is no checkpoint is refused, and changes nothing", async () => {
    await using source = await sourceOf();
    const { witness } = witnessOf(source);
    expect(() => witness.trust("not one")).toThrow(
      expect.objectContaining({ code: "ERR_CHECKPOINT_MALFORMED" }),
    );
    expect(await codeOf(witness.see("not one"))).toBe("ERR_CHECKPOINT_MALFORMED");
    const seen = await source.write("one");
    await witness.see(seen);
    expect(witness.newest).toBe(seen);
    witness.check();
  });

  test("with nothing seen there is nothing to confirm", async () => {
    await using source = await sourceOf();
    const { witness, asked } = witnessOf(source);
    await witness.confirm();
    await witness.confirmIfDue();
    expect(asked).toEqual([]);
  });
});

describe("another history", () => {
  test("that differs is a fork, and from then on nothing is believed", async () => {
    await using source = await sourceOf();
    await source.write("both");
    await using other = await source.copy();
    const seen = await source.write("only here");
    const present = { memory: source.memory };
    const { witness, asked } = witnessOf(present);
    await witness.see(seen);
    await other.write("only there");
    const theirs = await other.write("and more");
    present.memory = other.memory;
    expect(await codeOf(witness.see(theirs))).toBe("ERR_FORK");
    const before = asked.length;
    present.memory = source.memory;
    expect(() => witness.check()).toThrow(expect.objectContaining({ code: "ERR_FORK" }));
    expect(await codeOf(witness.confirm())).toBe("ERR_FORK");
    expect(await codeOf(witness.see(seen))).toBe("ERR_FORK");
    expect(asked).toHaveLength(before);
    expect(witness.newest).toBe(seen);
  });

  test("of the same length is a fork as well", async () => {
    await using source = await sourceOf();
    await source.write("both");
    await using other = await source.copy();
    const seen = await source.write("only here");
    const theirs = await other.write("only there");
    const { witness } = witnessOf(other);
    witness.trust(seen);
    expect(await codeOf(witness.see(theirs))).toBe("ERR_FORK");
  });

  test("that ends before what was seen is rolled back", async () => {
    await using source = await sourceOf();
    await source.write("both");
    await using older = await source.copy();
    const seen = await source.write("only here");
    const { witness } = witnessOf(older);
    witness.trust(seen);
    expect(await codeOf(witness.confirm())).toBe("ERR_ROLLED_BACK");
    expect(() => witness.check()).toThrow(expect.objectContaining({ code: "ERR_ROLLED_BACK" }));
  });

  test("of another store under the same name is a fork", async () => {
    await using source = await sourceOf();
    await using stranger = await sourceOf();
    const seen = await source.write("mine");
    await stranger.write("theirs");
    await stranger.write("and more");
    const { witness } = witnessOf(stranger);
    witness.trust(seen);
    expect(await codeOf(witness.confirm())).toBe("ERR_FORK");
  });
});

describe("the server's word is not enough", () => {
  /** A witness that trusts the first of two checkpoints and is answered so. */
  async function answeredBy(source: Source, answer: AskSince): Promise<Witness> {
    const seen = await source.write("one");
    await source.write("two");
    const witness = new Witness(answer, 1000, () => 0);
    witness.trust(seen);
    return witness;
  }

  test("an honest proof of something else is none", async () => {
    await using source = await sourceOf();
    const witness = await answeredBy(source, () => source.memory.prove({ seqs: [0] }));
    expect(await codeOf(witness.confirm())).toBe("ERR_FORK");
  });

  test("a proof that was changed on the way is none", async () => {
    await using source = await sourceOf();
    const witness = await answeredBy(source, async (since) => {
      const proof = await source.memory.prove({}, { since });
      const bytes = Buffer.from(proof.bytes, "base64");
      bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
      return { ...proof, bytes: bytes.toString("base64") };
    });
    expect(await codeOf(witness.confirm())).toBe("ERR_FORK");
  });

  test.each<[ErrorCode, ErrorCode]>([
    ["ERR_ROLLED_BACK", "ERR_ROLLED_BACK"],
    ["ERR_FORK", "ERR_FORK"],
    ["ERR_CHECKPOINT_STALE", "ERR_FORK"],
    ["ERR_NOT_FOUND", "ERR_ROLLED_BACK"],
  ])("a server that says %s itself is taken at it, for good", async (said, code) => {
    await using source = await sourceOf();
    const witness = await answeredBy(source, () => Promise.reject(new CortexError(said, "so")));
    expect(await codeOf(witness.confirm())).toBe(code);
    expect(() => witness.check()).toThrow(expect.objectContaining({ code }));
  });

  test("a server that cannot be reached has shown nothing: the next look decides", async () => {
    await using source = await sourceOf();
    let isAway = true;
    const witness = await answeredBy(source, (since) =>
      isAway
        ? Promise.reject(new CortexError("ERR_STORAGE", "server: it cannot be reached"))
        : source.memory.prove({}, { since }),
    );
    const before = witness.newest;
    expect(await codeOf(witness.confirm())).toBe("ERR_STORAGE");
    witness.check();
    expect(witness.newest).toBe(before);
    isAway = false;
    await witness.confirm();
    expect(witness.newest).toBe((await source.memory.checkpoint()).checkpoint);
  });
});

describe("how often it asks", () => {
  test("not before the last look is too old; calls at the same time share one", async () => {
    await using source = await sourceOf();
    const { witness, asked, time } = witnessOf(source, 1000);
    await witness.see(await source.write("one"));
    await source.write("two");
    time.nowMs = 999;
    await witness.confirmIfDue();
    expect(asked).toHaveLength(0);
    time.nowMs = 1000;
    await Promise.all([witness.confirmIfDue(), witness.confirmIfDue(), witness.confirmIfDue()]);
    expect(asked).toHaveLength(1);
    await witness.confirmIfDue();
    expect(asked).toHaveLength(1);
    await witness.confirm();
    expect(asked).toHaveLength(2);
  });

  test("looks take turns: none compares with what another is about to replace", async () => {
    await using source = await sourceOf();
    const { witness } = witnessOf(source);
    const seen = [
      await source.write("one"),
      await source.write("two"),
      await source.write("three"),
    ];
    await Promise.all(seen.map((note) => witness.see(note)));
    await Promise.all([witness.confirm(), witness.confirm()]);
    expect(witness.newest).toBe(seen[2]);
  });
});

describe("checkpoints seen between writes", () => {
  /** A source that is written once more before each of the first proofs. */
  async function busy(source: Source, times: number): Promise<AskSince> {
    let left = times;
    return async (since): Promise<Proof> => {
      if (left > 0) await source.write(`busy ${left}`);
      left -= 1;
      return source.memory.prove({}, { since });
    };
  }

  test("are kept until both lead to one present", async () => {
    await using source = await sourceOf();
    const witness = new Witness(await busy(source, 6), 1000, () => 0);
    await witness.see(await source.write("one"));
    await witness.see(await source.write("two"));
    await witness.see(await source.write("three"));
    await witness.confirm();
    expect(witness.newest).toBe((await source.memory.checkpoint()).checkpoint);
  });

  test("of a store that never rests are given up one day, and that is no fork", async () => {
    await using source = await sourceOf();
    let isBusy = true;
    let last: Promise<unknown> = Promise.resolve();
    // One by one, each after a write: no two proofs lead to the same present.
    const ask: AskSince = (since) => {
      const next = last.then(async () => {
        if (isBusy) await source.write("busy");
        return source.memory.prove({}, { since });
      });
      last = next;
      return next;
    };
    const witness = new Witness(ask, 1000, () => 0);
    let code: ErrorCode | undefined;
    for (let round = 0; round < 20 && code === undefined; round += 1) {
      code = await codeOf(witness.see(await source.write(`round ${round}`)));
    }
    expect(code).toBe("ERR_CONTENDED");
    witness.check();
    isBusy = false;
    await witness.confirm();
    expect(witness.newest).toBe((await source.memory.checkpoint()).checkpoint);
  });
});
