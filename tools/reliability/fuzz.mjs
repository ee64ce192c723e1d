/**
 * `npm run fuzz`: hostile bytes for everything that reads what somebody else wrote: CBOR, URIs, proofs,
 * slices, exports, cursors, scopes, queries, HTTP and MCP messages.
 *
 * Each target has good samples; an input is a sample that was cut, flipped, repeated or mixed with
 * another, or nonsense. What must hold: a failure is a `CortexError` (from the server: no 5xx and no
 * end), what is accepted is what was written and nothing else, and no input takes more than a second of
 * processor time. One that never ends is named by a watchdog in a thread of its own.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { decode, encode } from "../../packages/core/dist/codec/cbor.js";
import { signerOf } from "../../packages/core/dist/codec/node-crypto.js";
import { toBase64 } from "../../packages/core/dist/codec/text.js";
import {
  buildUri,
  importJournal,
  isCortexError,
  issueScope,
  open,
  parseUri,
} from "../../packages/core/dist/index.js";
import { seededRandom } from "../../packages/core/dist/testing/seeded-random.js";
import { verify, verifySlice } from "../../packages/core/dist/verify.js";
import { fail, newSeed, progress, readFlags } from "./arguments.mjs";
import { startServer } from "./served.mjs";

const CPU_MS_MAX = 1000;
const WATCHDOG_MS = 30_000;

/** Some bytes made from good ones. */
function mutated(random, samples) {
  let bytes = Buffer.from(random.pick(samples));
  for (let left = random.between(1, 4); left > 0; left -= 1) {
    const at = random.below(bytes.length + 1);
    const other = Buffer.from(random.pick(samples));
    const piece = other.subarray(random.below(other.length + 1)).subarray(0, random.between(1, 64));
    switch (random.below(7)) {
      case 0:
        if (bytes.length > 0) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
        break;
      case 1:
        bytes = bytes.subarray(0, at);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.between(1, 16))]);
        break;
      case 4:
        if (bytes.length > 0)
          bytes[random.below(bytes.length)] = random.pick([
            0, 0x1f, 0x7f, 0x80, 0x9f, 0xbf, 0xdf, 0xff,
          ]);
        break;
      case 5:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          Buffer.from(random.bytes(random.between(1, 32))),
          bytes.subarray(at),
        ]);
        break;
      default:
        bytes = Buffer.concat([bytes, bytes.subarray(at)]);
    }
  }
  return bytes;
}

/** JSON made from good ones: values put in each other's places, and what no schema expects. */
function mutatedJson(random, samples) {
  const strange = [
    null,
    true,
    -1,
    0,
    2 ** 53,
    1e308,
    "",
    "\u0000",
    "\ud800",
    "x".repeat(5000),
    [],
    {},
    [[[[]]]],
    { $ne: 1 },
    { __proto__: 1 },
    "../..",
    "#latest",
  ];
  const change = (value, depth) => {
    if (random.chance(depth === 0 ? 3 : 12)) return random.pick(strange);
    if (Array.isArray(value)) {
      const items = value.map((item) => change(item, depth + 1));
      return random.chance(5) ? Array.from({ length: 300 }, () => items[0] ?? 1) : items;
    }
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, item]) => [
      random.chance(4) ? `${key}x` : key,
      change(item, depth + 1),
    ]);
    if (random.chance(10))
      entries.push([
        random.pick(["limit", "cursor", "asOf", "access", "by", "constructor"]),
        random.pick(strange),
      ]);
    return Object.fromEntries(entries);
  };
  return change(structuredClone(random.pick(samples)), 0);
}

/** What all targets are made from: a small store with everything in it. */
async function makeWorld(folder) {
  const memory = await open(join(folder, "store"), { actor: "ada" });
  const ids = [];
  for (let at = 0; at < 20; at += 1) {
    const { id } = await memory.write({
      type: "fact",
      text: `fact number ${at}`,
      tags: ["t", `t${at % 3}`],
      visibility: "scoped",
    });
    ids.push(id);
  }
  await memory.link(ids[0], "supports", ids[1]);
  await memory.forget(ids[19], "asked to");
  const issuer = signerOf(new Uint8Array(32).fill(3));
  await memory.configure({ trustedIssuers: [toBase64(issuer.publicKey)] });
  const { checkpoint } = await memory.snapshot("sealed");
  return { memory, ids, issuer, checkpoint, folder };
}

