import { type AccessGrant, accessGrants } from "../../crds/kinds/access-grant.ts";
import { type Rollout, rollouts } from "../../crds/kinds/rollout.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { Client } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/objects/resource.ts";
import { Table } from "../kernel/output.ts";

/** What waits for a person's decision. */
export interface WaitingRequest {
  readonly name: string;
  readonly kind: "AccessGrant" | "Rollout";
  readonly risk: string;
  readonly requestedBy: string | null;
  readonly createdAt: string;
  /** Until when it can be decided. */
  readonly decideBefore: string;
  readonly title: string;
}

/** Oldest first. Rollouts are left out where the person may not list them, and where the cluster has none. */
export async function waitingRequests(
  client: Pick<Client, "list">,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly WaitingRequest[]> {
  const grants = await listed<AccessGrant>(client, accessGrants, namespace, signal);
  const releases = await listed<Rollout>(client, rollouts, namespace, signal).catch((error: unknown) => {
    if (error instanceof ApiError && (error.isNotFound || error.isForbidden)) return [];
    throw error;
  });
  const waiting = [...grants.filter(isUndecided).map(ofGrant), ...releases.filter(isAwaiting).map(ofRollout)];
  return waiting.sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt));
}

export async function listed<T extends KubeObject>(
  client: Pick<Client, "list">,
  resource: Resource,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const object of client.list<T>(resource, { namespace }, signal)) found.push(object);
  return found;
}

function isUndecided({ spec, status, metadata }: AccessGrant): boolean {
  const isDecided = spec.approvedForMinutes !== undefined || spec.deniedReason !== undefined;
  return !isDecided && (status?.state ?? "Pending") === "Pending" && metadata.deletionTimestamp === undefined;
}

/** The operator sees a decision a moment after it was written. */
function isAwaiting({ spec, status }: Rollout): boolean {
  const isDecided = spec.approvedDigest !== undefined || spec.deniedReason !== undefined;
  return !isDecided && status?.state === "AwaitingApproval";
}

function ofGrant({ metadata: { name, creationTimestamp = "" }, spec }: AccessGrant): WaitingRequest {
  const { risk, decideBefore, title, requestedBy = null } = spec;
  return { name, kind: "AccessGrant", risk, requestedBy, createdAt: creationTimestamp, decideBefore, title };
}

function ofRollout({ metadata: { name, creationTimestamp = "" }, spec }: Rollout): WaitingRequest {
  const { action, deadline, deploymentId, version } = spec;
  const risk = action === "delete" || action === "detach" ? "destructive" : "mutating";
  const title = `${action} of ${deploymentId}${version === undefined ? "" : `, version ${version}`}`;
  return {
    name,
    kind: "Rollout",
    risk,
    requestedBy: null,
    createdAt: creationTimestamp,
    decideBefore: deadline,
    title,
  };
}

const COLUMNS = ["name", "risk", "age", "decideBefore", "requestedBy", "title"];

export function requestsTable(requests: readonly WaitingRequest[], namespace: string, now: Date): string {
  if (requests.length === 0) return `Nothing waits for a decision in ${namespace}.\n`;
  return new Table(COLUMNS).lines(requests.map((each) => ({ ...each, age: ageOf(each.createdAt, now) })));
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
];

/** As kubectl, without its second unit: 119s, 2m, 119m, 2h, 47h, 2d. */
export function ageOf(since: string, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(since)) / 1_000));
  const [unit, length] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.floor(seconds / length)}${unit}`;
}
