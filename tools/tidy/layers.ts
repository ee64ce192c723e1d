/**
 * Who may import whom. Reads the layer tables of `rules.ts`, looks both files of every import up in
 * the one of their package, and names the two files and the rule that was broken. Pure: files in,
 * problems out.
 */
import {
  AMBIENT_ALLOWED,
  BACKENDS,
  CORE,
  LAYERS,
  type Layer,
  ONE_DOOR,
  SERVER,
  SERVER_GRANTS,
  SERVER_LAYERS,
  TESTING,
  VERIFIER,
} from "./rules.js";
import { type CodeFile, type Import, importsOf, isTest, type Problem, problem } from "./source.js";

/** What the package files say: the names each package may import. */
export interface Packages {
  /** Public entries of core, as specifiers: `@cortex-memory/core/verify`. */
  readonly coreEntries: ReadonlySet<string>;
  /** Runtime dependencies by package folder: `packages/core`. */
  readonly dependencies: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The rank of a path inside `packages/core/src`, or `undefined` when no layer claims it. */
export function rankOf(inner: string): number | undefined {
  return rankIn(LAYERS, inner);
}

function rankIn(layers: readonly Layer[], inner: string): number | undefined {
  return layers.find(({ paths }) => paths.some((path) => isIn(inner, path)))?.rank;
}

/** Whether a file is the one meant, or in the folder that is. */
function isIn(inner: string, path: string): boolean {
  return path.endsWith("/") ? inner.startsWith(path) : inner === path;
}

/** The rank of a layer by its name. */
export function rankNamed(name: string): number {
  const layer = LAYERS.find((one) => one.name === name);
  if (layer === undefined) throw new Error(`there is no layer ${name}`);
  return layer.rank;
}

/** The folder that a path inside a package stands in; root files share one. */
function roomOf(inner: string): string {
  const at = inner.indexOf("/");
  return at < 0 ? "" : inner.slice(0, at);
}

/** The path inside core, or `undefined` for a file elsewhere. */
export function innerPath(path: string): string | undefined {
  return below(CORE, path);
}

function below(home: string, path: string): string | undefined {
  return path.startsWith(home) ? path.slice(home.length) : undefined;
}

/** True for a file of core that holds a storage engine. */
export function isBackend(inner: string): boolean {
  return BACKENDS.files.test(inner);
}

/** Every import that goes the wrong way. */
export function checkLayers(files: readonly CodeFile[], packages: Packages): Problem[] {
  const found: Problem[] = [];
  for (const file of files) {
    const imports = importsOf(file);
    const inner = innerPath(file.path);
    if (!isTest(file.path)) found.push(...checkRanked(file));
    for (const one of imports) {
      const broken = isTest(file.path)
        ? undefined
        : (breachInside(inner, one) ??
          breachInServer(file.path, one) ??
          breachOutside(file.path, one, packages));
      if (broken === undefined) continue;
      const { rule, message } = broken;
      found.push(problem(rule, file, { at: one.at, subject: one.specifier }, message));
    }
  }
  found.push(...checkVerifier(files));
  return found;
}

interface Breach {
  readonly rule: string;
  readonly message: string;
}

/** Every file of a ranked package has a rank. */
function checkRanked(file: CodeFile): Problem[] {
  const core = innerPath(file.path);
  const isRanked = core === undefined ? isRankedInServer(file.path) : isRankedInCore(core);
  if (isRanked) return [];
  const message = `${file.path} belongs to no layer; give it a rank in tools/tidy/rules.ts`;
  return [problem("layer", file, { at: 0 }, message)];
}

function isRankedInCore(inner: string): boolean {
  return rankOf(inner) !== undefined || inner === VERIFIER.file || inner.startsWith(TESTING);
}

function isRankedInServer(path: string): boolean {
  const inner = below(SERVER, path);
  return inner === undefined || rankIn(SERVER_LAYERS, inner) !== undefined;
}

/** Imports from one file of core to another. */
function breachInside(inner: string | undefined, one: Import): Breach | undefined {
  const target = one.target === undefined ? undefined : innerPath(one.target);
  if (inner === undefined || target === undefined || inner.startsWith(TESTING)) return undefined;
  const layer = (message: string): Breach => ({ rule: "layer", message });
  if (target.startsWith(TESTING)) return layer(`${inner} imports ${target}: only tests may`);
  if (inner === VERIFIER.file) return undefined; // judged by what it reaches, below
  if (isBackend(inner)) {
    const free = BACKENDS.mayImport.some((path) => path === target);
    if (free || sameBackend(inner, target)) return undefined;
    return layer(`${inner} imports ${target}: a backend knows ${BACKENDS.mayImport.join(", ")}`);
  }
  if (isBackend(target) && inner !== BACKENDS.namedBy) {
    return layer(`${inner} imports ${target}: only ${BACKENDS.namedBy} names a backend`);
  }
  const to = target === VERIFIER.file ? rankNamed(VERIFIER.layer) : rankOf(target);
  return breachOfRanks([inner, rankOf(inner)], [target, to]);
}

type Ranked = readonly [inner: string, rank: number | undefined];

function breachOfRanks([inner, from]: Ranked, [target, to]: Ranked): Breach | undefined {
  if (from === undefined || to === undefined || to < from) return undefined;
  if (to === from && roomOf(inner) === roomOf(target)) return undefined;
  const message = `${inner} (rank ${from}) imports ${target} (rank ${to}): imports go down only`;
  return { rule: "layer", message };
}

/** Imports from one file of the server to another. */
function breachInServer(path: string, one: Import): Breach | undefined {
  const inner = below(SERVER, path);
  const target = one.target === undefined ? undefined : below(SERVER, one.target);
  if (inner === undefined || target === undefined) return undefined;
  const isGranted = SERVER_GRANTS.some(
    ({ from, to, typesOnly }) =>
      isIn(inner, from) && isIn(target, to) && (one.isType || !typesOnly),
  );
  const rank = (file: string): Ranked => [file, rankIn(SERVER_LAYERS, file)];
  return isGranted ? undefined : breachOfRanks(rank(inner), rank(target));
}

/** `kv/lmdb-backend.ts` and `kv/lmdb-file.ts` are one backend. */
function sameBackend(a: string, b: string): boolean {
  const name = BACKENDS.files.exec(a)?.[1];
  return name !== undefined && name === BACKENDS.files.exec(b)?.[1];
}

/** Imports that leave a package, and libraries. */
function breachOutside(path: string, one: Import, packages: Packages): Breach | undefined {
  const home = /^packages\/[^/]+/.exec(path)?.[0];
  const { specifier } = one;
  if (one.target !== undefined) {
    if (home === undefined || one.target.startsWith(`${home}/`)) return undefined;
    return { rule: "layer", message: `${specifier} leaves ${home}; import a public entry` };
  }
  if (specifier.startsWith("node:")) return undefined;
  const library = libraryOf(specifier);
  if (library === "@cortex-memory/core") return breachOfEntry(path, specifier, packages);
  if (home === undefined) return undefined;
  const door = ONE_DOOR[library];
  if (door !== undefined && !door.test(path)) {
    return { rule: "dependency", message: `${library} has one door, and it is not ${path}` };
  }
  const inTesting = path.startsWith(CORE + TESTING);
  if (inTesting || packages.dependencies.get(home)?.has(library) === true) return undefined;
  return { rule: "dependency", message: `${library} is not a dependency of ${home}` };
}

function breachOfEntry(path: string, specifier: string, packages: Packages): Breach | undefined {
  if (!packages.coreEntries.has(specifier)) {
    return { rule: "layer", message: `${specifier} is not a public entry of core` };
  }
  if (specifier.endsWith("/testing") && path.startsWith("packages/")) {
    return { rule: "layer", message: `${specifier} is for tests only` };
  }
  return undefined;
}

function libraryOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? specifier);
}