/** Questions of every shape. */
const QUERIES = [
  {
    where: { and: [{ eq: ["head.type", "fact"] }, { gte: ["head.importance", 2] }] },
    tags: ["t"],
    limit: 5,
  },
  {
    types: ["fact", "note"],
    kind: "memo",
    orderBy: [{ field: "salience" }],
    limit: 10,
    budgetTokens: 100,
  },
  {
    tags: ["t"],
    where: { or: [{ matches: ["text", "(?i)fact"] }, { not: { eq: ["head.importance", 5] } }] },
    limit: 3,
  },
  { text: "fact", limit: 4 },
];

/** Good samples of everything. */
async function makeSamples(world) {
  const { memory, ids, issuer, checkpoint, folder } = world;
  const proof = await memory.prove({ memories: ids.slice(0, 4), seqs: [1, 2] });
  const slice = await memory.share({ tags: ["t1"] });
  const exported = join(folder, "good.export");
  const { root } = await memory.exportJournal(exported);
  const exportBytes = readFileSync(exported);
  const now = Date.now();
  const scope = await issueScope(
    {
      actor: "ada",
      include: { tags: ["t"] },
      issuedAt: now,
      expiresAt: now + 3_600_000,
      grantedTo: "bearer:fuzz",
    },
    issuer,
  );
  const cursors = [];
  for (let cursor; cursors.length < 5; ) {
    const page = await memory.find({
      tags: ["t"],
      limit: 3,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (page.cursor === undefined) break;
    cursor = page.cursor;
    cursors.push(cursor);
  }
  const proofText = JSON.stringify(proof);
  const proofBytes = Buffer.from(proof.bytes, "base64");
  const sliceText = JSON.stringify(slice);
  // A target whose good sample is refused would show nothing.
  if (!verify(proofText, checkpoint).ok || !verifySlice(slice, checkpoint).ok)
    throw new Error("a good proof was refused");
  const cbor = [
    encode({ a: 1, b: [1, 2, new Uint8Array(3)] }),
    encode(["text", -5, 2 ** 40, true, null, { x: { y: [] } }]),
    encode(1.5),
  ];
  const uris = ids.slice(0, 3).map((id) => `cortex://ada/Fact/${id}#1`);
  return {
    ...world,
    proofText,
    proofBytes,
    slice,
    sliceText,
    exportBytes,
    root,
    scope,
    cursors,
    cbor,
    uris,
  };
}

/** A target makes an input, and says what is wrong with the outcome, or nothing; a `CortexError` is fine. */
const TARGETS = {
  cbor: (random, { cbor }) => {
    const bytes = mutated(random, cbor);
    return {
      input: bytes.toString("hex"),
      run: () =>
        Buffer.from(encode(decode(bytes))).equals(bytes)
          ? undefined
          : "decoded to what is written otherwise",
    };
  },
  uri: (random, { uris }) => {
    const text = mutated(random, uris).toString("utf8");
    return {
      input: text,
      run: () => (buildUri(parseUri(text)) === text ? undefined : "parsed to another URI"),
    };
  },
  proof: (random, { proofText, proofBytes, checkpoint }) => {
    const isText = random.chance(40);
    const bytes = mutated(random, [isText ? proofText : proofBytes]);
    const given = isText ? bytes.toString("utf8") : bytes;
    return {
      input: bytes.toString("base64"),
      run: () => proofProblem(verify(given, checkpoint), given, proofBytes),
    };
  },
  slice: (random, { slice, sliceText, checkpoint }) => {
    const given = random.chance(50)
      ? mutatedJson(random, [slice])
      : parsed(mutated(random, [sliceText]).toString("utf8"));
    return {
      input: JSON.stringify(given),
      run: () => sliceProblem(verifySlice(given, checkpoint), given, slice),
    };
  },
  export: (random, { exportBytes, folder, root }) => {
    const bytes = mutated(random, [exportBytes]);
    return {
      input: `${bytes.length} bytes`,
      run: async () => {
        const place = mkdtempSync(join(folder, "import-"));
        try {
          writeFileSync(join(place, "file"), bytes);
          const report = await importJournal(join(place, "store"), join(place, "file"), {
            actor: "ada",
          });
          return report.root === root
            ? undefined
            : `a changed file was imported, root ${report.root}`;
        } finally {
          rmSync(place, { recursive: true, force: true });
        }
      },
    };
  },
  cursor: (random, { cursors, memory, ids }) => {
    const cursor = mutated(random, cursors).toString("utf8");
    return {
      input: cursor,
      run: async () => {
        const { hits } = await memory.find({ tags: ["t"], limit: 3, cursor });
        return hits.every(({ id }) => ids.includes(id))
          ? undefined
          : "a page with what was not asked for";
      },
    };
  },
  scope: (random, { scope, memory }) => {
    const text = mutated(random, [scope]).toString("utf8");
    return {
      input: text,
      run: async () => {
        const access = await memory.scopeAccess(text);
        return text.trim() === scope || access.scope === undefined
          ? undefined
          : "a changed scope was taken";
      },
    };
  },
  query: (random, { memory }) => {
    const query = mutatedJson(random, QUERIES);
    return { input: JSON.stringify(query), run: async () => void (await memory.find(query)) };
  },
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A proof that verifies has the bytes of the good one: whoever changes one is found out. */
function proofProblem(result, given, good) {
  if (!result.ok) return undefined;
  const bytes =
    typeof given === "string" ? Buffer.from(parsed(given)?.bytes ?? given, "base64") : given;
  return Buffer.from(bytes).equals(good) ? undefined : "a changed proof was taken";
}

function sliceProblem(result, given, good) {
  if (!result.ok) return undefined;
  return JSON.stringify(given?.proof) === JSON.stringify(good.proof) &&
    JSON.stringify(given.memories) === JSON.stringify(good.memories)
    ? undefined
    : "a changed slice was taken";
}

const BODIES = [
  { type: "note", text: "hello", tags: ["a"] },
  { query: "hello", limit: 3, budgetTokens: 100 },
  { turns: [{ role: "user", content: "hi" }], session: "s" },
  { id: "01ARZ3NDEKTSV4RRFFQ69G5FAV", reason: "x" },
  { items: [{ write: { type: "note", text: "b" } }] },
];
const PATHS = [
  "write",
  "recall",
  "remember",
  "find",
  "get",
  "update",
  "batch",
  "forget",
  "prove",
  "link",
  "search",
  "context",
  "session",
  "list",
  "configure",
];
const MESSAGES = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "memory_recall", arguments: { query: "hello" } },
  },
  {
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "memory_remember", arguments: { text: "hello", type: "fact" } },
  },
  {
    jsonrpc: "2.0",
    id: 3,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "f", version: "1" },
    },
  },
  { jsonrpc: "2.0", id: 4, method: "tools/list" },
  {
    jsonrpc: "2.0",
    id: 5,
    method: "resources/read",
    params: { uri: "cortex://default/Fact/01ARZ3NDEKTSV4RRFFQ69G5FAV#1" },
  },
];
const RAWS = PATHS.slice(0, 3).map(
  (path) =>
    `POST /v1/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"text":"hello!"}`,
);
/** What is wrong with a server that should be there. */
function ended(server) {
  return server.isAlive() ? undefined : `the server ended: ${server.errors()}`;
}

