/**
 * The OpenAPI document is sound and true: it is well formed, it names every route, and thousands of
 * requests generated from it get only the statuses and bodies that it announces.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openApiDocument, templateOf, withoutRepeats } from "../src/http/openapi.js";
import { memgraphPart } from "../src/http/openapi-memgraph.js";
import { pathsOf, routesOf } from "../src/http/routes.js";
import { MEMGRAPH_ROUTES } from "../src/memgraph/table.js";
import { OPERATIONS } from "../src/operations.js";
import { readAll, startTestServer, type TestServer } from "./http-server.js";
import {
  arbitraryOf,
  formsOf,
  mismatches,
  resolve,
  type Schema,
  sampleOf,
  spoiled,
} from "./json-schema.js";

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly Schema[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
  readonly responses: Record<string, Schema>;
}

const routes = routesOf(OPERATIONS);
const document = JSON.parse(
  JSON.stringify(openApiDocument(routes, "1.2.3", memgraphPart())),
) as Schema;
const paths = document.paths as Record<string, Record<string, Described>>;
/** What cannot be asked for over HTTP is not in the document. */
const offered = routes.filter(({ unavailable }) => unavailable === undefined);
const METHODS = ["get", "post", "patch", "delete"] as const;

const all = Object.entries(paths).flatMap(([path, item]) =>
  METHODS.flatMap((method) => {
    const described = item[method];
    return described === undefined ? [] : [{ path, method, described, item }];
  }),
);

describe("the document", () => {
  test("has the parts that OpenAPI 3.1 demands", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toMatchObject({ title: expect.any(String), version: "1.2.3" });
    const ids = all.map(({ described }) => described.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, described, item } of all) {
      expect(Object.keys(described.responses).length, path).toBeGreaterThan(0);
      for (const response of Object.values(described.responses)) {
        expect(typeof written(response).description, path).toBe("string");
      }
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = [...parametersOf(item as never), ...parametersOf(described)]
        .filter((one) => one.in === "path")
        .map(({ name }) => name);
      expect(declared, path).toEqual(inPath);
    }
  });

  test("resolves every reference, within itself", () => {
    const refs: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (key === "$ref") refs.push(String(value));
      return value;
    });
    expect(refs.length).toBeGreaterThan(100);
    for (const ref of refs) expect(resolve(ref, document)).toBeDefined();
  });

  test("has every path of every route, and no others", () => {
    const memgraph = MEMGRAPH_ROUTES.map(({ route }) => templateOf(`/v1${route.path}`));
    expect(memgraph).toHaveLength(19);
    const expected = new Set([
      ...offered.flatMap((route) => pathsOf(route).map(templateOf)),
      ...memgraph,
    ]);
    expect(Object.keys(paths).sort()).toEqual([...expected].sort());
    for (const { path, method } of MEMGRAPH_ROUTES.map(({ route }) => route)) {
      expect(paths[templateOf(`/v1${path}`)]).toHaveProperty(method.toLowerCase());
    }
    for (const { name, methods } of offered) {
      const described = Object.keys(paths[`/v1/${name}`] ?? {}).map((one) => one.toUpperCase());
      expect(described.sort()).toEqual([...methods].sort());
    }
  });

  test("says every part of a schema once", () => {
    const { schemas } = document.components as { readonly schemas: Record<string, Schema> };
    const seen = new Map<string, number>();
    JSON.stringify([schemas, paths], (key, value: unknown) => {
      const isPart = typeof value === "object" && value !== null && !Array.isArray(value);
      const isSchema = isPart && ("type" in value || "anyOf" in value) && key !== "properties";
      const text = isSchema ? JSON.stringify(value) : "";
      if (text.length >= 90) seen.set(text, (seen.get(text) ?? 0) + 1);
      return value;
    });
    expect(seen.size).toBeGreaterThan(200);
    const twice = [...seen].filter(([, count]) => count > 1).map(([text]) => text);
    expect(twice).toEqual([]);
  });

  test("means the same without its repetitions, whatever is repeated", () => {
    const leaf = fc.constantFrom<Schema>(
      {
        type: "string",
        description: "one of the words that are said so often that they repeat themselves",
      },
      {
        type: "integer",
        minimum: 0,
        maximum: 2 ** 30,
        description: "a number that stands in many places of it",
      },
      { type: "boolean" },
    );
    const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        leaf,
        fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
        tie("schema").map((items) => ({ type: "array", items })),
        fc
          .dictionary(fc.constantFrom("a", "b", "anyOf", "schema"), tie("schema"))
          .map((properties) => ({ type: "object", properties })),
      ),
    }));
    const schemas = fc.dictionary(fc.constantFrom("One", "Two", "One.a"), schema, { minKeys: 1 });
    const pointer = (name: string): Schema => ({ $ref: `#/schemas/${name}` });
    fc.assert(
      fc.property(schemas, fc.array(schema, { maxLength: 3 }), (before, others) => {
        const places = Object.fromEntries(others.map((one, at) => [`p${at}`, { schema: one }]));
        const after = withoutRepeats({ schemas: before, paths: places }, pointer);
        const whole = (value: unknown): unknown =>
          JSON.parse(JSON.stringify(value), (_, one) =>
            typeof one?.$ref === "string" ? whole(resolve(one.$ref, after)) : one,
          );
        for (const name of Object.keys(before)) {
          expect(whole(after.schemas[name])).toEqual(before[name]);
        }
        expect(whole(after.paths)).toEqual(places);
      }),
      { seed: 20_260_315, numRuns: 300 },
    );
  });

  test("keeps to JSON Schema: a value that fits is found to fit, one that does not is not", () => {
    const schema = resolve("#/components/schemas/getInput", document);
    expect(mismatches({ id: "home", asOf: 3 }, schema, document)).toEqual([]);
    expect(mismatches({ id: 3 }, schema, document)).toEqual([".id: is no string"]);
    expect(mismatches({ id: "x", more: 1 }, schema, document)).toEqual([": has more"]);
    expect(mismatches({}, schema, document)).toEqual([": lacks id"]);
  });
});

