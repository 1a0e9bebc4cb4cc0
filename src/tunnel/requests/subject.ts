import { queryValue, queryValues, type Target } from "./target.ts";

/** What a request asks for, in the words of the API server's authorizer. */
export interface Subject {
  readonly verb: "get" | "list" | "watch" | "create";
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly container?: string;
  readonly command?: readonly string[];
  readonly tty?: boolean;
  readonly stdin?: boolean;
}

const VERSION = /^v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?$/;
const GROUP = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Undefined for a path that is no resource's, or that the API server would read in a way of its own. */
export function subjectOf(method: "GET" | "POST", target: Target): Subject | undefined {
  const [root, ...rest] = target.segments;
  if (root === "api") return resourceOf(method, "", rest, target);
  const [group = "", ...below] = rest;
  return root === "apis" && GROUP.test(group) ? resourceOf(method, group, below, target) : undefined;
}

function resourceOf(
  method: "GET" | "POST",
  group: string,
  [version = "", ...rest]: readonly string[],
  target: Target,
): Subject | undefined {
  // `watch` and `proxy` at this place are verbs of the API server's older grammar.
  if (!VERSION.test(version) || rest.length === 0 || rest[0] === "watch" || rest[0] === "proxy") return undefined;
  const isNamespaced = rest[0] === "namespaces" && rest.length > 2;
  const [resource, name, subresource, ...more] = isNamespaced ? rest.slice(2) : rest;
  if (resource === undefined || more.length > 0) return undefined;
  const namespace = isNamespaced ? rest[1] : undefined;
  return {
    verb: verbOf(method, name, target),
    group,
    version,
    resource,
    ...(subresource !== undefined && { subresource }),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...streamWords(subresource, target),
  };
}

function verbOf(method: "GET" | "POST", name: string | undefined, target: Target): Subject["verb"] {
  if (method === "POST") return "create";
  if (name !== undefined) return "get";
  return isTrue(queryValue(target, "watch")) ? "watch" : "list";
}

/**
 * As the API server reads a switch in a query: anything but these two words is a yes. Go folds the letters by Unicode's
 * table, in which a long s is an s.
 */
const NO = /^(?:0|false)$/iu;

export function isTrue(value: string | undefined): boolean {
  return value !== undefined && !NO.test(value);
}

function streamWords(subresource: string | undefined, target: Target): Partial<Subject> {
  if (subresource !== "exec" && subresource !== "log") return {};
  const container = queryValue(target, "container");
  const command = queryValues(target, "command");
  return {
    ...(container !== undefined && { container }),
    ...(subresource === "exec" && {
      command,
      tty: isTrue(queryValue(target, "tty")),
      stdin: isTrue(queryValue(target, "stdin")),
    }),
  };
}
