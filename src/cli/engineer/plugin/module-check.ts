import { type AnyNode, type Expression, type ObjectExpression, type Program, parse } from "acorn";
import { MODULE_FILE } from "../../../plugins/metadata.ts";
import { isAllowedImport, NODE_MODULES, PLUGIN_PACKAGE } from "../../../plugins/module-imports.ts";
import type { Problem } from "./problem.ts";

/**
 * Reads the module without running it: that it parses, imports nothing but what the operator lets it import, and has each declared
 * operation in its default export. It helps the author; what holds a hostile plugin is the process in which it runs.
 *
 * @param operations undefined when plugin.yaml cannot be read: then nothing is said of them
 */
export function moduleProblems(text: string, operations: readonly string[] | undefined): readonly Problem[] {
  let program: Program;
  try {
    program = programOf(text);
  } catch (error) {
    return [syntaxProblem(error)];
  }
  return [...nodesOf(program)].flatMap(importProblem).concat(exportProblems(program, operations));
}

function programOf(text: string): Program {
  return parse(text, { ecmaVersion: "latest", sourceType: "module", locations: true });
}

/** Where the default export of a sound module names the operation. */
export function placeOfEntry(text: string, operation: string): Pick<Problem, "line" | "column"> {
  const program = programOf(text);
  const exported = program.body.find((node) => node.type === "ExportDefaultDeclaration");
  const entries = exported === undefined ? undefined : objectOf(exported.declaration, program);
  const entry = entries?.properties.find((each) => nameOf(each) === operation) ?? exported;
  const { line = 1, column = 0 } = entry?.loc?.start ?? {};
  return { line, column: column + 1 };
}

function syntaxProblem(error: unknown): Problem {
  const { loc, message } = error as { readonly loc?: { line: number; column: number }; readonly message: string };
  const place = { file: MODULE_FILE, line: loc?.line ?? 1, column: (loc?.column ?? 0) + 1 };
  return { ...place, message: `cannot be parsed: ${message.replace(/ \(\d+:\d+\)$/, "")}` };
}

function problemAt(node: AnyNode, message: string): Problem {
  const { line = 1, column = 0 } = node.loc?.start ?? {};
  return { file: MODULE_FILE, line, column: column + 1, message };
}

function* nodesOf(node: AnyNode): Generator<AnyNode> {
  yield node;
  for (const part of Object.values(node)) {
    for (const each of Array.isArray(part) ? part : [part]) if (isNode(each)) yield* nodesOf(each);
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function importProblem(node: AnyNode): readonly Problem[] {
  switch (node.type) {
    case "ImportExpression":
      return [problemAt(node, "import() is not allowed: a plugin is one module")];
    case "ImportDeclaration":
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration": {
      const { source } = node;
      if (source === null || source === undefined || isAllowedImport(String(source.value))) return [];
      const allowed = [PLUGIN_PACKAGE, ...NODE_MODULES].join(", ");
      return [problemAt(source, `may not import ${JSON.stringify(source.value)}: a plugin imports ${allowed}`)];
    }
    default:
      return [];
  }
}

const FORM = "export default { … }, written out, with one entry for each operation";

function exportProblems(program: Program, operations: readonly string[] | undefined): readonly Problem[] {
  const exported = program.body.find((node) => node.type === "ExportDefaultDeclaration");
  if (exported === undefined) return [{ file: MODULE_FILE, line: 1, column: 1, message: `has no ${FORM}` }];
  const entries = objectOf(exported.declaration, program);
  if (entries === undefined) return [problemAt(exported, `must be ${FORM}`)];
  const found = new Map<string, AnyNode>();
  const problems: Problem[] = [];
  for (const entry of entries.properties) {
    const name = nameOf(entry);
    if (name === undefined) {
      problems.push(problemAt(entry, `must be a name that is written out: ${FORM}`));
      continue;
    }
    found.set(name, entry);
    if (operations?.includes(name) === false)
      problems.push(problemAt(entry, `plugin.yaml declares no operation ${name}`));
    else if (entry.type === "Property" && lacksRun(entry.value, program)) {
      problems.push(problemAt(entry, `the operation ${name} has no function run`));
    }
  }
  const missing = (operations ?? []).filter((name) => !found.has(name));
  return [
    ...problems,
    ...missing.map((name) => problemAt(exported, `has no entry for the operation ${name} that plugin.yaml declares`)),
  ];
}

/** The object itself, or that of the constant which is named. */
function objectOf(node: AnyNode, program: Program): ObjectExpression | undefined {
  if (node.type === "ObjectExpression") return node;
  if (node.type !== "Identifier") return undefined;
  const constants = program.body.flatMap((each) => (each.type === "VariableDeclaration" ? each.declarations : []));
  const found = constants.find(({ id }) => id.type === "Identifier" && id.name === node.name)?.init;
  return found?.type === "ObjectExpression" ? found : undefined;
}

function nameOf(entry: ObjectExpression["properties"][number]): string | undefined {
  if (entry.type !== "Property" || entry.computed) return undefined;
  if (entry.key.type === "Identifier") return entry.key.name;
  return entry.key.type === "Literal" ? String(entry.key.value) : undefined;
}

/** True only where it can be seen: what a function returns is not followed. */
function lacksRun(value: Expression | AnyNode, program: Program): boolean {
  const [argument] = value.type === "CallExpression" ? value.arguments : [value];
  const operation = argument === undefined ? undefined : objectOf(argument, program);
  if (operation === undefined || operation.properties.some(({ type }) => type === "SpreadElement")) return false;
  return !operation.properties.some((entry) => nameOf(entry) === "run");
}
