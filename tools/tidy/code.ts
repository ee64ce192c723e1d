/**
 * Rules about one file of code: what it may touch, how large it grows, what it must explain. Each
 * check takes a parsed file and returns problems; none of them knows another file.
 */
import { innerPath, isBackend, rankNamed, rankOf } from "./layers.js";
import {
  AMBIENT_ALLOWED,
  AMBIENT_FROM,
  AMBIENT_MEMBERS,
  CLOCK_CALLED,
  SIZES,
  TESTING,
} from "./rules.js";
import {
  type CodeFile,
  importsOf,
  isNode,
  isTest,
  lineCount,
  type Node,
  nameOf,
  nodes,
  type Problem,
  problem,
  walk,
} from "./source.js";

/** All rules about one file. */
export function checkCode(file: CodeFile): Problem[] {
  return [
    ...checkHeader(file),
    ...checkSizes(file),
    ...checkAmbient(file),
    ...checkExports(file),
    ...checkSyntax(file),
    ...checkTestCalls(file),
    ...checkTestReturns(file),
  ];
}

function checkHeader(file: CodeFile): Problem[] {
  const text = file.text.replace(/^#!.*\n/, "");
  if (/^\/\*\*[\s\S]*?\w[\s\S]*?\*\//.test(text)) return [];
  return [problem("header", file, { at: 0 }, "a file opens with a doc comment: what it is")];
}

function checkSizes(file: CodeFile): Problem[] {
  const found: Problem[] = [];
  const lines = lineCount(file.text);
  if (lines > SIZES.fileLines) {
    const message = `${lines} lines; a file stops at ${SIZES.fileLines}`;
    found.push(problem("file-lines", file, { at: 0 }, message));
  }
  walk(file.program, (node, parents) => {
    if (!FUNCTIONS.has(node.type) || !isNode(node.body)) return;
    const parent = parents.at(-1);
    if (parent !== undefined && isGroupOfTests(parent)) return;
    const length = lineCount(file.text.slice(node.start, node.end));
    if (length <= SIZES.functionLines) return;
    const subject = functionName(node, parents);
    const message = `${subject} has ${length} lines; a function stops at ${SIZES.functionLines}`;
    found.push(problem("function-lines", file, { at: node.start, subject }, message));
  });
  return found;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

/** `describe(…)` and its variants hold tests as a folder holds files: its length says nothing. */
function isGroupOfTests(node: Node): boolean {
  if (node.type !== "CallExpression") return false;
  let callee: unknown = node.callee;
  while (
    isNode(callee) &&
    (callee.type === "MemberExpression" || callee.type === "CallExpression")
  ) {
    callee = callee.type === "MemberExpression" ? callee.object : callee.callee;
  }
  return nameOf(callee) === "describe";
}

function functionName(node: Node, parents: readonly Node[]): string {
  const parent = parents.at(-1);
  const own = nameOf(node.id) ?? nameOf(parent?.key) ?? nameOf(parent?.id);
  return own ?? "an anonymous function";
}

/** Below the facade, time, chance and the machine are arguments. */
function checkAmbient(file: CodeFile): Problem[] {
  const inner = innerPath(file.path);
  const rank = inner === undefined ? undefined : rankOf(inner);
  if (inner === undefined || rank === undefined) return [];
  if (rank >= rankNamed(AMBIENT_FROM)) return checkClockCalls(file, inner);
  if (isTest(file.path) || isBackend(inner) || inner in AMBIENT_ALLOWED) return [];
  const found: Problem[] = [];
  const report = (at: number, subject: string): void => {
    const message = `${subject} below the facade; take it as an argument`;
    found.push(problem("ambient", file, { at, subject }, message));
  };
  for (const one of importsOf(file)) {
    if (one.specifier.startsWith("node:")) report(one.at, one.specifier);
  }
  walk(file.program, (node) => {
    const touched = ambientUse(node);
    if (touched !== undefined) report(node.start, touched);
  });
  return found;
}

/** Above it a clock may be handed on, as what is used where nobody gave one; whoever asks the time asks that. */
function checkClockCalls(file: CodeFile, inner: string): Problem[] {
  if (isTest(file.path) || inner.startsWith(TESTING) || inner in CLOCK_CALLED) return [];
  const found: Problem[] = [];
  walk(file.program, (node) => {
    const called = node.type === "CallExpression" && isNode(node.callee) ? node.callee : undefined;
    const subject = called === undefined ? undefined : ambientUse(called);
    if (subject !== "Date.now" && subject !== "performance.now") return;
    const message = `${subject}() in core; ask the clock that is an argument`;
    found.push(problem("ambient", file, { at: node.start, subject }, message));
  });
  return found;
}

function ambientUse(node: Node): string | undefined {
  const empty = nodes(node.arguments).length === 0;
  const callee = nameOf(node.callee);
  if (node.type === "NewExpression" && callee === "Date" && empty) return "new Date()";
  if (node.type === "CallExpression" && callee === "Date") return "Date()";
  if (node.type === "VariableDeclarator" && isNode(node.id) && node.id.type === "ObjectPattern") {
    const object = globalName(node.init);
    if (object === undefined) return undefined;
    const members = nodes(node.id.properties).map((property) => nameOf(property.key) ?? "");
    const taken = members.find((member) => isAmbient(object, member));
    return taken === undefined ? undefined : `${object}.${taken}`;
  }
  if (node.type !== "MemberExpression") return undefined;
  const object = globalName(node.object);
  const member = nameOf(node.property) ?? "";
  return object !== undefined && isAmbient(object, member) ? `${object}.${member}` : undefined;
}

/** The name of a global, also when reached through `globalThis`. */
function globalName(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Identifier") return nameOf(node);
  const through = node.type === "MemberExpression" && nameOf(node.object) === "globalThis";
  return through ? nameOf(node.property) : undefined;
}

function isAmbient(object: string, member: string): boolean {
  const members = Object.hasOwn(AMBIENT_MEMBERS, object) ? AMBIENT_MEMBERS[object] : undefined;
  return members === "all" || members?.includes(member) === true;
}

/** No default, no star, and a doc comment on every exported name. */
function checkExports(file: CodeFile): Problem[] {
  const found: Problem[] = [];
  const bare = undocumented(file);
  for (const statement of file.body) {
    const at = statement.start;
    if (statement.type === "ExportDefaultDeclaration") {
      found.push(problem("default-export", file, { at }, "export a name, not a default"));
    }
    if (statement.type === "ExportAllDeclaration") {
      found.push(problem("star-export", file, { at }, "list the names that leave the module"));
    }
    if (statement.type !== "ExportNamedDeclaration" || isTest(file.path)) continue;
    for (const subject of exportedNames(statement)) {
      if (subject === "default") {
        found.push(problem("default-export", file, { at }, "export a name, not a default"));
      } else if (bare.has(subject)) {
        const message = `${subject} is exported and has no doc comment`;
        found.push(problem("undocumented", file, { at, subject }, message));
      }
    }
  }
  return found;
}

/** Names declared at the top level without a doc comment right before them. */
function undocumented(file: CodeFile): ReadonlySet<string> {
  const bare = new Set<string>();
  const documented = new Set<string>();
  let from = 0;
  for (const statement of file.body) {
    const gap = file.text.slice(from, statement.start);
    from = statement.end;
    const isDocumented = /\/\*\*[\s\S]*?\w[\s\S]*?\*\/\s*$/.test(gap);
    for (const name of declaredNames(statement)) {
      if (isDocumented) documented.add(name);
      else bare.add(name);
    }
  }
  for (const name of documented) bare.delete(name); // an overload is explained once
  return bare;
}

function declaredNames(statement: Node): readonly string[] {
  const isExport = statement.type === "ExportNamedDeclaration";
  const declaration = isExport && isNode(statement.declaration) ? statement.declaration : statement;
  if (declaration.type === "VariableDeclaration") {
    return nodes(declaration.declarations).map(({ id }) => nameOf(id) ?? "");
  }
  const name = nameOf(declaration.id);
  return name === undefined ? [] : [name];
}

function exportedNames(statement: Node): readonly string[] {
  if (isNode(statement.declaration)) return declaredNames(statement);
  const again = isNode(statement.source); // explained where it is declared
  return nodes(statement.specifiers).flatMap((specifier) => {
    const outside = nameOf(specifier.exported) ?? "";
    const inside = again ? [] : [nameOf(specifier.local) ?? ""];
    return outside === "default" ? ["default"] : inside;
  });
}

/** Parts of the language the house does without. */
function checkSyntax(file: CodeFile): Problem[] {
  const found: Problem[] = [];
  const report = (rule: string, node: Node, message: string): void => {
    found.push(problem(rule, file, { at: node.start }, message));
  };
  walk(file.program, (node) => {
    switch (node.type) {
      case "TSAnyKeyword":
        return report("any", node, "say the type, or take `unknown` and look");
      case "TSNonNullExpression":
        return report("non-null", node, "prove that it is there, or handle that it is not");
      case "TSEnumDeclaration":
        return report("enum", node, "use a union of string literals");
      case "ClassDeclaration":
      case "ClassExpression":
        if (isHeir(node)) report("inheritance", node, "compose; only the error class inherits");
        return;
      default:
        return;
    }
  });
  return found;
}

function isHeir(node: Node): boolean {
  return isNode(node.superClass) && nameOf(node.superClass) !== "Error";
}

/** A focused test hides the others; a skip must be one that the full run turns into a failure. */
function checkTestCalls(file: CodeFile): Problem[] {
  if (!isTest(file.path) && !file.path.includes("/testing/")) return [];
  const found: Problem[] = [];
  const reasoned = /\bCORTEX_REQUIRE_ALL\b|\bmanifest\b|\b(isLacking|lacks[A-Z]|isUnbuilt)/.test(
    file.text,
  );
  walk(file.program, (node) => {
    if (node.type !== "MemberExpression") return;
    const runner = nameOf(node.object) ?? "";
    const member = nameOf(node.property) ?? "";
    if (!/^(test|it|describe|context|ctx|t)$/.test(runner)) return;
    const place = { at: node.start, subject: `${runner}.${member}` };
    if (member === "only") found.push(problem("focused", file, place, "other tests do not run"));
    const skips = /^(skip|skipIf|runIf|todo)$/.test(member);
    if (skips && !reasoned) {
      const message =
        "a skip fails under CORTEX_REQUIRE_ALL (testing/lacking.ts), or follows a declared manifest";
      found.push(problem("skip", file, place, message));
    }
  });
  return found;
}

/** A test that leaves early passes without having looked at anything: it has to be skipped instead. */
function checkTestReturns(file: CodeFile): Problem[] {
  if (!isTest(file.path)) return [];
  const found: Problem[] = [];
  walk(file.program, (node, parents) => {
    if (node.type !== "ReturnStatement" || isNode(node.argument)) return;
    const at = parents.findLastIndex(({ type }) => FUNCTIONS.has(type));
    if (!isCallOfTest(parents[at - 1])) return;
    const message = "a test that returns early passes unseen; skip it by test.skipIf";
    found.push(problem("early-return", file, { at: node.start, subject: "return" }, message));
  });
  return found;
}

/** Whether a node calls `test`, `test.each(…)`, `test.skipIf(…)` and the like. */
function isCallOfTest(node: Node | undefined): boolean {
  if (node?.type !== "CallExpression") return false;
  let callee: unknown = node.callee;
  while (isNode(callee) && !/^(test|it)$/.test(nameOf(callee) ?? "")) {
    callee = callee.type === "CallExpression" ? callee.callee : callee.object;
  }
  return isNode(callee);
}
