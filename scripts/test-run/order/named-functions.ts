import { parseSync } from "oxc-parser";

/** A function under the name that V8 gives it, with its first and last line. */
export interface NamedFunction {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Of TypeScript source. A function without a name belongs to the named one around it. */
export function namedFunctions(path: string, source: string): NamedFunction[] {
  const lineStarts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) lineStarts.push(at + 1);
  const lineOf = (offset: number) => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const found: NamedFunction[] = [];
  const visit = (node: Node, given: string | undefined, className: string | undefined): void => {
    const name = nameOf(node.id) ?? given;
    if (FUNCTIONS.has(node.type) && name !== undefined) {
      found.push({ name, from: lineOf(node.start), to: lineOf(node.end) });
    }
    const inClass = node.type.startsWith("Class") ? (name ?? className) : className;
    for (const [field, child] of childrenOf(node)) {
      visit(
        child,
        field === "value" || field === "init" || field === "right" ? nameFor(node, inClass) : undefined,
        inClass,
      );
    }
  };
  visit(parseSync(path, source).program as unknown as Node, undefined, undefined);
  return found;
}

/** What a function is called that is the value of `node`: a variable, a property, a method. */
function nameFor(node: Node, className: string | undefined): string | undefined {
  if (node.type === "VariableDeclarator") return nameOf(node.id);
  if (node.type === "AssignmentExpression" || node.type === "AssignmentPattern") return nameOf(node.left);
  if (node.computed === true) return undefined;
  const key = nameOf(node.key);
  if (node.kind === "constructor") return className;
  return node.kind === "get" || node.kind === "set" ? `${node.kind} ${key}` : key;
}

function nameOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  if (value.type === "Identifier") return String(value.name);
  if (value.type === "PrivateIdentifier") return `#${value.name}`;
  return value.type === "Literal" ? String(value.value) : undefined;
}

function* childrenOf(node: Node): Generator<[field: string, child: Node]> {
  for (const [field, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield [field, child];
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
