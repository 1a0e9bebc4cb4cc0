import { isRecord } from "../../base/is-record.ts";
import { NAMESPACE_NAME } from "../../crds/group.ts";
import type { CallMessage, CallVerb } from "../plugin-process/messages.ts";

/** How much one request of a plugin gives back. */
export const CALL_BOUNDS = { objects: 5_000, listBytes: 8 * 1_024 * 1_024, logBytes: 512 * 1_024 } as const;

/** A request of a plugin, checked: nothing in it can lead its path to another object than it names. */
export interface CallArguments {
  readonly does: CallVerb;
  /** As RBAC has it. */
  readonly verb: string;
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string };
  readonly subresource?: string;
  readonly namespace: string;
  /** Empty for a list. */
  readonly name: string;
  readonly body?: unknown;
  readonly patchType?: string;
  readonly labelSelector?: string;
  readonly log?: { readonly container?: string; readonly tailLines?: number };
}

const GROUP = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$/;
const VERSION = /^v[0-9][0-9a-z]{0,30}$/;
const PLURAL = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Names of some kinds have capitals and colons. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$/;
const CONTAINER = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SELECTOR = /^[A-Za-z0-9_./=!,() -]{1,1024}$/;
const PATCH_TYPES = ["merge", "json", "strategic"];
const SUBRESOURCES = ["scale", "status"];

/** What is wrong with it in words for the author, else the request. */
export function readCall({
  verb: does,
  arguments: given,
}: Pick<CallMessage, "verb" | "arguments">): CallArguments | string {
  const options = given.options ?? {};
  if (!isRecord(options)) return "options must be an object";
  if (does === "podLogs") return readLogs(given.key, options);
  const resource = readResource(given.resource);
  if (resource === undefined) return "a resource has group, version and plural, such as apps, v1 and deployments";
  if (does === "list") return readList(resource, options);
  if (does === "create") {
    const { object } = given;
    const metadata = isRecord(object) ? object.metadata : undefined;
    if (!isRecord(metadata)) return "an object to create has metadata";
    const place = readPlace(metadata.namespace);
    if (typeof place === "string") return place;
    return { does, verb: "create", resource, name: "", ...place, body: object };
  }
  const key = readKey(given.key);
  if (typeof key === "string") return key;
  if (does === "get" || does === "delete") return { does, verb: does, resource, ...key };
  const { type: patchType = "merge", subresource } = options;
  if (!PATCH_TYPES.some((each) => each === patchType)) return `a patch is one of ${PATCH_TYPES.join(", ")}`;
  if (patchType === "json" ? !Array.isArray(given.body) : !isRecord(given.body))
    return "the body does not fit the type";
  if (writesOwners(given.body))
    return `of metadata a plugin writes ${METADATA.slice(0, 3).join(", ")} alone, and no managedFields or ownerReferences`;
  if (subresource !== undefined && !SUBRESOURCES.some((each) => each === subresource)) {
    return `a subresource is one of ${SUBRESOURCES.join(", ")}`;
  }
  const part = subresource === undefined ? {} : { subresource: String(subresource) };
  return { does, verb: "patch", resource, ...key, ...part, body: given.body, patchType: String(patchType) };
}

/** What a patch may name of an object's metadata: the last four, as far as they are what they were. */
const METADATA: readonly string[] = [
  ...["labels", "annotations", "finalizers"],
  ...["name", "namespace", "uid", "resourceVersion"],
];

/**
 * Who owns which field is the API server's to write: with a false owner the true one's next apply would delete the field. And of
 * an object with a false owner the garbage collector deletes the whole, which no rule with the verb patch says. A strategic
 * patch has words beside fields (`$patch`, `$retainKeys`) that write all of an object or of its metadata.
 */
function writesOwners(body: unknown): boolean {
  if (isRecord(body)) {
    const { metadata = {} } = body;
    const names = isRecord(metadata) ? Object.keys(metadata) : ["metadata"];
    return Object.keys(body).some((word) => word.startsWith("$")) || names.some((name) => !METADATA.includes(name));
  }
  const steps: readonly unknown[] = Array.isArray(body) ? body : [];
  return steps.some((step) => isRecord(step) && [step.path, step.from].some(leadsToOwners));
}

/** The API server begins to read a path at its first slash, and does not look at what stands before. */
function leadsToOwners(path: unknown): boolean {
  if (typeof path !== "string") return path !== undefined;
  return /^[^/]*(\/metadata(\/(managedFields|ownerReferences)(\/.*)?)?)?$/s.test(path);
}

function readResource(value: unknown): CallArguments["resource"] | undefined {
  if (!isRecord(value)) return undefined;
  const { group, version, plural } = value;
  // Its length first: the time that the expression takes grows faster than the text.
  const isShort = typeof group === "string" && group.length <= 253;
  const isSound = isShort && matches(GROUP, group) && matches(VERSION, version);
  return isSound && matches(PLURAL, plural)
    ? { group: String(group), version: String(version), plural: String(plural) }
    : undefined;
}

function readPlace(namespace: unknown): { readonly namespace: string } | string {
  if (namespace === undefined) return "a request names the namespace of the operation";
  return matches(NAMESPACE_NAME, namespace) ? { namespace: String(namespace) } : "a namespace is a lower-case name";
}

function readKey(value: unknown): { readonly namespace: string; readonly name: string } | string {
  if (!isRecord(value) || !matches(NAME, value.name)) return "a key has the name of an object";
  const place = readPlace(value.namespace);
  return typeof place === "string" ? place : { ...place, name: String(value.name) };
}

function readList(
  resource: CallArguments["resource"],
  { namespace, labelSelector }: Readonly<Record<string, unknown>>,
): CallArguments | string {
  const place = readPlace(namespace);
  if (typeof place === "string") return place;
  if (labelSelector !== undefined && !matches(SELECTOR, labelSelector)) return "labelSelector is no label selector";
  const selected = labelSelector === undefined ? {} : { labelSelector: String(labelSelector) };
  return { does: "list", verb: "list", resource, name: "", ...place, ...selected };
}

function readLogs(key: unknown, { container, tailLines }: Readonly<Record<string, unknown>>): CallArguments | string {
  const read = readKey(key);
  if (typeof read === "string") return read;
  if (container !== undefined && !matches(CONTAINER, container)) return "a container has a lower-case name";
  const isCount = Number.isInteger(tailLines) && Number(tailLines) >= 1 && Number(tailLines) <= 100_000;
  if (tailLines !== undefined && !isCount) return "tailLines is a whole number from 1 to 100000";
  return {
    does: "podLogs",
    verb: "get",
    resource: { group: "", version: "v1", plural: "pods" },
    subresource: "log",
    ...read,
    log: {
      ...(container !== undefined && { container: String(container) }),
      ...(tailLines !== undefined && { tailLines: Number(tailLines) }),
    },
  };
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === "string" && pattern.test(value);
}