/** Everything the verifier reaches when it runs must be pure, or one of the files it is granted. */
function checkVerifier(files: readonly CodeFile[]): Problem[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const start = byPath.get(CORE + VERIFIER.file);
  if (start === undefined) return [];
  const found: Problem[] = [];
  const seen = new Set([start.path]);
  const queue: CodeFile[] = [start];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    for (const one of importsOf(file)) {
      if (one.isType) continue;
      const broken = breachOfVerifier(one);
      if (broken !== undefined) {
        const message = `${VERIFIER.file} reaches ${broken} through ${file.path}`;
        found.push(problem("verifier", file, { at: one.at, subject: one.specifier }, message));
        continue;
      }
      const next = one.target === undefined ? undefined : byPath.get(one.target);
      if (next === undefined || seen.has(next.path)) continue;
      seen.add(next.path);
      queue.push(next);
    }
  }
  return found;
}

function breachOfVerifier(one: Import): string | undefined {
  if (one.specifier.startsWith("node:")) return one.specifier;
  const inner = one.target === undefined ? undefined : innerPath(one.target);
  if (inner === undefined) return undefined;
  if (inner in AMBIENT_ALLOWED) return inner;
  const granted = VERIFIER.mayReach.some((path) => path === inner);
  const rank = rankOf(inner);
  const isPure = rank !== undefined && rank <= rankNamed(VERIFIER.pureUpTo);
  return granted || isPure ? undefined : inner;
}
