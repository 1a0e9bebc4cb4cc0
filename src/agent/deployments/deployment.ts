import type { DeploymentStatus } from "../../contract/deployments/deployment-state.ts";
import { LEASE_GIVE_UP_MS, LEASE_RENEW_MS, PROVISIONAL_LEASE_MS } from "../../contract/deployments/sync.ts";
import type { ManagedDeployment, ManagedDeploymentSpec } from "../../crds/kinds/managed-deployment.ts";
import { holdsCommand } from "../../crds/without-commands.ts";
import { isReadable } from "../platform-link/readable.ts";
import type { ReleaseReport, ReleaseStep } from "../releases/release-step.ts";
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
export interface DeploymentFacts {
  /** As the platform lists it; undefined: not served here (any more). */
  readonly listed: ListedDeployment | undefined;
  readonly managed: ManagedDeployment | undefined;
  /** The namespaces that the customer accepts it for; none: it waits. */
  readonly accepted: readonly string[];
  /** One more waiting deployment may be shown in the cluster. */
  readonly hasRoom: boolean;
  /** When the platform was first seen not to list it (any more). */
  readonly unlistedAtMs: number | undefined;
  readonly lease: HeldLease | undefined;
  /** When a lease may be asked for again. */
  readonly acquireAtMs: number;
  readonly reportAtMs: number;
  /** What the runner of releases says; undefined: it is off. */
  readonly release: ReleaseStep | undefined;
  /** A person asked the runner to try again: a lease is to be had in a status of failure, too. */
  readonly isRetried: boolean;
}

/** What a report says of a deployment itself. Without `error` the platform keeps none (§15.3). */
export type ReportedState = ReleaseReport["state"];
/** With what only a runner of releases knows. */
export type DeploymentReport = Pick<ReleaseReport, "state"> & Partial<ReleaseReport>;

/** The next thing to do; carried out, the facts are read again and the next one decided. */
export type DeploymentStep =
  | { readonly do: "create"; readonly spec: ManagedDeploymentSpec }
  | { readonly do: "detach" }
  /** Deletes an application without an answer of the customer. */
  | { readonly do: "clear" }
  | { readonly do: "acquire" }
  | { readonly do: "renew" }
  /** The lease is over by our own clock: nothing may be done under it any more. */
  | { readonly do: "giveUp" }
  | { readonly do: "release" }
  | { readonly do: "report"; readonly report: DeploymentReport }
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

/** An application that the platform takes back stays this long: a platform that swaps ids makes few writes by it. */
export const CLEAR_AFTER_MS = 15 * 60_000;

/**
 * What has to happen for this deployment next. Pure.
 *
 * The promises: what the platform lists becomes an object that waits, and nothing else, until the customer has named a
 * namespace for it; a lease is renewed every 60 s and given up 210 s after the last success, whatever the platform says
 * later; a deployment that pushes is reported only under a lease.
 */
export function nextDeploymentStep(facts: DeploymentFacts, nowMs: number): DeploymentStep {
  const { listed, managed, accepted, lease, acquireAtMs, reportAtMs } = facts;
  if (lease !== undefined && isOver(lease, nowMs)) return { do: "giveUp" };
  const isAccepted = accepted.length > 0;
  if (lease !== undefined && (listed === undefined || !isAccepted)) return { do: "release" };
  if (listed === undefined) return afterListing(facts, nowMs);
  if (managed === undefined) {
    return isAccepted || facts.hasRoom ? { do: "create", spec: specOf(listed) } : { do: "wait", forMs: undefined };
  }
  if (lease !== undefined && nowMs >= lease.renewAtMs) return { do: "renew" };
  const mayAcquire = isAccepted && lease === undefined && (LEASABLE.has(listed.status) || facts.isRetried);
  if (mayAcquire && nowMs >= acquireAtMs) return { do: "acquire" };
  const mayReport = lease !== undefined || listed.model === "pull";
  if (mayReport && nowMs >= reportAtMs) {
    return {
      do: "report",
      report: isAccepted ? reportOf(listed, facts.release) : { state: waitingState(listed), ...endsNone(listed) },
    };
  }
  return waitUntil([lease?.renewAtMs, mayAcquire ? acquireAtMs : undefined, mayReport ? reportAtMs : undefined], nowMs);
}

/**
 * The platform lists it no more: what was ever served stays as a record, what the customer has not answered goes after
 * a while.
 */
function afterListing({ managed, accepted, unlistedAtMs }: DeploymentFacts, nowMs: number): DeploymentStep {
  if (managed === undefined) return { do: "wait", forMs: undefined };
  if (managed.status?.state !== "Detached") return { do: "detach" };
  if (accepted.length > 0 || !isUnanswered(managed)) return { do: "wait", forMs: undefined };
  const clearAtMs = (unlistedAtMs ?? nowMs) + CLEAR_AFTER_MS;
  return nowMs >= clearAtMs ? { do: "clear" } : waitUntil([clearAtMs], nowMs);
}

