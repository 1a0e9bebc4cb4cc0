import type { ManagedDeploymentStatus } from "../../crds/kinds/managed-deployment.ts";
import type { Health } from "../../kube/workload-state/words.ts";
import { OBSERVED, type ObservedKind } from "../kernel/observed-kinds.ts";
import type { ListState } from "../kernel/resource-metrics.ts";
import { severityOf } from "./changes.ts";
import type { WorkloadRef } from "./observation.ts";

/** One workload as it was last seen. */
export interface Seen extends WorkloadRef {
  readonly health: Health;
  readonly message: string | undefined;
  /** Undefined: no release of ours has installed it. */
  readonly member: ReleaseMember | undefined;
}

/** What a workload's labels say of the release that installed it, and what is told of it as that. */
export interface ReleaseMember {
  readonly deploymentId: string;
  readonly resourceId: string;
  readonly replicas: number | undefined;
  readonly ready: number | undefined;
  readonly image: string | undefined;
}

/** The list of a kind in a namespace, and what the agent can see of it. */
export interface ListOfKind {
  readonly namespace: string;
  readonly kind: ObservedKind;
  readonly state: ListState;
}

/** What the customer is shown of a deployment's workloads. */
export interface WorkloadsSummary {
  readonly workloads: NonNullable<ManagedDeploymentStatus["workloads"]>;
  readonly collection: NonNullable<ManagedDeploymentStatus["collection"]>;
  readonly observedAt: string;
  /** The worst, each in a line. */
  readonly worst: readonly string[];
  readonly isStarting: boolean;
  /** Objects that the platform is not told of, because it would not keep them. */
  readonly leftOut: number;
}

const MAX_ATTENTION = 10;
const MAX_COLLECTION = 32;
const MAX_WORST = 3;
type Uncollected = WorkloadsSummary["collection"][number];

/** Why a list is not read, as the customer is shown it. */
const REASONS: { readonly [S in ListState]?: Uncollected["reason"] } = {
  unreadable: "Forbidden",
  "too-large": "TooLarge",
  stale: "WatchStale",
};
/** What a person has to mend comes before what heals by itself, and that before what nothing is wrong with. */
const BY_WEIGHT: readonly Uncollected["reason"][] = ["Forbidden", "TooLarge", "WatchStale", "NotInstalled"];

/** What of a summary is known beside objects and lists. */
interface More {
  readonly leftOut?: number;
  /** Namespaces whose pods' cpu and memory the cluster does not measure. */
  readonly unmeasured?: readonly string[];
}

/** @param all that is told; what is no workload, as a claim, is not counted. */
export function summaryOf(
  all: readonly Seen[],
  lists: readonly ListOfKind[],
  observedAt: string,
  { leftOut = 0, unmeasured = [] }: More = {},
): WorkloadsSummary {
  const counts: Record<Health, number> = { healthy: 0, degraded: 0, unhealthy: 0, unknown: 0 };
  const seen = all.filter(({ kind }) => OBSERVED[kind].beats);
  for (const { health } of seen) counts[health] += 1;
  const sick = seen
    .filter(({ health }) => health === "degraded" || health === "unhealthy")
    .toSorted((a, b) => severityOf(a.health) - severityOf(b.health) || (nameOf(a) < nameOf(b) ? -1 : 1));
  const total = seen.length;
  return {
    workloads: {
      ...{ total, ...counts, summary: `${counts.healthy}/${total}` },
      attention: sick.slice(0, MAX_ATTENTION).map(nameOf),
    },
    collection: [...lists.flatMap(uncollected), ...unmeasured.map(notInstalled)]
      .toSorted((a, b) => BY_WEIGHT.indexOf(a.reason) - BY_WEIGHT.indexOf(b.reason))
      .slice(0, MAX_COLLECTION),
    observedAt,
    worst: sick.slice(0, MAX_WORST).map((each) => `${nameOf(each)}${each.message ? `: ${each.message}` : ""}`),
    isStarting: lists.some(({ state }) => state === "starting"),
    leftOut,
  };
}

function uncollected({ namespace, kind, state }: ListOfKind): readonly Uncollected[] {
  const reason = REASONS[state];
  return reason === undefined ? [] : [{ namespace, kind, reason }];
}

function notInstalled(namespace: string): Uncollected {
  return { namespace, kind: "PodMetrics", reason: "NotInstalled" };
}

export function nameOf({ namespace, kind, name }: WorkloadRef): string {
  return `${OBSERVED[kind].reportedAs.toLowerCase()}/${namespace}/${name}`;
}
