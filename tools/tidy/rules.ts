/**
 * The house rules as data: layers, limits, words and exemptions. The checks beside this file hold
 * no names of their own; to change a rule, change it here and say why in a decision record.
 */

/** One layer of a package: a file may import its own folder and ranks below. */
export interface Layer {
  readonly rank: number;
  readonly name: string;
  /** Folders end with a slash; everything else is one file. */
  readonly paths: readonly string[];
}

/** Where the ranked files of core live. */
export const CORE = "packages/core/src/";

/** The layers, lowest first. A file of core outside all of them is refused. */
export const LAYERS: readonly Layer[] = [
  layer("names", ["errors.ts", "limits.ts"]),
  layer("bytes", ["codec/"]),
  layer("trees", ["merkle/"]),
  layer("storage", ["kv/"]),
  layer("journal", ["journal/"]),
  layer("records", ["records/", "net/"]),
  layer("rules of records", ["salience/", "model/"]),
  layer("who may", ["scope/"]),
  layer("who is believed", ["trust/"]),
  layer("contract", ["contract/"]),
  layer("history", ["history/"]),
  layer("words", ["text/"]),
  layer("vectors", ["vector/"]),
  layer("engine", ["engine/"]),
  layer("configuration", ["config/", "jobs/"]),
  layer("memories", ["memory/"]),
  layer("links", ["links/"]),
  layer("conversations and batches", ["sessions/", "batch/"]),
  layer("searching and embedding", ["search/", "embedding/"]),
  layer("finding", ["find/"]),
  layer("learning and proving", ["learning/", "context/", "proof/"]),
  layer("recalling", ["recall/", "review/"]),
  layer("distilling", ["extract/"]),
  layer("upkeep", ["upkeep/"]),
  layer("reading the journal", ["changes/"]),
  layer("admission and moving", ["admission/", "move/"]),
  layer("one graph", ["jobs.ts", "http-services.ts", "verbs.ts", "cortex.ts"]),
  layer("one graph elsewhere", ["remote/"]),
  layer("opening", ["open.ts"]),
  layer("places", ["moves.ts"]),
  layer("replicas and hubs", ["replica/", "hub/"]),
  layer("memgraph's store", ["memgraph/"]),
  layer("surface", ["index.ts", "doors.ts"]),
].map((one, rank) => ({ ...one, rank }));

function layer(name: string, paths: readonly string[]): Omit<Layer, "rank"> {
  return { name, paths };
}

/** Where the ranked files of the server live. */
export const SERVER = "packages/server/src/";

/** The layers of the server, lowest first. A file of the server outside all of them is refused. */
export const SERVER_LAYERS: readonly Layer[] = [
  layer("ground", [
    "config.ts",
    "error-status.ts",
    "progress.ts",
    "services.ts",
    "settings.ts",
    "speech.ts",
    "version.ts",
  ]),
  layer("reading foreign files", ["import/"]),
  layer("showing answers", ["render/"]),
  layer("rows", ["operations/"]),
  layer("tables", ["operations.ts", "store-choice.ts", "memgraph/"]),
  layer("doors", ["cli/", "http/", "mcp/"]),
  layer("start", ["index.ts", "kept-code.ts", "main.ts"]),
].map((one, rank) => ({ ...one, rank }));

/** An import of the server that its ranks would refuse. */
export interface Grant {
  /** A file, or a folder with its slash. */
  readonly from: string;
  readonly to: string;
  /** True where types may be imported and nothing that runs. */
  readonly typesOnly: boolean;
  readonly reason: string;
}

/**
 * What the ranks of the server let through. Doors do not know each other, what two of them share stands
 * below; one that starts another names it in one file.
 */
export const SERVER_GRANTS: readonly Grant[] = [
  grant("cli/serve.ts", "http/", "`cortex serve` starts the HTTP server"),
  grant("cli/mcp.ts", "mcp/", "`cortex mcp` starts the MCP server"),
  grant("http/mcp-route.ts", "mcp/", "the HTTP server offers MCP at a path"),
  {
    ...grant("render/", "operations/", "a row names what shows its answer, which has its type"),
    typesOnly: true,
  },
];

