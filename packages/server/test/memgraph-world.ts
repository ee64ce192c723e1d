/**
 * A memgraph database as its own program would have left it, made from a seed: graphs of every policy,
 * lineages in many versions with their own kinds, tags and freshness, forks that are open and forks that
 * were settled, lineages that moved between graphs, edges that repeat, dangle, loop and cross graphs. The
 * rows are the truth that an import is held against: what memgraph would answer is computed from them.
 */
import { seededRandom } from "@cortex-memory/core/testing";

/** A row of `nodes`, as the program reads it. */
export interface WorldNode {
  readonly id: string;
  readonly graph_id: string;
  readonly lineage_id: string;
  readonly version: number;
  readonly kind: string;
  readonly content: string;
  readonly summary: string | null;
  readonly tags: readonly string[] | null;
  readonly metadata: { readonly [key: string]: unknown } | null;
  readonly freshness_at: string | null;
  readonly created_at: string;
  readonly created_by: string;
  superseded_by: string | null;
}

/** A row of `edges`. */
export interface WorldEdge {
  readonly id: string;
  readonly graph_id: string;
  readonly from_lineage: string;
  readonly to_graph: string;
  readonly to_lineage: string;
  readonly kind: string;
  readonly metadata: { readonly [key: string]: unknown } | null;
  readonly ordinal: number | null;
  readonly created_at: string;
  readonly created_by: string;
}

/** A row of `graphs`. */
export interface WorldGraph {
  readonly id: string;
  readonly name: string;
  readonly conflict_policy: string;
  readonly kind_whitelist: readonly string[] | null;
  readonly metadata: { readonly [key: string]: unknown } | null;
  readonly created_at: string;
}

/** A whole database. */
export interface World {
  readonly graphs: readonly WorldGraph[];
  readonly nodes: readonly WorldNode[];
  readonly edges: readonly WorldEdge[];
}

/** How large a database is. */
export interface WorldSize {
  readonly lineages: number;
  readonly nodes: number;
  readonly edges: number;
}

const KINDS = ["fact", "decision", "event", "entity:person", "procedure", "Observation"];
const AUTHORS = ["ada", "", "claude", "an agent with a name ".repeat(6), "Grace Hopper"];
const EDGE_KINDS = ["cites", "causes", "related_to", "Supports", "supersedes", "part_of"];
const TAGS = ["protein:beef", "protein:fish", "weeknight", "Ünïcode", "a:b:c", "x", "y z", ":"];

/** Names that edges lead to and nobody ever wrote. */
export const UNWRITTEN = ["nobody", "01KNOBODYNOBODYNOBODYNOBODY", "ghost / ö"];
/** A graph that edges say and that is not there. */
export const NOWHERE = "nowhere";

/** Makes a database; the same one from the same seed. `times` are digits of a second's fraction. */
export function makeWorld(seed: number, size: WorldSize, times = 9): World {
  return new Maker(seed, times).make(size);
}

class Maker {
  readonly #random: () => number;
  readonly #digits: number;
  #clock = Date.UTC(2026, 1, 3, 4, 5, 6) * 1000;
  #ids = 0;
  readonly #graphs: WorldGraph[] = [];
  readonly #nodes: WorldNode[] = [];
  readonly #heads = new Map<string, WorldNode[]>();

  constructor(seed: number, digits: number) {
    const random = seededRandom(seed);
    this.#random = () => Buffer.from(random.bytes(4)).readUInt32BE(0) / 2 ** 32;
    this.#digits = digits;
  }

