import type { PlanLine } from "../../crds/plan.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import { type Resource, resources } from "../../kube/objects/resource.ts";
import type { Current } from "./plan-sentences.ts";

const SCALABLE: Readonly<Record<string, Resource>> = {
  deployment: resources.deployments,
  statefulset: resources.statefulSets,
};

/** The parameters that a line would change, as they are now. What cannot be read is left out: no plan may hide itself. */
async function currentParams(
  client: Pick<Client, "getScale">,
  { command, params = {} }: PlanLine,
  signal: AbortSignal,
): Promise<Current> {
  const { kind, namespace, name } = params;
  const resource = typeof kind === "string" && Object.hasOwn(SCALABLE, kind) ? SCALABLE[kind] : undefined;
  if (command !== "kubernetes/scale" || resource === undefined) return {};
  if (typeof namespace !== "string" || typeof name !== "string") return {};
  try {
    const scale = await client.getScale(resource, { namespace, name }, signal);
    return scale === undefined ? {} : { replicas: scale.spec.replicas ?? 0 };
  } catch (error) {
    if (signal.aborted || (error instanceof ApiError && error.isTransient)) throw error;
    return {};
  }
}

/** Of each line of a plan. */
export function currentOf(
  client: Pick<Client, "getScale">,
  lines: readonly PlanLine[],
  signal: AbortSignal,
): Promise<readonly Current[]> {
  return Promise.all(lines.map((line) => currentParams(client, line, signal)));
}