function grant(from: string, to: string, reason: string): Grant {
  return { from, to, typesOnly: false, reason };
}

/** The first layer in which clock, randomness and process may be used. */
export const AMBIENT_FROM = "one graph";

/** Backends: storage engines behind the kv contract. */
export const BACKENDS = {
  /** The files that are backends; the captured name says which. */
  files: /^kv\/(memory|lmdb|postgres)-[a-z0-9-]+\.ts$/,
  /** All that a backend may import of ours, besides other files of the same backend. */
  mayImport: ["kv/kv.ts", "codec/slab.ts", "errors.ts", "limits.ts"],
  /** The only file that may name one. */
  namedBy: "open.ts",
} as const;

/**
 * The verifier stands apart: bytes and trees, the files of the journal that hold the bytes it reads, the names
 * behind the codes in a record, and nothing of Node.
 */
export const VERIFIER = {
  file: "verify.ts",
  /** As high as it stands for whoever imports it. */
  layer: "reading the journal",
  /** Everything up to this layer is pure. */
  pureUpTo: "trees",
  mayReach: [
    "journal/entry.ts",
    "journal/checkpoint.ts",
    "journal/proof.ts",
    "journal/proof-path.ts",
    "records/edge-record.ts",
    "records/memory-record.ts",
    "records/types.ts",
    "records/uri.ts",
  ],
} as const;

/** The shipped test helpers: they may import anything and only tests import them. */
export const TESTING = "testing/";

/** Files below the facade that may touch Node, each with its reason. Backends may as well. */
export const AMBIENT_ALLOWED: Readonly<Record<string, string>> = {
  "move/move-files.ts": "writes and reads the files that people name",
  "codec/node-crypto.ts": "binds Node's hashes and signatures, which are handed to everything else",
};

/** Files of core outside the backends that ask a clock of the machine themselves, each with its reason. */
export const CLOCK_CALLED: Readonly<Record<string, string>> = {
  "remote/transport.ts": "signs each request with the time at which it is sent, wherever it runs",
  "remote/client.ts": "measures how long ago a server was last confirmed, wherever it runs",
};

/** Objects whose members bring in time, chance or the machine. */
export const AMBIENT_MEMBERS: Readonly<Record<string, readonly string[] | "all">> = {
  Date: ["now"],
  Math: ["random"],
  performance: "all",
  process: "all",
  crypto: "all",
};

/** Libraries that one file alone may import, so that they can be replaced in one place. */
export const ONE_DOOR: Readonly<Record<string, RegExp>> = {
  "@noble/hashes": /^packages\/core\/src\/codec\/sha256-pure\.ts$/,
  lmdb: /^packages\/core\/src\/kv\/lmdb-[a-z0-9-]+\.ts$/,
  pg: /^packages\/core\/src\/kv\/postgres-[a-z0-9-]+\.ts$/,
  "snowball-stemmers": /^packages\/core\/src\/text\/languages\.ts$/,
  hono: /^packages\/server\/src\/http\/(app|own-routes|respond|memgraph-routes)\.ts$/,
  "@hono/node-server": /^packages\/server\/src\/http\/(app|guard|server)\.ts$/,
  "@modelcontextprotocol/server": /^packages\/server\/src\/mcp\/sdk-[a-z]+\.ts$/,
  "node-sqlite3-wasm": /^packages\/server\/(src\/import\/sqlite-file|test\/foreign-files)\.ts$/,
  re2js: /^packages\/core\/src\/find\/evaluate\.ts$/,
};

/** Sizes at which a file or a function stops. */
export const SIZES = {
  fileLines: 600,
  functionLines: 70,
  readmeLines: 200,
  decisionLines: 70,
} as const;

