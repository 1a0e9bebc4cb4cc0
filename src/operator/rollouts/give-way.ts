import type { ReleaseManifest } from "../../crds/kinds/release-content.ts";
import type { ApiError } from "../../kube/client/api-error.ts";

/** A field that stays as another manager has it. */
export interface Override {
  /** As the API server names it: `.spec.template.spec.containers[name="c"].image`. */
  readonly field: string;
  /** Who owns it: `kubectl-set`, `kube-controller-manager`. */
  readonly manager: string;
}

export interface GivenWay {
  readonly manifest: ReleaseManifest;
  readonly overrides: readonly Override[];
}

/** The fields that others own, from the answer to a server-side apply without force. */
export function conflictsOf({ body }: Pick<ApiError, "body">): readonly Override[] {
  const causes = body?.details?.causes ?? [];
  return causes.flatMap(({ reason, field, message }) =>
    reason === "FieldManagerConflict" && field !== undefined ? [{ field, manager: managerIn(message ?? "") }] : [],
  );
}

/** `conflict with "kubectl" with subresource "scale" using apps/v1`. */
function managerIn(message: string): string {
  const quoted = /^conflict with ("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  // Quoted as Go quotes, which JSON does not always read.
  return quoted === undefined ? "another manager" : quoted.slice(1, -1).replaceAll(/\\(.)/g, "$1");
}

/**
 * The manifest without the fields that others own, and nothing else left out: a field that a release does not apply any
 * more would be removed by the API server. Lists keep their keys, because an element without its key is refused.
 *
 * @returns undefined when a field cannot be found in the manifest: then nothing may be applied.
 */
export function giveWay(manifest: ReleaseManifest, conflicts: readonly Override[]): GivenWay | undefined {
  const copy = structuredClone(manifest) as Node;
  for (const { field } of conflicts) if (!drop(copy, field)) return undefined;
  return { manifest: copy as unknown as ReleaseManifest, overrides: conflicts };
}

type Node = Record<string, unknown>;

/** Whether the field was there; then it is gone, and with it each map that it leaves empty. */
function drop(node: unknown, path: string): boolean {
  if (path.startsWith("[")) return Array.isArray(node) && dropElement(node, path);
  if (!path.startsWith(".") || !isMap(node)) return false;
  const rest = path.slice(1);
  // A key may hold dots and brackets itself, as labels do: the longest that fits comes first.
  const keys = Object.keys(node).filter((key) => rest === key || isBelow(rest, key));
  return keys
    .toSorted((one, other) => other.length - one.length)
    .some((key) => {
      if (rest === key) return Reflect.deleteProperty(node, key);
      if (!drop(node[key], rest.slice(key.length))) return false;
      if (isEmpty(node[key])) Reflect.deleteProperty(node, key);
      return true;
    });
}

function dropElement(list: unknown[], path: string): boolean {
  const end = endOfSelector(path);
  if (end === undefined) return false;
  const at = list.findIndex(selects(path.slice(1, end)));
  if (at < 0) return false;
  const rest = path.slice(end + 1);
  if (rest !== "") return drop(list[at], rest);
  list.splice(at, 1);
  return true;
}

function isBelow(path: string, key: string): boolean {
  return path.startsWith(key) && (path[key.length] === "." || path[key.length] === "[");
}

/** Where the selector that `path` begins with ends: `]`, which a quoted value may hold as well. */
function endOfSelector(path: string): number | undefined {
  let isQuoted = false;
  for (let at = 1; at < path.length; at += 1) {
    const sign = path[at];
    if (isQuoted && sign === "\\") at += 1;
    else if (sign === '"') isQuoted = !isQuoted;
    else if (sign === "]" && !isQuoted) return at;
  }
  return undefined;
}

/** `0`, `="value"`, or `containerPort=80,protocol="TCP"`. */
function selects(selector: string): (element: unknown, index: number) => boolean {
  if (/^\d+$/.test(selector)) return (_, index) => index === Number(selector);
  const pairs = [...selector.matchAll(/(?:^|,)([^=,"]*)=("(?:[^"\\]|\\.)*"|-?\d+|true|false)/g)].map(
    ([, key = "", value = ""]) => [key, JSON.parse(value) as unknown] as const,
  );
  return (element) => pairs.length > 0 && pairs.every(([key, value]) => has(element, key, value));
}

/** The API server names defaults of keys, such as `protocol="TCP"`, which a manifest may leave out. */
function has(element: unknown, key: string, value: unknown): boolean {
  if (key === "") return element === value;
  if (!isMap(element)) return false;
  return element[key] === value || (element[key] === undefined && key === "protocol" && value === "TCP");
}

function isMap(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return isMap(value) && Object.keys(value).length === 0;
}