/** The body of a request. */
type Body = Readonly<Record<string, unknown>>;

/** Every member of some bodies by itself; those of `data` as well. */
function membersOf(bodies: readonly Body[]): readonly Body[] {
  const members = bodies.flatMap(({ type: _, data, ...others }) => [
    ...Object.entries(others).map(([name, value]) => ({ [name]: value })),
    ...Object.entries(data ?? {}).map(([name, value]) => ({ data: { [name]: value } })),
  ]);
  return [...new Map(members.map((one) => [JSON.stringify(one), one])).values()];
}

/** Every one of some names, and every two of them. */
function pairsOf(names: readonly string[]): readonly (readonly string[])[] {
  return names.flatMap((one, at) => [[one], ...names.slice(at + 1).map((other) => [one, other])]);
}

/** What any of the members make together. */
function subsetsOf(members: readonly Body[]): readonly Body[] {
  const [first, ...others] = members;
  if (first === undefined) return [{}];
  return subsetsOf(others).flatMap((body) => {
    const data = { ...(first.data as object), ...(body.data as object) };
    return [body, { ...body, ...first, ...("data" in first || "data" in body ? { data } : {}) }];
  });
}

function parametersOf(item: { readonly parameters?: readonly Schema[] }): readonly Schema[] {
  return (item.parameters ?? []).map(written);
}

/** What stands at a place, or where its reference leads. */
function written(one: Schema): Schema {
  return typeof one.$ref === "string" ? resolve(one.$ref, document) : one;
}

