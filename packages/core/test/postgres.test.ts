/** The storage suite on the Postgres backend: on a real server, and through pgbouncer. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { kvSuite } from "../src/testing/index.js";
import { isLacking } from "../src/testing/lacking.js";
import {
  type Pgbouncer,
  type PostgresServer,
  startPgbouncer,
  startPostgres,
  whyNoPostgres,
} from "./postgres-server.js";

const missing = whyNoPostgres();

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("a real server", () => {
  let server: PostgresServer;
  let bouncer: Pgbouncer;
  beforeAll(async () => {
    // What the server takes transactions for unless told otherwise is none of our business.
    server = await startPostgres(["default_transaction_isolation = 'serializable'"]);
    bouncer = await startPgbouncer(server);
  });
  afterAll(async () => {
    await bouncer?.stop();
    await server?.stop();
  });

  for (const name of ["postgres", "pgbouncer"] as const) {
    kvSuite({
      name,
      test,
      seeds: name === "postgres" ? [1, 2, 3, 4] : [5, 6],
      async open() {
        const { url } = name === "postgres" ? server : bouncer;
        const location = `${hubIn(url)}&pool=60&partitions=4`;
        let kv = await openPostgresKv(location, "ada");
        return {
          kv,
          async reopen() {
            await kv.close();
            kv = await openPostgresKv(location, "ada");
            return kv;
          },
          second: () => openPostgresKv(location, "ada"),
          cleanup: () => kv.close(),
        };
      },
    });
  }

  test("the rows of a store that was replaced go, however many there are", async () => {
    const location = `${hubIn(server.url)}&partitions=4`;
    const actor = `${new URL(location).searchParams.get("hub")}/ada`;
    const kv = await openPostgresKv(location, "ada");
    const head = Uint8Array.of(1);
    const puts = Array.from({ length: 11_000 }, (_, at) => ({
      key: Uint8Array.of(2, at >> 8, at & 255),
      value: head,
    }));
    await kv.commit({ expectHead: undefined, head, puts, deletes: [] });
    for (const kept of [10_000, 3]) {
      const next = await kv.nextGeneration();
      const some = puts.slice(0, kept);
      await next.kv.commit({ expectHead: undefined, head, puts: some, deletes: [] });
      expect(await next.promote(head, Uint8Array.of(0xff))).toEqual({ ok: true });
      const left = server.psql(`SELECT count(*) FROM cortex_rows WHERE actor = '${actor}'`);
      expect(left).toBe(String(kept));
    }
    expect(server.psql(`SELECT count(*) FROM cortex_heads WHERE actor = '${actor}'`)).toBe("1");
    await kv.close();
  });
});

test("without the package pg an address is refused in one sentence", () => {
  const hook = `import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(\`export async function resolve(name, context, next) {
      if (name !== "pg") return next(name, context);
      throw Object.assign(new Error("Cannot find package 'pg'"), { code: "ERR_MODULE_NOT_FOUND" });
    }\`));`;
  const program = `const { open } = await import(process.argv[1]);
    try { await open("postgres://nobody@127.0.0.1:1/none"); } catch (error) { console.log(error.code + ": " + error.message); }`;
  const core = new URL("../dist/index.js", import.meta.url).href;
  const words = [
    "--import",
    `data:text/javascript,${encodeURIComponent(hook)}`,
    "--input-type=module",
    "-e",
    program,
    core,
  ];
  const { stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
  expect(stdout.trim()).toBe(
    "ERR_UNSUPPORTED: a postgres:// address needs the package pg, which is not installed: npm install pg",
  );
});