async function posted(server, path, body, headers = {}) {
  const answer = await fetch(server.url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body,
    signal: AbortSignal.timeout(WATCHDOG_MS),
  });
  const text = await answer.text();
  return answer.status >= 500 ? `status ${answer.status}: ${text.slice(0, 300)}` : ended(server);
}

/** Targets of a running server. */
const SERVER_TARGETS = {
  http: (random, { server }) => {
    const path = `/v1/${random.pick(PATHS)}`;
    const body = random.chance(70)
      ? JSON.stringify(mutatedJson(random, BODIES))
      : mutated(
          random,
          BODIES.map((one) => JSON.stringify(one)),
        );
    return { input: `${path} ${body}`, run: () => posted(server, path, body) };
  },
  mcp: (random, { server }) => {
    const body = random.chance(70)
      ? JSON.stringify(mutatedJson(random, MESSAGES))
      : mutated(
          random,
          MESSAGES.map((one) => JSON.stringify(one)),
        );
    return {
      input: String(body),
      run: () => posted(server, "/mcp", body, { Accept: "application/json, text/event-stream" }),
    };
  },
  raw: (random, { server }) => {
    const bytes = mutated(random, RAWS);
    return {
      input: JSON.stringify(bytes.toString("latin1")),
      run: async () => {
        const answer = await sendRaw(Number(new URL(server.url).port), bytes);
        return /^HTTP\/1\.1 5/.test(answer) ? `answered ${answer.slice(0, 80)}` : ended(server);
      },
    };
  },
};