  make({ lineages, nodes, edges }: WorldSize): World {
    for (const [name, policy] of [
      ["Kitchen", "lww"],
      ["Lab", "manual"],
      ["Lab", "lww"],
    ] as const) {
      this.#graphs.push({
        id: this.#ulid(),
        name,
        conflict_policy: policy,
        // A list that came later than the nodes, which need not keep to it.
        kind_whitelist: this.#graphs.length === 2 ? ["fact", "decision"] : null,
        metadata:
          this.#graphs.length === 1 ? { team: "core", n: [1, { deep: null }], none: null } : null,
        created_at: this.#time(),
      });
    }
    const names = Array.from({ length: lineages }, (_, at) =>
      at % 40 === 7 ? `named by hand ${at} / ö?#%` : this.#ulid(),
    );
    for (const name of names) this.#put(name, this.#pick(this.#graphs));
    while (this.#nodes.length < nodes) this.#write(this.#pick(names));
    const made = Array.from({ length: edges }, () => this.#edge(names));
    return { graphs: this.#graphs, nodes: this.#nodes, edges: made };
  }

  /** The next version of a lineage: on top, stale in a graph that keeps both, or in another graph. */
  #write(name: string): void {
    const heads = this.#heads.get(name) ?? [];
    const [head] = heads;
    const home = this.#graphs.find(({ id }) => id === head?.graph_id) ?? this.#pick(this.#graphs);
    const chance = this.#random();
    if (chance < 0.12) this.#put(name, this.#pick(this.#graphs));
    else this.#put(name, home, home.conflict_policy === "manual" && chance < 0.5);
  }

  #put(name: string, { id: graph }: WorldGraph, isStale = false): void {
    const heads = this.#heads.get(name) ?? [];
    const version = Math.max(0, ...heads.map((head) => head.version)) + 1;
    const chance = this.#random();
    const node: WorldNode = {
      id: this.#ulid(),
      graph_id: graph,
      lineage_id: name,
      version,
      kind: this.#pick(KINDS),
      content: this.#content(chance, version),
      summary: chance < 0.3 ? null : chance < 0.4 ? "" : `Summary ${this.#ids}`,
      tags: this.#tags(),
      metadata: this.#metadata(),
      freshness_at: this.#random() < 0.7 ? null : this.#time(),
      created_at: this.#time(),
      created_by: this.#pick(AUTHORS),
      superseded_by: null,
    };
    if (!isStale) for (const head of heads) head.superseded_by = node.id;
    this.#nodes.push(node);
    this.#heads.set(name, isStale ? [...heads, node] : [node]);
  }

  #content(chance: number, version: number): string {
    if (chance < 0.03) return "";
    if (chance < 0.06) return `before\u0000behind ${this.#ids}`;
    if (chance < 0.066) return `${this.#ids} ${"a long märchen ".repeat(6000)}the end`;
    return `Text ${this.#ids} in version ${version}: naïve café 日本 🦓\n\ttabs "quotes"`;
  }

  #tags(): readonly string[] | null {
    const chance = this.#random();
    if (chance < 0.2) return null;
    if (chance < 0.3) return [];
    if (chance < 0.33) return Array.from({ length: 24 }, (_, at) => `many:${at}`);
    const tags = Array.from({ length: 1 + Math.floor(chance * 4) }, () => this.#pick(TAGS));
    return chance < 0.4 ? tags : [...new Set(tags)];
  }

  #metadata(): { readonly [key: string]: unknown } | null {
    const chance = this.#random();
    if (chance < 0.4) return null;
    if (chance < 0.5) return {};
    if (chance < 0.6) return JSON.parse('{"__proto__":{"x":1},"memgraph_id":"mine"}');
    return { n: Math.floor(chance * 1000), list: ["a", null, 1.5, true], memgraph_created_at: "x" };
  }

  #edge(names: readonly string[]): WorldEdge {
    const chance = this.#random();
    const [from, to] = [
      this.#pick(names),
      chance < 0.1 ? this.#pick(UNWRITTEN) : this.#pick(names),
    ];
    const isOld = this.#random() < 0.05;
    const home = (name: string): string =>
      (isOld ? this.#nodes.find(({ lineage_id }) => lineage_id === name) : this.#head(name))
        ?.graph_id ?? this.#pick(this.#graphs).id;
    const graph_id = home(from);
    // Nobody checks which graph an edge says.
    const said = this.#random();
    return {
      id: this.#ulid(),
      graph_id,
      from_lineage: from,
      to_graph: said < 0.3 ? graph_id : said < 0.36 ? NOWHERE : home(to),
      to_lineage: to,
      kind: this.#pick(EDGE_KINDS),
      metadata: this.#metadata(),
      ordinal: this.#random() < 0.6 ? null : Math.floor(this.#random() * 7) - 2,
      created_at: this.#time(),
      created_by: this.#pick(AUTHORS),
    };
  }

  #head(name: string): WorldNode | undefined {
    return this.#heads.get(name)?.at(-1);
  }

  #pick<T>(list: readonly T[]): T {
    const one = list[Math.floor(this.#random() * list.length)];
    if (one === undefined) throw new Error("nothing to pick from");
    return one;
  }

  /** An id as memgraph makes them: not in the order of time. */
  #ulid(): string {
    this.#ids += 1;
    const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const chance = Array.from({ length: 12 }, () => letters[Math.floor(this.#random() * 32)]);
    return `01K${chance.join("")}${String(this.#ids).padStart(11, "0")}`;
  }

  /** The next time, some microseconds to an hour later, without the zeros at its end. */
  #time(): string {
    this.#clock += 1 + Math.floor(this.#random() ** 4 * 3_600_000_000);
    const [ms, micros] = [Math.floor(this.#clock / 1000), this.#clock % 1000];
    const nanos = this.#digits > 6 ? Math.floor(this.#random() * 1000) : 0;
    const fine = `${String(micros).padStart(3, "0")}${String(nanos).padStart(3, "0")}`;
    const text = new Date(ms).toISOString();
    return `${text.slice(0, -1)}${fine}`.replace(/\.?0+$/, "").concat("Z");
  }
}

/** A time in a form that can be compared: to the billionth of a second. */
export function exact(time: string | undefined | null): string | undefined {
  if (time === undefined || time === null) return undefined;
  const [, second = "", fraction = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return `${second}.${fraction.padEnd(9, "0")}Z`;
}

/** A node as memgraph answers it. */
export function nodeAnswer(world: World, node: WorldNode, now: number): Record<string, unknown> {
  const { tags, metadata, summary, superseded_by } = node;
  const isCurrent = superseded_by === null;
  const others = world.nodes.filter(
    (one) => one.lineage_id === node.lineage_id && one.superseded_by === null && one !== node,
  );
  const isStale = isCurrent && node.freshness_at !== null && Date.parse(node.freshness_at) < now;
  return {
    id: node.id,
    graph_id: node.graph_id,
    lineage_id: node.lineage_id,
    version: node.version,
    kind: node.kind,
    ...(node.content === "" ? {} : { content: node.content }),
    ...(summary === null || summary === "" ? {} : { summary }),
    ...(tags === null || tags.length === 0 ? {} : { tags }),
    ...(metadata === null || Object.keys(metadata).length === 0
      ? {}
      : { metadata: stable(metadata) }),
    ...(node.freshness_at === null ? {} : { freshness_at: exact(node.freshness_at) }),
    created_at: exact(node.created_at),
    ...(node.created_by === "" ? {} : { created_by: node.created_by }),
    ...(superseded_by === null ? {} : { superseded_by }),
    is_current: isCurrent,
    is_stale: isStale,
    ...(isCurrent && others.length > 0 ? { conflicts: others.map(({ id }) => id).sort() } : {}),
  };
}

/** An edge as memgraph answers it. */
export function edgeAnswer(edge: WorldEdge): Record<string, unknown> {
  const { metadata, ordinal, ...rest } = edge;
  return {
    ...rest,
    ...(metadata === null || Object.keys(metadata).length === 0
      ? {}
      : { metadata: stable(metadata) }),
    ...(ordinal === null ? {} : { ordinal }),
    created_at: exact(edge.created_at),
  };
}

/** What memgraph's walk finds: the ids of nodes and of edges, as it meets them. */
export function walkAnswer(
  world: World,
  from: string,
  how: {
    readonly direction: "outgoing" | "incoming" | "both";
    readonly follow_symlinks: boolean;
    readonly max_depth: number;
  },
): { readonly nodes: readonly string[]; readonly edges: readonly string[] } {
  const { direction, follow_symlinks, max_depth } = how;
  const walked = world.edges.filter((edge) => follow_symlinks || edge.to_graph === edge.graph_id);
  const seen = new Set([from]);
  const edges = new Set<string>();
  let frontier = [from];
  for (let hop = 1; hop <= max_depth; hop += 1) {
    const next: string[] = [];
    for (const name of frontier) {
      const out = inOrder(walked.filter(({ from_lineage }) => from_lineage === name));
      const back = inOrder(walked.filter(({ to_lineage }) => to_lineage === name));
      const met = [
        ...(direction === "incoming" ? [] : out.map((edge) => [edge, edge.to_lineage] as const)),
        ...(direction === "outgoing" ? [] : back.map((edge) => [edge, edge.from_lineage] as const)),
      ];
      for (const [{ id }, end] of met) {
        edges.add(id);
        if (!seen.has(end)) next.push(end);
        seen.add(end);
      }
    }
    frontier = next;
  }
  const heads = [...seen].flatMap(
    (name) =>
      world.nodes.findLast((node) => node.lineage_id === name && node.superseded_by === null) ?? [],
  );
  return { nodes: heads.map(({ id }) => id), edges: [...edges] };
}

/** An answer in the form of `nodeAnswer` and `edgeAnswer`. */
export function comparable(json: unknown): Record<string, unknown> {
  const { metadata, created_at, freshness_at, conflicts, ...rest } = json as {
    readonly [member: string]: unknown;
  };
  return {
    ...rest,
    ...(metadata === undefined ? {} : { metadata: stable(metadata) }),
    ...(freshness_at === undefined ? {} : { freshness_at: exact(String(freshness_at)) }),
    created_at: exact(String(created_at)),
    ...(conflicts === undefined ? {} : { conflicts: [...(conflicts as string[])].sort() }),
  };
}

/** A value as JSON whose members stand in order. */
function stable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stable(member)}`).join()}}`;
}

/** Edges in memgraph's order: those with an ordinal first, then by age. */
export function inOrder(edges: readonly WorldEdge[]): readonly WorldEdge[] {
  const rank = ({ ordinal }: WorldEdge): number => ordinal ?? Number.MAX_SAFE_INTEGER;
  const age = ({ created_at }: WorldEdge): string => exact(created_at) ?? "";
  return [...edges].sort((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? -1 : 1));
}
