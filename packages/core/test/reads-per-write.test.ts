import { test } from "vitest";
import { countingKv, openTestStore, type CountingKv } from "../src/testing/index.js";
import type { Cortex } from "../src/index.js";
import type { Kv } from "../src/kv/kv.js";

function rounds(kv: Kv) {
  const c = countingKv(kv);
  let open = 0; let n = 0;
  const snap = async () => { const s = await c.snapshot();
    const w = <T>(f: () => Promise<T>) => { if (open === 0) n++; open++; return f().finally(() => { open--; }); };
    return { getMany: (k: any) => w(() => s.getMany(k)), ranges: (r: any) => w(() => s.ranges(r)), close: () => s.close() };
  };
  return { ...c, snapshot: snap, rounds: () => n, resetRounds: () => { n = 0; c.reset(); } } as CountingKv & { rounds(): number; resetRounds(): void };
}

test("measure", async () => {
  for (const size of [1, 50]) {
  for (const cold of [false, true]) {
    let kv!: ReturnType<typeof rounds>;
    const store = await openTestStore({ wrap: (inner) => (kv = rounds(inner)) });
    const m0 = store.memory;
    await m0.batch(Array.from({ length: 3000 }, (_, i) => ({ write: { type: "fact" as const, text: `base ${i}`, tags: ["t", `g${i%7}`], externalId: `x${i}` } })));
    await m0.batch(Array.from({ length: 500 }, (_, i) => ({ link: { from: `x${i}`, kind: "uses", to: `x${i + 1}` } })));
    await m0.batch(Array.from({ length: 200 }, (_, i) => ({ write: { type: "goal" as const, text: `goal ${i}`, slot: `s${i}`, externalId: `g${i}` } })));
    await m0.write({ type: "note", text: "config on" });
    await m0.configure({ conflictPolicy: "manual" });
    await m0.remember([{ role: "user", content: "a" }, { role: "user", content: "b" }], { session: "s" });
    let next = 0;
    const ids = (await m0.list({ limit: 3000, order: "oldest", type: "fact" })).memories.map((m) => m.id);
    const run = async (name: string, op: (m: Cortex, i: number) => Promise<unknown>) => {
      let m = store.memory;
      if (cold) m = await store.reopen();
      else await m.write({ type: "note", text: "warm" });
      kv.resetRounds();
      await op(m, next++);
      console.log(size, cold ? "cold" : "warm", name, "rounds", kv.rounds(), "batches", kv.counts().batches, "keys", kv.counts().keys, "snap", kv.counts().snapshots);
    };
    const x = (f: (i: number) => any) => Array.from({ length: size }, (_, i) => f(i));
    await run("write note", (m) => m.write({ type: "note", text: "n" }));
    await run("write fact", (m) => m.write({ type: "fact", text: `new ${next}` }));
    await run("write restate", (m) => m.write({ type: "fact", text: `base 7` }));
    await run("write ext restate", (m) => m.write({ type: "fact", text: `base 8`, externalId: `e${next}` }));
    await run("write new slot", (m) => m.write({ type: "fact", text: `new ${next}`, slot: `q${next}` }));
    await run("write slot change", (m) => m.write({ type: "goal", text: `changed ${next}`, slot: `s3` }));
    await run("write supersedes id", (m) => m.write({ type: "fact", text: `sup ${next}`, supersedes: [ids[100]!] }));
    await run("write supersedes ext", (m) => m.write({ type: "fact", text: `sup ${next}`, supersedes: ["x101"] }));
    await run("update id", (m) => m.update(ids[200]!, { text: "upd" }));
    await run("update ext", (m) => m.update("x201", { text: "upd" }));
    await run("update twice id", (m) => m.update(ids[200]!, { text: "upd2" }));
    await run("update rival", (m) => m.update(ids[200]!, { text: "upd3", basedOnVersion: 1 }));
    await run("updateHead", (m) => m.updateHead(ids[210]!, { tags: ["new"] }));
    await run("updateHead again", (m) => m.updateHead(ids[210]!, { tags: ["new2"] }));
    await run("update after head", (m) => m.update(ids[210]!, { text: "x" }));
    await run("tombstone", (m) => m.tombstone(ids[210]!, "r"));
    await run("tombstone ext", (m) => m.tombstone("x211", "r"));
    await run("restore", (m) => m.restore(ids[210]!));
    await run("tombstone slot", (m) => m.tombstone("g9", "r"));
    await run("restore slot", (m) => m.restore("g9"));
    await run("addEdge", (m) => m.addEdge(ids[300]!, "uses", ids[900]!));
    await run("addEdge ext", (m) => m.addEdge("x301", "uses", "x901"));
    await run("addEdge noop", (m) => m.addEdge(ids[300]!, "uses", ids[900]!));
    await run("addEdge open kind", (m) => m.addEdge(ids[300]!, `k${next}`, ids[900]!));
    await run("addEdge open kind ext", (m) => m.addEdge("x300", `k${next}`, "x900"));
    await run("removeEdge", (m) => m.removeEdge(ids[300]!, "uses", ids[900]!));
    await run("removeEdge ext", (m) => m.removeEdge("x301", "uses", "x901"));
    await run("addEdge revive", (m) => m.addEdge(ids[300]!, "uses", ids[900]!));
    await run("remember", (m) => m.remember(x((i) => ({ role: "user" as const, content: `c ${i}` })), { session: "s" }));
    await run("remember placed", (m) => m.remember(x((i) => ({ role: "user" as const, content: `c ${i}`, index: 1000 + i })), { session: "s" }));
    await run("setGoalState", (m) => m.setGoalState("g5", { failureStreak: 1 } as never));
    await run("deleteGoalState", (m) => m.deleteGoalState("g5"));
    await run("configure", (m) => m.configure({ kindWhitelist: [] }));
    await run("batch write", (m) => m.batch(x((i) => ({ write: { type: "fact", text: `bw ${next} ${i}` } }))));
    await run("batch restate", (m) => m.batch(x((i) => ({ write: { type: "fact", text: `base ${1000 + i}` } }))).catch(e=>console.log(e)));
    await run("batch slot", (m) => m.batch(x((i) => ({ write: { type: "goal", text: `bs ${next} ${i}`, slot: `s${20 + i}` } }))));
    await run("batch update id", (m) => m.batch(x((i) => ({ update: { id: ids[1000 + i], text: `bu ${next} ${i}` } }))));
    await run("batch update ext", (m) => m.batch(x((i) => ({ update: { id: `x${1100 + i}`, text: `bu ${next} ${i}` } }))));
    await run("batch link id", (m) => m.batch(x((i) => ({ link: { from: ids[1000 + i], kind: "uses", to: ids[2000 + i] } }))));
    await run("batch link ext", (m) => m.batch(x((i) => ({ link: { from: `x${1200 + i}`, kind: "uses", to: `x${2000 + i}` } }))));
    await run("batch refs", (m) => m.batch([{ write: { type: "note", text: "root" }, ref: "r" }, ...x((i) => ({ write: { type: "note", text: `leaf ${i}` }, ref: `l${i}` })), ...x((i) => ({ link: { from: { ref: `l${i}` }, kind: "part_of", to: { ref: "r" } } }))]));
    await store.dispose();
  }}
});