function sendRaw(port, bytes) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const end = () => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(300, end);
    socket.on("data", (data) => {
      text += data.toString("latin1");
      end();
    });
    socket.on("error", end).on("close", () => resolve(text));
    socket.end(bytes);
  });
}

/** Names the input that never ended, and ends the process. */
function startWatchdog() {
  const shared = new SharedArrayBuffer(16);
  const numbers = new BigInt64Array(shared);
  const code = `
    const { workerData } = require("node:worker_threads");
    const numbers = new BigInt64Array(workerData);
    setInterval(() => {
      const started = Number(Atomics.load(numbers, 0));
      if (started === 0 || Date.now() - started < ${WATCHDOG_MS}) return;
      require("node:fs").writeSync(2, "input number " + Atomics.load(numbers, 1) + " never ends; repeat it with --only\\n");
      process.kill(process.pid, "SIGKILL");
    }, 500);`;
  const worker = new Worker(code, { eval: true, workerData: shared });
  return {
    note(number) {
      Atomics.store(numbers, 1, BigInt(number));
      Atomics.store(numbers, 0, BigInt(Date.now()));
    },
    stop: () => worker.terminate(),
  };
}

async function tryOne(make, samples, seed) {
  const { input, run } = make(seededRandom(seed), samples);
  const before = process.cpuUsage();
  let problem;
  try {
    problem = await run();
  } catch (error) {
    if (!isCortexError(error) && error?.name !== "AbortError")
      problem = `not a CortexError: ${error?.stack ?? error}`;
  }
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1000;
  if (problem === undefined && ms > CPU_MS_MAX)
    problem = `took ${Math.round(ms)} ms of processor time`;
  return { input, problem, ms };
}

async function main() {
  const flags = readFlags("Feeds hostile input to everything that reads what others wrote.", [
    { name: "seconds", kind: "number", standard: 60, help: "how long" },
    { name: "count", kind: "number", standard: "", help: "so many inputs for each target instead" },
    {
      name: "seed",
      kind: "number",
      standard: "",
      help: "the first input; a new one when not given",
    },
    {
      name: "only",
      kind: "text",
      standard: "",
      help: "one target: cbor, uri, proof, slice, export, cursor, scope, query, http, mcp, raw",
    },
  ]);
  const seed = flags.seed === "" ? newSeed() : Number(flags.seed);
  const folder = mkdtempSync(join(tmpdir(), "cortex-fuzz-"));
  const world = await makeWorld(folder);
  const server = await startServer(join(folder, "served"));
  const watchdog = startWatchdog();
  const tell = progress();
  const counts = {};
  const slowest = {};
  const failures = [];
  try {
    const all = { ...TARGETS, ...SERVER_TARGETS };
    const samples = { ...(await makeSamples(world)), server };
    const names = flags.only === "" ? Object.keys(all) : [String(flags.only)];
    for (const name of names)
      if (all[name] === undefined) fail(`--only: expected one of ${Object.keys(all).join(", ")}`);
    const end = Date.now() + Number(flags.seconds) * 1000;
    const isOver = (at) => (flags.count === "" ? Date.now() > end : at >= Number(flags.count));
    for (let at = 0; !isOver(at) && failures.length < 5; at += 1) {
      for (const name of names) {
        watchdog.note(seed + at);
        const { input, problem, ms } = await tryOne(all[name], samples, seed + at);
        counts[name] = (counts[name] ?? 0) + 1;
        slowest[name] = Math.max(slowest[name] ?? 0, Math.round(ms));
        if (problem !== undefined)
          failures.push(
            `npm run fuzz -- --only ${name} --seed ${seed + at} --count 1\n  ${problem}\n  input: ${input.slice(0, 1500)}`,
          );
      }
      tell(`${at + 1} inputs for each target`);
    }
  } finally {
    await watchdog.stop();
    await server.stop();
    await world.memory.close();
    rmSync(folder, { recursive: true, force: true });
  }
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  process.stdout.write(
    `seed ${seed}: inputs ${JSON.stringify(counts)}, slowest in ms ${JSON.stringify(slowest)}, ${failures.length} failures\n`,
  );
  process.exitCode = failures.length === 0 ? 0 : 1;
}

await main();
