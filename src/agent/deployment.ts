import type { DeploymentStatus } from "../contract/deployment-state.ts";
import { LEASE_GIVE_UP_MS, LEASE_RENEW_MS, PROVISIONAL_LEASE_MS } from "../contract/sync.ts";
import type { ManagedDeployment, ManagedDeploymentSpec } from "../crds/managed-deployment.ts";
import type { ListedDeployment } from "./listed-deployment.ts";

/** A lease that this session holds, in monotonic milliseconds. */
export interface HeldLease {
  /** Last acquire or renew that the platform confirmed, counted from before it was sent. */
  readonly succeededAtMs: number;
  /** Renewed at least once: provisional leases end after a minute (§15.2). */
  readonly confirmed: boolean;
  /** When to renew next. */
  readonly renewAtMs: number;
}

/** All that is known of one deployment. */
export interface DeploymentWorld {
  /** As the platform lists it; undefined: not served here (any more). */
  readonly listed: ListedDeployment | undefined;
  readonly managed: ManagedDeployment | undefined;
  readonly lease: HeldLease | undefined;
  /** When a lease may be asked for again. */
  readonly acquireAtMs: number;
  readonly reportAtMs: number;
}

/** The next thing to do; carried out, the world is read again and the next one decided. */
export type DeploymentStep =
  | { readonly do: "writeManaged"; readonly spec: ManagedDeploymentSpec }
  | { readonly do: "detach" }
  | { readonly do: "acquire" }
  | { readonly do: "renew" }
  /** The lease is over by our own clock: nothing may be done under it any more. */
  | { readonly do: "giveUp" }
  | { readonly do: "release" }
  | { readonly do: "report"; readonly status: DeploymentStatus }
  | { readonly do: "wait"; readonly forMs: number | undefined };

/** What can be leased at runtime (§15.2). Others are reported all the same: their workloads still live. */
const LEASABLE: ReadonlySet<DeploymentStatus> = new Set([
  "pending",
  "initial-setup",
  "provisioning",
  "waiting-for-machines",
  "update-pending",
  "updating",
  "delete-pending",
  "deleting",
  "running",
]);

/**
 * What has to happen for this deployment next. Pure.
 *
 * The promises: the customer's namespaces bound what the resource in the cluster says; a lease is renewed every 60 s
 * and given up 210 s after the last success, whatever the platform says later; a deployment that pushes is reported
 * only under a lease.
 */
export function nextDeploymentStep(
  world: DeploymentWorld,
  namespaces: readonly string[],
  nowMs: number,
): DeploymentStep {
  const { listed, managed, lease, acquireAtMs, reportAtMs } = world;
  if (lease !== undefined && isOver(lease, nowMs)) return { do: "giveUp" };
  if (listed === undefined) {
    if (lease !== undefined) return { do: "release" };
    const attached = managed !== undefined && managed.status?.state !== "Detached";
    return attached ? { do: "detach" } : { do: "wait", forMs: undefined };
  }
  const spec = specOf(listed, namespaces);
  if (!describes(managed, spec)) return { do: "writeManaged", spec };
  if (lease !== undefined && nowMs >= lease.renewAtMs) return { do: "renew" };
  const mayAcquire = lease === undefined && LEASABLE.has(listed.status);
  if (mayAcquire && nowMs >= acquireAtMs) return { do: "acquire" };
  const mayReport = lease !== undefined || listed.model === "pull";
  if (mayReport && nowMs >= reportAtMs) return { do: "report", status: reportedStatus(listed) };
  const dues = [lease?.renewAtMs, mayAcquire ? acquireAtMs : undefined, mayReport ? reportAtMs : undefined];
  const next = Math.min(...dues.filter((due) => due !== undefined));
  return { do: "wait", forMs: Number.isFinite(next) ? Math.max(0, next - nowMs) : undefined };
}

/** After a success at `atMs`, counted from before the request. The first renew is due at once: it confirms (§15.2). */
export function leaseAfter(kind: "acquire" | "renew", atMs: number): HeldLease {
  const confirmed = kind === "renew";
  return { succeededAtMs: atMs, confirmed, renewAtMs: confirmed ? atMs + LEASE_RENEW_MS : atMs };
}

/** Earlier than the platform's own end of it (§15.2), so that two sessions never work under one lease. */
function isOver({ confirmed, succeededAtMs }: HeldLease, nowMs: number): boolean {
  return nowMs - succeededAtMs >= (confirmed ? LEASE_GIVE_UP_MS : PROVISIONAL_LEASE_MS);
}

function specOf({ id, name, projectId }: ListedDeployment, namespaces: readonly string[]): ManagedDeploymentSpec {
  return { deploymentId: id, name, project: projectId, namespaces };
}

/** The order of namespaces is the API server's business: it is a set. */
function describes(managed: ManagedDeployment | undefined, spec: ManagedDeploymentSpec): boolean {
  if (managed === undefined) return false;
  const { deploymentId, name, project, namespaces } = managed.spec;
  const same =
    namespaces.length === spec.namespaces.length && spec.namespaces.every((each) => namespaces.includes(each));
  return same && deploymentId === spec.deploymentId && name === spec.name && project === spec.project;
}

/** One step at a time, as deployments that push must (§24.4). */
const SETUP_STEP: Readonly<Partial<Record<DeploymentStatus, DeploymentStatus>>> = {
  pending: "initial-setup",
  "initial-setup": "provisioning",
  provisioning: "running",
  "waiting-for-machines": "running",
  "refresh-failed": "running",
};

/**
 * The status to report. This agent installs nothing: being here is all there is to a setup, an update waits for whoever
 * installs it, and what a deletion leaves behind belongs to whoever set it up.
 */
function reportedStatus({ status, model, stackResources }: ListedDeployment): DeploymentStatus {
  if (status === "delete-pending" && model === "push") return "deleting";
  if (status === "delete-pending" || status === "deleting") return stackResources > 0 ? "teardown-required" : "deleted";
  const step = SETUP_STEP[status];
  if (step === undefined) return status;
  return model === "pull" ? "running" : step;
}