function waitUntil(dues: readonly (number | undefined)[], nowMs: number): DeploymentStep {
  const next = Math.min(...dues.filter((due) => due !== undefined));
  return { do: "wait", forMs: Number.isFinite(next) ? Math.max(0, next - nowMs) : undefined };
}

/** The customer has not answered it, and it was never served: only such objects are bounded and cleared. */
export function isUnanswered({ spec, status }: Pick<ManagedDeployment, "spec" | "status">): boolean {
  return spec.acceptedNamespaces === undefined && status?.lastReportedAt === undefined;
}

/** After a success at `atMs`, counted from before the request. The first renew is due at once: it confirms (§15.2). */
export function leaseAfter(kind: "acquire" | "renew", atMs: number): HeldLease {
  const confirmed = kind === "renew";
  return { succeededAtMs: atMs, confirmed, renewAtMs: confirmed ? atMs + LEASE_RENEW_MS : atMs };
}

/** Earlier than the platform's own end of it (§15.2), so that two sessions never work under one lease. */
export function isOver({ confirmed, succeededAtMs }: HeldLease, nowMs: number): boolean {
  return nowMs - succeededAtMs >= (confirmed ? LEASE_GIVE_UP_MS : PROVISIONAL_LEASE_MS);
}

/** What the vendor calls it, where that can be shown; its id stands in for a name that cannot. */
function specOf({ id, name, projectId }: ListedDeployment): ManagedDeploymentSpec {
  const isShown = (text: string): boolean =>
    text !== "" && text.length <= 128 && isReadable(text) && !/[\n\t]/.test(text) && !holdsCommand(text);
  return {
    deploymentId: id,
    name: isShown(name) ? name : id,
    ...(isShown(projectId) ? { project: projectId } : {}),
  };
}

/** Of a deployment without a release, which runs when it is observed. One step at a time, as push must (§24.4). */
const SETUP_STEP: Readonly<Partial<Record<DeploymentStatus, DeploymentStatus>>> = {
  pending: "initial-setup",
  "initial-setup": "provisioning",
  provisioning: "running",
  "waiting-for-machines": "running",
  "refresh-failed": "running",
};

/** Statuses that end only when something installs the wanted release. */
const NEEDS_RUNNER: ReadonlySet<DeploymentStatus> = new Set([
  "pending",
  "initial-setup",
  "provisioning",
  "waiting-for-machines",
  "updating",
]);

function reportOf(listed: ListedDeployment, release: ReleaseStep | undefined): DeploymentReport {
  if (release?.do === "report") return release.report;
  return { state: reportedState(listed), ...(release === undefined ? endsNone(listed) : { operationId: null }) };
}

const WITHOUT_UPDATE: ReadonlySet<DeploymentStatus> = new Set([
  "pending",
  "initial-setup",
  "provisioning",
  "running",
  "refresh-failed",
]);

/**
 * An update that has come since the list was read is not this report's to end, nor is a setup whose release was promoted since. An
 * update that the list has gets an error, which the platform takes from a report on that update alone.
 */
function endsNone({ status }: ListedDeployment): Pick<DeploymentReport, "operationId"> {
  return WITHOUT_UPDATE.has(status) ? { operationId: null } : {};
}

/**
 * What to report without a runner of releases. Nothing is installed: a deployment that no release is wanted for runs as soon as it is observed;
 * any other stays where it is and says why, because a status that nothing brought about would be taken for an installation.
 * What a deleted deployment has installed is left to the person who set it up.
 */
function reportedState({ status, model, stackResources, ...releases }: ListedDeployment): ReportedState {
  if (status === "delete-pending" && model === "push") return { status: "deleting" };
  if (status === "delete-pending" || status === "deleting") {
    const isInstalled = stackResources > 0 || releases.currentReleaseId !== null;
    return { status: isInstalled ? "teardown-required" : "deleted" };
  }
  const { desiredReleaseId } = releases;
  if (status === "update-pending" || (desiredReleaseId !== null && NEEDS_RUNNER.has(status))) {
    return { status, error: runnerDisabled(desiredReleaseId) };
  }
  const step = SETUP_STEP[status];
  if (step === undefined) return { status };
  return { status: model === "pull" ? "running" : step };
}

function runnerDisabled(releaseId: string | null): NonNullable<ReportedState["error"]> {
  return {
    code: "RUNNER_DISABLED",
    message: `${releaseId ?? "the change"} is not installed: nothing in this cluster installs releases`,
    internal: false,
    retryable: false,
    hint: "It stays wanted. Workloads that are installed by hand are observed all the same.",
  };
}

/** A deployment that waits reports only that, and that nothing of it hinders its deletion. */
function waitingState(listed: ListedDeployment): ReportedState {
  const { status } = listed;
  return status === "delete-pending" || status === "deleting" ? reportedState(listed) : { status };
}