describe("generated requests", () => {
  let server: TestServer;
  let edgeId = "";
  beforeAll(async () => {
    server = await startTestServer();
    for (const [externalId, type] of Object.entries({
      home: "fact",
      rule: "constraint",
      trip: "goal",
    })) {
      await server.post("/v1/write", { type, externalId, text: `about ${externalId}` });
    }
    await server.post("/v1/add-edge", { from: "rule", kind: "related_to", to: "home" });
    await server.post("/v1/remember", {
      session: "chat-0",
      turns: [{ role: "user", content: "hello" }],
    });
    const edge = { graph_id: "default", from_lineage: "home", to_lineage: "trip", kind: "near" };
    edgeId = String((await server.post("/v1/edges", edge)).json.id);
    expect(edgeId).toMatch(/^[0-9A-Z]{26}@default$/);
  });
  afterAll(() => server.close());

  /** Rows that cannot be asked for say so, and have no body to generate. */
  const asked = all.filter(({ path, described }) => {
    const isOffered = Object.keys(described.responses).some((status) => /^2/.test(status));
    return isOffered && !path.includes("{actor}");
  });

  /** Refusals of what a request means. */
  const MEANINGS = new Set([
    "ERR_AS_OF",
    "ERR_CHECKPOINT_MALFORMED",
    "ERR_EDGE_KIND",
    "ERR_ILL_FORMED",
    "ERR_KIND_NOT_ALLOWED",
    "ERR_NO_EMBEDDER",
    "ERR_NO_MODEL",
    "ERR_PREDICATE",
    "ERR_SELF_EDGE",
  ]);
  const MEANT =
    /^(cursor|item|tiers\[\d\]|memories, edges, seqs, since|verb|objects|items\[\d\]|to|since|inContext|keep|text|trustedIssuers\[\d\]|data.*|metadata.*|minHops|loadBearing|where.*): |expected a goal/;

  const SEED = 20_260_315;
  const RUNS = 25;

  test.each(asked)(`$method $path, seed ${SEED}`, async ({ path, method, described }) => {
    const hasBody = described.requestBody !== undefined;
    const input = hasBody ? bodyOf(described) : queryOf(described);
    const init: RequestInit = { method: method.toUpperCase() };
    await fc.assert(
      fc.asyncProperty(input, partsOf(described), async (value, parts) => {
        const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => partText(parts[name]));
        const response = hasBody
          ? await fetch(server.url + place, { ...init, ...jsonBody(value) })
          : await fetch(
              `${server.url}${place}?${queryText(value as Record<string, unknown>)}`,
              init,
            );
        if (hasBody) {
          const isMeant = fits(value, described) && partsFit(parts, described);
          if (isMeant && response.status === 400) await judgeRefusal(response.clone(), value);
          // Nothing is taken that the document refuses.
          if (!isMeant)
            expect([response.ok, JSON.stringify(value)]).toEqual([false, expect.anything()]);
        }
        await judge(response, described);
      }),
      { seed: SEED, numRuns: RUNS, endOnFailure: true },
    );
    expect((await server.get("/healthz")).status).toBe(200);
  });

  test("headers: what the document takes is taken, and what it refuses is refused", async () => {
    const { parameters } = document.components as { readonly parameters: Record<string, Schema> };
    const key = parameters.idempotencyKey?.schema as Schema;
    for (const [at, value] of ["k", "", "   ", "x".repeat(300), '"quoted"', "a b"].entries()) {
      const fits = mismatches(value, key, document).length === 0;
      const body = { type: "note", text: `under a key ${at}` };
      const headers = { "Idempotency-Key": value };
      const { status } = await server.post("/v1/write", body, headers);
      expect([value, status === 200]).toEqual([value, fits]);
    }
    const match = parameters.ifMatch?.schema as Schema;
    for (const value of [
      "*",
      '"1"',
      'W/"1"',
      '"1-2"',
      '"0"',
      '"999999999999999"',
      "1",
      '""',
      '"01"',
      '"999999999"',
      '"1000000000"',
      '"4294967295"',
    ]) {
      const isMeant = mismatches(value, match, document).length === 0;
      const body = { id: "nobody", text: "under a tag" };
      const { status } = await server.post("/v1/update", body, { "If-Match": value });
      expect([value, status !== 400]).toEqual([value, isMeant]);
    }
  });

  test("items of a batch: one of the three and perhaps a name, as the document says", async () => {
    const schema = resolve("#/components/schemas/batchInput", document);
    const members: readonly (readonly [string, unknown])[] = [
      ["write", { type: "note", text: "in a batch" }],
      ["update", { id: "home", text: "about home, again" }],
      ["link", { from: "rule", kind: "related_to", to: "trip" }],
      ["ref", "r"],
      ["unheardOf", 1],
    ];
    for (let chosen = 0; chosen < 2 ** members.length; chosen += 1) {
      const item = Object.fromEntries(members.filter((_, at) => (chosen >> at) % 2 === 1));
      await judgeBatch([item]);
    }
    const odd = [7, null, "x", [], {}, { write: 7 }, { update: null }, { link: [] }, { ref: "r" }];
    for (const item of odd) await judgeBatch([item]);
    await judgeBatch([{ write: members[0]?.[1], ref: "" }]);
    const free = ['{"n":9007199254740992}', '{"a":[-1e300]}', '{"a":{"__proto__":1}}', '{"a":1}'];
    await server.post("/v1/write", { type: "note", externalId: "batched", text: "in a batch" });
    for (const metadata of free.map((text) => JSON.parse(text) as Body)) {
      for (const item of [
        { write: { type: "note", text: "in a batch", metadata } },
        { update: { id: "batched", text: "in a batch again", metadata } },
        { link: { from: "rule", kind: "related_to", to: "trip", metadata } },
      ]) {
        await judgeBatch([item]);
        await judgeBatch([item], { "Idempotency-Key": JSON.stringify(item).slice(0, 200) });
      }
    }
    // A bad item is told apart from the good ones, where these are to stand.
    const bad = { items: [{ write: { type: "fact" } }, { write: members[0]?.[1] }], atomic: false };
    const { json } = await server.post("/v1/batch", bad);
    expect(json.results).toMatchObject([{ ok: false }, { ok: true }]);

    async function judgeBatch(items: readonly unknown[], headers = {}): Promise<void> {
      for (const atomic of [{}, { atomic: true }, { atomic: false }]) {
        const body = { items, ...atomic };
        const { status, json } = await server.post("/v1/batch", body, headers);
        const isTaken = mismatches(body, schema, document).length === 0;
        // What other tests did to the memories may be in the way of an item, but not of its form.
        expect([body, status !== 400, json.detail]).toEqual([body, isTaken, json.detail]);
      }
    }
  });

  test("memories of every type: what says enough is taken, what says too little is refused", async () => {
    const schema = resolve("#/components/schemas/writeInput", document);
    const inBatch = resolve("#/components/schemas/batchInput", document);
    for (const form of schema.anyOf as readonly Schema[]) {
      const type = (form.properties as Record<string, Schema>).type?.const as string;
      const ways = formsOf(form, document).map((one) => sampleOf(one, document) as Body);
      expect(ways.length).toBeGreaterThan(1);
      await judgeWrites(subsetsOf(membersOf(ways)).map((body) => ({ ...body, type })));
      // Every other field by itself, beside the least that is to be said.
      const properties = Object.entries(form.properties as Record<string, Schema>);
      const fields = properties.map(([name, one]) => ({ [name]: sampleOf(one, document) }));
      await judgeWrites(fields.map((field) => ({ text: "word", ...field, type })));
    }

    /** Whether each is refused for its form as the document says, alone and in a batch. */
    async function judgeWrites(writes: readonly Body[]): Promise<void> {
      const items = writes.map((write) => ({ write }));
      const { json } = await server.post("/v1/batch", { items, atomic: false });
      const results = json.results as readonly Body[];
      for (const [at, write] of writes.entries()) {
        const { code } = (results[at]?.error ?? {}) as { readonly code?: string };
        const isRefused = code === "ERR_INVALID" || code === "ERR_UNKNOWN_FIELD";
        const body = { items: [{ write }] };
        const isWrong = mismatches(body, inBatch, document).length > 0;
        expect([write, results[at]?.error, isRefused]).toEqual([
          write,
          results[at]?.error,
          isWrong,
        ]);
        // What is similar is told of a memory that is written by itself alone.
        const isWrongAlone = mismatches(write, schema, document).length > 0;
        expect([write, isWrongAlone]).toEqual([write, isWrong && !("similar" in write)]);
      }
      const [first] = writes;
      const { status } = await server.post("/v1/write", first);
      expect([first, status === 400]).toEqual([
        first,
        mismatches(first, schema, document).length > 0,
      ]);
    }
  });

  test("fields that go together: every one, every two and none of them, as the document says", async () => {
    let rules = 0;
    for (const { path, method, described } of asked) {
      const body = described.requestBody?.content["application/json"]?.schema;
      const schema = body === undefined ? {} : written(body);
      if (schema.allOf === undefined || method !== "post") continue;
      const allOf = schema.allOf as readonly Schema[];
      rules += allOf.length;
      const properties = schema.properties as Record<string, Schema>;
      const names = Object.keys(properties).filter((name) =>
        JSON.stringify(schema.allOf).includes(`"${name}"`),
      );
      const few = [[], ...(names.length > 20 ? names.map((name) => [name]) : pairsOf(names))];
      // What is needed anyway, so that the rules about the others decide.
      const least = allOf.flatMap((rule) => {
        const [way] = (rule.anyOf ?? []) as readonly { readonly required: readonly string[] }[];
        return way?.required ?? [];
      });
      for (const chosen of [...few, ...few.map((fields) => [...least, ...fields])]) {
        const given = [...((schema.required ?? []) as readonly string[]), ...chosen];
        const members = given.map((name) => [name, sampleOf(properties[name] ?? {}, document)]);
        const value: Body = {
          ...Object.fromEntries(members),
          // Whether a memory has such a field is for its type to say.
          ...(given.includes("id") ? { id: "nobody" } : {}),
        };
        const response = await server.post(path, value);
        const isMeant = mismatches(value, schema, document).length === 0;
        if (!isMeant) expect([value, response.status]).toEqual([value, 400]);
        else if (response.status === 400) judgeProblem(response.json, value);
      }
    }
    expect(rules).toBeGreaterThan(8);
  });

  test("parameters of memgraph's routes: what cannot be read counts as not given, and is said to", async () => {
    for (const [path, item] of Object.entries(paths)) {
      const { get } = item;
      if (get === undefined || !get.operationId.startsWith("memgraph.")) continue;
      for (const { name, schema: said } of parametersOf(get).filter((one) => one.in === "query")) {
        const schema = written(said as Schema);
        const place = path.replaceAll(/\{\w+\}/g, "default");
        const { status } = await server.get(`${place}?${String(name)}=%C2%A7`);
        const isTaken = mismatches("§", schema, document).length === 0;
        const isRefused = status === 400;
        // A list is taken apart at commas, and one word is a list.
        const isList = schema.type === "array";
        if (!isTaken && !isList) expect([path, name, isRefused]).toEqual([path, name, true]);
        if (!isList || get.operationId === "memgraph.stream") continue;
        // A word that no list takes is refused, whether or not there is such a graph.
        expect(mismatches(["\u0002"], schema, document)).not.toEqual([]);
        for (const graph of ["default", "nobody"]) {
          const there = path.replaceAll(/\{\w+\}/g, graph);
          const answer = await server.get(`${there}?${String(name)}=%02`);
          expect([there, name, answer.status >= 400]).toEqual([there, name, true]);
        }
      }
    }
  });

  test("members of memgraph's bodies that say nothing: taken where the document takes them", async () => {
    const filled: Record<string, unknown> = {
      ...{ graph_id: "default", kind: "page", name: "a graph", content: "words" },
      ...{ from_lineage: "home", to_lineage: "trip", created_by: "me" },
    };
    for (const { path, method, described } of all) {
      const { requestBody, operationId } = described;
      if (!operationId.startsWith("memgraph.") || requestBody === undefined) continue;
      const schema = written(requestBody.content["application/json"]?.schema ?? {});
      const plain = Object.fromEntries(
        ((schema.required ?? []) as readonly string[]).map((name) => [name, filled[name]]),
      );
      for (const name of Object.keys(schema.properties as object)) {
        for (const nothing of [null, "", " ", []]) {
          const body = { ...plain, [name]: nothing };
          const place = server.url + path.replaceAll(/\{\w+\}/g, "default");
          const response = await fetch(place, { method: method.toUpperCase(), ...jsonBody(body) });
          const { detail } = (await response.json()) as { readonly detail?: string };
          const isTaken = mismatches(body, schema, document).length === 0;
          const said = [operationId, name, nothing, detail];
          expect([...said, response.status !== 400]).toEqual([...said, isTaken]);
        }
      }
    }
  });

  /** Whether a body is all that the document asks for. */
  function fits(value: unknown, { requestBody }: Described): boolean {
    const schema = requestBody?.content["application/json"]?.schema ?? {};
    return mismatches(value, schema, document).length === 0;
  }

  function partsFit(parts: Record<string, string>, described: Described): boolean {
    const inPath = parametersOf(described).filter((one) => one.in === "path");
    return inPath.every(({ name, schema }) => {
      const part = parts[String(name)];
      const text = part === "THE EDGE" ? edgeId : part;
      return mismatches(text, schema as Schema, document).length === 0;
    });
  }

  /**
   * A body that fits the document is not refused for its form. What may still be wrong with it lies in
   * what it means: fields that go together, a position that is not there yet, a cursor of another list.
   */
  async function judgeRefusal(response: Response, value: unknown): Promise<void> {
    judgeProblem((await response.json()) as Body, value);
  }

  function judgeProblem({ code, detail }: Body, value: unknown): void {
    const isMeaning = MEANINGS.has(String(code)) || MEANT.test(String(detail));
    expect(isMeaning, `${code} ${detail} for ${JSON.stringify(value)}`).toBe(true);
  }

  /** Only announced statuses, no fault of ours, and the body that was announced. */
  async function judge(response: Response, described: Described): Promise<void> {
    const announced = described.responses[String(response.status)];
    expect(announced, `status ${response.status}`).toBeDefined();
    const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
    if (type === "text/event-stream") {
      await response.body?.cancel();
      return;
    }
    const { status, json, text } = await readAll(response);
    if (status === 204) {
      expect(text).toBe("");
      return;
    }
    // What cannot be done at all is refused with 501; every other 5xx would be a fault of ours.
    expect(status < 500 || (status === 501 && json.code === "ERR_UNSUPPORTED"), text).toBe(true);
    const found = announced === undefined ? undefined : written(announced);
    const content = found?.content as Record<string, { readonly schema?: Schema }> | undefined;
    expect(Object.keys(content ?? {}), type).toContain(type);
    const schema = content?.[type]?.schema;
    if (schema !== undefined) expect(mismatches(json, schema, document), text).toEqual([]);
    if (type === "application/problem+json") expect(text).not.toMatch(/\n\s+at |node_modules/);
  }

  function bodyOf({ requestBody }: Described): fc.Arbitrary<unknown> {
    const ref = requestBody?.content["application/json"]?.schema ?? {};
    const schema = resolve(String(ref.$ref), document);
    return fc.oneof(
      { weight: 3, arbitrary: arbitraryOf(schema, document) },
      { weight: 2, arbitrary: spoiled(schema, document) },
    );
  }

  function queryOf(described: Described): fc.Arbitrary<unknown> {
    const fields = parametersOf(described).filter((one) => one.in === "query");
    const model = Object.fromEntries(
      fields.map((one) => {
        const content = one.content as Record<string, { readonly schema: Schema }> | undefined;
        const json = content?.["application/json"]?.schema;
        if (json === undefined) {
          return [String(one.name), arbitraryOf(one.schema as Schema, document)];
        }
        return [
          String(one.name),
          arbitraryOf(json, document).map((value) => JSON.stringify(value)),
        ];
      }),
    );
    const requiredKeys = fields
      .filter((one) => one.required === true)
      .map(({ name }) => String(name));
    const good = fc.record(model, { requiredKeys });
    const spoil = fc.tuple(good, fc.constantFrom(...Object.keys(model), "unheardOf"));
    return fc.oneof(
      { weight: 3, arbitrary: good },
      { weight: 1, arbitrary: spoil.map(([value, name]) => ({ ...value, [name]: "§" })) },
    );
  }

  function jsonBody(value: unknown): RequestInit {
    return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) };
  }

  /** Parts of a path: graphs, lineages and edges that are there, and texts that are trouble. */
  function partsOf(described: Described): fc.Arbitrary<Record<string, string>> {
    const names = parametersOf(described).filter((one) => one.in === "path");
    const known = fc.constantFrom(
      "default",
      "home",
      "trip",
      "THE EDGE",
      "nobody",
      "..",
      "a/b",
      "%",
    );
    const part = fc.oneof(known, fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }));
    return fc.record(Object.fromEntries(names.map(({ name }) => [String(name), part])));
  }

  function partText(part: string | undefined): string {
    return encodeURIComponent(part === "THE EDGE" ? edgeId : (part ?? ""));
  }

  function queryText(value: Readonly<Record<string, unknown>>): string {
    const pairs = Object.entries(value).flatMap(([name, one]) =>
      (Array.isArray(one) ? one : [one]).map((item): [string, string] => [name, String(item)]),
    );
    return new URLSearchParams(pairs).toString();
  }
});