/** Files nothing imports because something else starts them, each with its reason. */
export const STARTED: Readonly<Record<string, string>> = {
  "vitest.config.ts": "the test runner reads it",
  "packages/core/test/suite-setup.ts": "the test runner starts it before all tests",
  "bench/main.mjs": "`npm run bench` starts it",
  "packages/studio/vite.config.ts": "`npm run build` reads it to build the studio",
  "packages/studio/src/main.tsx": "the page of the studio loads it",
  "packages/server/bin/cortex.js": "npm links it as the command",
  "packages/server/src/main.ts": "tools/bundle.mjs makes the command from it",
  "packages/server/src/kept-code.ts": "the command starts the program by it",
  "packages/studio/src/graph/layout-worker.ts": "the layout of the studio starts it as a worker",
  "tools/run-programs.mjs": "`tools/docs-code.test.ts` starts it",
};

/** Folders of programs that are started by hand or by a test, never imported. */
export const STARTED_FOLDERS: readonly string[] = [
  "examples/",
  "bench/",
  "eval/",
  "tools/reliability/",
];

/** Where a name that no other file imports may not be exported. */
export const UNUSED_EXPORTS_IN = /^packages\/(core|embed|server)\/src\//;

/** A word or a turn of phrase the tree does without. */
export interface ForbiddenWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

/** The words, each with what to write instead. Capitals count only where `exact` says so. */
export const FORBIDDEN_WORDS: readonly ForbiddenWord[] = [
  word("blazing", "give the figure"),
  word("lightning[- ]fast", "give the figure"),
  word("seamless(ly)?", "say what happens at the seam"),
  word("effortless(ly)?", "show the steps"),
  word("cutting[- ]edge", "name the technique"),
  word("state[- ]of[- ]the[- ]art", "name what it is compared with"),
  word("world[- ]class", "give the figure"),
  word("best[- ]in[- ]class", "name what it is compared with"),
  word("game[- ]chang(er|ing)", "say what changed"),
  word("revolutionary", "say what changed"),
  word("production[- ]ready", "list what was tested"),
  word("enterprise[- ]grade", "list what was tested"),
  word("unleash", "say what it does"),
  word("supercharge", "say what it does"),
  word("leverag(e|es|ing)", "use"),
  word("utili[sz](e|es|ing)", "use"),
  word("co-authored-by", "leave it out"),
  word("(issue|PR|pull request) #?\\d+", "say the reason itself"),
  exact("(FIXME|TODO|XXX)", "do it, or write it down as a limit"),
  exact("(DESIGN|STYLE|DEPENDENCIES)\\.md", "name a page of docs/"),
];

/** Absolute folders of some machine; tests ask the system for a temporary one. */
export const MACHINE_PATHS = new RegExp(
  `(?<![\\w.~-])/(${["work", "tmp", "home", "root", "Users"].join("|")})/`,
);

/** One reasoned exception to a rule. It fails as soon as it is no longer needed. */
export interface Exemption {
  readonly rule: string;
  readonly file: string;
  /** The function, word or import meant; empty for the file as a whole. */
  readonly subject: string;
  readonly reason: string;
}

/** Every exception there is. */
export const EXEMPTIONS: readonly Exemption[] = [
  {
    rule: "default-export",
    file: "vitest.config.ts",
    subject: "",
    reason: "the test runner takes its settings as the default export",
  },
  {
    rule: "default-export",
    file: "packages/studio/vite.config.ts",
    subject: "",
    reason: "the builder takes its settings as the default export",
  },
  {
    rule: "forbidden-word",
    file: "tools/tidy/rules.ts",
    subject: "",
    reason: "the list itself has to spell the words it forbids",
  },
  {
    rule: "forbidden-word",
    file: "packages/core/src/text/asking-spaced.ts",
    subject: "",
    reason: "a French verb that people tell an assistant what to do by",
  },
  {
    rule: "forbidden-word",
    file: "packages/core/src/text/question-shape.test.ts",
    subject: "",
    reason: "a French sentence that the test is about",
  },
];

function word(pattern: string, instead: string, flags = "i"): ForbiddenWord {
  return { pattern: new RegExp(`(?<![\\w-])${pattern}(?![\\w-])`, flags), instead };
}

function exact(pattern: string, instead: string): ForbiddenWord {
  return word(pattern, instead, "");
}
