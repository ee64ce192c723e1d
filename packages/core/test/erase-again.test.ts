/**
 * Erasing again in a store that was set back to an earlier point: what was forgotten after that point is gone from
 * every row, the root stays the same, and a list of another store or history changes nothing.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { ErasureDocument } from "../src/contract/entry.js";
import { replicaRow } from "../src/history/replica-mark.js";
import { type Cortex, eraseAgain, restoreBackup } from "../src/index.js";
import type { Kv } from "../src/kv/kv.js";
import {
  BACKENDS,
  type Backend,
  backedUp,
  emptyKv,
  furnish,
  graphOver,
  headOf,
  inPieces,
  put,
  rowsOf,
} from "./moves-support.js";
import { cleanUp } from "./other-process.js";

afterEach(cleanUp);

interface SetBack {
  readonly kv: Kv;
  readonly memory: Cortex;
  /** What was forgotten after the point to which it was set back. */
  readonly forgotten: string;
  readonly kept: string;
  /** The list that was made after the forget. */
  readonly list: ErasureDocument;
}

/** A store as it was before a forget, and the list that was made after it. */
async function setBack(backend: Backend): Promise<SetBack> {
  const before = await graphOver(await emptyKv("memory"));
  await furnish(before);
  const secret = await before.write({ type: "fact", text: "a secret", externalId: "s-1" });
  const other = await before.write({ type: "fact", text: "another" });
  await before.link(other.id, "supports", secret.id, { reason: "secret as well" });
  await before.update(secret.id, { text: "a better secret" });
  const { bytes } = await backedUp(before);
  await before.forget(secret.id, "asked for");
  const list = await before.erasures();
  const kv = await emptyKv(backend);
  await restoreBackup("memory:", [inPieces(bytes)], { actor: "ada", kv });
  const memory = await graphOver(kv, 2);
  expect((await memory.get(secret.id))?.text).toBe("a better secret");
  return { kv, memory, forgotten: secret.id, kept: other.id, list };
}

const again = (kv: Kv, list: ErasureDocument | string) =>
  eraseAgain("memory:", list, { actor: "ada", kv });

describe.each(BACKENDS)("on %s", (backend) => {
  test("what the list names is gone from every row, and the store goes on under the next epoch", async () => {
    const { kv, memory, forgotten, kept, list } = await setBack(backend);
    const { root, seq } = await memory.root();
    expect(await again(kv, JSON.stringify(list))).toEqual({
      ...{ root, seq, entries: seq + 1, epoch: 2, erasedAgain: 3 },
    });
    // Who has it open goes on.
    expect(await memory.get(forgotten)).toBeUndefined();
    expect(await memory.get("s-1")).toBeUndefined();
    expect((await memory.get(kept))?.text).toBe("another");
    expect((await memory.search("secret")).hits).toEqual([]);
    expect(await memory.root()).toMatchObject({ root, seq });
    expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
    const rows = (await rowsOf(kv)).join("\n");
    for (const word of ["a secret", "a better secret", "secret as well"]) {
      expect(rows).not.toContain(Buffer.from(word).toString("hex"));
    }
    // The place of the forgotten memory can be taken again.
    await memory.write({ type: "fact", text: "a new one", externalId: "s-1" });
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("a second time it finds nothing to erase", async () => {
    const { kv, memory, list } = await setBack(backend);
    const { root } = await again(kv, list);
    expect(await again(kv, list)).toMatchObject({ root, epoch: 3, erasedAgain: 0 });
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("others may write meanwhile", async () => {
    const { kv, memory, forgotten, list } = await setBack(backend);
    const writing = (async () => {
      for (let at = 0; at < 10; at += 1) await memory.write({ type: "note", text: `note ${at}` });
    })();
    // The list says nothing of seqs that it does not reach: what is written is behind them.
    const own = { ...list, erased: list.erased.filter(([seq]) => seq < list.size - 1) };
    await again(kv, own);
    await writing;
    expect(await memory.get(forgotten)).toBeUndefined();
    const notes = (await memory.list({ type: "note", limit: 100 })).memories;
    expect(notes.filter(({ text }) => text.startsWith("note "))).toHaveLength(10);
    expect(await memory.check()).toMatchObject({ ok: true });
  });
});

describe("what is refused", () => {
  /** Tries, and expects a failure that changed nothing. */
  async function refused({ kv, memory }: SetBack, list: ErasureDocument, told: object) {
    const head = await headOf(kv);
    await expect(again(kv, list)).rejects.toMatchObject(told);
    expect(await headOf(kv)).toEqual(head);
    expect(await memory.check()).toMatchObject({ ok: true });
  }

  test("a list of another actor, of another store, of another history", async () => {
    const place = await setBack("memory");
    const { list } = place;
    await refused(place, { ...list, actor: "eve" }, { code: "ERR_ACTOR_MISMATCH" });
    const storeId = "0".repeat(list.storeId.length);
    await refused(place, { ...list, storeId }, { code: "ERR_FORK" });
    // The text that the memory began with, and not the one that it had last.
    const some = { ...list, erased: list.erased.slice(-3, -2) };
    await refused(place, some, {
      code: "ERR_FORK",
      message: expect.stringContaining("of another history, nothing was changed"),
    });
  });

  test("a replica, which has its erasures from its source", async () => {
    const place = await setBack("memory");
    await put(place.kv, [replicaRow("https://source.example")]);
    await refused(place, place.list, { code: "ERR_READ_ONLY" });
  });

  test("an empty store, and a list that cannot be read", async () => {
    const { kv, list } = await setBack("memory");
    const empty = await emptyKv("memory");
    await expect(again(empty, list)).rejects.toMatchObject({ code: "ERR_FORMAT_UNKNOWN" });
    await expect(again(kv, "{}")).rejects.toMatchObject({ code: "ERR_INVALID" });
  });
});

test("a list that ends before the store does is applied, with a warning", async () => {
  const { kv, memory, list } = await setBack("memory");
  await memory.write({ type: "note", text: "later" });
  await memory.write({ type: "note", text: "later still" });
  const { warning, erasedAgain } = await again(kv, {
    ...list,
    erased: list.erased.filter(([seq]) => seq < list.size - 1),
  });
  expect(erasedAgain).toBe(3);
  expect(warning).toMatch(/ends at seq \d+, before the store does/);
});
