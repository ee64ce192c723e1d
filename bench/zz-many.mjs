import { open } from "@cortex-memory/core";
import { startDatabase } from "./lib/postgres-database.mjs";
import { asWrite, startWorkload } from "./lib/workload.mjs";
const ACTORS = Number(process.argv[2] ?? 64), EACH = Number(process.argv[3] ?? 30);
const database = await startDatabase();
const workload = startWorkload(1);
const memories = await Promise.all(Array.from({ length: ACTORS }, (_, at) => open(`${database.url}?pool=${process.argv[4] ?? 80}`, { actor: `actor-${at}` })));
const run = async (each) => {
  const items = workload.take(ACTORS * each);
  const cpu = process.cpuUsage(); const t = performance.now();
  await Promise.all(memories.map(async (m, at) => { for (const i of items.slice(at * each, (at + 1) * each)) await m.write(asWrite(i)); }));
  const used = process.cpuUsage(cpu);
  const n = ACTORS * each;
  console.log(`${n} writes: node ${((used.user + used.system) / n / 1000).toFixed(3)} ms/write cpu (user ${(used.user/n/1000).toFixed(3)}), wall ${((performance.now() - t) / n).toFixed(3)} ms/write`);
};
await run(5); await run(EACH); await run(EACH); await run(EACH);
await Promise.all(memories.map((m) => m.close()));
await database.stop();
