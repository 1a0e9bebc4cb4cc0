import { acceptanceLine } from "../../crds/kinds/accepted-namespaces.ts";
import type {
  ManagedDeployment,
  ManagedDeploymentState,
  ManagedDeploymentStatus,
} from "../../crds/kinds/managed-deployment.ts";
import type { WorkloadsSummary } from "../observe/summary.ts";
import type { Installed } from "../releases/installed.ts";
import { type DeploymentCondition, mergedConditions } from "./conditions.ts";
import { releaseOf } from "./release-conditions.ts";

/** Questions about its namespaces, and what lives there: none while it has no namespace. */
const WHILE_SERVED: readonly string[] = ["Opened", "Observed", "WorkloadsHealthy"];

/** What the status is made of, besides what it was. */
export interface StatusFacts {
  readonly state: ManagedDeploymentState;
  /** Where the customer accepts it; empty: it waits. */
  readonly accepted: readonly string[];
  /** Conditions of these types take the place of those before; others stay. */
  readonly changed: readonly DeploymentCondition[];
  /** Undefined before the first look of this process: what was shown stays. */
  readonly observed: WorkloadsSummary | undefined;
  /** Undefined: no release has installed anything, or releases are off. */
  readonly installed: Installed | undefined;
  readonly lastReportedAt: string | undefined;
  /** Where the object lies: the line that accepts it names it. */
  readonly grantsNamespace: string;
}

export function statusOf(managed: ManagedDeployment, facts: StatusFacts, now: Date): ManagedDeploymentStatus {
  const { state, accepted, installed, lastReportedAt, grantsNamespace } = facts;
  const merged = mergedConditions(managed, facts.changed, now);
  const conditions = installed === undefined ? merged.filter(({ type }) => type !== "AsReleased") : merged;
  const { workloads, observedAt, collection } = facts.observed ?? managed.status ?? {};
  return {
    state,
    ...(accepted.length === 0
      ? { acceptanceLine: acceptanceLine(managed.spec.deploymentId, grantsNamespace) }
      : { namespaces: accepted, ...(workloads && { workloads }), ...(observedAt && { observedAt }) }),
    ...(installed !== undefined && { release: releaseOf(installed) }),
    ...(accepted.length > 0 && collection !== undefined && collection.length > 0 && { collection }),
    observedGeneration: managed.metadata.generation ?? 0,
    ...(lastReportedAt === undefined ? {} : { lastReportedAt }),
    conditions: accepted.length === 0 ? conditions.filter(({ type }) => !WHILE_SERVED.includes(type)) : conditions,
  };
}

/** An event about the health of its workloads. */
export interface HealthNews {
  readonly type: "Normal" | "Warning";
  readonly reason: "WorkloadUnhealthy" | "WorkloadRecovered";
  readonly note: string;
}

/** Once a change of the condition; undefined: there is nothing to tell. */
export function healthNews(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): HealthNews | undefined {
  const [was, is] = [before, after].map((status) => status?.conditions?.find(isHealth));
  if (is === undefined || is.status === was?.status) return undefined;
  if (is.status === "False") return { type: "Warning", reason: "WorkloadUnhealthy", note: is.message };
  if (was?.status !== "False" || is.status !== "True") return undefined;
  return { type: "Normal", reason: "WorkloadRecovered", note: is.message };
}

function isHealth({ type }: { readonly type: string }): boolean {
  return type === "WorkloadsHealthy";
}
