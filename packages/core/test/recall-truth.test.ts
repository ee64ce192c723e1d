/**
 * What recall promises beyond ranking: that a proof with a hit stops holding when the store's file is
 * tampered with, that Chinese conversations are recalled better than by words alone, and that an answer
 * reads no more in a larger store.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { isCortexError, open } from "../src/index.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { countingKv } from "../src/testing/counting-kv.js";
import { openTestStore } from "../src/testing/index.js";
import { verify } from "../src/verify.js";
import { cleanUp, temporaryFolder } from "./other-process.js";

afterEach(cleanUp);

describe("proofs", () => {
  test("hold as long as no byte of the memory is changed on disk", async () => {
    const folder = temporaryFolder();
    const before = await open(folder, { actor: "ada" });
    await before.write({ type: "fact", text: "The safe opens with marzipan" });
    const { checkpoint } = await before.checkpoint();
    const ask = { prove: true } as const;
    const [sound] = (await before.recall("what opens the safe?", ask)).hits;
    if (sound?.proof === undefined) throw new Error("there is no proof");
    expect(verify(sound.proof, checkpoint).ok).toBe(true);
    await before.close();
    const store = join(folder, "ada");
    const name = readdirSync(store).find((file) => /^g\d+\.mdb$/.test(file)) ?? "";
    const bytes = readFileSync(join(store, name));
    const wanted = Buffer.from("marzipan");
    let changed = 0;
    for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
      bytes[at] = "t".charCodeAt(0);
      changed += 1;
    }
    expect(changed).toBeGreaterThan(0);
    writeFileSync(join(store, name), bytes);
    const after = await open(folder, { actor: "ada" });
    const outcome = await after.recall("what opens the safe?", ask).then(
      ({ hits }) => hits.every(({ proof }) => proof !== undefined && verify(proof, checkpoint).ok),
      (error: unknown) => {
        if (isCortexError(error)) return false;
        throw error;
      },
    );
    expect(outcome).toBe(false);
    await after.close();
  });
});

describe("Chinese", () => {
  const TOPICS = [
    ["搬家", "波尔图", "住在河边的老房子里"],
    ["面试", "图书馆", "下周三上午十点"],
    ["生日", "蛋糕店", "要芒果口味的"],
    ["体检", "医院", "结果一切正常"],
    ["旅行", "敦煌", "坐夜里的火车去"],
    ["装修", "厨房", "墙刷成浅绿色"],
    ["钢琴", "老师", "每个星期天练两小时"],
    ["跑步", "公园", "膝盖还有一点疼"],
  ] as const;

  test("a turn that answers without the words is recalled, where words alone miss it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const answers: { readonly question: string; readonly id: string }[] = [];
    for (const [topic, place, answer] of TOPICS) {
      const said = await memory.remember(
        [
          { role: "user", content: `我想跟你说说${topic}的事，和${place}有关。` },
          { role: "assistant", content: "好的，请继续。" },
          { role: "user", content: answer },
          { role: "user", content: "先说到这里吧。" },
        ],
        { session: topic },
      );
      answers.push({ question: `${topic}和${place}怎么样了？`, id: said.turns[2]?.id ?? "" });
    }
    let [recalled, searched] = [0, 0];
    for (const { question, id } of answers) {
      const { hits } = await memory.recall(question, { limit: 5 });
      if (hits.some((hit) => hit.id === id)) recalled += 1;
      const plain = await memory.search(question, { limit: 5 });
      if (plain.hits.some((hit) => hit.id === id)) searched += 1;
    }
    expect(recalled).toBe(TOPICS.length);
    expect(searched).toBeLessThan(recalled);
  });
});

describe("what an answer reads", () => {
  async function rowsOf(memories: number): Promise<number> {
    const kv = countingKv(openMemoryKv());
    const memory = await open("memory:", { actor: "ada", kv });
    await memory.write({ type: "fact", text: "The red kite nests in the old mill" });
    for (let from = 0; from < memories; from += 500) {
      const items = Array.from({ length: 500 }, (_, at) => ({
        write: { type: "note" as const, text: `Entry ${from + at} about something else` },
      }));
      await memory.batch(items);
    }
    await memory.maintain();
    await memory.recall("where does the red kite nest?");
    kv.reset();
    const { hits } = await memory.recall("where does the red kite nest?");
    expect(hits[0]?.text).toContain("kite");
    const { keys, rows } = kv.counts();
    await memory.close();
    return keys + rows;
  }

  test("does not grow with the store", async () => {
    const small = await rowsOf(1000);
    const large = await rowsOf(8000);
    // One more segment of the index is a row more for each word.
    expect(large).toBeLessThanOrEqual(2 * small);
  });
});
