import type { PlanLine } from "../../crds/plan.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { type Resource, resources } from "../../kube/objects/resource.ts";
import { type Current, quoted } from "./plan-sentences.ts";

/** What a line of a plan finds in the cluster now, as far as this person may look. */
export interface Found {
  readonly current: Current;
  /** The one object that it works on; absent: it names none, or one of a kind that is not looked up here. */
  readonly target?: Target;
}

export interface Target {
  /** As `Deployment web in namespace shop`. */
  readonly object: string;
  /** `forbidden`: the person lacks the right to read it. `unread`: it has no possible name, or the API server said no otherwise. */
  readonly state: "there" | "absent" | "forbidden" | "unread";
}

/** As the param `kind` spells them. */
const KINDS: Readonly<Record<string, Resource>> = {
  pod: resources.pods,
  deployment: resources.deployments,
  statefulset: resources.statefulSets,
  daemonset: resources.daemonSets,
};

type Reader = Pick<Client, "get" | "getScale">;

/** What cannot be read is said to be so: no plan may hide itself. */
async function foundBy(client: Reader, line: PlanLine, signal: AbortSignal): Promise<Found> {
  const named = targetOf(line);
  if (named === undefined) return { current: {} };
  const { resource, name, namespace } = named;
  const object = `${resource.kind} ${quoted(name)}${namespace === undefined ? "" : ` in namespace ${quoted(namespace)}`}`;
  try {
    const replicas = line.command === "kubernetes/scale" ? await replicasOf(client, named, signal) : undefined;
    if (replicas !== undefined) return { current: { replicas }, target: { object, state: "there" } };
    const isThere = line.command !== "kubernetes/scale" && (await client.get(resource, named, signal)) !== undefined;
    return { current: {}, target: { object, state: isThere ? "there" : "absent" } };
  } catch (error) {
    const isOfServer = error instanceof ApiError;
    if (signal.aborted || (isOfServer && error.isTransient)) throw error;
    return { current: {}, target: { object, state: isOfServer && error.isForbidden ? "forbidden" : "unread" } };
  }
}

interface Named {
  readonly resource: Resource;
  readonly name: string;
  readonly namespace?: string;
}

async function replicasOf(client: Reader, named: Named, signal: AbortSignal): Promise<number | undefined> {
  const scale = await client.getScale(named.resource, named, signal);
  return scale === undefined ? undefined : (scale.spec.replicas ?? 0);
}

/** Events may be of objects that are gone, so the object that they are filtered by is none that must be there. */
function targetOf({ command, params = {} }: PlanLine): Named | undefined {
  const { kind, pod, name, namespace } = params;
  if (!command.startsWith("kubernetes/") || command === "kubernetes/events") return undefined;
  if (/^kubernetes\/(un)?cordon-node$/.test(command)) {
    return typeof name === "string" ? { resource: resources.nodes, name } : undefined;
  }
  if (typeof namespace !== "string") return undefined;
  if (typeof pod === "string") return { resource: resources.pods, name: pod, namespace };
  const resource = typeof kind === "string" && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  return resource === undefined || typeof name !== "string" ? undefined : { resource, name, namespace };
}

/** For each line of a plan. */
export function foundByEach(
  client: Reader,
  lines: readonly PlanLine[],
  signal: AbortSignal,
): Promise<readonly Found[]> {
  return Promise.all(lines.map((line) => foundBy(client, line, signal)));
}
